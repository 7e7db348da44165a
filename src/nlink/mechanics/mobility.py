"""How closed mechanisms can move: their degrees of freedom, the rows of pins that are not needed, and starts that cannot move.

Both follow from the rank of the derivative of the rows. At a special position, as a dead position, the rank is smaller:
a state is moved a little along its freedom, and the largest rank counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError
from nlink.mechanics.assembly import (
    CLOSED,
    GUESSES,
    as_assembled,
    assemble,
    close_all,
    coordinates,
    directions,
    guesses,
    prescribed_at,
    scales,
    size_of,
    undecided,
)
from nlink.mechanics.closures import gaps, jacobians, widest_gap
from nlink.mechanics.loop_closure import NEARLY, Assembly

if TYPE_CHECKING:
    from nlink.mechanics.mechanism import Mechanism

NUDGE, TRIES = 0.1, 12
"""rad: how far a state is moved, along its freedom, to see its rank off special positions; how often."""
TOGETHER, PATIENCE = 8, 60
"""Guesses that are closed together; rounds after which a guess is given up."""


class Mobility(NamedTuple):
    """The degrees of freedom of an assembled state, and the rows that are not needed."""

    freedom: int
    spare: int


def mobility(model: Mechanism, theta: np.ndarray, free: np.ndarray | None = None, rates: np.ndarray | None = None) -> Mobility:
    """Return the freedom of the branch on which a closed state (N,) lies, and its spare rows: by the largest rank of the state and
    of states nearby, since rows may depend on each other at special positions. Where branches meet, `rates` say which is meant.
    """
    free = ~model.prescribed if free is None else free
    rank = _rank(model, theta, free, rates)
    return Mobility(int(free.sum()) - rank, model.rows - rank)


def _rank(model: Mechanism, theta: np.ndarray, free: np.ndarray, rates: np.ndarray | None) -> int:
    if not model.closed or not free.any():
        return 0
    rng, widths = np.random.default_rng(1), scales(model).columns[free]
    basis, _, rank = directions(model, theta, free)
    if not basis.shape[1] or rank == model.rows:
        return rank
    along = rng.normal(size=(TRIES, basis.shape[1]))
    if rates is not None and np.abs(rates[free]).max() > 0:
        along = np.outer([1.0, -1.0, 0.5, -0.5], basis.T @ (rates[free] / widths))
    step = along @ basis.T
    tries = np.tile(theta, (len(step), 1))
    tries[:, free] += NUDGE * step / np.maximum(np.abs(step).max(1, keepdims=True), 1e-300) * widths
    closed, gap = close_all(model, tries, free)
    return max([rank, *(directions(model, q, free)[2] for q in closed[gap <= CLOSED])])


def any_mobility(model: Mechanism) -> Mobility:
    """Return the freedom and the spare rows of a mechanism: of the assembled states that are found and can move, those of the one
    with the least freedom. Linkages like parallelograms have folded states with more, and rigid ones with none.

    Prescribed joints are let go for the search.
    """
    if not model.closed:
        return Mobility(int((~model.prescribed).sum()), 0)
    loose = replace(model, links=tuple(replace(body, motion=None) for body in model.links))
    states: dict[int, np.ndarray] = {}
    for q in closed_states(loose):
        freedom = mobility(as_assembled(loose, q), q).freedom
        states.setdefault(freedom, q)
        if freedom == max(1, model.n - model.rows):
            break
    q = states[min(states, key=lambda freedom: (freedom == 0, freedom))]
    return mobility(as_assembled(model, q), q)


def mobility_near(model: Mechanism, theta: np.ndarray) -> Mobility:
    """Return the freedom and the spare rows at the closed state nearest to theta (N,), if this nearly closes the mechanism;
    else those of states that are found from guesses.
    """
    if np.abs(gaps(model := as_assembled(model, theta), theta) / scales(model).rows).max(initial=0.0) > NEARLY:
        return any_mobility(model)
    return mobility(model, assemble(model, theta).theta)


def closed_states(model: Mechanism) -> Iterator[np.ndarray]:
    """Yield closed states (N,) found from guesses, at least one: with bodies equally far from the ground alike, then random."""
    firm, free = _firm(model), ~model.prescribed
    starts = guesses(model, np.where(free, 0.0, prescribed_at(model, 0.0)[0]), free)
    if not firm.closed:
        yield from starts
        return
    least, best = np.inf, starts[0]
    for some in (_alike(model, starts[:TOGETHER], free), *np.split(starts, GUESSES // TOGETHER)):
        closed, gap = close_all(firm, some, free, PATIENCE)
        yield from closed[gap <= CLOSED]
        if gap.min() < least:
            least, best = gap.min(), closed[np.argmin(gap)]
    if least > CLOSED:
        raise ModelError(
            f"the mechanism closes from none of {GUESSES} random guesses: {widest_gap(firm, gaps(firm, best))} at best; "
            "its pins are out of reach: give other lengths or points"
        )


def _alike(model: Mechanism, starts: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return guesses in which free bodies of one kind that are equally far from the ground have equal coordinates: in a ladder of
    equal loops these are near the states in which all loops are, and the more loops, the rarer are these among random guesses.
    """
    first: dict[tuple[int, bool], int] = {}
    depth, out = [0] * model.n, starts.copy()
    for i, parent in enumerate(model.parents.tolist()):
        depth[i] = depth[parent] + 1 if parent >= 0 else 0
        if free[i]:
            out[:, i] = starts[:, first.setdefault((depth[i], bool(model.slides[i])), i)]
    return out


