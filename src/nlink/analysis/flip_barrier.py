"""The energetic rule of flips: a link cannot turn over if the chain has less energy than the cheapest way over.

A link turns over at theta_i = level_i +- pi, level being the whole turns it starts with, and until the first one does, all stay
within half a turn. Per link the potential is f_j = S_j sin theta_j - C_j cos theta_j - tau_j theta_j:

    C_j = g (m_j d_j + l_j (m_{j+1} + ... + m_N)) - fy l_j       gravity, and a constant force (fx, fy) at the tip
    S_j = g m_j b_j - fx l_j                                    offset masses
    tau_j = T_j - T_{j+1}                                       constant joint torques

Without springs and torques the links are independent: the others hang at -hypot(S_j, C_j), link i stands at +C_i, and

    cheapest = min_i (C_i + hypot(S_i, C_i)) - sum_j hypot(S_j, C_j)

Springs couple neighbours only, so that the least energy is found by going from link to link over a grid of angles, and then
refined to rounding. Dampers and drag take energy away and keep the rule; what can bring energy in (follower forces, torques that
change with time, damping in a run backwards) leaves no rule, and so does a closed chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from nlink.ensemble.varied import Varied
from nlink.mechanics.chain import Multibody
from nlink.mechanics.kinematics import Links, kinetic_energy
from nlink.mechanics.links import LINK
from nlink.mechanics.loads import Gravity, JointSpring, JointTorque, TipForce
from nlink.mechanics.parameters import PARAMETERS

GRID = 721
"""Angles of a link among which the cheapest way over is looked for, before it is refined."""
SLACK = 1e-13
"""Rounding, as a part of all potential energy, within which a start is not called forbidden."""
STEADY = ("length", "mass", "com", "offset", "inertia", "gravity", "tip_force.fx", "tip_force.fy")
"""Parameters that the rule follows when they vary from start to start (the dampers make no difference)."""


def ruled(chain: Multibody, vary: Iterable[str] = (), t_end: float = 1.0) -> bool:
    """Whether the energetic rule holds: an open chain that nothing brings energy to."""
    names = {str(name).split("[")[0].removeprefix("loads.") for name in vary}
    draining = {name for name in names if name in PARAMETERS and getattr(PARAMETERS[name].record, "drains", False)}
    torque, springs = chain.load(JointTorque), chain.load(JointSpring)
    if chain.pin or (torque and not torque.steady):
        return False
    if not all(load.drains or isinstance(load, Gravity | JointSpring | JointTorque | TipForce) for load in chain.loads):
        return False
    if t_end < 0 and (draining or any(load.drains for load in chain.loads)):
        return False
    varied = names - draining
    return varied <= set(STEADY) and not (varied and (springs or torque))


def margin(
    chain: Multibody, theta: np.ndarray, omega: np.ndarray, vary: Mapping[str, np.ndarray] | None = None, t_end: float = 1.0
) -> np.ndarray | None:
    """Return by how much the energy of starts (members, N) exceeds the cheapest flip, (members,) in J; None without a rule.

    A start with a negative margin can never flip.
    """
    if not ruled(chain, vary or (), t_end):
        return None
    links, potential = energies(chain, vary or {}, len(theta))
    energy = potential.of_links(theta).sum(-1)
    if omega.any():
        energy = energy + kinetic_energy(links, theta, omega)
    if potential.coupled:
        energy = energy + potential.of_springs(theta).sum(-1)
    cheapest = potential.cheapest(theta)
    over = energy - cheapest
    return np.where(np.abs(over) <= SLACK * np.maximum(potential.depths.sum(-1), np.abs(cheapest)), 0.0, over)


class Potential(NamedTuple):
    """The potential energy of a chain: S, C, tau of the links (see above), (N,) or (members, N), and its springs (N,)."""

    S: np.ndarray
    C: np.ndarray
    tau: np.ndarray
    stiffness: np.ndarray
    rest: np.ndarray

    @property
    def coupled(self) -> bool:
        """Whether the links are not independent."""
        return bool(self.stiffness.any() or self.tau.any())

    @property
    def depths(self) -> np.ndarray:
        """By how much each link hangs below the level of its hinge, in J."""
        return np.hypot(self.S, self.C)

    def of_links(self, theta: np.ndarray) -> np.ndarray:
        """Return the energy of each link."""
        return self.S * np.sin(theta) - self.C * np.cos(theta) - self.tau * theta

    def of_springs(self, theta: np.ndarray) -> np.ndarray:
        """Return the energy of each spring."""
        return 0.5 * (self.stiffness * (np.diff(theta, axis=-1, prepend=0.0) - self.rest) ** 2)

    def cheapest(self, theta: np.ndarray) -> np.ndarray:
        """Return the least energy of a flip for each start (members, N); with springs it depends on the start's whole turns."""
        if not self.coupled:
            return (self.C + self.depths).min(-1) - self.depths.sum(-1)
        levels, which = np.unique(np.rint(theta / (2 * np.pi)), axis=0, return_inverse=True)
        return np.array([self._cheapest(2 * np.pi * level) for level in levels])[which.ravel()]

    def _cheapest(self, level: np.ndarray) -> float:
        """Return the least energy with one link half a turn off and the others within half a turn, by dynamic programming over a
        grid of angles.
        """
        n, angles = len(level), level[:, None] + np.linspace(-np.pi, np.pi, GRID)
        own = self.of_links(angles.T).T
        own[0] += 0.5 * self.stiffness[0] * (angles[0] - self.rest[0]) ** 2
        joints = [0.5 * self.stiffness[j] * (angles[j][:, None] - angles[j - 1] - self.rest[j]) ** 2 for j in range(1, n)]
        inward, outward = _best(own, joints), _best(own[::-1], [joint.T for joint in joints[::-1]])[::-1]
        guesses = [(i, _traced(i, end, inward, outward, angles)) for i in range(n) for end in (0, GRID - 1)]
        return min(self._refined(guess, i, level) for i, guess in guesses)

    def _refined(self, guess: np.ndarray, i: int, level: np.ndarray) -> float:
        """Return the least energy near a configuration, link i held."""
        from scipy.optimize import minimize

        def energy(theta: np.ndarray) -> tuple[float, np.ndarray]:
            stretch = np.diff(theta, prepend=0.0) - self.rest
            pull = self.stiffness * stretch
            slope = self.S * np.cos(theta) + self.C * np.sin(theta) - self.tau + pull - np.append(pull[1:], 0.0)
            return float((self.of_links(theta) + 0.5 * pull * stretch).sum()), slope

        bounds = [(low - np.pi, low + np.pi) for low in level]
        bounds[i] = (guess[i], guess[i])
        result = minimize(energy, guess, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 0.0, "gtol": 1e-11})
        return min(float(result.fun), energy(guess)[0])


