"""Least and largest inclinations, angular velocities and speeds of lines in space, on their way through the compiled loop.

Of an inclination the height -cos is followed, of an angular velocity and of a speed its square: these are smooth where the angle
and the sizes are not. The angular velocity of a line has the size |e'|; its lower end moves with the sum of l e' up to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nlink.compiled.dispatch import ByClass, dispatched
from nlink.compiled.jit import kernel
from nlink.compiled.lowering import Operand
from nlink.ensemble.kernels.by_series import LinePath
from nlink.ensemble.kernels.by_stages import StagesPath, step_within
from nlink.ensemble.kernels.lanes import BETWEEN, NEW, OLD, SPAN, T, member_in, moved
from nlink.ensemble.kernels.methods import PATHS, path_of, seen
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.kernels.stages import evaluate
from nlink.ensemble.kernels.within import may_exceed, note_turns
from nlink.mechanics.parameters import LENGTH


class RangeInSpace(NamedTuple):
    """The observer: least and largest heights, squares of angular velocities, and squares of speeds (M, N)."""

    least_inclination: np.ndarray
    largest_inclination: np.ndarray
    least_omega: np.ndarray
    largest_omega: np.ndarray
    least_speed: np.ndarray
    largest_speed: np.ndarray


class PathOfSquare(NamedTuple):
    """The path of a square through a step: of angular velocities, or, if `whole`, of the speeds of lower ends."""

    path: Operand
    links: Operand
    """(rows, N, W)"""
    whole: bool


@kernel
def begin(observer, view, k):
    """Begin with the start of the member in lane k."""
    member, y = member_in(view, k), view.own.y
    for i in range(view.p.chain.n):
        observer.least_inclination[member, i] = observer.largest_inclination[member, i] = y[OLD, 3 * i + 1, k]
        observer.least_omega[member, i] = observer.largest_omega[member, i] = square_in(k, i, OLD, False, view)
        observer.least_speed[member, i] = observer.largest_speed[member, i] = square_in(k, i, OLD, True, view)


@kernel
def square_in(k, i, row, whole, view):
    """Return the square of the angular velocity of line i of lane k, or of the speed of its lower end, in one of the states."""
    y, size = view.own.y, view.p.chain.size
    vx = vy = vz = 0.0
    for j in range(0 if whole else i, i + 1):
        at, by = size + 3 * j, view.own.links[LENGTH, j, k] if whole else 1.0
        vx, vy, vz = vx + by * y[row, at, k], vy + by * y[row, at + 1, k], vz + by * y[row, at + 2, k]
    return vx * vx + vy * vy + vz * vz


@kernel
def look(observer, view, _):
    """Look at the steps of all lanes."""
    for k in range(len(view.lanes)):
        if moved(view, k):
            path, member = path_of(view.method, view, k), member_in(view, k)
            for i in range(view.p.chain.n):
                look_at_height(k, i, view, path, observer.least_inclination[member], observer.largest_inclination[member])
                look_at_square(k, i, False, view, path, observer.least_omega[member], observer.largest_omega[member])
                look_at_square(k, i, True, view, path, observer.least_speed[member], observer.largest_speed[member])


@kernel
def look_at_height(k, i, view, path, least, largest):
    """Note the height of line i of lane k at the end of its step, and where it turns back."""
    y, h, at, rate = view.own.y, view.own.clocks[SPAN, k], 3 * i + 1, view.p.chain.size + 3 * i + 1
    first, last, begins, ends = y[OLD, at, k], y[NEW, at, k], y[OLD, rate, k], y[NEW, rate, k]
    least[i], largest[i] = min(least[i], last), max(largest[i], last)
    if may_exceed(first, last, h * begins, h * ends, least[i], largest[i]):
        note_turns(k, at, i, False, h, begins, ends, last - first, first, least, largest, path)


@kernel
def look_at_square(k, i, whole, view, path, least, largest):
    """Note a square of line i of lane k likewise: its derivative at the end is guessed first."""
    h, links = view.own.clocks[SPAN, k], view.own.links
    first, last = square_in(k, i, OLD, whole, view), square_in(k, i, NEW, whole, view)
    least[i], largest[i] = min(least[i], last), max(largest[i], last)
    begins = first_slope(k, i, whole, view, path)
    if may_exceed(first, last, h * begins, 2.0 * (last - first) - h * begins, least[i], largest[i]):
        square = PathOfSquare(path, links, whole)
        _, ends = seen(k, i, h, True, square)
        note_turns(k, i, i, True, h, begins, ends, last - first, 0.0, least, largest, square)


@kernel
def first_slope(k, i, whole, view, path):
    """Return the derivative of a square of line i of lane k at the start of its step."""
    y, size = view.own.y, view.p.chain.size
    vx = vy = vz = ax = ay = az = 0.0
    for j in range(0 if whole else i, i + 1):
        at, by = 3 * j, view.own.links[LENGTH, j, k] if whole else 1.0
        vx, vy, vz = vx + by * y[OLD, size + at, k], vy + by * y[OLD, size + at + 1, k], vz + by * y[OLD, size + at + 2, k]
        ax, ay, az = (
            ax + by * acceleration(k, at, path), ay + by * acceleration(k, at + 1, path), az + by * acceleration(k, at + 2, path),
        )  # fmt: skip
    return 2.0 * (vx * ax + vy * ay + vz * az)


@kernel
def seen_square(k, i, s, of_rates, path):
    """Return a square at the time s into the step, and its derivative."""
    vx = vy = vz = ax = ay = az = 0.0
    ready(s, path.path)
    for j in range(0 if path.whole else i, i + 1):
        by = path.links[LENGTH, j, k] if path.whole else 1.0
        ux, uy, uz, bx, by_, bz = line_in(k, j, s, path.path)
        vx, vy, vz, ax, ay, az = vx + by * ux, vy + by * uy, vz + by * uz, ax + by * bx, ay + by * by_, az + by * bz
    return vx * vx + vy * vy + vz * vz, 2.0 * (vx * ax + vy * ay + vz * az)


class Looks(NamedTuple):
    """How a path of a type is looked at: plain functions for the generic ones of the same names."""

    acceleration: Callable[..., float]
    ready: Callable[..., None]
    line_in: Callable[..., tuple[float, ...]]


LOOKS: dict[type, Looks] = ByClass()


@dispatched(lambda kind: LOOKS[kind].acceleration, "path")
def acceleration(k, at, path):
    """Return the second derivative of a coordinate at the start of the step."""


@dispatched(lambda kind: LOOKS[kind].ready, "path")
def ready(s, path):
    """Make ready to look at the time s into the step."""


@dispatched(lambda kind: LOOKS[kind].line_in, "path")
def line_in(k, j, s, path):
    """Return the rate of the direction of line j and its derivative (6) at the time s, for which all is ready."""


@kernel
def acceleration_in_series(k, at, path):
    """Take it from the series."""
    return 2.0 * path.terms[at % 3, 2, at // 3, k]


@kernel
def series_ready(s, path):
    """Do nothing: series are at hand."""


@kernel
def line_in_series(k, j, s, path):
    """Sum three series."""
    at = 3 * j
    (vx, ax), (vy, ay), (vz, az) = seen(k, at, s, True, path), seen(k, at + 1, s, True, path), seen(k, at + 2, s, True, path)
    return vx, vy, vz, ax, ay, az


@kernel
def acceleration_in_stages(k, at, path):
    """Take it from the first stage."""
    return path.room.k[0, at]


@kernel
def row_at(s, path):
    """Return which state is that at the time s."""
    return OLD if s == 0.0 else NEW if s == path.clocks[SPAN] else BETWEEN


@kernel
def stages_ready(s, path):
    """Take a step to the time s, unless it is the start or the end, and evaluate the accelerations there."""
    row = row_at(s, path)
    if row == BETWEEN:
        step_within(s, path)
    if row != OLD:
        evaluate(1, path.clocks[T] + s, path.states[row], path.p, path.room)


@kernel
def line_in_stages(k, j, s, path):
    """Read state and accelerations."""
    row = row_at(s, path)
    y, a, at, rate = path.states[row], path.room.k[0 if row == OLD else 1], 3 * j, path.p.chain.size + 3 * j
    return y[rate], y[rate + 1], y[rate + 2], a[at], a[at + 1], a[at + 2]


PATHS[PathOfSquare] = seen_square
LOOKS[LinePath] = Looks(acceleration_in_series, series_ready, line_in_series)
LOOKS[StagesPath] = Looks(acceleration_in_stages, stages_ready, line_in_stages)
HOOKS[RangeInSpace] = Hooks(start=begin, after_step=look)
