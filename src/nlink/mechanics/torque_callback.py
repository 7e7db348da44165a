"""Torque functions as C functions, which compiled code calls by their address: those of Python, and those compiled by Numba.

The address is a number among the parameters of a chain, so that no function of a user is compiled into the steps: a second one,
with other gains, costs its own compilation alone.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np
from numba import literal_unroll, types
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError, TypingError
from numba.extending import overload
from numba.np.numpy_support import carray

from nlink._support.checks import ModelError
from nlink.compiled.jit import answered
from nlink.mechanics.loads.torque_function import C_FUNCTION, Torques, is_c_function, is_compiled, takes_state
from nlink.mechanics.torques import differences_many

_POINTER = types.CPointer(types.float64)
torque_signature = types.void(types.float64, _POINTER, _POINTER, _POINTER, types.int64)
"""The signature of a `numba.cfunc` torque(t, theta, omega, torque, n): it fills the torques (n,) in N m from angles (n,) in rad and
rates (n,) in rad/s; `numba.carray(theta, (n,))` makes arrays of them."""
KEPT = 64
"""Functions that are kept compiled."""
STEP = 1e-4
"""rad, and rad/s: between the states at which a function is called for its derivatives."""
PIPELINE = "Failed in nopython mode"
RETURNED = "it must return a number, a tuple of numbers or an array of one dimension"


class TorqueCallback:
    """A torque function as a C function that compiled code can call; keeps what a Python function raises."""

    def __init__(self, torques: Torques) -> None:
        self.torques, function, n = torques, torques.function, torques.n
        self.compiled = is_compiled(function)
        self.error: BaseException | None = None
        if self.compiled:
            self._code = _of_nlink_signature(function) if is_c_function(function) else compiled_torques(function)
            self.address: int = self._code.address
        else:
            self._code = C_FUNCTION(self._call)
            self.address = ctypes.cast(self._code, ctypes.c_void_p).value or 0
        if not self.torques.takes_state:
            self.torques(0.0, np.zeros(n), np.zeros(n))

    def slopes(self, t: np.ndarray, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., N, 2 N) of the torques by angles and rates (..., N), at times (...)."""
        states = np.stack([theta, omega], -2).reshape(-1, 2, theta.shape[-1])
        count, _, n = states.shape
        out = np.empty((count, n, 2 * n))
        times = np.array(t, float).reshape(-1)
        differences_many(self.address, times, states, STEP, np.empty((2, n)), np.empty(n), out)
        if self.error:
            raise self.taken()
        return out.reshape(*theta.shape[:-1], n, 2 * n)

    def taken(self) -> BaseException:
        """Return what the function raised, and forget it."""
        error, self.error = self.error, None
        assert error is not None
        return error

    def _call(self, t: float, theta: int, omega: int, torque: int, n: int) -> None:
        angles, rates, out = (np.frombuffer(memoryview((ctypes.c_double * n).from_address(at))) for at in (theta, omega, torque))
        try:
            out[:] = self.torques(t, angles, rates)  # of copies: a function may keep what it is given
        except BaseException as error:
            self.error = self.error or error
            out[:] = np.nan


def _of_nlink_signature(function: Any) -> Any:
    """Return a C function; refuse one of another signature."""
    if (function._sig.args, function._sig.return_type) != (torque_signature.args, torque_signature.return_type):
        raise ModelError(
            f"JointTorque.torque must be a C function of the signature {torque_signature}, got {function._sig}; "
            "decorate it by numba.cfunc(nlink.mechanics.torque_callback.torque_signature)"
        )
    return function


@lru_cache(KEPT)
def compiled_torques(function: Any) -> Any:
    """Return a function compiled by Numba as a C function; where it raises an exception the torques stay as they were."""

    def call(t, theta, omega, torque, n):
        try:  # noqa: SIM105 - Numba takes no context managers
            fill(function(t, carray(theta, (n,)), carray(omega, (n,))), carray(torque, (n,)))
        except Exception:
            pass

    def call_at(t, theta, omega, torque, n):
        try:  # noqa: SIM105
            fill(function(t), carray(torque, (n,)))
        except Exception:
            pass

    made: Any = CFunc(call if takes_state(function) else call_at, (torque_signature.args, torque_signature.return_type), {}, {})
    try:
        answered(made.compile, "the torque function")()
    except NumbaError as error:
        name = getattr(function, "__name__", "function")
        raise ModelError(f"JointTorque.torque: Numba cannot compile {name}: {_cause(error)}") from error
    return made


def _cause(error: NumbaError) -> str:
    """Return the line of Numba's message that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if RETURNED in line), next(line for line in [*lines, ""] if not line.startswith(PIPELINE)))


def fill(value, torque):
    """Fill the torques from what a function returns."""


@overload(fill)
def _filling(value, torque):
    """Choose by the type of the value: a number for every joint, or one each."""
    if isinstance(value, types.Number | types.Boolean):

        def filled(value, torque):
            for i in range(len(torque)):
                torque[i] = value
    elif isinstance(value, types.BaseTuple):

        def filled(value, torque):
            i = 0
            if len(value) == len(torque):
                for each in literal_unroll(value):
                    torque[i] = each
                    i += 1
    elif isinstance(value, types.Array) and value.ndim == 1:

        def filled(value, torque):
            if len(value) == len(torque):
                for i in range(len(torque)):
                    torque[i] = value[i]
    else:
        raise TypingError(f"{RETURNED}, not {value}")
    return filled
