"""QR of the rows of the constraints, by Householder's reflections, a row of the constraints in a row of the matrix.

Bodies are numbered so that those of a row are near each other, and rows come by their first body; a reflection goes from the
diagonal to the last column reached so far. Where the linkage is a ladder the cost is linear in its length. A row of which little
is left, when those kept are taken off, is put off: it is combined with these in twice the digits (`combining`) and stands in its
place. Only where next to nothing is left of it when the rows before are taken off, or where rows are spare, it comes last, the
largest first.
"""

from __future__ import annotations

import math

from nlink.compiled.jit import apart, kernel
from nlink.formulations.combining import combine_all, recombined
from nlink.formulations.constraint_rows import (
    BEGIN,
    BETA,
    DIAGONAL,
    END,
    FROM_BODY,
    FROM_COLUMN,
    GATE,
    INFO,
    LATE,
    MISSED,
    NONE_OFF,
    OFF,
    ORDER,
    PIVOT,
    RIGHT,
    SHARP,
    SIZE_LEFT,
    TO_BODY,
    TO_COLUMN,
    Z,
    matrices,
)
from nlink.formulations.dead import missed_in_line
from nlink.formulations.row_numbers import AXIS, BAR, CLOSURE, COMPANION, FIRST, HIGH, KIND, LAST, LOW, PIN, SCALE
from nlink.formulations.rows import GIVE, ROOT, direction, gradient, miss, miss_rate, whiten, whiten_some
from nlink.formulations.sharp import miss_sharply
from nlink.mechanics.tree import PRESCRIBED, V

HIT = 1e-8
"""Part of its scale at which the derivative of a row takes its place."""
LITTLE, TINY = 0.1, 1e-6
"""Parts of the combined row and of its scale: a row of which less is left comes last."""
CANCELLED = 1e-8
"""Part of its square below which the length of a row is summed anew: the digits of the difference are gone."""
POSITIONS, RATES, ALL = range(3)
"""What is solved for: corrections of positions, of rates, or accelerations."""


@kernel
def product_of(a, b, first, end, w):
    """Return the product of two rows from column `first` to `end`: four sums side by side do not wait for each other."""
    one = two = three = four = 0.0
    i = first
    while i + 3 < end:
        one += w[a, i] * w[b, i]
        two += w[a, i + 1] * w[b, i + 1]
        three += w[a, i + 2] * w[b, i + 2]
        four += w[a, i + 3] * w[b, i + 3]
        i += 4
    while i < end:
        one += w[a, i] * w[b, i]
        i += 1
    return (one + two) + (three + four)


@kernel
def mirror(k, first, last, matrix, w):
    """Reflect row k by the reflections first..last-1."""
    for j in range(first, last):
        end = int(w[END, j]) + 1
        total = product_of(matrix + j, matrix + k, j, end, w) * w[BETA, j]
        for i in range(j, end):
            w[matrix + k, i] -= total * w[matrix + j, i]


@kernel
def left_over(k, at, end, matrix, w):
    """Return the length of row k from column `at` on."""
    return math.sqrt(product_of(matrix + k, matrix + k, at, end, w))


@kernel
def reflect(k, size, matrix, w):
    """Make row k, of which `size` is left, the next reflection."""
    if size == 0.0:
        w[DIAGONAL, k] = w[BETA, k] = 0.0
        return
    diagonal = -math.copysign(size, w[matrix + k, k])
    w[DIAGONAL, k] = diagonal
    w[matrix + k, k] -= diagonal
    w[BETA, k] = -1.0 / (diagonal * w[matrix + k, k])


@apart
def along_q(row, count, back, p, w):
    """Multiply `row` of w by Q, or by its transpose."""
    matrix = matrices(p)[1]
    for step in range(count):
        k = step if back else count - 1 - step
        end = int(w[END, k]) + 1
        total = product_of(matrix + k, row, k, end, w) * w[BETA, k]
        for i in range(k, end):
            w[row, i] -= total * w[matrix + k, i]


@kernel
def columns_of(r, p, w):
    """Return the first and the last column of row r of the constraints, combined if it is put off."""
    if w[LATE, r] != 0.0:
        return int(w[FROM_COLUMN, r]), int(w[TO_COLUMN, r])
    return p.rows.whole[LOW, r], p.rows.whole[HIGH, r]


