"""The exact derivative of the motion by its start: the Taylor steps computed in dual numbers, a direction in each lane.

Steps are those of the motion alone; the derivative is that of the very steps that were taken.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nlink._support.checks import ModelError
from nlink.compiled.duals import duals
from nlink.compiled.jit import entry
from nlink.compiled.simd import lane, value_of
from nlink.compiled.views import views
from nlink.integrators.base import ARRIVED, NOT_FINITE, RUNNING, STEP_TOO_SMALL
from nlink.integrators.taylor import MANY_ORDER, Taylor, reach
from nlink.mechanics.series import ORDER_BY_ORDER, SERIES_ROWS, SERIES_SCRATCH, SeriesRoom, arrival, series, series_layout
from nlink.mechanics.system import System

LAYOUT = series_layout(ORDER_BY_ORDER)
DIRECTIONS = (0,) * 8
"""As long as the number of directions that are followed side by side."""


class TangentStepper:
    """Follows a state and any number of small deviations from it."""

    def __init__(self, system: System, record: Taylor) -> None:
        refusal = record.refusal(system)
        if refusal or system.parameters.chain.force_level > 1:
            raise ModelError(refusal or "the derivative of the steps takes no quadratic drag; use linear drag")
        n, width, record = system.chain.n, 2 * len(DIRECTIONS), replace(record, order=record.order or MANY_ORDER)
        self.parameters = system.parameters._replace(chain=system.parameters.chain._replace(ledger=0))
        self.record, self.bounds, self.steps = record, system.bounds, 0
        terms = np.zeros((SERIES_ROWS, record.order + 2, n, width))
        terms[0, 0, :, : len(DIRECTIONS)] = 1.0
        self.arrays = (terms, *(np.zeros((SERIES_SCRATCH, n, width)) for _ in range(2)), np.zeros((2, 2 * n, width)))
        self.order = (0,) * record.order

    def advance(self, t: float, end: float, state: np.ndarray, deviations: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """Return a code, and the state (2N,) and the deviations (2N, K) at the time `end`."""
        ahead = end >= t
        bounds = self.bounds(t, end)
        out, new, code = np.empty_like(deviations), state.copy(), ARRIVED
        for first in range(0, deviations.shape[1], len(DIRECTIONS)):
            part = slice(first, first + len(DIRECTIONS))
            block = np.zeros((len(state), len(DIRECTIONS)))
            block[:, : deviations[:, part].shape[1]] = deviations[:, part]
            new[:] = state
            steps, code = follow(
                self.parameters, self.record.tol, t, bounds, ahead, new, block, self.arrays, DIRECTIONS, self.order
            )
            out[:, part] = block[:, : deviations[:, part].shape[1]]
            self.steps += steps if first == 0 else 0
            if code != ARRIVED:
                break
        return code, new, out


@entry("exponents")
def follow(p, tol, t, bounds, ahead, state, deviations, arrays, lanes, orders):
    """Take steps to the last bound; put the state and the deviations reached in place of those given; return steps and a code."""
    p, state, deviations, (terms, w, u, states) = views(p), views(state), views(deviations), arrays
    n, order = p.chain.n, len(orders)
    rows, constants, scratch = duals(terms, lanes), duals(w, lanes), duals(u, lanes)
    room = SeriesRoom(p.chain, rows, rows, constants, constants, scratch, scratch, LAYOUT, orders)
    both = duals(states, lanes)
    y, new = both[0], both[1]
    for i in range(2 * n):
        for k in range(len(lanes)):
            states[0, i, k], states[0, i, len(lanes) + k] = state[i], deviations[i, k]
    sign = 1.0 if ahead else -1.0
    steps = 0
    code = RUNNING
    for bound in bounds:
        while (bound - t) * sign > 0.0 and code == RUNNING:
            last, before, fastest = series(t, bound, ahead, y, p, room, order)
            size = lane(reach(tol, value_of(last), value_of(before), value_of(fastest), order), 0)
            if not math.isfinite(lane(value_of(last) + value_of(before), 0)):
                code = NOT_FINITE
            elif size < 1e-14 * max(abs(t), 1e-6):
                code = STEP_TOO_SMALL
            else:
                target = t + sign * size
                target = bound if (target - bound) * sign >= 0.0 else target
                arrival(target - t, y, p, room, order, new)
                for i in range(2 * n):
                    y[i] = new[i]
                t = target
                steps += 1
    for i in range(2 * n):
        state[i] = states[0, i, 0]
        for k in range(len(lanes)):
            deviations[i, k] = states[0, i, len(lanes) + k]
    return steps, ARRIVED if code == RUNNING else code
