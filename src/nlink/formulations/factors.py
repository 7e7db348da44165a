"""QR of the rows of the constraints, by Householder's reflections, a row of the constraints in a row of the matrix.

Bodies are numbered so that those of a row are near each other, and rows come by their first body; a reflection goes from the
diagonal to the last column reached so far. Where the linkage is a ladder the cost is linear in its length. A row of which little
is left, when those before are taken off, is put off: it comes last, the largest first, combined with the others in twice the
digits.
"""

from __future__ import annotations

import math

from nlink.compiled.jit import apart, kernel
from nlink.formulations.dead import missed_in_line
from nlink.formulations.row_numbers import AXIS, BAR, CLOSURE, COMPANION, FIRST, HIGH, KIND, LAST, LOW, PIN, SCALE
from nlink.formulations.rows import GIVE, ROOT, STEP, direction, gradient, miss, miss_rate, whiten, whiten_all
from nlink.formulations.sharp import SHARP_ROWS, add_gradient, gradient_sharply, miss_sharply, pose_sharply
from nlink.mechanics.tree import PRESCRIBED, V

DIAGONAL, BETA, ORDER, END, BEGIN, PIVOT, MISSED, RIGHT, Z, GATE, OFF, INFO = range(SHARP_ROWS, SHARP_ROWS + 12)
"""Rows with a number for each row of the constraints: of R its diagonal, of the reflections their factor; which row it is; the
last column and the first entry that is not zero; the pivot in the plain metric; what is missed, the same of the combined rows, the
solution, whether a row counts; what a dead position misses; and INFO.
"""
MATRICES = SHARP_ROWS + 12
"""Where the matrices begin, each with a row for each row of the constraints: gradients, those in reflection, the combined
gradients, how they are combined, and the low parts of the gradients.
"""
SIGMA, KEPT, SPARE, UNDETERMINED = range(4)
"""Places in INFO: the smallest pivot against the scale of its row, how many rows are kept and spare, and why accelerations are not
determined.
"""
ZONE = 0.1
"""Part of its scale at which a row is put off."""
HIT = 1e-8
"""Part of its scale at which the derivative of a row takes its place."""
FAINT = 0.01
"""Parts of a combined row that are left out, against what is left of it: what they round is less than what is left does."""
CANCELLED = 1e-8
"""Part of its square below which the length of a row is summed anew: the digits of the difference are gone."""
NONE_OFF = -1
"""Instead of how many rows are kept: none but the spare ones nearly follows from others, and the rows are not reflected."""
POSITIONS, RATES, ALL = range(3)
"""What is solved for: corrections of positions, of rates, or accelerations."""


@kernel
def matrices(p):
    """Return the first rows of the four matrices."""
    m = p.rows.total
    return MATRICES, MATRICES + m, MATRICES + 2 * m, MATRICES + 3 * m


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
def low_parts(p):
    """Return the first row of the low parts of the gradients."""
    return MATRICES + 4 * p.rows.total


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


@apart
def load(k, source, p, w):
    """Fill row k of the reflections with a gradient, scaled; prescribed coordinates do not move."""
    matrix = matrices(p)[1]
    for i in range(p.chain.n):
        moves = 0.0 if p.tree.bodies[PRESCRIBED, i] else p.rows.unit[i]
        w[matrix + k, p.rows.column[i]] = w[source, i] * moves


@kernel
def load_sparsely(k, r, first, end, p, w):
    """Fill row k of the reflections, from column `first` to `end`, with the gradient of row r of the constraints."""
    plain, matrix, _, _ = matrices(p)
    for i in range(first, end):
        w[matrix + k, i] = 0.0
    for at in range(p.rows.whole[FIRST, r], p.rows.whole[LAST, r]):
        i = p.rows.paths[at]
        moves = 0.0 if p.tree.bodies[PRESCRIBED, i] else p.rows.unit[i]
        w[matrix + k, p.rows.column[i]] = w[plain + r, i] * moves


