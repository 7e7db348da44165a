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
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from nlink.compiled.digits import two_sum
from nlink.compiled.jit import apart, entry, kernel
from nlink.compiled.views import views
from nlink.formulations.factors import (
    ALL,
    BEGIN,
    DIAGONAL,
    HIT,
    INFO,
    KEPT,
    MATRICES,
    MISSED,
    ORDER,
    PIVOT,
    POSITIONS,
    RATES,
    RIGHT,
    SIGMA,
    SPARE,
    UNDETERMINED,
    Z,
    along_q,
    factor,
    factor_whole,
    forward,
    matrices,
    misses,
    rates_missed,
    recombined,
)
from nlink.formulations.rows import (
    ACC,
    AXIS,
    CLOSURE,
    GEAR,
    KIND,
    LO,
    PART,
    ROOT,
    SCALE,
    STEP,
    ClosedParameters,
    RowNumbers,
    gradient,
    miss,
    miss_pull,
    miss_rate,
    pull_of,
    row_numbers,
)  # fmt: skip
from nlink.formulations.tree import (
    AL,
    AX,
    AY,
    CZ,
    HX,
    HY,
    MXX,
    MXY,
    MYY,
    J,
    TreeFormulation,
    act,
    inward,
    outward,
)
from nlink.mechanics import tree_kinematics
from nlink.mechanics.chain import Link
from nlink.mechanics.contract import SETTLERS, right_hand_side
from nlink.mechanics.equations import rates
from nlink.mechanics.kernels import ChainParameters, chain_parameters, joint_energy
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.parameters import COM, INERTIA, MASS, OFFSET
from nlink.mechanics.points import At, Closure, Distance, Gear, Pin, ends
from nlink.mechanics.scratch import FX, FY, MZ, TQ
from nlink.mechanics.system import System
from nlink.mechanics.tree import (
    A_ALONG,
    A_LEFT,
    B_ALONG,
    B_LEFT,
    BODY_A,
    BODY_B,
    DX,
    DY,
    MOTION,
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
    place,
    point_of,
    pose,
    tree_numbers,
)

CONSTRAINED = ROWS.index("constraints")
ROUNDS = 4
"""Most corrections of a state."""
FINE = 3e-9
"""A correction below this part of the distance to a dead position leaves nothing to correct: its square is rounding."""
COARSE, SAME = 1e-3, 1e-13
"""After a larger correction the rows are factored again: away from dead positions, and, as a part of the distance, near them."""
WHOLE = 1e-13
"""Smallest correction of a step that is measured by the masses; what is less costs no energy."""
AT_REST = 1e-10
"""Speed below which a mechanism rests on a dead position."""
APART = 1e-4
"""How far the states are apart from which the derivative of a row along the motion is taken."""
TRIES, SEARCH, ASIDE, RANK = 4, 100, 0.05, 1e-6
"""Closed states at which the rows are counted, and states around each; steps of Newton's method to each; how far around, as angles;
and pivots that count as none.
"""
BLOCKED = 1e-3
"""Distance to a dead position below which a linkage that is driven through all of its freedom is at the end of its way."""
NEARLY = 1e-9
"""Part of its scale by which a row may be missed at a state that counts as closed."""
RESTING, SPLIT = 1, 2
"""Why accelerations are not determined: no speed on a dead position; rates that no smooth motion has there."""


