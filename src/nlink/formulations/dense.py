"""Solving a dense system held in scratch rows, for the formulations that build one."""

from __future__ import annotations

from nlink.compiled.jit import kernel


@kernel
def solve(n, w, matrix, right, count):
    """Solve the rows matrix.. of w for its rows right..right+count-1, in place: elimination with row pivots, then back
    substitution.
    """
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(w[matrix + i, k]) > abs(w[matrix + best, k]):
                best = i
        if best != k:
            for j in range(k, n):
                w[matrix + k, j], w[matrix + best, j] = w[matrix + best, j], w[matrix + k, j]
            for row in range(right, right + count):
                w[row, k], w[row, best] = w[row, best], w[row, k]
        inverse = 1.0 / w[matrix + k, k]
        for i in range(k + 1, n):
            factor = w[matrix + i, k] * inverse
            for j in range(k + 1, n):
                w[matrix + i, j] -= factor * w[matrix + k, j]
            for row in range(right, right + count):
                w[row, i] -= factor * w[row, k]
    for row in range(right, right + count):
        for j in range(n):
            k = n - 1 - j
            total = w[row, k]
            for i in range(k + 1, n):
                total -= w[matrix + k, i] * w[row, i]
            w[row, k] = total / w[matrix + k, k]
