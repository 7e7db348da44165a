"""The [start] of a model file: angles of links, displacements of sliders, and their rates."""

from __future__ import annotations

import math

import numpy as np

from nlink._support import checks
from nlink._support.checks import ANGLES, DISPLACEMENTS, RATES, SPEEDS, ModelError, Units, measured
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import Chain, Multibody
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.rows import omega_rows, pose_rows
from nlink.models.space_starts import read_start_in_space, warn_of_degrees_in_space, write_start_in_space
from nlink.models.tables import Entries, Given, table_of

START_KEYS = ("shape", "angle", "theta", "drive", "branch", "omega", "unit")
SHAPES = ("line", "zigzag", "hanging")
Values = tuple[float, ...]


def read_start(table: Entries, model: Multibody) -> tuple[Given, Given]:
    """Return the start angles and rates of a model file; of sliders, displacements and speeds."""
    if isinstance(model, SpatialChain):
        return read_start_in_space(table, model)
    start = table.get("start", "zigzag" if model.pin else "hanging")
    table = table_of({"shape": start} if isinstance(start, str) else start, "start", "[start]", START_KEYS)
    unit = ANGLES[checks.choice("start.unit", table.get("unit", "rad"), ("rad", "deg"))]
    omega = _each("start.omega", table.get("omega", 0.0), model, unit, RATES, SPEEDS)
    driven = "drive" in table or "branch" in table
    name = "theta" if "theta" in table else "drive" if driven else "shape"
    if "drive" in table and isinstance(model, Mechanism) and model.closed:
        return _driven(table, model, unit), omega
    others = {"theta": ("shape", "angle", "drive", "branch"), "drive": ("shape", "angle"), "shape": ()}[name]
    clash = [key for key in others if key in table]
    if clash:
        raise ModelError(f"start has both {name} and {clash[0]}; give one")
    if name == "theta":
        return _each("start.theta", table["theta"], model, unit, ANGLES, DISPLACEMENTS), omega
    if name == "drive" and not isinstance(model, Chain):
        raise ModelError("start.drive belongs to a model with pins; give start.theta")
    if model.closed and not model.pin:
        raise ModelError(
            "start.theta must be given for a mechanism with pins: the coordinates at which it closes, or nearly; "
            "or start.drive: those of some bodies"
        )
    if name == "shape":
        return _shape(table, model, unit), omega
    if "drive" not in table:
        raise ModelError("start.branch needs start.drive, the angle of the first link")
    theta = loop_closure.driven(model, measured("start.drive", table["drive"], unit, ANGLES), table.get("branch", "open"))
    return tuple(theta.tolist()), omega


def _driven(table: Entries, model: Mechanism, unit: float) -> Values:
    """Return the coordinates of a closed mechanism with some of them given: by the name of a branch, or near `theta`."""
    drive, near = table["drive"], None
    for key in ("shape", "angle", *(["branch"] if "theta" in table else [])):
        if key in table:
            raise ModelError(f"start has both {'theta' if key == 'branch' else 'drive'} and {key}; give one")
    if "theta" in table:
        near = _each("start.theta", table["theta"], model, unit, ANGLES, DISPLACEMENTS)
    given: dict[int, float] = {}
    for key, value in (drive if isinstance(drive, dict) else {"0": drive}).items():
        if not key.isdecimal() or int(key[:9]) >= model.n:
            raise ModelError(f"start.drive must name bodies, 0 to {model.n - 1}, like {{ 0 = '60 deg' }}, got {checks.shown(key)}")
        slide = bool(model.slides[int(key)])
        given[int(key)] = measured(f"start.drive.{key}", value, *((1.0, DISPLACEMENTS) if slide else (unit, ANGLES)))
    return tuple(loop_closure.driven(model, given, table.get("branch"), near).tolist())


def stated(model: Multibody, theta: Given, omega: Given) -> tuple[tuple[Given, ...], tuple[Given, ...]]:
    """Return a start, checked, as plain numbers: angles and rates of all bodies, in space rows of the pose and of the rates."""
    if isinstance(model, SpatialChain):
        return pose_rows(model, theta), omega_rows(model, omega)
    angles, rates = model.coordinates("theta", theta), model.coordinates("omega", omega)
    if not isinstance(model, Mechanism):
        return angles, rates
    moving = model.given(0.0, np.array(angles), np.array(rates))
    return tuple(moving[0].tolist()), tuple(moving[1].tolist())


