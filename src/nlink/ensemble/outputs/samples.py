"""The states at times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from nlink._support.checks import ModelError, listed, number_or_each, shown
from nlink.compiled.jit import kernel
from nlink.ensemble.kernels.lanes import AT, BETWEEN, OLD, SEAT, SPAN, T, half_of, member_in
from nlink.ensemble.kernels.methods import interpolate
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.outputs.base import Arrays, Keep, Output, read_vectors, vectors
from nlink.mechanics.chain import Multibody

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run


class SampledStates(NamedTuple):
    """The observer: coordinates and rates (M, T, K), how many times a member has passed (M,), its next time (M,), and the times
    (T,), of which the last is NaN: it never comes.
    """

    theta: np.ndarray
    omega: np.ndarray
    passed: np.ndarray
    due: np.ndarray
    times: np.ndarray


@dataclass(frozen=True)
class Samples(Keep):
    """The states at times: sample_theta, sample_omega over `time`; in space sample_direction, sample_omega, sample_rotation."""

    observer: ClassVar[Any] = SampledStates
    times: tuple[float, ...]

    def __post_init__(self) -> None:
        if not listed(self.times) or not len(self.times):
            raise ModelError(f"Samples.times must be a list of times in s, got {shown(self.times)}")
        object.__setattr__(self, "times", number_or_each("Samples.times", self.times))
        if np.any(np.diff(np.abs(self.times)) <= 0):
            raise ModelError("Samples.times must go away from 0 without a repeat; sort them")

    def outputs(self, n: int) -> dict[str, Output]:
        """Return states over time."""
        shape = (len(self.times), n)
        return {
            "sample_theta": Output(("time", "link"), shape, "f8", "rad", "angles at the times"),
            "sample_omega": Output(("time", "link"), shape, "f8", "rad/s", "rates at the times"),
        }

    def in_space(self, chain: Multibody) -> dict[str, Output]:
        """Return directions and rates over time, and rotations of bodies."""
        return vectors(chain, (("time", len(self.times)),), "sample_", "at the times")

    def translated(self, chain: Multibody, raw: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return what the coordinates stand for."""
        return read_vectors(chain, raw["sample_theta"], raw["sample_omega"], "sample_") if chain.spatial else raw

    def extras(self, job: Job, arrays: Arrays) -> tuple[Any, ...]:
        """Return how many times each member has passed, its next time, and the times."""
        due = arrays.new((job.members,), "f8", self.times[0])
        return arrays.new((job.members,), "i4"), due, arrays.constant(np.array([*self.times, math.nan]))

    def points(self, t_end: float) -> Sequence[float]:
        """Return the times."""
        return self.times

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Take the points at the times."""
        at = np.isin(run.t, self.times)
        count = int(at.sum())
        raw = {"sample_theta": run.position[at], "sample_omega": run.velocity[at]}
        for name, values in self.translated(run.chain, raw).items():
            results[name][k, :count] = values

    def coordinates(self) -> dict[str, tuple[str, np.ndarray, dict[str, str]]]:
        """Return the times."""
        return {"time": ("time", np.array(self.times), {"units": "s"})}


@kernel
def write_start(observer, view, k):
    """Write down the start of the member in lane k for the times 0."""
    while observer.due[member_in(view, k)] == 0.0:
        write(observer, view, k, OLD)


@kernel
def write_within(observer, view, _):
    """Write down the states at the times within the step, for all lanes at once until no lane has a time left."""
    own, some = view.own, True
    while some:
        some = False
        for k in range(len(view.lanes)):
            own.clocks[AT, k] = 0.0
            if is_due(observer, view, k):
                own.clocks[AT, k] = observer.due[member_in(view, k)] - own.clocks[T, k]
                some = True
        if some:
            interpolate(view.method, view, view.clocks[AT], view.states[BETWEEN])
            for k in range(len(view.lanes)):
                if is_due(observer, view, k):
                    write(observer, view, k, BETWEEN)


@kernel
def is_due(observer, view, k):
    """Whether the next time of the member in lane k lies within its step."""
    clocks = view.own.clocks
    return clocks[SEAT, k] >= 0.0 and abs(observer.due[member_in(view, k)] - clocks[T, k]) <= abs(clocks[SPAN, k])


@kernel
def write(observer, view, k, row):
    """Write down a state of lane k for its next time."""
    n, member, y = half_of(view), member_in(view, k), view.own.y
    at = int(observer.passed[member])
    for i in range(n):
        observer.theta[member, at, i], observer.omega[member, at, i] = y[row, i, k], y[row, n + i, k]
    observer.passed[member], observer.due[member] = at + 1, observer.times[at + 1]


HOOKS[SampledStates] = Hooks(start=write_start, after_step=write_within)
