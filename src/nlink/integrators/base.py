"""Integrator (the contract): a frozen record that makes a Stepper, which advances in Chunks: see `simulation/integrate.py`.

To add a method:

1. a Runge-Kutta pair is a subclass of `runge_kutta.RungeKutta` with a tableau;
2. another method is a frozen record, a subclass of Integrator or FixedStep, whose `stepper` returns a Stepper: a
   `steps.CompiledStepper` with the kernels of its step, or a `solvers.SolverStepper` round a solver of another library;
3. `@register` of `nlink.integrators` gives it its name.

Steps end at each of the bounds: the kinks of the loads on the way, and the end. They never depend on the times asked for. If the
last bound ends the run (`final`), an adaptive method shortens its last step to end there and leaves in `point` where it stood
before, so that a resumed run repeats the steps of an uninterrupted one; a fixed-step method steps over it instead, but not
over a kink, and leaves in `point` the last point of its grid that is not beyond.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nlink._support.checks import number, whole
from nlink.mechanics.system import System

RUNGE_KUTTA = "DOP853, RK45 or RK4"
"""The integrators that take every model, in messages."""

if TYPE_CHECKING:
    from nlink.integrators.sampling import Sampling

MOST_STEPS = 10**12
"""What `max_steps` may be: a year of the fastest steps."""

RUNNING, ARRIVED, NOT_FINITE, STEP_TOO_SMALL, NOT_CONVERGED = range(5)


@dataclass
class Restart:
    """A point from which the steps can be taken again: time, next step (0: choose), state with ledger and its rates
    (None: evaluate), and the origin and count of a grid of fixed steps.
    """

    t: float
    step: float
    y: np.ndarray
    f: np.ndarray | None = None
    origin: float = 0.0
    count: int = 0

    @classmethod
    def at(cls, t: float, y: np.ndarray) -> Restart:
        """Return a point from which a method begins anew, with a new grid."""
        return cls(float(t), 0.0, y, None, float(t), 0)

    def rates(self, system: System) -> np.ndarray:
        """Return the rates, evaluated if they are not known."""
        return system.rates(self.t, self.y) if self.f is None else self.f


@dataclass
class Chunk(ABC):
    """Some steps: t (K+1,), y and rates f (K+1, m) at the knots, how the call ended, and how many points were saved and flips found
    on the way. Valid until the next `advance`.
    """

    t: np.ndarray
    y: np.ndarray
    f: np.ndarray
    code: int
    saved: int = field(default=0, kw_only=True)
    flips: int = field(default=0, kw_only=True)
    """-1: more than there is room for"""

    @abstractmethod
    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the states (len(times), m) by the method's own dense output."""


class Stepper(ABC):
    """One integration under way."""

    point: Restart
    powers: int = 0
    """of the polynomials in which `advance` looks for flips; 0: it does not"""
    lasting: bool = False
    """whether it may wait for the next run of its system: it must not hold the system, so that both are freed at once"""
    nfev: int = 0
    steps: int = 0
    rejected: int = 0

    @abstractmethod
    def restart(self, point: Restart, t_end: float) -> None:
        """Begin anew from another point."""

    @abstractmethod
    def advance(
        self, bounds: np.ndarray, limit: int, final: bool = True, sampling: Sampling | None = None, dense: bool = False
    ) -> Chunk:
        """Take up to `limit` steps towards the last of `bounds`, or fewer towards the first; fill the room for points and flips.

        The code ARRIVED says that a bound was reached; which one the time tells. The chunk can be evaluated anywhere between its
        knots only if `dense`.
        """


class Integrator(ABC):
    """A method with its settings: a frozen record."""

    max_steps: int

    def __post_init__(self) -> None:
        for name, value in self.settings().items():
            where = f"{self.name}.{name}"
            if name in ("rtol", "atol", "tol", "step") or (name == "max_step" and value != math.inf):
                object.__setattr__(self, name, number(where, value, above=0))
            elif name == "max_steps":
                whole(where, value, most=MOST_STEPS)

    @abstractmethod
    def stepper(self, system: System, point: Restart, t_end: float) -> Stepper:
        """Return a stepper from a point towards t_end; raise ModelError for a system that the method cannot take."""

    @property
    def name(self) -> str:
        """Its name in `INTEGRATORS`."""
        return type(self).__name__

    @property
    def tolerances(self) -> tuple[float, float] | None:
        """The relative and the absolute tolerance; None for a method that has not both: a fixed step, Taylor."""
        return None

    @property
    def step_tolerances(self) -> tuple[float, float] | None:
        """What a step may err by, relative and absolute; None for fixed steps."""
        return self.tolerances

    def settings(self) -> dict[str, object]:
        """Return the fields of the record."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # pyright: ignore[reportArgumentType]

    def with_tolerances(self, rtol: float, atol: float, text: str = "") -> Integrator:
        """Return the same with these tolerances, where it has them and the text that it was read from does not give them."""
        own = {name: value for name, value in (("rtol", rtol), ("atol", atol)) if name in self.settings()}
        return replace(self, **{name: value for name, value in own.items() if f"{name}=" not in text})  # pyright: ignore[reportArgumentType, reportCallIssue]

    def described(self) -> str:
        """Return the method for people: its name, and the settings that are not the default ones."""
        return self._words

    @cached_property
    def _words(self) -> str:
        told = ("rtol", "atol", "step", "method", "tol")
        usual = {f.name: f.default for f in fields(self)}  # pyright: ignore[reportArgumentType]
        said = [f"{name}={value!r}" for name, value in self.settings().items() if name in told or value != usual[name]]
        return f"{self.name}({', '.join(said)})"


class Adaptive(Integrator):
    """A method that chooses its steps by a relative and an absolute tolerance: its record has these fields."""

    rtol: float
    atol: float

    @property
    def tolerances(self) -> tuple[float, float]:
        """The relative and the absolute tolerance of a step."""
        return self.rtol, self.atol


@dataclass(frozen=True)
class FixedStep(Integrator):
    """A method with a fixed step in s."""

    step: float = 0.001
    max_steps: int = 100_000_000


def steps_of(system: System, method: Integrator) -> str:
    """Return what is compiled for a method on a system, in words."""
    closed = f" for closed {'chains' if system.chain.pin else 'mechanisms'}" if system.chain.closed else ""
    return f"the steps of {method.name} in {system.formulation.name}{closed}"
