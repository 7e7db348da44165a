"""Small deviations of coordinates in space that stay on their spheres: of a direction two, of a quaternion three, of an angle one.

A deviation (dc, dc') of coordinates and rates keeps |c| = 1 and c.c' = 0:

    dc = B x        dc' = B y + P x        P = -c (c'.B)        B: an orthonormal basis of the tangents; of an angle 1, and P = 0
"""

from __future__ import annotations

import numpy as np

from nlink.mechanics.space.model import SpatialChain


def tangents(chain: SpatialChain, position: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return B and P (..., K, F) at coordinates and rates (..., K) of a chain with F degrees of freedom."""
    bases, follows = [], []
    for place in chain.places:
        c, v = position[..., place], velocity[..., place]
        count = place.stop - place.start
        if count < 3:
            basis = np.broadcast_to(np.eye(count), (*c.shape, count))
            bases.append(basis)
            follows.append(np.zeros(basis.shape))
            continue
        basis = _of_direction(c) if count == 3 else _of_quaternion(c)
        bases.append(basis)
        follows.append(-c[..., None] * (v[..., None, :] @ basis))
    return _side_by_side(bases), _side_by_side(follows)


def frames(chain: SpatialChain, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return orthonormal bases (..., 2K, 2F) of the deviations of coordinates and rates."""
    basis, follow = tangents(chain, position, velocity)
    upper, lower = (np.concatenate(each, -1) for each in ((basis, np.zeros_like(basis)), (follow, basis)))
    return np.linalg.qr(np.concatenate([upper, lower], -2))[0]


def _of_direction(e: np.ndarray) -> np.ndarray:
    """Return two tangents (..., 3, 2) of the sphere of directions."""
    least = np.eye(3)[np.abs(e).argmin(-1)]
    first = np.cross(e, least)
    first = first / np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, np.cross(e, first)], -1)


def _of_quaternion(q: np.ndarray) -> np.ndarray:
    """Return three tangents (..., 4, 3) of the sphere of quaternions: turns about the axes of the world."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.stack([np.stack(each, -1) for each in ((-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w))], -1)


def _side_by_side(blocks: list[np.ndarray]) -> np.ndarray:
    """Return matrices (..., K, F) with these blocks on their diagonals."""
    rows, columns = (np.cumsum([0, *(each.shape[axis] for each in blocks)]) for axis in (-2, -1))
    out = np.zeros((*blocks[0].shape[:-2], rows[-1], columns[-1]))
    for k, block in enumerate(blocks):
        out[..., rows[k] : rows[k + 1], columns[k] : columns[k + 1]] = block
    return out
