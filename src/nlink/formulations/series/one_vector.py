"""One chain of few links: a link in each lane of one vector, all orders unrolled, with short waits of one order for another.

With the mass matrix M and its skew counterpart S (`couplings`), accelerations a along the links and alpha across them, each times
(k + 1)(k + 2) of their coefficients,

    M alpha = across - S a        lambda = pull + M a - S alpha

M is inverted once a step. Up to COMBINED links the matrices of both equations together are made as well, so that lambda does not
wait for alpha:

    alpha = A across - G a        lambda = pull + G' across + (M + S G) a        A = 1 / M, G = A S

What the order before has found enters each sum last: all else is ready sooner. The rates follow from y' = omega x, with x = 1 at
the start, and give the state at the end of the step without an arctangent.
"""

from __future__ import annotations

from typing import Any

from numba import types

from nlink.compiled.dispatch import dispatched
from nlink.compiled.interpreted import padded
from nlink.compiled.jit import intrinsic, kernel
from nlink.compiled.simd import alike, polynomial_sincos
from nlink.compiled.tracing import Cells, Number, fields, gathered, traced
from nlink.formulations.series.loads import ledger_of_moments
from nlink.formulations.series.rows import (
    ANGLE,
    BRAKE,
    CONSTANT,
    DAMP,
    DRIVE,
    FREQUENCY,
    INERTIA,
    LEVEL,
    PHASE,
    PUSH,
    RATE,
    REACH,
    REST,
    SHIFT,
    SIZE,
    SLOPE,
    SPEED,
    STIFF,
    VALUE,
)
from nlink.mechanics import parameters
from nlink.mechanics.moments import JOINTS, LINKS
from nlink.mechanics.series import CHAIN_SIZE, Series, layout_of
from nlink.mechanics.torques import piece

COMBINED = 3
"""Up to so many links, by measurement."""
LONGEST = 8
"""Products in a row."""


@kernel
def lasting(p, w):
    """Fill the rows that are the same for a run: what is not a link of the chain is one of no weight that nothing reaches."""
    behind = 0.0
    for j in range(p.n):
        i = p.n - 1 - j
        mass, length = p.links[parameters.MASS, i], p.links[parameters.LENGTH, i]
        w[REACH, i] = length
        w[LEVEL, i], w[SHIFT, i] = mass * p.links[parameters.COM, i] + behind * length, mass * p.links[parameters.OFFSET, i]
        w[INERTIA, i] = p.links[parameters.HINGE_INERTIA, i] + behind * (length * length)
        behind += mass
    for i in range(p.n, len(w[INERTIA])):
        w[INERTIA, i] = 1.0
    for i in range(len(w[INERTIA])):
        w[VALUE, i] = w[SLOPE, i] = 0.0


@dispatched(lambda layout: moments_of_run if layout.moments else nothing, "room", of=layout_of)
def lasting_moments(p, room):
    """Fill the rows of the moments that are the same for a run, if there are any."""


def moments_of_run(p, room):
    """Fill them."""
    w = room.w
    for i in range(p.n):
        w[REST, i], w[STIFF, i], w[DAMP, i] = JOINTS.affine(i, 0.0, p)
        w[PUSH, i], _, w[BRAKE, i] = LINKS.affine(i, 0.0, p)
        w[CONSTANT, i], w[SIZE, i] = p.links[parameters.TORQUE, i], p.links[parameters.AMPLITUDE, i]
        w[FREQUENCY, i], w[PHASE, i] = p.links[parameters.FREQUENCY, i], p.links[parameters.PHASE, i]


def begin(p, room):
    """Fill what stays the same for a run."""
    lasting(room.chain, room.w)
    lasting_moments(room.chain, room)


def series(t, bound, ahead, y, p, room, order):
    """Find all coefficients; see `nlink.mechanics.series`."""
    torques_ahead(t, bound, ahead, room)
    return in_one_vector(room, t, y)


def arrival(h, y, p, room, order, new):
    """Sum the series of the rates: four sums side by side, of every fourth coefficient."""
    n, wide, u, uv, hh = room.chain.n, room.wide, room.u, room.uv, h * h
    r1, a1 = every_fourth(hh * hh, wide, order, 1)
    r2, a2 = every_fourth(hh * hh, wide, order, 2)
    r3, a3 = every_fourth(hh * hh, wide, order, 3)
    r4, a4 = every_fourth(hh * hh, wide, order, 4)
    uv[SPEED, 0] = h * ((r1 + h * r2) + hh * (r3 + h * r4))
    uv[ANGLE, 0] = h * wide[RATE, 0, 0] + hh * ((a1 + h * a2) + hh * (a3 + h * a4))
    for i in range(n):
        new[i] = y[i] + u[ANGLE, i]
        new[n + i] = y[n + i] + u[SPEED, i]


@kernel
def every_fourth(hhhh, wide, order, first):
    """Sum every fourth coefficient of rates and angles as a polynomial of h^4."""
    top = order - 1 - (order - 1 - first) % 4
    rate = wide[RATE, top, 0]
    angle = rate * (1.0 / (top + 1))
    for m in range(top - 4, first - 1, -4):
        rate, angle = rate * hhhh + wide[RATE, m, 0], angle * hhhh + wide[RATE, m, 0] * (1.0 / (m + 1))
    return rate, angle


