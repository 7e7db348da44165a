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
"""Numbers of states that are read out at a time, unless one state has more."""
WAITING = 64
"""Calls of `weigh` whose states are read out together, at most: to read a state out costs much less than to call for it."""


class Record:
    """What a run keeps as it goes, in memory: the saved points, read out some at a time, the events, and the integrator's steps,
    thinned so that they never take more than a set amount of memory. Memory is only taken as it is filled.
    """

    def __init__(self, times: SaveTimes, system: System) -> None:
        self.times, self.system, m = times, system, system.full_size
        self.block = max(1, BLOCK_NUMBERS // m)
        self.states = self._room(times.total - times.first, m)
        self._columns: dict[str, np.ndarray] = {}
        self._knots = KnotStore(m)
        self.events: list[EventRecord] = []
        self.saved = self.read = 0
        """points saved so far, and those of them that have been read out; the states of the rest stand in the first rows"""
        self.balance, self.broken, self.last = Balance(system.chain), False, Restart(0.0, 0.0, np.zeros(m))
        self._unsaved: list[tuple[np.ndarray, np.ndarray]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go: nothing to do in memory."""

    def waiting(self) -> tuple[SaveTimes, np.ndarray]:
        """Return the times that are still to be saved, and the rows for their states."""
        return self.times._replace(first=self.times.first + self.saved), self.states[self.saved - self.read :]

    def _times(self, first: int, count: int = 1) -> np.ndarray:
        """Return times by their number in this part of the run."""
        return self.times.part(self.times.first + first, count)

    def begin(self, start: Restart, earlier: Run | None) -> None:
        """Take the point from which the run starts, or goes on from an earlier one."""
        self.last = start
        if earlier is not None:
            self.balance.follow(earlier)
        self._begin_knots(start, earlier)
        if start.t in self._times(0):
            self.states[0] = start.y
            self.add_points(1)
        else:
            self.weigh(np.array([start.t]), start.y[None])

    def _begin_knots(self, start: Restart, earlier: Run | None) -> None:
        self.add_knots(np.array([start.t]), start.y[None], self.system.rates(start.t, start.y)[None])

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
        if not self.saved or self._times(self.saved - 1)[0] != t:
            self.read_out()
            self._keep(np.array([t]), state[None])
            self.saved = self.read

    def read_out(self) -> None:
        """Read the states that wait out in angles and energies, and make room for others."""
        first, count = self.read, self.saved - self.read
        for k in range(0, count, self.block):
            states = self.states[k : min(k + self.block, count)]
            self._keep(self._times(first + k, len(states)), states)
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
        columns = read_out(self.system, t, states)
        self.balance.take(first_rows(columns, finite_rows(columns)))

    def _read_beside(self, t: np.ndarray, states: np.ndarray) -> dict[str, np.ndarray] | None:
        """Read states out together with those that wait to be weighed, which are fewer; None if one of all is not finite."""
        times, unsaved = self._taken()
        columns, count = read_out(self.system, np.concatenate([times, t]), np.concatenate([unsaved, states])), len(times)
        if finite_rows(columns) < count + len(t):
            self._unsaved = [(times, unsaved)]
            return None
        self.balance.take(columns)
        return {name: values[count:] for name, values in columns.items()}

    def _keep(self, t: np.ndarray, states: np.ndarray) -> None:
        """Read states out, and keep those before the first that is not finite in everything."""
        earlier = self._unsaved and abs(self._unsaved[0][0][0]) <= abs(t[0]) and len(t) <= WAITING
        columns = self._read_beside(t, states) if earlier and not self.broken else None
        count = len(t)
        if columns is None:
            columns = {} if self.broken else read_out(self.system, t, states)
            count = finite_rows(columns)
            columns = first_rows(columns, count)
            self.balance.take(columns)
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
        for name, values in columns.items():
            if name not in self._columns:
                self._columns[name] = np.empty((self.times.total - self.times.first + 1, *values.shape[1:]))
            self._columns[name][self.read : self.read + len(values)] = values

    def _trajectory(self, scenario: Scenario) -> Trajectory | None:
        """Return the integrator's steps where they tell more than the saved points do, else None."""
        if not self._knots.count or (isinstance(scenario.settings.save, float) and self.saved >= self._knots.count):
            return None
        t, y, f = self._knots.kept
        return trajectory(scenario.chain, t, *decoded(self.system, y, f))


def read_out(system: System, t: np.ndarray, states: np.ndarray) -> dict[str, np.ndarray]:
    """Return coordinates, rates, accelerations, energies, violation, force of the pin and work: name in a file -> values."""
    own, rates, tip = states[:, : system.size], np.empty_like(states), np.empty((len(t) if system.chain.pin else 0, 2))
    with np.errstate(over="ignore", invalid="ignore"):  # a motion that blew up is read out as far as it goes
        rates_many(t, np.ascontiguousarray(states), system.equations, rates, tip, system.scratch())
        own = system.given(t, own)
        motion = zip(motion_names(system.chain), decoded(system, own, rates), strict=True)
        kinetic, potential = system.energy(own)
        out = {"time": t, **dict(motion), "kinetic": kinetic, "potential": potential}
        out["violation"] = system.violation(own)
    out |= {"pin_force": tip} if system.chain.pin else {}
    return out | {f"work_{name}": states[:, system.size + system.rows_of_ledger.index(name)] for name in system.ledger}


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
    y, f = states[:, : system.size], rates[:, : system.size]
    with np.errstate(over="ignore", invalid="ignore"):
        return (*system.decode(y), system.formulation.decode_rates(system.chain, y, f))


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
