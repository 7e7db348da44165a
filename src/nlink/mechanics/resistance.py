"""What resists the joints of a mechanism: where nothing with mass does, its mass matrix is singular.

Two looks find it. `unresisted` asks from the tips inwards what each body resists in every configuration:

    a body with inertia and a mass, or with masses at two points, resists every motion of it
    through a hinge it is solid to its parent, a mass at that point, if it is so itself or has a mass on the hinge
    a hinge needs an inertia, or a mass away from it; a slide needs a mass

It takes what a slide carries for fixed to its parent, and so passes what only the pivots of the elimination show, in some
configurations by chance: `weak` looks at these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nlink.mechanics.tree_kinematics import Frames, frames

if TYPE_CHECKING:
    from nlink.mechanics.mechanism import Mechanism

STATES = 20
"""Configurations in which the pivots of a mass matrix are looked at."""
SMALL = 1e-12
"""Part of the largest pivot below which one is zero but for rounding."""


def unresisted(model: Mechanism) -> int | None:
    """Return a free joint that nothing with mass resists, in some configuration or in most; None if there is none."""
    masses: list[set[object]] = [{(body.com, body.offset)} if body.mass > 0 else set() for body in model.links]
    inert = [body.inertia > 0 for body in model.links]
    for i in range(model.n - 1, -1, -1):
        here, k, given, hinge = masses[i], int(model.parents[i]), model.prescribed[i], (0.0, 0.0)
        if not given and not (here if model.slides[i] else inert[i] or here - {hinge}):
            return i
        if k >= 0 and model.slides[i]:
            masses[k] |= {(i, place) for place in here}
            inert[k] = inert[k] or inert[i]
        elif k >= 0 and (here if given else hinge in here or len(here) > 1 or (here and inert[i])):
            masses[k].add(tuple(model.levers[:, i].tolist()))
    return weak(model) if model.slides.any() else None


def weak(model: Mechanism) -> int | None:
    """Return a free joint whose pivot vanishes in a configuration, of some that are taken at random; None if there is none."""
    sizes = pivots(model)
    zero = ~model.prescribed & (sizes.min(0) <= SMALL * max(float(sizes.max()), 1e-300))
    return int(np.argmax(zero)) if zero.any() else None


def pivots(model: Mechanism) -> np.ndarray:
    """Return the pivots of the mass matrix in some random configurations, (STATES, N): what resists each joint when all bodies
    behind it are free. Of prescribed joints they are not needed.
    """
    rng = np.random.default_rng(0)
    q = rng.uniform(-3.0, 3.0, (STATES, model.n))
    at = frames(model, q)
    e, t = at.axes()
    p = model.com[:, None] * t - model.offset[:, None] * e
    M = np.zeros((STATES, model.n, 2, 2)) + (model.mass[:, None, None] * np.eye(2))
    h, J = model.mass[:, None] * p, np.zeros((STATES, model.n)) + [body.hinge_inertia for body in model.links]
    sizes = np.zeros((STATES, model.n))
    for i in range(model.n - 1, -1, -1):
        k = int(model.parents[i])
        sizes[:, i], passed = _eliminated(model, i, k, at, M[:, i], h[:, i], J[:, i])
        if k >= 0:
            r = at.origin[:, i] - at.origin[:, k]
            sr = np.stack([-r[:, 1], r[:, 0]], -1)
            m, g, j = passed
            push = np.einsum("sab,sb->sa", m, sr)
            M[:, k] += m
            h[:, k] += g + push
            J[:, k] += j + 2 * (sr * g).sum(-1) + (sr * push).sum(-1)
    return sizes


def _eliminated(model: Mechanism, i: int, k: int, at: Frames, M: np.ndarray, h: np.ndarray, J: np.ndarray):
    """Return the pivot of joint i, and M, h, J that pass it: of a link whose angle is given M alone."""
    if not model.slides[i]:
        left = M if model.prescribed[i] else M - h[:, :, None] * h[:, None, :] / np.where(J > 0, J, 1.0)[:, None, None]
        return J.copy(), (left, np.zeros_like(h), np.zeros_like(J))
    s, c = (np.sin(at.angle[:, k]), np.cos(at.angle[:, k])) if k >= 0 else (np.zeros(len(J)), np.ones(len(J)))
    along, left = model.directions[:, i]
    d = np.stack([along * s + left * c, left * s - along * c], -1)
    w = np.einsum("sab,sb->sa", M, d)
    D, z = (w * d).sum(-1), (h * d).sum(-1)
    safe = np.where(D > 0, D, 1.0)
    passed = M - w[:, :, None] * w[:, None, :] / safe[:, None, None], h - w * (z / safe)[:, None], J - z**2 / safe
    return D, (M, h, J) if model.prescribed[i] else passed
