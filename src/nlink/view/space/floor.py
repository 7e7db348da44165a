"""The still part of a picture in space: the floor with its grid, the plate of the pivot, and the directions of the axes."""

from __future__ import annotations

import numpy as np
from PIL import Image

from nlink.view.pen import Pen, write
from nlink.view.scene import round_step
from nlink.view.space.orbit import OrbitCamera
from nlink.view.space.shapes import blend
from nlink.view.style import Theme, minus

CELLS = 15
"""Cells of the grid from one side of the floor to the other, about."""
LEVELS = 12
"""Steps in which the floor fades."""
ARM = 0.045
"""Length of the axes in the corner, as a part of the picture's shorter side."""


def grid_step(camera: OrbitCamera) -> float:
    """Return the distance of the lines of the floor in m."""
    return round_step(2 * _reach(camera) / CELLS)


def _reach(camera: OrbitCamera) -> float:
    about = camera.about
    return max(1.35 * about.radius, 0.5 * (about.high - about.low))


def draw_floor(pen: Pen, camera: OrbitCamera, theme: Theme) -> None:
    """Draw the grid of the floor, the paler the further from its middle."""
    step, reach = grid_step(camera), _reach(camera)
    count = int(reach / step)
    lines, between = np.arange(-count, count + 1), np.arange(-count - 1, count + 1)
    k, j = (each.ravel() for each in np.meshgrid(lines, between, indexing="ij"))
    level = np.floor(LEVELS * np.hypot(k, j + 0.5) * step / reach)
    for at in range(LEVELS):
        u, v = (each[level == at] * step for each in (k, j))
        shade = blend(blend(np.array(theme.lines), np.array(theme.muted), 0.35), np.array(theme.stage), (at / LEVELS) ** 1.5)
        for x, z, dx, dz in ((u, v, 0.0, step), (v, u, step, 0.0)):
            height = np.full_like(x, camera.about.floor)
            ends = camera.places(np.stack([np.stack([x, height, z], -1), np.stack([x + dx, height, z + dz], -1)], 1))
            for piece in ends[..., :2]:
                pen.line(piece, (shade[0], shade[1], shade[2]), 1.0, "butt")


def draw_pivot(pen: Pen, camera: OrbitCamera, theme: Theme, radius: float) -> None:
    """Draw what the pivot is fixed to: a round plate."""
    turn = 2 * np.pi * np.arange(33) / 32
    rim = camera.places(np.stack([radius * np.cos(turn), np.zeros(33), radius * np.sin(turn)], -1))[:, :2]
    shade = blend(np.array(theme.stage), np.array(theme.muted), 0.3)
    pen.area(rim, (shade[0], shade[1], shade[2]))
    pen.line(rim, theme.muted, 1.5)


def draw_axes(pen: Pen, camera: OrbitCamera, theme: Theme, size: tuple[int, int]) -> list[tuple[tuple[float, float], str]]:
    """Draw the directions of x, y and z in a corner; return where their names go."""
    arm = max(10.0, ARM * min(size))
    at, names = np.array([size[0] - 2.1 * arm, 1.7 * arm]), []
    ways = np.stack([camera.right, camera.up, camera.back], -1)
    for k in np.argsort(ways[:, 2]):
        shade = blend(np.array(theme.stage), np.array(theme.muted), 0.75 + 0.25 * ways[k, 2])
        pen.line(np.stack([at, at + arm * ways[k, :2]]), (shade[0], shade[1], shade[2]), 1.6)
        if np.hypot(*ways[k, :2]) > 0.2:
            x, y = at + (arm + 8) * ways[k, :2]
            names.append(((float(x), float(size[1] - y)), "xyz"[k]))
    return names


def write_scale(image: Image.Image, camera: OrbitCamera, theme: Theme, letter: float) -> None:
    """Write how wide the cells of the floor are."""
    write(image, (0.8 * letter, image.size[1] - letter), minus(f"grid {grid_step(camera):.6g} m"), letter, theme.muted, "lm")