@dataclass(frozen=True)
class ClosedSweep(TreeFormulation):
    """O(N) sweep over a tree, and QR of the rows of its closures."""

    name: ClassVar[str] = "recursive"
    closes: ClassVar[bool] = True

    def parameters(self, chain: Mechanism, numbers: ChainParameters) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the numbers of the bodies, of the tree and of the rows."""
        open_tree = super().parameters(chain, numbers)
        return ClosedParameters(open_tree.chain, open_tree.tree, row_numbers(chain, spare_rows(chain)))

    def scratch(self, n: int) -> int:
        """Rows of the sweep and of the rows, without the matrices: see `room`."""
        return MATRICES

    def room(self, chain: Mechanism) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return scratch with the matrices."""
        return room(chain)

    @property
    def projected(self) -> bool:
        """Whether states are closed after each step: they are."""
        return True

    def begun(self, chain: Mechanism, parameters: Any, state: np.ndarray) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the parameters with as many spare rows as the mechanism has the way it is assembled in a state."""
        rank = Rows(chain).rank_near(state[: chain.n], chain)
        return parameters._replace(rows=parameters.rows._replace(spare=chain.rows - rank)) if rank else parameters

    def stuck(self, system: System, t: float, y: np.ndarray) -> tuple[str, str] | None:
        """Return why the motion is not determined at a state, and what to try; None if it is."""
        chain, w = system.chain, system.scratch()
        assert isinstance(chain, Mechanism)
        rates(float(t), y, system.equations, np.empty(system.full_size), w)
        if w[INFO, UNDETERMINED] == RESTING:
            where = "a loop is on a dead position, and without speed nothing says on which branch to go on"
            return where, "start with a speed along one of them, or elsewhere"
        if w[INFO, UNDETERMINED] == SPLIT:
            where = "a loop is on a dead position, and no smooth motion has these rates"
            return where, "start with the rates of one of the branches"
        freedom = int((~chain.prescribed).sum()) - chain.rows + int(w[INFO, SPARE])
        if chain.prescribed.any() and freedom == 0 and w[INFO, SIGMA] < BLOCKED:
            places = ", ".join(
                f"link {i} at {y[i]:.4g} {'m' if chain.slides[i] else 'rad'}" for i in np.flatnonzero(chain.prescribed)
            )
            return f"the drive asks for what the linkage cannot do: {places} is the end of its way", "drive it within its limits"
        return None

    def settled(self, parameters: Any, states: np.ndarray, scratch: np.ndarray, plain: bool) -> tuple[float, float]:
        """Close states (K, size + ledger), in place; return the largest miss and rate of it before."""
        return settle_closures(states, parameters, scratch)

    def spare(self, parameters: Any) -> int:
        """Return the number of spare rows."""
        return parameters.rows.spare

    def nearness(self, parameters: Any, states: np.ndarray, scratch: np.ndarray) -> np.ndarray:
        """Return the smallest pivots of the rows at states, as parts of their scales."""
        out = np.empty(len(states))
        nearest_of(states, parameters, out, scratch)
        return out

    def violation(self, chain: Mechanism, state: np.ndarray) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the largest miss of a row."""
        states = np.asarray(state, float)
        evaluated = Rows(chain)
        missed = [np.abs(evaluated(state[: chain.n])[0]).max(initial=0.0) for state in states.reshape(-1, states.shape[-1])]
        return np.array(missed).reshape(states.shape[:-1])

    def reactions(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        chain: Mechanism,
        theta: np.ndarray,
        omega: np.ndarray,
        alpha: np.ndarray,
        scratch: np.ndarray,
    ) -> np.ndarray:
        """Return the force on each body at its joint (N, 2), then of each closure on its first body; of gears zero.

        Where rows are spare the forces are not unique: these are the smallest.
        """
        at, held, forces = tree_kinematics.frames(chain, theta), np.zeros((chain.n, 2)), np.zeros((len(chain.pins), 2))
        numbers = row_numbers(chain, int(scratch[INFO, SPARE]))
        for r, size in enumerate(_multipliers(numbers, scratch)):
            number = int(numbers.whole[CLOSURE, r])
            forces[number] += size * _direction(chain, at, number, int(numbers.whole[AXIS, r]))
        for force, closure in zip(forces, chain.pins, strict=True):
            for point, sign in zip(ends(closure), (1.0, -1.0), strict=False):
                if isinstance(point, At):
                    held[point.link] += sign * force
        return np.vstack([tree_kinematics.reactions(chain, theta, omega, alpha, held), forces])


