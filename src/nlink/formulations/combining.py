"""Rows that nearly follow from others, combined with these in twice the digits, so that what is left of them has all digits.

Where a loop lies in line a combination of its rows vanishes. The rows put off there are combined with those kept, by least squares
from the factors L D L^T of the kept ones. Only a few neighbours in the linkage take part with more than FAINT of what is left, so
the combined rows stay within a band, and the reflections of a ladder are linear in its length.
"""

from __future__ import annotations

import math

from nlink.compiled.jit import apart, kernel
from nlink.formulations.constraint_rows import (
    DIAGONAL,
    FROM_BODY,
    FROM_COLUMN,
    FROM_ROW,
    LATE,
    MISSED,
    ORDER,
    RIGHT,
    SIZE_LEFT,
    TO_BODY,
    TO_COLUMN,
    TO_ROW,
    Z,
    low_parts,
    matrices,
    stretch,
)
from nlink.formulations.envelope import LOWER
from nlink.formulations.row_numbers import FIRST, FIRST_BODY, HIGH, LAST, LAST_BODY, LOW, SCALE
from nlink.formulations.rows import STEP
from nlink.formulations.sharp import add_gradient, gradient_sharply, pose_sharply

FAINT = 0.1
"""Parts of a combined row that are left out, against what is left of it: what they round is less than what is left does."""
ROUNDS = 4
"""How often a row is combined at most."""
SHRUNK = 0.5
"""A round that leaves more than this of a row is the last."""


@apart
def combine_all(p, w):
    """Combine the rows put off with those kept; fill the gradients of all rows as pairs."""
    pose_sharply(p, w)
    for r in range(p.rows.total):
        gradient_sharply(r, matrices(p)[0] + r, low_parts(p) + r, p, w)
    for r in range(p.rows.total):
        if w[LATE, r] != 0.0:
            combine(r, p, w)


@apart
def combine(r, p, w):
    """Combine row r, that is put off, with those kept; STEP has the low parts of the combined gradient until it is rounded."""
    combined = matrices(p)[2]
    begin(r, p, w)
    size = length_of(r, p, w)
    for _ in range(ROUNDS):
        if not take_off_kept(r, FAINT * size, p, w):
            break
        before, size = size, length_of(r, p, w)
        if size > SHRUNK * before:
            break
    for i in range(int(w[FROM_BODY, r]), int(w[TO_BODY, r]) + 1):
        w[combined + r, i] += w[STEP, i]
    w[SIZE_LEFT, r] = size


@apart
def begin(r, p, w):
    """Begin with the row itself."""
    plain, _, combined, parts = matrices(p)
    whole = p.rows.whole
    w[FROM_ROW, r] = w[TO_ROW, r] = r
    w[FROM_BODY, r], w[TO_BODY, r] = whole[FIRST_BODY, r], whole[LAST_BODY, r]
    w[FROM_COLUMN, r], w[TO_COLUMN, r] = whole[LOW, r], whole[HIGH, r]
    w[parts + r, r] = 1.0
    for i in range(whole[FIRST_BODY, r], whole[LAST_BODY, r] + 1):
        w[combined + r, i] = w[STEP, i] = 0.0
    add_gradient(r, plain + r, low_parts(p) + r, 1.0, combined + r, STEP, p, w)


@apart
def length_of(r, p, w):
    """Return the length of the combined row r in the plain metric."""
    combined, total = matrices(p)[2], 0.0
    for i in range(int(w[FROM_BODY, r]), int(w[TO_BODY, r]) + 1):
        total += w[combined + r, i] * w[combined + r, i] * p.rows.weight[i]
    return math.sqrt(total)


@apart
def take_off_kept(r, faint, p, w):
    """Take off the combined row r what it has of the rows kept, but for parts below `faint`; return whether there was any.

    Rows are looked at as far as they share bodies with rows that have a part.
    """
    rows, lower = p.rows, stretch(LOWER, p, w)
    first, base, reach = rows.envelope.first, rows.envelope.base, rows.envelope.reach
    bottom = int(w[FROM_ROW, r])
    for j in range(int(w[FROM_ROW, r]), int(w[TO_ROW, r]) + 1):
        bottom = min(bottom, first[j])
    shared = top = reach[int(w[TO_ROW, r])]
    j = bottom
    while j <= top:
        total = 0.0
        if w[LATE, j] == 0.0:
            if j <= shared:
                total = shares(r, j, p, w)
            for i in range(max(first[j], bottom), j):
                total -= lower[base[j] + i] * w[Z, i]
            if abs(total) * w[DIAGONAL, j] * rows.places[SCALE, j] > faint:
                top = max(top, reach[j])
        w[Z, j] = total
        j += 1
    for j in range(bottom, top + 1):
        w[Z, j] *= w[DIAGONAL, j]
    found, j = False, top
    while j >= bottom:
        part = w[Z, j]
        for i in range(max(first[j], bottom), j):
            w[Z, i] -= lower[base[j] + i] * part
        if abs(part) * rows.places[SCALE, j] > faint:
            found = True
            for i in range(first[j], bottom):
                w[Z, i] = -lower[base[j] + i] * part
            bottom = min(bottom, first[j])
            take_off(r, j, part, p, w)
        j -= 1
    return found


@kernel
def shares(r, j, p, w):
    """Return the product of the combined row r with row j in the plain metric."""
    plain, _, combined, _ = matrices(p)
    total, least, most = 0.0, w[FROM_BODY, r], w[TO_BODY, r]
    for k in range(p.rows.whole[FIRST, j], p.rows.whole[LAST, j]):
        i = p.rows.paths[k]
        if least <= i <= most:
            total += w[plain + j, i] * w[combined + r, i] * p.rows.weight[i]
    return total


@apart
def take_off(r, j, part, p, w):
    """Take a part of row j off the combined row r."""
    plain, _, combined, parts = matrices(p)
    whole = p.rows.whole
    widen(r, FROM_ROW, j, j, parts + r, parts + r, w)
    widen(r, FROM_BODY, whole[FIRST_BODY, j], whole[LAST_BODY, j], combined + r, STEP, w)
    w[FROM_COLUMN, r] = min(w[FROM_COLUMN, r], whole[LOW, j])
    w[TO_COLUMN, r] = max(w[TO_COLUMN, r], whole[HIGH, j])
    w[parts + r, j] -= part
    add_gradient(j, plain + j, low_parts(p) + j, -part, combined + r, STEP, p, w)


@apart
def widen(r, start, least, most, row, other, w):
    """Widen a range of row r, whose ends are in rows `start` and the next, and fill what is new of two rows with zeros."""
    old, last = int(w[start, r]), int(w[start + 1, r])
    for i in range(least, old):
        w[row, i] = w[other, i] = 0.0
    for i in range(last + 1, most + 1):
        w[row, i] = w[other, i] = 0.0
    w[start, r], w[start + 1, r] = min(old, least), max(last, most)


@apart
def recombined(p, w):
    """Fill RIGHT with MISSED, combined as the rows are."""
    parts = matrices(p)[3]
    for k in range(p.rows.total - p.rows.spare):
        r = int(w[ORDER, k])
        total = w[MISSED, r]
        if w[LATE, r] != 0.0:
            total = 0.0
            for j in range(int(w[FROM_ROW, r]), int(w[TO_ROW, r]) + 1):
                if w[parts + r, j] != 0.0:
                    total += w[parts + r, j] * w[MISSED, j]
        w[RIGHT, k] = total
