"""The table of parameters: every number of a chain by its name, with its unit and its place among the numbers of the compiled code.

mass, offset, ...                       of the links
joint_spring.stiffness, drag.linear     of a load
gravity, follower_force, joint_torque   the first parameter of a load that is known by it
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from nlink.mechanics.links import Link
from nlink.mechanics.loads import LOADS, Gravity, JointTorque, Load, Parameter, parameters_of

GRAVITY, SINGLE = -1, -2
"""Rows of what is not in the array of links: gravity, and the array of numbers that the chain has once."""


class Place(NamedTuple):
    """A parameter, the record that it belongs to, and where its numbers are: a row, and a component if the chain has one number."""

    record: type
    field: str
    parameter: Parameter
    row: int
    component: int | None = None


def _places() -> dict[str, Place]:
    """Return the places of all parameters by name. After the rows of a link comes HINGE_INERTIA, which follows from them."""
    found = {name: Place(Link, name, parameter, row) for row, (name, parameter) in enumerate(parameters_of(Link).items())}
    rows, singles = len(found) + 1, 0
    for load, kind in LOADS.items():
        for field, parameter in kind.parameters().items():
            known_by_load = (kind is JointTorque and field == "constant") or (parameter.single and len(kind.parameters()) == 1)
            name = load if known_by_load else f"{load}.{field}"
            if kind is Gravity:
                found[name] = Place(kind, field, parameter, GRAVITY, 0)
            elif parameter.single:
                found[name] = Place(kind, field, parameter, SINGLE, singles)
                singles += 1
            else:
                found[name] = Place(kind, field, parameter, rows)
                rows += 1
    return found


PARAMETERS = _places()
_BY_FIELD = {(each.record, each.field): each for each in PARAMETERS.values()}


def place(record: type, field: str) -> Place:
    """Return the place of a field of a record."""
    return _BY_FIELD[record, field]


def fill_numbers(loads: Iterable[Load], links: np.ndarray, singles: np.ndarray) -> None:
    """Write the numbers of loads to their places: into the rows of links (rows, N), and among what a chain has once."""
    for load in loads:
        for field, value in type(load).values(load, links.shape[1]).items():
            at = place(type(load), field)
            if at.row == SINGLE:
                singles[at.component] = at.parameter.scale * value
            elif at.row != GRAVITY:
                links[at.row] = at.parameter.scale * value


def row(record: type, field: str) -> int:
    """Return the row of a field with a number for each link."""
    return place(record, field).row


LENGTH, MASS, COM, OFFSET, INERTIA = (row(Link, name) for name in ("length", "mass", "com", "offset", "inertia"))
HINGE_INERTIA = len(parameters_of(Link))
ROWS = max(each.row for each in PARAMETERS.values()) + 1
SINGLES = sum(each.row == SINGLE for each in PARAMETERS.values())
TORQUE, AMPLITUDE, FREQUENCY, PHASE = (row(JointTorque, name) for name in JointTorque.parameters())
