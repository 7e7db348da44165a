"""The state at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from nlink.compiled.jit import kernel
from nlink.ensemble.kernels.lanes import NEW, half_of, member_in
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.outputs.base import Keep, Output

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run


class FinalState(NamedTuple):
    """The observer: coordinates and rates (M, K)."""

    theta: np.ndarray
    omega: np.ndarray


@dataclass(frozen=True)
class Final(Keep):
    """The state at the end: theta, omega."""

    observer: ClassVar[Any] = FinalState

    def outputs(self, n: int) -> dict[str, Output]:
        """Return theta and omega."""
        return {
            "theta": Output(("link",), (n,), "f8", "rad", "angles at the end", "theta", "angle at the end"),
            "omega": Output(("link",), (n,), "f8", "rad/s", "rates at the end", "omega", "rate at the end"),
        }

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Take the last point of the run."""
        if run.checkpoint is not None and len(run.t):
            results["theta"][k], results["omega"][k] = run.theta[-1], run.omega[-1]


@kernel
def write(observer, view, k):
    """Write down the new state of lane k."""
    n, member, y = half_of(view), member_in(view, k), view.own.y
    for i in range(n):
        observer.theta[member, i], observer.omega[member, i] = y[NEW, i, k], y[NEW, n + i, k]


HOOKS[FinalState] = Hooks(end=write)
