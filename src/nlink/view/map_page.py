"""The page of a map: a two-dimensional array, or several over the same axes, as a picture to zoom into and read values from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nlink._support.checks import ModelError, shown
from nlink.view.packing import Content, Rounded, spread
from nlink.view.page import write_page
from nlink.view.style import cut, title_of
from nlink.view.takes import about, words

if TYPE_CHECKING:
    from nlink.analysis.stability_map import StabilityMap

CELLS = 2_000_000
"""Most cells of one layer."""


class Layer(NamedTuple):
    """What a map shows at each cell: values (Y, X); numbers with a unit, or numbers of the `kinds` that they name.

    With `log` the colours go by the logarithm, from bright to dark; -inf is blank then, NaN darkest: later than all. `blank` and
    `never` say in words what these two mean.
    """

    name: str
    values: np.ndarray
    unit: str = ""
    kinds: tuple[str, ...] = ()
    log: bool = False
    blank: str = ""
    never: str = ""


def map_page(
    x: np.ndarray,
    y: np.ndarray,
    layers: list[Layer],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "Map",
    summary: str = "",
    lines: list[tuple[str, str]] | None = None,
    path: str | os.PathLike[str] | None = None,
    theme: str | None = None,
) -> str | Path:
    """Return the page of a map over equally spaced x (X,) and y (Y,), or write it to `path` and return that.

    Values that are not finite are left blank. `lines`: what the page tells about the map, as pairs of a name and a text.
    `theme`: light or dark; as the reader's system if not given.

    >>> x, y = np.linspace(0, 1, 30), np.linspace(0, 2, 20)
    >>> text = map_page(x, y, [Layer("product", np.outer(y, x))], xlabel="x", ylabel="y")
    """
    content = map_content(x, y, layers, xlabel, ylabel, title)
    return write_page("map", content | {"summary": cut(summary, 160), "words": words(lines or [])}, path, theme)


def map_content(x: np.ndarray, y: np.ndarray, layers: list[Layer], xlabel: str, ylabel: str, title: str) -> Content:
    """Return what the page of a map shows, without words about it."""
    _check(x, y, layers)
    texts = {"title": cut(title, 200), "summary": "", "about": about(), "words": []}
    shown = [{**layer._asdict(), "kinds": list(layer.kinds) or None, "values": _rounded(layer)} for layer in layers]
    return {**texts, "x": x, "y": y, "xlabel": xlabel, "ylabel": ylabel, "layers": shown}


def stability_page(
    found: StabilityMap,
    xlabel: str,
    ylabel: str,
    title: str = "",
    *,
    lines: list[tuple[str, str]] | None = None,
    path: str | os.PathLike[str] | None = None,
    theme: str | None = None,
) -> str | Path:
    """Return the page of a stability map: where a chain is stable, flutters or diverges, and how fast motions grow."""
    summary = f"{len(found.x)} \N{MULTIPLICATION SIGN} {len(found.y)} chains: {shares_text(found)}"
    facts = [("map", summary), ("across", xlabel), ("up", ylabel), *(lines or [])]
    heading, layers = title_of("Stability", title), stability_layers(found)
    told = {"xlabel": xlabel, "ylabel": ylabel, "title": heading, "summary": summary}
    return map_page(found.x, found.y, layers, **told, lines=facts, path=path, theme=theme)


def stability_layers(found: StabilityMap) -> list[Layer]:
    """Return the layers of a stability map: the kind, and the growth of small motions."""
    from nlink.analysis.stability_map import KINDS

    return [Layer("stability", found.kind, kinds=KINDS), Layer("growth", found.growth, "1/s")]


def shares(found: StabilityMap) -> dict[str, float]:
    """Return the share of the chains of each kind."""
    from nlink.analysis.stability_map import KINDS

    return {kind: float(np.mean(found.kind == k)) for k, kind in enumerate(KINDS)}


def shares_text(found: StabilityMap) -> str:
    """Return the shares in words."""
    return ", ".join(f"{kind} {100 * share:.1f} %" for kind, share in shares(found).items() if share)


def _rounded(layer: Layer) -> np.ndarray | Rounded:
    """Return the values as the page holds them: exact if some are not finite, which whole numbers cannot be."""
    values = np.asarray(layer.values, float)
    if not np.isfinite(values).all():
        return values.ravel()
    return Rounded(values, 1.0) if layer.kinds else spread(values)


def _check(x: np.ndarray, y: np.ndarray, layers: list[Layer]) -> None:
    if not layers:
        raise ModelError("a map needs at least one layer")
    if not len(x) or not len(y) or len(x) * len(y) > CELLS:
        raise ModelError(f"a map must have from 1 to {CELLS:,} cells, got {len(x)} x {len(y)}")
    for axis, values in (("x", x), ("y", y)):
        steps = np.diff(values)
        if len(steps) and (not steps[0] > 0 or np.ptp(steps) > 1e-6 * abs(values[-1] - values[0])):
            raise ModelError(f"{axis} of a map must be equally spaced and increase")
    for layer in layers:
        if np.shape(layer.values) != (len(y), len(x)):
            raise ModelError(
                f"the layer {shown(layer.name)} must have the shape ({len(y)}, {len(x)}), got {np.shape(layer.values)}"
            )
