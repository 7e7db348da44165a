"""Pictures of small motions in space: the shapes of the modes from the front, the side and above, and a chain moving in one mode.

A chain that turns steadily is shown in the frame that turns with it. Where the links go round in a mode, as they do about steady
turning, the thin curves are the paths of their ends.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nlink._support.checks import ModelError, choice
from nlink._support.endings import FORMATS
from nlink.analysis.linearize import FLAT, PICTURED, foremost
from nlink.analysis.space_modes import SteadyState, Swing
from nlink.mechanics import kinematics
from nlink.run.readout import trajectory, unit_rows
from nlink.run.run import Run, Stats, Status
from nlink.scenario import Scenario
from nlink.view.animate import animate
from nlink.view.modes import (
    FALL,
    FPS,
    PANELS,
    PERIODS,
    SECONDS,
    TURN,
    box_about,
    draw_eigenvalues,
    mode_text,
    panels,
)
from nlink.view.sheet import LEGEND, TITLE, Sheet
from nlink.view.style import Progress, Size, inches, letter, minus, palette, picture, save_figures, stroke

AWAY = 0.25
"""Room between two views, as a part of their width."""
MOMENTS = 96
"""Moments of one period."""


def moved(state: SteadyState, change: np.ndarray) -> np.ndarray:
    """Return the coordinates (..., K) of a steady state after small changes, on their spheres."""
    c = state.position + change
    for rows in unit_rows(state.system.chain):
        c[..., rows] /= np.linalg.norm(c[..., rows], axis=-1, keepdims=True)
    return c


def motion_in(state: SteadyState, swing: Swing, count: int, periods: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times (T,), and coordinates and rates (T, K) at `count` moments of a mode and its end, without growth or decay; of one
    that does not oscillate its fall to rest or its growth away from it, and of a neutral one a single moment.
    """
    mode, share = swing.mode, np.arange(count + 1) / count
    if mode.frequency:
        span = periods * 2 * math.pi / mode.frequency
        factor = np.exp(2j * math.pi * periods * share)
    elif mode.growth:
        span = FALL / abs(mode.growth)
        factor = np.exp(-FALL * (share if mode.growth < 0 else 1 - share))
    else:
        return np.zeros(1), moved(state, TURN * np.real(swing.change)[None]), np.zeros((1, len(swing.change)))
    c = moved(state, TURN * np.real(swing.change * factor[:, None]))
    if mode.frequency:
        c[-1] = c[0]
        once = c[:-1]
        near, far = (np.roll(once, -k, axis=0) - np.roll(once, k, axis=0) for k in (1, 2))
        rates = (8 * near - far) / (12 * span / count)
        return span * share, c, np.concatenate([rates, rates[:1]])
    return span * share, c, np.gradient(c, span / count, axis=0, edge_order=2)


def save_space_modes(
    scenario: Scenario,
    state: SteadyState,
    found: list[Swing],
    folder: str | os.PathLike[str],
    *,
    format: str = "png",
    count: int = PICTURED,
    size: Size | str | None = None,
    theme: str | None = None,
) -> list[Path]:
    """Write the shapes of up to `count` modes and the eigenvalues as `folder/modes.format` and `folder/eigenvalues.format`."""
    choice("format", format, FORMATS)
    shapes = space_shapes(scenario, state, found, count, size=size, theme=theme)
    eigenvalues = space_eigenvalues(scenario, state, found, size=size, theme=theme)
    return save_figures({"modes": shapes, "eigenvalues": eigenvalues}, folder, format)


@picture
def space_eigenvalues(
    scenario: Scenario, state: SteadyState, found: list[Swing], *, size: Size | str | None = None, theme: str | None = None
) -> Figure:
    """Return the eigenvalues in the complex plane, those that grow in red."""
    values = np.array([complex(swing.mode.growth, swing.mode.frequency) for swing in found])
    return draw_eigenvalues(_sheet(scenario, state, inches(size, (8.0, 5.0))), np.unique([values, values.conj()]))


