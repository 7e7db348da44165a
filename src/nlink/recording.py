"""What a simulation collects as it goes, and how that becomes a Run read out in angles."""

from __future__ import annotations

import datetime
import math
import shlex
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from nlink._check import ModelError
from nlink._version import __version__
from nlink.integrators.base import Mark
from nlink.loads import LEDGER
from nlink.run import Checkpoint, Occurrence, Run, Stats, Status, Track
from nlink.scenario import Scenario
from nlink.system import System, rates_many

MOST_SAVED = 10**8
MOST_KNOT_NUMBERS = 4_000_000


class Record:
    """What a run keeps as it goes: `states` has a row for each time to be saved, of which the first `saved` are there; the
    integrator's steps are kept too, thinned so that they never take more than a set amount of memory. Memory is only taken
    as it is filled.
    """

    def __init__(self, times: np.ndarray, system: System) -> None:
        m = system.full_size
        try:
            self.states = np.empty((len(times), m))
        except MemoryError:
            size = f"{8e-9 * len(times) * m:.0f} GB"
            raise ModelError(f"save would keep {len(times)} points, {size}, more than there is memory; save fewer") from None
        room = max(4, MOST_KNOT_NUMBERS // (2 * m))
        self.t, self.y, self.f = np.empty(room), np.empty((room, m)), np.empty((room, m))
        self.events: list[Occurrence] = []
        self.saved = self.count = self.skip = 0
        self.stride = 1

    def add_knots(self, t: np.ndarray, y: np.ndarray, f: np.ndarray) -> None:
        """Keep steps: all, or every second, fourth, ... when they have become too many."""
        for part in range(0, len(t), len(self.t)):
            self._add(*(values[part : part + len(self.t)] for values in (t, y, f)))

    def _add(self, *steps: np.ndarray) -> None:
        count = len(steps[0])
        while self.count + len(range(self.skip, count, self.stride)) > len(self.t):
            kept = (self.count + 1) // 2
            for own in (self.t, self.y, self.f):
                own[:kept] = own[: self.count : 2].copy()
            self.skip += self.stride * (self.count % 2)
            self.count, self.stride = kept, 2 * self.stride
        chosen = range(self.skip, count, self.stride)
        for own, values in zip((self.t, self.y, self.f), steps, strict=True):
            own[self.count : self.count + len(chosen)] = values[self.skip :: self.stride]
        self.count += len(chosen)
        self.skip += self.stride * len(chosen) - count


def saved_times(save: float | tuple[float, ...], t_end: float) -> np.ndarray:
    """Return the times to save at, from 0 towards t_end: a grid (and t_end), or the times given, checked."""
    sign = math.copysign(1.0, t_end)
    if isinstance(save, tuple):
        times = np.array(save)
        if np.any(np.diff(times) * sign <= 0) or np.any(times * sign < 0) or np.any((times - t_end) * sign > 0):
            span = f"{len(times)} times from {times[0]:g} to {times[-1]:g}"
            raise ModelError(f"save must run from 0 towards t_end = {t_end:g} without a repeat, got {span}")
        return times
    if abs(t_end) / save > MOST_SAVED:
        points = f"{abs(t_end) / save:.2g} points up to t_end = {t_end:g}"
        raise ModelError(f"save = {save:g} would keep {points}; use a larger interval")
    count = math.floor(abs(t_end) / save * (1 + 1e-12))
    rate = 1 / save
    grid = np.arange(count + 1) / round(rate) if abs(rate - round(rate)) < 1e-9 * rate else np.arange(count + 1) * save
    times = sign * np.minimum(grid, abs(t_end))
    return times if abs(times[-1] - t_end) <= 1e-9 * save else np.append(times, t_end)


def read_out(scenario: Scenario, system: System, times: np.ndarray, record: Record, status: Status, cost: Stats, mark: Mark) -> Run:
    """Return the Run of what was collected; `times` are those that were to be saved, `mark` where it can go on."""
    with np.errstate(over="ignore", invalid="ignore"):  # a motion that blew up is read out as far as it goes
        return _read_out(scenario, system, times, record, status, cost, mark)


def _read_out(
    scenario: Scenario, system: System, times: np.ndarray, record: Record, status: Status, cost: Stats, mark: Mark
) -> Run:
    t = times[: record.saved]
    states = record.states[: record.saved]
    if status.code == "event" and (not len(t) or t[-1] != mark.t):
        t, states = np.append(t, mark.t), np.concatenate([states, mark.y[None]])
    own = states[:, : system.size]
    theta, omega = system.decode(own)
    kinetic, potential = system.energy(own)
    alpha, pin_force = _accelerations(system, t, states)
    work = {name: states[:, system.size + LEDGER.index(name)].copy() for name in system.ledger}
    return Run(
        scenario=scenario,
        t=t,
        theta=theta,
        omega=omega,
        alpha=alpha,
        pin_force=pin_force,
        kinetic=kinetic,
        potential=potential,
        work=work,
        drift=system.violation(own),
        status=status,
        stats=cost,
        meta=_meta(scenario),
        events=record.events,
        knots=_knots(scenario, system, record),
        checkpoint=_checkpoint(system, mark),
    )


def joined(earlier: Run, later: Run) -> Run:
    """Return a resumed run with the part before it."""
    before = abs(earlier.checkpoint.t) if earlier.checkpoint else 0.0
    seen = abs(earlier.scenario.settings.t_end) if earlier.status.code == "finished" else before
    known = known_times(earlier, later.scenario)
    series = {
        name: np.concatenate([getattr(earlier, name)[known], getattr(later, name)])
        for name in ("t", "theta", "omega", "alpha", "kinetic", "potential", "drift")
    }
    work = {name: np.concatenate([earlier.work[name][known], values]) for name, values in later.work.items()}
    if earlier.pin_force is not None and later.pin_force is not None:
        series["pin_force"] = np.concatenate([earlier.pin_force[known], later.pin_force])
    kept = earlier.knots and Track(*(values[np.abs(earlier.knots.t) <= before] for values in earlier.knots))
    parts = [track for track in (kept, later.knots) if track is not None]
    knots = Track(*(np.concatenate(values) for values in zip(*parts, strict=True))) if parts else None
    events = earlier.events + [event for event in later.events if abs(event.t) > seen]
    a, b = earlier.stats, later.stats
    stats = Stats(a.nfev + b.nfev, a.steps + b.steps, a.rejected + b.rejected, a.wall + b.wall)
    return replace(later, **series, work=work, knots=knots, events=events, stats=stats)


def known_times(earlier: Run, scenario: Scenario) -> np.ndarray:
    """Return which saved points of an earlier run stay: those at the new times that lie before the steps to be repeated."""
    point = earlier.checkpoint
    assert point is not None
    return np.isin(earlier.t, saved_times(scenario.settings.save, scenario.settings.t_end)) & (np.abs(earlier.t) <= abs(point.t))


def _accelerations(system: System, t: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the angular accelerations, and the force of the pin, if there is one."""
    rates, tip = np.empty_like(states), np.empty((len(t), 2))
    rates_many(t, np.ascontiguousarray(states), system.parameters, rates, tip, system.scratch())
    alpha = system.formulation.decode_rates(system.chain, states[:, : system.size], rates[:, : system.size])
    return alpha, tip if system.chain.pin else None


def _knots(scenario: Scenario, system: System, record: Record) -> Track | None:
    """Return the integrator's steps where they tell more than the saved points do, else None."""
    if not record.count or (isinstance(scenario.settings.save, float) and record.saved >= record.count):
        return None
    y, f = record.y[: record.count, : system.size], record.f[: record.count, : system.size]
    theta, omega = system.decode(y)
    return Track(record.t[: record.count], theta, omega, system.formulation.decode_rates(system.chain, y, f))


def _checkpoint(system: System, mark: Mark) -> Checkpoint:
    rates = system.rates(mark.t, mark.y) if mark.f is None else mark.f
    return Checkpoint(float(mark.t), float(mark.step), mark.y.copy(), rates.copy(), float(mark.origin), int(mark.count))


def _meta(scenario: Scenario) -> dict[str, Any]:
    settings = scenario.settings
    return {
        "version": __version__,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "formulation": settings.formulation.described(),
        "integrator": settings.integrator.described(),
    }
