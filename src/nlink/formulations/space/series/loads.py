"""The loads of a chain of lines as series: forces in the coordinates of the lines; and what they do, for the ledger.

What points along a line is taken up by its tension, so that in these coordinates

    link damper      -kappa e'                   the moment -kappa omega
    joint spring     k beta/sin(beta) e_j        on e_i and, with the other, on its neighbour: see `springs`
    follower force   -force e                    at the tip
    rotor            h e x e'                    momentum h along the line
    drag             -c v at the centre of mass  v = sum of l e' of the lines before, and d e'

A force F at the centre of mass of line i is d_i F on e_i and l_j F on each line j before.
"""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.space.series.resistance import resist, resisted
from nlink.formulations.space.series.rows import QX, QY, QZ, SPEEDX, SPEEDY, SPEEDZ, X, Y, Z
from nlink.formulations.space.series.springs import bend
from nlink.mechanics.kernels import DRAGGED, FOLLOWED, FOLLOWER, LINEAR_DRAG, TIP_X, TIP_Y, TIPPED
from nlink.mechanics.moments import POWERS
from nlink.mechanics.parameters import COM, LENGTH
from nlink.mechanics.space.kernels import DAMPING, RESISTANCE, RESISTED
from nlink.mechanics.space.numbers import SPIN, TIP_Z, SpatialNumbers

ACTS, SPRINGS, ROTORS = 1, 2, 4
"""What acts besides gravity, as a sum: anything, springs, rotors."""


def acting(chain: SpatialNumbers) -> int:
    """Return what acts on a chain, as a number that chooses compiled code."""
    return ACTS * chain.loaded + SPRINGS * chain.sprung + ROTORS * chain.spun


@kernel
def act(k, room, ahead):
    """Fill coefficient k of the forces of the loads."""
    p, terms, w, u = room.chain, room.terms, room.w, room.u
    for i in range(p.n):
        lost = p.links[RESISTANCE, i] * (k + 1.0)
        u[QX, i], u[QY, i], u[QZ, i] = -lost * terms[X, k + 1, i], -lost * terms[Y, k + 1, i], -lost * terms[Z, k + 1, i]
        if p.spun:
            spin(k, i, p, terms, u)
    if p.sprung:
        bend(k, p, terms, w, u)
    if p.force_level:
        forces(k, ahead, p, terms, w, u)


