"""The steps of an integrator that a run keeps beside its saved points: all at first, then every second, every fourth, ..."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MOST_KNOT_NUMBERS = 4_000_000


def most_knots(m: int) -> int:
    """Return how many steps with states of m numbers are kept."""
    return max(2, MOST_KNOT_NUMBERS // (2 * m))


class KnotStore:
    """Steps in memory, evenly spaced: when there is no more room, every second one of all is dropped."""

    def __init__(self, m: int) -> None:
        self.room, self.count, self.stride, self._seen = most_knots(m), 0, 1, 0
        self.arrays: tuple[np.ndarray, ...] = (np.empty(0), np.empty((0, m)), np.empty((0, m)))

    @property
    def kept(self) -> tuple[np.ndarray, ...]:
        """Times, states and rates."""
        return tuple(own[: self.count] for own in self.arrays)

    def add(self, *steps: np.ndarray) -> None:
        """Add times, states and rates of steps."""
        if self.stride == 1 and self.count + len(steps[0]) <= self.room:
            self._put(steps)
            return
        for k in range(0, len(steps[0]), self.room):
            part = [values[k : k + self.room] for values in steps]
            while self.count + len(part[0][-self._seen % self.stride :: self.stride]) > self.room:
                half = (self.count + 1) // 2
                for own in self.arrays:
                    own[:half] = own[: self.count : 2].copy()
                self.count, self.stride = half, 2 * self.stride
            self._put([values[-self._seen % self.stride :: self.stride] for values in part], len(part[0]))

    def _put(self, steps: Sequence[np.ndarray], seen: int | None = None) -> None:
        """Keep all of these steps, which are some of those seen.

        The first take no more memory than they need: most runs are one chunk, and the system takes longer to clear memory than to
        copy the steps. Then there is room for as many again.
        """
        begin, end = self.count, self.count + len(steps[0])
        if end > len(self.arrays[0]):
            old = self.kept
            self.arrays = _rows(min(2 * end, self.room) if begin else end, steps[1].shape[1])
            for own, values in zip(self.arrays, old, strict=True):
                own[:begin] = values
        for own, values in zip(self.arrays, steps, strict=True):
            own[begin:end] = values
        self.count = end
        self._seen += len(steps[0]) if seen is None else seen


def _rows(count: int, m: int) -> tuple[np.ndarray, ...]:
    """Return room for times, states and rates in one piece of memory: freed in one piece it serves the next run as it is, where the
    C library would give several pieces back to the system.
    """
    block = np.empty(count * (1 + 2 * m))
    y, f = block[count:].reshape(2, count, m)
    return block[:count], y, f


def thinned(count: int, room: int, thinning: tuple[int, int, int]) -> tuple[list[int], tuple[int, int, int]]:
    """Return which of the next `count` steps are written to a file, from which none can be dropped, and the thinning after them.

    There are `room` steps at stride 1, and half as many at each stride after it, so that their number grows with the logarithm of
    all steps. `thinning` is the stride, the steps to skip, and the steps kept at this stride.
    """
    (stride, skip, since), rows = thinning, []
    while skip < count:
        taken = range(skip, count, stride)[: room - since]
        rows += taken
        since += len(taken)
        if since >= room:
            stride, since = 2 * stride, room // 2
        skip = taken[-1] + stride
    return rows, (stride, skip - count, since)
