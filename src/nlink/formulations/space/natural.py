"""`natural` for lines in space: the lower ends of the lines as coordinates, a constant mass matrix, quadratic constraints.

With the constants A, B, C of each line (see `numbers`), x_i its lower end and d_i = x_i - x_{i-1}:

    M is tridiagonal in blocks of 1:  M_ii = B_i + A_{i+1},  M_{i,i-1} = C_i          |d_i|^2 - l_i^2 = 0

Direction e = d/|d|, angular velocity d x d'/|d|^2. A force F at the centre of mass gives d/l F to the lower end and the rest to the
upper; a moment N the couple N x d/|d|^2. The handlings of the constraints are those of `constrained`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlink._support.checks import ModelError
from nlink.compiled.jit import kernel
from nlink.formulations.constrained import ConstrainedFormulation, ConstrainedParameters, register_open
from nlink.formulations.pieces import ACC, CURVE, FORCE, LAMBDA, OUT, PHI, RATE, RIGHT
from nlink.formulations.pieces import OWN as FIRST_OWN
from nlink.formulations.settling import settle_open_many
from nlink.mechanics.moments import POWERS
from nlink.mechanics.parameters import LENGTH, MASS
from nlink.mechanics.space import kinematics
from nlink.mechanics.space.kernels import STIFFNESS, apply_space_loads, bend_square, bending
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import COUPLED, LOWER, SHARE, UPPER, SpatialNumbers
from nlink.mechanics.space.scratch import EX, EY, EZ, FX, FY, FZ, NX, NY, NZ, OX, OY, OZ, SPACE_ROWS

DX, DY, DZ, VX, VY, VZ, X0, Y0, Z0, L0, GX, GY, GZ, PXX, PXY, PXZ, PYY, PYZ, PZZ, SLACK = range(FIRST_OWN, FIRST_OWN + 20)
"""Rows: d, d'; x and lambda for a fixed point before; g, P and det M / D of `solve`."""


class SpaceNaturalParameters(ConstrainedParameters):
    """A chain of lines in space."""


