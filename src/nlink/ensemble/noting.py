"""What is kept of members on their way: flips, samples, extremes, drift of energy; in lanes, or for the numbers of one lane k."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from nlink.compiled.jit import INLINE, kernel
from nlink.compiled.simd import alike, where
from nlink.mechanics.kernels import energies
from nlink.mechanics.system import arrival

FINISHED, EVENT, NOT_FINITE, TOO_MANY_STEPS = range(4)
T, SPAN, COUNT, BAD, FLAG, ENERGY, DRIFT, AT, NEXT, RETRY, BOUND = range(11)
"""Rows of numbers of a lane: its time, step and number of steps, whether it is not finite, whether it may have come to its end, its
energy at the start and drift, a time between; and for steps that may fail: the size to try next, whether the last one failed, and
the time at which the next must end."""
CLOCKS = 11
OLD, NEW, BETWEEN = range(3)
"""States of a lane."""
NARROW = 1e-9
"""How well the time of a turning point is found, as a part of the step: the value there is then right to the last digit."""
NEAR = 0.5
"""How close to upside down, in rad, a link must be for its turning points to be looked at."""


class Kept(NamedTuple):
    """Where results go; what is not wanted is empty. Rows are members."""

    final: np.ndarray
    """(M, 2N)"""
    times: np.ndarray
    samples: np.ndarray
    """(M, T, 2N)"""
    flip_time: np.ndarray
    flip_link: np.ndarray
    drift: np.ndarray
    extremes: np.ndarray
    """(M, 2, 2N): least and largest"""
    status: np.ndarray
    steps: np.ndarray


class SeriesPath(NamedTuple):
    """The way through a step that series describe."""

    terms: np.ndarray
    order: int


def seen(k: int, i: int, s: float, of_rates: bool, path: Any) -> Any:
    """Return by how much link i of lane k has turned at the time s into the step, and its rate; or its rate and acceleration."""
    return SEEN[type(path)](k, i, s, of_rates, path)


@overload(seen, jit_options=INLINE)
def _seen(k, i, s, of_rates, path):
    return SEEN[path.instance_class]


def seen_in_series(k, i, s, of_rates, path):
    """Sum the series of a link's unit vector with two derivatives."""
    x = y = dx = dy = half_ddx = half_ddy = 0.0
    for m in range(path.order, -1, -1):
        half_ddx, half_ddy = half_ddx * s + dx, half_ddy * s + dy
        dx, dy = dx * s + x, dy * s + y
        x, y = x * s + path.terms[0, m, i, k], y * s + path.terms[1, m, i, k]
    square = x * x + y * y
    rate = (x * dy - y * dx) / square
    if of_rates:
        return rate, 2.0 * (x * half_ddy - y * half_ddx - rate * (x * dx + y * dy)) / square
    return math.atan2(y, x), rate


SEEN: dict[type, Any] = {SeriesPath: seen_in_series}
"""For each kind of path, how to look at a link on it."""


@kernel
def note_drift(y, chain, w, clocks):
    """Note the energy of the lanes, less the work done on them, at a state whose sines and cosines are in w."""
    n = chain.n
    moving, resting = energies(y, y, n, chain, w, 0.0, 1.0)
    total = moving + resting
    for i in range(2 * n, len(y)):
        total -= y[i]
    known = clocks[ENERGY] == clocks[ENERGY]
    clocks[ENERGY] = where(known, clocks[ENERGY], total)
    clocks[DRIFT] = max(clocks[DRIFT], abs(total - clocks[ENERGY]))


@kernel
def note_samples(p, room, order, states, clocks, kept, own, members, due, sign):
    """Write down the states at the times asked for that lie within the step."""
    width, n = len(members), p.chain.n
    while True:
        some = False
        for k in range(width):
            inside = is_due(k, members, due, kept, own, sign)
            own.clocks[AT, k] = kept.times[due[k]] - own.clocks[T, k] if inside else 0.0
            some = some or inside
        if not some:
            return
        arrival(clocks[AT], states[OLD], p, room, order, states[BETWEEN])
        for k in range(width):
            if is_due(k, members, due, kept, own, sign):
                for i in range(2 * n):
                    kept.samples[members[k], due[k], i] = own.y[BETWEEN, i, k]
                due[k] += 1


@kernel
def is_due(k, members, due, kept, own, sign):
    """Whether the next sample of lane k lies within the step."""
    if members[k] < 0 or due[k] >= len(kept.times):
        return False
    return (kept.times[due[k]] - own.clocks[T, k]) * sign <= abs(own.clocks[SPAN, k])


@kernel
def note_extremes(k, n, member, kept, own, path):
    """Note least and largest angles and rates of lane k, also between the ends of its step."""
    extremes, h = kept.extremes[member], own.clocks[SPAN, k]
    for j in range(2 * n):
        i, of_rates, first, last = j % n, j >= n, own.y[OLD, j, k], own.y[NEW, j, k]
        extremes[0, j], extremes[1, j] = min(extremes[0, j], last), max(extremes[1, j], last)
        begins, ends = own.y[OLD, n + i, k], own.y[NEW, n + i, k]
        if of_rates:
            square, slope = parabola(h, first, last, own.y[NEW, i, k] - own.y[OLD, i, k])
            begins, ends = slope / h, (slope + 2.0 * square) / h
        if may_exceed(first, last, h * begins, h * ends, extremes, j):
            note_turns(k, i, of_rates, h, begins, ends, last - first, 0.0 if of_rates else first, extremes, j, path)


