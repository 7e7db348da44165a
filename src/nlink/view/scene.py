"""The still part of an animation: how metres become pixels, and the ground with its grid, scale, title, pivots, pins and rails."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from nlink.view.pen import Pen, width_of, write
from nlink.view.strokes import Pencil, Stroke
from nlink.view.style import Colour, Theme, minus

TEXT = 160
"""Pictures with a side below this carry no text."""
SHARES, LINES, LINE = (1.0, 0.85, 0.72, 0.6), 3, 1.3
"""Sizes of a title, as parts of the usual one, and most lines before a smaller one is taken; the height of a line in letters."""
SMALL = 0.72
"""Height of the letters of scales and notes, as a part of the usual one."""
SMALLEST, MOST = 9.0, 0.25
"""Least height of letters in pixels, and most of the picture's height that a title takes: what does not fit then is cut off."""
CELLS = 8
"""Grid cells along the shorter side, about."""
SLACK = 0.8
"""The pivot (with a pin, the point midway) stands in the middle unless that shrinks the picture below this share."""
STANDS_OUT = 1.6
"""How far a slider and the hatching of its rail stand out, in thicknesses of a bar."""


class Title(NamedTuple):
    """The title of a picture in lines, the height of its letters in pixels, and that of the usual ones."""

    lines: list[str]
    letter: float
    usual: float

    @property
    def bottom(self) -> float:
        """Where the picture may begin below the title, in pixels from the upper edge."""
        return 2.2 * self.usual + (len(self.lines) - 1) * LINE * self.letter

    def write_on(self, image: Image.Image, colour: Colour) -> None:
        """Write the title on a picture."""
        for k, line in enumerate(self.lines):
            write(image, (0.8 * self.usual, 1.1 * self.usual + k * LINE * self.letter), line, self.letter, colour, "lm")


def title_for(text: str, size: tuple[int, int], aside: float) -> Title:
    """Return a title that leaves `aside` pixels at the right free: in a few lines, in smaller letters if there would be many."""
    usual = text_height(size)
    if not usual:
        return Title([], 0.0, 0.0)
    letter, lines, room = usual, [""], size[0] - aside - 2.6 * usual
    for share in SHARES:
        letter = max(min(SMALLEST, usual), share * usual)
        lines = _wrapped(text, room, letter)
        if len(lines) <= LINES:
            break
    most = max(1, int(MOST * size[1] / (LINE * letter)))
    if len(lines) > most:
        lines = [*lines[: most - 1], _cut(lines[most - 1] + "\N{HORIZONTAL ELLIPSIS}", room, letter)]
    return Title(lines, letter, usual)


def text_height(size: tuple[int, int]) -> float:
    """Return the usual height of letters in pixels; 0 in a picture too small for text."""
    return min(28.0, max(11.0, min(size) / 36)) if min(size) >= TEXT else 0.0