@apart
def factor(sharply, p, w):
    """Factor the gradients in the plain metric, the rows put off in twice the digits or not; return how many are not put off."""
    rows, m = p.rows, p.rows.total
    plain, matrix, _, _ = matrices(p)
    kept, off, first = 0, m, 0
    for r in range(m):
        gradient(r, plain + r, p, w)
        while first < kept and w[END, first] < rows.whole[LOW, r]:
            first += 1
        end = rows.whole[HIGH, r]
        if kept > 0:
            end = max(end, int(w[END, kept - 1]))
        load_sparsely(kept, r, min(first, rows.whole[LOW, r]), end + 1, p, w)
        mirror(kept, first, kept, matrix, w)
        size = left_over(kept, kept, end + 1, matrix, w)
        if size <= ZONE * rows.places[SCALE, r]:
            off -= 1
            w[ORDER, off] = r
        else:
            reflect(kept, size, matrix, w)
            w[ORDER, kept], w[END, kept], w[BEGIN, kept] = r, end, min(first, rows.whole[LOW, r])
            w[PIVOT, kept] = size
            kept += 1
    if kept < m - rows.spare:
        put_off(kept, sharply, p, w)
    for k in range(m):
        w[OFF, k] = 0.0
    if sharply and kept < m - rows.spare:
        take_off_dead(kept, p, w)
    return kept


@apart
def put_off(kept, sharply, p, w):
    """Factor the rows put off, the largest first; combined with those kept, in twice the digits, if so much is wanted."""
    n, m = p.chain.n, p.rows.total
    matrix = matrices(p)[1]
    if sharply:
        combine_all(kept, p, w)
    for k in range(kept, m):
        if sharply:
            load(k, matrices(p)[2] + k, p, w)
            mirror(k, 0, kept, matrix, w)
        else:
            reduce(k, kept, p, w)
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


@apart
def combine_all(kept, p, w):
    """Combine the rows put off with those kept, in twice the digits."""
    n, m = p.chain.n, p.rows.total
    plain, matrix, _, parts = matrices(p)
    pose_sharply(p, w)
    for r in range(m):
        gradient_sharply(r, plain + r, low_parts(p) + r, p, w)
    for k in range(kept, m):
        r = int(w[ORDER, k])
        reduce(k, kept, p, w)
        for step in range(kept):
            j = kept - 1 - step
            total, l = w[matrix + k, j], j + 1  # noqa: E741
            while l < kept and w[BEGIN, l] <= j:
                total -= w[matrix + l, j] * w[parts + k, l]
                l += 1  # noqa: E741
            w[parts + k, j] = total / w[DIAGONAL, j]
        combine(k, kept, FAINT * left_over(k, kept, n, matrix, w) / p.rows.places[SCALE, r], p, w)


@apart
def reduce(k, kept, p, w):
    """Fill row k of the reflections with the gradient of its row, reflected by those kept."""
    r, first = int(w[ORDER, k]), 0
    load_sparsely(k, r, 0, p.chain.n, p, w)
    while first < kept and w[END, first] < p.rows.whole[LOW, r]:
        first += 1
    mirror(k, first, kept, matrices(p)[1], w)


@kernel
def shorten(j, k, n, matrix, w):
    """Take what the reflection k has taken off row j off its length PIVOT; where that cancels, from GATE on, it is summed anew."""
    size, taken = w[PIVOT, j], w[matrix + j, k]
    square = (size - taken) * (size + taken)
    if square <= CANCELLED * w[GATE, j] * w[GATE, j]:
        w[PIVOT, j] = w[GATE, j] = left_over(j, k + 1, n, matrix, w)
    else:
        w[PIVOT, j] = math.sqrt(square)


@apart
def combine(k, kept, faint, p, w):
    """Fill the gradient of row k, that was put off, combined with the rows kept; smaller parts than `faint` are left out."""
    plain, _, combined, parts = matrices(p)
    low = low_parts(p)
    for i in range(p.chain.n):
        w[combined + k, i] = w[STEP, i] = 0.0
    for j in range(kept + 1):
        at = k if j == kept else j
        part, r = 1.0 if at == k else -w[parts + k, j], int(w[ORDER, at])
        if at != k and abs(part) < faint:
            w[parts + k, j] = 0.0
        else:
            add_gradient(r, plain + r, low + r, part, combined + k, STEP, p, w)
    for i in range(p.chain.n):
        w[combined + k, i] += w[STEP, i]


@kernel
def swap(k, j, p, w):
    """Exchange two rows that were put off."""
    _, matrix, combined, parts = matrices(p)
    for row in (ORDER, PIVOT, GATE):
        w[row, k], w[row, j] = w[row, j], w[row, k]
    for row in (matrix, combined, parts):
        for i in range(max(p.chain.n, p.rows.total)):
            w[row + k, i], w[row + j, i] = w[row + j, i], w[row + k, i]


