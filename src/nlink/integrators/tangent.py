"""The exact derivative of the motion by its start: the Taylor steps computed in dual numbers, a direction in each lane.

Steps are those of the motion alone; the derivative is that of the very steps that were taken. The state of this method is that of
the chain, and behind it its deviations, one after another.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.compiled.duals import duals
from nlink.compiled.jit import kernel
from nlink.compiled.simd import lane, value_of
from nlink.integrators.base import ARRIVED, NOT_FINITE, RUNNING, STEP_TOO_SMALL, Restart
from nlink.integrators.steps import STEPS, CompiledStepper, StepKernels, aim
from nlink.integrators.taylor import MANY_ORDER, Taylor, reach
from nlink.mechanics.series import ORDER_BY_ORDER, SERIES, SeriesRoom, arrival, series, series_layout
from nlink.mechanics.system import System, beyond

LAYOUT = series_layout(ORDER_BY_ORDER)
DIRECTIONS = (0,) * 8
"""As long as the number of directions that are followed side by side."""
STEPS_OF_A_CALL = 64


class TangentStep(NamedTuple):
    """Where a series of dual numbers is computed; the numbers of directions and of orders are lengths of tuples."""

    tol: float
    terms: np.ndarray
    w: np.ndarray
    u: np.ndarray
    states: np.ndarray
    """(2, 2K, lanes): the states at the ends of a step"""
    lanes: tuple[int, ...]
    orders: tuple[int, ...]


class TangentSteps(CompiledStepper):
    """Drives the compiled steps."""

    def __init__(self, method: TangentStep, parameters: Any, m: int) -> None:
        super().__init__(parameters, m, 0)
        self.method = method

    def restart(self, point: Restart, t_end: float) -> None:
        """Begin anew from another point."""
        self.start(point, t_end, None)


class TangentStepper:
    """Follows a state and any number of small deviations from it."""

    def __init__(self, system: System, record: Taylor) -> None:
        refusal = record.refusal(system)
        if refusal or system.parameters.chain.force_level > 1:
            raise ModelError(refusal or "the derivative of the steps takes no quadratic drag; use linear drag")
        n, lanes, order = system.chain.n, len(DIRECTIONS), record.order or MANY_ORDER
        kind = SERIES[type(system.parameters)][ORDER_BY_ORDER]
        size = kind.size
        terms = np.zeros((size.terms, order + 2, n, 2 * lanes))
        terms[list(kind.ones), 0, :, :lanes] = 1.0
        w, u = (np.zeros((size.scratch, n, 2 * lanes)) for _ in range(2))
        self.method = TangentStep(record.tol, terms, w, u, np.zeros((2, system.size, 2 * lanes)), DIRECTIONS, (0,) * order)
        self.parameters = system.parameters._replace(chain=system.parameters.chain._replace(ledger=0))
        self.bounds, self.steps, self._by_size = system.bounds, 0, {}

    def advance(self, t: float, end: float, state: np.ndarray, deviations: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """Return a code, and the state (2N,) and the deviations (2N, K) at the time `end`."""
        size, count = deviations.shape
        blocks = -(-count // len(DIRECTIONS))
        y = np.zeros((1 + blocks * len(DIRECTIONS), size))
        y[0], y[1 : 1 + count] = state, deviations.T
        stepper = self._by_size.setdefault(y.size, TangentSteps(self.method, self.parameters, y.size))
        stepper.restart(Restart.at(t, y.ravel()), end)
        bounds, code, sign = self.bounds(t, end), ARRIVED, math.copysign(1.0, end - t)
        while len(bounds) and code in (RUNNING, ARRIVED) and t != end:
            chunk = stepper.advance(bounds, STEPS_OF_A_CALL, final=False)
            code, bounds = chunk.code, beyond(bounds, float(chunk.t[-1]), sign)
        self.steps += stepper.steps
        reached = stepper.y.reshape(y.shape)
        return code, reached[0], reached[1 : 1 + count].T


def attempt(method, p, clock, knots, k, bound, last):
    """Compute the series in dual numbers, and sum them at the end of the step that the last terms of the motion allow."""
    order, lanes, states = len(method.orders), len(method.lanes), method.states
    size = len(states[0])
    rows, constants, scratch = duals(method.terms, method.lanes), duals(method.w, method.lanes), duals(method.u, method.lanes)
    room = SeriesRoom(p.chain, rows, rows, constants, constants, scratch, scratch, LAYOUT, method.orders)
    both = duals(states, method.lanes)
    for first in range(1, len(knots.y[k]) // size, lanes):
        spread(knots.y[k], size, first, lanes, states)
        last_term, before, fastest = series(clock.t, bound, clock.sign > 0.0, both[0], p, room, order)
        if first == 1:
            if not math.isfinite(lane(value_of(last_term) + value_of(before), 0)):
                return NOT_FINITE
            length = lane(reach(method.tol, value_of(last_term), value_of(before), value_of(fastest), order), 0)
            if length < 1e-14 * max(abs(clock.t), 1e-6):
                return STEP_TOO_SMALL
            aim(clock, clock.sign * length, bound, last)
        arrival(clock.target - clock.t, both[0], p, room, order, both[1])
        collect(states, size, first, lanes, knots.y[k + 1])
    return RUNNING


@kernel
def spread(y, size, first, lanes, states):
    """Fill dual numbers from a state and some of its deviations, a direction in each lane."""
    for i in range(size):
        for k in range(lanes):
            states[0, i, k], states[0, i, lanes + k] = y[i], y[(first + k) * size + i]


@kernel
def collect(states, size, first, lanes, y):
    """Fill a state and some of its deviations from dual numbers."""
    for i in range(size):
        y[i] = states[1, i, 0]
        for k in range(lanes):
            y[(first + k) * size + i] = states[1, i, lanes + k]


STEPS[TangentStep] = StepKernels(attempt)
