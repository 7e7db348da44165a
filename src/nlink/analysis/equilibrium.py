"""equilibrium(): where a chain can rest, open or closed, under all its loads; Newton on the statics, with exact stiffness."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, angle_or_each, spread
from nlink.analysis.linearize import geometric, linearize, pin_force, statics
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import Chain, wrapped

TRIES = 200
EXACT = 1e-12
"""Moment left over, as a part of the largest, at which an equilibrium is found."""
PUSHES, PUSH = 6, 0.1
"""How often, and how far in rad, a closed chain is pushed off a rest that is not stable, if no guess was given."""
STARTS = 300
"""Random starts from which equilibria of a closed chain of four or more links are looked for."""
MOST_LINKS = 5
"""Links for which all equilibria are looked for: 4^N starts."""


class Equilibrium(NamedTuple):
    """Angles (N,) at which the chain can rest, the largest moment left over in N m, whether it is stable, the force of the pin."""

    theta: np.ndarray
    residual: float
    stable: bool
    pin_force: np.ndarray | None = None


def equilibrium(chain: Chain, guess: ArrayLike | None = None) -> Equilibrium:
    """Return the equilibrium that Newton's method finds from `guess` (rad): from straight down, or from a zig-zag to the pin.

    >>> from nlink.mechanics.chain import Chain
    >>> equilibrium(Chain.uniform(2), [3.0, 0.2]).theta.round(6).tolist()
    [3.141593, 0.0]
    """
    theta = np.array(spread("guess", angle_or_each("guess", _first(chain) if guess is None else guess), chain.n, "links"))
    if chain.pin:
        theta = loop_closure.assemble(chain, theta).theta
    settle = chain.pin is not None and guess is None
    theta, left, scale, force = _newton(chain, theta, settle)
    for _ in range(PUSHES if settle else 0):  # a fold or a summit: pushed off it, downhill
        _, H, basis, _, _ = _reduced(chain, theta)
        values, ways = np.linalg.eigh(0.5 * (H + H.T))
        new = _moved(chain, theta + PUSH * basis @ ways[:, 0]) if len(values) and values[0] < 0 else None
        if new is None:
            break
        theta, left, scale, force = _newton(chain, new, settle)
    residual = float(np.abs(left).max(initial=0.0))
    if residual > EXACT * scale:
        told = f"a moment of {residual:.3g} N m is left over"
        raise ModelError(f"no equilibrium was found from this guess: {told} after {TRIES} steps; give a guess nearer to one")
    return Equilibrium(theta, residual, linearize(chain, theta).stable, force)


def equilibria(chain: Chain) -> list[Equilibrium]:
    """Return all equilibria of a chain of few links, the stable ones first."""
    if chain.n > MOST_LINKS:
        raise ModelError(f"all equilibria are looked for up to {MOST_LINKS} links, got {chain.n}; give equilibrium() a guess")
    found: list[Equilibrium] = []
    for start in _starts(chain):
        try:
            rest = equilibrium(chain, start)
        except ModelError:
            continue
        rest = rest._replace(theta=wrapped(rest.theta - 1e-9) + 1e-9)
        if not any(np.abs(wrapped(rest.theta - other.theta)).max() < 1e-6 for other in found):
            found.append(rest)
    return sorted(found, key=lambda rest: (not rest.stable, *np.abs(rest.theta)))


def _first(chain: Chain) -> float | tuple[float, ...]:
    return tuple(loop_closure.zigzag(chain).tolist()) if chain.pin else 0.0


def _starts(chain: Chain) -> Iterator[Sequence[float]]:
    if chain.pin is None:
        yield from itertools.product((0.1, math.pi / 2, 3.0, -math.pi / 2), repeat=chain.n)
        return
    for angle in np.linspace(-math.pi, math.pi, 48, endpoint=False):
        for branch in loop_closure.BRANCHES:
            try:
                yield loop_closure.driven(chain, float(angle), branch).tolist()
            except ModelError:
                continue
    rng = np.random.default_rng(0)
    for _ in range(STARTS if chain.n > 3 else 0):  # more freedom than the driving angle
        try:
            yield loop_closure.nearest(chain, rng.uniform(-math.pi, math.pi, chain.n), float(chain.length.sum())).tolist()
        except ModelError:
            continue


def _newton(chain: Chain, theta: np.ndarray, settle: bool) -> tuple[np.ndarray, np.ndarray, float, np.ndarray | None]:
    """Return the angles, the moments left over along the free directions, the size of moments, and the force of the pin.

    Each step solves (H + mu) x = left in the free directions, with mu grown until what is left shrinks; if `settle`, H is made
    positive, so that the chain moves downhill to where it would come to rest.
    """
    left, H, basis, scale, force = _reduced(chain, theta)
    shift = 0.0
    for _ in range(TRIES):
        size = np.abs(left).max(initial=0.0)
        if size <= 0.01 * EXACT * scale:
            break
        if settle and len(H):
            shift = max(shift, -1.5 * float(np.linalg.eigvalsh(0.5 * (H + H.T)).min()))
        step = np.linalg.lstsq(H + shift * np.eye(len(H)), left, rcond=None)[0]
        longest = np.abs(basis @ step).max()
        step *= min(1.0, 1.0 / max(longest, 1e-300))
        new = _moved(chain, theta + basis @ step)
        trial = None if new is None else _reduced(chain, new)
        if new is not None and trial is not None and (np.abs(trial[0]).max(initial=0.0) < size or (settle and longest > 1e-3)):
            theta, (left, H, basis, scale, force), shift = new, trial, 0.1 * shift
        elif longest < 1e-15:
            break
        else:
            shift = max(4 * shift, 1e-3 * np.abs(H).max())
    return theta, left, scale, force


def _moved(chain: Chain, theta: np.ndarray) -> np.ndarray | None:
    if chain.pin is None:
        return theta
    try:
        return loop_closure.assemble(chain, theta).theta
    except ModelError:
        return None


def _reduced(chain: Chain, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, np.ndarray | None]:
    """Return the moments left over and their stiffness in the free directions, these directions, the size of moments, and the
    force of the pin.
    """
    left, K, scale = statics(chain, theta)
    basis = loop_closure.tangent(chain, theta)
    if chain.pin is None:
        return left, K, basis, scale, None
    force = pin_force(loop_closure.jacobian(chain, theta), left)
    return basis.T @ left, basis.T @ (K + geometric(chain, theta, force)) @ basis, basis, scale, force
