"""The kernels of a GPU: a thread takes members from a counter, and follows one after the other by the loop of the lanes.

The number of links, the order and the kinds of loads are constants of a compiled kernel, which so knows the length of every loop.
The series of short chains are unrolled, so that they stay in registers as far as these go; the stages of long ones lie in the
threads' own memory. For exponents a thread takes a member with one of its deviations.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import cuda as numba_cuda
from numba import float64, types

from nlink.compiled.jit import intrinsic, kernel
from nlink.ensemble.kernels.by_series import BySeries
from nlink.ensemble.kernels.by_stages import ByStages
from nlink.ensemble.kernels.lanes import CLOCKS, EVENT, MOTION, ONE, SHARED, TANGENT, VARIED, Lanes, Limits, seat
from nlink.ensemble.kernels.loop import begin, step_lanes, view_of
from nlink.ensemble.kernels.stages import STAGES, TABLEAU
from nlink.ensemble.kernels.tangents import fastest_rate, stretching
from nlink.formulations.recursive import RecursiveParameters
from nlink.integrators.tableaus import Accelerations
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.parameters import ROWS, SINGLES
from nlink.mechanics.scratch import LOAD_ROWS
from nlink.mechanics.series import ORDER_BY_ORDER, SERIES_ROWS, SERIES_ROWS_OF_GRAVITY, SERIES_SCRATCH, UNROLLED, series_layout

cuda: Any = numba_cuda
SHORT = 6
"""Links up to which series are unrolled."""
MIDDLING = 16
"""Links up to which stages with gravity alone are unrolled over the links."""
SWEEP_ROWS = LOAD_ROWS + 5
"""Rows of scratch of the right-hand side."""
ROWS_OF_ONE_ORDER = 13
"""Rows of the scratch of a series that are of one order, in use on a GPU."""


class Kind(NamedTuple):
    """The constants of a kernel."""

    n: int
    loaded: bool
    """flags of the chain, as in `ChainParameters`"""
    timed: bool
    force_level: int
    ledger: int
    order: int
    """of the series; 0, if it steps by stages"""
    straight: bool
    """whether stages may be unrolled: the links are `SideBySide.plain`, and all members' alike"""
    varied: bool
    tangent: bool
    """whether members carry deviations"""


class Settings(NamedTuple):
    """The numbers of a method: its tolerances (equal for series), its longest step, by how much a swing of 1 rad may turn in a step
    with deviations, and the constants of the links.
    """

    rtol: float
    atol: float
    longest: float
    steady: float
    constants: Any
    lift: float


@intrinsic
def is_set(_typing, flag):
    """Whether something else than 0 is in flag[0], to which the host may write at any time."""

    def build(context, builder, sig, args):
        data = context.make_array(flag)(context, builder, args[0]).data
        load = ir.InlineAsm(ir.FunctionType(ir.IntType(32), [data.type]), "ld.volatile.global.s32 $0, [$1];", "=r,l", True)
        return builder.icmp_signed("!=", builder.call(load, [data]), ir.Constant(ir.IntType(32), 0))

    return types.boolean(flag), build


@cuda.jit(device=True)
def within(limits, halt):
    """Return the limits of a member: no step once all is to end. A way out of the loop would make threads wait for each other at
    every step.
    """
    return Limits(limits.t_end, 0.0 if is_set(halt) else limits.most, limits.breaks)


@cuda.jit(device=True)
def share(own, chain):
    """Begin with the numbers of the chain."""
    for row in range(own.links.shape[0]):
        for i in range(own.links.shape[1]):
            own.links[row, i, 0] = chain.links[row, i]
    for i in range(SINGLES):
        own.tip[i, 0] = chain.tip[i]
    own.g[0, 0] = chain.g


