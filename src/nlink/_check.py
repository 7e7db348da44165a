"""Checks on what a user hands in: every refusal is a ModelError that names the place, the rule, the value and the remedy."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any


class ModelError(ValueError):
    """A model that cannot be meant: the message says where, which rule, the value, and what to do."""


class BackendError(RuntimeError):
    """A place to compute that is not there, or does not fit: the message says which, and what to do."""


def number(where: str, value: Any, *, least: float | None = None, above: float | None = None) -> float:
    """Return `value` as a float if it is a finite real number within its bounds."""
    value = value.item() if _zero_dimensional(value) else value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ModelError(f"{where} must be a number, got {shown(value)}")
    value = float(value)
    if not math.isfinite(value):
        raise ModelError(f"{where} must be finite, got {value}")
    if above is not None and value <= above:
        raise ModelError(f"{where} must be {'positive' if above == 0 else f'above {above:g}'}, got {value:g}")
    if least is not None and value < least:
        raise ModelError(f"{where} must {'not be negative' if least == 0 else f'be at least {least:g}'}, got {value:g}")
    return value


def whole(where: str, value: Any, *, least: int = 1) -> int:
    """Return `value` as an int if it is a whole number, not below `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ModelError(f"{where} must be a whole number, at least {least}, got {shown(value)}")
    return int(value)


def listed(value: Any) -> bool:
    """Whether `value` is a list of some kind (a tuple or an array too), not a single value."""
    return isinstance(value, Sequence | Iterable) and not isinstance(value, str | bytes | dict) and not _zero_dimensional(value)


def number_or_each(where: str, value: Any, *, least: float | None = None, above: float | None = None) -> float | tuple[float, ...]:
    """Return one number that serves all, or a tuple with one for each."""
    if not listed(value):
        return number(where, value, least=least, above=above)
    values = tuple(value.tolist() if hasattr(value, "tolist") else value)
    if not values:
        raise ModelError(f"{where} must not be an empty list; give one number, or one for each")
    if least is None and above is None and all(type(v) is float for v in values) and all(map(math.isfinite, values)):
        return values  # long chains pass here often
    return tuple(number(f"{where}[{i}]", v, least=least, above=above) for i, v in enumerate(values))


def spread(where: str, value: float | tuple[Any, ...], n: int, what: str) -> tuple[Any, ...]:
    """Return `value` as n values: one serves all, a tuple must have n."""
    if not isinstance(value, tuple):
        return (value,) * n
    if len(value) != n:
        count = f"{len(value)} value{'s' * (len(value) != 1)}"
        raise ModelError(f"{where} has {count} for {n} {what}; give one number, or {n}")
    return value


def choice(where: str, value: Any, names: Iterable[str]) -> str:
    """Return `value` if it is one of `names`; else refuse with the list and the nearest name."""
    names = list(names)
    if isinstance(value, str) and value in names:
        return value
    raise ModelError(f"{where} must be one of {', '.join(names)}; got {shown(value)}{nearest(value, names)}")


def known_keys(where: str, table: dict[str, Any], names: Iterable[str]) -> None:
    """Refuse the first key of `table` that is not in `names`, suggesting the nearest."""
    names = list(names)
    for key in table:
        if key not in names:
            hint = nearest(key, names) or f"; known keys: {', '.join(names)}"
            raise ModelError(f"{where} has no key {key!r}{hint}")


def nearest(value: Any, names: Iterable[str]) -> str:
    """Return ' (did you mean ...?)' for the name closest to `value`, or nothing."""
    close = difflib.get_close_matches(str(value).lower(), {n.lower(): n for n in names}, n=1, cutoff=0.5)
    match = next((n for n in names if close and n.lower() == close[0]), None)
    return f" (did you mean {match!r}?)" if match else ""


def shown(value: Any) -> str:
    """Return `value` as a message shows it, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _zero_dimensional(value: Any) -> bool:
    return getattr(value, "ndim", None) == 0
