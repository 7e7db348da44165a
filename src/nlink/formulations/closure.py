"""`recursive` for closed mechanisms: the formulation, the forces of the closures, and where the motion is not determined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlink.formulations.closed_rates import RESTING, SPLIT
from nlink.formulations.closed_settling import settle_closures
from nlink.formulations.closing import nearest_of
from nlink.formulations.constraint_rows import (
    BEGIN,
    DIAGONAL,
    FROM_ROW,
    INFO,
    KEPT,
    LATE,
    MATRICES,
    NONE_OFF,
    ORDER,
    PIVOT,
    SIGMA,
    SPARE,
    TO_ROW,
    UNDETERMINED,
    Z,
)
from nlink.formulations.envelope import PLAIN
from nlink.formulations.factors import HIT
from nlink.formulations.row_numbers import AXIS, CLOSURE, FIRST, LAST, SCALE, RowNumbers, row_numbers
from nlink.formulations.rows import PART, ClosedParameters
from nlink.formulations.spare import Rows, room, spare_rows
from nlink.formulations.tree import TreeFormulation
from nlink.mechanics import tree_kinematics
from nlink.mechanics.closures import gaps
from nlink.mechanics.equations import rates
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.points import At, Distance, Gear, Pin, ends
from nlink.mechanics.system import System

BLOCKED = 1e-3
"""Distance to a dead position below which a linkage may be at the end of the way of its drive."""
AGAINST = 0.01
"""Part of the fastest drive, times the scale of the row: what a row that nearly vanishes cannot follow."""


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
        driven = _driven_too_far(chain, y, w) if chain.prescribed.any() and w[INFO, SIGMA] < BLOCKED else []
        if len(driven):
            places = ", ".join(f"link {i} at {y[i]:.4g} {'m' if chain.slides[i] else 'rad'}" for i in driven)
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
        coordinates = np.moveaxis(np.asarray(state, float)[..., : chain.n], -1, 0)
        return np.abs(gaps(chain, coordinates)).max(0, initial=0.0)

    def reactions(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, chain: Mechanism, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray, scratch: np.ndarray
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


def _driven_too_far(model: Mechanism, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the prescribed bodies whose rates no rates of the free ones can follow, at a state y beside a dead position: where a
    row of the free coordinates vanishes, but not of the prescribed ones. All of them, if they leave no freedom.
    """
    used, prescribed = model.rows - int(w[INFO, SPARE]), np.flatnonzero(model.prescribed)
    if len(prescribed) + used == model.n:
        return prescribed
    rows = Rows(model)
    numbers = rows.parameters.rows
    gradients = rows(y[: model.n])[1] * numbers.unit / numbers.places[SCALE][:, None]
    vanishing = np.linalg.svd(gradients[:, ~model.prescribed])[0][:, used - 1]
    rates = y[model.n + prescribed] / numbers.unit[prescribed]
    asked = np.abs(vanishing @ gradients[:, prescribed] * rates)
    return prescribed[asked > AGAINST * np.abs(rates).max()]


def _multipliers(numbers: RowNumbers, w: np.ndarray) -> np.ndarray:
    """Return the multipliers (rows,) that the right-hand side has left; the smallest, if rows are spare.

    On a dead position the row that vanishes has none: beside it, its multiplier is as the inverse of the distance.
    """
    m, n, used = numbers.total, len(numbers.column), numbers.total - numbers.spare
    if w[INFO, KEPT] == NONE_OFF:
        return _smallest(w[Z, :m], _plain_rows(numbers, w), numbers.spare)
    matrix, parts, order = MATRICES + m, MATRICES + 3 * m, w[ORDER, :m].astype(int)
    above = np.triu(w[matrix : matrix + used, :used].T, 1)
    above[np.arange(used)[:, None] < w[BEGIN, :used]] = 0.0  # what is before the first entry of a row was never filled
    R = above + np.diag(w[DIAGONAL, :used])
    if not np.all(np.isfinite(R)) or not R.diagonal().all():
        return np.full(m, np.nan)
    combined = np.linalg.solve(R, -(w[Z, :used] + w[PART, :used])) if used else np.zeros(0)
    sizes = np.zeros(m)
    for r, size, pivot in zip(order[:used], combined, w[PIVOT, :used], strict=True):
        if not w[LATE, r]:
            sizes[r] += size
            continue
        if pivot < HIT * numbers.places[SCALE, r]:
            continue
        those = slice(int(w[FROM_ROW, r]), int(w[TO_ROW, r]) + 1)
        sizes[those] += w[parts + r, those] * size
    return _smallest(sizes, w[MATRICES : MATRICES + m, :n], numbers.spare)


def _plain_rows(numbers: RowNumbers, w: np.ndarray) -> np.ndarray:
    """Return the gradients of the rows (rows, N) that lie behind the matrices."""
    m, n = numbers.total, len(numbers.column)
    values = w[MATRICES + 5 * m + numbers.envelope.at[PLAIN] :].reshape(-1)
    out = np.zeros((m, n))
    for r, (first, last) in enumerate(numbers.whole[[FIRST, LAST]].T.tolist()):
        out[r, numbers.paths[first:last]] = values[first:last]
    return out


def _smallest(sizes: np.ndarray, gradients: np.ndarray, spare: int) -> np.ndarray:
    """Return the smallest multipliers with the same effect."""
    if not spare:
        return sizes
    left = np.linalg.svd(gradients)[0][:, : len(sizes) - spare]
    return left @ (left.T @ sizes)


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
