"""The motion of a chain as a power series in time, in the unit vectors of its links.

With e the unit vector of a link and S the turn by 90 degrees, the kinetic energy is 1/2 sum e_i'.C_ij e_j' with constant 2x2 blocks
(for i < j: l_i (c_j 1 + o_j S), c_j = m_j d_j + l_j times the mass behind, o_j = m_j b_j), and

    sum_j C_ij e_j'' = f_i + tau_i t_i + lambda_i e_i        |e_i| = 1

f_i are forces mapped by the lengths, tau_i the moment on link i. In the frame of each link at the start (x = 1, y = 0, x' = 0,
y' = omega) one order costs a few products of series: the length gives x_{k+2}, `recursive`'s sweep y_{k+2}, and the equation along
the link lambda_k. Of the sweep all but two recursions is done once a step, or for all links side by side. With l = l t, n = l (turned),
M the mass on the lower end, q and D as in `recursive`, and b the bias and a the acceleration that are passed on,

    b <- b - q (l.b) / D + known        a <- a - l (q.a) / D + known

Arrays come twice: as numbers (a link each), and `wide`, the same memory as vectors: of links, or of chains.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic, overload

from nlink._jit import INLINE, kernel
from nlink.formulations.recursive import RecursiveParameters
from nlink.kernels import (
    AMPLITUDE,
    COM,
    FREQUENCY,
    HINGE_INERTIA,
    JOINT_DAMPING,
    LENGTH,
    LINEAR_DRAG,
    LINK_DAMPING,
    MASS,
    OFFSET,
    PHASE,
    REST,
    STIFFNESS,
    TABLE,
    TABLE_END,
    TORQUE,
    C,
    S,
    piece,
    sincos,
    turn,
)
from nlink.lanes import alike, where
from nlink.system import ORDER_BY_ORDER, SERIES, UNROLLED, Series
from nlink.unrolled import Cells, fields, plain

X, Y, LAM, RATE, MOMENT, DRIVE, RELATIVE, SPEEDX, SPEEDY = range(9)
"""Arrays (order + 2, links): coefficients by order."""
LC, LS, A11, A12, A21, A22, QX, QY, INVERSE, ZX, ZY, H, J, GX, GY, BEND, STIFF, DAMP, BRAKE = range(2, 21)
"""Rows of `w` and `v`, the same for a step: length times cosine and sine, the matrix of the recursions, q / D, 1 / D, what
multiplies the acceleration along the link, the weight of the link and of what hangs on it times their levers; the springs' moments at
the joints, their stiffness, and the damping at joints and of links."""
ALONG, FREE, CX, CY, BX, BY, AX, AY, ACROSS, DRAWN = range(10)
"""Rows of `u` and `uv`, of one order: acceleration along the link, turning without acceleration of the hinge, what is known, b, a,
moment and pull of forces."""
ANGLE, SPEED, LAST, BEFORE, DRIVEN, DAMPED, BRAKED = range(7)
"""Rows of `u` and `uv` at the end of a step."""


def chain_series(t, bound, ahead, y, p, room, order):
    """Fill the room with the series from the state y; return the sizes of the last two coefficients and the largest rate.

    Torques from tables have no kink before `bound`, which lies later if `ahead`.
    """
    chain, terms, wide, w, u, uv = room.chain, room.terms, room.wide, room.w, room.u, room.uv
    n = chain.n
    turn(y, n, w)
    factorise(chain, w)
    if chain.loaded:
        torques(t, bound, ahead, chain, terms[DRIVE], order)
        springs(y, chain, w)
    fastest = abs(y[n])
    for i in range(n):
        terms[Y, 1, i] = y[n + i]
        fastest = max(fastest, abs(y[n + i]))
    coefficients(room, order)
    for j in range(len(uv[LAST])):
        uv[LAST, j] = abs(wide[X, order, j]) + abs(wide[Y, order, j])
        uv[BEFORE, j] = abs(wide[X, order - 1, j]) + abs(wide[Y, order - 1, j])
    last, before = u[LAST, 0], u[BEFORE, 0]
    for i in range(1, n):
        last = max(last, u[LAST, i])
        before = max(before, u[BEFORE, i])
    if chain.ledger > 0:
        rates(order - 1, wide)
    return last, before, fastest


def chain_arrival(h, y, p, room, order, new):
    """Fill new with angles and rates at the time h after the start of the series."""
    n, wide, u, uv = room.chain.n, room.wide, room.u, room.uv
    for j in range(len(uv[ANGLE])):
        x, yy, dx, dy = position(h, wide, order, j)
        uv[ANGLE, j] = angle(yy, x)
        uv[SPEED, j] = (x * dy - yy * dx) / (x * x + yy * yy)
    for i in range(n):
        new[i] = y[i] + u[ANGLE, i]
        new[n + i] = u[SPEED, i]


@kernel
def position(h, wide, order, j):
    """Return the unit vectors of links j at the time h, and their rates: even and odd powers apart, for speed."""
    hh = h * h
    top = order - order % 2
    ex, ey = wide[X, top, j], wide[Y, top, j]
    edx, edy = top * ex, top * ey
    for m in range(top - 2, 0, -2):
        x, yy = wide[X, m, j], wide[Y, m, j]
        ex, ey, edx, edy = ex * hh + x, ey * hh + yy, edx * hh + m * x, edy * hh + m * yy
    top = order - 1 + order % 2
    ox, oy = wide[X, top, j], wide[Y, top, j]
    odx, ody = top * ox, top * oy
    for m in range(top - 2, 0, -2):
        x, yy = wide[X, m, j], wide[Y, m, j]
        ox, oy, odx, ody = ox * hh + x, oy * hh + yy, odx * hh + m * x, ody * hh + m * yy
    return 1.0 + (ex * hh + ox * h), ey * hh + oy * h, edx * h + odx, edy * h + ody


def chain_polynomials(p, room, order, q):
    """Fill q (order, m): the coefficients of angles and rates from the first power on."""
    chain, rate = room.chain, room.terms[RATE]
    n = chain.n
    if not chain.loaded:
        for k in range(order):
            rates(k, room.wide)
    elif chain.ledger == 0:
        rates(order - 1, room.wide)
    zero = alike(0.0, rate[0, 0])
    for k in range(order):
        for i in range(n):
            q[k, i] = rate[k, i] * (1.0 / (k + 1))
            q[k, n + i] = rate[k + 1, i] if k + 1 < order else zero


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
def orders(room, order):
    """Find the coefficients, order by order."""
    chain, terms, wide, w, u, uv = room.chain, room.terms, room.wide, room.w, room.u, room.uv
    for k in range(order - 1):
        if chain.loaded:
            rates(k, wide)
            moments(k, chain, terms[RATE], terms[DRIVE], terms[MOMENT], w)
        if chain.swept:
            forces(k, chain, terms[X], terms[Y], w, u)
        known(k, chain, wide, room.v, uv)
        inward(chain.n, w, u)
        hinges(len(uv[ALONG]), room.v, uv)
        outward(chain.n, w, u)
        found(k, wide, room.v, uv)


def coefficients(room, order):
    """Find the coefficients: unrolled for chains that fit into one vector, and then with or without moments; else order by order."""
    orders(room, order)


@overload(coefficients, jit_options=INLINE)
def _coefficients(room, order):
    small = room[room.fields.index("small")].count
    if small == ORDER_BY_ORDER:
        return lambda room, order: orders(room, order)
    if small == UNROLLED:
        return lambda room, order: straight(room, False)
    return lambda room, order: straight(room, True)


@intrinsic(prefer_literal=True)
def straight(_typing, room, loaded):
    """Find the coefficients of a small chain with neither drag nor forces at its tip, all orders unrolled."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        wide, v, w = (Cells(context, builder, *parts[name]) for name in ("wide", "v", "w"))
        columns = matrices(wide.kind.width, w)
        straight_orders(parts["order"][0].count, loaded.literal_value, wide, v, columns)
        return context.get_dummy_value()

    return types.void(room, loaded), build


