"""Runs written to their file as they go: memory for one block of saved points, whatever the length of the run.

About once a second what has come is committed together with the state from which the run goes on, so that a run that was killed
loses a second at most, and repeats the very steps it lost. A run that is resumed is copied to a new file first: nothing that
was there is touched before the new file is complete.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nlink._support.checks import ModelError
from nlink.integrators.base import Restart
from nlink.integrators.save_times import SaveTimes
from nlink.mechanics.system import System
from nlink.run.file import copy
from nlink.run.readout import knot_names
from nlink.run.run import Checkpoint, Run, Stats, Status
from nlink.run.writer import RunFileError, RunWriter
from nlink.scenario import Scenario
from nlink.simulation.knots import most_knots, thinned
from nlink.simulation.recording import BLOCK_NUMBERS, Record, checkpoint, decoded, read_out, rows_before, watched_until

SECONDS = 1.0
"""Time between two commits."""
APPENDED_NUMBERS = 250_000
"""Numbers of states that are read out and appended to the file at a time: to append takes a while, however few they are."""
SHARE = 20
"""A commit that takes long is followed by a pause so many times as long."""


class StreamedRecord(Record):
    """What a run keeps as it goes, in a file."""

    def __init__(self, times: SaveTimes, scenario: Scenario, system: System, path: Path, meta: dict[str, object]) -> None:
        super().__init__(times, system)
        self.scenario, m = scenario, system.full_size
        self.read_block = max(1, APPENDED_NUMBERS // m)
        names = list(read_out(system, np.empty(0), np.empty((0, m))))
        self.writer = RunWriter(path, scenario, meta, m, names, max(1, times.total - times.first))
        self._cost, self._seen, self._at = Stats(0, 0, 0, 0.0), -1.0, math.nan
        self._reached = 0.0
        self._committed, self._pause = time.perf_counter(), SECONDS
        self._thinning = Checkpoint.thinning
        self._new = True

    def begin(self, start: Restart, earlier: Run | None) -> None:
        """Take over the earlier run, or the start, and let the file be seen."""
        self._new = earlier is None
        if earlier is not None and earlier.checkpoint is not None:
            copy(self.writer, earlier, *rows_before(earlier, self.scenario))
            self._cost, self._seen = earlier.stats, watched_until(earlier)
            self._at, self._thinning = earlier.checkpoint.t, earlier.checkpoint.thinning
        super().begin(start, earlier)
        self._commit(Status("running", f"begun at t = {start.t:g} s"), Stats(0, 0, 0, 0.0), start)
        self.writer.publish()

    def _takes_start(self, earlier: Run | None) -> bool:
        return earlier is None or earlier.status.code == "event"

    def add_knots(self, t: np.ndarray, y: np.ndarray, f: np.ndarray) -> None:
        """Write steps that tell more than the saved points do, all or every second, fourth, ..."""
        save, length = self.scenario.settings.save, np.abs(np.diff(t, prepend=self._at))
        self._at = float(t[-1]) if len(t) else self._at
        fine = np.flatnonzero(length < save * (1 - 1e-9)) if isinstance(save, float) else np.arange(len(t))
        rows, self._thinning = thinned(len(fine), most_knots(self.system.full_size), self._thinning)
        if rows:
            rows = fine[rows]
            track = t[rows], *decoded(self.system, y[rows], f[rows])
            self.writer.append(dict(zip(knot_names(self.system.chain), track, strict=True)))

    def keep_up(self, cost: Stats, point: Restart) -> None:
        """Commit, if it is time; events of long chains are written at once, for each holds a state."""
        if len(self.events) * self.system.full_size > BLOCK_NUMBERS:
            self._bring()
        if time.perf_counter() - self._committed >= self._pause:
            self._commit(Status("running", f"at t = {point.t:g} s"), cost, point)

    def finished(self, scenario: Scenario, status: Status, cost: Stats, point: Restart, meta: dict[str, object]) -> Run:
        """Complete the file and return its run."""
        self._bring()
        run = self.writer.finish(status, self._cost.plus(cost), self._checkpoint(point))
        return replace(run, scenario=scenario, meta=meta)

    def __exit__(self, *failure: Any) -> None:
        """Leave what was committed, and say where, unless that is nothing but the start."""
        if failure[0] is None:
            return
        empty = self._new and self.writer.commits < 2
        self.writer.leave(remove=empty and issubclass(failure[0], ModelError | RunFileError))
        if isinstance(failure[1], RunFileError) and not self.writer.whole:
            kept = f"the run up to t = {self._reached:g} s is in {self.writer.part}: make room, then resume it"
            raise RunFileError(f"{failure[1]}; {'make room, or give another file' if empty else kept}") from None

    def _room(self, count: int, m: int) -> np.ndarray:
        """Return rows for all states that one call of the integrator may pass, or as many as can be had; most stay unused."""
        while True:
            try:
                return np.empty((count, m))
            except MemoryError:
                count //= 2

    def _append(self, columns: dict[str, np.ndarray]) -> None:
        self.writer.append(columns)

    def _commit(self, status: Status, cost: Stats, point: Restart) -> None:
        begun = time.perf_counter()
        self._bring()
        self.writer.commit(status, self._cost.plus(cost), self._checkpoint(point))
        self._reached = point.t
        self._committed = time.perf_counter()
        self._pause = max(SECONDS, SHARE * (self._committed - begun))

    def _bring(self) -> None:
        """Bring what is still in memory to the file."""
        self.read_out()
        self.writer.append_events([event for event in self.events if abs(event.t) > self._seen])
        self.events.clear()

    def _checkpoint(self, point: Restart) -> Checkpoint:
        return replace(checkpoint(self.system, point), thinning=self._thinning)