@kernel
def spin(k, i, p, terms, u):
    """Add coefficient k of what the rotor of line i does: of the products of two coefficients, one way round and the other."""
    x = y = z = alike(0.0, terms[X, 0, i])
    for m in range(k // 2 + 1):
        n = k + 1 - m
        by = 1.0 * (n - m)
        x += by * (terms[Y, m, i] * terms[Z, n, i] - terms[Z, m, i] * terms[Y, n, i])
        y += by * (terms[Z, m, i] * terms[X, n, i] - terms[X, m, i] * terms[Z, n, i])
        z += by * (terms[X, m, i] * terms[Y, n, i] - terms[Y, m, i] * terms[X, n, i])
    momentum = p.links[SPIN, i]
    u[QX, i] += momentum * x
    u[QY, i] += momentum * y
    u[QZ, i] += momentum * z


@kernel
def forces(k, ahead, p, terms, w, u):
    """Add coefficient k of drag and of the forces at the tip."""
    n, last = p.n, p.n - 1
    speeds(k, p, terms)
    pull = p.tip[FOLLOWER]
    tx, ty, tz = -pull * terms[X, k, last], -pull * terms[Y, k, last], -pull * terms[Z, k, last]
    if k == 0:
        tx, ty, tz = tx + p.tip[TIP_X], ty + p.tip[TIP_Y], tz + p.tip[TIP_Z]
    for j in range(n):
        i = n - 1 - j
        fx, fy, fz = resist(k, i, ahead, p, terms, w)
        d, length = p.links[COM, i], p.links[LENGTH, i]
        u[QX, i] += length * tx + d * fx
        u[QY, i] += length * ty + d * fy
        u[QZ, i] += length * tz + d * fz
        tx, ty, tz = tx + fx, ty + fy, tz + fz


@kernel
def speeds(k, p, terms):
    """Fill coefficient k of the velocities of the centres of mass; return that of the tip."""
    vx = vy = vz = alike(0.0, terms[X, 0, 0])
    for i in range(p.n):
        d, length = (k + 1.0) * p.links[COM, i], (k + 1.0) * p.links[LENGTH, i]
        x, y, z = terms[X, k + 1, i], terms[Y, k + 1, i], terms[Z, k + 1, i]
        terms[SPEEDX, k, i], terms[SPEEDY, k, i], terms[SPEEDZ, k, i] = vx + d * x, vy + d * y, vz + d * z
        vx, vy, vz = vx + length * x, vy + length * y, vz + length * z
    return vx, vy, vz


def line_ledger(p, room, order, q):
    """Fill the coefficients of the ledger in q (order, m): products of the series of forces and velocities, integrated."""
    chain, terms = room.chain, room.terms
    n, row, zero = chain.n, 6 * chain.n, alike(0.0, room.terms[X, 0, 0])
    for k in range(order):
        share, lost = 1.0 / (k + 1.0), zero
        for r in range(POWERS):
            q[k, row + r] = zero
        for i in range(n):
            lost -= chain.links[RESISTANCE, i] * speed_square(k, terms, i)
        q[k, row + RESISTED] = lost * share
    if chain.force_level:
        force_ledger(chain, terms, order, q, row)


@kernel
def speed_square(k, terms, i):
    """Return coefficient k of the square of the angular velocity of line i."""
    total = alike(0.0, terms[X, 0, i])
    for m in range(k + 1):
        n = k - m
        dot = (terms[X, m + 1, i] * terms[X, n + 1, i] + terms[Y, m + 1, i] * terms[Y, n + 1, i]) + (
            terms[Z, m + 1, i] * terms[Z, n + 1, i]
        )
        total += ((m + 1.0) * (n + 1.0)) * dot
    return total


@kernel
def force_ledger(p, terms, order, q, row):
    """Fill the power of drag and of the forces at the tip."""
    n, last, zero = p.n, p.n - 1, alike(0.0, terms[X, 0, 0])
    for k in range(order):
        speeds(k, p, terms)  # of chains in lanes nothing has filled them
        lost, share = zero, 1.0 / (k + 1.0)
        for i in range(n):
            lost -= p.links[LINEAR_DRAG, i] * dot(k, terms, SPEEDX, i)
            if p.force_level > 1 and k < order - 1:
                lost -= resisted(k, i, p, terms)
        q[k, row + DRAGGED] = lost * share
    for k in range(order):  # the velocity of the tip takes the place of that of the first centre of mass
        vx, vy, vz = speeds(k, p, terms)
        terms[SPEEDX, k, 0], terms[SPEEDY, k, 0], terms[SPEEDZ, k, 0] = vx, vy, vz
        along = zero
        for m in range(k + 1):
            along += (terms[SPEEDX, m, 0] * terms[X, k - m, last] + terms[SPEEDY, m, 0] * terms[Y, k - m, last]) + (
                terms[SPEEDZ, m, 0] * terms[Z, k - m, last]
            )
        share = 1.0 / (k + 1.0)
        q[k, row + FOLLOWED] = -(p.tip[FOLLOWER] * share) * along
        q[k, row + TIPPED] = share * ((p.tip[TIP_X] * vx + p.tip[TIP_Y] * vy) + p.tip[TIP_Z] * vz)


@kernel
def dot(k, terms, row, i):
    """Return coefficient k of the square of the vector whose components stand in three rows."""
    total = alike(0.0, terms[X, 0, i])
    for m in range(k + 1):
        total += (terms[row, m, i] * terms[row, k - m, i] + terms[row + 1, m, i] * terms[row + 1, k - m, i]) + (
            terms[row + 2, m, i] * terms[row + 2, k - m, i]
        )
    return total


def refusal(p):
    """Return why the loads of lines have no series here, or nothing if they have."""
    if p.chain.links[DAMPING].any():
        return "Taylor does not take friction of joints in space (JointDamper); use DOP853"
    return ""
