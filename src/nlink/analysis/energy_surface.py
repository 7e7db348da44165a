"""Starts on one energy surface: the rate that gives a chain an energy, and starts spread over all states of that energy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, number, whole
from nlink.analysis.equilibrium import equilibrium
from nlink.analysis.variations import across
from nlink.mechanics import kinematics, linearised, loop_closure
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import plain_chain

MOST_STARTS = 1_000_000
TRIES = 20
"""Draws before angles are drawn nearer to rest."""
NEARER = 0.8
ROUNDS = 60


def on_energy(chain: Multibody, energy: float, theta: ArrayLike, omega: ArrayLike | None = None, *, link: int = 0) -> np.ndarray:
    """Return the rates (..., N) of an open chain at angles theta (..., N) with the rate of one link (from 0) chosen so that kinetic
    and potential energy make `energy` in J; the larger of two. The other rates are those of omega, or zero.

    >>> from nlink.mechanics.chain import Chain
    >>> chain = Chain.uniform(2)
    >>> omega = on_energy(chain, 0.0, [0.0, 0.3], [0.0, 1.0])
    >>> bool(abs(sum(kinematics.energies(chain, np.array([0.0, 0.3]), omega))) < 1e-12)
    True
    """
    chain = plain_chain("on_energy", chain, "choose the rates by hand")
    energy, link = number("energy", energy), whole("link", link, least=0)
    if chain.pin is not None:
        raise ModelError("on_energy takes open chains: one rate cannot change alone in a loop; use starts_on_energy")
    if link >= chain.n:
        raise ModelError(f"link must be below the number of links, {chain.n}, got {link}")
    theta = np.asarray(theta, float)
    rates = np.array(np.broadcast_to(0.0 if omega is None else np.asarray(omega, float), theta.shape))
    if theta.shape[-1:] != (chain.n,):
        raise ModelError(f"theta must hold {chain.n} angles in its last axis, got shape {theta.shape}")
    rates[..., link] = 0.0
    M = linearised.mass_matrix(chain, theta)
    lacking = energy - kinematics.potential_energy(chain, theta) - kinematics.kinetic_energy(chain, theta, rates)
    half, other = M[..., link, link], (M[..., link, :] * rates).sum(-1)
    inside = other**2 + 2 * half * lacking
    if np.any(inside < 0):
        least = float(np.max(energy - lacking - other**2 / (2 * half)))
        raise ModelError(f"energy must be at least {least:g} J with these angles and rates, got {energy:g}; raise it, or bend less")
    rates[..., link] = (np.sqrt(inside) - other) / half
    return rates


def starts_on_energy(chain: Multibody, energy: float, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return angles and rates, each (count, N), drawn from all states with this energy in J, open or closed.

    Angles are drawn evenly, nearer to rest where few of them have so little energy; the rates have any direction.
    """
    chain = plain_chain("starts_on_energy", chain, "draw starts by hand")
    energy, count = number("energy", energy), whole("count", count, most=MOST_STARTS)
    rng, rest = np.random.default_rng(seed), _rest(chain)
    least = float(kinematics.potential_energy(chain, rest))
    if energy <= least:
        raise ModelError(f"energy must be above {least:g} J, that of the chain at rest, got {energy:g}")
    theta = np.stack([_angles(chain, energy, rest, rng) for _ in range(count)])
    return theta, np.stack([_rates(chain, energy, angles, rng) for angles in theta])


def _rest(chain: Multibody) -> np.ndarray:
    try:
        return equilibrium(chain).theta
    except ModelError:
        return loop_closure.zigzag(chain) if chain.pin else np.zeros(chain.n)


def _angles(chain: Multibody, energy: float, rest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    reach = math.pi
    for _ in range(ROUNDS):
        for _ in range(TRIES):
            theta = rest + rng.uniform(-reach, reach, chain.n)
            try:
                theta = loop_closure.nearest(chain, theta, float(chain.length.sum())) if chain.pin else theta
            except ModelError:
                continue
            if kinematics.potential_energy(chain, theta) < energy:
                return theta
        reach *= NEARER
    return rest


def _rates(chain: Multibody, energy: float, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rates of any direction, evenly in the metric of the masses, with the kinetic energy that is left."""
    basis, _ = across(chain, theta, np.zeros(chain.n))
    M = basis.T @ linearised.mass_matrix(chain, theta) @ basis
    way = basis @ np.linalg.solve(np.linalg.cholesky(M).T, rng.standard_normal(len(M)))
    left = energy - float(kinematics.potential_energy(chain, theta))
    return way * math.sqrt(left / float(kinematics.kinetic_energy(chain, theta, way)))
