"""The motion of a chain as a power series in time, in the unit vectors of its links.

With e the unit vector of a link and S the turn by 90 degrees, the kinetic energy is 1/2 sum e_i'.C_ij e_j' with constant 2x2 blocks
(for i < j: l_i (c_j 1 + o_j S), c_j = m_j d_j + l_j times the mass behind, o_j = m_j b_j), and

    sum_j C_ij e_j'' = f_i + tau_i t_i + lambda_i e_i        |e_i| = 1

f_i are forces mapped by the lengths, tau_i the moment on link i. In the frame of each link at the start (x = 1, y = 0, x' = 0,
y' = omega) one order costs a few products of series: the length gives x_{k+2}, the mass matrix of the start, factorised once,
y_{k+2}, and the equation along the link lambda_k. Rates are omega = x y' - y x', angles their integral.
"""

from __future__ import annotations

import math

from nlink._jit import kernel
from nlink.formulations.recursive import QX, QY, TAU, RecursiveParameters
from nlink.kernels import (
    AMPLITUDE,
    COM,
    FREQUENCY,
    FX,
    FY,
    HINGE_INERTIA,
    INERTIA,
    JOINT_DAMPING,
    LENGTH,
    LINEAR_DRAG,
    LINK_DAMPING,
    LOAD_ROWS,
    MASS,
    OFFSET,
    PHASE,
    REST,
    STIFFNESS,
    TORQUE,
    C,
    S,
    from_table,
    turn,
)
from nlink.system import SERIES

X, Y, LAM, RATE, MOMENT, DRIVE, SPEEDX, SPEEDY, TIPX, TIPY, SUMS = range(11)
"""Arrays (order + 2, lanes): coefficients by order, links side by side (and zeros up to a whole number of vectors)."""
XX, OMEGA, LX, LY, TX, TY = range(6)
"""Rows of SUMS: products of series at one order. There are at least as many, since the order is at least 4."""
MXX, MXY, MYY, BX, BY, FREE = range(LOAD_ROWS + 3, LOAD_ROWS + 9)
"""Rows: mass and force of what hangs on the lower end of a link, and its turning without an acceleration of its hinge."""


def chain_series(t, bound, y, p, q, terms, w):
    """Fill q (order, m): the coefficients of (theta, omega, ledger) from the first power on; return the sizes of the last two
    coefficients of the unit vectors. The piece of a table that lies between t and bound is taken for all time.
    """
    chain = p.chain
    n, order = chain.n, len(q)
    x, yy, rate, moment, sums = terms[X], terms[Y], terms[RATE], terms[MOMENT], terms[SUMS]
    turn(y, n, w)
    factorise(chain, w)
    if chain.loaded:
        torques(t, bound, chain, terms[DRIVE], order)
    for i in range(n):
        x[0, i], yy[0, i], x[1, i], yy[1, i] = 1.0, 0.0, 0.0, y[n + i]
    for k in range(order - 1):
        products(k, terms, chain.loaded)
        for i in range(x.shape[1]):
            x[k + 2, i] = -0.5 * sums[XX, i]
            rate[k, i] = sums[OMEGA, i]
        if chain.loaded:
            moments(k, y, chain, rate, terms[DRIVE], moment)
            for i in range(n):
                sums[TY, i] += moment[k, i]
        forces(k, chain, x, yy, w)
        one_order(k, chain, x, yy, terms[LAM], sums, w)
    products(order - 1, terms, False)
    last = before = 0.0
    for i in range(n):
        rate[order - 1, i] = sums[OMEGA, i]
        last = max(last, abs(x[order, i]) + abs(yy[order, i]))
        before = max(before, abs(x[order - 1, i]) + abs(yy[order - 1, i]))
    for k in range(order):
        for i in range(n):
            q[k, i] = rate[k, i] / (k + 1)
            q[k, n + i] = rate[k + 1, i] if k + 1 < order else 0.0
    if chain.ledger > 0:
        powers(chain, terms, q, w)
    return last, before


