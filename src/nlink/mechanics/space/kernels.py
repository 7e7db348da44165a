"""Compiled loads of chains in space, written once for lines and bodies: forces at the centres of mass and moments, in world axes.

Bending, with beta the angle between the directions p and e of neighbours (of the ground: straight down):

    moment on e    -k (beta / sin beta) p x e          energy k beta^2/2

At beta = pi the energy has a cone: the moment, there k pi, changes its direction at once. The tip of the cone is rounded, within
about BLUNT of it: there cos(beta/2) is sqrt(cos^2 + BLUNT^2). A fold is thus a rest, which the slightest push ends, and a motion
through it goes on as those nearby do: their moment turns round in so short a time that nothing is left of it.

Friction of ball joints is the limit of thin bodies: a line turns about itself so that no moment about it is left.
With W_i = omega_i + sigma_i e_i, omega_i across the line, the moments are -c_i (W_i - W_{i-1}) and -kappa_i W_i, and the spins
sigma minimise the sum of c_i |W_i - W_{i-1}|^2 + kappa_i |W_i|^2:

    (c_i + c_{i+1} + kappa_i) sigma_i - c_i (e_i.e_{i-1}) sigma_{i-1} - c_{i+1} (e_i.e_{i+1}) sigma_{i+1}
        = c_i e_i.omega_{i-1} + c_{i+1} e_i.omega_{i+1}

Of a body W is its angular velocity. -c (omega_i - omega_{i-1}) instead would brake a bent chain that turns as one rigid shape.
"""

from __future__ import annotations

import math

from nlink.compiled.dispatch import dispatched
from nlink.compiled.interpreted import DualVector, Vector
from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, where
from nlink.mechanics.kernels import FOLLOWER, LINEAR_DRAG, QUADRATIC_DRAG, TIP_X, TIP_Y
from nlink.mechanics.loads import BUILT_IN
from nlink.mechanics.moments import LEDGER, POWERS
from nlink.mechanics.parameters import COM, LENGTH, row
from nlink.mechanics.space.numbers import KIND, LINE, SPIN, TIP_Z
from nlink.mechanics.space.scratch import (
    CX,
    CY,
    CZ,
    EX,
    EY,
    EZ,
    FREE,
    FX,
    FY,
    FZ,
    NX,
    NY,
    NZ,
    OX,
    OY,
    OZ,
    PIVOT,
)

DAMPERS = {kind.law.on: (kind, kind.law.damping) for kind in BUILT_IN if kind.law and kind.law.damping}
"""The loads that resist rates, of joints and of links, and the names of their numbers."""
DAMPING, RESISTANCE = (row(*DAMPERS[on]) for on in ("joint", "link"))
(STIFFNESS,) = (row(kind, kind.law.stiffness) for kind in BUILT_IN if kind.law and kind.law.stiffness)
DAMPED, RESISTED = (LEDGER.index(DAMPERS[on][0].name) for on in ("joint", "link"))
DRAGGED, FOLLOWED, TIPPED = (LEDGER.index(name) for name in ("drag", "follower_force", "tip_force"))
BLUNT = 1e-8
"""How far the tip of the cone is rounded, in rad of beta/2: its square is a rounding error where beta is not near pi."""
LOOSE = 1e-14
"""Part of its diagonal below which a pivot of the friction is rounding: nothing holds that spin."""
BENDING = [1.0]
"""Coefficients of angle / sin(angle) as a series of sin(angle/2)^2."""
for _n in range(1, 12):
    BENDING.append(BENDING[-1] * 2 * _n / (2 * _n + 1))
B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11 = BENDING


@kernel
def pose_lines(y, p, w):
    """Fill direction and angular velocity of each line of a chain of lines."""
    half = p.size
    for i in range(p.n):
        pose_line(i, 3 * i, y, half, w)


@kernel
def pose_line(i, at, y, half, w):
    """Fill direction and angular velocity e x e' of a line whose coordinates are y[at:]."""
    ex, ey, ez = y[at], y[at + 1], y[at + 2]
    vx, vy, vz = y[half + at], y[half + at + 1], y[half + at + 2]
    w[EX, i], w[EY, i], w[EZ, i] = ex, ey, ez
    w[OX, i], w[OY, i], w[OZ, i] = ey * vz - ez * vy, ez * vx - ex * vz, ex * vy - ey * vx


