"""Functions as joint torques: of the time, or of time, angles and rates (feedback control); in Python, or compiled by Numba.

    torque(t)                      a number for every joint, or one each
    torque(t, theta, omega)        the same; theta and omega are copies of the N absolute angles and rates

A function that is decorated by `numba.njit` is called by compiled code without Python, and so is a `numba.cfunc` with the signature
`nlink.mechanics.torque_callback.torque_signature`, which fills the torques itself. Angles are as a run has them: they count turns.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from nlink._support.checks import SHORT, ModelError, shown

TorqueFunction = Callable[..., Any]
C_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 3, ctypes.c_int64)
"""A C function (t, theta, omega, torque, n): it fills the torques (n,) in N m from angles (n,) in rad and rates (n,) in rad/s."""


def is_c_function(function: object) -> bool:
    """Whether a function is a `numba.cfunc`."""
    return isinstance(function, _numba_class("numba.core.ccallback", "CFunc"))


def is_compiled(function: object) -> bool:
    """Whether a function runs without Python."""
    return is_c_function(function) or isinstance(function, _numba_class("numba.core.dispatcher", "Dispatcher"))


def _numba_class(module: str, name: str) -> Any:
    """Return a class of Numba; no class, if Numba is not loaded: then nothing can be of it."""
    return getattr(sys.modules.get(module), name, ())


def takes_state(function: TorqueFunction) -> bool:
    """Whether a torque function takes angles and rates besides the time; refuse one that takes anything else.

    A function that does not tell its arguments is one of the time.
    """
    if is_c_function(function):
        return True
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [each for each in signature.parameters.values() if each.kind in positional and each.default is each.empty]
    given = (0.0,) * (3 if len(required) == 3 else 1)
    try:
        signature.bind(*given)
    except TypeError:
        text = f"{getattr(function, '__name__', 'function')}{signature}"
        raise ModelError(
            f"JointTorque.torque must be a function of t, or of t, theta, omega, got {text[:SHORT]}; "
            "give its other arguments defaults"
        ) from None
    return len(given) == 3


class Torques:
    """The torques of a function on n joints, called from Python."""

    def __init__(self, function: TorqueFunction, n: int) -> None:
        self.function, self.n, self.takes_state = function, n, takes_state(function)
        self.is_c_function = is_c_function(function)

    def __call__(self, t: float, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return the torques in N m at time t, angles (n,) in rad and rates (n,) in rad/s: a number or (n,), checked."""
        if self.is_c_function:
            return self._filled(t, np.array(theta, float), np.array(omega, float))
        value = self.function(t, np.array(theta, float), np.array(omega, float)) if self.takes_state else self.function(t)
        try:
            torques = np.asarray(value, float)
        except (TypeError, ValueError):
            torques = np.empty(0)
        if torques.shape not in ((), (self.n,)) or value is None:
            raise ModelError(f"the torque function must return a number or {self.n} of them, got {shown(value)} at t = {t:g}")
        return torques

    def _filled(self, t: float, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return the torques of a C function."""
        torques, function = np.full(self.n, np.nan), C_FUNCTION(getattr(self.function, "address"))  # noqa: B009
        function(t, theta.ctypes.data, omega.ctypes.data, torques.ctypes.data, self.n)
        return torques
