"""The compiled pieces in which `maximal` and `natural` differ, by the type of their parameters, and the scratch rows they share.

A formulation in redundant coordinates registers a function of the same name for each of those here (`constrained.register`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nlink.compiled.dispatch import ByClass, dispatched
from nlink.mechanics.scratch import LOAD_ROWS

PHI, RATE, CURVE, RIGHT, LAMBDA = range(LOAD_ROWS + 2, LOAD_ROWS + 12, 2)
"""Two rows each: that of constraint k of link i lies at row + k."""
FORCE, ACC = LOAD_ROWS + 12, LOAD_ROWS + 15
"""Three rows each, one for each coordinate."""
OUT, MU = LOAD_ROWS + 18, LOAD_ROWS + 21
"""Three rows and two."""
OWN = LOAD_ROWS + 23
"""From here on rows of the formulation's own."""
FIRST, SECOND = OWN + 15, OWN + 21
"""Six rows and two, to put accelerations and forces, and multipliers aside."""
ROWS = OWN + 23


PIECES: dict[type, dict[str, Callable[..., Any]]] = ByClass()
"""By the type of the parameters, then by name."""


def _piece(function: Callable[..., Any]) -> Any:
    """Let a function stand for the piece of its name."""
    return dispatched(lambda kind: PIECES[kind][function.__name__])(function)


@_piece
def pose(y, p, w):
    """Fill TH, OM, S, C from the state."""


@_piece
def act(t, p, out, w):
    """Fill the forces of the loads of a posed state, and their powers in the ledger's rows of out."""


@_piece
def stored(y, p, w):
    """Return the power that goes into gravity and springs: what of the forces' power is no work of loads."""


@_piece
def elastic(p, w):
    """Return the energy of the springs."""


@_piece
def equations(y, p, w):
    """Fill FORCE, and PHI, RATE, CURVE: Phi, Phi' and gamma (Phi'' = Phi_q q'' - gamma)."""


@_piece
def solve(p, w, epsilon, forced, plain):
    """Fill ACC and LAMBDA from M x + Phi_q^T lambda = FORCE, Phi_q x - epsilon lambda = RIGHT; no forces unless `forced`, unit
    masses if `plain`.
    """


@_piece
def inertia(p, w):
    """Fill OUT with M ACC."""


@_piece
def pull(p, w, row):
    """Fill OUT with Phi_q^T times the rows `row`."""


@_piece
def repose(p, w):
    """Follow TH, OM, S, C where they were changed after pose, to close a loop."""


@_piece
def tug(p, w, fx, fy):
    """Fill FORCE with the force (fx, fy) at the last tip."""


@_piece
def follow(p, w):
    """Fill ACC from the angular accelerations in A0."""


@_piece
def turning(p, w):
    """Fill OUT with the angular accelerations in ACC."""


@_piece
def shift(y, p, w):
    """Move the state from the angles and rates in KEPT to those in TH, OM."""


@_piece
def kinetic(y, p, w):
    """Return the kinetic energy."""


@_piece
def height(y, p, i, at):
    """Return the height of the centre of mass of link i (at = 0), or its rate (at = size): it is linear in the coordinates."""
