"""Plots of a run as Matplotlib figures, independent of pyplot and of any display.

    PLOTS["angles"].meaning             what a plot shows
    figure(run, "angles")               one Figure
    save_plots(run, "folder")           files, every plot that suits the run

Few links carry a legend, many a colour bar. Where saved points are sparse the curves go through `run.at`, so that
they bend as the motion did.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import cm, collections, colors
from matplotlib.figure import Figure

from nlink._support.checks import ModelError, choice, number, shown, whole
from nlink._support.endings import FORMATS
from nlink.mechanics import kinematics
from nlink.run.run import Run
from nlink.view import coupler, forces
from nlink.view.sampling import Span, within_times
from nlink.view.sheet import MOST_DPI, MOST_FONT, AnyAxes, Sheet, axes_of
from nlink.view.style import CURVES, DASHES, Progress, Size, inches, palette, picture, refuse_empty, save_figure

SIZE: Size = (8.0, 5.0)
"""Inches of a plot."""
FEW = 60
"""So few saved points are marked one by one where a curve joins only them."""
SMALL = 0.05
"""A path of the last end below this share of the chain's length is shown close up, without the pivot."""


@picture
def figure(
    run: Run,
    kind: str = "angles",
    *,
    links: Iterable[int] | None = None,
    t: Span | None = None,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    fontsize: float | None = None,
    theme: str | None = None,
) -> Figure:
    """Return one plot of a run.

    Parameters
    ----------
    kind : a key of PLOTS
    links : those that are shown, from 0; all if not given, in a phase portrait the last
    t : first and last time that are shown, in s; None for the end of the run
    ax : axes to draw into, one or as many as the plot has
    size : inches, 8 x 5 if not given; or "column", for the column of a journal
    fontsize : points; 11 if not given, smaller below a width of 6 inches
    theme : light or dark; as Matplotlib's style if not given

    >>> import nlink
    >>> run = nlink.simulate(nlink.Chain.uniform(2), [0.5, 0.5], t_end=1.0)
    >>> len(figure(run, "energy").axes)
    2
    """
    refuse_empty(run)
    plot, (wide, high) = PLOTS[_chosen(run, kind)], inches(size, SIZE)
    fontsize = min(11.0, max(7.0, 11.0 * wide / 6.0)) if fontsize is None else fontsize
    letters = number("fontsize", fontsize, above=0, most=MOST_FONT)
    run = run if t is None else within_times(run, t)
    sheet = Sheet(run, (wide, high), letters, _links(run, links), axes_of(ax))
    plot.draw(sheet)
    sheet.finish(plot.meaning)
    return sheet.figure


def save_plots(
    run: Run,
    folder: str | os.PathLike[str],
    *,
    names: Iterable[str] | None = None,
    links: Iterable[int] | None = None,
    t: Span | None = None,
    format: str = "png",
    size: Size | str | None = None,
    fontsize: float | None = None,
    theme: str | None = None,
    dpi: float = 150,
    progress: Progress | None = None,
) -> list[Path]:
    """Write plots of a run as `folder/name.format` and return the paths; without names, all that suit the run.

    Parameters: links, t, size, fontsize, theme as for `figure`; format png, svg or pdf; dpi for png; progress is called with
    (done, total).
    """
    choice("format", format, FORMATS)
    refuse_empty(run)
    names = suiting(run) if names is None else [names] if isinstance(names, str) else names
    wanted = [_chosen(run, name) for name in names]
    dpi, largest = number("dpi", dpi, above=0, most=MOST_DPI), max(inches(size, SIZE))
    run, links = run if t is None else within_times(run, t), None if links is None else list(links)
    _links(run, links)
    if format == "png" and largest * dpi > 2**15:
        raise ModelError(f"size times dpi must be at most {2**15} pixels, got {largest * dpi:g}; give a smaller size or dpi")
    paths = [Path(folder) / f"{name}.{format}" for name in wanted]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for done, (name, path) in enumerate(zip(wanted, paths, strict=True), start=1):
        drawn = figure(run, name, links=links, size=size, fontsize=fontsize, theme=theme)
        save_figure(drawn, path, dpi)
        if progress:
            progress(done, len(paths))
    return paths


def suiting(run: Run) -> list[str]:
    """Return the names of the plots that make sense for this run."""
    return [name for name, kind in PLOTS.items() if kind.suits(run)]


