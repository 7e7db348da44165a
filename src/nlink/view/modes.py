"""Pictures of small motions about an equilibrium: the shapes of the modes, the eigenvalues, and a chain moving in one mode.

    save_modes(scenario, small, modes, "folder")          modes.png and eigenvalues.png
    animate_mode(scenario, small, modes, 2, "folder")     mode-2.gif

`small` is a Linearization, `modes` its table.

A shape is drawn with its largest link turned by TURN. A closed chain is bent so that it stays closed. Where that moves the chain
too little to be seen, as in the higher modes of many links, the displacements are drawn enlarged.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nlink._support.checks import ModelError, choice, whole
from nlink._support.endings import FORMATS
from nlink.analysis.linearize import FLAT, PICTURED, Linearization, Mode, foremost
from nlink.mechanics import kinematics, loop_closure
from nlink.mechanics.chain import Multibody
from nlink.run.run import Run, Stats, Status, Trajectory
from nlink.scenario import Scenario
from nlink.view.animate import animate
from nlink.view.outline import ground_marks, outline
from nlink.view.sheet import LEGEND, TITLE, AnyAxes, Sheet, axes_of, counted, mark_grounds
from nlink.view.style import Progress, Size, inches, letter, minus, palette, picture, save_figures, stroke

TURN = 0.35
"""Turn in rad of the link that turns most."""
LEAST = 0.01
"""Turn in rad below which a loop that does not close is left as it is."""
FAINT, SEEN = 0.03, 0.06
"""Displacements below the first part of the picture's size are enlarged to the second."""
MOST_BESIDE, LEAST_WIDTH = 6, 1.0
"""Most modes beside one another, and inches of one at the least."""
PANELS = 48
"""Most modes in one picture."""
PERIODS, SECONDS, FPS = 2, 2.0, 50
"""Periods that an animation shows, the seconds that one takes on the screen, and its frames a second."""
FALL = 4.0
"""Time constants over which a motion that does not oscillate is shown."""


def save_modes(
    scenario: Scenario,
    small: Linearization,
    modes: list[Mode],
    folder: str | os.PathLike[str],
    *,
    format: str = "png",
    count: int = PICTURED,
    size: Size | str | None = None,
    theme: str | None = None,
) -> list[Path]:
    """Write the shapes of up to `count` modes and the eigenvalues as `folder/modes.format` and `folder/eigenvalues.format`."""
    choice("format", format, FORMATS)
    shapes = shapes_figure(scenario, small, modes, count, size=size, theme=theme)
    figures = {"modes": shapes, "eigenvalues": eigenvalues_figure(scenario, small, size=size, theme=theme)}
    return save_figures(figures, folder, format)


