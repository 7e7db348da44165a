"""Explicit Runge-Kutta methods, one compiled step for all: DOP853, RK45 (Dormand and Prince 5(4), the pair of ode45), RK4.

The error of an adaptive step is the root mean square of e_i / (atol + rtol min(|y_i|, cap_i)); the cap is 1 rad for
angles, so that a link that has turned over many times is not followed more loosely. Rows of the ledger are integrated
along but do not steer the steps. DOP853 combines its two estimates as Hairer's code does:
|h| e5^2 / sqrt((e5^2 + 0.01 e3^2) n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit

from nlink._support.checks import number, whole
from nlink.compiled.jit import entry, kernel
from nlink.integrators.base import (
    ARRIVED,
    MOST_STEPS,
    NOT_FINITE,
    RUNNING,
    STEP_TOO_SMALL,
    Integrator,
    Mark,
    PolynomialChunk,
    Room,
    Stepper,
    first_step,
)
from nlink.integrators.tableaus import DOP853_TABLEAU, DOPRI5_TABLEAU, RK4_TABLEAU, Tableau
from nlink.mechanics.system import System, rhs, settled

T, H, ORIGIN, MARK_T, MARK_H, MARK_ORIGIN = range(6)
NFEV, STEPS, REJECTED, COUNT, MARK_COUNT, MARK_KNOT, RETRY, FROZEN = range(8)


def _check_adaptive(record: Any) -> None:
    for name in ("rtol", "atol"):
        object.__setattr__(record, name, number(f"{record.name}.{name}", getattr(record, name), above=0))
    if record.max_step != math.inf:
        object.__setattr__(record, "max_step", number(f"{record.name}.max_step", record.max_step, above=0))
    whole(f"{record.name}.max_steps", record.max_steps, most=MOST_STEPS)


@dataclass(frozen=True)
class DOP853(Integrator):
    """Dormand and Prince, order 8 with adaptive steps and dense output of order 7: the default where Taylor does not apply."""

    name: ClassVar[str] = "DOP853"
    rtol: float = 1e-9
    atol: float = 1e-9
    max_step: float = math.inf
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        _check_adaptive(self)

    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Start stepping."""
        return RungeKuttaStepper(system, DOP853_TABLEAU, mark, t_end, self.rtol, self.atol, self.max_step)


@dataclass(frozen=True)
class RK45(Integrator):
    """Dormand and Prince, order 5(4) with adaptive steps: the pair of ode45."""

    name: ClassVar[str] = "RK45"
    rtol: float = 1e-9
    atol: float = 1e-9
    max_step: float = math.inf
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        _check_adaptive(self)

    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Start stepping."""
        return RungeKuttaStepper(system, DOPRI5_TABLEAU, mark, t_end, self.rtol, self.atol, self.max_step)


@dataclass(frozen=True)
class RK4(Integrator):
    """The classical method of order 4 with a fixed step in s."""

    name: ClassVar[str] = "RK4"
    step: float = 0.001
    max_steps: int = 100_000_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", number("RK4.step", self.step, above=0))
        whole("RK4.max_steps", self.max_steps, most=MOST_STEPS)

    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Start stepping."""
        fixed = math.copysign(self.step, t_end - mark.t)
        return RungeKuttaStepper(system, RK4_TABLEAU, mark, t_end, 1.0, 1.0, math.inf, fixed)


class RungeKuttaStepper(Stepper):
    """Drives the compiled steps; fixed = 0 means adaptive."""

    def __init__(
        self,
        system: System,
        tableau: Tableau,
        mark: Mark,
        t_end: float,
        rtol: float,
        atol: float,
        max_step: float,
        fixed: float = 0.0,
    ) -> None:
        self.system, self.mark, self.t_end, self.fixed = system, mark, t_end, fixed
        self.tableau = tableau._replace(weight=tableau.weight.copy())
        self.control = np.array([rtol, atol, max_step, 0.0, system.reach(t_end, t_end - mark.t)])
        self.cap = np.where(system.formulation.turning(system.chain.n), 1.0, np.inf)
        self.y, self.w = mark.y, system.scratch()
        self.f = system.rates(mark.t, self.y) if mark.f is None else mark.f
        self.room = Room(len(self.y), tableau.powers)
        self.stages, self.spare = np.empty((tableau.total, len(self.y))), np.empty(len(self.y))
        step = fixed or mark.step or self._first_step()
        self.clock = np.array([mark.t, step, mark.origin, mark.t, step, mark.origin])
        self.counts = np.array([1, 0, 0, mark.count, mark.count, 0, 0, 0])

    def _first_step(self) -> float:
        rtol, atol = self.control[:2]
        scale = atol + rtol * np.minimum(np.abs(self.y[: self.system.size]), self.cap)
        order = round(-1 / self.tableau.exponent)
        return first_step(self.system, self.mark.t, self.y, self.f, scale, order, self.t_end - self.mark.t)

    def advance(
        self, bounds: np.ndarray, final: bool, times: np.ndarray, saved: np.ndarray, dense: bool, limit: int
    ) -> PolynomialChunk:
        """Take steps in one compiled call."""
        self.control[3] = 16 * np.finfo(float).eps * max(abs(self.clock[T]), 1e-6 * abs(self.t_end))
        t, y, f, q = self.room.take(limit, dense)
        y[0], f[0] = self.y, self.f
        taken, code = advance(
            self.tableau, self.system.parameters, self.control, self.cap, bounds, final, self.fixed != 0, times, saved, dense,
            self.clock, self.counts, self.stages, self.spare, self.w, t, y, f, q, limit,
        )  # fmt: skip
        clock, counts = self.clock.tolist(), self.counts.tolist()
        self.nfev, self.steps, self.rejected = counts[NFEV], counts[STEPS], counts[REJECTED]
        if counts[FROZEN] == 0 or counts[MARK_KNOT]:
            k = counts[MARK_KNOT]
            self.mark = Mark(clock[MARK_T], clock[MARK_H], y[k].copy(), f[k].copy(), clock[MARK_ORIGIN], counts[MARK_COUNT])
        self.y, self.f = y[taken].copy(), f[taken].copy()
        return PolynomialChunk(t[: taken + 1], y[: taken + 1], f[: taken + 1], q[:taken], code)


