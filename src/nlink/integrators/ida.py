"""IDA(rtol, atol): the DAE solver of SUNDIALS, by scikit-sundae, for `maximal` and `natural` with their constraints as they are.

The equations are those of Gear, Gupta and Leimkuhler (index 2): positions and velocities both stay on the constraints. Steps
are BDF of order up to 5 with a banded Jacobian by differences. Between steps the motion is the quintic through positions,
velocities and accelerations at both ends; the ledger is integrated along it by Gauss's rule of order 6. The solver is given
a hundredth of the tolerance asked for, so that it means about the same as with the other methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from nlink._support.checks import ModelError, number, whole
from nlink.compiled.jit import entry
from nlink.integrators.base import (
    ARRIVED,
    MOST_STEPS,
    NOT_CONVERGED,
    NOT_FINITE,
    RUNNING,
    Integrator,
    Mark,
    PolynomialChunk,
    Stepper,
)
from nlink.integrators.gauss import NODES, WEIGHTS, quintic
from nlink.mechanics.system import RESIDUALS, System, residual_of, rhs

SHARE = 0.01
"""What the solver gets of a tolerance: the errors of its steps add up to about a hundred times theirs, those of DOP853 do not."""
FINEST = 1e-14
UNCONTROLLED = 1e100
"""Absolute tolerance of the multipliers: the steps follow the motion."""


@dataclass(frozen=True)
class IDA(Integrator):
    """The DAE solver of SUNDIALS, for `maximal` and `natural`; needs the extra nlink[dae]."""

    name: ClassVar[str] = "IDA"
    rtol: float = 1e-9
    atol: float = 1e-9
    max_steps: int = field(default=10_000_000, repr=False)

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            object.__setattr__(self, name, number(f"IDA.{name}", getattr(self, name), above=0))
        whole("IDA.max_steps", self.max_steps, most=MOST_STEPS)

    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Start stepping."""
        form = system.formulation
        handling = getattr(form, "constraints", None)
        if system.chain.pin:
            raise ModelError("IDA takes no pin; leave it out: the loop is kept closed by projection")
        if type(system.parameters) not in RESIDUALS:
            raise ModelError(
                f"IDA keeps constraints, which {form.name} does not have; use maximal or natural, or another integrator"
            )
        if type(handling).__name__ not in ("Unstabilized", "IDA"):
            raise ModelError(f"IDA keeps the constraints itself, got constraints {handling}; leave them out")
        try:
            import sksundae.ida  # noqa: F401
        except ImportError:
            raise ModelError("IDA needs scikit-sundae, which is not installed; install nlink[dae]") from None
        return IDAStepper(system, mark, self)