@dataclass(frozen=True)
class SpaceNatural(ConstrainedFormulation):
    """The lower ends of lines; `constraints` says how their lengths are kept."""

    name: ClassVar[str] = "natural"
    shape: ClassVar[tuple[int, int, int]] = (1, 3, 0)
    kind: ClassVar[type] = SpaceNaturalParameters
    constraints: Any = "none"

    def of_space(self, chain: SpatialChain) -> SpaceNatural:
        """Return itself."""
        return self

    def parameters(self, chain: SpatialChain, numbers: SpatialNumbers) -> SpaceNaturalParameters:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take lines with every load; refuse bodies."""
        if not chain.lines:
            raise ModelError("natural takes lines in space, not bodies; use recursive")
        return self.kind(numbers, self.constraints.handling(), *self.shape, self.size(chain.n))

    def scratch(self, n: int) -> int:
        """Rows of the loads, of the constraints, of the unknowns, and its own."""
        return SPACE_ROWS

    def encode(self, chain: SpatialChain, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the lower ends of directions (..., K), their velocities, and filtered multipliers of zero."""
        q, v = (np.cumsum(chain.length[:, None] * _rows(each), axis=-2) for each in (theta, omega))
        return self.joined(chain, q, v)

    def decode(self, chain: SpatialChain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the directions of the lines, of length 1, and their rates (..., K)."""
        e, rate, _, _ = self._directions(chain, state)
        return _flat(e), _flat(rate)

    def decode_rates(self, chain: SpatialChain, state: np.ndarray, rates: np.ndarray) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the second derivatives of the directions (..., K)."""
        e, rate, size, growth = self._directions(chain, state)
        curve = np.diff(self.split(chain, rates)[1], axis=-2, prepend=0.0)
        return _flat((curve - e * _dot(e, curve) - 2 * rate * growth) / size - e * _dot(rate, rate))

    def _directions(self, chain: SpatialChain, state: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return directions and their rates (..., N, 3), and the lengths of the lines and their rates (..., N, 1)."""
        d, pace = (np.diff(each, axis=-2, prepend=0.0) for each in self.split(chain, state))
        size = np.sqrt(_dot(d, d))
        e = d / size
        growth = _dot(e, pace)
        return e, (pace - growth * e) / size, size, growth

    def energy(self, chain: SpatialChain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the energies of the points as they are, drift included."""
        (x, v), share = self.split(chain, state), (chain.com / chain.length)[:, None]
        upper, before = (np.concatenate([np.zeros_like(each[..., :1, :]), each[..., :-1, :]], -2) for each in (x, v))
        turn = (chain.inertia / chain.length**2)[:, None] * (v - before) ** 2
        moving = 0.5 * (chain.mass[:, None] * (before + share * (v - before)) ** 2 + turn).sum((-2, -1))
        height = (upper + share * (x - upper))[..., 1]
        return moving, chain.g * (chain.mass * height).sum(-1) + kinematics.spring_energy(chain, self.decode(chain, state)[0])

    def violation(self, chain: SpatialChain, state: np.ndarray) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the largest |Phi|, of squared lengths in m^2."""
        _, _, size, _ = self._directions(chain, state)
        return np.abs(size[..., 0] ** 2 - chain.length**2).max(-1)

    def settled(
        self, parameters: SpaceNaturalParameters, states: np.ndarray, scratch: np.ndarray, plain: bool
    ) -> tuple[float, float]:
        """Bring states (K, size + ledger) onto the constraints, in place; return the largest |Phi| and |Phi'| before."""
        return settle_open_many(states, parameters, scratch, plain)

    def turning(self, n: int) -> np.ndarray:
        """Return no angles."""
        return np.zeros(self.size(n), bool)


def _rows(values: np.ndarray) -> np.ndarray:
    *lead, size = np.shape(values)
    return np.reshape(values, (*lead, size // 3, 3))


def _flat(values: np.ndarray) -> np.ndarray:
    *lead, n, size = values.shape
    return values.reshape((*lead, n * size))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1, keepdims=True)


@kernel
def part(y, i, at, axis):
    """Return a component of d of line i, or of its rate (at = 3 n)."""
    return y[at + 3 * i + axis] - (y[at + 3 * i - 3 + axis] if i > 0 else 0.0)


def pose(y, p, w):
    """Fill d, d', Phi, Phi', and the directions and angular velocities if loads ask for them."""
    n = p.chain.n
    for i in range(n):
        dx, dy, dz = part(y, i, 0, 0), part(y, i, 0, 1), part(y, i, 0, 2)
        vx, vy, vz = part(y, i, 3 * n, 0), part(y, i, 3 * n, 1), part(y, i, 3 * n, 2)
        w[DX, i], w[DY, i], w[DZ, i], w[VX, i], w[VY, i], w[VZ, i] = dx, dy, dz, vx, vy, vz
        square, length = dx * dx + dy * dy + dz * dz, p.chain.links[LENGTH, i]
        w[PHI, i], w[RATE, i] = square - length * length, 2.0 * (dx * vx + dy * vy + dz * vz)
        if p.chain.loaded:
            per = 1.0 / square
            size = math.sqrt(per)
            w[EX, i], w[EY, i], w[EZ, i] = size * dx, size * dy, size * dz
            w[OX, i], w[OY, i], w[OZ, i] = per * (dy * vz - dz * vy), per * (dz * vx - dx * vz), per * (dx * vy - dy * vx)


def act(t, p, out, w):
    """Let the loads act."""
    if p.chain.loaded:
        apply_space_loads(p.chain, w, out, p.size)
    else:
        for i in range(p.chain.n):
            w[FX, i] = w[FY, i] = w[FZ, i] = w[NX, i] = w[NY, i] = w[NZ, i] = 0.0
        for row in range(POWERS):
            out[p.size + row] = 0.0


def height(y, p, i, at):
    """Return the height of the centre of mass, or its rate."""
    return centre_height(y, p, i, at)


@kernel
def centre_height(y, p, i, at):
    """Return the height of the centre of mass of a line between its ends, or its rate."""
    return y[at + 3 * i + 1] - (1.0 - p.chain.links[SHARE, i]) * part(y, i, at, 1)


def kinetic(y, p, w):
    """Return the kinetic energy of a posed state."""
    n, links = p.chain.n, p.chain.links
    total = 0.0
    for i in range(n):
        for axis in range(3):
            low = y[3 * n + 3 * i + axis]
            high = low - part(y, i, 3 * n, axis)
            total += 0.5 * (links[UPPER, i] * high * high + 2.0 * links[COUPLED, i] * high * low + links[LOWER, i] * low * low)
    return total


def stored(y, p, w):
    """Return the power that goes into gravity and springs."""
    n, total = p.chain.n, 0.0
    for i in range(n):
        total += p.chain.links[MASS, i] * p.chain.g * centre_height(y, p, i, 3 * n)
        if p.chain.sprung:
            x, y_, z, factor = bend(i, w)
            ox, oy, oz = w[OX, i], w[OY, i], w[OZ, i]
            if i > 0:
                ox, oy, oz = ox - w[OX, i - 1], oy - w[OY, i - 1], oz - w[OZ, i - 1]
            total += p.chain.links[STIFFNESS, i] * factor * (x * ox + y_ * oy + z * oz)
    return total


def elastic(p, w):
    """Return the energy of the springs of a posed state."""
    total = 0.0
    if p.chain.sprung:
        for i in range(p.chain.n):
            px, py, pz = before(i, w)
            total += 0.5 * p.chain.links[STIFFNESS, i] * bend_square(px, py, pz, w[EX, i], w[EY, i], w[EZ, i])
    return total


@kernel
def bend(i, w):
    """Return p x e of the directions of neighbours, and beta / sin beta of the angle between them."""
    (px, py, pz), (ex, ey, ez) = before(i, w), (w[EX, i], w[EY, i], w[EZ, i])
    return py * ez - pz * ey, pz * ex - px * ez, px * ey - py * ex, bending(px, py, pz, ex, ey, ez)


@kernel
def before(i, w):
    """Return the direction of the line before line i: of the first, straight down."""
    return (w[EX, i - 1], w[EY, i - 1], w[EZ, i - 1]) if i > 0 else (0.0, -1.0, 0.0)


def equations(y, p, w):
    """Fill the forces and gamma."""
    chain = p.chain
    for i in range(chain.n):
        dx, dy, dz, vx, vy, vz = w[DX, i], w[DY, i], w[DZ, i], w[VX, i], w[VY, i], w[VZ, i]
        w[CURVE, i] = -2.0 * (vx * vx + vy * vy + vz * vz)
        per, share = 1.0 / (dx * dx + dy * dy + dz * dz), chain.links[SHARE, i]
        nx, ny, nz = per * w[NX, i], per * w[NY, i], per * w[NZ, i]
        fx, fy, fz = w[FX, i], w[FY, i] - chain.links[MASS, i] * chain.g, w[FZ, i]
        gx, gy, gz = share * fx + ny * dz - nz * dy, share * fy + nz * dx - nx * dz, share * fz + nx * dy - ny * dx
        w[FORCE, i], w[FORCE + 1, i], w[FORCE + 2, i] = gx, gy, gz
        if i > 0:
            w[FORCE, i - 1] += fx - gx
            w[FORCE + 1, i - 1] += fy - gy
            w[FORCE + 2, i - 1] += fz - gz


def solve(p, w, epsilon, forced, plain):
    """Eliminate line by line from the tip inwards, then find the unknowns from the pivot outwards.

    With M the mass of the lower end x of a line and all that hangs on it, x_ that of the line before, and a = 2 d:

        a.x - epsilon lambda = k = RIGHT + a.x_        M x + a lambda = f - C x_

    With adj M the adjugate of M, [a] the matrix of a x, and D = epsilon det M + a.adj M a the solution is

        x = P (f - C x_) + g k        P = ([a] M [a]^T + epsilon adj M)/D        g = adj M a/D
        lambda = g.(f - C x_) - (det M / D) k

    The line before gains the mass A - C^2 P + C (g a^T + a g^T) + (det M / D) a a^T and the force a lambda0 - C x0.
    """
    chain = p.chain
    mxx = mxy = mxz = myy = myz = mzz = fx = fy = fz = 0.0
    for j in range(chain.n):
        i = chain.n - 1 - j
        own, same, head = (1.0, 0.0, 0.0) if plain else (chain.links[LOWER, i], chain.links[COUPLED, i], chain.links[UPPER, i])
        mxx, myy, mzz = mxx + own, myy + own, mzz + own
        if forced:
            fx, fy, fz = fx + w[FORCE, i], fy + w[FORCE + 1, i], fz + w[FORCE + 2, i]
        ax, ay, az, k = 2.0 * w[DX, i], 2.0 * w[DY, i], 2.0 * w[DZ, i], w[RIGHT, i]
        cxx, cxy, cxz = myy * mzz - myz * myz, mxz * myz - mxy * mzz, mxy * myz - mxz * myy
        cyy, cyz, czz = mxx * mzz - mxz * mxz, mxy * mxz - mxx * myz, mxx * myy - mxy * mxy
        det = mxx * cxx + mxy * cxy + mxz * cxz
        gx, gy, gz = cxx * ax + cxy * ay + cxz * az, cxy * ax + cyy * ay + cyz * az, cxz * ax + cyz * ay + czz * az
        inverse = 1.0 / (epsilon * det + (ax * gx + ay * gy + az * gz))
        gx, gy, gz, soft, slack = gx * inverse, gy * inverse, gz * inverse, epsilon * inverse, det * inverse
        ux, uy, uz = inverse * (ay * mxz - az * mxy), inverse * (ay * myz - az * myy), inverse * (ay * mzz - az * myz)
        vx, vy, vz = inverse * (az * mxx - ax * mxz), inverse * (az * mxy - ax * myz), inverse * (az * mxz - ax * mzz)
        tx, ty = inverse * (ax * mxy - ay * mxx), inverse * (ax * myy - ay * mxy)
        pxx, pxy, pxz = ay * uz - az * uy + soft * cxx, az * ux - ax * uz + soft * cxy, ax * uy - ay * ux + soft * cxz
        pyy, pyz, pzz = az * vx - ax * vz + soft * cyy, ax * vy - ay * vx + soft * cyz, ax * ty - ay * tx + soft * czz
        x0, y0 = pxx * fx + pxy * fy + pxz * fz + gx * k, pxy * fx + pyy * fy + pyz * fz + gy * k
        z0, l0 = pxz * fx + pyz * fy + pzz * fz + gz * k, gx * fx + gy * fy + gz * fz - slack * k
        w[X0, i], w[Y0, i], w[Z0, i], w[L0, i], w[GX, i], w[GY, i], w[GZ, i] = x0, y0, z0, l0, gx, gy, gz
        w[PXX, i], w[PXY, i], w[PXZ, i], w[PYY, i], w[PYZ, i], w[PZZ, i], w[SLACK, i] = pxx, pxy, pxz, pyy, pyz, pzz, slack
        cx, cy, cz, square = same * gx + slack * ax, same * gy + slack * ay, same * gz + slack * az, same * same
        mxx, mxy = head - square * pxx + same * gx * ax + ax * cx, same * gx * ay + ax * cy - square * pxy
        mxz, myy = same * gx * az + ax * cz - square * pxz, head - square * pyy + same * gy * ay + ay * cy
        myz, mzz = same * gy * az + ay * cz - square * pyz, head - square * pzz + same * gz * az + az * cz
        fx, fy, fz = ax * l0 - same * x0, ay * l0 - same * y0, az * l0 - same * z0
    unfold(p, w, plain)


@kernel
def unfold(p, w, plain):
    """Fill ACC and LAMBDA from the pivot outwards."""
    x = y = z = 0.0
    for i in range(p.chain.n):
        same = 0.0 if plain else p.chain.links[COUPLED, i]
        gx, gy, gz, k = w[GX, i], w[GY, i], w[GZ, i], 2.0 * (w[DX, i] * x + w[DY, i] * y + w[DZ, i] * z)
        w[LAMBDA, i] = w[L0, i] - same * (gx * x + gy * y + gz * z) - w[SLACK, i] * k
        ax = w[X0, i] - same * (w[PXX, i] * x + w[PXY, i] * y + w[PXZ, i] * z) + gx * k
        ay = w[Y0, i] - same * (w[PXY, i] * x + w[PYY, i] * y + w[PYZ, i] * z) + gy * k
        az = w[Z0, i] - same * (w[PXZ, i] * x + w[PYZ, i] * y + w[PZZ, i] * z) + gz * k
        w[ACC, i], w[ACC + 1, i], w[ACC + 2, i] = ax, ay, az
        x, y, z = ax, ay, az


def inertia(p, w):
    """Fill OUT with the masses times ACC."""
    links = p.chain.links
    for i in range(p.chain.n):
        for k in range(3):
            x, before = w[ACC + k, i], w[ACC + k, i - 1] if i > 0 else 0.0
            w[OUT + k, i] = links[LOWER, i] * x + links[COUPLED, i] * before
            if i > 0:
                w[OUT + k, i - 1] += links[UPPER, i] * before + links[COUPLED, i] * x


def pull(p, w, row):
    """Fill OUT with the forces of the multipliers in `row`."""
    for i in range(p.chain.n):
        for k in range(3):
            x = 2.0 * w[DX + k, i] * w[row, i]
            w[OUT + k, i] = x
            if i > 0:
                w[OUT + k, i - 1] -= x


register_open(
    SpaceNaturalParameters,
    {each.__name__: each for each in (pose, act, stored, elastic, equations, solve, inertia, pull, kinetic, height)},
)
