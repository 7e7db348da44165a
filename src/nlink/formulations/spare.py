"""Spare rows: how many rows of the closures follow from the others wherever the mechanism can be and move."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from nlink.compiled.jit import apart, entry
from nlink.compiled.references import by_address
from nlink.compiled.views import views
from nlink.formulations.closing import ROUNDS, close, place_all
from nlink.formulations.constraint_rows import DIAGONAL, MATRICES, NONE_OFF, ORDER, PIVOT, RIGHT, matrices
from nlink.formulations.delassus import factor_plain, solve
from nlink.formulations.envelope import LEAST, PLAIN, ROWS
from nlink.formulations.row_numbers import AXIS, CLOSURE, SCALE, row_numbers
from nlink.formulations.rows import PART, ClosedParameters, gradient, miss
from nlink.mechanics.chain import Link
from nlink.mechanics.kernels import chain_parameters
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.points import Closure
from nlink.mechanics.tree import Q, V, tree_numbers

TRIES, SEARCH, ASIDE, RANK = 4, 100, 0.05, 1e-6
"""Closed states at which the rows are counted, and states around each; steps of Newton's method for each row; how far around, as
angles; and pivots that count as none.
"""
NEARLY = 1e-9
"""Part of its scale by which a row may be missed at a state that counts as closed; the last step of Newton's method to it."""
FARTHEST, NEXT = 0.5, 0.01
"""Largest step of Newton's method, as an angle, and the step after which the next row counts."""


@entry("what closes mechanisms")
def rank_at(q, p, w):
    """Return the number of rows that do not follow from the others at the closed state near q; 0 if none is found."""
    return count(views(q), by_address(views(p)), views(w))


@apart
def count(q, p, w):
    """Do so."""
    rows = p.rows
    for i in range(p.chain.n):
        w[Q, i], w[V, i] = q[i], 0.0
    place_all(p, w)
    kept = NONE_OFF
    for _ in range(ROUNDS):
        kept = close(p, w)
    for r in range(rows.total):
        if abs(miss(r, p, w)) > NEARLY * rows.places[SCALE, r]:
            return 0
    if kept == NONE_OFF:
        return rows.total - rows.spare
    rank = 0
    for k in range(rows.total):
        rank += w[PIVOT, k] > RANK * rows.places[SCALE, int(w[ORDER, k])]
    return rank


@entry("what closes mechanisms")
def rows_of(q, p, values, gradients, w):
    """Fill the misses (rows,) and gradients (rows, N) of the rows at coordinates q."""
    write(views(q), by_address(views(p)), views(values), views(gradients), views(w))


@apart
def write(q, p, values, gradients, w):
    """Do so."""
    for i in range(p.chain.n):
        w[Q, i], w[V, i] = q[i], 0.0
    place_all(p, w)
    for r in range(p.rows.total):
        values[r] = miss(r, p, w)
        gradient(r, matrices(p)[0] + r, p, w)
        for i in range(p.chain.n):
            gradients[r, i] = w[matrices(p)[0] + r, i]


@entry("what closes mechanisms")
def approached(q, p, w):
    """Close the rows one after another from coordinates q, in place, by Newton's method; return whether all are closed."""
    return approach(views(q), by_address(views(p)), views(w))


@apart
def approach(q, p, w):
    """Do so: the next row counts when those before are nearly closed."""
    m = p.rows.total
    for i in range(p.chain.n):
        w[Q, i], w[V, i] = q[i], 0.0
    for count in range(1, m + 1):
        near, steps = NEXT if count < m else NEARLY, 0
        while newton(count, p, w) > near:
            steps += 1
            if steps == SEARCH:
                return False
    for r in range(m):
        if abs(miss(r, p, w)) > NEARLY * p.rows.places[SCALE, r]:
            return False
    for i in range(p.chain.n):
        q[i] = w[Q, i]
    return True