@kernel
def begin_row(k, r, p, w):
    """Fill with zeros what row k of the reflections has of row r of the constraints before the last column reached; note that in
    END, and the first entry in BEGIN; return the first reflection that reaches the row, and where the row ends.
    """
    matrix = matrices(p)[1]
    low, end = columns_of(r, p, w)
    first = k
    while first > 0 and w[END, first - 1] >= low:
        first -= 1
    if k > 0:
        end = max(end, int(w[END, k - 1]))
    low = min(first, low)
    for i in range(low, end + 1):
        w[matrix + k, i] = 0.0
    w[END, k], w[BEGIN, k] = end, low
    return first, end + 1


@kernel
def load(k, r, p, w):
    """Fill row k of the reflections with the gradient of row r of the constraints, scaled; prescribed coordinates do not move."""
    plain, matrix, combined, _ = matrices(p)
    rows = p.rows
    if w[LATE, r] != 0.0:
        for i in range(int(w[FROM_BODY, r]), int(w[TO_BODY, r]) + 1):
            if w[combined + r, i] != 0.0 and not p.tree.bodies[PRESCRIBED, i]:
                w[matrix + k, rows.column[i]] = w[combined + r, i] * rows.unit[i]
        return
    for at in range(rows.whole[FIRST, r], rows.whole[LAST, r]):
        i = rows.paths[at]
        if not p.tree.bodies[PRESCRIBED, i]:
            w[matrix + k, rows.column[i]] = w[plain + r, i] * rows.unit[i]


@apart
def factor(p, w):
    """Factor the gradients in the plain metric, where `factor_plain` has found which rows are put off; return how many
    reflections come in the order of the rows. The others come last.
    """
    rows, m = p.rows, p.rows.total
    matrix = matrices(p)[1]
    late = 0
    for r in range(m):
        late += w[LATE, r] != 0.0
        w[OFF, r] = 0.0
    sharply = late > rows.spare
    w[INFO, SHARP] = 1.0 if sharply else 0.0
    if sharply:
        combine_all(p, w)
    else:
        for r in range(m):
            gradient(r, matrices(p)[0] + r, p, w)
    kept, off, size = 0, m, 0.0
    for r in range(m):
        last = w[LATE, r] != 0.0 and (rows.spare > 0 or not sharply)
        if not last:
            first, end = begin_row(kept, r, p, w)
            load(kept, r, p, w)
            mirror(kept, first, kept, matrix, w)
            size = left_over(kept, kept, end, matrix, w)
            last = w[LATE, r] != 0.0 and size <= max(LITTLE * w[SIZE_LEFT, r], TINY * rows.places[SCALE, r])
        if last:
            off -= 1
            w[ORDER, off] = r
        else:
            reflect(kept, size, matrix, w)
            w[ORDER, kept], w[PIVOT, kept] = r, size
            kept += 1
    if kept < m - rows.spare:
        put_last(kept, p, w)
    if sharply:
        take_off_dead(p, w)
    return kept


@apart
def put_last(kept, p, w):
    """Factor the rows that come last, the largest first."""
    n, m = p.chain.n, p.rows.total
    matrix = matrices(p)[1]
    for k in range(kept, m):
        r = int(w[ORDER, k])
        low, first = columns_of(r, p, w)[0], kept
        for i in range(n):
            w[matrix + k, i] = 0.0
        load(k, r, p, w)
        while first > 0 and w[END, first - 1] >= low:
            first -= 1
        mirror(k, first, kept, matrix, w)
        w[PIVOT, k] = w[GATE, k] = left_over(k, kept, n, matrix, w)
    for k in range(kept, m):
        best = k
        for j in range(k + 1, m):
            if w[PIVOT, j] > w[PIVOT, best]:
                best = j
        if best != k:
            swap(k, best, p, w)
        size = left_over(k, k, n, matrix, w)
        reflect(k, size, matrix, w)
        w[END, k], w[BEGIN, k], w[PIVOT, k] = n - 1, 0, size
        for j in range(k + 1, m):
            mirror(j, k, k + 1, matrix, w)
            shorten(j, k, n, matrix, w)


@kernel
def shorten(j, k, n, matrix, w):
    """Take what the reflection k has taken off row j off its length PIVOT; where that cancels, from GATE on, it is summed anew."""
    size, taken = w[PIVOT, j], w[matrix + j, k]
    square = (size - taken) * (size + taken)
    if square <= CANCELLED * w[GATE, j] * w[GATE, j]:
        w[PIVOT, j] = w[GATE, j] = left_over(j, k + 1, n, matrix, w)
    else:
        w[PIVOT, j] = math.sqrt(square)


