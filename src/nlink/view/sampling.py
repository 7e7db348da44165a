"""The moments of a run that a page holds: as few as cubic Hermite interpolation needs to follow it, as many as there is room for.

It begins with some of the saved points and halves every interval in which the cubic is off by more than TOLERANCE at one of SHARES;
if that would be more than the room, the worst ones first. So calm stretches of a long run are thinned and a run saved coarsely is
filled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError, listed, number, shown
from nlink.mechanics.chain import Multibody
from nlink.mechanics.space.model import SpatialChain
from nlink.run.run import Run, Trajectory, columns_of, fields_of
from nlink.view.space.reading import Rows, measures, rows_of

TOLERANCE = 2e-5
"""Error of the interpolation that is not refined further: in rad, of displacements in lengths of a link."""
FIRST = 256
"""Points to begin with."""
ROUNDS = 16
SHARES = (0.25, 0.5, 0.75)
"""Where in an interval the cubic is compared: in the middle alone a whip on one side of it is missed."""
BLOCK = 2_000_000
"""Values interpolated at once, which bounds the memory."""


class Sample(NamedTuple):
    """Times (T,), values and rates (T, R), and the largest error of the cubic between them, in rad or lengths of a link.

    In the plane the values are the angles theta, in space the rows of `reading`.
    """

    t: np.ndarray
    values: np.ndarray
    rates: np.ndarray
    error: float


def finite(run: Run) -> Run:
    """Return the run up to the last point before its coordinates or rates stop being numbers."""
    good = np.all([np.isfinite(values).all(1) for values in (run.position, run.velocity, run.acceleration)], axis=0)
    return run if good.all() else _part(run, slice(int(np.argmin(good))))


Span = tuple[float | None, float | None]
"""First and last time in s; None for the end of the run."""


def within_times(run: Run, span: Span) -> Run:
    """Return the saved points of a run between two times."""
    if not listed(span) or len(span) != 2:
        raise ModelError(f"t must be the first and the last time (a, b) in s, got {shown(span)}")
    ends = (-np.inf if span[0] is None else number("t[0]", span[0]), np.inf if span[1] is None else number("t[1]", span[1]))
    first, last = sorted(ends)
    rows = np.flatnonzero((run.t >= first) & (run.t <= last))
    if not len(rows):
        raise ModelError(
            f"the run has no saved point from {first:g} to {last:g} s: it goes from {run.t.min():g} to {run.t.max():g} s"
        )
    return _part(run, slice(int(rows[0]), int(rows[-1]) + 1))


def _part(run: Run, rows: slice) -> Run:
    """Return some saved points of a run that follow one another, and the steps between them."""
    columns = {name: values[rows] for name, values in columns_of(run).items()}
    t, knots = columns["time"], run.knots
    if knots is not None:
        low, high = (t.min(), t.max()) if len(t) else (0.0, -1.0)
        knots = Trajectory(*(values[(knots.t >= low) & (knots.t <= high)] for values in knots))
    return replace(run, **fields_of(columns), knots=knots)


def sampled(run: Run, room: int) -> Sample:
    """Return at most about `room` values of a run at the moments that matter."""
    chain, (first, first_rates) = run.chain, _values(run.chain, run.position[:1], run.velocity[:1])
    points, unit = max(2, room // first.shape[1]), units(chain)
    if len(run.t) == 1:
        return Sample(run.t, first, first_rates, 0.0)
    rows = spread_rows(len(run.t), min(FIRST, points))
    t: np.ndarray = run.t[rows]
    values: np.ndarray
    rates: np.ndarray
    values, rates = _values(chain, run.position[rows], run.velocity[rows])
    error, done = 0.0, np.zeros(len(t) - 1, bool)
    for _ in range(ROUNDS):
        open_ = np.flatnonzero(~done)
        step = t[open_ + 1] - t[open_]
        true = [_at(run, t[open_] + share * step) for share in SHARES]
        cubics = (_cubic(t, values, rates, open_, share) for share in SHARES)
        off = np.max([(np.abs(at[0] - cubic) / unit).max(1) for at, cubic in zip(true, cubics, strict=True)], axis=0)
        worst = np.argsort(-off)[: max(0, points - len(t))]
        split = np.sort(worst[off[worst] > TOLERANCE])
        error = float(np.delete(off, split).max(initial=error))
        if not len(split):
            break
        done[np.delete(open_, split)] = True
        at, middle = open_[split] + 1, true[1]
        t = np.insert(t, at, (t[open_] + SHARES[1] * step)[split])
        values, rates = (np.insert(old, at, new[split], axis=0) for old, new in zip((values, rates), middle, strict=True))
        done = np.insert(done, at, False)
    return Sample(t, values, rates, error)


def units(model: Multibody) -> np.ndarray:
    """Return what the values are measured by: 1 rad, for sliders the length of a usual link in m, in space as `measures` says."""
    if isinstance(model, SpatialChain):
        return measures(model)
    return np.where(model.slides, model.length[~model.slides].mean() if not model.slides.all() else 1.0, 1.0)


def _values(chain: Multibody, position: np.ndarray, velocity: np.ndarray) -> Rows:
    """Return what is interpolated of a motion, and its rates."""
    return rows_of(chain, position, velocity) if isinstance(chain, SpatialChain) else (position, velocity)


def spread_rows(count: int, most: int) -> np.ndarray:
    """Return at most `most` row numbers, evenly spread over `count` rows with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)) if count else np.empty(0, int)


def _at(run: Run, times: np.ndarray) -> Rows:
    size = max(1, BLOCK // run.chain.n)
    motions = (run.at(block) for block in np.split(times, range(size, len(times), size)))
    values, rates = zip(*(_values(run.chain, motion.position, motion.velocity) for motion in motions), strict=True)
    return np.concatenate(values), np.concatenate(rates)


def _cubic(t: np.ndarray, values: np.ndarray, rates: np.ndarray, k: np.ndarray, share: float) -> np.ndarray:
    """Return the values of the cubic Hermite at a share of the intervals k."""
    h, rest = (t[k + 1] - t[k])[:, None], 1 - share
    ends = rest**2 * (1 + 2 * share) * values[k] + share**2 * (1 + 2 * rest) * values[k + 1]
    return ends + h * share * rest * (rest * rates[k] - share * rates[k + 1])
