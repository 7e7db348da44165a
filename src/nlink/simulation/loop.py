"""The one loop that takes a chain through time: compiled chunks of about 50 ms, and between them events, saved points, progress.

Whatever ends a run, what was computed is kept, and the loop returns where the run can go on.
"""

from __future__ import annotations

import math
import time

import numpy as np

from nlink._support.checks import ModelError
from nlink._support.interrupt import Interrupt
from nlink._support.progress import Bar
from nlink.integrators.base import ARRIVED, NOT_FINITE, RUNNING, Chunk, Integrator, Restart, Stepper
from nlink.integrators.sampling import Sampling
from nlink.mechanics.system import System, beyond
from nlink.run.run import Stats, Status
from nlink.simulation import statuses
from nlink.simulation.events import Occurrence, Watches, passages
from nlink.simulation.recording import Record

CHUNK_SECONDS = 0.05
MOST_STEPS_OF_A_CHUNK = 100_000
FIRST_WORK, MOST_FIRST = 2_000_000, 5_000
"""Steps of the first chunk, if all of a step is compiled: so many, divided by the square of the length of a state, and at most.
That is some ms of work, and a quarter of a second by dense formulations of hundreds of links.
"""
WEIGHED = 8
"""Knots of a chunk whose energy is looked at where few points are saved."""
End = tuple[Status, Restart]
"""How a run ended, and where it can go on."""


