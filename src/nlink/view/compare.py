"""Pictures of a comparison: the differences of its variants over time, and the motion of several runs overlaid.

Formulations differ by colour, integrators and tolerances by the dashes of the line. The reference is black.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nlink._support.checks import ModelError, choice, number, shown
from nlink._support.endings import FORMATS
from nlink.mechanics import kinematics
from nlink.view.plot import broken
from nlink.view.sheet import MOST_DPI, MOST_FONT, TITLE, AnyAxes, LineStyle, Sheet, axes_of, smooth
from nlink.view.style import DASHES, Colour, Dashes, Size, inches, letter, link_colours, palette, picture, save_figures, stroke

if TYPE_CHECKING:
    from nlink.analysis.compare import Comparison, Row
    from nlink.run.run import Run

SIZE: Size = (8.0, 5.0)
COORDINATES = ("angles", "positions")
FLOOR = 1e-16
"""The least difference shown: a logarithm has no zero."""
COLOURS: tuple[Colour, ...] = (
    (0.00, 0.45, 0.70),
    (0.90, 0.62, 0.00),
    (0.00, 0.62, 0.45),
    (0.80, 0.40, 0.65),
    (0.34, 0.71, 0.91),
    (0.84, 0.37, 0.00),
    (0.45, 0.33, 0.28),
)
"""Hues of Okabe and Ito, told apart by colour-blind readers too, and brown; more formulations than these take shades."""


def comparison_figure(
    comparison: Comparison,
    coordinates: str | None = None,
    link: int = -1,
    *,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the differences from the reference over time, or the angles or positions of a link in every variant."""
    if coordinates is None:
        return compare_figure(comparison, ax=ax, size=size, theme=theme)
    return overlay_figure(comparison, coordinates, link, ax=ax, size=size, theme=theme)