def accelerations(p, room, f):
    """Fill f[N:2N] with the accelerations at the start, the first derivatives of the rates."""
    n = room.chain.n
    for i in range(n):
        f[n + i] = room.terms[RATE, 1, i]


def polynomials(p, room, order, q):
    """Fill the coefficients of angles and rates from the first power on."""
    polynomials_of_rates(room.chain.n, room.terms[RATE], order, q)


@kernel
def polynomials_of_rates(n, rate, order, q):
    """Fill the coefficients of angles and rates from the first power on."""
    zero = alike(0.0, rate[0, 0])
    for k in range(order):
        for i in range(n):
            q[k, i] = rate[k, i] * (1.0 / (k + 1))
            q[k, n + i] = rate[k + 1, i] if k + 1 < order else zero


@dispatched(lambda layout: tables_ahead if layout.moments else no_tables, "room", of=layout_of)
def torques_ahead(t, bound, ahead, room):
    """Fill what torques from tables do from time t on, if there can be any."""


def tables_ahead(t, bound, ahead, room):
    """Fill it."""
    tables(t, bound, ahead, room.chain, room.w)


def no_tables(t, bound, ahead, room):
    """Fill nothing."""


def nothing(p, room):
    """Fill nothing."""


@dispatched(lambda layout: ledger_of_moments if layout.moments else no_ledger, "room", of=layout_of)
def ledger(room, order, q):
    """Fill the ledger, if there is one: under gravity alone nothing of it is compiled. No forces act: they have another layout."""


def no_ledger(room, order, q):
    """Fill nothing."""


def powers(p, room, order, q):
    """Fill the coefficients of the ledger."""
    ledger(room, order, q)


@kernel
def tables(t, bound, ahead, p, w):
    """Fill value and slope of the torques from tables at time t; they are straight up to the bound."""
    if len(p.table) > 0:
        for i in range(p.n):
            if p.spans[1, i] > p.spans[0, i]:
                w[VALUE, i], w[SLOPE, i] = piece(t, bound, ahead, p.table, int(p.spans[0, i]), int(p.spans[1, i]))


def in_one_vector_in_python(room: Any, t: float, y: Any) -> tuple[float, float, float]:
    """Do what `in_one_vector` does."""
    n, width = room.chain.n, room.wide.numbers.shape[-1]
    theta, omega = (padded(y[first : first + n], width) for first in (0, n))
    return vector_series(layout_of(room), len(room.order), t, theta, omega, room.chain.g, room.wide, room.v)


