"""The numbers of a chain in space: what compiled code sees. The rows of links are those of a chain in the plane, then its own.

A line has the kinetic energy 1/2 (A |v0|^2 + 2 C v0.v1 + B |v1|^2) in the velocities of its ends, with J about its upper hinge

    B = J/l^2        C = m d/l - B        A = m - 2 m d/l + B
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nlink.mechanics.loads import Drag, Gravity, JointDamper, JointSpring, JointTorsion, Parameter, TipForce
from nlink.mechanics.moments import POWERS
from nlink.mechanics.parameters import (
    AMPLITUDE,
    COM,
    HINGE_INERTIA,
    INERTIA,
    LENGTH,
    MASS,
    ROWS,
    SINGLES,
    Place,
    fill_numbers,
    row,
)
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.joints import Ball, Hinge
from nlink.mechanics.torques import tables

if TYPE_CHECKING:
    from nlink.mechanics.space.model import SpatialChain

UPPER, LOWER, COUPLED, PER_LENGTH, SHARE, SPIN, TORSION = range(ROWS, ROWS + 7)
"""Of lines A, B, C, 1/l and d/l, and the momentum of the rotor; stiffness against twist."""
CX, CY, CZ, JXX, JXY, JXZ, JYY, JYZ, JZZ = range(ROWS + 7, ROWS + 16)
"""Of bodies, in body axes: centre of mass, and tensor of inertia about the upper hinge."""
AX, AY, AZ, BX, BY, BZ = range(ROWS + 16, ROWS + 22)
"""The axes of hinges and universal joints, in the hanging chain."""
ALL_ROWS = ROWS + 22
TIP_Z = SINGLES
"""Where the third component of the force at the tip stands among the single numbers, behind those of the plane."""
KIND, PLACE = range(2)
"""Rows of whole numbers: what a link is, and where its coordinates begin."""
LINE, BALL, HINGE, UNIVERSAL = range(4)


def _of_bodies() -> dict[str, Place]:
    """Return the places of what varies of bodies alone: their centres of mass, and their tensors about the upper hinge."""
    centres = {f"com.{axis}": (at, Parameter("m", f"Centre of mass, {axis}", "d")) for at, axis in enumerate("xyz", CX)}
    names = map("".join, combinations_with_replacement("xyz", 2))
    tensors = {f"inertia.{axes}": (at, Parameter("kg m^2", f"Inertia, {axes}", "I")) for at, axes in enumerate(names, JXX)}
    return {name: Place(Body, name, parameter, at) for name, (at, parameter) in (centres | tensors).items()}


BODY_PARAMETERS = _of_bodies()


class SpatialNumbers(NamedTuple):
    """A chain in space as numbers. Few arrays, for each costs time when Python calls."""

    n: int
    size: int
    """coordinates, K"""
    g: float
    links: np.ndarray
    """(rows, N): LENGTH, MASS, ... of every link and joint; UPPER, ... of lines, CX, ... of bodies"""
    tip: np.ndarray
    """(singles + 1,): FOLLOWER, TIP_X, TIP_Y, TIP_Z"""
    whole: np.ndarray
    """(2, N) whole numbers: KIND, PLACE"""
    table: np.ndarray
    """(knots, 2): time, value of all tables of torques"""
    spans: np.ndarray
    """(2, N): where each joint's knots begin and end in `table`"""
    callback: int
    """0: there are no torque functions in space"""
    loaded: bool
    """whether anything but gravity acts"""
    sprung: bool
    """whether there are springs against bending"""
    damped: bool
    """whether there is friction at joints"""
    spun: bool
    """whether there are rotors in lines"""
    twisted: bool
    """whether there are springs against twist"""
    timed: bool
    """whether there are sines or tables among the torques"""
    force_level: int
    """1 if velocities are needed (drag or a force at the tip), 2 if their size is too (quadratic drag)"""
    ledger: int
    """rows of the ledger that follow the state: 0 or POWERS"""
    closed: bool
    """False: no pin holds the last tip"""


