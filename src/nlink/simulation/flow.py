"""flow(chain): the motion as a function of the start and the time, set up once and called often: maps, shooting, optimisation.

Nothing is kept but the state reached, so a call costs little more than the steps themselves.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, number
from nlink.compiled.announcing import waiting
from nlink.formulations import formulate
from nlink.integrators import method_for
from nlink.integrators.base import ARRIVED, RUNNING, FixedStep, Integrator, Restart, Stepper, steps_of
from nlink.mechanics.chain import Chain
from nlink.mechanics.space.refusals import refuse_space
from nlink.mechanics.system import Formulation, System, beyond


class FlowError(RuntimeError):
    """A motion that could not be followed to its end."""


class Flow:
    """The motion of a chain from (theta, omega) by a time t; see `flow`."""

    def __init__(self, system: System, integrator: str | Integrator | None = None, rtol: float = 1e-9, atol: float = 1e-9) -> None:
        refuse_space("flow", system.chain)
        if system.chain.closed or system.formulation.constrained:
            raise ModelError("flow takes open chains in angles; use simulate for pins and constraints")
        self.system = copy.copy(system)
        chain = system.parameters.chain._replace(ledger=0)
        self.system.parameters, self.system._rows = system.parameters._replace(chain=chain), 0
        self.method = method_for(self.system, integrator, rtol, atol)
        self._stepper: Stepper | None = None

    def __repr__(self) -> str:
        """Return one line: which system, by which method."""
        return f"<Flow by {self.method.described()} of {self.system!r}>"

    def __call__(
        self, theta: ArrayLike, omega: ArrayLike | None = None, t: float = 1.0, *, start: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return angles and rates (N,) after the time t, from `start` on.

        >>> theta, omega = flow(Chain.uniform(2))([0.5, 0.5], t=2.0)
        >>> [round(float(x), 6) for x in theta]
        [0.208426, 0.420414]
        """
        system, end = self.system, start + number("t", t)
        state = system.encode(theta, 0.0 if omega is None else omega)
        if end == start:
            return system.decode(state)
        sign = 1.0 if end > start else -1.0
        bounds = system.bounds(start, end)
        fixed = isinstance(self.method, FixedStep)  # fixed steps reach over the end
        stepper, point = self._stepper, Restart.at(start, state)
        if stepper is None:
            with waiting(steps_of(system, self.method)):
                stepper = self._stepper = self.method.stepper(system, point, end)
                stepper.advance(bounds, 0, dense=fixed)
        else:
            stepper.restart(point, end)
        while True:
            left = self.method.max_steps - stepper.steps - stepper.rejected
            chunk = stepper.advance(bounds, min(100_000, left), dense=fixed)
            t = float(chunk.t[-1])
            if system.failed and system.callback:
                raise system.callback.taken()
            arrived = (end - t) * sign <= 0.0
            if chunk.code not in (RUNNING, ARRIVED) or (left <= 0 and not arrived):
                raise FlowError(f"the motion could not be followed beyond t = {t:g} s; simulate it to see why")
            if arrived:
                break
            bounds = beyond(bounds, t, sign)
        state = chunk.at(np.array([end]))[0] if fixed else chunk.y[-1]
        theta, omega = system.decode(state)
        return theta.copy(), omega.copy()


def flow(
    chain_or_system: Chain | System,
    *,
    formulation: str | Formulation = "recursive",
    integrator: str | Integrator | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
) -> Flow:
    """Return the motion of an open chain as a function (theta, omega, t) -> (theta, omega).

    >>> step = flow(Chain.uniform(1))
    >>> theta, omega = step([0.1], [0.0], t=1.0)
    """
    system = chain_or_system if isinstance(chain_or_system, System) else formulate(chain_or_system, formulation)
    return Flow(system, integrator, rtol, atol)
