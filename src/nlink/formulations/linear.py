"""`linear`: small motions about an equilibrium, straight down or any other given; dense.

With delta = theta - theta_eq, all forces to first order in delta and omega, the mass matrix at the equilibrium:

    M delta'' = T(t) + Q_0 - C omega - K delta

C = joint dampers + link dampers + linear drag; K = gravity + springs (symmetric) - dQ/dtheta of the follower force
(unsymmetric) and of the tip force. The energy is quadratic: 1/2 omega.M omega + V_eq + V'.delta + 1/2 delta.K_V delta, and the
ledger's powers are those of the linear forces, so its balance closes. Seed: section 4 of the note on the follower force.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nlink._support.checks import ModelError, angle_or_each, spread
from nlink.compiled.dispatch import dispatched
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.mechanics.contract import right_hand_side
from nlink.mechanics.kernels import DRIVEN, ChainParameters, UnloadedChain
from nlink.mechanics.linearised import conservative, differences, mass_matrix, steady_torques, working
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.moments import POWERS
from nlink.mechanics.scratch import LOAD_ROWS, TQ
from nlink.mechanics.system import AngleFormulation
from nlink.mechanics.torques import drive

BALANCE = 1e-9
"""Largest force left over at an equilibrium, relative to the largest of the forces that balance there."""


class LinearParameters(NamedTuple):
    """The chain, the equilibrium, M^-1, Q_0 and K of springs and gravity, and of each row of the ledger Q_0, C and K."""

    chain: ChainParameters
    theta: np.ndarray
    inverse: np.ndarray
    force: np.ndarray
    stiffness: np.ndarray
    forces: np.ndarray
    """(POWERS, N)"""
    dampings: np.ndarray
    """(POWERS, N, N)"""
    stiffnesses: np.ndarray
    """(POWERS, N, N)"""


@dataclass(frozen=True)
class Linear(AngleFormulation):
    """Small motions about an equilibrium: `about` its angles in rad, straight down if not given. Torque functions act as is."""

    name: ClassVar[str] = "linear"
    about: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "about", angle_or_each("Linear.about", self.about))

    def parameters(self, chain: Multibody, numbers: ChainParameters) -> Any:
        """Take every load; refuse a position that is no equilibrium."""
        theta = self._equilibrium(chain)
        force, stiffness = conservative(chain, theta)
        forces, dampings, stiffnesses = working(chain, theta, np.zeros(chain.n))
        _refuse_unbalanced(chain, theta, force, forces)
        try:
            inverse = np.linalg.inv(mass_matrix(chain, theta))
        except np.linalg.LinAlgError:
            raise ModelError(
                "linear cannot invert the mass matrix: the masses differ by too many powers of ten; use recursive"
            ) from None
        return LinearParameters(numbers, theta, inverse, force, stiffness, forces, dampings, stiffnesses)

    def scratch(self, n: int) -> int:
        """Rows of the loads, and one for the force."""
        return LOAD_ROWS + 1

    def energy(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the quadratic kinetic and potential energy."""
        theta, omega = self.decode(chain, state)
        about = self._equilibrium(chain)
        force, stiffness = conservative(chain, about)
        delta = theta - about
        bent = 0.5 * np.einsum("...i,ij,...j", delta, stiffness, delta)
        moving = 0.5 * np.einsum("...i,ij,...j", omega, mass_matrix(chain, about), omega)
        return moving, kinematics.potential_energy(chain, about) - delta @ force + bent

    def _equilibrium(self, chain: Multibody) -> np.ndarray:
        return np.array(spread("Linear.about", self.about, chain.n, "links"), float)


def _refuse_unbalanced(chain: Multibody, theta: np.ndarray, force: np.ndarray, forces: np.ndarray) -> None:
    load = chain.load(JointTorque)
    pushed = differences(chain.n).T @ JointTorque.values(load, chain.n)["constant"]
    left = np.abs(force + forces.sum(0) + pushed).max()
    if load and load.takes_state:  # it may hold the chain there, or drive it from there
        left = min(left, np.abs(force + forces.sum(0) + steady_torques(chain, theta)).max())
    scale = max(np.abs(force).max(), np.abs(forces).max(), np.abs(pushed).max(), (chain.mass * abs(chain.g)) @ chain.length)
    if left > BALANCE * scale and left > 1e-300:
        raise ModelError(
            f"linear needs an equilibrium: at Linear.about a moment of {left:.3g} N m is left over; give angles where it vanishes"
        )


@dispatched(lambda kind: no_torques if kind is UnloadedChain else drive)
def driven(t, theta, omega, at, p, w):
    """Fill TQ with the joint torques of a chain; without loads nothing of them is compiled."""


def no_torques(t, theta, omega, at, p, w):
    """Fill zeros."""
    for i in range(p.n):
        w[TQ, i] = 0.0


@right_hand_side(LinearParameters)
def linear_rates(t, y, p, out, w):
    """Fill out = (omega, alpha, powers)."""
    n = p.chain.n
    driven(t, y, y, n, p.chain, w)
    for row in range(p.chain.ledger):
        out[2 * n + row] = 0.0
    for i in range(n):
        torque = w[TQ, i] - (w[TQ, i + 1] if i + 1 < n else 0.0)
        total = p.force[i] + torque
        for j in range(n):
            total -= p.stiffness[i, j] * (y[j] - p.theta[j])
        if p.chain.ledger > 0:
            out[2 * n + DRIVEN] += torque * y[n + i]
            for row in range(POWERS):
                part = p.forces[row, i]
                for j in range(n):
                    part -= p.dampings[row, i, j] * y[n + j] + p.stiffnesses[row, i, j] * (y[j] - p.theta[j])
                out[2 * n + row] += part * y[n + i]
                total += part
        w[LOAD_ROWS, i] = total
    for i in range(n):
        out[i] = y[n + i]
        alpha = 0.0
        for j in range(n):
            alpha += p.inverse[i, j] * w[LOAD_ROWS, j]
        out[n + i] = alpha
