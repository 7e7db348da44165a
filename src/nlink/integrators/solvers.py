"""Solvers of other libraries in nlink's loop: each step is one call from Python."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nlink.integrators.base import ARRIVED, RUNNING, Chunk, Restart, Stepper
from nlink.integrators.sampling import Sampling
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
    chunk: Callable[..., Chunk]
    """makes a chunk of knots t, y and f, a code, and the dense outputs of the steps between the knots"""

    def __init__(self, system: System, point: Restart) -> None:
        self.system, self.point = system, point
        self.bound = np.nan

    @abstractmethod
    def start(self, bound: float) -> Any:
        """Return a solver from `point` to a bound."""

    @abstractmethod
    def step(self, before: SolverStep) -> tuple[SolverStep | None, int]:
        """Take one step with the solver; return its end, or None if it failed, and a code."""

    def restart(self, point: Restart, t_end: float) -> None:
        """Begin anew with another solver."""
        self.point, self.solver, self.nfev, self.steps = point, None, 0, 0

    def advance(
        self, bounds: np.ndarray, limit: int, final: bool = True, sampling: Sampling | None = None, dense: bool = False
    ) -> Chunk:
        """Take steps with the solver, to the first of the bounds at most. Flips are not looked for."""
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
        t, y, f = (np.array(values) for values in list(zip(*steps, strict=True))[:3])
        chunk = self.chunk(t, y, f, code, [step.dense for step in steps[1:]])
        if sampling and len(steps) > 1:
            times, states, _ = sampling
            chunk.saved = min(times.until(float(t[-1])) - times.first, len(states))
            if chunk.saved:
                states[: chunk.saved] = chunk.at(times.part(times.first, chunk.saved))
        return chunk

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the rates of a state; what a torque function raises is kept."""
        return self.system.rates(t, np.ascontiguousarray(y), strict=False)
