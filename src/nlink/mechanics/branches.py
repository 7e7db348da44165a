"""Driven starts of mechanisms, and the branches on which they can be assembled with the same driven coordinates."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, shown
from nlink.mechanics.assembly import CLOSED, GUESSES, close_all, coordinates, given_coordinates, guesses, prescribed_at, scales
from nlink.mechanics.chain import wrapped
from nlink.mechanics.closures import gaps, located, poses, widest_gap
from nlink.mechanics.loop_closure import BRANCHES
from nlink.mechanics.mobility import mobility
from nlink.mechanics.points import GROUND, At, Pin, ends
from nlink.mechanics.posing import posed

if TYPE_CHECKING:
    from nlink.mechanics.mechanism import Mechanism

SAME = 1e-6
"""rad: assembled states that differ by less are one."""


def driven(model: Mechanism, given: Any, branch: str | None = None, near: ArrayLike | None = None) -> np.ndarray:
    """Return the coordinates with some of them given; see `loop_closure.driven`."""
    values = given_coordinates(model, given)
    if near is None:
        found = branches(model, values)
        if branch is not None and branch not in found:
            raise ModelError(f"branch must be one of {', '.join(found)}, got {shown(branch)}")
        return found[branch or next(iter(found))]
    if branch is not None:
        raise ModelError("driven takes a branch or the coordinates of a state near it, not both")
    return posed(model, {i: [value] for i, value in values.items()}, near).reached()[0]


def branches(model: Mechanism, given: Any, near: ArrayLike | None = None) -> dict[str, np.ndarray]:
    """Return the assembled states (N,) with these coordinates, by name.

    A four-bar has the branches "open" and "crossed". Others are numbered from "1", the nearest to `near`, or to zero, first.
    They are found from random guesses: those of mechanisms with many loops may be more.

    Parameters
    ----------
    given : the coordinates of some bodies, like {0: 1.5}, in rad, of sliders in m
    near : coordinates
    """
    values = given_coordinates(model, given)
    free, start = ~model.prescribed, prescribed_at(model, 0.0)[0]
    for i, value in values.items():
        free[i], start[i] = False, value
    start[free] = 0.0
    closed, gap = close_all(model, guesses(model, start, free, 4 * GUESSES), free)
    if not (gap <= CLOSED).any():
        best = closed[np.argmin(gap)]
        told_of = ", ".join(f"body {i} at {value:g}" for i, value in values.items())
        raise ModelError(
            f"the mechanism does not close with {told_of}: {widest_gap(model, gaps(model, best))} at best; "
            "give other coordinates, lengths or points"
        )
    closed = closed[gap <= CLOSED]
    left = mobility(model, closed[0], free).freedom
    if left:
        raise ModelError(f"{len(values)} driven coordinates leave a freedom of {left}; drive {left} more")
    origin = np.zeros(model.n) if near is None else coordinates(model, "near", near)
    distinct: list[np.ndarray] = []
    for q in closed:
        turned = np.where(model.slides | ~free, q, origin + wrapped(q - origin))
        if not any(_same(model, turned, other) for other in distinct):
            distinct.append(turned)
    distinct.sort(key=lambda q: float(np.abs((q - origin) / scales(model).columns).round(6).sum()))
    names = _four_bar(model, values, distinct) or [str(k + 1) for k in range(len(distinct))]
    return dict(sorted(zip(names, distinct, strict=True), key=lambda item: _rank_of(item[0])))


def _rank_of(name: str) -> int:
    return BRANCHES.index(name) if name in BRANCHES else int(name)


def _same(model: Mechanism, q: np.ndarray, other: np.ndarray) -> bool:
    apart = q - other
    return bool(np.abs(np.where(model.slides, apart / scales(model).columns, wrapped(apart))).max() < SAME)


def _four_bar(model: Mechanism, given: dict[int, float], found: list[np.ndarray]) -> list[str] | None:
    """Return the names of the assemblies of a four-bar that is driven at the ground: open if no two links cross."""
    if model.n != 3 or model.slides.any() or len(model.pins) != 1 or not isinstance(model.pins[0], Pin) or len(found) > 2:
        return None
    pin = model.pins[0]
    pinned = frozenset(place[0] for place in located(model, pin))
    about = {frozenset((i, k)): At(i, 0.0) for i, k in enumerate(model.parents.tolist())} | {pinned: ends(pin)[0]}
    crank = next(iter(given))
    rest = [i for i in range(3) if i != crank]
    for coupler, rocker in itertools.permutations(rest):
        way = [frozenset(pair) for pair in ((GROUND, crank), (crank, coupler), (coupler, rocker), (rocker, GROUND))]
        if all(pair in about for pair in way):
            return [_crossing(model, q, [about[pair] for pair in way]) for q in found]
    return None


def _crossing(model: Mechanism, q: np.ndarray, points: list[Any]) -> str:
    """Return on which side of its diagonal the coupler of a four-bar bends: away from the pivot of the crank, or towards it."""
    at = poses(model, q)
    o, a, b, c = (np.array(at.place(*model.located(point)), float) for point in points)
    line = c - a
    side = [line[0] * (p - a)[1] - line[1] * (p - a)[0] for p in (o, b)]
    return BRANCHES[0] if side[0] * side[1] <= 0 else BRANCHES[1]
