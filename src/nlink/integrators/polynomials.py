"""Dense output as a polynomial of each step: y(t + u h) = y + h sum_j u^(j+1) q_j, u from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlink.compiled.jit import entry, kernel
from nlink.compiled.views import views
from nlink.integrators.base import Chunk


@dataclass
class PolynomialChunk(Chunk):
    """Steps with their polynomials q (K, powers, m)."""

    q: np.ndarray

    def at(self, times: np.ndarray) -> np.ndarray:
        """Evaluate the polynomials."""
        out = np.empty((len(times), self.y.shape[1]))
        evaluate(self.t, self.y, self.q, np.asarray(times, float), out)
        return out


@entry("dense output")
def evaluate(t, y, q, times, out):
    """Fill out with the states at times (in the order of the steps) from the polynomials of the steps."""
    t, y, q, times, out = views(t), views(y), views(q), views(times), views(out)
    k = 0
    last = len(t) - 2
    sign = 1.0 if t[len(t) - 1] >= t[0] else -1.0
    for i in range(len(times)):
        while k < last and (times[i] - t[k + 1]) * sign > 0:
            k += 1
        if times[i] == t[k + 1]:
            copy_row(y[k + 1], out[i])
        else:
            h = t[k + 1] - t[k]
            horner((times[i] - t[k]) / h, h, y[k], q[k], out[i])


@kernel
def copy_row(row, out):
    """Copy a row, number by number: the message of Numba's slice assignment about unequal shapes takes 4 s to compile."""
    for i in range(len(row)):
        out[i] = row[i]


@kernel
def horner(u, h, y, q, out):
    """Fill out with y + h sum_j u^(j+1) q_j."""
    for i in range(len(y)):
        out[i] = horner_at(u, h, y, q, i)


@kernel
def horner_at(u, h, y, q, i):
    """Return component i of y + h sum_j u^(j+1) q_j."""
    total = 0.0
    for power in range(len(q) - 1, -1, -1):
        total = u * (total + q[power, i])
    return y[i] + h * total
