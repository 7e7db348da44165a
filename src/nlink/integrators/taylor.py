"""Taylor(tol, order): the motion as a power series in time, step by step, from the chain's equations in unit vectors.

The series belongs to the formulation (`system.series`); here are the steps. A step is as long as the last two coefficients of the
unit vectors allow: x and y together cannot both vanish by symmetry, so starts at rest, level or upside down do not fool it. The
series is the dense output. No step is ever rejected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlink._check import ModelError, number, whole
from nlink._jit import entry
from nlink.integrators.base import ARRIVED, NOT_FINITE, RUNNING, STEP_TOO_SMALL, Integrator, Mark, PolynomialChunk, Room, Stepper
from nlink.loads import Drag
from nlink.system import SERIES, System, rhs, series

T, MARK_T = range(2)
NFEV, STEPS, MARK_KNOT, FROZEN = range(4)
SERIES_ROWS = 11
"""Arrays of (order + 2, lanes) that a series may use, the links side by side."""
LANES = 8


@dataclass(frozen=True)
class Taylor(Integrator):
    """Power series of the motion; `tol` is the size in rad of the last terms that are kept, `order` their number."""

    name: ClassVar[str] = "Taylor"
    tol: float = 1e-13
    order: int = 18
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "tol", number("Taylor.tol", self.tol, above=0))
        whole("Taylor.order", self.order, least=4)
        whole("Taylor.max_steps", self.max_steps)

    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Start stepping."""
        if type(system.parameters) not in SERIES:
            what = "no pin" if system.chain.pin else f"the formulation recursive, not {system.formulation.name}"
            raise ModelError(f"Taylor takes {what}; use another integrator")
        if system.callback:
            raise ModelError("Taylor needs torques with a series: numbers, sines or tables, not a Python function; use DOP853")
        drag = system.chain.load(Drag)
        if drag and np.any(np.asarray(drag.quadratic) != 0):
            raise ModelError("Taylor takes linear drag only: quadratic drag has no series at rest; use DOP853")
        return TaylorStepper(system, mark, t_end, self)


class TaylorStepper(Stepper):
    """Drives the compiled steps."""

    def __init__(self, system: System, mark: Mark, t_end: float, record: Taylor) -> None:
        self.system, self.mark, self.t_end, self.record = system, mark, t_end, record
        n, m = system.chain.n, len(mark.y)
        self.y, self.f = mark.y, system.rates(mark.t, mark.y) if mark.f is None else mark.f
        self.w = system.scratch()
        self.terms, self.coefficients = (
            np.zeros((SERIES_ROWS, record.order + 2, -(-n // LANES) * LANES)),
            np.zeros((record.order, m)),
        )
        self.room = Room(m, record.order)
        self.clock, self.counts = np.array([mark.t, mark.t]), np.array([1, 0, 0, 0])

    def advance(self, bound: float, final: bool, times: np.ndarray, saved: np.ndarray, dense: bool, limit: int) -> PolynomialChunk:
        """Take steps in one compiled call."""
        t, y, f, q = self.room.take(limit, dense)
        y[0], f[0] = self.y, self.f
        sign = math.copysign(1.0, self.t_end - self.mark.t) if self.t_end != self.mark.t else 1.0
        taken, code = advance(
            self.system.parameters, self.record.tol, sign, bound, final, times, saved, dense, self.clock, self.counts, self.terms,
            self.coefficients, self.w, t, y, f, q,
        )  # fmt: skip
        counts = self.counts.tolist()
        self.nfev, self.steps = counts[NFEV], counts[STEPS]
        if counts[FROZEN] == 0 or counts[MARK_KNOT]:
            k = counts[MARK_KNOT]
            self.mark = Mark(float(self.clock[MARK_T]), 0.0, y[k].copy(), f[k].copy(), 0.0, 0)
        self.y, self.f = y[taken].copy(), f[taken].copy()
        return PolynomialChunk(t[: taken + 1], y[: taken + 1], f[: taken + 1], q[:taken], code)


@entry
def advance(p, tol, sign, bound, final, times, saved, dense, clock, counts, terms, q, w, ts, ys, fs, qs):
    """Take steps towards bound from ys[0]; return how many, and a code."""
    taken = kept = 0
    code = RUNNING
    ts[0] = clock[T]
    counts[MARK_KNOT] = 0
    while taken < len(ts) - 1 and (bound - clock[T]) * sign > 0.0:
        t = clock[T]
        y, new = ys[taken], ys[taken + 1]
        last, before = series(t, bound, y, p, q, terms, w)
        counts[NFEV] += 1
        order = len(q)
        reach = min((tol / max(last, 1e-300)) ** (1.0 / order), (tol / max(before, 1e-300)) ** (1.0 / (order - 1)))
        if not math.isfinite(last + before):
            code = NOT_FINITE
            break
        if reach < 1e-14 * max(abs(t), 1e-6):
            code = STEP_TOO_SMALL
            break
        target = t + sign * reach
        if (target - bound) * sign >= 0.0:
            if final:
                counts[FROZEN] = 1
            target = bound
        h = target - t
        horner(q, y, h, new)
        while kept < len(times) and (times[kept] - target) * sign < 0.0:
            horner(q, y, times[kept] - t, saved[kept])
            kept += 1
        if kept < len(times) and times[kept] == target:
            saved[kept] = new
            kept += 1
        if dense:
            for k in range(order):
                scale = h**k
                for i in range(len(y)):
                    qs[taken, k, i] = q[k, i] * scale
        taken += 1
        ts[taken] = target
        rhs(target, new, p, fs[taken], w)
        counts[NFEV] += 1
        clock[T] = target
        counts[STEPS] += 1
        if counts[FROZEN] == 0:
            clock[MARK_T] = target
            counts[MARK_KNOT] = taken
    if code == RUNNING and (bound - clock[T]) * sign <= 0.0:
        code = ARRIVED
    return taken, code


@entry
def horner(q, y, s, out):
    """Fill out = y + sum_k q_k s^(k+1)."""
    for i in range(len(y)):
        total = 0.0
        for k in range(len(q) - 1, -1, -1):
            total = (total + q[k, i]) * s
        out[i] = y[i] + total
