"""Small deviations of members, for finite-time Lyapunov exponents: the steps of the motion in dual numbers.

A lane with a deviation follows one member with one deviation that begins as a unit vector: values are the motion, rates the
deviation. Steps are chosen by the values alone: all lanes of a member take the same ones, and the result is the derivative of the
very steps taken. Near rest, where the motion would allow steps of any length, they are as short as a swing of 1 rad would need.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import entry, kernel
from nlink.compiled.views import views
from nlink.ensemble.kernels.lanes import (
    BETWEEN,
    LONGEST,
    NEW,
    OLD,
    SEAT,
    SPAN,
    T,
    half_of,
    member_in,
    seat,
)
from nlink.ensemble.kernels.loop import view_of
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.mechanics.contract import rhs
from nlink.mechanics.space.numbers import BALL, KIND, LINE, PLACE, SpaceParameters

SWEEPS = 30
"""Over the columns of a matrix, to turn them: more than it takes."""


class Deviations(NamedTuple):
    """The observer: derivatives (M, 2K, 2K) of the state at the end by that at the start, a column for each deviation."""

    derivatives: np.ndarray
    t_end: float
    longest: np.ndarray
    """(M,): the longest step of each member; empty if the lanes know it already"""


@kernel
def depart(observer, view, k):
    """Give lane k its deviation, and the longest step of its member."""
    own = view.own
    deviate(own.y, int(own.clocks[SEAT, k]) % len(own.y[OLD]), len(view.lanes), k)
    if len(observer.longest) > 0:
        own.clocks[LONGEST, k] = observer.longest[member_in(view, k)]


@kernel
def deviate(y, column, width, k):
    """Give lane k a deviation."""
    for i in range(len(y[OLD])):
        y[OLD, i, width + k] = 1.0 if i == column else 0.0


@kernel
def arrive(observer, view, k):
    """Write down the deviation of lane k, if it has come to the end of the time."""
    own, width, number, m = view.own, len(view.lanes), int(view.own.clocks[SEAT, k]), len(view.own.y[OLD])
    if abs(observer.t_end - own.clocks[T, k]) <= abs(own.clocks[SPAN, k]):
        for i in range(m):
            observer.derivatives[number // m, i, number % m] = own.y[NEW, i, width + k]


HOOKS[Deviations] = Hooks(start=depart, end=arrive)


@entry("exponents of ensembles")
def fastest_rates(members, stepped, out):
    """Fill out (M,) with the `fastest_rate` of each member."""
    p, limits, method, own, lanes, varied, tangent = views(stepped)
    n = members.position.shape[1]
    for member in range(len(out)):
        for k in range(len(lanes)):
            seat(k, member * 2 * n, n, members, limits, 0.0, own, tangent)
        out[member] = fastest_rate(view_of(p, method, own, lanes, varied, tangent))


@kernel
def fastest_rate(view):
    """Return a bound in 1/s of how fast deviations of a member, whose numbers are in all lanes, turn or fade at rest, its links
    hanging in line. The states of the lanes are lost.
    """
    n, width, y = half_of(view), len(view.lanes), view.own.y
    for i in range(2 * n):
        y[BETWEEN, i, 0] = 0.0
    for first in range(0, 2 * n, width):
        for k in range(width):
            for i in range(2 * n):
                y[OLD, i, k] = 0.0
            hang(y, k, view.p)
            deviate(y, first + k, width, k)
        rhs(0.0, view.states[OLD], view.p, view.states[NEW], view.room.w)
        for k in range(min(width, 2 * n - first)):
            for i in range(n):
                y[BETWEEN, (first + k) // n * n + i, 0] += abs(y[NEW, n + i, width + k])
    fastest = 0.0
    for i in range(n):
        fastest = max(fastest, math.sqrt(y[BETWEEN, i, 0]), y[BETWEEN, n + i, 0])
    return fastest


@dispatched(lambda kind: hang_in_space if issubclass(kind, SpaceParameters) else hang_in_plane)
def hang(y, k, p):
    """Give lane k, whose state is zero, the coordinates of hanging links."""


@kernel
def hang_in_plane(y, k, p):
    """Leave all angles 0."""


@kernel
def hang_in_space(y, k, p):
    """Fill directions straight down, and quaternions that do not turn."""
    for i in range(p.chain.n):
        kind, at = p.chain.whole[KIND, i], p.chain.whole[PLACE, i]
        if kind == LINE:
            y[OLD, at + 1, k] = -1.0
        elif kind == BALL:
            y[OLD, at, k] = 1.0


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
