"""Checks of what the page sends: a model becomes a Scenario, or an error with its message and its field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from nlink._support.checks import ModelError, listed, number, shown, whole
from nlink._support.records import record
from nlink.formulations import FORMULATIONS
from nlink.integrators import INTEGRATORS, integrator_record
from nlink.mechanics import loop_closure
from nlink.mechanics.links import Jointed, Link
from nlink.mechanics.loads import LOADS, POINT_LOADS
from nlink.mechanics.mechanism import Slider
from nlink.models.systems import JOINT_KEYS, LINK_KEYS
from nlink.scenario import Scenario
from nlink.studio.shapes import shape_of
from nlink.studio.space import Json, space_model
from nlink.view.page import MOST_LINKS

MOST_NUMBERS = 20_000_000
"""Saved points times links that one run of the studio may have."""
BRACKETS = re.compile(r"\[(\d+)\]")
LOAD_TYPES = {kind.__name__: name for name, kind in LOADS.items()}
WHERE = re.compile(r"(?:links|start|run|pins?|loads|title|length|mass|com|offset|inertia|shape)\b[\w.\[\]]*")
IN_LOAD = re.compile(r"loads\.(\w+): (?:\w+\.)?(\w+(?:\[\d+\])?)")
OF_TYPE = re.compile(r"(\w+)\.(\w+(?:\[\d+\])?)")
LABELS = {
    "com": "centre of mass",
    "theta": "angle",
    "omega": "rate",
    "t_end": "Run until",
    "save": "Save every",
    "rtol": "Tolerance",
    "atol": "Tolerance",
    "formulation": "Formulation",
    "integrator": "Integrator",
}
"""What the page calls the values that it names otherwise."""
WORDS = {
    "the start": "start.theta",
    "theta": "start.theta",
    "pose": "start.pose",
    "omega": "start.omega",
    "the driving angle": "start.theta",
    "save": "run.save",
    "t_end": "run.t_end",
    "constraints": "run.formulation",
    "formulation": "run.formulation",
    "integrator": "run.integrator",
}


class FieldError(ModelError):
    """A wrong value: the message, and the key of its field ("" without a field)."""

    status = 200

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.path = path

    def to_dict(self) -> dict[str, str]:
        """Return the error as the page takes it."""
        return {"text": str(self), "path": self.path}


class Malformed(FieldError):
    """A request that the page would never send."""

    status = 400


class Missing(FieldError):
    """Something that is not there."""

    status = 404


def parsed(text: str | bytes) -> object:
    """Return the value of a text in JSON; refuse other texts, NaN and Infinity."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # also: thousands of digits, no UTF-8
        raise Malformed("a request must be JSON, without NaN and Infinity, and not too deep") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def checked(model: Any) -> Scenario:
    """Return the scenario of a model's tables, or raise a FieldError."""
    try:
        _refuse_large(model)
        scenario = Scenario.from_dict(model, where="model")
        _check_run(scenario)
        if not scenario.chain.spatial:
            loop_closure.assemble(scenario.chain, scenario.theta, scenario.omega)
    except ModelError as error:
        raise told(error, model) from None
    return scenario


def told(error: ModelError, model: Any) -> FieldError:
    """Return an error of the library in the words of the page, at its field."""
    if isinstance(error, FieldError):
        return error
    text = str(error).removeprefix("model: ")
    return FieldError(in_words(text), place(text, model))


def _refuse_large(model: object) -> None:
    if not isinstance(model, dict):
        raise FieldError(f"the model must be a table, got {shown(model)}")
    links = model.get("links")
    count = len(links) if isinstance(links, list) else links
    if isinstance(count, int) and count > MOST_LINKS:
        rule = f"links must be at most {MOST_LINKS} in the studio, got {shown(count)}"
        raise FieldError(f"{rule}; longer chains go with nlink run", "links")


