"""What resists the joints of a chain in space: where nothing with mass does, its mass matrix is singular.

From the tip inwards each link has the articulated inertia (6, 6) about its upper hinge, of turns and moves; the joint turns about
axes S, and the pivot H = S^T I S must be positive. `weak` looks at these in some configurations that are taken at random; what is
singular in single configurations alone, as a rod along the first axis of its universal joint, is found by `locked`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nlink.mechanics.space.joints import Ball
from nlink.mechanics.space.kinematics import turned, turns

if TYPE_CHECKING:
    from nlink.mechanics.space.model import SpatialChain

STATES = 5
"""Configurations that are looked at."""
SMALL = 1e-12
"""Part of the largest pivot below which one is zero but for rounding."""
NEAR = 1e-9
"""The same where a motion has come to an end."""


def weak(chain: SpatialChain) -> int | None:
    """Return a link whose joint nothing with mass resists; None if there is none."""
    rng = np.random.default_rng(0)
    c = rng.normal(size=(STATES, chain.size))
    for place in chain.places:
        if place.stop - place.start > 2:
            c[:, place] /= np.linalg.norm(c[:, place], axis=-1, keepdims=True)
    return _unresisted(chain, c, SMALL)


def locked(chain: SpatialChain, c: np.ndarray) -> int | None:
    """Return a link whose joint nothing with mass resists at the coordinates c (K,); None if there is none."""
    return _unresisted(chain, c[None], NEAR)


def _unresisted(chain: SpatialChain, c: np.ndarray, small: float) -> int | None:
    """Return a link one of whose pivots is below this part of the largest in one of the states c (states, K)."""
    at = turns(chain, c)
    inertia, scale = np.zeros((len(c), 6, 6)), 0.0
    for i in range(chain.n - 1, -1, -1):
        arm = _moved(chain.length[i] * at.direction[:, i])
        inertia = _seen(inertia, arm) + _own(chain, i, at.direction[:, i], at.rotation[:, i])
        S = np.zeros((len(c), 6, 3))
        S[:, :3] = _axes(chain, i, at.direction[:, i], at.rotation[:, max(i - 1, 0)], at.rotation[:, i])
        U = inertia @ S
        pivot = np.swapaxes(S, -1, -2) @ U
        sizes = np.linalg.eigvalsh(pivot)[:, 3 - _freedom(chain, i) :]
        scale = max(scale, float(sizes.max()))
        if sizes.min() <= small * scale:
            return i
        inertia = inertia - U @ np.linalg.pinv(pivot, rcond=SMALL, hermitian=True) @ np.swapaxes(U, -1, -2)
    return None


def _freedom(chain: SpatialChain, i: int) -> int:
    """Return in how many ways link i turns: a line not about itself."""
    return 2 if chain.is_line[i] else chain.joints[i].freedom


def _axes(chain: SpatialChain, i: int, e: np.ndarray, parent: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the axes of a joint in the world as columns (states, 3, 3), the rest zeros; of a line all axes across it."""
    axes = np.zeros((len(e), 3, 3))
    if chain.is_line[i]:
        return np.eye(3) - e[:, :, None] * e[:, None, :]
    if isinstance(chain.joints[i], Ball):
        return axes + np.eye(3)
    for k, axis in enumerate(chain.joints[i].axes):
        fixed = own if k else (parent if i else np.broadcast_to([1.0, 0.0, 0.0, 0.0], own.shape))
        axes[:, :, k] = turned(fixed, np.array(axis))
    return axes


def _own(chain: SpatialChain, i: int, e: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the inertia (states, 6, 6) of link i about its upper hinge, of turns and moves."""
    if chain.is_line[i]:
        c, tensor = chain.com[i] * e, chain.inertia[i] * (np.eye(3) - e[:, :, None] * e[:, None, :])
    else:
        R = np.stack([turned(q, axis) for axis in np.eye(3)], -1)
        c, tensor = turned(q, chain.centre[i]), R @ chain.tensor[i] @ np.swapaxes(R, -1, -2)
    inertia = np.zeros((len(e), 6, 6))
    inertia[:, :3, :3], inertia[:, 3:, 3:] = tensor, chain.mass[i] * np.eye(3)
    return _seen(inertia, _moved(c))


def _seen(inertia: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Return an inertia about a point as it is about the point before its arm."""
    return np.swapaxes(arm, -1, -2) @ inertia @ arm


def _moved(r: np.ndarray) -> np.ndarray:
    """Return what takes turn and move (omega, v) of a point to those at r from it: v + omega x r."""
    out = np.zeros((len(r), 6, 6))
    out[:] = np.eye(6)
    x, y, z = r.T
    out[:, 3, 1], out[:, 3, 2] = z, -y
    out[:, 4, 0], out[:, 4, 2] = -z, x
    out[:, 5, 0], out[:, 5, 1] = y, -x
    return out
