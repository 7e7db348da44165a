"""Small deviations of many members side by side, for finite-time Lyapunov exponents: the steps of the motion in dual numbers.

Each lane follows one member with one deviation that begins as a unit vector: values are the motion, rates the deviation. Steps are
chosen by the values alone: all lanes of a member take the same ones, and what is found is the derivative of the very steps taken.
Near rest, where the motion would allow steps of any length, they are as short as a swing of 1 rad would need.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nlink._jit import entry, kernel
from nlink.duals import duals
from nlink.ensemble.march import adopt, borrowed_lanes, ending, judge, lane_chain, lanes_for, start
from nlink.ensemble.noting import AT, COUNT, FINISHED, FLAG, NEW, OLD, SPAN, T
from nlink.ensemble.stages import Work, attempt, begin
from nlink.ensemble.stages_march import borrowed_room, pass_break, room_for, set_out, settle
from nlink.formulations.recursive import RecursiveParameters
from nlink.integrators.tableaus import Accelerations
from nlink.integrators.taylor import reach
from nlink.lanes import aligned, alike, anywhere, columns, numbers, value_of, where
from nlink.system import SeriesRoom, arrival, rhs, series

DIRECTIONS = (0,) * 8
"""As long as the number of deviations that are followed side by side."""
LONGEST = AT
"""Row of a lane's numbers: its longest step."""


def tangent_lanes(chain: Any, order: int) -> Any:
    """Return the memory of `march` for duals: rates behind the values."""
    return _with_rates(lanes_for(chain, order, len(DIRECTIONS)), "terms", "w", "u", "y")


def tangent_room(chain: Any, rows: int) -> Any:
    """Return the memory of `march_by_stages` likewise."""
    return _with_rates(room_for(chain, rows, len(DIRECTIONS)), "k", "point", "w", "y")


def _with_rates(own: Any, *names: str) -> Any:
    wide = {}
    for name in names:
        array = getattr(own, name)
        wide[name] = aligned(*array.shape[:-1], 2 * array.shape[-1])
        wide[name][..., : array.shape[-1]] = array
    return own._replace(**wide)


