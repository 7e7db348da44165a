"""A job: an ensemble that can be computed block by block, in any order, by anyone who gets it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nlink.ensemble.outputs import Keep, Output
from nlink.formulations.recursive import RecursiveParameters
from nlink.integrators.base import Integrator
from nlink.integrators.runge_kutta import DOP853
from nlink.integrators.taylor import Taylor
from nlink.mechanics.chain import Chain
from nlink.mechanics.system import System

STATUS = ("finished", "event", "not_finite", "too_many_steps", "inaccurate")
ALWAYS = {
    "status": Output((), (), "i1", "", "0 finished, 1 event, 2 not finite, 3 too many steps, 4 inaccurate"),
    "steps": Output((), (), "i4", "", "number of steps"),
}
ON = np.zeros(1, np.int64)
"""What a computation that nobody will halt looks at."""


class Halted(Exception):
    """A computation left off before its end, because it was asked to."""


@dataclass(frozen=True)
class Job:
    """Angles and rates (M, N) at the start of a chain, what varies, how far to go, what to keep, and how to step."""

    chain: Chain
    theta: np.ndarray
    omega: np.ndarray
    t_end: float
    keep: tuple[Keep, ...]
    method: Integrator
    vary: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def members(self) -> int:
        """Number of members."""
        return len(self.theta)

    def outputs(self) -> dict[str, Output]:
        """Return the arrays it gives, by name."""
        return {name: output for keep in self.keep for name, output in keep.outputs(self.chain.n).items()} | ALWAYS

    def part(self, first: int, last: int) -> Job:
        """Return the job of the members first ... last - 1."""
        return self.rows(slice(first, last))

    def rows(self, which: Any) -> Job:
        """Return the job of some members."""
        vary = {name: values[which] for name, values in self.vary.items()}
        return replace(self, theta=self.theta[which], omega=self.omega[which], vary=vary)

    def wanted(self, kind: type) -> Any:
        """Return what is kept of this kind, or None."""
        return next((keep for keep in self.keep if isinstance(keep, kind)), None)

    def alone(self, keep: Keep) -> bool:
        """Whether nothing else that is kept is found on the way of a member."""
        return not any(each.watches for each in self.keep if each is not keep)


def side_by_side(system: System, method: Integrator, vary: Any) -> bool:
    """Whether members can be computed in lanes: open chains without Python torques, by DOP853, or by Taylor where the loads have a
    plain series (no tables of torques, no quadratic drag).
    """
    if type(system.parameters) is not RecursiveParameters or system.callback:
        return False
    quadratic = system.parameters.chain.swept > 1 or any("drag.quadratic" in str(name) for name in (vary or {}))
    return isinstance(method, DOP853) or (isinstance(method, Taylor) and not len(system.breaks()) and not quadratic)


def compute(job: Job, halt: np.ndarray = ON) -> dict[str, np.ndarray]:
    """Compute a job; return its outputs, rows being members. Raise Halted soon after another thread writes 1 to halt[0]."""
    system = known_system(job.chain)
    if side_by_side(system, job.method, job.vary):
        from nlink.ensemble.lanes_engine import compute_in_lanes

        return compute_in_lanes(job, system, halt)
    from nlink.ensemble.each_engine import compute_each

    return compute_each(job, halt)


_latest: list[tuple[Chain, System]] = []


def known_system(chain: Chain) -> System:
    """Return a chain's equations of motion, for those who only read them: the blocks of a job have the very same chain."""
    from nlink.formulations import formulate

    for known, system in _latest:
        if known is chain:
            return system
    system = formulate(chain)
    _latest[:] = [(chain, system)]
    return system
