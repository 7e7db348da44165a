"""Forces at the last tip: one that turns with the last link, and a constant one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.mechanics.loads.base import Load, single


@dataclass(frozen=True)
class FollowerForce(Load):
    """A force at the last tip that turns with the last link, -force * e_N: positive presses, in N."""

    name: ClassVar[str] = "follower_force"
    label: ClassVar[str] = "follower force"
    moves: ClassVar[bool] = True
    force: float = single("N", "Force", "alpha", slider=(0, 20, 0.1))


@dataclass(frozen=True)
class TipForce(Load):
    """A constant force (fx, fy) at the last tip, in N."""

    name: ClassVar[str] = "tip_force"
    label: ClassVar[str] = "tip force"
    moves: ClassVar[bool] = True
    fx: float = single("N", "To the right", "F_x", odd=True, slider=(-20, 20, 0.1))
    fy: float = single("N", "Up", "F_y", usual=0.0, slider=(-20, 20, 0.1))
