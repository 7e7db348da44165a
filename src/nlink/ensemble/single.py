"""One member at a time: the march of `march.py` for a single lane, from the same parts. This is what a thread of a GPU does."""

from __future__ import annotations

import math

from nlink._jit import kernel
from nlink.ensemble.march import outcome, take
from nlink.ensemble.noting import BAD, COUNT, FLAG, NEW, OLD, SPAN, T, note_drift, note_extremes, note_samples
from nlink.kernels import turn
from nlink.system import SeriesRoom, arrival, powers, series


@kernel
def one_reach(tol, last, before, fastest, order):
    """Return the length of a step, as `reach` does, by the logarithms at hand."""
    size = min(
        math.exp(math.log(max(last, 1e-250) / tol) * (-1.0 / order)),
        math.exp(math.log(max(before, 1e-250) / tol) * (-1.0 / (order - 1))),
    )
    return min(size, 2.0 / max(fastest, 1e-100))


@kernel
def follow(member, p, chain, starts, values, places, t_end, tol, most, kept, own, rows, members, due, way, orders, order):
    """Follow one member to its end. `rows` are the arrays of `own` without their last axis, which has the length 1."""
    terms, w, u, states, q, clocks = rows
    y, new = states[OLD], states[NEW]
    n, m = chain.n, len(y)
    ahead = t_end >= 0.0
    sign = 1.0 if ahead else -1.0
    take(0, member, member + 1, n, starts, values, places, members, due, kept, own)
    room = SeriesRoom(chain, terms, terms, w, w, u, u, way, orders)
    while True:
        ends, behind, fastest = series(clocks[T], t_end, ahead, y, p, room, order)
        size, left = one_reach(tol, ends, behind, fastest, order), abs(t_end - clocks[T])
        h = sign * min(size, left)
        clocks[SPAN] = h
        clocks[COUNT] += 1.0
        if len(kept.drift) > 0:
            note_drift(y, chain, w, clocks)
        arrival(h, y, p, room, order, new)
        if m > 2 * n:
            powers(p, room, order, q)
            for i in range(2 * n, m):
                total = 0.0
                for k in range(order - 1, -1, -1):
                    total = (total + q[k, i]) * h
                new[i] = y[i] + total
        if len(kept.times) > 0:
            note_samples(p, room, order, states, clocks, kept, own, members, due, sign)
        if len(kept.extremes) > 0:
            note_extremes(n, order, kept, own, members)
        total = ends + behind
        for i in range(2 * n):
            total += abs(new[i])
        clocks[BAD] = 0.0 if total < 1e300 else 1.0
        clocks[FLAG] = clocks[BAD]
        flipping = len(kept.flip_time) > 0
        if flipping or not (size < left) or clocks[BAD] > 0.0 or clocks[COUNT] >= most:
            if len(kept.drift) > 0 and not (size < left):
                turn(new, n, w)
                note_drift(new, chain, w, clocks)
            if outcome(0, member, n, order, t_end, most, kept, own):
                return
        for i in range(m):
            y[i] = new[i]
        clocks[T] = clocks[T] + h if size < left else t_end