@kernel
def combine(tab, row, y, h, stages, out):
    """Fill out = y + h sum_j weight_j stage_j, four stages at a time, the first eight together where there are more."""
    blocks = tab.blocks[row]
    if blocks == 0:
        return
    i0, i1, i2, i3 = tab.pick[row, 0], tab.pick[row, 1], tab.pick[row, 2], tab.pick[row, 3]
    a0, a1, a2, a3 = h * tab.weight[row, 0], h * tab.weight[row, 1], h * tab.weight[row, 2], h * tab.weight[row, 3]
    if blocks == 1:
        for i in range(len(out)):
            out[i] = y[i] + (a0 * stages[i0, i] + a1 * stages[i1, i] + a2 * stages[i2, i] + a3 * stages[i3, i])
        return
    i4, i5, i6, i7 = tab.pick[row, 4], tab.pick[row, 5], tab.pick[row, 6], tab.pick[row, 7]
    a4, a5, a6, a7 = h * tab.weight[row, 4], h * tab.weight[row, 5], h * tab.weight[row, 6], h * tab.weight[row, 7]
    for i in range(len(out)):
        first = a0 * stages[i0, i] + a1 * stages[i1, i] + a2 * stages[i2, i] + a3 * stages[i3, i]
        out[i] = y[i] + (first + (a4 * stages[i4, i] + a5 * stages[i5, i] + a6 * stages[i6, i] + a7 * stages[i7, i]))
    for block in range(2, blocks):
        j = 4 * block
        i0, i1, i2, i3 = tab.pick[row, j], tab.pick[row, j + 1], tab.pick[row, j + 2], tab.pick[row, j + 3]
        a0, a1, a2, a3 = h * tab.weight[row, j], h * tab.weight[row, j + 1], h * tab.weight[row, j + 2], h * tab.weight[row, j + 3]
        for i in range(len(out)):
            out[i] += a0 * stages[i0, i] + a1 * stages[i1, i] + a2 * stages[i2, i] + a3 * stages[i3, i]


@njit(fastmath={"contract"}, error_model="numpy")
def run_stages(tab, p, t, h, y, first, last, stages, point, w):
    """Evaluate the stages first..last-1; `point` is left at the last stage's state."""
    for s in range(first, last):
        combine(tab, s, y, h, stages, point)
        rhs(t + tab.c[s] * h, point, p, stages[s], w)


@njit(fastmath={"contract", "reassoc"}, error_model="numpy", forceinline=True)
def error_norm(tab, control, cap, h, y, new, stages):
    """Return the size of the local error in units of the tolerance; sums in any order, so that the compiler may use vectors."""
    i0, i1, i2, i3, i4, i5, i6, i7 = first_eight(tab.pick[tab.total])
    a0, a1, a2, a3, a4, a5, a6, a7 = first_eight(tab.weight[tab.total])
    b0, b1, b2, b3, b4, b5, b6, b7 = first_eight(tab.weight[tab.total + 1])
    e5 = e3 = 0.0
    for i in range(len(cap)):
        inverse = 1.0 / (control[1] + control[0] * min(max(abs(y[i]), abs(new[i])), cap[i]))
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
def remember(clock, counts, knot):
    """Keep the knot at which the steps stand as the mark, unless the end of the run has begun to shape the steps."""
    if counts[FROZEN] == 0:
        clock[MARK_T] = clock[T]
        clock[MARK_H] = clock[H]
        clock[MARK_ORIGIN] = clock[ORIGIN]
        counts[MARK_COUNT] = counts[COUNT]
        counts[MARK_KNOT] = knot


