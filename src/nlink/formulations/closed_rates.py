r"""`recursive` for closed mechanisms: the sweep over the tree, and the rows of the constraints in square-root form.

With M = L L^T from the sweep, c = L^-1 (forces) and A = L^-1 J^T = Q R, Gauss' principle is the least |e - c| with A^T e = -g,
where g is the second derivative of the rows at e = 0:

    accelerations = those at e = 0, + L^-T [(1 - Q Q^T) c - Q R^-T g]

No normal equations, which would square the condition, and no multipliers, which have poles at dead positions. Each state is
closed before it is evaluated, by the smallest plain change; after a step, by the smallest in the metric of the masses. Nothing is
kept from one evaluation to the next: a state has one motion, whatever was before.

On a dead position a row vanishes and says nothing; its derivative takes its place: y^T J'(v) a = -y^T phi'''(v, v, v)/3.
"""

from __future__ import annotations

import math

import numpy as np

from nlink.compiled.jit import apart, kernel
from nlink.compiled.references import by_address
from nlink.formulations.closing import close, factor_masses, place_all, settle_rates
from nlink.formulations.combining import recombined
from nlink.formulations.constraint_rows import (
    FROM_BODY,
    FROM_ROW,
    INFO,
    KEPT,
    LATE,
    MISSED,
    NONE_OFF,
    ORDER,
    PIVOT,
    RIGHT,
    TO_BODY,
    TO_ROW,
    UNDETERMINED,
    Z,
    matrices,
)
from nlink.formulations.delassus import factor_swept, solve
from nlink.formulations.envelope import SWEPT
from nlink.formulations.factors import ALL, HIT, along_q, factor, factor_whole, forward
from nlink.formulations.row_numbers import FIRST, GEAR, KIND, LAST, SCALE
from nlink.formulations.rows import ACC, GIVE, PART, ROOT, STEP, ClosedParameters, gradient, miss_pull, pull_of
from nlink.formulations.tree import AL, AX, AY, CZ, act, outward
from nlink.mechanics.contract import right_hand_side
from nlink.mechanics.parameters import COM, INERTIA, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, MZ, TQ
from nlink.mechanics.tree import DX, DY, MOTION, OM, PARENT, PRESCRIBED, PX, PY, SLIDE, Q, V, point_of, pose

AT_REST = 1e-10
"""Speed below which a mechanism rests on a dead position."""
APART = 1e-4
"""How far the states are apart from which the derivative of a row along the motion is taken."""
RESTING, SPLIT = 1, 2
"""Why accelerations are not determined: no speed on a dead position; rates that no smooth motion has there."""


@right_hand_side(ClosedParameters)
def closed_rates(t, y, p, out, w):
    """Fill out = (q', q'', powers)."""
    evaluate(t, y, by_address(p), out, w)


@apart
def evaluate(t, y, p, out, w):
    """Evaluate the right-hand side."""
    n = p.chain.n
    pose(t, y, p, w)
    kept = close(p, w)
    settle_rates(kept, p, w)
    weigh(t, p, w, out)
    w[INFO, UNDETERMINED] = 0.0
    if kept != NONE_OFF or not accelerate(p, w):
        accelerate_sharply(kept, p, w)
    for i in range(n):
        out[i], out[n + i] = w[V, i], w[ACC, i]
    if p.rows.driven:
        out[2 * n + MOTION] = drive_power(p, w)


@kernel
def accelerate(p, w):
    """Fill ACC with the accelerations by the multipliers, which Z keeps; return whether that loses no digits."""
    if not factor_swept(p, w):
        return False
    outward(p, w, w[ACC], 0, 0.0)
    for r in range(p.rows.total):
        w[RIGHT, r] = -miss_pull(r, p, w)
    solve(SWEPT, p, w)
    for i in range(p.chain.n):
        w[CZ, i] -= w[GIVE, i] * w[PART, i]
    outward(p, w, w[ACC], 0, 0.0)
    return True


@apart
def accelerate_sharply(kept, p, w):
    """Fill ACC with the accelerations by reflections."""
    n, rows = p.chain.n, p.rows
    used = rows.total - rows.spare
    if kept == NONE_OFF:
        w[INFO, KEPT] = factor(p, w)
    for i in range(n):
        w[STEP, rows.column[i]] = -w[CZ, i] / math.sqrt(w[GIVE, i]) if not p.tree.bodies[PRESCRIBED, i] else 0.0
        w[CZ, i] = 0.0
    outward(p, w, w[ACC], 0, 0.0)
    for r in range(rows.total):
        w[MISSED, r] = miss_pull(r, p, w)
    recombined(p, w)
    for k in range(used):
        r = int(w[ORDER, k])
        if w[LATE, r] != 0.0 and w[PIVOT, k] < HIT * rows.places[SCALE, r]:
            follow(k, r, p, w)
    factor_whole(p, w)
    forward(ALL, 0.0, True, p, w)
    along_q(STEP, used, True, p, w)
    for k in range(used):
        w[PART, k], w[STEP, k] = w[STEP, k], -w[Z, k]
    along_q(STEP, used, False, p, w)
    for i in range(n):
        w[CZ, i] = -w[STEP, rows.column[i]] * w[ROOT, i]
    outward(p, w, w[ACC], 0, 0.0)