def _chosen(run: Run, name: str) -> str:
    """Return the name of a plot, if there is such a plot of this run."""
    kind = PLOTS[choice("plot", name, PLOTS)]
    if kind.needs and not kind.suits(run):
        raise ModelError(f"the plot {shown(name)} needs {kind.needs}")
    return name


def _links(run: Run, links: Iterable[int] | None) -> list[int] | None:
    """Return the numbers of links, if the chain has them."""
    chosen = None if links is None else [whole("links", link, least=0, most=run.chain.n - 1) for link in links]
    if chosen == []:
        raise ModelError("links must name at least one link, got none")
    return chosen


def _angles(sheet: Sheet) -> None:
    (axes,) = sheet.over_time("angle (degrees)", dead=True)
    for i in sheet.links:
        sheet.line(axes, *broken(sheet.motion.t, np.degrees(sheet.motion.theta[:, i])), i)
    if np.abs(sheet.motion.theta[:, sheet.links]).max() > np.pi / 2:
        axes.set_ylim(-190, 190)
        axes.set_yticks(range(-180, 181, 90))
    sheet.name_links(r"$\theta_{{{i}}}$")


def _phase(sheet: Sheet) -> None:
    """Draw rates over angles; by default of the last link, since those of many links cover one another."""
    (axes,), t = sheet.column(1), sheet.motion.t
    sheet.links = sheet.links if sheet.chosen else sheet.links[-1:]
    for i in sheet.links:
        when, angle = broken(t, np.degrees(sheet.motion.theta[:, i]))
        sheet.line(axes, angle, np.asarray(np.interp(abs(when - t[0]), abs(t - t[0]), sheet.motion.omega[:, i])), i)
        axes.plot(angle[:1], sheet.motion.omega[:1, i], "o", color=sheet.colours[i], markersize=5 * sheet.thin, zorder=4)
    if np.abs(sheet.motion.theta[:, sheet.links]).max() > np.pi / 2:
        axes.set_xlim(-190, 190)
        axes.set_xticks(range(-180, 181, 90))
    which = f" of link {sheet.links[0] + 1}" if len(sheet.links) == 1 < sheet.run.chain.n else ""
    axes.set_xlabel(f"angle{which} (degrees), dot: start", fontsize=sheet.fontsize)
    axes.set_ylabel("angular velocity (rad/s)", fontsize=sheet.fontsize)
    sheet.name_links("link {i}")


def _unwrapped(sheet: Sheet) -> None:
    (axes,) = sheet.over_time("angle (turns)", dead=True)
    sheet.lines(axes, sheet.motion.t, sheet.motion.theta / (2 * np.pi))
    sheet.name_links(r"$\theta_{{{i}}}$")


def _rates(sheet: Sheet) -> None:
    (axes,) = sheet.over_time("angular velocity (rad/s)", dead=True)
    sheet.lines(axes, sheet.motion.t, sheet.motion.omega)
    sheet.name_links(r"$\omega_{{{i}}}$")


def _positions(sheet: Sheet) -> None:
    _ends_over_time(sheet, kinematics.hinges(sheet.run.chain, sheet.motion.theta), "x (m)", "y (m)")


def _velocities(sheet: Sheet) -> None:
    velocities = kinematics.hinge_velocities(sheet.run.chain, sheet.motion.theta, sheet.motion.omega)
    _ends_over_time(sheet, velocities, r"$v_x$ (m/s)", r"$v_y$ (m/s)")


def _ends_over_time(sheet: Sheet, hinges: np.ndarray, *labels: str) -> None:
    for k, axes in enumerate(sheet.over_time(*labels)):
        sheet.lines(axes, sheet.motion.t, hinges[:, 1:, k])
    _name_ends(sheet)


def _paths(sheet: Sheet) -> None:
    hinges = kinematics.hinges(sheet.run.chain, sheet.motion.theta)
    sheet.lines(sheet.plane(), hinges[:, 1:, 0], hinges[:, 1:, 1])
    _name_ends(sheet)


def _name_ends(sheet: Sheet) -> None:
    sheet.name_links("end {i}", last=", at pin" if sheet.run.chain.pin else "")


