"""lqr(): the linear state feedback that holds a chain at an equilibrium with the least cost (linear quadratic regulator).

With x = (theta - theta_0, omega) and torques u at the joints that are driven, on top of those that hold the chain at theta_0:

    x' = A x + B u          A from `linearize`,  B = (0; M^-1 D^T E)          (D x)_i = x_i - x_{i-1},  E picks the driven joints
    cost = integral of x.Q x + u.R u          u = -K x          K = R^-1 B^T P
    A^T P + P A - P B R^-1 B^T P + Q = 0          (Riccati)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, angle_or_each, shown, spread
from nlink._support.showing import short
from nlink.analysis.linearize import BALANCE, ComplexArray, linearize, statics
from nlink.mechanics import linearised
from nlink.mechanics.chain import Chain, Multibody
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.mechanism import plain_chain

UNREACHED = 1e-9
"""Smallest singular value of (A - lambda, B), as a part of the largest, at which a motion exp(lambda t) is out of reach."""


@short
@dataclass(frozen=True, eq=False)
class LQR:
    """The regulator of a chain at rest at `theta` (N,) in rad.

    K (m, 2N) has the gains of the m driven `joints` (from 0), in N m/rad for the angles and N m s/rad for the rates; `eigenvalues`
    (2N,) in 1/s are those of the chain with it; `hold` (N,) are the torques in N m that hold the chain at theta; A (2N, 2N)
    and B (2N, m) are the matrices of small motions, and P (2N, 2N) solves the Riccati equation.
    """

    theta: np.ndarray
    joints: tuple[int, ...]
    K: np.ndarray
    eigenvalues: ComplexArray
    hold: np.ndarray
    A: np.ndarray = field(repr=False)
    B: np.ndarray = field(repr=False)
    P: np.ndarray = field(repr=False)

    @cached_property
    def torque(self) -> Any:
        """The law torque(t, theta, omega) for `JointTorque`: a function of Numba, which compiled torque functions can call, too.

        Angles are taken to the nearest turn.
        """
        from nlink.mechanics.state_feedback import state_feedback

        gain = np.zeros((len(self.theta), self.K.shape[1]))
        gain[list(self.joints)] = self.K
        return state_feedback(gain, self.theta, self.hold)


def lqr(
    chain: Multibody,
    theta: ArrayLike | None = None,
    Q: ArrayLike | None = None,
    R: ArrayLike | None = None,
    *,
    joints: Sequence[int] | None = None,
) -> LQR:
    """Return the regulator that holds an open chain at rest at `theta` with the least cost.

    Parameters
    ----------
    theta : rad, a number for every link or one each; upright (pi), if not given. Where the chain cannot rest by itself, the torques
        hold it, if they can. They replace joint torques that the chain has
    Q : weights of angles (1/rad^2) and rates (s^2/rad^2): a number, (2N,), or a matrix (2N, 2N); 1 if not given
    R : weights of the torques (1/(N m)^2): a number, one for each driven joint, or a matrix; 1 if not given
    joints : the joints that are driven, from 0; all, if not given

    >>> from nlink.mechanics.chain import Chain
    >>> chain = Chain.uniform(2)
    >>> regulator = lqr(chain, joints=[1])
    >>> bool(regulator.eigenvalues.real.max() < 0)
    True
    >>> linearize(chain.with_loads(JointTorque(regulator.torque)), regulator.theta).stable
    True
    """
    chain = plain_chain("lqr", chain, "give simulate a torque function of the state")
    if chain.pin:
        raise ModelError("lqr does not support closed chains (Chain.pin); omit the pin")
    n = chain.n
    rest = np.array(spread("theta", angle_or_each("theta", np.pi if theta is None else theta), n, "links"))
    driven = _joints(joints, n)
    D = linearised.differences(n)
    bare = Chain(chain.links, tuple(load for load in chain.loads if not isinstance(load, JointTorque)))
    hold = _holding(bare, rest, driven, D)
    about = linearize(bare.with_loads(JointTorque(hold.tolist())), rest)
    A, B = about.A, np.vstack([np.zeros((n, len(driven))), np.linalg.solve(about.M, D.T[:, driven])])
    weights, prices = _weights("Q", Q, 2 * n, "2 N"), _weights("R", R, len(driven), "driven joints")
    if np.linalg.eigvalsh(weights).min() < -1e-12 * np.abs(weights).max() or np.linalg.eigvalsh(prices).min() <= 0:
        raise ModelError("lqr needs a Q without negative and an R with positive eigenvalues; give positive weights")
    _refuse_unreached(A, B, driven)
    P = _riccati(A, B, weights, prices)
    K = np.linalg.solve(prices, B.T @ P)
    return LQR(rest, tuple(driven), K, np.sort_complex(np.linalg.eigvals(A - B @ K)).astype(complex), hold, A, B, P)


def _joints(joints: Sequence[int] | None, n: int) -> list[int]:
    """Return the driven joints, checked."""
    driven = list(range(n)) if joints is None else list(joints)
    whole = all(isinstance(joint, int | np.integer) and 0 <= joint < n for joint in driven)
    if not driven or not whole or len(set(driven)) < len(driven):
        raise ModelError(f"lqr: joints must be different numbers from 0 to {n - 1}, got {shown(joints)}")
    return [int(joint) for joint in driven]


def _holding(chain: Multibody, theta: np.ndarray, driven: list[int], D: np.ndarray) -> np.ndarray:
    """Return the torques (N,) at the driven joints that hold a chain at rest; refuse angles where they cannot."""
    rest, hold = statics(chain, theta), np.zeros(chain.n)
    if not rest.balanced():
        hold[driven] = np.linalg.lstsq(D.T[:, driven], -rest.left, rcond=None)[0]
    left = float(np.abs(rest.left + D.T @ hold).max())
    if left > BALANCE * rest.scale:
        raise ModelError(
            f"lqr: joints {driven} cannot hold the chain at theta: a moment of {left:.3g} N m is left over; "
            "give an equilibrium, or let more joints be driven"
        )
    return hold


def _weights(name: str, given: ArrayLike | None, size: int, what: str) -> np.ndarray:
    """Return a symmetric matrix (size, size) of weights."""
    try:
        values = np.asarray(1.0 if given is None else given, float)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if values.ndim < 2 and values.shape in ((), (size,)):
        values = np.diag(np.broadcast_to(values, (size,)))
    if (
        values.shape != (size, size)
        or not np.isfinite(values).all()
        or np.abs(values - values.T).max() > 1e-12 * np.abs(values).max()
    ):
        raise ModelError(
            f"lqr: {name} must be a number, {size} of them or a symmetric matrix of {size} x {size} ({what}), got {shown(given)}"
        )
    return values


def _refuse_unreached(A: np.ndarray, B: np.ndarray, driven: list[int]) -> None:
    """Refuse a chain with a motion that does not die out by itself, and on which the driven joints have no influence (Hautus)."""
    values, scale = np.linalg.eigvals(A), np.abs(A).max()
    B = B * (scale / np.abs(B).max())
    for value in values[values.real > -1e-9 * scale]:
        sizes = np.linalg.svd(np.hstack([A - value * np.eye(len(A)), B]), compute_uv=False)
        if sizes[-1] <= UNREACHED * sizes[0]:
            raise ModelError(
                f"lqr: joints {driven} have no influence on a motion with the eigenvalue {value:.3g} 1/s; "
                "let another joint be driven"
            )


def _riccati(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return the stabilising solution of the Riccati equation."""
    from scipy.linalg import solve_continuous_are

    try:
        P = solve_continuous_are(A, B, Q, R)
    except (np.linalg.LinAlgError, ValueError):
        raise ModelError(
            "lqr: the Riccati equation has no solution that holds the chain; give Q weights for all angles and rates"
        ) from None
    return 0.5 * (P + P.T)
