"""Draw the presets of mechanisms in motion on one sheet, for docs/mechanisms.md.

python scripts/mechanism_pictures.py docs/mechanisms.webp
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from PIL import Image

import nlink
from nlink.view.frames import Frames
from nlink.view.looks import Look

SHOWN = {
    "cart-pole": 1.5, "cart-2": 3.0, "kapitza": 0.6, "floating-3": 2.0, "tree-5": 1.2, "slider-crank": 2.0,
    "four-bar": 1.5, "watt": 3.0, "peaucellier": 3.2, "jansen": 3.3, "andrews": 0.02, "a02-40": 0.6,
}  # fmt: skip
"""The presets and the time of each at which it is shown, in s."""
SIZE, ACROSS, QUALITY = 320, 4, 80


def picture(name: str, t_end: float) -> Image.Image:
    """Return a preset at the end of a run to t_end, with the path up to there."""
    scenario = nlink.preset(name)
    settings = replace(scenario.settings, t_end=t_end, save=min(0.01, t_end / 200))
    run = replace(scenario, settings=settings, title=name).run()
    frames = Frames(run, np.linspace(0.0, t_end, 101), Look((SIZE, SIZE), trail=t_end, theme="light"))
    return frames.draw(len(frames) - 1)


def main(path: str) -> None:
    """Write the sheet."""
    sheet = Image.new("RGB", (ACROSS * SIZE, -(-len(SHOWN) // ACROSS) * SIZE))
    for k, (name, t_end) in enumerate(SHOWN.items()):
        sheet.paste(picture(name, t_end), (k % ACROSS * SIZE, k // ACROSS * SIZE))
    sheet.save(path, quality=QUALITY)


if __name__ == "__main__":
    main(*sys.argv[1:])
