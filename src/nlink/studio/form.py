"""The loads as the form of the studio shows them: from the table of parameters."""

from __future__ import annotations

from nlink.mechanics.loads import LOADS, SPACE_LOADS, Gravity, JointTorque, Load
from nlink.studio.messages import Json


def load_forms() -> list[Json]:
    """Return each load: name, label, unit of the first value, what it is when switched on, fields, whether it is for space."""
    return [_form(kind) for kind in LOADS.values()] + [{**_form(kind), "space": True} for kind in SPACE_LOADS.values()]


def _form(kind: type[Load]) -> Json:
    parameters = kind.parameters()
    first = next(iter(parameters.values()))
    form = {"name": kind.name, "label": kind.label.capitalize(), "unit": _shown(first.unit)}
    if kind is JointTorque:  # several kinds of values: the form has a part of its own
        return form
    fields = []
    for name, p in parameters.items():
        fields.append({"key": name, "label": p.label, "unit": _shown(p.unit), "each": not p.single, "slider": p.slider})
    if kind is Gravity:
        return {**form, "first": first.usual, "fields": [{**fields[0], "key": ""}]}
    return {**form, "first": {name: p.usual for name, p in parameters.items()}, "fields": fields}


def _shown(unit: str) -> str:
    return unit.replace("^2", "\u00b2")
