"""A start in space as rows of plain numbers, an entry for each link: what scenarios and model files hold.

pose     of a line its direction (x, y, z), of a body on a ball its quaternion (w, x, y, z), of a hinge its angle, of a universal
         joint its two angles
omega    of a line and of a body on a ball its angular velocity (x, y, z) in world axes, of joints the rates of their angles
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nlink.mechanics.space.kinematics import turns
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.poses import position_of, rates_given

Row = float | tuple[float, ...]


def pose_rows(chain: SpatialChain, pose: Any) -> tuple[Row, ...]:
    """Return a pose, checked, as rows; rows that are given stay as they are, to the last bit.

    >>> pose_rows(SpatialChain.uniform(1), 0.0)
    ((0.0, -1.0, 0.0),)
    """
    return _rows(chain, position_of(chain, pose))


def omega_rows(chain: SpatialChain, omega: Any) -> tuple[Row, ...]:
    """Return angular velocities, checked, as rows; rows that are given stay as they are."""
    return tuple(given if len(given) > 1 else given[0] for given in rates_given(chain, omega))


def rows_of(chain: SpatialChain, position: np.ndarray, velocity: np.ndarray) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return the pose and the angular velocities of coordinates and their rates (K,)."""
    omega = turns(chain, position, velocity).omega
    own = _rows(chain, velocity)
    rates = tuple(row if _of_angles(chain, i) else tuple(omega[i].tolist()) for i, row in enumerate(own))
    return _rows(chain, position), rates


def _rows(chain: SpatialChain, values: np.ndarray) -> tuple[Row, ...]:
    numbers = values.tolist()
    each = (tuple(numbers[place]) for place in chain.places)
    return tuple(row if len(row) > 1 else row[0] for row in each)


def _of_angles(chain: SpatialChain, i: int) -> bool:
    """Whether the coordinates of link i are angles of its joint."""
    return bool(chain.turning[chain.places[i].start])
