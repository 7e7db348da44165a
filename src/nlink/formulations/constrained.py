"""What `maximal` and `natural` share: their equations with multipliers, solved in O(N), and how the constraints are kept.

Link i has NL multipliers and NQ coordinates. Its equations involve only its own unknowns and the coordinates of the link
before, so the matrix of all is banded, with the same narrow band whatever N. It is indefinite (zeros on the diagonal, massless
links), but the unknowns of one link can always be eliminated together, from the tip inwards: that pivot is the inertia
the link has about its upper hinge with all that hangs on it. So the order is fixed, and nothing needs to be searched for.

A formulation registers compiled functions for its parameters' type:

    pose(y, p, w)                       fill TH, OM, S, C from the state
    equations(y, p, w)                  fill FORCE, and PHI, RATE, CURVE: Phi, Phi' and gamma (Phi'' = Phi_q q'' - gamma)
    solve(p, w, epsilon, forced, plain) fill ACC and LAMBDA from M x + Phi_q^T lambda = FORCE, Phi_q x - epsilon lambda = RIGHT;
                                        no forces unless `forced`, unit masses if `plain`
    inertia(p, w)                       fill OUT with M ACC
    pull(p, w, row)                     fill OUT with Phi_q^T times the rows `row`
    kinetic(y, p, w)                    the kinetic energy
    height(y, p, i, at)                 of the centre of mass of link i (at = 0), or its rate (at = size)

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
from nlink.system import RESIDUALS, RIGHT_HAND_SIDES, SETTLERS, Formulation, Kernel

TH, OM = LOAD_ROWS, LOAD_ROWS + 1
PHI, RATE, CURVE, RIGHT, LAMBDA = range(LOAD_ROWS + 2, LOAD_ROWS + 12, 2)
"""Two rows each: that of constraint k of link i lies at row + k."""
FORCE, ACC = LOAD_ROWS + 12, LOAD_ROWS + 15
"""Three rows each, one for each coordinate."""
OUT, MU = LOAD_ROWS + 18, LOAD_ROWS + 21
"""Three rows and two."""
OWN = LOAD_ROWS + 23
"""From here on rows of the formulation's own."""
ROWS = OWN + 13

POSES: dict[type[Any], Kernel] = {}
EQUATIONS: dict[type[Any], Kernel] = {}
SOLVERS: dict[type[Any], Kernel] = {}
INERTIAS: dict[type[Any], Kernel] = {}
PULLS: dict[type[Any], Kernel] = {}
KINETIC: dict[type[Any], Callable[..., float]] = {}
HEIGHTS: dict[type[Any], Callable[..., float]] = {}
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
        """Rows of the loads, of the constraints, of the unknowns, and the formulation's own."""
        return ROWS

    @property
    def projected(self) -> bool:
        """Whether states are brought back onto the constraints after each step."""
        return self.constraints.handling().projected

    @property
    def method(self) -> Any:
        """The record of the integrator that the handling of the constraints brings with it, or None."""
        return self.constraints.method

    def multipliers(self, scratch: np.ndarray) -> np.ndarray:
        """Return the multipliers (NL, N) that the right-hand side has left in `scratch`."""
        return scratch[LAMBDA : LAMBDA + self.shape[0]].copy()

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


def equations(y: Any, p: Any, w: Any) -> None:
    """Fill the forces, and the constraints with their derivatives."""
    EQUATIONS[type(p)](y, p, w)


def solve(p: Any, w: Any, epsilon: float, forced: bool, plain: bool) -> None:
    """Solve for accelerations and multipliers."""
    SOLVERS[type(p)](p, w, epsilon, forced, plain)


def inertia(p: Any, w: Any) -> None:
    """Fill OUT with the masses times ACC."""
    INERTIAS[type(p)](p, w)


def pull(p: Any, w: Any, row: int) -> None:
    """Fill OUT with the forces of the multipliers in `row` on the coordinates."""
    PULLS[type(p)](p, w, row)


def kinetic(y: Any, p: Any, w: Any) -> float:
    """Return the kinetic energy."""
    return KINETIC[type(p)](y, p, w)


def height(y: Any, p: Any, i: int, at: int) -> float:
    """Return the height of the centre of mass of link i (at = 0), or its rate (at = size): it is linear in the coordinates."""
    return HEIGHTS[type(p)](y, p, i, at)


@overload(pose, jit_options=INLINE)
def _pose(y, p, w):
    return POSES[p.instance_class]


@overload(equations, jit_options=INLINE)
def _equations(y, p, w):
    return EQUATIONS[p.instance_class]


@overload(solve, jit_options=INLINE)
def _solve(p, w, epsilon, forced, plain):
    return SOLVERS[p.instance_class]


@overload(inertia, jit_options=INLINE)
def _inertia(p, w):
    return INERTIAS[p.instance_class]


@overload(pull, jit_options=INLINE)
def _pull(p, w, row):
    return PULLS[p.instance_class]


@overload(kinetic, jit_options=INLINE)
def _kinetic(y, p, w):
    return KINETIC[p.instance_class]


@overload(height, jit_options=INLINE)
def _height(y, p, i, at):
    return HEIGHTS[p.instance_class]