@kernel
def take_off_dead(kept, p, w):
    """Note what the dead positions nearby are missed by, for the closures whose rows are put off."""
    rows = p.rows
    for k in range(kept, rows.total - rows.spare):
        r = int(w[ORDER, k])
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


@apart
def recombined(kept, p, w):
    """Fill RIGHT with MISSED, combined as the rows are."""
    parts = matrices(p)[3]
    for k in range(p.rows.total - p.rows.spare):
        total = w[MISSED, int(w[ORDER, k])]
        if k >= kept:
            for j in range(kept):
                if w[parts + k, j] != 0.0:
                    total -= w[parts + k, j] * w[MISSED, int(w[ORDER, j])]
        w[RIGHT, k] = total


@kernel
def misses(kept, p, w):
    """Fill RIGHT with what the rows are missed by."""
    if kept == NONE_OFF:
        for r in range(p.rows.total):
            w[RIGHT, r] = miss(r, p, w)
    else:
        misses_combined(kept, p, w)


@apart
def misses_combined(kept, p, w):
    """The same of the rows in reflection, which may be combined."""
    m = p.rows.total
    sharply = kept < m - p.rows.spare
    for r in range(m):
        w[MISSED, r] = miss_sharply(r, p, w) - w[OFF, r] if sharply else miss(r, p, w)
    recombined(kept, p, w)


@kernel
def rates_missed(kept, p, w):
    """Fill RIGHT with the rates of what the rows are missed by; return the size of the rates, if it counts."""
    if kept != NONE_OFF:
        return rates_combined(kept, p, w)
    for r in range(p.rows.total):
        w[RIGHT, r] = miss_rate(r, p, w)
    return 0.0


@apart
def rates_combined(kept, p, w):
    """The same of the rows in reflection, which may be combined."""
    combined = matrices(p)[2]
    speed = 0.0
    for i in range(p.chain.n):
        speed += w[V, i] * w[V, i] / (p.rows.unit[i] * p.rows.unit[i])
    for k in range(p.rows.total - p.rows.spare):
        if k < kept:
            w[RIGHT, k] = miss_rate(int(w[ORDER, k]), p, w)
            continue
        total = 0.0
        for i in range(p.chain.n):
            total += w[combined + k, i] * w[V, i]
        w[RIGHT, k] = total
    return math.sqrt(speed)


@apart
def forward(kept, what, speed, gated, p, w):
    """Solve R^T Z = RIGHT. A small pivot carries no correction that reaches as far as the dead position itself: GATE says which."""
    rows = p.rows
    matrix = matrices(p)[1]
    for k in range(rows.total - rows.spare):
        total = w[RIGHT, k]
        for j in range(int(w[BEGIN, k]), k):
            total -= w[matrix + k, j] * w[Z, j]
        if gated:
            size, scale = w[PIVOT, k], rows.places[SCALE, int(w[ORDER, k])]
            w[GATE, k] = 1.0
            if k >= kept and what == POSITIONS:
                w[GATE, k] = 1.0 if abs(total) * scale <= 0.1 * size * size and size > 0.0 else 0.0
            elif k >= kept and what == RATES:
                w[GATE, k] = 1.0 if abs(total) <= 0.1 * size * speed and size > HIT * scale else 0.0
        w[Z, k] = total / w[DIAGONAL, k] if w[GATE, k] != 0.0 else 0.0


@apart
def factor_whole(kept, p, w):
    """Factor the gradients in the metric of the masses, in the order that `factor` has found."""
    rows, n = p.rows, p.chain.n
    _, matrix, combined, _ = matrices(p)
    first = 0
    for i in range(n):
        w[ROOT, i] = math.sqrt(w[GIVE, i])
    for k in range(rows.total - rows.spare):
        r, end, low = int(w[ORDER, k]), n - 1, 0
        if k < kept:
            low, end = rows.whole[LOW, r], rows.whole[HIGH, r]
            while first < k and w[END, first] < low:
                first += 1
            if k > 0:
                end = max(end, int(w[END, k - 1]))
            for i in range(min(first, low), end + 1):
                w[matrix + k, i] = 0.0
            whiten(r, matrix + k, p, w)
        else:
            whiten_all(combined + k, matrix + k, p, w)
            first = 0
        mirror(k, first, k, matrix, w)
        w[END, k], w[BEGIN, k] = end, min(first, low)
        reflect(k, left_over(k, k, end + 1, matrix, w), matrix, w)