class IDAStepper(Stepper):
    """Drives one solver for each stretch between kinks of the loads."""

    def __init__(self, system: System, mark: Mark, record: IDA) -> None:
        self.system, self.mark, self.record = system, mark, record
        p = system.parameters
        self.shape = (system.chain.n, 2 * (p.nl + p.nq))
        self.solver: Any = None
        self.bound = math.nan
        self.state, self.w = mark.y.copy(), system.scratch()
        none, rest = np.zeros(self.shape[0] * self.shape[1]), np.zeros_like(self.state)  # compiled before the clock runs
        residual_of(mark.t, none, none, p, rest, none.copy(), self.w)
        follow(mark.t, 0.0, rest, rest, rest.copy(), rest, system.size, p, np.empty((5, len(rest))), self.w)

    def advance(
        self, bounds: np.ndarray, final: bool, times: np.ndarray, saved: np.ndarray, dense: bool, limit: int
    ) -> PolynomialChunk:
        """Take steps in Python: each is one call of the solver."""
        system, m, bound = self.system, len(self.mark.y), float(bounds[0])
        if limit and (self.solver is None or self.bound != bound):
            self.solver, self.bound = self._start(bound), bound
        t, y, q, code = [self.mark.t], [self.mark.y], [], RUNNING
        f = [system.rates(self.mark.t, self.mark.y, strict=False)]
        while len(q) < limit and code == RUNNING:
            new, code = self._step(bound, t[-1], y[-1], f[-1])
            if new is not None:
                for values, value in zip((t, y, f, q), new, strict=True):
                    values.append(value)
        self.steps += len(q)
        self.mark = Mark(t[-1], 0.0, y[-1])
        if code == ARRIVED:
            self.solver = None
        chunk = PolynomialChunk(np.array(t), np.array(y), np.array(f), np.array(q).reshape(len(q), 5, m), code)
        chunk.fill(times, saved)
        return chunk

    def _step(self, bound: float, before: float, y: np.ndarray, f: np.ndarray) -> tuple[Any, int]:
        """Take one step; return (t, state, rates, polynomial), or None if it failed, and a code."""
        system = self.system
        done = self.solver.step(bound, method="onestep", tstop=bound)
        if not done.success:
            return None, NOT_CONVERGED if not system.failed and np.all(np.isfinite(done.y)) else NOT_FINITE
        time, z = float(done.t), np.asarray(done.y).reshape(self.shape)
        new, p = y.copy(), system.parameters
        size = p.nq * p.chain.n
        new[:size], new[size : 2 * size] = z[:, : p.nq].ravel(), z[:, p.nq : 2 * p.nq].ravel()
        self._turn(y, f, new, time - before)
        if not np.all(np.isfinite(new)):
            return None, NOT_FINITE
        self.state[:] = new
        rates, q = system.rates(time, new, strict=False), np.empty((5, len(new)))
        follow(before, time - before, y, f, new, rates, system.size, p, q, self.w)
        if system.failed:
            return None, NOT_FINITE
        return (time, new, rates, q), ARRIVED if time == bound else RUNNING

    def _turn(self, y: np.ndarray, f: np.ndarray, new: np.ndarray, h: float) -> None:
        """Carry along the angles of points: the turn nearest to where they were going."""
        p, form = self.system.parameters, self.system.formulation
        if p.na:
            at = slice(2 * p.nq * p.chain.n, (2 * p.nq + p.na) * p.chain.n)
            new[at] = y[at] + 0.5 * h * (f[at] + form.decode(self.system.chain, new[: self.system.size])[1])
            new[at] = form.decode(self.system.chain, new[: self.system.size])[0]

    def _start(self, bound: float) -> Any:
        from sksundae import ida

        (n, block), p, mark = self.shape, self.system.parameters, self.mark
        y = self.system.settled(mark.y[None], plain=True)[0][0]  # a state between two steps is off its constraints by their error
        f = self.system.rates(mark.t, y, strict=False)
        size = p.nq * p.chain.n
        z, rate, atol = np.zeros(self.shape), np.zeros(self.shape), np.full(self.shape, UNCONTROLLED)
        z[:, : 2 * p.nq] = np.hstack([y[:size].reshape(n, -1), y[size : 2 * size].reshape(n, -1)])
        rate[:, : 2 * p.nq] = np.hstack([f[:size].reshape(n, -1), f[size : 2 * size].reshape(n, -1)])
        z[:, 2 * p.nq : 2 * p.nq + p.nl] = self.system.multipliers(mark.t, y).T
        atol[:, : 2 * p.nq] = max(SHARE * self.record.atol, FINEST)
        banded = {"linsolver": "band", "lband": 2 * block - 1, "uband": 2 * block - 1} if n > 2 else {}
        solver = ida.IDA(
            self._residual,
            rtol=max(SHARE * self.record.rtol, FINEST),
            atol=atol.ravel(),
            algebraic_idx=np.arange(z.size).reshape(self.shape)[:, 2 * p.nq :].ravel(),
            max_num_steps=100_000,
            **banded,
        )
        solver.init_step(mark.t, z.ravel(), rate.ravel())
        return solver

    def _residual(self, t: float, z: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
        self.nfev += 1
        residual_of(t, z, rate, self.system.parameters, self.state, out, self.w)


@entry
def follow(t, h, y, f, new, rates, size, p, q, w):
    """Fill the polynomial q of a step, and the ledger at its end (behind `size`)."""
    n = p.nq * p.chain.n
    quintic(n, h, y, f, new, rates, q)
    for row in range(size, len(y)):
        new[row] = y[row]
    point, power = np.empty_like(y), np.empty_like(y)
    for s in range(3):
        u = NODES[s]
        for i in range(len(y)):
            point[i] = y[i] + h * (u * (q[0, i] + u * (q[1, i] + u * (q[2, i] + u * (q[3, i] + u * q[4, i])))))
        rhs(t + u * h, point, p, power, w)
        for row in range(size, len(y)):
            new[row] += h * WEIGHTS[s] * power[row]
    quintic(n, h, y, f, new, rates, q)
