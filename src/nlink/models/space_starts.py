"""The [start] of a model in space.

shape = "line"          all links at `angle` in the plane z = 0; zigzag and hanging as in the plane
shape = "cone"          steady turning about the vertical at `rate`, in its `mode`, 1 the slowest
shape = "spiral"        all links at the inclination `angle`, their azimuths a turn from the first to the last
theta                   angles in the plane z = 0
inclination, azimuth    angles from straight down, and about the vertical from +x to +z
direction               (x, y, z) for each link
rotation                quaternions (w, x, y, z)
pose                    for each link one of these, or of its joint an angle, or two
omega                   rates about z, or (x, y, z) in world axes, or of a joint the rates of its angles; one row serves all
"""

from __future__ import annotations

import math

from nlink._support import checks
from nlink._support.checks import ANGLES, RATES, ModelError, Units, measured
from nlink.mechanics.space.joints import Ball
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.turning import steady_turning
from nlink.models.tables import Entries, Given, table_of

SHAPES = ("line", "zigzag", "hanging", "cone", "spiral")
POSES = ("theta", "inclination", "direction", "rotation", "pose")
"""Keys of which one says how the links stand, if no shape does."""
KEYS = ("shape", "angle", "rate", "mode", *POSES, "azimuth", "omega", "unit")
OWN = {"angle": ("line", "spiral"), "rate": ("cone",), "mode": ("cone",)}
"""Keys that belong to some shapes."""


def read_start_in_space(table: Entries, model: SpatialChain) -> tuple[Given, Given]:
    """Return the pose and the rates of a model file, in radians."""
    start = table.get("start", "hanging")
    table = table_of({"shape": start} if isinstance(start, str) else start, "start", "[start]", KEYS)
    unit = ANGLES[checks.choice("start.unit", table.get("unit", "rad"), ("rad", "deg"))]
    given = [key for key in ("shape", *POSES) if key in table]
    if len(given) > 1:
        raise ModelError(f"start has both {given[0]} and {given[1]}; give one")
    if "azimuth" in table and given != ["inclination"]:
        raise ModelError("start.azimuth belongs to start.inclination; give both")
    omega = _scaled("start.omega", table.get("omega", 0.0), unit, RATES)
    if isinstance(omega, list) and len(omega) == 1 and isinstance(omega[0], list):
        omega = omega * model.n
    if not given or given == ["shape"]:
        return _shape(table, model, unit, omega)
    extra = next((key for key in OWN if key in table), None)
    if extra:
        raise ModelError(f"start.{extra} belongs to a shape, got it with {given[0]}")
    return _pose(given[0], table, model, unit), omega


def write_start_in_space(model: SpatialChain, pose: tuple[Given, ...], omega: tuple[Given, ...]) -> Entries:
    """Return a start as a table: directions of lines, rotations of bodies, or the pose of both and of joints."""
    lengths = {len(row) if isinstance(row, tuple) else 1 for row in pose}
    name = {3: "direction", 4: "rotation"}[lengths.pop()] if lengths in ({3}, {4}) else "pose"
    return {name: [_listed(row) for row in pose], "omega": [_listed(row) for row in omega]}


def warn_of_degrees_in_space(start: Entries, where: str) -> None:
    """Warn of angles of a start that look like degrees, but have no unit."""
    for key in ("theta", "angle", "inclination", "azimuth"):
        value = start.get(key, 0.0)
        angles = [each for each in (value if checks.listed(value) else [value]) if not isinstance(each, str)]
        checks.warn_of_degrees(f"{where}: start.{key}", angles, "unit = 'deg'")


def _listed(row: Given) -> Given:
    return list(row) if isinstance(row, tuple) else row


def _scaled(where: str, value: Given, unit: float, units: Units) -> Given:
    """Return numbers of this unit, or texts with their own, in rad or rad/s; lists, and lists of lists, as they are built."""
    if checks.listed(value):
        return [_scaled(f"{where}[{i}]", each, unit, units) for i, each in enumerate(value)]
    return measured(where, value, unit, units)


