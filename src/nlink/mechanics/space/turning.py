"""Steady turning of a chain in space about the vertical: all links lie in one plane, which turns at the rate W.

With C_ij and c_i those of the chain in the plane (of bodies without the part of their spin), rotors h_i and bending springs k_i:

    g c_i sin th_i + k_i (th_i - th_{i-1}) - k_{i+1} (th_{i+1} - th_i) = W^2 cos th_i sum_j C_ij sin th_j + h_i W sin th_i

A branch of solutions leaves the hanging chain where W is a frequency of its small motions; it is followed to the rate by steps of
set length in (th, W), corrected by Newton's method.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.mechanics.loads import JointSpring
from nlink.mechanics.space.joints import Ball
from nlink.mechanics.space.model import SpatialChain

FIRST, LONGEST = 0.02, 0.2
"""Length of the first step along a branch, and of the longest, in rad and shares of the first rate."""
MOST_STEPS, MOST_ROUNDS = 20_000, 30
CLOSE = 1e-14
"""Part of the largest moment by which the balance may be off."""


class Balance(NamedTuple):
    """The numbers of the equations: C (N, N), g c (N,), h (N,) and the stiffness of the bending springs (N, N)."""

    inertia: np.ndarray
    weight: np.ndarray
    rotors: np.ndarray
    springs: np.ndarray

    @property
    def scale(self) -> float:
        """A moment that acts, N m."""
        return float(np.abs(self.weight).max() + np.abs(self.springs).max()) or 1.0

    def off(self, theta: np.ndarray, rate: float) -> np.ndarray:
        """Return by how much the moments (N,) on the links are out of balance."""
        s, c = np.sin(theta), np.cos(theta)
        return self.weight * s + self.springs @ theta - rate**2 * c * (self.inertia @ s) - self.rotors * rate * s

    def slopes(self, theta: np.ndarray, rate: float) -> np.ndarray:
        """Return the derivatives (N, N + 1) of that by the angles and the rate."""
        s, c = np.sin(theta), np.cos(theta)
        pulled = self.inertia @ s
        own = self.weight * c + rate**2 * s * pulled - self.rotors * rate * c
        by_angle = np.diag(own) + self.springs - rate**2 * c[:, None] * self.inertia * c
        return np.column_stack([by_angle, -2 * rate * c * pulled - self.rotors * s])


def balance(chain: SpatialChain) -> Balance:
    """Return the numbers of steady turning; refuse chains whose links do not stay in a plane."""
    tensor, centre = chain.tensor, chain.centre
    aside = np.abs(tensor - tensor * np.eye(3)).max() > 0 or np.abs(centre[:, ::2]).max() > 0
    if aside or any(not isinstance(joint, Ball) for joint in chain.joints):
        raise ModelError(
            "steady turning is found for lines and bodies on ball joints, with their centres of mass on the link and their "
            "inertia about its axes; give start.pose and start.omega"
        )
    length, mass, com = chain.length, chain.mass, chain.com
    moment = mass * com + length * chain.mass_behind
    inertia = np.tril(moment[:, None] * length, -1)
    own = tensor[:, 0, 0] - tensor[:, 1, 1] + mass * com**2 + length**2 * chain.mass_behind
    k = chain.each(JointSpring, "stiffness")
    springs = np.diag(k + np.append(k[1:], 0.0)) - np.diag(k[1:], 1) - np.diag(k[1:], -1)
    return Balance(inertia + inertia.T + np.diag(own), chain.g * moment, chain.momenta, springs)


def first_rates(chain: SpatialChain) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates (M,) in rad/s at which steady turning leaves the hanging chain, the slowest first, and its shapes (N, M)."""
    found = balance(chain)
    n, stiffness = chain.n, np.diag(found.weight) + found.springs
    inverse = np.linalg.inv(found.inertia)
    companion = np.block([[np.zeros((n, n)), np.eye(n)], [inverse @ stiffness, -inverse @ np.diag(found.rotors)]])
    values, vectors = np.linalg.eig(companion)
    rates, waves = np.real(values), np.imag(values)
    good = np.flatnonzero((np.abs(waves) < 1e-9 * np.abs(values)) & (rates > 0))
    order = good[np.argsort(rates[good])]
    shapes = np.real(vectors[:n, order])
    return rates[order], shapes * np.sign(shapes[0]) / np.abs(shapes).max(0)


