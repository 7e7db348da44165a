"""Drag: the force -(linear + quadratic |v|) v at each centre of mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.mechanics.loads.base import Each, Load, each


@dataclass(frozen=True)
class Drag(Load):
    """Air drag at each centre of mass, -(linear + quadratic |v|) v: N s/m and N s^2/m^2."""

    name: ClassVar[str] = "drag"
    label: ClassVar[str] = "drag"
    drains: ClassVar[bool] = True
    moves: ClassVar[bool] = True
    linear: Each = each("N s/m", "Linear", "c1", 0.0, least=0, usual=0.1, slider=(0, 2, 0.01))
    quadratic: Each = each("N s^2/m^2", "Quadratic", "c2", 0.0, least=0, usual=0.0, slider=(0, 2, 0.01))
