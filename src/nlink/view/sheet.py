"""The sheet a plot is drawn on: axes, lines in the colours of the links, legend or colour bar, one calm look."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import cm, collections, colors, patheffects
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nlink._support.checks import ModelError
from nlink.mechanics.chain import Multibody
from nlink.mechanics.points import Point
from nlink.run.readout import Trajectory, trajectory
from nlink.run.run import Run
from nlink.view.outline import ground_marks
from nlink.view.style import Colour, Size, blank, cut, heading, letter, link_colours, palette, within

LEGEND = 6
"""Most links that a legend lists; more get a colour bar."""
POINTS = 2000
"""Fewer saved points than this are joined by interpolated ones."""
FEW = 60
"""So few saved points are marked one by one where a curve joins only them."""
DEAD = 60
"""Most dead positions that are marked."""

AnyAxes = Axes | Sequence[Axes] | None
"""Axes of a user to draw into: one, or as many as the picture has."""
LineStyle = dict[str, Any]
"""Keywords of `Axes.plot`."""
MOST_TITLE = 300
"""Letters of a title that are shown."""
CLOSE = 0.2
"""Texts nearer than this part of the width stand upwards."""
MOST_FONT, MOST_DPI = 1000.0, 1e6
"""Of a picture: its letters in points, and its dots an inch."""
WIDE, LETTER, TITLE = 8.0, 0.56, 1.1
"""Width in inches from which lines have their full width; mean width of a letter, and size of a title, as parts of the letters."""


class Sheet:
    """A figure being drawn: its run, its smooth motion, the links or points that are shown, and the axes made so far.

    With `given` axes of a user it draws into those, and leaves their figure as it is.
    """

    def __init__(
        self,
        run: Run,
        size: Size,
        fontsize: float,
        links: Sequence[int] | None = None,
        given: Sequence[Axes] = (),
        trace: Sequence[Point] = (),
    ) -> None:
        self.run, self.fontsize, self.given, self.trace = run, fontsize, list(given), list(trace)
        self.figure = whole_figure(self.given[0]) if given else blank(*size)
        self.chosen = links is not None
        self.links = list(range(run.chain.n)) if links is None else sorted(set(links))
        self.thin = min(1.0, max(0.5, self.figure.get_figwidth() / WIDE))
        self.motion = smooth(run)
        self.trusted = run.trusted_until if within(run, run.trusted_until) else None
        self.note = ""
        self.colours = link_colours(run.chain.n)
        self.marker = "o" if len(run.t) == 1 else ""
        self.drawn: dict[int, Line2D] = {}

    def kinds(self) -> tuple[list[int], list[int]]:
        """Return the links and the sliders that are shown."""
        slides = self.run.chain.slides
        return [i for i in self.links if not slides[i]], [i for i in self.links if slides[i]]

    def over_time(self, *labels: str, heights: tuple[float, ...] | None = None, dead: bool = False) -> list[Axes]:
        """Return axes one below another that share the time, with these labels; `dead`: mark the dead positions, if few."""
        passed = _dead_positions(self.run) if dead else []
        column = self.column(len(labels), heights)
        for axes, label in zip(column, labels, strict=True):
            axes.set_ylabel(label, fontsize=self.fontsize)
            axes.margins(x=0.01)
            if self.trusted is not None:
                axes.axvline(self.trusted, color=palette().muted, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1)
            for t in passed:
                axes.axvline(t, color=palette().muted, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        note = ", dotted: dead positions" if passed else ""
        column[-1].set_xlabel(self.fitted(self.time_label() + note), fontsize=self.fontsize)
        return column

    def column(self, count: int, heights: tuple[float, ...] | None = None) -> list[Axes]:
        """Return axes one below another, or those that were given."""
        if self.given:
            return counted(self.given, count)
        return list(self.figure.subplots(count, 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])

    def fitted(self, text: str, size: float = 1.0) -> str:
        """Return a text in lines that are not wider than the figure; `size` in that of the other letters."""
        letters = int(self.figure.get_figwidth() * 72 / (LETTER * size * self.fontsize))
        return "\n".join(textwrap.fill(line, letters) for line in text.split("\n"))

    def plane(self, pivot: bool = True) -> Axes:
        """Return axes of the plane of motion, with equal scales; `pivot`: show where it is, and the pin."""
        (axes,) = self.column(1)
        axes.set_aspect("equal", adjustable="datalim")
        if pivot:
            mark_grounds(axes, self.run.chain, (letter(0.9), letter(0.7)))
        marks = zip(("+ pivot", "\N{MULTIPLICATION SIGN} pin"), ground_marks(self.run.chain), strict=True)
        note = (
            "".join(f", {mark}" for mark, points in marks if len(points)) if pivot and len(ground_marks(self.run.chain)[1]) else ""
        )
        axes.set_xlabel(f"x (m){note}", fontsize=self.fontsize)
        axes.set_ylabel("y (m)", fontsize=self.fontsize)
        return axes

    def lines(self, axes: Axes, x: np.ndarray, y: np.ndarray) -> None:
        """Draw one line for each link that is shown: y is (T, N), x (T,) or (T, N)."""
        x = np.broadcast_to(x[:, None] if x.ndim == 1 else x, y.shape)
        for i in self.links:
            self.line(axes, x[:, i], y[:, i], i)

    def line(self, axes: Axes, x: np.ndarray, y: np.ndarray, link: int) -> None:
        """Draw the line of one link in its colour, over those of the links further out."""
        count = len(self.links)
        width = self.thin * (1.5 if count <= LEGEND else 1.0 if count <= 30 else 0.6)
        colour, order = self.colours[link], 3 - link / len(self.colours)
        (self.drawn[link],) = axes.plot(x, y, zorder=order, color=colour, linewidth=width, marker=self.marker)

    def name_links(self, symbol: str, last: str = "", more: dict[str, Line2D] | None = None, slider: str = "") -> None:
        """Say which colour is which link, if more than one is drawn: by a legend (`symbol` with {i}) or, for many, by a colour bar.

        `last`: what to add to the symbol of the last link; `more`: further lines by name, above the axes beside a bar; `slider`:
        the symbol of sliders.
        """
        n, more = len(self.colours), more or {}
        if len(self.drawn) <= LEGEND:
            slides = self.run.chain.slides
            symbols = {i: slider if slider and slides[i] else symbol for i in sorted(self.drawn)}
            names = {i: symbols[i].format(i=i + 1) + last * (i == n - 1) for i in symbols}
            self.legend([*(self.drawn[i] for i in names), *more.values()], [*names.values(), *more])
            return
        if more:
            (self.given or self.figure.axes)[0].legend(
                list(more.values()), list(more), loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, frameon=False,
                fontsize=self.fontsize, handlelength=1.4,
            )  # fmt: skip
        bounds = np.arange(n + 1) + 0.5
        mappable = cm.ScalarMappable(colors.BoundaryNorm(bounds, n), colors.ListedColormap(self.colours))
        step = next(m for k in range(9) for m in (10**k, 2 * 10**k, 5 * 10**k) if 12 * m > n)
        bar = self.colour_bar(mappable, "link")
        bar.set_ticks(sorted({1, *range(step, n + 1, step)}))
        bar.minorticks_off()

    def legend(self, drawn: Sequence[Artist], names: list[str]) -> None:
        """Put a legend of two curves or more to the right of the axes, where it covers nothing; within axes that were given."""
        if len(names) < 2:
            return
        style: LineStyle = {"frameon": False, "fontsize": self.fontsize, "handlelength": 2.2 if dashed(drawn) else 1.4}
        if self.given:
            self.given[0].legend(drawn, names, **style)
        else:
            self.figure.legend(drawn, names, loc="outside right center", **style)

    def colour_bar(self, mappable: cm.ScalarMappable, label: str) -> Colorbar:
        """Put a colour bar to the right of the axes."""
        bar = self.figure.colorbar(mappable, ax=self.given or self.figure.axes, pad=0.02, aspect=30)
        bar.set_label(label, fontsize=self.fontsize)
        bar.outline.set_visible(False)
        return bar

    def timed_path(self, axes: Axes, path: np.ndarray) -> Colorbar:
        """Draw the path (T, 2) of a point in the colours of the time, with dots at both ends."""
        t = self.motion.t
        colours = cm.ScalarMappable(colors.Normalize(t.min(), t.max()), palette().viridis)
        pieces = list(np.stack([path[:-1], path[1:]], 1))
        style = {"linewidths": 1.3 * self.thin, "capstyle": "round", "colors": colours.to_rgba(t[:-1])}
        axes.add_collection(collections.LineCollection(pieces, **style), autolim=True)
        axes.scatter(*path[[0, -1]].T, s=30, c=colours.to_rgba(t[[0, -1]]), zorder=4)
        axes.autoscale_view()
        return self.colour_bar(colours, self.time_label())

    def finish(self, meaning: str) -> None:
        """Give every axes the same calm look, and the figure its title."""
        for axes in self.given or self.figure.axes:
            axes.yaxis.get_offset_text().set_fontsize(0.9 * self.fontsize)
            dressed(axes, 0.9 * self.fontsize)
        title = self.fitted(f"{meaning}\n{self.note}" if self.note else meaning, 1.15)
        (self.given or self.figure.axes)[0].set_title(title, loc="left", fontsize=1.15 * self.fontsize, color=palette().ink, pad=8)
        if self.given:
            return
        letters = int(self.figure.get_figwidth() * 72 / (LETTER * self.fontsize))
        title = wrapped(heading(self.run, MOST_TITLE), letters)
        self.figure.suptitle(title, x=0.012, ha="left", fontsize=self.fontsize, color=palette().muted, parse_math=False)

    def time_label(self) -> str:
        """Return the label of the time, with what a dashed line in it means."""
        return "time (s)" if self.trusted is None else f"time (s), dashed: trusted until {self.trusted:.3g} s"


def panels(size: Size, rows: int, title: str, ax: AnyAxes = None, dress: bool = True) -> tuple[Figure, list[Axes]]:
    """Return a figure of panels one below another that share the x axis, with a title above; or that of axes of the user."""
    if ax is None:
        figure = blank(*size)
        head(figure, title)
        column = list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
    else:
        column = counted(axes_of(ax), rows)
        figure = whole_figure(column[0])
    return figure, [dressed(axes) if dress else axes for axes in column]


def axes_of(ax: AnyAxes) -> list[Axes]:
    """Return the axes that a user gives for a picture; none if not given."""
    return [] if ax is None else list(np.ravel(np.asarray(ax, object)))


def counted(given: list[Axes], count: int) -> list[Axes]:
    """Return the axes that a user gives if they are as many as the picture has."""
    if len(given) != count:
        raise ModelError(f"ax must be {count} axes for this plot, got {len(given)}")
    return given


def whole_figure(axes: Axes) -> Figure:
    """Return the figure that axes belong to."""
    figure = axes.get_figure(root=True) if isinstance(axes, Axes) else None
    if not isinstance(figure, Figure):
        raise ModelError(f"ax must be Matplotlib axes, got {type(axes).__name__}")
    return figure


def dashed(drawn: Sequence[Artist]) -> bool:
    """Whether some line is not solid."""
    return any(isinstance(each, Line2D) and each.get_linestyle() not in ("-", "None") for each in drawn)


def head(figure: Figure, title: str) -> None:
    """Put a title above a figure, if it has one, in several lines if it is long."""
    title = wrapped(cut(title, MOST_TITLE), letters_across(figure, TITLE))
    if title:
        figure.suptitle(title, x=0.01, ha="left", color=palette().muted, fontsize=letter(TITLE), parse_math=False)


def letters_across(figure: Figure, share: float = 1.0) -> int:
    """Return how many letters of a size fit into the width of a figure."""
    return int(figure.get_figwidth() * 72 / (LETTER * letter(share)))


def wrapped(text: str, letters: int) -> str:
    """Return a text in lines of at most so many letters."""
    return "\n".join(textwrap.wrap(text, max(letters, 1)))


def subtitle(axes: Axes, text: str) -> None:
    """Put a title above axes, in several lines if it is long."""
    text = wrapped(text, letters_across(whole_figure(axes), TITLE))
    axes.set_title(text, loc="left", fontsize=letter(TITLE), color=palette().ink)


def mark_grounds(axes: Axes, chain: Multibody, sizes: tuple[float, float]) -> None:
    """Mark the pivots and the pins on the ground."""
    for mark, points, size in zip("+x", ground_marks(chain), sizes, strict=True):
        halo = patheffects.withStroke(linewidth=3.0, foreground=palette().ground)
        for x, y in points:
            axes.plot(x, y, mark, color=palette().ink, markersize=size, markeredgewidth=1.3, zorder=5, path_effects=[halo])


def notes_above(axes: Axes, notes: Sequence[tuple[float, str]], colour: Colour) -> None:
    """Write texts above values of x, outside the axes, where they cover no curve; upwards if they are close to one another."""
    above, (left, right) = axes.secondary_xaxis("top"), axes.get_xlim()
    gaps = np.diff(sorted(x for x, _ in notes)) / (right - left)
    above.set_xticks([x for x, _ in notes], [text for _, text in notes], rotation=90 if gaps.min(initial=1.0) < CLOSE else 0)
    above.tick_params(color=colour, labelcolor=colour, labelsize=letter(0.8))
    above.minorticks_off()
    above.spines["top"].set_visible(False)


def dressed(axes: Axes, labelsize: float | None = None) -> Axes:
    """Give axes the calm look of all plots; of a colour bar its texts alone."""
    axes.tick_params(color=palette().muted, labelcolor=palette().ink, labelsize=letter() if labelsize is None else labelsize)
    if axes.get_label() != "<colorbar>":
        axes.grid(color=palette().lines, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(palette().muted)
    return axes


def smooth(run: Run) -> Trajectory:
    """Return the motion at the saved points, with interpolated ones between where these are few."""
    if len(run.t) >= POINTS:
        return trajectory(run.chain, run.t, run.position, run.velocity, run.acceleration)
    return run.at(np.union1d(run.t, np.linspace(run.t[0], run.t[-1], POINTS)))


def _dead_positions(run: Run) -> list[float]:
    """Return the times of the dead positions within the run; none if they are too many to be marked."""
    times = [event.t for event in run.events if event.name == "dead position" and within(run, event.t)]
    return times if len(times) <= DEAD else []
