"""Animations of a run as GIF or MP4, frame by frame, so that memory does not grow with their length; or as a page (see page.py).

A GIF has one fixed palette: the colours of the picture, each in steps towards the ground for smooth edges. A frame
stores only the rectangle that changed, and in it only the pixels that changed; the rest is transparent.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import GifImagePlugin, Image

from nlink._support.checks import ModelError, number, shown
from nlink._support.endings import ANIMATIONS, PAGE, any_of
from nlink._support.files import written_whole
from nlink.run.run import Run
from nlink.view.film import Film
from nlink.view.frames import Frames
from nlink.view.looks import Look, frame_times
from nlink.view.page import run_page
from nlink.view.space.frames import SpaceFrames
from nlink.view.style import Progress
from nlink.view.takes import checked_trace

FASTEST = dict(zip(ANIMATIONS, (100.0, 1000.0, math.inf), strict=True))
"""Most frames per second of each kind of file; a page draws as many as the screen shows."""
SLOWEST = 0.01
CLEAR = 255
"""The palette's index for a pixel that stays as it was."""


def animate(
    run: Run,
    path: str | os.PathLike[str],
    *,
    speed: float | None = None,
    fps: float = 50,
    progress: Progress | None = None,
    **look: Any,
) -> Path:
    """Write an animation of a run, .gif, .mp4 or .html, and return its path; `look` has the options of a Look.

    See `Run.animate`. An .mp4 is rounded up to even numbers of pixels; browsers slow a .gif above 50 frames a second down.
    """
    path = Path(path)
    kind = _kind(path, fps)
    drawn = Look(**look)
    check_look(run, drawn)
    if kind == PAGE:  # at real time it keeps its own pace for very short and long runs
        pace = {} if speed is None or number("speed", speed, above=0) == 1.0 else {"speed": float(speed)}
        shown = {"trail": drawn.trail, "hinges": drawn.hinges, "centres": drawn.centres, "style": drawn.style}
        view = {name: math.radians(getattr(drawn, name)) for name in drawn.of_space if name != "turn"}
        run_page(run, path, theme=drawn.theme, trace=drawn.trace, **shown, **pace, **view)
        return path
    write = _write_gif
    if kind == ".mp4":
        write, drawn = _write_mp4, replace(drawn, size=tuple(side + side % 2 for side in drawn.size))
    frames = frames_of(run, frame_times(run, speed, fps), drawn, float(fps))
    with written_whole(path) as temporary:
        write(temporary, frames, float(fps), progress)
    return path


def check_look(run: Run, look: Look) -> None:
    """Refuse what a run in the plane, or one in space, does not have."""
    if not run.chain.spatial and look.of_space:
        raise ModelError(f"{look.of_space[0]} is for runs in space: this one lies in the plane")
    if run.chain.spatial and look.trace is not None:
        checked_trace(run.chain, look.trace)


def frames_of(run: Run, times: np.ndarray, look: Look, fps: float) -> Film:
    """Return the frames of a run at these times, shown at so many a second."""
    check_look(run, look)
    return SpaceFrames(run, times, look, fps) if run.chain.spatial else Frames(run, times, look)


def _kind(path: Path, fps: float) -> str:
    """Return the kind of file, if it can hold these frames a second."""
    kind = path.suffix.lower()
    if kind not in ANIMATIONS:
        raise ModelError(f"an animation must end in {any_of(ANIMATIONS)}, got {shown(path.name)}")
    if not SLOWEST <= number("fps", fps) <= FASTEST[kind]:
        raise ModelError(f"fps must be from {SLOWEST:g} to {FASTEST[kind]:g} for a {kind}, got {fps:g}")
    return kind


def _write_gif(path: Path, frames: Film, fps: float, progress: Progress | None) -> None:
    palette, stays = frames.palette(CLEAR), delays(len(frames), fps)
    canvas = Image.new("P", frames.look.size)
    canvas.putpalette(palette.getpalette() or [])
    with path.open("wb") as file:
        file.writelines(GifImagePlugin.getheader(canvas, info={"loop": 0, "comment": b"nlink"})[0])
        for k, (image, corner) in enumerate(_changes(frames, palette)):
            file.writelines(GifImagePlugin.getdata(image, corner, duration=10 * stays[k], transparency=CLEAR, disposal=1))
            if progress:
                progress(k + 1, len(frames))
        file.write(b";")


def delays(count: int, fps: float) -> list[int]:
    """Return how long each frame of a GIF stays, in hundredths of a second, spread so that the whole lasts count/fps.

    >>> delays(6, 30)
    [3, 4, 3, 3, 4, 3]
    """
    return np.diff(np.round(100.0 / fps * np.arange(count + 1)).astype(int)).tolist()


def _changes(frames: Film, palette: Image.Image) -> Iterator[tuple[Image.Image, tuple[int, int]]]:
    """Yield for each frame the rectangle that changed, in palette colours, and its upper left corner."""
    last = np.full(frames.look.size[::-1], CLEAR, np.uint8)
    for k in range(len(frames)):
        pixels = np.asarray(frames.draw(k).quantize(palette=palette, dither=Image.Dither.NONE))
        changed = pixels != last
        rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
        top, bottom = (rows[0], rows[-1] + 1) if len(rows) else (0, 1)
        left, right = (columns[0], columns[-1] + 1) if len(rows) else (0, 1)
        box = slice(top, bottom), slice(left, right)
        yield Image.fromarray(np.where(changed[box], pixels[box], np.uint8(CLEAR))), (int(left), int(top))
        last = pixels


def _write_mp4(path: Path, frames: Film, fps: float, progress: Progress | None) -> None:
    options = {
        "quality": 8,
        "macro_block_size": 2,
        "ffmpeg_log_level": "quiet",
        "output_params": ["-movflags", "+faststart", "-metadata", "comment=nlink"],
    }
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ModelError("MP4 needs a package that is not installed: pip install imageio-ffmpeg; or write a .gif") from None
    film = imageio_ffmpeg.write_frames(str(path), frames.look.size, fps=fps, **options)  # pyright: ignore[reportArgumentType]
    try:
        film.send(None)
    except (OSError, RuntimeError, LookupError):
        raise OSError(
            "ffmpeg, which writes MP4, does not start; pip install --force-reinstall imageio-ffmpeg, or write a .gif"
        ) from None
    try:
        for k in range(len(frames)):
            film.send(frames.draw(k).tobytes())
            if progress:
                progress(k + 1, len(frames))
    except OSError:
        raise OSError(f"ffmpeg could not write {path.suffix} to {path.parent}; is the disk full?") from None
    finally:
        film.close()
