"""What a formulation brings for its parameters, and what integrators call: compiled functions, chosen by the type of p.

A table has the plain functions of all formulations, by the type of their parameters. Integrators call the generic function of that
name, and nothing else of a formulation. A method that needs more than rates has a table of its own, as the series has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nlink.compiled.dispatch import ByClass, dispatched
from nlink.compiled.lowering import Operand

Kernel = Callable[..., None]
RIGHT_HAND_SIDES: dict[type, Kernel] = ByClass()
HAMILTON: dict[type, Hamilton] = ByClass()
SETTLERS: dict[type, Callable[..., bool]] = ByClass()
RESIDUALS: dict[type, Kernel] = ByClass()
RATTLES: dict[type, Rattled] = ByClass()


def right_hand_side(parameters: type) -> Callable[[Kernel], Kernel]:
    """Register the decorated plain function as the right-hand side for this type of parameters."""

    def register(function: Kernel) -> Kernel:
        RIGHT_HAND_SIDES[parameters] = function
        return function

    return register


@dispatched(RIGHT_HAND_SIDES.get)
def rhs(t, y, p, out, w):
    """Fill `out` with the rates of the state y (and of the ledger behind it) at time t."""


@dispatched(lambda kind: SETTLERS.get(kind, _leave))
def settled(y, p, w):
    """Bring a state back onto its constraints after a step, if its formulation does so; return whether it was changed."""


def _leave(y, p, w):
    return False


@dispatched(lambda kind: HAMILTON[kind].to_canonical)
def to_canonical(y, p, z, w):
    """Fill z with angles and momenta of the state y: Hamilton's coordinates."""


@dispatched(lambda kind: HAMILTON[kind].from_canonical)
def from_canonical(z, p, y, w):
    """Fill y with the state of angles and momenta z."""


@dispatched(lambda kind: HAMILTON[kind].hamilton)
def hamilton(t, z, p, out, w):
    """Fill `out` with the rates of angles and momenta z (and of the ledger behind them)."""


class Hamilton(NamedTuple):
    """Angles and momenta: plain functions that a formulation brings for the generic ones of the same names."""

    to_canonical: Kernel
    from_canonical: Kernel
    hamilton: Kernel


@dispatched(RESIDUALS.__getitem__)
def residual(t, z, rate, p, y, out, w):
    """Fill `out` with what is left of the equations with their constraints kept as they are, for a DAE solver.

    Link by link z holds coordinates, velocities, multipliers of the constraints and of their rates, and `rate` their rates;
    coordinates and velocities go into the state y too, whose other values are read.
    """


class RattleRoom(NamedTuple):
    """Where a stage of RATTLE is computed."""

    w: Operand
    """scratch of the right-hand side"""
    factors: Operand
    """(rows, N): what depends on the coordinates alone, and u: what is solved for"""
    u: Operand
    begun: Operand
    """(m,): state and ledger at the start of a stage; trial: coordinates with the rates that are tried"""
    trial: Operand
    power: Operand
    """(2, ledger): powers at the start of a stage and at its end"""


class Rattled(NamedTuple):
    """The stage of RATTLE: plain functions that a formulation brings for the generic ones of the same names, and the rows of its
    scratch.
    """

    rattle_begin: Kernel
    rattle_stage: Callable[..., tuple[int, bool]]
    rows: int


@dispatched(lambda kind: RATTLES[kind].rattle_begin)
def rattle_begin(t, y, p, room):
    """Make ready for a stage from the state y at time t: fill its forces and powers, and what depends on its coordinates alone."""


@dispatched(lambda kind: RATTLES[kind].rattle_stage)
def rattle_stage(t, h, y, p, room):
    """Take a stage of size h from the state y with its ledger, for which all is ready: y becomes its end, ready for the next.

    Return how often the equations were solved, and whether they converged.
    """
