"""Results in few words: a repr of one line, and a small table for notebooks.

`@short` gives both to a record. A value is a number in six digits, a few numbers, or the shape of an array with its least and its
largest number; a record in a record is its own line.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
FEW, LETTERS = 6, 120
"""Most numbers that are written one by one, and most letters of a value."""


def short(kind: type[T]) -> type[T]:
    """Give a dataclass or a NamedTuple a repr of one line and a table for notebooks, of its public fields."""
    kind.__repr__ = lambda self: f"<{kind.__name__} {', '.join(f'{name} {text}' for name, text in facts(self))}>"
    if "_repr_html_" not in vars(kind):
        kind._repr_html_ = lambda self: table(kind.__name__, facts(self))  # pyright: ignore[reportAttributeAccessIssue]
    return kind


def facts(record: object) -> list[tuple[str, str]]:
    """Return the fields of a record that its repr shows, in few words."""
    names = [each.name for each in fields(record) if each.repr] if is_dataclass(record) else getattr(record, "_fields", ())
    return [(name, brief(getattr(record, name))) for name in names]


def brief(value: Any) -> str:
    """Return a value in few words.

    >>> brief(np.arange(10.0)), brief([0.25, 1 / 3]), brief(None)
    ('(10,) from 0 to 9', '[0.25, 0.333333]', 'none')
    """
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, float | complex | np.number):
        return f"{value + 0.0:.6g}"
    if isinstance(value, Mapping):
        return f"{{{_cut(', '.join(map(str, value)))}}}"
    if isinstance(value, list | tuple) and getattr(value, "_fields", None) is None:
        each = f"[{', '.join(map(brief, value[:FEW]))}]"
        return each if len(value) <= FEW and len(each) <= LETTERS else f"{len(value)} of them, first {brief(value[0])}"
    return "none" if value is None else _cut(str(value))


def _array(values: np.ndarray) -> str:
    if values.ndim == 1 and len(values) <= FEW:
        return f"[{', '.join(map(brief, values.tolist()))}]"
    known = values[np.isfinite(values)] if values.dtype.kind in "fiu" else np.empty(0)
    return f"{values.shape}" + (f" from {known.min():.6g} to {known.max():.6g}" if len(known) else "")


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def table(title: str, rows: Iterable[tuple[str, ...]], before: str = "") -> str:
    """Return a small table for a notebook: a title, what stands `before` the rows (HTML), and rows of texts, names first."""
    lines = ("".join(f"<td style='text-align:left'>{html.escape(text)}</td>" for text in row) for row in rows)
    return f"<b>{html.escape(title)}</b>{before}<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
