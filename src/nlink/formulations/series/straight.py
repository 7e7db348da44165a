"""Small chains: all orders unrolled, all links in one vector, the mass matrix inverted once a step."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils

from nlink.compiled import interpreted
from nlink.compiled.jit import intrinsic
from nlink.compiled.simd import VecArray
from nlink.compiled.tracing import Cells, CellsByLink, Handed, fields, plain, unit
from nlink.formulations.series.loads import acting_loads, moments
from nlink.formulations.series.rows import (
    ALONG,
    BEND,
    BRAKE,
    CX,
    CY,
    DAMP,
    DRIVE,
    FREE,
    GX,
    GY,
    INVERSE,
    LAM,
    LC,
    LS,
    MOMENT,
    PUSH,
    QX,
    QY,
    RATE,
    STIFF,
    ZX,
    ZY,
    H,
    J,
    X,
    Y,
)
from nlink.formulations.series.sweep import (
    acting,
    hinges,
    inward,
    link_inward,
    link_outward,
    outward,
    products,
    products_in_pairs,
    rates,
    sweep_lanes,
    turning,
)
from nlink.mechanics.system import numbers_of_way


class Loads(NamedTuple):
    """What the sources look at of a chain of n links with neither drag nor forces at its tip."""

    n: int
    loaded: bool
    swept: bool = False


def straight_in_python(room: Any) -> None:
    """Do what `straight` does."""
    width = room.wide.numbers.shape[-1]
    columns = matrices(width, room.w, partial(interpreted.unit, width=width))
    straight_orders(len(room.order), numbers_of_way(room).moments, room.wide, room.v, columns)


@intrinsic(python=straight_in_python)
def straight(_typing, room):
    """Find the coefficients of a small chain with neither drag nor forces at its tip, all orders unrolled."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        wide, v, w = (Cells(context, builder, *parts[name]) for name in ("wide", "v", "w"))
        columns = matrices(wide.width, w, partial(unit, builder, width=wide.width))
        straight_orders(parts["order"][0].count, numbers_of_way(room).moments, wide, v, columns)
        return context.get_dummy_value()

    return types.void(room), build


def straight_lanes_in_python(room: Any) -> None:
    """Do what `straight_lanes` does."""
    _, n, loaded, _ = numbers_of_way(room)
    lanes_orders(len(room.order), Loads(n, bool(loaded)), room.terms, room.w, partial(paired_products, {}))


