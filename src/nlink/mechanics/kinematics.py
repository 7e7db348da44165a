"""Where the links are and what energy they hold: plain NumPy, vectorised over leading axes (time).

With e = (sin theta, -cos theta) and t = (cos theta, sin theta):

    hinge_{i+1} = hinge_i + l_i e_i                     v = sum l_i omega_i t_i
    centre_i    = hinge_i + d_i e_i + b_i t_i           v_G = v_hinge + omega_i (d_i t_i - b_i e_i)
    kinetic     = 1/2 sum (m_i |v_G|^2 + I_i omega_i^2)
    potential   = sum m_i g y_G + 1/2 sum k_i (theta_i - theta_{i-1} - rest_i)^2
    reaction_i  = sum_{j >= i} (m_j a_Gj - F_j)         force on link i at its upper hinge

These are the formulas of chains; mechanisms register theirs for the functions of the same names: `tree_kinematics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import Drag, FollowerForce, TipForce
from nlink.mechanics.points import At, Point


class Links(NamedTuple):
    """The parameters of links as arrays, (..., N) where they differ from chain to chain."""

    length: np.ndarray
    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray
    offset: np.ndarray


def directions(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit vectors along the links and to their left, each (..., N, 2)."""
    s, c = np.sin(theta), np.cos(theta)
    return np.stack([s, -c], -1), np.stack([c, s], -1)


