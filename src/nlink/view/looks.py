"""What the frames of an animation show: how they look, which moments they are, what their clock says."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nlink._support.checks import ModelError, choice, listed, number, shown
from nlink.mechanics.points import Point
from nlink.run.run import Run
from nlink.view.style import named_theme, refuse_empty

STYLES = ("bar", "line")
SIZES = (16, 4096)
FRAMES = 100_000
"""Most frames of one animation."""
BEYOND = "beyond the trusted time"
MOMENT, SHOWN = 0.5, 8.0
"""s: a run shorter than this is shown in slow motion, for so long, if no speed is given."""
BLOCK = 4096
"""Moments interpolated at once, which bounds the memory."""
MOST_TURN, UPRIGHT = 3600.0, 90.0
"""Degrees: the fastest turn of the view in a second, and the highest elevation."""


@dataclass(frozen=True)
class Look:
    """What the frames show: the width and height in pixels, how long the trail stays visible, what is drawn, how the links look.

    The trail is the path of the point `trace`, of the last end if None, in a closed chain of its middle, in seconds of the motion.
    The timer shows the time, `centres` are the centres of mass, the style is "bar" or "line", the theme light or dark; None for
    that of Matplotlib's style. In space the view is from an azimuth about the vertical, from the front (z) to the right (x), and an
    elevation, in degrees; `turn` in degrees a second turns it.
    """

    size: tuple[int, int] = (640, 640)
    trail: float = 1.0
    hinges: bool = True
    timer: bool = True
    centres: bool = False
    style: str = "bar"
    theme: str | None = None
    trace: Point | None = None
    azimuth: float | None = None
    elevation: float | None = None
    turn: float = 0.0

    def __post_init__(self) -> None:
        size: object = self.size
        low, high = SIZES
        if not (listed(size) and len(size) == 2 and all(isinstance(s, int | np.integer) and low <= s <= high for s in size)):
            raise ModelError(f"size must be (width, height), two whole numbers of pixels from {low} to {high}, got {shown(size)}")
        object.__setattr__(self, "size", (int(size[0]), int(size[1])))
        self._set("trail", least=0)
        choice("style", self.style, STYLES)
        named_theme(self.theme)
        self._set("azimuth")
        self._set("elevation", least=-UPRIGHT, most=UPRIGHT)
        self._set("turn", least=-MOST_TURN, most=MOST_TURN)

    def _set(self, name: str, **bounds: float) -> None:
        """Check an option, if it is given; messages call it by its name alone."""
        if getattr(self, name) is not None:
            object.__setattr__(self, name, number(name, getattr(self, name), **bounds))

    @property
    def of_space(self) -> list[str]:
        """The options that are given and that only a run in space has."""
        given = {"azimuth": self.azimuth is not None, "elevation": self.elevation is not None, "turn": self.turn != 0}
        return [name for name, said in given.items() if said]


def frame_times(run: Run, speed: float | None, fps: float) -> np.ndarray:
    """Return the times of the frames: speed/fps apart, the last one at the end of the run.

    If no speed is given it is real time, or slow motion for a run that would be over in a moment.
    """
    refuse_empty(run)
    start, end = float(run.t[0]), float(run.t[-1])
    usual = abs(end - start) / SHOWN if 0 < abs(end - start) < MOMENT else 1.0
    step = (usual if speed is None else number("speed", speed, above=0)) / number("fps", fps, above=0)
    steps = abs(end - start) / step
    if steps >= FRAMES:
        raise ModelError(f"the animation would have {steps:,.0f} frames, more than {FRAMES:,}; raise speed or lower fps")
    times = start + math.copysign(step, end - start) * np.arange(math.ceil(steps - 1e-6) + 1)
    times[-1] = end
    return times


def blocks(times: np.ndarray) -> list[np.ndarray]:
    """Return times in parts that are interpolated at once."""
    return np.split(times, range(BLOCK, len(times), BLOCK))


def trusted_times(run: Run, times: np.ndarray) -> np.ndarray:
    """Return which moments lie within the trusted time of the run."""
    until = run.trusted_until
    return np.full(len(times), True) if until is None else np.abs(times - times[0]) <= abs(until - times[0])


def clock_decimals(times: np.ndarray) -> int:
    """Return how many decimals the timer needs: two, more for a run shorter than a second."""
    duration = abs(times[-1] - times[0])
    return max(2, 2 - math.floor(math.log10(duration))) if duration > 0 else 2
