"""Formulations: ways to write the equations of motion, looked up by name."""

from __future__ import annotations

from typing import TypeVar

import nlink.formulations.series  # noqa: F401
from nlink._support.records import record
from nlink.formulations.lagrange import Lagrange
from nlink.formulations.linear import Linear
from nlink.formulations.maximal import Maximal
from nlink.formulations.momentum import Momentum
from nlink.formulations.natural import Natural
from nlink.formulations.projection import TangentProjection
from nlink.formulations.recursive import Recursive
from nlink.formulations.stabilization import AugmentedLagrangian, Baumgarte, MultiplierFilter, Penalty, Projection, Unstabilized
from nlink.mechanics.chain import Multibody
from nlink.mechanics.system import Formulation, System

__all__ = [
    "FORMULATIONS", "AugmentedLagrangian", "Baumgarte", "Lagrange", "Linear", "Maximal", "Momentum", "MultiplierFilter", "Natural",
    "Penalty", "Projection", "Recursive", "TangentProjection", "Unstabilized", "formulate", "register",
]  # fmt: skip
FORMULATIONS: dict[str, type[Formulation]] = {
    kind.name: kind for kind in (Recursive, Momentum, Lagrange, TangentProjection, Maximal, Natural, Linear)
}
Kind = TypeVar("Kind", bound=type[Formulation])


def register(kind: Kind) -> Kind:
    """Add a formulation to the table of names."""
    FORMULATIONS[kind.name] = kind
    return kind


def formulate(chain: Multibody, formulation: object = "recursive") -> System:
    """Return the equations of motion of a chain or a mechanism in a formulation: a name or a record.

    A mechanism that is a chain becomes one.

    >>> from nlink import Chain
    >>> formulate(Chain.uniform(3), "momentum").size
    6
    """
    return System(chain, record("formulation", formulation, FORMULATIONS))
