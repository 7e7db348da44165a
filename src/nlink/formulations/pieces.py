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

from numba.extending import overload

from nlink.compiled.jit import INLINE
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


PIECES: dict[type[Any], Pieces] = {}


def pose(y: Any, p: Any, w: Any) -> None:
    """Fill TH, OM, S, C from the state."""
    PIECES[type(p)].pose(y, p, w)


def equations(y: Any, p: Any, w: Any) -> None:
    """Fill the forces, and the constraints with their derivatives."""
    PIECES[type(p)].equations(y, p, w)


def solve(p: Any, w: Any, epsilon: float, forced: bool, plain: bool) -> None:
    """Solve for accelerations and multipliers."""
    PIECES[type(p)].solve(p, w, epsilon, forced, plain)


def inertia(p: Any, w: Any) -> None:
    """Fill OUT with the masses times ACC."""
    PIECES[type(p)].inertia(p, w)


def pull(p: Any, w: Any, row: int) -> None:
    """Fill OUT with the forces of the multipliers in `row` on the coordinates."""
    PIECES[type(p)].pull(p, w, row)


def repose(p: Any, w: Any) -> None:
    """Follow changed angles and rates."""
    PIECES[type(p)].repose(p, w)


def tug(p: Any, w: Any, fx: float, fy: float) -> None:
    """Fill FORCE with a force at the last tip."""
    PIECES[type(p)].tug(p, w, fx, fy)


def follow(p: Any, w: Any) -> None:
    """Fill ACC from the angular accelerations in A0."""
    PIECES[type(p)].follow(p, w)


def turning(p: Any, w: Any) -> None:
    """Fill OUT with the angular accelerations in ACC."""
    PIECES[type(p)].turning(p, w)


def shift(y: Any, p: Any, w: Any) -> None:
    """Move the state from the angles and rates in KEPT to those in TH, OM."""
    PIECES[type(p)].shift(y, p, w)


def kinetic(y: Any, p: Any, w: Any) -> float:
    """Return the kinetic energy."""
    return PIECES[type(p)].kinetic(y, p, w)


def height(y: Any, p: Any, i: int, at: int) -> float:
    """Return the height of the centre of mass of link i (at = 0), or its rate (at = size): it is linear in the coordinates."""
    return PIECES[type(p)].height(y, p, i, at)


@overload(pose, jit_options=INLINE)
def _pose(y, p, w):
    return PIECES[p.instance_class].pose


@overload(equations, jit_options=INLINE)
def _equations(y, p, w):
    return PIECES[p.instance_class].equations


@overload(solve, jit_options=INLINE)
def _solve(p, w, epsilon, forced, plain):
    return PIECES[p.instance_class].solve


@overload(inertia, jit_options=INLINE)
def _inertia(p, w):
    return PIECES[p.instance_class].inertia


@overload(pull, jit_options=INLINE)
def _pull(p, w, row):
    return PIECES[p.instance_class].pull


@overload(repose, jit_options=INLINE)
def _repose(p, w):
    return PIECES[p.instance_class].repose


@overload(tug, jit_options=INLINE)
def _tug(p, w, fx, fy):
    return PIECES[p.instance_class].tug


@overload(follow, jit_options=INLINE)
def _follow(p, w):
    return PIECES[p.instance_class].follow


@overload(turning, jit_options=INLINE)
def _turning(p, w):
    return PIECES[p.instance_class].turning


@overload(shift, jit_options=INLINE)
def _shift(y, p, w):
    return PIECES[p.instance_class].shift


@overload(kinetic, jit_options=INLINE)
def _kinetic(y, p, w):
    return PIECES[p.instance_class].kinetic


@overload(height, jit_options=INLINE)
def _height(y, p, i, at):
    return PIECES[p.instance_class].height
