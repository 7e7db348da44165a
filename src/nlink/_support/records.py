"""Records by name: `RK4`, `RK4(step=0.001)` or the record itself, the same in Python, in model files and on the command line.

The text of a record is its repr. It is read as data (names, numbers, words, nested records), never evaluated.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from typing import TypeVar

from nlink._support.checks import ModelError, choice, nearest, shown

T = TypeVar("T")
MOST_LETTERS = 1_000_000
"""Of the text of a record, which may list an angle for each link."""


def record(where: str, spec: object, table: Mapping[str, type[T]]) -> T:
    """Return the record that `spec` stands for: a record of `table`, its name, or its text."""
    if isinstance(spec, tuple(table.values())):
        return spec
    if isinstance(spec, type) and spec in table.values():
        spec = spec.__name__
    if type(spec).__name__ in table:  # a record of another kind that is written the same
        spec = repr(spec)
    if not isinstance(spec, str):
        raise ModelError(f"{where} must be a name ({', '.join(table)}) or such a record, got {shown(spec)}")
    name = spec.split("(")[0].strip()
    names = {kind.__name__.lower(): key for key, kind in table.items()} | {key.lower(): key for key in table}
    kind = table[names.get(name.lower(), "") or choice(where, name, table)]
    return _make(where, kind, _call(where, spec)) if "(" in spec else kind()


def _call(where: str, text: str) -> ast.Call:
    if len(text) > MOST_LETTERS:
        raise ModelError(f"{where} must have at most {MOST_LETTERS:,} letters, got {len(text):,}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        tree = None
    if not isinstance(tree, ast.Call) or not _plain(tree):
        raise ModelError(f"{where} must read like Name(key=value, ...), got {shown(text)}")
    return tree


def _plain(call: ast.Call) -> bool:
    """Whether a call is Name(key=value, ...) with no key twice."""
    keys = [k.arg for k in call.keywords]
    return isinstance(call.func, ast.Name) and not call.args and None not in keys and len(set(keys)) == len(keys)


def _make(where: str, kind: type[T], call: ast.Call) -> T:
    values = {str(k.arg): _value(f"{where}: {k.arg}", k.value, kind) for k in call.keywords}
    fields = [field.name for field in dataclasses.fields(kind)]  # pyright: ignore[reportArgumentType]
    for key in values:
        if key not in fields:
            hint = nearest(key, fields) or f"; it has {', '.join(fields) or 'no options'}"
            raise ModelError(f"{where}: {kind.__name__} has no option {shown(key)}{hint}")
    return kind(**values)


def _value(where: str, node: ast.expr, kind: type) -> object:
    nested = getattr(kind, "RECORDS", {})
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _make(where, nested[choice(where, node.func.id, nested)], node)
    if isinstance(node, ast.Name) and node.id in ("inf", "nan"):
        return float(node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise ModelError(f"{where} must be a number, a word in quotes or a record, got {shown(_text(node))}") from None


def _text(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        return "something deeper than a value"
