"""`recursive` for lines in space (thin rods, point masses on ball joints): the O(N) sweep with the tension as unknown.

From the tip inwards each line passes a symmetric 3x3 mass M and a bias B at its upper hinge: the force it needs there is
R = M a + B for an acceleration a of the hinge. With the constants A, B1, C of its kinetic energy in the velocities of its ends (see
`numbers`), forces f0, f1 on its ends, M', B' of what hangs on the lower end, and w = l |e'|^2:

    X = (B1 1 + M')^-1      z = f1 - B'      y = X e      s = e.y      k = C y + e      t = (y.z + w)/s
    M <- A 1 - C^2 X + k k^T/s               B <- C X z - t k - f0                             (from the tip inwards)
    a1 = (X z - t y) + (y k^T/s - C X) a0    e'' = (a1 - a0)/l                                 (from the pivot outwards)

Lower end (B1 1 + M') a1 + C a0 + B' = f1 - T e, upper end R = A a0 + C a1 - f0 - T e, length e.(a1 - a0) = -w; a1 is eliminated,
then the tension T. Nothing is normalised, so that the rates are smooth off the sphere too. A force F at the centre of mass gives
f1 = d/l F, f0 = (1 - d/l) F; a moment N the couple f1 += N x e/l, f0 -= N x e/l.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.space.base import SpaceFormulation
from nlink.formulations.space.settling import settle_lines
from nlink.mechanics.contract import SETTLERS, right_hand_side
from nlink.mechanics.parameters import LENGTH
from nlink.mechanics.space.kernels import apply_space_loads, pose_lines
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import COUPLED, LOWER, PER_LENGTH, SHARE, UPPER, SpaceParameters, SpatialNumbers
from nlink.mechanics.space.scratch import FX, FY, FZ, NX, NY, NZ, OWN, SPACE_ROWS

HX, HY, HZ, WXX, WXY, WXZ, WYX, WYY, WYZ, WZX, WZY, WZZ = range(OWN, OWN + 12)
"""Rows: a1 = H + W a0."""


class LineParameters(SpaceParameters):
    """A chain of lines."""


@dataclass(frozen=True)
class LineSweep(SpaceFormulation):
    """O(N) sweep over lines on ball joints, the tension as unknown."""

    name: ClassVar[str] = "recursive"
    kind: ClassVar[type[SpaceParameters]] = LineParameters

    def parameters(self, chain: SpatialChain, numbers: SpatialNumbers) -> SpaceParameters:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the numbers of the lines; load what registers their series and the stage of RATTLE."""
        import nlink.formulations.space.rattle
        import nlink.formulations.space.series  # noqa: F401

        return super().parameters(chain, numbers)

    def scratch(self, n: int) -> int:
        """Rows of the loads and of the sweep."""
        return SPACE_ROWS


@right_hand_side(LineParameters)
def line_rates(t, y, p, out, w):
    """Fill out = (e', e'', powers)."""
    chain = p.chain
    half = chain.size
    if chain.loaded:
        pose_lines(y, chain, w)
        apply_space_loads(chain, w, out, 2 * half)
    zero = alike(0.0, y[0])
    below = zero, zero, zero, zero, zero, zero, zero, zero, zero
    for j in range(chain.n):
        i = chain.n - 1 - j
        below = pull_line(i, 3 * i, y, chain, w, below)
    x, up, z = zero, zero + chain.g, zero
    for i in range(chain.n):
        x, up, z = swing_line(i, 3 * i, y, chain, w, out, x, up, z)