@kernel
def swap(k, j, p, w):
    """Exchange two rows of the reflections."""
    matrix = matrices(p)[1]
    for row in (ORDER, PIVOT, GATE):
        w[row, k], w[row, j] = w[row, j], w[row, k]
    for i in range(p.chain.n):
        w[matrix + k, i], w[matrix + j, i] = w[matrix + j, i], w[matrix + k, i]


@kernel
def take_off_dead(p, w):
    """Note what the dead positions nearby are missed by, for the closures whose rows are put off."""
    rows = p.rows
    for k in range(rows.total - rows.spare):
        r = int(w[ORDER, k])
        if w[LATE, r] == 0.0:
            continue
        x, y = missed_in_line(rows.whole[CLOSURE, r], rows.loops, w)
        if rows.whole[KIND, r] == PIN:
            other = rows.whole[COMPANION, r]
            w[OFF, r] = y if rows.whole[AXIS, r] else x
            w[OFF, other] = y if rows.whole[AXIS, other] else x
        elif rows.whole[KIND, r] == BAR:
            w[OFF, r] = x
        elif x != 0.0 or y != 0.0:
            nx, ny = direction(r, p, w)
            w[OFF, r] = nx * x + ny * y


@kernel
def misses(kept, p, w):
    """Fill RIGHT with what the rows are missed by."""
    if kept == NONE_OFF:
        for r in range(p.rows.total):
            w[RIGHT, r] = miss(r, p, w)
    else:
        misses_combined(p, w)


@apart
def misses_combined(p, w):
    """The same of the rows in reflection, which may be combined."""
    for r in range(p.rows.total):
        w[MISSED, r] = miss_sharply(r, p, w) - w[OFF, r] if w[INFO, SHARP] != 0.0 else miss(r, p, w)
    recombined(p, w)


@kernel
def rates_missed(kept, p, w):
    """Fill RIGHT with the rates of what the rows are missed by; return the size of the rates, if it counts."""
    if kept != NONE_OFF:
        return rates_combined(p, w)
    for r in range(p.rows.total):
        w[RIGHT, r] = miss_rate(r, p, w)
    return 0.0


@apart
def rates_combined(p, w):
    """The same of the rows in reflection, which may be combined."""
    combined = matrices(p)[2]
    speed = 0.0
    for i in range(p.chain.n):
        speed += w[V, i] * w[V, i] / (p.rows.unit[i] * p.rows.unit[i])
    for k in range(p.rows.total - p.rows.spare):
        r = int(w[ORDER, k])
        total = 0.0
        if w[LATE, r] == 0.0:
            total = miss_rate(r, p, w)
        else:
            for i in range(int(w[FROM_BODY, r]), int(w[TO_BODY, r]) + 1):
                total += w[combined + r, i] * w[V, i]
        w[RIGHT, k] = total
    return math.sqrt(speed)


@apart
def forward(what, speed, gated, p, w):
    """Solve R^T Z = RIGHT. A small pivot carries no correction that reaches as far as the dead position itself: GATE says which."""
    rows = p.rows
    matrix = matrices(p)[1]
    for k in range(rows.total - rows.spare):
        total = w[RIGHT, k]
        for j in range(int(w[BEGIN, k]), k):
            total -= w[matrix + k, j] * w[Z, j]
        if gated:
            r = int(w[ORDER, k])
            size, scale, late = w[PIVOT, k], rows.places[SCALE, r], w[LATE, r] != 0.0
            w[GATE, k] = 1.0
            if late and what == POSITIONS:
                w[GATE, k] = 1.0 if abs(total) * scale <= 0.1 * size * size and size > 0.0 else 0.0
            elif late and what == RATES:
                w[GATE, k] = 1.0 if abs(total) <= 0.1 * size * speed and size > HIT * scale else 0.0
        w[Z, k] = total / w[DIAGONAL, k] if w[GATE, k] != 0.0 else 0.0


@apart
def factor_whole(p, w):
    """Factor the gradients in the metric of the masses, in the order that `factor` has found."""
    matrix, combined = matrices(p)[1], matrices(p)[2]
    for i in range(p.chain.n):
        w[ROOT, i] = math.sqrt(w[GIVE, i])
    for k in range(p.rows.total - p.rows.spare):
        r = int(w[ORDER, k])
        first, end = begin_row(k, r, p, w)
        if w[LATE, r] != 0.0:
            whiten_some(combined + r, int(w[FROM_BODY, r]), int(w[TO_BODY, r]), matrix + k, p, w)
        else:
            whiten(r, matrix + k, p, w)
        mirror(k, first, k, matrix, w)
        reflect(k, left_over(k, k, end, matrix, w), matrix, w)
