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
    repose(p, w)                        follow TH, OM, S, C where they were changed after pose, to close a loop
    tug(p, w, fx, fy)                   fill FORCE with the force (fx, fy) at the last tip
    turning(p, w)                       fill OUT with the angular accelerations in ACC
    shift(y, p, w)                      move the state from the angles and rates in KEPT to those in TH, OM
    kinetic(y, p, w)                    the kinetic energy
    height(y, p, i, at)                 of the centre of mass of link i (at = 0), or its rate (at = size)

A pin is kept as in the other formulations (loop.py): the angles at which the equations are evaluated are closed, the force at the
tip follows from the chain as it is and two unit forces, and after each step the state is moved onto the closure. The handling of
constraints concerns the hinges; without one the state is placed anew from its closed angles.

State: coordinates q, velocities v, then NA auxiliary values a link (angles of `natural`), then the filtered multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba.extending import overload

from nlink._jit import INLINE, entry, kernel
from nlink.chain import Chain
from nlink.formulations.loop import DISTANCE, KEPT, OM, TH, frame_of, settle_rows, shut, tip_force, turn_from
from nlink.formulations.stabilization import STABILIZATIONS
from nlink.kernels import (
    FX,
    FY,
    LENGTH,
    LOAD_ROWS,
    MASS,
    MZ,
    POWERS,
    REST,
    STIFFNESS,
    TIP,
    C,
    ChainParameters,
    S,
    apply_loads,
)
from nlink.records import record
from nlink.system import RESIDUALS, RIGHT_HAND_SIDES, SETTLERS, Formulation, Kernel

PHI, RATE, CURVE, RIGHT, LAMBDA = range(LOAD_ROWS + 2, LOAD_ROWS + 12, 2)
"""Two rows each: that of constraint k of link i lies at row + k."""
FORCE, ACC = LOAD_ROWS + 12, LOAD_ROWS + 15
"""Three rows each, one for each coordinate."""
OUT, MU = LOAD_ROWS + 18, LOAD_ROWS + 21
"""Three rows and two."""
OWN = LOAD_ROWS + 23
"""From here on rows of the formulation's own."""
FIRST, SECOND = OWN + 15, OWN + 21
"""Six rows and two, to put accelerations and forces, and multipliers aside."""
ROWS = OWN + 23

POSES: dict[type[Any], Kernel] = {}
EQUATIONS: dict[type[Any], Kernel] = {}
SOLVERS: dict[type[Any], Kernel] = {}
INERTIAS: dict[type[Any], Kernel] = {}
PULLS: dict[type[Any], Kernel] = {}
REPOSES: dict[type[Any], Kernel] = {}
TUGS: dict[type[Any], Kernel] = {}
TURNINGS: dict[type[Any], Kernel] = {}
SHIFTS: dict[type[Any], Kernel] = {}
KINETIC: dict[type[Any], Callable[..., float]] = {}
HEIGHTS: dict[type[Any], Callable[..., float]] = {}
STEPS = 8
"""Most Newton steps of a projection."""


class ConstrainedFormulation(Formulation):
    """A formulation in redundant coordinates: `shape` is (NL, NQ, NA) a link, `kind` the type of its parameters."""

    constrained: ClassVar[bool] = True
    closes: ClassVar[bool] = True
    RECORDS: ClassVar[dict[str, type[Any]]] = STABILIZATIONS
    shape: ClassVar[tuple[int, int, int]]
    kind: ClassVar[type[Any]]
    loop: ClassVar[type[Any]]
    constraints: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", record(f"{self.name}: constraints", self.constraints, STABILIZATIONS))

    def parameters(self, chain: Chain, numbers: ChainParameters) -> Any:
        """Take every chain and load."""
        kind = self.loop if chain.pin else self.kind
        return kind(numbers, self.constraints.handling(), *self.shape, self.size(chain.n))

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
        shape = (*q.shape[:-1], chain.n, self.shape[1])
        return q.reshape(shape), v.reshape(shape)


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


