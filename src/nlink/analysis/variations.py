"""Small deviations followed along a motion by its variational equations, with exact derivatives; Lyapunov exponents use it.

A deviation x of the state (theta, omega) obeys x' = A(t) x, A being the derivative of the equations of motion. Two ways:

    Duals         the steps of Taylor computed in dual numbers: the derivative of the very steps taken. Open chains, smooth loads.
    Collocation   everything else (pins, quadratic drag, torque functions): the motion by DOP853, A from the exact M, C, K on it,
                  and x' = A x by the Gauss method of order 10, which turns each step into a matrix.

With pins, deviations keep the loops closed: J dtheta = 0 and J domega + D dtheta = 0 with D = d(J omega)/dtheta. That space, of
twice the freedom, is carried into itself; what rounding adds is projected away.

Volumes of deviations change by exactly (Liouville; (theta, omega) are not canonical, momenta M omega would be)

    ln vol(t) - ln vol(0) = [1/2 ln det(1 + P^T P) - ln det M]_0^t - integral of tr(M^-1 C)

with C = -dQ/domega of the loads, P how domega must follow dtheta across the loop (0 if open), M and C along its free directions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink.analysis.linearize import companion, matrices
from nlink.analysis.motion import Motion
from nlink.formulations import formulate
from nlink.integrators.base import ARRIVED, RUNNING, STEP_TOO_SMALL, Chunk, Integrator
from nlink.integrators.runge_kutta import DOP853
from nlink.integrators.tangent import TangentStepper
from nlink.integrators.taylor import Taylor
from nlink.mechanics import linearised, loop_closure
from nlink.mechanics.chain import Multibody
from nlink.mechanics.equations import rates_many
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.system import System

STAGES = 5
TURN, FAR = 0.4, 1.5
"""Largest angle in rad by which the fastest deviation may turn in one step of collocation, and of Taylor."""
MOST_PARTS = 200
"""Parts into which collocation divides a step of the motion, at most."""
BATCH = 4_000_000
"""Numbers in the matrices of the steps that are solved at a time."""
FINEST, FINEST_CLOSED = 1e-14, 1e-12
"""Tightest tolerances of DOP853; those of closed chains leave room for the rounding near dead positions."""
LOOSER = 10.0, 100.0, 1000.0


class Segment(NamedTuple):
    """The end of a part of the motion: a code, the state with its ledger, deviations (2N, K), and the integral of tr(M^-1 C)."""

    code: int
    y: np.ndarray
    deviations: np.ndarray
    contraction: float


def tangent_engine(chain: Multibody, tol: float) -> Duals | Collocation:
    """Return the engine for deviations from the motions of this chain; `tol` bounds the error of a step."""
    system = formulate(chain)
    rough = Taylor.refusal(system) or system.parameters.chain.force_level > 1
    return Collocation(system, tol) if rough else Duals(system, tol)


class Engine:
    """The motion beside which deviations are followed, and how it contracts their volume."""

    def __init__(self, system: System, method: Integrator) -> None:
        self.system, self.motion = system, Motion(system, method)
        chain, rest, torque = system.chain, np.zeros(system.chain.n), system.chain.load(JointTorque)
        if isinstance(chain, Mechanism):
            damped = chain.closed or any(load.drains or (load.law and load.law.damping) for load in chain.loads)
        else:
            damped = linearised.working(chain, rest, rest + 1.0)[1].any()
        self.damped = bool(damped or (torque and torque.takes_state))

    def volume(self, t: float, theta: np.ndarray, omega: np.ndarray) -> float:
        """Return 1/2 ln det(1 + P^T P) - ln det M: how large deviations are that have the volume 1 in angles and momenta; 0 for
        mechanisms with damping or loops, whose contraction has all.
        """
        chain = self.system.chain
        if isinstance(chain, Mechanism):
            return 0.0 if self.damped else -float(np.linalg.slogdet(matrices(chain, theta, omega, 0.0 * theta, t)[0])[1])
        basis, follow = across(chain, theta, omega)
        tilt = np.linalg.slogdet(np.eye(basis.shape[1]) + follow.T @ follow)[1]
        return float(0.5 * tilt - np.linalg.slogdet(basis.T @ linearised.mass_matrix(chain, theta) @ basis)[1])

    def contraction(self, t: np.ndarray, states: np.ndarray, weights: np.ndarray, A: np.ndarray | None = None) -> float:
        """Return the integral of tr(M^-1 C) of the loads, along the free directions, from states at Gauss nodes t with these
        weights: how volumes shrink. Of a mechanism C is that of all, from its matrices A, which are computed if not given.
        """
        if not self.damped:
            return 0.0
        if isinstance(self.system.chain, Mechanism):
            A = self.derivative(t, states) if A is None else A
            frame = tangent_frame(self.system.chain, *self.system.decode(states[:, : self.system.size]))
            A = A if frame is None else np.swapaxes(frame, -2, -1) @ A @ frame
            return float(-weights @ np.trace(A, axis1=1, axis2=2))
        chain, (theta, omega) = self.system.chain, self.system.decode(states[:, : self.system.size])
        M, C = linearised.mass_matrix(chain, theta), linearised.working(chain, theta, omega)[1].sum(0)
        C = C + linearised.feedback(chain, theta, omega, t)[0]
        if chain.pin is not None:
            basis, _ = across(chain, theta, omega)
            M, C = (np.swapaxes(basis, 1, 2) @ matrix @ basis for matrix in (M, C))
        return float(weights @ np.trace(np.linalg.solve(M, C), axis1=1, axis2=2))

    def derivative(self, t: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return A (K, 2N, 2N) at states (K, m) of the motion."""
        chain, rates, tip = self.system.chain, np.empty(states.shape), np.zeros((len(states), 2))
        pulled = tip if chain.pin else tip[:0]
        rates_many(t, states, self.system.equations, rates, pulled, self.motion.scratch)
        theta, omega = self.system.decode(states[:, : self.system.size])
        return state_matrix(chain, t, theta, omega, rates[:, chain.n : 2 * chain.n], tip)


