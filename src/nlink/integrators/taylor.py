"""Taylor(tol, order): the motion as a power series in time, step by step, from the chain's equations in unit vectors.

The series belongs to the formulation (`system.series`); here are the steps. A step is as long as the last two coefficients of the
unit vectors allow: x and y together cannot both vanish by symmetry, so starts at rest, level or upside down do not fool it. No
link turns by more than 2 rad. The series is the dense output. No step is ever rejected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from nlink._support.checks import ModelError, number, whole
from nlink.compiled.jit import entry, kernel
from nlink.compiled.simd import aligned, binary_logarithm, numbers, power_of_two, vectors
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
)
from nlink.mechanics.kernels import borrowed
from nlink.mechanics.system import (
    ORDER_BY_ORDER,
    SERIES,
    SERIES_ROWS,
    SERIES_SCRATCH,
    UNROLLED,
    SeriesRoom,
    System,
    arrival,
    horizon,
    polynomials,
    powers,
    series,
    way_by,
)

T, MARK_T = range(2)
NFEV, STEPS, MARK_KNOT, FROZEN = range(4)
WIDTHS = (2, 4, 8, 16)
"""A chain that fits into a vector of one of these is computed in it; longer ones take LANES links at a time."""
LANES = 8
FEW, FEW_ORDER, MANY_ORDER = 5, 22, 18
"""Up to so many links, with gravity alone, a step is mostly waiting, and more terms are cheap."""
SHARE = 1e-3
"""What is kept of a tolerance asked for: then the error is a tenth of that of DOP853, or less."""
MOST_ORDER = 60
"""Beyond, a step gains nothing in double precision, and the compilation of all its terms takes ever longer."""


@dataclass(frozen=True)
class Taylor(Integrator):
    """Power series of the motion; `tol` is the size in rad of the last terms that are kept, `order` their number, from 4 to 60: 0
    leaves it to the chain, by measurement.
    """

    name: ClassVar[str] = "Taylor"
    tol: float = 1e-13
    order: int = 0
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "tol", number("Taylor.tol", self.tol, above=0))
        if self.order != 0:
            whole("Taylor.order", self.order, least=4, most=MOST_ORDER)
        whole("Taylor.max_steps", self.max_steps, most=MOST_STEPS)

    @classmethod
    def like(cls, rtol: float, atol: float) -> Taylor:
        """Return a method whose errors are not larger than those of DOP853 with these tolerances, by measurement."""
        return cls(float(f"{SHARE * 0.5 * (rtol + atol):.2g}"))

    def with_order(self, system: System) -> Taylor:
        """Return the same with an order: the fastest for a chain, if none was asked for."""
        few = system.chain.n <= FEW and not system.parameters.chain.loaded
        return self if self.order else replace(self, order=FEW_ORDER if few else MANY_ORDER)

    @staticmethod
    def refusal(system: System) -> str:
        """Return why it cannot take a system, or nothing if it can."""
        if type(system.parameters) not in SERIES:
            what = "no pin" if system.chain.pin else f"the formulation recursive, not {system.formulation.name}"
            return f"Taylor takes {what}; use another integrator"
        if system.callback:
            return "Taylor needs torques with a series: numbers, sines or tables, not a Python function; use DOP853"
        return ""

    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Start stepping."""
        refusal = self.refusal(system)
        if refusal:
            raise ModelError(refusal)
        return TaylorStepper(system, mark, t_end, self)


class TaylorStepper(Stepper):
    """Drives the compiled steps."""

    def __init__(self, system: System, mark: Mark, t_end: float, record: Taylor) -> None:
        self.system, self.record, m = system, record.with_order(system), len(mark.y)
        self.arrays = workspace(system.parameters.chain, self.record.order)
        self.q = np.zeros((self.record.order, m))
        self.room = Room(m, self.record.order)
        self.restart(mark, t_end)

    def restart(self, mark: Mark, t_end: float) -> None:
        """Begin anew from another point."""
        self.mark, self.t_end, self.y = mark, t_end, mark.y
        self.clock, self.counts = np.array([mark.t, mark.t]), np.zeros(4, np.int64)

    def advance(
        self, bounds: np.ndarray, final: bool, times: np.ndarray, saved: np.ndarray, dense: bool, limit: int
    ) -> PolynomialChunk:
        """Take steps in one compiled call."""
        t, y, f, q = self.room.take(limit, dense)
        y[0] = self.y
        ahead = self.t_end >= self.mark.t
        taken, code = advance(
            self.system.parameters, self.record.tol, ahead, bounds, final, times, saved, dense, self.clock,
            self.counts, self.arrays, self.q, t, y, f, q,
        )  # fmt: skip
        counts = self.counts.tolist()
        self.nfev, self.steps = counts[NFEV], counts[STEPS]
        if counts[FROZEN] == 0 or counts[MARK_KNOT]:
            k = counts[MARK_KNOT]
            self.mark = Mark(float(self.clock[MARK_T]), 0.0, y[k].copy(), f[k].copy(), 0.0, 0)
        self.y = y[taken].copy()
        return PolynomialChunk(t[: taken + 1], y[: taken + 1], f[: taken + 1], q[:taken], code)


