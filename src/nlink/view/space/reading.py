"""A motion in space as pictures take it: rows of unit vectors that are interpolated, and how the links stand.

A line has three rows, its direction, a body four, its quaternion: whatever its joint is, the rows of a link say how it stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlink.mechanics.space import kinematics
from nlink.mechanics.space.model import SpatialChain

Rows = tuple[np.ndarray, np.ndarray]
"""Values (T, R) and their rates."""


class Stand(NamedTuple):
    """How links stand: the pivot and the ends (..., N+1, 3) in m, the quaternions (..., N, 4), NaN of lines."""

    hinges: np.ndarray
    rotation: np.ndarray


def stand(chain: SpatialChain, position: np.ndarray) -> Stand:
    """Return how the links stand at coordinates (..., K)."""
    return Stand(kinematics.hinges(chain, position), kinematics.turns(chain, position).rotation)


def rows_of(chain: SpatialChain, position: np.ndarray, velocity: np.ndarray) -> Rows:
    """Return the rows of all links, and their rates: where all joints are balls, the coordinates."""
    if not chain.turning.any():
        return position, velocity
    at = kinematics.turns(chain, position, velocity)
    spun = np.concatenate([np.zeros((*at.omega.shape[:-1], 1)), at.omega], -1)
    values, rates = [], []
    for i, line in enumerate(chain.is_line):
        here = (at.direction if line else at.rotation)[..., i, :]
        values.append(here)
        turning = np.cross(at.omega[..., i, :], here) if line else 0.5 * kinematics.multiplied(spun[..., i, :], here)
        rates.append(turning)
    return np.concatenate(values, -1), np.concatenate(rates, -1)


def measures(chain: SpatialChain) -> np.ndarray:
    """Return what a change of each row is measured by (R,), so that it is an angle in rad."""
    return np.concatenate([np.full(3, 1.0) if line else np.full(4, 0.5) for line in chain.is_line])