@apart
def newton(count, p, w):
    """Take a step of Newton's method to where the first `count` rows are closed; return its size."""
    place_all(p, w)
    factor_plain(RANK, p, w)
    for r in range(p.rows.total):
        w[RIGHT, r] = miss(r, p, w)
        if r >= count:
            w[DIAGONAL, r] = 0.0
    solve(PLAIN, p, w)
    largest = 0.0
    for i in range(p.chain.n):
        w[PART, i] *= p.rows.weight[i]
        largest = max(largest, abs(w[PART, i]) / p.rows.unit[i])
    by = min(1.0, FARTHEST / largest) if largest > 0.0 else 0.0
    for i in range(p.chain.n):
        w[Q, i] -= by * w[PART, i]
    return largest


class Rows:
    """The rows of the constraints of a mechanism, to be evaluated from Python.

    >>> from nlink.mechanics.chain import Link
    >>> from nlink.mechanics.points import At, Pin
    >>> four_bar = Mechanism([Link.rod(1.0, 1.0)] * 3, pins=Pin(At(2), (1.0, 0.0)))
    >>> Rows(four_bar)([3.0, 1.5, 0.0])[0].round(3).tolist()
    [0.139, -0.081]
    """

    def __init__(self, model: Mechanism, spare: int = 0) -> None:
        numbers = chain_parameters(model)
        self.parameters = ClosedParameters(numbers, tree_numbers(model), row_numbers(model, spare))
        self.w = room(model)
        self.n, self.count = model.n, model.rows
        self.closure, self.axis = self.parameters.rows.whole[[CLOSURE, AXIS]]

    def __call__(self, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the misses (rows,) of the rows at coordinates q, and their gradients (rows, N)."""
        values, gradients = np.empty(self.count), np.empty((self.count, self.n))
        rows_of(np.array(q, float), self.parameters, values, gradients, self.w)
        return values, gradients

    def close_somewhere(self, q: np.ndarray) -> bool:
        """Close all rows from coordinates q, in place, prescribed ones being moved too; return whether that succeeds."""
        numbers = self.parameters.rows
        return bool(approached(q, self.parameters._replace(rows=numbers._replace(weight=numbers.unit**2)), self.w))

    def rank_near(self, q: ArrayLike, model: Mechanism) -> int:
        """Return the rank of the rows near a state, where it is not on a dead position; 0 if none closes near it."""
        q, rng = np.array(q, float), np.random.default_rng(1)
        aside = ASIDE * self.parameters.rows.unit * ~model.prescribed
        return max(int(rank_at(q + aside * rng.uniform(-1, 1, len(q)), self.parameters, self.w)) for _ in range(TRIES))


def room(model: Mechanism) -> np.ndarray:
    """Return scratch for a closed mechanism: rows as wide as bodies, rows or places in INFO are many, matrices, and the rest."""
    behind = row_numbers(model, 0).envelope.at[ROWS]
    return np.zeros((MATRICES + 5 * model.rows + behind, max(model.n, model.rows, LEAST)))


def spare_rows(model: Mechanism) -> int:
    """Return how many rows of the constraints follow from the others wherever the mechanism can be and move.

    A mechanism may have several ways to be assembled, with other numbers: see `ClosedSweep.begun`.
    """
    return _spare_rows(model.links, model.pins)


@lru_cache(maxsize=64)
def _spare_rows(links: tuple[Link | Slider, ...], pins: tuple[Closure, ...]) -> int:
    model = Mechanism(links, pins=pins)
    rows, rng, ranks = Rows(model), np.random.default_rng(0), [0]
    for _ in range(TRIES):
        q = rng.uniform(-math.pi, math.pi, model.n) * rows.parameters.rows.unit
        ranks.append(rows.rank_near(q, model) if rows.close_somewhere(q) else 0)
        if ranks[-1] == model.rows:
            break
    return model.rows - (max(ranks) or model.rows)
