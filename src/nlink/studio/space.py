"""Chains in space in the studio: their tables as the page edits them, and how they stand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from nlink.mechanics.chain import Link, Multibody
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.kinematics import multiplied, turned
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.rows import Row
from nlink.models.space import joint_table
from nlink.run.readout import Trajectory
from nlink.run.run import Run
from nlink.scenario import Scenario
from nlink.studio.shapes import shape_of
from nlink.view.packing import Content
from nlink.view.space.orbit import OBLIQUE, About, OrbitCamera
from nlink.view.space.reading import Rows, rows_of, stand
from nlink.view.takes import chain_data

UNIT = (-0.5, -0.5, 0.5, 0.5)
"""The frame of a sketch."""
Json = dict[str, Any]
"""A table of JSON that the page sent or will get; its values are not checked."""


def space_model(scenario: Scenario) -> Json:
    """Return a scenario in space as the tables that the page edits: shapes by name, the pose and the rates of each link."""
    table, chain = scenario.to_dict(), _chain(scenario)
    rows = [_row(link, spin) for link, spin in zip(chain.links, chain.momenta.tolist(), strict=True)]
    same = rows.count(rows[0]) == len(rows) and isinstance(chain.links[0], Link)
    first = {"links": chain.n} | rows[0] if same else {"links": rows}
    assert isinstance(scenario.omega, tuple)
    pose, omega = ([list(row) if isinstance(row, tuple) else row for row in rows] for rows in (scenario.theta, scenario.omega))
    told = {"title": table["title"], "space": True, **first, "loads": table["loads"]}
    return told | {"start": {"pose": pose, "omega": omega}, "run": table["run"]}


def _row(link: Link | Body, spin: float) -> Json:
    """Return a link by its shape, with centre of mass and inertia only where no shape has them."""
    size = {"length": link.length, "mass": link.mass}
    if isinstance(link, Link):
        shape = shape_of(link)
        own = {"shape": shape, **size} if shape else {**size, "com": link.com, "inertia": link.inertia}
        return own | ({"spin": spin} if spin else {})
    return _body(link, size) | joint_table(link.joint)


def _body(link: Body, size: Json) -> Json:
    own = {"com": list(link.com), "inertia": [list(row) for row in link.inertia]}
    if not link.section:
        return {"shape": "body", **size, **own}
    shape, make = ("cylinder", Body.cylinder) if len(link.section) == 1 else ("box", Body.box)
    usual = make(link.length, link.mass, *link.section, joint=link.joint)
    names = ("radius",) if len(link.section) == 1 else ("width", "depth")
    sides = dict(zip(names, link.section, strict=True))
    return {"shape": shape, **size, **sides} | ({} if usual == link else own)


def start_data(scenario: Scenario) -> Content:
    """Return what the picture of a model needs, in the plane or in space."""
    return chain_data(scenario.chain, None if scenario.chain.spatial else np.array(scenario.theta))


def stand_of(scenario: Scenario) -> Json:
    """Return how a chain in space stands at its start: rows as its picture takes them, and their rates."""
    rows, rates = _start(scenario)
    return {"rows": rows.tolist(), "rates": rates.tolist()}


def _start(scenario: Scenario) -> Rows:
    chain = _chain(scenario)
    return rows_of(chain, *chain.start(scenario.theta, scenario.omega))


def sketch_of(scenario: Scenario) -> list[list[float]]:
    """Return the hinges of a chain at its start as they are seen, from the pivot, in a square of side 1."""
    chain = _chain(scenario)
    hinges = stand(chain, chain.start(scenario.theta, scenario.omega)[0]).hinges
    camera = OrbitCamera(About.of(hinges, float(chain.length.sum())), UNIT, *OBLIQUE)
    return (camera.places(hinges)[:, :2] * [1.0, -1.0]).tolist()


def tilted(scenario: Scenario, angle: float) -> Scenario:
    """Return a scenario whose first link is turned further from straight down by an angle in rad, on a hinge about its axis."""
    first, *others = scenario.theta
    return replace(scenario, theta=(_tilted(first, angle), *others))


def _tilted(row: Row, angle: float) -> Row:
    """Return a row of a pose turned further: an angle, the first of two, a direction or a quaternion in its upright plane."""
    if not isinstance(row, tuple):
        return row + angle
    if len(row) == 2:
        return row[0] + angle, row[1]
    whole = np.array(row)
    x, _, z = whole if len(row) == 3 else turned(whole, np.array([0.0, -1.0, 0.0]))
    across = math.hypot(x, z)
    axis = np.array([-z, 0.0, x]) / across if across else np.array([0.0, 0.0, 1.0])
    turn = np.append(math.cos(angle / 2), math.sin(angle / 2) * axis)
    return tuple((turned(turn, whole) if len(row) == 3 else multiplied(turn, whole)).tolist())


def shown_rows(chain: Multibody, motion: Trajectory | Run, rows: np.ndarray) -> Rows:
    """Return what the page interpolates of some points of a motion: angles and rates in the plane, in space the rows of links."""
    if not isinstance(chain, SpatialChain):
        return motion.position[rows], motion.velocity[rows]
    return rows_of(chain, motion.position[rows], motion.velocity[rows])


def _chain(scenario: Scenario) -> SpatialChain:
    assert isinstance(scenario.chain, SpatialChain)
    return scenario.chain
