"""A motion that an analysis follows: its start, its steps chunk by chunk, Ctrl-C, and the status at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError
from nlink._support.interrupt import Interrupt
from nlink.integrators.base import ARRIVED, RUNNING, Chunk, Integrator, Restart, Stepper
from nlink.mechanics import loop_closure
from nlink.mechanics.system import System, beyond
from nlink.run.run import Status


class Motion:
    """The motion of a system by one method, with the work of its loads."""

    def __init__(self, system: System, method: Integrator) -> None:
        self.system, self.method, self.scratch = system, method, system.scratch()
        self.stepper: Stepper | None = None

    def chunks(self, t: float, end: float, y: np.ndarray | None = None, limit: int = 100_000) -> Iterator[Chunk]:
        """Yield the chunks of up to `limit` steps from the state y with its ledger; if not given, from where the last chunk ended.

        The last chunk has a code that says how it ended.
        """
        if y is not None:
            point = Restart.at(t, y.copy())
            if self.stepper is None:
                self.stepper = self.method.stepper(self.system, point, end)
            else:
                self.stepper.restart(point, end)
        assert self.stepper is not None
        bounds, code = self.system.bounds(t, end), RUNNING
        while len(bounds) and code in (RUNNING, ARRIVED):
            chunk = self.stepper.advance(bounds, limit, final=False, dense=True)
            code, bounds = chunk.code, beyond(bounds, chunk.t[-1], 1.0)
            yield chunk


class Failure(Exception):
    """A motion that cannot be followed further; the status says why."""

    def __init__(self, status: Status) -> None:
        super().__init__(str(status))
        self.status = status


def start_state(system: System, theta: ArrayLike, omega: ArrayLike | None) -> np.ndarray:
    """Return the state with its ledger at angles theta and rates omega, at rest if not given; closed if it has pins."""
    if system.chain.spatial:
        start = system.encode(theta, 0.0 if omega is None else omega)
        return np.concatenate([start, np.zeros(system.full_size - system.size)])
    angles, rates = system.angles("theta", theta), system.angles("omega", 0.0 if omega is None else omega)
    angles, rates = system.chain.given(0.0, angles, rates)
    start = loop_closure.started(system.chain, angles, rates)
    state = np.concatenate([system.encode(start.theta, start.omega), np.zeros(system.full_size - system.size)])
    system.begin(state)
    stuck = system.formulation.stuck(system, 0.0, state)
    if stuck:
        raise ModelError(f"{stuck[0]}; {stuck[1]}")
    return state


def followed(times: Iterable[float], t_end: float, results: str, progress: Callable[[float], None]) -> Status:
    """Go through the times that a motion reaches; return how it ended: at t_end, by Ctrl-C or by a Failure."""
    with Interrupt() as interrupt:
        try:
            for t in times:
                progress(t)
                if interrupt.asked:
                    return Status("interrupted", f"stopped by the user at t = {t:g} s", f"the {results} up to there are kept")
        except Failure as failure:
            return failure.status
    return Status("finished", f"reached t = {t_end:g} s")


def failure(system: System, t: float, other: Status) -> Failure:
    """Return the Failure of a motion at about t: that of its torque function, or the other one."""
    if not (system.failed and system.callback):
        return Failure(other)
    error = system.callback.taken()
    if not isinstance(error, Exception):
        raise error  # a second Ctrl-C, say
    return Failure(Status("torque_failed", f"the torque function failed near t = {t:g} s: {type(error).__name__}: {error}"))
