"""Steps of all lanes by Dormand and Prince's method of order 8: for loads whose series are dear, and for long chains on a GPU.

A state within a step (a flip, a sample, a link that turns back) is that of a step of the same method from the same start to that
time: it is as accurate as the steps themselves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlink.compiled.jit import kernel, outlined
from nlink.compiled.lowering import Operand
from nlink.compiled.simd import aligned, alike, columns, power, value_of, where
from nlink.ensemble.kernels.lanes import (
    BAD,
    BETWEEN,
    BOUND,
    COUNT,
    FLAG,
    LONGEST,
    NEW,
    NEXT,
    OLD,
    ONE,
    RETRY,
    SPAN,
    T,
    chain_of,
    vectors_of,
    with_chain,
)
from nlink.ensemble.kernels.methods import METHODS, PATHS, Method
from nlink.ensemble.kernels.stages import ORDER, STAGES, TABLEAU, StagesRoom, begin, error_of, evaluate, step
from nlink.integrators.tableaus import Accelerations
from nlink.mechanics.contract import settled
from nlink.mechanics.kernels import ChainParameters


class ByStages(NamedTuple):
    """The method with its memory."""

    rtol: float
    atol: float
    longest: float
    weights: Accelerations
    k: np.ndarray
    """(STAGES, K, W), point (2, m, W), w (rows, N, W): see `StagesRoom`"""
    point: np.ndarray
    w: np.ndarray
    links: tuple[int, ...] = ()
    sums: Operand = None
    constants: Operand = None
    lift: float = 0.0


class StagesPath(NamedTuple):
    """The path of one lane through its step."""

    p: Operand
    weights: Operand
    room: StagesRoom
    states: Operand
    clocks: Operand


def by_stages(
    chain: ChainParameters, tolerances: tuple[float, float], longest: float, rows: int, width: int, tangent: bool = False
) -> ByStages:
    """Return the method with memory for so many lanes of this chain; `rows` is the scratch of its right-hand side."""
    half, m = chain.size, 2 * chain.size + chain.ledger
    k, point, w = (aligned(*shape, width * (1 + tangent)) for shape in ((STAGES, half), (2, m), (rows, chain.n)))
    return ByStages(*tolerances, longest, TABLEAU, k, point, w)


@kernel
def room_by_stages(method, chain, lanes, tangent):
    """Return the room of the stages."""
    return StagesRoom(
        vectors_of(method.k, lanes, tangent), vectors_of(method.point, lanes, tangent), vectors_of(method.w, lanes, tangent),
        method.links, method.sums, method.constants, method.lift,
    )  # fmt: skip


@kernel
def attempt_by_stages(method, view, limits):
    """Try a step; where its error is too large the lane stays where it is, and its step is 0."""
    p, room, clocks, weights = view.p, view.room, view.clocks, method.weights
    y, new = view.states[OLD], view.states[NEW]
    n = (len(y) - p.chain.ledger) // 2
    begin(clocks[T], y, p, weights, room, new)
    sign = 1.0 if limits.t_end >= 0.0 else -1.0
    zero, one = alike(0.0, clocks[T]), alike(1.0, clocks[T])
    size = min(where(clocks[NEXT] > 0.0, clocks[NEXT], first_size(y, room.k, n, method)), clocks[LONGEST])
    left = abs(clocks[BOUND] - clocks[T])
    h = sign * min(size, left)
    step(clocks[T], h, y, p, weights, room, new, True)
    error = error_of(h, y, new, n, method, room.k)
    good = error < 1.0
    factor = 0.9 * power(max(error, alike(1e-30, h)), -1.0 / ORDER)
    grown = abs(h) * min(factor, where(clocks[RETRY] > 0.0, one, alike(10.0, h)))
    shrunk = abs(h) * where(error < 1e30, max(factor, alike(0.2, h)), alike(0.2, h))
    total = zero
    for i in range(len(y)):
        new[i] = where(good, new[i], y[i])
    settled(new, p, room.w)
    for i in range(len(y)):
        total += abs(value_of(new[i]))
    clocks[NEXT] = where(good, where(size < left, grown, size), shrunk)
    clocks[RETRY] = where(good, zero, one)
    clocks[SPAN] = where(good, h, zero)
    clocks[COUNT] += where(good, one, zero)
    least = 3e-15 * max(abs(clocks[T]), alike(1e-6 * abs(limits.t_end), h))
    clocks[BAD] = where((total < 1e300) & (clocks[NEXT] >= least), zero, one)
    clocks[FLAG] = clocks[BAD] + where(good & (left <= size), one, zero) + where(clocks[COUNT] < limits.most, zero, one)


@kernel
def first_size(y, k, n, method):
    """Return the size of a first step: a part, by the tolerance, of the time in which the chain visibly moves."""
    fastest = alike(1e-6, value_of(y[0]))
    for i in range(n):
        fastest = max(fastest, abs(value_of(y[n + i])) + math.sqrt(abs(value_of(k[0, i]))))
    return 2.0 * power(alike(method.atol + method.rtol, fastest), 1.0 / ORDER) / fastest


@kernel
def interpolate_stages(method, view, s, out):
    """Take a step to the times s."""
    step(view.clocks[T], s, view.states[OLD], view.p, method.weights, view.room, out, False)
    settled(out, view.p, view.room.w)


@kernel
def path_of_stages(method, view, k):
    """Return lane k alone."""
    own = view.own
    room = StagesRoom(columns(method.k, k, ONE), columns(method.point, k, ONE), columns(method.w, k, ONE), (), None, None, 0.0)
    p = with_chain(view.p, chain_of(view.chain, own, k, ONE, view.varied))
    return StagesPath(p, method.weights, room, columns(own.y, k, ONE), columns(own.clocks, k, ONE))


@outlined
def step_within(s, path):
    """Fill the state BETWEEN of a lane with that at the time s into its step."""
    step(path.clocks[T], s, path.states[OLD], path.p, path.weights, path.room, path.states[BETWEEN], False)
    settled(path.states[BETWEEN], path.p, path.room.w)


@kernel
def seen_in_stages(k, i, s, of_rates, path):
    """Take a step to the time s, unless it is the start or the end, and look at the link."""
    states = path.states
    rate = (len(states[OLD]) - path.p.chain.ledger) // 2 + i
    row = OLD if s == 0.0 else NEW if s == path.clocks[SPAN] else BETWEEN
    if row == BETWEEN:
        step_within(s, path)
    if not of_rates:
        return states[row, i] - states[OLD, i], states[row, rate]
    if row != OLD:
        evaluate(1, path.clocks[T] + s, states[row], path.p, path.room)
    return states[row, rate], path.room.k[0 if row == OLD else 1, i]


METHODS[ByStages] = Method(room_by_stages, attempt_by_stages, interpolate_stages, path_of_stages)
PATHS[StagesPath] = seen_in_stages
