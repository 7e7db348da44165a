"""The law of a linear state feedback as a torque function, compiled by Numba: T = T_0 - G (theta - theta_0, omega).

Differences of angles are taken to the nearest turn, so that the law holds a chain that has turned over several times.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numba.cpython.unsafe.tuple import tuple_setitem

from nlink.compiled.jit import COMPILING


def _with_item(values: tuple[float, ...], at: int, value: float) -> tuple[float, ...]:
    """Return a tuple with another value at one place."""
    return *values[:at], value, *values[at + 1 :]


with_item: Any = tuple_setitem if COMPILING else _with_item


def state_feedback(gain: np.ndarray, theta: np.ndarray, hold: np.ndarray) -> Any:
    """Return torque(t, theta, omega) -> N torques in N m: those that hold the chain (N,) less the gains (N, 2N) times how far the
    state is from rest at the angles theta (N,).
    """
    n, turn = len(theta), 2 * math.pi
    gain, rest, hold = (np.ascontiguousarray(values, float) for values in (gain, theta, hold))
    none = (0.0,) * n

    def torque(t, theta, omega):
        torques = none
        for i in range(n):
            total = hold[i]
            for j in range(n):
                far = theta[j] - rest[j]
                far -= turn * math.floor(far / turn + 0.5)
                total -= gain[i, j] * far + gain[i, n + j] * omega[j]
            torques = with_item(torques, i, total)
        return torques

    return njit(torque) if COMPILING else torque
