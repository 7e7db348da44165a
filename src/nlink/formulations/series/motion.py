"""The motion of a chain as a power series in time, in the unit vectors of its links.

With e the unit vector of a link and S the turn by 90 degrees, the kinetic energy is 1/2 sum e_i'.C_ij e_j' with constant 2x2 blocks
(for i < j: l_i (c_j 1 + o_j S), c_j = m_j d_j + l_j times the mass behind, o_j = m_j b_j), and

    sum_j C_ij e_j'' = f_i + tau_i t_i + lambda_i e_i        |e_i| = 1

f_i are forces mapped by the lengths, tau_i the moment on link i. In the frame of each link at the start (x = 1, y = 0, x' = 0,
y' = omega) one order costs a few products of series. The length, the equation across the link and that along it are

    2 x_{k+2} = -sum_{0 < m < k+2} (x_m x_{k+2-m} + y_m y_{k+2-m})
    [C e'']_y = across,   across = f_y + sum_{m <= k} (tau_m x_{k-m} + lambda_m y_{k-m})
    lambda_k  = pull + [C e'']_x,   pull = -f_x - sum_{m < k} (lambda_m x_{k-m} - tau_m y_{k-m})

The first gives x_{k+2}, `recursive`'s sweep solves the second for y_{k+2}, and the third gives lambda_k. All of the sweep but two
recursions is done once a step, or for all links side by side. With l = l t, q and D as in `recursive`, and b the bias and a the
acceleration that are passed on,

    b <- b - q (l.b) / D + known        a <- a - l (q.a) / D + known

One chain of few links has a recurrence of its own: see `one_vector`.
Arrays come twice: as numbers (a link each), and `wide`, the same memory as vectors: of links, or of chains.
"""

from __future__ import annotations

from nlink.compiled.dispatch import dispatched
from nlink.compiled.duals import dual, rate_of
from nlink.compiled.interpreted import DualVector
from nlink.compiled.jit import kernel
from nlink.compiled.simd import anywhere, of_numbers, value_of, where
from nlink.formulations.recursive import RecursiveParameters
from nlink.formulations.series.loads import acting_loads, chain_ledger, springs, torques
from nlink.formulations.series.one_vector import IN_ONE_VECTOR, polynomials_of_rates
from nlink.formulations.series.resistance import drag_horizon
from nlink.formulations.series.rows import ANGLE, BEFORE, DRIVE, LAST, RATE, SPEED, X, Y
from nlink.formulations.series.sweep import factorise, levers, pair, rates, sweep_by_two, sweep_lanes
from nlink.formulations.series.unrolled import link_by_link, unrolled_links
from nlink.mechanics.kernels import turn
from nlink.mechanics.series import CHAIN_SIZE, LINK_BY_LINK, ONE_VECTOR, ORDER_BY_ORDER, SERIES, UNROLLED, Series, layout_of


def chain_series(t, bound, ahead, y, p, room, order):
    """Fill the room with the series from the state y; return the sizes of the last two coefficients and the largest rate.

    Torques from tables have no kink before `bound`, which lies later if `ahead`.
    """
    chain, terms, wide, w, u, uv = room.chain, room.terms, room.wide, room.w, room.u, room.uv
    n = chain.n
    turn(y, n, w)
    prepare(room)
    if chain.loaded:
        torques(t, bound, ahead, chain, terms[DRIVE], order)
        springs(y, chain, w)
    fastest = abs(y[n])
    for i in range(n):
        terms[Y, 1, i] = y[n + i]
        fastest = max(fastest, abs(y[n + i]))
    coefficients(room, order, ahead)
    for j in range(len(uv[LAST])):
        uv[LAST, j] = abs(wide[X, order, j]) + abs(wide[Y, order, j])
        uv[BEFORE, j] = abs(wide[X, order - 1, j]) + abs(wide[Y, order - 1, j])
    last, before = u[LAST, 0], u[BEFORE, 0]
    for i in range(1, n):
        last = max(last, u[LAST, i])
        before = max(before, u[BEFORE, i])
    if chain.ledger > 0:
        rates(len(wide[X, 0]), order - 1, wide)
    return last, before, fastest


def chain_horizon(h, p, room, order):
    """Return the part of a step h in which the series stays true."""
    return drag_horizon(h, room.chain, room.terms, room.w, order) if room.chain.force_level > 1 else h


def chain_arrival(h, y, p, room, order, new):
    """Fill new with angles and rates at the time h after the start of the series."""
    n, wide, u, uv = room.chain.n, room.wide, room.u, room.uv
    for j in range(len(uv[ANGLE])):
        x, yy, dx, dy = position(h, wide, order, j)
        uv[ANGLE, j] = angle(yy, x)
        longer = (x * x + yy * yy) - 1.0
        uv[SPEED, j] = (x * dy - yy * dx) * (1.0 - longer * (1.0 - longer))
    for i in range(n):
        new[i] = y[i] + u[ANGLE, i]
        new[n + i] = u[SPEED, i]


