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
    MZ,
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

X, Y, LAM, RATE, MOMENT, DRIVE, SPEEDX, SPEEDY, TIPX, TIPY = range(10)
GX, GY, AX, AY = range(LOAD_ROWS + 5, LOAD_ROWS + 9)


@kernel
def product(a, b, i, first, last, k):
    """Return sum_{m = first}^{last} a_m b_{k-m} of link i."""
    total = 0.0
    for m in range(first, last + 1):
        total += a[i, m] * b[i, k - m]
    return total


def chain_series(t, bound, y, p, q, terms, w):
    """Fill q (order, m): the coefficients of (theta, omega, ledger) from the first power on; return the sizes of the last two
    coefficients of the unit vectors. The piece of a table that lies between t and bound is taken for all time.
    """
    chain = p.chain
    n, order = chain.n, len(q)
    x, yy, rate, moment, drive = terms[X], terms[Y], terms[RATE], terms[MOMENT], terms[DRIVE]
    turn(y, n, w)
    factorise(chain, w)
    torques(t, bound, chain, drive, order)
    for i in range(n):
        x[i, 0], yy[i, 0], x[i, 1], yy[i, 1] = 1.0, 0.0, 0.0, y[n + i]
    for k in range(order - 1):
        for i in range(n):
            x[i, k + 2] = -0.5 * (product(x, x, i, 1, k + 1, k + 2) + product(yy, yy, i, 1, k + 1, k + 2))
            total = 0.0
            for m in range(k + 1):
                total += (k + 1 - m) * (x[i, m] * yy[i, k + 1 - m] - yy[i, m] * x[i, k + 1 - m])
            rate[i, k] = total
        moments(k, y, chain, rate, drive, moment)
        forces(k, chain, x, yy, w)
        one_order(k, chain, terms, w)
    k = order - 1
    for i in range(n):
        total = 0.0
        for m in range(k + 1):
            total += (k + 1 - m) * (x[i, m] * yy[i, k + 1 - m] - yy[i, m] * x[i, k + 1 - m])
        rate[i, k] = total
    last = before = 0.0
    for i in range(n):
        last = max(last, abs(x[i, order]) + abs(yy[i, order]))
        before = max(before, abs(x[i, order - 1]) + abs(yy[i, order - 1]))
    for k in range(order):
        for i in range(n):
            q[k, i] = rate[i, k] / (k + 1)
            q[k, n + i] = rate[i, k + 1] if k + 1 < order else 0.0
    if chain.ledger > 0:
        powers(chain, terms, q, w)
    return last, before


@kernel
def factorise(p, w):
    """Fill the rows of the sweep that do not depend on the right-hand side: TAU holds 1/D, QX and QY the coupling q."""
    mxx = mxy = myy = 0.0
    for j in range(p.n):
        i = p.n - 1 - j
        s, c = w[S, i], w[C, i]
        mass, d, b = p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i]
        px, py = d * c - b * s, d * s + b * c
        lc, ls = p.links[LENGTH, i] * c, p.links[LENGTH, i] * s
        qx, qy = mass * px + (lc * mxx + ls * mxy), mass * py + (lc * mxy + ls * myy)
        inverse = 1.0 / (p.links[HINGE_INERTIA, i] + (lc * lc * mxx + (2.0 * lc * ls * mxy + ls * ls * myy)))
        w[TAU, i], w[QX, i], w[QY, i] = inverse, qx, qy
        mxx = (mxx + mass) - qx * qx * inverse
        mxy = mxy - qx * qy * inverse
        myy = (myy + mass) - qy * qy * inverse


@kernel
def solved(p, w, row):
    """Solve M z = w[row] in place, M being the mass matrix that was factorised."""
    bx = by = 0.0
    for j in range(p.n):
        i = p.n - 1 - j
        lc, ls = p.links[LENGTH, i] * w[C, i], p.links[LENGTH, i] * w[S, i]
        free = (w[row, i] - (lc * bx + ls * by)) * w[TAU, i]
        w[row, i] = free
        bx += w[QX, i] * free
        by += w[QY, i] * free
    ax = ay = 0.0
    for i in range(p.n):
        z = w[row, i] - (w[QX, i] * ax + w[QY, i] * ay) * w[TAU, i]
        w[row, i] = z
        ax += p.links[LENGTH, i] * w[C, i] * z
        ay += p.links[LENGTH, i] * w[S, i] * z


@kernel
def torques(t, bound, p, drive, order):
    """Fill the series of the driving torques at time t."""
    for i in range(p.n):
        for k in range(order):
            drive[i, k] = 0.0
        drive[i, 0] = p.links[TORQUE, i]
        if p.timed:
            size, rate, phase = p.links[AMPLITUDE, i], p.links[FREQUENCY, i], p.links[FREQUENCY, i] * t + p.links[PHASE, i]
            for k in range(order if size != 0.0 else 0):
                drive[i, k] += size * math.sin(phase + k * 0.5 * math.pi)
                size *= rate / (k + 1)
            start, stop = p.table_start[i], p.table_start[i + 1]
            if stop > start:
                half = 0.5 * (bound - t)
                middle, quarter = from_table(t + half, p.table, start, stop), from_table(t + 0.5 * half, p.table, start, stop)
                slope = (middle - quarter) / (0.5 * half)
                drive[i, 0] += middle - slope * half
                drive[i, 1] += slope


