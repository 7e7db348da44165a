"""The motion of a chain of lines in space as a power series in time, in the unit vectors of its links.

With e the unit vector of a line and lambda the pull along it, the kinetic energy is 1/2 sum C_ij e_i'.e_j' with constant numbers
C_ij, and

    sum_j C_ij e_j'' = f_i + lambda_i e_i        |e_i| = 1

One order k costs four and a half products of series a line, of which the sweep (`sweep`) makes the accelerations and lambda_k:

    p = f_k + sum_{m<k} lambda_m e_{k-m}        bend = 1/2 sum_{0<m<k+2} e_m.e_{k+2-m}
    e_0.e_{k+2} = -bend                         (k+1) (k+2) C e_{k+2} = p + lambda_k e_0

At the end of a step each unit vector is scaled to 1, and its rate loses what it has along it.
"""

from __future__ import annotations

import math

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, value_of
from nlink.formulations.series.resistance import drag_horizon
from nlink.formulations.space.lines import LineParameters
from nlink.formulations.space.series.loads import act, acting, line_ledger, refusal
from nlink.formulations.space.series.one_vector import IN_ONE_VECTOR
from nlink.formulations.space.series.rows import (
    BEFORE,
    BENT,
    ENDX,
    ENDY,
    ENDZ,
    LAM,
    LAST,
    LINE_SIZE,
    PX,
    PY,
    PZ,
    QX,
    QY,
    QZ,
    RATEX,
    RATEY,
    RATEZ,
    REACH,
    SHARE,
    X,
    Y,
    Z,
)
from nlink.formulations.space.series.springs import find_springs, folding
from nlink.formulations.space.series.sweep import factorise, solve, swung
from nlink.formulations.space.series.unrolled import unrolled_lines
from nlink.mechanics.series import ONE_VECTOR, ORDER_BY_ORDER, SERIES, UNROLLED, Series, layout_of

TURN = 0.75
"""A line may turn by 2 rad in a step where a link in the plane may turn by 1.5."""


def line_series(t, bound, ahead, y, p, room, order):
    """Fill the room with the series from the state y; return the sizes of the last two coefficients and the largest rate."""
    terms, u, uv, n = room.terms, room.u, room.uv, room.chain.n
    fastest = value_of(begin_step(room.chain, y, terms))
    if room.chain.sprung:
        find_springs(room.chain, room.w)
    orders(y, room, order, ahead)
    if room.chain.sprung:
        fastest = folding(fastest, n, 1, terms, room.w, order)
    for j in range(len(uv[LAST])):
        uv[LAST, j], uv[BEFORE, j] = size(order, room.wide, j), size(order - 1, room.wide, j)
    last, before = u[LAST, 0], u[BEFORE, 0]
    for i in range(1, n):
        last, before = max(last, u[LAST, i]), max(before, u[BEFORE, i])
    return last, before, fastest


@kernel
def in_loops(y, room, order, ahead):
    """See `orders`."""
    chain, u, uv = room.chain, room.u, room.uv
    factorise(chain, y, 0, room.w)
    for k in range(order - 1):
        if chain.loaded:
            act(k, room, ahead)
        sums(k, chain.loaded, room)
        solve(chain.n, len(uv[PX]), chain.g if k == 0 else 0.0 * chain.g, room.w, room.v, u, uv)
        coefficients(k, room)


ORDERS = {ORDER_BY_ORDER: in_loops, UNROLLED: lambda y, room, order, ahead: unrolled_lines(room)}
"""By the layout of the series."""


@dispatched(lambda layout: ORDERS[layout.kind], "room", of=layout_of)
def orders(y, room, order, ahead):
    """Find the coefficients from the third on."""


@kernel
def begin_step(p, y, terms):
    """Fill the first two coefficients; return the rate of the fastest line, as a link in the plane would have it."""
    fastest = alike(0.0, y[0])
    for i in range(p.n):
        at, rate = 3 * i, 3 * (p.n + i)
        terms[X, 0, i], terms[Y, 0, i], terms[Z, 0, i] = y[at], y[at + 1], y[at + 2]
        vx, vy, vz = y[rate], y[rate + 1], y[rate + 2]
        terms[X, 1, i], terms[Y, 1, i], terms[Z, 1, i] = vx, vy, vz
        fastest = max(fastest, vx * vx + vy * vy + vz * vz)
    return TURN * math.sqrt(fastest)


@kernel
def size(k, wide, j):
    """Return the size of coefficient k of unit vectors j."""
    return abs(wide[X, k, j]) + abs(wide[Y, k, j]) + abs(wide[Z, k, j])


@kernel
def sums(k, loaded, room):
    """Fill couples and bends of order k: the products of series of lower order, and the forces of the loads."""
    wide, v, uv = room.wide, room.v, room.uv
    for j in range(len(uv[PX])):
        x, y, z, bend = products(k, wide, j)
        if loaded:
            x, y, z = x + uv[QX, j], y + uv[QY, j], z + uv[QZ, j]
        share = v[SHARE, j]
        uv[PX, j], uv[PY, j], uv[PZ, j] = x * share, y * share, z * share
        uv[BENT, j] = v[REACH, j] * (((k + 1.0) * (k + 2.0)) * bend)