def _multipliers(numbers: RowNumbers, w: np.ndarray) -> np.ndarray:
    """Return the multipliers (rows,) that the right-hand side has left; the smallest, if rows are spare; NaN at a dead position."""
    m, n, used = numbers.total, len(numbers.column), numbers.total - numbers.spare
    matrix, parts, order = MATRICES + m, MATRICES + 3 * m, w[ORDER, :m].astype(int)
    above = np.triu(w[matrix : matrix + used, :used].T, 1)
    above[np.arange(used)[:, None] < w[BEGIN, :used]] = 0.0  # what is before the first entry of a row was never filled
    R = above + np.diag(w[DIAGONAL, :used])
    if not np.all(np.isfinite(R)) or not R.diagonal().all():
        return np.full(m, np.nan)
    combined = np.linalg.solve(R, -(w[Z, :used] + w[PART, :used])) if used else np.zeros(0)
    sizes = np.zeros(m)
    sizes[order[:used]] = combined
    for k in range(int(w[INFO, KEPT]), used):
        sizes[order[: int(w[INFO, KEPT])]] -= w[parts + k, : int(w[INFO, KEPT])] * combined[k]
    if numbers.spare:
        left = np.linalg.svd(w[MATRICES : MATRICES + m, :n])[0]
        sizes = left[:, :used] @ (left[:, :used].T @ sizes)
    return sizes


def _direction(model: Mechanism, at: tree_kinematics.Frames, number: int, axis: int) -> np.ndarray:
    """Return the force of a row on its first body, (2,); of gears zero."""
    closure = model.pins[number]
    if isinstance(closure, Pin):
        return np.eye(2)[axis]
    if isinstance(closure, Gear):
        return np.zeros(2)
    a, b = ends(closure)
    if isinstance(closure, Distance):
        return (tree_kinematics.spot(model, at, a)[0] - tree_kinematics.spot(model, at, b)[0]) / (closure.length or math.nan)
    turn = closure.direction + (at.angle[b.link] if isinstance(b, At) else 0.0)
    return np.array([-math.sin(turn), math.cos(turn)])


@right_hand_side(ClosedParameters)
def closed_rates(t, y, p, out, w):
    """Fill out = (q', q'', powers)."""
    evaluate(t, y, p, out, w)


@apart
def evaluate(t, y, p, out, w):
    """Evaluate the right-hand side."""
    n, rows = p.chain.n, p.rows
    used = rows.total - rows.spare
    pose(t, y, p, w)
    kept = close(p, w)
    settle_rates(kept, p, w)
    weigh(t, p, w, out)
    for i in range(n):
        w[STEP, p.rows.column[i]] = -w[CZ, i] / w[ROOT, i] if not p.tree.bodies[PRESCRIBED, i] else 0.0
        w[CZ, i] = 0.0
    outward(p, w, w[ACC], 0, 0.0)
    for r in range(rows.total):
        w[MISSED, r] = miss_pull(r, p, w)
    recombined(kept, p, w)
    w[INFO, UNDETERMINED] = 0.0
    for k in range(kept, used):
        if w[PIVOT, k] < HIT * rows.places[SCALE, int(w[ORDER, k])]:
            follow(k, kept, p, w)
    factor_whole(kept, p, w)
    forward(kept, ALL, 0.0, True, p, w)
    along_q(STEP, used, True, p, w)
    for k in range(used):
        w[PART, k], w[STEP, k] = w[STEP, k], -w[Z, k]
    along_q(STEP, used, False, p, w)
    for i in range(n):
        w[CZ, i] = -w[STEP, p.rows.column[i]] * w[ROOT, i]
    outward(p, w, w[ACC], 0, 0.0)
    for i in range(n):
        out[i], out[n + i] = w[V, i], w[ACC, i]
    out[2 * n + MOTION] = drive_power(p, w)


