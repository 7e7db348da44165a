"""The system of a model file: a Chain, or a Mechanism if a key of one is there."""

from __future__ import annotations

from dataclasses import fields, replace

from nlink._support import checks
from nlink._support.checks import ANGLES, ModelError, measured
from nlink.mechanics.chain import MOST_LINKS, Chain, Multibody
from nlink.mechanics.links import LINK, Jointed, Link
from nlink.mechanics.loads import LOADS, POINT_LOADS
from nlink.mechanics.loads.tip import AtTip
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.space.model import SpatialChain
from nlink.models.loads import read_loads, write_loads
from nlink.models.points import read_closures, read_motion, write_closure, write_motion
from nlink.models.space import KEYS as SPACE_KEYS
from nlink.models.space import read_space, write_space
from nlink.models.tables import Entries, Given, table_of, told_as

LINK_KEYS = ("length", "mass", "shape", "com", "inertia", "offset")
JOINT_KEYS = ("kind", "parent", "at", "motion")
"""Keys of a body of a mechanism; a file that has one of them holds a mechanism."""
SLIDER_KEYS = ("mass", "direction", "com", "offset", "inertia")
SYSTEM_KEYS = ("space", "links", *LINK_KEYS, "floating", "loads", "pin", "pins")
"""Keys of a model file that say what moves, in the plane."""
SPATIAL_KEYS = ("space", "links", *SPACE_KEYS, "loads")
"""Likewise in space."""


def system_keys(table: object) -> tuple[str, ...]:
    """Return the keys that say what moves, for a model in the plane or in space; `table` may be anything that a user gives."""
    return SPATIAL_KEYS if isinstance(table, dict) and table.get("space") else SYSTEM_KEYS


def read_system(table: Entries) -> Multibody:
    """Return the chain, the mechanism or the chain in space of a model file."""
    space = table.get("space", False)
    if not isinstance(space, bool):
        raise ModelError(f"space must be true or false, got {checks.shown(space)}")
    if space:
        return read_space(table)
    bodies, loads = _bodies(table), read_loads(table.get("loads", {}))
    floating = table.get("floating", False)
    if not isinstance(floating, bool):
        raise ModelError(f"floating must be true or false, got {checks.shown(floating)}")
    sign = _sign_of_mechanism(table, loads, len(bodies))
    if not sign:
        return Chain(bodies, loads, _pin(table.get("pin")))
    if "pin" in table:
        raise ModelError(f"pin is the key of a plain chain, and {sign} makes this a mechanism; give [[pins]] with a and b")
    with told_as("", "Mechanism", **{kind.__name__: f"loads.{name}" for name, kind in (LOADS | POINT_LOADS).items()}):
        if floating:
            model = Mechanism.floating(bodies, loads)
            return replace(model, pins=read_closures(table["pins"])) if "pins" in table else model
        return Mechanism(bodies, loads, read_closures(table.get("pins", [])))


def write_system(model: Multibody) -> Entries:
    """Return a model as the tables of a model file, explicit in every value."""
    if isinstance(model, SpatialChain):
        return write_space(model)
    loads = {"loads": write_loads(model.loads)}
    if isinstance(model, Mechanism):
        pins = {"pins": [write_closure(closure) for closure in model.pins]} if model.pins else {}
        return loads | pins | {"links": [_body(body) for body in model.links]}
    first = model.links[0]
    uniform = model.links.count(first) == model.n
    pin = {"pin": dict(zip("xy", model.pin, strict=True))} if model.pin else {}
    return loads | pin | ({"links": model.n} | _numbers(first) if uniform else {"links": [_numbers(link) for link in model.links]})


