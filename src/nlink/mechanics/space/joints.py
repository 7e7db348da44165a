"""Joints in space at the upper hinge of a link, with axes as they are in the hanging chain.

Ball        of a line its direction e (3), of a body a quaternion (4): any rotation against the parent
Hinge       an angle about `axis`
Universal   two angles: the first about `first`, fixed in the parent, then the second about `second`, fixed in the link
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from nlink._support.checks import ModelError, listed, number, set_checked, shown

Vector = tuple[float, float, float]
UNIT = 1e-15
"""By how much the length of a direction may miss 1 by rounding: it is not scaled again then."""
PARALLEL = 1e-6
"""Sine of the angle between two axes below which they count as one."""


def triple(where: str, value: object) -> Vector:
    """Return three numbers (x, y, z), checked."""
    if not listed(value) or len(value := tuple(value)) != 3:
        raise ModelError(f"{where} must be three numbers (x, y, z), got {shown(value)}")
    x, y, z = (number(f"{where}[{i}]", each) for i, each in enumerate(value))
    return x, y, z


def unit(where: str, value: object) -> Vector:
    """Return a direction (x, y, z) of length 1, checked."""
    x, y, z = triple(where, value)
    size = math.hypot(x, y, z)
    if size == 0:
        raise ModelError(f"{where} must be a direction, got (0, 0, 0)")
    return (x, y, z) if abs(size - 1) <= UNIT else (x / size, y / size, z / size)


@dataclass(frozen=True)
class Joint:
    """What joins a link in space to its parent."""

    freedom: ClassVar[int]

    @property
    def axes(self) -> tuple[Vector, ...]:
        """The axes about which it turns, in the hanging chain; none of a ball."""
        return ()


@dataclass(frozen=True)
class Ball(Joint):
    """A ball joint: the link turns in any way."""

    freedom: ClassVar[int] = 3


@dataclass(frozen=True)
class Hinge(Joint):
    """A hinge about an axis (x, y, z), which is scaled to length 1.

    >>> Hinge((0, 0, 2)).axis
    (0.0, 0.0, 1.0)
    """

    freedom: ClassVar[int] = 1
    axis: Vector

    def __post_init__(self) -> None:
        set_checked(self, unit, "axis")

    @property
    def axes(self) -> tuple[Vector, ...]:
        """The axis."""
        return (self.axis,)


@dataclass(frozen=True)
class Universal(Joint):
    """A universal joint: it turns about `first`, fixed in the parent, then about `second`, fixed in the link."""

    freedom: ClassVar[int] = 2
    first: Vector
    second: Vector

    def __post_init__(self) -> None:
        set_checked(self, unit, "first", "second")
        (a, b, c), (x, y, z) = self.first, self.second
        if math.hypot(b * z - c * y, c * x - a * z, a * y - b * x) < PARALLEL:
            raise ModelError(f"Universal needs two different axes, got {self.first} and {self.second}; for one axis use Hinge")

    @property
    def axes(self) -> tuple[Vector, ...]:
        """Both axes."""
        return self.first, self.second
