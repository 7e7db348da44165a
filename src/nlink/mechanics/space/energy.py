"""Energies of chains in space, for compiled code: many members at a time."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.mechanics.parameters import COM, LENGTH, MASS
from nlink.mechanics.space.attitudes import cross, dot, pose_joints, taken
from nlink.mechanics.space.joint_loads import twist_of
from nlink.mechanics.space.kernels import STIFFNESS, bend_square, centre_of, rate_of
from nlink.mechanics.space.numbers import COUPLED, JXX, JXY, JXZ, JYY, JYZ, JZZ, KIND, LINE, LOWER, TORSION, UPPER
from nlink.mechanics.space.scratch import EX, EY, EZ, OX, XX, ZX


@kernel
def line_energies(y, p, w):
    """Return kinetic and potential energy of a chain of lines at the state y."""
    chain = p.chain
    zero = alike(0.0, y[0])
    moving = resting = height = vx = vy = vz = px = pz = zero
    py = zero - 1.0
    for i in range(chain.n):
        at, rate = 3 * i, chain.size + 3 * i
        ex, ey, ez, length = y[at], y[at + 1], y[at + 2], chain.links[LENGTH, i]
        ux, uy, uz = vx + length * y[rate], vy + length * y[rate + 1], vz + length * y[rate + 2]
        upper, lower, both = vx * vx + vy * vy + vz * vz, ux * ux + uy * uy + uz * uz, vx * ux + vy * uy + vz * uz
        moving += 0.5 * (chain.links[UPPER, i] * upper + chain.links[LOWER, i] * lower) + chain.links[COUPLED, i] * both
        resting += chain.links[MASS, i] * chain.g * (height + chain.links[COM, i] * ey)
        if chain.sprung:
            resting += 0.5 * chain.links[STIFFNESS, i] * bend_square(px, py, pz, ex, ey, ez)
        height += length * ey
        vx, vy, vz, px, py, pz = ux, uy, uz, ex, ey, ez
    return moving, resting


@kernel
def link_energies(y, p, w):
    """Return kinetic and potential energy of a chain of lines and bodies at the state y."""
    chain = p.chain
    zero = alike(0.0, y[0])
    pose_joints(y, chain, w)
    moving = resting = height = vx = vy = vz = px = pz = zero
    py = zero - 1.0
    for i in range(chain.n):
        ex, ey, ez, length = w[EX, i], w[EY, i], w[EZ, i], chain.links[LENGTH, i]
        rx, ry, rz = rate_of(ex, ey, ez, i, w)
        ux, uy, uz = vx + length * rx, vy + length * ry, vz + length * rz
        upper, lower, both = vx * vx + vy * vy + vz * vz, ux * ux + uy * uy + uz * uz, vx * ux + vy * uy + vz * uz
        if chain.whole[KIND, i] == LINE:
            moving += 0.5 * (chain.links[UPPER, i] * upper + chain.links[LOWER, i] * lower) + chain.links[COUPLED, i] * both
        else:
            moving += turning_energy(i, (vx, vy, vz), chain, w) + 0.5 * chain.links[MASS, i] * upper
            if chain.twisted and (i == 0 or chain.whole[KIND, i - 1] != LINE):
                psi, _ = twist_of(i, w)
                resting += 0.5 * chain.links[TORSION, i] * psi * psi
        _, level, _ = centre_of(i, chain, w)
        resting += chain.links[MASS, i] * chain.g * (height + level)
        if chain.sprung:
            resting += 0.5 * chain.links[STIFFNESS, i] * bend_square(px, py, pz, ex, ey, ez)
        height += length * ey
        vx, vy, vz, px, py, pz = ux, uy, uz, ex, ey, ez
    return moving, resting


@kernel
def turning_energy(i, v, p, w):
    """Return 1/2 omega.J omega + m v.(omega x c) of a body whose upper hinge has the velocity v."""
    omega, x, e, z = taken(w, OX, i), taken(w, XX, i), taken(w, EX, i), taken(w, ZX, i)
    a, b, c = dot(omega, x), -dot(omega, e), dot(omega, z)
    own = p.links[JXX, i] * a * a + p.links[JYY, i] * b * b + p.links[JZZ, i] * c * c
    own += 2.0 * (p.links[JXY, i] * a * b + p.links[JXZ, i] * a * c + p.links[JYZ, i] * b * c)
    return 0.5 * own + p.links[MASS, i] * dot(v, cross(omega, centre_of(i, p, w)))
