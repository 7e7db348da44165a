"""Compiled loads of joints of bodies: springs against twist, and torques of hinges.

With a and b the y axes of neighbours (of the ground: y) and psi the twist between them, the moment on the lower one is
-k psi (a + b)/(1 + a.b), the exact gradient of k psi^2/2.
"""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, sine
from nlink.mechanics.kernels import DRIVEN
from nlink.mechanics.parameters import AMPLITUDE, FREQUENCY, PHASE
from nlink.mechanics.parameters import TORQUE as CONSTANT
from nlink.mechanics.scratch import TQ
from nlink.mechanics.space.attitudes import dot, taken
from nlink.mechanics.space.kernels import angle_of
from nlink.mechanics.space.numbers import HINGE, KIND, LINE, PLACE, TORSION
from nlink.mechanics.space.scratch import EX, NX, NY, NZ, XX, ZX
from nlink.mechanics.torques import from_table

FOLDED = 1e-300
"""Added to 1 + a.b, which vanishes where a link is folded back: the moment is large there, and not infinite."""


@kernel
def twist_joints(p, w):
    """Add the moments of the springs against twist."""
    for i in range(p.n):
        if p.whole[KIND, i] != LINE and (i == 0 or p.whole[KIND, i - 1] != LINE):
            own_e = taken(w, EX, i)
            psi, e = twist_of(i, w)
            size = p.links[TORSION, i] * psi / (1.0 + dot(e, own_e) + FOLDED)
            nx, ny, nz = size * (e[0] + own_e[0]), size * (e[1] + own_e[1]), size * (e[2] + own_e[2])
            w[NX, i], w[NY, i], w[NZ, i] = w[NX, i] + nx, w[NY, i] + ny, w[NZ, i] + nz
            if i > 0:
                w[NX, i - 1], w[NY, i - 1], w[NZ, i - 1] = w[NX, i - 1] - nx, w[NY, i - 1] - ny, w[NZ, i - 1] - nz


@kernel
def twist_of(i, w):
    """Return the twist of body i against its parent, a body or the ground, and the direction of that."""
    one, zero = alike(1.0, w[EX, i]), alike(0.0, w[EX, i])
    x, e, z = (one, zero, zero), (zero, -one, zero), (zero, zero, one)
    if i > 0:
        x, e, z = taken(w, XX, i - 1), taken(w, EX, i - 1), taken(w, ZX, i - 1)
    own_x, own_z = taken(w, XX, i), taken(w, ZX, i)
    return angle_of(dot(x, own_z) - dot(z, own_x), dot(x, own_x) + dot(z, own_z)), e


@kernel
def drive_hinges(t, y, p, w, power, row):
    """Fill TQ with the torques of the hinges, and the row of the ledger with their power."""
    driven = alike(0.0, y[0])
    for i in range(p.n):
        w[TQ, i] = p.links[CONSTANT, i]
        if p.timed:
            w[TQ, i] += p.links[AMPLITUDE, i] * sine(p.links[FREQUENCY, i] * t + p.links[PHASE, i])
            w[TQ, i] += from_table(t, p.table, int(p.spans[0, i]), int(p.spans[1, i]))
        if p.whole[KIND, i] == HINGE:
            driven += w[TQ, i] * y[p.size + p.whole[PLACE, i]]
    if p.ledger > 0:
        power[row + DRIVEN] = driven