@kernel
def products(k, wide, j):
    """Return coefficient k of lambda e without lambda_k, and half that of order k + 2 of e.e without e_{k+2}, of links j."""
    x = y = z = alike(0.0, wide[X, 0, j])
    for m in range(k):
        lam = wide[LAM, m, j]
        x, y, z = x + lam * wide[X, k - m, j], y + lam * wide[Y, k - m, j], z + lam * wide[Z, k - m, j]
    bend = alike(0.0, x)
    for m in range(1, (k + 1) // 2 + 1):
        n = k + 2 - m
        bend += (wide[X, m, j] * wide[X, n, j] + wide[Y, m, j] * wide[Y, n, j]) + wide[Z, m, j] * wide[Z, n, j]
    if k % 2 == 0:
        m = k // 2 + 1
        bend += 0.5 * ((wide[X, m, j] * wide[X, m, j] + wide[Y, m, j] * wide[Y, m, j]) + wide[Z, m, j] * wide[Z, m, j])
    return x, y, z, bend


@kernel
def coefficients(k, room):
    """Fill e_{k+2} and lambda_k from the accelerations of order k."""
    wide, v, uv, scale = room.wide, room.v, room.uv, 1.0 / ((k + 1.0) * (k + 2.0))
    for j in range(len(uv[PX])):
        x, y, z, tension = swung(v, uv, j)
        share = v[SHARE, j] * scale
        wide[X, k + 2, j], wide[Y, k + 2, j], wide[Z, k + 2, j] = x * share, y * share, z * share
        wide[LAM, k, j] = -(v[REACH, j] * tension)


def line_horizon(h, p, room, order):
    """Return the part of a step h in which the series stays true."""
    return drag_horizon(h, room.chain, room.terms, room.w, order) if room.chain.force_level > 1 else h


def line_arrival(h, y, p, room, order, new):
    """Fill new with unit vectors and their rates at the time h after the start of the series."""
    n, wide, u, uv = room.chain.n, room.wide, room.u, room.uv
    for j in range(len(uv[ENDX])):
        x, dx = summed(h, wide[X], order, j)
        y_, dy = summed(h, wide[Y], order, j)
        z, dz = summed(h, wide[Z], order, j)
        share = 1.0 / math.sqrt((x * x + y_ * y_) + z * z)
        x, y_, z = x * share, y_ * share, z * share
        along = (x * dx + y_ * dy) + z * dz
        uv[ENDX, j], uv[ENDY, j], uv[ENDZ, j] = x, y_, z
        uv[RATEX, j], uv[RATEY, j], uv[RATEZ, j] = dx - along * x, dy - along * y_, dz - along * z
    for i in range(n):
        at, rate = 3 * i, 3 * (n + i)
        new[at], new[at + 1], new[at + 2] = u[ENDX, i], u[ENDY, i], u[ENDZ, i]
        new[rate], new[rate + 1], new[rate + 2] = u[RATEX, i], u[RATEY, i], u[RATEZ, i]


@kernel
def summed(h, row, order, j):
    """Return a component of unit vectors j at the time h and its rate: even and odd powers apart, for speed."""
    hh = h * h
    even, slope_even = of_square(hh, row, order - order % 2, 0, j)
    odd, slope_odd = of_square(hh, row, order - 1 + order % 2, 1, j)
    return even + h * odd, (h + h) * (slope_even + h * slope_odd) + odd


@kernel
def of_square(hh, row, top, least, j):
    """Sum every other coefficient from `top` down to `least` as a polynomial of h^2; return it and its derivative by h^2."""
    value = row[top, j]
    slope = value
    value = value * hh + row[top - 2, j]
    for m in range(top - 4, least - 1, -2):
        slope = slope * hh + value
        value = value * hh + row[m, j]
    return value, slope


def line_accelerations(p, room, f):
    """Fill the second half of f with the accelerations of the unit vectors at the start."""
    n, terms = room.chain.n, room.terms
    for i in range(n):
        at = 3 * (n + i)
        f[at], f[at + 1], f[at + 2] = 2.0 * terms[X, 2, i], 2.0 * terms[Y, 2, i], 2.0 * terms[Z, 2, i]


def line_polynomials(p, room, order, q):
    """Fill q (order, m): the coefficients of unit vectors and rates from the first power on."""
    n, terms = room.chain.n, room.terms
    for k in range(order):
        for i in range(n):
            for at, row in ((0, X), (1, Y), (2, Z)):
                q[k, 3 * i + at] = terms[row, k + 1, i]
                q[k, 3 * (n + i) + at] = (k + 2.0) * terms[row, k + 2, i] if k + 2 <= order else 0.0


IN_LOOPS = Series(
    begin=lambda p, room: None,
    series=line_series,
    horizon=line_horizon,
    arrival=line_arrival,
    accelerations=line_accelerations,
    polynomials=line_polynomials,
    powers=line_ledger,
    size=LINE_SIZE,
    acting=acting,
    refusal=refusal,
)
SERIES[LineParameters] = {ORDER_BY_ORDER: IN_LOOPS, UNROLLED: IN_LOOPS, ONE_VECTOR: IN_ONE_VECTOR}