@apart
def weigh(t, p, w, out):
    """Let the loads act, gravity among them, and factor the mass matrix."""
    act(t, p, w, out, 2 * p.chain.n)
    for i in range(p.chain.n):
        w[FY, i] -= p.chain.links[MASS, i] * p.chain.g
    factor_masses(p, w)


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
def follow(k, kept, p, w):
    """Let the derivative of row k along the motion take its place: on a dead position the row itself says nothing.

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
    for i in range(n):
        w[combined + k, i] = 0.0
        w[PART, i] = w[Q, i]
    for side in (1.0, -1.0):
        for i in range(n):
            w[Q, i] = w[PART, i] + side * by * w[V, i]
        place_all(p, w)
        carried(p, w)
        pulled += side * along_parts(k, kept, side / (2.0 * by), p, w) / (2.0 * by)
    for i in range(n):
        w[Q, i] = w[PART, i]
    place_all(p, w)
    total, turn = pulled / 3.0, 0.0
    for i in range(n):
        total += w[combined + k, i] * w[ACC, i]
        turn += w[combined + k, i] * w[V, i]
    w[RIGHT, k] = total
    if abs(turn) > 1e-6 * p.rows.places[SCALE, int(w[ORDER, k])] * speed * speed:
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
def along_parts(k, kept, times, p, w):
    """Add the gradient of the combined row k, so many times, to its row; return its second derivative without accelerations."""
    plain, _, combined, parts = matrices(p)
    total = 0.0
    for j in range(kept + 1):
        at = k if j == kept else j
        r, part = int(w[ORDER, at]), 1.0 if at == k else -w[parts + k, at]
        if part == 0.0 or p.rows.whole[KIND, r] == GEAR:  # the gradient of a gear does not change
            continue
        gradient(r, plain + r, p, w)
        for i in range(p.chain.n):
            w[combined + k, i] += times * part * w[plain + r, i]
        total += part * miss_pull(r, p, w)
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


@apart
def deflect(p, w):
    """Fill PART with the changes of the coordinates L^-T e, of e in STEP by columns."""
    for i in range(p.chain.n):
        k = p.tree.bodies[PARENT, i]
        e, ax, ay, turn = w[STEP, p.rows.column[i]] * w[ROOT, i], 0.0, 0.0, 0.0
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
def solve_whole(kept, what, p, w):
    """Fill PART with the smallest change, in the metric of the masses, that takes RIGHT away where GATE lets it."""
    factor_masses(p, w)
    factor_whole(kept, p, w)
    forward(kept, what, 0.0, False, p, w)
    from_columns(p, w, p.rows.total - p.rows.spare)
    deflect(p, w)


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
    missed = rate = largest = 0.0
    for r in range(rows.total):
        missed, rate = max(missed, abs(miss(r, p, w))), max(rate, abs(miss_rate(r, p, w)))
    kept = factor(p, w)
    misses(kept, p, w)
    forward(kept, POSITIONS, 0.0, True, p, w)
    for k in range(rows.total - rows.spare):
        largest = max(largest, abs(w[Z, k]))
    if largest > WHOLE:
        solve_whole(kept, POSITIONS, p, w)
        for i in range(n):
            w[Q, i] -= w[PART, i]
        place_all(p, w)
    kept = close(p, w)
    speed = rates_missed(kept, p, w)
    forward(kept, RATES, speed, True, p, w)
    solve_whole(kept, RATES, p, w)
    for i in range(n):
        w[V, i] -= w[PART, i]
    place_all(p, w)
    for i in range(n):
        y[i], y[n + i] = w[Q, i], w[V, i]
    y[2 * n + CONSTRAINED] += energy(p, w) - before
    return missed, rate


def settle_closed(y, p, w):
    """Settle the state of a closed mechanism after a step."""
    settle(y, p, w)
    return True


SETTLERS[ClosedParameters] = settle_closed


@entry("closed mechanisms")
def settle_closures(y, p, w):
    """Settle each row of y; return the largest miss and rate of it that were there before."""
    y, p, w = views(y), views(p), views(w)
    missed = rate = 0.0
    for k in range(len(y)):
        a, b = settle(y[k], p, w)
        missed, rate = max(missed, a), max(rate, b)
    return missed, rate


@entry("what closes mechanisms")
def rank_at(q, p, w):
    """Return the number of rows that do not follow from the others at the closed state near q; 0 if none is found."""
    q, p, w = views(q), views(p), views(w)
    rows = p.rows
    for i in range(p.chain.n):
        w[Q, i], w[V, i] = q[i], 0.0
    place_all(p, w)
    for _ in range(ROUNDS):
        close(p, w)
    rank = 0
    for k in range(rows.total):
        r = int(w[ORDER, k])
        if abs(miss(r, p, w)) > NEARLY * rows.places[SCALE, r]:
            return 0
        rank += w[PIVOT, k] > RANK * rows.places[SCALE, r]
    return rank


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


@entry("what closes mechanisms")
def rows_of(q, p, values, gradients, w):
    """Fill the misses (rows,) and gradients (rows, N) of the rows at coordinates q."""
    q, p, values, gradients, w = views(q), views(p), views(values), views(gradients), views(w)
    for i in range(p.chain.n):
        w[Q, i], w[V, i] = q[i], 0.0
    place_all(p, w)
    for r in range(p.rows.total):
        values[r] = miss(r, p, w)
        gradient(r, matrices(p)[0] + r, p, w)
        for i in range(p.chain.n):
            gradients[r, i] = w[matrices(p)[0] + r, i]


class Rows:
    """The rows of the constraints of a mechanism, to be evaluated from Python.

    >>> from nlink.mechanics.chain import Link
    >>> from nlink.mechanics.points import Pin
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

    def rank_near(self, q: ArrayLike, model: Mechanism) -> int:
        """Return the rank of the rows near a state, where it is not on a dead position; 0 if none closes near it."""
        q, rng = np.array(q, float), np.random.default_rng(1)
        aside = ASIDE * self.parameters.rows.unit * ~model.prescribed
        return max(int(rank_at(q + aside * rng.uniform(-1, 1, len(q)), self.parameters, self.w)) for _ in range(TRIES))


