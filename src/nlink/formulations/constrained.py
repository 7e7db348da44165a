"""What `maximal` and `natural` share: their equations with multipliers, solved in O(N) by the band they form.

Link i has NL multipliers and NQ coordinates; unknowns are ordered link by link, multipliers first. Multipliers couple a link's
coordinates with those of the link before, so the matrix has a half bandwidth of 4 in both formulations,
whatever N. It is symmetric but indefinite (zeros on the diagonal, massless links), so it is eliminated with row pivots.

A formulation provides two compiled functions for its parameters' type:

    pose(y, p, w)                       fill TH, OM, S, C from the state
    equations(y, p, band, right, w)     fill the band matrix (without epsilon), the forces in `right`, and PHI, RATE, CURVE:
                                        Phi, Phi' and gamma (Phi'' = Phi_q q'' - gamma)

State: coordinates q, velocities v, then NA auxiliary values a link (angles of `natural`), then the filtered multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numba.extending import overload

from nlink._jit import INLINE, entry, kernel
from nlink.chain import Chain
from nlink.formulations.stabilization import STABILIZATIONS
from nlink.kernels import FX, FY, LOAD_ROWS, MASS, MZ, POWERS, REST, STIFFNESS, ChainParameters, apply_loads
from nlink.records import record
from nlink.system import RIGHT_HAND_SIDES, SETTLERS, Formulation

TH, OM = LOAD_ROWS, LOAD_ROWS + 1
PHI, RATE, CURVE = LOAD_ROWS + 2, LOAD_ROWS + 4, LOAD_ROWS + 6
"""Two rows each: constraint k of link i lies at row + k."""
LAMBDA = LOAD_ROWS + 8
RIGHT = LOAD_ROWS + 10
"""Five rows, read as one vector of NB n; and BAND, read as a matrix of NB n rows of WIDTH."""
FORCE = RIGHT + 5
BAND = FORCE + 5
HALF = 4
WIDTH = 3 * HALF + 1
ROWS = BAND + 5 * WIDTH

POSES: dict[type[Any], Callable[..., None]] = {}
EQUATIONS: dict[type[Any], Callable[..., None]] = {}
STEPS = 8
"""Most Newton steps of a projection."""


class ConstrainedFormulation(Formulation):
    """A formulation in redundant coordinates: `shape` is (NL, NQ, NA) a link, `kind` the type of its parameters."""

    constrained: ClassVar[bool] = True
    RECORDS: ClassVar[dict[str, type[Any]]] = STABILIZATIONS
    shape: ClassVar[tuple[int, int, int]]
    kind: ClassVar[type[Any]]
    constraints: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", record(f"{self.name}: constraints", self.constraints, STABILIZATIONS))

    def parameters(self, chain: Chain, numbers: ChainParameters) -> Any:
        """Take every chain and load."""
        return self.kind(numbers, self.constraints.handling(), *self.shape, self.size(chain.n))

    def scratch(self, n: int) -> int:
        """Rows of the loads, of the constraints, of the right-hand side and of the band."""
        return ROWS

    @property
    def projected(self) -> bool:
        """Whether states are brought back onto the constraints after each step."""
        return self.constraints.handling().projected

    def settled(self, parameters: Any, states: np.ndarray, scratch: np.ndarray, plain: bool) -> tuple[float, float]:
        """Bring states (K, size + ledger) onto the constraints, in place; return the largest |Phi| and |Phi'| before."""
        return settle_many(states, parameters, scratch, plain)

    def size(self, n: int) -> int:
        """Return the length of the state."""
        nl, nq, na = self.shape
        return (2 * nq + na + (nl if self.constraints.handling().tau > 0 else 0)) * n

    def joined(self, chain: Chain, q: np.ndarray, v: np.ndarray, *more: np.ndarray) -> np.ndarray:
        """Return the state of coordinates and velocities (..., N, NQ), with zeros for what is not given."""
        lead = q.shape[:-2]
        parts = [part.reshape((*lead, -1)) for part in (q, v, *more)]
        missing = self.size(chain.n) - sum(part.shape[-1] for part in parts)
        return np.concatenate([*parts, np.zeros((*lead, missing))], axis=-1)

    def split(self, chain: Chain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates and velocities (..., N, NQ) of states, or of their rates."""
        count = self.shape[1] * chain.n
        q, v = state[..., :count], state[..., count : 2 * count]
        return q.reshape((*q.shape[:-1], chain.n, -1)), v.reshape((*v.shape[:-1], chain.n, -1))


def pose(y: Any, p: Any, w: Any) -> None:
    """Fill TH, OM, S, C from the state."""
    POSES[type(p)](y, p, w)


def equations(y: Any, p: Any, band: Any, right: Any, w: Any) -> None:
    """Fill the equations of motion."""
    EQUATIONS[type(p)](y, p, band, right, w)


@overload(pose, jit_options=INLINE)
def _pose(y, p, w):
    return POSES[p.instance_class]


@overload(equations, jit_options=INLINE)
def _equations(y, p, band, right, w):
    return EQUATIONS[p.instance_class]


@kernel
def solve_band(band, right):
    """Solve in place by elimination with row pivots; row i of `band` holds columns i - HALF .. i + 2 HALF.

    Columns beyond the last hold zeros, so that the inner loops always have the same length.
    """
    size = len(right)
    for k in range(size):
        last = min(k + HALF, size - 1)
        best, largest = k, abs(band[k, HALF])
        for i in range(k + 1, last + 1):
            value = abs(band[i, HALF + k - i])
            if value > largest:
                best, largest = i, value
        if best != k:
            shift = k - best
            for j in range(HALF, WIDTH):
                band[k, j], band[best, j + shift] = band[best, j + shift], band[k, j]
            right[k], right[best] = right[best], right[k]
        inverse = 1.0 / band[k, HALF]
        top = right[k]
        for i in range(k + 1, last + 1):
            at = HALF + k - i
            factor = band[i, at] * inverse
            if factor != 0.0:
                for j in range(1, 2 * HALF + 1):
                    band[i, at + j] -= factor * band[k, HALF + j]
                right[i] -= factor * top
    for step in range(size):
        k = size - 1 - step
        total = right[k]
        for j in range(1, min(2 * HALF, step) + 1):
            total -= band[k, HALF + j] * right[k + j]
        right[k] = total / band[k, HALF]


@kernel
def band_of(p, w):
    """Return the scratch for the band as a matrix."""
    return w[BAND : BAND + (p.nl + p.nq) * WIDTH].reshape(((p.nl + p.nq) * p.chain.n, WIDTH))


@kernel
def vector_of(p, w, row):
    """Return scratch rows as one vector of all unknowns."""
    return w[row : row + p.nl + p.nq].reshape((p.nl + p.nq) * p.chain.n)


def constrained_rates(t, y, p, out, w):
    """Fill out = (v, q'', auxiliary rates, filtered multipliers' rates, powers)."""
    chain, handling = p.chain, p.handling
    n, nb, size = chain.n, p.nl + p.nq, p.nq * chain.n
    pose(y, p, w)
    ledger = p.size
    if chain.loaded:
        apply_loads(t, w[TH], w[OM], 0, chain, w, out, ledger)
    else:
        for i in range(n):
            w[FX, i] = w[FY, i] = w[MZ, i] = 0.0
        for row in range(POWERS):
            out[ledger + row] = 0.0
    right, force = vector_of(p, w, RIGHT), vector_of(p, w, FORCE)
    for i in range(n):
        for k in range(p.nl):
            w[LAMBDA + k, i] = 0.0
    for _sweep in range(handling.sweeps):
        band = band_of(p, w)
        equations(y, p, band, right, w)
        for i in range(n * nb):
            force[i] = right[i]
        for i in range(n):
            for k in range(p.nl):
                row = nb * i + k
                feedback = 2.0 * handling.zeta * handling.w * w[RATE + k, i] + handling.w * handling.w * w[PHI + k, i]
                right[row] = w[CURVE + k, i] - feedback - handling.epsilon * w[LAMBDA + k, i]
                band[row, HALF] = -handling.epsilon
        solve_band(band, right)
        for i in range(n):
            for k in range(p.nl):
                w[LAMBDA + k, i] = right[nb * i + k]
    work = 0.0
    for i in range(n):
        for k in range(p.nl):
            work -= w[LAMBDA + k, i] * w[RATE + k, i]
            if handling.tau > 0.0:
                at = 2 * size + p.na * n + p.nl * i + k
                out[at] = (w[LAMBDA + k, i] - y[at]) / handling.tau
        for k in range(p.nq):
            out[p.nq * i + k] = y[size + p.nq * i + k]
            out[size + p.nq * i + k] = right[nb * i + p.nl + k]
            work += force[nb * i + p.nl + k] * y[size + p.nq * i + k]
        for k in range(p.na):
            out[2 * size + p.na * i + k] = w[OM, i]
    out[ledger + POWERS - 1] = work + stored(y, p, w) - done(out, ledger)


@kernel
def done(out, ledger):
    """Return the power that the ledger has under the names of the loads."""
    total = 0.0
    for row in range(POWERS - 1):
        total += out[ledger + row]
    return total


@kernel
def stored(y, p, w):
    """Return the power that goes into gravity and springs: what of the forces' power is no work of loads."""
    chain, size = p.chain, p.nq * p.chain.n
    total = before_theta = before_omega = 0.0
    for i in range(chain.n):
        stretch = w[TH, i] - before_theta - chain.links[REST, i]
        total += chain.links[STIFFNESS, i] * stretch * (w[OM, i] - before_omega)
        total += chain.links[MASS, i] * chain.g * height(y, p, i, size)
        before_theta, before_omega = w[TH, i], w[OM, i]
    return total


@kernel
def energy(y, p, band, w):
    """Return the energy of a state, with its masses in the band and its angles in TH."""
    chain, nb, size = p.chain, p.nl + p.nq, p.nq * p.chain.n
    total = before = 0.0
    for i in range(chain.n):
        stretch = w[TH, i] - before - chain.links[REST, i]
        total += 0.5 * chain.links[STIFFNESS, i] * stretch * stretch + chain.links[MASS, i] * chain.g * height(y, p, i, 0)
        before = w[TH, i]
        for a in range(p.nq):
            row = nb * i + p.nl + a
            for j in range(max(i - 1, 0), min(i + 2, chain.n)):
                for b in range(p.nq):
                    column = HALF + nb * j + p.nl + b - row
                    if 0 <= column < 2 * HALF + 1:
                        total += 0.5 * band[row, column] * y[size + p.nq * i + a] * y[size + p.nq * j + b]
    return total


@kernel
def settle(y, p, w, plain):
    """Bring position and velocity back onto the constraints by the smallest change, in the metric of the masses or plain.

    The energy it takes goes into the ledger's last row. Return the largest |Phi| and |Phi'| that were there before.
    """
    n, size = p.chain.n, p.nq * p.chain.n
    right, band = vector_of(p, w, RIGHT), band_of(p, w)
    first = speed = taken = 0.0
    for step in range(STEPS):
        pose(y, p, w)
        equations(y, p, band, right, w)
        worst = 0.0
        for i in range(n):
            for k in range(p.nl):
                worst = max(worst, abs(w[PHI + k, i]))
                if step == 0:
                    speed = max(speed, abs(w[RATE + k, i]))
        if step == 0:
            first, taken = worst, energy(y, p, band, w)
        if step > 0 and worst < 1e-15:
            break
        correct(y, p, band, right, w, PHI, 0, plain)
    pose(y, p, w)
    equations(y, p, band, right, w)
    correct(y, p, band, right, w, RATE, size, plain)
    pose(y, p, w)
    equations(y, p, band, right, w)
    y[p.size + POWERS - 1] += energy(y, p, band, w) - taken
    return first, speed


@kernel
def correct(y, p, band, right, w, row, at, plain):
    """Change the coordinates (at = 0) or velocities (at = size) so that the violation in `row` vanishes to first order."""
    nb = p.nl + p.nq
    for i in range(p.chain.n):
        for k in range(p.nl):
            right[nb * i + k] = -w[row + k, i]
        for k in range(p.nq):
            right[nb * i + p.nl + k] = 0.0
    if plain:
        forget_masses(p, band)
    solve_band(band, right)
    for i in range(p.chain.n):
        for k in range(p.nq):
            y[at + p.nq * i + k] += right[nb * i + p.nl + k]


@kernel
def forget_masses(p, band):
    """Put ones on the diagonal of the coordinates in place of the masses."""
    nb = p.nl + p.nq
    for row in range(len(band)):
        if row % nb >= p.nl:
            for k in range(WIDTH):
                column = row + k - HALF
                if column % nb >= p.nl:
                    band[row, k] = 1.0 if column == row else 0.0


def settle_if_projected(y, p, w):
    """Settle a state after a step if the constraints are handled so; return whether it was changed."""
    if p.handling.projected:
        settle(y, p, w, False)
    return p.handling.projected


@entry
def settle_many(y, p, w, plain):
    """Bring each row of y onto the constraints; return the largest |Phi| and |Phi'| that were there before."""
    first = speed = 0.0
    for k in range(len(y)):
        a, b = settle(y[k], p, w, plain)
        first, speed = max(first, a), max(speed, b)
    return first, speed


HEIGHTS: dict[type[Any], Callable[..., float]] = {}


def height(y: Any, p: Any, i: int, at: int) -> float:
    """Return the height of the centre of mass of link i (at = 0), or its rate (at = size): it is linear in the coordinates."""
    return HEIGHTS[type(p)](y, p, i, at)


@overload(height, jit_options=INLINE)
def _height(y, p, i, at):
    return HEIGHTS[p.instance_class]


def register(kind: type[Any], pose_: Callable[..., None], equations_: Callable[..., None], height_: Callable[..., float]) -> None:
    """Make a formulation's functions known to the shared ones."""
    POSES[kind], EQUATIONS[kind], HEIGHTS[kind] = pose_, equations_, height_
    RIGHT_HAND_SIDES[kind], SETTLERS[kind] = constrained_rates, settle_if_projected