def modes_figure(
    small: Linearization,
    kind: str = "modes",
    count: int = PICTURED,
    *,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the shapes of up to `count` modes, or with kind="eigenvalues" the eigenvalues in their plane."""
    scenario = Scenario(small.chain, tuple(small.theta.tolist()))
    if choice("kind", kind, ("modes", "eigenvalues")) == "modes":
        return shapes_figure(scenario, small, small.table(), whole("count", count), ax=ax, size=size, theme=theme)
    return eigenvalues_figure(scenario, small, ax=ax, size=size, theme=theme)


@picture
def shapes_figure(
    scenario: Scenario,
    small: Linearization,
    modes: list[Mode],
    count: int = PICTURED,
    *,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the chain bent to both sides in up to `count` modes; if there are more, those that oscillate or grow come first."""
    sheet = _sheet(scenario, small, inches(size, (9.0, 6.5)), ax)
    drawn = outline(small.chain, small.theta)
    shown, rest = foremost(modes, min(count, PANELS)), drawn.lines(drawn.places(small.theta))
    bends = [_bends(small, modes[k]) for k in shown]
    low, high = box_about(np.concatenate([rest, *ground_marks(small.chain), *(points.reshape(-1, 2) for points, _ in bends)]))
    grid = counted(sheet.given, len(shown)) if sheet.given else panels(sheet.figure, len(shown), high - low)
    for axes, (points, _) in zip(grid, bends, strict=False):
        _draw_panel(axes, small.chain, rest, points)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    sheet.finish("")
    for axes, k, (_, enlarged) in zip(grid, shown, bends, strict=False):
        axes.set_title(_name(small, k, modes[k], enlarged), fontsize=0.9 * sheet.fontsize, color=palette().ink, linespacing=1.3)
    more = f"{len(shown)} of {len(modes)} modes; " if len(shown) < len(modes) else ""
    note = more + _note(small.chain, max(enlarged for _, enlarged in bends))
    if sheet.given:
        grid[-1].set_xlabel(note, fontsize=sheet.fontsize, color=palette().ink)
    else:
        sheet.figure.supxlabel(sheet.fitted(note), fontsize=sheet.fontsize, color=palette().ink)
    return sheet.figure


@picture
def eigenvalues_figure(
    scenario: Scenario,
    small: Linearization,
    *,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the eigenvalues in the complex plane, the half in which motions decay shaded, those that grow in red."""
    return draw_eigenvalues(_sheet(scenario, small, inches(size, (8.0, 5.0)), ax), small.eigenvalues)


def draw_eigenvalues(sheet: Sheet, values: np.ndarray) -> Figure:
    """Draw eigenvalues on a sheet, and return its figure."""
    (axes,), scale = sheet.column(1), float(np.abs(values).max(initial=0.0)) or 1.0
    growths, frequencies = np.real(values), np.imag(values)
    grows = growths > FLAT * scale
    left, right = min(0.0, growths.min(initial=0.0)), max(0.0, growths.max(initial=0.0))
    pad = max(0.06 * (right - left), 0.06 * scale if right - left < 1e-3 * scale else 0.0)
    axes.set_xlim(left - pad, right + pad)
    axes.axvspan(left - pad, 0.0, color=palette().lines, alpha=0.45, linewidth=0)
    axes.axvline(0.0, color=palette().muted, linewidth=stroke(1.0))
    for chosen, colour in ((~grows, palette().second), (grows, palette().accent)):
        axes.plot(growths[chosen], frequencies[chosen], "o", color=colour, markersize=letter(0.5), alpha=0.8, markeredgewidth=0)
    axes.set_ylim(*(side * 1.1 * max(np.abs(frequencies).max(initial=0.0), 0.1 * scale) for side in (-1, 1)))
    axes.set_xlabel("growth (1/s), shaded: decays", fontsize=sheet.fontsize)
    axes.set_ylabel("frequency (rad/s)", fontsize=sheet.fontsize)
    count = int(grows.sum())
    sheet.finish("Eigenvalues" + (f", {count} of {len(values)} grow{'s' * (count == 1)}" if count else ""))
    return sheet.figure


def animate_mode(
    scenario: Scenario,
    small: Linearization,
    modes: list[Mode],
    number: int,
    folder: str | os.PathLike[str],
    *,
    theme: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the chain moving in mode `number` (from 1) as `folder/mode-number.gif`: two periods, without growth or decay.

    A mode that does not oscillate is shown falling to its equilibrium, or growing away from it, over FALL time constants.
    """
    mode = modes[number - 1]
    span = PERIODS * 2 * math.pi / mode.frequency if mode.frequency else FALL / abs(mode.growth) if mode.growth else 0.0
    if not span:
        raise ModelError(f"mode {number} cannot be animated: it neither oscillates nor grows nor decays")
    speed = span / (PERIODS * SECONDS)
    title = f"Mode {number}: {mode_text(mode)}, shown at {speed:.2g} of its speed"
    run = _run(replace(scenario, title=title), _motion(small, mode, span))
    Path(folder).mkdir(parents=True, exist_ok=True)
    path, trail = Path(folder) / f"mode-{number}.gif", span / 8 if mode.frequency else 0.0
    return animate(run, path, speed=speed, fps=FPS, trail=trail, theme=theme, progress=progress)


def bent(small: Linearization, change: np.ndarray) -> np.ndarray:
    """Return the angles (..., N) at rest plus a change; of a closed chain closed again, or with the largest part of it that can be.

    The loop is closed along the rows of its jacobian at rest, so that equal changes give equal angles whatever came before.
    """
    if small.chain.pin is None:
        return small.theta + change
    theta, gap = _closed(small.chain, small.theta, change)
    if gap <= 1e-9 * small.chain.length.sum() or np.abs(change).max() < LEAST:
        return theta
    return bent(small, change / 2)


def _closed(chain: Multibody, rest: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, float]:
    """Return angles that close, by Newton's method, and the distance from the pin that is left."""
    normal, theta = loop_closure.jacobian(chain, rest).T, rest + change
    for _ in range(20):
        step = np.linalg.pinv(loop_closure.jacobian(chain, theta) @ normal) @ loop_closure.gap(chain, theta)[..., None]
        theta = theta - np.clip((normal @ step)[..., 0], -0.5, 0.5)
    return theta, float(np.hypot(*loop_closure.gap(chain, theta).T).max())


def _motion(small: Linearization, mode: Mode, span: float) -> Trajectory:
    """Return the motion in one mode at the moments of the frames; it ends a frame early, so that an oscillation loops."""
    count = round(PERIODS * SECONDS * FPS)
    t = span * np.arange(count) / count
    when = t if mode.growth < 0 else t - span
    phase = np.exp(1j * mode.frequency * t) if mode.frequency else np.exp(mode.growth * when)
    theta = bent(small, TURN * np.real(mode.shape * phase[:, None]))
    omega = np.gradient(theta, t, axis=0, edge_order=2)
    return Trajectory(t, theta, omega, np.gradient(omega, t, axis=0, edge_order=2))


def _run(scenario: Scenario, track: Trajectory) -> Run:
    chain = scenario.chain
    kinetic, potential = kinematics.kinetic_energy(chain, track.theta, track.omega), kinematics.potential_energy(chain, track.theta)
    drift, end = np.zeros(len(track.t)), Status("finished", "reached its end")
    return Run(scenario, *track, kinetic, potential, {}, drift, end, Stats(0, 0, 0, 0.0))


def _sheet(scenario: Scenario, small: Linearization, size: Size, ax: AnyAxes) -> Sheet:
    still = np.zeros((1, small.chain.n))
    return Sheet(_run(scenario, Trajectory(np.zeros(1), small.theta[None], still, still)), size, letter(TITLE), given=axes_of(ax))


def mode_text(mode: Mode) -> str:
    """Return the frequency of a mode, or its growth if it does not oscillate."""
    if mode.frequency:
        return f"{mode.frequency:.4g} rad/s"
    return minus(f"{mode.growth:+.4g} 1/s") if mode.growth else "neutral"


def box_about(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a box about the points, with a margin and not too slender."""
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    size = np.maximum(high - low, 0.3 * (high - low).max())
    return (low + high) / 2 - 0.56 * size, (low + high) / 2 + 0.56 * size


def panels(figure: Figure, count: int, size: np.ndarray) -> list[Axes]:
    """Return panels for boxes of this size, as large as they can be, in at most six columns; the figure's height fits them."""
    wide, line = figure.get_figwidth(), letter(1.0) / 72
    across, up = wide - 4.5 * line, max(0.55 * wide, 3.0)
    most = min(count, MOST_BESIDE, int(wide / LEAST_WIDTH))
    room = {c: min(across / c / size[0], up / math.ceil(count / c) / size[1]) for c in range(1, most + 1)}
    columns = max(room, key=lambda c: room[c])
    rows = math.ceil(count / columns)
    figure.set_figheight(rows * (room[columns] * size[1] + 4.0 * line) + 6.5 * line)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    ticks = max(1, min(3, int(room[columns] * size[0] / (4.0 * line))))
    grid[0].xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10], min_n_ticks=1))
    grid[0].yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    for axes in grid[count:]:
        axes.set_visible(False)
    return list(grid)


