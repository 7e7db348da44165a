"""Stages of a step: rates of motion at states that are sums of the rates found so far.

    k_s = f(t + c_s h, y + h sum_j weight_sj k_j)

A right-hand side alone is a stage without a sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlink.compiled.addresses import contiguous
from nlink.compiled.jit import apart, kernel
from nlink.mechanics.contract import rhs


class Sums(NamedTuple):
    """Sums of stages, a row each: in blocks of four, which stages (`pick`) and their weights; and the times of the stages."""

    c: np.ndarray
    pick: np.ndarray
    weight: np.ndarray
    blocks: np.ndarray


@kernel
def combine(sums, row, y, h, stages, out):
    """Fill out = y + h sum_j weight_j stage_j, four stages at a time, the first eight together where there are more."""
    blocks = sums.blocks[row]
    if blocks == 0:
        return
    i0, i1, i2, i3 = sums.pick[row, 0], sums.pick[row, 1], sums.pick[row, 2], sums.pick[row, 3]
    a0, a1, a2, a3 = h * sums.weight[row, 0], h * sums.weight[row, 1], h * sums.weight[row, 2], h * sums.weight[row, 3]
    if blocks == 1:
        for i in range(len(out)):
            out[i] = y[i] + (a0 * stages[i0, i] + a1 * stages[i1, i] + a2 * stages[i2, i] + a3 * stages[i3, i])
        return
    i4, i5, i6, i7 = sums.pick[row, 4], sums.pick[row, 5], sums.pick[row, 6], sums.pick[row, 7]
    a4, a5, a6, a7 = h * sums.weight[row, 4], h * sums.weight[row, 5], h * sums.weight[row, 6], h * sums.weight[row, 7]
    for i in range(len(out)):
        first = a0 * stages[i0, i] + a1 * stages[i1, i] + a2 * stages[i2, i] + a3 * stages[i3, i]
        out[i] = y[i] + (first + (a4 * stages[i4, i] + a5 * stages[i5, i] + a6 * stages[i6, i] + a7 * stages[i7, i]))
    for block in range(2, blocks):
        j = 4 * block
        i0, i1, i2, i3 = sums.pick[row, j], sums.pick[row, j + 1], sums.pick[row, j + 2], sums.pick[row, j + 3]
        a0, a1 = h * sums.weight[row, j], h * sums.weight[row, j + 1]
        a2, a3 = h * sums.weight[row, j + 2], h * sums.weight[row, j + 3]
        for i in range(len(out)):
            out[i] += a0 * stages[i0, i] + a1 * stages[i1, i] + a2 * stages[i2, i] + a3 * stages[i3, i]


@apart
def combine_apart(sums, row, y, h, stages, out):
    """Do the same, for the dense output of a method: two places call it, seldom."""
    known = Sums(contiguous(sums.c), sums.pick, contiguous(sums.weight), sums.blocks)
    combine(known, row, contiguous(y), h, contiguous(stages), contiguous(out))


@kernel
def run_stages(sums, p, t, h, y, first, last, stages, point, w):
    """Evaluate the stages first..last-1; `point` is left at the last stage's state, and is the state of a stage without a sum."""
    for s in range(first, last):
        combine(sums, s, y, h, stages, point)
        rhs(t + sums.c[s] * h, point, p, stages[s], w)
