"""Methods that take lanes through a step: a table that `by_series.py` and `by_stages.py` fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nlink.compiled.dispatch import ByClass, dispatched


class Method(NamedTuple):
    """What a method brings; the functions are compiled, and chosen by the type of its record."""

    room: Callable[..., Any]
    attempt: Callable[..., None]
    interpolate: Callable[..., None]
    path: Callable[..., Any]


METHODS: dict[type, Method] = ByClass()
"""By the type of the record that a method works with."""
PATHS: dict[type, Callable[..., tuple[float, float]]] = ByClass()
"""How to look at a link on a path of this type."""


@dispatched(lambda kind: METHODS[kind].interpolate, "method")
def interpolate(method, view, s, out):
    """Fill `out` with the states of all lanes at the times s after the beginning of their steps."""


@dispatched(lambda kind: METHODS[kind].path, "method")
def path_of(method, view, k):
    """Return the path of lane k through its step, for `seen`."""


@dispatched(PATHS.get, "path")
def seen(k, i, s, of_rates, path):
    """Return by how much link i of lane k has turned at the time s into the step, and its rate; or its rate and acceleration."""
