"""Points of bodies and of the ground, and what holds them: pins, guides, bars and gears.

A plain pair (x, y) is a point of the ground; `At(link, along, left)` is a point of a body, from its joint along its axis and to
its left. Each closure is one or two rows of the constraints:

    Pin        a = b                                                    2 rows
    Guide      (point - through) . normal of the line = 0               1 row
    Distance   |a - b| = length                                         1 row
    Gear       theta_i - ratio theta_j = offset                         1 row
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nlink._support.checks import ModelError, listed, number, set_checked, shown, whole

GROUND = -1
"""The number of the ground where a body is asked for."""


@dataclass(frozen=True)
class At:
    """A point of body `link` (counted from 0): `along` its axis from its joint, its tip if not given, and `left` of it, in m."""

    link: int
    along: float | None = None
    left: float = 0.0

    def __post_init__(self) -> None:
        set_checked(self, whole, "link", least=0)
        set_checked(self, number, "along", optional=True)
        set_checked(self, number, "left")


Point = At | tuple[float, float]
"""In space a point of the ground has three numbers."""


def point(where: str, value: Any, axes: int = 2) -> Point:
    """Return a point of a body, or (x, y) of the ground, in space (x, y, z), checked."""
    if isinstance(value, At):
        return value
    if not listed(value) or len(numbers := tuple(value)) != axes:
        ground = "(x, y)" if axes == 2 else "(x, y, z)"
        raise ModelError(f"{where} must be At(link, along, left), or {ground} of the ground in m, got {shown(value)}")
    return tuple(number(f"{where}[{i}]", each) for i, each in enumerate(numbers))  # pyright: ignore[reportReturnType]


def checked_points(where: str, values: Any, n: int, axes: int = 2) -> list[Point]:
    """Return points of n bodies or of the ground, checked."""
    found = [point(f"{where}[{i}]", value, axes) for i, value in enumerate(values)]
    for i, each in enumerate(found):
        if isinstance(each, At) and each.link >= n:
            raise ModelError(f"{where}[{i}].link must be a body of the model, 0 to {n - 1}, got {each.link}")
    return found


@dataclass(frozen=True)
class Pin:
    """Two points held together: of two bodies, or of a body and the ground.

    >>> Pin(At(2), (3.0, 0.0)).rows
    2
    """

    name: ClassVar[str] = "pin"
    rows: ClassVar[int] = 2
    a: Point
    b: Point

    def __post_init__(self) -> None:
        set_checked(self, point, "a", "b")


@dataclass(frozen=True)
class Guide:
    """A point of a body stays on a line through the point `through`, of the ground or of another body.

    The direction of the line is an angle in rad, from +x on the ground, from the left normal t of a body.
    """

    name: ClassVar[str] = "guide"
    rows: ClassVar[int] = 1
    point: At
    through: Point
    direction: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.point, At):
            raise ModelError(f"Guide.point must be At(link, along, left), got {shown(self.point)}")
        set_checked(self, point, "through")
        set_checked(self, number, "direction")


@dataclass(frozen=True)
class Distance:
    """A massless bar between two points: its length in m, as assembled if not given."""

    name: ClassVar[str] = "distance"
    rows: ClassVar[int] = 1
    a: Point
    b: Point
    length: float | None = None

    def __post_init__(self) -> None:
        set_checked(self, point, "a", "b")
        set_checked(self, number, "length", above=0, optional=True)


@dataclass(frozen=True)
class Gear:
    """The coordinates of two bodies in proportion: theta_i = ratio * theta_j + offset, the offset as assembled if not given."""

    name: ClassVar[str] = "gear"
    rows: ClassVar[int] = 1
    i: int
    j: int
    ratio: float
    offset: float | None = None

    def __post_init__(self) -> None:
        set_checked(self, whole, "i", "j", least=0)
        set_checked(self, number, "ratio")
        set_checked(self, number, "offset", optional=True)
        if self.i == self.j:
            raise ModelError(f"Gear.i and Gear.j must be two bodies, got {self.i} twice")


Closure = Pin | Guide | Distance | Gear
CLOSURES: dict[str, type[Closure]] = {kind.name: kind for kind in (Pin, Guide, Distance, Gear)}
"""What closes a mechanism, by its name in model files."""


def ends(closure: Closure) -> tuple[Point, ...]:
    """Return the points that a pin, guide or bar joins; a gear joins none."""
    if isinstance(closure, Gear):
        return ()
    return (closure.point, closure.through) if isinstance(closure, Guide) else (closure.a, closure.b)