class SpaceParameters(NamedTuple):
    """The parameters of a formulation that needs nothing besides the chain in space."""

    chain: SpatialNumbers


def spatial_numbers(chain: SpatialChain, constrained: bool = False) -> SpatialNumbers:
    """Return the compiled form of a chain in space and its loads; a constrained formulation always keeps a ledger."""
    links, singles = _links(chain), np.zeros(SINGLES + 1)
    fill_numbers((load for load in chain.loads if not isinstance(load, JointTorsion)), links, singles)
    links[TORSION] = chain.each(JointTorsion, "stiffness")
    tip = chain.load(TipForce)
    singles[TIP_Z] = (tip.fz or 0.0) if tip else 0.0
    spans, table = tables(chain)
    kinds = [type(load) for load in chain.loads]
    return SpatialNumbers(
        n=chain.n,
        size=chain.size,
        g=chain.g,
        links=links,
        tip=singles,
        whole=np.array([[_kind(link) for link in chain.links], [each.start for each in chain.places]]),
        table=table,
        spans=spans,
        callback=0,
        loaded=any(kind is not Gravity for kind in kinds) or bool(chain.momenta.any()),
        sprung=JointSpring in kinds,
        damped=JointDamper in kinds,
        spun=bool(chain.momenta.any()),
        twisted=JointTorsion in kinds,
        timed=bool(links[AMPLITUDE].any() or len(table)),
        force_level=int(any(kind.moves for kind in kinds)) + bool(links[row(Drag, "quadratic")].any()),
        ledger=POWERS if constrained or any(kind.works() for kind in kinds) else 0,
        closed=False,
    )


def _kind(link: object) -> int:
    """Return what a link is."""
    if not isinstance(link, Body):
        return LINE
    return BALL if isinstance(link.joint, Ball) else HINGE if isinstance(link.joint, Hinge) else UNIVERSAL


def _links(chain: SpatialChain) -> np.ndarray:
    """Return the rows of links, without those of loads."""
    links = link_rows(chain.length, chain.mass, chain.centre, chain.tensor, np.array(chain.is_line))
    links[SPIN] = chain.momenta
    for i, link in enumerate(chain.links):
        for k, axis in enumerate(link.joint.axes if isinstance(link, Body) else ()):
            links[AX + 3 * k : AZ + 3 * k + 1, i] = axis
    return links


def link_rows(length: np.ndarray, mass: np.ndarray, centre: np.ndarray, tensor: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Return the rows (..., rows, N) that follow from lengths and masses (..., N), centres of mass (..., N, 3) and tensors about
    them (..., N, 3, 3) in body axes, and which links are lines (N).
    """
    links = np.zeros((*mass.shape[:-1], ALL_ROWS, mass.shape[-1]))
    rows = np.moveaxis(links, -2, 0)
    com, inertia = -centre[..., 1], tensor[..., 2, 2]
    rows[LENGTH], rows[MASS], rows[COM], rows[INERTIA] = length, mass, com, inertia
    rows[HINGE_INERTIA] = inertia + mass * com**2
    share = com / length
    rows[LOWER] = rows[HINGE_INERTIA] / length**2
    rows[COUPLED] = mass * share - rows[LOWER]
    rows[UPPER] = mass - 2 * mass * share + rows[LOWER]
    rows[PER_LENGTH], rows[SHARE] = 1 / length, share
    rows[CX : CZ + 1] = np.moveaxis(centre, -1, 0)
    for at, (i, j) in zip(range(JXX, JZZ + 1), combinations_with_replacement(range(3), 2), strict=True):
        across = sum(centre[..., k] ** 2 for k in range(3)) if i == j else 0.0
        about = tensor[..., i, j] + mass * (across - centre[..., i] * centre[..., j])
        rows[at] = np.where(line, 0.0, about)
    return links
