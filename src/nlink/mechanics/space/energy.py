"""Energies of chains of lines in space, for compiled code: many members at a time."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.mechanics.parameters import COM, LENGTH, MASS
from nlink.mechanics.space.kernels import STIFFNESS, bend_square
from nlink.mechanics.space.numbers import COUPLED, LOWER, UPPER


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
