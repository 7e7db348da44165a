"""Pictures of stability: eigenvalues along a load, the map of two parameters, amplitudes of limit cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import collections, colors, patches
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nlink.view.sheet import dressed, head, notes_above, panels
from nlink.view.style import blank, theme

if TYPE_CHECKING:
    from nlink.analysis.cycle import LimitCycle
    from nlink.analysis.stability import Critical
    from nlink.analysis.stability_map import Locus, StabilityMap

REGIONS = {"stable": (0.87, 0.93, 0.90), "flutter": (0.93, 0.72, 0.42), "divergence": (0.72, 0.33, 0.33)}


def locus_figure(locus: Locus, criticals: list[Critical], label: str, title: str = "") -> Figure:
    """Return the eigenvalues in their plane, coloured by the load, and growth and frequency over the load, criticals marked."""
    figure = blank(11, 5)
    head(figure, title or "Eigenvalues")
    panels = figure.subplot_mosaic([["plane", "growth"], ["plane", "frequency"]])
    plane, growth, frequency = (dressed(panels[name]) for name in ("plane", "growth", "frequency"))
    values, loads = locus.eigenvalues, locus.loads
    points = np.stack([values.real, values.imag], -1)
    parts = np.stack([points[:-1], points[1:]], 2).swapaxes(0, 1).reshape(-1, 2, 2)
    line = collections.LineCollection(list(parts), array=np.tile(loads[:-1], values.shape[1]), cmap=theme().viridis, linewidth=1.6)
    plane.add_collection(line)
    bar = figure.colorbar(line, ax=plane, location="top", aspect=40, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
    dressed(bar.ax)
    _frame(plane, points)
    growth.plot(loads, values.real, color=theme().second, linewidth=1.0)
    growth.axhline(0.0, color=theme().ink, linewidth=0.8)
    upper = np.where(values.imag >= 0, values.imag, np.nan)
    frequency.plot(loads, upper, color=theme().second, linewidth=1.0)
    _mark(plane, growth, frequency, criticals)
    growth.set(ylabel="growth (1/s)", ylim=_limits(values.real))
    frequency.set(ylabel="frequency (rad/s)", xlabel=label)
    growth.sharex(frequency)
    return figure


def _mark(plane: Axes, growth: Axes, frequency: Axes, criticals: list[Critical]) -> None:
    for critical in criticals:
        for sign in (1, -1):
            plane.plot(0.0, sign * critical.frequency, "o", color=theme().accent, markersize=6, markerfacecolor="none")
        for axes in (growth, frequency):
            axes.axvline(critical.load, color=theme().accent, linewidth=1.0, linestyle=(0, (4, 2)))
    notes = [(each.load, f"{each.kind}{'' if each.lost else ' ends'} at\n{each.load:.6g}") for each in criticals]
    if notes:
        notes_above(growth, notes, theme().accent)


def _frame(plane: Axes, points: np.ndarray) -> None:
    """Show what is near the imaginary axis: strongly damped modes far to the left are cut off."""
    reach = max(float(np.abs(points[..., 1]).max()), 1e-9)
    right = max(float(points[..., 0].max()), 0.02 * reach)
    left = max(float(points[..., 0].min()), -1.2 * reach)
    pad = 0.05 * (right - left)
    plane.set(xlim=(left - pad, right + pad), ylim=(-1.08 * reach, 1.08 * reach), xlabel="growth (1/s)", ylabel="frequency (rad/s)")
    plane.axvspan(left - pad, 0.0, color=theme().fourth, alpha=0.12, linewidth=0, zorder=0)
    plane.axvline(0.0, color=theme().ink, linewidth=0.8)


def _limits(growth: np.ndarray) -> tuple[float, float]:
    """Return limits that show where growth changes sign, not the strongly damped modes far below."""
    low, high = float(growth.min()), float(growth.max())
    return (max(low, -6 * high), 1.2 * high) if high > 1e-9 else (1.05 * low, max(-0.05 * low, 1e-9))


def map_figure(found: StabilityMap, xlabel: str, ylabel: str, title: str = "") -> Figure:
    """Return the regions of stability, flutter and divergence in the plane of two parameters."""
    figure, (axes,) = panels((8, 5.5), 1, title or "Stability")
    colours = colors.ListedColormap(list(REGIONS.values()))
    axes.pcolormesh(found.x, found.y, found.kind, cmap=colours, vmin=-0.5, vmax=2.5, shading="nearest", rasterized=True)
    axes.contour(found.x, found.y, (found.kind > 0).astype(float), levels=[0.5], colors=[theme().ink], linewidths=1.0)
    present = [name for k, name in enumerate(REGIONS) if (found.kind == k).any()]
    handles = [patches.Patch(facecolor=REGIONS[name], edgecolor=theme().muted, label=name) for name in present]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return figure


def amplitude_figure(loads: np.ndarray, cycles: list[LimitCycle | None], label: str, title: str = "") -> Figure:
    """Return the amplitude of the last link and the period of the limit cycles over the load: the bifurcation diagram."""
    figure, (size, period) = panels((8, 5.5), 2, title or "Limit cycles")
    swing = [np.degrees(cycle.amplitude[-1]) if cycle else 0.0 for cycle in cycles]
    size.plot(loads, swing, ".-", color=theme().second)
    period.plot(loads, [cycle.period if cycle else np.nan for cycle in cycles], ".-", color=theme().second)
    size.set(ylabel="amplitude of the last link (degrees)")
    period.set(ylabel="period (s)", xlabel=label)
    return figure
