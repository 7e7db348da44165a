"""lyapunov(): how fast neighbouring motions part: the spectrum of Lyapunov exponents, with error bars; ftle() over a given time.

Orthonormal deviations are carried along the motion (`variations`), and made orthonormal again by QR whenever they have grown apart:
the exponents are the means of ln R_ii over time (Benettin et al., Meccanica 15, 1980). Errors are standard errors of the means of
ten blocks of equal time. What must hold is there to be looked at: the sum is the mean rate at which volumes change, known exactly,
and without damping the exponents come in pairs of opposite sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nlink import closure, kinematics
from nlink._check import ModelError, number, whole
from nlink.analysis.variations import Leg, follower, tangent_frame, volume
from nlink.chain import Chain
from nlink.flows import FlowError
from nlink.integrators.base import ARRIVED, NOT_FINITE
from nlink.progress import Bar, Notice
from nlink.run import Status
from nlink.simulation import COMPILING

TOLERANCE, FINE = 1e-13, 1e-16
"""Errors of a step, for exponents and for finite times."""
SPREAD, TOO_FAR = math.log(300.0), math.log(1e6)
"""Growth of one deviation over another at which the time between two QRs is shortened, and at which a part is done again."""
LEAST = 200
"""Values of the history, at the least."""
BLOCKS = 10
DEAD = 1e-2
"""Smallest singular value of the closure, as a part of the largest, below which no part of the motion ends."""


@dataclass(frozen=True, eq=False)
class Lyapunov:
    """The spectrum of Lyapunov exponents in 1/s and what led to it.

    exponents (count,) falling, errors (count,) their standard errors, history (T, count) the means up to the times (T,) in s;
    divergence: the mean rate at which volumes of all deviations change, exact, which the sum of a full spectrum equals;
    freedom: the dimension of the space of deviations, 2N, or 2(N-2) with a pin; residual: the largest error in the balance of
    energy on the way, in J; theta, omega: where the motion ended; status: how.
    """

    exponents: np.ndarray
    errors: np.ndarray
    times: np.ndarray
    history: np.ndarray
    divergence: float
    freedom: int
    residual: float
    theta: np.ndarray
    omega: np.ndarray
    status: Status

    @property
    def sum(self) -> float:
        """The sum of the exponents."""
        return float(self.exponents.sum())

    @property
    def pairing(self) -> np.ndarray:
        """The sums (freedom/2,) of the first and the last, the second and the last but one: zero without damping, all equal if the
        damping is proportional to the masses; empty unless the spectrum is full.
        """
        full = len(self.exponents) == self.freedom
        return (self.exponents + self.exponents[::-1])[: self.freedom // 2] if full else np.empty(0)

    @property
    def entropy(self) -> float:
        """The sum of the positive exponents in 1/s: the rate at which the start is forgotten (Pesin); exponents within twice their
        error of zero do not count.
        """
        return float(self.exponents[self.exponents > 2 * np.nan_to_num(self.errors)].sum())


class FiniteTime(NamedTuple):
    """The finite-time exponent ln(largest singular value)/t in 1/s, and all singular values of the derivative of the motion."""

    exponent: float
    singular_values: np.ndarray


def lyapunov(
    chain: Chain,
    theta: Any,
    omega: Any = None,
    *,
    t_end: float,
    count: int | None = None,
    transient: float = 0.0,
    progress: bool = False,
) -> Lyapunov:
    """Return the Lyapunov exponents of the motion from angles theta (N,) in rad and rates omega (N,) in rad/s up to t_end.

    Parameters
    ----------
    theta, omega : a number for every link, or one each
    t_end : s; errors fall with its square root in chaos, exponents that are zero like ln t / t
    count : how many exponents, the largest first; all if not given: 2N, or 2(N-2) for a closed chain
    transient : s at the beginning that are not counted: the way to an attractor
    progress : show a progress bar on a terminal

    Ctrl-C, or a motion that cannot be followed further, ends it early: the result holds what was found, and its `status` says why.

    >>> found = lyapunov(Chain.uniform(2), [1.0, 2.0], t_end=50.0)
    >>> bool(found.exponents[0] > 0.5), abs(found.sum - found.divergence) < 1e-9
    (True, True)
    """
    t_end, transient = number("t_end", t_end, above=0), number("transient", transient, least=0)
    if transient >= t_end:
        raise ModelError(f"transient must be below t_end, {t_end:g} s, got {transient:g}")
    with Notice(COMPILING, progress):
        course = _Course(chain, theta, omega, TOLERANCE, count)
    with Bar("following deviations", progress) as bar:
        status = _followed(course, transient, t_end, bar)
    return course.result(status)


def ftle(chain: Chain, theta: Any, omega: Any = None, t: float = 10.0) -> FiniteTime:
    """Return the finite-time Lyapunov exponent of a start over the time t in s: ln of the largest singular value of the derivative
    of the state (theta, omega) at t by the start, in rad and rad/s, divided by t. Of a closed chain, within its tangent space.

    >>> round(ftle(Chain.uniform(2), [0.7853981633974483] * 2, t=1.0).exponent, 6)
    1.714573
    """
    t = number("t", t, above=0)
    course = _Course(chain, theta, omega, FINE, None)
    product = np.eye(course.count)
    at = 0.0
    while at < t:
        end = min(at + course.interval, t)
        end = t if t - end < 1e-3 * course.interval else end
        try:
            at, R = course.step(end, t)
        except _Failure as failure:
            raise FlowError(str(_told(course, failure.code))) from None
        product = R @ product
    sizes = _singular_values(product)
    return FiniteTime(math.log(sizes[0]) / t, sizes)


class _Course:
    """A motion under way with its deviations; the logarithms of their growth are kept."""

    def __init__(self, chain: Chain, theta: Any, omega: Any, tol: float, count: int | None) -> None:
        if not isinstance(chain, Chain):
            raise ModelError(f"lyapunov needs a Chain, got {type(chain).__name__}")
        self.chain, self.follower = chain, follower(chain, tol)
        system = self.follower.system
        start = closure.assemble(chain, system.angles("theta", theta), system.angles("omega", 0.0 if omega is None else omega))
        stuck = closure.stuck(chain, start.theta, start.omega)
        if stuck:
            raise ModelError(f"{stuck[0]}; {stuck[1]}")
        frame = tangent_frame(chain, start.theta, start.omega)
        self.freedom = 2 * chain.n if frame is None else frame.shape[1]
        self.count = self.freedom if count is None else whole("count", count)
        if self.count > self.freedom:
            raise ModelError(f"count must be at most {self.freedom}, the number of exponents of this chain, got {count}")
        if self.freedom == 0:
            raise ModelError("the links cannot move: there are no deviations to follow")
        mixed = np.linalg.qr(np.random.default_rng(0).standard_normal((self.freedom, self.freedom)))[0]
        self.Q = (mixed if frame is None else frame @ mixed)[:, : self.count]
        self.t, self.y = 0.0, np.zeros(system.full_size)
        self.y[: system.size] = system.encode(start.theta, start.omega)
        self.energy, self.residual = self._energy(), 0.0
        self.interval = self._first_interval()
        self.begin()

    def begin(self) -> None:
        """Count from here."""
        self.volume, self.contraction, self.origin = self._volume(), 0.0, self.t
        self.times, self.logs = [self.t], [np.zeros(self.count)]

    def step(self, end: float, last: float) -> tuple[float, np.ndarray]:
        """Go on to `end`, less far if deviations grow too much apart, further if the loop is near a dead position there, where its
        tangent space is ill determined; not beyond `last`. Return the time reached and R.
        """
        while True:
            leg = self.follower.advance(self.t, end, self.y, self.Q)
            if leg.code != ARRIVED or not np.isfinite(leg.deviations).all():
                raise _Failure(leg.code)
            if end < last and self._dead(leg):
                end = min(end + 0.3 * (end - self.t), last)
                continue
            Q, R = np.linalg.qr(leg.deviations)
            growth = np.log(np.abs(np.diag(R)))
            spread = float(np.ptp(np.append(growth, 0.0)))
            if spread <= TOO_FAR or end - self.t < 1e-9:
                break
            end = 0.5 * (self.t + end)
            self.interval = end - self.t
        if end - self.t >= 0.99 * self.interval:
            self.interval *= 0.5 if spread > SPREAD else 2.0 if spread < 0.25 * SPREAD else 1.0
        self._take(end, leg, Q, growth)
        return end, R

    def _take(self, end: float, leg: Leg, Q: np.ndarray, growth: np.ndarray) -> None:
        self.t, self.y, self.Q = end, leg.y, Q
        self.contraction += leg.contraction
        self.residual = max(self.residual, abs(self._energy() - self.energy))
        self.times.append(end)
        self.logs.append(self.logs[-1] + growth)

    def _dead(self, leg: Leg) -> bool:
        if self.chain.pin is None:
            return False
        theta, _ = self.follower.system.decode(leg.y[: self.follower.system.size])
        return bool(closure.smallest_singular_value(self.chain, theta) < DEAD)

    def _angles(self) -> tuple[np.ndarray, np.ndarray]:
        return self.follower.system.decode(self.y[: self.follower.system.size])

    def _energy(self) -> float:
        kinetic, potential = kinematics.energies(self.chain, *self._angles())
        return float(kinetic + potential - self.y[self.follower.system.size :].sum())

    def _volume(self) -> float:
        return volume(self.chain, *self._angles())

    def _first_interval(self) -> float:
        """Return a time in which little grows: that of the slowest swing of one link."""
        return 0.3 * math.sqrt(float(self.chain.length.max()) / max(abs(self.chain.g), 1.0))

    def result(self, status: Status) -> Lyapunov:
        """Return the exponents up to here."""
        times, logs = np.array(self.times), np.array(self.logs)
        span = times[1:] - self.origin
        history = logs[1:] / span[:, None]
        exponents = history[-1] if len(history) else np.full(self.count, np.nan)
        order = np.argsort(-exponents, kind="stable")
        theta, omega = (values.copy() for values in self._angles())
        change = self._volume() - self.volume - self.contraction
        divergence = change / span[-1] if len(span) else math.nan
        return Lyapunov(
            exponents[order], block_errors(times, logs)[order], times[1:], history[:, order], divergence, self.freedom,
            self.residual, theta, omega, status,
        )  # fmt: skip


class _Failure(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


def _followed(course: _Course, transient: float, t_end: float, bar: Bar) -> Status:
    """Follow the motion to its end; return how it ended."""
    try:
        for start, end in ((0.0, transient), (transient, t_end)):
            if end == transient and transient == 0.0:
                continue
            longest = (end - start) / LEAST
            while course.t < end:
                course.interval = min(course.interval, longest)
                goal = course.t + course.interval
                course.step(end if end - goal < 0.01 * course.interval else goal, end)
                bar.update(course.t, t_end)
            if end == transient:
                course.begin()
    except KeyboardInterrupt:
        return Status("interrupted", f"stopped by the user at t = {course.t:g} s", "the exponents up to there are kept")
    except _Failure as failure:
        return _told(course, failure.code)
    return Status("finished", f"reached t = {t_end:g} s")


def _told(course: _Course, code: int) -> Status:
    """Return why a motion could not be followed."""
    system, where = course.follower.system, f"t = {course.t:g} s"
    if system.failed and system.callback:
        error = system.callback.taken()
        if isinstance(error, KeyboardInterrupt):
            return Status("interrupted", f"stopped by the user at {where}", "the exponents up to there are kept")
        return Status("torque_failed", f"the torque function failed after {where}: {type(error).__name__}: {error}")
    if code in (ARRIVED, NOT_FINITE):
        return Status("not_finite", f"the motion or its deviations stopped being finite after {where}", "look at the loads")
    return Status("step_too_small", f"the steps became too small to go on after {where}", "simulate the motion to see why")


def block_errors(times: np.ndarray, logs: np.ndarray, blocks: int = BLOCKS) -> np.ndarray:
    """Return the standard errors (K,) of mean growth rates by blocks of equal time, from logarithms (T, K) at times (T,)."""
    if len(times) < blocks + 1:
        return np.full(logs.shape[1], np.nan)
    edges = np.linspace(times[0], times[-1], blocks + 1)
    at = np.stack([np.interp(edges, times, column) for column in logs.T], axis=1)
    means = np.diff(at, axis=0) / np.diff(edges)[:, None]
    return means.std(axis=0, ddof=1) / math.sqrt(blocks)


def _singular_values(product: np.ndarray) -> np.ndarray:
    """Return the singular values of a triangular product, small ones too to their own digits: one-sided Jacobi rotations."""
    from scipy.linalg.lapack import dgejsv

    scale = max(float(np.abs(product).max()), 1e-300)
    values, _, _, work, _, info = dgejsv(product / scale, joba=3, jobu=3, jobv=3)
    if info != 0:
        return np.linalg.svd(product, compute_uv=False)
    return np.sort(values * (work[0] / work[1]) * scale)[::-1]
