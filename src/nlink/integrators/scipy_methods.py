"""Scipy(method): SciPy's own solvers (Radau, BDF, LSODA, ...) in nlink's loop, for stiff chains and for comparison."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlink._support.checks import ModelError, choice, number, whole
from nlink.integrators.base import ARRIVED, MOST_STEPS, NOT_FINITE, RUNNING, STEP_TOO_SMALL, Chunk, Integrator, Mark, Stepper
from nlink.mechanics.system import System

METHODS = ("Radau", "BDF", "LSODA", "DOP853", "RK45", "RK23")
UNCONTROLLED = 1e100
"""Absolute tolerance of the ledger: it is integrated along, and does not steer the steps."""


@dataclass(frozen=True)
class Scipy(Integrator):
    """A solver of scipy.integrate by name: Radau, BDF and LSODA for stiff chains."""

    name: ClassVar[str] = "Scipy"
    method: str = "Radau"
    rtol: float = 1e-9
    atol: float = 1e-9
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        choice("Scipy.method", self.method, METHODS)
        for name in ("rtol", "atol"):
            object.__setattr__(self, name, number(f"Scipy.{name}", getattr(self, name), above=0))
        whole("Scipy.max_steps", self.max_steps, most=MOST_STEPS)

    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Start stepping."""
        if system.formulation.projected:
            raise ModelError(
                "Projection goes with DOP853, RK45 and RK4, not with the solvers of SciPy; use another handling of constraints"
            )
        return ScipyStepper(system, mark, self)


class ScipyChunk(Chunk):
    """Steps with SciPy's dense output, one for each step."""

    def __init__(self, t: list[float], y: list[np.ndarray], f: list[np.ndarray], outputs: list[Any], code: int) -> None:
        self.t, self.y, self.f, self.outputs, self.code = np.array(t), np.array(y), np.array(f), outputs, code

    def at(self, times: np.ndarray) -> np.ndarray:
        """Evaluate SciPy's interpolants."""
        sign = 1.0 if self.t[-1] >= self.t[0] else -1.0
        step = np.clip(np.searchsorted(sign * self.t, sign * np.asarray(times)) - 1, 0, len(self.outputs) - 1)
        return np.array([self.outputs[k](time) for k, time in zip(step, times, strict=True)])


class ScipyStepper(Stepper):
    """Drives one SciPy solver for each stretch between kinks of the loads."""

    def __init__(self, system: System, mark: Mark, record: Scipy) -> None:
        self.system, self.mark, self.record = system, mark, record
        self.solver: Any = None
        self.before = 0
        self.atol = np.full(system.full_size, record.atol)
        self.atol[system.size :] = UNCONTROLLED

    def advance(self, bounds: np.ndarray, final: bool, times: np.ndarray, saved: np.ndarray, dense: bool, limit: int) -> Chunk:
        """Take steps in Python: each is one call of the solver."""
        bound = float(bounds[0])
        if limit and (self.solver is None or self.solver.t_bound != bound):
            self.solver, self.before = self._start(bound), self.nfev
        t, y, f, outputs, code = [self.mark.t], [self.mark.y], [self._rates(self.mark.t, self.mark.y)], [], RUNNING
        while len(outputs) < limit and code == RUNNING:
            code = self._step()
            if code in (RUNNING, ARRIVED):
                t.append(float(self.solver.t))
                y.append(self.solver.y.copy())
                f.append(self._rates(t[-1], y[-1]))
                outputs.append(self.solver.dense_output())
        self.steps += len(outputs)
        self.nfev = self.before + (self.solver.nfev if self.solver else 0)
        self.mark = Mark(t[-1], 0.0, y[-1])
        if code == ARRIVED:
            self.solver = None
        chunk = ScipyChunk(t, y, f, outputs, code)
        if outputs:
            chunk.fill(times, saved)
        return chunk

    def _start(self, bound: float) -> Any:
        import scipy.integrate

        kind = getattr(scipy.integrate, self.record.method)
        return kind(self._rates, self.mark.t, self.mark.y, bound, rtol=max(self.record.rtol, 3e-14), atol=self.atol)

    def _rates(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.system.rates(t, np.ascontiguousarray(y), strict=False)

    def _step(self) -> int:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                self.solver.step()
            except (ValueError, np.linalg.LinAlgError):  # SciPy refuses arrays that are not finite
                return NOT_FINITE
        if self.system.failed or not np.all(np.isfinite(self.solver.y)):
            return NOT_FINITE
        return {"running": RUNNING, "finished": ARRIVED, "failed": STEP_TOO_SMALL}[self.solver.status]
