"""Plots of a run as Matplotlib figures, independent of pyplot and of any display.

    PLOTS["angles"].meaning             what a plot shows
    figure(run, "angles")               one Figure
    save_plots(run, "folder")           files, every plot that suits the run

Few links carry a legend, many a colour bar. Where saved points are sparse the curves go through `run.at`, so that
they bend as the motion did.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from nlink._support.checks import ModelError, choice, number, shown, whole
from nlink._support.endings import FORMATS
from nlink.mechanics import kinematics
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.points import At, Point, checked_points
from nlink.run.run import Run, Trajectory
from nlink.view import coupler, energy, forces
from nlink.view.kinds import PlotKind
from nlink.view.linkage import draw_linkage
from nlink.view.outline import floating, traced_point
from nlink.view.sampling import Span, within_times
from nlink.view.sheet import LEGEND, MOST_DPI, MOST_FONT, AnyAxes, Sheet, axes_of
from nlink.view.space.plots import SPACE_PLOTS
from nlink.view.style import Progress, Size, inches, link_colours, palette, picture, refuse_empty, save_figure
from nlink.view.words import point_text

SIZE: Size = (8.0, 5.0)
"""Inches of a plot."""
BEND, MOST_POINTS = 0.15, 40_000
"""How far in rad a link turns between two points of a phase portrait, and most points that it then has."""
STILL = 1e-9
"""Change of a coordinate in rad or m below which a body does not move."""
SMALL = 0.05
"""A path of the last end below this share of the chain's length is shown close up, without the pivot."""
RATE = "angular velocity (rad/s)"