@kernel
def apply_space_loads(p, w, power, row):
    """Fill F and N from the loads, but for torques and torsion, and power[row:] with the power of each row of the ledger.

    Directions, angular velocities and centres are filled.
    """
    zero = alike(0.0, w[EX, 0])
    if p.damped:
        turn_lines(p, w)
    if p.ledger > 0:
        for r in range(POWERS):
            power[row + r] = zero
    px, py, pz = zero, zero - 1.0, zero
    ox = oy = oz = damped = resisted = zero
    for i in range(p.n):
        ex, ey, ez, wx, wy, wz = w[EX, i], w[EY, i], w[EZ, i], w[OX, i], w[OY, i], w[OZ, i]
        rx, ry, rz = wx - ox, wy - oy, wz - oz
        c, resistance = p.links[DAMPING, i], p.links[RESISTANCE, i]
        nx, ny, nz = -c * rx, -c * ry, -c * rz
        damped -= c * (rx * rx + ry * ry + rz * rz)
        resisted -= resistance * (wx * wx + wy * wy + wz * wz)
        if p.sprung:
            k = p.links[STIFFNESS, i] * bending(px, py, pz, ex, ey, ez)
            nx, ny, nz = nx - k * (py * ez - pz * ey), ny - k * (pz * ex - px * ez), nz - k * (px * ey - py * ex)
        if i > 0:
            w[NX, i - 1], w[NY, i - 1], w[NZ, i - 1] = w[NX, i - 1] - nx, w[NY, i - 1] - ny, w[NZ, i - 1] - nz
        w[NX, i], w[NY, i], w[NZ, i] = nx - resistance * wx, ny - resistance * wy, nz - resistance * wz
        w[FX, i], w[FY, i], w[FZ, i] = zero, zero, zero
        px, py, pz, ox, oy, oz = ex, ey, ez, wx, wy, wz
    if p.ledger > 0:
        power[row + DAMPED], power[row + RESISTED] = damped, resisted
    if p.spun:
        turn_rotors(p, w)
    if p.force_level:
        apply_space_forces(p, w, power, row)


@kernel
def bending(px, py, pz, ex, ey, ez):
    """Return beta / sin beta for the angle beta between two directions."""
    half, _ = halves(px, py, pz, ex, ey, ez)
    return stretched(half)


@kernel
def bend_square(px, py, pz, ex, ey, ez):
    """Return the square of the angle between two directions."""
    half, far = halves(px, py, pz, ex, ey, ez)
    ratio = stretched(half)
    return 4.0 * ((half * half) * far * (ratio * ratio))


@kernel
def halves(px, py, pz, ex, ey, ez):
    """Return the cosine of half the angle between two directions, with the cone rounded, and the square of its sine."""
    sx, sy, sz, dx, dy, dz = px + ex, py + ey, pz + ez, px - ex, py - ey, pz - ez
    near, far = sx * sx + sy * sy + sz * sz, dx * dx + dy * dy + dz * dz
    per = 1.0 / (near + far)
    return math.sqrt(near * per + BLUNT * BLUNT), far * per


@kernel
def stretched(half):
    """Return beta / sin beta from the cosine of beta/2, by those of beta/4 and beta/8 without a branch.

    beta / sin beta = (beta/8) / (sin(beta/8) cos(beta/2) cos(beta/4) cos(beta/8)).
    """
    fourth = math.sqrt(0.5 * (1.0 + half))
    eighth = math.sqrt(0.5 * (1.0 + fourth))
    x = 0.5 * (1.0 - eighth)
    high = B6 + x * (B7 + x * (B8 + x * (B9 + x * (B10 + x * B11))))
    return (B0 + x * (B1 + x * (B2 + x * (B3 + x * (B4 + x * (B5 + x * high)))))) / (half * fourth * eighth)


@dispatched(lambda kind: angle_of_lanes if kind in (Vector, DualVector) else lambda s, c: math.atan2(s, c), "s")
def angle_of(s, c):
    """Return the angle, -pi to pi, whose sine and cosine are s and c times a positive number."""


@kernel
def angle_of_lanes(s, c):
    """See `angle_of`: by the cosine of its half, for vectors have no arc tangent."""
    size = math.sqrt(s * s + c * c) + 1e-300
    near = where(c > 0.0, size + c, s * s / (size + abs(c))) + 1e-300
    return s / size * stretched(math.sqrt(0.5 * near / size))


