"""The times at which a run is saved: a grid, whose times are computed, or a list."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError

MOST_SAVED = 10**8


class SaveTimes(NamedTuple):
    """The times at which a run is saved, from 0 towards `end`: those listed, or else a grid, whose times are computed."""

    listed: np.ndarray
    total: int
    interval: float
    rate: float
    """points a second, if that is a whole number; else 0"""
    end: float
    first: int = 0
    """number of the first that is still to come"""

    def at(self, k: int) -> float:
        """Return the time number k."""
        if len(self.listed):
            return float(self.listed[k])
        return math.copysign(min(k / self.rate if self.rate else k * self.interval, abs(self.end)), self.end)

    def part(self, first: int, count: int) -> np.ndarray:
        """Return some of the times, those there are."""
        stop = min(first + count, self.total)
        if len(self.listed):
            return self.listed[first:stop]
        return self._grid(np.arange(first, stop))

    def _grid(self, numbers: np.ndarray) -> np.ndarray:
        """Return the times of a grid with these numbers."""
        grid = numbers / self.rate if self.rate else numbers * self.interval
        return math.copysign(1.0, self.end) * np.minimum(grid, abs(self.end))

    def all(self) -> np.ndarray:
        """Return all times."""
        return self.part(0, self.total)

    def until(self, t: float) -> int:
        """Return how many of all times do not lie beyond t."""
        sign = math.copysign(1.0, self.end)
        if len(self.listed):
            return int(np.searchsorted(sign * self.listed, sign * t, side="right"))
        guess = max(int(min(sign * t / self.interval, self.total)) - 2, 0)
        return guess + int(np.searchsorted(sign * self.part(guess, 5), sign * t, side="right")) if sign * t >= 0 else 0

    def holds(self, times: np.ndarray) -> np.ndarray:
        """Return which of some times are among these."""
        if len(self.listed):
            return np.isin(times, self.listed)
        nearest = np.minimum(np.rint(np.abs(times) / self.interval), self.total - 1)
        return (times == self._grid(nearest)) | (times == self.at(self.total - 1))


def save_times(save: float | tuple[float, ...], t_end: float) -> SaveTimes:
    """Return the times to save at, from 0 towards t_end: a grid (and t_end), or the times given, checked."""
    sign = math.copysign(1.0, t_end)
    if isinstance(save, tuple):
        times = np.array(save, float)
        onward = sign * times  # from 0 towards t_end
        if onward[0] < 0 or onward[-1] > abs(t_end) or (onward[1:] <= onward[:-1]).any():
            span = f"{len(times)} times from {times[0]:g} to {times[-1]:g}"
            raise ModelError(f"save must run from 0 towards t_end = {t_end:g} without a repeat, got {span}")
        return SaveTimes(times, len(times), 1.0, 0.0, float(t_end))
    if abs(t_end) / save > MOST_SAVED:
        points = f"{abs(t_end) / save:.2g} points up to t_end = {t_end:g}"
        raise ModelError(f"save = {save:g} would keep {points}; use a larger interval")
    whole = round(1 / save)
    rate = float(whole) if abs(1 / save - whole) < 1e-9 / save else 0.0
    grid = SaveTimes(np.empty(0), math.floor(abs(t_end) / save * (1 + 1e-12)) + 1, float(save), rate, float(t_end))
    return grid if abs(grid.at(grid.total - 1) - t_end) <= 1e-9 * save else grid._replace(total=grid.total + 1)
