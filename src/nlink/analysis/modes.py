"""modes(): the ways a chain can swing about an equilibrium; of long chains the slowest, by the structure of their matrices.

For an open chain without damping and follower force K is tridiagonal and M x costs O(N), so the slowest modes of many thousand
links come from inverse iteration (Lanczos) without a dense matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, angle_or_each, spread, whole
from nlink.analysis.linearize import Mode, linearize
from nlink.analysis.space_modes import space_modes
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Chain, Multibody
from nlink.mechanics.loads import Gravity, JointSpring, JointTorque, TipForce
from nlink.mechanics.mechanism import a_model
from nlink.mechanics.space.model import SpatialChain

LONG = 300
"""Links from which the structure pays."""


def modes(
    chain: Multibody, theta: ArrayLike | None = None, count: int | None = None, *, omega: ArrayLike | None = None
) -> list[Mode]:
    """Return the modes about `theta` (straight down, if not given), by growing frequency; the first `count` if given.

    Of a chain in space theta is a pose; with angular velocities omega they are those about steady turning round the vertical. The
    shapes are changes of the directions (N, 3) then.

    >>> from nlink.mechanics.chain import Chain
    >>> round(modes(Chain.uniform(10_000), count=1)[0].frequency, 6)
    0.037661
    """
    if count is not None:
        whole("count", count)
    if isinstance(chain, SpatialChain):
        return space_modes(chain, theta, omega)[:count]
    if omega is not None:
        raise ModelError("modes of chains in the plane are about rest; leave omega out, or ask linearize")
    torque, plain = a_model("modes", chain).load(JointTorque), isinstance(chain, Chain) and chain.pin is None
    structured = plain and all(isinstance(load, Gravity | JointSpring | JointTorque | TipForce) for load in chain.loads)
    structured = structured and not (torque and torque.takes_state)
    if count is not None and chain.n >= max(LONG, 4 * count) and structured:
        angles = spread("theta", angle_or_each("theta", 0.0 if theta is None else theta), chain.n, "links")
        slowest = _slowest(chain, np.array(angles), count)
        if slowest is not None:
            return slowest
    return linearize(chain, theta).table()[:count]


def _slowest(chain: Multibody, theta: np.ndarray, count: int) -> list[Mode] | None:
    """Return the slowest modes; None if the equilibrium is not stable, so that Lanczos does not apply."""
    from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import LinearOperator, eigsh

    band = _stiffness(chain, theta)
    try:
        factor = cholesky_banded(band)
    except LinAlgError:
        return None
    e, t = kinematics.directions(theta)
    p = chain.com[:, None] * t - chain.offset[:, None] * e
    shape = (chain.n, chain.n)
    inverse = LinearOperator(shape, lambda x: cho_solve_banded((factor, False), x), dtype=float)  # pyright: ignore[reportCallIssue]
    mass = LinearOperator(shape, lambda x: _inertia(chain, t, p, x), dtype=float)  # pyright: ignore[reportCallIssue]
    stiffness = diags_array([band[0, 1:], band[1], band[0, 1:]], offsets=[-1, 0, 1])  # pyright: ignore[reportArgumentType]
    squares, shapes = eigsh(stiffness, count, mass, sigma=0.0, OPinv=inverse, v0=np.ones(chain.n))
    out = []
    for k in np.argsort(squares):
        frequency, shape_ = float(np.sqrt(squares[k])), shapes[:, k]
        out.append(Mode(0.0, frequency, frequency, 0.0, shape_ / shape_[np.abs(shape_).argmax()]))
    return out


def _stiffness(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the upper band (2, N) of K."""
    moment, aside = chain.mass * chain.com + chain.length * chain.mass_behind, chain.mass * chain.offset
    k, tip = chain.each(JointSpring, "stiffness"), chain.load(TipForce)
    band = np.zeros((2, chain.n))
    band[1] = chain.g * (moment * np.cos(theta) - aside * np.sin(theta)) + k + np.append(k[1:], 0.0)
    if tip:
        band[1] += chain.length * (np.sin(theta) * tip.fx - np.cos(theta) * tip.fy)
    band[0, 1:] = -k[1:]
    return band


def _inertia(chain: Multibody, t: np.ndarray, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return M x: momenta of the links at rates x, turned about every hinge."""
    moved = np.cumsum((chain.length * x)[:, None] * t, axis=0) - (chain.length * x)[:, None] * t
    momentum = chain.mass[:, None] * (moved + p * x[:, None])
    tail = np.cumsum(momentum[::-1], axis=0)[::-1] - momentum
    return chain.length * (t * tail).sum(1) + (p * momentum).sum(1) + chain.inertia * x