class Duals(Engine):
    """Deviations by dual numbers. Work and contraction, where there are any, come from the same steps taken without deviations."""

    def __init__(self, system: System, tol: float) -> None:
        super().__init__(system, Taylor(tol))
        self.tangent, self.fastest = TangentStepper(system, Taylor(tol)), np.inf

    def advance(self, t: float, end: float, y: np.ndarray, deviations: np.ndarray) -> Segment:
        """Go on from y to the time `end`."""
        size = self.system.size
        code, state, new = self._tangent(t, end, y[:size], deviations)
        out, contraction = y.copy(), 0.0
        for chunk in self.motion.chunks(t, end, y) if len(y) > size and code == ARRIVED else ():
            out, code = chunk.y[-1].copy(), chunk.code
            times, weights = nodes(chunk.t)
            contraction += self.contraction(times, chunk.at(times), weights)
        out[:size] = state
        return Segment(ARRIVED if code == RUNNING else code, out, new, contraction)

    def _tangent(self, t: float, end: float, state: np.ndarray, deviations: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """Take the steps of the motion; again in shorter parts where those are so long, near rest, that deviations turn too far."""
        before = self.tangent.steps
        done = self.tangent.advance(t, end, state, deviations)
        if 2 * self.fastest * (end - t) < FAR * (self.tangent.steps - before) or done[0] != ARRIVED:
            return done
        rate = self._rate(t, state)
        self.fastest = max(rate, 0.0 if self.fastest == np.inf else self.fastest)
        for a, b in pairwise(np.linspace(t, end, max(1, int(np.ceil((end - t) * rate / FAR))) + 1).tolist()):
            done = self.tangent.advance(a, b, state, deviations)
            state, deviations = done[1:]
            if done[0] != ARRIVED:
                break
        return done

    def _rate(self, t: float, state: np.ndarray) -> float:
        """Return a bound in 1/s of how fast deviations turn or grow at a state."""
        chain, alpha = self.system.chain, self.system(t, state)[None, self.system.chain.n :]
        theta, omega = (values[None] for values in self.system.decode(state))
        A = state_matrix(chain, t, theta, omega, alpha, np.zeros((1, 2)))
        return float(fastest_rate(chain, theta, omega, A)[0])


class Collocation(Engine):
    """Deviations by x' = A x along the steps of DOP853."""

    def __init__(self, system: System, tol: float) -> None:
        self.tol, self._at = max(tol, FINEST_CLOSED if system.chain.closed else FINEST), None
        super().__init__(system, DOP853(self.tol, self.tol))

    def advance(self, t: float, end: float, y: np.ndarray, deviations: np.ndarray) -> Segment:
        """Go on from y to the time `end`; where rounding near a dead position stops the steps, with a looser tolerance."""
        segment = self._advance(t, end, y, deviations)
        for looser in LOOSER if segment.code == STEP_TOO_SMALL else ():
            usual, self.motion = self.motion, Motion(self.system, DOP853(looser * self.tol, looser * self.tol))
            segment = self._advance(t, end, y, deviations)
            self.motion, self._at = usual, None
            if segment.code == ARRIVED:
                break
        return segment

    def _advance(self, t: float, end: float, y: np.ndarray, deviations: np.ndarray) -> Segment:
        code, contraction, going_on = ARRIVED, 0.0, self._at == (t, y.tobytes())
        for chunk in self.motion.chunks(t, end, None if going_on else y):
            y, code = chunk.y[-1].copy(), chunk.code
            if len(chunk.t) > 1 and np.isfinite(chunk.y).all():
                deviations, change = self._propagated(chunk, deviations)
                contraction += change
        self._at = end, y.tobytes()
        frame = tangent_frame(self.system.chain, *self.system.decode(y[: self.system.size]))
        return Segment(code, y, deviations if frame is None else frame @ (frame.T @ deviations), contraction)

    def _propagated(self, chunk: Chunk, deviations: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the deviations at the end of a chunk, and the integral of tr(M^-1 C) over it."""
        knots = self._divided(chunk)
        contraction, m = 0.0, 2 * self.system.chain.n
        group = max(1, BATCH // (STAGES * m) ** 2)
        for first in range(0, len(knots) - 1, group):
            part = knots[first : first + group + 1]
            times, weights = nodes(part)
            states = chunk.at(times)
            A = self.derivative(times, states)
            for step in propagators(A.reshape(len(part) - 1, STAGES, m, m), np.diff(part)):
                deviations = step @ deviations
            contraction += self.contraction(times, states, weights, A)
        return deviations, contraction

    def _divided(self, chunk: Chunk) -> np.ndarray:
        """Return the knots of a chunk and points between them, so close that no deviation turns far from one to the next."""
        theta, omega = self.system.decode(chunk.y[:, : self.system.size])
        rate = fastest_rate(self.system.chain, theta, omega, self.derivative(chunk.t, chunk.y))
        rate = np.minimum(np.maximum(rate[1:], rate[:-1]), 1e12)
        parts = np.clip(np.ceil(np.abs(np.diff(chunk.t)) * rate / TURN), 1, MOST_PARTS).astype(int)
        inner = [np.linspace(chunk.t[k], chunk.t[k + 1], count, endpoint=False) for k, count in enumerate(parts.tolist())]
        return np.append(np.concatenate(inner), chunk.t[-1])


def state_matrix(
    chain: Multibody, t: ArrayLike, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray, tip: np.ndarray
) -> np.ndarray:
    """Return d(omega, alpha)/d(theta, omega) (K, 2N, 2N) on motions (K, N) at times t; `tip` (K, 2): the force of a chain's pin."""
    M, C, K = matrices(chain, theta, omega, alpha, t)
    if not chain.closed:
        return companion(np.linalg.solve(M, np.concatenate([K, C], -1)))
    if chain.pin:
        K = K + loop_closure.geometric(chain, theta, tip)
    swung = loop_closure.pull_slopes(chain, theta, omega, alpha), 2 * loop_closure.jacobian_rate(chain, theta, omega)
    J, slopes = loop_closure.jacobian(chain, theta), np.concatenate(swung, -1)
    if isinstance(chain, Mechanism):  # rows that depend on others are left out, and what is prescribed has no deviations
        free = np.tile(~chain.prescribed, 2)
        rank = chain.rows - chain.spare
        across = np.swapaxes(np.linalg.svd(J * free[: chain.n])[0][..., :rank], -1, -2)
        J, slopes = across @ (J * free[: chain.n]), across @ (slopes * free)
    closed = np.concatenate([J, np.zeros((*J.shape[:-1], J.shape[-2]))], -1)
    left = np.concatenate([np.concatenate([M, -np.swapaxes(J, 1, 2)], -1), closed], 1)
    right = np.concatenate([np.concatenate([K, C], -1), slopes], 1)
    return companion(np.linalg.solve(left, right)[:, : chain.n])


def fastest_rate(chain: Multibody, theta: np.ndarray, omega: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return a bound (K,) in 1/s of how fast deviations turn or grow at states (K, N) with these A."""
    n = chain.n
    basis, follow = across(chain, theta, omega)
    by_angles = np.abs(A[:, n:] @ np.concatenate([basis, follow], 1)).sum(-1).max(-1)
    return np.maximum(np.sqrt(by_angles), np.abs(A[:, n:, n:] @ basis).sum(-1).max(-1))


def across(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the free directions B (..., N, d) of the angles, and P (..., N, d): how the rates must change, across them, with the
    angles.
    """
    if not chain.closed:
        free = np.eye(chain.n)[:, ~chain.prescribed]
        basis = np.broadcast_to(free, (*theta.shape, free.shape[1]))
        return basis, np.zeros_like(basis)
    free = ~chain.prescribed
    rows = np.linalg.svd(loop_closure.jacobian(chain, theta)[..., free])[2]
    folded = chain.n == 2 and chain.pin == (0.0, 0.0)
    freedom = chain.freedom if isinstance(chain, Mechanism) else max(chain.n - 2, int(folded))
    basis = np.zeros((*theta.shape, freedom))
    basis[..., free, :] = np.swapaxes(rows[..., rows.shape[-1] - freedom :, :], -1, -2)
    turned = loop_closure.jacobian_rate(chain, theta, omega)
    return basis, -loop_closure.inverse(chain, theta) @ (turned @ basis)


def tangent_frame(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray | None:
    """Return an orthonormal basis (2N, 2d) of the deviations that keep a loop closed and leave what is prescribed; None for all."""
    if not chain.closed and not chain.prescribed.any():
        return None
    basis, follow = across(chain, theta, omega)
    return np.linalg.qr(np.block([[basis, np.zeros_like(basis)], [follow, basis]]))[0]


NODES, WEIGHTS = np.polynomial.legendre.leggauss(STAGES)
NODES, WEIGHTS = 0.5 * (NODES + 1), 0.5 * WEIGHTS
POWERS = np.arange(STAGES)
MATRIX = (NODES[:, None] ** (POWERS + 1) / (POWERS + 1)) @ np.linalg.inv(NODES[:, None] ** POWERS)
"""Nodes, weights and matrix of the Gauss method on (0, 1)."""


def nodes(knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of the Gauss nodes between knots, in order, and their weights."""
    h = np.diff(knots)[:, None]
    return (knots[:-1, None] + h * NODES).ravel(), (h * WEIGHTS).ravel()


def propagators(A: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return the matrices (K, m, m) that take x over steps h (K,) of x' = A x, with A (K, STAGES, m, m) at the nodes."""
    count, stages, m, _ = A.shape
    size = stages * m
    coupled = np.einsum("ksab,st->ksatb", A, MATRIX).reshape(count, size, size)
    slopes = np.linalg.solve(np.eye(size) - h[:, None, None] * coupled, A.reshape(count, size, m)).reshape(count, stages, m, m)
    return np.eye(m) + h[:, None, None] * np.einsum("s,ksab->kab", WEIGHTS, slopes)
