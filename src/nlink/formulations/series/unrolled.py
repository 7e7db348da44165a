"""Chains in lanes, a chain in each: all orders unrolled, and the links too if they are few."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils

from nlink.compiled.jit import intrinsic
from nlink.compiled.simd import VecArray
from nlink.compiled.tracing import Cells, CellsByLink, Handed, fields, traced
from nlink.formulations.series.loads import acting_loads, moments
from nlink.formulations.series.rows import (
    DRIVE,
    LAM,
    LC,
    LS,
    MOMENT,
    QX,
    QY,
    RATE,
    J,
    X,
    Y,
)
from nlink.formulations.series.sweep import (
    acting,
    link_inward,
    link_outward,
    products,
    rates,
    sweep_lanes,
)
from nlink.mechanics.series import layout_of


class Loads(NamedTuple):
    """What the sources look at of a chain of n links with neither drag nor forces at its tip."""

    n: int
    loaded: bool
    force_level: bool = False


def unrolled_links_in_python(room: Any) -> None:
    """Do what `unrolled_links` does."""
    _, n, loaded, _ = layout_of(room)
    lanes_orders(len(room.order), Loads(n, bool(loaded)), room.terms, room.w)


@intrinsic(python=unrolled_links_in_python)
def unrolled_links(_typing, room):
    """Find the coefficients of chains of few links with neither drag nor forces at their tips, a chain in each lane, unrolled."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        _, n, loaded, _ = layout_of(room)
        order, kind = parts["order"][0].count, parts["terms"][0]
        w, p = Cells(context, builder, *parts["w"]), Loads(n, bool(loaded))
        if isinstance(kind, VecArray) and kind.holds == "vector":
            terms = CellsByLink(Cells(context, builder, *parts["terms"]), n, order + 2)
            lanes_orders(order, p, terms, w, terms.forget)
        else:
            stored = (X, Y, RATE, MOMENT) if loaded else (X, Y)
            lanes_orders(order, p, Cells(context, builder, *parts["terms"], stored=stored), w)
        return context.get_dummy_value()

    return types.void(room), build


def link_by_link_in_python(room: Any, ahead: bool) -> None:
    """Do what `link_by_link` does."""
    for k in range(len(room.order) - 1):
        acting_loads(k, room, ahead)
        sweep_lanes(k, room.chain, room.wide, room.w, room.u)


@intrinsic(python=link_by_link_in_python)
def link_by_link(_typing, room, ahead):
    """Find the coefficients of chains of any length, a chain in each lane, unrolled over the coefficients, links in loops. Arrays
    have what belongs to a link together.
    """

    def build(context, builder, sig, args):
        parts = fields(builder, room, args[0])
        (_, _, loaded, force_level), order = layout_of(room), parts["order"][0].count
        p, n = Loads(0, bool(loaded), bool(force_level)), fields(builder, *parts["chain"])["n"][1]
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
            if loaded or force_level:
                at = context.get_constant(types.int64, k)
                context.compile_internal(builder, acting_loads.py_func, types.void(types.int64, *sig.args), [at, *args])
            sweep(partial(traced(link_inward), k, p), builder.sub(n, ir.Constant(n.type, 1)), -1)
            sweep(partial(traced(link_outward), k), ir.Constant(n.type, 0), 1)
        return context.get_dummy_value()

    return types.void(room, ahead), build


def lanes_orders(order, p, terms, w, forget=lambda: None):
    """Write the orders of few links down: the moments across the links give their turning by the inverse of the mass matrix,
    accelerations along and across them their pull. Call `forget` after each order.
    """
    mass, skew = coupling(p.n, w)
    inverse, uv = inverted(mass), {}
    for k in range(order - 1):
        if p.loaded:
            traced(rates)(p.n, k, terms)
            traced(moments)(k, p, terms[RATE], terms[DRIVE], terms[MOMENT], w)
        known = [traced(acting)(k, p, w, uv, j, traced(products)(k, p.loaded, terms, uv, j)) for j in range(p.n)]
        scale = (k + 1.0) * (k + 2.0)
        along = [scale * x for x, _, _ in known]
        rest = [across - added(skew[i], along) for i, (_, across, _) in enumerate(known)]
        turned = [added(row, rest) for row in inverse]
        for i, (x, _, pull) in enumerate(known):
            terms[X, k + 2, i], terms[Y, k + 2, i] = x, turned[i] * (1.0 / scale)
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


def added(factors, values, total: Any = 0.0) -> Any:
    """Write down the sum of products."""
    for factor, value in zip(factors, values, strict=True):
        total = total + factor * value
    return total
