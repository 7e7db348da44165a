"""The state at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from nlink.compiled.jit import kernel
from nlink.ensemble.kernels.lanes import NEW, half_of, member_in
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.outputs.base import Keep, Output, read_vectors, vectors
from nlink.mechanics.chain import Multibody

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run


class FinalState(NamedTuple):
    """The observer: coordinates and rates (M, K)."""

    theta: np.ndarray
    omega: np.ndarray


@dataclass(frozen=True)
class Final(Keep):
    """The state at the end: theta, omega; in space direction, omega, and rotation of bodies."""

    observer: ClassVar[Any] = FinalState

    def outputs(self, n: int) -> dict[str, Output]:
        """Return theta and omega."""
        return {
            "theta": Output(("link",), (n,), "f8", "rad", "angles at the end", "theta", "angle at the end"),
            "omega": Output(("link",), (n,), "f8", "rad/s", "rates at the end", "omega", "rate at the end"),
        }

    def in_space(self, chain: Multibody) -> dict[str, Output]:
        """Return direction and omega, and rotation of bodies."""
        return vectors(chain, (), "", "at the end")

    def translated(self, chain: Multibody, raw: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return what the coordinates stand for."""
        return read_vectors(chain, raw["theta"], raw["omega"], "") if chain.spatial else raw

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Take the last point of the run."""
        if run.checkpoint is not None and len(run.t):
            raw = {"theta": run.position[-1], "omega": run.velocity[-1]}
            for name, values in self.translated(run.chain, raw).items():
                results[name][k] = values


@kernel
def write(observer, view, k):
    """Write down the new state of lane k."""
    n, member, y = half_of(view), member_in(view, k), view.own.y
    for i in range(n):
        observer.theta[member, i], observer.omega[member, i] = y[NEW, i, k], y[NEW, n + i, k]


HOOKS[FinalState] = Hooks(end=write)
