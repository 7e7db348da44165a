"""Pictures of chaos: exponents settling over time, sections of motions coloured by their start, bifurcation diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nlink._support.checks import ModelError
from nlink.analysis.poincare import Points, Section, Strobe
from nlink.mechanics.chain import wrapped
from nlink.view.sheet import AnyAxes, notes_above, panels, subtitle, whole_figure
from nlink.view.style import Size, inches, letter, link_colours, minus, palette, picture, stroke

if TYPE_CHECKING:
    from nlink.analysis.bifurcation import Bifurcation
    from nlink.analysis.lyapunov import Lyapunov

NAMED = 12
"""Most exponents that are written beside their lines."""
APART = 1.7
"""Least distance of two texts beside the lines, in the height of their letters."""
TALL, LOW = (3.4, 3.6), (3.4, 3.0)
"""Inches in the column of a journal: of two panels, and of one that is nearly square."""
DOTS = 30_000
"""Points from which on dots become smaller."""


@picture
def convergence_figure(
    found: Lyapunov,
    *,
    title: str = "",
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the exponents up to each time, on a logarithmic axis of time, and bands of two standard errors about the last."""
    if not len(found.times):
        raise ModelError("there is nothing to draw: no exponent was found; follow the motion for longer")
    figure, (axes,) = panels(inches(size, (9.0, 5.5)), 1, title or "Lyapunov exponents", ax)
    colours = link_colours(max(2, len(found.exponents)))
    for k, colour in enumerate(colours[: len(found.exponents)]):
        value, error = found.exponents[k], np.nan_to_num(found.errors[k])
        axes.axhspan(value - 2 * error, value + 2 * error, color=colour, alpha=0.13, linewidth=0)
        axes.plot(found.times, found.history[:, k], color=colour, linewidth=stroke(1.3))
    axes.axhline(0.0, color=palette().ink, linewidth=stroke(0.8))
    axes.set(xscale="log", xlabel="time (s)", ylabel="Lyapunov exponents (1/s)", xlim=(found.times[0], found.times[-1]))
    axes.set_ylim(*_window(found))
    _log_ticks(axes, found.times[-1] / found.times[0])
    _name(axes, found, colours)
    facts = f"The first {len(found.exponents)} of {found.freedom}"
    if len(found.exponents) == found.freedom:
        facts = minus(f"Sum {found.sum:.3g}, mean divergence {found.divergence:.3g} 1/s")
    subtitle(axes, facts)
    return figure


def _log_ticks(axes: Axes, span: float) -> None:
    """Number the powers of ten, and within two decades 2 and 5 too."""
    if span < 100:
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _window(found: Lyapunov) -> tuple[float, float]:
    """Return limits that show the later nine tenths of the history in logarithmic time; the wild beginning may leave them."""
    late = found.history[found.times >= found.times[0] ** 0.7 * found.times[-1] ** 0.3]
    low, high = min(0.0, float(late.min())), max(0.0, float(late.max()))
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def _name(axes: Axes, found: Lyapunov, colours: list[tuple[float, float, float]]) -> None:
    """Write the values beside their lines, pushed apart where they would cover one another."""
    if len(found.exponents) > NAMED:
        return
    low, high = axes.get_ylim()
    places = (found.exponents - low) / (high - low)
    apart = APART * letter(0.9) / (72 * axes.get_position().height * whole_figure(axes).get_figheight())
    for _ in range(200):
        for k in range(len(places) - 1):
            lack = apart - (places[k] - places[k + 1])
            if lack > 0:
                places[k], places[k + 1] = places[k] + lack / 2, places[k + 1] - lack / 2
    for k, (value, error) in enumerate(zip(found.exponents, found.errors, strict=True)):
        text = minus(f"{value:.4f}" + (f" \N{PLUS-MINUS SIGN} {error:.4f}" if np.isfinite(error) else ""))
        axes.text(1.012, places[k], text, color=colours[k], transform=axes.transAxes, va="center", fontsize=letter(0.9))


