"""Drag in the series of lines: linear, and quadratic where one chain is followed. For the size of a velocity see the plane.

Velocities of the centres of mass stand in their rows when this is asked.
"""

from __future__ import annotations

import math

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import kernel
from nlink.compiled.simd import of_numbers
from nlink.formulations.series.resistance import STILL
from nlink.formulations.space.series.rows import FIRST, SPEED_SIZE, SPEEDX, SPEEDY, SPEEDZ
from nlink.mechanics.kernels import LINEAR_DRAG, QUADRATIC_DRAG


@kernel
def linear(k, i, ahead, p, terms, w):
    """See `resist`."""
    factor = -p.links[LINEAR_DRAG, i]
    return factor * terms[SPEEDX, k, i], factor * terms[SPEEDY, k, i], factor * terms[SPEEDZ, k, i]


@kernel
def one_resist(k, i, ahead, p, terms, w):
    """See `resist`."""
    fx, fy, fz = linear(k, i, ahead, p, terms, w)
    if p.force_level > 1:
        extend(k, i, ahead, terms, w)
        for m in range(k + 1):
            factor = p.links[QUADRATIC_DRAG, i] * terms[SPEED_SIZE, m, i]
            fx -= factor * terms[SPEEDX, k - m, i]
            fy -= factor * terms[SPEEDY, k - m, i]
            fz -= factor * terms[SPEEDZ, k - m, i]
    return fx, fy, fz


@kernel
def extend(k, i, ahead, terms, w):
    """Fill coefficient k of the size of the velocity of line i: the root of the series of its square."""
    size, now = terms[SPEED_SIZE], math.sqrt(product(k, k, i, terms))
    if k == 0:
        w[FIRST, i] = -1.0
    if w[FIRST, i] < 0.0 and now > STILL:
        w[FIRST, i] = k
        size[k, i] = now if ahead or k % 2 == 0 else -now
    elif w[FIRST, i] < 0.0:
        size[k, i] = 0.0
    else:
        f = int(w[FIRST, i])
        total = 0.0
        for m in range(f, k + 1):
            total += product(m, k + f - m, i, terms)
        for m in range(f + 1, k):
            total -= size[m, i] * size[k + f - m, i]
        size[k, i] = total / (2.0 * size[f, i])


@kernel
def product(m, n, i, terms):
    """Return the product of coefficients m and n of the velocity of line i."""
    return (terms[SPEEDX, m, i] * terms[SPEEDX, n, i] + terms[SPEEDY, m, i] * terms[SPEEDY, n, i]) + (
        terms[SPEEDZ, m, i] * terms[SPEEDZ, n, i]
    )


@kernel
def one_resisted(k, i, p, terms):
    """See `resisted`: |v|^3 is |v| times v.v."""
    total = 0.0
    for m in range(k + 1):
        both = 0.0
        for j in range(k - m + 1):
            both += product(j, k - m - j, i, terms)
        total += terms[SPEED_SIZE, m, i] * both
    return p.links[QUADRATIC_DRAG, i] * total


@dispatched(of_numbers(one_resist, linear), "terms")
def resist(k, i, ahead, p, terms, w):
    """Return coefficient k of the drag on line i."""


@dispatched(of_numbers(one_resisted, lambda k, i, p, terms: 0.0), "terms")
def resisted(k, i, p, terms):
    """Return coefficient k of the power that quadratic drag takes from line i."""
