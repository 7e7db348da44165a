"""The frames of an animation: which moments they show, and how one moment is drawn."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image

from nlink._support.checks import MOST_TITLE
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.run.run import Run
from nlink.view.looks import BEYOND, Look, blocks, clock_decimals, trusted_times
from nlink.view.outline import centre_of_mass, outline, traced
from nlink.view.pen import Pen, width_of, write
from nlink.view.scene import SMALL, Camera, scenery, text_height, title_for
from nlink.view.strokes import Paint, Stroke, joints, moving, still
from nlink.view.style import LIGHT, Colour, Theme, heading, link_colours, minus, mixed, named_theme

FADE = 12
"""Steps in which the trail fades."""
HOP = 4.0
"""Most pixels between two points of the trail, if PARTS a frame allow it."""
PARTS = 32
UNUSED: Colour = (1.0, 0.0, 1.0)
"""Fills the palette; far from every colour in use."""
HOLE = 1.0
"""Pixels below which the hole of a hinge is left out: it would only cut a fine chain to pieces."""


class Frames:
    """The frames of a run at the given times; `draw(k)` makes one of them."""

    def __init__(self, run: Run, times: np.ndarray, look: Look) -> None:
        self.run, self.times, self.look = run, times, look
        self.theme = named_theme(look.theme)
        self.colours = link_colours(run.chain.n, self.theme)
        self.decimals = clock_decimals(times)
        theta, self.trusted = np.concatenate([run.at(block).theta for block in blocks(times)]), trusted_times(run, times)
        self.outline, self.point = outline(run.chain, run.theta), traced(run.chain, look.trace)
        heavy = run.chain.mass > 0
        places, centres = self.outline.places(theta), kinematics.centres(run.chain, theta)[:, heavy]
        middle = centre_of_mass(run.chain, theta) if self.outline.follows else np.zeros((len(times), 2))
        feet = _feet(run.chain, theta)[:, heavy]
        path = self._path() if look.trail else places[:, 0]
        sliders = places[:, [block.point for block in self.outline.blocks]].reshape(-1, 2)
        seen = [(points - middle[:, None]).reshape(-1, 2) for points in (places, *([centres] if look.centres else []))]
        seen += [] if self.outline.follows else [path]
        notes, letter = look.timer and not self.trusted.all(), text_height(look.size)
        clock = max(map(self.time, (0, -1)), key=len) if look.timer else ""
        aside = max(width_of(clock, letter), width_of(BEYOND, SMALL * letter) if notes else 0.0)
        self.title = title_for(heading(run, MOST_TITLE), look.size, aside)
        top = max(self.title.bottom, (2.2 + 0.9 * notes) * letter)
        span = np.stack([sliders.min(0), sliders.max(0)]) if len(sliders) else sliders
        self.camera = Camera(look.size, np.concatenate(seen), self.outline.unit, top, self.outline.grounds, span)
        self.shift = -self.camera.scale * middle
        self.places, self.centres, self.feet, self.traced = map(self.camera.pixels, (places, centres, feet, path))
        self.pencil, self.pen = self.camera.pencil(look.style == "line"), Pen(look.size)
        rails = list(still(self.outline, self.places[0], self.pencil))
        self.ground = scenery(self.camera, self.title, self.theme, rails)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.times)

    def palette(self, clear: int) -> Image.Image:
        """Return an image that carries the palette of a GIF, with `clear` colours and one that is transparent."""
        return gif_palette(len(self.colours), self.theme, clear)

    def draw(self, k: int) -> Image.Image:
        """Return frame k as an RGB image."""
        self.pen.reset(self.ground if not self.outline.follows else self._scenery(k))
        self._draw_trail(k)
        self._draw_bodies(self.places[k] + self.shift[k])
        if self.look.centres:
            self._draw_centres(self.feet[k] + self.shift[k], self.centres[k] + self.shift[k])
        image = self.pen.picture()
        if self.look.timer and self.camera.letter:
            self._write_time(image, k)
        return image

    def time(self, k: int) -> str:
        """Return what the timer shows in frame k."""
        return minus(f"t = {self.times[k]:.{self.decimals}f} s")

    def _path(self) -> np.ndarray:
        """Return the path of the traced point, with as many points between frames as its speed asks for."""
        run, times, count, unit = self.run, self.times, len(self.times), self.run.chain.length.sum() or self.outline.unit
        if count > 1:
            velocity = kinematics.point_velocities(run.chain, run.theta, run.omega, [self.point])[:, 0]
            fastest = np.linalg.norm(velocity, axis=-1).max() / (2 * unit)
            parts = min(PARTS, max(1, math.ceil(fastest * abs(times[1] - times[0]) * min(self.look.size) / HOP)))
            times = np.interp(np.arange((count - 1) * parts + 1) / parts, np.arange(count), times)
        path = [kinematics.points(run.chain, run.at(block).theta, [self.point])[:, 0] for block in blocks(times)]
        return np.concatenate(path)

    def _draw_trail(self, k: int) -> None:
        """Draw the path of the traced point up to frame k, the older the paler."""
        if not self.look.trail or k == 0:
            return
        parts = (len(self.traced) - 1) // (len(self.times) - 1)
        newest = k * parts
        oldest = newest - self.look.trail / abs(self.times[1] - self.times[0]) * parts
        bounds = np.maximum(0, np.round(np.linspace(oldest, newest, FADE + 1)).astype(int))
        width = min(3.0, max(1.2, 0.0035 * min(self.look.size)))
        for step in range(FADE):
            piece = self.traced[bounds[step] : bounds[step + 1] + 1] + self.shift[k]
            if self.outline.follows:
                piece = piece[piece[:, 1] < self.camera.frame[3]]  # a trail is not in the view, and may run into the title
            if len(piece) > 1:
                self.pen.line(piece, mixed(self.theme.accent, self.theme.stage, (step + 1) / FADE), width, "butt")

    def _scenery(self, k: int) -> np.ndarray:
        """Return the ground that a picture which follows the bodies shows in frame k."""
        return scenery(self.camera.moved(self.shift[k]), self.title, self.theme)

    def _draw_bodies(self, at: np.ndarray) -> None:
        """Draw the bodies with their places at these pixels, (P, 2)."""
        for stroke in moving(self.outline, at, self.pencil):
            self._draw(stroke)
        for disc in joints(self.outline, at, self.pencil, self.look.hinges):
            if disc.radius >= HOLE:
                colour = self._colour(disc.paint)
                self.pen.disc(disc.at, disc.radius, colour, colour)

    def _draw(self, stroke: Stroke) -> None:
        colour = self._colour(stroke.paint)
        if stroke.fill:
            self.pen.area(stroke.points, mixed(colour, self.theme.stage, stroke.fill))
        self.pen.line(stroke.points, colour, stroke.width)

    def _colour(self, paint: Paint) -> Colour:
        return self.colours[paint] if isinstance(paint, int) else getattr(self.theme, paint)

    def _draw_centres(self, feet: np.ndarray, centres: np.ndarray) -> None:
        radius = max(2.0, 0.3 * self.camera.thickness)
        for foot, centre in zip(feet, centres, strict=True):
            self.pen.line(np.stack([foot, centre]), self.theme.ink, 1.2)
            self.pen.disc(centre, radius, self.theme.ink, self.theme.stage)

    def _write_time(self, image: Image.Image, k: int) -> None:
        x, letter, small = self.look.size[0] - 0.8 * self.camera.letter, self.camera.letter, self.camera.small
        write(image, (x, 1.1 * letter), self.time(k), letter, self.theme.ink if self.trusted[k] else self.theme.muted, "rm")
        if not self.trusted[k]:
            write(image, (x, 2.2 * letter), BEYOND, small, self.theme.muted, "rm")


def _feet(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the points of the axes of the bodies that are nearest to the centres of mass, (F, N, 2) in m."""
    ends, length = kinematics.segments(chain, theta), chain.length
    along = np.clip(np.divide(chain.com, length, out=np.ones(chain.n), where=length > 0), 0.0, 1.0)[:, None]
    return (1 - along) * ends[:, :, 0] + along * ends[:, :, 1]


def gif_palette(links: int, theme: Theme = LIGHT, clear: int = 255) -> Image.Image:
    """Return an image that carries the palette: every colour in use, in steps towards the ground."""
    ramps: list[tuple[Colour, int]] = [(theme.ink, 12), (theme.muted, 10), (theme.accent, 2 * FADE)]
    ramps += [(colour, 10) for colour in link_colours(min(links, 20), theme)]
    ground = theme.stage
    colours = [ground, theme.lines, *(mixed(colour, ground, (k + 1) / steps) for colour, steps in ramps for k in range(steps))]
    colours += [UNUSED] * (clear + 1 - len(colours))
    image = Image.new("P", (1, 1))
    image.putpalette([round(255 * part) for colour in colours for part in colour])
    return image