@picture
def figure(
    run: Run,
    kind: str | None = None,
    *,
    links: Iterable[int] | None = None,
    trace: Iterable[Point] | None = None,
    t: Span | None = None,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    fontsize: float | None = None,
    theme: str | None = None,
) -> Figure:
    """Return one plot of a run.

    Parameters
    ----------
    kind : a key of PLOTS, in space of SPACE_PLOTS; angles if not given, in space inclination
    links : those that are shown, from 0; all if not given, in a phase portrait the last that moves
    trace : points that positions, velocities, paths and tip show in place of link ends: At(link, along, left), or (x, y)
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
    kind = _chosen(run, next(iter(plots_of(run))) if kind is None else kind)
    plot, (wide, high) = plots_of(run)[kind], inches(size, SIZE)
    fontsize = min(11.0, max(7.0, 11.0 * wide / 6.0)) if fontsize is None else fontsize
    letters = number("fontsize", fontsize, above=0, most=MOST_FONT)
    run = run if t is None else within_times(run, t)
    sheet = Sheet(run, (wide, high), letters, _links(run, links), axes_of(ax), _points(run, kind, trace))
    plot.draw(sheet)
    sheet.finish(_meaning(sheet, kind))
    return sheet.figure


def _meaning(sheet: Sheet, kind: str) -> str:
    """Return what a plot shows."""
    plot, last = plots_of(sheet.run)[kind], At(sheet.run.chain.n - 1)
    if sheet.run.chain.spatial:
        return plot.meaning
    points = sheet.trace or ([traced_point(sheet.run.chain)] if kind == "tip" else [])
    if points and (sheet.trace or points[0] != last):
        return TRACED[kind].format(point_text(points[0]))
    return plot.sliders if plot.sliders and sheet.kinds()[1] else plot.meaning


def save_plots(
    run: Run,
    folder: str | os.PathLike[str],
    *,
    names: Iterable[str] | None = None,
    links: Iterable[int] | None = None,
    trace: Iterable[Point] | None = None,
    t: Span | None = None,
    format: str = "png",
    size: Size | str | None = None,
    fontsize: float | None = None,
    theme: str | None = None,
    dpi: float = 150,
    progress: Progress | None = None,
) -> list[Path]:
    """Write plots of a run as `folder/name.format` and return the paths; without names, all that suit the run.

    Parameters: links, trace, t, size, fontsize, theme as for `figure`; format png, svg or pdf; dpi for png; progress is called with
    (done, total).
    """
    choice("format", format, FORMATS)
    refuse_empty(run)
    names = suiting(run) if names is None else [names] if isinstance(names, str) else names
    wanted = [_chosen(run, name) for name in names]
    dpi, largest = number("dpi", dpi, above=0, most=MOST_DPI), max(inches(size, SIZE))
    run, links = run if t is None else within_times(run, t), None if links is None else list(links)
    _links(run, links)
    trace = None if trace is None else list(trace)
    if format == "png" and largest * dpi > 2**15:
        raise ModelError(f"size times dpi must be at most {2**15} pixels, got {largest * dpi:g}; give a smaller size or dpi")
    paths = [Path(folder) / f"{name}.{format}" for name in wanted]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for done, (name, path) in enumerate(zip(wanted, paths, strict=True), start=1):
        points = trace if name in TRACED or run.chain.spatial else None
        drawn = figure(run, name, links=links, trace=points, size=size, fontsize=fontsize, theme=theme)
        save_figure(drawn, path, dpi)
        if progress:
            progress(done, len(paths))
    return paths


def suiting(run: Run) -> list[str]:
    """Return the names of the plots that make sense for this run."""
    return [name for name, kind in plots_of(run).items() if kind.suits(run)]


def plots_of(run: Run) -> dict[str, PlotKind]:
    """Return the plots of runs in the plane, or of those in space."""
    return SPACE_PLOTS if run.chain.spatial else PLOTS


def _chosen(run: Run, name: str) -> str:
    """Return the name of a plot, if there is such a plot of this run."""
    kinds = plots_of(run)
    other = PLOTS if run.chain.spatial else SPACE_PLOTS
    if name in other and name not in kinds:
        raise ModelError(
            f"the plot {shown(name)} is for runs in {'the plane' if run.chain.spatial else 'space'}; take {', '.join(kinds)}"
        )
    kind = kinds[choice("plot", name, kinds)]
    if kind.needs and not kind.suits(run):
        remedy = "; of a mechanism take paths, with trace" if isinstance(run.chain, Mechanism) else ""
        raise ModelError(f"the plot {shown(name)} needs {kind.needs}{remedy}")
    return name


def _links(run: Run, links: Iterable[int] | None) -> list[int] | None:
    """Return the numbers of links, if the chain has them."""
    chosen = None if links is None else [whole("links", link, least=0, most=run.chain.n - 1) for link in links]
    if chosen == []:
        raise ModelError("links must name at least one link, got none")
    return chosen


def _points(run: Run, kind: str, trace: Iterable[Point] | None) -> list[Point]:
    """Return the points that a plot shows, if it shows points."""
    if trace is None:
        return []
    if run.chain.spatial:
        raise ModelError("the plots of a run in space show link ends; omit trace, and choose by links")
    if kind not in TRACED:
        raise ModelError(f"the plot {shown(kind)} shows no points; omit trace, or take {', '.join(TRACED)}")
    return checked_points("trace", trace, run.chain.n)


def _angles(sheet: Sheet) -> None:
    turning, sliding = sheet.kinds()
    column = sheet.over_time(*_labels(sheet, "angle (degrees)", "displacement (m)"), dead=True)
    for i in turning:
        sheet.line(column[0], *broken(sheet.motion.t, np.degrees(sheet.motion.theta[:, i])), i)
    for i in sliding:
        sheet.line(column[-1], sheet.motion.t, sheet.motion.theta[:, i], i)
    if turning and np.abs(sheet.motion.theta[:, turning]).max() > np.pi / 2:
        column[0].set_ylim(-190, 190)
        column[0].set_yticks(range(-180, 181, 90))
    sheet.name_links(r"$\theta_{{{i}}}$", slider="$s_{{{i}}}$")


def _labels(sheet: Sheet, turning: str, sliding: str) -> list[str]:
    """Return the labels of axes for the links and for the sliders, if any are shown."""
    return [label for label, shown in zip((turning, sliding), sheet.kinds(), strict=True) if shown]


def _phase(sheet: Sheet) -> None:
    """Draw rates over angles; by default of the last body that moves, since those of many bodies cover one another."""
    (axes,) = sheet.column(1)
    sheet.links = sheet.links if sheet.chosen else [_last_moving(sheet)]
    turning, sliding = sheet.kinds()
    if turning and sliding:
        raise ModelError("a phase portrait shows links or sliders, which differ in units; give links of one kind")
    motion = _bent(sheet)
    t = motion.t
    for i in sheet.links:
        angle = motion.theta[:, i]
        when, angle = (t, angle) if sliding else broken(t, np.degrees(angle))
        sheet.line(axes, angle, np.asarray(np.interp(abs(when - t[0]), abs(t - t[0]), motion.omega[:, i])), i)
        axes.plot(angle[:1], sheet.motion.omega[:1, i], "o", color=sheet.colours[i], markersize=5 * sheet.thin, zorder=4)
    if turning and np.abs(sheet.motion.theta[:, turning]).max() > np.pi / 2:
        axes.set_xlim(-190, 190)
        axes.set_xticks(range(-180, 181, 90))
    kind, across, up = ("slider", "displacement{} (m)", "velocity (m/s)") if sliding else ("link", "angle{} (degrees)", RATE)
    which = f" of {kind} {sheet.links[0] + 1}" if len(sheet.links) == 1 < sheet.run.chain.n else ""
    axes.set_xlabel(f"{across.format(which)}, dot: start", fontsize=sheet.fontsize)
    axes.set_ylabel(up, fontsize=sheet.fontsize)
    sheet.name_links("link {i}", slider="slider {i}")


def _last_moving(sheet: Sheet) -> int:
    """Return the last body whose coordinate changes; the last one if none does."""
    moves = np.flatnonzero(np.ptp(sheet.run.theta, axis=0) > STILL)
    return int(moves[-1]) if len(moves) else sheet.links[-1]


def _bent(sheet: Sheet) -> Trajectory:
    """Return the motion with points between those of the sheet where links turn far from one to the next."""
    motion = sheet.motion
    far = float(np.abs(np.diff(motion.theta[:, sheet.links], axis=0)).max(initial=0.0))
    parts = min(math.ceil(far / BEND), MOST_POINTS // len(motion.t))
    if parts < 2:
        return motion
    places = np.arange(parts * (len(motion.t) - 1) + 1) / parts
    return sheet.run.at(np.interp(places, np.arange(len(motion.t)), motion.t))


def _unwrapped(sheet: Sheet) -> None:
    sheet.links, _ = sheet.kinds()
    if not sheet.links:
        raise ModelError("the plot 'unwrapped' shows angles of links, and only sliders are chosen; take angles")
    (axes,) = sheet.over_time("angle (turns)", dead=True)
    sheet.lines(axes, sheet.motion.t, sheet.motion.theta / (2 * np.pi))
    sheet.name_links(r"$\theta_{{{i}}}$")


def _rates(sheet: Sheet) -> None:
    turning, sliding = sheet.kinds()
    column = sheet.over_time(*_labels(sheet, RATE, "velocity (m/s)"), dead=True)
    for axes, links in zip(column, [links for links in (turning, sliding) if links], strict=True):
        for i in links:
            sheet.line(axes, sheet.motion.t, sheet.motion.omega[:, i], i)
    sheet.name_links(r"$\omega_{{{i}}}$", slider="$v_{{{i}}}$")


def _positions(sheet: Sheet) -> None:
    _ends_over_time(sheet, _shown_points(sheet), "x (m)", "y (m)")


def _velocities(sheet: Sheet) -> None:
    chain, motion = sheet.run.chain, sheet.motion
    traced = kinematics.point_velocities(chain, motion.theta, motion.omega, sheet.trace)
    velocities = traced if sheet.trace else kinematics.hinge_velocities(chain, motion.theta, motion.omega)[:, 1:]
    _ends_over_time(sheet, velocities, r"$v_x$ (m/s)", r"$v_y$ (m/s)")


def _shown_points(sheet: Sheet) -> np.ndarray:
    """Return where the traced points are, or else the ends of all links, (T, K, 2)."""
    chain, theta = sheet.run.chain, sheet.motion.theta
    return kinematics.points(chain, theta, sheet.trace) if sheet.trace else kinematics.hinges(chain, theta)[:, 1:]


def _ends_over_time(sheet: Sheet, ends: np.ndarray, *labels: str) -> None:
    _take_points(sheet)
    for k, axes in enumerate(sheet.over_time(*labels)):
        sheet.lines(axes, sheet.motion.t, ends[:, :, k])
    _name_ends(sheet)


def _take_points(sheet: Sheet) -> None:
    """Let the lines of the sheet be those of the traced points, if there are any; else not of sliders that let links float."""
    if sheet.trace:
        sheet.links, sheet.colours = list(range(len(sheet.trace))), link_colours(len(sheet.trace))
    elif not sheet.chosen:
        sheet.links = [i for i in sheet.links if i not in floating(sheet.run.chain)]


def _paths(sheet: Sheet) -> None:
    ends, axes = _shown_points(sheet), sheet.plane()
    draw_linkage(axes, sheet.run, sheet.colours)
    _take_points(sheet)
    sheet.lines(axes, ends[:, :, 0], ends[:, :, 1])
    _name_ends(sheet)


def _name_ends(sheet: Sheet) -> None:
    if sheet.trace and len(sheet.trace) <= LEGEND:
        sheet.legend(list(sheet.drawn.values()), [point_text(point) for point in sheet.trace])
        return
    last = ", at pin" if sheet.run.chain.pin and not sheet.trace else ""
    sheet.name_links("point {i}" if sheet.trace else "end {i}", last=last, slider="" if sheet.trace else "slider {i}")


def _tip(sheet: Sheet) -> None:
    chain = sheet.run.chain
    tip = kinematics.points(chain, sheet.motion.theta, sheet.trace[:1] or [traced_point(chain)])[:, 0]
    behind = isinstance(chain, Mechanism)
    axes = sheet.plane(pivot=behind or bool(np.ptp(tip, axis=0).max() > SMALL * chain.length.sum()))
    draw_linkage(axes, sheet.run, sheet.colours)
    bar = sheet.timed_path(axes, tip)
    if sheet.trusted is not None:
        bar.ax.axhline(sheet.trusted, color=palette().ink, linewidth=1.0, linestyle=(0, (3, 2)))


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
    turn = np.ceil((run.theta[:, ~run.chain.slides] - np.pi) / (2 * np.pi))
    return bool(np.any(turn != turn[:1]))


PLOTS: dict[str, PlotKind] = {
    "angles": PlotKind("Angles", _angles, sliders="Angles and displacements"),
    "unwrapped": PlotKind("Angles in turns", _unwrapped, turned_over),
    "rates": PlotKind("Angular velocities", _rates, sliders="Rates of angles and displacements"),
    "phase": PlotKind("Phase portrait", _phase),
    "positions": PlotKind("Positions of the link ends", _positions),
    "velocities": PlotKind("Velocities of the link ends", _velocities),
    "paths": PlotKind("Paths of the link ends", _paths),
    "tip": PlotKind(
        "Path of the last end", _tip, lambda run: not run.chain.pin, "an open chain: here the last end stays at the pin"
    ),
    "coupler": PlotKind("Coupler curves", coupler.draw, coupler.suits, coupler.NEEDS),
    "energy": PlotKind("Energy", energy.draw),
    "reactions": PlotKind("Forces at the hinges", forces.draw, sliders="Forces at the joints"),
}
"""The plots by name."""
TRACED = {
    "positions": "Positions of points", "velocities": "Velocities of points", "paths": "Paths of points", "tip": "Path of {}",
}  # fmt: skip
"""The plots that show chosen points, and what they show then."""