def repose(p: Any, w: Any) -> None:
    """Follow changed angles and rates."""
    REPOSES[type(p)](p, w)


def tug(p: Any, w: Any, fx: float, fy: float) -> None:
    """Fill FORCE with a force at the last tip."""
    TUGS[type(p)](p, w, fx, fy)


def turning(p: Any, w: Any) -> None:
    """Fill OUT with the angular accelerations in ACC."""
    TURNINGS[type(p)](p, w)


def shift(y: Any, p: Any, w: Any) -> None:
    """Move the state from the angles and rates in KEPT to those in TH, OM."""
    SHIFTS[type(p)](y, p, w)


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


@overload(repose, jit_options=INLINE)
def _repose(p, w):
    return REPOSES[p.instance_class]


@overload(tug, jit_options=INLINE)
def _tug(p, w, fx, fy):
    return TUGS[p.instance_class]


@overload(turning, jit_options=INLINE)
def _turning(p, w):
    return TURNINGS[p.instance_class]


@overload(shift, jit_options=INLINE)
def _shift(y, p, w):
    return SHIFTS[p.instance_class]


@overload(kinetic, jit_options=INLINE)
def _kinetic(y, p, w):
    return KINETIC[p.instance_class]


@overload(height, jit_options=INLINE)
def _height(y, p, i, at):
    return HEIGHTS[p.instance_class]


def constrained_rates(t, y, p, out, w):
    """Fill out = (v, q'', auxiliary rates, filtered multipliers' rates, powers)."""
    pose(y, p, w)
    press(t, y, p, out, w)
    hold(p, w)
    fill(y, p, out, w)


@kernel
def hold(p, w):
    """Solve for accelerations and multipliers with the handling of the constraints."""
    handling = p.handling
    for sweep in range(handling.sweeps):
        for i in range(p.chain.n):
            for k in range(p.nl):
                feedback = 2.0 * handling.zeta * handling.w * w[RATE + k, i] + handling.w * handling.w * w[PHI + k, i]
                w[RIGHT + k, i] = w[CURVE + k, i] - feedback
                if sweep > 0:
                    w[RIGHT + k, i] -= handling.epsilon * w[LAMBDA + k, i]
        solve(p, w, handling.epsilon, True, False)


def constrained_loop_rates(t, y, p, out, w):
    """Fill out as `constrained_rates` does, for a closed chain."""
    chain = p.chain
    n = chain.n
    pose(y, p, w)
    frame, s, c = frame_of(chain, w)
    turn_from(frame, chain, w)
    shut(chain, w, frame)
    for i in range(n):
        w[S, i], w[C, i] = w[S, i] * c + w[C, i] * s, w[C, i] * c - w[S, i] * s
    repose(p, w)
    press(t, y, p, out, w)
    hold(p, w)
    x0, y0 = tip_turning(p, w, s, c, True)
    for i in range(n):
        for k in range(p.nq):
            w[FIRST + k, i], w[FIRST + 3 + k, i] = w[ACC + k, i], w[FORCE + k, i]
        for k in range(p.nl):
            w[SECOND + k, i] = w[LAMBDA + k, i]
            w[RIGHT + k, i] = 0.0
    tug(p, w, c, s)
    solve(p, w, p.handling.epsilon, True, False)
    sxx, syx = tip_turning(p, w, s, c, False)
    tug(p, w, -s, c)
    solve(p, w, p.handling.epsilon, True, False)
    sxy, syy = tip_turning(p, w, s, c, False)
    fx, fy = -x0 / sxx, 0.0
    if n > 2 or chain.pin[DISTANCE] > 0.0:
        fx, fy = tip_force(-x0, -y0, sxx, 0.5 * (sxy + syx), syy)
    w[TIP, 0], w[TIP, 1] = c * fx - s * fy, s * fx + c * fy
    tug(p, w, w[TIP, 0], w[TIP, 1])
    solve(p, w, p.handling.epsilon, True, False)
    for i in range(n):
        for k in range(p.nq):
            w[ACC + k, i] += w[FIRST + k, i]
            w[FORCE + k, i] += w[FIRST + 3 + k, i]
        for k in range(p.nl):
            w[LAMBDA + k, i] += w[SECOND + k, i]
    fill(y, p, out, w)