def _bends(small: Linearization, mode: Mode) -> tuple[np.ndarray, float]:
    """Return the lines (2, L, 2) of the chain bent to both sides, and how many times their displacements are enlarged."""
    shape, sides = np.real(mode.shape), np.array([1.0, -1.0])
    drawn = outline(small.chain, small.theta)
    rest, move = drawn.places(small.theta), kinematics.point_velocities(small.chain, small.theta, shape, drawn.points)
    extent, far = np.ptp(rest, axis=0).max(), float(np.abs(move).max())
    if TURN * far >= FAINT * extent:
        return drawn.lines(drawn.places(bent(small, TURN * sides[:, None] * shape))), 1.0
    factor = SEEN * extent / far
    return drawn.lines(rest + factor * sides[:, None, None] * move), factor / TURN


def _draw_panel(axes: Axes, chain: Multibody, rest: np.ndarray, bends: np.ndarray) -> None:
    marker, width = ("o", stroke(1.8)) if chain.n <= LEGEND else ("", stroke(1.3))
    for points, colour, alpha in (
        (rest, palette().muted, 0.5),
        (bends[1], palette().second, 1.0),
        (bends[0], palette().accent, 1.0),
    ):
        axes.plot(*points.T, color=colour, alpha=alpha, linewidth=width, marker=marker, markersize=stroke(3.5))
    mark_grounds(axes, chain, (letter(0.8), letter(0.8)))


def _name(small: Linearization, k: int, mode: Mode, enlarged: float) -> str:
    grows = ", grows" if mode.growth > FLAT * np.abs(small.eigenvalues).max() else ""
    times = f", {enlarged:.2g}\N{MULTIPLICATION SIGN}" if enlarged > 1 else ""
    return minus(f"mode {k + 1}{grows}{times}\n{mode_text(mode)}")


def _note(chain: Multibody, enlarged: float) -> str:
    pin = ", \N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}pin" if chain.pin else ""
    more = ", or displacements enlarged" if enlarged > 1 else ""
    return f"x, y in m; grey: at rest; links turned by up to {math.degrees(TURN):.0f} degrees{more}; +\N{NO-BREAK SPACE}pivot{pin}"
