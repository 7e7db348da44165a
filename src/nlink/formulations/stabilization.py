"""How a constrained formulation keeps its constraints: records for `Maximal(constraints=...)` and `Natural(constraints=...)`.

With M q'' + Phi_q^T lambda = Q all of them solve one linear system for q'' and lambda,

    M q'' + Phi_q^T lambda = Q,      Phi_q q'' - epsilon lambda = gamma - 2 zeta w Phi' - w^2 Phi      (Phi'' = Phi_q q'' - gamma)

epsilon = 0 for exact constraints, epsilon = 1/alpha for a penalty: then lambda = alpha (Phi'' + 2 zeta w Phi' + w^2 Phi).
Bayo, Garcia de Jalon, Serna (1988) for penalty and augmented Lagrangian; Baumgarte (1972).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from nlink._support.checks import number, whole

MOST_ITERATIONS = 100
"""Of an augmented Lagrangian: beyond, its multipliers change by rounding alone."""


class Handling(NamedTuple):
    """The numbers of a constraint handling, as the compiled code sees them."""

    epsilon: float = 0.0
    w: float = 0.0
    zeta: float = 0.0
    sweeps: int = 1
    tau: float = 0.0
    projected: bool = False


class Stabilization:
    """A handling of constraints: a frozen record."""

    @property
    def method(self) -> Any:
        """The record of the integrator it brings with it, or None."""
        return None

    def handling(self) -> Handling:
        """Return the numbers the compiled code needs."""
        raise NotImplementedError


def _check(record: Any, *positive: str) -> None:
    for name in (field.name for field in fields(record)):
        value = getattr(record, name)
        if name == "iterations":
            whole(f"{type(record).__name__}.{name}", value, most=MOST_ITERATIONS)
        else:
            bound = {"above": 0} if name in positive else {"least": 0}
            object.__setattr__(record, name, number(f"{type(record).__name__}.{name}", value, **bound))


@dataclass(frozen=True)
class Unstabilized(Stabilization):
    """Constraints differentiated twice and left alone: they drift."""

    def handling(self) -> Handling:
        """Return the plain equations."""
        return Handling()


@dataclass(frozen=True)
class Baumgarte(Stabilization):
    """Phi'' + 2 zeta w Phi' + w^2 Phi = 0: violations decay with frequency w (rad/s) and damping ratio zeta."""

    w: float = 10.0
    zeta: float = 0.8

    def __post_init__(self) -> None:
        _check(self)

    def handling(self) -> Handling:
        """Return the equations with feedback."""
        return Handling(w=self.w, zeta=self.zeta)


@dataclass(frozen=True)
class MultiplierFilter(Stabilization):
    """lambda = gamma + tau gamma': the multipliers as states with a time constant tau (s); the motion is Baumgarte's."""

    tau: float = 0.1
    w: float = 0.0
    zeta: float = 0.0

    def __post_init__(self) -> None:
        _check(self, "tau")

    def handling(self) -> Handling:
        """Return the equations with feedback and filter."""
        return Handling(w=self.w, zeta=self.zeta, tau=self.tau)


@dataclass(frozen=True)
class Penalty(Stabilization):
    """lambda = alpha (Phi'' + 2 zeta w Phi' + w^2 Phi): no multipliers, nearly rigid; exact as alpha grows."""

    alpha: float = 1e8
    w: float = 10.0
    zeta: float = 0.7

    def __post_init__(self) -> None:
        _check(self, "alpha")

    def handling(self) -> Handling:
        """Return the softened equations."""
        return Handling(epsilon=1 / self.alpha, w=self.w, zeta=self.zeta)


@dataclass(frozen=True)
class AugmentedLagrangian(Stabilization):
    """Penalty with iterated multipliers: lambda <- lambda + alpha (Phi'' + 2 zeta w Phi' + w^2 Phi), towards the exact ones.

    Up to 100 iterations in each evaluation.
    """

    alpha: float = 1e6
    w: float = 10.0
    zeta: float = 1.0
    iterations: int = 4

    def __post_init__(self) -> None:
        _check(self, "alpha")

    def handling(self) -> Handling:
        """Return the softened equations with their iterations."""
        return Handling(epsilon=1 / self.alpha, w=self.w, zeta=self.zeta, sweeps=self.iterations)


@dataclass(frozen=True)
class Projection(Stabilization):
    """Position and velocity brought back onto the constraints after each step, by the smallest change in the mass metric."""

    def handling(self) -> Handling:
        """Return the plain equations, projected."""
        return Handling(projected=True)


@dataclass(frozen=True)
class IDA(Stabilization):
    """Constraints kept as equations of their own, positions and velocities both: the solver IDA of SUNDIALS (scikit-sundae).

    It brings its own steps, with these tolerances, or the run's.
    """

    rtol: float | None = None
    atol: float | None = None

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, number(f"IDA.{name}", getattr(self, name), above=0))

    @property
    def method(self) -> Any:
        """The record itself: the integrator's is written the same."""
        return self

    def handling(self) -> Handling:
        """Return the plain equations, for the start and the accelerations that are read out."""
        return Handling()


STABILIZATIONS: dict[str, type] = {
    "none": Unstabilized,
    "Unstabilized": Unstabilized,
    "Baumgarte": Baumgarte,
    "MultiplierFilter": MultiplierFilter,
    "Penalty": Penalty,
    "AugmentedLagrangian": AugmentedLagrangian,
    "Projection": Projection,
    "IDA": IDA,
}
