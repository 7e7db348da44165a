"""Joint torques in compiled code: constants, sines, tables, and a Python function called from there."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from nlink._support.checks import ModelError, shown
from nlink.compiled.dispatch import dispatched
from nlink.compiled.interpreted import Vector
from nlink.compiled.jit import intrinsic, kernel
from nlink.compiled.lowering import Builder, Context, Kind, Lowered, Signature, Value, Values
from nlink.compiled.simd import VecArray, alike, lane, parts_of, sine, with_lane
from nlink.mechanics.chain import Chain
from nlink.mechanics.loads import JointTorque, torques
from nlink.mechanics.parameters import AMPLITUDE, FREQUENCY, PHASE, TORQUE
from nlink.mechanics.scratch import TQ


def tables(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Return where each joint's knots begin and end among all (2, N), and all knots (knots, 2). Joints may share a table."""
    spans, places, knots = np.zeros((2, chain.n)), {}, [np.empty((0, 2))]
    for i, torque in enumerate(torques(chain.load(JointTorque), chain.n)):
        table = torque.table
        if table and id(table) not in places:
            first = sum(map(len, knots))
            knots.append(np.column_stack([table.times, table.values]))
            places[id(table)] = first, first + len(table.times)
        spans[:, i] = places.get(id(table), (0, 0))
    return spans, np.concatenate(knots)


class TorqueCallback:
    """A Python function of time as a C function the compiled code can call; keeps what the function raises."""

    def __init__(self, function: Any, n: int) -> None:
        self.function, self.n = function, n
        self.error: BaseException | None = None
        self._pointer = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.POINTER(ctypes.c_double))(self._call)
        self.address = ctypes.cast(self._pointer, ctypes.c_void_p).value or 0
        self.torques(0.0)

    def torques(self, t: float) -> np.ndarray:
        """Return the torques at time t, one number or (N,), checked."""
        value = self.function(t)
        try:
            torques = np.asarray(value, float)
        except (TypeError, ValueError):
            torques = np.empty(0)
        if torques.shape not in ((), (self.n,)):
            raise ModelError(f"the torque function must return a number or {self.n} of them, got {shown(value)} at t = {t:g}")
        return torques

    def taken(self) -> BaseException:
        """Return what the function raised, and forget it."""
        error, self.error = self.error, None
        assert error is not None
        return error

    def _call(self, t: float, out: Any) -> None:
        torque = np.ctypeslib.as_array(out, (self.n,))
        try:
            torque += self.torques(t)
        except BaseException as error:
            self.error = self.error or error
            torque[:] = np.nan


def _call(address: int, t: float, values: np.ndarray) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p)(address)(t, values.ctypes.data)


@intrinsic(python=_call)
def call_address(_typing: Context, address: Kind, t: Kind, values: Kind) -> Lowered:
    """Call the C function at `address` with (t, values); lanes, which a Python function cannot take, are refused before."""
    lanes = isinstance(values, VecArray) and values.width > 1

    def build(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        if not lanes:
            data = parts_of(context, builder, values, args[2])[0]
            kind = ir.FunctionType(ir.VoidType(), [ir.DoubleType(), data.type])
            builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1], data])
        return context.get_dummy_value()

    return types.void(types.int64, t if lanes else types.float64, values), build


@kernel
def drive(t, p, w):
    """Fill the row TQ with the driving torques at time t."""
    for i in range(p.n):
        w[TQ, i] = p.links[TORQUE, i]
    if p.timed:
        for i in range(p.n):
            w[TQ, i] += p.links[AMPLITUDE, i] * sine(p.links[FREQUENCY, i] * t + p.links[PHASE, i])
            w[TQ, i] += from_table(t, p.table, int(p.spans[0, i]), int(p.spans[1, i]))
        if p.callback != 0:
            call_address(p.callback, t, w[TQ])


@kernel
def interpolate(t, table, start, stop):
    """Return the value of one table at one time; see `from_table`."""
    if stop == start:
        return 0.0
    low, high = start, stop
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle, 0] <= t:
            low = middle
        else:
            high = middle
    if t <= table[start, 0] or low == stop - 1:
        return table[low, 1]
    share = (t - table[low, 0]) / (table[low + 1, 0] - table[low, 0])
    return table[low, 1] + share * (table[low + 1, 1] - table[low, 1])


@kernel
def interpolate_lanes(t, table, start, stop):
    """Return the value of one table at the time of each lane."""
    values = alike(0.0, t)
    for k in range(len(t) if stop > start else 0):
        values = with_lane(values, k, interpolate(lane(t, k), table, start, stop))
    return values


@dispatched(lambda kind: interpolate_lanes if kind is Vector else interpolate, "t")
def from_table(t, table, start, stop):
    """Interpolate linearly between the knots start..stop, the ends held; 0 without knots."""


@kernel
def piece(t, bound, ahead, table, start, stop):
    """Return value at time t and slope of the straight piece on which `bound` lies: the earlier one at a knot if `ahead`, else the
    later. They are the same to the last bit for all bounds on one piece.
    """
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if table[middle, 0] < bound if ahead else table[middle, 0] <= bound:
            low = middle + 1
        else:
            high = middle
    if low in (start, stop):
        return alike(table[min(low, stop - 1), 1], t), 0.0
    slope = (table[low, 1] - table[low - 1, 1]) / (table[low, 0] - table[low - 1, 0])
    return table[low, 1] + slope * (t - table[low, 0]), slope
