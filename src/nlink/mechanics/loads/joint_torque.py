"""Joint torques: +T_i on link i, -T_i on link i-1, as numbers, sines, tables or a function.

The torque of a joint is the sum of a constant, a sine, and a table or a function, each 0 if it is absent. `torque_function` says
what a function may be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from nlink._support.checks import ModelError, listed, number, number_or_each, set_checked, shown
from nlink.mechanics.loads.base import Load, Parameter
from nlink.mechanics.loads.torque_function import TorqueFunction, Torques, takes_state


@dataclass(frozen=True)
class Sine:
    """The function amplitude * sin(2 pi frequency t + phase) + offset: frequency in Hz, phase in rad."""

    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        set_checked(self, number, "amplitude", "frequency", "phase", "offset")


@dataclass(frozen=True)
class Interpolation:
    """A function of time through points (times, values); its knots are step boundaries."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        kind = type(self).__name__
        for name in ("times", "values"):
            if not listed(getattr(self, name)):
                raise ModelError(f"{kind}.{name} must be a list of numbers, got {shown(getattr(self, name))}")
            set_checked(self, number_or_each, name)
        if len(self.times) != len(self.values):
            raise ModelError(f"{kind}.values must be as long as {kind}.times ({len(self.times)}), got {len(self.values)}")
        for i, (a, b) in enumerate(pairwise(self.times)):
            if b <= a:
                raise ModelError(f"{kind}.times must increase, got {a:g} then {b:g} at [{i + 1}]")


@dataclass(frozen=True)
class Table(Interpolation):
    """A function of time by straight lines through (times, values), held at both ends; its knots are step boundaries."""


@dataclass(frozen=True)
class Sum:
    """Torques that add up at one joint. An ensemble makes it where one of them varies and the others stay."""

    constant: float = 0.0
    sine: Sine = Sine(0.0, 0.0)
    table: Table | None = None


@dataclass(frozen=True)
class Added:
    """A function, and torques that are added to it. An ensemble makes it where one of these varies."""

    function: TorqueFunction
    parts: tuple[Sum, ...]


Torque = float | Sine | Table | Sum


@dataclass(frozen=True)
class JointTorque(Load):
    """Torques at the hinges in N m: a number, Sine or Table for all, a list of them, or a function.

    The function takes the time t in s, or t, the absolute angles theta (N,) in rad and rates omega (N,) in rad/s, and returns one
    number (for every joint) or N of them. One that is decorated by `numba.njit` runs at the speed of compiled code, and so does a
    `numba.cfunc` with the signature `nlink.mechanics.torque_callback.torque_signature`.

    >>> def brake(t, theta, omega):
    ...     return -0.5 * omega
    >>> JointTorque(brake).takes_state
    True
    """

    name: ClassVar[str] = "joint_torque"
    label: ClassVar[str] = "joint torques"
    torque: Torque | tuple[Torque, ...] | TorqueFunction | Added

    def __post_init__(self) -> None:
        torque: Any = self.torque
        if isinstance(torque, Added):
            return
        if callable(torque):
            takes_state(torque)
            return
        if listed(torque):
            torque = tuple(_torque(f"JointTorque.torque[{i}]", value) for i, value in enumerate(torque))
            if not torque:
                raise ModelError("JointTorque.torque must not be an empty list; give one torque, or one for each joint")
        else:
            torque = _torque("JointTorque.torque", torque)
        object.__setattr__(self, "torque", torque)

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return what can vary: the constant part, and the sine."""
        return PARTS

    @classmethod
    def values(cls, load: JointTorque | None, n: int) -> dict[str, np.ndarray]:
        """Return constants and sines (n,)."""
        parts = torques(load, n)
        sines = {name: np.array([getattr(part.sine, name) for part in parts]) for name in SINE}
        return {"constant": np.array([part.constant for part in parts]), **sines}

    @classmethod
    def changed(cls, load: JointTorque | None, n: int, values: Mapping[str, Any]) -> JointTorque:
        """Return the torques with other constants or sines."""
        new = {name: np.broadcast_to(value, (n,)) for name, value in (cls.values(load, n) | dict(values)).items()}
        sines = [Sine(*(float(new[name][i]) for name in SINE)) for i in range(n)]
        old = enumerate(torques(load, n))
        parts = tuple(Sum(float(new["constant"][i]), sines[i], part.table) for i, part in old)
        return cls(Added(load.function, parts) if load and load.function else parts)

    @property
    def function(self) -> TorqueFunction | None:
        """The function among the torques, if there is one."""
        torque: Any = self.torque
        return torque.function if isinstance(torque, Added) else torque if callable(torque) else None

    def at(self, n: int) -> Torques:
        """Return the torques of the function on n joints, to be called with the time, angles and rates."""
        assert self.function is not None
        return Torques(self.function, n)

    @property
    def takes_state(self) -> bool:
        """Whether the torques depend on angles and rates."""
        return self.function is not None and takes_state(self.function)

    @property
    def symmetric(self) -> bool:
        """A torque turns one way."""
        return False

    @property
    def steady(self) -> bool:
        """Whether the torques are numbers."""
        return all(isinstance(value, float) for value in (self.torque if isinstance(self.torque, tuple) else (self.torque,)))


SINE = ("amplitude", "frequency", "phase")
PARTS = {
    "constant": Parameter("N m", "Torque", "T", odd=True),
    "amplitude": Parameter("N m", "Amplitude", "", odd=True),
    "frequency": Parameter("Hz", "Frequency", "", odd=True, scale=2 * math.pi),
    "phase": Parameter("rad", "Phase", "", odd=True),
}
"""What can vary of a torque, by name. (The mirror image of a torque that varies is another torque.)"""


def _torque(where: str, value: Any) -> Torque:
    return value if isinstance(value, Sine | Table | Sum) else number(where, value)


def torques(load: JointTorque | None, n: int) -> list[Sum]:
    """Return the torque of each of n joints by its parts; a function is not among them."""
    torque: Any = load.torque if load and not callable(load.torque) else 0.0
    torque = torque.parts if isinstance(torque, Added) else torque
    return [_parts(value) for value in (torque if isinstance(torque, tuple) else (torque,) * n)]


def kinks(load: JointTorque | None) -> np.ndarray:
    """Return the times at which tables of joint torques have knots, sorted."""
    tables = {id(torque.table): torque.table for torque in torques(load, 1) if torque.table}
    return np.unique(np.concatenate([np.empty(0), *(table.times for table in tables.values())]))


def _parts(torque: Torque) -> Sum:
    if isinstance(torque, Sum):
        return torque
    if isinstance(torque, Sine):
        return Sum(torque.offset, torque)
    return Sum(table=torque) if isinstance(torque, Table) else Sum(torque)
