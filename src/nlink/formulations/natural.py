"""`natural`: hinge points and the last link's unit vector, a constant mass matrix, quadratic constraints.

Coordinates: the lower hinge B_i of every link but the last, and the unit vector u along the last. A link between its hinges
A and B has e = (B - A)/l, the last e = u; with S the turn by 90 degrees, t = S e and the centre of mass G = A + (d + b S) e are
linear in the coordinates, so the mass matrix of 1/2 m |G'|^2 + 1/2 I |e'|^2 is constant. One constraint a link:

    |B - A|^2 - l^2 = 0,      |u|^2 - 1 = 0

A moment tau on a link acts as tau t/|e|^2 on e. The angles of the links follow from e by the arc tangent; the state carries
them along (theta' = omega) to know how often each link has turned over. After the double pendulum in natural coordinates,
generalised to N links and offset centres of mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nlink import kinematics
from nlink._jit import kernel
from nlink.chain import Chain
from nlink.formulations.constrained import CURVE, HALF, OM, PHI, RATE, TH, ConstrainedFormulation, register
from nlink.formulations.stabilization import Handling
from nlink.kernels import COM, FX, FY, INERTIA, LENGTH, MASS, MZ, OFFSET, C, ChainParameters, S


class NaturalParameters(NamedTuple):
    """A chain, the handling of its constraints, and the shape of the state."""

    chain: ChainParameters
    handling: Handling
    nl: int
    nq: int
    na: int
    size: int


@dataclass(frozen=True)
class Natural(ConstrainedFormulation):
    """Hinge points and the last unit vector; `constraints` says how the distances are kept."""

    name: ClassVar[str] = "natural"
    shape: ClassVar[tuple[int, int, int]] = (1, 2, 1)
    kind: ClassVar[type[Any]] = NaturalParameters
    constraints: Any = "none"

    def encode(self, chain: Chain, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return points, velocities, angles, and filtered multipliers of zero."""
        e, t = kinematics.directions(theta)
        q, v = kinematics.hinges(chain, theta)[..., 1:, :], kinematics.hinge_velocities(chain, theta, omega)[..., 1:, :]
        q[..., -1, :], v[..., -1, :] = e[..., -1, :], omega[..., -1:] * t[..., -1, :]
        return self.joined(chain, q, v, theta)

    def decode(self, chain: Chain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the angles of the links, turned over as often as the state says, and their rates."""
        e, rate = self._directions(chain, state)
        carried = state[..., 4 * chain.n : 5 * chain.n]
        theta = np.arctan2(e[..., 0], -e[..., 1])
        theta = theta + 2 * math.pi * np.round((carried - theta) / (2 * math.pi))
        return theta, _cross(e, rate) / (e**2).sum(-1)

    def decode_rates(self, chain: Chain, state: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the angular accelerations."""
        e, rate = self._directions(chain, state)
        _, curve = self._directions(chain, rates)
        square = (e**2).sum(-1)
        return _cross(e, curve) / square - 2 * (e * rate).sum(-1) * _cross(e, rate) / square**2

    def energy(self, chain: Chain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the energies of the points as they are, drift included."""
        e, rate = self._directions(chain, state)
        G, v = (self._centres(chain, part, unit) for part, unit in zip(self.split(chain, state), (e, rate), strict=True))
        total = kinematics.total
        moving = 0.5 * (total((v**2).sum(-1), chain.mass) + total((rate**2).sum(-1), chain.inertia))
        return moving, total(G[..., 1], chain.mass * chain.g) + kinematics.spring_energy(chain, self.decode(chain, state)[0])

    def violation(self, chain: Chain, state: np.ndarray) -> np.ndarray:
        """Return the largest |Phi|: of squared lengths in m^2, and of the square of the unit vector."""
        e, _ = self._directions(chain, state)
        scale = np.append(chain.length[:-1] ** 2, 1.0)
        return np.abs(scale * ((e**2).sum(-1) - 1)).max(-1)

    def turning(self, n: int) -> np.ndarray:
        """Return True for the angles carried along."""
        index = np.arange(self.size(n))
        return (index >= 4 * n) & (index < 5 * n)

    def _directions(self, chain: Chain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return e of every link, and its rate."""
        return tuple(_along(chain, part) for part in self.split(chain, state))  # type: ignore[return-value]

    def _centres(self, chain: Chain, points: np.ndarray, e: np.ndarray) -> np.ndarray:
        upper = np.concatenate([np.zeros_like(points[..., :1, :]), points[..., :-1, :]], axis=-2)
        t = np.stack([-e[..., 1], e[..., 0]], axis=-1)
        return upper + chain.com[:, None] * e + chain.offset[:, None] * t


def _along(chain: Chain, points: np.ndarray) -> np.ndarray:
    steps = np.diff(points, axis=-2, prepend=np.zeros_like(points[..., :1, :])) / chain.length[:, None]
    steps[..., -1, :] = points[..., -1, :]
    return steps


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


@kernel
def along(y, p, i, at, axis):
    """Return a component of e of link i (at = 0), or of its rate (at = 2 n)."""
    if i == p.chain.n - 1:
        return y[at + 2 * i + axis]
    before = y[at + 2 * i - 2 + axis] if i > 0 else 0.0
    return (y[at + 2 * i + axis] - before) / p.chain.links[LENGTH, i]


def pose(y, p, w):
    """Fill TH, OM, S, C from the directions of the links."""
    n = p.chain.n
    for i in range(n):
        ex, ey = along(y, p, i, 0, 0), along(y, p, i, 0, 1)
        vx, vy = along(y, p, i, 2 * n, 0), along(y, p, i, 2 * n, 1)
        square = ex * ex + ey * ey
        size = math.sqrt(square)
        angle = math.atan2(ex, -ey)
        w[TH, i] = angle + 2.0 * math.pi * math.floor((y[4 * n + i] - angle) / (2.0 * math.pi) + 0.5)
        w[OM, i] = (ex * vy - ey * vx) / square
        w[S, i], w[C, i] = ex / size, -ey / size


def height(y, p, i, at):
    """Return the height of the centre of mass, or its rate."""
    start = y[at + 2 * i - 1] if i > 0 else 0.0
    return start + p.chain.links[COM, i] * along(y, p, i, at, 1) + p.chain.links[OFFSET, i] * along(y, p, i, at, 0)


def equations(y, p, band, right, w):
    """Fill masses, the derivatives of the constraints, forces, and Phi, Phi', gamma."""
    chain = p.chain
    n = chain.n
    for row in range(len(right)):
        right[row] = 0.0
        for k in range(band.shape[1]):
            band[row, k] = 0.0
    for i in range(n):
        last = i == n - 1
        scale = 1.0 if last else 1.0 / chain.links[LENGTH, i]
        mass, d, b = chain.links[MASS, i], scale * chain.links[COM, i], scale * chain.links[OFFSET, i]
        inertia = scale * scale * chain.links[INERTIA, i] + mass * (d * d + b * b)
        head = 3 * i - 2
        tail = 3 * i + 1
        weight(band, tail, tail, inertia, 0.0)
        if i > 0:
            weight(band, head, head, mass if last else inertia + mass * (1.0 - 2.0 * d), 0.0)
            weight(band, head, tail, mass * d - (0.0 if last else inertia), mass * b)
        push(y, p, right, w, i, scale)
        constrain(y, p, band, w, i)


@kernel
def weight(band, row, column, same, turned):
    """Add the block same 1 + turned S to the masses, and its transpose on the other side of the diagonal."""
    band[row, HALF + column - row] += same
    band[row + 1, HALF + column - row] += same
    if row != column:
        band[row, HALF + column + 1 - row] -= turned
        band[row + 1, HALF + column - row - 1] += turned
        band[column, HALF + row - column] += same
        band[column + 1, HALF + row - column] += same
        band[column + 1, HALF + row - column - 1] -= turned
        band[column, HALF + row + 1 - column] += turned


@kernel
def push(y, p, right, w, i, scale):
    """Add the force and the moment on link i to the forces on its coordinates."""
    chain = p.chain
    n = chain.n
    fx, fy = w[FX, i], w[FY, i] - chain.links[MASS, i] * chain.g
    d, b = chain.links[COM, i], chain.links[OFFSET, i]
    ex, ey = along(y, p, i, 0, 0), along(y, p, i, 0, 1)
    moment = w[MZ, i] / (ex * ex + ey * ey)
    gx = scale * (d * fx + b * fy - moment * ey)
    gy = scale * (d * fy - b * fx + moment * ex)
    right[3 * i + 1] += gx
    right[3 * i + 2] += gy
    if i > 0:
        right[3 * i - 2] += fx if i == n - 1 else fx - gx
        right[3 * i - 1] += fy if i == n - 1 else fy - gy


@kernel
def constrain(y, p, band, w, i):
    """Fill the constraint of link i."""
    n = p.chain.n
    last = i == n - 1
    length = 1.0 if last else p.chain.links[LENGTH, i]
    ex, ey = length * along(y, p, i, 0, 0), length * along(y, p, i, 0, 1)
    vx, vy = length * along(y, p, i, 2 * n, 0), length * along(y, p, i, 2 * n, 1)
    w[PHI, i] = ex * ex + ey * ey - length * length
    w[RATE, i] = 2.0 * (ex * vx + ey * vy)
    w[CURVE, i] = -2.0 * (vx * vx + vy * vy)
    row = 3 * i
    for k in range(2):
        value = 2.0 * (ex if k == 0 else ey)
        band[row, HALF + 1 + k] = value
        band[row + 1 + k, HALF - 1 - k] = value
        if i > 0 and not last:
            band[row, HALF - 2 + k] = -value
            band[row - 2 + k, HALF + 2 - k] = -value


register(NaturalParameters, pose, equations, height)
