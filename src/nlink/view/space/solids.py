"""What a body in space looks like: the uniform cylinder or box with its mass, centre and inertia.

A cylinder of radius r and height h has the inertia m r^2/2 about its axis and m (3 r^2 + h^2)/12 across; a box with sides a, b, c
has m (b^2 + c^2)/12 about a. Every tensor that a body can have is that of one such box, and of a cylinder if two of its values are
equal: a body without a section is drawn as what turns like it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.joints import Universal
from nlink.mechanics.space.model import SpatialChain

EQUAL = 1e-6
"""Two principal values that differ by less than this share are equal."""
THIN = 0.015
"""Least half of a side, in the size of the body."""
Point = tuple[float, float, float]
Pins = list[tuple[int, np.ndarray]]
"""The axes of a joint, each with the link in whose axes it is fixed, -1 for the ground."""


class Solid(NamedTuple):
    """A cylinder or box in the axes of its body, from the upper hinge, in m.

    `axes` are its own, its length second; `half` its sides along these; `rods` the parts of the line between both hinges that
    stand out of it, in m from the upper one; `foot` where on that line a stay to the centre begins, if the line misses it.
    """

    centre: Point
    axes: tuple[Point, Point, Point]
    half: Point
    round: bool
    rods: tuple[tuple[float, float], ...]
    foot: float | None

    @property
    def side(self) -> float:
        """How far it extends across its length."""
        return self.half[0] if self.round else float(np.hypot(self.half[0], self.half[2]))

    @property
    def reach(self) -> float:
        """How far it extends from its centre."""
        return float(np.hypot(self.side, self.half[1]))


def solid_of(body: Body) -> Solid:
    """Return what a body looks like: as long as it is and as its section says, or as the cylinder or box of its inertia."""
    if body.section:
        middle, height = np.array(body.com), body.length / 2
        across = (body.section[0],) * 2 if len(body.section) == 1 else tuple(side / 2 for side in body.section)
        return _with_rods(body, middle, np.eye(3), np.array([across[0], height, across[1]]), len(body.section) == 1)
    values, axes = np.linalg.eigh(body.tensor)
    halves = np.sqrt(np.maximum(0.0, 1.5 * (values.sum() - 2 * values) / body.mass)) if body.mass else np.zeros(3)
    along = _axis_of_symmetry(values, axes)
    if along is None:
        order = _upright(axes)
        return _with_rods(body, np.array(body.com), axes.T[order], _solid_sides(halves[order]), False)
    across = np.sqrt(2 * values[along] / body.mass) if body.mass else 0.0
    half = _solid_sides(np.array([across, halves[along], across]))
    return _with_rods(body, np.array(body.com), _about(axes[:, along]), half, True)


def _axis_of_symmetry(values: np.ndarray, axes: np.ndarray) -> int | None:
    """Return the principal axis about which the inertia is the same in all directions; of several the one nearest to the length."""
    found = [k for k in range(3) if np.ptp(np.delete(values, k)) <= EQUAL * values.max()]
    return max(found, key=lambda k: abs(axes[1, k])) if found else None


def _upright(axes: np.ndarray) -> list[int]:
    """Return the axes in an order in which the second is the one nearest to the length of the body, and the first to x."""
    along = int(np.abs(axes[1]).argmax())
    rest = sorted({0, 1, 2} - {along}, key=lambda k: -abs(axes[0, k]))
    return [rest[0], along, rest[1]]


def _about(axis: np.ndarray) -> np.ndarray:
    """Return axes of which the second is a given one, and the first the nearest to x, or to z if that lies along it."""
    first = np.eye(3)[0 if abs(axis[0]) < 0.9 else 2]
    first = first - (first @ axis) * axis
    first = first / np.linalg.norm(first)
    return np.stack([first, axis, np.cross(first, axis)])


def _solid_sides(half: np.ndarray) -> np.ndarray:
    """Return half the sides of a solid, none so thin that it cannot be seen."""
    return np.maximum(half, THIN * max(float(half.max()), 1e-9))


def _with_rods(body: Body, centre: np.ndarray, frame: np.ndarray, half: np.ndarray, is_round: bool) -> Solid:
    """Return the solid with the parts of the line between the hinges that stand out of it."""
    end = np.array([0.0, -body.length, 0.0])
    start, way = frame @ -centre, frame @ end
    low, high = 0.0, 1.0
    for k in range(3):
        if abs(way[k]) > 1e-12 * body.length:
            ends = sorted(((-half[k] - start[k]) / way[k], (half[k] - start[k]) / way[k]))
            low, high = max(low, ends[0]), min(high, ends[1])
        elif abs(start[k]) > half[k]:
            low, high = 1.0, 0.0
    inside = low < high
    parts = [(0.0, low), (high, 1.0)] if inside else [(0.0, 1.0)]
    rods = tuple((float(a * body.length), float(b * body.length)) for a, b in parts if b - a > 1e-9)
    foot = None if inside else float(np.clip(-centre[1], 0.0, body.length))
    return Solid(_point(centre), tuple(map(_point, frame)), _point(half), is_round, rods, foot)  # type: ignore[arg-type]


def _point(values: np.ndarray) -> Point:
    x, y, z = (float(value) for value in values)
    return x, y, z


def pins_of(chain: SpatialChain) -> list[Pins]:
    """Return the axes of the joint at the upper hinge of each link."""
    out: list[Pins] = []
    for i, joint in enumerate(chain.joints):
        owners = (i - 1, i) if isinstance(joint, Universal) else (i,)
        out.append([(owner, np.array(axis)) for owner, axis in zip(owners, joint.axes, strict=bool(joint.axes))])
    return out
