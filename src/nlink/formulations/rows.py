r"""Rows of the constraints of closed mechanisms: values, gradients and second derivatives of pins, guides, bars and gears.

A row between bodies i and j is a unit force n at a point a of i, and -n at a point b of j:

    pin        n = x, then y            n.(a - b)
    guide      n across the line        n.(a - b), n turns with j; -n acts on j where a is
    distance   n = (a - b)/L            (|a - b|^2 - L^2)/2L
    gear       a moment 1 on coordinate i, -ratio on j

so that its gradient is what this pair of forces does along each coordinate: a sweep of the forces along the paths to the ground.
The same sweep with the joints eliminated gives L^-1 of the gradient, for M = L L^T (`whiten`). Rows are sorted by their first body.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.compiled.digits import sine_table
from nlink.compiled.jit import apart, kernel
from nlink.formulations.dead import LoopNumbers, lever_loop, loop_numbers
from nlink.formulations.tree import AL, AX, AY, HX, HY, SWEEP_ROWS, J
from nlink.mechanics.assembly import size_of
from nlink.mechanics.chain import Link
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.points import CLOSURES, GROUND, Closure, Distance, Gear, Guide, ends
from nlink.mechanics.scratch import C, S
from nlink.mechanics.tree import DX, DY, OM, PARENT, PRESCRIBED, PX, PY, SLIDE, Q, TreeNumbers, V, point_of

PIN, GUIDE, BAR, GEAR = range(len(CLOSURES))
KIND, BODY_I, BODY_J, AXIS, FIRST, LAST, LOW, HIGH, CLOSURE, COMPANION = range(10)
"""Rows of `whole`: kind, bodies, x or y of a pin, its part of the list of bodies on its paths, its first and last column, its
closure, and the other row of a pin (itself, if there is none).
"""
I_ALONG, I_LEFT, J_ALONG, J_LEFT, NORMAL_ALONG, NORMAL_LEFT, SIZE, REST, SCALE = range(9)
"""Rows of `places`: SIZE is the length of a bar or the ratio of a gear, SCALE the root of the squares of the levers."""
LO, ROOT, PULLX, PULLY, TWIST, OWN, STEP, PART, ACC = range(SWEEP_ROWS, SWEEP_ROWS + 9)
"""Rows of bodies: low parts of the coordinates, 1/sqrt of the pivots, forces of a row (x, y, moment about the origin, along the
coordinate), two of work, and accelerations.
"""
BODY_ROWS = SWEEP_ROWS + 9


class RowNumbers(NamedTuple):
    """The rows of the constraints as numbers."""

    total: int
    spare: int
    """rows that follow from the others, wherever the mechanism is"""
    whole: np.ndarray
    """(10, rows) whole numbers: KIND, BODY_I, ..."""
    places: np.ndarray
    """(9, rows): I_ALONG, ..."""
    paths: np.ndarray
    """bodies on the paths of each row to the ground, children before parents"""
    column: np.ndarray
    """(N,) the column of each body in the matrices"""
    unit: np.ndarray
    """(N,) 1 for hinges, for slides a length: what is a change of one size"""
    table: np.ndarray
    """sines of many digits"""
    loops: LoopNumbers


class ClosedParameters(NamedTuple):
    """A closed mechanism."""

    chain: ChainParameters
    tree: TreeNumbers
    rows: RowNumbers


@kernel
def direction(r, p, w):
    """Return the force of a row on its first body; not for gears."""
    rows = p.rows
    kind, i, j = rows.whole[KIND, r], rows.whole[BODY_I, r], rows.whole[BODY_J, r]
    if kind == PIN:
        return 1.0 - rows.whole[AXIS, r], 1.0 * rows.whole[AXIS, r]
    if kind == GUIDE:
        along, left = rows.places[NORMAL_ALONG, r], rows.places[NORMAL_LEFT, r]
        if j < 0:
            return left, -along
        return along * w[S, j] + left * w[C, j], left * w[S, j] - along * w[C, j]
    dx, dy, _, _ = between(i, j, r, rows, w)
    return dx / rows.places[SIZE, r], dy / rows.places[SIZE, r]


@kernel
def between(i, j, r, rows, w):
    """Return where the point of body i of a row is, seen from that of body j, and how fast it moves so."""
    x, y, u, v = point_of(i, rows.places[I_ALONG, r], rows.places[I_LEFT, r], w)
    ox, oy, ou, ov = point_of(j, rows.places[J_ALONG, r], rows.places[J_LEFT, r], w)
    return x - ox, y - oy, u - ou, v - ov


@kernel
def miss(r, p, w):
    """Return by how much a row is missed."""
    rows = p.rows
    kind, i, j = rows.whole[KIND, r], rows.whole[BODY_I, r], rows.whole[BODY_J, r]
    if kind == GEAR:
        return w[Q, i] - rows.places[SIZE, r] * w[Q, j] - rows.places[REST, r]
    dx, dy, _, _ = between(i, j, r, rows, w)
    if kind == PIN:
        return dy if rows.whole[AXIS, r] else dx
    if kind == GUIDE:
        nx, ny = direction(r, p, w)
        return nx * dx + ny * dy
    size = rows.places[SIZE, r]
    distance = math.sqrt(dx * dx + dy * dy)
    return (distance - size) * (distance + size) / (2.0 * size)


@kernel
def miss_rate(r, p, w):
    """Return the rate of what a row is missed by."""
    rows = p.rows
    kind, i, j = rows.whole[KIND, r], rows.whole[BODY_I, r], rows.whole[BODY_J, r]
    if kind == GEAR:
        return w[V, i] - rows.places[SIZE, r] * w[V, j]
    dx, dy, vx, vy = between(i, j, r, rows, w)
    nx, ny = direction(r, p, w)
    rate = nx * vx + ny * vy
    if kind == GUIDE and j >= 0:
        rate += w[OM, j] * (nx * dy - ny * dx)
    return rate


@kernel
def pull_of(i, along, left, w):
    """Return the acceleration of a point of a body, or of the ground."""
    if i < 0:
        return 0.0, 0.0
    px, py, square = along * w[C, i] - left * w[S, i], along * w[S, i] + left * w[C, i], w[OM, i] * w[OM, i]
    return w[AX, i] + w[AL, i] * px - square * py, w[AY, i] + w[AL, i] * py + square * px


@kernel
def miss_pull(r, p, w):
    """Return the second derivative in time of what a row is missed by, at the accelerations AX, AY, AL and, of coordinates, ACC."""
    rows = p.rows
    kind, i, j = rows.whole[KIND, r], rows.whole[BODY_I, r], rows.whole[BODY_J, r]
    if kind == GEAR:
        return w[ACC, i] - rows.places[SIZE, r] * w[ACC, j]
    ax, ay = pull_of(i, rows.places[I_ALONG, r], rows.places[I_LEFT, r], w)
    ox, oy = pull_of(j, rows.places[J_ALONG, r], rows.places[J_LEFT, r], w)
    ax, ay = ax - ox, ay - oy
    if kind == PIN:
        return ay if rows.whole[AXIS, r] else ax
    dx, dy, vx, vy = between(i, j, r, rows, w)
    nx, ny = direction(r, p, w)
    total = nx * ax + ny * ay
    if kind == BAR:
        return total + (vx * vx + vy * vy) / rows.places[SIZE, r]
    if j >= 0:
        rate = w[OM, j]
        total += 2.0 * rate * (nx * vy - ny * vx) + w[AL, j] * (nx * dy - ny * dx) - rate * rate * (nx * dx + ny * dy)
    return total


@kernel
def lean(r, part, p, w):
    """Add a part of the forces of a row to those of the bodies."""
    rows = p.rows
    kind, i, j = rows.whole[KIND, r], rows.whole[BODY_I, r], rows.whole[BODY_J, r]
    if kind == GEAR:
        w[OWN, i] += part
        w[OWN, j] -= part * rows.places[SIZE, r]
        return
    nx, ny = direction(r, p, w)
    fx, fy = part * nx, part * ny
    put(i, rows.places[I_ALONG, r], rows.places[I_LEFT, r], fx, fy, w)
    put(j, rows.places[J_ALONG, r], rows.places[J_LEFT, r], -fx, -fy, w)
    if kind == GUIDE and j >= 0:
        dx, dy, _, _ = between(i, j, r, rows, w)
        w[TWIST, j] -= dx * fy - dy * fx


@kernel
def put(i, along, left, fx, fy, w):
    """Add a force at a point of a body."""
    if i >= 0:
        w[PULLX, i] += fx
        w[PULLY, i] += fy
        w[TWIST, i] += (along * w[C, i] - left * w[S, i]) * fx + (along * w[S, i] + left * w[C, i]) * fy


@kernel
def taken(i, p, w):
    """Take the forces off body i, hand to its parent what passes the joint, and return what they do along its coordinate."""
    tree = p.tree
    fx, fy, moment, own = w[PULLX, i], w[PULLY, i], w[TWIST, i], w[OWN, i]
    w[PULLX, i] = w[PULLY, i] = w[TWIST, i] = w[OWN, i] = 0.0
    if tree.bodies[SLIDE, i]:
        hand(i, fx, fy, moment, tree, w)
        return w[DX, i] * fx + w[DY, i] * fy + own
    hand(i, fx, fy, 0.0, tree, w)
    return moment + own


@kernel
def hand(i, fx, fy, moment, tree, w):
    """Hand a force at the origin of a body, and a moment, to its parent."""
    k = tree.bodies[PARENT, i]
    if k >= 0:
        w[PULLX, k] += fx
        w[PULLY, k] += fy
        w[TWIST, k] += w[PX, i] * fx + w[PY, i] * fy + moment


@kernel
def taken_whole(i, p, w):
    """Take the forces off body i, hand to its parent what passes when the joint gives way, and return the part of L^-1."""
    tree = p.tree
    fx, fy, moment, own = w[PULLX, i], w[PULLY, i], w[TWIST, i], w[OWN, i]
    w[PULLX, i] = w[PULLY, i] = w[TWIST, i] = w[OWN, i] = 0.0
    if tree.bodies[PRESCRIBED, i]:
        hand(i, fx, fy, moment if tree.bodies[SLIDE, i] else 0.0, tree, w)
        return 0.0
    if tree.bodies[SLIDE, i]:
        along = w[DX, i] * fx + w[DY, i] * fy + own
        hand(i, fx - w[HX, i] * along, fy - w[HY, i] * along, moment - w[J, i] * along, tree, w)
        return along * w[ROOT, i]
    turn = moment + own
    hand(i, fx - w[HX, i] * turn, fy - w[HY, i] * turn, 0.0, tree, w)
    return turn * w[ROOT, i]


@kernel
def gradient(r, at, p, w):
    """Fill row `at` of w with the gradient of a row: of the bodies on its paths, the others stay."""
    lean(r, 1.0, p, w)
    for k in range(p.rows.whole[FIRST, r], p.rows.whole[LAST, r]):
        i = p.rows.paths[k]
        w[at, i] = taken(i, p, w)


@kernel
def whiten(r, at, p, w):
    """Fill row `at` of w, by columns, with L^-1 of the gradient of a row: of the bodies on its paths, the others stay."""
    lean(r, 1.0, p, w)
    for k in range(p.rows.whole[FIRST, r], p.rows.whole[LAST, r]):
        i = p.rows.paths[k]
        w[at, p.rows.column[i]] = taken_whole(i, p, w)


@apart
def whiten_all(row, at, p, w):
    """Fill row `at` of w, by columns, with L^-1 of the generalised forces in `row`."""
    for k in range(p.chain.n):
        i = p.chain.n - 1 - k
        w[OWN, i] = w[row, i]
        idle = w[PULLX, i] == 0.0 and w[PULLY, i] == 0.0 and w[TWIST, i] == 0.0 and w[OWN, i] == 0.0
        w[at, p.rows.column[i]] = 0.0 if idle else taken_whole(i, p, w)


def row_numbers(model: Mechanism, spare: int) -> RowNumbers:
    """Return the rows of the closures of a mechanism as numbers, of which `spare` follow from the others."""
    for number, closure in enumerate(model.pins):
        if (isinstance(closure, Distance) and closure.length is None) or (isinstance(closure, Gear) and closure.offset is None):
            what = "length" if isinstance(closure, Distance) else "offset"
            raise ModelError(
                f"Mechanism.pins[{number}].{what} must be known here, got None; give it, or assemble the mechanism first"
            )
    return _numbers(model.links, model.pins)._replace(spare=spare)


@lru_cache(maxsize=64)
def _numbers(links: tuple[Link | Slider, ...], pins: tuple[Closure, ...]) -> RowNumbers:
    """Return the rows as numbers; the loads do not count, and nothing writes into the arrays."""
    model = Mechanism(links, pins=pins)
    every = [(number, closure, axis) for number, closure in enumerate(model.pins) for axis in range(closure.rows)]
    column = _columns(model)
    paths = [_paths(model, closure) for closure in model.pins]
    every.sort(key=lambda row: (min(column[paths[row[0]]]), row[0], row[2]))
    m, size = len(every), _size(model)
    whole, places = np.zeros((10, m), np.int64), np.zeros((9, m))
    loops, listed = [lever_loop(model, closure, ends_of(model, closure)) for closure in model.pins], []
    for r, (number, closure, axis) in enumerate(every):
        bodies, on = paths[number], column[paths[number]]
        where = ends_of(model, closure)
        whole[:, r] = (
            list(CLOSURES.values()).index(type(closure)), where[0][0], where[1][0], axis, len(listed), len(listed) + len(bodies),
            on.min(), on.max(), number, r + (closure.rows - 1) * (1 - 2 * axis),
        )  # fmt: skip
        listed += bodies.tolist()
        places[:, r] = _places(closure, where)
        places[SCALE, r] = _scale(model, closure, where, size)
    return RowNumbers(
        m, 0, whole, places, np.array(listed, np.int64), column, np.where(model.slides, size, 1.0), sine_table(),
        loop_numbers(loops),
    )  # fmt: skip


def _columns(model: Mechanism) -> np.ndarray:
    """Return the column of each body, such that the bodies of a row are near each other: reverse Cuthill and McKee."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    groups = [_paths(model, closure) for closure in model.pins]
    pairs = [(i, j) for bodies in groups for i in bodies for j in bodies]
    i, j = np.array(pairs).T
    together = csr_array((np.ones(len(pairs)), (i, j)), shape=(model.n, model.n))
    column = np.empty(model.n, np.int64)
    column[reverse_cuthill_mckee(together, symmetric_mode=True)] = np.arange(model.n)
    return column