def _pose(name: str, table: Entries, model: SpatialChain, unit: float) -> Given:
    """Return the pose under one of its names."""
    where, value = f"start.{name}", table[name]
    if name == "inclination":
        inclination = _each(where, value, model, unit)
        return list(zip(inclination, _each("start.azimuth", table.get("azimuth", 0.0), model, unit), strict=True))
    if name == "theta":
        return _each(where, value, model, unit)
    if not checks.listed(value) or len(value) != model.n:
        raise ModelError(f"{where} must be a list with an entry for each of {model.n} links, got {checks.shown(value)}")
    if name != "pose":
        return [_row(f"{where}[{i}]", row, {"direction": 3, "rotation": 4}[name]) for i, row in enumerate(value)]
    angles = [checks.listed(row) and len(row) > 2 for row in value]  # directions and quaternions have no unit
    return [
        row if kept else _scaled(f"{where}[{i}]", row, unit, ANGLES)
        for i, (row, kept) in enumerate(zip(value, angles, strict=True))
    ]


def _row(where: str, row: Given, size: int) -> Given:
    if not checks.listed(row) or len(row) != size:
        raise ModelError(f"{where} must be {size} numbers, {'(x, y, z)' if size == 3 else '(w, x, y, z)'}, got {checks.shown(row)}")
    return row


def _each(where: str, value: Given, model: SpatialChain, unit: float) -> list[float]:
    """Return an angle for each link; one serves all."""
    found = _scaled(where, value, unit, ANGLES)
    if isinstance(found, list) and any(isinstance(each, list) for each in found):
        raise ModelError(f"{where} must be one angle, or one for each link, got {checks.shown(value)}")
    return list(checks.spread(where, tuple(found) if isinstance(found, list) else found, model.n, "links"))


def _shape(table: Entries, model: SpatialChain, unit: float, omega: Given) -> tuple[Given, Given]:
    """Return the pose and the rates of a shape."""
    shape = checks.choice("start.shape", table.get("shape", "line" if "angle" in table else "hanging"), SHAPES)
    for key, shapes in OWN.items():
        if key in table and shape not in shapes:
            raise ModelError(f"start.{key} belongs to the shape {' or '.join(shapes)}, got it with {shape}")
    if shape == "cone":
        return _cone(table, model, unit)
    if any(not isinstance(joint, Ball) for joint in model.joints) and shape != "hanging":
        raise ModelError(
            f"start.shape must be hanging for a chain with hinges or universal joints, got {shape}; or give start.pose"
        )
    angle = measured(
        "start.angle", table.get("angle", 60 if shape == "spiral" else 45), unit if "angle" in table else ANGLES["deg"], ANGLES
    )
    if shape == "spiral":
        return [(angle, 2 * math.pi * i / model.n) for i in range(model.n)], omega
    zigzag = tuple(math.pi / 2 if i % 2 else math.pi for i in range(1, model.n + 1))
    hanging = [0.0 if len(joint.axes) < 2 else (0.0, 0.0) for joint in model.joints]
    return {"line": [angle] * model.n, "zigzag": list(zigzag), "hanging": hanging}[shape], omega


def _cone(table: Entries, model: SpatialChain, unit: float) -> tuple[Given, Given]:
    """Return the pose and the rates of steady turning about the vertical."""
    if "rate" not in table:
        raise ModelError("start.rate must be given for the shape cone: how fast the chain turns about the vertical, in rad/s")
    if "omega" in table:
        raise ModelError("start.omega follows from start.rate for the shape cone; leave it out")
    rate = measured("start.rate", table["rate"], unit, RATES)
    theta = steady_turning(model, rate, checks.whole("start.mode", table.get("mode", 1), most=model.n))
    return theta.tolist(), [(0.0, rate, 0.0)] * model.n
