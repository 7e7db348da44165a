"""Shared by plots and animations: themes, colours, sizes, titles, fixed points, and the making and writing of figures.

Colours and dashes are those of the pages (`web/theme.css`). A figure takes the theme, LIGHT or DARK, that suits the ground of
Matplotlib's style, as after `plt.style.use("dark_background")`. Every function that draws is a `@picture`: its keyword `theme`
sets another, light or dark, and its keyword `size` the letters and lines that suit a small figure.
"""

from __future__ import annotations

import functools
import importlib.resources
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, ParamSpec

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap, to_rgb, to_rgba
from matplotlib.figure import Figure

from nlink._support.checks import ModelError, choice, listed, number, shown
from nlink._support.files import written_whole
from nlink._support.version import __version__
from nlink.mechanics.mechanism import Mechanism
from nlink.run.run import Run
from nlink.scenario import Scenario
from nlink.view import THEMES as NAMES

Colour = tuple[float, float, float]
Progress = Callable[[int, int], None]
Dashes = tuple[int, tuple[float, ...]]

Size = tuple[float, float]
"""Width and height in inches."""
P = ParamSpec("P")

COLUMN: Size = (3.4, 2.6)
"""Inches of a figure for the column of a journal, unless it has many panels."""
WIDE, SMALLEST = 6.0, 6.5
"""Inches from which letters and lines have the size of Matplotlib's style; points of letters at the least."""
MOST_INCHES = 200.0


def _sheet() -> str:
    return (importlib.resources.files("nlink.view") / "web" / "theme.css").read_text(encoding="utf-8")


def _listed(name: str) -> list[str]:
    """Return the values of a property of the style sheet that is a list."""
    found = re.search(rf"--{name}: (.*);", _sheet())
    assert found is not None
    return found[1].split(", ")


CURVES = _listed("curves")
"""Names of the colours of curves in the theme, in their order."""
DASHES: list[Dashes] = [(0, () if dash == "0" else tuple(map(float, dash.split()))) for dash in _listed("dashes")]
"""Kinds of lines that are told apart without colour, for the same curves."""


class Theme(NamedTuple):
    """The colours of figures and pages: of the ground of plots and of animations, of texts and axes, and of curves."""

    ground: Colour
    stage: Colour
    ink: Colour
    muted: Colour
    lines: Colour
    accent: Colour
    second: Colour
    third: Colour
    fourth: Colour
    fifth: Colour
    viridis: ListedColormap
    """The part of viridis that reads on the ground."""

    @property
    def style(self) -> dict[str, Colour]:
        """Matplotlib's settings for the theme."""
        return {
            "figure.facecolor": self.ground, "axes.facecolor": self.ground, "text.color": self.ink, "axes.labelcolor": self.ink,
            "axes.edgecolor": self.muted, "xtick.color": self.muted, "ytick.color": self.muted,
        }  # fmt: skip


def _theme(selector: str, ground: str, low: float, high: float) -> Theme:
    """Return the theme of a rule of the pages' style sheet; `ground` is its colour behind plots."""
    rule = _sheet()[_sheet().index(f"\n{selector} {{") :].partition("}")[0]
    colours = {name: to_rgb(value) for name, value in re.findall(r"--(\w+): (#\w{6});", rule)}
    colours |= {"stage": colours["ground"], "ground": to_rgb(ground)}
    viridis = ListedColormap(mpl.colormaps["viridis"](np.linspace(low, high, 256)), "links")
    return Theme(**{name: colours[name] for name in Theme._fields[:-1]}, viridis=viridis)


LIGHT = _theme(":root", "#ffffff", 0.10, 0.78)
DARK = _theme(':root[data-theme="dark"]', "#12161b", 0.40, 0.97)
THEMES: dict[str, Theme] = dict(zip(NAMES, (LIGHT, DARK), strict=True))


def palette() -> Theme:
    """Return the theme that suits the ground of Matplotlib's style."""
    grounds = (to_rgba(colour) for colour in (mpl.rcParams["axes.facecolor"], mpl.rcParams["figure.facecolor"]))
    r, g, b, _ = next((colour for colour in grounds if colour[3] > 0), (1.0, 1.0, 1.0, 1.0))
    return DARK if 0.3 * r + 0.59 * g + 0.11 * b < 0.5 else LIGHT


