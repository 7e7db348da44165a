"""Drawing with Matplotlib's Agg renderer directly: smooth edges at any place between pixels, about 10 us a line.

Pixels count from the lower left corner. Texts are set by Pillow.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path as File
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, IdentityTransform
from PIL import Image, ImageDraw, ImageFont

from nlink.view.style import Colour

_STILL = IdentityTransform()
_CIRCLE = Path.unit_circle()


class Pen:
    """A sheet of pixels to draw on."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self._agg = RendererAgg(*size, 72)
        self._style: Any = self._agg.new_gc()
        self._style.set_snap(False)
        self._pixels = np.asarray(self._agg.buffer_rgba())

    @property
    def pixels(self) -> np.ndarray:
        """What is drawn so far, (H, W, 4)."""
        return self._pixels

    def line(self, points: np.ndarray, colour: Colour, width: float, cap: Literal["butt", "round"] = "round") -> None:
        """Draw a line through points (K, 2)."""
        self._style.set_linewidth(width)
        self._style.set_capstyle(cap)
        self._style.set_joinstyle("round")
        self._style.set_foreground((*colour, 1.0), isRGBA=True)
        self._agg.draw_path(self._style, Path(points), _STILL)

    def area(self, corners: np.ndarray, colour: Colour) -> None:
        """Fill the area within corners (K, 2)."""
        self._style.set_linewidth(0.0)
        self._agg.draw_path(self._style, Path(corners, closed=False), _STILL, colour)

    def disc(self, at: np.ndarray, radius: float, colour: Colour, edge: Colour, width: float = 1.0) -> None:
        """Draw a disc with an edge."""
        self._style.set_linewidth(width)
        self._style.set_foreground((*edge, 1.0), isRGBA=True)
        self._agg.draw_path(self._style, _CIRCLE, Affine2D.from_values(radius, 0, 0, radius, *at), colour)

    def picture(self) -> Image.Image:
        """Return what was drawn, as an RGB image."""
        return Image.frombuffer("RGBA", self.size, self._pixels, "raw", "RGBA", 0, 1).convert("RGB")

    def fill(self, colour: Colour) -> None:
        """Start again from one colour."""
        self._pixels[:] = [*(round(255 * part) for part in colour), 255]

    def reset(self, ground: np.ndarray) -> None:
        """Start again from a ground (H, W, 4)."""
        self._pixels[:] = ground


def write(image: Image.Image, at: tuple[float, float], text: str, height: float, colour: Colour, anchor: str) -> None:
    """Set a text on an image: `at` from the upper left corner, `height` of the letters in pixels, Pillow's anchor."""
    ink = tuple(round(255 * part) for part in colour)
    ImageDraw.Draw(image).text(at, text, fill=ink, font=_font(round(height)), anchor=anchor)


def width_of(text: str, height: float) -> float:
    """Return the width of a text in pixels."""
    return _font(round(height)).getlength(text)


@cache
def _font(height: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(File(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), max(1, height))