@kernel
def pull_line(i, at, y, p, w, below):
    """Fill H, W of line i, whose direction is y[at:]; return M and B at its upper hinge from those at its lower end."""
    mxx, mxy, mxz, myy, myz, mzz, bx, by, bz = below
    half = p.size
    own, coupled, upper = p.links[LOWER, i], p.links[COUPLED, i], p.links[UPPER, i]
    ex, ey, ez = y[at], y[at + 1], y[at + 2]
    vx, vy, vz = y[half + at], y[half + at + 1], y[half + at + 2]
    pace = p.links[LENGTH, i] * (vx * vx + vy * vy + vz * vz)
    kxx, kyy, kzz = mxx + own, myy + own, mzz + own
    cxx, cxy, cxz = kyy * kzz - myz * myz, mxz * myz - mxy * kzz, mxy * myz - mxz * kyy
    inverse = 1.0 / (kxx * cxx + mxy * cxy + mxz * cxz)
    xxx, xxy, xxz = cxx * inverse, cxy * inverse, cxz * inverse
    xyy, xyz, xzz = (kxx * kzz - mxz * mxz) * inverse, (mxy * mxz - kxx * myz) * inverse, (kxx * kyy - mxy * mxy) * inverse
    yx, yy, yz = xxx * ex + xxy * ey + xxz * ez, xxy * ex + xyy * ey + xyz * ez, xxz * ex + xyz * ey + xzz * ez
    part = 1.0 / (ex * yx + ey * yy + ez * yz)
    zx, zy, zz = -bx, -by, -bz
    lowx, lowy, lowz = zx, zy, zz
    if p.loaded:
        lowx, lowy, lowz = pushes(i, ex, ey, ez, p, w)
        zx, zy, zz = zx + lowx, zy + lowy, zz + lowz
    kx, ky, kz = coupled * yx + ex, coupled * yy + ey, coupled * yz + ez
    pull = (yx * zx + yy * zy + yz * zz + pace) * part
    gx, gy, gz = xxx * zx + xxy * zy + xxz * zz, xxy * zx + xyy * zy + xyz * zz, xxz * zx + xyz * zy + xzz * zz
    w[HX, i], w[HY, i], w[HZ, i] = gx - yx * pull, gy - yy * pull, gz - yz * pull
    ux, uy, uz = kx * part, ky * part, kz * part
    nxx, nxy, nxz, nyy, nyz, nzz = coupled * xxx, coupled * xxy, coupled * xxz, coupled * xyy, coupled * xyz, coupled * xzz
    w[WXX, i], w[WXY, i], w[WXZ, i] = yx * ux - nxx, yx * uy - nxy, yx * uz - nxz
    w[WYX, i], w[WYY, i], w[WYZ, i] = yy * ux - nxy, yy * uy - nyy, yy * uz - nyz
    w[WZX, i], w[WZY, i], w[WZZ, i] = yz * ux - nxz, yz * uy - nyz, yz * uz - nzz
    bx, by, bz = coupled * gx - kx * pull, coupled * gy - ky * pull, coupled * gz - kz * pull
    if p.loaded:
        bx, by, bz = bx - (w[FX, i] - lowx), by - (w[FY, i] - lowy), bz - (w[FZ, i] - lowz)
    return (
        upper - coupled * nxx + kx * ux, kx * uy - coupled * nxy, kx * uz - coupled * nxz,
        upper - coupled * nyy + ky * uy, ky * uz - coupled * nyz, upper - coupled * nzz + kz * uz, bx, by, bz,
    )  # fmt: skip


@kernel
def pushes(i, ex, ey, ez, p, w):
    """Return f1, the force on the lower end of line i, of the force and moment on it; f0 is the force less f1."""
    share, per = p.links[SHARE, i], p.links[PER_LENGTH, i]
    nx, ny, nz = w[NX, i], w[NY, i], w[NZ, i]
    return (
        share * w[FX, i] + per * (ny * ez - nz * ey), share * w[FY, i] + per * (nz * ex - nx * ez),
        share * w[FZ, i] + per * (nx * ey - ny * ex),
    )  # fmt: skip


@kernel
def swing_line(i, at, y, p, w, out, ax, ay, az):
    """Fill out with the rates of line i from the acceleration of its upper hinge; return that of its lower end."""
    half, per = p.size, p.links[PER_LENGTH, i]
    hx = w[HX, i] + (w[WXX, i] * ax + w[WXY, i] * ay + w[WXZ, i] * az)
    hy = w[HY, i] + (w[WYX, i] * ax + w[WYY, i] * ay + w[WYZ, i] * az)
    hz = w[HZ, i] + (w[WZX, i] * ax + w[WZY, i] * ay + w[WZZ, i] * az)
    out[half + at], out[half + at + 1], out[half + at + 2] = (hx - ax) * per, (hy - ay) * per, (hz - az) * per
    out[at], out[at + 1], out[at + 2] = y[half + at], y[half + at + 1], y[half + at + 2]
    return hx, hy, hz


SETTLERS[LineParameters] = settle_lines
