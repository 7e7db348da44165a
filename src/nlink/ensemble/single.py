"""One step of one member: the march of `march.py` for a single lane, from the same parts. This is what a thread of a GPU does."""

from __future__ import annotations

import math

from nlink.compiled.jit import kernel
from nlink.ensemble.march import balance, call, outcome
from nlink.ensemble.noting import BAD, COUNT, NEW, OLD, SPAN, SeriesPath, T, note_drift, note_extremes, note_samples
from nlink.mechanics.kernels import turn
from nlink.mechanics.system import SeriesRoom, arrival, powers, series


@kernel
def one_reach(tol, last, before, fastest, order):
    """Return the length of a step, as `reach` does, by the logarithms at hand."""
    size = min(
        math.exp(math.log(max(last, 1e-250) / tol) * (-1.0 / order)),
        math.exp(math.log(max(before, 1e-250) / tol) * (-1.0 / (order - 1))),
    )
    return min(size, 2.0 / max(fastest, 1e-100))


@kernel
def stride(p, t_end, tol, most, kept, own, rows, members, due, way, orders, order, reducer, memories, shown):
    """Take a step with the member of the only lane; return whether it was its last. `rows` are the arrays of `own` without their
    last axis, which has the length 1.
    """
    terms, w, u, states, q, clocks = rows
    y, new = states[OLD], states[NEW]
    n, m, member = p.chain.n, len(y), members[0]
    path = SeriesPath(own.terms, order)
    room = SeriesRoom(p.chain, terms, terms, w, w, u, u, way, orders)
    ends, behind, fastest = series(clocks[T], t_end, t_end >= 0.0, y, p, room, order)
    size, left = one_reach(tol, ends, behind, fastest, order), abs(t_end - clocks[T])
    sign = 1.0 if t_end >= 0.0 else -1.0
    h = sign * min(size, left)
    clocks[SPAN] = h
    clocks[COUNT] += 1.0
    if len(kept.drift) > 0:
        note_drift(y, p.chain, w, clocks)
    arrival(h, y, p, room, order, new)
    if m > 2 * n:
        powers(p, room, order, q)
        balance(h, y, q, new, 2 * n, order)
    if len(kept.times) > 0:
        note_samples(p, room, order, states, clocks, kept, own, members, due, sign)
    if len(kept.extremes) > 0:
        note_extremes(0, n, member, kept, own, path)
    if reducer is not None:
        call(0, reducer, memories[member], own, shown)
    total = ends + behind
    for i in range(2 * n):
        total += abs(new[i])
    clocks[BAD] = 0.0 if total < 1e300 else 1.0
    if len(kept.flip_time) > 0 or not (size < left) or clocks[BAD] > 0.0 or clocks[COUNT] >= most:
        if len(kept.drift) > 0 and not (size < left):
            turn(new, n, w)
            note_drift(new, p.chain, w, clocks)
        if outcome(0, member, n, t_end, most, kept, own, path):
            return True
    for i in range(m):
        y[i] = new[i]
    clocks[T] = clocks[T] + h if size < left else t_end
    return False
