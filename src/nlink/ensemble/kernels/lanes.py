"""Lanes: members of an ensemble side by side.

A lane takes a member, follows it to its end, and takes the next. Nothing that happens in a lane depends on the others, so that the
values of a member are the same to the last bit whatever its neighbours, its block, or the number of threads. A thread of a GPU is a
single lane.

Every array has the lanes along its last axis, W numbers for each row. With a deviation (see `tangents.py`) the states and what the
method computes in have 2 W: the rates of dual numbers lie behind their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nlink.compiled.dispatch import class_of, dispatched
from nlink.compiled.duals import duals
from nlink.compiled.jit import kernel
from nlink.compiled.lowering import Operand
from nlink.compiled.simd import aligned, columns
from nlink.formulations.recursive import RecursiveParameters
from nlink.formulations.space.bodies import BallParameters
from nlink.formulations.space.joints import JointParameters
from nlink.formulations.space.lines import LineParameters
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.parameters import GRAVITY, SINGLE
from nlink.mechanics.space.numbers import SpatialNumbers
from nlink.mechanics.tree import TreeParameters

FINISHED, EVENT, NOT_FINITE, TOO_MANY_STEPS = range(4)
"""How a member ends."""
SEAT, T, SPAN, COUNT, BAD, FLAG, STOP, AT, NEXT, RETRY, BOUND, LONGEST = range(12)
"""Rows of numbers of a lane: its member (-1 if there is none; with a deviation 2 N times that, and the number of the deviation),
its time, step (0 if the step was rejected) and number of steps, whether it is not finite, whether it may have come to its end,
whether an observer ends it, scratch of a hook (a time within the step, say), the size to try next, whether the last step was
rejected, the time at which the next step must end at the latest, and its longest step."""
CLOCKS = 12
OLD, NEW, BETWEEN = range(3)
"""States of a lane: before and after the step, and one within."""
ONE = (0,)
"""As long as one lane is wide."""
NEAREST = 6755399441055744.0
"""1.5 * 2^52: adding and subtracting it rounds to the nearest whole number."""
SHARED, VARIED = (), (0,)
"""Whether members have numbers of their own: the length of a tuple is known when compiling."""
MOTION, TANGENT = (), (0,)
"""Whether lanes carry a deviation, likewise."""


class Members(NamedTuple):
    """The members: their starts, their own numbers, and how they end."""

    position: np.ndarray
    """(M, K): coordinates"""
    velocity: np.ndarray
    values: np.ndarray
    """(M, V): numbers of their own, at places (V, 2) among those of the chain"""
    places: np.ndarray
    status: np.ndarray
    """(M,)"""
    steps: np.ndarray


class Limits(NamedTuple):
    """How far to go: the end of the time, the most steps, and the times at which loads have kinks, sorted."""

    t_end: float
    most: float
    breaks: np.ndarray


class Lanes(NamedTuple):
    """The memory of the lanes."""

    y: np.ndarray
    """(3, m, W): states OLD, NEW, BETWEEN"""
    clocks: np.ndarray
    levels: np.ndarray
    """(K, W): 2 pi times the whole turns of each coordinate at the start, in rad"""
    links: np.ndarray
    """(rows, N, W), tip (singles, W) and g (1, W): numbers of the chain, if they vary"""
    tip: np.ndarray
    g: np.ndarray


class View(NamedTuple):
    """The lanes as compiled code sees them: vectors of all lanes, and numbers of single ones."""

    p: Operand
    """the parameters, with the numbers of the lanes"""
    method: Operand
    room: Operand
    """what the method computes in, as vectors"""
    states: Operand
    """(3, m) vectors; clocks (CLOCKS,) and levels (K,) likewise"""
    clocks: Operand
    levels: Operand
    own: Lanes
    """the same memory as numbers, with the lanes along the last axis"""
    chain: Operand
    """the numbers that all members share"""
    lanes: tuple[int, ...]
    varied: tuple[int, ...]
    tangent: tuple[int, ...]


def lanes_for(chain: ChainParameters, width: int, tangent: bool = False) -> Lanes:
    """Return the memory for so many lanes of this chain, with its numbers in it."""
    shapes = (
        (3, 2 * chain.size + chain.ledger, width * (1 + tangent)),
        (CLOCKS, width),
        (chain.size, width),
        (*chain.links.shape, width),
        (len(chain.tip), width),
        (1, width),
    )
    made = Lanes(*(aligned(*shape) for shape in shapes))
    share(made, chain)
    return made


def share(own: Lanes, chain: ChainParameters) -> None:
    """Give all lanes the numbers of a chain."""
    own.links[:], own.tip[:], own.g[:] = chain.links[..., None], chain.tip[:, None], chain.g


def numbers_or_length(argument: Operand) -> Operand:
    """Return the class of the numbers of a chain; of a tuple its length."""
    kind = class_of(argument)
    return kind if kind in OWN_CHAIN else len(argument)


@dispatched(lambda kind, length: OWN_CHAIN[kind] if length else _shared_chain, "chain", "varied", of=numbers_or_length)
def chain_of(chain, own, first, lanes, varied):
    """Return the parameters of some lanes, from `first` on."""


@kernel
def _shared_chain(chain, own, first, lanes, varied):
    return chain


@kernel
def _own_chain(chain, own, first, lanes, varied):
    return ChainParameters(
        chain.n, columns(own.g, first, lanes)[0], columns(own.links, first, lanes), columns(own.tip, first, lanes), chain.table,
        chain.spans, chain.callback, chain.loaded, chain.timed, chain.force_level, chain.ledger, chain.closed, chain.pin,
    )  # fmt: skip


@kernel
def _own_space(chain, own, first, lanes, varied):
    return SpatialNumbers(
        chain.n, chain.size, columns(own.g, first, lanes)[0], columns(own.links, first, lanes), columns(own.tip, first, lanes),
        chain.whole, chain.table, chain.spans, chain.callback, chain.loaded, chain.sprung, chain.damped, chain.spun, chain.twisted,
        chain.timed, chain.force_level, chain.ledger, chain.closed,
    )  # fmt: skip


OWN_CHAIN: dict[type, Callable[..., Operand]] = {ChainParameters: _own_chain, SpatialNumbers: _own_space}
"""How numbers of a type become those of some lanes."""

WITH_CHAIN: dict[type, Any] = {
    RecursiveParameters: lambda p, chain: RecursiveParameters(chain),
    TreeParameters: lambda p, chain: TreeParameters(chain, p.tree),
    LineParameters: lambda p, chain: LineParameters(chain),
    BallParameters: lambda p, chain: BallParameters(chain),
    JointParameters: lambda p, chain: JointParameters(chain),
}
"""What lanes take: how parameters of a type get other numbers."""


@dispatched(WITH_CHAIN.__getitem__)
def with_chain(p, chain):
    """Return the parameters with the numbers of some lanes."""


@dispatched(lambda length: _values if not length else _with_deviations, "tangent", of=len)
def vectors_of(array, lanes, tangent):
    """Return an array of the memory as one of vectors, or of dual numbers."""


@kernel
def _values(array, lanes, tangent):
    return columns(array, 0, lanes)


@kernel
def _with_deviations(array, lanes, tangent):
    return duals(array, lanes)


@kernel
def member_in(view, k):
    """Return the member in lane k; -1 if there is none."""
    number = int(view.own.clocks[SEAT, k])
    return number // len(view.own.y[OLD]) if len(view.tangent) > 0 else number


@kernel
def half_of(view):
    """Return how many coordinates a member has."""
    return (len(view.own.y[OLD]) - view.p.chain.ledger) // 2


@kernel
def moved(view, k):
    """Whether lane k holds a member that has taken a step."""
    return view.own.clocks[SEAT, k] >= 0.0 and view.own.clocks[SPAN, k] != 0.0


@kernel
def seat(k, number, half, members, limits, longest, own, tangent):
    """Put a member into lane k, or, if tangent, a pair of a member and a deviation; states have `half` coordinates."""
    member = number // (2 * half) if len(tangent) > 0 else number
    own.clocks[SEAT, k] = number
    for i in range(half):
        own.y[OLD, i, k], own.y[OLD, half + i, k] = members.position[member, i], members.velocity[member, i]
        own.levels[i, k] = 2.0 * math.pi * ((members.position[member, i] / (2.0 * math.pi) + NEAREST) - NEAREST)
    for i in range(2 * half, len(own.y[OLD])):
        own.y[OLD, i, k] = 0.0
    for j in range(len(members.places)):
        row, i = members.places[j, 0], members.places[j, 1]
        if row == GRAVITY:
            own.g[0, k] = members.values[member, j]
        elif row == SINGLE:
            own.tip[i, k] = members.values[member, j]
        else:
            own.links[row, i, k] = members.values[member, j]
    own.clocks[T, k] = own.clocks[COUNT, k] = own.clocks[NEXT, k] = own.clocks[RETRY, k] = own.clocks[STOP, k] = 0.0
    own.clocks[FLAG, k], own.clocks[LONGEST, k] = 1.0, longest
    own.clocks[BOUND, k] = next_break(0.0, limits.t_end, limits.breaks)


@kernel
def next_break(t, t_end, breaks):
    """Return the next time after t at which a load has a kink, or the end; the breaks are sorted."""
    ahead = t_end > t
    low, high = 0, len(breaks)
    while low < high:
        middle = (low + high) // 2
        if breaks[middle] <= t if ahead else breaks[middle] < t:
            low = middle + 1
        else:
            high = middle
    at = low if ahead else low - 1
    if at < 0 or at == len(breaks) or (breaks[at] >= t_end if ahead else breaks[at] <= t_end):
        return t_end
    return breaks[at]
