"""Loads: what acts on a chain besides its own inertia, as frozen records.

Signs (x right, y up, angles counter-clockwise; link i hangs on hinge i, link -1 is the ground):

    Gravity        force (0, -m g) at each centre of mass
    JointTorque    +T_i on link i, -T_i on link i-1
    JointSpring    T_i = -k_i (theta_i - theta_{i-1} - rest_i); stores energy
    JointDamper    T_i = -c_i (omega_i - omega_{i-1})
    LinkDamper     moment -kappa_i omega_i on link i alone (Rayleigh's function 1/2 sum kappa_i omega_i^2)
    Drag           force -(linear + quadratic |v|) v at each centre of mass
    FollowerForce  force -alpha e_N at the tip of the last link: alpha > 0 presses along the link
    TipForce       constant force (fx, fy) at the tip

A value given once serves every joint or link; a list gives one for each. The compiled form of all of them is in
`kernels.py`; a new load is a record here, a line in `LOADS`, and its force and power there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nlink._support.checks import ModelError, listed, number, number_or_each, shown

Each = float | tuple[float, ...]


def _check(load: Any, name: str, *, least: float | None = None) -> None:
    value = number_or_each(f"{type(load).__name__}.{name}", getattr(load, name), least=least)
    object.__setattr__(load, name, value)


def _check_one(load: Any, name: str, *, least: float | None = None) -> None:
    object.__setattr__(load, name, number(f"{type(load).__name__}.{name}", getattr(load, name), least=least))


@dataclass(frozen=True)
class Gravity:
    """Uniform gravity along -y: g in m/s^2."""

    g: float

    def __post_init__(self) -> None:
        _check_one(self, "g")


@dataclass(frozen=True)
class JointSpring:
    """Torsional springs at the hinges: stiffness in N m/rad, rest angle between neighbours in rad."""

    stiffness: Each
    rest: Each = 0.0

    def __post_init__(self) -> None:
        _check(self, "stiffness", least=0)
        _check(self, "rest")


@dataclass(frozen=True)
class JointDamper:
    """Viscous friction at the hinges, on the relative rate: damping in N m s/rad."""

    damping: Each

    def __post_init__(self) -> None:
        _check(self, "damping", least=0)


@dataclass(frozen=True)
class LinkDamper:
    """Viscous moment on each link's absolute rate: damping in N m s/rad."""

    damping: Each

    def __post_init__(self) -> None:
        _check(self, "damping", least=0)


@dataclass(frozen=True)
class Sine:
    """The function amplitude * sin(2 pi frequency t + phase): frequency in Hz, phase in rad."""

    amplitude: float
    frequency: float
    phase: float = 0.0

    def __post_init__(self) -> None:
        for name in ("amplitude", "frequency", "phase"):
            _check_one(self, name)


@dataclass(frozen=True)
class Table:
    """A function of time by straight lines through (times, values), held at both ends; its knots are step boundaries."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("times", "values"):
            if not listed(getattr(self, name)):
                raise ModelError(f"Table.{name} must be a list of numbers, got {shown(getattr(self, name))}")
            _check(self, name)
        if len(self.times) != len(self.values):
            raise ModelError(f"Table.values must be as long as Table.times ({len(self.times)}), got {len(self.values)}")
        for i, (a, b) in enumerate(pairwise(self.times)):
            if b <= a:
                raise ModelError(f"Table.times must increase, got {a:g} then {b:g} at [{i + 1}]")


@dataclass(frozen=True)
class Sum:
    """Torques that add up at one joint. An ensemble makes it where one of them varies and the others stay."""

    constant: float = 0.0
    sine: Sine = Sine(0.0, 0.0)
    table: Table | None = None


Torque = float | Sine | Table | Sum
TorqueFunction = Callable[[float], Any]


@dataclass(frozen=True)
class JointTorque:
    """Torques at the hinges in N m: a number, Sine or Table for all, a list of them, or a function of time.

    A Python function receives t and returns one number (for every joint) or N of them.
    """

    torque: Torque | tuple[Torque, ...] | TorqueFunction

    def __post_init__(self) -> None:
        torque: Any = self.torque
        if callable(torque):
            return
        if listed(torque):
            torque = tuple(_torque(f"JointTorque.torque[{i}]", value) for i, value in enumerate(torque))
            if not torque:
                raise ModelError("JointTorque.torque must not be an empty list; give one torque, or one for each joint")
        else:
            torque = _torque("JointTorque.torque", torque)
        object.__setattr__(self, "torque", torque)


def _torque(where: str, value: Any) -> Torque:
    return value if isinstance(value, Sine | Table | Sum) else number(where, value)


def torques(load: JointTorque | None, n: int) -> list[Sum]:
    """Return the torque of each of n joints by its parts; a Python function is no part of them."""
    torque: Any = load.torque if load and not callable(load.torque) else 0.0
    return [_parts(value) for value in (torque if isinstance(torque, tuple) else (torque,) * n)]


def kinks(load: JointTorque | None) -> np.ndarray:
    """Return the times at which tables of joint torques have knots, sorted."""
    tables = {id(torque.table): torque.table for torque in torques(load, 1) if torque.table}
    return np.unique(np.concatenate([np.empty(0), *(table.times for table in tables.values())]))


def _parts(torque: Torque) -> Sum:
    if isinstance(torque, Sum):
        return torque
    if isinstance(torque, Sine):
        return Sum(sine=torque)
    return Sum(table=torque) if isinstance(torque, Table) else Sum(torque)


@dataclass(frozen=True)
class Drag:
    """Air drag at each centre of mass, -(linear + quadratic |v|) v: N s/m and N s^2/m^2."""

    linear: Each = 0.0
    quadratic: Each = 0.0

    def __post_init__(self) -> None:
        _check(self, "linear", least=0)
        _check(self, "quadratic", least=0)


@dataclass(frozen=True)
class FollowerForce:
    """A force at the last tip that turns with the last link, -force * e_N: positive presses, in N."""

    force: float

    def __post_init__(self) -> None:
        _check_one(self, "force")


@dataclass(frozen=True)
class TipForce:
    """A constant force (fx, fy) at the last tip, in N."""

    fx: float
    fy: float

    def __post_init__(self) -> None:
        _check_one(self, "fx")
        _check_one(self, "fy")


Load = Gravity | JointSpring | JointDamper | LinkDamper | JointTorque | Drag | FollowerForce | TipForce

LOADS: dict[str, type[Any]] = {
    "gravity": Gravity,
    "joint_spring": JointSpring,
    "joint_damper": JointDamper,
    "link_damper": LinkDamper,
    "joint_torque": JointTorque,
    "drag": Drag,
    "follower_force": FollowerForce,
    "tip_force": TipForce,
}
"""The loads by their names in model files."""

LEDGER = ("joint_torque", "joint_damper", "link_damper", "drag", "follower_force", "tip_force", "constraints")
"""Whose work is kept in the ledger, in the order of its rows: loads, and the constraints of a formulation that has some."""
