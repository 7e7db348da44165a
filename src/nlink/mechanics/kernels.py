"""Compiled pieces that every formulation shares: sine and cosine, the loads, their power.

Loads are written once: each adds a force (FX, FY) at the centre of mass and a moment MZ about it to every link, in the
world frame; joint loads are +/- moments on neighbours. A formulation maps these by its own Jacobian. An absent load is
a zero coefficient or a false flag in the one source.

Scratch `w` is an array of rows of length n; the rows used here are

    S, C     sine and cosine of the angles
    FX, FY   force of the loads at the centre of mass (without gravity)
    MZ       moment of the loads about the centre of mass
    TQ       driving torque at the hinge, a function of time
    TIP      its first two values: the force of the pin on the last tip, in the world frame, for chains that have one
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from nlink._support.checks import ModelError, shown
from nlink.compiled.jit import INLINE, kernel
from nlink.compiled.simd import Vec, VecArray, alike, lane, numbers, sincos, sine, with_lane
from nlink.mechanics.chain import Chain
from nlink.mechanics.loads import (
    LEDGER,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    LinkDamper,
    TipForce,
    torques,
)

S, C, FX, FY, MZ, TQ, TIP = range(7)
LOAD_ROWS = 7
POWERS = len(LEDGER)


class ChainParameters(NamedTuple):
    """A chain as numbers: what the compiled code sees. Few arrays, for each costs time when Python calls."""

    n: int
    g: float
    links: np.ndarray
    """(rows, N): LENGTH, MASS, ... of every link and joint"""
    tip: np.ndarray
    """(3,): fx, fy, follower force"""
    table: np.ndarray
    """(knots, 2): time, value of all tables of torques"""
    spans: np.ndarray
    """(2, N): where each joint's knots begin and end in `table`"""
    callback: int
    """address of a C function (t, torque[]) that adds to the torques, or 0"""
    loaded: bool
    """whether anything but gravity acts"""
    timed: bool
    """whether torques change in time"""
    swept: int
    """1 if velocities are needed (drag or a force at the tip), 2 if their size is too (quadratic drag)"""
    ledger: int
    """rows of the ledger that follow the state: 0 or POWERS"""
    closed: bool
    """whether the last tip is pinned"""
    pin: np.ndarray
    """(7,): x, y, distance of the pin, angle of the line to it with sine and cosine, and the length of the chain"""


@kernel
def borrowed(p):
    """Return the parameters with arrays that do not own their memory: to hand them on costs nothing."""
    return ChainParameters(
        p.n, p.g, numbers(p.links), numbers(p.tip), numbers(p.table), numbers(p.spans), p.callback, p.loaded, p.timed, p.swept,
        p.ledger, p.closed, numbers(p.pin),
    )  # fmt: skip


LENGTH, MASS, COM, OFFSET, INERTIA, HINGE_INERTIA, STIFFNESS, REST = range(8)
JOINT_DAMPING, LINK_DAMPING, TORQUE, AMPLITUDE, FREQUENCY, PHASE, LINEAR_DRAG, QUADRATIC_DRAG = range(8, 16)


