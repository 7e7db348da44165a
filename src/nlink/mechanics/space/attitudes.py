"""Compiled poses of links in space: directions, angular velocities, axes of bodies, centres of mass, from coordinates and rates.

Of a quaternion q the rotation is R(q) and the angular velocity omega = 2 q' conj(q). An axis s of a joint, fixed in what is before
it, turns what is behind it by R <- R Rot(s, phi), omega <- omega + s phi'.
"""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, sincos
from nlink.mechanics.space.kernels import pose_line
from nlink.mechanics.space.numbers import AX, BALL, KIND, LINE, PLACE, UNIVERSAL
from nlink.mechanics.space.numbers import CX as OWN_X
from nlink.mechanics.space.scratch import (
    AXIS,
    CX,
    DRIFT,
    EX,
    EY,
    EZ,
    OX,
    PER_AXIS,
    XX,
    ZX,
)


@kernel
def cross(a, b):
    """Return a x b."""
    ax, ay, az = a
    bx, by, bz = b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel
def dot(a, b):
    """Return a.b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def in_axes(x, y, z, v):
    """Return the vector with components v along the axes x, y, z."""
    return (
        x[0] * v[0] + y[0] * v[1] + z[0] * v[2], x[1] * v[0] + y[1] * v[1] + z[1] * v[2], x[2] * v[0] + y[2] * v[1] + z[2] * v[2],
    )  # fmt: skip


@kernel
def taken(w, row, i):
    """Return the three numbers of link i in the rows from `row` on."""
    return w[row, i], w[row + 1, i], w[row + 2, i]


@kernel
def put(w, row, i, v):
    """Write three numbers of link i to the rows from `row` on."""
    w[row, i], w[row + 1, i], w[row + 2, i] = v


@kernel
def pose_links(y, p, w):
    """Fill the pose of each link: lines and bodies on balls."""
    for i in range(p.n):
        at = p.whole[PLACE, i]
        if p.whole[KIND, i] == LINE:
            pose_line(i, at, y, p.size, w)
        else:
            pose_ball(i, at, y, p, w)


@kernel
def pose_joints(y, p, w):
    """Fill the pose of each link on any joint."""
    for i in range(p.n):
        at, kind = p.whole[PLACE, i], p.whole[KIND, i]
        if kind == LINE:
            pose_line(i, at, y, p.size, w)
        elif kind == BALL:
            pose_ball(i, at, y, p, w)
        else:
            pose_axes(i, at, 2 if kind == UNIVERSAL else 1, y, p, w)


@kernel
def pose_ball(i, at, y, p, w):
    """Fill the pose of a body whose quaternion is y[at:]."""
    half = p.size
    d, a, b, c = y[at], y[at + 1], y[at + 2], y[at + 3]
    s, u, v, r = y[half + at], y[half + at + 1], y[half + at + 2], y[half + at + 3]
    omega = (
        2.0 * (u * d - s * a - v * c + r * b), 2.0 * (v * d - s * b + u * c - r * a), 2.0 * (r * d - s * c - u * b + v * a),
    )  # fmt: skip
    x = 1.0 - 2.0 * (b * b + c * c), 2.0 * (a * b + d * c), 2.0 * (a * c - d * b)
    up = 2.0 * (a * b - d * c), 1.0 - 2.0 * (a * a + c * c), 2.0 * (b * c + d * a)
    z = 2.0 * (a * c + d * b), 2.0 * (b * c - d * a), 1.0 - 2.0 * (a * a + b * b)
    finish(i, x, up, z, omega, p, w)


@kernel
def pose_axes(i, at, count, y, p, w):
    """Fill the pose of a body on one or two axes whose angles are y[at:], and the axes in the world with their drifts."""
    one, zero = alike(1.0, y[0]), alike(0.0, y[0])
    x, up, z, omega = (one, zero, zero), (zero, one, zero), (zero, zero, one), (zero, zero, zero)
    if i > 0:
        x, z, omega = taken(w, XX, i - 1), taken(w, ZX, i - 1), taken(w, OX, i - 1)
        up = -w[EX, i - 1], -w[EY, i - 1], -w[EZ, i - 1]
    for k in range(count):
        row, angle, rate = PER_AXIS * k, y[at + k], y[p.size + at + k]
        a, b, c = p.links[AX + 3 * k, i], p.links[AX + 3 * k + 1, i], p.links[AX + 3 * k + 2, i]
        axis = in_axes(x, up, z, (a, b, c))
        put(w, AXIS + row, i, axis)
        spin = axis[0] * rate, axis[1] * rate, axis[2] * rate
        put(w, DRIFT + row, i, cross(omega, spin))
        omega = omega[0] + spin[0], omega[1] + spin[1], omega[2] + spin[2]
        s, cosine = sincos(angle)
        x, up, z = about(axis, x, s, cosine), about(axis, up, s, cosine), about(axis, z, s, cosine)
    finish(i, x, up, z, omega, p, w)


@kernel
def about(axis, v, s, c):
    """Return a vector turned about an axis by an angle with sine s and cosine c."""
    along = (1.0 - c) * dot(axis, v)
    x, y, z = cross(axis, v)
    return c * v[0] + s * x + along * axis[0], c * v[1] + s * y + along * axis[1], c * v[2] + s * z + along * axis[2]


@kernel
def finish(i, x, up, z, omega, p, w):
    """Write the axes of body i, its angular velocity and its centre of mass."""
    put(w, XX, i, x)
    put(w, ZX, i, z)
    put(w, OX, i, omega)
    w[EX, i], w[EY, i], w[EZ, i] = -up[0], -up[1], -up[2]
    put(w, CX, i, in_axes(x, up, z, (p.links[OWN_X, i], p.links[OWN_X + 1, i], p.links[OWN_X + 2, i])))
