"""Many chains side by side, each with its own steps: the Taylor method in lanes, and what is to be kept, computed on the way.

A lane takes a member, follows it to its end, writes down what is kept, and takes the next. Nothing that happens in a lane depends
on the others, so a member's values are the same to the last bit whatever its neighbours, its block, or the number of threads.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from nlink.compiled.jit import INLINE, entry, kernel
from nlink.compiled.simd import aligned, alike, anywhere, columns, numbers, value_of, where
from nlink.ensemble.noting import (
    BAD,
    CLOCKS,
    COUNT,
    DRIFT,
    ENERGY,
    EVENT,
    FINISHED,
    FLAG,
    NEW,
    NOT_FINITE,
    OLD,
    SPAN,
    TOO_MANY_STEPS,
    Kept,
    SeriesPath,
    T,
    flip,
    note_drift,
    note_extremes,
    note_samples,
    suspect_flips,
)  # fmt: skip
from nlink.integrators.taylor import reach
from nlink.mechanics.kernels import ChainParameters, borrowed, turn
from nlink.mechanics.parameters import GRAVITY, SINGLE
from nlink.mechanics.system import SERIES_ROWS, SERIES_ROWS_OF_GRAVITY, SERIES_SCRATCH, SeriesRoom, arrival, powers, series

NEAREST = 6755399441055744.0
"""1.5 * 2^52: adding and subtracting it rounds to the nearest whole number."""
SHARED, VARIED = (0,), (0, 0)
"""Whether all members have the same chain: the length of a tuple is known when compiling."""


class Lanes(NamedTuple):
    """The memory of the lanes: W numbers for each."""

    terms: np.ndarray
    w: np.ndarray
    u: np.ndarray
    y: np.ndarray
    """(3, m, W): state, next state, and one between"""
    q: np.ndarray
    clocks: np.ndarray
    levels: np.ndarray
    """(N, W): whole turns of each link at the start"""
    links: np.ndarray
    """(rows, N, W), tip (3, W) and g (1, W), if they vary"""
    tip: np.ndarray
    g: np.ndarray


def lanes_for(chain: Any, order: int, width: int) -> Lanes:
    """Return the memory for so many lanes of this chain; what belongs to a link lies together."""
    n, m = chain.n, 2 * chain.n + chain.ledger
    rows = SERIES_ROWS if chain.loaded or chain.swept or chain.ledger else SERIES_ROWS_OF_GRAVITY
    terms = np.moveaxis(aligned(n, rows, order + 2, width), 0, 2)
    terms[0, 0] = 1.0
    w, u = (np.moveaxis(aligned(n, SERIES_SCRATCH, width), 0, 1) for _ in range(2))
    shapes = ((3, m), (order, m), (CLOCKS,), (n,))
    return Lanes(terms, w, u, *(aligned(*shape, width) for shape in shapes), *own_numbers(chain, width))


def own_numbers(chain: Any, width: int) -> list[np.ndarray]:
    """Return links, tip and g of so many lanes, to begin with those of the chain."""
    own = [aligned(*each.shape, width) for each in (chain.links, chain.tip, np.array([chain.g]))]
    own[0][:], own[1][:], own[2][:] = chain.links[..., None], chain.tip[:, None], chain.g
    return own


def lane_chain(p: Any, own: Any, first: int, lanes: Any, varied: Any) -> Any:
    """Return the parameters that some lanes see."""
    return p


@overload(lane_chain, jit_options=INLINE)
def _lane_chain(p, own, first, lanes, varied):
    if varied.count == len(SHARED):
        return lambda p, own, first, lanes, varied: borrowed(p)

    def build(p, own, first, lanes, varied):
        return ChainParameters(
            p.n, columns(own.g, first, lanes)[0], columns(own.links, first, lanes), columns(own.tip, first, lanes),
            numbers(p.table), numbers(p.spans), p.callback, p.loaded, p.timed, p.swept, p.ledger, p.closed, numbers(p.pin),
        )  # fmt: skip

    return build


@entry
def march(p, starts, values, places, first, last, t_end, tol, most, kept, own, lanes, varied, way, orders, reducer, memories, halt):
    """Follow the members first ... last - 1 to t_end, or to what ends them; each has `values` of its own at `places`.

    It leaves off between steps when another thread puts something else than 0 into halt[0].
    """
    n, order, width = p.chain.n, len(orders), len(lanes)
    terms, w, u = columns(own.terms, 0, lanes), columns(own.w, 0, lanes), columns(own.u, 0, lanes)
    states, q, clocks, levels = (
        columns(own.y, 0, lanes), columns(own.q, 0, lanes), columns(own.clocks, 0, lanes), columns(own.levels, 0, lanes)
    )  # fmt: skip
    y, new = states[OLD], states[NEW]
    m = len(y)
    kept, memory = borrowed_kept(kept), borrowed_lanes(own)
    path = SeriesPath(memory.terms, order)
    members, due, shown = np.full(width, -1), np.zeros(width, np.int64), np.empty((2, n))
    ahead = t_end >= 0.0
    sign = 1.0 if ahead else -1.0
    following, active = first, 0
    for k in range(width):
        following = take(k, following, last, n, starts, values, places, members, due, kept, memory)
        active += members[k] >= 0
    while active > 0 and halt[0] == 0:
        chain = lane_chain(p.chain, own, 0, lanes, varied)
        room = SeriesRoom(chain, terms, terms, w, w, u, u, way, orders)
        ends, behind, fastest = series(clocks[T], t_end, ahead, y, p, room, order)
        size = reach(tol, ends, behind, fastest, order)
        left = abs(t_end - clocks[T])
        h = sign * where(size < left, size, left)
        clocks[SPAN], clocks[COUNT] = h, clocks[COUNT] + 1.0
        if len(kept.drift) > 0:
            note_drift(y, chain, w, clocks)
        arrival(h, y, p, room, order, new)
        if m > 2 * n:
            powers(p, room, order, q)
            balance(h, y, q, new, 2 * n, order)
        if len(kept.times) > 0:
            note_samples(p, room, order, states, clocks, kept, memory, members, due, sign)
        if reducer is not None:
            for k in range(width):
                if members[k] >= 0:
                    call(k, reducer, memories[members[k]], memory, shown)
        if len(kept.extremes) > 0:
            for k in range(width):
                if members[k] >= 0:
                    note_extremes(k, n, members[k], kept, memory, path)
        judge(ends + behind, size, left, most, n, new, clocks)
        if len(kept.flip_time) > 0:
            suspect_flips(n, y, new, levels, clocks)
        flagged = anywhere(clocks[FLAG] > 0.0)
        if flagged:
            if len(kept.drift) > 0:
                turn(new, n, w)
                note_drift(new, chain, w, clocks)
            for k in range(width):
                ends_here = members[k] >= 0 and memory.clocks[FLAG, k] > 0.0
                memory.clocks[FLAG, k] = 1.0 if ends_here and outcome(k, members[k], n, t_end, most, kept, memory, path) else 0.0
        for i in range(m):
            y[i] = new[i]
        clocks[T] = where(size < left, clocks[T] + h, alike(t_end, h))
        if flagged:
            for k in range(width):
                if memory.clocks[FLAG, k] > 0.0:
                    following = take(k, following, last, n, starts, values, places, members, due, kept, memory)
                    active -= members[k] < 0


@kernel
def judge(total, size, left, most, n, new, clocks):
    """Say of the step of every lane whether it is not finite, and whether it may be the last; `total` must be finite too."""
    zero, one = alike(0.0, size), alike(1.0, size)
    for i in range(2 * n):
        total += abs(value_of(new[i]))
    clocks[BAD] = where(total < 1e300, zero, one)
    clocks[FLAG] = clocks[BAD] + where((size < left) & (clocks[COUNT] < most), zero, one)


@kernel
def call(k, reducer, memory, own, shown):
    """Call the user's function with copies of the states of lane k: after a step, and before the first."""
    for row in (OLD, NEW):
        if row == NEW or own.clocks[COUNT, k] == 1.0:
            for i in range(shown.shape[1]):
                shown[0, i], shown[1, i] = own.y[row, i, k], own.y[row, shown.shape[1] + i, k]
            reducer(memory, own.clocks[T, k] + (own.clocks[SPAN, k] if row == NEW else 0.0), shown[0], shown[1])