@picture
def space_shapes(
    scenario: Scenario,
    state: SteadyState,
    found: list[Swing],
    count: int = PICTURED,
    *,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the chain bent to both sides in up to `count` modes, from the front, beside it from the right, and from above."""
    sheet, chain = _sheet(scenario, state, inches(size, (9.0, 6.5))), state.system.chain
    modes = [swing.mode for swing in found]
    shown = foremost(modes, min(count, PANELS))
    rest = kinematics.hinges(chain, state.position)
    ways = {k: kinematics.hinges(chain, motion_in(state, found[k], MOMENTS)[1]) for k in shown}
    views = _views(np.concatenate([rest, *(way.reshape(-1, 3) for way in ways.values())]))
    low, high = box_about(np.concatenate([views(way).reshape(-1, 2) for way in [rest, *ways.values()]]))
    grid = panels(sheet.figure, len(shown), high - low)
    for axes, k in zip(grid, shown, strict=False):
        _draw_panel(axes, views, rest, ways[k], found[k])
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    sheet.finish("")
    for axes in grid:
        axes.spines[:].set_visible(False)
    limit = FLAT * max(mode.undamped for mode in modes)
    for axes, k in zip(grid, shown, strict=False):
        text = minus(f"mode {k + 1}{', grows' * (modes[k].growth > limit)}\n{mode_text(modes[k])}")
        axes.set_title(text, fontsize=0.9 * sheet.fontsize, color=palette().ink, linespacing=1.3)
    more = f"{len(shown)} of {len(modes)} modes; " if len(shown) < len(modes) else ""
    frame = ", in the frame that turns with the chain" if state.rate else ""
    turned = f"grey: at rest; links turned by up to {math.degrees(TURN):.0f} degrees"
    note = f"{more}from the front, from the right and from above{frame}; {turned}"
    sheet.figure.supxlabel(sheet.fitted(note), fontsize=sheet.fontsize, color=palette().ink)
    return sheet.figure


def animate_space_mode(
    scenario: Scenario,
    state: SteadyState,
    found: list[Swing],
    number: int,
    folder: str | os.PathLike[str],
    *,
    theme: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the chain moving in mode `number` (from 1) as `folder/mode-number.gif`: two periods, without growth or decay."""
    swing, count = found[number - 1], round(PERIODS * SECONDS * FPS)
    t, c, v = motion_in(state, swing, count, PERIODS)
    if len(t) == 1:
        raise ModelError(f"mode {number} cannot be animated: it neither oscillates nor grows nor decays")
    speed = float(t[-1]) / (PERIODS * SECONDS)
    turning = ", in the frame that turns with the chain" if state.rate else ""
    title = f"Mode {number}: {mode_text(swing.mode)}{turning}, shown at {speed:.2g} of its speed"
    path, trail = Path(folder) / f"mode-{number}.gif", float(t[-1]) / 8 if swing.mode.frequency else 0.0
    Path(folder).mkdir(parents=True, exist_ok=True)
    run = _run(replace(scenario, title=title), state, t[:-1], c[:-1], v[:-1])
    return animate(run, path, speed=speed, fps=FPS, trail=trail, theme=theme, progress=progress)


class _Views:
    """The front (x, y), beside it the side from the right (-z, y), and below the view from above (x, -z), in one plane."""

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        size = np.maximum(high - low, 0.3 * (high - low).max())
        low, high = (low + high - size) / 2, (low + high + size) / 2
        self.aside = np.array([high[0] + AWAY * size[0] + high[2], 0.0])
        self.below = np.array([0.0, low[1] - AWAY * size[1] * 0.6 + low[2]])

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return places (3, ..., 2) of points (..., 3): one for each view."""
        x, y, z = np.moveaxis(points, -1, 0)
        return np.stack([np.stack([x, y], -1), self.aside + np.stack([-z, y], -1), self.below + np.stack([x, -z], -1)])


def _views(points: np.ndarray) -> _Views:
    """Return three views that do not overlap over points (P, 3) and the pivot."""
    return _Views(np.minimum(points.min(0), 0.0), np.maximum(points.max(0), 0.0))


def _draw_panel(axes: Axes, views: _Views, rest: np.ndarray, way: np.ndarray, swing: Swing) -> None:
    """Draw one mode: at rest, bent to both sides, and the paths of the ends where they go round."""
    marker, width = ("o", stroke(1.8)) if len(rest) <= LEGEND + 1 else ("", stroke(1.3))
    half = way[len(way) // 2 if swing.mode.frequency else -1]
    bends = (rest, palette().muted, 0.5), (half, palette().second, 1.0), (way[0], palette().accent, 1.0)
    for view in range(3):
        for points, colour, alpha in bends:
            axes.plot(*views(points)[view].T, color=colour, alpha=alpha, linewidth=width, marker=marker, markersize=stroke(3.5))
        for i in range(1, len(rest)) if swing.mode.frequency else ():
            axes.plot(*views(way[:, i])[view].T, color=palette().accent, alpha=0.6, linewidth=stroke(0.7))
        axes.plot(*views(np.zeros((1, 3)))[view].T, "+", color=palette().ink, markersize=letter(0.8))


def _run(scenario: Scenario, state: SteadyState, t: np.ndarray, c: np.ndarray, v: np.ndarray) -> Run:
    """Return a motion as a run."""
    chain = state.system.chain
    curve = np.gradient(v, t, axis=0, edge_order=2) if len(t) > 2 else np.zeros_like(v)
    kinetic, potential = kinematics.energies(chain, c, v)
    still, end = np.zeros(len(t)), Status("finished", "reached its end")
    return Run(scenario, *trajectory(chain, t, c, v, curve), kinetic, potential, {}, still, end, Stats(0, 0, 0, 0.0))


def _sheet(scenario: Scenario, state: SteadyState, size: Size) -> Sheet:
    c = state.position[None]
    return Sheet(_run(scenario, state, np.zeros(1), c, np.zeros_like(c)), size, letter(TITLE))