def constrained_rates(t, y, p, out, w):
    """Fill out = (v, q'', auxiliary rates, filtered multipliers' rates, powers)."""
    chain, handling = p.chain, p.handling
    n, size, ledger = chain.n, p.nq * chain.n, p.size
    press(t, y, p, out, w)
    for sweep in range(handling.sweeps):
        for i in range(n):
            for k in range(p.nl):
                feedback = 2.0 * handling.zeta * handling.w * w[RATE + k, i] + handling.w * handling.w * w[PHI + k, i]
                w[RIGHT + k, i] = w[CURVE + k, i] - feedback
                if sweep > 0:
                    w[RIGHT + k, i] -= handling.epsilon * w[LAMBDA + k, i]
        solve(p, w, handling.epsilon, True, False)
    work = 0.0
    for i in range(n):
        for k in range(p.nl):
            work -= w[LAMBDA + k, i] * w[RATE + k, i]
            if handling.tau > 0.0:
                at = 2 * size + p.na * n + p.nl * i + k
                out[at] = (w[LAMBDA + k, i] - y[at]) / handling.tau
        for k in range(p.nq):
            out[p.nq * i + k] = y[size + p.nq * i + k]
            out[size + p.nq * i + k] = w[ACC + k, i]
            work += w[FORCE + k, i] * y[size + p.nq * i + k]
        for k in range(p.na):
            out[2 * size + p.na * i + k] = w[OM, i]
    out[ledger + POWERS - 1] = work + stored(y, p, w) - done(out, ledger)


@kernel
def press(t, y, p, out, w):
    """Fill the forces and the constraints of a state, and the power of the loads in the ledger's rows of out."""
    pose(y, p, w)
    if p.chain.loaded:
        apply_loads(t, w[TH], w[OM], 0, p.chain, w, out, p.size)
    else:
        for i in range(p.chain.n):
            w[FX, i] = w[FY, i] = w[MZ, i] = 0.0
        for row in range(POWERS):
            out[p.size + row] = 0.0
    equations(y, p, w)


def constrained_residual(t, z, rate, p, y, out, w):
    """Fill what is left of q' = v - Phi_q^T mu, M v' + Phi_q^T lambda = Q, Phi' = 0, Phi = 0 (Gear, Gupta, Leimkuhler 1985).

    The powers of the loads go behind the state in y.
    """
    nl, nq, size = p.nl, p.nq, p.nq * p.chain.n
    block = 2 * (nl + nq)
    for i in range(p.chain.n):
        at = block * i
        for k in range(nq):
            y[nq * i + k], y[size + nq * i + k], w[ACC + k, i] = z[at + k], z[at + nq + k], rate[at + nq + k]
        for k in range(nl):
            w[LAMBDA + k, i], w[MU + k, i] = z[at + 2 * nq + k], z[at + 2 * nq + nl + k]
    press(t, y, p, y, w)
    pull(p, w, MU)
    for i in range(p.chain.n):
        at = block * i
        for k in range(nq):
            out[at + k] = rate[at + k] - z[at + nq + k] + w[OUT + k, i]
        for k in range(nl):
            out[at + 2 * nq + k], out[at + 2 * nq + nl + k] = w[RATE + k, i], w[PHI + k, i]
    inertia(p, w)
    for i in range(p.chain.n):
        for k in range(nq):
            out[block * i + nq + k] = w[OUT + k, i] - w[FORCE + k, i]
    pull(p, w, LAMBDA)
    for i in range(p.chain.n):
        for k in range(nq):
            out[block * i + nq + k] += w[OUT + k, i]


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
def energy(y, p, w):
    """Return the energy of a state, with its angles in TH."""
    chain = p.chain
    total = kinetic(y, p, w)
    before = 0.0
    for i in range(chain.n):
        stretch = w[TH, i] - before - chain.links[REST, i]
        total += 0.5 * chain.links[STIFFNESS, i] * stretch * stretch + chain.links[MASS, i] * chain.g * height(y, p, i, 0)
        before = w[TH, i]
    return total


@kernel
def settle(y, p, w, plain):
    """Bring position and velocity back onto the constraints by the smallest change, in the metric of the masses or plain.

    The energy it takes goes into the ledger's last row. Return the largest |Phi| and |Phi'| that were there before.
    """
    n, size = p.chain.n, p.nq * p.chain.n
    first = speed = taken = 0.0
    for step in range(STEPS):
        pose(y, p, w)
        equations(y, p, w)
        worst = 0.0
        for i in range(n):
            for k in range(p.nl):
                worst = max(worst, abs(w[PHI + k, i]))
                if step == 0:
                    speed = max(speed, abs(w[RATE + k, i]))
        if step == 0:
            first, taken = worst, energy(y, p, w)
        if step > 0 and worst < 1e-15:
            break
        correct(y, p, w, PHI, 0, plain)
    pose(y, p, w)
    equations(y, p, w)
    correct(y, p, w, RATE, size, plain)
    pose(y, p, w)
    y[p.size + POWERS - 1] += energy(y, p, w) - taken
    return first, speed


@kernel
def correct(y, p, w, row, at, plain):
    """Change the coordinates (at = 0) or velocities (at = size) so that the violation in `row` vanishes to first order."""
    for i in range(p.chain.n):
        for k in range(p.nl):
            w[RIGHT + k, i] = -w[row + k, i]
    solve(p, w, 0.0, False, plain)
    for i in range(p.chain.n):
        for k in range(p.nq):
            y[at + p.nq * i + k] += w[ACC + k, i]


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


def register(
    kind: type[Any],
    pose_: Kernel,
    equations_: Kernel,
    solve_: Kernel,
    inertia_: Kernel,
    pull_: Kernel,
    kinetic_: Callable[..., float],
    height_: Callable[..., float],
) -> None:
    """Make a formulation's functions known to the shared ones."""
    POSES[kind], EQUATIONS[kind], SOLVERS[kind], KINETIC[kind], HEIGHTS[kind] = pose_, equations_, solve_, kinetic_, height_
    INERTIAS[kind], PULLS[kind] = inertia_, pull_
    RIGHT_HAND_SIDES[kind], SETTLERS[kind], RESIDUALS[kind] = constrained_rates, settle_if_projected, constrained_residual
