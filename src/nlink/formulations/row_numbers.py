"""The rows of the closures of a mechanism as numbers: kinds, bodies, places, paths to the ground, and the order of rows and bodies.

Rows are sorted by their first body, and bodies numbered so that those of a row are near each other.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.compiled.digits import sine_table
from nlink.formulations.dead import LoopNumbers, lever_loop, loop_numbers
from nlink.formulations.envelope import Envelope, envelope
from nlink.mechanics.assembly import size_of
from nlink.mechanics.chain import Link
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.points import CLOSURES, GROUND, Closure, Distance, Gear, Guide, ends

PIN, GUIDE, BAR, GEAR = range(len(CLOSURES))
KIND, BODY_I, BODY_J, AXIS, FIRST, FORK, JOIN, LAST, LOW, HIGH, CLOSURE, COMPANION, FIRST_BODY, LAST_BODY = range(14)
"""Rows of `whole`: kind, bodies, x or y of a pin, its part of the list of bodies on its paths (from FORK on the path of the second
body, from JOIN on what both have), its first and last column, its closure, the other row of a pin (itself, if there is none), and
its first and last body.
"""
I_ALONG, I_LEFT, J_ALONG, J_LEFT, NORMAL_ALONG, NORMAL_LEFT, SIZE, REST, SCALE = range(9)
"""Rows of `places`: SIZE is the length of a bar or the ratio of a gear, SCALE the root of the squares of the levers."""


class RowNumbers(NamedTuple):
    """The rows of the constraints as numbers."""

    total: int
    spare: int
    """rows that follow from the others, wherever the mechanism is"""
    whole: np.ndarray
    """(14, rows) whole numbers: KIND, BODY_I, ..."""
    places: np.ndarray
    """(9, rows): I_ALONG, ..."""
    paths: np.ndarray
    """bodies on the paths of each row to the ground, children before parents: of the first body, of the second, what both have"""
    column: np.ndarray
    """(N,) the column of each body in the matrices"""
    unit: np.ndarray
    """(N,) 1 for hinges, for slides a length: what is a change of one size"""
    weight: np.ndarray
    """(N,) its square; 0 for prescribed coordinates"""
    driven: int
    """whether coordinates are prescribed"""
    envelope: Envelope
    table: np.ndarray
    """sines of many digits"""
    loops: LoopNumbers


def row_numbers(model: Mechanism, spare: int) -> RowNumbers:
    """Return the rows of the closures of a mechanism as numbers, of which `spare` follow from the others."""
    for number, closure in enumerate(model.pins):
        if (isinstance(closure, Distance) and closure.length is None) or (isinstance(closure, Gear) and closure.offset is None):
            what = "length" if isinstance(closure, Distance) else "offset"
            raise ModelError(
                f"Mechanism.pins[{number}].{what} must be known here, got None; give it, or assemble the mechanism first"
            )
    return _numbers(model.links, model.pins)._replace(spare=spare)


@lru_cache(maxsize=64)
def _numbers(links: tuple[Link | Slider, ...], pins: tuple[Closure, ...]) -> RowNumbers:
    """Return the rows as numbers; the loads do not count, and nothing writes into the arrays."""
    model = Mechanism(links, pins=pins)
    every = [(number, closure, axis) for number, closure in enumerate(model.pins) for axis in range(closure.rows)]
    column = _columns(model)
    branches = [_branches(model, closure) for closure in model.pins]
    paths = [np.concatenate(parts) for parts in branches]
    every.sort(key=lambda row: (min(column[paths[row[0]]]), row[0], row[2]))
    m, size = len(every), _size(model)
    whole, places = np.zeros((14, m), np.int64), np.zeros((9, m))
    loops, listed = [lever_loop(model, closure, ends_of(model, closure)) for closure in model.pins], []
    for r, (number, closure, axis) in enumerate(every):
        bodies, on = paths[number], column[paths[number]]
        where = ends_of(model, closure)
        ends_at = len(listed) + np.cumsum([len(part) for part in branches[number]])
        whole[:, r] = (
            list(CLOSURES.values()).index(type(closure)), where[0][0], where[1][0], axis, len(listed), *ends_at,
            on.min(), on.max(), number, r + (closure.rows - 1) * (1 - 2 * axis), bodies.min(), bodies.max(),
        )  # fmt: skip
        listed += bodies.tolist()
        places[:, r] = _places(closure, where)
        places[SCALE, r] = _scale(model, closure, where, size)
    unit, listed = np.where(model.slides, size, 1.0), np.array(listed, np.int64)
    weight = np.where(model.prescribed, 0.0, unit**2)
    return RowNumbers(
        m, 0, whole, places, listed, column, unit, weight, int(model.prescribed.any()),
        envelope([listed[first:last] for first, last in whole[[FIRST, LAST]].T], model.n), sine_table(), loop_numbers(loops),
    )  # fmt: skip


def _columns(model: Mechanism) -> np.ndarray:
    """Return the column of each body, such that the bodies of a row are near each other: reverse Cuthill and McKee, from a body
    that is farthest from another one, as at the end of a ladder. From its middle two parts would meet, with a small pivot.
    """
    beside: list[set[int]] = [set() for _ in range(model.n)]
    for closure in model.pins:
        bodies = np.concatenate(_branches(model, closure)).tolist()
        for i in bodies:
            beside[i].update(bodies)
    order: dict[int, None] = {}
    for first in range(model.n):
        if first not in order:
            order |= dict.fromkeys(_by_distance(_by_distance(_by_distance(first, beside)[-1], beside)[-1], beside))
    column = np.empty(model.n, np.int64)
    column[list(order)] = np.arange(model.n)[::-1]
    return column


def _by_distance(first: int, beside: list[set[int]]) -> list[int]:
    """Return the bodies that share rows with one, directly or not, by their distance; those with few neighbours first."""
    order, found = [first], {first}
    for i in order:
        new = sorted(beside[i] - found, key=lambda j: (len(beside[j]), j))
        order += new
        found.update(new)
    return order


def ends_of(model: Mechanism, closure: Closure) -> tuple[tuple[int, float, float], tuple[int, float, float]]:
    """Return the two bodies of a closure and the points on them."""
    if isinstance(closure, Gear):
        return (closure.i, 0.0, 0.0), (closure.j, 0.0, 0.0)
    a, b = (model.located(point) for point in ends(closure))
    return a, b


def _branches(model: Mechanism, closure: Closure) -> list[np.ndarray]:
    """Return the bodies on the paths of a closure to the ground, children before parents: those of its first body alone, those of
    its second alone, and those on both.
    """
    a, b = (_path(model, body) for body, *_ in ends_of(model, closure))
    both = set(a) & set(b)
    parts = [i for i in a if i not in both], [i for i in b if i not in both], [i for i in a if i in both]
    return [np.array(part, np.int64) for part in parts]


def _path(model: Mechanism, body: int) -> list[int]:
    """Return the bodies from one to the ground."""
    found = []
    while body != GROUND:
        found.append(body)
        body = int(model.parents[body])
    return found


def _size(model: Mechanism) -> float:
    """Return the length that counts as much as an angle of 1 rad."""
    return float(max(np.abs(model.levers).max(), model.length.max())) or size_of(model)


def _places(closure: Closure, where: tuple[tuple[int, float, float], ...]) -> list[float]:
    (_, *a), (_, *b) = where
    normal, size, rest = (0.0, 0.0), 0.0, 0.0
    if isinstance(closure, Guide):
        normal = -math.cos(closure.direction), -math.sin(closure.direction)
    elif isinstance(closure, Distance):
        size = closure.length or 1.0
    elif isinstance(closure, Gear):
        size, rest = closure.ratio, closure.offset or 0.0
    return [*a, *b, *normal, size, rest, 0.0]


def _scale(model: Mechanism, closure: Closure, where: tuple[tuple[int, float, float], ...], size: float) -> float:
    """Return the root of the sum of the squares of the levers on the paths of a row: what it is at most like."""
    if isinstance(closure, Gear):
        units = [size if model.slides[body] else 1.0 for body in (closure.i, closure.j)]
        return math.hypot(units[0], closure.ratio * units[1])
    total = 0.0
    for body, along, left in where:
        lever = math.hypot(along, left)
        while body != GROUND:
            total += size**2 if model.slides[body] else lever**2
            lever = math.hypot(*model.levers[:, body])
            body = int(model.parents[body])
    return math.sqrt(total)
