"""Springs and forces at points of bodies, for mechanisms: a spring with a damper between two points, and a constant force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink._support.checks import number, set_checked
from nlink.mechanics.loads.base import Load
from nlink.mechanics.points import Point, point


@dataclass(frozen=True)
class PointSpring(Load):
    """A spring between two points, with a damper along it: N/m, rest length in m, N s/m. There may be several.

    >>> from nlink.mechanics.points import At
    >>> PointSpring(At(1), (2.0, 0.0), stiffness=50.0, length=0.5).damping
    0.0
    """

    name: ClassVar[str] = "point_spring"
    label: ClassVar[str] = "springs between points"
    several: ClassVar[bool] = True
    drains: ClassVar[bool] = True
    a: Point
    b: Point
    stiffness: float
    length: float
    damping: float = 0.0

    def __post_init__(self) -> None:
        set_checked(self, point, "a", "b")
        set_checked(self, number, "stiffness", "length", "damping", least=0)


@dataclass(frozen=True)
class PointForce(Load):
    """A constant force (fx, fy) in N at a point of a body. There may be several."""

    name: ClassVar[str] = "point_force"
    label: ClassVar[str] = "forces at points"
    several: ClassVar[bool] = True
    point: Point
    fx: float
    fy: float

    def __post_init__(self) -> None:
        set_checked(self, point, "point")
        set_checked(self, number, "fx", "fy")