def named_theme(name: str | None) -> Theme:
    """Return a theme by its name, light or dark; None for that of Matplotlib's style."""
    return palette() if name is None else THEMES[choice("theme", name, THEMES)]


@contextmanager
def styled(name: str | None, size: Size | str | None) -> Iterator[None]:
    """Set Matplotlib's style for a while: a theme, light or dark, and letters and lines that suit a size; None leaves it."""
    settings: dict[str, object] = {} if name is None else dict(named_theme(name).style)
    if size is not None:
        share = min(1.0, inches(size, COLUMN)[0] / WIDE)
        letters, line = float(mpl.rcParams["font.size"]), float(mpl.rcParams["lines.linewidth"])
        settings |= {"font.size": max(min(SMALLEST, letters), share * letters), "lines.linewidth": max(0.5, share) * line}
    with mpl.rc_context(settings):  # pyright: ignore[reportArgumentType]
        yield


def picture(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Let a function draw in the style of its keywords `theme` and `size`."""

    @functools.wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> Figure:
        with styled(*(options.get(name) for name in ("theme", "size"))):  # pyright: ignore[reportArgumentType]
            return draw(*arguments, **options)

    return drawn


def inches(size: Size | str | None, usual: Size, column: Size = COLUMN) -> Size:
    """Return the width and the height of a figure: the usual ones if not given, those for a column of a journal for "column"."""
    if size is None or size == "column":
        return usual if size is None else column
    if not listed(size) or len(size) != 2:
        raise ModelError(f'size must be (width, height) in inches or "column", got {shown(size)}')
    wide, high = (number(f"size[{k}]", side, least=1, most=MOST_INCHES) for k, side in enumerate(size))
    return wide, high


def letter(share: float = 1.0) -> float:
    """Return the size of letters in points, as a part of the usual one."""
    return share * float(mpl.rcParams["font.size"])


def stroke(points: float) -> float:
    """Return the width of a line in points, thinner in a small figure."""
    return points * float(mpl.rcParams["lines.linewidth"]) / 1.5


class Picture(Figure):
    """A figure that a notebook shows by itself, without pyplot."""

    def _repr_png_(self) -> bytes:
        return encoded(self, "png", 100)


def blank(width: float, height: float) -> Figure:
    """Return a figure without axes of so many inches, which keeps its texts apart."""
    return Picture(figsize=(width, height), layout="constrained")


def link_colours(n: int, colours: Theme | None = None) -> list[Colour]:
    """Return n colours, from the pivot outwards."""
    viridis = (colours or palette()).viridis
    r, g, b, _ = np.atleast_2d(viridis(np.linspace(0.0, 1.0, n) if n > 1 else np.array([0.35]))).T
    return list(zip(r.tolist(), g.tolist(), b.tolist(), strict=True))


def mixed(colour: Colour, ground: Colour, share: float) -> Colour:
    """Return `share` of the colour laid over the ground."""
    r, g, b = (share * c + (1 - share) * d for c, d in zip(colour, ground, strict=True))
    return r, g, b


def heading(run: Run, most: int = 70) -> str:
    """Return the title of a run on one line, cut to `most` characters."""
    return name_of(run.scenario, most)


def name_of(scenario: Scenario, most: int) -> str:
    """Return the title of a scenario on one line, or what it is, cut to `most` characters."""
    chain = scenario.chain
    kind = "Mechanism" if isinstance(chain, Mechanism) else "Chain"
    return cut(" ".join(scenario.title.split()) or (f"{kind} of {chain.made_of}" if chain.n > 1 else "One link"), most)


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
    content = encoded(figure, path.suffix.removeprefix(".") or "png", dpi)
    with written_whole(path) as temporary:
        temporary.write_bytes(content)
    return path


def encoded(figure: Figure, kind: str, dpi: float) -> bytes:
    """Return a figure as the content of a png, svg or pdf."""
    image, key = io.BytesIO(), "Software" if kind == "png" else "Creator"
    figure.savefig(image, format=kind, dpi=dpi, metadata={key: f"nlink {__version__}"})
    return image.getvalue()