def steady_turning(chain: SpatialChain, rate: float, mode: int = 1) -> np.ndarray:
    """Return the angles (N,) in rad of a chain that turns about the vertical at a rate in rad/s, in its `mode`, 1 the slowest.

    >>> steady_turning(SpatialChain.uniform(2), 4.0).round(6).tolist()
    [1.055011, 1.179519]
    """
    chain = chain if rate >= 0 else _mirrored(chain)
    rates, shapes = first_rates(chain)
    if mode > len(rates):
        raise ModelError(f"start.mode must be at most {len(rates)}, got {mode}: the chain has no more ways to turn steadily")
    first = float(rates[mode - 1])
    if abs(rate) <= first:
        raise ModelError(
            f"start.rate must be above {first:.6g} rad/s in mode {mode}: slower, the chain hangs straight down; got {rate:g}"
        )
    return _followed(balance(chain), shapes[:, mode - 1], first, abs(rate))


def _mirrored(chain: SpatialChain) -> SpatialChain:
    """Return the chain seen in a mirror: rotors turn the other way."""
    return replace(chain, spin=tuple((-chain.momenta).tolist())) if chain.momenta.any() else chain


def _followed(found: Balance, shape: np.ndarray, first: float, rate: float) -> np.ndarray:
    """Return the angles at a rate, on the branch that leaves the hanging chain in this shape."""
    n = len(shape)
    point, way = np.append(np.zeros(n), 1.0), np.append(shape / np.linalg.norm(shape), 0.0)
    step = FIRST
    for _ in range(MOST_STEPS):
        guess = point + step * way
        new = _corrected(found, guess, way, first)
        if new is None:
            step /= 2
            continue
        if new[n] * first >= rate:
            share = (rate / first - point[n]) / (new[n] - point[n])
            return _at_rate(found, (point + share * (new - point))[:n], rate)
        way = (new - point) / np.linalg.norm(new - point)
        point, step = new, min(1.5 * step, LONGEST)
    raise ModelError(
        f"no steady turning at {rate:g} rad/s was found beyond {point[n] * first:g} rad/s; give start.pose and start.omega"
    )


def _corrected(found: Balance, guess: np.ndarray, way: np.ndarray, first: float) -> np.ndarray | None:
    """Return the solution in the plane through a guess across a way, (angles, share of the first rate); None if none is near."""
    n, point = len(guess) - 1, guess.copy()
    for _ in range(MOST_ROUNDS):
        slopes = found.slopes(point[:n], first * point[n])
        slopes[:, n] *= first
        off = np.append(found.off(point[:n], first * point[n]), way @ (point - guess))
        change = np.linalg.solve(np.vstack([slopes, way]), -off)
        point += change
        if np.abs(change).max() < 1e-12:
            return point if np.linalg.norm(point - guess) < LONGEST else None
    return None


def _at_rate(found: Balance, theta: np.ndarray, rate: float) -> np.ndarray:
    """Return the angles at a rate by Newton's method."""
    for _ in range(MOST_ROUNDS):
        off = found.off(theta, rate)
        if np.abs(off).max() <= CLOSE * found.scale * (1 + rate**2):
            break
        theta = theta - np.linalg.solve(found.slopes(theta, rate)[:, :-1], off)
    if not np.isfinite(theta).all() or np.abs(theta).max() > math.pi:
        raise ModelError(f"no steady turning at {rate:g} rad/s was found; give start.pose and start.omega")
    return theta
