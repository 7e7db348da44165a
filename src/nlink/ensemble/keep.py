"""What survives of each member of an ensemble: frozen records, computed while the members run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nlink._support.checks import ModelError, line, listed, number, number_or_each, shown, whole

MOST_KEPT = 1_000_000
"""Numbers that a Reducer may keep of each member."""


class Output(NamedTuple):
    """An array of results: dimensions after `member`, the shape of one member's part, kind of numbers, unit and meaning."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    units: str
    meaning: str


@dataclass(frozen=True)
class Keep:
    """Something to keep of each member."""

    def outputs(self, n: int) -> dict[str, Output]:
        """Return the arrays it gives for chains of n links."""
        raise NotImplementedError


@dataclass(frozen=True)
class Final(Keep):
    """The state at the end: theta, omega."""

    def outputs(self, n: int) -> dict[str, Output]:
        """Return theta and omega."""
        return {
            "theta": Output(("link",), (n,), "f8", "rad", "angles at the end"),
            "omega": Output(("link",), (n,), "f8", "rad/s", "rates at the end"),
        }


@dataclass(frozen=True)
class Samples(Keep):
    """The states at times: sample_theta, sample_omega over `time`."""

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


@dataclass(frozen=True)
class FlipTime(Keep):
    """When and which link first turns over: flip_time (NaN if none does), flip_link (from 1; 0 if none does).

    Alone it ends a member there, and its status is "event".
    """

    def outputs(self, n: int) -> dict[str, Output]:
        """Return time and link."""
        return {
            "flip_time": Output((), (), "f8", "s", "when a link first turned over"),
            "flip_link": Output((), (), "i4", "", "which link it was, counted from the pivot; 0: none"),
        }


@dataclass(frozen=True)
class EnergyDrift(Keep):
    """The largest residual of the energy, work of the loads taken off: energy_drift."""

    def outputs(self, n: int) -> dict[str, Output]:
        """Return one number."""
        return {"energy_drift": Output((), (), "f8", "J", "largest change of energy that no load explains")}


@dataclass(frozen=True)
class Extremes(Keep):
    """Least and largest angles and rates, also between the ends of the steps."""

    def outputs(self, n: int) -> dict[str, Output]:
        """Return four arrays."""
        names = {"theta": "rad", "omega": "rad/s"}
        return {
            f"{which}_{name}": Output(("link",), (n,), "f8", unit, f"{words} {name}")
            for name, unit in names.items()
            for which, words in (("least", "least"), ("largest", "largest"))
        }


@dataclass(frozen=True)
class FTLE(Keep):
    """The finite-time Lyapunov exponent: the logarithm of the largest stretching of a small deviation over the time, in 1/s."""

    def outputs(self, n: int) -> dict[str, Output]:
        """Return one number."""
        return {"ftle": Output((), (), "f8", "1/s", "finite-time Lyapunov exponent")}


@dataclass(frozen=True)
class Reducer(Keep):
    """A function of your own: step(memory, t, theta, omega) is called at the start and after every step with plain numbers and
    arrays, and changes `memory` (size,), up to 1,000,000 numbers, which is kept; it must be something Numba can compile.
    """

    name: str
    size: int
    step: Callable[[np.ndarray, float, np.ndarray, np.ndarray], None]
    start: float = 0.0

    def __post_init__(self) -> None:
        line("Reducer.name", self.name, 100)
        whole("Reducer.size", self.size, most=MOST_KEPT)
        number("Reducer.start", self.start)
        if not self.name.isidentifier() or not callable(self.step):
            raise ModelError(f"Reducer needs a name like 'work' and a function step(memory, t, theta, omega), got {shown(self)}")

    def outputs(self, n: int) -> dict[str, Output]:
        """Return its memory."""
        return {self.name: Output((f"{self.name}_part",), (self.size,), "f8", "", "kept by a function of the user")}


def kept(given: Any) -> tuple[Keep, ...]:
    """Return what to keep as a tuple, checked."""
    several = tuple(given) if listed(given) else (given,)
    for each in several:
        if not isinstance(each, Keep):
            names = ", ".join(f"{kind.__name__}()" for kind in (Final, FlipTime, EnergyDrift, FTLE, Extremes))
            raise ModelError(f"keep must list what to keep ({names}, Samples(times), Reducer(...)), got {shown(each)}")
    names = [each.name if isinstance(each, Reducer) else type(each).__name__ for each in several]
    if not several or len(set(names)) < len(names):
        raise ModelError("keep must name at least one thing, and each once")
    return several
