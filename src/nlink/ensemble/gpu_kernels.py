"""The kernels of a GPU: a thread takes members from a counter and follows one after the other.

The number of links, the order and the kinds of loads are constants of a compiled kernel, which so knows the length of every loop.
The series of short chains are unrolled, so that they stay in registers as far as these go; the stages of long ones lie in the
threads' own memory. For exponents a thread takes a member with one of its deviations.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cuda as numba_cuda
from numba import float64, int64, types

from nlink.compiled.duals import duals
from nlink.compiled.jit import intrinsic
from nlink.ensemble.march import Lanes, adopt, take
from nlink.ensemble.noting import CLOCKS, EVENT, Kept
from nlink.ensemble.single import stride
from nlink.ensemble.stages import METHOD, STAGES, Limits, Work
from nlink.ensemble.stages_march import ONE, Room, seat, set_out, stride_by_stages
from nlink.ensemble.tangents import LONGEST, depart, follow, follow_by_stages, longest_step, stretching
from nlink.formulations.recursive import RecursiveParameters
from nlink.integrators.tableaus import Accelerations
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.parameters import ROWS, SINGLES
from nlink.mechanics.scratch import LOAD_ROWS
from nlink.mechanics.system import (
    ORDER_BY_ORDER,
    SERIES_ROWS,
    SERIES_ROWS_OF_GRAVITY,
    SERIES_SCRATCH,
    UNROLLED_LANES,
    SeriesRoom,
    way_by,
)

cuda: Any = numba_cuda
SHORT = 6
"""Links up to which series are unrolled."""
MIDDLING = 16
"""Links up to which stages with gravity alone are unrolled over the links."""
SWEEP_ROWS = LOAD_ROWS + 5
"""Rows of scratch of the right-hand side."""


@intrinsic
def is_set(_typing, flag):
    """Whether something else than 0 is in flag[0], to which the host may write at any time."""

    def build(context, builder, sig, args):
        data = context.make_array(flag)(context, builder, args[0]).data
        load = ir.InlineAsm(ir.FunctionType(ir.IntType(32), [data.type]), "ld.volatile.global.s32 $0, [$1];", "=r,l", True)
        return builder.icmp_signed("!=", builder.call(load, [data]), ir.Constant(ir.IntType(32), 0))

    return types.boolean(flag), build


@cuda.jit(device=True)
def at_most(most, halt):
    """Return how many steps a member may take: none once all is to end. A way out of the loop would make threads wait for each
    other at every step.
    """
    return 0.0 if is_set(halt) else most


@cuda.jit(device=True)
def within(limits, halt):
    """Return the limits of a member likewise."""
    return Limits(limits.t_end, limits.rtol, limits.atol, limits.longest, at_most(limits.most, halt))


def shapes_of_own(n: int, varied: bool) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of a member's own numbers: as small as can be if it has none."""
    return ((ROWS, n, 1) if varied else (1, 1, 1)), (SINGLES, 1), (1, 1)


@cuda.jit(device=True)
def fill_own(own, links, tip, g):
    """Begin with the numbers of the chain."""
    for row in range(own.links.shape[0]):
        for i in range(own.links.shape[1]):
            own.links[row, i, 0] = links[row, i]
    for i in range(SINGLES):
        own.tip[i, 0] = tip[i]
    own.g[0, 0] = g


@cuda.jit(device=True)
def join(member, theta, omega, starts):
    """Put a member's angles and rates beside each other."""
    n = theta.shape[1]
    for i in range(n):
        starts[member, i], starts[member, n + i] = theta[member, i], omega[member, i]


