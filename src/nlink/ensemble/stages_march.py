"""Many members by the steps of `stages.py`: for loads whose series are dear, and for long chains on a GPU.

What happens within a step (a flip, a sample, a link that turns back) is found by steps of the same method from the same start, as
long as needed: they are as accurate as the steps themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nlink.compiled.jit import apart, entry, kernel
from nlink.compiled.simd import aligned, anywhere, columns, numbers
from nlink.ensemble.march import borrowed_kept, call, lane_chain, outcome, own_numbers, take
from nlink.ensemble.noting import (
    BETWEEN,
    BOUND,
    CLOCKS,
    FLAG,
    NEW,
    NEXT,
    OLD,
    RETRY,
    SEEN,
    SPAN,
    T,
    note_drift,
    note_extremes,
)
from nlink.ensemble.stages import STAGES, Work, evaluate, pace, step
from nlink.formulations.recursive import RecursiveParameters
from nlink.integrators.tableaus import Accelerations
from nlink.mechanics.kernels import turn

ONE = (0,)
"""As long as one lane is wide."""


class Room(NamedTuple):
    """The memory of the lanes, W numbers for each; see `march.Lanes`."""

    k: np.ndarray
    """(STAGES, N, W): accelerations"""
    point: np.ndarray
    """(2, m, W): the state of a stage, and its rates"""
    w: np.ndarray
    y: np.ndarray
    clocks: np.ndarray
    levels: np.ndarray
    links: np.ndarray
    tip: np.ndarray
    g: np.ndarray


class StagesPath(NamedTuple):
    """The way of one lane through its step."""

    p: Any
    weights: Any
    work: Work


def room_for(chain: Any, rows: int, width: int) -> Room:
    """Return the memory for so many lanes of this chain."""
    n, m = chain.n, 2 * chain.n + chain.ledger
    shapes = ((STAGES, n), (2, m), (rows, n), (3, m), (CLOCKS,), (n,))
    return Room(*(aligned(*shape, width) for shape in shapes), *own_numbers(chain, width))


@kernel
def work_of(own, first, lanes):
    """Return some lanes of the memory."""
    return Work(
        columns(own.k, first, lanes), columns(own.point, first, lanes), columns(own.w, first, lanes), columns(own.y, first, lanes),
        columns(own.clocks, first, lanes), columns(own.levels, first, lanes), None, (), None, 0.0,
    )  # fmt: skip


@kernel
def look(k, member, n, limits, breaks, kept, own, due, path, reducer, memories, shown):
    """Note what is kept of the step of lane k; return whether it was the member's last."""
    if own.clocks[SPAN, k] != 0.0:
        note_samples_alone(k, member, n, limits.t_end, kept, own, due, path)
        if len(kept.extremes) > 0:
            note_extremes(k, n, member, kept, own, path)
        if reducer is not None:
            call(k, reducer, memories[member], own, shown)
    if own.clocks[FLAG, k] == 0.0:
        return False
    if outcome(k, member, n, limits.t_end, limits.most, kept, own, path):
        return True
    pass_break(k, limits.t_end, breaks, own)
    return False


@kernel
def pass_break(k, t_end, breaks, own):
    """Put lane k on the bound of its steps if it has come there, and set the next bound."""
    if abs(own.clocks[BOUND, k] - own.clocks[T, k]) <= abs(own.clocks[SPAN, k]):
        own.clocks[T, k], own.clocks[SPAN, k] = own.clocks[BOUND, k], 0.0
        own.clocks[BOUND, k] = next_break(own.clocks[BOUND, k], t_end, breaks)


@kernel
def next_break(t, t_end, breaks):
    """Return the next time after t at which a load has a kink, or the end; the breaks are sorted."""
    ahead = t_end > t
    low, high = 0, len(breaks)
    while low < high:
        middle = (low + high) // 2
        if breaks[middle] <= t if ahead else breaks[middle] < t:
            low = middle + 1
        else:
            high = middle
    at = low if ahead else low - 1
    if at < 0 or at == len(breaks) or (breaks[at] >= t_end if ahead else breaks[at] <= t_end):
        return t_end
    return breaks[at]


@kernel
def note_samples_alone(k, member, n, t_end, kept, own, due, path):
    """Write down the states of lane k at the times asked for that lie within its step."""
    sign = 1.0 if t_end >= 0.0 else -1.0
    while due[k] < len(kept.times) and (kept.times[due[k]] - own.clocks[T, k]) * sign <= abs(own.clocks[SPAN, k]):
        within(kept.times[due[k]] - own.clocks[T, k], path)
        for i in range(2 * n):
            kept.samples[member, due[k], i] = own.y[BETWEEN, i, k]
        due[k] += 1


@apart
def within(s, path):
    """Fill the state BETWEEN of a lane with that at the time s into its step."""
    states = path.work.states
    step(path.work.clocks[T], s, states[OLD], path.p, path.weights, path.work, states[BETWEEN], False)