def chain_parameters(chain: Chain, callback: int = 0, constrained: bool = False) -> ChainParameters:
    """Return the compiled form of a chain and its loads; `callback` is the address of a Python torque function.

    A constrained formulation and a closed chain always keep a ledger, for the work of their constraints.
    """
    x, y = chain.pin or (0.0, 0.0)
    loads = {type(load) for load in chain.loads}
    driven, table = _torques(chain)
    tip, follower = chain.load(TipForce), chain.load(FollowerForce)
    hinge_inertia = [link.hinge_inertia for link in chain.links]
    rows = [chain.length, chain.mass, chain.com, chain.offset, chain.inertia, hinge_inertia]
    rows += [chain.each(JointSpring, "stiffness"), chain.each(JointSpring, "rest")]
    rows += [chain.each(JointDamper, "damping"), chain.each(LinkDamper, "damping"), *driven[:4]]
    rows += [chain.each(Drag, "linear"), chain.each(Drag, "quadratic")]
    return ChainParameters(
        n=chain.n,
        g=chain.g,
        links=np.array(rows, float),
        tip=np.array([tip.fx if tip else 0.0, tip.fy if tip else 0.0, follower.force if follower else 0.0]),
        table=table,
        spans=driven[4:],
        callback=callback,
        loaded=bool(loads - {Gravity}),
        timed=bool(callback or driven[1].any() or len(table)),
        swept=int(bool(loads & {Drag, FollowerForce, TipForce})) + bool(np.any(chain.each(Drag, "quadratic"))),
        ledger=POWERS if constrained or chain.pin or loads - {Gravity, JointSpring} else 0,
        closed=chain.pin is not None,
        pin=_pin(x, y, math.fsum(chain.length)),
    )


def _pin(x: float, y: float, total: float) -> np.ndarray:
    distance = math.hypot(x, y)
    s, c = (x / distance, -y / distance) if distance else (0.0, 1.0)
    return np.array([x, y, distance, math.atan2(s, c), s, c, total])


def _torques(chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Sort the joint torques by kind: rows (6, N) of constants, sines, and where each table's knots begin and end among all."""
    rows, spans, knots = np.zeros((6, chain.n)), {}, [np.empty((0, 2))]
    for i, torque in enumerate(torques(chain.load(JointTorque), chain.n)):
        wave, table = torque.sine, torque.table
        rows[:4, i] = torque.constant, wave.amplitude, 2 * math.pi * wave.frequency, wave.phase
        if table and id(table) not in spans:  # joints may share one
            first = sum(map(len, knots))
            knots.append(np.column_stack([table.times, table.values]))
            spans[id(table)] = first, first + len(table.times)
        rows[4:, i] = spans.get(id(table), (0, 0))
    return rows, np.concatenate(knots)


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


def call_address(address: int, t: float, values: np.ndarray) -> None:
    """Call the C function at `address` with (t, values)."""
    ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p)(address)(t, values.ctypes.data)


@intrinsic
def _call_address(_typing: Any, address: Any, t: Any, values: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[2])(context, builder, args[2]).data
        kind = ir.FunctionType(ir.VoidType(), [ir.DoubleType(), data.type])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1], data])
        return context.get_dummy_value()

    return types.void(types.int64, types.float64, values), build


@overload(call_address, jit_options=INLINE)
def _overload_call_address(address, t, values):
    if isinstance(values, VecArray):  # lanes are refused before, for a Python function knows one chain only
        return lambda address, t, values: None
    return lambda address, t, values: _call_address(address, t, values)  # pyright: ignore[reportCallIssue]


@kernel
def turn(theta, n, w):
    """Fill the rows S and C."""
    for i in range(n):
        s, c = sincos(theta[i])
        w[S, i] = s
        w[C, i] = c


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


def from_table(t: Any, table: Any, start: int, stop: int) -> Any:
    """Interpolate linearly between the knots start..stop, the ends held; 0 without knots."""
    return interpolate(t, table, start, stop)


@overload(from_table, jit_options=INLINE)
def _from_table(t, table, start, stop):
    if not isinstance(t, Vec):
        return lambda t, table, start, stop: interpolate(t, table, start, stop)
    width = t.width

    def each(t, table, start, stop):
        values = alike(0.0, t)
        for k in range(width if stop > start else 0):
            values = with_lane(values, k, interpolate(lane(t, k), table, start, stop))
        return values

    return each


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


