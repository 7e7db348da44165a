"""Small deviations of many members side by side, for finite-time Lyapunov exponents: the steps of the motion in dual numbers.

Each lane follows one member with one deviation that begins as a unit vector: values are the motion, rates the deviation. Steps are
chosen by the values alone: all lanes of a member take the same ones, and what is found is the derivative of the very steps taken.
Near rest, where the motion would allow steps of any length, they are as short as a swing of 1 rad would need.

A thread of a GPU is a lane by itself: `follow` and `follow_by_stages` are what it does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nlink.compiled.duals import duals
from nlink.compiled.jit import entry, kernel
from nlink.compiled.simd import aligned, alike, anywhere, columns, numbers, value_of, where
from nlink.ensemble.march import adopt, borrowed_lanes, ending, judge, lane_chain, lanes_for, start
from nlink.ensemble.noting import AT, BETWEEN, COUNT, FINISHED, FLAG, NEW, OLD, SPAN, T
from nlink.ensemble.stages import Work, attempt, begin
from nlink.ensemble.stages_march import borrowed_room, pass_break, room_for, set_out, settle
from nlink.formulations.recursive import RecursiveParameters
from nlink.integrators.tableaus import Accelerations
from nlink.integrators.taylor import reach
from nlink.mechanics.system import SeriesRoom, arrival, rhs, series

DIRECTIONS = (0,) * 8
"""As long as the number of deviations that are followed side by side."""
SWEEPS = 30
"""Over the columns of a matrix, to turn them: more than it takes."""
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
                hang(k, first + k, n, width, own)
            rhs(0.0, states[OLD], RecursiveParameters(lane_chain(p.chain, own, 0, lanes, varied)), states[NEW], w)
            for k in range(min(width, 2 * n - first)):
                for i in range(n):
                    sums[(first + k) // n, i] += abs(own.y[NEW, n + i, width + k])
        out[member] = max(math.sqrt(sums[0].max()), sums[1].max())


@kernel
def hang(k, way, n, width, own):
    """Let lane k hang at rest, with a deviation."""
    for i in range(2 * n):
        own.y[OLD, i, k], own.y[OLD, i, width + k] = 0.0, 1.0 if i == way else 0.0


@kernel
def board(k, pair, n, starts, values, places, longest, members, ways, own):
    """Put a member with a deviation, number `pair` of all, into lane k, or nothing if there is none; return the next number."""
    member, way = pair // (2 * n), pair % (2 * n)
    if member >= len(starts):
        members[k] = -1
        return pair
    members[k], ways[k] = member, way
    adopt(k, member, values, places, own)
    depart(k, member, way, n, len(members), starts, own)
    own.clocks[LONGEST, k] = longest[member]
    return pair + 1


@kernel
def depart(k, member, way, n, width, starts, own):
    """Let lane k begin where a member does, with a deviation."""
    start(k, member, n, starts, own)
    for i in range(2 * n):
        own.y[OLD, i, width + k] = 1.0 if i == way else 0.0


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
    members, ways = np.full(width, -1), np.zeros(width, np.int64)
    pair, active = 0, 0
    for k in range(width):
        pair = board(k, pair, n, starts, values, places, longest, members, ways, memory)
        active += members[k] >= 0
    while active > 0 and halt[0] == 0:
        room = SeriesRoom(lane_chain(p.chain, own, 0, lanes, varied), terms, terms, w, w, u, u, way, orders)
        size, left = tread(p, room, order, t_end, tol, most, states, clocks)
        flagged = anywhere(clocks[FLAG] > 0.0)
        if flagged:
            for k in range(width):
                ends_here = members[k] >= 0 and memory.clocks[FLAG, k] > 0.0
                done = ends_here and landed(k, members[k], ways[k], n, width, t_end, most, memory, deviations)
                memory.clocks[FLAG, k] = 1.0 if done else 0.0
        arrive(n, size, left, t_end, states, clocks)
        if flagged:
            for k in range(width):
                if memory.clocks[FLAG, k] > 0.0:
                    pair = board(k, pair, n, starts, values, places, longest, members, ways, memory)
                    active -= members[k] < 0
    return active


@kernel
def tread(p, room, order, t_end, tol, most, states, clocks):
    """Find the next step of every lane by the series; return the size it may have, and what is left."""
    n, y, new = p.chain.n, states[OLD], states[NEW]
    ahead = t_end >= 0.0
    ends, behind, fastest = series(clocks[T], t_end, ahead, y, p, room, order)
    last, before = value_of(ends), value_of(behind)
    size = min(reach(tol, last, before, value_of(fastest), order), clocks[LONGEST])
    left = abs(t_end - clocks[T])
    h = (1.0 if ahead else -1.0) * where(size < left, size, left)
    clocks[SPAN], clocks[COUNT] = h, clocks[COUNT] + 1.0
    arrival(h, y, p, room, order, new)
    judge(last + before, size, left, most, n, new, clocks)
    return size, left


@kernel
def arrive(n, size, left, t_end, states, clocks):
    """Let the lanes stand where the step has led."""
    y, new = states[OLD], states[NEW]
    for i in range(2 * n):
        y[i] = new[i]
    clocks[T] = where(size < left, clocks[T] + clocks[SPAN], alike(t_end, left))


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


@kernel
def longest_step(p, steady, states, w, own):
    """Return the longest step that the only lane may take, by the `swiftness` of its chain."""
    n, sums = p.chain.n, own.y[BETWEEN]
    for i in range(2 * n):
        sums[i, 0] = 0.0
    for way in range(2 * n):
        hang(0, way, n, 1, own)
        rhs(0.0, states[OLD], p, states[NEW], w)
        for i in range(n):
            sums[way // n * n + i, 0] += abs(own.y[NEW, n + i, 1])
    swift = 1e-100
    for i in range(n):
        swift = max(swift, max(math.sqrt(sums[i, 0]), sums[n + i, 0]))
    return steady / swift


@kernel
def follow(p, room, order, t_end, tol, most, states, clocks, member, way, own, out):
    """Take a step with the only lane; return whether it was its last."""
    n = p.chain.n
    size, left = tread(p, room, order, t_end, tol, most, states, clocks)
    if clocks[FLAG] > 0.0 and landed(0, member, way, n, 1, t_end, most, own, out):
        return True
    arrive(n, size, left, t_end, states, clocks)
    return False


@kernel
def follow_by_stages(p, limits, breaks, work, weights, member, way, own, out):
    """Try a step with the only lane; return whether it was its last."""
    begin(work.clocks[T], work.states[OLD], p, weights, work, work.states[NEW])
    attempt(p, limits, work.clocks[LONGEST], work, weights)
    if work.clocks[FLAG] > 0.0:
        if landed(0, member, way, p.chain.n, 1, limits.t_end, limits.most, own, out):
            return True
        pass_break(0, limits.t_end, breaks, own)
    settle(work)
    return False


@kernel
def stretching(a):
    """Return the largest singular value of a square matrix, which is lost: its columns are turned, two at a time, until all are
    at right angles; the longest is it (Hestenes, J. SIAM 6, 1958). NaN if the matrix is not finite.
    """
    m = len(a)
    largest = 0.0
    for i in range(m):
        for j in range(m):
            largest = max(largest, abs(a[i, j])) if a[i, j] == a[i, j] else math.inf
    if not 0.0 < largest < math.inf:
        return math.nan
    for i in range(m):
        for j in range(m):
            a[i, j] /= largest
    for _ in range(SWEEPS):
        turned = False
        for i in range(m):
            for j in range(i + 1, m):
                turned = turn_columns(a, i, j) or turned
        if not turned:
            break
    longest = 0.0
    for j in range(m):
        longest = max(longest, dot(a, j, j))
    return largest * math.sqrt(longest)


@kernel
def turn_columns(a, i, j):
    """Turn two columns so that they are at right angles; return whether there was much to turn."""
    first, second, both = dot(a, i, i), dot(a, j, j), dot(a, i, j)
    if not both * both > 1e-26 * first * second:
        return False
    slope = (second - first) / (2.0 * both)
    tangent = math.copysign(1.0, slope) / (abs(slope) + math.sqrt(1.0 + slope * slope))
    c = 1.0 / math.sqrt(1.0 + tangent * tangent)
    s = c * tangent
    for r in range(len(a)):
        x, y = a[r, i], a[r, j]
        a[r, i], a[r, j] = c * x - s * y, s * x + c * y
    return s != 0.0


@kernel
def dot(a, i, j):
    """Return the product of two columns."""
    total = 0.0
    for r in range(len(a)):
        total += a[r, i] * a[r, j]
    return total
