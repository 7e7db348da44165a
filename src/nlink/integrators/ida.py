"""IDA(rtol, atol): the DAE solver of SUNDIALS, by scikit-sundae, for `maximal` and `natural` with their constraints as they are.

The equations are those of Gear, Gupta and Leimkuhler (index 2): positions and velocities both stay on the constraints. Steps
are BDF of order up to 5 with a banded Jacobian by differences. Between steps the motion is the quintic through positions,
velocities and accelerations at both ends; the ledger is integrated along it by Gauss's rule of order 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nlink._support.checks import ModelError
from nlink.compiled.jit import entry
from nlink.compiled.views import views
from nlink.integrators.accuracy import IDA_FINEST, IDA_STEPS
from nlink.integrators.base import ARRIVED, NOT_CONVERGED, NOT_FINITE, RUNGE_KUTTA, RUNNING, Adaptive, Restart, Stepper
from nlink.integrators.gauss import NODES, WEIGHTS
from nlink.integrators.polynomials import PolynomialChunk
from nlink.integrators.quintic import quintic
from nlink.integrators.solvers import UNCONTROLLED, SolverStep, SolverStepper
from nlink.mechanics.contract import RESIDUALS, rhs
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.refusals import refuse_space
from nlink.mechanics.system import System, residual_of


@dataclass(frozen=True)
class IDA(Adaptive):
    """The DAE solver of SUNDIALS, for `maximal` and `natural`; needs the extra nlink[dae]."""

    rtol: float = 1e-9
    atol: float = 1e-9
    max_steps: int = field(default=10_000_000, repr=False)

    def stepper(self, system: System, point: Restart, t_end: float) -> Stepper:
        """Start stepping."""
        form = system.formulation
        handling = getattr(form, "constraints", None)
        refuse_space("IDA", system.chain)
        if system.chain.pin:
            raise ModelError("IDA does not support closed chains (Chain.pin); omit it: projection keeps the loop closed")
        if isinstance(system.chain, Mechanism):
            raise ModelError(f"IDA does not support mechanisms; use {RUNGE_KUTTA}")
        if type(system.parameters) not in RESIDUALS:
            raise ModelError(
                f"IDA keeps constraints, which {form.name} does not have; use maximal or natural, or another integrator"
            )
        if type(handling).__name__ not in ("Unstabilized", "IDA"):
            raise ModelError(f"IDA keeps the constraints itself, got constraints {handling}; leave them out")
        try:
            import sksundae.ida  # noqa: F401
        except ImportError:
            raise ModelError("IDA needs a package that is not installed: pip install scikit-sundae") from None
        return IDAStepper(system, point, self)


class IDAStepper(SolverStepper):
    """Drives the solver."""

    def __init__(self, system: System, point: Restart, record: IDA) -> None:
        super().__init__(system, point)
        self.record, p = record, system.parameters
        self.shape = (system.chain.n, 2 * (p.nl + p.nq))
        self.state, self.w, self.room = point.y.copy(), system.scratch(), np.empty((2, len(point.y)))
        none, rest = np.zeros(self.shape[0] * self.shape[1]), np.zeros_like(self.state)  # compiled before the clock runs
        residual_of(point.t, none, none, p, rest, none.copy(), self.w)
        follow(point.t, 0.0, rest, rest, rest.copy(), rest, system.size, p, np.empty((5, len(rest))), self.w, self.room)

    def step(self, before: SolverStep) -> tuple[SolverStep | None, int]:
        """Take one step."""
        system, p, y, f = self.system, self.system.parameters, before.y, before.f
        done = self.solver.step(self.bound, method="onestep", tstop=self.bound)
        if not done.success:
            return None, NOT_CONVERGED if not system.failed and np.all(np.isfinite(done.y)) else NOT_FINITE
        time, z, new = float(done.t), np.asarray(done.y).reshape(self.shape), y.copy()
        size, h = p.nq * p.chain.n, time - before.t
        new[:size], new[size : 2 * size] = z[:, : p.nq].ravel(), z[:, p.nq : 2 * p.nq].ravel()
        self._turn(y, f, new, h)
        if not np.all(np.isfinite(new)):
            return None, NOT_FINITE
        self.state[:] = new
        rates, q = self.rates(time, new), np.empty((5, len(new)))
        follow(before.t, h, y, f, new, rates, system.size, p, q, self.w, self.room)
        if system.failed:
            return None, NOT_FINITE
        return SolverStep(time, new, rates, q), ARRIVED if time == self.bound else RUNNING

    def chunk(self, t: np.ndarray, y: np.ndarray, f: np.ndarray, code: int, dense: list[np.ndarray]) -> PolynomialChunk:
        """Return steps as a chunk."""
        return PolynomialChunk(t, y, f, code, np.array(dense).reshape(-1, 5, y.shape[1]))

    def _turn(self, y: np.ndarray, f: np.ndarray, new: np.ndarray, h: float) -> None:
        """Carry along the angles of points: the turn nearest to where they were going."""
        p, form = self.system.parameters, self.system.formulation
        if p.na:
            at = slice(2 * p.nq * p.chain.n, (2 * p.nq + p.na) * p.chain.n)
            new[at] = y[at] + 0.5 * h * (f[at] + form.decode(self.system.chain, new[: self.system.size])[1])
            new[at] = form.decode(self.system.chain, new[: self.system.size])[0]

    def start(self, bound: float) -> Any:
        """Return a solver from `point` on."""
        from sksundae import ida

        (n, block), p, point = self.shape, self.system.parameters, self.point
        y = self.system.settled(point.y[None], plain=True)[0][0]  # a state between two steps is off its constraints by their error
        f = self.system.rates(point.t, y, strict=False)
        size = p.nq * p.chain.n
        z, rate, atol = np.zeros(self.shape), np.zeros(self.shape), np.full(self.shape, UNCONTROLLED)
        z[:, : 2 * p.nq] = np.hstack([y[:size].reshape(n, -1), y[size : 2 * size].reshape(n, -1)])
        rate[:, : 2 * p.nq] = np.hstack([f[:size].reshape(n, -1), f[size : 2 * size].reshape(n, -1)])
        z[:, 2 * p.nq : 2 * p.nq + p.nl] = self.system.multipliers(point.t, y).T
        atol[:, : 2 * p.nq] = max(IDA_STEPS * self.record.atol, IDA_FINEST)
        banded = {"linsolver": "band", "lband": 2 * block - 1, "uband": 2 * block - 1} if n > 2 else {}
        solver = ida.IDA(
            self._residual,
            rtol=max(IDA_STEPS * self.record.rtol, IDA_FINEST),
            atol=atol.ravel(),
            algebraic_idx=np.arange(z.size).reshape(self.shape)[:, 2 * p.nq :].ravel().tolist(),
            max_num_steps=100_000,
            **banded,
        )
        solver.init_step(point.t, z.ravel(), rate.ravel())
        return solver

    def _residual(self, t: float, z: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
        self.nfev += 1
        residual_of(t, z, rate, self.system.parameters, self.state, out, self.w)


@entry("the steps of IDA")
def follow(t, h, y, f, new, rates, size, p, q, w, room):
    """Fill the polynomial q of a step, and the ledger at its end (behind `size`)."""
    y, f, new, rates, p, q, w, room = views(y), views(f), views(new), views(rates), views(p), views(q), views(w), views(room)
    n = p.nq * p.chain.n
    quintic(n, h, y, f, new, rates, q)
    for row in range(size, len(y)):
        new[row] = y[row]
    point, power = room[0], room[1]
    for s in range(3):
        u = NODES[s]
        for i in range(len(y)):
            point[i] = y[i] + h * (u * (q[0, i] + u * (q[1, i] + u * (q[2, i] + u * (q[3, i] + u * q[4, i])))))
        rhs(t + u * h, point, p, power, w)
        for row in range(size, len(y)):
            new[row] += h * WEIGHTS[s] * power[row]
    quintic(n, h, y, f, new, rates, q)