@kernel
def products(k, terms, moved):
    """Fill SUMS at order k, but for what order k itself adds: e.e (order k + 2), omega, and lambda and tau times x and y."""
    x, yy, lam, moment, sums = terms[X], terms[Y], terms[LAM], terms[MOMENT], terms[SUMS]
    lanes = x.shape[1]
    for row in range(6):
        for i in range(lanes):
            sums[row, i] = 0.0
    for m in range(1, (k + 3) // 2):
        for i in range(lanes):
            sums[XX, i] += 2.0 * (x[m, i] * x[k + 2 - m, i] + yy[m, i] * yy[k + 2 - m, i])
    if k % 2 == 0:
        m = (k + 2) // 2
        for i in range(lanes):
            sums[XX, i] += x[m, i] * x[m, i] + yy[m, i] * yy[m, i]
    for m in range(k // 2 + 1):
        factor = k + 1.0 - 2.0 * m
        for i in range(lanes):
            sums[OMEGA, i] += factor * (x[m, i] * yy[k + 1 - m, i] - yy[m, i] * x[k + 1 - m, i])
    for m in range(k):
        for i in range(lanes):
            sums[LX, i] += lam[m, i] * x[k - m, i]
            sums[LY, i] += lam[m, i] * yy[k - m, i]
    if moved:
        for m in range(k):
            for i in range(lanes):
                sums[TX, i] += moment[m, i] * yy[k - m, i]
                sums[TY, i] += moment[m, i] * x[k - m, i]


@kernel
def factorise(p, w):
    """Fill the rows of the sweep that do not change with the order: TAU holds 1/D, QX and QY the coupling q."""
    mxx = mxy = myy = 0.0
    for j in range(p.n):
        i = p.n - 1 - j
        s, c = w[S, i], w[C, i]
        mass, d, b = p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i]
        px, py = d * c - b * s, d * s + b * c
        lc, ls = p.links[LENGTH, i] * c, p.links[LENGTH, i] * s
        w[MXX, i], w[MXY, i], w[MYY, i] = mxx, mxy, myy
        cross = lc * ls
        inverse = 1.0 / ((p.links[HINGE_INERTIA, i] + lc * lc * mxx) + ((cross + cross) * mxy + ls * ls * myy))
        qx, qy = mass * px + (lc * mxx + ls * mxy), mass * py + (lc * mxy + ls * myy)
        w[TAU, i], w[QX, i], w[QY, i] = inverse, qx, qy
        mxx = (mxx + mass) - qx * qx * inverse
        mxy = mxy - qx * qy * inverse
        myy = (myy + mass) - qy * qy * inverse


@kernel
def torques(t, bound, p, drive, order):
    """Fill the series of the driving torques at time t."""
    for i in range(p.n):
        for k in range(order):
            drive[k, i] = 0.0
        drive[0, i] = p.links[TORQUE, i]
        if p.timed:
            size, rate, phase = p.links[AMPLITUDE, i], p.links[FREQUENCY, i], p.links[FREQUENCY, i] * t + p.links[PHASE, i]
            for k in range(order if size != 0.0 else 0):
                drive[k, i] += size * math.sin(phase + k * 0.5 * math.pi)
                size *= rate / (k + 1)
            start, stop = p.table_start[i], p.table_start[i + 1]
            if stop > start:
                half = 0.5 * (bound - t)
                middle, quarter = from_table(t + half, p.table, start, stop), from_table(t + 0.5 * half, p.table, start, stop)
                slope = (middle - quarter) / (0.5 * half)
                drive[0, i] += middle - slope * half
                drive[1, i] += slope


@kernel
def moments(k, y, p, rate, drive, moment):
    """Fill coefficient k of the moments on the links: springs, dampers, torques."""
    before_angle = before_rate = 0.0
    for i in range(p.n):
        angle = y[i] if k == 0 else rate[k - 1, i] / k
        joint = drive[k, i] - p.links[STIFFNESS, i] * (angle - before_angle - (p.links[REST, i] if k == 0 else 0.0))
        joint -= p.links[JOINT_DAMPING, i] * (rate[k, i] - before_rate)
        moment[k, i] = joint - p.links[LINK_DAMPING, i] * rate[k, i]
        if i > 0:
            moment[k, i - 1] -= joint
        before_angle, before_rate = angle, rate[k, i]


@kernel
def forces(k, p, x, yy, w):
    """Fill FX, FY with coefficient k of the force on each centre of mass, without that at the tip."""
    vx = vy = 0.0
    for i in range(p.n):
        w[FX, i] = 0.0
        w[FY, i] = -p.links[MASS, i] * p.g if k == 0 else 0.0
        if p.swept:
            s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
            a, t = (k + 1) * x[k + 1, i], (k + 1) * yy[k + 1, i]
            ex, ey = a * s + t * c, t * s - a * c
            w[FX, i] -= p.links[LINEAR_DRAG, i] * (vx + d * ex - b * ey)
            w[FY, i] -= p.links[LINEAR_DRAG, i] * (vy + d * ey + b * ex)
            vx += p.links[LENGTH, i] * ex
            vy += p.links[LENGTH, i] * ey


@kernel
def one_order(k, p, x, yy, lam, sums, w):
    """Find y_{k+2} and lambda_k from x_{k+2} and what acts at order k: `recursive`'s sweep with known parts along the links."""
    n, scale = p.n, (k + 1.0) * (k + 2.0)
    s, c, a, t = w[S, n - 1], w[C, n - 1], x[k, n - 1], yy[k, n - 1]
    bx, by = p.tip[2] * (a * s + t * c), p.tip[2] * (t * s - a * c)
    if k == 0:
        bx -= p.tip[0]
        by -= p.tip[1]
    for j in range(n):
        i = n - 1 - j
        s, c, along = w[S, i], w[C, i], scale * x[k + 2, i]
        mass, d, b = p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i]
        lc, ls = p.links[LENGTH, i] * c, p.links[LENGTH, i] * s
        px, py, fx, fy = d * c - b * s, d * s + b * c, w[FX, i], w[FY, i]
        w[BX, i], w[BY, i] = bx, by
        gx = bx + along * (ls * w[MXX, i] - lc * w[MXY, i])
        gy = by + along * (ls * w[MXY, i] - lc * w[MYY, i])
        free = (sums[LY, i] + sums[TY, i] + px * fx + py * fy - (lc * gx + ls * gy)) * w[TAU, i]
        w[FREE, i] = free
        bx = (gx - fx + mass * along * py) + w[QX, i] * free
        by = (gy - fy - mass * along * px) + w[QY, i] * free
    ax = ay = 0.0
    share = 1.0 / scale
    for i in range(n):
        s, c, along = w[S, i], w[C, i], scale * x[k + 2, i]
        mass, d, b = p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i]
        alpha = w[FREE, i] - (w[QX, i] * ax + w[QY, i] * ay) * w[TAU, i]
        yy[k + 2, i] = share * alpha
        px, py = d * c - b * s, d * s + b * c
        vx, vy = mass * (ax + along * py + alpha * px) - w[FX, i], mass * (ay - along * px + alpha * py) - w[FY, i]
        lc, ls = p.links[LENGTH, i] * c, p.links[LENGTH, i] * s
        ax += lc * alpha + ls * along
        ay += ls * alpha - lc * along
        rx, ry = w[MXX, i] * ax + w[MXY, i] * ay + w[BX, i], w[MXY, i] * ax + w[MYY, i] * ay + w[BY, i]
        pull = (ls * rx - lc * ry) + (py * vx - px * vy) + p.links[INERTIA, i] * along
        lam[k, i] = pull - sums[LX, i] + sums[TX, i]


