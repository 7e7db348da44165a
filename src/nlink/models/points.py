"""Points, pins and prescribed motions in model files.

point of a body      { link = 2 }, its tip, or { link = 2, along = 0.5, left = 0.1 }
point of the ground  [3.0, 0.0] or { x = 3.0, y = 0.0 }
motion               { amplitude, frequency, phase, offset }, { start, rate } or { times, values }; a list of these is their sum
"""

from __future__ import annotations

from dataclasses import fields

from nlink._support import checks
from nlink._support.checks import ANGLES, ModelError, measured
from nlink.mechanics.loads import Sine
from nlink.mechanics.motions import Motion, Ramp, Spline, Term
from nlink.mechanics.points import CLOSURES, At, Closure, Gear, Guide, Point
from nlink.models.tables import Entries, Given, record, table_of, told_as

POINT = "{ link = 2, along = 0.5 } of a body, or [x, y] of the ground"
TERMS = {Sine: ("amplitude", "frequency", "phase", "offset"), Ramp: ("start", "rate"), Spline: ("times", "values")}
"""The keys by which a motion is known."""


def read_point(where: str, value: Given) -> Point:
    """Read a point of a body or of the ground."""
    if isinstance(value, dict) and "link" in value:
        checks.known_keys(where, value, [f.name for f in fields(At)])
        with told_as(where, "At"):
            return At(**value)
    if isinstance(value, dict):
        checks.known_keys(f"{where}, which has no link,", value, "xy")
        return checks.number(f"{where}.x", value.get("x", 0.0)), checks.number(f"{where}.y", value.get("y", 0.0))
    if not checks.listed(value) or len(value) != 2:
        raise ModelError(f"{where} must be a point, {POINT}, got {checks.shown(value)}")
    x, y = (checks.number(f"{where}[{i}]", each) for i, each in enumerate(value))
    return x, y


def write_point(point: Given) -> Entries:
    """Return a point as a table, with what is said of it."""
    if not isinstance(point, At):
        return dict(zip("xy", point, strict=True))
    place = {"along": point.along, "left": point.left or None}
    return {"link": point.link} | {name: value for name, value in place.items() if value is not None}


def read_closures(value: Given) -> tuple[Closure, ...]:
    """Read the [[pins]] of a mechanism."""
    if not isinstance(value, list):
        raise ModelError(f"pins must be [[pins]] tables, got {checks.shown(value)}")
    return tuple(_closure(f"pins[{i}]", row) for i, row in enumerate(value))


def _closure(where: str, row: Given) -> Closure:
    if not isinstance(row, dict):
        raise ModelError(f"{where} must be a table, got {checks.shown(row)}")
    kind = CLOSURES[checks.choice(f"{where}.kind", row.get("kind", "pin"), CLOSURES)]
    with told_as(where, kind.__name__):
        values = {key: _of_closure(f"{where}.{key}", key, value) for key, value in row.items() if key != "kind"}
        if kind is Guide and "point" in values and not isinstance(values["point"], At):
            raise ModelError(f"{where}.point must be a point of a body, like {{ link = 2 }}, got {checks.shown(row['point'])}")
        return record(kind, values, where, f"{where}, a {kind.name},")


def _of_closure(where: str, key: str, value: Given) -> Given:
    if key in ("a", "b", "point", "through"):
        return read_point(where, value)
    return measured(where, value, 1.0, ANGLES) if key == "direction" else value


def write_closure(closure: Closure) -> Entries:
    """Return a pin, guide, bar or gear as a table."""
    values = {f.name: getattr(closure, f.name) for f in fields(closure)}
    points = () if isinstance(closure, Gear) else ("a", "b", "point", "through")
    said = {name: write_point(value) if name in points else value for name, value in values.items() if value is not None}
    return {"kind": closure.name} | said


def read_motion(where: str, value: Given) -> Motion:
    """Read a prescribed motion: one table, or a list of them."""
    if checks.listed(value):
        terms = tuple(_term(f"{where}[{i}]", each) for i, each in enumerate(value))
        if not terms:
            raise ModelError(f"{where} must not be an empty list; leave it out for a free joint")
        return terms
    return _term(where, value)


def _term(where: str, value: Given) -> Term:
    every = [key for keys in TERMS.values() for key in keys]
    table = table_of(value, where, where, every)
    kinds = [kind for kind, keys in TERMS.items() if any(key in table for key in keys)]
    if len(kinds) != 1:
        ways = "a sine (amplitude, frequency), a ramp (start, rate) or a spline (times, values)"
        raise ModelError(f"{where} must be {ways}; give a list of tables for the sum of several")
    with told_as(where, kinds[0].__name__):
        return record(kinds[0], table, where, f"{where}, a {kinds[0].__name__.lower()},")


def write_motion(motion: Motion) -> Given:
    """Return a prescribed motion as a table, or a list of tables."""
    if isinstance(motion, tuple):
        return [write_motion(term) for term in motion]
    values = {f.name: getattr(motion, f.name) for f in fields(motion)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
