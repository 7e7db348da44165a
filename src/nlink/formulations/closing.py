"""Closed states: the smallest plain change of coordinates and rates that closes a state."""

from __future__ import annotations

import math

from nlink.compiled.digits import two_sum
from nlink.compiled.jit import apart, entry, kernel
from nlink.compiled.references import by_address
from nlink.compiled.simd import sincos
from nlink.compiled.views import views
from nlink.formulations.constraint_rows import INFO, KEPT, NONE_OFF, ORDER, PIVOT, SIGMA, SPARE, ZONE, Z
from nlink.formulations.delassus import factor_plain, solve
from nlink.formulations.envelope import PLAIN
from nlink.formulations.factors import POSITIONS, RATES, along_q, factor, forward, misses, rates_missed
from nlink.formulations.row_numbers import SCALE
from nlink.formulations.rows import GIVE, LO, PART, STEP
from nlink.formulations.tree import MXX, MXY, MYY, J, inward
from nlink.mechanics.scratch import C, S
from nlink.mechanics.tree import DX, DY, OM, PARENT, PRESCRIBED, PX, PY, SLIDE, VX, VY, Q, V, aim_body, locate, place

ROUNDS = 4
"""Most corrections of a state."""
FINE = 3e-9
"""A correction below this part of the distance to a dead position leaves nothing to correct: its square is rounding."""
COARSE, SAME = 1e-3, 1e-13
"""After a larger correction the rows are factored again: away from dead positions, and, as a part of the distance, near them."""
SMALL = 1e-4
"""Change of a coordinate below which the series of its sine and cosine have the digits of a number."""


@apart
def place_all(p, w):
    """Place all bodies."""
    for i in range(p.chain.n):
        place(i, p.tree, w)


@kernel
def place_again(kept, p, w):
    """Place all bodies after the changes PART were taken off their coordinates; sines by their series, where these are small."""
    if kept != NONE_OFF:
        place_all(p, w)
        return
    for i in range(p.chain.n):
        by = w[PART, i]
        if abs(by) < SMALL:
            s, c, sine, cosine = w[S, i], w[C, i], by * (1.0 - by * by / 6.0), 0.5 * by * by
            w[S, i], w[C, i] = s - (s * cosine + c * sine), c - (c * cosine - s * sine)
        else:
            w[S, i], w[C, i] = sincos(w[Q, i])
        aim_body(i, p.tree, w)
        locate(i, p.tree, w)


@kernel
def move_all(p, w):
    """Fill the rates of all bodies, which are placed, from the rates of the coordinates."""
    for i in range(p.chain.n):
        k = p.tree.bodies[PARENT, i]
        turn = x = y = 0.0
        if k >= 0:
            turn = w[OM, k]
            x, y = w[VX, k] + turn * w[PX, i], w[VY, k] + turn * w[PY, i]
        if p.tree.bodies[SLIDE, i]:
            x, y = x + w[V, i] * w[DX, i], y + w[V, i] * w[DY, i]
        else:
            turn = w[V, i]
        w[OM, i], w[VX, i], w[VY, i] = turn, x, y


@kernel
def factor_rows(p, w):
    """Factor the rows in the plain metric; return NONE_OFF if all but the spare ones are kept, what `factor` returns else."""
    least = factor_plain(ZONE, p, w)
    if least >= 0.0:
        w[INFO, SIGMA] = math.sqrt(least)
        return NONE_OFF
    kept = factor(p, w)
    w[INFO, SIGMA] = nearest(p, w)
    return kept


@apart
def close(p, w):
    """Close the coordinates Q by the smallest plain change, and leave the factors of the rows; return what `factor_rows` does.

    LO has what rounding takes off Q: next to a dead position it counts.
    """
    for i in range(p.chain.n):
        w[LO, i] = 0.0
    rounds = 0
    while True:
        kept, again = factor_rows(p, w), False
        while rounds < ROUNDS and not again:
            misses(kept, p, w)
            change_plainly(kept, POSITIONS, 0.0, p, w)
            largest, least = correct(p, w), w[INFO, SIGMA]
            if largest > 0.0:
                place_again(kept, p, w)
            again = largest > (COARSE if kept == NONE_OFF else SAME * least)
            rounds = rounds + 1 if largest > FINE * least else ROUNDS
        if not again:
            break
    w[INFO, KEPT], w[INFO, SPARE] = kept, p.rows.spare
    return kept


@kernel
def change_plainly(kept, what, speed, p, w):
    """Fill PART with the smallest plain change of the coordinates that takes RIGHT away."""
    rows = p.rows
    if kept == NONE_OFF:
        solve(PLAIN, p, w)
        for i in range(p.chain.n):
            w[PART, i] *= rows.weight[i]
        return
    change_by_reflections(what, speed, p, w)


@apart
def change_by_reflections(what, speed, p, w):
    """The same from the reflections."""
    rows = p.rows
    forward(what, speed, True, p, w)
    from_columns(p, w, rows.total - rows.spare)
    for i in range(p.chain.n):
        w[PART, i] = 0.0 if p.tree.bodies[PRESCRIBED, i] else w[STEP, rows.column[i]] * rows.unit[i]


@kernel
def correct(p, w):
    """Take the changes PART off the coordinates; return the largest."""
    largest = 0.0
    for i in range(p.chain.n):
        change = w[PART, i]
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


@kernel
def settle_rates(kept, p, w):
    """Make the rates V tangent by the smallest plain change."""
    speed = rates_missed(kept, p, w)
    change_plainly(kept, RATES, speed, p, w)
    for i in range(p.chain.n):
        w[V, i] -= w[PART, i]
    move_all(p, w)


@kernel
def factor_masses(p, w):
    """Sweep inwards, and fill GIVE: 1 over the pivots, 0 of prescribed coordinates."""
    inward(p, w)
    for i in range(p.chain.n):
        if p.tree.bodies[PRESCRIBED, i]:
            w[GIVE, i] = 0.0
        elif p.tree.bodies[SLIDE, i]:
            dx, dy = w[DX, i], w[DY, i]
            w[GIVE, i] = 1.0 / (dx * dx * w[MXX, i] + 2.0 * dx * dy * w[MXY, i] + dy * dy * w[MYY, i])
        else:
            w[GIVE, i] = 1.0 / w[J, i]


@entry("dead positions")
def nearest_of(states, p, out, w):
    """Fill out (K,) with how near the states (K, ...) are to a dead position."""
    look(views(states), by_address(views(p)), views(out), views(w))


@apart
def look(states, p, out, w):
    """Do so."""
    for k in range(len(out)):
        for i in range(p.chain.n):
            w[Q, i], w[V, i], w[LO, i] = states[k, i], 0.0, 0.0
        place_all(p, w)
        factor_rows(p, w)
        out[k] = w[INFO, SIGMA]
