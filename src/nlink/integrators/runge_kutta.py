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

from nlink._check import number, whole
from nlink._jit import entry, kernel
from nlink.integrators.base import (
    ARRIVED,
    NOT_FINITE,
    RUNNING,
    STEP_TOO_SMALL,
    Integrator,
    Mark,
    PolynomialChunk,
    Stepper,
    chunk_room,
    first_step,
)
from nlink.integrators.tableaus import DOP853_TABLEAU, DOPRI5_TABLEAU, RK4_TABLEAU, Tableau
from nlink.system import System, rhs, settled

T, H, ORIGIN, MARK_T, MARK_H, MARK_ORIGIN = range(6)
NFEV, STEPS, REJECTED, COUNT, MARK_COUNT, RETRY, FROZEN = range(7)


def _check_adaptive(record: Any) -> None:
    for name in ("rtol", "atol"):
        object.__setattr__(record, name, number(f"{record.name}.{name}", getattr(record, name), above=0))
    if record.max_step != math.inf:
        object.__setattr__(record, "max_step", number(f"{record.name}.max_step", record.max_step, above=0))
    whole(f"{record.name}.max_steps", record.max_steps)


@dataclass(frozen=True)
class DOP853(Integrator):
    """Dormand and Prince, order 8 with adaptive steps and dense output of order 7: the default."""

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
        whole("RK4.max_steps", self.max_steps)

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
        self.system, self.tableau, self.mark, self.t_end, self.fixed = system, tableau, mark, t_end, fixed
        self.control = np.array([rtol, atol, max_step, 0.0])
        self.cap = np.where(system.formulation.turning(system.chain.n), 1.0, np.inf)
        self.y, self.w = mark.y.copy(), system.scratch()
        self.f = system.rates(mark.t, self.y) if mark.f is None else mark.f.copy()
        self.stages, self.trial = np.empty((tableau.total, len(self.y))), np.empty((3, len(self.y)))
        step = fixed or mark.step or self._first_step()
        self.clock = np.array([mark.t, step, mark.origin, mark.t, step, mark.origin])
        self.counts = np.array([1, 0, 0, mark.count, mark.count, 0, 0])
        self.marked = np.stack([self.y, self.f])

    def _first_step(self) -> float:
        rtol, atol = self.control[:2]
        scale = atol + rtol * np.minimum(np.abs(self.y[: self.system.size]), self.cap)
        order = round(-1 / self.tableau.exponent)
        return first_step(self.system, self.mark.t, self.y, self.f, scale, order, self.t_end - self.mark.t)

    def advance(self, bound: float, final: bool, times: np.ndarray, dense: bool, limit: int) -> PolynomialChunk:
        """Take steps in one compiled call."""
        m, d = len(self.y), self.tableau.powers
        room = chunk_room(limit, m, d)
        self.control[3] = 16 * np.finfo(float).eps * max(abs(self.clock[T]), 1e-6 * abs(self.t_end))
        t, y, f, q = np.empty(room + 1), np.empty((room + 1, m)), np.empty((room + 1, m)), np.empty((room, d, m))
        taken, code = advance(
            self.tableau, self.system.parameters, self.control, self.cap, bound, final, self.fixed != 0, times, dense,
            self.clock, self.counts, self.y, self.f, self.marked, self.stages, self.trial, self.w, t, y, f, q, limit,
        )  # fmt: skip
        clock, counts = self.clock.tolist(), self.counts.tolist()
        self.nfev, self.steps, self.rejected = counts[NFEV], counts[STEPS], counts[REJECTED]
        self.mark = Mark(clock[MARK_T], clock[MARK_H], self.marked[0], self.marked[1], clock[MARK_ORIGIN], counts[MARK_COUNT])
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