def _firm(model: Mechanism) -> Mechanism:
    """Return the mechanism without the bars and gears that are taken as assembled."""
    return replace(model, pins=tuple(each for each in model.pins if not undecided(each)))


def started(model: Mechanism, theta: ArrayLike, omega: ArrayLike | None = None) -> Assembly:
    """Return the start of a motion: assembled, if theta nearly closes the mechanism, and able to move."""
    check_start(model, theta)
    found = assemble(model, theta, omega)
    check_mobility(model, found.theta, found.omega)
    return found


def check_start(model: Mechanism, theta: ArrayLike) -> None:
    """Refuse the start of a motion that does not nearly close the mechanism."""
    start, free = coordinates(model, "theta", theta), ~model.prescribed
    given = np.where(free, start, prescribed_at(model, 0.0)[0])
    gap, size = gaps(model, given), size_of(model)
    if np.abs(gap / scales(model).rows).max(initial=0.0) > NEARLY:
        raise ModelError(
            f"the start does not close the mechanism: {widest_gap(model, gap)}; give coordinates that nearly close it, "
            f"to {NEARLY * size:.3g} m, as assemble(mechanism, theta).theta does, or start.drive of a model file"
        )


def check_mobility(model: Mechanism, theta: np.ndarray, omega: np.ndarray) -> None:
    """Refuse a motion from a closed state that cannot move, or whose prescribed motions ask for what the pins do not let happen."""
    if not model.closed:
        return
    found, free = mobility(model, theta, rates=omega), ~model.prescribed
    if found.freedom == 0 and free.all():
        raise ModelError(
            f"the mechanism is over-constrained: its pins, {model.rows} rows for {model.n} coordinate{'s' * (model.n > 1)}, "
            f"hold it, so that it cannot move; leave out a pin, or let one slide by a Guide"
        )
    rows, columns = scales(model)
    rate = jacobians(model, theta) @ omega / rows
    speed = float(np.abs(omega / columns).max())
    if np.abs(rate).max() > 1e-9 * max(speed, 1e-300) and speed > 0:
        where = widest_gap(model, rate * rows).replace(" open", "/s").replace("stays", "would open at")
        raise ModelError(
            f"the prescribed motions do not fit each other: {where}; prescribe fewer joints, or start off a limit of the linkage"
        )
