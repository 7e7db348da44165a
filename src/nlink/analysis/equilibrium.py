"""equilibrium(): where a chain can rest, open or closed, under all its loads; Newton on the statics, with exact stiffness.

Many starts are followed at once, as arrays (S, N): one by one the calls of NumPy would take most of the time.
"""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, angle_or_each, spread
from nlink._support.showing import short
from nlink.analysis.linearize import closing_forces, linearize, moments, statics
from nlink.mechanics import kinematics, linearised, loop_closure
from nlink.mechanics.chain import Multibody, wrapped
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.mechanism import Mechanism, a_model
from nlink.mechanics.mobility import closed_states

TRIES = 200
EXACT = 1e-12
"""Moment left over, as a part of the largest, at which an equilibrium is found."""
STRIDE = 0.2
"""Longest step in rad downhill: a longer one could leave the branch."""
PUSHES, PUSH = 6, 0.1
"""How often, and how far in rad, a closed chain is pushed off a rest that is not stable, if no guess was given."""
STARTS = 300
"""Random starts from which equilibria of a closed chain are looked for."""
SAME = 1e-6
"""rad: equilibria that are nearer than this are one."""
CLOSED, ROUNDING = 1e-12, 1e-15
"""How far open a chain or mechanism may stay, as a part of its size; what is rounding."""
ASSEMBLIES = 12
"""Ways to assemble a mechanism from which its lowest rest is looked for, if no guess was given."""
MOST_LINKS = 5
"""Links for which all equilibria are looked for: 4^N starts."""


@short
class Equilibrium(NamedTuple):
    """Angles (N,) at which the chain can rest, the largest moment left over in N m, whether it is stable, the force of the pin."""

    theta: np.ndarray
    residual: float
    stable: bool
    pin_force: np.ndarray | None = None


def equilibrium(chain: Multibody, guess: ArrayLike | None = None) -> Equilibrium:
    """Return the equilibrium that Newton's method finds from `guess` (rad): from straight down, or from a zig-zag to the pin.

    A closed mechanism without a guess comes to rest downhill from some of its assembled states: the lowest of these.

    >>> from nlink.mechanics.chain import Chain
    >>> equilibrium(Chain.uniform(2), [3.0, 0.2]).theta.round(6).tolist()
    [3.141593, 0.0]
    """
    if guess is None and a_model("equilibrium", chain).closed:
        return settled(chain, loop_closure.zigzag(chain)) if chain.pin else _lowest(chain)
    theta = np.array(spread("guess", angle_or_each("guess", 0.0 if guess is None else guess), chain.n, "links"))
    theta, _ = chain.given(0.0, theta, np.zeros(chain.n))
    chain = chain.as_assembled(theta) if isinstance(chain, Mechanism) else chain
    return _told(chain, _newton(chain, loop_closure.assemble(chain, theta).theta[None], settle=False)[0])


def _lowest(chain: Multibody) -> Equilibrium:
    """Return the equilibrium of a mechanism with the lowest energy, of those where it comes to rest from states of its own."""
    assert isinstance(chain, Mechanism)
    states = np.array([*itertools.islice(closed_states(chain), ASSEMBLIES)])
    chain = chain.as_assembled(states[0])
    ends = _newton(chain, states, settle=True)
    pull = _pull(chain, ends)
    rests = ends[np.abs(pull.left).max(-1, initial=0.0) <= EXACT * pull.scale]
    if not len(rests):
        raise ModelError("no equilibrium was found from the assembled states that were tried; give a guess")
    return settled(chain, rests[np.argmin(kinematics.potential_energy(chain, rests))])


def settled(chain: Multibody, start: ArrayLike) -> Equilibrium:
    """Return the equilibrium where a closed chain comes to rest downhill from a start (rad), on the start's own branch.

    >>> from nlink.mechanics.chain import Chain
    >>> settled(Chain.uniform(3, pin=(1.2, 0.0)), [0.1, 1.5, 3.1]).theta.round(3).tolist()
    [0.1, 1.571, 3.041]
    """
    theta = _newton(chain, loop_closure.assemble(chain, start).theta[None], settle=True)
    for _ in range(PUSHES):  # a fold or a summit: pushed off it, downhill
        rest = statics(chain, theta[0])
        values, directions = np.linalg.eigh(0.5 * (rest.stiffness + rest.stiffness.T))
        if not len(values) or values[0] >= 0:
            break
        new, closed = _closed(chain, theta + PUSH * rest.basis @ directions[:, 0])
        if not closed[0]:
            break
        theta = _newton(chain, new, settle=True)
    return _told(chain, theta[0])


