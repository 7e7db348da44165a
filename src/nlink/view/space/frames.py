"""The frames of an animation in space: the floor with the shadow of the chain, the chain and its trail from behind to the front.

The view may turn slowly about the vertical.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

from nlink.mechanics.loads import FollowerForce, TipForce
from nlink.mechanics.space import kinematics
from nlink.mechanics.space.model import SpatialChain
from nlink.run.run import Run
from nlink.view.film import Film
from nlink.view.looks import Look, blocks
from nlink.view.pen import write
from nlink.view.scene import LINE, SMALL
from nlink.view.space.floor import draw_axes, draw_floor, write_scale
from nlink.view.space.orbit import OBLIQUE, About, OrbitCamera
from nlink.view.space.painter import Painter
from nlink.view.space.reading import Stand, stand
from nlink.view.style import Colour, link_colours

MOST_FIXED = 12
"""Most links whose colours stand in a palette in any case."""
NEAR = 8
"""Colours of a palette differ by more than this from those."""
SAMPLED = 12
"""Frames that are looked at for the colours of a palette."""


class SpaceFrames(Film):
    """The frames of a run in space, shown at `fps` a second."""

    hop = 5.0

    def __init__(self, run: Run, times: np.ndarray, look: Look, fps: float) -> None:
        assert isinstance(run.chain, SpatialChain)
        super().__init__(run, times, look)
        self.chain, self.fps = run.chain, fps
        position = np.concatenate([run.at(block).position for block in blocks(times)])
        self.stand = stand(self.chain, position)
        self.centres = kinematics.centres(self.chain, position)
        self.path = self._path() if look.trail else self.stand.hinges[:, -1]
        self.camera = self._camera()
        self.painter = Painter(self.chain, self.camera, self.theme, look)
        self.still: np.ndarray | None = None

    def _camera(self) -> OrbitCamera:
        width, height = self.look.size
        solids = np.array([0.0 if solid is None else solid.reach for solid in Painter.solids(self.chain)])
        seen = [self.stand.hinges.reshape(-1, 3), self.path]
        about = About.of(np.concatenate(seen), float(self.chain.length.sum()))
        for i in np.flatnonzero(solids):
            own = About.of(self.centres[:, i], 0.0, float(solids[i]))
            about = About(*(pick(a, b) for pick, a, b in zip((max, min, max), about, own, strict=True)))
        pad = max(4.0, 0.045 * min(width, height))
        top = self.title.bottom + LINE * 0.2 * self.letter
        frame = (pad, pad + 1.2 * SMALL * self.letter, width - pad, height - max(pad, top))
        self.azimuth = OBLIQUE[0] if self.look.azimuth is None else self.look.azimuth
        return OrbitCamera(about, frame, self.azimuth, OBLIQUE[1] if self.look.elevation is None else self.look.elevation)

    def draw(self, k: int) -> Image.Image:
        """Return frame k as an RGB image."""
        if self.look.turn:
            self.camera.turn_to(self.azimuth + self.look.turn * k / self.fps)
        names = self._ground()
        at = Stand(self.stand.hinges[k], self.stand.rotation[k])
        self.painter.paint(self.pen, at, self.centres[k], *self._trail(k))
        self._draw_forces(at)
        image = self.pen.picture()
        if self.letter:
            self._write(image, k, names)
        return image

    @property
    def colours(self) -> list[Colour]:
        """The colours of the links."""
        return link_colours(self.chain.n, self.theme)

    def palette(self, clear: int) -> Image.Image:
        """Return an image that carries a palette of `clear` colours, made of some of the frames."""
        rows = np.unique(np.linspace(0, len(self) - 1, SAMPLED).round().astype(int))
        width, height = self.look.size
        sheet = Image.new("RGB", (width, height * len(rows)))
        for place, k in enumerate(rows.tolist()):
            sheet.paste(self.draw(k), (0, height * place))
        fixed = [self.theme.stage, self.theme.ink, self.theme.accent, *self.colours[:: max(1, self.chain.n // MOST_FIXED)]]
        found = sheet.quantize(clear - len(fixed), method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        kept = np.array([[round(255 * part) for part in colour] for colour in fixed])
        others = np.array(found.getpalette() or [], int).reshape(-1, 3)
        apart = np.abs(others[:, None] - kept).max(-1).min(1) > NEAR  # else Pillow takes one of them for the ground
        colours = np.concatenate([kept, others[apart]]).ravel().tolist()
        image = Image.new("P", (1, 1))
        image.putpalette((colours + colours[:3] * (clear + 1))[: 3 * (clear + 1)])
        return image

    def _ground(self) -> list[tuple[tuple[float, float], str]]:
        """Draw what does not move; return the names of the axes and where they go."""
        if self.still is None or self.look.turn:
            self.pen.fill(self.theme.stage)
            draw_floor(self.pen, self.camera, self.theme)
            self.names = draw_axes(self.pen, self.camera, self.theme, self.look.size) if self.letter else []
            self.still = np.array(self.pen.pixels)
        self.pen.reset(self.still)
        return self.names

    def _trail(self, k: int) -> tuple[np.ndarray, float]:
        """Return the path of the traced point up to frame k (P, 3), and the share of the trail that it fills."""
        if not self.look.trail or k == 0:
            return np.zeros((0, 3)), 1.0
        newest, long = self.trail(k)
        oldest = max(0, round(newest - long))
        return self.path[oldest : newest + 1], min(1.0, (newest - oldest) / long)

    def _path(self) -> np.ndarray:
        """Return the path of the traced point, with as many points between frames as its speed asks for."""
        run, (link, along) = self.run, self._traced()
        velocity = kinematics.hinge_velocities(self.chain, run.position, run.velocity)[:, link + 1]
        times = self.trail_times(np.linalg.norm(velocity, axis=-1).max(), 2 * self.chain.length.sum())
        ends = [kinematics.hinges(self.chain, run.at(block).position)[:, link : link + 2] for block in blocks(times)]
        return np.concatenate([(1 - along) * each[:, 0] + along * each[:, 1] for each in ends])

    def _traced(self) -> tuple[int, float]:
        """Return the link and the place along it, as a share, that draw the trail."""
        point = self.look.trace
        if point is None:
            return self.chain.n - 1, 1.0
        length = float(self.chain.length[point.link])  # type: ignore[union-attr]
        return point.link, 1.0 if point.along is None else point.along / length  # type: ignore[union-attr]

    def _draw_forces(self, at: Stand) -> None:
        tip, follower = self.chain.load(TipForce), self.chain.load(FollowerForce)
        end, way = at.hinges[-1], at.hinges[-1] - at.hinges[-2]
        if tip:
            self.painter.arrow(self.pen, end, np.array([tip.fx, tip.fy, tip.fz or 0.0]), onto=False)
        if follower and follower.force:
            self.painter.arrow(self.pen, end, -np.sign(follower.force) * way, onto=follower.force > 0)

    def _write(self, image: Image.Image, k: int, names: list[tuple[tuple[float, float], str]]) -> None:
        small, theme = SMALL * self.letter, self.theme
        for place, name in names:
            write(image, place, name, small, theme.muted, "mm")
        write_scale(image, self.camera, theme, small)
        self.title.write_on(image, theme.muted)
        if self.look.timer:
            self.write_clock(image, k)
