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
from typing import ClassVar

import numpy as np

from nlink._support.checks import ModelError, number, whole
from nlink.compiled.jit import entry, kernel
from nlink.integrators.base import (
    ARRIVED,
    MOST_STEPS,
    NOT_CONVERGED,
    NOT_FINITE,
    RUNNING,
    Integrator,
    Mark,
    PolynomialChunk,
    Room,
    Stepper,
)
from nlink.mechanics.system import HAMILTON, System, from_canonical, hamilton, rhs, to_canonical

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
T, H, ORIGIN, MARK_T, MARK_ORIGIN, REACH = range(6)
NFEV, STEPS, COUNT, MARK_COUNT = range(4)


@dataclass(frozen=True)
class Gauss(Integrator):
    """Gauss-Legendre, order 6, symplectic: no trend in the energy, with a fixed step in s."""

    name: ClassVar[str] = "Gauss"
    step: float = 0.01
    max_steps: int = 100_000_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", number("Gauss.step", self.step, above=0))
        whole("Gauss.max_steps", self.max_steps, most=MOST_STEPS)

    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Start stepping."""
        if system.chain.pin:
            raise ModelError("Gauss takes no pin; use DOP853, RK45 or RK4")
        if type(system.parameters) not in HAMILTON:
            name = system.formulation.name
            raise ModelError(
                f"Gauss needs Hamilton's form of the equations, which {name} does not have; use the formulation recursive"
            )
        return GaussStepper(system, mark, t_end, math.copysign(self.step, t_end - mark.t))


class GaussStepper(Stepper):
    """Drives the compiled steps."""

    def __init__(self, system: System, mark: Mark, t_end: float, step: float) -> None:
        self.system, self.mark = system, mark
        self.y, self.w = mark.y.copy(), system.scratch()
        self.f = system.rates(mark.t, self.y) if mark.f is None else mark.f.copy()
        self.room, self.stages = Room(len(self.y), 5), np.zeros((6, len(self.y)))
        self.clock = np.array([mark.t, step, mark.origin, mark.t, mark.origin, system.reach(t_end, step)])
        self.counts = np.array([1, 0, mark.count, mark.count])
        self.marked = np.stack([self.y, self.f])

    def advance(
        self, bounds: np.ndarray, final: bool, times: np.ndarray, saved: np.ndarray, dense: bool, limit: int
    ) -> PolynomialChunk:
        """Take steps in one compiled call."""
        t, y, f, q = self.room.take(limit, True)
        taken, code = advance(
            self.system.parameters,
            bounds,
            final,
            self.clock,
            self.counts,
            self.y,
            self.f,
            self.marked,
            self.stages,
            self.w,
            t,
            y,
            f,
            q,
        )
        clock, counts = self.clock.tolist(), self.counts.tolist()
        self.nfev, self.steps = counts[NFEV], counts[STEPS]
        self.mark = Mark(clock[MARK_T], clock[H], self.marked[0], self.marked[1], clock[MARK_ORIGIN], counts[MARK_COUNT])
        chunk = PolynomialChunk(t[: taken + 1], y[: taken + 1], f[: taken + 1], q[:taken], code)
        chunk.fill(times, saved)
        return chunk


@kernel
def iterate(p, t, h, z, stages, w):
    """Solve the stages by sweeps; rows 0-2 of `stages` receive F(Z_i). Return (sweeps, code)."""
    n = p.chain.n
    point = stages[5]
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
                point[i] = z[i] + h * (MATRIX[s, 0] * stages[0, i] + MATRIX[s, 1] * stages[1, i] + MATRIX[s, 2] * stages[2, i])
            hamilton(t + NODES[s] * h, point, p, stages[4], w)
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


@kernel
def quintic(n, h, y, f, new, rates, q):
    """Fill the polynomial of a step: n coordinates by the quintic, velocities by its derivative, what follows by the cubic."""
    for i in range(n):
        v0, a0, a1 = y[n + i], h * f[n + i], h * rates[n + i]
        gap = (new[i] - y[i]) / h - v0 - a0 / 2
        slope, bend = new[n + i] - v0 - a0, a1 - a0
        c3, c4, c5 = 10 * gap - 4 * slope + bend / 2, -15 * gap + 7 * slope - bend, 6 * gap - 3 * slope + bend / 2
        q[0, i], q[1, i], q[2, i], q[3, i], q[4, i] = v0, a0 / 2, c3, c4, c5
        j = n + i
        q[0, j], q[1, j], q[2, j], q[3, j], q[4, j] = a0 / h, 3 * c3 / h, 4 * c4 / h, 5 * c5 / h, 0.0
    for i in range(2 * n, len(y)):
        mean = (new[i] - y[i]) / h
        q[0, i], q[1, i], q[2, i] = f[i], 3 * mean - 2 * f[i] - rates[i], f[i] + rates[i] - 2 * mean
        q[3, i] = q[4, i] = 0.0


@entry
def advance(p, bounds, final, clock, counts, y, f, marked, stages, w, ts, ys, fs, qs):
    """Take up to len(qs) steps from bound to bound; return how many, and a code."""
    m = len(y)
    z, new, rates = np.empty(m), np.empty(m), np.empty(m)
    sign = math.copysign(1.0, clock[H])
    ts[0], ys[0], fs[0] = clock[T], y, f
    taken, at, code = 0, 0, RUNNING
    while taken < len(qs) and (bounds[-1] - clock[T]) * sign > 0.0:
        t, h = clock[T], clock[H]
        while at < len(bounds) - 1 and (bounds[at] - t) * sign <= 0.0:
            at += 1
        bound, last = bounds[at], final and at == len(bounds) - 1
        target = clock[ORIGIN] + (counts[COUNT] + 1) * h
        beyond = (target - bound) * sign > 0.0
        over = beyond and last
        if over:
            bound = clock[REACH]
            beyond = (target - bound) * sign > 0.0
        if beyond:
            target, h = bound, bound - t
        to_canonical(y, p, z, w)
        sweeps, code = iterate(p, t, h, z, stages, w)
        counts[NFEV] += 3 * sweeps + 2
        if code != RUNNING:
            break
        for i in range(m):
            z[i] += h * (WEIGHTS[0] * stages[0, i] + WEIGHTS[1] * stages[1, i] + WEIGHTS[2] * stages[2, i])
        from_canonical(z, p, new, w)
        rhs(target, new, p, rates, w)
        quintic(p.chain.n, h, y, f, new, rates, qs[taken])
        for i in range(m):
            y[i] = new[i]
            f[i] = rates[i]
        clock[T] = target
        counts[COUNT] += 1
        counts[STEPS] += 1
        if beyond:
            clock[ORIGIN], counts[COUNT] = bound, 0
        taken += 1
        ts[taken], ys[taken], fs[taken] = target, y, f
        if not over:
            clock[MARK_T], clock[MARK_ORIGIN], counts[MARK_COUNT] = target, clock[ORIGIN], counts[COUNT]
            for i in range(m):
                marked[0, i] = y[i]
                marked[1, i] = f[i]
    if code == RUNNING and (bounds[-1] - clock[T]) * sign <= 0.0:
        code = ARRIVED
    return taken, code
