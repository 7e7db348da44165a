"""Compiled loads of chains in space.

Loads add a force (FX, FY, FZ) at the centre of mass and a moment (NX, NY, NZ) about it to every link, in world axes; joint loads are
+/- moments on neighbours. Of the moment on a line only the part across it acts.
"""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.mechanics.scratch import TQ

FX, FY, FZ, NX, NY = range(TQ)
"""Rows of scratch; TQ is that of the plane, the driving torque at the hinge."""
NZ, EX, EY, EZ, OX, OY, OZ, UX, UY, UZ, DIAGONAL, ACROSS = range(TQ + 1, TQ + 13)
"""Direction, angular velocity, rate of the direction; the tridiagonal system of the friction."""
SPACE_LOAD_ROWS = TQ + 13


@kernel
def apply_space_loads(t, y, p, w, power, row):
    """Fill F and N from the loads, and power[row:] with the power of each row of the ledger."""
    for i in range(p.n):
        w[FX, i] = w[FY, i] = w[FZ, i] = w[NX, i] = w[NY, i] = w[NZ, i] = 0.0
