"""Gauss: the implicit Gauss-Legendre method of three stages, order 6, with a fixed step, in Hamilton's coordinates.

    Z_i = z + h sum_j a_ij F(Z_j),   z_new = z + h sum_j b_j F(Z_j),   z = (theta, momenta)

Applied to angles and momenta it is symplectic, so the energy of a conservative chain only oscillates, without a trend,
however many steps are taken; it is symmetric too, and loads are allowed. The stages are iterated to rounding from a
start that depends on this step alone, so that a resumed run repeats the steps to the last bit. Between the steps: the
quintic through angle, rate and acceleration at both ends. Reference: Hairer, Lubich, Wanner, Geometric Numerical
Integration (2006), II.1.3, VI.4, VIII.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.compiled.jit import kernel
from nlink.integrators.base import NOT_CONVERGED, NOT_FINITE, RUNGE_KUTTA, RUNNING, FixedStep, Restart, Stepper
from nlink.integrators.quintic import QUINTIC
from nlink.integrators.steps import STEPS, CompiledStepper, StepKernels, aim
from nlink.mechanics.contract import HAMILTON, from_canonical, hamilton, rhs, to_canonical
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.refusals import refuse_space
from nlink.mechanics.system import System

ROOT = math.sqrt(15.0)
NODES = np.array([0.5 - ROOT / 10, 0.5, 0.5 + ROOT / 10])
WEIGHTS = np.array([5 / 18, 4 / 9, 5 / 18])
MATRIX = np.array(
    [
        [5 / 36, 2 / 9 - ROOT / 15, 5 / 36 - ROOT / 30],
        [5 / 36 + ROOT / 24, 2 / 9, 5 / 36 - ROOT / 24],
        [5 / 36 + ROOT / 30, 2 / 9 + ROOT / 15, 5 / 36],
    ]
)
SWEEPS = 100


@dataclass(frozen=True)
class Gauss(FixedStep):
    """Gauss-Legendre, order 6, symplectic: no trend in the energy, with a fixed step in s."""

    step: float = 0.01

    def stepper(self, system: System, point: Restart, t_end: float) -> Stepper:
        """Start stepping."""
        refuse_space("Gauss", system.chain)
        if system.chain.pin:
            raise ModelError(f"Gauss does not support closed chains (Chain.pin); use {RUNGE_KUTTA}")
        if isinstance(system.chain, Mechanism):
            raise ModelError(f"Gauss does not support mechanisms; use {RUNGE_KUTTA}")
        if type(system.parameters) not in HAMILTON:
            name = system.formulation.name
            raise ModelError(
                f"Gauss needs Hamilton's form of the equations, which {name} does not have; use the formulation recursive"
            )
        return GaussStepper(system, point, t_end, self.step)


class GaussStep(NamedTuple):
    """Where a step is computed: angles and momenta, stages, and the polynomial of the step."""

    z: np.ndarray
    stages: np.ndarray
    q: np.ndarray
    w: np.ndarray


class GaussStepper(CompiledStepper):
    """Drives the compiled steps."""

    def __init__(self, system: System, point: Restart, t_end: float, step: float) -> None:
        self.system, m = system, system.full_size
        super().__init__(system.parameters, m, 5)
        self.method, self.step = GaussStep(np.empty(m), np.zeros((6, m)), np.empty((5, m)), system.scratch()), step
        self.restart(point, t_end)

    def restart(self, point: Restart, t_end: float) -> None:
        """Begin anew from another point."""
        step = math.copysign(self.step, t_end - point.t)
        self.start(point, t_end, point.rates(self.system), nfev=1, step=step, fixed=True, reach=self.system.reach(t_end, step))


@kernel
def iterate(p, t, h, z, stages, w):
    """Solve the stages by sweeps; rows 0-2 of `stages` receive F(Z_i). Return (sweeps, code)."""
    n = p.chain.n
    z_stage = stages[5]
    hamilton(t, z, p, stages[0], w)
    for i in range(len(z)):
        stages[1, i] = stages[2, i] = stages[0, i]
    largest = force = 0.0
    for i in range(n, 2 * n):
        largest = max(largest, abs(z[i]))
        force = max(force, abs(stages[0, i]))
    scale = max(largest, abs(h) * force, 1e-300)
    before = math.inf
    for count in range(1, SWEEPS + 1):
        change = 0.0
        for s in range(3):
            for i in range(len(z)):
                z_stage[i] = z[i] + h * (MATRIX[s, 0] * stages[0, i] + MATRIX[s, 1] * stages[1, i] + MATRIX[s, 2] * stages[2, i])
            hamilton(t + NODES[s] * h, z_stage, p, stages[4], w)
            for i in range(2 * n):
                size = abs(h * (stages[4, i] - stages[s, i]))
                change = max(change, size if i < n else size / scale) if math.isfinite(size) else math.nan
            for i in range(len(z)):
                stages[s, i] = stages[4, i]
        if not math.isfinite(change):
            return count, NOT_FINITE
        if change == 0.0 or (change >= before and change < 1e-12):
            return count, RUNNING
        before = change
    return SWEEPS, NOT_CONVERGED


def attempt(method, p, clock, knots, k, bound, last):
    """Solve the stages and add them up."""
    z, stages, w, new = method.z, method.stages, method.w, knots.y[k + 1]
    aim(clock, clock.step, bound, last)
    h = clock.h
    to_canonical(knots.y[k], p, z, w)
    sweeps, code = iterate(p, clock.t, h, z, stages, w)
    clock.nfev += 3 * sweeps + 2
    if code != RUNNING:
        return code
    for i in range(len(z)):
        z[i] += h * (WEIGHTS[0] * stages[0, i] + WEIGHTS[1] * stages[1, i] + WEIGHTS[2] * stages[2, i])
    from_canonical(z, p, new, w)
    rhs(clock.target, new, p, knots.f[k + 1], w)
    return RUNNING


STEPS[GaussStep] = StepKernels(attempt, **QUINTIC)
