"""The steps of an integrator that a run keeps beside its saved points: all at first, then every second, every fourth, ..."""

from __future__ import annotations

import numpy as np

MOST_KNOT_NUMBERS = 4_000_000


def most_knots(m: int) -> int:
    """Return how many steps with states of m numbers are kept."""
    return max(2, MOST_KNOT_NUMBERS // (2 * m))


class KnotStore:
    """Steps in memory, evenly spaced: when there is no more room, every second one of all is dropped."""

    def __init__(self, m: int) -> None:
        room = most_knots(m)
        self.arrays = np.empty(room), np.empty((room, m)), np.empty((room, m))
        self.room, self.count, self.stride, self._skip = room, 0, 1, 0

    @property
    def kept(self) -> tuple[np.ndarray, ...]:
        """Times, states and rates."""
        return tuple(own[: self.count] for own in self.arrays)

    def add(self, *steps: np.ndarray) -> None:
        """Add times, states and rates of steps."""
        for part in range(0, len(steps[0]), self.room):
            self._add(*(values[part : part + self.room] for values in steps))

    def _add(self, *steps: np.ndarray) -> None:
        count = len(steps[0])
        while self.count + len(range(self._skip, count, self.stride)) > self.room:
            self._drop()
        chosen = range(self._skip, count, self.stride)
        for own, values in zip(self.arrays, steps, strict=True):
            own[self.count : self.count + len(chosen)] = values[self._skip :: self.stride]
        self.count += len(chosen)
        self._skip += self.stride * len(chosen) - count

    def _drop(self) -> None:
        half = (self.count + 1) // 2
        for own in self.arrays:
            own[:half] = own[: self.count : 2].copy()
        self._skip += self.stride * (self.count % 2)
        self.count, self.stride = half, 2 * self.stride


class Thinning:
    """Which steps are written to a file, from which none can be dropped: `room` at stride 1, and half as many at each stride after
    it, so that their number grows with the logarithm of all steps.
    """

    def __init__(self, room: int, stride: int, skip: int, since: int) -> None:
        self.room, self.stride, self.skip, self.since = room, stride, skip, since

    @property
    def state(self) -> tuple[int, int, int]:
        """What it takes to go on."""
        return self.stride, self.skip, self.since

    def chosen(self, count: int) -> list[int]:
        """Return which of the next `count` steps are kept."""
        out: list[int] = []
        while self.skip < count:
            out.append(self.skip)
            self.since += 1
            if self.since >= self.room:
                self.stride, self.since = 2 * self.stride, self.room // 2
            self.skip += self.stride
        self.skip -= count
        return out
