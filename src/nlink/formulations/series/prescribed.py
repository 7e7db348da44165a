"""Series of prescribed motions: sines, ramps, and the pieces of splines on which a step lies."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, sincos
from nlink.mechanics.tree import FIRST_SINE, FIRST_SPLINE, LAST_SINE, LAST_SPLINE, cubic


@kernel
def motion_series(t, ahead, i, tree, q, order):
    """Fill the coefficients of a prescribed coordinate from the second power on; of splines, those of the piece of the step."""
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
    for j in range(tree.bodies[FIRST_SPLINE, i], tree.bodies[LAST_SPLINE, i]):
        u, _, _, half, sixth = cubic(t, ahead, tree.splines[j], tree.splines[j + 1], tree.pieces)
        q[2, i] += half + 3.0 * sixth * u
        q[3, i] += sixth
