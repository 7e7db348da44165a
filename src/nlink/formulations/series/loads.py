"""The loads of a chain as series: torques, springs and dampers, drag and forces at the tip; and what they do, for the ledger."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.series.resistance import resist, resisted
from nlink.formulations.series.rows import (
    ACROSS,
    BEND,
    BRAKE,
    BRAKED,
    DAMP,
    DAMPED,
    DRAWN,
    DRIVE,
    DRIVEN,
    LC,
    LS,
    MOMENT,
    RATE,
    RELATIVE,
    SPEEDX,
    SPEEDY,
    STIFF,
    X,
    Y,
)
from nlink.formulations.series.sweep import rates
from nlink.mechanics.kernels import (
    AMPLITUDE,
    COM,
    FREQUENCY,
    JOINT_DAMPING,
    LENGTH,
    LINEAR_DRAG,
    LINK_DAMPING,
    OFFSET,
    PHASE,
    REST,
    STIFFNESS,
    TORQUE,
    C,
    S,
    piece,
    sincos,
)


@kernel
def torques(t, bound, ahead, p, drive, order):
    """Fill the series of the driving torques at time t; tables are straight up to the bound."""
    zero = alike(0.0, drive[0, 0])
    for i in range(p.n):
        for k in range(order):
            drive[k, i] = zero
        drive[0, i] += p.links[TORQUE, i]
        if p.timed:
            size, rate = p.links[AMPLITUDE, i], p.links[FREQUENCY, i]
            s, c = sincos(rate * t + p.links[PHASE, i])
            for k in range(order):
                drive[k, i] += size * s
                size *= rate / (k + 1)
                s, c = c, -s
            if p.spans[1, i] > p.spans[0, i]:
                value, slope = piece(t, bound, ahead, p.table, int(p.spans[0, i]), int(p.spans[1, i]))
                drive[0, i] += value
                drive[1, i] += slope


@kernel
def springs(y, p, w):
    """Fill the rows of springs and dampers."""
    before = alike(0.0, y[0])
    for i in range(p.n):
        w[BEND, i] = -p.links[STIFFNESS, i] * (y[i] - before - p.links[REST, i])
        w[STIFF, i], w[DAMP, i], w[BRAKE, i] = p.links[STIFFNESS, i], p.links[JOINT_DAMPING, i], p.links[LINK_DAMPING, i]
        before = y[i]


@kernel
def moments(k, p, rate, drive, moment, w):
    """Fill coefficient k of the moments on the links: springs, dampers, torques."""
    before_angle = before_rate = alike(0.0, rate[0, 0])
    for i in range(p.n):
        joint = drive[k, i] - w[DAMP, i] * (rate[k, i] - before_rate)
        if k == 0:
            joint += w[BEND, i]
        else:
            angle = rate[k - 1, i] * (1.0 / k)
            joint -= w[STIFF, i] * (angle - before_angle)
            before_angle = angle
        moment[k, i] = joint - w[BRAKE, i] * rate[k, i]
        if i > 0:
            moment[k, i - 1] -= joint
        before_rate = rate[k, i]


@kernel
def forces(k, ahead, p, terms, w, u):
    """Fill ACROSS and DRAWN with coefficient k of the moments and pulls of drag and of the forces at the tip."""
    n, zero, x, yy = p.n, alike(0.0, w[S, 0]), terms[X], terms[Y]
    vx = vy = zero
    for i in range(n):
        s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
        a, t = (k + 1.0) * x[k + 1, i], (k + 1.0) * yy[k + 1, i]
        ex, ey = a * s + t * c, t * s - a * c
        gx, gy = vx + d * ex - b * ey, vy + d * ey + b * ex
        u[ACROSS, i] = -p.links[LINEAR_DRAG, i] * gx
        u[DRAWN, i] = -p.links[LINEAR_DRAG, i] * gy
        if p.swept > 1:
            resist(k, i, ahead, gx, gy, p, terms, w, u)
        vx += p.links[LENGTH, i] * ex
        vy += p.links[LENGTH, i] * ey
    s, c, a, t = w[S, n - 1], w[C, n - 1], x[k, n - 1], yy[k, n - 1]
    tailx, taily = -p.tip[2] * (a * s + t * c), -p.tip[2] * (t * s - a * c)
    if k == 0:
        tailx += p.tip[0]
        taily += p.tip[1]
    for j in range(n):
        i = n - 1 - j
        s, c, lc, ls, fx, fy = w[S, i], w[C, i], w[LC, i], w[LS, i], u[ACROSS, i], u[DRAWN, i]
        px, py = p.links[COM, i] * c - p.links[OFFSET, i] * s, p.links[COM, i] * s + p.links[OFFSET, i] * c
        u[ACROSS, i] = (px * fx + py * fy) + (lc * tailx + ls * taily)
        u[DRAWN, i] = (px * fy - py * fx) + (lc * taily - ls * tailx)
        tailx += fx
        taily += fy


@kernel
def acting_loads(k, room, ahead):
    """Fill coefficient k of all that acts on the links besides gravity."""
    chain, terms = room.chain, room.terms
    if chain.loaded:
        rates(len(room.uv[ACROSS]), k, room.wide)
        moments(k, chain, terms[RATE], terms[DRIVE], terms[MOMENT], room.w)
    if chain.swept:
        forces(k, ahead, chain, terms, room.w, room.u)


def chain_ledger(p, room, order, q):
    """Fill the coefficients of the ledger in q (order, m): products of the series of forces and velocities, integrated."""
    chain, terms, w, u, uv = room.chain, room.terms, room.w, room.u, room.uv
    n, row = chain.n, 2 * chain.n
    zero = alike(0.0, w[S, 0])
    for k in range(order):
        before = zero
        for i in range(n):
            terms[RELATIVE, k, i] = terms[RATE, k, i] - before
            before = terms[RATE, k, i]
    for k in range(order):
        for j in range(len(uv[DRIVEN])):
            uv[DRIVEN, j] = product(k, chain.timed, room.wide[DRIVE], room.wide[RELATIVE], j)
            uv[DAMPED, j] = room.v[DAMP, j] * square(k, room.wide[RELATIVE], j)
            uv[BRAKED, j] = room.v[BRAKE, j] * square(k, room.wide[RATE], j)
        driven, damped, braked = zero, zero, zero
        for i in range(n):
            driven += u[DRIVEN, i]
            damped -= u[DAMPED, i]
            braked -= u[BRAKED, i]
        share = 1.0 / (k + 1)
        q[k, row], q[k, row + 1], q[k, row + 2] = driven * share, damped * share, braked * share
        for r in range(3, chain.ledger):
            q[k, row + r] = zero
    if chain.swept:
        sweep_powers(chain, terms, order, q, w)


@kernel
def product(k, timed, a, b, j):
    """Return coefficient k of a product of two series; of the first only the start counts, if it is not timed."""
    total = a[0, j] * b[k, j]
    for m in range(1, k + 1 if timed else 1):
        total += a[m, j] * b[k - m, j]
    return total


@kernel
def square(k, a, j):
    """Return coefficient k of the square of a series."""
    total = alike(0.0, a[0, j])
    for m in range((k + 1) // 2):
        total += a[m, j] * a[k - m, j]
    total += total
    if k % 2 == 0:
        total += a[k // 2, j] * a[k // 2, j]
    return total


@kernel
def sweep_powers(p, terms, order, q, w):
    """Fill the power of drag and of the forces at the tip; MOMENT and RELATIVE, done with, keep the velocity of the tip."""
    n, row, last, zero = p.n, 2 * p.n, p.n - 1, alike(0.0, w[S, 0])
    x, yy, speedx, speedy = terms[X], terms[Y], terms[SPEEDX], terms[SPEEDY]
    tipx, tipy = terms[MOMENT], terms[RELATIVE]
    for k in range(order):
        vx = vy = zero
        for i in range(n):
            s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
            a, t = (k + 1.0) * x[k + 1, i], (k + 1.0) * yy[k + 1, i]
            ex, ey = a * s + t * c, t * s - a * c
            speedx[k, i], speedy[k, i] = vx + d * ex - b * ey, vy + d * ey + b * ex
            vx += p.links[LENGTH, i] * ex
            vy += p.links[LENGTH, i] * ey
        tipx[k, 0], tipy[k, 0] = vx, vy
        lost, follow, share = zero, zero, 1.0 / (k + 1)
        for i in range(n):
            lost -= p.links[LINEAR_DRAG, i] * (square(k, speedx, i) + square(k, speedy, i))
            if p.swept > 1:
                lost -= resisted(k, i, p, terms)
        s, c = w[S, last], w[C, last]
        for m in range(k + 1):
            a, t = x[k - m, last], yy[k - m, last]
            follow -= p.tip[2] * (tipx[m, 0] * (a * s + t * c) + tipy[m, 0] * (t * s - a * c))
        q[k, row + 3], q[k, row + 4] = lost * share, follow * share
        q[k, row + 5] = (p.tip[0] * tipx[k, 0] + p.tip[1] * tipy[k, 0]) * share