@singledispatch
def along(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the unit vectors along the links, (..., N, 2)."""
    return directions(theta)[0]


@singledispatch
def hinges(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the pivot and the link ends, (..., N+1, 2) in m."""
    e, _ = directions(theta)
    return from_pivot(chain.length[:, None] * e)


@singledispatch
def hinge_velocities(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the velocities of the pivot and the link ends, (..., N+1, 2) in m/s."""
    _, t = directions(theta)
    return from_pivot((chain.length * omega)[..., None] * t)


@singledispatch
def angles(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the angles of the bodies, (..., N) in rad: of links their coordinates."""
    return theta


@singledispatch
def segments(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return both ends of each link, its joint first, (..., N, 2, 2) in m; in space (..., N, 2, 3)."""
    ends = hinges(chain, theta)
    return np.stack([ends[..., :-1, :], ends[..., 1:, :]], -2)


@singledispatch
def points(chain: Multibody, theta: np.ndarray, places: Sequence[Point]) -> np.ndarray:
    """Return where points of links and of the ground are, (..., K, 2) in m."""
    ends, (e, t) = hinges(chain, theta), directions(theta)
    return _stacked(theta, [_spot(place, ends, e, t) for place in places])


@singledispatch
def point_velocities(chain: Multibody, theta: np.ndarray, omega: np.ndarray, places: Sequence[Point]) -> np.ndarray:
    """Return the velocities of points of links and of the ground, (..., K, 2) in m/s."""
    ends, (e, t) = hinge_velocities(chain, theta, omega), directions(theta)
    spin = omega[..., None]
    return _stacked(theta, [_spot(place, ends, spin * t, -spin * e) if isinstance(place, At) else (0.0, 0.0) for place in places])


def _spot(place: Point, ends: np.ndarray, along: np.ndarray, left: np.ndarray) -> np.ndarray | tuple[float, float]:
    """Return a point of a chain, or its velocity, (..., 2), by those of the hinges and of a metre along a link and to its left."""
    if not isinstance(place, At):
        return place
    i = place.link
    if place.along is None:
        return ends[..., i + 1, :] if place.left == 0 else ends[..., i + 1, :] + place.left * left[..., i, :]
    return ends[..., i, :] + place.along * along[..., i, :] + place.left * left[..., i, :]


def _stacked(theta: np.ndarray, spots: Sequence[ArrayLike]) -> np.ndarray:
    shape = (*np.shape(theta)[:-1], 2)
    return np.stack([np.broadcast_to(spot, shape) for spot in spots], -2) if spots else np.zeros((*shape[:-1], 0, 2))


@singledispatch
def centres(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the centres of mass, (..., N, 2) in m."""
    e, t = directions(theta)
    return hinges(chain, theta)[..., :-1, :] + chain.com[:, None] * e + chain.offset[:, None] * t


@singledispatch
def centre_velocities(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the velocities of the centres of mass, (..., N, 2) in m/s."""
    e, t = directions(theta)
    turning = chain.com[:, None] * t - chain.offset[:, None] * e
    return hinge_velocities(chain, theta, omega)[..., :-1, :] + omega[..., None] * turning


@singledispatch
def energies(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kinetic and potential energy, each (...) in J."""
    s, c = np.sin(theta), np.cos(theta)
    return _kinetic(chain, s, c, omega), _potential(chain, s, c) + spring_energy(chain, theta)


@singledispatch
def kinetic_energy(chain: Multibody | Links, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the kinetic energy, (...) in J."""
    return _kinetic(chain, np.sin(theta), np.cos(theta), omega)


@singledispatch
def potential_energy(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the potential energy of gravity (zero at the pivot) and of the springs, (...) in J."""
    return _potential(chain, np.sin(theta), np.cos(theta)) + spring_energy(chain, theta)


def _kinetic(chain: Multibody | Links, s: np.ndarray, c: np.ndarray, omega: np.ndarray) -> np.ndarray:
    x, y = omega * c, omega * s
    vx = sum_before(chain.length * x) + chain.com * x - chain.offset * y
    vy = sum_before(chain.length * y) + chain.com * y + chain.offset * x
    return 0.5 * (total(vx * vx + vy * vy, chain.mass) + total(omega * omega, chain.inertia))


def _potential(chain: Multibody, s: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Each link lifts what hangs on it, m_i d_i + l_i (m_{i+1} + ... + m_N), and its own offset mass."""
    lifted = chain.mass * chain.com + chain.length * sum_before(chain.mass[::-1])[::-1]
    return chain.g * (total(s, chain.mass * chain.offset) - total(c, lifted))


@singledispatch
def spring_energy(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the energy stored in the joint springs, (...) in J."""
    energy = np.zeros(theta.shape[:-1])
    for load in chain.loads:
        if load.law and load.law.stiffness:
            stretch = np.diff(theta, axis=-1, prepend=0.0) - chain.each(type(load), load.law.origin)
            energy = energy + 0.5 * total(stretch**2, chain.each(type(load), load.law.stiffness))
    return energy


@singledispatch
def centre_accelerations(chain: Multibody, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the accelerations of the centres of mass, (..., N, 2) in m/s^2."""
    e, t = directions(theta)
    turning, inward = alpha[..., None], omega[..., None] ** 2
    hinge = from_pivot(chain.length[:, None] * (turning * t - inward * e))[..., :-1, :]
    d, b = chain.com[:, None], chain.offset[:, None]
    return hinge + turning * (d * t - b * e) - inward * (d * e + b * t)


@singledispatch
def forces(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the forces of the loads on each link (gravity, drag, at the tip), (..., N, 2) in N, in space (..., N, 3)."""
    v = centre_velocities(chain, theta, omega)
    speed = np.linalg.norm(v, axis=-1)
    out = -(chain.each(Drag, "linear") + chain.each(Drag, "quadratic") * speed)[..., None] * v
    out[..., 1] -= chain.mass * chain.g
    tip, follower = chain.load(TipForce), chain.load(FollowerForce)
    if tip:
        out[..., -1, :] += (tip.fx, tip.fy, tip.fz or 0.0)[: out.shape[-1]]
    if follower:
        out[..., -1, :] -= follower.force * along(chain, theta)[..., -1, :]
    return out


@singledispatch
def reactions(
    chain: Multibody, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray, tip: np.ndarray | None = None
) -> np.ndarray:
    """Return the force on each link at its upper hinge, (..., N, 2) in N, in space (..., N, 3); with the force `tip` of a pin on
    the last tip, (..., 2), that too: (..., N+1, 2).
    """
    inertial = chain.mass[:, None] * centre_accelerations(chain, theta, omega, alpha)
    net = inertial - forces(chain, theta, omega)
    hinges = np.cumsum(net[..., ::-1, :], axis=-2)[..., ::-1, :]
    return hinges if tip is None else np.concatenate([hinges - tip[..., None, :], tip[..., None, :]], axis=-2)


def momentum(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the momentum of all links, (..., 2) in kg m/s."""
    return (chain.mass[:, None] * centre_velocities(chain, theta, omega)).sum(-2)


@singledispatch
def angular_momentum(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the angular momentum of all links about the origin, (...) in kg m^2/s."""
    x, v = centres(chain, theta), centre_velocities(chain, theta, omega)
    return total(x[..., 0] * v[..., 1] - x[..., 1] * v[..., 0], chain.mass) + total(omega, chain.inertia)


def total(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sums over the links, each to the same bits whatever is computed beside it (a matrix product is not)."""
    return (values * weights).sum(-1)


def sum_before(values: np.ndarray) -> np.ndarray:
    """Return for each link the sum over those before it."""
    out = np.zeros_like(values)
    np.cumsum(values[..., :-1], axis=-1, out=out[..., 1:])
    return out


def from_pivot(steps: np.ndarray) -> np.ndarray:
    """Return the running sums of steps (..., N, axes), starting at the origin: (..., N+1, axes)."""
    out = np.zeros((*steps.shape[:-2], steps.shape[-2] + 1, steps.shape[-1]))
    np.cumsum(steps, axis=-2, out=out[..., 1:, :])
    return out
