"""Gravity: the force (0, -m g) at each centre of mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.mechanics.loads.base import Load, single


@dataclass(frozen=True)
class Gravity(Load):
    """Uniform gravity along -y: g in m/s^2."""

    name: ClassVar[str] = "gravity"
    label: ClassVar[str] = "gravity"
    conservative: ClassVar[bool] = True
    g: float = single("m/s^2", "g", "g", usual=9.81, slider=(0, 25, 0.01))
