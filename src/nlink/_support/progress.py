"""What a person sees while waiting: a progress bar with the time left, on a terminal only."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

QUIET = "NLINK_QUIET"
"""The variable of the environment that silences the line about compiling: a command with -q sets it, a library may."""
PATIENCE = 0.4
"""Seconds before anything is shown: short work shows nothing."""


class Bar:
    """A progress bar on stderr that appears only if the work lasts and a terminal is there."""

    def __init__(self, label: str, enabled: bool = True, unit: str = "") -> None:
        """`unit` names what is counted, and has the bar show how many a second."""
        self.label, self.enabled, self.unit = label, enabled and sys.stderr.isatty(), unit
        self.started, self.drawn = time.perf_counter(), 0.0
        self._bar: Progress | None = None
        self._first: float | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, total: float) -> None:
        """Show that `done` of `total` is done."""
        now = time.perf_counter()
        self._first = done if self._first is None else self._first
        if not self.enabled or now - self.started < PATIENCE or now - self.drawn < 0.1:
            return
        self.drawn = now
        if self._bar is None:
            self._bar = self._started(int(done))
        rate = f"{(done - self._first) / (now - self.started):,.0f} {self.unit}/s" if self.unit else ""
        self._bar.update(self._task, completed=done, total=total, rate=rate)

    def _started(self, done: int) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        rate = (TextColumn("{task.fields[rate]}"),) if self.unit else ()
        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), *rate, TimeRemainingColumn(compact=True)
        bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=True)
        self._task = bar.add_task(self.label, total=1.0, completed=done, rate="")
        bar.start()
        return bar