def _told(chain: Multibody, theta: np.ndarray) -> Equilibrium:
    rest = statics(chain, theta)
    residual = float(np.abs(rest.left).max(initial=0.0))
    if not rest.balanced(EXACT):
        told = f"a moment of {residual:.3g} N m is left over"
        raise ModelError(f"no equilibrium was found from this guess: {told} after {TRIES} steps; give a guess nearer to one")
    return Equilibrium(theta, residual, linearize(chain, theta).stable, rest.pin_force)


def equilibria(chain: Multibody) -> list[Equilibrium]:
    """Return the equilibria of a chain of few links, the stable ones first.

    They are looked for from many starts, so that one among many with a small neighbourhood can be missed: of an open chain from 4^N
    starts; of a closed one from some hundred, both by Newton's method, which finds all kinds, and downhill, for the stable ones.
    """
    if a_model("equilibria", chain).slides.any() or chain.prescribed.any():
        raise ModelError("all equilibria are looked for where every joint is a free hinge; give equilibrium() a guess")
    if chain.n > MOST_LINKS:
        raise ModelError(f"all equilibria are looked for up to {MOST_LINKS} links, got {chain.n}; give equilibrium() a guess")
    starts = _starts(chain)
    found = [_told(chain, end) for end in _rests(chain, _newton(chain, starts, settle=False))]
    for end in _rests(chain, _newton(chain, starts[::3], settle=True)) if chain.closed else []:
        with suppress(ModelError):
            found.append(settled(chain, end))
    rests = [rest._replace(theta=_unturned(chain, rest.theta)) for rest in found]
    first = _first(chain, [rest.theta for rest in rests])
    return sorted((rests[k] for k in first), key=lambda rest: (not rest.stable, *np.abs(rest.theta)))


