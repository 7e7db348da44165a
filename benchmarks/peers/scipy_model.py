"""scipy's solve_ivp(DOP853) on nlink's compiled right-hand side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import nlink
from nlink.mechanics.equations import rates

from .cases import Case

SETTINGS = (1e-5, 1e-7, 1e-9, 1e-11, 1e-13)


def prepare(case: Case, tolerance: float) -> Callable[[float], np.ndarray]:
    system = nlink.formulate(case.chain())
    p, w, y0 = system.parameters, system.scratch(), np.concatenate([case.start, np.zeros(case.n)])

    def derivative(t: float, y: np.ndarray) -> np.ndarray:
        out = np.empty_like(y)
        rates(t, y, p, out, w)
        return out

    return solver(derivative, y0, case.n, tolerance)


def solver(derivative: Any, y0: np.ndarray, n: int, tolerance: float) -> Callable[[float], np.ndarray]:
    def go(t: float) -> np.ndarray:
        return solve_ivp(derivative, (0.0, t), y0, "DOP853", rtol=tolerance, atol=tolerance).y[:n, -1]

    return go