@kernel
def turn_lines(p, w):
    """Add to the angular velocity of each line its turn about itself that leaves no moment of friction about it."""
    zero = alike(0.0, w[EX, 0])
    link = before = free = zero
    for i in range(p.n):
        line = p.whole[KIND, i] == LINE
        upper, lower = p.links[DAMPING, i], p.links[DAMPING, i + 1] if i + 1 < p.n else 0.0 * p.links[DAMPING, i]
        ex, ey, ez = w[EX, i], w[EY, i], w[EZ, i]
        whole = zero + upper + lower + p.links[RESISTANCE, i]
        right = zero
        if i > 0:
            right += upper * (ex * w[OX, i - 1] + ey * w[OY, i - 1] + ez * w[OZ, i - 1])
            link = upper * (ex * w[EX, i - 1] + ey * w[EY, i - 1] + ez * w[EZ, i - 1])
        if i + 1 < p.n:
            right += lower * (ex * w[OX, i + 1] + ey * w[OY, i + 1] + ez * w[OZ, i + 1])
        pivot = whole - link * link * before
        held = pivot > LOOSE * whole
        inverse = where(held, 1.0 / where(held, pivot, zero + 1.0), zero)
        before = inverse if line else zero
        free = before * (right + link * free)
        w[PIVOT, i], w[FREE, i] = before, free
    spin = link = zero
    for j in range(p.n):
        i = p.n - 1 - j
        ex, ey, ez = w[EX, i], w[EY, i], w[EZ, i]
        if j > 0:
            link = p.links[DAMPING, i + 1] * (ex * w[EX, i + 1] + ey * w[EY, i + 1] + ez * w[EZ, i + 1])
        spin = w[FREE, i] + w[PIVOT, i] * link * spin
        w[OX, i], w[OY, i], w[OZ, i] = w[OX, i] + spin * ex, w[OY, i] + spin * ey, w[OZ, i] + spin * ez


@kernel
def turn_rotors(p, w):
    """Add the moments -h e' of the rotors in lines."""
    for i in range(p.n):
        h, (x, y, z) = p.links[SPIN, i], rate_of(w[EX, i], w[EY, i], w[EZ, i], i, w)
        w[NX, i], w[NY, i], w[NZ, i] = w[NX, i] - h * x, w[NY, i] - h * y, w[NZ, i] - h * z


@kernel
def rate_of(x, y, z, i, w):
    """Return the rate omega x r of a vector that turns with link i."""
    ox, oy, oz = w[OX, i], w[OY, i], w[OZ, i]
    return oy * z - oz * y, oz * x - ox * z, ox * y - oy * x


@kernel
def centre_of(i, p, w):
    """Return the centre of mass of link i from its upper hinge."""
    if p.whole[KIND, i] == LINE:
        d = p.links[COM, i]
        return d * w[EX, i], d * w[EY, i], d * w[EZ, i]
    return w[CX, i], w[CY, i], w[CZ, i]


@kernel
def apply_space_forces(p, w, power, row):
    """Add drag and the forces at the tip."""
    vx = vy = vz = lost = alike(0.0, w[EX, 0])
    for i in range(p.n):
        cx, cy, cz = centre_of(i, p, w)
        ux, uy, uz = rate_of(cx, cy, cz, i, w)
        gx, gy, gz = vx + ux, vy + uy, vz + uz
        square = gx * gx + gy * gy + gz * gz
        factor = p.links[LINEAR_DRAG, i] + p.links[QUADRATIC_DRAG, i] * math.sqrt(square)
        w[FX, i], w[FY, i], w[FZ, i] = w[FX, i] - factor * gx, w[FY, i] - factor * gy, w[FZ, i] - factor * gz
        lost -= factor * square
        ux, uy, uz = rate_of(w[EX, i], w[EY, i], w[EZ, i], i, w)
        length = p.links[LENGTH, i]
        vx, vy, vz = vx + length * ux, vy + length * uy, vz + length * uz
    k = p.n - 1
    follow, tipx, tipy, tipz = p.tip[FOLLOWER], p.tip[TIP_X], p.tip[TIP_Y], p.tip[TIP_Z]
    ex, ey, ez, (cx, cy, cz) = w[EX, k], w[EY, k], w[EZ, k], centre_of(k, p, w)
    fx, fy, fz = tipx - follow * ex, tipy - follow * ey, tipz - follow * ez
    length = p.links[LENGTH, k]
    x, y, z = length * ex - cx, length * ey - cy, length * ez - cz
    w[FX, k], w[FY, k], w[FZ, k] = w[FX, k] + fx, w[FY, k] + fy, w[FZ, k] + fz
    w[NX, k], w[NY, k], w[NZ, k] = w[NX, k] + (y * fz - z * fy), w[NY, k] + (z * fx - x * fz), w[NZ, k] + (x * fy - y * fx)
    if p.ledger > 0:
        power[row + DRAGGED] = lost
        power[row + FOLLOWED] = -follow * (ex * vx + ey * vy + ez * vz)
        power[row + TIPPED] = tipx * vx + tipy * vy + tipz * vz
