"""What closes the state of a mechanism after a step: the smallest change in the metric of the masses."""

from __future__ import annotations

import math

from nlink.compiled.jit import apart, entry, kernel
from nlink.compiled.references import by_address
from nlink.compiled.views import views
from nlink.formulations.closing import change_plainly, close, factor_masses, factor_rows, from_columns, move_all, place_all
from nlink.formulations.constraint_rows import NONE_OFF
from nlink.formulations.delassus import factor_swept, solve
from nlink.formulations.envelope import SWEPT
from nlink.formulations.factors import POSITIONS, RATES, factor, factor_whole, forward, misses, rates_missed
from nlink.formulations.rows import GIVE, LO, PART, ROOT, STEP, ClosedParameters, miss, miss_rate
from nlink.formulations.tree import AL, AX, AY, HX, HY, J
from nlink.mechanics.contract import SETTLERS
from nlink.mechanics.kernels import joint_energy
from nlink.mechanics.parameters import COM, INERTIA, MASS, OFFSET
from nlink.mechanics.tree import (
    A_ALONG,
    A_LEFT,
    B_ALONG,
    B_LEFT,
    BODY_A,
    BODY_B,
    DX,
    DY,
    OM,
    PARENT,
    PRESCRIBED,
    PX,
    PY,
    REST,
    ROWS,
    SLIDE,
    STIFFNESS,
    TH,
    Q,
    V,
    point_of,
)

CONSTRAINED = ROWS.index("constraints")
WHOLE = 1e-13
"""Smallest correction of a step that is measured by the masses; what is less costs no energy."""


@apart
def settle(y, p, w):
    """Close a state (q, q', ledger) by the smallest change in the metric of the masses; the energy it takes goes to its row of
    constraints. Return the largest miss of a row and its rate before.
    """
    n, rows = p.chain.n, p.rows
    for i in range(n):
        w[Q, i], w[V, i], w[LO, i] = y[i], y[n + i], 0.0
    place_all(p, w)
    before = energy(p, w)
    most = rate = largest = 0.0
    for r in range(rows.total):
        most, rate = max(most, abs(miss(r, p, w))), max(rate, abs(miss_rate(r, p, w)))
    kept = factor_rows(p, w)
    misses(kept, p, w)
    change_plainly(kept, POSITIONS, 0.0, p, w)
    for i in range(n):
        largest = max(largest, abs(w[PART, i]) / rows.unit[i])
    if largest > WHOLE:
        change_whole(kept, POSITIONS, p, w)
        for i in range(n):
            w[Q, i] -= w[PART, i]
        place_all(p, w)
    kept = close(p, w)
    change_whole(kept, RATES, p, w)
    for i in range(n):
        w[V, i] -= w[PART, i]
    move_all(p, w)
    for i in range(n):
        y[i], y[n + i] = w[Q, i], w[V, i]
    y[2 * n + CONSTRAINED] += energy(p, w) - before
    return most, rate


@apart
def change_whole(kept, what, p, w):
    """Fill PART with the smallest change, in the metric of the masses, of the coordinates or rates that closes them.

    Near dead positions some rows may not be changed: which is decided in the plain metric.
    """
    n, rows = p.chain.n, p.rows
    factor_masses(p, w)
    if kept == NONE_OFF:
        missed(kept, what, p, w)
        if factor_swept(p, w):
            solve(SWEPT, p, w)
            for i in range(n):
                w[PART, i] *= w[GIVE, i]
            deflect(p, w)
            return
        kept = factor(p, w)
    forward(what, missed(kept, what, p, w), True, p, w)
    factor_whole(p, w)
    forward(what, 0.0, False, p, w)
    from_columns(p, w, rows.total - rows.spare)
    for i in range(n):
        w[PART, i] = w[STEP, rows.column[i]] * w[ROOT, i]
    deflect(p, w)


@kernel
def missed(kept, what, p, w):
    """Fill RIGHT with what is missed; return the size of the rates, if these are meant."""
    if what == RATES:
        return rates_missed(kept, p, w)
    misses(kept, p, w)
    return 0.0


@apart
def deflect(p, w):
    """Turn PART, changes of the coordinates each against what carries it, D^-1/2 L^-T of them, into changes of the coordinates."""
    for i in range(p.chain.n):
        k = p.tree.bodies[PARENT, i]
        e, ax, ay, turn = w[PART, i], 0.0, 0.0, 0.0
        if k >= 0:
            turn = w[AL, k]
            ax, ay = w[AX, k] + turn * w[PX, i], w[AY, k] + turn * w[PY, i]
        if p.tree.bodies[PRESCRIBED, i]:
            change = 0.0
        elif p.tree.bodies[SLIDE, i]:
            change = e - w[HX, i] * ax - w[HY, i] * ay - w[J, i] * turn
        else:
            change = e - w[HX, i] * ax - w[HY, i] * ay
        if p.tree.bodies[SLIDE, i]:
            ax, ay = ax + change * w[DX, i], ay + change * w[DY, i]
        else:
            turn = change
        w[AX, i], w[AY, i], w[AL, i], w[PART, i] = ax, ay, turn, change


@apart
def energy(p, w):
    """Return the energy of the bodies, the joints and the springs at points."""
    chain, tree, links = p.chain, p.tree, p.chain.links
    total = 0.0
    for i in range(chain.n):
        _, y, vx, vy = point_of(i, links[COM, i], links[OFFSET, i], w)
        total += links[MASS, i] * (0.5 * (vx * vx + vy * vy) + chain.g * y) + 0.5 * links[INERTIA, i] * w[OM, i] * w[OM, i]
        k = tree.bodies[PARENT, i]
        bent = w[Q, i] if k < 0 or tree.bodies[SLIDE, i] else w[Q, i] - w[TH, k]
        total += joint_energy(i, bent, chain)
    for k in range(len(tree.points[0])):
        at = tree.points
        if at[STIFFNESS, k] != 0.0:
            x, y, _, _ = point_of(tree.ends[BODY_A, k], at[A_ALONG, k], at[A_LEFT, k], w)
            ox, oy, _, _ = point_of(tree.ends[BODY_B, k], at[B_ALONG, k], at[B_LEFT, k], w)
            stretch = math.sqrt((x - ox) * (x - ox) + (y - oy) * (y - oy)) - at[REST, k]
            total += 0.5 * at[STIFFNESS, k] * stretch * stretch
    return total


def settle_closed(y, p, w):
    """Settle the state of a closed mechanism after a step."""
    settle(y, by_address(p), w)
    return True


SETTLERS[ClosedParameters] = settle_closed


@entry("closed mechanisms")
def settle_closures(y, p, w):
    """Settle each row of y; return the largest miss and rate of it that were there before."""
    y, p, w = views(y), views(p), views(w)
    missed = rate = 0.0
    for k in range(len(y)):
        a, b = settle(y[k], by_address(p), w)
        missed, rate = max(missed, a), max(rate, b)
    return missed, rate
