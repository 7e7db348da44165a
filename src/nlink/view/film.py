"""What the frames of an animation have in common, in the plane and in space: their title and clock, and the points of the trail."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from PIL import Image

from nlink._support.checks import MOST_TITLE
from nlink.run.run import Run
from nlink.view.looks import BEYOND, Look, clock_decimals, trusted_times
from nlink.view.pen import Pen, width_of, write
from nlink.view.scene import SMALL, text_height, title_for
from nlink.view.style import heading, minus, named_theme

PARTS = 32
"""Most points of the trail from one frame to the next."""


class Film(ABC):
    """The frames of a run at the given times; `draw(k)` makes one of them."""

    hop: ClassVar[float]
    """most pixels between two points of the trail, if PARTS allow it"""
    path: np.ndarray
    """the points of the trail"""

    def __init__(self, run: Run, times: np.ndarray, look: Look) -> None:
        self.run, self.times, self.look, self.theme = run, times, look, named_theme(look.theme)
        self.decimals, self.trusted = clock_decimals(times), trusted_times(run, times)
        self.letter, self.pen = text_height(look.size), Pen(look.size)
        note = 0.0 if self.trusted.all() else width_of(BEYOND, SMALL * self.letter)
        clock = max(width_of(max(map(self.time, (0, -1)), key=len), self.letter), note)
        self.title = title_for(heading(run, MOST_TITLE), look.size, clock if look.timer else 0.0)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.times)

    @abstractmethod
    def draw(self, k: int) -> Image.Image:
        """Return frame k as an RGB image."""

    @abstractmethod
    def palette(self, clear: int) -> Image.Image:
        """Return an image that carries the palette of a GIF, with `clear` colours and one that is transparent."""

    def time(self, k: int) -> str:
        """Return what the timer shows in frame k."""
        return minus(f"t = {self.times[k]:.{self.decimals}f} s")

    def write_clock(self, image: Image.Image, k: int) -> None:
        """Write the time of frame k, and whether it is beyond the trusted time."""
        x, letter, trusted = self.look.size[0] - 0.8 * self.letter, self.letter, self.trusted[k]
        write(image, (x, 1.1 * letter), self.time(k), letter, self.theme.ink if trusted else self.theme.muted, "rm")
        if not trusted:
            write(image, (x, 2.2 * letter), BEYOND, SMALL * letter, self.theme.muted, "rm")

    def trail_times(self, speed: float, extent: float) -> np.ndarray:
        """Return the times of the points of the trail, for a speed of its point in m/s and an extent of the picture in m."""
        count = len(self.times)
        if count == 1:
            return self.times
        pixels = speed * abs(self.times[1] - self.times[0]) * min(self.look.size) / extent
        parts = min(PARTS, max(1, math.ceil(pixels / self.hop)))
        return np.interp(np.arange((count - 1) * parts + 1) / parts, np.arange(count), self.times)

    def trail(self, k: int) -> tuple[int, float]:
        """Return the newest point of the trail in frame k > 0, and how many points it is long."""
        parts = (len(self.path) - 1) // (len(self.times) - 1)
        return k * parts, self.look.trail / abs(self.times[1] - self.times[0]) * parts
