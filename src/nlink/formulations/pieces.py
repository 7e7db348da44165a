"""The compiled pieces in which `maximal` and `natural` differ, by the type of their parameters, and the scratch rows they share.

A formulation in redundant coordinates registers for its parameters' type:

    pose(y, p, w)                       fill TH, OM, S, C from the state
    equations(y, p, w)                  fill FORCE, and PHI, RATE, CURVE: Phi, Phi' and gamma (Phi'' = Phi_q q'' - gamma)
    solve(p, w, epsilon, forced, plain) fill ACC and LAMBDA from M x + Phi_q^T lambda = FORCE, Phi_q x - epsilon lambda = RIGHT;
                                        no forces unless `forced`, unit masses if `plain`
    inertia(p, w)                       fill OUT with M ACC
    pull(p, w, row)                     fill OUT with Phi_q^T times the rows `row`
    repose(p, w)                        follow TH, OM, S, C where they were changed after pose, to close a loop
    tug(p, w, fx, fy)                   fill FORCE with the force (fx, fy) at the last tip
    follow(p, w)                        fill ACC from the angular accelerations in A0
    turning(p, w)                       fill OUT with the angular accelerations in ACC
    shift(y, p, w)                      move the state from the angles and rates in KEPT to those in TH, OM
    kinetic(y, p, w)                    the kinetic energy
    height(y, p, i, at)                 of the centre of mass of link i (at = 0), or its rate (at = size)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nlink.compiled.dispatch import dispatched
from nlink.mechanics.scratch import LOAD_ROWS
from nlink.mechanics.system import Kernel

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


@dataclass
class Pieces:
    """The compiled functions of a formulation."""

    pose: Kernel
    equations: Kernel
    solve: Kernel
    inertia: Kernel
    pull: Kernel
    repose: Kernel
    tug: Kernel
    follow: Kernel
    turning: Kernel
    shift: Kernel
    kinetic: Callable[..., float]
    height: Callable[..., float]


PIECES: dict[type, Pieces] = {}


def _piece(function: Callable[..., Any]) -> Any:
    """Let a function stand for the piece of its name."""
    return dispatched(lambda kind: getattr(PIECES[kind], function.__name__))(function)


@_piece
def pose(y, p, w):
    """Fill TH, OM, S, C from the state."""


@_piece
def equations(y, p, w):
    """Fill the forces, and the constraints with their derivatives."""


@_piece
def solve(p, w, epsilon, forced, plain):
    """Solve for accelerations and multipliers."""


@_piece
def inertia(p, w):
    """Fill OUT with the masses times ACC."""


@_piece
def pull(p, w, row):
    """Fill OUT with the forces of the multipliers in `row` on the coordinates."""


@_piece
def repose(p, w):
    """Follow changed angles and rates."""


@_piece
def tug(p, w, fx, fy):
    """Fill FORCE with a force at the last tip."""


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