@kernel
def moments(k, y, p, rate, drive, moment):
    """Fill coefficient k of the moments on the links: springs, dampers, torques."""
    before_angle = before_rate = 0.0
    for i in range(p.n):
        angle = y[i] if k == 0 else rate[i, k - 1] / k
        joint = drive[i, k] - p.links[STIFFNESS, i] * (angle - before_angle - (p.links[REST, i] if k == 0 else 0.0))
        joint -= p.links[JOINT_DAMPING, i] * (rate[i, k] - before_rate)
        moment[i, k] = joint - p.links[LINK_DAMPING, i] * rate[i, k]
        if i > 0:
            moment[i - 1, k] -= joint
        before_angle, before_rate = angle, rate[i, k]


@kernel
def forces(k, p, x, yy, w):
    """Fill FX, FY with coefficient k of the force on each centre of mass, without that at the tip."""
    vx = vy = 0.0
    for i in range(p.n):
        w[FX, i] = 0.0
        w[FY, i] = -p.links[MASS, i] * p.g if k == 0 else 0.0
        if p.swept:
            s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
            a, t = (k + 1) * x[i, k + 1], (k + 1) * yy[i, k + 1]
            ex, ey = a * s + t * c, t * s - a * c
            w[FX, i] -= p.links[LINEAR_DRAG, i] * (vx + d * ex - b * ey)
            w[FY, i] -= p.links[LINEAR_DRAG, i] * (vy + d * ey + b * ex)
            vx += p.links[LENGTH, i] * ex
            vy += p.links[LENGTH, i] * ey


@kernel
def one_order(k, p, terms, w):
    """Find y_{k+2} and lambda_k from x_{k+2} and what acts at order k."""
    x, yy, lam, moment = terms[X], terms[Y], terms[LAM], terms[MOMENT]
    n, scale = p.n, (k + 1.0) * (k + 2.0)
    last = n - 1
    a, t = x[last, k], yy[last, k]
    s, c = w[S, last], w[C, last]
    tipx, tipy = -p.tip[2] * (a * s + t * c), -p.tip[2] * (t * s - a * c)
    if k == 0:
        tipx += p.tip[0]
        tipy += p.tip[1]
    inertia(scale, p, x, yy, False, w, k, tipx, tipy)
    for i in range(n):
        pull = product(lam, yy, i, 0, k - 1, k) + product(moment, x, i, 0, k, k)
        w[MZ, i] = pull - (w[C, i] * w[GX, i] + w[S, i] * w[GY, i])
    solved(p, w, MZ)
    for i in range(n):
        yy[i, k + 2] = w[MZ, i] / scale
    inertia(scale, p, x, yy, True, w, k, tipx, tipy)
    for i in range(n):
        along = w[S, i] * w[GX, i] - w[C, i] * w[GY, i]
        lam[i, k] = along - product(lam, x, i, 0, k - 1, k) + product(moment, yy, i, 0, k, k)


@kernel
def inertia(scale, p, x, yy, both, w, k, tipx, tipy):
    """Fill GX, GY with scale sum_j C_ij e_j at order k + 2 less the forces on e_i, in the world; of e_j the part along the link
    only, unless `both`.
    """
    n = p.n
    accx = accy = 0.0
    for i in range(n):
        s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
        a, t = scale * x[i, k + 2], scale * yy[i, k + 2] if both else 0.0
        ex, ey = a * s + t * c, t * s - a * c
        w[GX, i] = p.links[MASS, i] * (accx + d * ex - b * ey) - w[FX, i]
        w[GY, i] = p.links[MASS, i] * (accy + d * ey + b * ex) - w[FY, i]
        w[AX, i], w[AY, i] = ex, ey
        accx += p.links[LENGTH, i] * ex
        accy += p.links[LENGTH, i] * ey
    tailx, taily = -tipx, -tipy
    for j in range(n):
        i = n - 1 - j
        length, d, b = p.links[LENGTH, i], p.links[COM, i], p.links[OFFSET, i]
        own = p.links[INERTIA, i]
        massx, massy = w[GX, i], w[GY, i]
        w[GX, i] = length * tailx + d * massx + b * massy + own * w[AX, i]
        w[GY, i] = length * taily + d * massy - b * massx + own * w[AY, i]
        tailx += massx
        taily += massy


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
                one = rate[i, m] - (rate[i - 1, m] if i > 0 else 0.0)
                two = rate[i, k - m] - (rate[i - 1, k - m] if i > 0 else 0.0)
                q[k, row] += drive[i, m] * two
                q[k, row + 1] -= p.links[JOINT_DAMPING, i] * one * two
                q[k, row + 2] -= p.links[LINK_DAMPING, i] * rate[i, m] * rate[i, k - m]
    if p.swept:
        sweep_powers(p, x, yy, terms[SPEEDX], terms[SPEEDY], terms[TIPX, 0], terms[TIPY, 0], q, w)
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
            a, t = (k + 1) * x[i, k + 1], (k + 1) * yy[i, k + 1]
            ex, ey = a * s + t * c, t * s - a * c
            speedx[i, k], speedy[i, k] = vx + d * ex - b * ey, vy + d * ey + b * ex
            vx += p.links[LENGTH, i] * ex
            vy += p.links[LENGTH, i] * ey
        tipx[k], tipy[k] = vx, vy
        for i in range(n):
            for m in range(k + 1):
                both = speedx[i, m] * speedx[i, k - m] + speedy[i, m] * speedy[i, k - m]
                q[k, row + 3] -= p.links[LINEAR_DRAG, i] * both
        s, c = w[S, last], w[C, last]
        for m in range(k + 1):
            a, t = x[last, k - m], yy[last, k - m]
            q[k, row + 4] -= p.tip[2] * (tipx[m] * (a * s + t * c) + tipy[m] * (t * s - a * c))
        q[k, row + 5] += p.tip[0] * tipx[k] + p.tip[1] * tipy[k]


SERIES[RecursiveParameters] = chain_series
