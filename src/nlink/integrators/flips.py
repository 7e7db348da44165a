"""Flips in the steps of a run: a link turns over when its angle passes an odd multiple of pi.

Flips are looked for at the knots: between them the dense output of a link that rests upside down would pass pi back and forth by
rounding. The time of a flip is found on the dense output of its step by false position (Illinois), and by bisection where that is
slow, down to the spacing of the times.

A link that starts upside down, to rounding, does not turn over by leaving that place to either side.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import types

from nlink.compiled.addresses import by_address, contiguous
from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import COMPILING, apart, entry, kernel
from nlink.compiled.simd import VecArray
from nlink.integrators.polynomials import copy_row, horner, horner_at

PARTS = 8
"""Parts of a step at whose ends an angle is looked at: the first flip lies in the first part at whose end it has happened."""
FALSE_POSITION, ITERATIONS = 24, 100
"""Iterations after which false position gives way to bisection, and at most."""
MOST_IN_A_STEP = 8
"""A motion that blows up turns over without end within a step; only the first times are worth knowing."""
MOST_FLIPS, MOST_FLIP_NUMBERS = 1024, 20_000_000
"""Flips for which a call has room, and numbers of all states there; a single step may need more flips."""
UPSIDE_DOWN = 1e-12
"""How far from half a turn, as a part of an angle beyond 1 rad, a link may start and still do so upside down."""
EPS = float(np.finfo(float).eps)


class FlipRoom(NamedTuple):
    """The angles in which flips are looked for, and room for those of a call."""

    angles: np.ndarray
    """the components of the state"""
    ends: np.ndarray
    """whether a flip of one ends the call"""
    t: np.ndarray
    which: np.ndarray
    """(K, 2): the number of the angle, and its direction"""
    y: np.ndarray
    """(K, m): the states"""
    q: np.ndarray
    """(powers, m): the polynomial of a step"""
    finder: int
    """the address of `note_flips`; 0 if there is nothing to look for"""


def flip_room(angles: np.ndarray, ends: np.ndarray, m: int, powers: int) -> FlipRoom:
    """Return room for the flips of a call."""
    return _room(angles, ends, m, powers) if len(angles) else no_room(m)


@lru_cache(64)
def no_room(m: int) -> FlipRoom:
    """Return room for no flips."""
    none = np.empty(0)
    return _room(none, none, m, 0)


def _room(angles: np.ndarray, ends: np.ndarray, m: int, powers: int) -> FlipRoom:
    count = max(min(max(MOST_FLIPS, 2 * MOST_IN_A_STEP * len(angles)), MOST_FLIP_NUMBERS // m), 1) if len(angles) else 0
    return FlipRoom(
        angles.astype(np.int64), ends.astype(np.bool_), np.empty(count), np.empty((count, 2), np.int64), np.empty((count, m)),
        np.empty((powers if count else 0, m)), compile_finder(0) if count and COMPILING else 0,
    )  # fmt: skip


@kernel
def turns(theta):
    """Return how many times an angle has gone round: 0 within (-pi, pi]."""
    return np.ceil((theta - math.pi) / (2.0 * math.pi))


@kernel
def any_flip(room, y, new):
    """Whether a watched angle has passed an odd multiple of pi between two states."""
    for i in room.angles:
        change = turns(new[i]) - turns(y[i])
        if change != 0.0 and math.isfinite(change):
            return True
    return False


@kernel
def note_flips(room, t, h, target, y, new, count):
    """Write down the flips of a step, whose polynomial is in the room, from number `count` on; return the number of the next, -1 if
    there is no room.
    """
    for j in range(len(room.angles)):
        i = room.angles[j]
        mark, last, passed = turns(y[i]), turns(new[i]), t
        way = 1 if last > mark else -1
        for _ in range(MOST_IN_A_STEP):
            if mark == last or not math.isfinite(last - mark):
                break
            if count == len(room.t):
                return -1
            passed = flip_time(room.q, i, way, (2.0 * mark + way) * math.pi, t, h, target, passed, y, new)
            room.t[count], room.which[count, 0], room.which[count, 1] = passed, j, way
            if passed == target:
                copy_row(new, room.y[count])
            else:
                horner((passed - t) / h, h, y, room.q, room.y[count])
            mark += way
            count += 1
    return count


@apart
def note_at(room, t, h, target, y, new, count):
    """Write down the flips of a step; see `note_flips`."""
    states, q = contiguous(room.y), contiguous(room.q)
    found = FlipRoom(room.angles, room.ends, contiguous(room.t), room.which, states, q, room.finder)
    return note_flips(found, t, h, target, contiguous(y), contiguous(new), count)


ROW, ROWS, WHOLE, NUMBER = VecArray(1, 1), VecArray(1, 2), types.int64, types.float64
ROOM = types.NamedTuple(
    (types.Array(WHOLE, 1, "C"), types.Array(types.boolean, 1, "C"), ROW, types.Array(WHOLE, 2, "C"), ROWS, ROWS, WHOLE), FlipRoom
)
address_of_finder, call_finder = by_address(note_at, lambda _: (ROOM, NUMBER, NUMBER, NUMBER, ROW, ROW, WHOLE), WHOLE)


@entry("flips")
def compile_finder(none):
    """Return the address of what writes down flips: it is compiled once for all methods, when flips are first asked for."""
    return address_of_finder(none)


def finder_at_address(room, t, h, target, y, new, count):
    """Call `note_flips`."""
    return call_finder(room.finder, (room, t, h, target, y, new, count))


@dispatched(lambda _: finder_at_address if COMPILING else note_flips, "room")
def find_flips(room, t, h, target, y, new, count):
    """Write down the flips of a step; see `note_flips`."""


@kernel
def beyond_by(q, i, way, level, t, h, time, y):
    """Return by how much angle i is beyond a level at a time within the step."""
    return way * (horner_at((time - t) / h, h, y, q, i) - level)


@kernel
def behind(excess, way):
    """Whether an angle has not passed its level: upwards it passes beyond, downwards at the level."""
    return excess <= 0.0 if way > 0 else excess < 0.0


@kernel
def flip_time(q, i, way, level, t, h, target, low, y, new):
    """Return the first time after `low` at which angle i has passed a level; at the target it has."""
    high, above = target, way * (new[i] - level)
    below = beyond_by(q, i, way, level, t, h, low, y)
    for part in range(1, PARTS):
        time = low + (target - low) * (part / PARTS)
        excess = beyond_by(q, i, way, level, t, h, time, y)
        if not behind(excess, way):
            high, above = time, excess
            break
        low, below = time, excess
    side = 0
    for count in range(ITERATIONS):
        if abs(high - low) <= 2.0 * EPS * max(abs(low), abs(high)):
            break
        time = high - above * (high - low) / (above - below) if count < FALSE_POSITION and above > below else 0.5 * (low + high)
        if not min(low, high) < time < max(low, high):
            time = 0.5 * (low + high)
        excess = beyond_by(q, i, way, level, t, h, time, y)
        if behind(excess, way):
            low, below = time, excess
            above *= 0.5 if side < 0 else 1.0
            side = -1
        else:
            high, above = time, excess
            below *= 0.5 if side > 0 else 1.0
            side = 1
    return high


@kernel
def full(room, before, flips):
    """Whether the flips of a step end the call: one that is to end it, or there may be no room for those of the next step."""
    if flips < 0:
        return True
    for k in range(before, flips):
        if room.ends[room.which[k, 0]]:
            return True
    return flips > 0 and 2 * flips > len(room.t) and flips + MOST_IN_A_STEP * len(room.angles) > len(room.t)
