"""The frames of an animation in the plane: how one moment is drawn."""

from __future__ import annotations

import numpy as np
from PIL import Image

from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.run.run import Run
from nlink.view.film import Film
from nlink.view.looks import Look, blocks
from nlink.view.outline import centre_of_mass, outline, traced
from nlink.view.scene import Camera, scenery
from nlink.view.strokes import Paint, Stroke, joints, moving, still
from nlink.view.style import LIGHT, Colour, Theme, link_colours, mixed

FADE = 12
"""Steps in which the trail fades."""
UNUSED: Colour = (1.0, 0.0, 1.0)
"""Fills the palette; far from every colour in use."""
HOLE = 1.0
"""Pixels below which the hole of a hinge is left out: it would only cut a fine chain to pieces."""


class Frames(Film):
    """The frames of a run in the plane."""

    hop = 4.0

    def __init__(self, run: Run, times: np.ndarray, look: Look) -> None:
        super().__init__(run, times, look)
        self.colours = link_colours(run.chain.n, self.theme)
        theta = np.concatenate([run.at(block).theta for block in blocks(times)])
        self.outline, self.point = outline(run.chain, run.theta), traced(run.chain, look.trace)
        heavy = run.chain.mass > 0
        places, centres = self.outline.places(theta), kinematics.centres(run.chain, theta)[:, heavy]
        middle = centre_of_mass(run.chain, theta) if self.outline.follows else np.zeros((len(times), 2))
        feet = _feet(run.chain, theta)[:, heavy]
        path = self._path() if look.trail else places[:, 0]
        sliders = places[:, [block.point for block in self.outline.blocks]].reshape(-1, 2)
        seen = [(points - middle[:, None]).reshape(-1, 2) for points in (places, *([centres] if look.centres else []))]
        seen += [] if self.outline.follows else [path]
        top = max(self.title.bottom, (2.2 + 0.9 * (look.timer and not self.trusted.all())) * self.letter)
        span = np.stack([sliders.min(0), sliders.max(0)]) if len(sliders) else sliders
        self.camera = Camera(look.size, np.concatenate(seen), self.outline.unit, top, self.outline.grounds, span)
        self.shift = -self.camera.scale * middle
        self.places, self.centres, self.feet, self.path = map(self.camera.pixels, (places, centres, feet, path))
        self.pencil = self.camera.pencil(look.style == "line")
        rails = list(still(self.outline, self.places[0], self.pencil))
        self.ground = scenery(self.camera, self.title, self.theme, rails)

    def palette(self, clear: int) -> Image.Image:
        """Return the palette: see `gif_palette`."""
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
            self.write_clock(image, k)
        return image

    def _path(self) -> np.ndarray:
        """Return the path of the traced point, with as many points between frames as its speed asks for."""
        run, extent = self.run, 2 * (self.run.chain.length.sum() or self.outline.unit)
        velocity = kinematics.point_velocities(run.chain, run.theta, run.omega, [self.point])[:, 0]
        times = self.trail_times(np.linalg.norm(velocity, axis=-1).max(), extent)
        path = [kinematics.points(run.chain, run.at(block).theta, [self.point])[:, 0] for block in blocks(times)]
        return np.concatenate(path)

    def _draw_trail(self, k: int) -> None:
        """Draw the path of the traced point up to frame k, the older the paler."""
        if not self.look.trail or k == 0:
            return
        newest, long = self.trail(k)
        bounds = np.maximum(0, np.round(np.linspace(newest - long, newest, FADE + 1)).astype(int))
        width = min(3.0, max(1.2, 0.0035 * min(self.look.size)))
        for step in range(FADE):
            piece = self.path[bounds[step] : bounds[step + 1] + 1] + self.shift[k]
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