@kernel
def apply_loads(t, theta, omega, at, p, w, power, row, tipx, tipy):
    """Fill FX, FY, MZ from the loads (S and C are filled) and power[row:] with the power of each row of the ledger.

    (tipx, tipy) is the constant force at the tip in the frame in which S and C are meant.

    The rate of link i is omega[at + i]: angles and rates may lie in one array. (Slices would cost as much as the sweep.)
    """
    drive(t, p, w)
    driven = damped = braked = before_theta = before_omega = alike(0.0, omega[at])
    for i in range(p.n):
        rate = omega[at + i]
        relative = rate - before_omega
        friction = -p.links[JOINT_DAMPING, i] * relative
        moment = w[TQ, i] + friction - p.links[STIFFNESS, i] * (theta[i] - before_theta - p.links[REST, i])
        own = -p.links[LINK_DAMPING, i] * rate
        if i > 0:
            w[MZ, i - 1] -= moment
        w[MZ, i] = moment + own
        w[FX, i] = 0.0
        w[FY, i] = 0.0
        driven += w[TQ, i] * relative
        damped += friction * relative
        braked += own * rate
        before_theta = theta[i]
        before_omega = rate
    if p.ledger > 0:
        power[row] = driven
        power[row + 1] = damped
        power[row + 2] = braked
        power[row + 3] = power[row + 4] = power[row + 5] = power[row + 6] = 0.0
    if p.swept:
        apply_forces(omega, at, p, w, power, row, tipx, tipy)


@kernel
def apply_forces(omega, at, p, w, power, row, tipx, tipy):
    """Add drag and the forces at the tip."""
    vx = vy = lost = alike(0.0, omega[at])
    for i in range(p.n):
        s, c, rate = w[S, i], w[C, i], omega[at + i]
        gx = vx + rate * (p.links[COM, i] * c - p.links[OFFSET, i] * s)
        gy = vy + rate * (p.links[COM, i] * s + p.links[OFFSET, i] * c)
        factor = p.links[LINEAR_DRAG, i] + p.links[QUADRATIC_DRAG, i] * math.sqrt(gx * gx + gy * gy)
        w[FX, i] -= factor * gx
        w[FY, i] -= factor * gy
        lost -= factor * (gx * gx + gy * gy)
        vx += p.links[LENGTH, i] * rate * c
        vy += p.links[LENGTH, i] * rate * s
    k = p.n - 1
    s, c = w[S, k], w[C, k]
    followx, followy = -p.tip[2] * s, p.tip[2] * c
    fx, fy = tipx + followx, tipy + followy
    w[FX, k] += fx
    w[FY, k] += fy
    w[MZ, k] += (p.links[LENGTH, k] - p.links[COM, k]) * (c * fx + s * fy) + p.links[OFFSET, k] * (s * fx - c * fy)
    if p.ledger > 0:
        power[row + 3] = lost
        power[row + 4] = followx * vx + followy * vy
        power[row + 5] = tipx * vx + tipy * vy


@kernel
def energy(theta, omega, at, p, w, s, c):
    """Return the energies, kinetic and potential together, of angles theta and rates omega[at:]; S and C are filled, measured
    from a direction whose sine and cosine are s and c (0 and 1: straight down).
    """
    moving, resting = energies(theta, omega, at, p, w, s, c)
    return moving + resting


@kernel
def energies(theta, omega, at, p, w, s, c):
    """Return kinetic and potential energy; see `energy`."""
    height = vx = vy = moving = resting = before = alike(0.0, omega[at])
    for i in range(p.n):
        length, mass, d, b = p.links[LENGTH, i], p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i]
        si, ci, rate = w[S, i], w[C, i], omega[at + i]
        ux, uy = vx + rate * (d * ci - b * si), vy + rate * (d * si + b * ci)
        stretch = theta[i] - before - p.links[REST, i]
        rise = s * (d * si + b * ci) + c * (b * si - d * ci)
        resting += mass * p.g * (height + rise) + 0.5 * p.links[STIFFNESS, i] * stretch * stretch
        moving += 0.5 * (mass * (ux * ux + uy * uy) + p.links[INERTIA, i] * rate * rate)
        height += length * (s * si - c * ci)
        vx += length * rate * ci
        vy += length * rate * si
        before = theta[i]
    return moving, resting
