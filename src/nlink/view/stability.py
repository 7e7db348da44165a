"""Pictures of stability: eigenvalues along a load, the map of two parameters, amplitudes of limit cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import collections, colors, patches
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError
from nlink.analysis.stability_map import locus
from nlink.view.sheet import AnyAxes, axes_of, counted, dressed, head, notes_above, panels, whole_figure
from nlink.view.style import LIGHT, WIDE, Size, blank, inches, letter, palette, picture, stroke

if TYPE_CHECKING:
    from nlink.analysis.cycle import LimitCycle
    from nlink.analysis.stability import Critical
    from nlink.analysis.stability_map import Locus, StabilityMap

SIZE: Size = (8.0, 5.5)
ALONG = 201
"""Loads along which the eigenvalues of a critical load are drawn."""
REGIONS = {"stable": (0.87, 0.93, 0.90), "flutter": (0.93, 0.72, 0.42), "divergence": (0.72, 0.33, 0.33)}


def critical_figure(
    critical: Critical,
    label: str = "load",
    loads: ArrayLike | None = None,
    *,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return how the eigenvalues move along the loads, from half of the critical one to half as much again if not given."""
    if critical.chain_of is None:
        raise ModelError("a Critical that critical_load did not return has no chains to plot")
    values = np.linspace(0.5 * critical.load, 1.5 * critical.load, ALONG) if loads is None else loads
    return locus_figure(locus(critical.chain_of, values), [critical], label, ax=ax, size=size, theme=theme)


@picture
def locus_figure(
    found: Locus,
    criticals: list[Critical],
    label: str,
    *,
    title: str = "",
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the eigenvalues in their plane, coloured by the load, and growth and frequency over the load, criticals marked."""
    figure, (plane, growth, frequency) = _three(ax, inches(size, (11.0, 5.0), (3.4, 5.6)), title or "Eigenvalues")
    values, loads = found.eigenvalues, found.loads
    points = np.stack([values.real, values.imag], -1)
    parts = np.stack([points[:-1], points[1:]], 2).swapaxes(0, 1).reshape(-1, 2, 2)
    line = collections.LineCollection(list(parts), array=np.tile(loads[:-1], values.shape[1]), cmap=palette().viridis)
    line.set_linewidth(stroke(1.6))
    plane.add_collection(line)
    bar = figure.colorbar(line, ax=plane, location="top", aspect=40, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
    dressed(bar.ax)
    _frame(plane, points)
    growth.plot(loads, values.real, color=palette().second, linewidth=stroke(1.0))
    growth.axhline(0.0, color=palette().ink, linewidth=stroke(0.8))
    upper = np.where(values.imag >= 0, values.imag, np.nan)
    frequency.plot(loads, upper, color=palette().second, linewidth=stroke(1.0))
    _mark(plane, growth, frequency, criticals)
    growth.set(ylabel="growth (1/s)", ylim=_limits(values.real))
    frequency.set(ylabel="frequency (rad/s)", xlabel=label)
    if ax is None:
        growth.sharex(frequency)
    return figure


def _three(ax: AnyAxes, size: Size, title: str) -> tuple[Figure, list[Axes]]:
    """Return the axes of the plane of eigenvalues, of their growth and of their frequency: one below another in a small figure."""
    if ax is not None:
        given = counted(axes_of(ax), 3)
        return whole_figure(given[0]), [dressed(axes) for axes in given]
    figure, names = blank(*size), ("plane", "growth", "frequency")
    head(figure, title)
    if size[0] < WIDE:
        drawn = figure.subplot_mosaic([[name] for name in names], height_ratios=(3, 2, 2))
    else:
        drawn = figure.subplot_mosaic([["plane", "growth"], ["plane", "frequency"]])
    return figure, [dressed(drawn[name]) for name in names]


def _mark(plane: Axes, growth: Axes, frequency: Axes, criticals: list[Critical]) -> None:
    for critical in criticals:
        for sign in (1, -1):
            plane.plot(0.0, sign * critical.frequency, "o", color=palette().accent, markersize=letter(0.6), markerfacecolor="none")
        for axes in (growth, frequency):
            axes.axvline(critical.load, color=palette().accent, linewidth=stroke(1.0), linestyle=(0, (4, 2)))
    notes = [(each.load, f"{each.kind}{'' if each.lost else ' ends'} at\n{each.load:.6g}") for each in criticals]
    if notes:
        notes_above(growth, notes, palette().accent)


def _frame(plane: Axes, points: np.ndarray) -> None:
    """Show what is near the imaginary axis: strongly damped modes far to the left are cut off."""
    reach = max(float(np.abs(points[..., 1]).max()), 1e-9)
    right = max(float(points[..., 0].max()), 0.02 * reach)
    left = max(float(points[..., 0].min()), -1.2 * reach)
    pad = 0.05 * (right - left)
    plane.set(xlim=(left - pad, right + pad), ylim=(-1.08 * reach, 1.08 * reach), xlabel="growth (1/s)", ylabel="frequency (rad/s)")
    plane.axvspan(left - pad, 0.0, color=palette().fourth, alpha=0.12, linewidth=0, zorder=0)
    plane.axvline(0.0, color=palette().ink, linewidth=stroke(0.8))


def _limits(growth: np.ndarray) -> tuple[float, float]:
    """Return limits that show where growth changes sign, not the strongly damped modes far below."""
    low, high = float(growth.min()), float(growth.max())
    return (max(low, -6 * high), 1.2 * high) if high > 1e-9 else (1.05 * low, max(-0.05 * low, 1e-9))


@picture
def map_figure(
    found: StabilityMap,
    xlabel: str,
    ylabel: str,
    *,
    title: str = "",
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the regions of stability, flutter and divergence in the plane of two parameters."""
    figure, (axes,) = panels(inches(size, SIZE), 1, title or "Stability")
    colours = colors.ListedColormap(list(REGIONS.values()))
    axes.pcolormesh(found.x, found.y, found.kind, cmap=colours, vmin=-0.5, vmax=2.5, shading="nearest", rasterized=True)
    axes.contour(found.x, found.y, (found.kind > 0).astype(float), levels=[0.5], colors=[LIGHT.ink], linewidths=stroke(1.0))
    present = [name for k, name in enumerate(REGIONS) if (found.kind == k).any()]
    handles = [patches.Patch(facecolor=REGIONS[name], edgecolor=palette().muted, label=name) for name in present]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(REGIONS), frameon=False, fontsize=letter())
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return figure


@picture
def amplitude_figure(
    loads: np.ndarray,
    cycles: list[LimitCycle | None],
    label: str,
    *,
    title: str = "",
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the amplitude of the last link and the period of the limit cycles over the load: the bifurcation diagram."""
    figure, (amplitude, period) = panels(inches(size, SIZE, (3.4, 3.6)), 2, title or "Limit cycles")
    swing = [np.degrees(cycle.amplitude[-1]) if cycle else 0.0 for cycle in cycles]
    style = {"color": palette().second, "linewidth": stroke(1.5), "markersize": letter(0.6)}
    amplitude.plot(loads, swing, ".-", **style)
    period.plot(loads, [cycle.period if cycle else np.nan for cycle in cycles], ".-", **style)
    amplitude.set(ylabel="swing of the last link (degrees)")
    period.set(ylabel="period (s)", xlabel=label)
    return figure
