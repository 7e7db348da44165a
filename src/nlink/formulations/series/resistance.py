"""Quadratic drag in the series: the size of a velocity is the root of a series.

    |v|^2 = v.v        s_k = (sum_m v_m.v_{k-m} - sum_{0<m<k} s_m s_{k-m}) / (2 s_0)

A link that starts from rest has v = t^f (...), and s the same power of time: the sums begin at f. Where a velocity passes through
zero on the way, s would go on with the wrong sign: the step ends there; where it passes close by, s converges slowly, and the step
is cut so that its last terms are small (`drag_horizon`). One chain at a time; lanes do not come here.
"""

from __future__ import annotations

import math

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import kernel
from nlink.compiled.simd import of_numbers
from nlink.formulations.series.rows import ACROSS, FIRST, PULL, SPEED_SIZE, SPEEDX, SPEEDY
from nlink.mechanics.kernels import QUADRATIC_DRAG

SMALL = 1e-12
"""m/s: how large the last terms of the size of a velocity may be."""
LOOKS = 8
"""Points of a step at which the size of a velocity is looked at."""
STILL = 1e-12
"""m/s, m/s^2, ...: a coefficient of the velocity below this is none."""


@kernel
def one_resist(k, i, ahead, gx, gy, p, terms, w, u):
    """See `resist`."""
    vx, vy, size = terms[SPEEDX], terms[SPEEDY], terms[SPEED_SIZE]
    vx[k, i], vy[k, i] = gx, gy
    if k == 0:
        w[FIRST, i] = -1.0
    now = math.sqrt(gx * gx + gy * gy)
    if w[FIRST, i] < 0.0 and now > STILL:
        w[FIRST, i] = k
        size[k, i] = now if ahead or k % 2 == 0 else -now
    elif w[FIRST, i] < 0.0:
        size[k, i] = 0.0
    else:
        f = int(w[FIRST, i])
        total = 0.0
        for m in range(f, k + 1):
            total += vx[m, i] * vx[k + f - m, i] + vy[m, i] * vy[k + f - m, i]
        for m in range(f + 1, k):
            total -= size[m, i] * size[k + f - m, i]
        size[k, i] = total / (2.0 * size[f, i])
    for m in range(k + 1):
        u[ACROSS, i] -= p.links[QUADRATIC_DRAG, i] * size[m, i] * vx[k - m, i]
        u[PULL, i] -= p.links[QUADRATIC_DRAG, i] * size[m, i] * vy[k - m, i]


@kernel
def one_resisted(k, i, p, terms):
    """See `resisted`: |v|^3 is |v| times v.v."""
    vx, vy, size = terms[SPEEDX], terms[SPEEDY], terms[SPEED_SIZE]
    total = 0.0
    for m in range(k + 1):
        both = 0.0
        for j in range(k - m + 1):
            both += vx[j, i] * vx[k - m - j, i] + vy[j, i] * vy[k - m - j, i]
        total += size[m, i] * both
    return p.links[QUADRATIC_DRAG, i] * total


@kernel
def one_horizon(h, p, terms, w, order):
    """See `drag_horizon`: the first sign change of the size of a velocity, between `LOOKS` points and at the minima among them."""
    for i in range(p.n):
        if p.links[QUADRATIC_DRAG, i] == 0.0 or w[FIRST, i] < 0.0:
            continue
        for k in range(order - 3, order - 1):
            longest = (SMALL / max(abs(terms[SPEED_SIZE, k, i]), 1e-200)) ** (1.0 / k)
            h = math.copysign(min(abs(h), longest), h)
        h = first_rest(h, i, terms, order)
    return h


@kernel
def first_rest(h, i, terms, order):
    """Return the time within a step h at which link i first comes to rest; h if it does not."""
    step, before, here = h / LOOKS, terms[SPEED_SIZE, 0, i], speed_at(h / LOOKS, i, terms, order)
    for k in range(1, LOOKS + 1):
        after = speed_at((k + 1) * step, i, terms, order) if k < LOOKS else here
        at, value, curve = k * step, here, before - 2.0 * here + after
        if here >= 0.0 and here <= min(before, after) and curve > 0.0:  # the parabola through three points has its minimum here
            at += 0.5 * step * (before - after) / curve
            value = speed_at(at, i, terms, order)
        if value < 0.0:
            return bisected((k - 1) * step, at, i, terms, order)
        before, here = here, after
    return h


@kernel
def bisected(low, high, i, terms, order):
    """Return where the size of a velocity changes its sign between two times."""
    for _ in range(80):
        middle = 0.5 * (low + high)
        if speed_at(middle, i, terms, order) < 0.0:
            high = middle
        else:
            low = middle
    return high


@kernel
def speed_at(t, i, terms, order):
    """Return the size of the velocity of link i at the time t into the step."""
    total = 0.0
    for k in range(order - 2, -1, -1):
        total = total * t + terms[SPEED_SIZE, k, i]
    return total


@dispatched(of_numbers(one_resist, lambda k, i, ahead, gx, gy, p, terms, w, u: None), "terms")
def resist(k, i, ahead, gx, gy, p, terms, w, u):
    """Add coefficient k of quadratic drag on link i, whose velocity has the coefficients gx, gy, to the forces in u."""


@dispatched(of_numbers(one_resisted, lambda k, i, p, terms: 0.0), "terms")
def resisted(k, i, p, terms):
    """Return coefficient k of the power that quadratic drag takes from link i."""


@dispatched(of_numbers(one_horizon, lambda h, p, terms, w, order: h), "terms")
def drag_horizon(h, p, terms, w, order):
    """Return the part of a step h in which no dragged link comes to rest."""