def workspace(chain: Any, order: int) -> tuple[Any, ...]:
    """Return the arrays of a series: links side by side, filled up to whole vectors; and its constants, as lengths of tuples."""
    n = chain.n
    width = next((width for width in WIDTHS if n <= width), LANES)
    way = way_by(ORDER_BY_ORDER) if n > width or chain.swept else way_by(UNROLLED, moments=chain.loaded)
    lanes = -(-n // width) * width
    terms = aligned(SERIES_ROWS, order + 2, lanes)
    terms[0, 0] = 1.0
    return terms, aligned(SERIES_SCRATCH, lanes), aligned(SERIES_SCRATCH, lanes), (0,) * width, way, (0,) * order


@kernel
def reach(tol, last, before, fastest, order):
    """Return the length of a step."""
    per = 1.0 / tol
    longest = max(
        binary_logarithm(max(last, 1e-250) * per) * (1.0 / order), binary_logarithm(max(before, 1e-250) * per) * (1.0 / (order - 1))
    )
    return min(power_of_two(-longest), 2.0 / max(fastest, 1e-100))


@entry
def advance(p, tol, ahead, bounds, final, times, saved, dense, clock, counts, arrays, q, ts, ys, fs, qs):
    """Take steps from bound to bound from ys[0]; return how many, and a code."""
    terms, w, u, lanes, way, orders = arrays
    room = SeriesRoom(
        borrowed(p.chain), numbers(terms), vectors(terms, lanes), numbers(w), vectors(w, lanes), numbers(u), vectors(u, lanes),
        way, orders,
    )  # fmt: skip
    states, coefficients, kept_states = numbers(ys), numbers(q), numbers(saved)
    order = len(orders)
    n, m = p.chain.n, ys.shape[1]
    sign = 1.0 if ahead else -1.0
    taken = kept = at = 0
    bound, told = bounds[0], -1
    code = RUNNING
    ts[0] = clock[T]
    counts[MARK_KNOT] = 0
    steps = len(ts) - 1
    while taken <= steps:
        t = clock[T]
        y = states[taken]
        last, before, fastest = series(t, bound, ahead, y, p, room, order)
        counts[NFEV] += 1
        if m > 2 * n:
            powers(p, room, order, coefficients)
        if told < taken:
            told = taken
            for i in range(n):
                fs[taken, i], fs[taken, n + i] = y[n + i], 2.0 * room.terms[1, 2, i]
            for i in range(2 * n, m):
                fs[taken, i] = q[0, i]
        if taken == steps:
            break
        if (bound - t) * sign <= 0.0:
            if at == len(bounds) - 1:
                break
            at += 1
            bound = bounds[at]
            continue  # with the series of the loads beyond the bound
        if not math.isfinite(last + before):
            code = NOT_FINITE
            break
        size = abs(horizon(sign * reach(tol, last, before, fastest, order), p, room, order))
        if size < 1e-14 * max(abs(t), 1e-6):
            code = STEP_TOO_SMALL
            break
        target = t + sign * size
        if (target - bound) * sign >= 0.0:
            if final and at == len(bounds) - 1:
                counts[FROZEN] = 1
            target = bound
        h = target - t
        new = states[taken + 1]
        arrival(h, y, p, room, order, new)
        horner(coefficients, y, h, new, 2 * n)
        between = kept < len(times) and (times[kept] - target) * sign < 0.0
        if between or dense:
            polynomials(p, room, order, coefficients)
        while kept < len(times) and (times[kept] - target) * sign < 0.0:
            horner(coefficients, y, times[kept] - t, kept_states[kept], 0)
            kept += 1
        if kept < len(times) and times[kept] == target:
            saved[kept] = ys[taken + 1]
            kept += 1
        if dense:
            for k in range(order):
                scale = h**k
                for i in range(m):
                    qs[taken, k, i] = q[k, i] * scale
        taken += 1
        ts[taken] = target
        clock[T] = target
        counts[STEPS] += 1
        if counts[FROZEN] == 0:
            clock[MARK_T] = target
            counts[MARK_KNOT] = taken
    if code == RUNNING and (bounds[-1] - clock[T]) * sign <= 0.0:
        code = ARRIVED
    return taken, code


@kernel
def horner(q, y, s, out, first):
    """Fill out[first:] = y + sum_k q_k s^(k+1)."""
    for i in range(first, len(y)):
        total = 0.0
        for k in range(len(q) - 1, -1, -1):
            total = (total + q[k, i]) * s
        out[i] = y[i] + total
