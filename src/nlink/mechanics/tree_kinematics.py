"""Where the bodies of a mechanism are and what energy they hold: NumPy, vectorised over leading axes (time).

Body i hangs on its parent k at a e_k + l t_k, a slide s further along its direction d. With S the turn by +90 degrees (S e = t) and
r the vector from the parent's origin to its own,

    origin_i = origin_k + r          v_i = v_k + omega_k S r + s' d
    a_i      = a_k + alpha_k S r - omega_k^2 r + s'' d + 2 s' omega_k S d

`Frames` has all of it, body by body; points, centres, energies and reactions follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nlink.mechanics.loads import Drag, FollowerForce, PointForce, PointSpring, TipForce
from nlink.mechanics.points import GROUND, At, Point

if TYPE_CHECKING:
    from nlink.mechanics.mechanism import Mechanism


class Frames(NamedTuple):
    """The frames of all bodies: angle (..., N), origin (..., N, 2), and their first two derivatives in time."""

    angle: np.ndarray
    rate: np.ndarray
    alpha: np.ndarray
    origin: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the unit vectors e along and t to the left of each body, (..., N, 2)."""
        s, c = np.sin(self.angle), np.cos(self.angle)
        return np.stack([s, -c], -1), np.stack([c, s], -1)

    def place(self, along: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Return where a point of each body is, (..., N, 2)."""
        e, t = self.axes()
        return self.origin + along[:, None] * e + left[:, None] * t

    def speed(self, along: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Return the velocity of a point of each body, (..., N, 2)."""
        e, t = self.axes()
        return self.velocity + self.rate[..., None] * (along[:, None] * t - left[:, None] * e)

    def pull(self, along: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Return the acceleration of a point of each body, (..., N, 2)."""
        e, t = self.axes()
        r, turned = along[:, None] * e + left[:, None] * t, along[:, None] * t - left[:, None] * e
        return self.acceleration + self.alpha[..., None] * turned - (self.rate**2)[..., None] * r


def frames(model: Mechanism, q: np.ndarray, v: np.ndarray | None = None, a: np.ndarray | None = None) -> Frames:
    """Return the frames at coordinates q (..., N), their rates v and accelerations a (zeros if not given)."""
    q = np.asarray(q) if np.iscomplexobj(q) else np.asarray(q, float)
    v, a = (np.zeros_like(q) if each is None else np.asarray(each, float) for each in (v, a))
    angle, rate, alpha = (_turned(model, each) for each in (q, v, a))
    carried = model.parents >= 0
    above, w, z = (np.where(carried, each[..., model.parents], 0.0)[..., None] for each in (angle, rate, alpha))
    e, t = (np.concatenate(each, -1) for each in ((np.sin(above), -np.cos(above)), (np.cos(above), np.sin(above))))
    (along, left), (du, dl) = model.levers[..., None], model.directions[..., None]
    d, sd = du * e + dl * t, du * t - dl * e
    move, pace, push = (np.where(model.slides, each, 0.0)[..., None] for each in (q, v, a))
    r, sr = along * e + left * t + move * d, along * t - left * e + move * sd
    origin, velocity, acceleration = r, w * sr + pace * d, z * sr - w**2 * r + push * d + 2 * pace * w * sd
    for i, k in enumerate(model.parents.tolist()):
        if k >= 0:
            for each in (origin, velocity, acceleration):
                each[..., i, :] += each[..., k, :]
    return Frames(angle, rate, alpha, origin, velocity, acceleration)


def _turned(model: Mechanism, values: np.ndarray) -> np.ndarray:
    """Return the values of the links whose angles the bodies have; zeros for those of the ground."""
    return np.where(model.turners >= 0, values[..., model.turners], 0.0)


def spot(model: Mechanism, at: Frames, point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return where a point is and how fast it moves, each (..., 2)."""
    body, along, left = model.located(point)
    shape = at.angle.shape[:-1]
    if body == GROUND:
        return np.broadcast_to(np.array([left, -along]), (*shape, 2)), np.zeros((*shape, 2))
    s, c = np.sin(at.angle[..., body]), np.cos(at.angle[..., body])
    r = np.stack([along * s + left * c, left * s - along * c], -1)
    turned = np.stack([-r[..., 1], r[..., 0]], -1)
    return at.origin[..., body, :] + r, at.velocity[..., body, :] + at.rate[..., body, None] * turned


def relative(model: Mechanism, values: np.ndarray) -> np.ndarray:
    """Return the coordinates of the joints, (..., N): angles against the parents', displacements of slides."""
    angle = _turned(model, values)
    before = np.where(model.parents >= 0, angle[..., model.parents], 0.0)
    return np.where(model.slides, values, values - before)


def angles(model: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the angles of the bodies, (..., N) in rad: a slider's is that of its parent."""
    return _turned(model, np.asarray(q, float))


def points(model: Mechanism, q: np.ndarray, places: Sequence[Point]) -> np.ndarray:
    """Return where points of bodies and of the ground are, (..., K, 2) in m."""
    return _spots(model, frames(model, q), places, 0)


def point_velocities(model: Mechanism, q: np.ndarray, v: np.ndarray, places: Sequence[Point]) -> np.ndarray:
    """Return the velocities of points of bodies and of the ground, (..., K, 2) in m/s."""
    return _spots(model, frames(model, q, v), places, 1)


def _spots(model: Mechanism, at: Frames, places: Sequence[Point], which: int) -> np.ndarray:
    """Return where points are (0), or their velocities (1)."""
    found = [spot(model, at, place)[which] for place in places]
    return np.stack(found, -2) if found else np.zeros((*at.angle.shape[:-1], 0, 2))


def segments(model: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return both ends of each body, its joint first, (..., N, 2, 2) in m: of a slider the place of the joint on its parent and its
    own origin.
    """
    at = frames(model, q)
    slides = model.slides[:, None]
    tips = at.place(model.length, np.zeros(model.n))
    return np.stack([np.where(slides, _joints(model, at), at.origin), np.where(slides, at.origin, tips)], -2)


def _joints(model: Mechanism, at: Frames) -> np.ndarray:
    """Return where each joint lies on its parent, (..., N, 2)."""
    e, t = at.axes()
    along, left = model.levers
    ground = np.stack([left, -along], -1)
    on = at.origin[..., model.parents, :] + along[:, None] * e[..., model.parents, :] + left[:, None] * t[..., model.parents, :]
    return np.where((model.parents >= 0)[:, None], on, ground)


def hinges(model: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the origin of the ground and the tips of the bodies, of sliders their origins, (..., N+1, 2) in m."""
    return _with_ground(frames(model, q).place(model.length, np.zeros(model.n)))


def hinge_velocities(model: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the velocities of the origin of the ground and of the tips, (..., N+1, 2) in m/s."""
    return _with_ground(frames(model, q, v).speed(model.length, np.zeros(model.n)))


def _with_ground(points: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros_like(points[..., :1, :]), points], axis=-2)


def centres(model: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the centres of mass, (..., N, 2) in m."""
    return frames(model, q).place(model.com, model.offset)


def centre_velocities(model: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the velocities of the centres of mass, (..., N, 2) in m/s."""
    return frames(model, q, v).speed(model.com, model.offset)


def centre_accelerations(model: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the accelerations of the centres of mass, (..., N, 2) in m/s^2."""
    return frames(model, q, v, a).pull(model.com, model.offset)


def energies(model: Mechanism, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kinetic and potential energy, each (...) in J."""
    at = frames(model, q, v)
    return _kinetic(model, at), _potential(model, q, at)


def kinetic_energy(model: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the kinetic energy, (...) in J."""
    return _kinetic(model, frames(model, q, v))


def potential_energy(model: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the potential energy of gravity (zero at the height of the origin) and of the springs, (...) in J."""
    return _potential(model, q, frames(model, q))


def spring_energy(model: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the energy stored in the springs of the joints and between points, (...) in J."""
    return _springs(model, q, frames(model, q))


def _kinetic(model: Mechanism, at: Frames) -> np.ndarray:
    velocity = at.speed(model.com, model.offset)
    return 0.5 * ((velocity**2).sum(-1) * model.mass + at.rate**2 * model.inertia).sum(-1)


def _potential(model: Mechanism, q: np.ndarray, at: Frames) -> np.ndarray:
    return (at.place(model.com, model.offset)[..., 1] * model.mass).sum(-1) * model.g + _springs(model, q, at)


def _springs(model: Mechanism, q: np.ndarray, at: Frames) -> np.ndarray:
    energy, bent = np.zeros(np.shape(q)[:-1]), relative(model, np.asarray(q, float))
    for load in model.loads:
        if load.law and load.law.stiffness:
            stretch = bent - model.each(type(load), load.law.origin)
            energy = energy + 0.5 * (stretch**2 * model.each(type(load), load.law.stiffness)).sum(-1)
        if isinstance(load, PointSpring):
            span = spot(model, at, load.a)[0] - spot(model, at, load.b)[0]
            energy = energy + 0.5 * load.stiffness * (np.hypot(span[..., 0], span[..., 1]) - load.length) ** 2
    return energy


def forces(model: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the forces of gravity, drag, at tips and at points on each body, (..., N, 2) in N."""
    return _forces(model, frames(model, q, v))


def _forces(model: Mechanism, at: Frames) -> np.ndarray:
    v = at.speed(model.com, model.offset)
    speed = np.hypot(v[..., 0], v[..., 1])
    out = -(model.each(Drag, "linear") + model.each(Drag, "quadratic") * speed)[..., None] * v
    out[..., 1] -= model.mass * model.g
    for load in model.loads:
        if isinstance(load, TipForce):
            out[..., _tip_of(model, load), :] += (load.fx, load.fy)
        if isinstance(load, FollowerForce):
            out[..., _tip_of(model, load), :] -= load.force * at.axes()[0][..., _tip_of(model, load), :]
        if isinstance(load, PointForce) and isinstance(load.point, At):
            out[..., load.point.link, :] += (load.fx, load.fy)
        if isinstance(load, PointSpring):
            force = spring_force(model, at, load)
            for point, sign in ((load.a, 1.0), (load.b, -1.0)):
                if isinstance(point, At):
                    out[..., point.link, :] += sign * force
    return out


def spring_force(model: Mechanism, at: Frames, load: PointSpring) -> np.ndarray:
    """Return the force of a spring and its damper on its first point, (..., 2) in N."""
    (xa, va), (xb, vb) = spot(model, at, load.a), spot(model, at, load.b)
    span = xa - xb
    size = np.hypot(span[..., 0], span[..., 1])[..., None]
    line = span / np.where(size > 0, size, 1.0)
    stretching = ((va - vb) * line).sum(-1, keepdims=True)
    return -(load.stiffness * (size - load.length) + load.damping * stretching) * line


def _tip_of(model: Mechanism, load: TipForce | FollowerForce) -> int:
    return model.n - 1 if load.link is None else load.link


def reactions(model: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray, held: np.ndarray | None = None) -> np.ndarray:
    """Return the force on each body at its joint, (..., N, 2) in N; `held` (..., N, 2) are the forces of pins on the bodies."""
    at = frames(model, q, v, a)
    net = model.mass[:, None] * at.pull(model.com, model.offset) - _forces(model, at)
    net = net if held is None else net - held
    for i in range(model.n - 1, -1, -1):
        k = int(model.parents[i])
        if k >= 0:
            net[..., k, :] += net[..., i, :]
    return net


def angular_momentum(model: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the angular momentum of all bodies about the origin, (...) in kg m^2/s."""
    at = frames(model, q, v)
    x, u = at.place(model.com, model.offset), at.speed(model.com, model.offset)
    return (model.mass * (x[..., 0] * u[..., 1] - x[..., 1] * u[..., 0]) + model.inertia * at.rate).sum(-1)