@kernel
def tip_turning(p, w, s, c, free):
    """Return the acceleration of the last tip that follows from the angular ones, in the frame of the loop."""
    turning(p, w)
    x = y = 0.0
    for i in range(p.chain.n):
        length = p.chain.links[LENGTH, i]
        ls, lc = length * (w[S, i] * c - w[C, i] * s), length * (w[C, i] * c + w[S, i] * s)
        square = w[OM, i] * w[OM, i] if free else 0.0
        x += lc * w[OUT, i] - ls * square
        y += ls * w[OUT, i] + lc * square
    return x, y


@kernel
def fill(y, p, out, w):
    """Fill out with velocities, accelerations, auxiliary rates, filtered multipliers' rates, and the power of the constraints."""
    handling = p.handling
    n, size, ledger = p.chain.n, p.nq * p.chain.n, p.size
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
    """Fill the forces and the constraints of a posed state, and the power of the loads in the ledger's rows of out."""
    if p.chain.loaded:
        apply_loads(t, w[TH], w[OM], 0, p.chain, w, out, p.size, p.chain.tip[0], p.chain.tip[1])
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
    pose(y, p, w)
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


def settle_closed(y, p, w):
    """Settle the state of a closed chain after a step."""
    if p.handling.projected:
        settle(y, p, w, False)
    close(y, p, w)
    return True


@kernel
def rebuilt(handling):
    """Whether nothing keeps the hinges of a closed chain: near dead positions they would drift apart fast."""
    return handling.epsilon == 0.0 and handling.w == 0.0 and not handling.projected


@kernel
def close(y, p, w):
    """Move a state onto the closure; the energy it takes goes into the ledger's last row. Return the miss and its rate before."""
    pose(y, p, w)
    for i in range(p.chain.n):
        w[KEPT, i], w[KEPT + 1, i] = w[TH, i], w[OM, i]
    before = energy(y, p, w)
    miss, rate, _ = settle_rows(p.chain, w)
    shift(y, p, w)
    pose(y, p, w)
    y[p.size + POWERS - 1] += energy(y, p, w) - before
    return miss, rate


@entry
def settle_many(y, p, w, plain):
    """Bring each row of y onto the constraints; return the largest |Phi| and |Phi'| that were there before."""
    first = speed = 0.0
    for k in range(len(y)):
        if p.handling.projected or plain:
            a, b = settle(y[k], p, w, plain)
            first, speed = max(first, a), max(speed, b)
        if p.chain.closed:
            a, b = close(y[k], p, w)
            first, speed = max(first, a), max(speed, b)
    return first, speed


@dataclass
class Pieces:
    """The compiled functions of a formulation."""

    pose: Kernel
    equations: Kernel
    solve: Kernel
    inertia: Kernel
    pull: Kernel
    repose: Kernel
    tug: Kernel
    turning: Kernel
    shift: Kernel
    kinetic: Callable[..., float]
    height: Callable[..., float]


def register(kind: type[Any], loop: type[Any], pieces: Pieces) -> None:
    """Make a formulation's functions known to the shared ones, for open and for closed chains."""
    for each in (kind, loop):
        POSES[each], EQUATIONS[each], SOLVERS[each], INERTIAS[each] = pieces.pose, pieces.equations, pieces.solve, pieces.inertia
        PULLS[each], REPOSES[each], TUGS[each], TURNINGS[each] = pieces.pull, pieces.repose, pieces.tug, pieces.turning
        SHIFTS[each], KINETIC[each], HEIGHTS[each] = pieces.shift, pieces.kinetic, pieces.height
    RIGHT_HAND_SIDES[kind], SETTLERS[kind], RESIDUALS[kind] = constrained_rates, settle_if_projected, constrained_residual
    RIGHT_HAND_SIDES[loop], SETTLERS[loop] = constrained_loop_rates, settle_closed