@kernel
def position(h, wide, order, j):
    """Return the unit vectors of links j at the time h, and their rates: even and odd powers apart, for speed, each with its
    derivative by h^2 in Horner's way.
    """
    hh, twice = h * h, h + h
    ex, ey, edx, edy = of_square(hh, wide, order - order % 2, 2, j)
    ox, oy, odx, ody = of_square(hh, wide, order - 1 + order % 2, 1, j)
    edx, edy = edx * hh + ex, edy * hh + ey
    return 1.0 + (ex * hh + ox * h), ey * hh + oy * h, twice * (edx + h * odx) + ox, twice * (edy + h * ody) + oy


@kernel
def of_square(hh, wide, top, least, j):
    """Sum every other coefficient from `top` down to `least` as a polynomial of h^2; return x, y, and their derivatives by h^2."""
    x, y = wide[X, top, j], wide[Y, top, j]
    dx, dy = x, y
    x, y = x * hh + wide[X, top - 2, j], y * hh + wide[Y, top - 2, j]
    for m in range(top - 4, least - 1, -2):
        dx, dy = dx * hh + x, dy * hh + y
        x, y = x * hh + wide[X, m, j], y * hh + wide[Y, m, j]
    return x, y, dx, dy


def chain_accelerations(p, room, f):
    """Fill f[N:2N] with the accelerations at the start: across the links, where the unit vectors begin with x = 1."""
    n = room.chain.n
    for i in range(n):
        f[n + i] = 2.0 * room.terms[Y, 2, i]


def chain_polynomials(p, room, order, q):
    """Fill q (order, m): the coefficients of angles and rates from the first power on."""
    chain, rate = room.chain, room.terms[RATE]
    n = chain.n
    if not chain.loaded:
        for k in range(order):
            rates(len(room.wide[X, 0]), k, room.wide)
    elif chain.ledger == 0:
        rates(len(room.wide[X, 0]), order - 1, room.wide)
    polynomials_of_rates(n, rate, order, q)


@dispatched(of_numbers(pair, lambda n, w: None), "w")
def prepare_sweeps(n, w):
    """Prepare the recursions of a step."""


@dispatched(of_numbers(sweep_by_two, lambda k, p, wide, w, v, u, uv: sweep_lanes(k, p, wide, w, u)), "w")
def sweep(k, p, wide, w, v, u, uv):
    """Find x_{k+2}, y_{k+2} and lambda_k: for one chain so that links wait little for each other, for lanes with few operations."""


@kernel
def orders(room, order, ahead):
    """Find the coefficients, order by order."""
    prepare_sweeps(room.chain.n, room.w)
    for k in range(order - 1):
        acting_loads(k, room, ahead)
        sweep(k, room.chain, room.wide, room.w, room.v, room.u, room.uv)


PREPARE = {UNROLLED: lambda room: levers(room.chain, room.w)}
COEFFICIENTS = {
    ORDER_BY_ORDER: orders,
    LINK_BY_LINK: lambda room, order, ahead: link_by_link(room, ahead),
    UNROLLED: lambda room, order, ahead: unrolled_links(room),
}
"""By the layout of the series."""


@dispatched(lambda layout: PREPARE.get(layout.kind, lambda room: factorise(room.chain, room.w)), "room", of=layout_of)
def prepare(room):
    """Fill the rows of `w` that do not change with the order."""


@dispatched(lambda layout: COEFFICIENTS[layout.kind], "room", of=layout_of)
def coefficients(room, order, ahead):
    """Find the coefficients: unrolled for lanes of chains, or order by order."""


@kernel
def plain_angle(y, x):
    """The angle of the vector (x, y), between -pi and pi: arctangent of the smaller over the larger, reduced once more, and a
    rational function of it (Cephes). About 1 ulp.
    """
    a, b = abs(y), abs(x)
    steep = a > b
    r = where(steep, b, a) / where(steep, a, b)
    far = r > 0.4142135623730950488
    z = r
    if anywhere(far):
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


@kernel
def dual_angle(y, x):
    """The angle of the vector (x, y) with its rate."""
    s, c = value_of(y), value_of(x)
    return dual(plain_angle(s, c), (c * rate_of(y) - s * rate_of(x)) / (c * c + s * s))


@dispatched(lambda kind: dual_angle if kind is DualVector else plain_angle, "y")
def angle(y, x):
    """Return the angle of the vector (x, y), between -pi and pi."""


IN_LOOPS = Series(
    begin=lambda p, room: None,
    series=chain_series,
    horizon=chain_horizon,
    arrival=chain_arrival,
    accelerations=chain_accelerations,
    polynomials=chain_polynomials,
    powers=chain_ledger,
    size=CHAIN_SIZE,
    ones=(X,),
)
SERIES[RecursiveParameters] = dict.fromkeys((ORDER_BY_ORDER, LINK_BY_LINK, UNROLLED), IN_LOOPS) | {ONE_VECTOR: IN_ONE_VECTOR}