@lru_cache(maxsize=32)
def by_series(n: int, order: int, loads: tuple[Any, ...], varied: bool, wants: tuple[bool, ...], reducer: Any) -> Any:
    """Return a kernel that steps by Taylor series."""
    loaded, timed, swept, ledger = loads
    m, rows = 2 * n + ledger, SERIES_ROWS if loaded else SERIES_ROWS_OF_GRAVITY
    orders = (0,) * order
    ending, sampling, _, flipping, _, drifting, ranging = wants
    way = way_by(UNROLLED_LANES, n, loaded) if n <= SHORT and not swept else way_by(ORDER_BY_ORDER)
    terms_shape, w_shape, u_shape, y_shape = (rows, order + 2, n, 1), (SERIES_SCRATCH, n, 1), (13, n, 1), (3, m, 1)
    q_shape = (order, m, 1) if ledger else (1, 1, 1)
    links_shape, tip_shape, g_shape = shapes_of_own(n, varied)

    @cuda.jit(fastmath={"contract"})
    def kernel(theta, omega, starts, values, places, links, tip, table, spans, pin, g, t_end, tol, most, halt, counter, count,
               final, times, samples, flip_time, flip_link, drift, extremes, status, steps, memories):  # fmt: skip
        terms = cuda.local.array(terms_shape, float64)
        w, u = cuda.local.array(w_shape, float64), cuda.local.array(u_shape, float64)
        y, q = cuda.local.array(y_shape, float64), cuda.local.array(q_shape, float64)
        clocks, levels = cuda.local.array((CLOCKS, 1), float64), cuda.local.array((n, 1), float64)
        own_links, own_tip = cuda.local.array(links_shape, float64), cuda.local.array(tip_shape, float64)
        own_g, shown = cuda.local.array(g_shape, float64), cuda.local.array((2, n), float64)
        members, due = cuda.local.array(1, int64), cuda.local.array(1, int64)
        for i in range(n):
            terms[0, 0, i, 0], terms[1, 0, i, 0], terms[0, 1, i, 0] = 1.0, 0.0, 0.0
        own = Lanes(terms, w, u, y, q, clocks, levels, own_links, own_tip, own_g)
        # what is not wanted has no length, and the compiler drops what is done for it
        kept = Kept(
            final.T if ending else final[:0],
            times if sampling else times[:0],
            samples,
            flip_time if flipping else flip_time[:0],
            flip_link,
            drift if drifting else drift[:0],
            extremes if ranging else extremes[:0],
            status,
            steps,
        )
        arrays = (terms[:, :, :, 0], w[:, :, 0], u[:, :, 0], y[:, :, 0], q[:, :, 0], clocks[:, 0])
        if varied:
            fill_own(own, links, tip, g)
        ended = True
        while True:  # one loop over the steps of all members: threads that go together never wait for the longest
            if ended:
                member = cuda.atomic.add(counter, 0, 1)
                if member >= count or is_set(halt):
                    return
                join(member, theta, omega, starts)
                take(0, member, member + 1, n, starts, values, places, members, due, kept, own)
            chain = ChainParameters(
                n, own_g[0, 0] if varied else g, own_links[:, :, 0] if varied else links, own_tip[:, 0] if varied else tip,
                table, spans, 0, loaded, timed, swept, ledger, False, pin,
            )  # fmt: skip
            ended = stride(RecursiveParameters(chain), t_end, tol, at_most(most, halt), kept, own, arrays, members, due, way,
                           orders, order, reducer, memories, shown)  # fmt: skip

    return kernel


