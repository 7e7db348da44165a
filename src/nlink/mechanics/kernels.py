"""Compiled pieces that every formulation shares: sine and cosine, the loads, their power.

Loads are written once: each adds a force (FX, FY) at the centre of mass and a moment MZ about it to every link, in the
world frame; joint loads are +/- moments on neighbours. A formulation maps these by its own Jacobian. An absent load is
a zero coefficient or a false flag in the one source.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, sincos
from nlink.mechanics.chain import Chain, Multibody
from nlink.mechanics.links import LINK, Link
from nlink.mechanics.loads import Drag, FollowerForce, Gravity, TipForce
from nlink.mechanics.moments import JOINTS, LEDGER, LINKS, POWERS
from nlink.mechanics.parameters import (
    AMPLITUDE,
    COM,
    HINGE_INERTIA,
    INERTIA,
    LENGTH,
    MASS,
    OFFSET,
    ROWS,
    SINGLES,
    fill_numbers,
    place,
    row,
)
from nlink.mechanics.scratch import FX, FY, MZ, TQ, C, S
from nlink.mechanics.torques import drive, tables

DRIVEN, DRAGGED, FOLLOWED, TIPPED, CONSTRAINED = (
    LEDGER.index(name) for name in ("joint_torque", "drag", "follower_force", "tip_force", "constraints")
)
"""Rows of the ledger that have no law."""
LINEAR_DRAG, QUADRATIC_DRAG = row(Drag, "linear"), row(Drag, "quadratic")
FOLLOWER, TIP_X, TIP_Y = (place(*each).component for each in ((FollowerForce, "force"), (TipForce, "fx"), (TipForce, "fy")))
joint_moment, _, _, joint_energy, joint_start, joint_works, joint_store, _ = JOINTS
link_moment, _, _, _, link_start, link_works, link_store, _ = LINKS


class ChainParameters(NamedTuple):
    """A chain as numbers: what the compiled code sees. Few arrays, for each costs time when Python calls."""

    n: int
    g: float
    links: np.ndarray
    """(rows, N): LENGTH, MASS, ... of every link and joint"""
    tip: np.ndarray
    """(singles,): FOLLOWER, TIP_X, TIP_Y"""
    table: np.ndarray
    """(knots, 2): time, value of all tables of torques"""
    spans: np.ndarray
    """(2, N): where each joint's knots begin and end in `table`"""
    callback: int
    """address of a C function (t, theta[], omega[], torque[], n) whose torques are added, or 0"""
    loaded: bool
    """whether anything but gravity acts"""
    timed: bool
    """whether there are sines or tables among the torques"""
    force_level: int
    """1 if velocities are needed (drag or a force at the tip), 2 if their size is too (quadratic drag)"""
    ledger: int
    """rows of the ledger that follow the state: 0 or POWERS"""
    closed: bool
    """whether the last tip is pinned"""
    pin: np.ndarray
    """(7,): x, y, distance of the pin, angle of the line to it with sine and cosine, and the length of the chain"""

    @property
    def size(self) -> int:
        """Number of coordinates: angles, or displacements of sliders."""
        return self.n


class UnloadedChain(ChainParameters):
    """A chain on which nothing but gravity acts: with this type no load is compiled."""


class BareParameters(NamedTuple):
    """The parameters of a formulation that needs nothing besides the chain."""

    chain: ChainParameters


