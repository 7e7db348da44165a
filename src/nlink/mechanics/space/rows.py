"""A start in space as rows of plain numbers, an entry for each link: what scenarios and model files hold.

pose     of a line its direction (x, y, z), of a body on a ball its quaternion (w, x, y, z), of a hinge its angle, of a universal
         joint its two angles
omega    of a line and of a body on a ball its angular velocity (x, y, z) in world axes, of joints the rates of their angles
"""

from __future__ import annotations

import math

import numpy as np

from nlink.mechanics.space.kinematics import turns
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.poses import position_of, rates_given

Row = float | tuple[float, ...]


def pose_rows(chain: SpatialChain, pose: object) -> tuple[Row, ...]:
    """Return a pose, checked, as rows; rows that are given stay as they are, to the last bit.

    >>> pose_rows(SpatialChain.uniform(1), 0.0)
    ((0.0, -1.0, 0.0),)
    """
    return _rows(chain, position_of(chain, pose))


def omega_rows(chain: SpatialChain, omega: object) -> tuple[Row, ...]:
    """Return angular velocities, checked, as rows; rows that are given stay as they are."""
    return tuple(_row(given) for given in rates_given(chain, omega))


def rows_of(chain: SpatialChain, position: np.ndarray, velocity: np.ndarray) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return the pose and the angular velocities of coordinates and their rates (K,)."""
    omega = turns(chain, position, velocity).omega
    own = _rows(chain, velocity)
    rates = tuple(row if _of_angles(chain, i) else tuple(omega[i].tolist()) for i, row in enumerate(own))
    return _rows(chain, position), rates


def turned_further(
    chain: SpatialChain, pose: tuple[Row, ...], omega: tuple[Row, ...], factors: list[float]
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return a start with the angle by which each link is turned from the hanging chain, and its rates, times a factor."""
    rows = tuple(_further(row, factor) for row, factor in zip(pose, factors, strict=True))
    return rows, tuple(_times(row, factor) for row, factor in zip(omega, factors, strict=True))


def _further(row: Row, factor: float) -> Row:
    """Return a direction with another inclination, a quaternion with another angle about its axis, or other angles of a joint."""
    if not isinstance(row, tuple) or len(row) < 3:
        return _times(row, factor)
    first, sideways = (-row[1], row[::2]) if len(row) == 3 else (row[0], row[1:])
    size = math.hypot(*sideways)
    if size == 0:
        return row
    angle = factor * math.atan2(size, first)
    parts = [math.sin(angle) * each / size for each in sideways]
    return (parts[0], -math.cos(angle), parts[1]) if len(row) == 3 else (math.cos(angle), *parts)


def _times(row: Row, factor: float) -> Row:
    return tuple(factor * each for each in row) if isinstance(row, tuple) else factor * row


def _rows(chain: SpatialChain, values: np.ndarray) -> tuple[Row, ...]:
    numbers = values.tolist()
    each = (tuple(numbers[place]) for place in chain.places)
    return tuple(map(_row, each))


def _row(numbers: tuple[float, ...]) -> Row:
    """Return the numbers of a link, or its one number."""
    return numbers if len(numbers) > 1 else numbers[0]  # pyright: ignore[reportGeneralTypeIssues]


def _of_angles(chain: SpatialChain, i: int) -> bool:
    """Whether the coordinates of link i are angles of its joint."""
    return bool(chain.turning[chain.places[i].start])
