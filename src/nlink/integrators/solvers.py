"""Solvers of other libraries in nlink's loop: each step is one call from Python."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from nlink.integrators.base import ARRIVED, RUNNING, Chunk, Restart, Stepper
from nlink.mechanics.system import System

UNCONTROLLED = 1e100
"""Absolute tolerance of what is integrated along and does not steer the steps: the ledger, multipliers."""


class SolverStep(NamedTuple):
    """The end of a step: time, state, rates there, and the dense output of the step."""

    t: float
    y: np.ndarray
    f: np.ndarray
    dense: Any


class SolverStepper(Stepper):
    """Drives a solver, a new one for each stretch between kinks of the loads."""

    solver: Any = None

    def __init__(self, system: System, point: Restart) -> None:
        self.system, self.point = system, point
        self.bound = np.nan

    @abstractmethod
    def start(self, bound: float) -> Any:
        """Return a solver from `point` to a bound."""

    @abstractmethod
    def step(self, before: SolverStep) -> tuple[SolverStep | None, int]:
        """Take one step with the solver; return its end, or None if it failed, and a code."""

    @abstractmethod
    def chunk(self, steps: list[SolverStep], code: int) -> Chunk:
        """Return the steps, behind the point at which they begin, as a chunk."""

    def restart(self, point: Restart, t_end: float) -> None:
        """Begin anew with another solver."""
        self.point, self.solver, self.nfev, self.steps = point, None, 0, 0

    def advance(self, bounds: np.ndarray, final: bool, times: np.ndarray, saved: np.ndarray, dense: bool, limit: int) -> Chunk:
        """Take steps with the solver, to the first of the bounds at most."""
        bound, code = float(bounds[0]), RUNNING
        if limit and (self.solver is None or self.bound != bound):
            self.solver, self.bound = self.start(bound), bound
        steps = [SolverStep(self.point.t, self.point.y, self.rates(self.point.t, self.point.y), None)]
        while len(steps) <= limit and code == RUNNING:
            step, code = self.step(steps[-1])
            if step is not None:
                steps.append(step)
        self.steps += len(steps) - 1
        self.point = Restart(steps[-1].t, 0.0, steps[-1].y)
        if code == ARRIVED:
            self.solver = None
        chunk = self.chunk(steps, code)
        if len(steps) > 1:
            _save(chunk, times, saved)
        return chunk

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the rates of a state; what a torque function raises is kept."""
        return self.system.rates(t, np.ascontiguousarray(y), strict=False)


def _save(chunk: Chunk, times: np.ndarray, saved: np.ndarray) -> None:
    """Fill the first rows of `saved` with the states at those of `times` that the steps have reached."""
    sign = 1.0 if chunk.t[-1] >= chunk.t[0] else -1.0
    count = int(np.searchsorted(sign * times, sign * chunk.t[-1], side="right"))
    if count:
        saved[:count] = chunk.at(times[:count])
