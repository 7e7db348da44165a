"""Many starts of one chain in space: a pose and rates for each member of an ensemble, as coordinates and their rates.

Each member has the very numbers that `SpatialChain.start` gives it alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nlink._support.checks import WIDEST_ANGLE, ModelError, listed, shown
from nlink.mechanics.space.joints import UNIT
from nlink.mechanics.space.model import SpatialChain


def starts(chain: SpatialChain, pose: Any, omega: Any, members: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates and rates (M, K) of a pose for each member, or one for all if their number is known; rates alike."""
    if not listed(pose) or not len(pose):
        raise ModelError(f"theta must be a list with a pose for each member, got {shown(pose)}")
    count = len(pose) if members is None else members
    poses = pose if len(pose) == count else [pose] * count
    rates = omega if listed(omega) and len(omega) == count else [0.0 if omega is None else omega] * count
    found = _of_lines(chain, poses, rates) if chain.lines else None
    if found is not None:
        return found
    position, velocity = np.empty((count, chain.size)), np.empty((count, chain.size))
    for k in range(count):
        try:
            position[k], velocity[k] = chain.start(poses[k], rates[k])
        except ModelError as error:
            raise ModelError(f"member {k}: {error}") from None
    return position, velocity


def _of_lines(chain: SpatialChain, poses: Any, rates: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the starts of lines that are given as arrays of numbers, all at once; None if something asks for a closer look."""
    try:
        entries, omega = np.asarray(poses, float), np.asarray(rates, float)
    except (TypeError, ValueError):
        return None
    entries = entries[..., None] if entries.ndim == 2 else entries
    if entries.ndim != 3 or entries.shape[1] != chain.n or entries.shape[2] > 3:
        return None
    e = _directions(entries)
    omega = omega[:, None] if omega.ndim == 1 else omega
    omega = omega[..., None] * np.array([0.0, 0.0, 1.0]) if omega.ndim == 2 else omega
    if e is None or omega.shape[1:] not in ((chain.n, 3), (1, 3)) or not np.isfinite(omega).all():
        return None
    (a, b, d), (x, y, z) = np.moveaxis(e, -1, 0), np.moveaxis(omega, -1, 0)
    v = np.stack([y * d - z * b, z * a - x * d, x * b - y * a], -1)
    return e.reshape(len(e), chain.size), v.reshape(len(e), chain.size)


def _directions(entries: np.ndarray) -> np.ndarray | None:
    """Return unit vectors (M, N, 3) of angles, inclinations and azimuths, or directions; None of invalid ones."""
    if not np.isfinite(entries).all():
        return None
    count = entries.shape[2]
    if count < 3:
        if np.abs(entries).max() > WIDEST_ANGLE:
            return None
        sines, cosines = (
            np.array([f(each) for each in entries.ravel().tolist()]).reshape(entries.shape) for f in (math.sin, math.cos)
        )
        across, down = sines[..., 0], -cosines[..., 0]
        x, z = (across, np.zeros_like(across)) if count == 1 else (across * cosines[..., 1], across * sines[..., 1])
        return np.stack([x, down, z], -1)
    sizes = np.array([math.hypot(*each) for each in entries.reshape(-1, 3).tolist()]).reshape(*entries.shape[:2], 1)
    if (sizes == 0).any():
        return None
    return np.where(np.abs(sizes - 1) <= UNIT, entries, entries / sizes)
