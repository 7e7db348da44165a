"""`projection`: balance of momentum of the super-particle, projected on its tangent space, in relative angles; dense.

The super-particle X holds x_G, y_G, theta of every link; M its masses m, m, I, and f the forces and moments on it. In
relative angles phi_k = theta_k - theta_{k-1} the velocity is X' = A phi': a turn at hinge k carries every link behind
it round that hinge, so for j >= k the column k of A holds z x (G_j - hinge_k) and 1. With X'' = A phi'' + B theta'^2:

    A^T M A phi'' = A^T (f - M B theta'^2)

The note on the chain with a follower force (point masses only) does it so; here for rigid links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlink._support.checks import ModelError
from nlink.compiled.jit import kernel
from nlink.formulations.dense import solve
from nlink.mechanics.chain import Multibody
from nlink.mechanics.contract import right_hand_side
from nlink.mechanics.kernels import TIP_X, TIP_Y, BareParameters, ChainParameters, apply_loads, turn
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.parameters import COM, INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, LOAD_ROWS, MZ, C, S
from nlink.mechanics.system import AngleFormulation

if TYPE_CHECKING:
    from nlink.formulations.tree_projection import TreeProjection

TH, OM, AX, AY, GX, GY, PULLX, PULLY, B = range(LOAD_ROWS, LOAD_ROWS + 9)
"""Rows: angles, rates, hinges, centres, f - M B theta'^2 of each centre, right-hand side; the matrix follows."""
MATRIX = LOAD_ROWS + 9


class ProjectionParameters(BareParameters):
    """An open chain."""


@dataclass(frozen=True)
class TangentProjection(AngleFormulation):
    """Momentum of the super-particle projected on the tangent space, in relative angles."""

    name: ClassVar[str] = "projection"

    def of_mechanism(self, mechanism: Mechanism) -> TreeProjection:
        """Return the projection for trees."""
        if mechanism.closed:
            raise ModelError("projection takes open mechanisms, without pins; use recursive")
        from nlink.formulations.tree_projection import TreeProjection

        return TreeProjection()

    def parameters(self, chain: Multibody, numbers: ChainParameters) -> Any:
        """Take every chain and load."""
        return ProjectionParameters(numbers)

    def scratch(self, n: int) -> int:
        """Rows of the loads, of positions, and the matrix."""
        return MATRIX + n

    def encode(self, chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return relative angles and rates."""
        return np.concatenate([np.diff(theta, axis=-1, prepend=0.0), np.diff(omega, axis=-1, prepend=0.0)], axis=-1)

    def decode(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return absolute angles and rates."""
        return np.cumsum(state[..., : chain.n], axis=-1), np.cumsum(state[..., chain.n :], axis=-1)

    def decode_rates(self, chain: Multibody, state: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return absolute accelerations."""
        return np.cumsum(rates[..., chain.n :], axis=-1)


@right_hand_side(ProjectionParameters)
def projection_rates(t, y, p, out, w):
    """Fill out = (phi', phi'', powers)."""
    chain = p.chain
    n = chain.n
    angle = rate = 0.0
    for i in range(n):
        angle += y[i]
        rate += y[n + i]
        w[TH, i], w[OM, i] = angle, rate
        w[FX, i] = w[FY, i] = w[MZ, i] = 0.0
    turn(w[TH], n, w)
    if chain.loaded:
        apply_loads(t, w[TH], w[OM], 0, chain, w, out, 2 * n, chain.tip[TIP_X], chain.tip[TIP_Y])
    forces(chain, w)
    project(chain, w)
    solve(n, w, MATRIX, B, 1)
    for i in range(n):
        out[i] = y[n + i]
        out[n + i] = w[B, i]


@kernel
def forces(p, w):
    """Fill the hinges, the centres, and the force on each centre less its mass times B theta'^2."""
    x = y = ax = ay = 0.0
    for i in range(p.n):
        s, c, square = w[S, i], w[C, i], w[OM, i] * w[OM, i]
        length, mass, d, b = p.links[LENGTH, i], p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i]
        rx, ry = d * s + b * c, b * s - d * c
        w[AX, i], w[AY, i], w[GX, i], w[GY, i] = x, y, x + rx, y + ry
        w[PULLX, i] = w[FX, i] - mass * (ax - square * rx)
        w[PULLY, i] = w[FY, i] - mass * (ay - square * ry + p.g)
        x += length * s
        y -= length * c
        ax -= length * square * s
        ay += length * square * c


@kernel
def project(p, w):
    """Fill A^T M A and A^T (f - M B theta'^2)."""
    n = p.n
    for i in range(n):
        w[B, i] = 0.0
        for k in range(i, n):
            total = 0.0
            for j in range(k, n):
                reach = (w[GX, j] - w[AX, i]) * (w[GX, j] - w[AX, k]) + (w[GY, j] - w[AY, i]) * (w[GY, j] - w[AY, k])
                total += p.links[MASS, j] * reach + p.links[INERTIA, j]
            w[MATRIX + i, k] = w[MATRIX + k, i] = total
        for j in range(i, n):
            w[B, i] += (w[GX, j] - w[AX, i]) * w[PULLY, j] - (w[GY, j] - w[AY, i]) * w[PULLX, j] + w[MZ, j]
