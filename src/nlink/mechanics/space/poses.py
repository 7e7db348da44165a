"""Poses and rates as a user gives them, as coordinates of a chain in space.

A pose is one angle for all links, or an entry for each link:

    theta                        angle in the plane z = 0 from straight down; of a hinge its own angle
    (inclination, azimuth)       e = (sin inc cos az, -cos inc, sin inc sin az); of a universal joint its two angles
    (x, y, z)                    a direction, scaled to length 1; a body on a ball takes the shortest turn to it from straight down
    (w, x, y, z)                 a quaternion, scaled to length 1, of the turn from the hanging link

Rates are one number for all, or an entry for each link: a rate about z, or (x, y, z) in world axes, of which a line takes the part
across it; of a hinge its own rate, of a universal joint its two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nlink._support.checks import ANGLES, RATES, WIDEST_ANGLE, ModelError, Units, listed, measured, number, shown
from nlink.mechanics.space.joints import UNIT, Hinge, Universal, Vector, triple, unit

if TYPE_CHECKING:
    from nlink.mechanics.space.model import SpatialChain

DOWN: Vector = (0.0, -1.0, 0.0)
Quaternion = tuple[float, float, float, float]
Values = tuple[float, ...]


def position_of(chain: SpatialChain, pose: object) -> np.ndarray:
    """Return the coordinates (K,) of a pose."""
    return np.array([c for i, entry in enumerate(_entries("pose", pose, chain.n)) for c in _coordinates(chain, i, entry)])


def velocity_of(chain: SpatialChain, position: np.ndarray, omega: object) -> np.ndarray:
    """Return the rates of the coordinates (K,) of angular velocities."""
    given = rates_given(chain, omega)
    return np.array([r for i, entry in enumerate(given) for r in _rates(chain, i, position[chain.places[i]].tolist(), entry)])


def rates_given(chain: SpatialChain, omega: object) -> list[Values]:
    """Return the rates of each link, checked: of hinges and universal joints those of their angles, else (x, y, z)."""
    return [_rates_given(chain, i, entry) for i, entry in enumerate(_entries("omega", omega, chain.n))]


def direction_of(inclination: float, azimuth: float) -> Vector:
    """Return the direction of an inclination from straight down and an azimuth about the vertical."""
    s = math.sin(inclination)
    return s * math.cos(azimuth), -math.cos(inclination), s * math.sin(azimuth)


def shortest_turn(e: Vector) -> Quaternion:
    """Return the quaternion of the shortest turn from straight down to a direction; about z where it points straight up."""
    x, y, z = e
    across = math.hypot(x, z)
    half = math.atan2(across, -y) / 2
    s = math.sin(half)
    return (math.cos(half), -s * z / across, 0.0, s * x / across) if across else (math.cos(half), 0.0, 0.0, s)


def turned_down(q: Quaternion) -> Vector:
    """Return where a quaternion turns the direction straight down."""
    w, x, y, z = q
    return -2 * (x * y - w * z), -1 + 2 * (x * x + z * z), -2 * (y * z + w * x)


def _entries(name: str, value: object, n: int) -> list[object]:
    """Return an entry for each of n links: one number or text serves all."""
    if not listed(value):
        return [value] * n
    entries = list(value.tolist() if isinstance(value, np.ndarray) else value)
    if len(entries) != n:
        what = "an angle, (inclination, azimuth), a direction or a quaternion" if name == "pose" else "a rate, or (x, y, z)"
        raise ModelError(f"{name} has {len(entries)} entries for {n} links; give one for each link: {what}")
    return entries


def _numbers(where: str, entry: object, units: Units) -> Values:
    """Return the numbers of an entry; texts say their units."""
    if not listed(entry):
        return (measured(where, entry, 1.0, units),)
    return tuple(measured(f"{where}[{k}]", each, 1.0, units) for k, each in enumerate(entry))


def _coordinates(chain: SpatialChain, i: int, entry: object) -> Values:
    """Return the coordinates of link i."""
    where, joint = f"pose[{i}]", chain.joints[i]
    given = _numbers(where, entry, ANGLES)
    if isinstance(joint, Hinge | Universal):
        return _angles(where, given, joint.freedom)
    if chain.is_line[i]:
        return turned_down(_quaternion(where, given)) if len(given) == 4 else _direction(where, given)
    if len(given) == 1:
        (theta,) = _angles(where, given, 1)
        return math.cos(theta / 2), 0.0, 0.0, math.sin(theta / 2)
    return _quaternion(where, given) if len(given) == 4 else shortest_turn(_direction(where, given))


def _angles(where: str, given: Values, count: int) -> Values:
    """Return the angles of a joint."""
    if len(given) != count:
        joint = "hinge takes one angle" if count == 1 else "universal joint takes two angles"
        raise ModelError(f"{where} has {len(given)} numbers: a {joint}")
    return tuple(number(where, angle, least=-WIDEST_ANGLE, most=WIDEST_ANGLE) for angle in given)


def _direction(where: str, given: Values) -> Vector:
    """Return the direction of one to three numbers."""
    if len(given) == 1:
        (theta,) = _angles(where, given, 1)
        return math.sin(theta), -math.cos(theta), 0.0
    if len(given) == 2:
        inclination, azimuth = _angles(where, given, 2)
        return direction_of(inclination, azimuth)
    if len(given) == 3:
        return unit(where, given)
    raise ModelError(
        f"{where} must be an angle, (inclination, azimuth), a direction (x, y, z) or a quaternion (w, x, y, z), got {shown(given)}"
    )


def _quaternion(where: str, given: Values) -> Quaternion:
    """Return a quaternion scaled to length 1."""
    w, x, y, z = (number(f"{where}[{k}]", each) for k, each in enumerate(given))
    size = math.hypot(w, x, y, z)
    if size == 0:
        raise ModelError(f"{where} must be a quaternion (w, x, y, z) of a turn, got zeros; no turn is (1, 0, 0, 0)")
    return (w, x, y, z) if abs(size - 1) <= UNIT else (w / size, x / size, y / size, z / size)


def _rates_given(chain: SpatialChain, i: int, entry: object) -> Values:
    """Return the rates of link i as they are given, checked."""
    where, joint = f"omega[{i}]", chain.joints[i]
    given = _numbers(where, entry, RATES)
    if isinstance(joint, Hinge | Universal):
        if given == (0.0,):
            return (0.0,) * joint.freedom
        if len(given) != joint.freedom:
            what = (
                "hinge takes the rate of its angle" if joint.freedom == 1 else "universal joint takes the rates of its two angles"
            )
            raise ModelError(f"{where} has {len(given)} numbers: a {what}")
        return given
    return (0.0, 0.0, given[0]) if len(given) == 1 else triple(where, given)


def _rates(chain: SpatialChain, i: int, c: list[float], given: Values) -> Values:
    """Return the rates of the coordinates c of link i."""
    if isinstance(chain.joints[i], Hinge | Universal):
        return given
    x, y, z = given
    if chain.is_line[i]:
        a, b, d = c
        return y * d - z * b, z * a - x * d, x * b - y * a
    return half_turned((x, y, z), (c[0], c[1], c[2], c[3]))


def half_turned(omega: Vector, q: Quaternion) -> Quaternion:
    """Return (0, omega) q / 2: the rate of a quaternion that turns so."""
    x, y, z = omega
    d, a, b, c = q
    return (
        -0.5 * (x * a + y * b + z * c), 0.5 * (x * d + y * c - z * b), 0.5 * (y * d + z * a - x * c), 0.5 * (z * d + x * b - y * a),
    )  # fmt: skip
