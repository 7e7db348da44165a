"""Steps of many chains side by side by Dormand and Prince's method of order 8.

The source serves lanes of the processor and a thread of a GPU. It needs the right-hand side only, so it takes every load that is no
Python function. For chains with gravity alone it can be unrolled over the links.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import intrinsic, kernel
from nlink.compiled.lowering import Builder, Context, Operand, Signature, Value, Values
from nlink.compiled.simd import alike, value_of, where
from nlink.compiled.tracing import Cells, Number
from nlink.formulations.side_by_side import unrolled_accelerations
from nlink.integrators.tableaus import DOP853_TABLEAU, of_accelerations
from nlink.mechanics.contract import rhs

TABLEAU = of_accelerations(DOP853_TABLEAU)
STAGES = DOP853_TABLEAU.stages
ORDER = 8


class StagesRoom(NamedTuple):
    """What a step is computed in, of vectors or of numbers."""

    k: Operand
    """(STAGES, K): accelerations of the coordinates"""
    point: Operand
    """(2, m): the state of a stage, and its rates"""
    w: Operand
    """(rows, N): scratch of the right-hand side"""
    links: tuple[int, ...] = ()
    """as long as the chain if the code is unrolled, else empty"""
    sums: Operand = None
    """(2N,), and the constants of the links: for code that is unrolled; see `side_by_side`"""
    constants: Operand = None
    lift: float = 0.0


@kernel
def begin(t, y, p, weights, room, new):
    """Evaluate the first stage, at the state y."""
    evaluate(0, t, y, p, room)
    for i in range(len(y) - p.chain.ledger, len(y)):
        new[i] = weights.rate[STAGES, 0] * room.point[1, i]


@kernel
def step(t, h, y, p, weights, room, new, ledger):
    """Fill `new` with the state at t + h, from a start whose first stage is known; with its ledger, if asked for."""
    end = len(y) - p.chain.ledger
    n = end // 2
    for s in range(1, STAGES):
        move(s, h, y, n, weights, room, room.point[0])
        evaluate(s, t + weights.c[s] * h, room.point[0], p, room)
        if ledger:
            for i in range(end, len(y)):
                new[i] += weights.rate[STAGES, s] * room.point[1, i]
    move(STAGES, h, y, n, weights, room, new)
    if ledger:
        for i in range(end, len(y)):
            new[i] = y[i] + h * new[i]


def unrolled_links(room: Operand) -> int:
    """Return the number of links over which the code of a room is unrolled, or of rooms of a Numba type."""
    return len(room[StagesRoom._fields.index("links")])


@dispatched(lambda links: _evaluate_unrolled if links else _evaluate, "room", of=unrolled_links)
def evaluate(s, t, y, p, room):
    """Fill the accelerations of stage s, at the state y."""


@kernel
def _evaluate_unrolled(s, t, y, p, room):
    unrolled_accelerations(y, room.constants, room.lift, room.k[s], room.links)


@kernel
def _evaluate(s, t, y, p, room):
    out = room.point[1]
    n = (len(out) - p.chain.ledger) // 2
    rhs(t, y, p, out, room.w)
    for i in range(n):
        room.k[s, i] = out[n + i]


@dispatched(lambda links: _move_unrolled if links else _move, "room", of=unrolled_links)
def move(s, h, y, n, weights, room, point):
    """Fill `point` with the coordinates and rates of stage s, or of the new point, from the accelerations of those before."""


@kernel
def _move_unrolled(s, h, y, n, weights, room, point):
    unrolled_clear(room.sums, room.links)
    for j in range(s):
        unrolled_add(room.sums, room.k[j], weights.rate[s, j], weights.turn[s, j], room.links)
    unrolled_place(point, y, room.sums, h, weights.c[s], room.links)


@kernel
def _move(s, h, y, n, weights, room, point):
    k = room.k
    for i in range(n):
        rate, angle = weights.rate[s, 0] * k[0, i], weights.turn[s, 0] * k[0, i]
        for j in range(1, s):
            rate += weights.rate[s, j] * k[j, i]
            angle += weights.turn[s, j] * k[j, i]
        point[i] = y[i] + h * (weights.c[s] * y[n + i] + h * angle)
        point[n + i] = y[n + i] + h * rate


def unrolled(source: Any, arrays: int) -> Any:
    """Return a way to run a source, whose first argument is the number of links, unrolled: it takes arrays (so many), then
    numbers, then a tuple as long as the chain.
    """

    def traced(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        given = [Cells(context, builder, k, a) for k, a in zip(sig.args[:arrays], args, strict=False)]
        source(sig.args[-1].count, *given, *(Number(builder, each) for each in args[arrays:-1]))
        return context.get_dummy_value()

    return traced


def clear(n, sums):
    """Begin sums."""
    for i in range(2 * n):
        sums[i] = Number(sums.builder, ir.Constant(ir.DoubleType(), 0.0))


def add(n, sums, k, rate, turn):
    """Add a stage to the sums."""
    for i in range(n):
        sums[i], sums[n + i] = sums[i] + turn * k[i], sums[n + i] + rate * k[i]


def place(n, point, y, sums, h, c):
    """Fill a point from the sums."""
    for i in range(n):
        point[i], point[n + i] = y[i] + h * (c * y[n + i] + h * sums[i]), y[n + i] + h * sums[n + i]


@intrinsic
def unrolled_clear(_typing, sums, links):
    """Run `clear`."""
    return types.void(sums, links), unrolled(clear, 1)


@intrinsic
def unrolled_add(_typing, sums, k, rate, turn, links):
    """Run `add`."""
    return types.void(sums, k, rate, turn, links), unrolled(add, 2)


@intrinsic
def unrolled_place(_typing, point, y, sums, h, c, links):
    """Run `place`."""
    return types.void(point, y, sums, h, c, links), unrolled(place, 3)


@kernel
def error_of(h, y, new, n, method, k):
    """Return the error of a step in units of the tolerance, as DOP853 measures it: see `integrators.runge_kutta`."""
    five = three = alike(0.0, h)
    for i in range(n):
        a = b = c = d = alike(0.0, h)
        for j in range(STAGES):
            slope = value_of(k[j, i])
            a += method.weights.errors[0, j] * slope
            b += method.weights.errors[1, j] * slope
            c += method.weights.errors[2, j] * slope
            d += method.weights.errors[3, j] * slope
        angle = max(abs(value_of(y[i])), abs(value_of(new[i])))
        rate = max(abs(value_of(y[n + i])), abs(value_of(new[n + i])))
        turned = h / (method.atol + method.rtol * min(angle, alike(1.0, h)))
        moved = 1.0 / (method.atol + method.rtol * rate)
        a, b, c, d = a * moved, b * moved, c * turned, d * turned
        five += a * a + c * c
        three += b * b + d * d
    return where(five == 0.0, five, abs(h) * five / math.sqrt((five + 0.01 * three) * (2.0 * n)))