@kernel
def may_exceed(first, last, begins, ends, extremes, j):
    """Whether number j may go beyond its extremes in a step, by which it would change by `begins` and `ends` at the paces of both
    ends: by the peak of a parabola, and a term of third order as large as all its change besides.
    """
    paces = abs(begins) + abs(ends)
    peak = first + (0.5 * begins * abs(begins) / paces if begins * ends < 0.0 else 0.0)
    slack = 0.15 * (paces + abs(last - first))
    return max(first, last, peak) + slack > extremes[1, j] or min(first, last, peak) - slack < extremes[0, j]


@kernel
def parabola(h, first, last, by):
    """Return the coefficients of (s / h)^2 and s / h of a number that goes from first to last in a step h, its integral `by`."""
    return 3.0 * (first + last - 2.0 * by / h), 6.0 * by / h - 4.0 * first - 2.0 * last


@kernel
def note_turns(k, i, of_rates, h, first, last, by, start, extremes, j, path):
    """Note where the angle of link i of lane k, or its rate, turns back; its paces at the ends of the step are first and last, but
    those of a rate are found here.
    """
    for end in range(2 if of_rates else 0):
        _, pace = seen(k, i, end * h, True, path)
        first, last = (first, pace) if end else (pace, last)
    stop, pace = h, last
    if first * last >= 0.0:
        stop = slowest(h, first, last, by)
        if stop != h:
            _, pace = seen(k, i, stop, of_rates, path)
    low, below = 0.0, first
    for part in range(2):
        high, above = (h, last) if part else (stop, pace)
        if below * above < 0.0:
            _, value = turning_point(k, i, of_rates, low, high, below, above, path)
            extremes[0, j], extremes[1, j] = min(extremes[0, j], start + value), max(extremes[1, j], start + value)
        low, below = high, above


@kernel
def slowest(h, first, last, by):
    """Return when a number that changes the same way at both ends of a step of length h, or not at its start, may go the other way:
    by the parabola through its paces, with all `by` which it changes; h if it does not come near to standing still.
    """
    square, slope = parabola(h, first, last, by)
    if slope * square >= 0.0 or abs(slope) >= 2.0 * abs(square) or slope * first > 0.0:
        return h
    left = first * (first - slope * slope / (4.0 * square))
    return -0.5 * h * slope / square if first == 0.0 or left < 0.25 * first * first else h


@kernel
def suspect_flips(n, y, new, levels, clocks):
    """Flag the lanes in which a link may have turned over."""
    flag, one = clocks[FLAG], alike(1.0, clocks[FLAG])
    for i in range(n):
        start, end, back = abs(y[i] - levels[i]), abs(new[i] - levels[i]), y[n + i] * new[n + i]
        near = (max(start, end) > math.pi - NEAR) & (back < 0.0)
        flag = where((end > math.pi) | near, one, flag)
    clocks[FLAG] = flag


@kernel
def flip(k, n, own, path):
    """Return the first link of lane k that turns over in the step, and the time into the step; -1 if none does.

    A link turns over when it has gone half a turn from where it hangs down. One that does and comes back within the step is found
    where it turns back.
    """
    h = own.clocks[SPAN, k]
    link, soonest = -1, h
    for i in range(n):
        start, end, stop = own.y[OLD, i, k] - own.levels[i, k], own.y[NEW, i, k] - own.levels[i, k], h
        back = own.y[OLD, n + i, k] * own.y[NEW, n + i, k] < 0.0
        if back and abs(end) <= math.pi and max(abs(start), abs(end)) > math.pi - NEAR:
            stop, by = turning_point(k, i, False, 0.0, h, own.y[OLD, n + i, k], own.y[NEW, n + i, k], path)
            end = start + by
        if abs(end) > math.pi and abs(start) <= math.pi:
            when = crossing(k, i, math.copysign(math.pi, end) - start, end - start, stop, path)
            if link < 0 or abs(when) < abs(soonest):
                link, soonest = i, when
    return link, soonest


@kernel
def turning_point(k, i, of_rates, low, high, below, above, path):
    """Return when link i of lane k has no rate, or no acceleration if `of_rates`, which have not the same sign at the times low and
    high, and by how much it has then turned, or its rate: by false position (Illinois).
    """
    s, side, span, value = high, 0, abs(high - low), 0.0
    for _ in range(60):
        before, s = s, high - above * (high - low) / (above - below)
        value, pace = seen(k, i, s, of_rates, path)
        if abs(s - before) <= NARROW * span:
            break
        if pace * above > 0.0:
            high, above = s, pace
            below *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            low, below = s, pace
            above *= 0.5 if side == -1 else 1.0
            side = -1
    return s, value


@kernel
def crossing(k, i, by, whole, h, path):
    """Return when link i of lane k has turned by so much of what it turns by the time h: Newton's method, halving where that
    leaves the bracket.
    """
    low, high = 0.0, h
    s, sign = h * by / whole, math.copysign(1.0, by)
    for _ in range(60):
        turned, slope = seen(k, i, s, False, path)
        ahead, slope = (turned - by) * sign, slope * sign
        if ahead > 0.0:
            high = s
        else:
            low = s
        guess = s - ahead / slope if slope != 0.0 else high
        if not (min(low, high) < guess < max(low, high)):
            guess = 0.5 * (low + high)
        if abs(guess - s) <= 1e-14 * abs(h):
            return guess
        s = guess
    return s