def _sign_of_mechanism(table: Entries, loads: tuple[Given, ...], n: int) -> str:
    """Return the first key that makes a model a mechanism; nothing for a chain."""
    links = table["links"]
    for i, row in enumerate(links if isinstance(links, list) else []):
        key = next((key for key in (*JOINT_KEYS, "direction") if key in row), "")
        if key:
            return f"links[{i}].{key}"
    for key in ("floating", "pins"):
        if table.get(key):
            return key
    named = [load for load in loads if isinstance(load, AtTip) and getattr(load, "link", None) not in (None, n - 1)]
    return next((f"loads.{load.name}" for load in (*named, *loads) if load in named or load.name in POINT_LOADS), "")


def _bodies(table: Entries) -> tuple[Given, ...]:
    links = table.get("links")
    if links is None:
        raise ModelError("the model has no 'links'; give their number (links = 3) or [[links]] tables")
    if isinstance(links, list):
        extra = [key for key in LINK_KEYS if key in table]
        if extra:
            raise ModelError(f"{extra[0]} belongs inside the [[links]] tables when links are given one by one")
        if not links:
            raise ModelError("links must not be an empty list")
        return tuple(_read_body(f"links[{i}]", row) for i, row in enumerate(links))
    n = checks.whole("links", links, most=MOST_LINKS)
    values = {key: tuple(table[key]) if checks.listed(table[key]) else table[key] for key in LINK_KEYS if key in table}
    columns = {key: checks.spread(key, value, n, "links") for key, value in values.items()}
    same = not any(isinstance(value, tuple) for value in values.values())
    made = tuple(_link(f"links[{i}]", {key: column[i] for key, column in columns.items()}) for i in range(1 if same else n))
    return made * n if same else made


def _pin(value: Given) -> Given:
    """Read the pin of a chain: a table of x and y, or a list of both."""
    if not isinstance(value, dict):
        return value
    table_of(value, "pin", "[pin]", "xy")
    return tuple(checks.number(f"pin.{key}", value.get(key, 0.0)) for key in "xy")


def _read_body(where: str, row: Given) -> Link | Slider:
    slides = isinstance(row, dict) and checks.choice(f"{where}.kind", row.get("kind", "link"), ("link", "slider")) == "slider"
    own = SLIDER_KEYS if slides else LINK_KEYS
    table = table_of(row, where, f"{where}, a slider," if slides else where, (*own, *JOINT_KEYS))
    made = _slider(where, table) if slides else _link(where, table)
    return _hung(where, made, table)


def _slider(where: str, table: Entries) -> Slider:
    values = {key: table[key] for key in SLIDER_KEYS if key in table}
    if "direction" in values:
        values["direction"] = measured(f"{where}.direction", values["direction"], 1.0, ANGLES)
    with told_as(where, "Slider"):
        return Slider(**values)


def _link(where: str, row: Entries) -> Link:
    shape = checks.choice(f"{where}.shape", row.get("shape", "rod"), ("rod", "point"))
    with told_as(where, "Link"):
        link = (Link.rod if shape == "rod" else Link.point)(row.get("length", 1.0), row.get("mass", 1.0))
        others = {key: row[key] for key in ("com", "inertia", "offset") if key in row}
        return replace(link, **others) if others else link


def _hung(where: str, body: Given, table: Entries) -> Given:
    """Return a body with the parent, the place and the motion that its table says."""
    joint = {key: table[key] for key in ("parent", "at") if key in table}
    if "motion" in table:
        joint["motion"] = read_motion(f"{where}.motion", table["motion"])
    with told_as(where, "Link", "Slider"):
        return replace(body, **joint) if joint else body


def _numbers(link: Link) -> dict[str, float]:
    """Return the numbers of a link; in a chain nothing else is said of it."""
    return {name: getattr(link, name) for name in LINK}


def _body(body: Jointed) -> Entries:
    """Return a body of a mechanism as a table, with what is said of its joint."""
    values = {f.name: getattr(body, f.name) for f in fields(body)}
    said = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value is not None}
    motion = {"motion": write_motion(body.motion)} if body.motion is not None else {}
    return {"kind": "slider" if isinstance(body, Slider) else "link"} | said | motion