@intrinsic(python=straight_lanes_in_python)
def straight_lanes(_typing, room):
    """Find the coefficients of chains of few links with neither drag nor forces at their tips, a chain in each lane, unrolled."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        _, n, loaded, _ = numbers_of_way(room)
        order, kind = parts["order"][0].count, parts["terms"][0]
        w, p = Cells(context, builder, *parts["w"]), Loads(n, bool(loaded))
        if isinstance(kind, VecArray) and kind.holds == "vector":
            terms = CellsByLink(Cells(context, builder, *parts["terms"]), n, order + 2)
            lanes_orders(order, p, terms, w, partial(paired_products, {}), terms.forget)
        else:
            stored = (X, Y, RATE, MOMENT) if loaded else (X, Y)
            lanes_orders(order, p, Cells(context, builder, *parts["terms"], stored=stored), w, plain(products))
        return context.get_dummy_value()

    return types.void(room), build


def straight_links_in_python(room: Any, ahead: bool) -> None:
    """Do what `straight_links` does."""
    for k in range(len(room.order) - 1):
        acting_loads(k, room, ahead)
        sweep_lanes(k, room.chain, room.wide, room.w, room.u)


@intrinsic(python=straight_links_in_python)
def straight_links(_typing, room, ahead):
    """Find the coefficients of chains of any length, a chain in each lane, unrolled over the coefficients, links in loops. Arrays
    have what belongs to a link together.
    """

    def build(context, builder, sig, args):
        parts = fields(builder, room, args[0])
        (_, _, loaded, swept), order = numbers_of_way(room), parts["order"][0].count
        p, n = Loads(0, bool(loaded), bool(swept)), fields(builder, *parts["chain"])["n"][1]
        shapes = {"terms": (order + 2,), "w": (), "u": ()}
        arrays = {name: Cells(context, builder, *parts[name]) for name in shapes}

        def sweep(step, first, by):
            """Write down a way along the chain, from the first link on, that hands on two numbers."""
            handed = [Handed(builder, arrays["w"].width) for _ in range(2)]
            with cgutils.for_range(builder, n) as loop:
                i = builder.add(first, builder.mul(loop.index, ir.Constant(loop.index.type, by)))
                cells = [arrays[name].of_last(i, *shape) for name, shape in shapes.items()]
                for each, value in zip(handed, step(*cells, 0, *(each.get() for each in handed)), strict=True):
                    each.set(value)

        for k in range(order - 1):
            if loaded or swept:
                at = context.get_constant(types.int64, k)
                context.compile_internal(builder, acting_loads.py_func, types.void(types.int64, *sig.args), [at, *args])
            sweep(partial(plain(link_inward), k, p), builder.sub(n, ir.Constant(n.type, 1)), -1)
            sweep(partial(plain(link_outward), k), ir.Constant(n.type, 0), 1)
        return context.get_dummy_value()

    return types.void(room, ahead), build


def lanes_orders(order, p, terms, w, sums, forget=lambda: None):
    """Write the orders down, with sums(k, loaded, terms, link) of products of lower orders: the moments across the links give their
    turning by the inverse of the mass matrix, accelerations along and across them their pull. Call `forget` after each order.
    """
    links, (mass, skew) = range(p.n), coupling(p.n, w)
    inverse = inverted(mass)
    for k in range(order - 1):
        if p.loaded:
            plain(rates)(p.n, k, terms)
            plain(moments)(k, p, terms[RATE], terms[DRIVE], terms[MOMENT], w)
        scale = (k + 1.0) * (k + 2.0)
        given = [plain(acting)(k, p, w, {}, i, sums(k, p.loaded, terms, i)) for i in links]
        along = [scale * x for x, _, _ in given]
        rest = [across - added(skew[i], along) for i, (_, across, _) in enumerate(given)]
        turned = [added(row, rest) for row in inverse]
        for i, (x, _, pull) in enumerate(given):
            terms[X, k + 2, i], terms[Y, k + 2, i] = x, turned[i] * (1.0 / scale)
            if k < order - 2:
                terms[LAM, k, i] = added(mass[i], along, pull) - added(skew[i], turned)
        forget()


def coupling(n, w):
    """Write down what accelerations of link j across and along it do across link i, in the frames of both: two matrices, the mass
    matrix and a skew one. Along link i they do the same, the skew one with the other sign.
    """
    mass, skew = [[0.0] * n for _ in range(n)], [[0.0] * n for _ in range(n)]
    for i in range(n):
        mass[i][i] = w[J, i]
        for j in range(i + 1, n):
            mass[i][j] = mass[j][i] = w[LC, i] * w[QX, j] + w[LS, i] * w[QY, j]
            skew[i][j] = w[LC, i] * w[QY, j] - w[LS, i] * w[QX, j]
            skew[j][i] = -skew[i][j]
    return mass, skew


def inverted(matrix):
    """Write down the inverse of a symmetric matrix, one link more at a time."""
    inverse = []
    for m, row in enumerate(matrix):
        by = [added(known, row[:m]) for known in inverse]
        last = 1.0 / (row[m] - added(by, row[:m]))
        shares = [-each * last for each in by]
        inverse = [[known[j] - by[i] * shares[j] for j in range(m)] + [shares[i]] for i, known in enumerate(inverse)]
        inverse.append([*shares, last])
    return inverse


def added(factors, values, total=0.0):
    """Write down the sum of products."""
    for factor, value in zip(factors, values, strict=True):
        total = total + factor * value
    return total


def paired_products(kept, k, loaded, terms, i):
    """Write down what `products` does, most of it for two orders at a time; those of the next are kept."""
    return plain(products_in_pairs)(k, loaded, terms, kept, i)


def matrices(n, w, unit):
    """Write down what a moment on link i, and an acceleration along it, do to all links: turning and pull beside each other, by
    sweeps with one cause in each lane, unit(i).

    Turning by moments and pull by accelerations are symmetric, and pull by moments is minus the transpose of turning by
    accelerations: so a row of a matrix, which is what the sweeps give, serves as its column, which is what is needed.
    """
    rows = []
    for forced in (True, False):
        u = {}
        for i in range(n):
            along = 0.0 if forced else unit(i)
            across = unit(i) if forced else -w[H, i] * along
            u[ALONG, i], u[FREE, i] = along, across * w[INVERSE, i]
            u[CX, i] = w[ZX, i] * along + w[QX, i] * across
            u[CY, i] = w[ZY, i] * along + w[QY, i] * across
        for sweep in (inward, hinges, outward):
            plain(sweep)(n, w, u)
        rows.append([plain(turning)(w, u, i) for i in range(n)])
    return [
        ((-turned).beside(alpha), -(drawn + unit(i) * w[J, i]).beside(-pull))
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
    moment = joint - joint.moved(-1) - v[BRAKE, 0] * rate[k]
    return moment + v[PUSH, 0] if k == 0 else moment


def total(pairs) -> Any:
    """Return the sum of products, in two sums at a time: one alone would wait for itself."""
    sums = [a * b for a, b in pairs[:2]]
    for m, (a, b) in enumerate(pairs[2:]):
        sums[m % 2] = sums[m % 2] + a * b
    return sum(sums[1:], sums[0]) if sums else 0.0
