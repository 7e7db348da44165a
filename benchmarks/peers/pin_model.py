"""Pinocchio: the articulated-body algorithm in relative angles, driven by scipy's DOP853."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from .cases import Case
from .scipy_model import solver

SETTINGS = (1e-5, 1e-7, 1e-9, 1e-11, 1e-13)


def model(n: int) -> Any:
    chain, joint = pin.Model(), 0
    for i in range(n):
        place = pin.SE3(np.eye(3), np.array([0.0, -1.0 if i else 0.0, 0.0]))
        joint = chain.addJoint(joint, pin.JointModelRZ(), place, f"j{i}")
        inertia = pin.Inertia(1.0, np.array([0, -0.5, 0.0]), np.diag([1 / 12, 1e-9, 1 / 12]))
        chain.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    chain.gravity.linear = np.array([0, -9.81, 0.0])
    return chain


def prepare(case: Case, tolerance: float) -> Callable[[float], np.ndarray]:
    n, chain = case.n, model(case.n)
    data, zero = chain.createData(), np.zeros(n)

    def derivative(_t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], pin.aba(chain, data, y[:n], y[n:], zero)])

    run = solver(derivative, np.concatenate([np.diff(case.start, prepend=0.0), zero]), n, tolerance)
    return lambda t: np.cumsum(run(t))


def evaluation(n: int, theta: np.ndarray, omega: np.ndarray) -> Callable[[], np.ndarray]:
    chain = model(n)
    data, zero = chain.createData(), np.zeros(n)
    q, v = np.diff(theta, prepend=0.0), np.diff(omega, prepend=0.0)
    return lambda: pin.aba(chain, data, q, v, zero)
