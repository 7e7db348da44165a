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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlink.compiled.jit import kernel
from nlink.formulations.constrained import ConstrainedFormulation, ConstrainedParameters, register
from nlink.formulations.loop import A0, KEPT, OM, TH
from nlink.formulations.pieces import ACC, CURVE, FORCE, LAMBDA, OUT, OWN, PHI, RATE, RIGHT
from nlink.formulations.settling import rebuilt
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.mechanics.kernels import sincos
from nlink.mechanics.parameters import COM, INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, MZ, C, S

if TYPE_CHECKING:
    from nlink.formulations.space.natural import SpaceNatural
    from nlink.mechanics.space.model import SpatialChain

EX, EY, AX, AY, X0, Y0, L0, YX, YY, XXX, XXY, XYX, XYY, VX, VY = range(OWN, OWN + 15)


class NaturalParameters(ConstrainedParameters):
    """An open chain."""


class NaturalLoopParameters(ConstrainedParameters):
    """A closed chain."""


@dataclass(frozen=True)
class Natural(ConstrainedFormulation):
    """Hinge points and the last unit vector; `constraints` says how the distances are kept."""

    name: ClassVar[str] = "natural"
    shape: ClassVar[tuple[int, int, int]] = (1, 2, 1)
    kind: ClassVar[type] = NaturalParameters
    loop: ClassVar[type] = NaturalLoopParameters
    constraints: Any = "none"

    def of_space(self, chain: SpatialChain) -> SpaceNatural:
        """Return the natural coordinates of a chain of lines in space."""
        from nlink.formulations.space.natural import SpaceNatural

        return SpaceNatural(self.constraints)

    def encode(self, chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return points, velocities, angles, and filtered multipliers of zero."""
        e, t = kinematics.directions(theta)
        q, v = kinematics.hinges(chain, theta)[..., 1:, :], kinematics.hinge_velocities(chain, theta, omega)[..., 1:, :]
        q[..., -1, :], v[..., -1, :] = e[..., -1, :], omega[..., -1:] * t[..., -1, :]
        return self.joined(chain, q, v, theta)

    def decode(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the angles of the links, turned over as often as the state says, and their rates."""
        e, rate = self._directions(chain, state)
        carried = state[..., 4 * chain.n : 5 * chain.n]
        theta = np.arctan2(e[..., 0], -e[..., 1])
        theta = theta + 2 * math.pi * np.round((carried - theta) / (2 * math.pi))
        return theta, _cross(e, rate) / (e**2).sum(-1)

    def decode_rates(self, chain: Multibody, state: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the angular accelerations."""
        e, rate = self._directions(chain, state)
        _, curve = self._directions(chain, rates)
        square = (e**2).sum(-1)
        return _cross(e, curve) / square - 2 * (e * rate).sum(-1) * _cross(e, rate) / square**2

    def energy(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the energies of the points as they are, drift included."""
        e, rate = self._directions(chain, state)
        G, v = (self._centres(chain, part, unit) for part, unit in zip(self.split(chain, state), (e, rate), strict=True))
        total = kinematics.total
        moving = 0.5 * (total((v**2).sum(-1), chain.mass) + total((rate**2).sum(-1), chain.inertia))
        return moving, total(G[..., 1], chain.mass * chain.g) + kinematics.spring_energy(chain, self.decode(chain, state)[0])

    def violation(self, chain: Multibody, state: np.ndarray) -> np.ndarray:
        """Return the largest |Phi|: of squared lengths in m^2, of the square of the unit vector, and of the gap at the pin in m."""
        e, _ = self._directions(chain, state)
        scale = np.append(chain.length[:-1] ** 2, 1.0)
        worst = np.abs(scale * ((e**2).sum(-1) - 1)).max(-1)
        if chain.pin:
            gap = (chain.length[:, None] * e).sum(-2) - chain.pin
            worst = np.maximum(worst, np.abs(gap).max(-1))
        return worst

    def turning(self, n: int) -> np.ndarray:
        """Return True for the angles carried along."""
        index = np.arange(self.size(n))
        return (index >= 4 * n) & (index < 5 * n)

    def _directions(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return e of every link, and its rate."""
        return tuple(_along(chain, part) for part in self.split(chain, state))  # type: ignore[return-value]

    def _centres(self, chain: Multibody, points: np.ndarray, e: np.ndarray) -> np.ndarray:
        upper = np.concatenate([np.zeros_like(points[..., :1, :]), points[..., :-1, :]], axis=-2)
        t = np.stack([-e[..., 1], e[..., 0]], axis=-1)
        return upper + chain.com[:, None] * e + chain.offset[:, None] * t


def _along(chain: Multibody, points: np.ndarray) -> np.ndarray:
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
    """Fill TH, OM, S, C from the directions of the links, and Phi, Phi'; the angles only if loads or a pin ask for them."""
    n = p.chain.n
    for i in range(n):
        ex, ey = along(y, p, i, 0, 0), along(y, p, i, 0, 1)
        vx, vy = along(y, p, i, 2 * n, 0), along(y, p, i, 2 * n, 1)
        square = ex * ex + ey * ey
        w[EX, i], w[EY, i], w[VX, i], w[VY, i] = ex, ey, vx, vy
        area = 1.0 if i == n - 1 else p.chain.links[LENGTH, i] * p.chain.links[LENGTH, i]
        w[PHI, i], w[RATE, i] = area * (square - 1.0), 2.0 * area * (ex * vx + ey * vy)
        w[OM, i] = (ex * vy - ey * vx) / square
        w[TH, i] = 0.0
        if p.chain.loaded or p.chain.closed:
            size = math.sqrt(square)
            w[S, i], w[C, i] = ex / size, -ey / size
            angle = math.atan2(ex, -ey)
            w[TH, i] = angle + 2.0 * math.pi * math.floor((y[4 * n + i] - angle) / (2.0 * math.pi) + 0.5)


def height(y, p, i, at):
    """Return the height of the centre of mass, or its rate."""
    start = y[at + 2 * i - 1] if i > 0 else 0.0
    return start + p.chain.links[COM, i] * along(y, p, i, at, 1) + p.chain.links[OFFSET, i] * along(y, p, i, at, 0)


def kinetic(y, p, w):
    """Return the kinetic energy."""
    n, links = p.chain.n, p.chain.links
    total = 0.0
    for i in range(n):
        ux, uy = along(y, p, i, 2 * n, 0), along(y, p, i, 2 * n, 1)
        vx = (y[2 * n + 2 * i - 2] if i > 0 else 0.0) + links[COM, i] * ux - links[OFFSET, i] * uy
        vy = (y[2 * n + 2 * i - 1] if i > 0 else 0.0) + links[COM, i] * uy + links[OFFSET, i] * ux
        total += 0.5 * (links[MASS, i] * (vx * vx + vy * vy) + links[INERTIA, i] * (ux * ux + uy * uy))
    return total


def equations(y, p, w):
    """Fill the forces, gamma, and the derivatives of the constraints by a link's own point."""
    chain = p.chain
    n = chain.n
    for i in range(n):
        last = i == n - 1
        length = 1.0 if last else chain.links[LENGTH, i]
        mass, d, b = chain.links[MASS, i], chain.links[COM, i], chain.links[OFFSET, i]
        ex, ey, vx, vy = w[EX, i], w[EY, i], w[VX, i], w[VY, i]
        w[CURVE, i] = -2.0 * length * length * (vx * vx + vy * vy)
        w[AX, i], w[AY, i] = 2.0 * length * ex, 2.0 * length * ey
        fx, fy = w[FX, i], w[FY, i] - mass * chain.g
        moment = w[MZ, i] / (ex * ex + ey * ey)
        gx = (d * fx + b * fy - moment * ey) / length
        gy = (d * fy - b * fx + moment * ex) / length
        w[FORCE, i], w[FORCE + 1, i] = gx, gy
        if i > 0:
            w[FORCE, i - 1] += fx if last else fx - gx
            w[FORCE + 1, i - 1] += fy if last else fy - gy


@kernel
def masses(p, i):
    """Return what link i adds to the mass matrix: own 1 at its own point, head 1 at the point of the link before, and between
    them same 1 - turned S (row of its own point).
    """
    links, last = p.chain.links, i == p.chain.n - 1
    scale = 1.0 if last else 1.0 / links[LENGTH, i]
    mass, d, b = links[MASS, i], scale * links[COM, i], scale * links[OFFSET, i]
    own = scale * scale * links[INERTIA, i] + mass * (d * d + b * b)
    if last:
        return own, mass, mass * d, mass * b
    return own, own + mass * (1.0 - 2.0 * d), mass * d - own, mass * b


def solve(p, w, epsilon, forced, plain):
    """Eliminate link by link from the tip inwards, then find the unknowns from the pivot outwards.

    With M the mass of a link's own point x and all that hangs on it, x_ that of the link before, c = 1 (0 for the last link,
    whose constraint knows only its own vector), and N the mass that couples x to x_:

        a.x - epsilon lambda = k = RIGHT + c a.x_        M x + a lambda = f - N x_

    With n = S a, adj M the adjugate of M and D = epsilon det M + n.M n the solution is

        x = (n n^T + epsilon adj M)/D (f - N x_) + g k        lambda = g.(f - N x_) - (det M / D) k        g = adj M a / D

    that is x = x0 - X x_, lambda = lambda0 - Y.x_; the link before gains the mass c a Y - N^T X and the force c a lambda0 - N^T x0.
    """
    chain = p.chain
    mxx = mxy = myy = fx = fy = 0.0
    for j in range(chain.n):
        i = chain.n - 1 - j
        last = j == 0
        own, head, same, turned = masses(p, i)
        if plain:
            own = head = 1.0
            same = turned = 0.0
        mxx += own
        myy += own
        if forced:
            fx += w[FORCE, i]
            fy += w[FORCE + 1, i]
        ax, ay, k = w[AX, i], w[AY, i], w[RIGHT, i]
        det = mxx * myy - mxy * mxy
        gx, gy = myy * ax - mxy * ay, mxx * ay - mxy * ax
        inverse = 1.0 / (epsilon * det + (ax * gx + ay * gy))
        gx *= inverse
        gy *= inverse
        soft = epsilon * inverse
        pxx, pxy, pyy = ay * ay * inverse + soft * myy, -ax * ay * inverse - soft * mxy, ax * ax * inverse + soft * mxx
        x0, y0, l0 = pxx * fx + pxy * fy + gx * k, pxy * fx + pyy * fy + gy * k, gx * fx + gy * fy - det * inverse * k
        cx, cy = (0.0, 0.0) if last else (ax, ay)
        xxx, xxy = pxx * same - pxy * turned - gx * cx, pxx * turned + pxy * same - gx * cy
        xyx, xyy = pxy * same - pyy * turned - gy * cx, pxy * turned + pyy * same - gy * cy
        yx, yy = gx * same - gy * turned + det * inverse * cx, gx * turned + gy * same + det * inverse * cy
        w[X0, i], w[Y0, i], w[L0, i], w[YX, i], w[YY, i] = x0, y0, l0, yx, yy
        w[XXX, i], w[XXY, i], w[XYX, i], w[XYY, i] = xxx, xxy, xyx, xyy
        mxx = (0.0 if plain or i == 0 else head) + cx * yx - (same * xxx - turned * xyx)
        mxy = cx * yy - (same * xxy - turned * xyy)
        myy = (0.0 if plain or i == 0 else head) + cy * yy - (turned * xxy + same * xyy)
        fx, fy = cx * l0 - (same * x0 - turned * y0), cy * l0 - (turned * x0 + same * y0)
    beforex = beforey = 0.0
    for i in range(chain.n):
        w[LAMBDA, i] = w[L0, i] - w[YX, i] * beforex - w[YY, i] * beforey
        x = w[X0, i] - w[XXX, i] * beforex - w[XXY, i] * beforey
        y = w[Y0, i] - w[XYX, i] * beforex - w[XYY, i] * beforey
        w[ACC, i], w[ACC + 1, i] = x, y
        beforex, beforey = x, y


def inertia(p, w):
    """Fill OUT with the masses times ACC."""
    for i in range(p.chain.n):
        own, head, same, turned = masses(p, i)
        x, y = w[ACC, i], w[ACC + 1, i]
        w[OUT, i], w[OUT + 1, i] = own * x, own * y
        if i > 0:
            beforex, beforey = w[ACC, i - 1], w[ACC + 1, i - 1]
            w[OUT, i] += same * beforex + turned * beforey
            w[OUT + 1, i] += same * beforey - turned * beforex
            w[OUT, i - 1] += head * beforex + same * x - turned * y
            w[OUT + 1, i - 1] += head * beforey + same * y + turned * x


def pull(p, w, row):
    """Fill OUT with the forces of the multipliers in `row`."""
    n = p.chain.n
    for i in range(n):
        x, y = w[AX, i] * w[row, i], w[AY, i] * w[row, i]
        w[OUT, i], w[OUT + 1, i] = x, y
        if 0 < i < n - 1:
            w[OUT, i - 1] -= x
            w[OUT + 1, i - 1] -= y


def repose(p, w):
    """Turn the directions of the links to the angles, with their rates."""
    for i in range(p.chain.n):
        w[EX, i], w[EY, i] = w[S, i], -w[C, i]
        w[VX, i], w[VY, i] = w[OM, i] * w[C, i], w[OM, i] * w[S, i]


def tug(p, w, fx, fy):
    """Fill FORCE with the force (fx, fy) at the last tip."""
    n = p.chain.n
    for i in range(n):
        w[FORCE, i] = w[FORCE + 1, i] = 0.0
    length = p.chain.links[LENGTH, n - 1]
    w[FORCE, n - 1], w[FORCE + 1, n - 1] = length * fx, length * fy
    if n > 1:
        w[FORCE, n - 2], w[FORCE + 1, n - 2] = fx, fy


def follow(p, w):
    """Fill ACC from the angular accelerations in A0."""
    n = p.chain.n
    ax = ay = 0.0
    for i in range(n):
        s, c, alpha, square = w[S, i], w[C, i], w[A0, i], w[OM, i] * w[OM, i]
        length = p.chain.links[LENGTH, i]
        if i == n - 1:
            length, ax, ay = 1.0, 0.0, 0.0
        ax += length * (alpha * c - square * s)
        ay += length * (alpha * s + square * c)
        w[ACC, i], w[ACC + 1, i] = ax, ay


def turning(p, w):
    """Fill OUT with the angular accelerations."""
    n = p.chain.n
    for i in range(n):
        x, y = w[ACC, i], w[ACC + 1, i]
        if i < n - 1:
            before, above = (w[ACC, i - 1], w[ACC + 1, i - 1]) if i > 0 else (0.0, 0.0)
            x, y = (x - before) / p.chain.links[LENGTH, i], (y - above) / p.chain.links[LENGTH, i]
        ex, ey, vx, vy = w[EX, i], w[EY, i], w[VX, i], w[VY, i]
        square = ex * ex + ey * ey
        w[OUT, i] = (ex * y - ey * x) / square - 2.0 * (ex * vx + ey * vy) * (ex * vy - ey * vx) / (square * square)


def shift(y, p, w):
    """Turn the links with their angles and rates, hinge by hinge; place them anew, if nothing else keeps their lengths."""
    n = p.chain.n
    keep = 0.0 if rebuilt(p.handling) else 1.0
    x = y_ = vx = vy = 0.0
    for i in range(n):
        s0, c0 = sincos(w[KEPT, i])
        s1, c1 = sincos(w[TH, i])
        old, new = w[KEPT + 1, i], w[OM, i]
        length = p.chain.links[LENGTH, i]
        s, c, us, uc = s1 - keep * s0, c1 - keep * c0, new * s1 - keep * old * s0, new * c1 - keep * old * c0
        if i == n - 1:
            length, x, y_, vx, vy = 1.0, 0.0, 0.0, 0.0, 0.0
        x += length * s
        y_ -= length * c
        vx += length * uc
        vy += length * us
        y[2 * i] = keep * y[2 * i] + x
        y[2 * i + 1] = keep * y[2 * i + 1] + y_
        y[2 * n + 2 * i] = keep * y[2 * n + 2 * i] + vx
        y[2 * n + 2 * i + 1] = keep * y[2 * n + 2 * i + 1] + vy
        y[4 * n + i] = w[TH, i]


register(
    (NaturalParameters, NaturalLoopParameters),
    (pose, equations, solve, inertia, pull, repose, tug, follow, turning, shift, kinetic, height),
)