def _check_run(scenario: Scenario) -> None:
    settings = scenario.settings
    formulation = record("formulation", settings.formulation, FORMULATIONS)
    integrator_record(settings.integrator, settings.rtol, settings.atol, formulation.method)
    if settings.t_end == 0:
        raise FieldError("Run until must not be 0: there is nothing to simulate", "run.t_end")
    points = len(settings.save) if isinstance(settings.save, tuple) else abs(settings.t_end) / settings.save
    if points * scenario.chain.n > MOST_NUMBERS:
        most = MOST_NUMBERS // scenario.chain.n
        raise FieldError(f"Save every would keep {points:.3g} points, at most {most:,} in the studio; save less often", "run.save")


def place(text: str, model: object) -> str:
    """Return the key of the field that a message names, like links.2.mass or loads.joint_spring.stiffness."""
    path = _place(text)
    parts = path.split(".")
    if not isinstance(model, dict) or isinstance(model.get("links"), list):
        return path
    return parts[2] if parts[0] == "links" and len(parts) == 3 and not listed(model.get(parts[2])) else path


def _place(text: str) -> str:
    if found := IN_LOAD.match(text):
        return _dotted(f"loads.{found[1]}.{found[2]}") if found[2] not in ("must", "needs", "has") else f"loads.{found[1]}"
    if text.startswith("Chain."):
        return _dotted(OF_TYPE.match(text)[2])  # pyright: ignore[reportOptionalSubscript]
    found = OF_TYPE.match(text)
    if found and found[1] in LOAD_TYPES:
        return _dotted(f"loads.{LOAD_TYPES[found[1]]}.{found[2]}")
    if found := WHERE.match(text):
        return _dotted(found[0].rstrip("."))
    for word, path in WORDS.items():
        if text.startswith(word):
            return path
    first = re.split(r"[ .(:]", text)[0]
    if first in INTEGRATORS:
        return "run.integrator"
    names = {name for key, kind in FORMULATIONS.items() for name in (key, kind.__name__)}
    return "run.formulation" if first in names else ""


def in_words(text: str) -> str:
    """Return a message of the library in the words of the page, which counts links from 1.

    >>> in_words("links[0].mass must not be negative, got -1")
    'mass of link 1 must not be negative, got -1'
    """
    for pattern, words in PHRASES:
        text = pattern.sub(words, text)
    return text


def _of_link(found: re.Match[str]) -> str:
    return f"{LABELS.get(found[1], found[1])} of link {int(found[2]) + 1}"


def _from_one(found: re.Match[str]) -> str:
    return f"{found[1]} {int(found[2]) + 1}"


def _of_load(found: re.Match[str]) -> str:
    """Return a value of a load in words."""
    name = "joint_torque" if found[1] in ("Sine", "Table") else LOAD_TYPES.get(found[1])
    if name is None:
        return found[0]
    owner = "joint" if name.startswith("joint") else "link"
    each = "" if found[3] is None else f" at {owner} {int(found[3]) + 1}"
    return f"{found[2]} of the {LOADS[name].label}{each}"


def _of_point_load(found: re.Match[str]) -> str:
    """Return a value of a load between points in words."""
    name = POINT_LOADS[found[1]].label if found[1] in POINT_LOADS else found[1]
    return f"{found[3]} of {name} {int(found[2]) + 1}"


PHRASES: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"\b(body|along link) (\d+)\b"), _from_one),
    (re.compile(r"\b(link) (\d+)(?= at \S+ (?:rad|m)\b)"), _from_one),
    (re.compile(r"^loads\.\w+: (?=[A-Z]\w+\.)"), ""),
    (re.compile(r"start\.shape = 'cone' finds it"), "choose the pose steady turning"),
    (re.compile(r"\b(?:Chain|Mechanism)\.(?=links|pins)"), ""),
    (re.compile(r"\bChain\.pin\b"), "the pin"),
    (re.compile(r"\blinks\[(?P<i>\d+)\]\.(\w+)"), lambda found: f"{LABELS.get(found[2], found[2])} of link {int(found['i']) + 1}"),
    (re.compile(r"\bstart\.(theta|omega)\[(\d+)\]"), _of_link),
    (re.compile(r"\b([A-Z]\w+)\.(\w+)(?:\[(\d+)\])?"), _of_load),
    (re.compile(r"\blinks\[(\d+)\]"), lambda found: f"link {int(found[1]) + 1}"),
    (re.compile(r"\b(?:start|run)\.(\w+)"), lambda found: LABELS.get(found[1], found[1])),
    (re.compile(r"\bloads\.(\w+)\[(\d+)\]\.(\w+)"), _of_point_load),
    (re.compile(r"\bloads\.(\w+)"), lambda found: LOADS[found[1]].label if found[1] in LOADS else found[0]),
    (
        re.compile(r"\bpins\[(\d+)\](?:\.([\w.]+))?"),
        lambda found: (found[2].replace(".", "'s ") + " of " if found[2] else "") + f"pin {int(found[1]) + 1}",
    ),
    (re.compile(r"\bpin\.([xy])\b"), r"pin \1"),
]
"""Places as the library writes them, and what the page calls them."""


