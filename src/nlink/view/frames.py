"""The frames of an animation: where everything lies in the picture, and how one moment is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from nlink import kinematics
from nlink._check import ModelError, choice, listed, number, shown
from nlink.run import Run
from nlink.view.pen import Pen, width_of, write
from nlink.view.style import ACCENT, INK, MUTED, Colour, heading, link_colours, mixed, refuse_empty

STYLES = ("bar", "line")
SIZES = (16, 4096)
FRAMES = 100_000
"""Most frames of one animation."""
FADE = 12
"""Steps in which the trail fades."""
TEXT = 120
"""Pictures smaller than this carry no text."""
GROUND: Colour = (0.985, 0.985, 0.98)
LINES: Colour = (0.925, 0.93, 0.935)


@dataclass(frozen=True)
class Look:
    """What the frames show: size in pixels, trail in seconds of the motion, what is drawn, and how the links look."""

    size: tuple[int, int] = (640, 640)
    trail: float = 1.0
    hinges: bool = True
    timer: bool = True
    centres: bool = False
    style: str = "bar"

    def __post_init__(self) -> None:
        size: Any = self.size
        low, high = SIZES
        whole = listed(size) and len(size) == 2 and all(isinstance(s, int | np.integer) and low <= s <= high for s in size)
        if not whole:
            raise ModelError(f"size must be (width, height), two whole numbers of pixels from {low} to {high}, got {shown(size)}")
        object.__setattr__(self, "size", (int(size[0]), int(size[1])))
        object.__setattr__(self, "trail", number("trail", self.trail, least=0))
        choice("style", self.style, STYLES)


def frame_times(run: Run, speed: float, fps: float) -> np.ndarray:
    """Return the times of the frames: speed/fps apart, the last one at the end of the run."""
    refuse_empty(run)
    step = number("speed", speed, above=0) / number("fps", fps, above=0)
    start, end = run.t[0], run.t[-1]
    count = math.ceil(abs(end - start) / step * (1 - 1e-12)) + 1
    if count > FRAMES:
        raise ModelError(f"the animation would have {count:,} frames, more than {FRAMES:,}; raise speed or lower fps")
    times = start + math.copysign(step, end - start) * np.arange(count)
    times[-1] = end
    return times


class Frames:
    """The frames of a run at the given times; `frames.draw(k)` is one of them."""

    def __init__(self, run: Run, times: np.ndarray, look: Look) -> None:
        self.run, self.times, self.look = run, times, look
        hinges, centres = _places(run, times)
        fine = _between(times, self._steps(hinges))
        tip = _places(run, fine)[0][:, -1] if look.trail else hinges[:, -1]
        shown = [hinges.reshape(-1, 2), tip, *([centres.reshape(-1, 2)] if look.centres else [])]
        self.camera = Camera(look.size, np.concatenate(shown), float(run.chain.length.mean()))
        self.hinges, self.tip = self.camera.pixels(hinges), self.camera.pixels(tip)
        self.centres = self.camera.pixels(centres)
        self.feet = self.camera.pixels(_feet(run, hinges))
        self.colours = link_colours(run.chain.n)
        self.pen = Pen(look.size)
        self.ground = _scenery(self.pen, self.camera, heading(run), look)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.times)

    def draw(self, k: int) -> Image.Image:
        """Return frame k as an RGB image."""
        self.pen.reset(self.ground)
        self._draw_trail(k)
        self._draw_links(self.hinges[k])
        if self.look.centres:
            self._draw_centres(self.feet[k], self.centres[k])
        image = self.pen.picture()
        if self.look.timer and min(self.look.size) >= TEXT:
            self._write_time(image, self.times[k])
        return image
