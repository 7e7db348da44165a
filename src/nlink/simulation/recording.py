"""What a simulation collects as it goes, and how that becomes a Run read out in angles."""

from __future__ import annotations

import datetime
import math
import shlex
import sys
from dataclasses import replace
from functools import lru_cache
from typing import Self

import numpy as np

from nlink._support.checks import ModelError
from nlink._support.version import __version__
from nlink.integrators.base import Restart
from nlink.integrators.save_times import SaveTimes, save_times
from nlink.mechanics.equations import rates_many
from nlink.mechanics.system import System
from nlink.run.readout import EventRecord, Trajectory, motion_names, trajectory
from nlink.run.run import Checkpoint, Run, Stats, Status, columns_of, fields_of
from nlink.scenario import Scenario
from nlink.simulation.balance import Balance
from nlink.simulation.knots import KnotStore

BLOCK_NUMBERS = 1_000_000
"""Numbers of states that wait to be read out, unless one state has more."""
READ_NUMBERS = 16_000
"""Numbers of states that are read out at a time: they and all that is made of them stay in the processor's cache."""
WAITING = 64
"""Calls of `weigh` whose states are read out together, at most: to read a state out costs much less than to call for it."""


class Record:
    """What a run keeps as it goes, in memory: the saved points, read out some at a time, the events, and the integrator's steps,
    thinned so that they never take more than a set amount of memory. Memory is only taken as it is filled.
    """

    def __init__(self, times: SaveTimes, system: System) -> None:
        self.times, self.system, m = times, system, system.full_size
        self.block, self.read_block = max(1, BLOCK_NUMBERS // m), max(1, READ_NUMBERS // m)
        self.states = self._room(times.total - times.first, m)
        self._columns: dict[str, np.ndarray] = {}
        self._knots = KnotStore(m)
        self.events: list[EventRecord] = []
        self.saved = self.read = 0
        """points saved so far, and those of them that have been read out; the states of the rest stand in the first rows"""
        self.balance, self.broken, self.last = Balance(system.chain), False, Restart(0.0, 0.0, np.zeros(m))
        self._unsaved: list[tuple[np.ndarray, np.ndarray]] = []
        self._start_waits = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go: nothing to do in memory."""

    def waiting(self) -> tuple[SaveTimes, np.ndarray]:
        """Return the times that are still to be saved, and the rows for their states."""
        times = self.times._replace(first=self.times.first + self.saved) if self.saved else self.times
        return times, self.states[self.saved - self.read :]

    def begin(self, start: Restart, earlier: Run | None) -> None:
        """Take the point from which the run starts, or goes on from an earlier one."""
        self.last = start
        if earlier is not None:
            self.balance.follow(earlier)
        self._start_waits = self._takes_start(earlier)
        if self.times.first < self.times.total and start.t == self.times.at(self.times.first):
            self.states[0] = start.y
            self.add_points(1)
        else:
            self.weigh(np.array([start.t]), start.y[None])

    def _takes_start(self, earlier: Run | None) -> bool:
        """Whether the point from which the steps start is one of those that are kept."""
        return True

    def start_is_knot(self) -> bool:
        """Whether the first step of a run is to be kept with its beginning."""
        waits, self._start_waits = self._start_waits, False
        return waits

    def add_start(self, start: Restart) -> None:
        """Keep the start of a run that takes no step."""
        if self.start_is_knot():
            self.add_knots(np.array([start.t]), start.y[None], start.rates(self.system)[None])

    def add_knots(self, t: np.ndarray, y: np.ndarray, f: np.ndarray) -> None:
        """Keep steps."""
        self._knots.add(t, y, f)

    def add_points(self, count: int) -> None:
        """Take the next `count` rows as saved, and read them out when they are many."""
        self.saved += count
        if self.saved - self.read >= self.block:
            self.read_out()

    def add_last(self, t: float, state: np.ndarray) -> None:
        """Save a point at a time that was not asked for, if it is not there."""
        if not self.saved or self.times.at(self.times.first + self.saved - 1) != t:
            self.read_out()
            self._keep(np.array([t]), state[None])
            self.saved = self.read

    def read_out(self) -> None:
        """Read the states that wait out in angles and energies, and make room for others."""
        first, count = self.read, self.saved - self.read
        for k in range(0, count, self.read_block):
            states = self.states[k : min(k + self.read_block, count)]
            self._keep(self.times.part(self.times.first + first + k, len(states)), states)
        self.saved = self.read
        if self._unsaved:
            self._weigh(*self._taken())

    def weigh(self, t: np.ndarray, states: np.ndarray) -> None:
        """Take states into the balance that are not saved, at the latest when others are read out."""
        self._unsaved.append((t.copy(), states.copy()))
        if len(self._unsaved) >= WAITING:
            self._weigh(*self._taken())

    def _taken(self) -> list[np.ndarray]:
        """Return the times and the states that wait to be weighed, and forget them."""
        waiting, self._unsaved = self._unsaved, []
        return [np.concatenate(values) for values in zip(*waiting, strict=True)]

    def _weigh(self, t: np.ndarray, states: np.ndarray) -> None:
        self._weighed(read_out(self.system, t, states))

    def _weighed(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Take columns into the balance up to the first row that is not finite in everything, and return them so far."""
        if columns and not self.balance.take(columns):
            columns = first_rows(columns, finite_rows(columns))
            self.balance.take(columns)
        return columns

    def _read_beside(self, t: np.ndarray, states: np.ndarray) -> dict[str, np.ndarray] | None:
        """Read states out together with those that wait to be weighed, which are fewer; None if one of all is not finite."""
        unsaved, count = self._unsaved, sum(len(times) for times, _ in self._unsaved)
        self._unsaved = [*unsaved, (t, states)]
        columns = read_out(self.system, *self._taken())
        if not self.balance.take(columns):
            self._unsaved = unsaved
            return None
        return {name: values[count:] for name, values in columns.items()}

    def _keep(self, t: np.ndarray, states: np.ndarray) -> None:
        """Read states out, and keep those before the first that is not finite in everything."""
        earlier = self._unsaved and abs(self._unsaved[0][0][0]) <= abs(t[0]) and len(t) <= WAITING
        columns = self._read_beside(t, states) if earlier and not self.broken else None
        if columns is None:
            columns = {} if self.broken else self._weighed(read_out(self.system, t, states))
        count = len(columns["time"]) if columns else 0
        if count:
            self._append(columns)
            self.read += count
            self.last = Restart.at(t[count - 1], states[count - 1].copy())
        self.broken = self.broken or count < len(t)

    def keep_up(self, cost: Stats, point: Restart) -> None:
        """Bring what has come to where it is kept: nothing to do in memory."""

    def finished(self, scenario: Scenario, status: Status, cost: Stats, point: Restart, meta: dict[str, object]) -> Run:
        """Return the Run; `point` is where it can go on."""
        self.read_out()
        if not self.read:
            self._append(read_out(self.system, np.empty(0), np.empty((0, self.system.full_size))))
        data = {name: values[: self.read] for name, values in self._columns.items()}
        return Run(
            scenario=scenario,
            **fields_of(data),
            status=status,
            stats=cost,
            meta=meta,
            events=self.events,
            knots=self._trajectory(scenario),
            checkpoint=checkpoint(self.system, point),
        )

    def _room(self, count: int, m: int) -> np.ndarray:
        """Return rows for states; only those that are filled take memory."""
        try:
            return np.empty((count, m))
        except MemoryError:
            size = f"{8e-9 * count * m:.0f} GB"
            raise ModelError(
                f"save would keep {count} points, {size}, more than there is memory; save fewer, or save to a file"
            ) from None

    def _append(self, columns: dict[str, np.ndarray]) -> None:
        if not self._columns:
            rows = self.times.total - self.times.first + 1
            self._columns = {name: np.empty((rows, *values.shape[1:])) for name, values in columns.items()}
            self._columns["violation"] = np.zeros(rows)  # what is not written takes no memory
        for name, values in columns.items():
            if name != "violation" or values.any():
                self._columns[name][self.read : self.read + len(values)] = values

    def _trajectory(self, scenario: Scenario) -> Trajectory | None:
        """Return the integrator's steps where they tell more than the saved points do, else None."""
        if not self._knots.count or (isinstance(scenario.settings.save, float) and self.saved >= self._knots.count):
            return None
        t, y, f = self._knots.kept
        return trajectory(scenario.chain, t, *decoded(self.system, y, f))


def read_out(system: System, t: np.ndarray, states: np.ndarray) -> dict[str, np.ndarray]:
    """Return coordinates, rates, accelerations, energies, violation, force of the pin and work: name in a file -> values."""
    own, rates, tip = states[:, : system.size], np.empty(states.shape), np.empty((len(t) if system.chain.pin else 0, 2))
    with np.errstate(over="ignore", invalid="ignore"):  # a motion that blew up is read out as far as it goes
        rates_many(t, states, system.equations, rates, tip, system.scratch())
        own, (first, second, third) = system.given(t, own), motion_names(system.chain)
        out = {"time": t}
        out[first], out[second], out[third] = map(np.ascontiguousarray, _decoded(system, own, rates))  # looked at several times
        out["kinetic"], out["potential"] = map(np.ascontiguousarray, system.energy(own))
        out["violation"] = system.violation(own)
    if system.chain.pin:
        out["pin_force"] = tip
    for name in system.ledger:
        out[f"work_{name}"] = states[:, system.size + system.rows_of_ledger.index(name)]
    return out


def finite_rows(columns: dict[str, np.ndarray]) -> int:
    """Return how many rows come before the first that is not finite in a column."""
    if not columns:
        return 0
    with np.errstate(over="ignore", invalid="ignore"):  # no products: BLAS would start threads for them
        total = sum(float(values.sum()) for values in columns.values())
    if math.isfinite(total):
        return len(columns["time"])
    good = np.all([np.isfinite(values).reshape(len(values), -1).all(1) for values in columns.values()], axis=0)
    return len(good) if good.all() else int(np.argmin(good))


def first_rows(columns: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Return the first rows of columns."""
    return {name: values[:count] for name, values in columns.items()}


def decoded(system: System, states: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coordinates, rates and accelerations of states and their rates."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _decoded(system, states[:, : system.size], rates)


def _decoded(system: System, own: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (*system.decode(own), system.formulation.decode_rates(system.chain, own, rates[:, : system.size]))


def joined(earlier: Run, later: Run) -> Run:
    """Return a resumed run with the part before it."""
    points, knots = rows_before(earlier, later.scenario)
    before = columns_of(earlier)
    series = {name: np.concatenate([before[name][points], values]) for name, values in columns_of(later).items()}
    parts: list[tuple[np.ndarray, ...]] = [tuple(values[knots] for values in earlier.knots)] if earlier.knots else []
    parts += [later.knots] if later.knots else []
    track = trajectory(later.chain, *(np.concatenate(values) for values in zip(*parts, strict=True))) if parts else None
    events = earlier.events + [event for event in later.events if abs(event.t) > watched_until(earlier)]
    return replace(later, **fields_of(series), knots=track, events=events, stats=earlier.stats.plus(later.stats))


def watched_until(earlier: Run) -> float:
    """Return the time, without sign, up to which the events of an earlier run are known."""
    assert earlier.checkpoint is not None
    return abs(earlier.scenario.settings.t_end if arrived(earlier) else earlier.checkpoint.t)


def arrived(run: Run) -> bool:
    """Whether a run came to its t_end; one that is inaccurate may have been stopped by an event instead."""
    stopped = run.events and run.checkpoint and run.events[-1].t == run.checkpoint.t
    return run.status.code == "finished" or (run.status.code == "inaccurate" and not stopped)


def rows_before(earlier: Run, scenario: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """Return the saved points at the new times, and the knots, of an earlier run that lie before the steps to be repeated."""
    assert earlier.checkpoint is not None
    end, times = abs(earlier.checkpoint.t), save_times(scenario.settings.save, scenario.settings.t_end)
    knots = np.abs(np.asarray(earlier.knots.t)) if earlier.knots else np.empty(0)
    return np.flatnonzero(times.holds(earlier.t) & (np.abs(earlier.t) <= end)), np.flatnonzero(knots <= end)


def checkpoint(system: System, point: Restart) -> Checkpoint:
    """Return a point with its rates."""
    rates = point.rates(system)
    return Checkpoint(float(point.t), float(point.step), point.y.copy(), rates.copy(), float(point.origin), int(point.count))


@lru_cache(1)
def command(words: tuple[str, ...]) -> str:
    """Return the words of a command as a shell takes them."""
    return shlex.join(words)


def origin(scenario: Scenario) -> dict[str, object]:
    """Return where a run comes from: version, date, command, method."""
    settings = scenario.settings
    return {
        "version": __version__,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command(tuple(sys.argv)),
        "formulation": settings.formulation.described(),
        "integrator": settings.integrator.described(),
    }