def _dotted(path: str) -> str:
    return BRACKETS.sub(r".\1", path)


def page_model(scenario: Scenario) -> Json:
    """Return a scenario as the tables of a model file that the page edits: shapes by name, angles and rates one by one."""
    if scenario.chain.spatial:
        return space_model(scenario)
    table = scenario.to_dict()
    bodies, rows = table.pop("links"), [_row(link) for link in scenario.chain.links]
    if listed(bodies):
        rows = [{key: body[key] for key in JOINT_KEYS if key in body} | row for body, row in zip(bodies, rows, strict=True)]
    for key in LINK_KEYS:
        table.pop(key, None)
    same = rows.count(rows[0]) == len(rows) and "kind" not in rows[0]
    first = {"links": len(rows)} | rows[0] if same else {"links": rows}
    closed = loop_closure.assemble(scenario.chain, scenario.theta, scenario.omega)
    start = {"theta": closed.theta.tolist(), "omega": closed.omega.tolist()}
    return {"title": table.pop("title"), **first, **table, "start": start}


def _row(link: Jointed) -> Json:
    """Return a link by its shape, with centre of mass and inertia only where no shape has them; a slider with what it has."""
    if isinstance(link, Slider):
        others = {name: getattr(link, name) for name in ("com", "offset", "inertia")}
        return {"mass": link.mass, "direction": link.direction} | {name: value for name, value in others.items() if value}
    assert isinstance(link, Link)
    shape, measures = shape_of(link), {"length": link.length, "mass": link.mass}
    if shape:
        return {"shape": shape, **measures}
    return {**measures, "com": link.com, "offset": link.offset, "inertia": link.inertia}


def with_value(model: Json, key: str, value: float) -> Json:
    """Return a model with one number changed: a load by its name, or pin.x, pin.y."""
    table, _, name = key.partition(".")
    if table == "pin" and name in ("x", "y") and isinstance(model.get("pin"), dict):
        return {**model, "pin": {**model["pin"], name: value}}
    if table != "loads" or name not in LOADS or name == "tip_force":
        known = ", ".join(f"loads.{load}" for load in LOADS if load != "tip_force")
        raise FieldError(f"what is varied must be one of {known}, or pin.x or pin.y of a closed chain; got {shown(key)}", "vary")
    loads = dict(model.get("loads", {}))
    old, first = loads.get(name), fields(LOADS[name])[0].name
    loads[name] = {**old, first: value} if isinstance(old, dict) and first in old else value
    return {**model, "loads": loads}


def ranged(request: Json, low: str, high: str) -> tuple[float, float]:
    """Return two numbers of a request, the first below the second."""
    try:
        a, b = number(low, request.get(low)), number(high, request.get(high))
    except ModelError as error:
        raise FieldError(str(error), str(error).split()[0]) from None
    if a >= b:
        raise FieldError(f"{high} must be above {low}, {a:g}; got {b:g}", high)
    return a, b


def counted(request: Json, name: str, least: int, most: int) -> int:
    """Return a whole number of a request within bounds."""
    try:
        return whole(name, request.get(name), least=least, most=most)
    except ModelError as error:
        raise FieldError(str(error), name) from None
