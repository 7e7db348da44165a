"""A scenario as text to take along: a model file (TOML), or the Python that does the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace

import tomli_w

from nlink.mechanics.chain import STANDARD_GRAVITY, Jointed, Link, Multibody
from nlink.mechanics.loads import Load
from nlink.mechanics.mechanism import Mechanism
from nlink.scenario import Scenario, Settings
from nlink.studio.messages import page_model, shape_of

WIDTH = 100
RECORDS = re.compile(r"\b(At|Distance|Gear|Guide|Link|Pin|Ramp|Sine|Slider|Spline|Table|[A-Z]\w+Force|[A-Z]\w+Spring)\(")
"""Records of nlink as their representation writes them."""


def toml(scenario: Scenario) -> str:
    """Return the model file."""
    return tomli_w.dumps(page_model(scenario))


def python(scenario: Scenario) -> str:
    """Return Python that builds the chain or mechanism, runs it and saves the run."""
    settings, name = scenario.settings, "mechanism" if isinstance(scenario.chain, Mechanism) else "chain"
    lines = [f"# {' '.join(scenario.title.split())}"] * bool(scenario.title)
    lines += ["import nlink", "", f"{name} = {_chain(scenario.chain)}", "run = nlink.simulate("]
    lines += [f"    {name},", f"    theta={_numbers(scenario.theta)},"]
    lines += [f"    omega={_numbers(scenario.omega)},"] * any(scenario.omega)  # pyright: ignore[reportArgumentType]
    lines += [f"    t_end={settings.t_end!r},", *_options(settings), ")"]
    lines += ['print(run.status, "- energy balance closed to", abs(run.energy().residual).max(), "J")', 'run.save("run.nc")']
    return "\n".join(lines) + "\n"


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


def _chain(chain: Multibody) -> str:
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