@kernel
def borrowed_kept(kept):
    """Return the results' arrays as ones that do not own their memory: to hand them on costs nothing."""
    return Kept(
        numbers(kept.final), numbers(kept.times), numbers(kept.samples), numbers(kept.flip_time), numbers(kept.flip_link),
        numbers(kept.drift), numbers(kept.extremes), numbers(kept.status), numbers(kept.steps),
    )  # fmt: skip


@kernel
def borrowed_lanes(own):
    """Return the lanes' arrays likewise."""
    return Lanes(
        numbers(own.terms), numbers(own.w), numbers(own.u), numbers(own.y), numbers(own.q), numbers(own.clocks),
        numbers(own.levels), numbers(own.links), numbers(own.tip), numbers(own.g),
    )  # fmt: skip


@kernel
def balance(h, y, q, new, first, order):
    """Fill the ledger at the end of the step."""
    for i in range(first, len(y)):
        total = alike(0.0, h)
        for k in range(order - 1, -1, -1):
            total = (total + q[k, i]) * h
        new[i] = y[i] + total


@kernel
def take(k, following, last, n, starts, values, places, members, due, kept, own):
    """Put the next member into lane k, or nothing if there is none; return which is next."""
    member = following if following < last else -1
    members[k], due[k] = member, 0
    if member < 0:
        return following
    start(k, member, n, starts, own)
    adopt(k, member, values, places, own)
    if len(kept.extremes) > 0:
        for i in range(2 * n):
            kept.extremes[member, 0, i] = kept.extremes[member, 1, i] = starts[member, i]
    while due[k] < len(kept.times) and kept.times[due[k]] == 0.0:
        for i in range(2 * n):
            kept.samples[member, due[k], i] = starts[member, i]
        due[k] += 1
    return following + 1