def seen_in_stages(k, i, s, of_rates, path):
    """Go there, unless it is the start or the end, and look at the link."""
    work, rate = path.work, path.p.chain.n + i
    row = OLD if s == 0.0 else NEW if s == work.clocks[SPAN] else BETWEEN
    if row == BETWEEN:
        within(s, path)
    if not of_rates:
        return work.states[row, i] - work.states[OLD, i], work.states[row, rate]
    if row != OLD:
        evaluate(1, work.clocks[T] + s, work.states[row], path.p, work)
    return work.states[row, rate], work.k[0 if row == OLD else 1, i]


SEEN[StagesPath] = seen_in_stages


@kernel
def seat(k, following, last, n, starts, values, places, t_end, breaks, members, due, kept, own):
    """Put the next member into lane k, or nothing if there is none; return which is next."""
    set_out(k, t_end, breaks, own)
    return take(k, following, last, n, starts, values, places, members, due, kept, own)


@kernel
def set_out(k, t_end, breaks, own):
    """Let the steps of lane k begin anew."""
    own.clocks[NEXT, k] = own.clocks[RETRY, k] = 0.0
    own.clocks[BOUND, k] = next_break(0.0, t_end, breaks)


@kernel
def settle(work):
    """Let the lanes stand where their steps have led."""
    y, new, clocks = work.states[OLD], work.states[NEW], work.clocks
    for i in range(len(y)):
        y[i] = new[i]
    clocks[T] += clocks[SPAN]


@entry
def march_by_stages(
    p, starts, values, places, first, last, limits, breaks, kept, own, lanes, varied, weights, reducer, memories, halt
):
    """Follow the members first ... last - 1 to their end, as `march` does."""
    n, width = p.chain.n, len(lanes)
    weights = Accelerations(numbers(weights.c), numbers(weights.rate), numbers(weights.turn), numbers(weights.errors))
    kept, memory, work = borrowed_kept(kept), borrowed_room(own), work_of(own, 0, lanes)
    members, due, shown = np.full(width, -1), np.zeros(width, np.int64), np.empty((2, n))
    every = len(kept.extremes) + len(kept.times) > 0 or reducer is not None
    following, active = first, 0
    for k in range(width):
        following = seat(k, following, last, n, starts, values, places, limits.t_end, breaks, members, due, kept, memory)
        active += members[k] >= 0
    while active > 0 and halt[0] == 0:
        pace(RecursiveParameters(lane_chain(p.chain, own, 0, lanes, varied)), limits, kept, work, weights)
        flagged = anywhere(work.clocks[FLAG] > 0.0)
        if flagged and len(kept.drift) > 0:
            chain = lane_chain(p.chain, own, 0, lanes, varied)
            turn(work.states[NEW], n, work.w)
            note_drift(work.states[NEW], chain, work.w, work.clocks)
        if flagged or every:
            for k in range(width):
                ended = False
                if members[k] >= 0 and (every or memory.clocks[FLAG, k] > 0.0):
                    path = StagesPath(RecursiveParameters(lane_chain(p.chain, own, k, ONE, varied)), weights, work_of(own, k, ONE))
                    ended = look(k, members[k], n, limits, breaks, kept, memory, due, path, reducer, memories, shown)
                memory.clocks[FLAG, k] = 1.0 if ended else 0.0
        settle(work)
        if flagged:
            for k in range(width):
                if memory.clocks[FLAG, k] > 0.0:
                    following = seat(
                        k, following, last, n, starts, values, places, limits.t_end, breaks, members, due, kept, memory
                    )
                    active -= members[k] < 0


@kernel
def stride_by_stages(member, p, limits, breaks, kept, own, work, beside, weights, due, reducer, memories, shown):
    """Try a step with the member of the only lane; return whether it was its last: what a thread of a GPU does.

    `beside` is the work for looks into a step.
    """
    n = p.chain.n
    pace(p, limits, kept, work, weights)
    if work.clocks[FLAG] > 0.0 and len(kept.drift) > 0:
        turn(work.states[NEW], n, work.w)
        note_drift(work.states[NEW], p.chain, work.w, work.clocks)
    every = len(kept.extremes) + len(kept.times) > 0 or reducer is not None
    path = StagesPath(p, weights, beside)
    if (every or work.clocks[FLAG] > 0.0) and look(0, member, n, limits, breaks, kept, own, due, path, reducer, memories, shown):
        return True
    settle(work)
    return False


@kernel
def borrowed_room(own):
    """Return the arrays of a room as ones that do not own their memory."""
    return Room(
        numbers(own.k), numbers(own.point), numbers(own.w), numbers(own.y), numbers(own.clocks), numbers(own.levels),
        numbers(own.links), numbers(own.tip), numbers(own.g),
    )  # fmt: skip
