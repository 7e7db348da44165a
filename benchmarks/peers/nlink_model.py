"""nlink's own side: the only place that calls it in the comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nlink

from .cases import Case

SETTINGS = (1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 1e-15, 1e-17)


def prepare(case: Case, tolerance: float) -> Callable[[float], np.ndarray]:
    """Set up; the function returned runs to t and returns the angles there."""
    method, theta = nlink.Taylor(tolerance), case.start
    if hasattr(nlink, "flow"):
        flow, omega = nlink.flow(case.chain(), integrator=method), np.zeros(case.n)
        return lambda t: flow(theta, omega, t)[0]
    system = nlink.formulate(case.chain())
    return lambda t: nlink.simulate(system, theta, t_end=t, save=(t,), integrator=method).theta[-1]


def evaluation(n: int) -> Callable[[np.ndarray], np.ndarray]:
    """The accelerations of many chains, states (2N, K)."""
    return nlink.formulate(nlink.Chain.uniform(n)).accelerations_of


def single(n: int, theta: np.ndarray, omega: np.ndarray) -> Callable[[], np.ndarray]:
    system, y = nlink.formulate(nlink.Chain.uniform(n)), np.concatenate([theta, omega])
    return lambda: system.rates(0.0, y)


def steps(n: int, t_end: float, tolerance: float) -> int:
    """Return how many steps a run takes."""
    case: Any = Case(n, False, t_end, t_end, 0.0)
    run = nlink.simulate(case.chain(), case.start, t_end=t_end, save=(t_end,), integrator=nlink.Taylor(tolerance))
    return run.stats.steps
