"""Series of prescribed motions: sines, ramps, and the piece of a spline on which a step lies."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, sincos, where
from nlink.mechanics.tree import (
    FIRST_PIECE,
    FIRST_SINE,
    LAST_PIECE,
    LAST_SINE,
)


@kernel
def motion_series(t, ahead, i, tree, q, order):
    """Fill the coefficients of a prescribed coordinate from the second power on; of splines, the piece of the step."""
    for k in range(2, order + 1):
        q[k, i] = alike(0.0, q[0, i])
    for j in range(tree.bodies[FIRST_SINE, i], tree.bodies[LAST_SINE, i]):
        size, frequency = tree.sines[j, 0], tree.sines[j, 1]
        s, c = sincos(frequency * t + tree.sines[j, 2])
        for k in range(order + 1):
            if k > 1:
                q[k, i] += size * s
            size *= frequency / (k + 1.0)
            s, c = c, -s
    first = tree.bodies[FIRST_PIECE, i]
    while first < tree.bodies[LAST_PIECE, i]:
        first = piece_series(t, ahead, first, tree, q, i)


@kernel
def piece_series(t, ahead, first, tree, q, i):
    """Add the coefficients of the spline that begins at piece `first`; return where the next one begins."""
    end = tree.bodies[LAST_PIECE, i]
    begin, half, sixth = alike(tree.pieces[first, 0], t), alike(tree.pieces[first, 3], t), alike(tree.pieces[first, 4], t)
    j = first + 1
    while j < end and (tree.pieces[j, 0] > tree.pieces[j - 1, 0] or j == first + 1):
        behind = t >= tree.pieces[j, 0] if ahead else t > tree.pieces[j, 0]
        begin = where(behind, tree.pieces[j, 0], begin)
        half, sixth = where(behind, tree.pieces[j, 3], half), where(behind, tree.pieces[j, 4], sixth)
        j += 1
    q[2, i] += half + 3.0 * sixth * (t - begin)
    q[3, i] += sixth
    return j
