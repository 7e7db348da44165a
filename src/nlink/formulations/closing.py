"""Closed states: the smallest plain change of coordinates and rates that closes a state."""

from __future__ import annotations

from nlink.compiled.digits import two_sum
from nlink.compiled.jit import apart, entry, kernel
from nlink.compiled.views import views
from nlink.formulations.factors import (
    INFO,
    KEPT,
    ORDER,
    PIVOT,
    POSITIONS,
    RATES,
    SIGMA,
    SPARE,
    Z,
    along_q,
    factor,
    forward,
    misses,
    rates_missed,
)
from nlink.formulations.rows import LO, ROOT, SCALE, STEP
from nlink.formulations.tree import MXX, MXY, MYY, J, inward
from nlink.mechanics.tree import DX, DY, PRESCRIBED, SLIDE, Q, V, place

ROUNDS = 4
"""Most corrections of a state."""
FINE = 3e-9
"""A correction below this part of the distance to a dead position leaves nothing to correct: its square is rounding."""
COARSE, SAME = 1e-3, 1e-13
"""After a larger correction the rows are factored again: away from dead positions, and, as a part of the distance, near them."""


@apart
def place_all(p, w):
    """Place all bodies."""
    for i in range(p.chain.n):
        place(i, p.tree, w)


@apart
def close(p, w):
    """Close the coordinates Q by the smallest plain change, and leave the factors of the rows; return how many are kept.

    LO has what rounding takes off Q: next to a dead position it counts.
    """
    rows = p.rows
    for i in range(p.chain.n):
        w[LO, i] = 0.0
    kept = factor(p, w)
    for _round in range(ROUNDS):
        misses(kept, p, w)
        forward(kept, POSITIONS, 0.0, True, p, w)
        largest = correct(p, w)
        near = kept < rows.total - rows.spare
        least = nearest(p, w)
        if largest > 0.0:
            place_all(p, w)
            if largest > (SAME * least if near else COARSE):
                kept = factor(p, w)
        if largest <= FINE * least:
            break
    w[INFO, SIGMA], w[INFO, KEPT], w[INFO, SPARE] = nearest(p, w), kept, rows.spare
    return kept


@apart
def correct(p, w):
    """Take Q Z, of the plain metric, off the coordinates; return the largest change."""
    used, largest = p.rows.total - p.rows.spare, 0.0
    from_columns(p, w, used)
    for i in range(p.chain.n):
        change = w[STEP, p.rows.column[i]] * p.rows.unit[i]
        if change != 0.0 and not p.tree.bodies[PRESCRIBED, i]:
            w[Q, i], w[LO, i] = two_sum(w[Q, i], w[LO, i] - change)
            largest = max(largest, abs(change) / p.rows.unit[i])
    return largest


@kernel
def from_columns(p, w, used):
    """Fill STEP, by columns, with Q Z."""
    for i in range(p.chain.n):
        w[STEP, i] = 0.0
    for k in range(used):
        w[STEP, k] = w[Z, k]
    along_q(STEP, used, False, p, w)


@apart
def nearest(p, w):
    """Return the smallest pivot of the rows as a part of their scales: how near a dead position is."""
    least = 1.0
    for k in range(p.rows.total - p.rows.spare):
        least = min(least, w[PIVOT, k] / p.rows.places[SCALE, int(w[ORDER, k])])
    return least


@apart
def settle_rates(kept, p, w):
    """Make the rates V tangent by the smallest plain change."""
    speed = rates_missed(kept, p, w)
    forward(kept, RATES, speed, True, p, w)
    from_columns(p, w, p.rows.total - p.rows.spare)
    for i in range(p.chain.n):
        if not p.tree.bodies[PRESCRIBED, i]:
            w[V, i] -= w[STEP, p.rows.column[i]] * p.rows.unit[i]
    place_all(p, w)


@apart
def factor_masses(p, w):
    """Sweep inwards, and fill ROOT: 1/sqrt of the pivots."""
    inward(p, w)
    for i in range(p.chain.n):
        if p.tree.bodies[PRESCRIBED, i]:
            w[ROOT, i] = 0.0
        elif p.tree.bodies[SLIDE, i]:
            dx, dy = w[DX, i], w[DY, i]
            w[ROOT, i] = (dx * dx * w[MXX, i] + 2.0 * dx * dy * w[MXY, i] + dy * dy * w[MYY, i]) ** -0.5
        else:
            w[ROOT, i] = w[J, i] ** -0.5


@entry("dead positions")
def nearest_of(states, p, out, w):
    """Fill out (K,) with how near the states (K, ...) are to a dead position."""
    states, p, out, w = views(states), views(p), views(out), views(w)
    for k in range(len(out)):
        for i in range(p.chain.n):
            w[Q, i], w[V, i], w[LO, i] = states[k, i], 0.0, 0.0
        place_all(p, w)
        factor(p, w)
        out[k] = nearest(p, w)
