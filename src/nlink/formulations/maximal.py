"""`maximal`: position and angle of every link, the hinge forces as multipliers, constraints differentiated twice.

Coordinates x_G, y_G, theta of each link; two constraints a hinge, with r = d e + b t and p = dr/dtheta = d t - b e:

    Phi_i = (G_i - r_i) - (G_{i-1} - r_{i-1} + l_{i-1} e_{i-1})          the upper hinge is where the link before ends
    m_i G_i'' = F_i - lambda_i + lambda_{i+1}                            so the force on link i at its hinge is -lambda_i
    I_i theta_i'' = M_i + p_i.lambda_i - (p_i - l_i t_i).lambda_{i+1}

The course project's third method, right for unequal links, offsets, massless links and point masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlink.formulations.constrained import ConstrainedFormulation, ConstrainedParameters, register
from nlink.formulations.loop import A0, KEPT, OM, TH
from nlink.formulations.pieces import ACC, CURVE, FORCE, LAMBDA, OUT, OWN, PHI, RATE, RIGHT
from nlink.formulations.settling import rebuilt
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.mechanics.kernels import sincos, turn
from nlink.mechanics.parameters import COM, INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, MZ, TIP, C, S

PX, PY, TURNX, TURNY, FREE, UX, UY, LX, LY, WXX, WXY, WYY = range(OWN, OWN + 12)


class MaximalParameters(ConstrainedParameters):
    """An open chain."""


class MaximalLoopParameters(ConstrainedParameters):
    """A closed chain."""


@dataclass(frozen=True)
class Maximal(ConstrainedFormulation):
    """Position and angle of every link with hinge forces as multipliers; `constraints` says how they are kept."""

    name: ClassVar[str] = "maximal"
    shape: ClassVar[tuple[int, int, int]] = (2, 3, 0)
    kind: ClassVar[type] = MaximalParameters
    loop: ClassVar[type] = MaximalLoopParameters
    constraints: Any = "none"

    def encode(self, chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return positions, angles and their rates, and filtered multipliers of zero."""
        q = np.concatenate([kinematics.centres(chain, theta), theta[..., None]], axis=-1)
        v = np.concatenate([kinematics.centre_velocities(chain, theta, omega), omega[..., None]], axis=-1)
        return self.joined(chain, q, v)

    def decode(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the angles and their rates."""
        q, v = self.split(chain, state)
        return q[..., 2], v[..., 2]

    def decode_rates(self, chain: Multibody, state: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the angular accelerations."""
        return self.split(chain, rates)[1][..., 2]

    def energy(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the energies of the positions, angles and rates as they are, drift included."""
        q, v = self.split(chain, state)
        total = kinematics.total
        moving = 0.5 * (total(v[..., 0] ** 2 + v[..., 1] ** 2, chain.mass) + total(v[..., 2] ** 2, chain.inertia))
        return moving, total(q[..., 1], chain.mass * chain.g) + kinematics.spring_energy(chain, q[..., 2])

    def violation(self, chain: Multibody, state: np.ndarray) -> np.ndarray:
        """Return the largest gap at a hinge or at the pin, in m."""
        q, _ = self.split(chain, state)
        e, t = kinematics.directions(q[..., 2])
        upper = q[..., :2] - chain.com[:, None] * e - chain.offset[:, None] * t
        lower = upper + chain.length[:, None] * e
        gaps = np.concatenate([upper[..., :1, :], upper[..., 1:, :] - lower[..., :-1, :]], axis=-2)
        if chain.pin:
            gaps = np.concatenate([gaps, lower[..., -1:, :] - chain.pin], axis=-2)
        return np.abs(gaps).max(axis=(-2, -1))

    def reactions(
        self, chain: Multibody, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray, scratch: np.ndarray
    ) -> np.ndarray:
        """Return the multipliers: they are the hinge forces."""
        hinges = -self.multipliers(scratch).T
        return np.vstack([hinges, scratch[TIP, :2]]) if chain.pin else hinges

    def turning(self, n: int) -> np.ndarray:
        """Return True for the angles."""
        index = np.arange(self.size(n))
        return (index % 3 == 2) & (index < 3 * n)


def pose(y, p, w):
    """Fill TH, OM, S, C from the angles of the links."""
    n = p.chain.n
    for i in range(n):
        w[TH, i] = y[3 * i + 2]
        w[OM, i] = y[3 * n + 3 * i + 2]
    turn(w[TH], n, w)


def height(y, p, i, at):
    """Return the height of the centre of mass, or its rate."""
    return y[at + 3 * i + 1]


def kinetic(y, p, w):
    """Return the kinetic energy."""
    n, links = p.chain.n, p.chain.links
    total = 0.0
    for i in range(n):
        vx, vy, rate = y[3 * n + 3 * i], y[3 * n + 3 * i + 1], y[3 * n + 3 * i + 2]
        total += 0.5 * (links[MASS, i] * (vx * vx + vy * vy) + links[INERTIA, i] * rate * rate)
    return total


def equations(y, p, w):
    """Fill the forces, Phi, Phi', gamma, and how the hinges of each link turn with it."""
    chain = p.chain
    n = chain.n
    endx = endy = fastx = fasty = curvex = curvey = 0.0
    for i in range(n):
        s, c, rate = w[S, i], w[C, i], w[OM, i]
        length, mass, d, b = chain.links[LENGTH, i], chain.links[MASS, i], chain.links[COM, i], chain.links[OFFSET, i]
        rx, ry, px, py = d * s + b * c, b * s - d * c, d * c - b * s, d * s + b * c
        q, v = 3 * i, 3 * n + 3 * i
        w[PHI, i], w[PHI + 1, i] = y[q] - rx - endx, y[q + 1] - ry - endy
        w[RATE, i], w[RATE + 1, i] = y[v] - rate * px - fastx, y[v + 1] - rate * py - fasty
        square = rate * rate
        w[CURVE, i], w[CURVE + 1, i] = curvex - square * rx, curvey - square * ry
        w[FORCE, i], w[FORCE + 1, i], w[FORCE + 2, i] = w[FX, i], w[FY, i] - mass * chain.g, w[MZ, i]
        endx, endy = y[q] - rx + length * s, y[q + 1] - ry - length * c
        turnx, turny = px - length * c, py - length * s
        w[PX, i], w[PY, i], w[TURNX, i], w[TURNY, i] = px, py, turnx, turny
        fastx, fasty = y[v] - rate * turnx, y[v + 1] - rate * turny
        curvex, curvey = square * (rx - length * s), square * (ry + length * c)


def solve(p, w, epsilon, forced, plain):
    """Eliminate link by link from the tip inwards, then find the unknowns from the pivot outwards.

    With k = RIGHT - (what the link before adds to the constraint), and A, v, s the masses of (G, theta) of a link with all
    that hangs on it, f and h the forces:

        g = p a + k + epsilon lambda        A g + v a + lambda = f        v.g + s a - p.lambda = h

    B = 1/(1 + epsilon A), z = B (p - epsilon v), u = B (v + A p), D = s + v.p + z.(v + A p) give

        a = (h + z.f - u.k) / D        lambda = B f - u a - B A k

    and the link before, with g - turn a of its own in -k, gains the mass W = B A - u u^T / D at its lower hinge.
    """
    axx = axy = ayy = vx = vy = s = fx = fy = h = 0.0
    for j in range(p.chain.n):
        i = p.chain.n - 1 - j
        mass = 1.0 if plain else p.chain.links[MASS, i]
        axx += mass
        ayy += mass
        s += 1.0 if plain else p.chain.links[INERTIA, i]
        if forced:
            fx += w[FORCE, i]
            fy += w[FORCE + 1, i]
            h += w[FORCE + 2, i]
        px, py = w[PX, i], w[PY, i]
        qx, qy = vx + (axx * px + axy * py), vy + (axy * px + ayy * py)
        zx, zy, ux, uy, wxx, wxy, wyy, lx, ly = px, py, qx, qy, axx, axy, ayy, fx, fy
        if epsilon > 0.0:
            bxx, bxy, byy = 1.0 + epsilon * ayy, -epsilon * axy, 1.0 + epsilon * axx
            scale = 1.0 / (bxx * byy - bxy * bxy)
            bxx, bxy, byy = scale * bxx, scale * bxy, scale * byy
            softx, softy = px - epsilon * vx, py - epsilon * vy
            zx, zy = bxx * softx + bxy * softy, bxy * softx + byy * softy
            ux, uy = bxx * qx + bxy * qy, bxy * qx + byy * qy
            wxx, wxy, wyy = bxx * axx + bxy * axy, bxx * axy + bxy * ayy, bxy * axy + byy * ayy
            lx, ly = bxx * fx + bxy * fy, bxy * fx + byy * fy
        inverse = 1.0 / (s + (vx * px + vy * py) + (zx * qx + zy * qy))
        free = (h + zx * fx + zy * fy) * inverse
        lx -= ux * free
        ly -= uy * free
        wxx -= ux * ux * inverse
        wxy -= ux * uy * inverse
        wyy -= uy * uy * inverse
        w[FREE, i], w[UX, i], w[UY, i] = free, ux * inverse, uy * inverse
        w[LX, i], w[LY, i], w[WXX, i], w[WXY, i], w[WYY, i] = lx, ly, wxx, wxy, wyy
        if i > 0:
            kx, ky, tx, ty = w[RIGHT, i], w[RIGHT + 1, i], w[TURNX, i - 1], w[TURNY, i - 1]
            fx, fy = lx - (wxx * kx + wxy * ky), ly - (wxy * kx + wyy * ky)
            h = -(tx * fx + ty * fy)
            axx, axy, ayy = wxx, wxy, wyy
            vx, vy = -(wxx * tx + wxy * ty), -(wxy * tx + wyy * ty)
            s = -(tx * vx + ty * vy)
    endx = endy = 0.0
    for i in range(p.chain.n):
        kx, ky = w[RIGHT, i] + endx, w[RIGHT + 1, i] + endy
        a = w[FREE, i] - w[UX, i] * kx - w[UY, i] * ky
        lx = w[LX, i] - (w[WXX, i] * kx + w[WXY, i] * ky)
        ly = w[LY, i] - (w[WXY, i] * kx + w[WYY, i] * ky)
        gx, gy = w[PX, i] * a + kx + epsilon * lx, w[PY, i] * a + ky + epsilon * ly
        w[LAMBDA, i], w[LAMBDA + 1, i] = lx, ly
        w[ACC, i], w[ACC + 1, i], w[ACC + 2, i] = gx, gy, a
        endx, endy = gx - w[TURNX, i] * a, gy - w[TURNY, i] * a


def inertia(p, w):
    """Fill OUT with the masses times ACC."""
    for i in range(p.chain.n):
        w[OUT, i], w[OUT + 1, i] = p.chain.links[MASS, i] * w[ACC, i], p.chain.links[MASS, i] * w[ACC + 1, i]
        w[OUT + 2, i] = p.chain.links[INERTIA, i] * w[ACC + 2, i]


def pull(p, w, row):
    """Fill OUT with the forces of the multipliers in `row`."""
    for i in range(p.chain.n):
        x, y = w[row, i], w[row + 1, i]
        w[OUT, i], w[OUT + 1, i], w[OUT + 2, i] = x, y, -(w[PX, i] * x + w[PY, i] * y)
        if i > 0:
            w[OUT, i - 1] -= x
            w[OUT + 1, i - 1] -= y
            w[OUT + 2, i - 1] += w[TURNX, i - 1] * x + w[TURNY, i - 1] * y


def repose(p, w):
    """Nothing to follow: the equations read angles and rates as they are."""


def tug(p, w, fx, fy):
    """Fill FORCE with the force (fx, fy) at the last tip."""
    for i in range(p.chain.n):
        w[FORCE, i] = w[FORCE + 1, i] = w[FORCE + 2, i] = 0.0
    k = p.chain.n - 1
    w[FORCE, k], w[FORCE + 1, k], w[FORCE + 2, k] = fx, fy, -(w[TURNX, k] * fx + w[TURNY, k] * fy)


def follow(p, w):
    """Fill ACC from the angular accelerations in A0."""
    links = p.chain.links
    ax = ay = 0.0
    for i in range(p.chain.n):
        s, c, alpha, square = w[S, i], w[C, i], w[A0, i], w[OM, i] * w[OM, i]
        length, d, b = links[LENGTH, i], links[COM, i], links[OFFSET, i]
        w[ACC, i] = ax + alpha * (d * c - b * s) - square * (d * s + b * c)
        w[ACC + 1, i] = ay + alpha * (d * s + b * c) - square * (b * s - d * c)
        w[ACC + 2, i] = alpha
        ax += length * (alpha * c - square * s)
        ay += length * (alpha * s + square * c)


def turning(p, w):
    """Fill OUT with the angular accelerations."""
    for i in range(p.chain.n):
        w[OUT, i] = w[ACC + 2, i]


def shift(y, p, w):
    """Move the links with their angles and rates, hinge by hinge; place them anew, if nothing else keeps the hinges."""
    n, links = p.chain.n, p.chain.links
    keep = 0.0 if rebuilt(p.handling) else 1.0
    x = y_ = vx = vy = 0.0
    for i in range(n):
        s0, c0 = sincos(w[KEPT, i])
        s1, c1 = sincos(w[TH, i])
        old, new = w[KEPT + 1, i], w[OM, i]
        length, d, b = links[LENGTH, i], links[COM, i], links[OFFSET, i]
        s, c, us, uc = s1 - keep * s0, c1 - keep * c0, new * s1 - keep * old * s0, new * c1 - keep * old * c0
        q, v = 3 * i, 3 * n + 3 * i
        y[q] = keep * y[q] + x + d * s + b * c
        y[q + 1] = keep * y[q + 1] + y_ + b * s - d * c
        y[q + 2] = w[TH, i]
        y[v] = keep * y[v] + vx + d * uc - b * us
        y[v + 1] = keep * y[v + 1] + vy + d * us + b * uc
        y[v + 2] = new
        x += length * s
        y_ -= length * c
        vx += length * uc
        vy += length * us


register(
    (MaximalParameters, MaximalLoopParameters),
    (pose, equations, solve, inertia, pull, repose, tug, follow, turning, shift, kinetic, height),
)
