"""Steps of all lanes by the Taylor method."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import kernel
from nlink.compiled.lowering import Operand
from nlink.compiled.simd import aligned, alike, columns, value_of, where
from nlink.ensemble.kernels.lanes import BAD, BOUND, COUNT, FLAG, LONGEST, NEW, OLD, SPAN, T, vectors_of
from nlink.ensemble.kernels.methods import METHODS, PATHS, Method
from nlink.formulations.series.tree import COORDINATE
from nlink.formulations.space.lines import LineParameters
from nlink.integrators.taylor import reach
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.series import (
    Series,
    SeriesLayout,
    SeriesRoom,
    arrival,
    powers,
    series,
)
from nlink.mechanics.tree import TreeParameters


class BySeries(NamedTuple):
    """The method with its memory; the order of the series is the length of `orders`."""

    tol: float
    longest: float
    layout: Operand
    orders: tuple[int, ...]
    terms: np.ndarray
    """(rows, order + 2, N, W): coefficients"""
    w: np.ndarray
    """(rows, N, W): what stays the same for a step, and u: what is of one order"""
    u: np.ndarray
    q: np.ndarray
    """(order, m, W): coefficients of the ledger"""


class SeriesPath(NamedTuple):
    """The path of a lane through a step that series describe."""

    terms: Operand
    order: int


class TreePath(SeriesPath):
    """Likewise, of a mechanism."""


class LinePath(SeriesPath):
    """Likewise, of lines in space."""


def by_series(
    chain: ChainParameters, kind: Series, tol: float, layout: SeriesLayout, order: int, width: int, beside: int = 0
) -> BySeries:
    """Return the method with memory for so many lanes of this chain; what belongs to a link lies together. With deviations, the
    right-hand side is computed in the same scratch: `beside` is what it needs, in rows.
    """
    n, m, wide, size = chain.n, 2 * chain.size + chain.ledger, width * (1 + (beside > 0)), kind.size
    rows = size.terms if chain.loaded or chain.force_level or chain.ledger else size.plain_terms
    terms = np.moveaxis(aligned(n, rows, order + 2, wide), 0, 2)
    terms[list(kind.ones), 0, :, :width] = 1.0
    w, u = (np.moveaxis(aligned(n, max(size.scratch, beside), wide), 0, 1) for _ in range(2))
    return BySeries(tol, math.inf, layout, (0,) * order, terms, w, u, aligned(order, m, width))


@kernel
def room_by_series(method, chain, lanes, tangent):
    """Return the room of the series."""
    terms, w, u = (
        vectors_of(method.terms, lanes, tangent), vectors_of(method.w, lanes, tangent), vectors_of(method.u, lanes, tangent)
    )  # fmt: skip
    return SeriesRoom(chain, terms, terms, w, w, u, u, method.layout, method.orders)


@kernel
def attempt_by_series(method, view, limits):
    """Take a step of the size that the last two coefficients allow, or to the bound."""
    p, room, clocks, order = view.p, view.room, view.clocks, len(method.orders)
    y, new, ahead = view.states[OLD], view.states[NEW], limits.t_end >= 0.0
    ends, behind, fastest = series(clocks[T], limits.t_end, ahead, y, p, room, order)
    last, before = value_of(ends), value_of(behind)
    size = min(reach(method.tol, last, before, value_of(fastest), order), clocks[LONGEST])
    left = abs(clocks[BOUND] - clocks[T])
    h = (1.0 if ahead else -1.0) * where(size < left, size, left)
    clocks[SPAN], clocks[COUNT] = h, clocks[COUNT] + 1.0
    arrival(h, y, p, room, order, new)
    fill_ledger(method, view, h, view.tangent)
    total, zero, one = last + before, alike(0.0, size), alike(1.0, size)
    for i in range(len(y) - p.chain.ledger):
        total += abs(value_of(new[i]))
    clocks[BAD] = where(total < 1e300, zero, one)
    clocks[FLAG] = clocks[BAD] + where((size < left) & (clocks[COUNT] < limits.most), zero, one)


@dispatched(lambda length: _no_ledger if length else _fill_ledger, "tangent", of=len)
def fill_ledger(method, view, h, tangent):
    """Fill the ledger at the end of the step, if there is one; a lane with a deviation has none."""


@kernel
def _no_ledger(method, view, h, tangent):
    pass


@kernel
def _fill_ledger(method, view, h, tangent):
    y, new, order = view.states[OLD], view.states[NEW], len(method.orders)
    first = len(y) - view.p.chain.ledger
    if len(y) > first:
        q = columns(method.q, 0, view.lanes)
        powers(view.p, view.room, order, q)
        for i in range(first, len(y)):
            total = alike(0.0, h)
            for k in range(order - 1, -1, -1):
                total = (total + q[k, i]) * h
            new[i] = y[i] + total


@kernel
def interpolate_series(method, view, s, out):
    """Sum the series at the times s."""
    arrival(s, view.states[OLD], view.p, view.room, len(method.orders), out)


@kernel
def path_of_series(method, view, k):
    """Return the coefficients of all lanes."""
    return path_of_terms(method.terms, len(method.orders), view.p)


@kernel
def chain_path(terms, order, p):
    """See `path_of_terms`."""
    return SeriesPath(terms, order)


@kernel
def tree_path(terms, order, p):
    """See `path_of_terms`."""
    return TreePath(terms, order)


@kernel
def line_path(terms, order, p):
    """See `path_of_terms`."""
    return LinePath(terms, order)


PATHS_OF = {TreeParameters: tree_path, LineParameters: line_path}
"""By the type of parameters, but for chains in the plane."""


@dispatched(lambda kind: PATHS_OF.get(kind, chain_path))
def path_of_terms(terms, order, p):
    """Return the path that the coefficients of parameters of a type describe."""


@kernel
def seen_in_coordinates(k, i, s, of_rates, path):
    """Sum the series of a coordinate with two derivatives."""
    return summed(k, COORDINATE, i, s, of_rates, path)


@kernel
def seen_in_lines(k, i, s, of_rates, path):
    """Sum the series of a component of a direction: the coordinate i."""
    return summed(k, i % 3, i // 3, s, of_rates, path)


@kernel
def summed(k, row, i, s, of_rates, path):
    """Return what `seen` does of a series in a row of link i."""
    change = rate = half = 0.0
    for m in range(path.order, 0, -1):
        value = path.terms[row, m, i, k]
        half, rate, change = half * s + rate, rate * s + change, change * s + value
    return (rate * s + change, 2.0 * (half * s + rate)) if of_rates else (change * s, rate * s + change)


@kernel
def seen_in_series(k, i, s, of_rates, path):
    """Sum the series of a link's unit vector with two derivatives."""
    x = y = dx = dy = half_ddx = half_ddy = 0.0
    for m in range(path.order, -1, -1):
        half_ddx, half_ddy = half_ddx * s + dx, half_ddy * s + dy
        dx, dy = dx * s + x, dy * s + y
        x, y = x * s + path.terms[0, m, i, k], y * s + path.terms[1, m, i, k]
    square = x * x + y * y
    rate = (x * dy - y * dx) / square
    if of_rates:
        return rate, 2.0 * (x * half_ddy - y * half_ddx - rate * (x * dx + y * dy)) / square
    return math.atan2(y, x), rate


METHODS[BySeries] = Method(room_by_series, attempt_by_series, interpolate_series, path_of_series)
PATHS[SeriesPath] = seen_in_series
PATHS[TreePath] = seen_in_coordinates
PATHS[LinePath] = seen_in_lines