def energies(chain: Multibody, vary: Mapping[str, np.ndarray], members: int) -> tuple[Links, Potential]:
    """Return the links and the potential of a chain, (members, N) where parameters vary."""
    tip, torque = chain.load(TipForce) or TipForce(0.0, 0.0), JointTorque.values(chain.load(JointTorque), chain.n)["constant"]
    single: dict[str, float | np.ndarray] = {"g": chain.g, "fx": tip.fx, "fy": tip.fy}
    varied = Varied(chain, vary, members)
    single |= {column.at.field: column.values[:, None] for column in varied.columns if column.at.field in single}
    links = Links(**{field: varied.each(field) if vary else getattr(chain, field) for field in LINK})
    behind = np.cumsum(links.mass[..., ::-1], -1)[..., ::-1] - links.mass
    S = single["g"] * links.mass * links.offset - single["fx"] * links.length
    C = single["g"] * (links.mass * links.com + links.length * behind) - single["fy"] * links.length
    tau = torque - np.append(torque[1:], 0.0)
    return links, Potential(S, C, tau, chain.each(JointSpring, "stiffness"), chain.each(JointSpring, "rest"))


def _best(own: np.ndarray, joints: list[np.ndarray]) -> list[np.ndarray]:
    """Return which angle of the link before is the best for each angle of a link, from the second link on.

    own (N, GRID) is the energy of the links at their angles; each joint (GRID, GRID) the energy of the spring to the link before.
    """
    least, chosen = own[0], []
    for energy, joint in zip(own[1:], joints, strict=True):
        cost = joint + least
        chosen.append(cost.argmin(1))
        least = energy + cost.min(1)
    return chosen


def _traced(i: int, end: int, inward: list[np.ndarray], outward: list[np.ndarray], angles: np.ndarray) -> np.ndarray:
    """Return the angles of the cheapest configuration on the grid with link i at one end of its range."""
    at = [0] * len(angles)
    at[i] = end
    for j in range(i, 0, -1):
        at[j - 1] = inward[j - 1][at[j]]
    for j in range(i + 1, len(angles)):
        at[j] = outward[j - 1][at[j - 1]]
    return angles[np.arange(len(angles)), at]
