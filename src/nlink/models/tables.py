"""How the tables of a model file are looked at: their keys, their records, and the place that a message names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from nlink._support import checks
from nlink._support.checks import ModelError

Given = Any
"""A value as a file or a user gives it, before it is checked."""
Entries = dict[str, Given]
"""A table of a model file."""


def table_of(value: Any, where: str, name: str, keys: Iterable[str]) -> dict[str, Any]:
    """Return a table that has no other keys than these; messages call its place `where`, and the table itself `name`."""
    if not isinstance(value, dict):
        raise ModelError(f"{where} must be a table, got {checks.shown(value)}")
    checks.known_keys(name, value, keys)
    return value


def record(kind: Any, table: dict[str, Any], where: str, name: str = "") -> Any:
    """Make a record of a table of its fields; messages call the table `where` and the record `name`."""
    checks.known_keys(where, table, [f.name for f in fields(kind)])
    missing = [f.name for f in fields(kind) if f.name not in table and f.default is f.default_factory]
    if missing:
        raise ModelError(f"{name or where} needs {missing[0]!r}")
    return kind(**table)


@contextlib.contextmanager
def told_as(where: str, *names: str, **others: str) -> Iterator[None]:
    """Call a record of one of these names by its place in the file, in the messages of its checks; `others` have their own."""
    places = dict.fromkeys(names, where) | others
    try:
        yield
    except ModelError as error:
        text = str(error)
        name = next((name for name in places if text.startswith((f"{name}.", f"{name}["))), "")
        raise ModelError(f"{places[name]}{text[len(name) :]}".removeprefix(".") if name else text) from None