@kernel
def judge(tab, control, clock, counts, error, h):
    """Set the next step size from the error of this one; return whether the step is accepted.

    An error that is not a number must shrink the step, never grow it.
    """
    if error < 1.0:
        factor = min(10.0, 0.9 * error**tab.exponent) if error > 0.0 else 10.0
        clock[H] = h * (min(1.0, factor) if counts[RETRY] == 1 else factor)
        counts[RETRY] = 0
        return True
    clock[H] = h * (max(0.2, 0.9 * error**tab.exponent) if math.isfinite(error) else 0.2)
    counts[RETRY] = 1
    counts[REJECTED] += 1
    return False


@kernel
def all_finite(values):
    """Whether every value is a finite number."""
    for value in values:  # noqa: SIM110
        if not math.isfinite(value):
            return False
    return True


@kernel
def polynomial(tab, stages, q):
    """Fill the polynomial q (powers, m) of a step."""
    for power in range(tab.powers):
        for i in range(q.shape[1]):
            q[power, i] = 0.0
        combine(tab, tab.total + 2 + power, q[power], 1.0, stages, q[power])


@kernel
def point(tab, u, h, y, stages, out):
    """Fill out with the state after the part u of a step."""
    first = tab.total + 2
    row = first + tab.powers
    for j in range(4 * tab.blocks[row]):
        total = 0.0
        for power in range(tab.powers - 1, -1, -1):
            total = u * (total + tab.weight[first + power, j])
        tab.weight[row, j] = total
    combine(tab, row, y, h, stages, out)


@entry
def advance(
    tab, p, control, cap, bounds, final, fixed, times, saved, dense, clock, counts, stages, spare, w, ts, ys, fs, qs, limit
):
    """Take up to `limit` steps from bound to bound from ys[0], fs[0]; return how many were kept in ts, ys, fs (and qs, if dense),
    and a code. Fill `saved` at the times that were reached.
    """
    sign = math.copysign(1.0, clock[H])
    taken = kept = at = 0
    code = RUNNING
    ts[0] = clock[T]
    counts[MARK_KNOT] = 0
    for _attempt in range(limit):
        t = clock[T]
        while at < len(bounds) - 1 and (bounds[at] - t) * sign <= 0.0:
            at += 1
        bound, last = bounds[at], final and at == len(bounds) - 1
        if (bound - t) * sign <= 0.0 or taken == len(ts) - 1:
            break
        proposed = clock[H]
        h = proposed if fixed else sign * min(abs(proposed), control[2])
        target = clock[ORIGIN] + (counts[COUNT] + 1) * h if fixed else t + h
        beyond = (target - bound) * sign > 0.0
        if beyond and last:
            counts[FROZEN] = 1
        if beyond and fixed and last:
            bound = control[4]
            beyond = (target - bound) * sign > 0.0
        if beyond:
            target, h = bound, bound - t
        y, new = ys[taken], ys[taken + 1]
        for i in range(len(y)):
            stages[0, i] = fs[taken, i]
        run_stages(tab, p, t, h, y, 1, tab.stages + 1, stages, new, w)
        counts[NFEV] += tab.stages
        if fixed:
            if not all_finite(new):
                code = NOT_FINITE
                break
        else:
            error = error_norm(tab, control, cap, h, y, new, stages)
            if not judge(tab, control, clock, counts, error, h):
                if abs(clock[H]) < control[3]:
                    code = STEP_TOO_SMALL if math.isfinite(error) else NOT_FINITE
                    break
                continue
            if beyond:
                clock[H] = proposed
        inside = kept < len(times) and (times[kept] - target) * sign < 0.0
        if (inside or dense) and tab.total > tab.stages + 1:
            run_stages(tab, p, t, h, y, tab.stages + 1, tab.total, stages, spare, w)
            counts[NFEV] += tab.total - tab.stages - 1
        if dense:
            polynomial(tab, stages, qs[taken])
        while kept < len(times) and (times[kept] - target) * sign < 0.0:
            point(tab, (times[kept] - t) / h, h, y, stages, saved[kept])
            kept += 1
        if settled(new, p, w):
            rhs(target, new, p, stages[tab.stages], w)
            counts[NFEV] += 1
        if kept < len(times) and times[kept] == target:
            saved[kept] = new
            kept += 1
        taken += 1
        ts[taken], fs[taken] = target, stages[tab.stages]
        clock[T] = target
        counts[COUNT] += 1
        counts[STEPS] += 1
        if fixed and beyond:
            clock[ORIGIN], counts[COUNT] = bound, 0
        remember(clock, counts, taken)
    if code == RUNNING and (bounds[-1] - clock[T]) * sign <= 0.0:
        code = ARRIVED
    return taken, code
