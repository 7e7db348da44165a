"""The loop that takes lanes of members through time, whatever the method, with deviations or without.

The step of a method is machine code that the loop calls by its address, so that it is compiled once for all outputs. On a GPU and
without the compiler the loop takes the method in its place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nlink.compiled.addresses import by_address, keep, record_at, start_of, words
from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import COMPILING, apart, entry, kernel
from nlink.compiled.lowering import Operand
from nlink.compiled.simd import anywhere, columns, where
from nlink.compiled.views import views
from nlink.ensemble.kernels import observers as observing
from nlink.ensemble.kernels.lanes import (
    BAD,
    BOUND,
    COUNT,
    EVENT,
    FINISHED,
    FLAG,
    NEW,
    NOT_FINITE,
    OLD,
    SEAT,
    SPAN,
    STOP,
    TOO_MANY_STEPS,
    Lanes,
    Limits,
    T,
    View,
    chain_of,
    member_in,
    next_break,
    seat,
    vectors_of,
    with_chain,
)
from nlink.ensemble.kernels.methods import METHODS

start, after_step, end = observing.start, observing.after_step, observing.end


@dispatched(lambda kind: METHODS[kind].room, "method")
def room_of(method, chain, lanes, tangent):
    """Return what a method computes in, as vectors of the lanes."""


class Stepped(NamedTuple):
    """What a step of all lanes takes."""

    p: Operand
    limits: Limits
    method: Operand
    own: Lanes
    lanes: tuple[int, ...]
    varied: tuple[int, ...]
    tangent: tuple[int, ...]


class StepCode(NamedTuple):
    """The machine code of a step for the lanes of one thread, which must outlive it."""

    address: int
    memory: np.ndarray
    """what it takes, a word each"""


@dispatched(lambda kind: attempt_by_address if kind is StepCode else METHODS[kind].attempt, "method")
def attempt(method, view, limits):
    """Try a step in every lane: fill the states NEW and the rows SPAN, COUNT, BAD and FLAG. A StepCode stands for its method."""


@kernel
def attempt_by_address(method, view, limits):
    """Call the machine code."""
    call_attempt(method.address, (start_of(method.memory),))


@apart
def attempt_at(place):
    """Try a step in every lane."""
    p, limits, method, own, lanes, varied, tangent = record_at(place)
    attempt(method, view_of(p, method, own, lanes, varied, tangent), limits)


attempt_address, call_attempt = by_address(attempt_at, lambda at: (at,))


@entry("ensembles")
def compile_step(stepped, memory):
    """Write what a step takes into memory; return the address of the step."""
    return attempt_address(keep(views(stepped), memory))


def step_code(stepped: Stepped) -> Any:
    """Return the machine code of a step; if nothing is compiled, the method."""
    if not COMPILING:
        return stepped.method
    memory = np.empty(words(stepped), np.int64)
    return StepCode(compile_step(stepped, memory), memory)


@entry("ensembles")
def follow(members, count, stepped, step, observers, halt):
    """Follow so many members, or pairs of a member and a deviation, to their ends.

    It leaves off between steps when another thread puts something else than 0 into halt[0]. Return how many are then not done.
    """
    p, limits, method, own, lanes, varied, tangent = views(stepped)
    following, done, ended, half = 0, 0, len(lanes), (len(own.y[OLD]) - p.chain.ledger) // 2
    for k in range(len(lanes)):
        own.clocks[FLAG, k] = 1.0
    while done < count and halt[0] == 0:
        if ended > 0:
            following = refill(following, count, half, members, limits, method, own, lanes, tangent)
        view = view_of(p, method, own, lanes, varied, tangent)
        if ended > 0:
            begin(observers, view)
        ended = step_lanes(members, limits, step, observers, view)
        done += ended
    return count - done


@kernel
def refill(following, count, half, members, limits, method, own, lanes, tangent):
    """Put the next members into the lanes whose members have come to their end; return which is next."""
    for k in range(len(lanes)):
        if own.clocks[FLAG, k] > 0.0:
            if following < count:
                seat(k, following, half, members, limits, method.longest, own, tangent)
                following += 1
            else:
                own.clocks[SEAT, k] = -1.0
    return following


@kernel
def view_of(p, method, own, lanes, varied, tangent):
    """Return the lanes as a method and the observers see them."""
    numbers = chain_of(p.chain, own, 0, lanes, varied)
    return View(
        with_chain(p, numbers), method, room_of(method, numbers, lanes, tangent), vectors_of(own.y, lanes, tangent),
        columns(own.clocks, 0, lanes), columns(own.levels, 0, lanes), own, p.chain, lanes, varied, tangent,
    )  # fmt: skip


@kernel
def begin(observers, view):
    """Let the observers see the members that have just taken their seats."""
    for k in range(len(view.lanes)):
        if view.own.clocks[SEAT, k] >= 0.0 and view.own.clocks[FLAG, k] > 0.0:
            start(observers, view, k)


@kernel
def step_lanes(members, limits, step, observers, view):
    """Try a step in every lane; return how many have come to their end. FLAG then says which."""
    own = view.own
    attempt(step, view, limits)
    after_step(observers, view, 0)
    flagged, ended = anywhere(view.clocks[FLAG] > 0.0), 0
    if flagged:
        for k in range(len(view.lanes)):
            over = own.clocks[SEAT, k] >= 0.0 and own.clocks[FLAG, k] > 0.0 and finish(k, members, limits, observers, view)
            own.clocks[FLAG, k] = 1.0 if over else 0.0
            ended += over
    accept(view)
    if flagged and len(limits.breaks) > 0:
        for k in range(len(view.lanes)):
            if own.clocks[T, k] == own.clocks[BOUND, k]:
                own.clocks[BOUND, k] = next_break(own.clocks[T, k], limits.t_end, limits.breaks)
    return ended


@kernel
def accept(view):
    """Accept the step of every lane: copy the new state; a step that leads to its bound ends there exactly."""
    y, new, clocks = view.states[OLD], view.states[NEW], view.clocks
    for i in range(len(y)):
        y[i] = new[i]
    clocks[T] = where(abs(clocks[SPAN]) < abs(clocks[BOUND] - clocks[T]), clocks[T] + clocks[SPAN], clocks[BOUND])


@kernel
def finish(k, members, limits, observers, view):
    """Whether the member in lane k comes to its end with this step; if so, write down how, and let the observers see it."""
    status = ending(k, limits, view.own)
    if status < 0:
        return False
    end(observers, view, k)
    if len(view.tangent) == 0:
        member = member_in(view, k)
        members.status[member], members.steps[member] = status, view.own.clocks[COUNT, k]
    return True


@kernel
def ending(k, limits, own):
    """Return how the member in lane k comes to its end with this step; -1 if it does not."""
    if own.clocks[BAD, k] > 0.0:
        return NOT_FINITE
    if own.clocks[STOP, k] > 0.0:
        return EVENT
    if abs(limits.t_end - own.clocks[T, k]) <= abs(own.clocks[SPAN, k]):
        return FINISHED
    return TOO_MANY_STEPS if own.clocks[COUNT, k] >= limits.most else -1
