"""The system of a model file with `space = true`: a SpatialChain.

space = true
links = 3                       # equal links, or [[links]] tables, as in the plane
length = 1.0
mass = 1.0
shape = "rod"                   # rod and point are lines; cylinder (radius), box (width, depth) and body have extent
radius = 0.1
com = 0.5                       # of a line along it; of a body [x, y, z] from the upper hinge, in the hanging chain
inertia = 0.1                   # of a line about its centre of mass; of a body three moments, or three rows of three
joint = "ball"                  # or { hinge = [x, y, z] }, { universal = [[x, y, z], [x, y, z]] }, axes in the hanging chain
spin = 0.0                      # angular momentum of a rotor in a line, along it, in kg m^2/s
"""

from __future__ import annotations

from dataclasses import replace

from nlink._support import checks
from nlink._support.checks import ModelError
from nlink.mechanics.chain import MOST_LINKS, Link
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.joints import Ball, Hinge, Joint, Universal, unit
from nlink.mechanics.space.model import KINDS, SpatialChain
from nlink.models.loads import read_loads, write_loads
from nlink.models.tables import Entries, Given, table_of, told_as

SHAPES = {"rod": (), "point": (), "cylinder": ("radius",), "box": ("width", "depth"), "body": ()}
"""The shapes of links, and what else they need."""
SIZES = ("radius", "width", "depth")
KEYS = ("length", "mass", "shape", *SIZES, "com", "inertia", "joint", "spin")


def read_space(table: Entries) -> SpatialChain:
    """Return the chain of a model in space."""
    rows = _rows(table)
    same = not isinstance(table["links"], list) and all(row == rows[0][1] for _, row in rows)
    links = (_link(*rows[0]),) * len(rows) if same else tuple(_link(where, row) for where, row in rows)
    spin = tuple(checks.number(f"{where}.spin", row.get("spin", 0.0)) for where, row in rows)
    loads = read_loads(table.get("loads", {}), KINDS)
    names = {kind.__name__: f"loads.{name}" for name, kind in KINDS.items()}
    with told_as("", "SpatialChain", **names):
        return SpatialChain(links, loads, spin if any(spin) else 0.0)


def write_space(chain: SpatialChain) -> Entries:
    """Return a chain in space as the tables of a model file, explicit in every value."""
    rows = [_table(link, spin) for link, spin in zip(chain.links, chain.momenta.tolist(), strict=True)]
    uniform = rows.count(rows[0]) == len(rows) and isinstance(chain.links[0], Link)
    links = {"links": chain.n} | rows[0] if uniform else {"links": rows}
    return {"space": True, "loads": write_loads(chain.loads)} | links


def _rows(table: Entries) -> list[tuple[str, Entries]]:
    """Return the place and the table of each link."""
    links = table.get("links")
    if links is None:
        raise ModelError("the model has no 'links'; give their number (links = 3) or [[links]] tables")
    shared = [key for key in KEYS if key in table]
    if isinstance(links, list):
        if shared:
            raise ModelError(f"{shared[0]} belongs inside the [[links]] tables when links are given one by one")
        if not links:
            raise ModelError("links must not be an empty list")
        return [(f"links[{i}]", table_of(row, f"links[{i}]", f"links[{i}]", KEYS)) for i, row in enumerate(links)]
    n = checks.whole("links", links, most=MOST_LINKS)
    bodies = table.get("shape", "rod") not in ("rod", "point") or isinstance(table.get("joint"), dict)
    return [(f"links[{i}]", {key: _own(key, table[key], i, n, bodies) for key in shared}) for i in range(n)]


def _own(key: str, value: Given, i: int, n: int, bodies: bool) -> Given:
    """Return what one of n links has of a key: a list has a value for each of them, unless it is a vector or a tensor of bodies."""
    if not checks.listed(value) or (bodies and key in ("com", "inertia")):
        return value
    return checks.spread(key, tuple(value), n, "links")[i]