def room(model: Mechanism) -> np.ndarray:
    """Return scratch for a closed mechanism: rows as wide as there are bodies or rows, and places in INFO."""
    return np.zeros((MATRICES + 5 * model.rows, max(model.n, model.rows, 4)))


def spare_rows(model: Mechanism) -> int:
    """Return how many rows of the constraints follow from the others wherever the mechanism can be and move.

    A mechanism may have several ways to be assembled, with other numbers: see `ClosedSweep.begun`.
    """
    return _spare_rows(model.links, model.pins)


@lru_cache(maxsize=64)
def _spare_rows(links: tuple[Link | Slider, ...], pins: tuple[Closure, ...]) -> int:
    model = Mechanism(links, pins=pins)
    rows, rng, ranks = Rows(model), np.random.default_rng(0), [0]
    unit = rows.parameters.rows.unit
    for _ in range(TRIES):
        q = _closed_somewhere(rows, rng.uniform(-math.pi, math.pi, model.n) * unit, unit)
        ranks.append(0 if q is None else rows.rank_near(q, model))
        if ranks[-1] == model.rows:
            break
    return model.rows - (max(ranks) or model.rows)


def _closed_somewhere(rows: Rows, q: np.ndarray, unit: np.ndarray) -> np.ndarray | None:
    """Return closed coordinates that Newton's method comes to from q, if it does."""
    for _ in range(SEARCH):
        missed, gradients = rows(q)
        step = np.linalg.lstsq(gradients * unit, -missed, rcond=RANK)[0]
        q = q + unit * step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10 and np.abs(missed).max() < 1e-10 * rows.parameters.rows.places[SCALE].max():
            return q
    return None
