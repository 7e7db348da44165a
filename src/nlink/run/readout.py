"""What a motion is read out in: position, velocity and acceleration of its coordinates, and what these stand for.

In the plane the coordinates are the angles theta of the links, their rates omega and accelerations alpha. A chain in space has
directions and rotations instead; omega and alpha are its angular velocities and accelerations in world axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from nlink._support.checks import ModelError
from nlink._support.showing import short
from nlink.mechanics.chain import Multibody
from nlink.mechanics.space import kinematics as space
from nlink.mechanics.space.kinematics import Turns

HAND = "hand"
"""Whose work a run has beside that of its loads, where it was pulled by hand in the studio and no load says so."""
IN_PLANE = ("theta", "omega", "alpha")
IN_SPACE = ("position", "velocity", "acceleration")


def motion_names(chain: Multibody) -> tuple[str, str, str]:
    """Return what position, velocity and acceleration of the coordinates are called in files and tables."""
    return IN_SPACE if chain.spatial else IN_PLANE


def knot_names(chain: Multibody) -> tuple[str, ...]:
    """Return the names of the integrator's steps in files: times, coordinates, rates, accelerations."""
    return "knot", *(f"knot_{name}" for name in motion_names(chain))


class Readout:
    """What coordinates (..., K), their rates and accelerations stand for, by the chain that has them; None for any in the plane."""

    chain: Any = None
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @property
    def _spatial(self) -> bool:
        return self.chain is not None and self.chain.spatial

    @property
    def theta(self) -> np.ndarray:
        """Angles (..., N) in rad from straight down; of sliders displacements in m."""
        if self._spatial:
            raise ModelError("a chain in space has directions, not angles: use direction, inclination and azimuth")
        return self.position

    @theta.setter
    def theta(self, values: np.ndarray) -> None:
        self._put("position", values)

    @property
    def omega(self) -> np.ndarray:
        """Rates (..., N) in rad/s; in space angular velocities (..., N, 3) in world axes."""
        return self._turns(2).omega if self._spatial else self.velocity

    @omega.setter
    def omega(self, values: np.ndarray) -> None:
        self._put("velocity", values)

    @property
    def alpha(self) -> np.ndarray:
        """Angular accelerations (..., N) in rad/s^2; in space (..., N, 3) in world axes."""
        return self._turns(3).alpha if self._spatial else self.acceleration

    @alpha.setter
    def alpha(self, values: np.ndarray) -> None:
        self._put("acceleration", values)

    @property
    def direction(self) -> np.ndarray:
        """Unit vectors along the links (..., N, 3), of a chain in space."""
        return self._turns(1).direction

    @property
    def inclination(self) -> np.ndarray:
        """Angles of the links from straight down (..., N), 0 to pi rad, of a chain in space."""
        return space.inclination(self.direction)

    @property
    def azimuth(self) -> np.ndarray:
        """Angles of the links about the vertical (..., N) in rad, from +x to +z, of a chain in space.

        They are unwrapped in time. NaN stands where a link is vertical; after it the angle begins anew within (-pi, pi].
        """
        azimuth = space.azimuth(self.direction)
        return unwrapped(azimuth) if azimuth.ndim > 1 else azimuth

    @property
    def rotation(self) -> np.ndarray:
        """Unit quaternions (w, x, y, z) of the links (..., N, 4) from the hanging chain; NaN of lines, which have no twist."""
        return self._turns(1).rotation

    def _put(self, name: str, values: np.ndarray) -> None:
        """Set what theta, omega or alpha is in the plane."""
        if self._spatial:
            raise ModelError(f"theta, omega and alpha of a chain in space follow from its coordinates; set {name}")
        setattr(self, name, values)

    def _turns(self, count: int) -> Turns:
        """Return how the links stand and turn, from the first `count` of position, velocity and acceleration."""
        if not self._spatial:
            raise ModelError("a chain in the plane has angles: use theta, omega and alpha")
        return space.turns(self.chain, *(np.asarray(getattr(self, name)) for name in IN_SPACE[:count]))


class _Motion(NamedTuple):
    t: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


@short
class Trajectory(Readout, _Motion):
    """The motion at points in time: (T,), and coordinates, their rates and accelerations, three times (T, K)."""


class _Event(NamedTuple):
    t: float
    name: str
    position: np.ndarray
    velocity: np.ndarray
    info: dict[str, Any]


@short
class EventRecord(Readout, _Event):
    """An event that happened: time, name, coordinates, their rates, and what else is known of it."""


R = TypeVar("R", bound=Readout)


def trajectory(chain: Multibody, t: np.ndarray, *motion: np.ndarray) -> Trajectory:
    """Return the motion (position, velocity, acceleration) of a chain at points in time."""
    return _of(chain, Trajectory(t, *motion))


def event_record(
    chain: Multibody, t: float, name: str, position: np.ndarray, velocity: np.ndarray, info: dict[str, Any]
) -> EventRecord:
    """Return an event of a chain."""
    return _of(chain, EventRecord(t, name, position, velocity, info))


def _of(chain: Multibody, made: R) -> R:
    """Return a trajectory or an event, which knows its chain if that is one in space."""
    if chain.spatial:
        made.chain = chain
    return made


def unwrapped(angle: np.ndarray) -> np.ndarray:
    """Return angles (T, N) without jumps of whole turns between neighbours in time that are both known."""
    step = np.diff(angle, axis=0, prepend=angle[:1])
    turns = np.where(np.isfinite(step), -np.round(step / (2 * np.pi)), 0.0)
    gone = np.cumsum(turns, axis=0)
    begun = np.isfinite(angle) & ~np.isfinite(np.roll(angle, 1, axis=0))  # where an angle begins anew
    begun[:1] = True
    row = np.maximum.accumulate(np.where(begun, np.arange(len(angle))[:, None], 0), axis=0)
    return angle + 2 * np.pi * (gone - np.take_along_axis(gone, row, axis=0))


def settled(chain: Multibody, position: np.ndarray, *rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coordinates (T, K), rates and accelerations with directions and quaternions of length 1, which they keep."""
    velocity, acceleration = rates
    if not chain.spatial:
        return position, velocity, acceleration
    c, v, a = (values.copy() for values in (position, velocity, acceleration))
    for rows in unit_rows(chain):
        size = np.linalg.norm(c[:, rows], axis=-1, keepdims=True)
        e, rate, curve = (values[:, rows] / size for values in (c, v, a))
        rate = rate - (e * rate).sum(-1, keepdims=True) * e
        off = (e * curve).sum(-1, keepdims=True) + (rate * rate).sum(-1, keepdims=True)
        c[:, rows], v[:, rows], a[:, rows] = e, rate, curve - off * e
    return c, v, a


def unit_rows(chain: Any) -> list[np.ndarray]:
    """Return the coordinates of directions (L, 3) and of quaternions (L, 4), those of a link in each row, if there are any."""
    sizes = np.array([place.stop - place.start for place in chain.places])
    starts = np.array([place.start for place in chain.places])
    return [starts[sizes == size, None] + np.arange(size) for size in (3, 4) if (sizes == size).any()]