@kernel
def powers(p, terms, q, w):
    """Fill the coefficients of the ledger: products of the series of forces and velocities, integrated."""
    x, yy, rate, drive = terms[X], terms[Y], terms[RATE], terms[DRIVE]
    n, order, row = p.n, len(q), 2 * p.n
    for k in range(order):
        for r in range(p.ledger):
            q[k, row + r] = 0.0
        for i in range(n):
            for m in range(k + 1):
                one = rate[m, i] - (rate[m, i - 1] if i > 0 else 0.0)
                two = rate[k - m, i] - (rate[k - m, i - 1] if i > 0 else 0.0)
                q[k, row] += drive[m, i] * two
                q[k, row + 1] -= p.links[JOINT_DAMPING, i] * one * two
                q[k, row + 2] -= p.links[LINK_DAMPING, i] * rate[m, i] * rate[k - m, i]
    if p.swept:
        sweep_powers(p, x, yy, terms[SPEEDX], terms[SPEEDY], terms[TIPX], terms[TIPY], q, w)
    for k in range(order):
        for r in range(p.ledger):
            q[k, row + r] /= k + 1


@kernel
def sweep_powers(p, x, yy, speedx, speedy, tipx, tipy, q, w):
    """Add the power of drag and of the forces at the tip."""
    n, order, row = p.n, len(q), 2 * p.n
    last = n - 1
    for k in range(order):
        vx = vy = 0.0
        for i in range(n):
            s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
            a, t = (k + 1) * x[k + 1, i], (k + 1) * yy[k + 1, i]
            ex, ey = a * s + t * c, t * s - a * c
            speedx[k, i], speedy[k, i] = vx + d * ex - b * ey, vy + d * ey + b * ex
            vx += p.links[LENGTH, i] * ex
            vy += p.links[LENGTH, i] * ey
        tipx[k, 0], tipy[k, 0] = vx, vy
        for i in range(n):
            for m in range(k + 1):
                both = speedx[m, i] * speedx[k - m, i] + speedy[m, i] * speedy[k - m, i]
                q[k, row + 3] -= p.links[LINEAR_DRAG, i] * both
        s, c = w[S, last], w[C, last]
        for m in range(k + 1):
            a, t = x[k - m, last], yy[k - m, last]
            q[k, row + 4] -= p.tip[2] * (tipx[m, 0] * (a * s + t * c) + tipy[m, 0] * (t * s - a * c))
        q[k, row + 5] += p.tip[0] * tipx[k, 0] + p.tip[1] * tipy[k, 0]


SERIES[RecursiveParameters] = chain_series
