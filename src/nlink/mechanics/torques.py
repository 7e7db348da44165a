"""Joint torques in compiled code: constants, sines, tables, and a function called from there."""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types

from nlink.compiled.dispatch import dispatched
from nlink.compiled.interpreted import Vector, Vectors
from nlink.compiled.jit import entry, intrinsic, kernel
from nlink.compiled.lowering import Builder, Context, Kind, Lowered, Signature, Value, Values
from nlink.compiled.simd import alike, flat, lane, parts_of, sine, with_lane
from nlink.compiled.views import views
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import JointTorque, torques
from nlink.mechanics.loads.torque_function import C_FUNCTION
from nlink.mechanics.parameters import AMPLITUDE, FREQUENCY, PHASE, TORQUE
from nlink.mechanics.scratch import FX, FY, MZ, TQ


def tables(chain: Multibody) -> tuple[np.ndarray, np.ndarray]:
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


def _call(address: int, t: float, theta: np.ndarray, omega: np.ndarray, torque: np.ndarray, n: int) -> None:
    C_FUNCTION(address)(t, theta.ctypes.data, omega.ctypes.data, torque.ctypes.data, n)


@intrinsic(python=_call)
def call_address(_typing: Context, address: Kind, t: Kind, theta: Kind, omega: Kind, torque: Kind, n: Kind) -> Lowered:
    """Call the C function at `address` with contiguous arrays of numbers."""

    def build(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        arrays = [parts_of(context, builder, *each)[0] for each in zip(signature.args[2:5], args[2:5], strict=True)]
        kind = ir.FunctionType(ir.VoidType(), [ir.DoubleType(), *(array.type for array in arrays), ir.IntType(64)])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1], *arrays, args[5]])
        return context.get_dummy_value()

    return types.void(types.int64, types.float64, theta, omega, torque, types.int64), build


@kernel
def add_function_of_one(t, theta, omega, at, p, w):
    """Add the torques of the function for one chain."""
    angles, rates, torques = flat(w[FX]), flat(w[FY]), flat(w[MZ])
    for i in range(p.n):
        angles[i], rates[i], torques[i] = theta[i], omega[at + i], math.nan
    call_address(p.callback, t, angles, rates, torques, p.n)
    for i in range(p.n):
        w[TQ, i] += torques[i]


@kernel
def add_function_of_lanes(t, theta, omega, at, p, w):
    """Add the torques of the function lane by lane."""
    angles, rates, torques = flat(w[FX]), flat(w[FY]), flat(w[MZ])
    times = alike(0.0, theta[0]) + t
    for k in range(len(times)):
        for i in range(p.n):
            angles[i], rates[i], torques[i] = lane(theta[i], k), lane(omega[at + i], k), math.nan
        call_address(p.callback, lane(times, k), angles, rates, torques, p.n)
        for i in range(p.n):
            w[TQ, i] = with_lane(w[TQ, i], k, lane(w[TQ, i], k) + torques[i])


@kernel
def no_function(t, theta, omega, at, p, w):
    """Dual numbers and a GPU cannot be handed to a function; who uses them has refused it."""


@dispatched(lambda kind: {np.ndarray: add_function_of_one, Vectors: add_function_of_lanes}.get(kind, no_function), "theta")
def add_function(t, theta, omega, at, p, w):
    """Add the torques of the function. It gets copies, in rows that are free until the loads are added up; what it does
    not fill is not a number.
    """


@kernel
def drive(t, theta, omega, at, p, w):
    """Fill the row TQ with the driving torques at time t, angles theta and rates omega[at:]; FX, FY, MZ are changed."""
    for i in range(p.n):
        w[TQ, i] = p.links[TORQUE, i]
    if p.timed:
        for i in range(p.n):
            w[TQ, i] += p.links[AMPLITUDE, i] * sine(p.links[FREQUENCY, i] * t + p.links[PHASE, i])
            w[TQ, i] += from_table(t, p.table, int(p.spans[0, i]), int(p.spans[1, i]))
    if p.callback != 0:
        add_function(t, theta, omega, at, p, w)


@entry("derivatives of torque functions")
def differences_many(address, t, states, step, state, torques, out):
    """Fill out (K, N, 2 N) with the derivatives of the torques of a C function by angles and rates, by differences of order 4, at
    times t and states (K, 2, N); `state` (2, N) and `torques` (N,) are room.
    """
    t, states, state, torques, out = views(t), views(states), views(state), views(torques), views(out)
    n = len(torques)
    for k in range(len(t)):
        for j in range(2 * n):
            state[j // n, j % n] = states[k, j // n, j % n]
        for j in range(2 * n):
            for i in range(n):
                out[k, i, j] = 0.0
            for far, weight in ((1, 2.0 / 3.0), (-1, -2.0 / 3.0), (2, -1.0 / 12.0), (-2, 1.0 / 12.0)):
                state[j // n, j % n] = states[k, j // n, j % n] + far * step
                for i in range(n):
                    torques[i] = math.nan
                call_address(address, t[k], state[0], state[1], torques, n)
                for i in range(n):
                    out[k, i, j] += weight / step * torques[i]
            state[j // n, j % n] = states[k, j // n, j % n]


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
