"""`recursive` for lines and bodies on ball joints in space: the O(N) sweep in 3x3 blocks.

A body passes M and B of R = M a + B at its upper hinge, as a line does (`lines`), so that they mix. With r = l e to the lower
hinge, c to the centre of mass, J the tensor about the upper hinge, M', B' of what hangs on the lower one, and [v] u = v x u:

    own      gamma = omega x (omega x r)        G = M' gamma + B'
             M_a = m 1 + M'                     Q_a = m [c] + [r] M'          D_a = J + [r] M' [r]^T
             B_a = G - F + m omega x (omega x c)                              b_a = omega x J omega - N - c x F + r x G
    ball     M = M_a - Q_a^T D_a^-1 Q_a         B = B_a - Q_a^T D_a^-1 b_a
    outwards alpha = -D_a^-1 (b_a + Q_a a)      a <- a + alpha x r + gamma    q'' = 1/2 (0, alpha) q - |q'|^2 q

Newton for the force at the upper hinge, moments about it, with R' = M' a' + B' and a' = a + alpha x r + gamma put into both.
Symmetric matrices are six numbers: with nine, rounding grows from link to link. Gravity is the acceleration g upwards of the pivot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.space.base import SpaceFormulation
from nlink.formulations.space.lines import pull_line, swing_line
from nlink.formulations.space.settling import settle_links
from nlink.mechanics.contract import SETTLERS, right_hand_side
from nlink.mechanics.parameters import LENGTH, MASS
from nlink.mechanics.space.attitudes import cross, dot, pose_links, put, taken
from nlink.mechanics.space.joint_loads import twist_joints
from nlink.mechanics.space.kernels import apply_space_loads
from nlink.mechanics.space.numbers import JXX, JXY, JXZ, JYY, JYZ, JZZ, KIND, LINE, PLACE, SpaceParameters
from nlink.mechanics.space.scratch import CX, EX, FX, NX, NY, NZ, OWN, OX, SPACE_ROWS, XX, ZX

TURN, COLUMNS, GAMMA = OWN, OWN + 3, OWN + 12
"""Three rows, nine and three: -D_a^-1 b_a, the columns of D_a^-1 Q_a, and gamma."""
BODY_ROWS = OWN + 15
"""From here on rows of the sweep over other joints."""


class BallParameters(SpaceParameters):
    """A chain of lines and bodies on ball joints."""


@dataclass(frozen=True)
class BallSweep(SpaceFormulation):
    """O(N) sweep over lines and bodies on ball joints."""

    name: ClassVar[str] = "recursive"
    kind: ClassVar[type[SpaceParameters]] = BallParameters

    def scratch(self, n: int) -> int:
        """Rows of the loads and of the sweep."""
        return SPACE_ROWS


@right_hand_side(BallParameters)
def ball_rates(t, y, p, out, w):
    """Fill out = (c', c'', powers)."""
    chain = p.chain
    pose_links(y, chain, w)
    if chain.loaded:
        apply_space_loads(chain, w, out, 2 * chain.size)
        if chain.twisted:
            twist_joints(chain, w)
    zero = alike(0.0, y[0])
    below = zero, zero, zero, zero, zero, zero, zero, zero, zero
    for j in range(chain.n):
        i = chain.n - 1 - j
        if chain.whole[KIND, i] == LINE:
            below = pull_line(i, chain.whole[PLACE, i], y, chain, w, below)
        else:
            below = release(i, own_needs(i, chain, w, below), w)
    a = zero, zero + chain.g, zero
    for i in range(chain.n):
        if chain.whole[KIND, i] == LINE:
            a = swing_line(i, chain.whole[PLACE, i], y, chain, w, out, a[0], a[1], a[2])
        else:
            a = swing_ball(i, chain.whole[PLACE, i], y, chain, w, out, a)


@kernel
def times(m, v):
    """Return a symmetric matrix of six numbers times a vector."""
    xx, xy, xz, yy, yz, zz = m
    return xx * v[0] + xy * v[1] + xz * v[2], xy * v[0] + yy * v[1] + yz * v[2], xz * v[0] + yz * v[1] + zz * v[2]


@kernel
def added(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def tensor_of(i, p, w):
    """Return the tensor of body i about its upper hinge in world axes."""
    xx, xy, xz = p.links[JXX, i], p.links[JXY, i], p.links[JXZ, i]
    yy, yz, zz = p.links[JYY, i], p.links[JYZ, i], p.links[JZZ, i]
    x, e, z = taken(w, XX, i), taken(w, EX, i), taken(w, ZX, i)
    a = x[0] * xx - e[0] * xy + z[0] * xz, x[0] * xy - e[0] * yy + z[0] * yz, x[0] * xz - e[0] * yz + z[0] * zz
    b = x[1] * xx - e[1] * xy + z[1] * xz, x[1] * xy - e[1] * yy + z[1] * yz, x[1] * xz - e[1] * yz + z[1] * zz
    c = x[2] * xx - e[2] * xy + z[2] * xz, x[2] * xy - e[2] * yy + z[2] * yz, x[2] * xz - e[2] * yz + z[2] * zz
    return (
        a[0] * x[0] - a[1] * e[0] + a[2] * z[0], a[0] * x[1] - a[1] * e[1] + a[2] * z[1], a[0] * x[2] - a[1] * e[2] + a[2] * z[2],
        b[0] * x[1] - b[1] * e[1] + b[2] * z[1], b[0] * x[2] - b[1] * e[2] + b[2] * z[2], c[0] * x[2] - c[1] * e[2] + c[2] * z[2],
    )  # fmt: skip


@kernel
def arm(i, p, w):
    """Return r, from the upper hinge of link i to its lower one."""
    length, e = p.links[LENGTH, i], taken(w, EX, i)
    return length * e[0], length * e[1], length * e[2]


@kernel
def own_needs(i, p, w, below):
    """Return M_a (6), the columns of Q_a (3, 3), D_a (6), B_a (3) and b_a (3) of a body free at its upper hinge; fill gamma."""
    mxx, mxy, mxz, myy, myz, mzz, bx, by, bz = below
    mass, r, c, omega, force = p.links[MASS, i], arm(i, p, w), taken(w, CX, i), taken(w, OX, i), (0.0, 0.0, 0.0)
    j = tensor_of(i, p, w)
    kx, ky, kz = cross(r, (mxx, mxy, mxz)), cross(r, (mxy, myy, myz)), cross(r, (mxz, myz, mzz))
    qx = kx[0], kx[1] + mass * c[2], kx[2] - mass * c[1]
    qy = ky[0] - mass * c[2], ky[1], ky[2] + mass * c[0]
    qz = kz[0] + mass * c[1], kz[1] - mass * c[0], kz[2]
    d = (
        j[0] + (r[1] * kz[0] - r[2] * ky[0]), j[1] + (r[2] * kx[0] - r[0] * kz[0]), j[2] + (r[0] * ky[0] - r[1] * kx[0]),
        j[3] + (r[2] * kx[1] - r[0] * kz[1]), j[4] + (r[0] * ky[1] - r[1] * kx[1]), j[5] + (r[0] * ky[2] - r[1] * kx[2]),
    )  # fmt: skip
    gamma = cross(omega, cross(omega, r))
    put(w, GAMMA, i, gamma)
    g = added(times((mxx, mxy, mxz, myy, myz, mzz), gamma), (bx, by, bz))
    inward, b = cross(omega, cross(omega, c)), added(cross(omega, times(j, omega)), cross(r, g))
    if p.loaded:
        force = taken(w, FX, i)
        moment = added(cross(c, force), (w[NX, i], w[NY, i], w[NZ, i]))
        b = b[0] - moment[0], b[1] - moment[1], b[2] - moment[2]
        g = g[0] - force[0], g[1] - force[1], g[2] - force[2]
    g = g[0] + mass * inward[0], g[1] + mass * inward[1], g[2] + mass * inward[2]
    return (mxx + mass, mxy, mxz, myy + mass, myz, mzz + mass), (qx, qy, qz), d, g, b


@kernel
def release(i, needs, w):
    """Return M and B of a body on a ball; fill TURN and COLUMNS."""
    m, (qx, qy, qz), (dxx, dxy, dxz, dyy, dyz, dzz), g, b = needs
    cxx, cxy, cxz = dyy * dzz - dyz * dyz, dxz * dyz - dxy * dzz, dxy * dyz - dxz * dyy
    inverse = 1.0 / (dxx * cxx + dxy * cxy + dxz * cxz)
    x = (
        cxx * inverse, cxy * inverse, cxz * inverse,
        (dxx * dzz - dxz * dxz) * inverse, (dxy * dxz - dxx * dyz) * inverse, (dxx * dyy - dxy * dxy) * inverse,
    )  # fmt: skip
    turn = times(x, (-b[0], -b[1], -b[2]))
    ex, ey, ez = times(x, qx), times(x, qy), times(x, qz)
    put(w, TURN, i, turn)
    put(w, COLUMNS, i, ex)
    put(w, COLUMNS + 3, i, ey)
    put(w, COLUMNS + 6, i, ez)
    return (
        m[0] - dot(qx, ex), m[1] - dot(qx, ey), m[2] - dot(qx, ez), m[3] - dot(qy, ey), m[4] - dot(qy, ez), m[5] - dot(qz, ez),
        g[0] + dot(qx, turn), g[1] + dot(qy, turn), g[2] + dot(qz, turn),
    )  # fmt: skip


@kernel
def turned_by(i, w, a):
    """Return the angular acceleration of a body on a ball, from the acceleration of its upper hinge."""
    x, y, z = taken(w, TURN, i)
    ex, ey, ez = taken(w, COLUMNS, i), taken(w, COLUMNS + 3, i), taken(w, COLUMNS + 6, i)
    return (
        x - (ex[0] * a[0] + ey[0] * a[1] + ez[0] * a[2]), y - (ex[1] * a[0] + ey[1] * a[1] + ez[1] * a[2]),
        z - (ex[2] * a[0] + ey[2] * a[1] + ez[2] * a[2]),
    )  # fmt: skip


@kernel
def swing_ball(i, at, y, p, w, out, a):
    """Fill out with the rates of a body on a ball; return the acceleration of its lower hinge."""
    alpha = turned_by(i, w, a)
    turn_quaternion(at, y, p.size, alpha, out)
    return added(a, added(cross(alpha, arm(i, p, w)), taken(w, GAMMA, i)))


@kernel
def turn_quaternion(at, y, half, alpha, out):
    """Fill out with the rates of the quaternion y[at:] of an angular acceleration."""
    x, z, v = alpha
    d, a, b, c = y[at], y[at + 1], y[at + 2], y[at + 3]
    s, u, p, q = y[half + at], y[half + at + 1], y[half + at + 2], y[half + at + 3]
    square = s * s + u * u + p * p + q * q
    out[at], out[at + 1], out[at + 2], out[at + 3] = s, u, p, q
    out[half + at] = -0.5 * (x * a + z * b + v * c) - square * d
    out[half + at + 1] = 0.5 * (x * d + z * c - v * b) - square * a
    out[half + at + 2] = 0.5 * (z * d + v * a - x * c) - square * b
    out[half + at + 3] = 0.5 * (v * d + x * b - z * a) - square * c


SETTLERS[BallParameters] = settle_links