@kernel
def weigh(t, p, w, out):
    """Let the loads act, gravity among them, and factor the mass matrix."""
    act(t, p, w, out, 2 * p.chain.n)
    for i in range(p.chain.n):
        w[FY, i] -= p.chain.links[MASS, i] * p.chain.g
    factor_masses(p, w)


@apart
def follow(k, r, p, w):
    """Let the derivative of row r along the motion take its place, in reflection k: on a dead position the row itself says nothing.

    The derivatives are taken from two states apart along the motion.
    """
    n, combined = p.chain.n, matrices(p)[2]
    speed = 0.0
    for i in range(n):
        speed = max(speed, abs(w[V, i]) / p.rows.unit[i])
    if speed <= AT_REST:
        w[INFO, UNDETERMINED] = RESTING
        w[RIGHT, k] = np.nan
        return
    by = APART / speed
    pulled = 0.0
    for i in range(int(w[FROM_BODY, r]), int(w[TO_BODY, r]) + 1):
        w[combined + r, i] = 0.0
    for i in range(n):
        w[PART, i] = w[Q, i]
    for side in (1.0, -1.0):
        for i in range(n):
            w[Q, i] = w[PART, i] + side * by * w[V, i]
        place_all(p, w)
        carried(p, w)
        pulled += side * along_parts(r, side / (2.0 * by), p, w) / (2.0 * by)
    for i in range(n):
        w[Q, i] = w[PART, i]
    place_all(p, w)
    total, turn = pulled / 3.0, 0.0
    for i in range(int(w[FROM_BODY, r]), int(w[TO_BODY, r]) + 1):
        total += w[combined + r, i] * w[ACC, i]
        turn += w[combined + r, i] * w[V, i]
    w[RIGHT, k] = total
    if abs(turn) > 1e-6 * p.rows.places[SCALE, r] * speed * speed:
        w[INFO, UNDETERMINED] = SPLIT


@apart
def carried(p, w):
    """Fill AX, AY, AL with the accelerations of the origins when the coordinates have none; ACC is not touched."""
    for i in range(p.chain.n):
        k = p.tree.bodies[PARENT, i]
        x = y = 0.0
        if k >= 0:
            square = w[OM, k] * w[OM, k]
            x, y = w[AX, k] - square * w[PY, i], w[AY, k] + square * w[PX, i]
        if p.tree.bodies[SLIDE, i]:
            turned = 2.0 * w[V, i] * w[OM, i]
            x, y = x - turned * w[DY, i], y + turned * w[DX, i]
        w[AX, i], w[AY, i], w[AL, i] = x, y, 0.0


@apart
def along_parts(r, times, p, w):
    """Add the gradient of row r, combined, so many times, to the combined row; return its second derivative at no accelerations."""
    plain, _, combined, parts = matrices(p)
    whole, total = p.rows.whole, 0.0
    for j in range(int(w[FROM_ROW, r]), int(w[TO_ROW, r]) + 1):
        part = w[parts + r, j]
        if part == 0.0 or whole[KIND, j] == GEAR:  # the gradient of a gear does not change
            continue
        gradient(j, plain + j, p, w)
        for k in range(whole[FIRST, j], whole[LAST, j]):
            i = p.rows.paths[k]
            w[combined + r, i] += times * part * w[plain + j, i]
        total += part * miss_pull(j, p, w)
    return total


@apart
def drive_power(p, w):
    """Return the power of all drives: what the motion takes besides the power of the loads. Closures and free joints have none."""
    links, power = p.chain.links, 0.0
    for i in range(p.chain.n):
        ax, ay = pull_of(i, links[COM, i], links[OFFSET, i], w)
        _, _, vx, vy = point_of(i, links[COM, i], links[OFFSET, i], w)
        power += (links[MASS, i] * ax - w[FX, i]) * vx + (links[MASS, i] * ay - w[FY, i]) * vy
        power += (links[INERTIA, i] * w[AL, i] - w[MZ, i]) * w[OM, i]
        if p.tree.bodies[SLIDE, i]:
            power -= w[TQ, i] * w[V, i]
    return power
