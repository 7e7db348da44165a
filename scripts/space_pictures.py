"""Draw the pictures of docs/space.md: the presets in space, coordinates, joints, and what the friction of thin bodies tends to.

python scripts/space_pictures.py docs/space
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import nlink
from nlink.mechanics.space.joints import Joint
from nlink.run.run import Run
from nlink.view.looks import Look
from nlink.view.space.frames import SpaceFrames
from nlink.view.space.orbit import About, OrbitCamera
from nlink.view.style import LIGHT, Colour

SIDE, COLUMNS, QUALITY = 300, 4, 70
MOMENTS = {
    "spherical-1": 4.0, "cone-2": 3.0, "spiral-5": 3.2, "lasso-20": 2.0,
    "rope-50": 1.6, "top": 0.45, "turning-over": 5.0, "gyro-3": 4.0,
}  # fmt: skip
"""The presets, and when they are shown in s."""
VIEW = (36.0, 20.0)
DAMPING, LONG = 0.1, 6.0
THIN = (3e-2, 1e-2, 1e-3, 1e-4)
"""Moments of inertia of the bodies about their axes in kg m^2."""


def presets(folder: Path) -> None:
    """Draw each preset at a moment."""
    rows = -(-len(MOMENTS) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * SIDE, rows * SIDE))
    for k, (name, t) in enumerate(MOMENTS.items()):
        scenario = nlink.preset(name)
        run = nlink.Scenario(scenario.chain, scenario.theta, scenario.omega, scenario.settings, name).run()
        sheet.paste(shot(run, t, trail=2.0 if name != "top" else 0.4), (SIDE * (k % COLUMNS), SIDE * (k // COLUMNS)))
    sheet.save(folder / "presets.webp", quality=QUALITY)


def shot(
    run: Run, t: float, trail: float = 0.0, size: tuple[int, int] = (SIDE, SIDE), view: tuple[float, float] = VIEW
) -> Image.Image:
    """Return one moment of a run."""
    step = run.t[run.t <= t]
    look = Look(size, trail, timer=False, theme="light", azimuth=view[0], elevation=view[1])
    return SpaceFrames(run, step[:: max(1, len(step) // 400)], look, 25.0).draw(len(step[:: max(1, len(step) // 400)]) - 1)


def coordinates(folder: Path) -> None:
    """Draw the axes, the direction of a link, its inclination and its azimuth."""
    figure = Figure((6.4, 4.0), facecolor=LIGHT.ground)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    camera = OrbitCamera(About(1.1, -1.35, 0.5), (-1.0, -1.0, 1.0, 1.0), 28.0, 20.0)
    e = np.array([0.9 * np.cos(0.55), -0.8, 0.9 * np.sin(0.55)])
    for way, name in (((1.25, 0, 0), "x"), ((0, 0.48, 0), "y  up"), ((0, 0, 1.25), "z  to the viewer")):
        arrow(axes, camera, np.zeros(3), np.array(way), LIGHT.muted, name)
    arrow(axes, camera, np.array([-0.9, 0.3, 0]), np.array([-0.9, -0.15, 0]), LIGHT.accent, "gravity")
    below = e * [1, 0, 1]
    line(axes, camera, [(0, 0, 0), (0, -1.15, 0)], LIGHT.muted, "--")
    line(axes, camera, [(0, 0, 0), below], LIGHT.muted, "--")
    line(axes, camera, [below, e], LIGHT.muted, ":")
    line(axes, camera, [(0, 0, 0), e], LIGHT.second, "-", 7)
    inclination, azimuth = np.arctan2(np.hypot(e[0], e[2]), -e[1]), np.arctan2(e[2], e[0])
    arc = np.linspace(0, inclination, 40)
    line(
        axes,
        camera,
        [0.55 * np.array([np.sin(a) * np.cos(azimuth), -np.cos(a), np.sin(a) * np.sin(azimuth)]) for a in arc],
        LIGHT.fourth,
    )
    label(axes, camera, np.array([-0.33, -0.62, 0.0]), "inclination", LIGHT.fourth)
    turn = np.linspace(0, azimuth, 40)
    line(axes, camera, [0.5 * np.array([np.cos(a), 0, np.sin(a)]) for a in turn], LIGHT.third)
    label(axes, camera, np.array([0.95, -0.12, 0.2]), "azimuth", LIGHT.third)
    label(axes, camera, 1.13 * e, "e", LIGHT.second)
    label(axes, camera, np.array([-0.12, 0.08, 0.0]), "pivot", LIGHT.ink)
    finish(figure, axes, folder / "coordinates.webp")


def arrow(axes: Axes, camera: OrbitCamera, start: np.ndarray, end: np.ndarray, colour: Colour, name: str) -> None:
    """Draw an arrow with a name at its end."""
    a, b = camera.places(np.stack([start, end]))[:, :2]
    axes.annotate("", b, a, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.4})
    axes.text(*(b + 0.07 * (b - a) / np.hypot(*(b - a))), name, color=colour, ha="center", va="center", fontsize=11)


def line(axes: Axes, camera: OrbitCamera, points: object, colour: Colour, style: str = "-", width: float = 1.6) -> None:
    """Draw a line through points in space."""
    axes.plot(*camera.places(np.array(points, float))[:, :2].T, style, color=colour, linewidth=width, solid_capstyle="round")


def label(axes: Axes, camera: OrbitCamera, at: np.ndarray, text: str, colour: Colour) -> None:
    """Write a text at a point in space."""
    axes.text(*camera.places(at)[:2], text, color=colour, ha="center", va="center", fontsize=12)


def finish(figure: Figure, axes: Axes, path: Path) -> None:
    """Write a figure without axes."""
    axes.set_aspect("equal")
    axes.set_xlim(-1.6, 1.6)
    axes.set_ylim(-1.0, 1.0)
    axes.set_axis_off()
    write(figure, path)


def write(figure: Figure, path: Path) -> None:
    """Write a figure as WebP."""
    figure.savefig(path.with_suffix(".png"), dpi=110)
    with Image.open(path.with_suffix(".png")) as image:
        image.convert("RGB").save(path, quality=QUALITY + 15)
    path.with_suffix(".png").unlink()


def joints(folder: Path) -> None:
    """Draw two bodies on each kind of joint."""
    kinds: dict[str, tuple[Joint, object]] = {
        "Ball()": (nlink.Ball(), (0.9, 1.2)),
        "Hinge((0, 0, 1))": (nlink.Hinge((0.0, 0.0, 1.0)), 0.7),
        "Universal((1, 0, 0), (0, 0, 1))": (nlink.Universal((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (-0.4, 0.7)),
    }
    sheet = Image.new("RGB", (3 * SIDE, SIDE))
    for k, (title, (joint, pose)) in enumerate(kinds.items()):
        bodies = [nlink.Body.box(0.6, 1.0, 0.14, 0.14, joint=nlink.Hinge((0.0, 0.0, 1.0)))]
        bodies.append(nlink.Body.cylinder(0.6, 1.0, 0.05, joint=joint))
        chain = nlink.SpatialChain(bodies)
        scenario = nlink.Scenario(chain, (0.3, pose), title=title)
        run = nlink.simulate(chain, scenario.theta, t_end=0.01, save=0.01)
        run.scenario = nlink.Scenario(chain, scenario.theta, title=title)
        sheet.paste(shot(run, 0.0, view=(35.0, 12.0)), (SIDE * k, 0))
    sheet.save(folder / "joints.webp", quality=QUALITY)


def friction(folder: Path) -> None:
    """Plot how bodies with friction in their joints tend to lines as they grow thin."""
    figure = Figure((6.4, 3.4), facecolor=LIGHT.ground, layout="constrained")
    axes = figure.subplots()
    pose, omega = [(1.2, 0.0), (1.6, 1.2), (0.9, 2.4)], [(0.0, 3.0, 0.0)] * 3
    load = nlink.JointDamper(DAMPING)
    lines = nlink.simulate(nlink.SpatialChain.uniform(3, loads=load), pose, omega, t_end=LONG)
    for k, axial in enumerate(THIN):
        body = nlink.Body(1.0, 1.0, (0.0, -0.5, 0.0), (1 / 12, axial, 1 / 12))
        run = nlink.simulate(nlink.SpatialChain([body] * 3, load), pose, omega, t_end=LONG)
        apart = np.linalg.norm(run.positions()[:, -1] - lines.positions()[:, -1], axis=-1)
        share = (k + 1) / len(THIN)
        colour = tuple(share * c + (1 - share) * g for c, g in zip(LIGHT.second, (0.78, 0.85, 0.9), strict=True))
        axes.semilogy(run.t[1:], apart[1:], color=colour, label=f"axial inertia {axial:g} kg m\N{SUPERSCRIPT TWO}")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("tip of the bodies from that of the lines (m)")
    axes.set_ylim(1e-7, 3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    write(figure, folder / "friction.webp")


def main() -> None:
    """Draw all of them into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (presets, coordinates, joints, friction):
        draw(folder)


if __name__ == "__main__":
    main()