def _unturned(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return angles without whole turns, pi rather than -pi; springs, and torques of the state, count turns: they leave them."""
    laws = ((load, load.law.stiffness) for load in chain.loads if load.law and load.law.stiffness)
    torque = chain.load(JointTorque)
    if (torque and torque.takes_state) or any(chain.each(type(load), name).any() for load, name in laws):
        return theta
    return wrapped(theta, slack=1e-9)


def _rests(chain: Multibody, ends: np.ndarray) -> np.ndarray:
    """Return those of many angles (S, N) at which the chain rests, without repetitions."""
    pull = _pull(chain, ends)
    ends = _unturned(chain, ends[np.abs(pull.left).max(-1) <= EXACT * pull.scale])
    return ends[_first(chain, ends)]


def _first(chain: Multibody, rests: ArrayLike) -> list[int]:
    """Return the numbers of angles (S, N) without those that come near ones before them."""
    rests, first = np.reshape(rests, (-1, chain.n)), []
    for k, theta in enumerate(rests):
        if not len(first) or np.abs(_unturned(chain, rests[first] - theta)).max(1).min() >= SAME:
            first.append(k)
    return first


def _starts(chain: Multibody) -> np.ndarray:
    """Return closed starts (S, N)."""
    if not chain.closed:
        return np.array(list(itertools.product((0.1, math.pi / 2, 3.0, -math.pi / 2), repeat=chain.n)))
    driven: list[np.ndarray] = []
    for angle in np.linspace(-math.pi, math.pi, 48, endpoint=False) if chain.pin else ():
        for branch in loop_closure.BRANCHES:
            with suppress(ModelError):
                driven.append(loop_closure.driven(chain, float(angle), branch))
    count = STARTS if chain.n > 3 else STARTS // 3  # wherever the first link cannot drive, and more freedom than its angle
    anywhere = np.random.default_rng(0).uniform(-math.pi, math.pi, (count, chain.n))
    theta, closed = _closed(chain, anywhere, near=False)
    return np.concatenate([np.reshape(driven, (-1, chain.n)), wrapped(theta[closed])])


def _newton(chain: Multibody, theta: np.ndarray, settle: bool) -> np.ndarray:
    """Return the angles (S, N) at which Newton's method ends from closed starts (S, N).

    Each step solves (H + mu) x = left in the free directions, with mu grown until what is left shrinks; if `settle`, H is made
    positive, so that the chain moves downhill to where it would come to rest.
    """
    theta, pull, units = theta.copy(), _pull(chain, theta), loop_closure.units(chain)
    shift, going = np.zeros(len(theta)), np.arange(len(theta))
    for _ in range(TRIES):
        unrest = np.abs(pull.left).max(-1, initial=0.0) > 0.01 * EXACT * pull.scale
        going, pull = going[unrest], pull.of(unrest)
        if not len(going):
            break
        if settle:
            shift[going] = np.maximum(shift[going], -1.5 * np.linalg.eigvalsh(pull.symmetric).min(-1))
        step = pull.step(shift[going])
        longest = np.abs(step).max(-1)
        step *= np.minimum(1.0, (STRIDE if settle else 1.0) / np.maximum(longest, 1e-300))[:, None]
        new, closed = _closed(chain, theta[going] + step * units)
        trial = _pull(chain, new)
        better = np.abs(trial.left).max(-1) < np.abs(pull.left).max(-1)
        better = closed & (better | (settle & (longest > 1e-3)))
        theta[going[better]] = new[better]
        shift[going] = np.where(better, 0.1 * shift[going], np.maximum(4 * shift[going], 1e-3 * pull.size))
        pull, kept = trial.where(better, pull), better | (longest >= 1e-15)
        going, pull = going[kept], pull.of(kept)
    return theta


class _Pull(NamedTuple):
    """What is left of the moments of chains at rest in the free directions (S, N), their stiffness (S, N, N) there, the projection
    (S, N, N) on the directions that are not free, and the size of moments (S,); by coordinates in their units.
    """

    left: np.ndarray
    stiffness: np.ndarray
    held: np.ndarray
    scale: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """The largest stiffness (S,)."""
        return np.abs(self.stiffness).max((-1, -2))

    @property
    def symmetric(self) -> np.ndarray:
        """The symmetric part of the stiffness, positive in the directions that are not free."""
        return 0.5 * (self.stiffness + np.swapaxes(self.stiffness, -1, -2)) + self.size[:, None, None] * self.held

    def step(self, shift: np.ndarray) -> np.ndarray:
        """Return the least changes of angles (S, N) with (stiffness + shift) change = left in the free directions."""
        free = np.eye(self.held.shape[-1]) - self.held
        A = self.stiffness + shift[:, None, None] * free + self.size[:, None, None] * self.held
        return (np.linalg.pinv(A, rcond=ROUNDING) @ self.left[..., None])[..., 0]

    def of(self, rows: np.ndarray) -> _Pull:
        """Return those of some chains."""
        return _Pull(*(values[rows] for values in self))

    def where(self, rows: np.ndarray, other: _Pull) -> _Pull:
        """Return those of some chains, and the others of another."""
        pairs = zip(self, other, strict=True)
        return _Pull(*(np.where(rows.reshape(-1, *(1,) * (a.ndim - 1)), a, b) for a, b in pairs))


def _pull(chain: Multibody, theta: np.ndarray) -> _Pull:
    """Return the balance of moments at rest at angles (S, N)."""
    (left, stiffness, scale), units = moments(chain, theta), loop_closure.units(chain)
    held = linearised.diagonal(chain.prescribed.astype(float))
    if chain.closed:
        stiffness = stiffness + loop_closure.geometric(chain, theta, closing_forces(chain, theta, left))
        across = loop_closure.inverse(chain, theta) @ loop_closure.jacobian(chain, theta)
        held = held + across * units / units[:, None] * ~chain.prescribed
    held = np.broadcast_to(held, stiffness.shape)
    free = np.eye(chain.n) - held
    left, stiffness = left * units, units[:, None] * stiffness * units
    scale = np.broadcast_to(scale, theta.shape[:-1])
    return _Pull((free @ left[..., None])[..., 0], free @ stiffness @ free, held, scale)


def _closed(chain: Multibody, theta: np.ndarray, near: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return angles (S, N) closed by Newton's method, and which of them (S,) are; `near`: only such as are nearly closed before."""
    if not chain.closed:
        return theta, np.full(len(theta), True)

    def open_by() -> np.ndarray:
        return np.linalg.norm(loop_closure.gap(chain, theta), axis=-1) / loop_closure.size_of(chain)

    closable, theta = open_by() <= (loop_closure.NEARLY if near else math.inf), theta.copy()
    theta[closable] = loop_closure.closed_near(chain, theta[closable])
    return theta, open_by() <= CLOSED
