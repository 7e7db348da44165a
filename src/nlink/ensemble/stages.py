"""Steps of many chains side by side by Dormand and Prince's method of order 8.

The source serves lanes of the processor and a thread of a GPU. It needs the right-hand side only, so it takes every load that is no
Python function. For chains with gravity alone it can be unrolled over the links.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import overload

from nlink.compiled.jit import INLINE, intrinsic, kernel
from nlink.compiled.simd import alike, power, value_of, where
from nlink.compiled.tracing import Cells, Number
from nlink.ensemble.noting import (
    BAD,
    BOUND,
    COUNT,
    FLAG,
    NEW,
    NEXT,
    OLD,
    RETRY,
    SPAN,
    T,
    note_drift,
    suspect_flips,
)
from nlink.formulations.side_by_side import straight_accelerations
from nlink.integrators.tableaus import DOP853_TABLEAU, of_accelerations
from nlink.mechanics.kernels import turn
from nlink.mechanics.system import rhs

METHOD = of_accelerations(DOP853_TABLEAU)
STAGES = DOP853_TABLEAU.stages
ORDER = 8


class Work(NamedTuple):
    """The same as the kernels see it: without the last axis, of vectors or of numbers."""

    k: Any
    point: Any
    w: Any
    states: Any
    clocks: Any
    levels: Any
    sums: Any
    """(2N,): for code that is unrolled"""
    links: tuple[int, ...]
    """as long as the chain if the code is unrolled, else empty"""
    constants: Any
    """of the links, for code that is unrolled; see `side_by_side`"""
    lift: float


class Limits(NamedTuple):
    """How far and how well to go."""

    t_end: float
    rtol: float
    atol: float
    longest: float
    most: float
    """number of steps"""


@kernel
def begin(t, y, p, weights, work, new):
    """Evaluate the first stage, at the state y."""
    evaluate(0, t, y, p, work)
    for i in range(2 * p.chain.n, len(y)):
        new[i] = weights.rate[STAGES, 0] * work.point[1, i]


@kernel
def step(t, h, y, p, weights, work, new, keeps):
    """Fill `new` with the state at t + h, from a start whose first stage is known; with its ledger, if it keeps one."""
    n = p.chain.n
    for s in range(1, STAGES):
        move(s, h, y, n, weights, work, work.point[0])
        evaluate(s, t + weights.c[s] * h, work.point[0], p, work)
        if keeps:
            for i in range(2 * n, len(y)):
                new[i] += weights.rate[STAGES, s] * work.point[1, i]
    move(STAGES, h, y, n, weights, work, new)
    if keeps:
        for i in range(2 * n, len(y)):
            new[i] = y[i] + h * new[i]


def evaluate(s: int, t: Any, y: Any, p: Any, work: Any) -> None:
    """Fill the accelerations of stage s, at the state y."""


@overload(evaluate, jit_options=INLINE)
def _evaluate(s, t, y, p, work):
    if work.types[work.fields.index("links")].count:
        return lambda s, t, y, p, work: straight_accelerations(y, work.constants, work.lift, work.k[s], work.links)

    def by_loops(s, t, y, p, work):
        n, out = p.chain.n, work.point[1]
        rhs(t, y, p, out, work.w)
        for i in range(n):
            work.k[s, i] = out[n + i]

    return by_loops


def move(s: int, h: Any, y: Any, n: int, weights: Any, work: Any, point: Any) -> None:
    """Fill `point` with the angles and rates of stage s, or of the new point, from the accelerations of those before."""


@overload(move, jit_options=INLINE)
def _move(s, h, y, n, weights, work, point):
    if work.types[work.fields.index("links")].count:

        def straight(s, h, y, n, weights, work, point):
            straight_clear(work.sums, work.links)
            for j in range(s):
                straight_add(work.sums, work.k[j], weights.rate[s, j], weights.turn[s, j], work.links)
            straight_place(point, y, work.sums, h, weights.c[s], work.links)

        return straight

    def by_loops(s, h, y, n, weights, work, point):
        k = work.k
        for i in range(n):
            rate, angle = weights.rate[s, 0] * k[0, i], weights.turn[s, 0] * k[0, i]
            for j in range(1, s):
                rate += weights.rate[s, j] * k[j, i]
                angle += weights.turn[s, j] * k[j, i]
            point[i] = y[i] + h * (weights.c[s] * y[n + i] + h * angle)
            point[n + i] = y[n + i] + h * rate

    return by_loops


def unrolled(source: Any, arrays: int) -> Any:
    """Return a way to run a source, whose first argument is the number of links, as straight code: it takes arrays (so many), then
    numbers, then a tuple as long as the chain.
    """

    def traced(context: Any, builder: Any, sig: Any, args: Any) -> Any:
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
def straight_clear(_typing, sums, links):
    """Run `clear`."""
    return types.void(sums, links), unrolled(clear, 1)


@intrinsic
def straight_add(_typing, sums, k, rate, turn, links):
    """Run `add`."""
    return types.void(sums, k, rate, turn, links), unrolled(add, 2)


@intrinsic
def straight_place(_typing, point, y, sums, h, c, links):
    """Run `place`."""
    return types.void(point, y, sums, h, c, links), unrolled(place, 3)


@kernel
def error_of(h, y, new, n, limits, weights, k):
    """Return the error of a step in units of the tolerance, as DOP853 measures it: see `integrators.runge_kutta`."""
    five = three = alike(0.0, h)
    for i in range(n):
        a = b = c = d = alike(0.0, h)
        for j in range(STAGES):
            slope = value_of(k[j, i])
            a += weights.errors[0, j] * slope
            b += weights.errors[1, j] * slope
            c += weights.errors[2, j] * slope
            d += weights.errors[3, j] * slope
        angle = max(abs(value_of(y[i])), abs(value_of(new[i])))
        rate = max(abs(value_of(y[n + i])), abs(value_of(new[n + i])))
        turned = h / (limits.atol + limits.rtol * min(angle, alike(1.0, h)))
        moved = 1.0 / (limits.atol + limits.rtol * rate)
        a, b, c, d = a * moved, b * moved, c * turned, d * turned
        five += a * a + c * c
        three += b * b + d * d
    return where(five == 0.0, five, abs(h) * five / math.sqrt((five + 0.01 * three) * (2.0 * n)))


@kernel
def first_size(y, k, n, limits):
    """Return the size of a first step: a part, by the tolerance, of the time in which the chain visibly moves."""
    fastest = alike(1e-6, value_of(y[0]))
    for i in range(n):
        fastest = max(fastest, abs(value_of(y[n + i])) + math.sqrt(abs(value_of(k[0, i]))))
    return 2.0 * power(alike(limits.atol + limits.rtol, fastest), 1.0 / ORDER) / fastest


@kernel
def pace(p, limits, kept, work, weights):
    """Try a step in every lane, and note what is kept at its ends; see `attempt`."""
    n, clocks = p.chain.n, work.clocks
    y, new = work.states[OLD], work.states[NEW]
    begin(clocks[T], y, p, weights, work, new)
    if len(kept.drift) > 0:
        turn(y, n, work.w)
        note_drift(y, p.chain, work.w, clocks)
    attempt(p, limits, limits.longest, work, weights)
    if len(kept.flip_time) > 0:
        suspect_flips(n, y, new, work.levels, clocks)


@kernel
def attempt(p, limits, longest, work, weights):
    """Try a step in every lane, whose first stage is known. Where it is too wrong the lane stays where it is, its step 0; FLAG says
    which need a look.
    """
    n, clocks = p.chain.n, work.clocks
    y, new = work.states[OLD], work.states[NEW]
    sign = 1.0 if limits.t_end >= 0.0 else -1.0
    zero, one = alike(0.0, clocks[T]), alike(1.0, clocks[T])
    size = min(where(clocks[NEXT] > 0.0, clocks[NEXT], first_size(y, work.k, n, limits)), alike(longest, zero))
    left = abs(clocks[BOUND] - clocks[T])
    h = sign * min(size, left)
    step(clocks[T], h, y, p, weights, work, new, True)
    error = error_of(h, y, new, n, limits, weights, work.k)
    good = error < 1.0
    factor = 0.9 * power(max(error, alike(1e-30, h)), -1.0 / ORDER)
    grown = abs(h) * min(factor, where(clocks[RETRY] > 0.0, one, alike(10.0, h)))
    shrunk = abs(h) * where(error < 1e30, max(factor, alike(0.2, h)), alike(0.2, h))
    total = zero
    for i in range(len(y)):
        new[i] = where(good, new[i], y[i])
        total += abs(value_of(new[i]))
    clocks[NEXT] = where(good, where(size < left, grown, size), shrunk)
    clocks[RETRY] = where(good, zero, one)
    clocks[SPAN] = where(good, h, zero)
    clocks[COUNT] += where(good, one, zero)
    least = 3e-15 * max(abs(clocks[T]), alike(1e-6 * abs(limits.t_end), h))
    clocks[BAD] = where((total < 1e300) & (clocks[NEXT] >= least), zero, one)
    clocks[FLAG] = clocks[BAD] + where(good & (left <= size), one, zero) + where(clocks[COUNT] < limits.most, zero, one)