@picture
def poincare_figure(
    points: Points,
    link: int | None = None,
    *,
    title: str = "",
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the points in the plane of angle and momentum of one link (from 0; another than that of the section if not given), or
    angle and rate for a strobe, coloured by start, from those that fill little of the plane to those that fill much.
    """
    if not len(points):
        raise ModelError("there is nothing to draw: no motion passed the section; choose another, or follow for longer")
    link = shown_link(points) if link is None else link
    figure, (axes,) = panels(inches(size, (8.0, 6.5), LOW), 1, title or "Poincar\u00e9 section", ax)
    strobe = isinstance(points.section, Strobe)
    x, y = np.degrees(wrapped(points.theta[:, link])), (points.omega if strobe else points.momentum)[:, link]
    starts = np.unique(points.start)
    filled = [float(np.std(x[points.start == k]) * np.std(y[points.start == k])) for k in starts]
    order = starts[np.argsort(filled)]
    area = stroke(1.0) ** 2 * (7.0 if len(points) < 3000 else 2.5 if len(points) < DOTS else 0.8)
    for place, k in reversed(list(enumerate(order.tolist()))):
        mine = points.start == k
        colour = palette().viridis(place / (len(order) - 1)) if len(order) > 1 else palette().ink
        axes.scatter(x[mine], y[mine], s=area, color=[colour], linewidths=0, rasterized=len(points) > DOTS)
    if np.ptp(x) > 250:  # the angles go round most of a turn: show all of it
        axes.set(xlim=(-180, 180), xticks=range(-180, 181, 60))
    name, unit = (r"\omega", "rad/s") if strobe else ("p", "kg m\u00b2/s")
    axes.set(ylabel=rf"${name}_{{{link + 1}}}$ ({unit})", xlabel=rf"$\theta_{{{link + 1}}}$ (degrees)")
    count = f", {len(order)} starts" if len(order) > 1 else ""
    subtitle(axes, f"{section_text(points.section)}: {len(points):,} points{count}")
    return figure


def shown_link(points: Points) -> int:
    """Return the link whose plane shows most: the last, or the first if the section is of the last."""
    n, section = points.theta.shape[1], points.section
    return n - 2 if isinstance(section, Section) and section.link == n - 1 and n > 1 else n - 1


def section_text(section: Section | Strobe) -> str:
    """Return a section in words; links count from 1."""
    if isinstance(section, Strobe):
        return f"Every {section.period:.6g} s"
    way = {1: " upwards", -1: " downwards", 0: ""}[section.direction]
    return f"Link {section.link + 1} passes {np.degrees(section.angle):.6g}\N{DEGREE SIGN}{way}"


@picture
def bifurcation_figure(
    found: Bifurcation,
    label: str = "parameter",
    link: int | None = None,
    *,
    title: str = "",
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return rate and angle of one link (from 0; the last if not given) at the section points over the parameter; lines where the
    period changes.
    """
    if not any(len(points) for points in found.points):
        raise ModelError("there is nothing to draw: no motion passed the section; choose another, or follow for longer")
    figure, (upper, lower) = panels(inches(size, (10.0, 6.5), TALL), 2, title or "Bifurcation diagram", ax)
    first = next(points for points in found.points if len(points))
    link = shown_link(first) if link is None else link
    value = np.concatenate([np.full(len(points), v) for v, points in zip(found.values, found.points, strict=True)])
    theta = np.degrees(wrapped(np.concatenate([points.theta[:, link] for points in found.points])))
    omega = np.concatenate([points.omega[:, link] for points in found.points])
    area = stroke(1.0) ** 2 * (4.0 if len(value) < 5000 else 1.2 if len(value) < DOTS else 0.5)
    settles = np.repeat(found.settling > 0, [len(points) for points in found.points])
    for axes, height in ((upper, theta), (lower, omega)):
        for rows, colour, scale in ((~settles, palette().ink, 1.0), (settles, palette().accent, 1.5)):
            style = {"s": scale * area, "color": [colour], "linewidths": 0, "alpha": 0.75, "rasterized": len(value) > DOTS}
            axes.scatter(value[rows], height[rows], **style)
    upper.set_ylabel(rf"$\theta_{{{link + 1}}}$ (degrees)")
    lower.set(ylabel=rf"$\omega_{{{link + 1}}}$ (rad/s)", xlabel=label)
    pad = 0.01 * float(np.ptp(found.values)) or 0.5
    lower.set_xlim(found.values.min() - pad, found.values.max() + pad)
    _mark_periods(upper, lower, found)
    more = ", red: still settling" if settles.any() else ""
    subtitle(upper, f"{section_text(first.section)}: {len(value):,} points at {len(found.values)} values{more}")
    return figure


def _mark_periods(upper: Axes, lower: Axes, found: Bifurcation) -> None:
    """Mark where one period gives way to its double for good: values at which it stays for a while."""
    periods = found.periods
    steady = [k for k in range(len(periods) - 2) if periods[k] and (periods[k : k + 3] == periods[k]).all()]
    before, notes = 0, []
    for k in steady:
        if periods[k] == 2 * before or before == 0:
            before = int(periods[k])
            if k:
                for axes in (upper, lower):
                    axes.axvline(found.values[k], color=palette().accent, linewidth=stroke(0.8), linestyle=(0, (4, 3)), zorder=1)
            notes.append((float(found.values[k]), f"period {before}"))
    if notes:
        notes_above(upper, notes, palette().accent)
