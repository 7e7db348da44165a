"""Within a step: when a link turns back, and when it has turned by so much, by root finding on the path of its lane."""

from __future__ import annotations

import math

from nlink.compiled.jit import kernel
from nlink.ensemble.kernels.methods import seen

NARROW = 1e-9
"""How well the time of a turning point is found, as a part of the step: the value there is then right to the last digit."""


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


@kernel
def may_exceed(first, last, begins, ends, least, largest):
    """Whether a number may go beyond its least and largest in a step, by which it would change by `begins` and `ends` at the
    derivatives of both ends: by the peak of a parabola, and a term of third order as large as all its change besides.
    """
    paces = abs(begins) + abs(ends)
    peak = first + (0.5 * begins * abs(begins) / paces if begins * ends < 0.0 else 0.0)
    slack = 0.15 * (paces + abs(last - first))
    return max(first, last, peak) + slack > largest or min(first, last, peak) - slack < least


@kernel
def parabola(h, first, last, by):
    """Return the coefficients of (s / h)^2 and s / h of a number that goes from first to last in a step h, its integral `by`."""
    return 3.0 * (first + last - 2.0 * by / h), 6.0 * by / h - 4.0 * first - 2.0 * last


@kernel
def note_turns(k, i, link, of_rates, h, first, last, by, start, least, largest, path):
    """Note where what `seen` gives of i in lane k turns back, among the least and largest of a link; its derivatives at the ends of
    the step are first and last, it changes by `by`, and `start` is what values within the step are counted from.
    """
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
            least[link], largest[link] = min(least[link], start + value), max(largest[link], start + value)
        low, below = high, above


@kernel
def slowest(h, first, last, by):
    """Return the time at which a derivative is smallest, from the quadratic that matches its values first and last at the ends of a
    step of length h and its integral `by`; h if it does not come near to a change of sign.
    """
    square, slope = parabola(h, first, last, by)
    if slope * square >= 0.0 or abs(slope) >= 2.0 * abs(square) or slope * first > 0.0:
        return h
    left = first * (first - slope * slope / (4.0 * square))
    return -0.5 * h * slope / square if first == 0.0 or left < 0.25 * first * first else h
