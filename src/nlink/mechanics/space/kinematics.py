"""Where the links of a chain in space are, how they turn, and what energy they hold: NumPy, vectorised over leading axes (time).

Coordinates c (..., K), their rates and second derivatives; with e the direction of a link and R its rotation,

    line        omega = e x e'                      alpha = e x e''
    ball        omega = 2 q' conj(q)                alpha = 2 q'' conj(q), vector parts
    hinge       omega = omega_p + sum s phi'        alpha = alpha_p + sum s phi'' + (omega before s) x s phi'
    hinge_{i+1} = hinge_i + l e                     centre = hinge_i + R com
    kinetic     = 1/2 sum m |v_G|^2 + omega.I omega
    potential   = sum m g y_G + 1/2 sum k beta^2 + 1/2 sum k_t psi^2     (beta the angle between neighbours, psi their twist)

Ends of links, forces and reactions follow from these as in the plane: `mechanics.kinematics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.mechanics import kinematics
from nlink.mechanics.kinematics import from_pivot, sum_before
from nlink.mechanics.loads import JointSpring, JointTorsion
from nlink.mechanics.points import At, Point
from nlink.mechanics.space.joints import Ball

if TYPE_CHECKING:
    from nlink.mechanics.space.model import SpatialChain

HANGING = 1e-6
"""rad: the azimuth of a line that hangs or stands closer to the vertical is not determined."""
UP = np.array([0.0, 1.0, 0.0])


class Turns(NamedTuple):
    """Directions, angular velocities and accelerations in world axes (..., N, 3), and quaternions (..., N, 4), NaN of lines."""

    direction: np.ndarray
    omega: np.ndarray
    alpha: np.ndarray
    rotation: np.ndarray


def turns(chain: SpatialChain, c: np.ndarray, v: np.ndarray | None = None, a: np.ndarray | None = None) -> Turns:
    """Return how the links stand and turn at coordinates c (..., K), their rates v and second derivatives a; zeros if not given."""
    c = np.asarray(c, float)
    v, a = (np.zeros_like(c) if each is None else np.asarray(each, float) for each in (v, a))
    if chain.lines:
        return _of_lines(c, v, a)
    shape = (*c.shape[:-1], chain.n)
    found = Turns(*(np.empty((*shape, size)) for size in (3, 3, 3, 4)))
    ground = Turns(-UP, np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    before: Turns = Turns(*(np.broadcast_to(each, (*c.shape[:-1], each.size)) for each in ground))
    for i, place in enumerate(chain.places):
        here = (each[..., place] for each in (c, v, a))
        if chain.is_line[i]:
            before = Turns(*(each[..., 0, :] for each in _of_lines(*here)))
        elif isinstance(chain.joints[i], Ball):
            before = _of_ball(*here)
        else:
            before = _of_axes(np.array(chain.joints[i].axes), before, *here)
        for kept, each in zip(found, before, strict=True):
            kept[..., i, :] = each
    return found


def _of_lines(c: np.ndarray, v: np.ndarray, a: np.ndarray) -> Turns:
    e, rate, curve = (each.reshape(*each.shape[:-1], each.shape[-1] // 3, 3) for each in (c, v, a))
    square = (e * e).sum(-1, keepdims=True)
    unit = e / np.sqrt(square)
    omega = np.cross(e, rate) / square
    alpha = (np.cross(e, curve) - 2 * (e * rate).sum(-1, keepdims=True) * omega) / square
    return Turns(unit, omega, alpha, np.full((*e.shape[:-1], 4), np.nan))


def _of_ball(c: np.ndarray, v: np.ndarray, a: np.ndarray) -> Turns:
    square = (c * c).sum(-1, keepdims=True)
    q = c / np.sqrt(square)
    omega, alpha = (2 * multiplied(each, conjugate(c))[..., 1:] / square for each in (v, a))
    return Turns(turned(q, -UP), omega, alpha, q)


def _of_axes(axes: np.ndarray, parent: Turns, c: np.ndarray, v: np.ndarray, a: np.ndarray) -> Turns:
    """Return a link that turns about axes, one after another, against its parent."""
    _, omega, alpha, q = parent
    for k, axis in enumerate(axes):
        s, rate = turned(q, axis), v[..., k, None]
        alpha = alpha + a[..., k, None] * s + rate * np.cross(omega, s)
        omega = omega + rate * s
        half = 0.5 * c[..., k, None]
        q = multiplied(q, np.concatenate([np.cos(half), np.sin(half) * axis], -1))
    return Turns(turned(q, -UP), omega, alpha, q)


def multiplied(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return products of quaternions (..., 4)."""
    a, u, b, v = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    return np.concatenate([a * b - (u * v).sum(-1, keepdims=True), a * v + b * u + np.cross(u, v)], -1)


