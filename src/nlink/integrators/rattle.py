"""Rattle: the symplectic method for lines in space, of order 2, 4 or 6, with a fixed step.

A step of order 2 is one stage of RATTLE, which keeps unit vectors on their spheres and rates across them. Those of order 4 and 6
are five and nine such stages of different sizes, forth and back, after Suzuki (1990) and Kahan and Li (1997). The method is
symplectic, so that the energy of a conservative chain only oscillates, without a trend, however many steps are taken. It is
symmetric too, and loads are allowed. All that a step needs follows from its start, so that a resumed run repeats the steps to the
last bit. Between the steps: the quintic through unit vector, rate and acceleration at both ends. Reference: Hairer, Lubich, Wanner,
Geometric Numerical Integration (2006), V.3, VII.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError, shown
from nlink.integrators.base import NOT_CONVERGED, NOT_FINITE, RUNGE_KUTTA, RUNNING, FixedStep, Restart, Stepper
from nlink.integrators.quintic import QUINTIC
from nlink.integrators.steps import STEPS, CompiledStepper, StepKernels, aim
from nlink.mechanics.contract import RATTLES, RattleRoom, rattle_begin, rattle_stage, rhs
from nlink.mechanics.system import System

OUTER = 1 / (4 - 4 ** (1 / 3))
KAHAN_LI = (0.39216144400731413928, 0.33259913678935943860, -0.70624617255763935981, 0.082213596293550800230)
SHARES = {
    2: (1.0,),
    4: (OUTER, OUTER, 1 - 4 * OUTER, OUTER, OUTER),
    6: (*KAHAN_LI, 1 - 2 * sum(KAHAN_LI), *KAHAN_LI[::-1]),
}
"""Sizes of the stages of a step, by the order."""


@dataclass(frozen=True)
class Rattle(FixedStep):
    """RATTLE for lines in space, order 2, 4 or 6, symplectic: no trend in the energy, with a fixed step in s."""

    step: float = 0.01
    order: int = 6
    max_steps: int = field(default=100_000_000, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.order) is not int or self.order not in SHARES:
            raise ModelError(f"Rattle.order must be 2, 4 or 6, got {shown(self.order)}")

    def stepper(self, system: System, point: Restart, t_end: float) -> Stepper:
        """Start stepping."""
        if type(system.parameters) not in RATTLES:
            raise ModelError(f"Rattle takes lines in space (SpatialChain of Link) in the formulation recursive; use {RUNGE_KUTTA}")
        return RattleStepper(system, point, t_end, self)


class RattleStep(NamedTuple):
    """Where a step is computed: its stages, and its polynomial."""

    shares: np.ndarray
    q: np.ndarray
    room: RattleRoom


class RattleStepper(CompiledStepper):
    """Drives the compiled steps."""

    def __init__(self, system: System, point: Restart, t_end: float, record: Rattle) -> None:
        self.system, m, p = system, system.full_size, system.parameters
        super().__init__(p, m, 5)
        rows = RATTLES[type(p)].rows
        factors, u = (np.zeros((rows, system.chain.n)) for _ in range(2))
        room = RattleRoom(system.scratch(), factors, u, np.zeros(m), np.zeros(m), np.zeros((2, p.chain.ledger)))
        self.method, self.step = RattleStep(np.array(SHARES[record.order]), np.empty((5, m)), room), record.step
        self.restart(point, t_end)

    def restart(self, point: Restart, t_end: float) -> None:
        """Begin anew from another point."""
        step = math.copysign(self.step, t_end - point.t)
        self.start(point, t_end, point.rates(self.system), nfev=1, step=step, fixed=True, reach=self.system.reach(t_end, step))


def attempt(method, p, clock, knots, k, bound, last):
    """Take the stages one after the other."""
    y, new, t = knots.y[k], knots.y[k + 1], clock.t
    aim(clock, clock.step, bound, last)
    for i in range(len(y)):
        new[i] = y[i]
    rattle_begin(t, new, p, method.room)
    for s in range(len(method.shares)):
        h = method.shares[s] * clock.h
        solved, good = rattle_stage(t, h, new, p, method.room)
        clock.nfev += solved
        if not good:
            return NOT_CONVERGED
        t += h
    for i in range(len(new)):
        if not math.isfinite(new[i]):
            return NOT_FINITE
    rhs(clock.target, new, p, knots.f[k + 1], method.room.w)
    return RUNNING


STEPS[RattleStep] = StepKernels(attempt, **QUINTIC)
