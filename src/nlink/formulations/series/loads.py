"""The loads of a chain as series: torques, springs and dampers, drag and forces at the tip; and what they do, for the ledger."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, sincos
from nlink.formulations.series.resistance import resist, resisted
from nlink.formulations.series.rows import (
    ACROSS,
    BEND,
    BRAKE,
    DAMP,
    DRIVE,
    LC,
    LS,
    MOMENT,
    POWER,
    PULL,
    PUSH,
    RATE,
    RATE_SQUARE,
    RELATIVE,
    RELATIVE_SQUARE,
    SPEEDX,
    SPEEDY,
    STIFF,
    X,
    Y,
)
from nlink.formulations.series.sweep import rates
from nlink.mechanics.kernels import CONSTRAINED, DRAGGED, DRIVEN, FOLLOWED, FOLLOWER, LINEAR_DRAG, TIP_X, TIP_Y, TIPPED
from nlink.mechanics.moments import JOINTS, LINKS
from nlink.mechanics.parameters import AMPLITUDE, COM, FREQUENCY, LENGTH, OFFSET, PHASE, TORQUE
from nlink.mechanics.scratch import C, S
from nlink.mechanics.torques import piece

_, joint_affine, _, _, joint_start, joint_works, _, joint_store = JOINTS
_, link_affine, _, _, link_start, link_works, _, link_store = LINKS


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
    """Fill the rows of the moments that are linear in angles and rates."""
    before = alike(0.0, y[0])
    for i in range(p.n):
        w[BEND, i], w[STIFF, i], w[DAMP, i] = joint_affine(i, y[i] - before, p)
        w[PUSH, i], _, w[BRAKE, i] = link_affine(i, y[i], p)
        before = y[i]


@kernel
def moments(k, p, rate, drive, moment, w):
    """Fill coefficient k of the moments on the links: springs, dampers, torques."""
    before_angle = before_rate = alike(0.0, rate[0, 0])
    for i in range(p.n):
        joint = drive[k, i] - w[DAMP, i] * (rate[k, i] - before_rate)
        own = -(w[BRAKE, i] * rate[k, i])
        if k == 0:
            joint += w[BEND, i]
            own += w[PUSH, i]
        else:
            angle = rate[k - 1, i] * (1.0 / k)
            joint -= w[STIFF, i] * (angle - before_angle)
            before_angle = angle
        moment[k, i] = joint + own
        if i > 0:
            moment[k, i - 1] -= joint
        before_rate = rate[k, i]


@kernel
def forces(k, ahead, p, terms, w, u):
    """Fill ACROSS and PULL with coefficient k of the moments and pulls of drag and of the forces at the tip."""
    n, zero, x, yy = p.n, alike(0.0, w[S, 0]), terms[X], terms[Y]
    vx = vy = zero
    for i in range(n):
        s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
        a, t = (k + 1.0) * x[k + 1, i], (k + 1.0) * yy[k + 1, i]
        ex, ey = a * s + t * c, t * s - a * c
        gx, gy = vx + d * ex - b * ey, vy + d * ey + b * ex
        u[ACROSS, i] = -p.links[LINEAR_DRAG, i] * gx  # up to the second loop these rows hold the force itself
        u[PULL, i] = -p.links[LINEAR_DRAG, i] * gy
        if p.force_level > 1:
            resist(k, i, ahead, gx, gy, p, terms, w, u)
        vx += p.links[LENGTH, i] * ex
        vy += p.links[LENGTH, i] * ey
    s, c, a, t = w[S, n - 1], w[C, n - 1], x[k, n - 1], yy[k, n - 1]
    tailx, taily = -p.tip[FOLLOWER] * (a * s + t * c), -p.tip[FOLLOWER] * (t * s - a * c)
    if k == 0:
        tailx += p.tip[TIP_X]
        taily += p.tip[TIP_Y]
    for j in range(n):
        i = n - 1 - j
        s, c, lc, ls, fx, fy = w[S, i], w[C, i], w[LC, i], w[LS, i], u[ACROSS, i], u[PULL, i]
        px, py = p.links[COM, i] * c - p.links[OFFSET, i] * s, p.links[COM, i] * s + p.links[OFFSET, i] * c
        u[ACROSS, i] = (px * fx + py * fy) + (lc * tailx + ls * taily)
        u[PULL, i] = (px * fy - py * fx) + (lc * taily - ls * tailx)
        tailx += fx
        taily += fy


@kernel
def acting_loads(k, room, ahead):
    """Fill coefficient k of all that acts on the links besides gravity."""
    chain, terms = room.chain, room.terms
    if chain.loaded:
        rates(len(room.uv[ACROSS]), k, room.wide)
        moments(k, chain, terms[RATE], terms[DRIVE], terms[MOMENT], room.w)
    if chain.force_level:
        forces(k, ahead, chain, terms, room.w, room.u)


def chain_ledger(p, room, order, q):
    """Fill the coefficients of the ledger in q (order, m): products of the series of forces and velocities, integrated."""
    ledger_of_moments(room, order, q)
    if room.chain.force_level:
        sweep_powers(room.chain, room.terms, order, q, room.w)


@kernel
def ledger_of_moments(room, order, q):
    """Fill the rows of moments; those of drag and of the forces at the tip are 0."""
    chain, terms, w, u, uv = room.chain, room.terms, room.w, room.u, room.uv
    n, row = chain.n, 2 * chain.n
    zero = alike(0.0, w[S, 0])
    for k in range(order):
        before = zero
        for i in range(n):
            terms[RELATIVE, k, i] = terms[RATE, k, i] - before
            before = terms[RATE, k, i]
    for k in range(order):
        for j in range(len(uv[POWER])):
            uv[POWER, j] = product(k, chain.timed, room.wide[DRIVE], room.wide[RELATIVE], j)
            uv[RELATIVE_SQUARE, j] = square(k, room.wide[RELATIVE], j)
            uv[RATE_SQUARE, j] = square(k, room.wide[RATE], j)
        driven, joints, links, share = zero, joint_start(zero), link_start(zero), 1.0 / (k + 1)
        for i in range(n):
            driven += u[POWER, i]
            joints = joint_works(i, terms[RELATIVE, k, i], u[RELATIVE_SQUARE, i], chain, joints)
            links = link_works(i, terms[RATE, k, i], u[RATE_SQUARE, i], chain, links)
        q[k, row + DRIVEN] = driven * share
        q[k, row + DRAGGED] = q[k, row + FOLLOWED] = q[k, row + TIPPED] = q[k, row + CONSTRAINED] = zero
        joint_store(joints, q, k, row, share)
        link_store(links, q, k, row, share)


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
            if p.force_level > 1:
                lost -= resisted(k, i, p, terms)
        s, c = w[S, last], w[C, last]
        for m in range(k + 1):
            a, t = x[k - m, last], yy[k - m, last]
            follow -= p.tip[FOLLOWER] * (tipx[m, 0] * (a * s + t * c) + tipy[m, 0] * (t * s - a * c))
        q[k, row + DRAGGED], q[k, row + FOLLOWED] = lost * share, follow * share
        q[k, row + TIPPED] = (p.tip[TIP_X] * tipx[k, 0] + p.tip[TIP_Y] * tipy[k, 0]) * share