class Camera:
    """Fits points (K, 2) in metres, grounds (pivots and pins) and sliders into a picture of `size` pixels, below its `top`.

    Attributes: `scale` in pixels a metre; `frame` (left, bottom, right, top), the part with the grid; `letter`, the
    height of the title in pixels, 0 in a picture too small for text; `thickness` of a bar.
    """

    def __init__(
        self, size: tuple[int, int], points: np.ndarray, link: float, top: float, grounds: np.ndarray, sliders: np.ndarray
    ) -> None:
        self.size, self.grounds, self.sliders = size, grounds, sliders
        width, height = size
        self.letter = text_height(size)
        self.small = SMALL * self.letter
        left, bottom = 3.7 * self.small, 2.0 * self.small
        self.frame = (left, bottom, width - 0.8 * self.letter, height - top)
        pad = max(3.0, 0.025 * min(size))
        corners = np.stack([points.min(0), points.max(0)])
        self._fit(np.concatenate([corners, grounds]), pad, link)
        for _ in range(2):  # the symbols have their size in pixels: once more, now that the scale is nearly known
            self._fit(np.concatenate([corners, self._symbols(pad)]), pad, link)

    def pixels(self, points: np.ndarray) -> np.ndarray:
        """Return where points (..., 2) in metres lie in the picture, from its lower left corner."""
        return self.scale * points + self.origin

    def moved(self, shift: np.ndarray) -> Camera:
        """Return the camera for a picture that is moved by (dx, dy) pixels."""
        other = copy.copy(self)
        other.origin = self.origin + shift
        return other

    def pencil(self, thin: bool) -> Pencil:
        """Return how thick the bodies are drawn in pixels."""
        width = min(3.0, max(1.2, 0.004 * min(self.size))) if thin else self.thickness
        return Pencil(self.thickness, width, 1.0, thin)

    def symbol(self) -> tuple[float, float]:
        """Return half the width and the height of a ground's symbol, in pixels."""
        half = max(4.0, 0.018 * min(self.size), 1.8 * self.thickness)
        return half, 0.39 * half

    def _symbols(self, pad: float) -> np.ndarray:
        """Return corners of the grounds' symbols and of sliders, in metres, as far as the padding leaves them out."""
        half, height = (max(0.0, side - pad) / self.scale for side in self.symbol())
        out = max(0.0, STANDS_OUT * self.thickness - pad) / self.scale
        symbols = [self.grounds + np.array(corner) for corner in ((-half, 0.0), (half, height))]
        return np.concatenate([*symbols, self.sliders - out, self.sliders + out])

    def _fit(self, points: np.ndarray, pad: float, link: float) -> None:
        left, bottom, right, top = self.frame
        room = np.array([right - left, top - bottom]) - 2 * pad
        low, high = points.min(0), points.max(0)
        centre = self.grounds[:, 0].mean() if len(self.grounds) else (low[0] + high[0]) / 2
        reach = max(centre - low[0], high[0] - centre)
        middle = np.array([centre - reach, low[1]]), np.array([centre + reach, high[1]])
        if self._scale(room, *middle) >= SLACK * self._scale(room, low, high):
            low, high = middle
        self.scale = self._scale(room, low, high)
        self.origin = np.array([left + right, bottom + top]) / 2 - self.scale * (low + high) / 2
        self.thickness = min(0.03 * min(self.size), max(2.5, 0.17 * link * self.scale))

    @staticmethod
    def _scale(room: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
        extent = high - low
        return float(min(r / e for r, e in zip(room, extent, strict=True) if e > 0))


def scenery(camera: Camera, title: Title, theme: Theme, rails: Sequence[Stroke] = ()) -> np.ndarray:
    """Return the ground (H, W, 4): grid, scale, pivots, pins, rails and title."""
    pen = Pen(camera.size)
    pen.fill(theme.stage)
    step = round_step(min(camera.size) / CELLS / camera.scale)
    across, up = _multiples(camera, 0, step), _multiples(camera, 1, step)
    left, bottom, right, top = camera.frame
    for x in _crisp(camera.scale * across + camera.origin[0]):
        pen.line(np.array([[x, bottom], [x, top]]), theme.lines, 1.0, "butt")
    for y in _crisp(camera.scale * up + camera.origin[1]):
        pen.line(np.array([[left, y], [right, y]]), theme.lines, 1.0, "butt")
    for at in camera.pixels(camera.grounds):
        _draw_ground(pen, at, *camera.symbol(), theme.muted)
    for rail in rails:
        pen.line(rail.points, theme.muted, rail.width, "butt")
    image = pen.picture()
    if camera.letter:
        _write_scale(image, camera, across, up, theme.muted)
    title.write_on(image, theme.muted)
    return np.asarray(image.convert("RGBA"))


def _draw_ground(pen: Pen, at: np.ndarray, half: float, hatch: float, colour: Colour) -> None:
    """Draw the ground that a pivot or pin is fixed to: a line with hatching above it."""
    x, y = at
    pen.line(np.array([[x - half, y], [x + half, y]]), colour, 1.5, "butt")
    for start in np.linspace(x - half, x + half - hatch, 6):
        pen.line(np.array([[start, y], [start + hatch, y + hatch]]), colour, 1.0, "butt")


def _write_scale(image: Image.Image, camera: Camera, across: np.ndarray, up: np.ndarray, colour: Colour) -> None:
    """Write the metres along the left and the lower edge; the last one across carries the unit."""
    height, (left, bottom, _, _) = camera.size[1], camera.frame
    for value in across:
        text = _number(value) + (" m" if value == across[-1] else "")
        x = camera.scale * value + camera.origin[0]
        x = min(x, camera.size[0] - width_of(text, camera.small) / 2 - 0.2 * camera.small)
        write(image, (x, height - bottom / 2), text, camera.small, colour, "mm")
    for value in up:
        y = height - (camera.scale * value + camera.origin[1])
        write(image, (left - 0.5 * camera.small, y), _number(value), camera.small, colour, "rm")


def _multiples(camera: Camera, axis: int, step: float) -> np.ndarray:
    """Return the multiples of `step` that lie in the frame, along x (0) or y (1)."""
    low, high = ((camera.frame[axis + side] - camera.origin[axis]) / camera.scale / step for side in (0, 2))
    return step * np.arange(math.ceil(low), math.floor(high) + 1)


def round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(m for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def _crisp(pixels: np.ndarray) -> np.ndarray:
    return np.floor(pixels) + 0.5


def _number(value: float) -> str:
    return minus(f"{value + 0.0:.6g}")


def _wrapped(text: str, room: float, letter: float) -> list[str]:
    """Return a text in lines that fit into `room` pixels; a word that does not fit by itself is broken."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if width_of(longer, letter) <= room:
            lines[-1] = longer
            continue
        lines += [""] * bool(lines[-1])
        for sign in word:
            if lines[-1] and width_of(lines[-1] + sign, letter) > room:
                lines.append("")
            lines[-1] += sign
    return lines


def _cut(text: str, room: float, letter: float) -> str:
    """Return the text, cut short to fit into `room` pixels."""
    if width_of(text, letter) <= room:
        return text
    fitting = (text[:k].rstrip() + "\N{HORIZONTAL ELLIPSIS}" for k in range(len(text) - 1, 0, -1))
    return next((short for short in fitting if width_of(short, letter) <= room), "")
