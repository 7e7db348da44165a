"""What a body in space looks like: the uniform cylinder or box with its mass, centre and inertia.

A cylinder of radius r and height h has the inertia m r^2/2 about its axis and m (3 r^2 + h^2)/12 across; a box with sides a, b, c has
m (b^2 + c^2)/12 about a. Every tensor that a body can have is that of one such box, and of a cylinder if two of its values are equal,
so that `Body.cylinder` and `Body.box` are drawn as they are, and other bodies as what turns alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlink.mechanics.space.bodies import Body

EQUAL = 1e-6
"""Two principal values that differ by less than this share are equal."""
THIN = 0.015
"""Least half of a side, in the size of the body."""
Point = tuple[float, float, float]


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
    """Return what a body looks like."""
    values, axes = np.linalg.eigh(np.array(body.inertia))
    squares = np.maximum(0.0, 1.5 * (values.sum() - 2 * values) / body.mass)  # of half the sides
    largest = max(float(np.sqrt(squares.max())), 1e-9)
    pair = _equal_pair(values)
    if pair is None:
        order = _upright(axes, [0, 1, 2])
        half = np.sqrt(squares)[order]
    else:
        along = ({0, 1, 2} - set(pair)).pop()
        order = [pair[0], along, pair[1]]
        radius = float(np.sqrt(2 * values[along] / body.mass))
        half = np.array([radius, np.sqrt(squares[along]), radius])
        largest = max(largest, radius)
    frame = axes.T[order]
    frame = _positive(frame)
    half = np.maximum(half, THIN * largest)
    return _with_rods(body, frame, half, pair is not None)


def _equal_pair(values: np.ndarray) -> tuple[int, int] | None:
    """Return the two principal values that are equal, the last two if all are."""
    close = [(i, j) for i, j in ((1, 2), (0, 1)) if abs(values[i] - values[j]) <= EQUAL * values.max()]
    return close[0] if close else None


def _upright(axes: np.ndarray, order: list[int]) -> list[int]:
    """Return the axes in an order in which the second is the one nearest to the length of the body, and the first to x."""
    along = max(order, key=lambda k: abs(axes[1, k]))
    rest = sorted((k for k in order if k != along), key=lambda k: -abs(axes[0, k]))
    return [rest[0], along, rest[1]]


def _positive(frame: np.ndarray) -> np.ndarray:
    """Return axes that point along those of the body, not against them."""
    largest = np.abs(frame).argmax(1)
    return frame * np.sign(frame[np.arange(3), largest])[:, None]


def _with_rods(body: Body, frame: np.ndarray, half: np.ndarray, is_round: bool) -> Solid:
    """Return the solid with the parts of the line between the hinges that stand out of it."""
    centre, end = np.array(body.com), np.array([0.0, -body.length, 0.0])
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
