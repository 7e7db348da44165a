"""The tangent flow along a motion: orthonormal deviations, made orthonormal again by QR whenever they have grown apart.

It keeps the logarithms of their growth, the exact change of their volume, and the balance of energy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, whole
from nlink.analysis.motion import failure, start_state
from nlink.analysis.space_deviations import DualsInSpace
from nlink.analysis.variations import tangent_engine, tangent_frame
from nlink.integrators.base import ARRIVED, NOT_FINITE
from nlink.mechanics import kinematics, loop_closure
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import a_model
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.tangents import frames
from nlink.run.run import Status

SPREAD, TOO_FAR = math.log(300.0), math.log(1e6)
"""Growth of one deviation over another at which the time between two QRs is shortened, and at which a segment is repeated."""
DEAD = 1e-2
"""Smallest singular value of the closure, as a part of the largest, below which no segment ends."""


class TangentFlow:
    """A motion under way with its deviations."""

    def __init__(self, chain: Multibody, theta: ArrayLike, omega: ArrayLike | None, tol: float, count: int | None = None) -> None:
        if isinstance(chain, SpatialChain):
            self.chain, self.engine = chain, DualsInSpace(chain, tol)
        else:
            self.chain, self.engine = chain, tangent_engine(a_model("lyapunov", chain), tol)
        self.system = self.engine.system
        self.t, self.y = 0.0, start_state(self.system, theta, omega)
        frame = frames(chain, *self.angles()) if isinstance(chain, SpatialChain) else tangent_frame(chain, *self.angles())
        self.freedom = 2 * chain.n if frame is None else frame.shape[1]
        self.count = self.freedom if count is None else whole("count", count)
        if self.count > self.freedom:
            raise ModelError(f"count must be at most {self.freedom}, the number of exponents of this chain, got {count}")
        if self.freedom == 0:
            raise ModelError(
                "the links cannot move: there are no deviations to follow; leave a joint free of pins and prescribed motions"
            )
        mixed = np.linalg.qr(np.random.default_rng(0).standard_normal((self.freedom, self.freedom)))[0]
        self.Q = (mixed if frame is None else frame @ mixed)[:, : self.count]
        self.energy, self.residual = self._energy(), 0.0
        longest = float(chain.length.max()) or 1.0
        self.interval = 0.3 * math.sqrt(longest / max(abs(chain.g), 1.0))  # the slowest swing of one link
        self.begin()

    def begin(self) -> None:
        """Count from here."""
        self.volume, self.contraction, self.origin = self.engine.volume(self.t, *self.angles()), 0.0, self.t
        self.times, self.logs = [self.t], [np.zeros(self.count)]

    def factors(self, end: float, longest: float = math.inf, rest: float = 0.01) -> Iterator[np.ndarray]:
        """Go on to the time `end`, from QR to QR; yield each R. A remainder below `rest` of the last interval is joined to it."""
        while self.t < end:
            self.interval = min(self.interval, longest)
            goal = self.t + self.interval
            yield self._step(end if end - goal < rest * self.interval else goal, end)

    def _step(self, end: float, last: float) -> np.ndarray:
        """Go on to `end`, less far if deviations grow too much apart, further if the loop is near a dead position there, where its
        tangent space is ill determined; not beyond `last`. Return R.
        """
        while True:
            segment = self.engine.advance(self.t, end, self.y, self.Q)
            if segment.code != ARRIVED or not np.isfinite(segment.deviations).all():
                raise failure(self.system, self.t, self._failed(segment.code))
            theta, _ = self.system.decode(segment.y[: self.system.size])
            if end < last and self.chain.closed and loop_closure.smallest_singular_value(self.chain, theta) < DEAD:
                end = min(end + 0.3 * (end - self.t), last)
                continue
            Q, R = np.linalg.qr(segment.deviations)
            growth = np.log(np.abs(np.diag(R)))
            spread = float(np.ptp(np.append(growth, 0.0)))
            if spread <= TOO_FAR or end - self.t < 1e-9:
                break
            end = 0.5 * (self.t + end)
            self.interval = end - self.t
        if end - self.t >= 0.99 * self.interval:
            self.interval *= 0.5 if spread > SPREAD else 2.0 if spread < 0.25 * SPREAD else 1.0
        self.t, self.y, self.Q = end, segment.y, Q
        self.contraction += segment.contraction
        self.residual = max(self.residual, abs(self._energy() - self.energy))
        self.times.append(end)
        self.logs.append(self.logs[-1] + growth)
        return R

    def _failed(self, code: int) -> Status:
        where = f"t = {self.t:g} s"
        if code in (ARRIVED, NOT_FINITE):
            return Status("not_finite", f"the motion or its deviations stopped being finite after {where}", "look at the loads")
        return Status("step_too_small", f"the steps became too small to go on after {where}", "simulate the motion to see why")

    def angles(self) -> tuple[np.ndarray, np.ndarray]:
        """Return angles and rates; in space coordinates and theirs."""
        return self.system.decode(self.system.given(self.t, self.y[: self.system.size]))

    def _energy(self) -> float:
        kinetic, potential = kinematics.energies(self.chain, *self.angles())
        return float(kinetic + potential - self.y[self.system.size :].sum())

    @property
    def divergence(self) -> float:
        """The mean rate at which volumes have changed since the count began, exact."""
        span = self.t - self.origin
        return (self.engine.volume(self.t, *self.angles()) - self.volume - self.contraction) / span if span else math.nan