@kernel
def error_norm(tab, control, cap, h, y, new, stages, trial):
    """Return the size of the local error in units of the tolerance."""
    five, three = trial[1], trial[2]
    for i in range(len(five)):
        five[i] = 0.0
        three[i] = 0.0
    combine(tab, tab.total, five, 1.0, stages, five)
    combine(tab, tab.total + 1, three, 1.0, stages, three)
    e5 = e3 = 0.0
    for i in range(len(cap)):
        scale = control[1] + control[0] * min(max(abs(y[i]), abs(new[i])), cap[i])
        e5 += (five[i] / scale) ** 2
        e3 += (three[i] / scale) ** 2
    if e5 == 0.0:
        return 0.0
    return abs(h) * e5 / math.sqrt((e5 + 0.01 * e3) * len(cap))


@kernel
def remember(clock, counts, y, f, marked):
    """Keep the point at which the steps stand as the mark, unless the end of the run has begun to shape the steps."""
    if counts[FROZEN] == 0:
        clock[MARK_T] = clock[T]
        clock[MARK_H] = clock[H]
        clock[MARK_ORIGIN] = clock[ORIGIN]
        counts[MARK_COUNT] = counts[COUNT]
        for i in range(len(y)):
            marked[0, i] = y[i]
            marked[1, i] = f[i]


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
def dense_output(tab, p, t, h, y, stages, spare, w, q):
    """Evaluate the stages that only the dense output needs, and fill its polynomial q (powers, m)."""
    if tab.total > tab.stages + 1:
        run_stages(tab, p, t, h, y, tab.stages + 1, tab.total, stages, spare, w)
    for power in range(tab.powers):
        for i in range(len(y)):
            q[power, i] = 0.0
        combine(tab, tab.total + 2 + power, q[power], 1.0, stages, q[power])


@entry
def advance(
    tab, p, control, cap, bound, final, fixed, times, dense, clock, counts, y, f, marked, stages, trial, w, ts, ys, fs, qs, limit
):
    """Take up to `limit` steps towards bound; return how many were kept in ts, ys, fs, qs, and a code."""
    new = trial[0]
    sign = math.copysign(1.0, clock[H])
    taken = wanted = 0
    code = RUNNING
    ts[0], ys[0], fs[0] = clock[T], y, f
    for _attempt in range(limit):
        t = clock[T]
        if (bound - t) * sign <= 0.0 or taken == len(qs):
            break
        proposed = clock[H]
        h = proposed if fixed else sign * min(abs(proposed), control[2])
        target = clock[ORIGIN] + (counts[COUNT] + 1) * h if fixed else t + h
        beyond = (target - bound) * sign > 0.0
        if beyond and final:
            counts[FROZEN] = 1
        if beyond and not (fixed and final):
            target, h = bound, bound - t
        for i in range(len(y)):
            stages[0, i] = f[i]
        run_stages(tab, p, t, h, y, 1, tab.stages + 1, stages, new, w)
        counts[NFEV] += tab.stages
        if fixed:
            if not all_finite(new):
                code = NOT_FINITE
                break
        else:
            error = error_norm(tab, control, cap, h, y, new, stages, trial)
            if not judge(tab, control, clock, counts, error, h):
                if abs(clock[H]) < control[3]:
                    code = STEP_TOO_SMALL if math.isfinite(error) else NOT_FINITE
                    break
                continue
            if beyond:
                clock[H] = proposed
        inside = dense
        while wanted < len(times) and (times[wanted] - target) * sign <= 0.0:
            wanted += 1
            inside = True
        if inside:
            dense_output(tab, p, t, h, y, stages, trial[1], w, qs[taken])
            counts[NFEV] += tab.total - tab.stages - 1
        if settled(new, p, w):
            rhs(target, new, p, stages[tab.stages], w)
            counts[NFEV] += 1
        for i in range(len(y)):
            y[i] = new[i]
            f[i] = stages[tab.stages, i]
        clock[T] = target
        counts[COUNT] += 1
        counts[STEPS] += 1
        if fixed and beyond and not final:
            clock[ORIGIN], counts[COUNT] = bound, 0
        taken += 1
        ts[taken], ys[taken], fs[taken] = target, y, f
        remember(clock, counts, y, f, marked)
    if code == RUNNING and (bound - clock[T]) * sign <= 0.0:
        code = ARRIVED
    return taken, code
