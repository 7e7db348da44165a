"""A scenario as text to take along: a model file (TOML), or the Python that does the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import tomli_w

from nlink.mechanics.chain import STANDARD_GRAVITY, Multibody
from nlink.mechanics.links import Jointed, Link
from nlink.mechanics.loads import Load
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.joints import Ball
from nlink.mechanics.space.model import SpatialChain
from nlink.scenario import Scenario, Settings
from nlink.studio.messages import page_model, shape_of

WIDTH = 100
NAMED = (
    "At|Ball|Body|Distance|Gear|Guide|Hinge|Link|Pin|Ramp|Sine|Slider|Spline|Table|Universal|JointTorsion|[A-Z]\\w+Force|"
    "[A-Z]\\w+Spring"
)
RECORDS = re.compile(rf"\b({NAMED})\(")
"""Records of nlink as their representation writes them."""


def toml(scenario: Scenario) -> str:
    """Return the model file."""
    return tomli_w.dumps(page_model(scenario))


def python(scenario: Scenario) -> str:
    """Return Python that builds the chain or mechanism, runs it and saves the run."""
    settings, name = scenario.settings, "mechanism" if isinstance(scenario.chain, Mechanism) else "chain"
    lines = [f"# {' '.join(scenario.title.split())}"] * bool(scenario.title)
    lines += ["import nlink", "", f"{name} = {_chain(scenario.chain)}", "run = nlink.simulate("]
    lines += [f"    {name},", *(_start_in_space(scenario) if scenario.chain.spatial else _start(scenario))]
    lines += [f"    t_end={settings.t_end!r},", *_options(settings), ")"]
    lines += ['print(run.status, "- energy balance closed to", abs(run.energy().residual).max(), "J")', 'run.save("run.nc")']
    return "\n".join(lines) + "\n"


def _start(scenario: Scenario) -> list[str]:
    omega = scenario.omega if isinstance(scenario.omega, tuple) else (scenario.omega,)
    return [f"    theta={_numbers(scenario.theta)},", *[f"    omega={_numbers(omega)},"] * any(omega)]


def _start_in_space(scenario: Scenario) -> list[str]:
    assert isinstance(scenario.omega, tuple)
    omega, moves = scenario.omega, np.any(np.concatenate([np.atleast_1d(row) for row in scenario.omega]))
    return [f"    [{', '.join(map(repr, scenario.theta))}],", *[f"    omega=[{', '.join(map(repr, omega))}],"] * bool(moves)]


def _options(settings: Settings) -> list[str]:
    """Return the settings that are not as usual."""
    usual, options = Settings(), []
    for field in fields(Settings):
        value = getattr(settings, field.name)
        if field.name in ("t_end", "flips") or value == getattr(usual, field.name):
            continue
        shown = value if isinstance(value, str | float) else list(value) if isinstance(value, tuple) else repr(value)
        options.append(f"    {field.name}={shown!r},")
    events = {"record": "nlink.Flip()", "stop": "nlink.Flip(terminal=True)"}.get(settings.flips)
    return options + [f"    events=[{events}],"] * bool(events)


def _space_chain(chain: SpatialChain) -> str:
    first = chain.links[0]
    said = [_load(load) for load in chain.loads if load != STANDARD_GRAVITY]
    more = [f"loads=[{', '.join(said)}]"] * bool(said) + [f"spin={chain.spin!r}"] * bool(np.any(chain.momenta))
    shape = shape_of(first) if isinstance(first, Link) else ""
    if shape and chain.links.count(first) == chain.n and len(more) == bool(said):
        sizes = [f"length={first.length!r}"] * (first.length != 1) + [f"mass={first.mass!r}"] * (first.mass != 1)
        return _call("nlink.SpatialChain.uniform", [str(chain.n), *sizes, *[f"shape={shape!r}"] * (shape != "rod"), *more])
    links = "".join(f"        {_link(link) if isinstance(link, Link) else _space_body(link)},\n" for link in chain.links)
    return _call("nlink.SpatialChain", [f"[\n{links}    ]", *more])


def _space_body(body: Body) -> str:
    """Return a body in space: by its section, if that says all, or by its numbers."""
    make = {1: Body.cylinder, 2: Body.box}.get(len(body.section))
    joint = [f"joint={_qualified(body.joint)}"] * (body.joint != Ball())
    if make and make(body.length, body.mass, *body.section, joint=body.joint) == body:
        sizes = [repr(size) for size in (body.length, body.mass, *body.section)]
        return f"nlink.Body.{'cylinder' if len(body.section) == 1 else 'box'}({', '.join(sizes + joint)})"
    return _qualified(body)


def _chain(chain: Multibody) -> str:
    if isinstance(chain, SpatialChain):
        return _space_chain(chain)
    first, pin = chain.links[0], [f"pin={chain.pin!r}"] * bool(chain.pin)
    said = [_load(load) for load in chain.loads if load != STANDARD_GRAVITY]
    loads = [f"loads=[{', '.join(said)}]"] * bool(said)
    shape = shape_of(first) if isinstance(first, Link) else ""
    if isinstance(chain, Mechanism):
        pins = "".join(f"        {_qualified(closure)},\n" for closure in chain.pins)
        bodies = "".join(f"        {_body(body)},\n" for body in chain.links)
        return _call("nlink.Mechanism", [f"[\n{bodies}    ]", *loads, *[f"pins=[\n{pins}    ]"] * bool(pins)])
    if shape and chain.links.count(first) == chain.n:
        values = {"length": first.length, "mass": first.mass, "shape": shape}
        usual = {"length": 1.0, "mass": 1.0, "shape": "rod"}
        changes = [f"{name}={value!r}" for name, value in values.items() if value != usual[name]]
        return _call("nlink.Chain.uniform", [str(chain.n), *changes, *loads, *pin])
    links = "".join(f"        {_link(link)},\n" for link in chain.links)
    return _call("nlink.Chain", [f"[\n{links}    ]", *loads, *pin])


def _call(name: str, parts: list[str]) -> str:
    short = f"{name}({', '.join(parts)})"
    if len(short) <= WIDTH and "\n" not in short:
        return short
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _link(link: Link) -> str:
    shape = shape_of(link)
    return f"nlink.Link.{shape}({link.length!r}, {link.mass!r})" if shape else f"nlink.{link!r}"


def _body(body: Jointed) -> str:
    """Return a body of a mechanism: a shape, and what is said of its joint."""
    if not isinstance(body, Link) or not shape_of(body):
        return _qualified(body)
    said = [] if body.parent is None and body.at is None else [repr(body.parent), *[repr(body.at)] * (body.at is not None)]
    if body.parent is None and body.at is not None:
        return _qualified(body)
    motion = body.motion if isinstance(body.motion, tuple) else [body.motion] * (body.motion is not None)
    on, driven = f".on({', '.join(said)})" * bool(said), f".with_motion({', '.join(map(_qualified, motion))})" * bool(motion)
    return _link(replace(body, parent=None, at=None, motion=None)) + on + driven


def _load(load: Load) -> str:
    return f"nlink.{_qualified(load).removeprefix('nlink.')}"


def _qualified(record: object) -> str:
    """Return the call that makes a record, with the names of nlink before all that it is made of."""
    return RECORDS.sub(r"nlink.\1(", repr(record))


def _numbers(values: Sequence[float]) -> str:
    return "[" + ", ".join(map(repr, values)) + "]" if len(set(values)) > 1 else repr(values[0])
