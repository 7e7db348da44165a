"""Shared by plots and animations: colours, titles, fixed points, and the writing of figures."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap

from nlink._support.checks import ModelError
from nlink._support.files import written_whole
from nlink._support.version import __version__
from nlink.mechanics.chain import Chain
from nlink.run.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Colour = tuple[float, float, float]
Progress = Callable[[int, int], None]

INK: Colour = (0.17, 0.18, 0.20)
MUTED: Colour = (0.55, 0.57, 0.61)
GRID: Colour = (0.90, 0.91, 0.93)
ACCENT: Colour = (0.84, 0.33, 0.24)
SECOND: Colour = (0.16, 0.44, 0.60)

COLOURMAP = ListedColormap(mpl.colormaps["viridis"](np.linspace(0.12, 0.82, 256)), "links")
"""Viridis without its darkest and palest ends, so that every colour reads on a light ground."""


def link_colours(n: int) -> list[Colour]:
    """Return n colours, from the pivot outwards."""
    r, g, b, _ = np.atleast_2d(COLOURMAP(np.linspace(0.0, 1.0, n) if n > 1 else np.array([0.25]))).T
    return list(zip(r.tolist(), g.tolist(), b.tolist(), strict=True))


def mixed(colour: Colour, ground: Colour, share: float) -> Colour:
    """Return `share` of the colour laid over the ground."""
    r, g, b = (share * c + (1 - share) * d for c, d in zip(colour, ground, strict=True))
    return r, g, b


def heading(run: Run, most: int = 70) -> str:
    """Return the title of a run on one line, cut to `most` characters."""
    n = run.chain.n
    return cut(" ".join(run.scenario.title.split()) or (f"Chain of {n} links" if n > 1 else "One link"), most)


def title_of(what: str, name: str) -> str:
    """Return a title like "Modes of a double pendulum"; `name` may be empty."""
    name = " ".join(name.split())
    return f"{what} of {name[:1].lower() + name[1:]}" if name else what


def cut(text: str, most: int) -> str:
    """Return a text of at most so many letters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def minus(text: str) -> str:
    """Return a text with minus signs for hyphens."""
    return text.replace("-", "\N{MINUS SIGN}")


def within(run: Run, time: float | None) -> bool:
    """Whether a time lies within a run."""
    return time is not None and bool(run.t.min() <= time <= run.t.max())


def grounds(chain: Chain) -> np.ndarray:
    """Return the points fixed to the ground in m: the pivot (1, 2), with a pin that too (2, 2)."""
    return np.array([(0.0, 0.0), *([chain.pin] if chain.pin else [])])


def refuse_empty(run: Run) -> None:
    """Refuse a run without a saved point."""
    if not len(run.t):
        raise ModelError("the run holds no saved point to plot")


def save_figures(figures: dict[str, Figure], folder: str | os.PathLike[str], ending: str, dpi: float = 150) -> list[Path]:
    """Write figures as `folder/NAME.ending` and return the paths."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [save_figure(figure, Path(folder) / f"{name}.{ending}", dpi) for name, figure in figures.items()]


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: float = 130) -> Path:
    """Write a figure, whole or not at all, in the format of the name's ending, with nlink's name in its metadata."""
    path = Path(path)
    kind = path.suffix.removeprefix(".") or "png"
    image, key = io.BytesIO(), "Software" if kind == "png" else "Creator"
    figure.savefig(image, format=kind, dpi=dpi, metadata={key: f"nlink {__version__}"})
    with written_whole(path) as temporary:
        temporary.write_bytes(image.getvalue())
    return path