def write_start(model: Multibody, theta: Given, omega: Given) -> Entries:
    """Return a start as a table; one number stands for equal ones, unless it were an angle and a displacement at once."""
    if isinstance(model, SpatialChain):
        return write_start_in_space(model, theta, omega)
    slides = model.slides
    return {"theta": _short(theta, slides), "omega": _short(omega, slides)}


def warn_of_degrees(table: Entries, model: Multibody, where: str) -> None:
    """Warn of start angles of a model that look like degrees, but have no unit."""
    start = table.get("start")
    if not isinstance(start, dict) or "unit" in start:
        return
    if model.spatial:
        warn_of_degrees_in_space(start, where)
        return
    slides = model.slides.tolist() if model.slides.any() else []
    for key in ("theta", "angle", "drive"):
        value = start.get(key, 0.0)
        each = list(value.values()) if isinstance(value, dict) else value if checks.listed(value) else [value]
        angles = [v for v, slide in zip(each, slides, strict=True) if not slide] if slides and checks.listed(value) else each
        checks.warn_of_degrees(f"{where}: start.{key}", [v for v in angles if not isinstance(v, str)], "unit = 'deg'")


def _each(where: str, value: Given, model: Multibody, unit: float, angles: Units, displacements: Units) -> Values:
    """Return a value for each body: a number of `unit` or a text with its own for a link, in m or m/s for a slider."""
    if model.slides.any():
        return _of_both(where, value, model, unit, angles, displacements)
    if isinstance(value, str) or (checks.listed(value) and any(isinstance(each, str) for each in value)):
        found = (
            measured(where, value, unit, angles)
            if isinstance(value, str)
            else tuple(measured(f"{where}[{i}]", each, unit, angles) for i, each in enumerate(value))
        )
        return checks.spread(where, found, model.n, "links")
    return tuple(unit * each for each in checks.spread(where, checks.number_or_each(where, value), model.n, "links"))


def _of_both(where: str, value: Given, model: Multibody, unit: float, angles: Units, displacements: Units) -> Values:
    if not checks.listed(value):
        if isinstance(value, str) or checks.number(where, value) != 0:
            parts = f"links in {list(angles)[-1]}, sliders in {next(iter(displacements))}"
            raise ModelError(f"{where} must be a list for a mechanism with sliders, a value for each body: {parts}")
        return (0.0,) * model.n
    values = checks.spread(where, tuple(value), model.n, "bodies")
    found = []
    for i, (each, slide) in enumerate(zip(values, model.slides.tolist(), strict=True)):
        name = f"{where}[{i}]" + (", a slider," if slide and isinstance(each, str) else "")
        found.append(measured(name, each, *((1.0, displacements) if slide else (unit, angles))))
    return tuple(found)


def _shape(table: Entries, model: Multibody, unit: float) -> Values:
    shape = checks.choice("start.shape", table.get("shape", "line" if "angle" in table else "hanging"), SHAPES)
    if "angle" in table and shape != "line":
        raise ModelError(f"start.angle belongs to the shape line, got it with {shape}")
    if shape == "zigzag" and model.pin:
        return tuple(loop_closure.zigzag(model).tolist())
    links = (~model.slides).cumsum() if model.slides.any() else range(1, model.n + 1)  # the number of each among the links
    if shape == "line":
        angle = measured("start.angle", table["angle"], unit, ANGLES) if "angle" in table else math.pi / 4
        found = (angle,) * model.n
    elif shape == "zigzag":
        found = tuple(math.pi / 2 if i % 2 else math.pi for i in links)
    else:
        found = (0.0,) * model.n
    return tuple(np.where(model.slides, 0.0, found).tolist()) if model.slides.any() else found


def _short(values: Values, slides: np.ndarray) -> Given:
    """Return a list, or the one number that stands in all of its places."""
    first = values[0]
    same = values.count(first) == len(values) and (first != 0 or len({math.copysign(1.0, v) for v in values}) == 1)
    both = slides.any() and (first != 0 or math.copysign(1.0, first) < 0)
    return first if same and not both else list(values)