def matrices(n, w):
    """Write down what a moment on link i, and an acceleration along it, do to all links: turning and pull beside each other, by
    sweeps with one cause in each lane.

    Turning by moments and pull by accelerations are symmetric, and pull by moments is minus the transpose of turning by
    accelerations: so a row of a matrix, which is what the sweeps give, serves as its column, which is what is needed.
    """
    rows = []
    for forced in (True, False):
        u = {}
        for i in range(n):
            along = 0.0 if forced else w[H, i].unit(i, n, 1.0)
            across = w[H, i].unit(i, n, 1.0) if forced else -w[H, i] * along
            u[ALONG, i], u[FREE, i] = along, across * w[INVERSE, i]
            u[CX, i] = w[ZX, i] * along + w[QX, i] * across
            u[CY, i] = w[ZY, i] * along + w[QY, i] * across
        for sweep in (inward, hinges, outward):
            plain(sweep)(n, w, u)
        rows.append([plain(turning)(w, u, i) for i in range(n)])
    return [
        ((-turned).beside(alpha), -(drawn + w[J, i].unit(i, n, 1.0) * w[J, i]).beside(-pull))
        for i, ((alpha, pull), (turned, drawn)) in enumerate(zip(*rows, strict=True))
    ]


def straight_orders(order, loaded, wide, v, columns):
    """Write the orders down: x and y of all links beside each other in one vector, and so their pull and turning.

    The columns take r / ((k + 1) (k + 2)) and -x to y, and to the pull over the same. What one order gives the next is short: y and
    lambda go through one product (with y_1; x_1 is zero) and the columns. All else is ready before.
    """
    n = len(columns)
    start = wide[X, 1, 0].beside(wide[Y, 1, 0])
    e, lam, tau, rate = [wide[X, 0, 0].beside(wide[Y, 0, 0]), start], [], [], []
    newest = start
    for k in range(order - 1):
        scale = (k + 1.0) * (k + 2.0)
        if k == 0:
            half, force = 0.5 * start * start, -v[GX, 0].beside(v[GY, 0])
            across, pull = force * (1.0 / scale), force.first()
        else:
            middle = [(0.5 * e[k // 2 + 1], e[k // 2 + 1])] if k % 2 == 0 else []
            half = total(middle + [(e[m], e[k + 2 - m]) for m in range((k + 1) // 2, 1, -1)]) + start * newest
            older = total([(lam[m], e[k - m]) for m in range(k - 1)] + [(tau[m], e[k - m].swapped()) for m in range(len(tau))])
            across, pull = older * (1.0 / scale) + (start * (1.0 / scale)) * lam[k - 1], -(older + start * lam[k - 1]).first()
        if loaded:
            rate.append(straight_rate(k, e))
            moment = straight_moment(k, rate, wide[DRIVE, k, 0], v)
            tau.append((-moment).beside(moment))
            across = across + moment.beside(moment) * (1.0 / scale)
            wide[RATE, k, 0], wide[MOMENT, k, 0] = rate[k], moment
        twice = half + half.swapped()
        turned, bent = across.lane(n) * columns[0][0], twice.lane(0) * columns[0][1]
        for i in range(1, n):
            turned, bent = turned + across.lane(n + i) * columns[i][0], bent + twice.lane(i) * columns[i][1]
        newest = turned + bent
        x, y, drawn = -twice.first(), newest.second(), newest.first()
        lam.append(pull.beside(pull) + scale * drawn.beside(drawn))
        wide[X, k + 2, 0], wide[Y, k + 2, 0], wide[LAM, k, 0] = x, y, lam[k].first()
        e.append(x.beside(y))


def straight_rate(k, e):
    """Write down coefficient k of the rates: omega = x y' - y x'."""
    if k == 0:
        return e[1].second()
    pairs = [((k + 1.0 - 2.0 * m) * e[m], e[k + 1 - m].swapped()) for m in range(k // 2, -1, -1)]
    crossed = total(pairs)
    return crossed.first() - crossed.second()


def straight_moment(k, rate, drive, v):
    """Write down coefficient k of the moments on the links."""
    bent = v[BEND, 0] if k == 0 else -v[STIFF, 0] * ((rate[k - 1] - rate[k - 1].moved(1)) * (1.0 / k))
    joint = drive + bent - v[DAMP, 0] * (rate[k] - rate[k].moved(1))
    return joint - joint.moved(-1) - v[BRAKE, 0] * rate[k]


def total(pairs):
    """Return the sum of products, in two sums at a time: one alone would wait for itself."""
    sums = [a * b for a, b in pairs[:2]]
    for m, (a, b) in enumerate(pairs[2:]):
        sums[m % 2] = sums[m % 2] + a * b
    return sum(sums[1:], sums[0]) if sums else 0.0


@kernel
def factorise(p, w):
    """Fill the rows that do not change with the order."""
    mxx = mxy = myy = behind = alike(0.0, w[S, 0])
    for j in range(p.n):
        i = p.n - 1 - j
        s, c = w[S, i], w[C, i]
        mass, d, b, length = p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i], p.links[LENGTH, i]
        px, py = d * c - b * s, d * s + b * c
        lc, ls = length * c, length * s
        tx, ty = mxx * lc + mxy * ls, mxy * lc + myy * ls
        nx, ny = mxx * ls - mxy * lc, mxy * ls - myy * lc
        inverse = 1.0 / (p.links[HINGE_INERTIA, i] + (lc * tx + ls * ty))
        qx, qy = mass * px + tx, mass * py + ty
        ux, uy = qx * inverse, qy * inverse
        w[LC, i], w[LS, i], w[QX, i], w[QY, i], w[INVERSE, i] = lc, ls, ux, uy, inverse
        w[GX, i], w[GY, i] = p.g * (mass * px + behind * lc), p.g * (mass * py + behind * ls)
        behind += mass
        w[A11, i], w[A12, i], w[A21, i], w[A22, i] = 1.0 - ux * lc, -ux * ls, -uy * lc, 1.0 - uy * ls
        w[ZX, i], w[ZY, i] = nx + mass * py, ny - mass * px
        w[H, i] = nx * lc + ny * ls
        w[J, i] = p.links[HINGE_INERTIA, i] + (nx * ls - ny * lc)
        mxx = (mxx + mass) - qx * ux
        mxy = mxy - qx * uy
        myy = (myy + mass) - qy * uy


@kernel
def products(k, loaded, wide, j):
    """Return -x_{k+2}, and what series of lower order add to the turning and to the pull of links j at order k."""
    half = alike(0.0, wide[X, 0, j])
    across = pull = half
    if k % 2 == 0:
        x, yy = wide[X, k // 2 + 1, j], wide[Y, k // 2 + 1, j]
        half = 0.5 * (x * x + yy * yy)
    for m in range((k + 1) // 2, 1, -1):
        half += wide[X, m, j] * wide[X, k + 2 - m, j] + wide[Y, m, j] * wide[Y, k + 2 - m, j]
    if k > 0:
        half += wide[Y, 1, j] * wide[Y, k + 1, j]
    for m in range(k):
        lam = wide[LAM, m, j]
        pull -= lam * wide[X, k - m, j]
        across += lam * wide[Y, k - m, j]
    if loaded:
        for m in range(k):
            moment = wide[MOMENT, m, j]
            pull += moment * wide[Y, k - m, j]
            across += moment * wide[X, k - m, j]
        across += wide[MOMENT, k, j]
    return half, across, pull


@kernel
def acting(k, p, wide, v, uv, j):
    """Return x_{k+2}, and what is known of the turning and of the pull of links j at order k."""
    half, across, pull = products(k, p.loaded, wide, j)
    if k == 0:
        across -= v[GY, j]
        pull -= v[GX, j]
    if p.swept:
        across += uv[ACROSS, j]
        pull += uv[DRAWN, j]
    return -half, across, pull


@kernel
def known(k, p, wide, v, uv):
    """Find x_{k+2}, and fill what does not depend on the neighbours."""
    for j in range(len(uv[ALONG])):
        x, across, pull = acting(k, p, wide, v, uv, j)
        along = x * ((k + 1.0) * (k + 2.0))
        across -= along * v[H, j]
        wide[X, k + 2, j], wide[LAM, k, j] = x, pull + v[J, j] * along
        uv[ALONG, j], uv[FREE, j] = along, across * v[INVERSE, j]
        uv[CX, j], uv[CY, j] = along * v[ZX, j] + v[QX, j] * across, along * v[ZY, j] + v[QY, j] * across


@kernel
def inward(n, w, u):
    """Pass the bias b from the tip to the pivot."""
    bx = by = alike(0.0, u[CX, 0])
    for j in range(n):
        i = n - 1 - j
        u[BX, i], u[BY, i] = bx, by
        bx, by = w[A11, i] * bx + (w[A12, i] * by + u[CX, i]), w[A22, i] * by + (w[A21, i] * bx + u[CY, i])


@kernel
def hinges(count, v, uv):
    """Fill what each link adds to the acceleration of the next hinge."""
    for j in range(count):
        lc, ls, along = v[LC, j], v[LS, j], uv[ALONG, j]
        free = uv[FREE, j] - (lc * uv[BX, j] + ls * uv[BY, j]) * v[INVERSE, j]
        uv[FREE, j] = free
        uv[CX, j], uv[CY, j] = lc * free + ls * along, ls * free - lc * along


@kernel
def outward(n, w, u):
    """Pass the acceleration a of the hinges from the pivot to the tip."""
    ax = ay = alike(0.0, u[CX, 0])
    for i in range(n):
        u[AX, i], u[AY, i] = ax, ay
        ax, ay = w[A11, i] * ax + (w[A21, i] * ay + u[CX, i]), w[A22, i] * ay + (w[A12, i] * ax + u[CY, i])


@kernel
def turning(v, uv, j):
    """Return the angular acceleration of links j, and what it and the neighbours add to their pull."""
    ax, ay = uv[AX, j], uv[AY, j]
    alpha = uv[FREE, j] - (v[QX, j] * ax + v[QY, j] * ay)
    pull = (v[ZX, j] * ax + v[ZY, j] * ay) + v[H, j] * alpha
    return alpha, pull + (v[LS, j] * uv[BX, j] - v[LC, j] * uv[BY, j])


@kernel
def found(k, wide, v, uv):
    """Find y_{k+2} and lambda_k."""
    share = 1.0 / ((k + 1.0) * (k + 2.0))
    for j in range(len(uv[ALONG])):
        alpha, pull = turning(v, uv, j)
        wide[Y, k + 2, j] = share * alpha
        wide[LAM, k, j] += pull


@kernel
def rates(k, wide):
    """Fill coefficient k of the rates: omega = x y' - y x'."""
    for j in range(len(wide[X, 0])):
        total = (k + 1.0) * wide[Y, k + 1, j]
        for m in range(1, k // 2 + 1):
            cross = wide[X, m, j] * wide[Y, k + 1 - m, j] - wide[Y, m, j] * wide[X, k + 1 - m, j]
            total += (k + 1.0 - 2.0 * m) * cross
        wide[RATE, k, j] = total


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
            if p.links[TABLE_END, i] > p.links[TABLE, i]:
                value, slope = piece(bound, ahead, p.table, int(p.links[TABLE, i]), int(p.links[TABLE_END, i]))
                drive[0, i] += value + slope * (t - bound)
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
def forces(k, p, x, yy, w, u):
    """Fill ACROSS and DRAWN with coefficient k of the moments and pulls of drag and of the forces at the tip."""
    n, zero = p.n, alike(0.0, w[S, 0])
    vx = vy = zero
    for i in range(n):
        s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
        a, t = (k + 1.0) * x[k + 1, i], (k + 1.0) * yy[k + 1, i]
        ex, ey = a * s + t * c, t * s - a * c
        u[ACROSS, i] = -p.links[LINEAR_DRAG, i] * (vx + d * ex - b * ey)
        u[DRAWN, i] = -p.links[LINEAR_DRAG, i] * (vy + d * ey + b * ex)
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
        s, c = w[S, last], w[C, last]
        for m in range(k + 1):
            a, t = x[k - m, last], yy[k - m, last]
            follow -= p.tip[2] * (tipx[m, 0] * (a * s + t * c) + tipy[m, 0] * (t * s - a * c))
        q[k, row + 3], q[k, row + 4] = lost * share, follow * share
        q[k, row + 5] = (p.tip[0] * tipx[k, 0] + p.tip[1] * tipy[k, 0]) * share


@kernel
def angle(y, x):
    """The angle of the vector (x, y), between -pi and pi: arctangent of the smaller over the larger, reduced once more, and a rational
    function of it (Cephes). About 1 ulp.
    """
    a, b = abs(y), abs(x)
    steep = a > b
    r = where(steep, b, a) / where(steep, a, b)
    far = r > 0.4142135623730950488
    z = where(far, (r - 1.0) / (r + 1.0), r)
    zz = z * z
    p = -6.485021904942025371773e1 + zz * (-1.228866684490136173410e2 + zz * (
        -7.500855792314704667340e1 + zz * (-1.615753718733365076637e1 + zz * -8.750608600031904122785e-1)))  # fmt: skip
    q = 1.945506571482613964425e2 + zz * (4.853903996359136964868e2 + zz * (
        4.328810604912902668951e2 + zz * (1.650270098316988542046e2 + zz * (2.485846490142306297962e1 + zz))))  # fmt: skip
    value = where(far, 0.78539816339744830962 + 3.061616997868382943065e-17, 0.0) + (z + z * (zz * p / q))
    value = where(steep, 1.57079632679489661923 - value, value)
    value = where(x < 0.0, 3.14159265358979323846 - value, value)
    return where(y < 0.0, -value, value)


SERIES[RecursiveParameters] = Series(chain_series, chain_arrival, chain_polynomials, chain_ledger)
