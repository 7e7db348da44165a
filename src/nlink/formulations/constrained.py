"""What `maximal` and `natural` share: their equations with multipliers, solved in O(N), and how the constraints are kept.

Link i has NL multipliers and NQ coordinates. Its equations involve only its own unknowns and the coordinates of the link
before, so the matrix of all is banded, with the same narrow band whatever N. It is indefinite (zeros on the diagonal, massless
links), but the unknowns of one link can always be eliminated together, from the tip inwards: that pivot is the inertia
the link has about its upper hinge with all that hangs on it. So the order is fixed, and nothing needs to be searched for.

The pieces in which the two differ are in pieces.py, what brings states back onto their constraints in settling.py. A pin is kept as
in the other formulations (loop.py): the angles at which the equations are evaluated are closed, the force at the tip follows from
the chain as it is and two unit forces, and after each step the state is moved onto the closure. The handling of constraints
concerns the hinges; without one the state is placed anew from its closed angles.

State: coordinates q, velocities v, then NA auxiliary values a link (angles of `natural`), then the filtered multipliers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nlink._support.records import record
from nlink.compiled.jit import kernel
from nlink.formulations.loop import DISTANCE, OM, TH, frame_of, on_a_dead_position, shut, tip_force, turn_from, turn_through
from nlink.formulations.pieces import (
    ACC,
    CURVE,
    FIRST,
    FORCE,
    LAMBDA,
    MU,
    OUT,
    PHI,
    PIECES,
    RATE,
    RIGHT,
    ROWS,
    SECOND,
    act,
    equations,
    follow,
    height,
    inertia,
    pose,
    pull,
    repose,
    solve,
    stored,
    tug,
    turning,
)
from nlink.formulations.settling import settle_closed, settle_if_projected, settle_many
from nlink.formulations.stabilization import STABILIZATIONS, Handling
from nlink.mechanics.chain import Multibody
from nlink.mechanics.contract import RESIDUALS, RIGHT_HAND_SIDES, SETTLERS
from nlink.mechanics.kernels import CONSTRAINED, TIP_X, TIP_Y, ChainParameters, apply_loads
from nlink.mechanics.moments import JOINTS, POWERS
from nlink.mechanics.parameters import LENGTH, MASS
from nlink.mechanics.scratch import FX, FY, MZ, TIP, C, S
from nlink.mechanics.system import Formulation

joint_elastic, joint_energy = JOINTS.elastic, JOINTS.energy


class ConstrainedParameters(NamedTuple):
    """A chain, the handling of its constraints, and the shape of the state: (NL, NQ, NA) a link, and its size."""

    chain: ChainParameters
    handling: Handling
    nl: int
    nq: int
    na: int
    size: int


class ConstrainedFormulation(Formulation):
    """A formulation in redundant coordinates: `shape` is (NL, NQ, NA) a link, `kind` and `loop` are the types of its parameters for
    open and closed chains.
    """

    constrained: ClassVar[bool] = True
    closes: ClassVar[bool] = True
    RECORDS: ClassVar[dict[str, type]] = STABILIZATIONS
    shape: ClassVar[tuple[int, int, int]]
    kind: ClassVar[type]
    loop: ClassVar[type]
    constraints: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", record(f"{self.name}: constraints", self.constraints, STABILIZATIONS))

    def parameters(self, chain: Multibody, numbers: ChainParameters) -> Any:
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

    def joined(self, chain: Multibody, q: np.ndarray, v: np.ndarray, *more: np.ndarray) -> np.ndarray:
        """Return the state of coordinates and velocities (..., N, NQ), with zeros for what is not given."""
        lead = q.shape[:-2]
        parts = [part.reshape((*lead, -1)) for part in (q, v, *more)]
        missing = self.size(chain.n) - sum(part.shape[-1] for part in parts)
        return np.concatenate([*parts, np.zeros((*lead, missing))], axis=-1)

    def split(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates and velocities (..., N, NQ) of states, or of their rates."""
        count = self.shape[1] * chain.n
        q, v = state[..., :count], state[..., count : 2 * count]
        shape = (*q.shape[:-1], chain.n, self.shape[1])
        return q.reshape(shape), v.reshape(shape)


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
    sigma, dead = shut(chain, w, frame)
    through = on_a_dead_position(chain, w, sigma, dead) and n > 2
    if through:
        turn_through(t, chain, out, p.size, w, s, c)
    for i in range(n):
        w[S, i], w[C, i] = w[S, i] * c + w[C, i] * s, w[C, i] * c - w[S, i] * s
    if through:
        follow(p, w)
        for i in range(n):
            for k in range(p.nl):
                w[LAMBDA + k, i] = 0.0
            for k in range(p.nq):
                w[FORCE + k, i] = 0.0
        fill(y, p, out, w)
        out[p.size + CONSTRAINED] = 0.0
        return
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
    out[ledger + CONSTRAINED] = work + stored(y, p, w) - done(out, ledger)


@kernel
def press(t, y, p, out, w):
    """Fill the forces and the constraints of a posed state, and the power of the loads in the ledger's rows of out."""
    act(t, p, out, w)
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
    for row in range(POWERS):
        if row != CONSTRAINED:
            total += out[ledger + row]
    return total


def act_in_plane(t, p, out, w):
    """Let the loads of a chain in the plane act."""
    if p.chain.loaded:
        apply_loads(t, w[TH], w[OM], 0, p.chain, w, out, p.size, p.chain.tip[TIP_X], p.chain.tip[TIP_Y])
    else:
        for i in range(p.chain.n):
            w[FX, i] = w[FY, i] = w[MZ, i] = 0.0
        for row in range(POWERS):
            out[p.size + row] = 0.0


def stored_in_plane(y, p, w):
    """Return the power that goes into gravity and the springs of a chain in the plane."""
    chain, size = p.chain, p.nq * p.chain.n
    total = before_theta = before_omega = 0.0
    for i in range(chain.n):
        total -= joint_elastic(i, w[TH, i] - before_theta, chain) * (w[OM, i] - before_omega)
        total += chain.links[MASS, i] * chain.g * height(y, p, i, size)
        before_theta, before_omega = w[TH, i], w[OM, i]
    return total


def elastic_in_plane(p, w):
    """Return the energy of the springs of a chain in the plane, its angles in TH."""
    total = before = 0.0
    for i in range(p.chain.n):
        total += joint_energy(i, w[TH, i] - before, p.chain)
        before = w[TH, i]
    return total


IN_PLANE = {"act": act_in_plane, "stored": stored_in_plane, "elastic": elastic_in_plane}


def register_open(kind: type, pieces: dict[str, Callable[..., Any]]) -> None:
    """Register a formulation's functions by their names, for its parameters of open chains."""
    PIECES[kind] = pieces
    RIGHT_HAND_SIDES[kind], SETTLERS[kind], RESIDUALS[kind] = constrained_rates, settle_if_projected, constrained_residual


def register(kinds: tuple[type, type], pieces: Iterable[Callable[..., Any]]) -> None:
    """Register a formulation's functions by their names, for its parameters of open and of closed chains in the plane."""
    kind, loop = kinds
    named = IN_PLANE | {piece.__name__: piece for piece in pieces}
    register_open(kind, named)
    PIECES[loop] = named
    RIGHT_HAND_SIDES[loop], SETTLERS[loop] = constrained_loop_rates, settle_closed