@intrinsic(python=in_one_vector_in_python)
def in_one_vector(_typing, room, t, y):
    """Find the coefficients of a small chain with neither drag nor forces at its tip; see `series` for what is returned."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        chain = fields(builder, *parts["chain"])
        layout, order = layout_of(room), parts["order"][0].count
        wide, v = (Cells(context, builder, *parts[name]) for name in ("wide", "v"))
        theta, omega = (gathered(context, builder, y, args[2], first, chain["n"][1], layout.links, wide.width) for first in (0, 1))
        found = vector_series(layout, order, Number(builder, args[1]), theta, omega, Number(builder, chain["g"][1]), wide, v)
        return context.make_tuple(builder, sig.return_type, [each.value for each in found])

    return types.UniTuple(types.float64, 3)(room, t, y), build


def vector_series(layout, order, t, theta, omega, g, wide, w):
    """Write down all orders from angles and rates; return the sizes of the last two coefficients and the largest rate."""
    s, c = traced(polynomial_sincos)(theta)
    qx, qy = w[LEVEL, 0] * c - w[SHIFT, 0] * s, w[LEVEL, 0] * s + w[SHIFT, 0] * c
    mass, skew = couplings(layout.links, w[REACH, 0] * c, w[REACH, 0] * s, qx, qy, w[INERTIA, 0])
    solve = (combined if layout.links <= COMBINED else in_turn)(mass, skew, inverted(mass))
    moment = moments(order, t, theta, w, wide) if layout.moments else None
    x, y, lam, tau, rate = [1.0, 0.0], [0.0, omega], [], [], [omega]
    alpha: Any = 0.0
    for k in range(order - 1):
        scale = (k + 1.0) * (k + 2.0)
        if k == 0:
            along, across, pull = -(omega * omega), -(g * qy), -(g * qx)
        else:
            along = half_square(k + 2, x, y) * -scale - omega * ((k + 2.0) / k) * alpha
            across = total(lam, y[k:0:-1])
            pull = -total(lam[:-1], x[k:1:-1])
        if moment:
            tau.append(moment(k, rate))
            across = across + total(tau[: k - 1], x[k:1:-1]) + tau[k]
            pull = pull + total(tau[:k], y[k:0:-1])
        alpha, pulled = solve(along, across, pull)
        x.append(along * (1.0 / scale))
        y.append(alpha * (1.0 / scale))
        lam.append(pulled)
        rate.append(alpha * (1.0 / (k + 1.0)) - total(rate[:k], x[k + 1 : 1 : -1]))
    for k in range(order):
        wide[RATE, k, 0] = rate[k]
    last, before = (abs(x[k]) + abs(y[k]) for k in (order, order - 1))
    return last.largest(), before.largest(), abs(omega).largest()


def total(factors, values, start: Any = 0.0) -> Any:
    """Write down a sum of products of coefficients. In a product of series the first and the last need the latest: they come last.
    Long sums are split, so that none waits for a long row of additions.
    """
    products = list(zip(factors, values, strict=True))
    parts = [start] + [0.0] * (len(products) // LONGEST)
    for place, m in enumerate(reversed(range(1, len(products)))):
        a, b = products[m // 2 - 1 if m % 2 == 0 else -2 - m // 2]
        parts[place % len(parts)] = parts[place % len(parts)] + a * b
    found = sum(parts[1:], parts[0])
    return found + products[-1][0] * products[-1][1] if products else found


def half_square(k, x, y):
    """Write down half of what coefficient k of x x + y y has without x_0, x_1 and y_1."""
    upper, lower = slice(k - 2, k // 2, -1), slice(2, (k + 1) // 2)
    found = total([*x[lower], *y[lower]], [*x[upper], *y[upper]])
    middle = k // 2
    return found + 0.5 * (x[middle] * x[middle] + y[middle] * y[middle]) if k % 2 == 0 else found


def couplings(links, lx, ly, qx, qy, inertia):
    """Write down the columns of the mass matrix and of its skew counterpart: of two links, the one nearer to the pivot moves the
    other by its length l, and its acceleration acts on all behind it by q.
    """
    width, mass, skew = range(links), [], []
    for j in width:
        ax, ay = lx.taking(qx, width[j:]), ly.taking(qy, width[j:])
        bx, by = qx.lane(j).taking(lx.lane(j), width[j:]), qy.lane(j).taking(ly.lane(j), width[j:])
        mass.append((ax * bx + ay * by).taking(inertia, [j]))
        skew.append((ax * by - ay * bx).taking(0.0, [j]))
    return mass, skew


def inverted(rows, parts=1):
    """Write down the rows of the inverse of a symmetric matrix: the elimination of Gauss and Jordan. A number of the matrix stands
    in so many lanes as it has parts.
    """
    rows = list(rows)
    for k in range(len(rows)):
        lanes = range(parts * k, parts * (k + 1))
        row = rows[k].taking(1.0, lanes) * (1.0 / rows[k].number(lanes[0]))
        rows = [row if i == k else each.taking(0.0, lanes) - row * each.lane(lanes[0]) for i, each in enumerate(rows)]
    return rows


def applied(columns, vector, start: Any = 0.0) -> Any:
    """Write down the product of a matrix and a vector."""
    return total(columns, map(vector.lane, range(len(columns))), start)


def combined(mass, skew, inverse):
    """Return how accelerations and pulls follow from what is known, neither from the other."""
    turned = [applied(inverse, column) for column in skew]
    drawn = [-applied(skew, column) for column in inverse]
    bent = [applied(skew, column, own) for column, own in zip(turned, mass, strict=True)]

    def solve(along, across, pull):
        alpha = applied(inverse, across) - applied(turned, along)
        return alpha, applied(drawn, across, pull) + applied(bent, along)

    return solve


def in_turn(mass, skew, inverse):
    """Return how accelerations follow from what is known, and pulls from them."""

    def solve(along, across, pull):
        alpha = applied(inverse, across - applied(skew, along))
        return alpha, applied(mass, along, pull) - applied(skew, alpha)

    return solve


def moments(order, t, theta, w, wide):
    """Return how coefficient k of the moments on the links follows from the rates, and fill those of the driving torques."""
    s, c = traced(polynomial_sincos)(w[FREQUENCY, 0] * t + w[PHASE, 0])
    size = w[SIZE, 0]
    for k in range(order):
        drive = size * (s, c, -s, -c)[k % 4]
        wide[DRIVE, k, 0] = drive + w[(CONSTANT, SLOPE)[k], 0] + (w[VALUE, 0] if k == 0 else 0.0) if k < 2 else drive
        size = size * (w[FREQUENCY, 0] * (1.0 / (k + 1.0)))
    relative = [theta - theta.moved(1)]

    def moment(k, rate):
        joint = wide[DRIVE, k, 0] - (w[STIFF, 0] if k == 0 else w[STIFF, 0] * (1.0 / k)) * relative[k]
        relative.append(rate[k] - rate[k].moved(1))
        link = -w[BRAKE, 0] * rate[k]
        if k == 0:
            joint, link = joint + w[REST, 0], link + w[PUSH, 0]
        joint = joint - w[DAMP, 0] * relative[k + 1]
        return joint - joint.moved(-1) + link

    return moment


IN_ONE_VECTOR = Series(
    begin=begin,
    series=series,
    horizon=lambda h, p, room, order: h,
    arrival=arrival,
    accelerations=accelerations,
    polynomials=polynomials,
    powers=powers,
    size=CHAIN_SIZE,
)
