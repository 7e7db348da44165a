"""What is sampled from the steps of a run while they are taken: states at the times to be saved, and flips."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nlink.compiled.jit import kernel
from nlink.integrators.flips import FlipRoom, flip_room
from nlink.integrators.save_times import SaveTimes


class Sampling(NamedTuple):
    """What a call of `advance` samples: states (rows, m) at the times that the steps pass, in the order of the times; and flips."""

    times: SaveTimes
    states: np.ndarray
    flips: FlipRoom


@lru_cache(64)
def no_sampling(m: int) -> Sampling:
    """Return what samples nothing from states of m numbers."""
    none = np.empty(0)
    return Sampling(SaveTimes(none, 0, 1.0, 0.0, 0.0), np.empty((0, m)), flip_room(none, none, m, 0))


@kernel
def save_time(times, k):
    """Return the time number k."""
    if len(times.listed) > 0:
        return times.listed[k]
    grid = k / times.rate if times.rate > 0.0 else k * times.interval
    return math.copysign(min(grid, abs(times.end)), times.end)
