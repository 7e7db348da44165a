"""A motion under way with its deviations: orthonormal, carried along, and made so again by QR whenever they have grown apart.

What is kept: the logarithms of their growth, how volumes must have changed, and the balance of energy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nlink._support.checks import ModelError, whole
from nlink.analysis.variations import Leg, follower, tangent_frame, volume
from nlink.integrators.base import ARRIVED, NOT_FINITE
from nlink.mechanics import kinematics, loop_closure
from nlink.mechanics.chain import Chain
from nlink.run.run import Status

SPREAD, TOO_FAR = math.log(300.0), math.log(1e6)
"""Growth of one deviation over another at which the time between two QRs is shortened, and at which a part is done again."""
DEAD = 1e-2
"""Smallest singular value of the closure, as a part of the largest, below which no part of the motion ends."""


class Failure(Exception):
    """A motion that could not be followed further; the code says why."""

    def __init__(self, code: int) -> None:
        self.code = code


class Course:
    """A motion under way with its deviations."""

    def __init__(self, chain: Chain, theta: Any, omega: Any, tol: float, count: int | None) -> None:
        if not isinstance(chain, Chain):
            raise ModelError(f"lyapunov needs a Chain, got {type(chain).__name__}")
        self.chain, self.follower = chain, follower(chain, tol)
        system = self.follower.system
        start = loop_closure.assemble(chain, system.angles("theta", theta), system.angles("omega", 0.0 if omega is None else omega))
        stuck = loop_closure.stuck(chain, start.theta, start.omega)
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
        self.volume, self.contraction, self.origin = self.volume_now(), 0.0, self.t
        self.times, self.logs = [self.t], [np.zeros(self.count)]

    def step(self, end: float, last: float) -> tuple[float, np.ndarray]:
        """Go on to `end`, less far if deviations grow too much apart, further if the loop is near a dead position there, where its
        tangent space is ill determined; not beyond `last`. Return the time reached and R.
        """
        while True:
            leg = self.follower.advance(self.t, end, self.y, self.Q)
            if leg.code != ARRIVED or not np.isfinite(leg.deviations).all():
                raise Failure(leg.code)
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
        return bool(loop_closure.smallest_singular_value(self.chain, theta) < DEAD)

    def angles(self) -> tuple[np.ndarray, np.ndarray]:
        """Return angles and rates."""
        return self.follower.system.decode(self.y[: self.follower.system.size])

    def _energy(self) -> float:
        kinetic, potential = kinematics.energies(self.chain, *self.angles())
        return float(kinetic + potential - self.y[self.follower.system.size :].sum())

    def volume_now(self) -> float:
        """Return the logarithm of the volume of deviations that have volume 1 in angles and momenta."""
        return volume(self.chain, *self.angles())

    def _first_interval(self) -> float:
        """Return a time in which little grows: that of the slowest swing of one link."""
        return 0.3 * math.sqrt(float(self.chain.length.max()) / max(abs(self.chain.g), 1.0))

    @property
    def divergence(self) -> float:
        """The mean rate at which volumes have changed since the count began, exact."""
        span = self.t - self.origin
        return (self.volume_now() - self.volume - self.contraction) / span if span else math.nan


def told(course: Course, code: int) -> Status:
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
