"""Taylor(tol, order): the motion as a power series in time, step by step, from the chain's equations in unit vectors.

The series belongs to the formulation (`system.series`); here are the steps. A step is as long as the last two coefficients of the
unit vectors allow: x and y together cannot both vanish by symmetry, so starts at rest, level or upside down do not fool it. No
link turns by more than 1.5 rad. The series is the dense output. No step is ever rejected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nlink._support.checks import ModelError, whole
from nlink.compiled.jit import kernel
from nlink.compiled.simd import aligned, binary_logarithm, power_of_two, vectors
from nlink.integrators.accuracy import series_tolerance, tolerance_of_order
from nlink.integrators.base import NOT_FINITE, RUNGE_KUTTA, RUNNING, STEP_TOO_SMALL, Integrator, Restart, Stepper
from nlink.integrators.steps import STEPS, CompiledStepper, StepKernels, aim
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.series import (
    ONE_VECTOR,
    ORDER_BY_ORDER,
    SERIES,
    Series,
    SeriesLayout,
    SeriesRoom,
    accelerations,
    arrival,
    begin,
    horizon,
    polynomials,
    powers,
    series,
    series_layout,
)
from nlink.mechanics.system import System

WIDTHS = (2, 4, 8, 16, 32)
"""A chain that fits into a vector of one of these is computed in it; longer ones than LONGEST take LANES links at a time."""
LONGEST = 16
PLACES = (2, 3, 4, 5, 6, 8, 12, 16)
"""Numbers of links that code in one vector is compiled for: a chain takes the next."""
LANES = 8
FEW, FEW_ORDER, MANY_ORDER = 5, 22, 18
"""Up to so many links, with gravity alone, a step is mostly waiting, and more terms are cheap; so they are for mechanisms."""
KEPT = 64
"""Methods that are made once."""
MOST_ORDER = 60
"""Beyond, a step gains nothing in double precision, and the compilation of all its terms takes ever longer."""


@dataclass(frozen=True)
class Taylor(Integrator):
    """Power series of the motion; `tol` is the size in rad of the last terms that are kept, `order` their number, from 4 to 60: 0
    leaves it to the chain, by measurement.
    """

    tol: float = 1e-13
    order: int = 0
    max_steps: int = 100_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order != 0:
            whole("Taylor.order", self.order, least=4, most=MOST_ORDER)

    @property
    def step_tolerances(self) -> tuple[float, float]:
        """The tolerance of a step, twice."""
        return self.tol, self.tol

    @classmethod
    @lru_cache(KEPT)
    def like(cls, rtol: float, atol: float) -> Taylor:
        """Return a method whose errors are not larger than those of DOP853 with these tolerances, by measurement."""
        return cls(series_tolerance(rtol, atol))

    def with_order(self, system: System) -> Taylor:
        """Return the same with an order: the fastest for a chain, if none was asked for."""
        few = (system.chain.n <= FEW and not system.parameters.chain.loaded) or isinstance(system.chain, Mechanism)
        return self if self.order else _of_order(self, FEW_ORDER if few else MANY_ORDER)

    @staticmethod
    def refusal(system: System) -> str:
        """Return why it cannot take a system, or nothing if it can."""
        if type(system.parameters) not in SERIES or system.chain.closed:
            if system.chain.closed:
                what = "chains (Chain.pin)" if system.chain.pin else "mechanisms"
                return f"Taylor does not support closed {what}; use {RUNGE_KUTTA}"
            if system.chain.spatial and system.formulation.name == "recursive":
                return f"Taylor takes lines in space, not bodies; use {RUNGE_KUTTA}"
            return f"Taylor takes the formulation recursive, not {system.formulation.name}; use another integrator"
        if system.callback:
            return "Taylor needs torques with a series: numbers, sines or tables, not a function; use DOP853"
        return SERIES[type(system.parameters)][ORDER_BY_ORDER].refusal(system.parameters)

    def stepper(self, system: System, point: Restart, t_end: float) -> Stepper:
        """Start stepping."""
        refusal = self.refusal(system)
        if refusal:
            raise ModelError(refusal)
        return TaylorStepper(system, point, t_end, self.with_order(system))


@lru_cache(KEPT)
def _of_order(method: Taylor, order: int) -> Taylor:
    return replace(method, order=order)


class TaylorStep(NamedTuple):
    """Where a series is computed: links side by side, filled up to whole vectors; and its constants, as lengths of tuples."""

    tol: float
    terms: np.ndarray
    w: np.ndarray
    u: np.ndarray
    lanes: tuple[int, ...]
    layout: SeriesLayout
    orders: tuple[int, ...]
    q: np.ndarray
    """(order, m): the polynomials of the state in time"""
    ends: np.ndarray
    """(3,): the last two coefficients, and the fastest rate, from which the size of a step follows"""


class TaylorStepper(CompiledStepper):
    """Drives the compiled steps."""

    lasting = True

    def __init__(self, system: System, point: Restart, t_end: float, record: Taylor) -> None:
        super().__init__(system.parameters, system.full_size, record.order)
        chain, order, n = system.parameters.chain, record.order, system.chain.n
        brought = SERIES[type(system.parameters)]
        layout, width = layout_for(brought, chain)
        lanes = -(-n // width) * width
        rows, _, scratch = brought[len(layout.kind)].size
        terms, w, u = aligned(rows, order + 2, lanes), aligned(scratch, lanes), aligned(scratch, lanes)
        terms[list(brought[ORDER_BY_ORDER].ones), 0] = 1.0
        q = np.zeros((order, system.full_size))
        self.method = TaylorStep(
            tolerance_of_order(record.tol, order), terms, w, u, (0,) * width, layout, (0,) * order, q, np.empty(3)
        )
        self.restart(point, t_end)

    def restart(self, point: Restart, t_end: float) -> None:
        """Begin anew from another point."""
        self.start(point, t_end, point.f)


def layout_for(brought: dict[int, Series], chain: Any) -> tuple[SeriesLayout, int]:
    """Return how the series of one chain is computed, and how many numbers stand side by side in a vector."""
    one, n = brought.get(ONE_VECTOR), chain.n
    if one is None or n > one.most or not one.takes(chain):
        return series_layout(ORDER_BY_ORDER), next((width for width in WIDTHS if n <= width <= LONGEST), LANES)
    places = n if one.parts > 1 else next(places for places in PLACES if n <= places)
    return series_layout(ONE_VECTOR, places, one.acting(chain)), next(width for width in WIDTHS if n * one.parts <= width)


@kernel
def reach(tol, last, before, fastest, order):
    """Return the length of a step; within a quarter turn of all links the series of their rates keeps its digits."""
    per = 1.0 / tol
    longest = max(
        binary_logarithm(max(last, 1e-250) * per) * (1.0 / order), binary_logarithm(max(before, 1e-250) * per) * (1.0 / (order - 1))
    )
    return min(power_of_two(-longest), 1.5 / max(fastest, 1e-100))


@kernel
def series_room(method, p):
    """Return the arrays of a series as numbers and as vectors."""
    terms, w, u, lanes = method.terms, method.w, method.u, method.lanes
    wide = vectors(terms, lanes)
    return SeriesRoom(p.chain, terms, wide, w, vectors(w, lanes), u, vectors(u, lanes), method.layout, method.orders)


def prepare(method, p, clock, knots, k, bound, fresh):
    """Compute the series, with the loads on this side of the bound; the rates of a fresh knot are its first terms."""
    room, order = series_room(method, p), len(method.orders)
    y, f, m = knots.y[k], knots.f[k], len(knots.y[k])
    end = m - p.chain.ledger
    half = end // 2
    if k == 0:
        begin(p, room)
    method.ends[0], method.ends[1], method.ends[2] = series(clock.t, bound, clock.sign > 0.0, y, p, room, order)
    clock.nfev += 1
    if m > end:
        powers(p, room, order, method.q)
    if fresh:
        for i in range(half):
            f[i] = y[half + i]
        accelerations(p, room, f)
        for i in range(end, m):
            f[i] = method.q[0, i]


def attempt(method, p, clock, knots, k, bound, last):
    """Sum the series at the end of the step that its last terms allow."""
    room, order = series_room(method, p), len(method.orders)
    y, new = knots.y[k], knots.y[k + 1]
    if not math.isfinite(method.ends[0] + method.ends[1]):
        return NOT_FINITE
    length = reach(method.tol, method.ends[0], method.ends[1], method.ends[2], order)
    size = abs(horizon(clock.sign * length, p, room, order))
    if size < 1e-14 * max(abs(clock.t), 1e-6):
        return STEP_TOO_SMALL
    aim(clock, clock.sign * size, bound, last)
    h = clock.target - clock.t
    arrival(h, y, p, room, order, new)
    horner(method.q, y, h, new, len(y) - p.chain.ledger)
    return RUNNING


def polynomial(method, p, clock, q):
    """Fill the polynomial in parts of the step."""
    polynomials(p, series_room(method, p), len(method.orders), method.q)
    for k in range(len(method.orders)):
        scale = (clock.target - clock.t) ** k
        for i in range(len(q[k])):
            q[k, i] = method.q[k, i] * scale


def point(method, p, clock, knots, k, time, out):
    """Sum the series at a time within the step."""
    y, s = knots.y[k], time - clock.t
    arrival(s, y, p, series_room(method, p), len(method.orders), out)
    horner(method.q, y, s, out, len(y) - p.chain.ledger)


STEPS[TaylorStep] = StepKernels(attempt, polynomial, point, prepare=prepare)


@kernel
def horner(q, y, s, out, first):
    """Fill out[first:] = y + sum_k q_k s^(k+1)."""
    for i in range(first, len(y)):
        total = 0.0
        for k in range(len(q) - 1, -1, -1):
            total = (total + q[k, i]) * s
        out[i] = y[i] + total