def ends_of(model: Mechanism, closure: Closure) -> tuple[tuple[int, float, float], tuple[int, float, float]]:
    """Return the two bodies of a closure and the points on them."""
    if isinstance(closure, Gear):
        return (closure.i, 0.0, 0.0), (closure.j, 0.0, 0.0)
    a, b = (model.located(point) for point in ends(closure))
    return a, b


def _paths(model: Mechanism, closure: Closure) -> np.ndarray:
    """Return the bodies on the paths of a closure to the ground, children before parents."""
    found: set[int] = set()
    for body, *_ in ends_of(model, closure):
        while body != GROUND and body not in found:
            found.add(body)
            body = int(model.parents[body])
    return np.array(sorted(found, reverse=True))


def _size(model: Mechanism) -> float:
    """Return the length that counts as much as an angle of 1 rad."""
    return float(max(np.abs(model.levers).max(), model.length.max())) or size_of(model)


def _places(closure: Closure, where: tuple[tuple[int, float, float], ...]) -> list[float]:
    (_, *a), (_, *b) = where
    normal, size, rest = (0.0, 0.0), 0.0, 0.0
    if isinstance(closure, Guide):
        normal = -math.cos(closure.direction), -math.sin(closure.direction)
    elif isinstance(closure, Distance):
        size = closure.length or 1.0
    elif isinstance(closure, Gear):
        size, rest = closure.ratio, closure.offset or 0.0
    return [*a, *b, *normal, size, rest, 0.0]


def _scale(model: Mechanism, closure: Closure, where: tuple[tuple[int, float, float], ...], size: float) -> float:
    """Return the root of the sum of the squares of the levers on the paths of a row: what it is at most like."""
    if isinstance(closure, Gear):
        units = [size if model.slides[body] else 1.0 for body in (closure.i, closure.j)]
        return math.hypot(units[0], closure.ratio * units[1])
    total = 0.0
    for body, along, left in where:
        lever = math.hypot(along, left)
        while body != GROUND:
            total += size**2 if model.slides[body] else lever**2
            lever = math.hypot(*model.levers[:, body])
            body = int(model.parents[body])
    return math.sqrt(total)
