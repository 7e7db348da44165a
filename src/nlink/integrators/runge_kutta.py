"""Explicit Runge-Kutta methods, one compiled step for all: DOP853, RK45 (Dormand and Prince 5(4), the pair of ode45), RK4.

The error of an adaptive step is the root mean square of e_i / (atol + rtol min(|y_i|, cap_i)); the cap is 1 rad for
angles, so that a link that has turned over many times is not followed more loosely. Rows of the ledger are integrated
along but do not steer the steps. DOP853 combines its two estimates as Hairer's code does:
|h| e5^2 / sqrt((e5^2 + 0.01 e3^2) n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from nlink.compiled.jit import kernel, summing
from nlink.integrators.base import NOT_FINITE, RUNNING, STEP_TOO_SMALL, Adaptive, FixedStep, Restart, Stepper
from nlink.integrators.polynomials import copy_row
from nlink.integrators.steps import REJECTED, STEPS, CompiledStepper, StepKernels, aim
from nlink.integrators.tableaus import DOP853_TABLEAU, DOPRI5_TABLEAU, RK4_TABLEAU, Tableau
from nlink.mechanics.contract import settled
from nlink.mechanics.equations import evaluate
from nlink.mechanics.stages import Sums, combine_apart
from nlink.mechanics.system import System


@dataclass(frozen=True)
class RungeKutta(Adaptive):
    """A pair with adaptive steps: a subclass has its tableau."""

    tableau: ClassVar[Tableau]
    rtol: float = 1e-9
    atol: float = 1e-9
    max_step: float = math.inf
    max_steps: int = 100_000_000

    def stepper(self, system: System, point: Restart, t_end: float) -> Stepper:
        """Start stepping."""
        return RungeKuttaStepper(system, point, t_end, self)


@dataclass(frozen=True)
class DOP853(RungeKutta):
    """Dormand and Prince, order 8 with adaptive steps and dense output of order 7: the default where Taylor does not apply."""

    tableau: ClassVar[Tableau] = DOP853_TABLEAU


@dataclass(frozen=True)
class RK45(RungeKutta):
    """Dormand and Prince, order 5(4) with adaptive steps: the pair of ode45."""

    tableau: ClassVar[Tableau] = DOPRI5_TABLEAU


@dataclass(frozen=True)
class RK4(FixedStep):
    """The classical method of order 4 with a fixed step in s."""

    tableau: ClassVar[Tableau] = RK4_TABLEAU

    def stepper(self, system: System, point: Restart, t_end: float) -> Stepper:
        """Start stepping."""
        return RungeKuttaStepper(system, point, t_end, self)


class RungeKuttaStep(NamedTuple):
    """A method with its tolerances, and where its stages are computed."""

    tableau: Tableau
    rtol: float
    atol: float
    max_step: float
    cap: np.ndarray
    stages: np.ndarray
    spare: np.ndarray
    w: np.ndarray


class RungeKuttaStepper(CompiledStepper):
    """Drives the compiled steps; fixed = 0 means adaptive."""

    def __init__(self, system: System, point: Restart, t_end: float, record: RungeKutta | RK4) -> None:
        super().__init__(system.equations, system.full_size, record.tableau.powers)
        self.system, self._numbers = system, system.parameters  # whose arrays the equations read
        adaptive = isinstance(record, RungeKutta)
        control = (record.rtol, record.atol, min(record.max_step, system.longest_step)) if adaptive else (1.0, 1.0, math.inf)
        cap, m = np.where(system.turning, 1.0, np.inf), system.full_size
        own = record.tableau._replace(weight=record.tableau.weight.copy())
        stages, spare = np.empty((own.total, m)), np.empty(m)
        self.method = RungeKuttaStep(own, *control, cap, stages, spare, system.scratch())
        self.fixed = 0.0 if adaptive else record.step
        self.restart(point, t_end)

    def restart(self, point: Restart, t_end: float) -> None:
        """Begin anew from another point."""
        f, span = point.rates(self.system), t_end - point.t
        step = math.copysign(self.fixed, span) or point.step or self._first_step(point, f, span)
        self.start(point, t_end, f=f, nfev=1, step=step, fixed=self.fixed > 0, reach=self.system.reach(t_end, span))

    def _first_step(self, point: Restart, f: np.ndarray, span: float) -> float:
        """Return a first step size after Hairer, Norsett, Wanner II.4: small enough for an explicit Euler step to be good."""
        system, y, method = self.system, point.y, self.method
        scale = method.atol + method.rtol * np.minimum(np.abs(y[: system.size]), method.cap)

        def norm(v: np.ndarray) -> float:
            return float(np.sqrt(np.mean((v[: system.size] / scale) ** 2)))

        d0, d1 = norm(y), norm(f)
        h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, abs(span))
        h0 = max(h0, 1e-300)
        direction = np.sign(span)
        f1 = system.rates(point.t + direction * h0, y + direction * h0 * f, strict=False)
        if system.failed and system.callback:
            system.callback.taken()  # the steps will meet it again, and keep what was before
        largest = max(d1, norm(f1 - f) / h0)
        h1 = max(1e-6, h0 * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** -method.tableau.exponent
        h = min(100 * h0, h1, abs(span))
        return float(direction * (h if np.isfinite(h) and h > 0 else 1e-6 * abs(span)))


@kernel
def sums_of(tab):
    """Return the sums of a method."""
    return Sums(tab.c, tab.pick, tab.weight, tab.blocks)


@summing
def error_norm(method, h, y, new):
    """Return the size of the local error in units of the tolerance."""
    tab, stages, cap = method.tableau, method.stages, method.cap
    i0, i1, i2, i3, i4, i5, i6, i7 = first_eight(tab.pick[tab.total])
    a0, a1, a2, a3, a4, a5, a6, a7 = first_eight(tab.weight[tab.total])
    b0, b1, b2, b3, b4, b5, b6, b7 = first_eight(tab.weight[tab.total + 1])
    e5 = e3 = 0.0
    for i in range(len(cap)):
        inverse = 1.0 / (method.atol + method.rtol * min(max(abs(y[i]), abs(new[i])), cap[i]))
        k0, k1, k2, k3 = stages[i0, i], stages[i1, i], stages[i2, i], stages[i3, i]
        k4, k5, k6, k7 = stages[i4, i], stages[i5, i], stages[i6, i], stages[i7, i]
        five = (a0 * k0 + a1 * k1 + a2 * k2 + a3 * k3 + a4 * k4 + a5 * k5 + a6 * k6 + a7 * k7) * inverse
        three = (b0 * k0 + b1 * k1 + b2 * k2 + b3 * k3 + b4 * k4 + b5 * k5 + b6 * k6 + b7 * k7) * inverse
        e5 += five * five
        e3 += three * three
    if e5 == 0.0:
        return 0.0
    return abs(h) * e5 / math.sqrt((e5 + 0.01 * e3) * len(cap))


@kernel
def first_eight(row):
    """Return the first eight of a row."""
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]


@kernel
def judge(method, clock, error):
    """Set the next step size from the error of this one; return whether the step is accepted.

    An error that is not a number must shrink the step, never grow it.
    """
    exponent = method.tableau.exponent
    if error < 1.0:
        factor = min(10.0, 0.9 * error**exponent) if error > 0.0 else 10.0
        clock.step = clock.h * (min(1.0, factor) if clock.retry else factor)
        clock.retry = 0
        return True
    clock.step = clock.h * (max(0.2, 0.9 * error**exponent) if math.isfinite(error) else 0.2)
    clock.retry = 1
    clock.rejected += 1
    return False


@kernel
def all_finite(values):
    """Whether every value is a finite number."""
    for i in range(len(values)):  # noqa: SIM110
        if not math.isfinite(values[i]):
            return False
    return True


def attempt(method, p, clock, knots, k, bound, last):
    """Evaluate the stages; accept the step by its error, or if it is fixed."""
    tab, stages, w = method.tableau, method.stages, method.w
    y, new, f = knots.y[k], knots.y[k + 1], knots.f[k + 1]
    proposed = clock.step
    aim(clock, proposed if clock.fixed else clock.sign * min(abs(proposed), method.max_step), bound, last)
    for i in range(len(y)):
        stages[0, i] = knots.f[k, i]
    evaluate(sums_of(tab), p, clock.t, clock.h, y, 1, tab.stages + 1, stages, new, w)
    clock.nfev += tab.stages
    if clock.fixed:
        if not all_finite(new):
            return NOT_FINITE
    else:
        error = error_norm(method, clock.h, y, new)
        if not judge(method, clock, error):
            too_small = STEP_TOO_SMALL if math.isfinite(error) else NOT_FINITE
            return too_small if abs(clock.step) < clock.smallest else REJECTED
        if clock.shortened:
            clock.step = proposed
    for i in range(len(y)):
        f[i] = stages[tab.stages, i]
    if settled(new, p, w):
        rates_anew(method, p, clock.target, new, f)
        clock.nfev += 1
    return RUNNING


@kernel
def rates_anew(method, p, t, y, f):
    """Fill f with the rates of a state that has been changed; the stages stay, which the dense output needs."""
    stages, spare = method.stages, method.spare
    copy_row(stages[0], spare)
    evaluate(sums_of(method.tableau), p, t, 0.0, y, 0, 1, stages, y, method.w)
    copy_row(stages[0], f)
    copy_row(spare, stages[0])


def interpolate(method, p, clock, knots, k):
    """Evaluate the stages that the dense output needs beyond those of the step."""
    tab = method.tableau
    if tab.total > tab.stages + 1:
        first, last = tab.stages + 1, tab.total
        evaluate(sums_of(tab), p, clock.t, clock.h, knots.y[k], first, last, method.stages, method.spare, method.w)
        clock.nfev += tab.total - tab.stages - 1


def polynomial(method, p, clock, q):
    """Fill the polynomial q (powers, m) of a step."""
    tab = method.tableau
    for power in range(tab.powers):
        for i in range(len(q[power])):
            q[power, i] = 0.0
        combine_apart(sums_of(tab), tab.total + 2 + power, q[power], 1.0, method.stages, q[power])


def point(method, p, clock, knots, k, time, out):
    """Fill out with the state at a time within a step: one combination of the stages, not one for each power."""
    tab, u = method.tableau, (time - clock.t) / clock.h
    first = tab.total + 2
    row = first + tab.powers
    for j in range(4 * tab.blocks[row]):
        total = 0.0
        for power in range(tab.powers - 1, -1, -1):
            total = u * (total + tab.weight[first + power, j])
        tab.weight[row, j] = total
    combine_apart(sums_of(tab), row, knots.y[k], clock.h, method.stages, out)


STEPS[RungeKuttaStep] = StepKernels(attempt, polynomial, point, interpolate)