def _tip(sheet: Sheet) -> None:
    t, tip = sheet.motion.t, kinematics.hinges(sheet.run.chain, sheet.motion.theta)[:, -1]
    axes = sheet.plane(pivot=bool(np.ptp(tip, axis=0).max() > SMALL * sheet.run.chain.length.sum()))
    colours = cm.ScalarMappable(colors.Normalize(t.min(), t.max()), palette().viridis)
    pieces = collections.LineCollection(
        list(np.stack([tip[:-1], tip[1:]], 1)), linewidths=1.3 * sheet.thin, capstyle="round", colors=colours.to_rgba(t[:-1])
    )
    axes.add_collection(pieces, autolim=True)
    ends = [np.flatnonzero(t == sheet.run.t[k])[0] for k in (0, -1)]
    axes.scatter(*tip[ends].T, s=30, c=colours.to_rgba(t[ends]), zorder=4)
    axes.autoscale_view()
    bar = sheet.colour_bar(colours, sheet.time_label())
    if sheet.trusted is not None:
        bar.ax.axhline(sheet.trusted, color=palette().ink, linewidth=1.0, linestyle=(0, (3, 2)))


def _energy(sheet: Sheet) -> None:
    t, energy = sheet.run.t, sheet.run.energy()
    upper, lower = sheet.over_time("change of energy (J)", "residual (J)", heights=(3, 1))
    rows = {"total": energy.kinetic + energy.potential, "kinetic": energy.kinetic, "potential": energy.potential}
    rows |= {f"work of\n{name.replace('_', ' ')}": work for name, work in energy.work.items()}
    marker, looks = "." if len(t) <= FEW else "", itertools.cycle(zip(CURVES, DASHES, strict=True))
    for (name, values), (colour, dashes) in zip(rows.items(), looks, strict=False):
        style = {
            "color": getattr(palette(), colour),
            "linestyle": dashes,
            "linewidth": sheet.thin * (1.5 if name == "total" else 1.3),
        }
        upper.plot(t, values - values[0], label=name, marker=marker, **style)
    lower.plot(t, energy.residual, color=palette().ink, linewidth=1.0 * sheet.thin, marker=marker)
    lower.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
    sheet.legend(*upper.get_legend_handles_labels())


def broken(t: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an unwrapped angle brought to +-180 degrees, with a gap (NaN) wherever it passes from one edge to the other."""
    turn = np.ceil((degrees - 180.0) / 360.0)
    at = np.flatnonzero(np.diff(turn))
    edge = 180.0 * np.sign(np.diff(turn)[at])
    share = (360.0 * turn[at] + edge - degrees[at]) / (degrees[at + 1] - degrees[at])
    when = t[at] + share * (t[at + 1] - t[at])
    places = np.repeat(at + 1, 3)
    values = np.stack([edge, np.full_like(edge, np.nan), -edge], 1).ravel()
    return np.insert(t, places, np.repeat(when, 3)), np.insert(degrees - 360.0 * turn, places, values)


def turned_over(run: Run) -> bool:
    """Whether some link passed straight up, so that its angle in turns says more than the wrapped one."""
    turn = np.ceil((run.theta - np.pi) / (2 * np.pi))
    return bool(np.any(turn != turn[:1]))


@dataclass(frozen=True)
class PlotKind:
    """One plot: what it shows, how it is drawn, which runs it suits, and what it needs if others have no such plot at all."""

    meaning: str
    draw: Callable[[Sheet], None]
    suits: Callable[[Run], bool] = lambda run: True
    needs: str = ""


PLOTS: dict[str, PlotKind] = {
    "angles": PlotKind("Angles", _angles),
    "unwrapped": PlotKind("Angles in turns", _unwrapped, turned_over),
    "rates": PlotKind("Angular velocities", _rates),
    "phase": PlotKind("Phase portrait", _phase),
    "positions": PlotKind("Positions of the link ends", _positions),
    "velocities": PlotKind("Velocities of the link ends", _velocities),
    "paths": PlotKind("Paths of the link ends", _paths),
    "tip": PlotKind(
        "Path of the last end", _tip, lambda run: not run.chain.pin, "an open chain: here the last end stays at the pin"
    ),
    "coupler": PlotKind("Coupler curves", coupler.draw, coupler.suits, coupler.NEEDS),
    "energy": PlotKind("Energy", _energy),
    "reactions": PlotKind("Forces at the hinges", forces.draw),
}
"""The plots by name."""