def _link(where: str, row: Entries) -> Link | Body:
    joint = _joint(f"{where}.joint", row.get("joint", "ball"))
    general = checks.listed(row.get("com")) or checks.listed(row.get("inertia"))
    shape = checks.choice(f"{where}.shape", row.get("shape", "body" if general else "rod"), SHAPES)
    for key in SIZES:
        if (key in row) != (key in SHAPES[shape]):
            what = "belongs to another shape" if key in row else "must be given"
            raise ModelError(f"{where}.{key} {what}: the shape is {shape}")
    length, mass = row.get("length", 1.0), row.get("mass", 1.0)
    own = {key: row[key] for key in ("com", "inertia") if key in row}
    sizes = [checks.number(f"{where}.{key}", row[key], above=0) for key in SHAPES[shape]]
    with told_as(where, "Link", "Body"):
        if shape in ("rod", "point") and isinstance(joint, Ball) and not general:
            link = (Link.rod if shape == "rod" else Link.point)(length, mass)
            return replace(link, **own) if own else link
        return _body(where, shape, joint, (length, mass, *sizes), own)


def _body(where: str, shape: str, joint: Joint, sizes: tuple[Given, ...], own: Entries) -> Body:
    """Return a body of a shape; its own centre of mass and inertia replace those of the shape."""
    if row := next((key for key, value in own.items() if not checks.listed(value)), None):
        what = "(x, y, z) from the upper hinge" if row == "com" else "three moments, or three rows of three"
        raise ModelError(f"{where}.{row} must be {what} for a body, got {checks.shown(own[row])}")
    if shape == "body":
        missing = next((key for key in ("com", "inertia") if key not in own), None)
        if missing:
            raise ModelError(f"{where} needs {missing!r}: its shape is body")
        return Body(*sizes, **own, joint=joint)
    if shape == "point":
        length, mass = (checks.number(f"{where}.{name}", value) for name, value in zip(("length", "mass"), sizes, strict=True))
        made = Body(length, mass, (0.0, -length, 0.0), (0.0, 0.0, 0.0), joint)  # pyright: ignore[reportArgumentType]
    else:
        made = {"rod": Body.rod, "cylinder": Body.cylinder, "box": Body.box}[shape](*sizes, joint=joint)
    return replace(made, **own) if own else made


def _joint(where: str, value: Given) -> Joint:
    if value == "ball":
        return Ball()
    kinds = {"hinge": "[x, y, z]", "universal": "[[x, y, z], [x, y, z]]"}
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in kinds:
        like = " or ".join(f"{{ {name} = {axes} }}" for name, axes in kinds.items())
        raise ModelError(f"{where} must be 'ball', {like}, got {checks.shown(value)}")
    name, axes = next(iter(value.items()))
    if name == "hinge":
        return Hinge(unit(f"{where}.hinge", axes))
    if not checks.listed(axes) or len(axes) != 2:
        raise ModelError(f"{where}.universal must be two axes, {kinds[name]}, got {checks.shown(axes)}")
    first, second = (unit(f"{where}.universal[{i}]", axis) for i, axis in enumerate(axes))
    with told_as(where, "Universal"):
        return Universal(first, second)


def _table(link: Link | Body, spin: float) -> Entries:
    """Return a link as a table."""
    if isinstance(link, Link):
        values = {name: getattr(link, name) for name in ("length", "mass", "com", "inertia")}
        return values | ({"spin": spin} if spin else {})
    sizes = dict(zip({1: ("radius",), 2: ("width", "depth")}.get(len(link.section), ()), link.section, strict=True))
    shape = {"radius": "cylinder", "width": "box"}.get(next(iter(sizes), ""), "body")
    numbers = {"com": list(link.com), "inertia": [list(row) for row in link.inertia]}
    return {"shape": shape, "length": link.length, "mass": link.mass, **sizes, **numbers, **joint_table(link.joint)}


def joint_table(joint: Joint) -> Entries:
    """Return a joint as what the table of its link has; nothing for a ball."""
    if isinstance(joint, Hinge):
        return {"joint": {"hinge": list(joint.axis)}}
    if isinstance(joint, Universal):
        return {"joint": {"universal": [list(joint.first), list(joint.second)]}}
    return {}
