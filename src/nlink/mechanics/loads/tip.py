"""Forces at a tip, the last one's if no link is named: one that turns with its link, and a constant one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink._support.checks import number, set_checked, whole
from nlink.mechanics.loads.base import Load, single


@dataclass(frozen=True)
class AtTip(Load):
    """A force at the tip of a `link`."""

    moves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        set_checked(self, whole, "link", least=0, optional=True)


@dataclass(frozen=True)
class FollowerForce(AtTip):
    """A force at a tip that turns with its link, -force * e in N: positive presses.

    `link` may be any link of a Mechanism; the last if not given.
    """

    name: ClassVar[str] = "follower_force"
    label: ClassVar[str] = "follower force"
    force: float = single("N", "Force", "alpha", slider=(0, 20, 0.1))
    link: int | None = None


@dataclass(frozen=True)
class TipForce(AtTip):
    """A constant force (fx, fy) at a tip, in N; in space (fx, fy, fz). `link` may be any link of a Mechanism; the last if not
    given.
    """

    name: ClassVar[str] = "tip_force"
    label: ClassVar[str] = "tip force"
    fx: float = single("N", "To the right", "F_x", odd=True, slider=(-20, 20, 0.1))
    fy: float = single("N", "Up", "F_y", usual=0.0, slider=(-20, 20, 0.1))
    fz: float | None = None
    """to the viewer, in space only"""
    link: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_checked(self, number, "fz", optional=True)
