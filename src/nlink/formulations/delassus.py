"""The Delassus matrix J W J^T of the rows, in its envelope and without square roots: solves for rows none of which nearly vanishes.

In the plain metric W is the square of the units, and a solution z of J W J^T z = what is missed gives W J^T z, the smallest plain
change that takes it off. In the metric of the masses, M = U^T D U by the sweep, the rows are those of J U^-1 and W = D^-1: the
solution is the multipliers. L D L^T squares the condition of the rows, which costs a digit or two while no pivot is small: from
ZONE on, or in the metric of the masses from LOSS on, the rows are reflected (`factors`).
"""

from __future__ import annotations

from typing import NamedTuple

from nlink.compiled.jit import kernel
from nlink.compiled.lowering import Operand
from nlink.formulations.constraint_rows import DIAGONAL, LATE, RIGHT, Z, stretch
from nlink.formulations.envelope import COUNT, LOWER, PLAIN, SWEPT, WEIGHTED, U, V
from nlink.formulations.row_numbers import (
    BODY_I,
    BODY_J,
    FIRST,
    FORK,
    GEAR,
    GUIDE,
    I_ALONG,
    I_LEFT,
    J_ALONG,
    J_LEFT,
    JOIN,
    KIND,
    LAST,
    SCALE,
    SIZE,
)
from nlink.formulations.rows import GIVE, PART, between, direction
from nlink.formulations.tree import HX, HY, J
from nlink.mechanics.scratch import C, S
from nlink.mechanics.tree import DX, DY, PRESCRIBED, PX, PY, SLIDE

LOSS = 0.01
"""Part of an entry of the diagonal that may be left of it as a pivot: less costs more than two digits."""


class Push(NamedTuple):
    """What acts on a body at its origin: a force, a moment, and a force along its coordinate."""

    fx: Operand
    fy: Operand
    moment: Operand
    own: Operand


@kernel
def pushes(r, p, w):
    """Return what a row does to its two bodies."""
    rows = p.rows
    kind, i, j = rows.whole[KIND, r], rows.whole[BODY_I, r], rows.whole[BODY_J, r]
    if kind == GEAR:
        return Push(0.0, 0.0, 0.0, 1.0), Push(0.0, 0.0, 0.0, -rows.places[SIZE, r])
    nx, ny = direction(r, p, w)
    turn = moment_of(i, rows.places[I_ALONG, r], rows.places[I_LEFT, r], nx, ny, w)
    other = moment_of(j, rows.places[J_ALONG, r], rows.places[J_LEFT, r], nx, ny, w)
    if kind == GUIDE and j >= 0:
        dx, dy, _, _ = between(i, j, r, rows, w)
        other += dx * ny - dy * nx
    first, second = (1.0 if i >= 0 else 0.0), (1.0 if j >= 0 else 0.0)
    return Push(first * nx, first * ny, turn, 0.0), Push(-second * nx, -second * ny, -other, 0.0)


@kernel
def moment_of(i, along, left, fx, fy, w):
    """Return the moment of a force at a point of a body about its origin; 0 on the ground."""
    if i < 0:
        return 0.0
    return (along * w[C, i] - left * w[S, i]) * fx + (along * w[S, i] + left * w[C, i]) * fy


@kernel
def climb(first, last, values, push, p, w):
    """Fill what a push does along the coordinates of a part of a path; return what is passed on."""
    fx, fy, moment, own = push
    for k in range(first, last):
        i = p.rows.paths[k]
        if p.tree.bodies[SLIDE, i]:
            values[k] = w[DX, i] * fx + w[DY, i] * fy + own
        else:
            values[k] = moment + own
            moment = 0.0
        moment += w[PX, i] * fx + w[PY, i] * fy
        own = 0.0
    return Push(fx, fy, moment, own)


@kernel
def climb_whole(first, last, values, push, p, w):
    """The same where the joints give way, as the sweep has eliminated them."""
    fx, fy, moment, own = push
    for k in range(first, last):
        i = p.rows.paths[k]
        along = 0.0
        if p.tree.bodies[SLIDE, i]:
            if not p.tree.bodies[PRESCRIBED, i]:
                along = w[DX, i] * fx + w[DY, i] * fy + own
                moment -= w[J, i] * along
        else:
            if not p.tree.bodies[PRESCRIBED, i]:
                along = moment + own
            moment = 0.0
        if not p.tree.bodies[PRESCRIBED, i]:
            fx, fy = fx - w[HX, i] * along, fy - w[HY, i] * along
        values[k] = along
        moment += w[PX, i] * fx + w[PY, i] * fy
        own = 0.0
    return Push(fx, fy, moment, own)


@kernel
def joined(a, b):
    """Return two pushes on one body together."""
    return Push(a.fx + b.fx, a.fy + b.fy, a.moment + b.moment, a.own + b.own)


