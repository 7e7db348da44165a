"""How a constrained formulation keeps its constraints: records for `Maximal(constraints=...)` and `Natural(constraints=...)`.

With M q'' + Phi_q^T lambda = Q all of them solve one linear system for q'' and lambda,

    M q'' + Phi_q^T lambda = Q,      Phi_q q'' - epsilon lambda = gamma - 2 zeta w Phi' - w^2 Phi      (Phi'' = Phi_q q'' - gamma)

epsilon = 0 for exact constraints, epsilon = 1/alpha for a penalty: then lambda = alpha (Phi'' + 2 zeta w Phi' + w^2 Phi).
Bayo, Garcia de Jalon, Serna (1988) for penalty and augmented Lagrangian; Baumgarte (1972).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, cast

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
    """A handling of constraints: a frozen record, whose numbers are those of Handling or give them."""

    def __post_init__(self) -> None:
        for field in fields(cast("Any", self)):
            name, value = f"{type(self).__name__}.{field.name}", getattr(self, field.name)
            if field.name == "iterations":
                whole(name, value, most=MOST_ITERATIONS)
            elif value is not None:
                bound = {"least": 0} if field.name in ("w", "zeta") else {"above": 0}
                object.__setattr__(self, field.name, number(name, value, **bound))

    @property
    def method(self) -> Any:
        """The record of the integrator it brings with it, or None."""
        return None

    def handling(self) -> Handling:
        """Return the numbers that the compiled code needs."""
        values = dict(vars(self))
        if "alpha" in values:
            values["epsilon"] = 1 / values.pop("alpha")
        if "iterations" in values:
            values["sweeps"] = values.pop("iterations")
        return Handling(**values)


@dataclass(frozen=True)
class Unstabilized(Stabilization):
    """Constraints differentiated twice and left alone: they drift."""


@dataclass(frozen=True)
class Baumgarte(Stabilization):
    """Phi'' + 2 zeta w Phi' + w^2 Phi = 0: violations decay with frequency w (rad/s) and damping ratio zeta."""

    w: float = 10.0
    zeta: float = 0.8


@dataclass(frozen=True)
class MultiplierFilter(Stabilization):
    """lambda = gamma + tau gamma': the multipliers as states with a time constant tau (s); the motion is Baumgarte's."""

    tau: float = 0.1
    w: float = 0.0
    zeta: float = 0.0


@dataclass(frozen=True)
class Penalty(Stabilization):
    """lambda = alpha (Phi'' + 2 zeta w Phi' + w^2 Phi): no multipliers, nearly rigid; exact as alpha grows."""

    alpha: float = 1e8
    w: float = 10.0
    zeta: float = 0.7


@dataclass(frozen=True)
class AugmentedLagrangian(Stabilization):
    """Penalty with iterated multipliers: lambda <- lambda + alpha (Phi'' + 2 zeta w Phi' + w^2 Phi), towards the exact ones.

    Up to 100 iterations in each evaluation.
    """

    alpha: float = 1e6
    w: float = 10.0
    zeta: float = 1.0
    iterations: int = 4


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