@kernel
def start(k, member, n, starts, own):
    """Let lane k begin where a member does."""
    for i in range(len(own.y[OLD])):
        own.y[OLD, i, k] = starts[member, i] if i < 2 * n else 0.0
    for i in range(n):
        own.levels[i, k] = 2.0 * math.pi * ((starts[member, i] / (2.0 * math.pi) + NEAREST) - NEAREST)
    own.clocks[T, k] = own.clocks[DRIFT, k] = own.clocks[COUNT, k] = 0.0
    own.clocks[ENERGY, k] = math.nan


@kernel
def adopt(k, member, values, places, own):
    """Give lane k the numbers that are a member's own."""
    for j in range(len(places)):
        row, i = places[j, 0], places[j, 1]
        if row == GRAVITY:
            own.g[0, k] = values[member, j]
        elif row == SINGLE:
            own.tip[i, k] = values[member, j]
        else:
            own.links[row, i, k] = values[member, j]


@kernel
def ending(k, t_end, most, own):
    """Return how the member in lane k comes to its end with this step, -1 if it does not."""
    if own.clocks[BAD, k] > 0.0:
        return NOT_FINITE
    if abs(t_end - own.clocks[T, k]) <= abs(own.clocks[SPAN, k]):
        return FINISHED
    return TOO_MANY_STEPS if own.clocks[COUNT, k] >= most else -1


@kernel
def outcome(k, member, n, t_end, most, kept, own, path):
    """Whether the member in lane k comes to its end with this step; if so, write down how, and its state."""
    status = ending(k, t_end, most, own)
    if status != NOT_FINITE and len(kept.flip_time) > 0 and math.isnan(kept.flip_time[member]):
        link, when = flip(k, n, own, path)
        if link >= 0:
            kept.flip_time[member], kept.flip_link[member] = own.clocks[T, k] + when, link + 1
            if len(kept.final) + len(kept.times) + len(kept.drift) + len(kept.extremes) == 0:
                status = EVENT
    if status < 0:
        return False
    kept.status[member], kept.steps[member] = status, own.clocks[COUNT, k]
    for i in range(2 * n if len(kept.final) > 0 else 0):
        kept.final[member, i] = own.y[NEW, i, k]
    if len(kept.drift) > 0:
        kept.drift[member] = own.clocks[DRIFT, k]
    return True
