"""Bringing states of chains in space back onto their spheres after a step: c <- c/|c|, c' <- c' - (c.c') c, link by link."""

from __future__ import annotations

import math

from nlink.compiled.jit import kernel
from nlink.mechanics.space.numbers import BALL, KIND, LINE, PLACE


@kernel
def settle_sphere(y, at, count, half):
    """Scale the coordinates y[at : at + count] to length 1, and project their rates, which stand `half` further on."""
    square = y[at] * y[at]
    for k in range(1, count):
        square += y[at + k] * y[at + k]
    scale = 1.0 / math.sqrt(square)
    y[at] *= scale
    along = y[at] * y[half + at]
    for k in range(1, count):
        y[at + k] *= scale
        along += y[at + k] * y[half + at + k]
    for k in range(count):
        y[half + at + k] -= along * y[at + k]


def settle_links(y, p, w):
    """Settle the state of a chain of lines and bodies: directions and quaternions, not angles."""
    half = p.chain.size
    for i in range(p.chain.n):
        kind, at = p.chain.whole[KIND, i], p.chain.whole[PLACE, i]
        if kind == LINE:
            settle_sphere(y, at, 3, half)
        elif kind == BALL:
            settle_sphere(y, at, 4, half)
    return True


def settle_lines(y, p, w):
    """Settle the state of a chain of lines."""
    half = p.chain.size
    for i in range(p.chain.n):
        settle_sphere(y, 3 * i, 3, half)
    return True