def conjugate(q: np.ndarray) -> np.ndarray:
    """Return conjugate quaternions."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def turned(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return vectors (..., 3) turned by unit quaternions."""
    w, u = q[..., :1], q[..., 1:]
    twice = 2 * np.cross(u, vector)
    return vector + w * twice + np.cross(u, twice)


def _from_body(chain: SpatialChain, at: Turns, values: np.ndarray) -> np.ndarray:
    """Return vectors (..., N, 3) in body axes in world axes; of lines only what lies along them."""
    along = -values[..., 1:2] * at.direction
    return along if chain.lines else np.where(np.array(chain.is_line)[:, None], along, turned(at.rotation, values))


def _spins(chain: SpatialChain, at: Turns) -> np.ndarray:
    """Return the angular momentum of each link about its centre of mass (..., N, 3), without rotors."""
    line = chain.inertia[:, None] * at.omega
    if chain.lines:
        return line
    inner = turned(conjugate(at.rotation), at.omega)
    body = turned(at.rotation, np.einsum("nij,...nj->...ni", chain.tensor, inner))
    return np.where(np.array(chain.is_line)[:, None], line, body)


def directions(chain: SpatialChain, c: np.ndarray) -> np.ndarray:
    """Return the unit vectors along the links (..., N, 3)."""
    return turns(chain, c).direction


def inclination(direction: np.ndarray) -> np.ndarray:
    """Return angles from straight down, 0 to pi (...), of directions (..., 3)."""
    return np.arctan2(np.hypot(direction[..., 0], direction[..., 2]), -direction[..., 1])


def azimuth(direction: np.ndarray) -> np.ndarray:
    """Return angles about the vertical (...) of directions (..., 3), from x to z; NaN where a link is vertical."""
    across = np.hypot(direction[..., 0], direction[..., 2])
    return np.where(across < HANGING, np.nan, np.arctan2(direction[..., 2], direction[..., 0]))


def hinges(chain: SpatialChain, c: np.ndarray) -> np.ndarray:
    """Return the pivot and the link ends, (..., N+1, 3) in m."""
    return from_pivot(chain.length[:, None] * directions(chain, c))


