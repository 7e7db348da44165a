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

from typing import Any, NamedTuple

import numpy as np

from nlink.ensemble.varied import Varied
from nlink.mechanics.chain import LINK, Chain
from nlink.mechanics.kinematics import kinetic_energy
from nlink.mechanics.loads import Gravity, JointSpring, JointTorque, TipForce
from nlink.mechanics.parameters import PARAMETERS

GRID = 721
"""Angles of a link among which the cheapest way over is looked for, before it is refined."""
SLACK = 1e-13
"""Rounding, as a part of all potential energy, within which a start is not called forbidden."""
STEADY = ("length", "mass", "com", "offset", "inertia", "gravity", "tip_force.fx", "tip_force.fy")
"""Parameters that the rule follows when they vary from start to start (the dampers make no difference)."""


class Bodies(NamedTuple):
    """What the energies need of a chain: arrays (N,), or (members, N) where they vary."""

    length: np.ndarray
    mass: np.ndarray
    com: np.ndarray
    offset: np.ndarray
    inertia: np.ndarray
    torque: np.ndarray
    g: Any
    fx: Any
    fy: Any

    def terms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return S, C and tau."""
        behind = np.cumsum(self.mass[..., ::-1], -1)[..., ::-1] - self.mass
        lifted = self.g * (self.mass * self.com + self.length * behind)
        tau = self.torque - np.concatenate([self.torque[..., 1:], np.zeros_like(self.torque[..., :1])], -1)
        return self.g * self.mass * self.offset - self.fx * self.length, lifted - self.fy * self.length, tau


def ruled(chain: Chain, vary: Any = (), t_end: float = 1.0) -> bool:
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


def margin(chain: Chain, theta: np.ndarray, omega: np.ndarray, vary: Any = None, t_end: float = 1.0) -> np.ndarray | None:
    """Return by how much the energy of starts (members, N) exceeds the cheapest flip, (members,) in J; None without a rule.

    A start with a negative margin can never flip.
    """
    vary = dict(vary or {})
    if not ruled(chain, vary, t_end):
        return None
    bodies = _bodies(chain, vary, len(theta))
    S, C, tau = bodies.terms()
    sizes = np.hypot(S, C)
    stiffness, rest = chain.each(JointSpring, "stiffness"), chain.each(JointSpring, "rest")
    energy = (S * np.sin(theta) - C * np.cos(theta) - tau * theta).sum(-1)
    if omega.any():
        energy = energy + kinetic_energy(bodies, theta, omega)  # pyright: ignore[reportArgumentType]
    if stiffness.any() or tau.any():
        energy = energy + 0.5 * (stiffness * (np.diff(theta, axis=-1, prepend=0.0) - rest) ** 2).sum(-1)
        cheapest = _cheapest_by_level(S, C, tau, stiffness, rest, theta)
    else:
        cheapest = (C + sizes).min(-1) - sizes.sum(-1)
    over = energy - cheapest
    return np.where(np.abs(over) <= SLACK * np.maximum(sizes.sum(-1), np.abs(cheapest)), 0.0, over)


def cheapest_flip(chain: Chain) -> float | None:
    """Return the least energy in J with which a link of a chain that starts within half a turn can turn over; None without a rule.

    >>> round(cheapest_flip(Chain.uniform(2)) / 9.81, 12)
    -1.0
    """
    if not ruled(chain):
        return None
    S, C, tau = _bodies(chain, {}, 1).terms()
    stiffness, rest = chain.each(JointSpring, "stiffness"), chain.each(JointSpring, "rest")
    if stiffness.any() or tau.any():
        return float(_cheapest_by_level(S, C, tau, stiffness, rest, np.zeros((1, chain.n)))[0])
    return float((C + np.hypot(S, C)).min() - np.hypot(S, C).sum())


def _bodies(chain: Chain, vary: dict[str, Any], members: int) -> Bodies:
    tip, torque = chain.load(TipForce) or TipForce(0.0, 0.0), JointTorque.values(chain.load(JointTorque), chain.n)["constant"]
    values: dict[str, Any] = {"torque": torque, "g": chain.g, "fx": tip.fx, "fy": tip.fy}
    varied = Varied(chain, vary, members)
    for column in varied.columns:
        if column.at.field in values:
            values[column.at.field] = column.values[:, None]
    return Bodies(**{field: varied.each(field) if vary else getattr(chain, field) for field in LINK}, **values)


def _cheapest_by_level(S: Any, C: Any, tau: Any, stiffness: Any, rest: Any, theta: np.ndarray) -> np.ndarray:
    """Return the least energy of a flip for each start: it depends on the whole turns that the start has."""
    levels, which = np.unique(np.rint(theta / (2 * np.pi)), axis=0, return_inverse=True)
    found = [_cheapest(S, C, tau, stiffness, rest, 2 * np.pi * level) for level in levels]
    return np.array(found)[which.ravel()]


def _cheapest(S: Any, C: Any, tau: Any, stiffness: Any, rest: Any, level: np.ndarray) -> float:
    """Return the least energy with one link half a turn off and the others within half a turn."""
    n, angles = len(level), level[:, None] + np.linspace(-np.pi, np.pi, GRID)
    own = S[:, None] * np.sin(angles) - C[:, None] * np.cos(angles) - tau[:, None] * angles
    first = own[0] + 0.5 * stiffness[0] * (angles[0] - rest[0]) ** 2
    ahead, chosen, back, behind = [first], [], [np.zeros(GRID)], []
    joints = [0.5 * stiffness[j] * (angles[j][:, None] - angles[j - 1] - rest[j]) ** 2 for j in range(1, n)]
    for j in range(1, n):
        cost = joints[j - 1] + ahead[-1]
        chosen.append(cost.argmin(1))
        ahead.append(own[j] + cost.min(1))
    for j in range(n - 1, 0, -1):
        cost = joints[j - 1] + (own[j] + back[0])[:, None]
        behind.insert(0, cost.argmin(0))
        back.insert(0, cost.min(0))
    least = np.inf
    for i in range(n):
        for end in (0, GRID - 1):
            guess = _traced(i, end, chosen, behind, angles)
            least = min(least, _refined(S, C, tau, stiffness, rest, guess, i, level))
    return least


def _traced(i: int, end: int, chosen: list[Any], behind: list[Any], angles: np.ndarray) -> np.ndarray:
    """Return the angles of the cheapest configuration on the grid with link i at one end of its range."""
    at = [0] * len(angles)
    at[i] = end
    for j in range(i, 0, -1):
        at[j - 1] = chosen[j - 1][at[j]]
    for j in range(i + 1, len(angles)):
        at[j] = behind[j - 1][at[j - 1]]
    return angles[np.arange(len(angles)), at]


def _refined(S: Any, C: Any, tau: Any, stiffness: Any, rest: Any, guess: np.ndarray, i: int, level: np.ndarray) -> float:
    """Return the least energy near a configuration, link i held."""
    from scipy.optimize import minimize

    def energy(theta: np.ndarray) -> tuple[float, np.ndarray]:
        stretch = np.diff(theta, prepend=0.0) - rest
        pull = stiffness * stretch
        value = S * np.sin(theta) - C * np.cos(theta) - tau * theta + 0.5 * pull * stretch
        return float(value.sum()), S * np.cos(theta) + C * np.sin(theta) - tau + pull - np.append(pull[1:], 0.0)

    bounds = [(low - np.pi, low + np.pi) for low in level]
    bounds[i] = (guess[i], guess[i])
    found = minimize(energy, guess, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 0.0, "gtol": 1e-11})
    return min(float(found.fun), energy(guess)[0])