@picture
def compare_figure(
    comparison: Comparison,
    *,
    fontsize: float | None = None,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the largest angle differences from the reference over time on a log axis, one line a variant.

    The angle at which variants part is a dotted line, the trusted time a dashed one. `fontsize` in points.
    """
    sheet = _sheet(comparison, inches(size, SIZE), fontsize, ax)
    (axes,) = sheet.over_time("largest angle difference (rad)")
    axes.set_yscale("log")
    axes.axhline(comparison.angle, color=palette().muted, linewidth=stroke(1.0), linestyle=(0, (1.5, 2)), zorder=1)
    for row, look in _looks(comparison):
        axes.plot(comparison.t, np.maximum(row.difference, FLOOR), **look)
    axes.set_ylim(bottom=_bottom(comparison))
    edge = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    axes.annotate(
        f"{comparison.angle:g} rad", (1.0, comparison.angle), (3, 0), color=palette().ink, fontsize=0.9 * sheet.fontsize, **edge
    )
    _name(sheet, comparison)
    sheet.finish(_title(comparison))
    return sheet.figure


@picture
def overlay_figure(
    comparison: Comparison,
    coordinates: str = "angles",
    link: int = -1,
    *,
    fontsize: float | None = None,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the angle of one link, or the position of its end, in every variant over time, the reference in black.

    Parameters: coordinates angles or positions; link counts from 0, or from the end if negative: -1 is the last.
    """
    choice("coordinates", coordinates, COORDINATES)
    n = comparison.scenario.chain.n
    if isinstance(link, bool) or not isinstance(link, int | np.integer) or not -n <= link < n:
        raise ModelError(f"link must be a whole number from 0 to {n - 1}, or from -{n} to -1, got {shown(link)}")
    at, sheet = int(link) % n, _sheet(comparison, inches(size, SIZE), fontsize, ax)
    slides = bool(comparison.scenario.chain.slides[at])
    symbol = f"$s_{{{at + 1}}}$ (m)" if slides else rf"$\theta_{{{at + 1}}}$ (degrees)"
    labels = (symbol,) if coordinates == "angles" else ("x (m)", "y (m)")
    column = sheet.over_time(*labels)
    drawn: list[tuple[Run, LineStyle]] = [(comparison.reference, {"color": palette().ink, "linewidth": stroke(3.0)})]
    drawn += [(row.run, look) for row, look in _looks(comparison) if row.run is not None and len(row.run.t)]
    for run, look in drawn:
        for axes, values in zip(column, _curves(run, coordinates, at), strict=True):
            axes.plot(*values, **look)
    if coordinates == "angles" and not slides and any(np.abs(run.theta[:, at]).max() > np.pi / 2 for run, _ in drawn):
        column[0].set_ylim(-190, 190)
        column[0].set_yticks(range(-180, 181, 90))
    _name(sheet, comparison, reference=True)
    name = f"Displacement of slider {at + 1}" if slides else f"Angle of link {at + 1}"
    sheet.finish(name if coordinates == "angles" else f"Position of end {at + 1}")
    return sheet.figure


def save_comparison(
    comparison: Comparison,
    folder: str | os.PathLike[str],
    *,
    format: str = "png",
    overlay: str | None = None,
    link: int = -1,
    size: Size | str | None = None,
    theme: str | None = None,
    dpi: float = 150,
) -> list[Path]:
    """Write `folder/differences.format` and, if asked for, the overlaid coordinates; return the paths."""
    dpi = number("dpi", dpi, above=0, most=MOST_DPI)
    figures = {"differences": compare_figure(comparison, size=size, theme=theme)}
    if overlay is not None:
        figures[f"overlay-{overlay}"] = overlay_figure(comparison, overlay, link, size=size, theme=theme)
    return save_figures(figures, folder, choice("format", format, FORMATS), dpi)


def _sheet(comparison: Comparison, size: Size, fontsize: float | None, ax: AnyAxes) -> Sheet:
    """Return a sheet that marks the trusted time of the comparison."""
    run = replace(comparison.reference, trusted_until=comparison.trusted_until)
    letters = letter(TITLE) if fontsize is None else number("fontsize", fontsize, above=0, most=MOST_FONT)
    return Sheet(run, size, letters, given=axes_of(ax))


def _styles(comparison: Comparison) -> tuple[dict[str, Colour], dict[str, Dashes]]:
    """Return the colour of each formulation and the dashes of each integrator."""
    names = list(dict.fromkeys(row.formulation for row in comparison.rows))
    methods = list(dict.fromkeys(row.integrator for row in comparison.rows))
    colours = COLOURS if len(names) <= len(COLOURS) else link_colours(len(names))
    return dict(zip(names, colours, strict=False)), {method: DASHES[k % len(DASHES)] for k, method in enumerate(methods)}


def _looks(comparison: Comparison) -> list[tuple[Row, LineStyle]]:
    """Return the rows that have a run, with their lines: ever thinner, so that of equal ones all are seen."""
    colours, dashes = _styles(comparison)
    rows = [row for row in comparison.rows if row.run is not None]
    widths = np.linspace(stroke(2.0), stroke(0.9), len(rows))
    return [
        (row, {"color": colours[row.formulation], "linestyle": dashes[row.integrator], "linewidth": width})
        for row, width in zip(rows, widths, strict=True)
    ]


def _bottom(comparison: Comparison) -> float:
    """Return the lower end of the axis: the power of ten below all but the smallest differences."""
    apart = [row.difference[row.difference > FLOOR] for row in comparison.rows if row.run is not None]
    least = min((np.percentile(values, 2) for values in apart if len(values)), default=FLOOR)
    return 10.0 ** np.floor(np.log10(min(least, comparison.angle / 1000)))


def _title(comparison: Comparison) -> str:
    first, *more = dict.fromkeys(row.integrator for row in comparison.rows)
    meta = comparison.reference.meta
    reference = f"from {meta['formulation']}, {meta['integrator']}"
    return f"Differences {reference}" if more else f"Differences of {first}\n{reference}"


def _name(sheet: Sheet, comparison: Comparison, reference: bool = False) -> None:
    """Say which colour is which formulation, and which dashes are which integrator."""
    colours, dashes = _styles(comparison)
    shown = {row.formulation for row in comparison.rows if row.run is not None}
    lines = {_short(name): Line2D([], [], color=colour, linewidth=stroke(2.0)) for name, colour in colours.items() if name in shown}
    lines |= {"reference": Line2D([], [], color=palette().ink, linewidth=stroke(3.0))} if reference else {}
    if len(dashes) > 1:
        lines |= {_short(name): Line2D([], [], color=palette().ink, linestyle=dash) for name, dash in dashes.items()}
    sheet.legend(list(lines.values()), list(lines))


def _short(name: str) -> str:
    """Return a record's text broken after its name and its commas, so that a legend stays narrow."""
    return name.replace("(", "\n(", 1).replace(", ", ",\n ")


def _curves(run: Run, coordinates: str, link: int) -> list[tuple[np.ndarray, np.ndarray]]:
    motion = smooth(run)
    if coordinates == "angles" and run.chain.slides[link]:
        return [(motion.t, motion.theta[:, link])]
    if coordinates == "angles":
        return [broken(motion.t, np.degrees(motion.theta[:, link]))]
    ends = kinematics.hinges(run.chain, motion.theta)[:, link + 1]
    return [(motion.t, ends[:, 0]), (motion.t, ends[:, 1])]