@lru_cache(maxsize=32)
def by_stages(n: int, loads: tuple[Any, ...], varied: bool, wants: tuple[bool, ...], reducer: Any, straight: bool) -> Any:
    """Return a kernel that steps by the stages of DOP853; straight, if the links are `SideBySide.plain` and all members' alike."""
    loaded, timed, swept, ledger = loads
    m = 2 * n + ledger
    ending, sampling, _, flipping, _, drifting, ranging = wants
    k_shape, point_shape, w_shape, y_shape = (STAGES, n, 1), (2, m, 1), (SWEEP_ROWS, n, 1), (3, m, 1)
    sums_shape, fast_shape = (2 * n,), (2, m)
    links_shape, tip_shape, g_shape = shapes_of_own(n, varied)
    small = (0,) * (n if n <= MIDDLING and straight else 0)
    method_c, method_rate, method_turn, method_errors = (np.ascontiguousarray(each) for each in METHOD)

    @cuda.jit(fastmath={"contract"})
    def kernel(theta, omega, starts, values, places, links, tip, table, spans, pin, g, limits, breaks, constants, lift, halt,
               counter, count, final, times, samples, flip_time, flip_link, drift, extremes, status, steps, memories):  # fmt: skip
        weights = Accelerations(
            cuda.const.array_like(method_c), cuda.const.array_like(method_rate), cuda.const.array_like(method_turn),
            cuda.const.array_like(method_errors),
        )  # fmt: skip
        k, point = cuda.local.array(k_shape, float64), cuda.local.array(point_shape, float64)
        w, y = cuda.local.array(w_shape, float64), cuda.local.array(y_shape, float64)
        clocks, levels = cuda.local.array((CLOCKS, 1), float64), cuda.local.array((n, 1), float64)
        own_links, own_tip = cuda.local.array(links_shape, float64), cuda.local.array(tip_shape, float64)
        own_g, shown = cuda.local.array(g_shape, float64), cuda.local.array((2, n), float64)
        members, due = cuda.local.array(1, int64), cuda.local.array(1, int64)
        own = Room(k, point, w, y, clocks, levels, own_links, own_tip, own_g)
        sums, fast = cuda.local.array(sums_shape, float64), cuda.local.array(fast_shape, float64)
        k_, w_, y_, clocks_, levels_ = k[:, :, 0], w[:, :, 0], y[:, :, 0], clocks[:, 0], levels[:, 0]
        work = Work(k_, fast, w_, y_, clocks_, levels_, sums, small, constants, lift)
        beside = Work(k_, point[:, :, 0], w_, y_, clocks_, levels_, None, (), None, 0.0)
        kept = Kept(
            final.T if ending else final[:0],
            times if sampling else times[:0],
            samples,
            flip_time if flipping else flip_time[:0],
            flip_link,
            drift if drifting else drift[:0],
            extremes if ranging else extremes[:0],
            status,
            steps,
        )
        if varied:
            fill_own(own, links, tip, g)
        ended = True
        while True:
            if ended:
                member = cuda.atomic.add(counter, 0, 1)
                if member >= count or is_set(halt):
                    return
                join(member, theta, omega, starts)
                seat(0, member, member + 1, n, starts, values, places, limits.t_end, breaks, members, due, kept, own)
            chain = ChainParameters(
                n, own_g[0, 0] if varied else g, own_links[:, :, 0] if varied else links, own_tip[:, 0] if varied else tip,
                table, spans, 0, loaded, timed, swept, ledger, False, pin,
            )  # fmt: skip
            ended = stride_by_stages(members[0], RecursiveParameters(chain), within(limits, halt), breaks, kept, own, work, beside,
                                     weights, due, reducer, memories, shown)  # fmt: skip

    return kernel


@lru_cache(maxsize=32)
def deviations_by_series(n: int, order: int, loads: tuple[Any, ...], varied: bool) -> Any:
    """Return a kernel that steps by Taylor series in dual numbers."""
    loaded, timed, swept = loads
    orders, ways, way = (0,) * order, 2 * n, way_by(ORDER_BY_ORDER)  # unrolled, they would not stay in registers
    rows = SERIES_ROWS if loaded else SERIES_ROWS_OF_GRAVITY
    terms_shape, w_shape, u_shape = (rows, order + 2, n, 2), (SERIES_SCRATCH, n, 2), (13, n, 2)
    links_shape, tip_shape, g_shape = shapes_of_own(n, varied)

    @cuda.jit(fastmath={"contract"})
    def kernel(starts, values, places, links, tip, table, spans, pin, g, t_end, tol, most, steady, halt, counter, count, status,
               out):  # fmt: skip
        terms, y = cuda.local.array(terms_shape, float64), cuda.local.array((3, ways, 2), float64)
        w, u = cuda.local.array(w_shape, float64), cuda.local.array(u_shape, float64)
        clocks, levels = cuda.local.array((CLOCKS, 1), float64), cuda.local.array((n, 1), float64)
        own_links, own_tip = cuda.local.array(links_shape, float64), cuda.local.array(tip_shape, float64)
        own_g = cuda.local.array(g_shape, float64)
        own = Lanes(terms, w, u, y, y, clocks, levels, own_links, own_tip, own_g)
        terms_, w_, u_, states = duals(terms, ONE), duals(w, ONE), duals(u, ONE), duals(y, ONE)
        for i in range(n):
            terms_[0, 0, i], terms_[1, 0, i], terms_[0, 1, i] = 1.0, 0.0, 0.0
        if varied:
            fill_own(own, links, tip, g)
        member, column, ended = 0, 0, True
        while True:
            if ended:
                pair = cuda.atomic.add(counter, 0, 1)
                if pair >= count or is_set(halt):
                    return
                member, column = pair // ways, pair % ways
                adopt(0, member, values, places, own)
            chain = ChainParameters(
                n, own_g[0, 0] if varied else g, own_links[:, :, 0] if varied else links, own_tip[:, 0] if varied else tip,
                table, spans, 0, loaded, timed, swept, 0, False, pin,
            )  # fmt: skip
            if ended:
                clocks[LONGEST, 0] = longest_step(RecursiveParameters(chain), steady, states, w_, own)
                depart(0, member, column, n, 1, starts, own)
            room = SeriesRoom(chain, terms_, terms_, w_, w_, u_, u_, way, orders)
            ended = status[member] > EVENT or follow(
                RecursiveParameters(chain), room, order, t_end, tol, at_most(most, halt), states, clocks[:, 0], member, column, own,
                out,
            )  # fmt: skip

    return kernel


