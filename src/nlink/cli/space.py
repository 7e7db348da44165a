"""Tables of chains in space for people."""

from __future__ import annotations

import numpy as np

from nlink.cli.report import aligned, by_link, plain
from nlink.mechanics.chain import Link
from nlink.mechanics.space import kinematics
from nlink.mechanics.space.joints import Hinge, Joint, Universal
from nlink.mechanics.space.model import SpatialChain
from nlink.scenario import Scenario

HEAD = ("link", "what", "length m", "mass kg", "com m", "inertia kg m2", "inclination deg", "azimuth deg", "omega rad/s")


def in_space(chain: SpatialChain, scenario: Scenario) -> list[str]:
    """Return the table of links in lines, and those of their joints that are no balls; equal neighbours share a row."""
    position, velocity = chain.start(scenario.theta, scenario.omega)
    at = kinematics.turns(chain, position, velocity)
    inclination, azimuth = np.degrees(kinematics.inclination(at.direction)), np.degrees(kinematics.azimuth(at.direction))
    cells = [
        (*_link_cells(chain, i), plain(inclination[i]), plain(azimuth[i]), _vector(at.omega[i])) for i in range(chain.n)
    ]  # fmt: skip
    joints = [f"  joint {i + 1}: {_joint_text(joint)}" for i, joint in enumerate(chain.joints) if joint.axes]
    spins = [f"  rotor in link {i + 1}: {spin:g} kg m2/s" for i, spin in enumerate(chain.momenta.tolist()) if spin]
    return aligned([HEAD, *by_link(cells)]) + joints + spins


def _link_cells(chain: SpatialChain, i: int) -> tuple[str, ...]:
    """Return what a link is, and its numbers."""
    link = chain.links[i]
    if isinstance(link, Link):
        return "line", *(plain(each) for each in (link.length, link.mass, link.com, link.inertia))
    off = np.abs(link.tensor - np.diag(np.diag(link.tensor))).max() > 0
    inertia = _vector(np.linalg.eigvalsh(link.tensor) if off else np.diag(link.tensor))
    return "body", plain(link.length), plain(link.mass), _vector(np.array(link.com)), inertia


def _joint_text(joint: Joint) -> str:
    if isinstance(joint, Universal):
        return f"universal, about {_vector(np.array(joint.first))}, then {_vector(np.array(joint.second))}"
    assert isinstance(joint, Hinge)
    return f"hinge about {_vector(np.array(joint.axis))}"


def _vector(values: np.ndarray) -> str:
    return f"({', '.join(plain(each) for each in values.tolist())})"
