"""Small deviations from motions of lines in space, tangent to their spheres; Lyapunov exponents use it.

The steps of Taylor, which end on the spheres, computed in dual numbers keep deviations there (`mechanics/space/tangents.py`: B and
P). Volumes of deviations change by exactly

    ln vol(t) - ln vol(0) = [1/2 ln det(1 + P^T P) - ln det(B^T C B)]_0^t - integral of tr((B^T C B)^-1 B^T D B)

with the constant C of the kinetic energy and D of the loads that resist rates, each a number for a pair of lines; a rotor turns
deviations about without a change of volume.
"""

from __future__ import annotations

import numpy as np

from nlink._support.checks import ModelError
from nlink.analysis.motion import Motion
from nlink.analysis.variations import Duals
from nlink.formulations import formulate
from nlink.integrators.tangent import TangentStepper
from nlink.integrators.taylor import Taylor
from nlink.mechanics.kernels import LINEAR_DRAG
from nlink.mechanics.parameters import COM, LENGTH
from nlink.mechanics.space.kernels import RESISTANCE, STIFFNESS
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import SpatialNumbers
from nlink.mechanics.space.tangents import tangents
from nlink.mechanics.system import System


class DualsInSpace(Duals):
    """Deviations by dual numbers; work and contraction, where there are any, from the same steps taken without deviations."""

    def __init__(self, chain: SpatialChain, tol: float) -> None:
        self.chain, self.system = chain, formulate(chain)
        method, reason = Taylor(tol), no_series(self.system)
        if reason:
            raise ModelError(
                f"lyapunov follows deviations in space by Taylor's method: {reason}; nlink.ftle takes every chain in space"
            )
        self.motion, self.tangent = Motion(self.system, method), TangentStepper(self.system, method)
        numbers = self.system.parameters.chain
        self.couplings, self.resistance = couplings(chain), resistance(numbers)
        self.damped = bool(self.resistance.any())
        self.fastest = fastest_swing(chain, numbers, self.couplings, self.resistance)

    def volume(self, t: float, theta: np.ndarray, omega: np.ndarray) -> float:
        """Return 1/2 ln det(1 + P^T P) - ln det(B^T C B) at coordinates and rates."""
        basis, follow = tangents(self.chain, theta, omega)
        tilt = np.linalg.slogdet(np.eye(basis.shape[1]) + follow.T @ follow)[1]
        return float(0.5 * tilt - np.linalg.slogdet(on_tangents(self.couplings, basis))[1])

    def contraction(self, t: np.ndarray, states: np.ndarray, weights: np.ndarray, A: np.ndarray | None = None) -> float:
        """Return the integral of tr((B^T C B)^-1 B^T D B) from states at times t with these weights."""
        if not self.damped:
            return 0.0
        K = self.system.chain.size
        basis, _ = tangents(self.chain, states[:, :K], states[:, K : 2 * K])
        M, D = (on_tangents(matrix, basis) for matrix in (self.couplings, self.resistance))
        return float(weights @ np.trace(np.linalg.solve(M, D), axis1=1, axis2=2))

    def _rate(self, t: float, state: np.ndarray) -> float:
        """Return the bound of how fast deviations turn or fade about hanging."""
        return self.fastest


def no_series(system: System) -> str:
    """Return why Taylor cannot follow deviations of a chain in space; nothing if it can."""
    rough = "Taylor has no derivative of quadratic drag" if system.parameters.chain.force_level > 1 else ""
    return Taylor.refusal(system).partition("; ")[0] or rough


def couplings(chain: SpatialChain) -> np.ndarray:
    """Return C (N, N): the kinetic energy is 1/2 sum C_ij e_i'.e_j'."""
    behind = np.append(np.cumsum(chain.mass[::-1])[::-1][1:], 0.0)
    level = chain.mass * chain.com + chain.length * behind
    upper = np.triu(chain.length[:, None] * level, 1)
    return upper + upper.T + np.diag(chain.inertia + chain.mass * chain.com**2 + chain.length**2 * behind)


def resistance(numbers: SpatialNumbers) -> np.ndarray:
    """Return D (N, N): the loads take the power sum D_ij e_i'.e_j'."""
    links = numbers.links
    reach = np.tril(np.tile(links[LENGTH], (numbers.n, 1)), -1) + np.diag(links[COM])
    return np.diag(links[RESISTANCE]) + reach.T @ (links[LINEAR_DRAG][:, None] * reach)


def fastest_swing(chain: SpatialChain, numbers: SpatialNumbers, C: np.ndarray, D: np.ndarray) -> float:
    """Return a bound in 1/s of how fast deviations turn or fade at rest: by weights and springs, and by friction."""
    behind = np.append(np.cumsum(chain.mass[::-1])[::-1][1:], 0.0)
    weight = abs(chain.g) * (chain.mass * np.abs(chain.com) + chain.length * behind)
    joint = np.eye(chain.n) - np.eye(chain.n, k=-1)
    K = np.diag(weight) + joint.T @ (numbers.links[STIFFNESS][:, None] * joint)
    swing, fade = (np.abs(np.linalg.eigvals(np.linalg.solve(C, matrix))).max() for matrix in (K, D))
    return float(max(np.sqrt(swing), fade))


def on_tangents(matrix: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return B^T M B (..., 2N, 2N) of a matrix with a number for each pair of lines."""
    return np.swapaxes(basis, -2, -1) @ np.kron(matrix, np.eye(3)) @ basis
