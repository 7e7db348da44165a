"""`maximal`: position and angle of every link, the hinge forces as multipliers, constraints differentiated twice.

Coordinates x_G, y_G, theta of each link; two constraints a hinge, with r = d e + b t and p = dr/dtheta = d t - b e:

    Phi_i = (G_i - r_i) - (G_{i-1} - r_{i-1} + l_{i-1} e_{i-1})          the upper hinge is where the link before ends
    m_i G_i'' = F_i - lambda_i + lambda_{i+1}                            so the force on link i at its hinge is -lambda_i
    I_i theta_i'' = M_i + p_i.lambda_i - (p_i - l_i t_i).lambda_{i+1}

The course project's third method, right for unequal links, offsets, massless links and point masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nlink import kinematics
from nlink._jit import kernel
from nlink.chain import Chain
from nlink.formulations.constrained import CURVE, HALF, OM, PHI, RATE, TH, ConstrainedFormulation, register
from nlink.formulations.stabilization import Handling
from nlink.kernels import COM, FX, FY, INERTIA, LENGTH, MASS, MZ, OFFSET, C, ChainParameters, S, turn


class MaximalParameters(NamedTuple):
    """A chain, the handling of its constraints, and the shape of the state."""

    chain: ChainParameters
    handling: Handling
    nl: int
    nq: int
    na: int
    size: int


@dataclass(frozen=True)
class Maximal(ConstrainedFormulation):
    """Position and angle of every link with hinge forces as multipliers; `constraints` says how they are kept."""

    name: ClassVar[str] = "maximal"
    shape: ClassVar[tuple[int, int, int]] = (2, 3, 0)
    kind: ClassVar[type[Any]] = MaximalParameters
    constraints: Any = "none"

    def encode(self, chain: Chain, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return positions, angles and their rates, and filtered multipliers of zero."""
        q = np.concatenate([kinematics.centres(chain, theta), theta[..., None]], axis=-1)
        v = np.concatenate([kinematics.centre_velocities(chain, theta, omega), omega[..., None]], axis=-1)
        return self.joined(chain, q, v)

    def decode(self, chain: Chain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the angles and their rates."""
        q, v = self.split(chain, state)
        return q[..., 2], v[..., 2]

    def decode_rates(self, chain: Chain, state: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the angular accelerations."""
        return self.split(chain, rates)[1][..., 2]

    def energy(self, chain: Chain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the energies of the positions, angles and rates as they are, drift included."""
        q, v = self.split(chain, state)
        total = kinematics.total
        moving = 0.5 * (total(v[..., 0] ** 2 + v[..., 1] ** 2, chain.mass) + total(v[..., 2] ** 2, chain.inertia))
        return moving, total(q[..., 1], chain.mass * chain.g) + kinematics.spring_energy(chain, q[..., 2])

    def violation(self, chain: Chain, state: np.ndarray) -> np.ndarray:
        """Return the largest gap at a hinge, in m."""
        q, _ = self.split(chain, state)
        e, t = kinematics.directions(q[..., 2])
        upper = q[..., :2] - chain.com[:, None] * e - chain.offset[:, None] * t
        lower = upper + chain.length[:, None] * e
        gaps = np.concatenate([upper[..., :1, :], upper[..., 1:, :] - lower[..., :-1, :]], axis=-2)
        return np.abs(gaps).max(axis=(-2, -1))

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


def equations(y, p, band, right, w):
    """Fill masses, the derivatives of the constraints, forces, and Phi, Phi', gamma."""
    chain = p.chain
    n = chain.n
    for row in range(len(right)):
        right[row] = 0.0
        for k in range(band.shape[1]):
            band[row, k] = 0.0
    endx = endy = fastx = fasty = turnx = turny = curvex = curvey = 0.0
    for i in range(n):
        s, c, rate = w[S, i], w[C, i], w[OM, i]
        length, mass, d, b = chain.links[LENGTH, i], chain.links[MASS, i], chain.links[COM, i], chain.links[OFFSET, i]
        rx, ry, px, py = d * s + b * c, b * s - d * c, d * c - b * s, d * s + b * c
        q, v, row = 3 * i, 3 * n + 3 * i, 5 * i
        w[PHI, i], w[PHI + 1, i] = y[q] - rx - endx, y[q + 1] - ry - endy
        w[RATE, i], w[RATE + 1, i] = y[v] - rate * px - fastx, y[v + 1] - rate * py - fasty
        square = rate * rate
        w[CURVE, i], w[CURVE + 1, i] = curvex - square * rx, curvey - square * ry
        for k in range(2):
            band[row + 2 + k, HALF] = mass
            couple(band, row + k, row + 2 + k, 1.0)
            if i > 0:
                couple(band, row + k, row - 3 + k, -1.0)
        band[row + 4, HALF] = chain.links[INERTIA, i]
        couple(band, row, row + 4, -px)
        couple(band, row + 1, row + 4, -py)
        if i > 0:
            couple(band, row, row - 1, turnx)
            couple(band, row + 1, row - 1, turny)
        right[row + 2], right[row + 3], right[row + 4] = w[FX, i], w[FY, i] - mass * chain.g, w[MZ, i]
        endx, endy = y[q] - rx + length * s, y[q + 1] - ry - length * c
        turnx, turny = px - length * c, py - length * s
        fastx, fasty = y[v] - rate * turnx, y[v + 1] - rate * turny
        curvex, curvey = square * (rx - length * s), square * (ry + length * c)


@kernel
def couple(band, row, column, value):
    """Set an entry and its mirror image."""
    band[row, HALF + column - row] = value
    band[column, HALF + row - column] = value


register(MaximalParameters, pose, equations, height)
