"""Scipy(method): SciPy's own solvers (Radau, BDF, LSODA, ...) in nlink's loop, for stiff chains and for comparison."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlink._support.checks import ModelError, choice
from nlink.integrators.accuracy import SCIPY_FINEST
from nlink.integrators.base import ARRIVED, NOT_FINITE, RUNGE_KUTTA, RUNNING, STEP_TOO_SMALL, Adaptive, Chunk, Restart, Stepper
from nlink.integrators.solvers import UNCONTROLLED, SolverStep, SolverStepper
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.system import System

METHODS = ("Radau", "BDF", "LSODA", "DOP853", "RK45", "RK23")


@dataclass(frozen=True)
class Scipy(Adaptive):
    """A solver of scipy.integrate by name: Radau, BDF and LSODA for stiff chains."""

    method: str = "Radau"
    rtol: float = 1e-9
    atol: float = 1e-9
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        choice("Scipy.method", self.method, METHODS)
        super().__post_init__()

    def stepper(self, system: System, point: Restart, t_end: float) -> Stepper:
        """Start stepping."""
        if isinstance(system.chain, Mechanism) and system.chain.closed:
            raise ModelError(f"the solvers of SciPy do not support closed mechanisms; use {RUNGE_KUTTA}")
        if system.formulation.constrained and system.formulation.projected:
            raise ModelError(
                "Projection goes with DOP853, RK45 and RK4, not with the solvers of SciPy; use another handling of constraints"
            )
        return ScipyStepper(system, point, self)


@dataclass
class ScipyChunk(Chunk):
    """Steps with SciPy's dense output, one for each step."""

    outputs: list[Any]

    def at(self, times: np.ndarray) -> np.ndarray:
        """Evaluate SciPy's interpolants."""
        sign = 1.0 if self.t[-1] >= self.t[0] else -1.0
        step = np.clip(np.searchsorted(sign * self.t, sign * np.asarray(times)) - 1, 0, len(self.outputs) - 1)
        return np.array([self.outputs[k](time) for k, time in zip(step, times, strict=True)])


class ScipyStepper(SolverStepper):
    """Drives a solver of SciPy."""

    chunk = ScipyChunk

    def __init__(self, system: System, point: Restart, record: Scipy) -> None:
        super().__init__(system, point)
        self.record, self.before = record, 0
        self.atol = np.full(system.full_size, record.atol)
        self.atol[system.size :] = UNCONTROLLED

    def start(self, bound: float) -> Any:
        """Return a solver from `point` to a bound."""
        import scipy.integrate

        self.before = self.nfev
        kind, point = getattr(scipy.integrate, self.record.method), self.point
        return kind(self.rates, point.t, point.y, bound, rtol=max(self.record.rtol, SCIPY_FINEST), atol=self.atol)

    def step(self, before: SolverStep) -> tuple[SolverStep | None, int]:
        """Take one step."""
        code, solver, end = self._code(), self.solver, None
        if code in (RUNNING, ARRIVED):
            t, y = float(solver.t), solver.y.copy()
            end = SolverStep(t, y, self.rates(t, y), solver.dense_output())
        self.nfev = self.before + solver.nfev
        return end, code

    def _code(self) -> int:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                self.solver.step()
            except (ValueError, np.linalg.LinAlgError):  # SciPy refuses arrays that are not finite
                return NOT_FINITE
        if self.system.failed or not np.all(np.isfinite(self.solver.y)):
            return NOT_FINITE
        return {"running": RUNNING, "finished": ARRIVED, "failed": STEP_TOO_SMALL}[self.solver.status]
