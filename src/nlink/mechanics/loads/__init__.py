"""Loads: what acts on a chain besides its own inertia, as frozen records; one file for each, and this table of all.

Signs: x right, y up, angles counter-clockwise; link i hangs on hinge i, link -1 is the ground. A value given once serves every
joint or link; a list gives one for each. What a load is, and how to add one: `base.py`.
"""

from __future__ import annotations

import sys

from nlink._support.checks import ModelError
from nlink.compiled import sources
from nlink.mechanics.loads.base import Each, Law, Load, Parameter, each, parameters_of, single
from nlink.mechanics.loads.drag import Drag
from nlink.mechanics.loads.gravity import Gravity
from nlink.mechanics.loads.joint_damper import JointDamper
from nlink.mechanics.loads.joint_spring import JointSpring
from nlink.mechanics.loads.joint_torque import JointTorque, Sine, Sum, Table, kinks, torques
from nlink.mechanics.loads.joint_torsion import JointTorsion
from nlink.mechanics.loads.link_damper import LinkDamper
from nlink.mechanics.loads.points import PointForce, PointSpring
from nlink.mechanics.loads.tip import FollowerForce, TipForce

__all__ = [
    "LOADS", "POINT_LOADS", "SPACE_LOADS", "Drag", "Each", "FollowerForce", "Gravity", "JointDamper", "JointSpring",
    "JointTorque", "JointTorsion", "Law", "LinkDamper", "Load", "Parameter", "PointForce", "PointSpring", "Sine", "Sum", "Table",
    "TipForce", "each", "kinks", "ledger", "mechanism_ledger", "parameters_of", "register", "single", "torques",
]  # fmt: skip

BUILT_IN = (Gravity, JointSpring, JointDamper, LinkDamper, JointTorque, Drag, FollowerForce, TipForce)
LOADS: dict[str, type] = {kind.name: kind for kind in BUILT_IN}
"""The loads by their names in model files."""
POINT_LOADS: dict[str, type[Load]] = {kind.name: kind for kind in (PointSpring, PointForce)}
"""Loads at points of bodies, which a Mechanism takes besides."""
SPACE_LOADS: dict[str, type[Load]] = {JointTorsion.name: JointTorsion}
"""Loads that a SpatialChain takes besides."""
CONSTRAINTS = "constraints"
"""The row of the ledger for the constraints of a formulation that has some."""
FIRST_ROWS = (*(kind.name for kind in (JointTorque, JointDamper, LinkDamper, Drag, FollowerForce, TipForce)), CONSTRAINTS)
"""The rows with which every ledger begins: run files hold them in this order. Those of other loads follow."""
RESERVED = ("theta", "omega", "phi", "phidot", "vx", "vy", "l", "m", "d", "b", "I", "M", "f", "t", "sin", "cos")
"""Letters of angles, links and of the code that is written from equations."""


def register(kind: type[Load]) -> type[Load]:
    """Add a load with a law: a decorator of its record. The kernels are compiled for all loads, so that it comes before them."""
    if "nlink.mechanics.kernels" in sys.modules:
        raise ModelError(f"register {kind.__name__} before the first simulation: the kernels are compiled for all loads")
    if kind.name in LOADS:
        raise ModelError(f"{kind.__name__}.name must be new, got {kind.name!r}, which {LOADS[kind.name].__name__} has")
    if kind.law is None or (kind.law.on == "link" and kind.law.stiffness):
        raise ModelError(f"{kind.__name__}.law must be a Law on joints, or one on links without stiffness")
    taken = {parameter.symbol: load for load, other in LOADS.items() for parameter in other.parameters().values()}
    for field, parameter in kind.parameters().items():
        if parameter.symbol in taken or parameter.symbol in RESERVED:
            owner = taken.get(parameter.symbol, "angles, links or written code")
            raise ModelError(f"{kind.__name__}.{field}: the letter {parameter.symbol!r} is that of {owner}; choose another")
        taken[parameter.symbol] = kind.name
    LOADS[kind.name] = kind
    sources.note(f"{kind.name} {kind.law} {list(kind.parameters())}")
    return kind


MOTION = "motion"
"""The row of the ledger for the drives of prescribed motions."""


def ledger() -> tuple[str, ...]:
    """Return whose work is kept in the ledger of a chain, in the order of its rows."""
    return *FIRST_ROWS, *(name for name, kind in LOADS.items() if kind.works() and name not in FIRST_ROWS)


def mechanism_ledger() -> tuple[str, ...]:
    """Return whose work is kept in the ledger of a mechanism: the rows of a chain, then its own."""
    return *ledger(), MOTION, *POINT_LOADS
