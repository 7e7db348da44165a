"""The numbers of a chain in space: what compiled code sees. The rows of links are those of a chain in the plane, then its own.

A line has the kinetic energy 1/2 (A |v0|^2 + 2 C v0.v1 + B |v1|^2) in the velocities of its ends, with J about its upper hinge

    B = J/l^2        C = m d/l - B        A = m - 2 m d/l + B
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nlink.mechanics.loads import Drag, Gravity, JointDamper, JointSpring, JointTorsion, TipForce
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
    links = np.zeros((ALL_ROWS, chain.n))
    links[LENGTH], links[MASS], links[COM], links[INERTIA] = chain.length, chain.mass, chain.com, chain.inertia
    links[HINGE_INERTIA] = chain.inertia + chain.mass * chain.com**2
    share = chain.com / chain.length
    links[LOWER] = links[HINGE_INERTIA] / chain.length**2
    links[COUPLED] = chain.mass * share - links[LOWER]
    links[UPPER] = chain.mass - 2 * chain.mass * share + links[LOWER]
    links[PER_LENGTH], links[SHARE], links[SPIN] = 1 / chain.length, share, chain.momenta
    links[CX : CZ + 1] = chain.centre.T
    for i, link in enumerate(chain.links):
        if isinstance(link, Body):
            (a, b, c), (_, d, e), (_, _, f) = link.hinge_tensor.tolist()
            links[JXX : JZZ + 1, i] = a, b, c, d, e, f
            for k, axis in enumerate(link.joint.axes):
                links[AX + 3 * k : AZ + 3 * k + 1, i] = axis
    return links