@lru_cache(maxsize=32)
def deviations_by_stages(n: int, loads: tuple[Any, ...], varied: bool) -> Any:
    """Return a kernel that steps by the stages of DOP853 in dual numbers."""
    loaded, timed, swept = loads
    ways, k_shape, w_shape = 2 * n, (STAGES, n, 2), (SWEEP_ROWS, n, 2)
    links_shape, tip_shape, g_shape = shapes_of_own(n, varied)
    method_c, method_rate, method_turn, method_errors = (np.ascontiguousarray(each) for each in METHOD)

    @cuda.jit(fastmath={"contract"})
    def kernel(starts, values, places, links, tip, table, spans, pin, g, limits, breaks, constants, lift, steady, halt, counter,
               count, status, out):  # fmt: skip
        weights = Accelerations(
            cuda.const.array_like(method_c), cuda.const.array_like(method_rate), cuda.const.array_like(method_turn),
            cuda.const.array_like(method_errors),
        )  # fmt: skip
        k, point = cuda.local.array(k_shape, float64), cuda.local.array((2, ways, 2), float64)
        w, y = cuda.local.array(w_shape, float64), cuda.local.array((3, ways, 2), float64)
        clocks, levels = cuda.local.array((CLOCKS, 1), float64), cuda.local.array((n, 1), float64)
        own_links, own_tip = cuda.local.array(links_shape, float64), cuda.local.array(tip_shape, float64)
        own_g = cuda.local.array(g_shape, float64)
        own = Room(k, point, w, y, clocks, levels, own_links, own_tip, own_g)
        states = duals(y, ONE)
        work = Work(
            duals(k, ONE), duals(point, ONE), duals(w, ONE), states, clocks[:, 0], levels[:, 0], None, (), None, 0.0
        )  # fmt: skip
        if varied:
            fill_own(own, links, tip, g)
        member, column, ended = 0, 0, True
        while True:
            if ended:
                pair = cuda.atomic.add(counter, 0, 1)
                if pair >= count or is_set(halt):
                    return
                member, column = pair // ways, pair % ways
                adopt(0, member, values, places, own)
            chain = ChainParameters(
                n, own_g[0, 0] if varied else g, own_links[:, :, 0] if varied else links, own_tip[:, 0] if varied else tip,
                table, spans, 0, loaded, timed, swept, 0, False, pin,
            )  # fmt: skip
            if ended:
                longest = longest_step(RecursiveParameters(chain), steady, states, work.w, own)
                set_out(0, limits.t_end, breaks, own)
                depart(0, member, column, n, 1, starts, own)
                clocks[LONGEST, 0] = min(longest, limits.longest)
            ended = status[member] > EVENT or follow_by_stages(
                RecursiveParameters(chain), within(limits, halt), breaks, work, weights, member, column, own, out
            )

    return kernel


@cuda.jit
def exponents(derivatives, t_end, out):
    """Fill `out` with the exponents of members whose derivatives are found; these are lost."""
    member = cuda.grid(1)
    if member < out.shape[0]:
        out[member] = math.log(stretching(derivatives[member])) / abs(t_end)
