"""The flip map: how long a chain takes from two start angles until a link turns over; cell by cell, coarse first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.integrators.accuracy import FLIP_PICTURE
from nlink.integrators.runge_kutta import DOP853
from nlink.mechanics.system import System
from nlink.scenario import Scenario
from nlink.simulation.events import Flip
from nlink.simulation.integrate import simulate
from nlink.studio.messages import FieldError, Json, counted, ranged

COARSE = 8
"""Cells on a side of the first, coarse squares."""
METHOD = DOP853(rtol=FLIP_PICTURE, atol=FLIP_PICTURE)
MOST_CELLS, MOST_SECONDS = 96, 200.0


class Grid(NamedTuple):
    """Which links' angles run across and up, from where to where in rad, how many cells a side, and until when flips count."""

    across: int
    up: int
    size: int
    low: float
    high: float
    t_end: float

    @classmethod
    def of(cls, request: Json) -> Grid:
        """Read a request."""
        n = request["model"]["links"]
        n = len(n) if isinstance(n, list) else n
        across, up = counted(request, "across", 0, n - 1), counted(request, "up", 0, n - 1)
        if across == up:
            raise FieldError("up must be another link than across; choose two links", "up")
        low, high = ranged({"low": -np.pi, "high": np.pi} | request, "low", "high")
        _, t_end = ranged({"from": 0.0, "t_end": request.get("t_end")}, "from", "t_end")
        if t_end > MOST_SECONDS:
            raise FieldError(f"t_end must be at most {MOST_SECONDS:g} s for a map, got {t_end:g}", "t_end")
        return cls(across, up, counted(request, "size", 4, MOST_CELLS), low, high, t_end)

    def angle(self, k: int) -> float:
        """Return the angle in the middle of a cell."""
        return self.low + (k + 0.5) / self.size * (self.high - self.low)


def cells(system: System, scenario: Scenario, grid: Grid) -> Iterator[tuple[int, int, int, float | None]]:
    """Yield (row, column, side of the square it stands for, time to the first flip or None), coarse squares first."""
    theta, omega = np.array(scenario.theta), np.array(scenario.omega)
    for row, column, side in _order(grid.size):
        theta[grid.across], theta[grid.up] = grid.angle(column), grid.angle(row)
        yield row, column, side, flip_time(system, theta, omega, grid.t_end)


def flip_time(system: System, theta: np.ndarray, omega: np.ndarray, t_end: float) -> float | None:
    """Return when the first link turns over; None if none does, or if the start does not close."""
    try:
        run = simulate(system, theta, omega, t_end=t_end, integrator=METHOD, save=t_end, events=[Flip(terminal=True)], strict=False)
    except ModelError:
        return None
    if run.status.code == "interrupted":
        raise KeyboardInterrupt
    return run.events[-1].t if run.status.code == "event" else None


def _order(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield every cell once, with the side of the square that it fills until finer ones come."""
    side = COARSE
    while side:
        for row in range(0, size, side):
            for column in range(0, size, side):
                if side == COARSE or row % (2 * side) or column % (2 * side):
                    yield row, column, side
        side //= 2
