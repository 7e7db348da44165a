r"""Rows of the constraints of closed mechanisms: values, gradients and second derivatives of pins, guides, bars and gears.

A row between bodies i and j is a unit force n at a point a of i, and -n at a point b of j:

    pin        n = x, then y            n.(a - b)
    guide      n across the line        n.(a - b), n turns with j; -n acts on j where a is
    distance   n = (a - b)/L            (|a - b|^2 - L^2)/2L
    gear       a moment 1 on coordinate i, -ratio on j

so that its gradient is what this pair of forces does along each coordinate: a sweep of the forces along the paths to the ground.
The same sweep with the joints eliminated gives L^-1 of the gradient, for M = L L^T (`whiten`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nlink.compiled.jit import apart, kernel
from nlink.formulations.row_numbers import (
    AXIS,
    BAR,
    BODY_I,
    BODY_J,
    FIRST,
    GEAR,
    GUIDE,
    I_ALONG,
    I_LEFT,
    J_ALONG,
    J_LEFT,
    KIND,
    LAST,
    NORMAL_ALONG,
    NORMAL_LEFT,
    PIN,
    REST,
    SIZE,
    RowNumbers,
)
from nlink.formulations.tree import AL, AX, AY, HX, HY, SWEEP_ROWS, J
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.scratch import C, S
from nlink.mechanics.tree import DX, DY, OM, PARENT, PRESCRIBED, PX, PY, SLIDE, Q, TreeNumbers, V, point_of

LO, GIVE, ROOT, PULLX, PULLY, TWIST, OWN, STEP, PART, ACC = range(SWEEP_ROWS, SWEEP_ROWS + 10)
"""Rows of bodies: low parts of the coordinates, 1 over the pivots and the root of that, forces of a row (x, y, moment about the
origin, along the coordinate), two of work, and accelerations.
"""
BODY_ROWS = SWEEP_ROWS + 10


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
def whiten_some(row, first, last, at, p, w):
    """Fill row `at` of w, by columns, with L^-1 of the generalised forces in `row` on the bodies `first` to `last`."""
    for k in range(last - first + 1):
        i = last - k
        w[OWN, i] = w[row, i]
        if w[PULLX, i] != 0.0 or w[PULLY, i] != 0.0 or w[TWIST, i] != 0.0 or w[OWN, i] != 0.0:
            w[at, p.rows.column[i]] = taken_whole(i, p, w)
