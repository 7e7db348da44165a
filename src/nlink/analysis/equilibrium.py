"""equilibrium(): where a chain can rest, open or closed, under all its loads; Newton on the statics, with exact stiffness."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, angle_or_each, spread
from nlink._support.showing import short
from nlink.analysis.linearize import Statics, linearize, statics
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import Chain, wrapped

TRIES = 200
EXACT = 1e-12
"""Moment left over, as a part of the largest, at which an equilibrium is found."""
STRIDE = 0.2
"""Longest step in rad downhill: a longer one could leave the branch."""
PUSHES, PUSH = 6, 0.1
"""How often, and how far in rad, a closed chain is pushed off a rest that is not stable, if no guess was given."""
STARTS = 300
"""Random starts from which equilibria of a closed chain are looked for."""
MOST_LINKS = 5
"""Links for which all equilibria are looked for: 4^N starts."""


@short
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
    if guess is None and chain.pin:
        return settled(chain, loop_closure.zigzag(chain))
    theta = np.array(spread("guess", angle_or_each("guess", 0.0 if guess is None else guess), chain.n, "links"))
    return _told(chain, *_newton(chain, loop_closure.assemble(chain, theta).theta, settle=False))


def settled(chain: Chain, start: ArrayLike) -> Equilibrium:
    """Return the equilibrium where a closed chain comes to rest downhill from a start (rad), on the start's own branch.

    >>> from nlink.mechanics.chain import Chain
    >>> settled(Chain.uniform(3, pin=(1.2, 0.0)), [0.1, 1.5, 3.1]).theta.round(3).tolist()
    [0.1, 1.571, 3.041]
    """
    theta, rest = _newton(chain, loop_closure.assemble(chain, start).theta, settle=True)
    for _ in range(PUSHES):  # a fold or a summit: pushed off it, downhill
        values, directions = np.linalg.eigh(0.5 * (rest.stiffness + rest.stiffness.T))
        new = _closed(chain, theta + PUSH * rest.basis @ directions[:, 0]) if len(values) and values[0] < 0 else None
        if new is None:
            break
        theta, rest = _newton(chain, new, settle=True)
    return _told(chain, theta, rest)


def _told(chain: Chain, theta: np.ndarray, rest: Statics) -> Equilibrium:
    residual = float(np.abs(rest.left).max(initial=0.0))
    if not rest.balanced(EXACT):
        told = f"a moment of {residual:.3g} N m is left over"
        raise ModelError(f"no equilibrium was found from this guess: {told} after {TRIES} steps; give a guess nearer to one")
    return Equilibrium(theta, residual, linearize(chain, theta).stable, rest.pin_force)


def equilibria(chain: Chain) -> list[Equilibrium]:
    """Return the equilibria of a chain of few links, the stable ones first.

    They are looked for from many starts, so that one among many with a small neighbourhood can be missed: of an open chain from 4^N
    starts; of a closed one from some hundred, both by Newton's method, which finds all kinds, and downhill, for the stable ones.
    """
    if chain.n > MOST_LINKS:
        raise ModelError(f"all equilibria are looked for up to {MOST_LINKS} links, got {chain.n}; give equilibrium() a guess")
    found: list[Equilibrium] = []
    starts = list(_starts(chain))
    downhill = starts[::3] if chain.pin else []
    for find, start in [*((equilibrium, start) for start in starts), *((settled, start) for start in downhill)]:
        try:
            rest = find(chain, start)
        except ModelError:
            continue
        rest = rest._replace(theta=wrapped(rest.theta - 1e-9) + 1e-9)
        if not any(np.abs(wrapped(rest.theta - other.theta)).max() < 1e-6 for other in found):
            found.append(rest)
    return sorted(found, key=lambda rest: (not rest.stable, *np.abs(rest.theta)))


def _starts(chain: Chain) -> Iterator[Sequence[float]]:
    if chain.pin is None:
        yield from itertools.product((0.1, math.pi / 2, 3.0, -math.pi / 2), repeat=chain.n)
        return
    for angle in np.linspace(-math.pi, math.pi, 48, endpoint=False):
        for branch in loop_closure.BRANCHES:
            with suppress(ModelError):
                yield loop_closure.driven(chain, float(angle), branch).tolist()
    rng = np.random.default_rng(0)
    for _ in range(STARTS if chain.n > 3 else STARTS // 3):  # wherever the first link cannot drive, and more freedom than its angle
        with suppress(ModelError):
            yield loop_closure.nearest(chain, rng.uniform(-math.pi, math.pi, chain.n), float(chain.length.sum())).tolist()


def _newton(chain: Chain, theta: np.ndarray, settle: bool) -> tuple[np.ndarray, Statics]:
    """Return the angles at which Newton's method ends, and the statics there.

    Each step solves (H + mu) x = left in the free directions, with mu grown until what is left shrinks; if `settle`, H is made
    positive, so that the chain moves downhill to where it would come to rest.
    """
    rest, shift = statics(chain, theta), 0.0
    for _ in range(TRIES):
        left, H, basis, scale, _ = rest
        size = np.abs(left).max(initial=0.0)
        if size <= 0.01 * EXACT * scale:
            break
        if settle and len(H):
            shift = max(shift, -1.5 * float(np.linalg.eigvalsh(0.5 * (H + H.T)).min()))
        step = np.linalg.lstsq(H + shift * np.eye(len(H)), left, rcond=None)[0]
        longest = np.abs(basis @ step).max()
        step *= min(1.0, (STRIDE if settle else 1.0) / max(longest, 1e-300))
        new = _closed(chain, theta + basis @ step)
        trial = None if new is None else statics(chain, new)
        if new is not None and trial is not None and (np.abs(trial.left).max(initial=0.0) < size or (settle and longest > 1e-3)):
            theta, rest, shift = new, trial, 0.1 * shift
        elif longest < 1e-15:
            break
        else:
            shift = max(4 * shift, 1e-3 * np.abs(H).max())
    return theta, rest


def _closed(chain: Chain, theta: np.ndarray) -> np.ndarray | None:
    """Return the angles, closed if the chain is; None where it cannot be closed."""
    try:
        return loop_closure.assemble(chain, theta).theta
    except ModelError:
        return None