def chain_parameters(chain: Multibody, callback: int = 0, constrained: bool = False) -> ChainParameters:
    """Return the compiled form of a chain, or of the bodies of a mechanism, and their loads; `callback` is the address of a torque
    function.

    A constrained formulation and a closed chain always keep a ledger, for the work of their constraints.
    """
    pin = chain.pin if isinstance(chain, Chain) else None
    x, y = pin or (0.0, 0.0)
    links, singles = np.zeros((ROWS, chain.n)), np.zeros(SINGLES)
    for name in LINK:
        links[row(Link, name)] = getattr(chain, name)
    fill_numbers(chain.loads, links, singles)
    links[HINGE_INERTIA] = [link.hinge_inertia for link in chain.links]
    spans, table = tables(chain)
    loads = [type(load) for load in chain.loads]
    return ChainParameters(
        n=chain.n,
        g=chain.g,
        links=links,
        tip=singles,
        table=table,
        spans=spans,
        callback=callback,
        loaded=any(kind is not Gravity for kind in loads),
        timed=bool(links[AMPLITUDE].any() or len(table)),
        force_level=int(any(kind.moves for kind in loads)) + bool(links[QUADRATIC_DRAG].any()),
        ledger=POWERS if constrained or pin or any(kind.works() for kind in loads) else 0,
        closed=pin is not None,
        pin=_pin(x, y, math.fsum(chain.length)),
    )


def _pin(x: float, y: float, total: float) -> np.ndarray:
    distance = math.hypot(x, y)
    s, c = (x / distance, -y / distance) if distance else (0.0, 1.0)
    return np.array([x, y, distance, math.atan2(s, c), s, c, total])


@kernel
def turn(theta, n, w):
    """Fill the rows S and C."""
    for i in range(n):
        s, c = sincos(theta[i])
        w[S, i] = s
        w[C, i] = c


@dispatched(lambda kind: no_loads if kind is UnloadedChain else all_loads)
def apply_loads(t, theta, omega, at, p, w, power, row, tipx, tipy):
    """Fill FX, FY, MZ from the loads, and the rows of the ledger; see `all_loads`."""


def no_loads(t, theta, omega, at, p, w, power, row, tipx, tipy):
    """Fill nothing: there are none."""


@kernel
def all_loads(t, theta, omega, at, p, w, power, row, tipx, tipy):
    """Fill FX, FY, MZ from the loads (S and C are filled) and power[row:] with the power of each row of the ledger.

    (tipx, tipy) is the constant force at the tip in the frame in which S and C are meant.

    The rate of link i is omega[at + i]: angles and rates may lie in one array. (Slices would cost as much as the sweep.)
    """
    drive(t, theta, omega, at, p, w)
    driven = before_theta = before_omega = alike(0.0, omega[at])
    joints, links = joint_start(driven), link_start(driven)
    for i in range(p.n):
        rate, angle = omega[at + i], theta[i]
        relative, bent = rate - before_omega, angle - before_theta
        moment = w[TQ, i] + joint_moment(i, bent, relative, p)
        if i > 0:
            w[MZ, i - 1] -= moment
        w[MZ, i] = moment + link_moment(i, angle, rate, p)
        w[FX, i] = 0.0
        w[FY, i] = 0.0
        driven += w[TQ, i] * relative
        joints = joint_works(i, relative, relative * relative, p, joints)
        links = link_works(i, rate, rate * rate, p, links)
        before_theta = angle
        before_omega = rate
    if p.ledger > 0:
        for r in range(POWERS):
            power[row + r] = 0.0
        power[row + DRIVEN] = driven
        joint_store(joints, power, row)
        link_store(links, power, row)
    if p.force_level:
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
    followx, followy = -p.tip[FOLLOWER] * s, p.tip[FOLLOWER] * c
    fx, fy = tipx + followx, tipy + followy
    w[FX, k] += fx
    w[FY, k] += fy
    w[MZ, k] += (p.links[LENGTH, k] - p.links[COM, k]) * (c * fx + s * fy) + p.links[OFFSET, k] * (s * fx - c * fy)
    if p.ledger > 0:
        power[row + DRAGGED] = lost
        power[row + FOLLOWED] = followx * vx + followy * vy
        power[row + TIPPED] = tipx * vx + tipy * vy


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
        rise = s * (d * si + b * ci) + c * (b * si - d * ci)
        resting += mass * p.g * (height + rise) + joint_energy(i, theta[i] - before, p)
        moving += 0.5 * (mass * (ux * ux + uy * uy) + p.links[INERTIA, i] * rate * rate)
        height += length * (s * si - c * ci)
        vx += length * rate * ci
        vy += length * rate * si
        before = theta[i]
    return moving, resting