class Loop:
    """A run under way."""

    def __init__(
        self, system: System, method: Integrator, stepper: Stepper, t_end: float, watches: Watches, record: Record
    ) -> None:
        self.system, self.method, self.stepper, self.t_end = system, method, stepper, t_end
        self.watches, self.record, self.sign = watches, record, math.copysign(1.0, t_end)
        calls_python = watches.uncompiled or system.calls_python or not stepper.powers
        self.limit = 4 if calls_python else max(4, min(FIRST_WORK // system.full_size**2, MOST_FIRST))
        self.begun = time.perf_counter()

    @property
    def cost(self) -> Stats:
        """What the run has cost so far."""
        stepper = self.stepper
        return Stats(stepper.nfev, stepper.steps, stepper.rejected, time.perf_counter() - self.begun)

    def run(self, start: Restart, interrupt: Interrupt, bar: Bar) -> End:
        """Advance to the end, or to what stops the run."""
        stuck = statuses.stuck(self.system, start.t, start.y)
        if stuck:
            self.record.add_start(start)
            return stuck, start
        bounds = self.system.bounds(start.t, self.t_end)
        while True:
            chunk, end = self._chunk(bounds)
            if end:
                return end
            t, point = float(chunk.t[-1]), self.stepper.point
            bounds = beyond(bounds, t, self.sign)
            if not len(bounds):
                return Status("finished", f"reached t = {self.t_end:g} s"), point
            if self.stepper.steps + self.stepper.rejected >= self.method.max_steps:
                return statuses.too_many_steps(self.method, t), point
            if interrupt.asked:
                return Status("interrupted", f"stopped by the user at t = {t:g} s", "resume the run to go on"), point
            self.record.keep_up(self.cost, point)
            bar.update(abs(t), abs(self.t_end))

    def judged(self, end: End, steps_before: int) -> End:
        """Return how a run ended, once all of it has been read out, and its energy balance is known."""
        status, point = end
        if not status.ok:
            return end
        self.record.read_out()
        steps = self.stepper.steps + steps_before
        return self._broken() or (self.record.balance.verdict(status, self.method, steps), point)

    def _broken(self) -> End | None:
        """Return the end of a run if a point that was read out is not finite."""
        last = self.record.last
        return (statuses.not_finite(self.method, last.t), last) if self.record.broken else None

    def _chunk(self, bounds: np.ndarray) -> tuple[Chunk, End | None]:
        """Advance by a chunk and record it; return it, and how it ended the run, if it did."""
        record, stepper, saved = self.record, self.stepper, self.record.saved
        left = self.method.max_steps - stepper.steps - stepper.rejected
        begun, sampling = time.perf_counter(), Sampling(*record.waiting(), self.watches.room)
        chunk = stepper.advance(bounds, min(self.limit, left), sampling=sampling, dense=self.watches.dense)
        seconds, cut = time.perf_counter() - begun, _cut(chunk)
        terminal = self._take(chunk, sampling) if len(chunk.t) > 1 else None
        saved = record.saved - saved
        ease = min(CHUNK_SECONDS / max(seconds, 1e-9), record.block / max(saved, 1))
        self.limit = max(1, min(MOST_STEPS_OF_A_CHUNK, 4 * self.limit, int(self.limit * ease)))
        if terminal:
            return chunk, self._stopped(terminal)
        if record.broken:
            return chunk, self._broken()
        if saved < len(chunk.t) - 1:
            few = slice(len(chunk.t) - 1, None, -max(1, len(chunk.t) // WEIGHED))
            record.weigh(chunk.t[few][::-1], chunk.y[few][::-1])
        if chunk.code not in (RUNNING, ARRIVED):
            return chunk, self._failed(chunk, cut)
        return chunk, None

    def _failed(self, chunk: Chunk, cut: bool) -> End:
        """Return the end of a run that cannot go on from a chunk."""
        self.record.read_out()
        point = Restart.at(chunk.t[-1], chunk.y[-1].copy()) if cut else self.stepper.point
        off = self.record.balance.off(self.method, self.stepper.steps)
        return self._broken() or (statuses.failed(chunk, self.system, self.method, off), point)

    def _stopped(self, end: Occurrence) -> End:
        """Return the end of a run at a terminal event, and save the point."""
        point = Restart.at(end.record.t, self._settle(end.state[None].copy())[0])
        self.record.add_last(point.t, point.y)
        return statuses.stopped_by(end.record), point

    def _take(self, chunk: Chunk, sampling: Sampling) -> Occurrence | None:
        """Record a chunk's events, saved points and knots up to its end, or to a terminal event; return that, if one came."""
        end = min(chunk.t[-1] * self.sign, self.t_end * self.sign)
        terminal = self._take_events(chunk, end)
        end = terminal.record.t * self.sign if terminal else end
        self._take_points(chunk, end, sampling)
        t, last = chunk.t, len(chunk.t)
        if t[-1] * self.sign > end:
            last = 1 + int(np.searchsorted(self.sign * t[1:], end, side="right"))
        inside = slice(0 if self.record.start_is_knot() else 1, last)
        self.record.add_knots(t[inside], chunk.y[inside], chunk.f[inside])
        return terminal

    def _take_events(self, chunk: Chunk, end: float) -> Occurrence | None:
        """Record events in the order of time; return a terminal one, if one came: what follows it is left out."""
        sign, events, terminal = self.sign, [], None
        for found in self.watches.occurrences(chunk):
            if found.record.t * sign > end:
                break
            events.append(found.record)
            if found.terminal:
                terminal, end = found, found.record.t * sign
                break
        dead = [event for event in passages(chunk, self.system) if event.t * sign <= end]
        self.record.events += sorted(events + dead, key=lambda event: event.t * sign) if dead else events
        return terminal

    def _take_points(self, chunk: Chunk, end: float, sampling: Sampling) -> None:
        """Record the points that the stepper has saved up to a time."""
        record, count, times, rows = self.record, chunk.saved, sampling.times, sampling.states
        if count == len(rows) < times.total - times.first and times.at(times.first + count) * self.sign <= end:
            raise ModelError(f"save asks for more than {count} points within a step, more than there is memory for; save fewer")
        if count and times.at(times.first + count - 1) * self.sign > end:
            count = times.until(end * self.sign) - times.first
        if count:
            finite = np.isfinite(self._settle(rows[:count]))
            if not finite.all():  # the steps are finite, what lies between them is not
                chunk.code, count = NOT_FINITE, int(np.argmin(finite.all(1)))
            record.add_points(count)

    def _settle(self, states: np.ndarray) -> np.ndarray:
        """Bring states between steps onto their constraints, in place, and return them."""
        if self.system.projected:
            states[:] = self.system.settled(states)[0]
        return states


def _cut(chunk: Chunk) -> bool:
    """Cut a chunk off before its first knot that is not finite, if there is one, and say so.

    The last knot tells: no step leads from what is not finite to what is.
    """
    if np.logical_and.reduce(np.isfinite(chunk.y[-1]) & np.isfinite(chunk.f[-1])):
        return False
    good = np.isfinite(chunk.y).all(1) & np.isfinite(chunk.f).all(1)
    if good.all():
        return False
    count = max(1, int(np.argmin(good)))
    chunk.t, chunk.y, chunk.f, chunk.code = chunk.t[:count], chunk.y[:count], chunk.f[:count], NOT_FINITE
    return True
