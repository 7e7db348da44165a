"""The [loads] of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from nlink._support import checks
from nlink._support.checks import ModelError
from nlink.mechanics.loads import LOADS, POINT_LOADS, Gravity, JointTorque, Load, Sine, Table
from nlink.mechanics.points import At
from nlink.models.points import read_point, write_point
from nlink.models.tables import Entries, Given, record, table_of

POINTS = ("point", "a", "b")
"""Fields of loads that are points."""


@dataclass(frozen=True)
class LostFunction:
    """Stands for a torque function that a file names but cannot hold."""

    name: str

    def __call__(self, t: float) -> float:
        """Refuse: the function is not here."""
        raise ModelError(f"the torque was the function {self.name[:200]!r}, which a file cannot hold; simulate again with it")


def read_loads(value: Given, kinds: Mapping[str, type] | None = None) -> tuple[Load, ...]:
    """Read the table of loads, of these kinds; if none are given, of those of the plane."""
    found: list[Load] = []
    for name, each in table_of(value, "loads", "[loads]", LOADS | POINT_LOADS if kinds is None else kinds).items():
        if name in POINT_LOADS:
            rows = each if checks.listed(each) else [each]
            found += [_point_load(f"loads.{name}[{i}]", POINT_LOADS[name], row) for i, row in enumerate(rows)]
        else:
            found.append(_load((kinds or LOADS)[name], each, 2 if kinds is None else 3))
    return tuple(found)


def write_loads(loads: tuple[Load, ...]) -> Entries:
    """Return loads as the table of a model file; of a kind that may be there several times, a list of tables."""
    single = {load.name: _load_table(load) for load in loads if not load.several}
    return single | {name: rows for name in POINT_LOADS if (rows := [_load_table(load) for load in loads if load.name == name])}


def _point_load(where: str, kind: type[Load], row: Given) -> Load:
    table = table_of(row, where, where, [f.name for f in fields(kind)])
    values = {key: read_point(f"{where}.{key}", value) if key in POINTS else value for key, value in table.items()}
    try:
        return record(kind, values, where)
    except ModelError as error:
        raise ModelError(str(error).replace(f"{kind.__name__}.", f"{where}.", 1)) from None


def _load(kind: type, value: Given, axes: int) -> Load:
    name = kind.name
    try:
        if kind is JointTorque:
            return JointTorque(_torque(value))
        if isinstance(value, dict):
            return record(kind, value, f"loads.{name}")
        if name == "tip_force":
            if not checks.listed(value) or not 2 <= len(value) <= axes:
                raise ModelError(f"must be [fx, fy{', fz' if axes > 2 else ''}], got {checks.shown(value)}")
            return kind(**dict(zip(("fx", "fy", "fz"), value, strict=False)))
        return kind(value)
    except ModelError as error:
        text = str(error)
        raise ModelError(text if text.startswith("loads.") else f"loads.{name}: {text}") from None


def _torque(value: Given) -> Given:
    """Read a torque: a number, a sine or a table in time, or a list of these."""
    if isinstance(value, dict) and "function" in value:
        return LostFunction(checks.line("a function's name", value["function"]))
    if isinstance(value, dict):
        kind = Table if "times" in value or "values" in value else Sine
        return record(kind, value, "a torque", f"a {kind.__name__.lower()}")
    return [_torque(v) if isinstance(v, dict) else v for v in value] if checks.listed(value) else value


def _load_table(load: Load) -> Given:
    values = {f.name: getattr(load, f.name) for f in fields(load)}
    table = {name: _plain(name, value) for name, value in values.items() if value is not None}
    return next(iter(table.values())) if isinstance(load, Gravity | JointTorque) else table


def _plain(name: str, value: Given) -> Given:
    """Return a value of a load as a model file holds it."""
    if name in POINTS and (isinstance(value, At) or checks.listed(value)):
        return write_point(value)
    if isinstance(value, tuple):
        return [_plain(name, each) for each in value]
    if isinstance(value, Sine | Table):
        return {f.name: _plain(f.name, getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, LostFunction):
        return {"function": value.name}
    return {"function": getattr(value, "__qualname__", type(value).__name__)} if callable(value) else value