def by_series(kind: Kind) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """Return what makes the method of a thread from its memory, and the shapes of that: the method steps by series."""
    n, orders, wide = kind.n, (0,) * kind.order, 1 + kind.tangent
    unrolled = n <= SHORT and not kind.force_level and not kind.tangent  # with deviations they would not stay in registers
    layout = series_layout(UNROLLED, n, kind.loaded) if unrolled else series_layout(ORDER_BY_ORDER)
    rows = SERIES_ROWS if kind.loaded else SERIES_ROWS_OF_GRAVITY
    ledger = (kind.order, 2 * n + kind.ledger, 1) if kind.ledger else (1, 1, 1)

    @kernel
    def made(settings, weights, terms, w, u, q):
        for i in range(n):
            for part in range(wide):
                terms[0, 0, i, part] = 1.0 if part == 0 else 0.0
                terms[1, 0, i, part] = terms[0, 1, i, part] = 0.0
        return BySeries(settings.rtol, settings.longest, layout, orders, terms, w, u, q)

    return made, ((rows, kind.order + 2, n, wide), (SERIES_SCRATCH, n, wide), (ROWS_OF_ONE_ORDER, n, wide), ledger)


def by_stages(kind: Kind) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """Return the same for a method that steps by the stages of DOP853."""
    n, m, wide = kind.n, 2 * kind.n + kind.ledger, 1 + kind.tangent
    links = (0,) * (n if n <= MIDDLING and kind.straight and not kind.tangent else 0)

    @kernel
    def made(settings, weights, k, point, w, sums):
        return ByStages(
            settings.rtol, settings.atol, settings.longest, weights, k, point, w, links, sums, settings.constants, settings.lift
        )

    return made, ((STAGES, n, wide), (2, m, wide), (SWEEP_ROWS, n, wide), (2 * n,))


@lru_cache(maxsize=64)
def kernel_for(kind: Kind, observers: tuple[type, ...]) -> Any:
    """Return a kernel (members, chain, limits, settings, observers, halt, counter, count)."""
    n, loaded, timed, force_level, ledger, _, _, own_numbers, deviates = kind
    method_of, (first_shape, second_shape, third_shape, fourth_shape) = by_series(kind) if kind.order else by_stages(kind)
    y_shape, links_shape = (3, 2 * n + ledger, 1 + deviates), (ROWS, n, 1) if own_numbers else (1, 1, 1)
    varied, tangent = VARIED if own_numbers else SHARED, TANGENT if deviates else MOTION
    c, rate, turn, errors = (np.ascontiguousarray(each) for each in TABLEAU)

    @cuda.jit(fastmath={"contract"})
    def kernel(members, chain, limits, settings, observers, halt, counter, count):
        weights = Accelerations(
            cuda.const.array_like(c), cuda.const.array_like(rate), cuda.const.array_like(turn), cuda.const.array_like(errors)
        )
        own = Lanes(
            cuda.local.array(y_shape, float64), cuda.local.array((CLOCKS, 1), float64), cuda.local.array((n, 1), float64),
            cuda.local.array(links_shape, float64), cuda.local.array((SINGLES, 1), float64), cuda.local.array((1, 1), float64),
        )  # fmt: skip
        method = method_of(
            settings, weights, cuda.local.array(first_shape, float64), cuda.local.array(second_shape, float64),
            cuda.local.array(third_shape, float64), cuda.local.array(fourth_shape, float64),
        )  # fmt: skip
        numbers = ChainParameters(
            n, chain.g, chain.links, chain.tip, chain.table, chain.spans, 0, loaded, timed, force_level, ledger, False, chain.pin
        )
        if own_numbers:
            share(own, chain)
        number, ended = 0, 1
        while True:  # one loop over the steps of all members: threads that go together never wait for the longest
            if ended:
                number = cuda.atomic.add(counter, 0, 1)
                if number >= count or is_set(halt):
                    return
                if deviates and members.status[number // (2 * n)] > EVENT:
                    continue
                seat(0, number, n, members, limits, method.longest, own, tangent)
            view = view_of(RecursiveParameters(numbers), method, own, ONE, varied, tangent)
            if ended:
                if deviates:
                    longest = settings.steady / max(fastest_rate(view), 1e-100)
                    seat(0, number, n, members, limits, min(longest, method.longest), own, tangent)
                begin(observers, view)
            ended = step_lanes(members, within(limits, halt), method, observers, view)

    return kernel


@cuda.jit
def exponents(derivatives, t_end, out):
    """Fill `out` with the exponents of members whose derivatives are found; these are lost."""
    member = cuda.grid(1)
    if member < out.shape[0]:
        out[member] = math.log(stretching(derivatives[member])) / abs(t_end)