@entry
def swiftness(p, values, places, own, lanes, varied, out):
    """Fill out (M,) with a bound in 1/s of how fast deviations of each member turn or fade at rest, its links hanging in line."""
    n, width = p.chain.n, len(lanes)
    states, w = duals(own.y, lanes), duals(own.w, lanes)
    sums = np.empty((2, n))
    for member in range(len(out)):
        sums[:] = 0.0
        for first in range(0, 2 * n, width):
            for k in range(width):
                adopt(k, member, values, places, own)
                for i in range(2 * n):
                    own.y[OLD, i, k], own.y[OLD, i, width + k] = 0.0, 1.0 if i == first + k else 0.0
            rhs(0.0, states[OLD], RecursiveParameters(lane_chain(p.chain, own, 0, lanes, varied)), states[NEW], w)
            for k in range(min(width, 2 * n - first)):
                for i in range(n):
                    sums[(first + k) // n, i] += abs(own.y[NEW, n + i, width + k])
        out[member] = max(math.sqrt(sums[0].max()), sums[1].max())


@kernel
def board(k, pair, n, starts, values, places, longest, members, ways, own):
    """Put a member with a deviation, number `pair` of all, into lane k, or nothing if there is none; return the next number."""
    member, way = pair // (2 * n), pair % (2 * n)
    if member >= len(starts):
        members[k] = -1
        return pair
    members[k], ways[k] = member, way
    start(k, member, n, starts, own)
    adopt(k, member, values, places, own)
    for i in range(2 * n):
        own.y[OLD, i, len(members) + k] = 1.0 if i == way else 0.0
    own.clocks[LONGEST, k] = longest[member]
    return pair + 1


@kernel
def landed(k, member, way, n, width, t_end, most, own, out):
    """Whether the member in lane k comes to its end with this step; if that is the end of the time, write its deviation down."""
    status = ending(k, t_end, most, own)
    for i in range(2 * n if status == FINISHED else 0):
        out[member, i, way] = own.y[NEW, i, width + k]
    return status >= 0


@entry
def tangents(p, starts, values, places, longest, t_end, tol, most, out, own, lanes, varied, way, orders, halt):
    """Follow all members with all deviations to t_end by series, as `march` does; fill out (M, 2N, 2N), a column for each one.

    Members that do not come to t_end leave it as it is. Return how many lanes were still under way when it was halted.
    """
    n, order, width = p.chain.n, len(orders), len(lanes)
    terms, w, u, states = duals(own.terms, lanes), duals(own.w, lanes), duals(own.u, lanes), duals(own.y, lanes)
    clocks, memory, deviations = columns(own.clocks, 0, lanes), borrowed_lanes(own), numbers(out)
    y, new = states[OLD], states[NEW]
    members, ways = np.full(width, -1), np.zeros(width, np.int64)
    ahead = t_end >= 0.0
    sign = 1.0 if ahead else -1.0
    pair, active = 0, 0
    for k in range(width):
        pair = board(k, pair, n, starts, values, places, longest, members, ways, memory)
        active += members[k] >= 0
    while active > 0 and halt[0] == 0:
        room = SeriesRoom(lane_chain(p.chain, own, 0, lanes, varied), terms, terms, w, w, u, u, way, orders)
        ends, behind, fastest = series(clocks[T], t_end, ahead, y, p, room, order)
        last, before = value_of(ends), value_of(behind)
        size = min(reach(tol, last, before, value_of(fastest), order), clocks[LONGEST])
        left = abs(t_end - clocks[T])
        h = sign * where(size < left, size, left)
        clocks[SPAN], clocks[COUNT] = h, clocks[COUNT] + 1.0
        arrival(h, y, p, room, order, new)
        judge(last + before, size, left, most, n, new, clocks)
        flagged = anywhere(clocks[FLAG] > 0.0)
        if flagged:
            for k in range(width):
                ends_here = members[k] >= 0 and memory.clocks[FLAG, k] > 0.0
                done = ends_here and landed(k, members[k], ways[k], n, width, t_end, most, memory, deviations)
                memory.clocks[FLAG, k] = 1.0 if done else 0.0
        for i in range(2 * n):
            y[i] = new[i]
        clocks[T] = where(size < left, clocks[T] + h, alike(t_end, h))
        if flagged:
            for k in range(width):
                if memory.clocks[FLAG, k] > 0.0:
                    pair = board(k, pair, n, starts, values, places, longest, members, ways, memory)
                    active -= members[k] < 0
    return active


@entry
def tangents_by_stages(p, starts, values, places, longest, limits, breaks, out, own, lanes, varied, weights, halt):
    """Do the same by stages, as `march_by_stages` does."""
    n, width = p.chain.n, len(lanes)
    weights = Accelerations(numbers(weights.c), numbers(weights.rate), numbers(weights.turn), numbers(weights.errors))
    memory, deviations = borrowed_room(own), numbers(out)
    work = Work(
        duals(own.k, lanes), duals(own.point, lanes), duals(own.w, lanes), duals(own.y, lanes), columns(own.clocks, 0, lanes),
        columns(own.levels, 0, lanes), None, (), None, 0.0,
    )  # fmt: skip
    members, ways = np.full(width, -1), np.zeros(width, np.int64)
    pair, active = 0, 0
    for k in range(width):
        set_out(k, limits.t_end, breaks, memory)
        pair = board(k, pair, n, starts, values, places, longest, members, ways, memory)
        active += members[k] >= 0
    while active > 0 and halt[0] == 0:
        chain = RecursiveParameters(lane_chain(p.chain, own, 0, lanes, varied))
        begin(work.clocks[T], work.states[OLD], chain, weights, work, work.states[NEW])
        attempt(chain, limits, work.clocks[LONGEST], work, weights)
        flagged = anywhere(work.clocks[FLAG] > 0.0)
        if flagged:
            for k in range(width):
                ends_here = members[k] >= 0 and memory.clocks[FLAG, k] > 0.0
                done = ends_here and landed(k, members[k], ways[k], n, width, limits.t_end, limits.most, memory, deviations)
                if ends_here and not done:
                    pass_break(k, limits.t_end, breaks, memory)
                memory.clocks[FLAG, k] = 1.0 if done else 0.0
        settle(work)
        if flagged:
            for k in range(width):
                if memory.clocks[FLAG, k] > 0.0:
                    set_out(k, limits.t_end, breaks, memory)
                    pair = board(k, pair, n, starts, values, places, longest, members, ways, memory)
                    active -= members[k] < 0
    return active
