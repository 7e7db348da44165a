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