def hinge_velocities(chain: SpatialChain, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the velocities of the pivot and the link ends, (..., N+1, 3) in m/s."""
    at = turns(chain, c, v)
    return from_pivot(chain.length[:, None] * np.cross(at.omega, at.direction))


def points(chain: SpatialChain, c: np.ndarray, places: Sequence[Point]) -> np.ndarray:
    """Return where points of links and of the ground (x, y, z) are, (..., K, 3) in m."""
    at, ends = turns(chain, c), hinges(chain, c)
    found = [_spot(chain, place, at, ends[..., place.link, :]) if isinstance(place, At) else np.array(place) for place in places]
    shape = (*np.shape(c)[:-1], 3)
    return np.stack([np.broadcast_to(each, shape) for each in found], -2) if found else np.zeros((*shape[:-1], 0, 3))


def _spot(chain: SpatialChain, place: At, at: Turns, hinge: np.ndarray) -> np.ndarray:
    """Return where a point of a link is: so far along it, and of a body so far along x of its axes."""
    i = place.link
    along = float(chain.length[i]) if place.along is None else place.along
    spot = hinge + along * at.direction[..., i, :]
    if not place.left:
        return spot
    if chain.is_line[i]:
        raise ModelError(f"At({i}).left must be 0, got {place.left:g}: links[{i}] is a line, which has no left")
    return spot + place.left * turned(at.rotation[..., i, :], np.array([1.0, 0.0, 0.0]))


def centres(chain: SpatialChain, c: np.ndarray) -> np.ndarray:
    """Return the centres of mass, (..., N, 3) in m."""
    at = turns(chain, c)
    return from_pivot(chain.length[:, None] * at.direction)[..., :-1, :] + _from_body(chain, at, chain.centre)


def centre_velocities(chain: SpatialChain, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the velocities of the centres of mass, (..., N, 3) in m/s."""
    at = turns(chain, c, v)
    upper = from_pivot(chain.length[:, None] * np.cross(at.omega, at.direction))[..., :-1, :]
    return upper + np.cross(at.omega, _from_body(chain, at, chain.centre))


def centre_accelerations(chain: SpatialChain, c: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the accelerations of the centres of mass, (..., N, 3) in m/s^2."""
    at = turns(chain, c, v, a)
    pulls = (
        np.cross(at.alpha, r) + np.cross(at.omega, np.cross(at.omega, r))
        for r in (at.direction, _from_body(chain, at, chain.centre))
    )
    along, own = pulls
    return from_pivot(chain.length[:, None] * along)[..., :-1, :] + own


def energies(chain: SpatialChain, c: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kinetic and potential energy, each (...) in J."""
    if chain.lines:
        return _energies_of_lines(chain, np.asarray(c), np.asarray(v))
    return kinetic_energy(chain, c, v), potential_energy(chain, c)


def _energies_of_lines(chain: SpatialChain, c: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the energies of lines with directions of length 1: a centre moves as its hinge and d e' do."""
    rates = [v[..., k::3] for k in range(3)]
    speeds = ((sum_before(chain.length * rate) + chain.com * rate) ** 2 for rate in rates)
    kinetic = 0.5 * ((sum(speeds) * chain.mass).sum(-1) + (sum(rate**2 for rate in rates) * chain.inertia).sum(-1))
    up = c[..., 1::3]
    potential = chain.g * ((sum_before(chain.length * up) + chain.com * up) * chain.mass).sum(-1)
    return kinetic, potential + spring_energy(chain, c)


def kinetic_energy(chain: SpatialChain, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the kinetic energy, (...) in J."""
    at, speed = turns(chain, c, v), centre_velocities(chain, c, v)
    return 0.5 * (((speed**2).sum(-1) * chain.mass).sum(-1) + (at.omega * _spins(chain, at)).sum((-2, -1)))


def potential_energy(chain: SpatialChain, c: np.ndarray) -> np.ndarray:
    """Return the potential energy of gravity (zero at the pivot) and of the springs, (...) in J."""
    return chain.g * (centres(chain, c)[..., 1] * chain.mass).sum(-1) + spring_energy(chain, c)


def spring_energy(chain: SpatialChain, c: np.ndarray) -> np.ndarray:
    """Return the energy stored in bending and torsion springs, (...) in J."""
    energy = np.zeros(np.shape(c)[:-1])
    if chain.load(JointSpring):
        energy = energy + 0.5 * (bend(chain, c) ** 2 * chain.each(JointSpring, "stiffness")).sum(-1)
    if chain.load(JointTorsion):
        stiffness = chain.each(JointTorsion, "stiffness")
        energy = energy + 0.5 * np.where(stiffness > 0, twist(chain, c) ** 2 * stiffness, 0.0).sum(-1)
    return energy


def bend(chain: SpatialChain, c: np.ndarray) -> np.ndarray:
    """Return the angle between each link and its parent, (..., N) in rad, 0 to pi; of the first, from straight down."""
    e = directions(chain, c)
    before = np.concatenate([np.broadcast_to(-UP, e[..., :1, :].shape), e[..., :-1, :]], -2)
    return np.arctan2(np.linalg.norm(np.cross(before, e), axis=-1), (before * e).sum(-1))


def twist(chain: SpatialChain, c: np.ndarray) -> np.ndarray:
    """Return the twist of each body against its parent about their axes, (..., N) in rad, -pi to pi; NaN beside lines."""
    q = turns(chain, c).rotation
    before = np.concatenate([np.broadcast_to([1.0, 0.0, 0.0, 0.0], q[..., :1, :].shape), q[..., :-1, :]], -2)
    p = multiplied(conjugate(before), q)
    p = np.where(p[..., :1] < 0, -p, p)
    return 2 * np.arctan2(p[..., 2], p[..., 0])


def tensions(chain: SpatialChain, c: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return how hard each upper hinge pulls its link back along it, (..., N) in N; negative where it pushes."""
    return -(kinematics.reactions(chain, c, v, a) * directions(chain, c)).sum(-1)


def angular_momentum(chain: SpatialChain, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the angular momentum of all links about the pivot, (..., 3) in kg m^2/s, that of rotors in lines included."""
    at = turns(chain, c, v)
    orbit = np.cross(centres(chain, c), chain.mass[:, None] * centre_velocities(chain, c, v))
    return (orbit + _spins(chain, at) + chain.momenta[:, None] * at.direction).sum(-2)