@kernel
def fill_plain(p, w):
    """Fill the gradients of the rows: of the bodies on their paths."""
    values, whole = stretch(PLAIN, p, w), p.rows.whole
    for r in range(p.rows.total):
        a, b = pushes(r, p, w)
        a = climb(whole[FIRST, r], whole[FORK, r], values, a, p, w)
        b = climb(whole[FORK, r], whole[JOIN, r], values, b, p, w)
        climb(whole[JOIN, r], whole[LAST, r], values, joined(a, b), p, w)


@kernel
def fill_swept(p, w):
    """Fill J U^-1."""
    values, whole = stretch(SWEPT, p, w), p.rows.whole
    for r in range(p.rows.total):
        a, b = pushes(r, p, w)
        a = climb_whole(whole[FIRST, r], whole[FORK, r], values, a, p, w)
        b = climb_whole(whole[FORK, r], whole[JOIN, r], values, b, p, w)
        climb_whole(whole[JOIN, r], whole[LAST, r], values, joined(a, b), p, w)


@kernel
def multiply(values, weight, p, w):
    """Fill the envelope of the matrix: products of rows of values, with a weight for each body."""
    rows, weighted, lower = p.rows, stretch(WEIGHTED, p, w), stretch(LOWER, p, w)
    spans, runs = rows.envelope.spans, rows.envelope.runs
    for k in range(len(rows.paths)):
        weighted[k] = values[k] * weight[rows.paths[k]]
    for entry in range(len(spans) - 1):
        total = 0.0
        for run in range(spans[entry], spans[entry + 1]):
            u, v = runs[run, U], runs[run, V]
            for k in range(runs[run, COUNT]):
                total += values[u + k] * weighted[v + k]
        lower[entry] = total


@kernel
def eliminate(r, p, w):
    """Make row r of the matrix that of L; return its pivot. DIAGONAL has 1 over the pivots before, 0 of rows that are left out."""
    lower, first, base = stretch(LOWER, p, w), p.rows.envelope.first, p.rows.envelope.base
    begin, at = first[r], base[r]
    pivot = lower[at + r]
    for j in range(begin, r):
        total, of = lower[at + j], base[j]
        for k in range(max(begin, first[j]), j):
            total -= lower[of + k] * lower[at + k]
        lower[at + j] = total
    for j in range(begin, r):
        total = lower[at + j]
        lower[at + j] = total * w[DIAGONAL, j]
        pivot -= total * lower[at + j]
    return pivot


@kernel
def factor_plain(zone, p, w):
    """Factor the rows in the plain metric, but for those of which less than `zone` of their scale is left when rows before are
    taken off: LATE says which. Return the least pivot as a part of the square of its scale, or a negative number if not exactly as
    many are left out as are spare.
    """
    rows = p.rows
    fill_plain(p, w)
    multiply(stretch(PLAIN, p, w), rows.weight, p, w)
    least, off = 1.0, 0
    for r in range(rows.total):
        pivot = eliminate(r, p, w)
        part = pivot / (rows.places[SCALE, r] * rows.places[SCALE, r])
        if part > zone * zone:
            least = min(least, part)
            w[LATE, r], w[DIAGONAL, r] = 0.0, 1.0 / pivot
        else:
            off += 1
            w[LATE, r], w[DIAGONAL, r] = 1.0, 0.0
    return least if off == rows.spare else -1.0


@kernel
def factor_swept(p, w):
    """Factor the rows in the metric of the masses but for those left out in `factor_plain`; return whether no pivot is small."""
    lower, base = stretch(LOWER, p, w), p.rows.envelope.base
    fill_swept(p, w)
    multiply(stretch(SWEPT, p, w), w[GIVE], p, w)
    for r in range(p.rows.total):
        size = lower[base[r] + r]
        pivot = eliminate(r, p, w)
        w[DIAGONAL, r] = 0.0
        if w[LATE, r] == 0.0:
            if not pivot > LOSS * size:
                return False
            w[DIAGONAL, r] = 1.0 / pivot
    return True


@kernel
def solve(what, p, w):
    """Solve L D L^T Z = RIGHT, and fill PART with what Z times the rows of PLAIN or SWEPT is along the coordinates."""
    rows, lower, values = p.rows, stretch(LOWER, p, w), stretch(what, p, w)
    first, base = rows.envelope.first, rows.envelope.base
    for r in range(rows.total):
        total, at = w[RIGHT, r], base[r]
        for j in range(first[r], r):
            total -= lower[at + j] * w[Z, j]
        w[Z, r] = total
    for r in range(rows.total):
        w[Z, r] *= w[DIAGONAL, r]
    for i in range(p.chain.n):
        w[PART, i] = 0.0
    for step in range(rows.total):
        r = rows.total - 1 - step
        z, at = w[Z, r], base[r]
        for j in range(first[r], r):
            w[Z, j] -= lower[at + j] * z
        for k in range(rows.whole[FIRST, r], rows.whole[LAST, r]):
            w[PART, rows.paths[k]] += values[k] * z
