"""The finite-time Lyapunov exponent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from nlink.ensemble.outputs.base import Keep, Output
from nlink.mechanics.chain import Multibody
from nlink.simulation.flow import FlowError

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run


@dataclass(frozen=True)
class FTLE(Keep):
    """The finite-time Lyapunov exponent: the logarithm of the largest stretching of a small deviation over the time, in 1/s.

    Members whose motion comes to its end are followed again, with their deviations.
    """

    watches: ClassVar[bool] = False

    def outputs(self, n: int) -> dict[str, Output]:
        """Return one number."""
        meaning = "finite-time Lyapunov exponent"
        return {"ftle": Output((), (), "f8", "1/s", meaning, "ftle", meaning)}

    def in_space(self, chain: Multibody) -> dict[str, Output]:
        """Return the same."""
        return self.outputs(chain.n)

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Follow the deviations of the run, as accurately as can be, whatever the method; NaN if that fails."""
        from nlink.analysis.ftle import ftle

        if run.status.ok:
            try:
                results["ftle"][k] = ftle(run.chain, job.position[k], job.velocity[k], job.t_end).exponent
            except FlowError:
                results["ftle"][k] = np.nan
