"""The record of a motion in real time: its last minutes as a Run, with what the page did to it as events."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from nlink.analysis.motion import Motion
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.rows import rows_of
from nlink.run.readout import HAND, EventRecord, Trajectory, event_record, motion_names
from nlink.run.run import Run, Stats, Status, fields_of
from nlink.scenario import LostFunction, Scenario
from nlink.simulation.recording import origin
from nlink.studio.messages import Json
from nlink.studio.space import shown_rows
from nlink.view.words import load_text

SAMPLE = 1 / 60
"""Seconds between two points of the record."""
LONGEST = 600.0
MOST_NUMBERS = 2_000_000
"""Seconds and coordinates of the longest record; of one that goes on, the beginning is forgotten."""
TOGETHER = 1.0
"""Seconds within which changes are one event: someone moves a slider."""
THE_HAND = "the hand in the studio"
Columns = dict[str, np.ndarray]


class Record:
    """Points of a motion in the order of time, the oldest ones forgotten."""

    def __init__(self, chain: Multibody, first: Columns) -> None:
        self.chain = chain
        size = chain.size if isinstance(chain, SpatialChain) else chain.n
        self.most = int(min(LONGEST / SAMPLE, MOST_NUMBERS / size))
        self.points: deque[Columns] = deque(maxlen=self.most)
        self.events: list[EventRecord] = []
        self.shift, self.count, self.told = 0.0, 0, 0
        self.failure: Status | None = None
        self.touched = False
        self.loads: list[tuple[float, Json]] = []
        """the loads from a time on, where they have changed"""
        self.changing: tuple[float, Multibody] | None = None
        """time of the last event, if it is a change, and the chain before it"""
        self.start = float(first["kinetic"][0] + first["potential"][0])
        self.add(first)

    @property
    def seconds(self) -> float:
        """How much the record holds."""
        return self.most * SAMPLE

    def due(self, t: float) -> bool:
        """Whether the next point is due."""
        return t >= self.count * SAMPLE * (1 - 1e-12)

    def add(self, columns: Columns) -> None:
        """Keep a point. Times are whole multiples of SAMPLE."""
        columns["time"] = np.array([self.count / round(1 / SAMPLE)])
        columns["potential"] = columns["potential"] + self.shift
        self.points.append(columns)
        self.count += 1

    def news(self) -> Json:
        """Return the points that came since the last call, as the page draws them."""
        new = [self.points[k] for k in range(max(0, len(self.points) - (self.count - self.told)), len(self.points))]
        self.told = self.count
        names = motion_names(self.chain)
        motion = Trajectory(*(np.concatenate([each[name] for each in new]) for name in ("time", *names)))
        values, rates = shown_rows(self.chain, motion, np.arange(len(new)))
        work = [sum(float(values[0]) for name, values in each.items() if name.startswith("work_")) for each in new]
        kinetic, potential = ([float(each[name][0]) for each in new] for name in ("kinetic", "potential"))
        total = [a + b - self.start for a, b in zip(kinetic, potential, strict=True)]
        return {
            "t": [float(each["time"][0]) for each in new],
            "theta": np.round(values, 6).tolist(),
            "omega": np.round(rates, 5).tolist(),
            "kinetic": kinetic,
            "potential": potential,
            "total": total,
            "residual": [a - b for a, b in zip(total, work, strict=True)],
        }

    def note(self, name: str, columns: Columns) -> None:
        """Keep an event."""
        self.touched, self.changing = True, None
        position, velocity, _ = (columns[name][0].copy() for name in motion_names(self.chain))
        self.events.append(event_record(self.chain, float(columns["time"][0]), name, position, velocity, {}))

    def change(self, old: Multibody, changed: Scenario, before: Columns, after: Columns) -> None:
        """Keep a change of the loads. The potential energy goes on from its value."""
        new = changed.chain
        self.shift += float(before["potential"][0] - after["potential"][0])
        t = float(after["time"][0])
        if self.changing and t - self.changing[0] < TOGETHER:
            old, self.changing = self.changing[1], None
            self.events.pop()
        self.loads.append((t, changed.to_dict()["loads"]))
        if new.loads != old.loads:
            self.note(f"change to {_changes(old, new)}", after)
            self.changing = t, old

    def run(self, scenario: Scenario, motion: Motion) -> Run:
        """Return the record as a Run. One that a hand has touched cannot be simulated again: it says so."""
        names = {name for each in self.points for name in each}
        columns = {name: np.concatenate([_column(each, name) for each in self.points]) for name in names}
        t = columns["time"]
        chain = scenario.chain
        if self.touched and not chain.spatial:
            chain = chain.with_loads(JointTorque(LostFunction(THE_HAND)))
        settings = replace(
            scenario.settings,
            t_end=float(t[-1]),
            save=SAMPLE,
            formulation=motion.system.asked,
            integrator=motion.method,
            flips="off",
        )
        position, velocity, _ = (columns[name][0] for name in motion_names(chain))
        theta, omega = rows_of(chain, position, velocity) if isinstance(chain, SpatialChain) else (tuple(position), tuple(velocity))
        whole = replace(scenario, chain=chain, settings=settings, theta=theta, omega=omega)
        forgotten = f"; the record begins at t = {t[0]:.4g} s" if t[0] > 0 else ""
        pulled = "; a hand has pulled it, so that its start alone gives another motion" if f"work_{HAND}" in columns else ""
        status = self.failure or Status("finished", f"simulated in real time until t = {t[-1]:.4g} s{forgotten}{pulled}")
        stepper = motion.stepper
        stats = Stats(stepper.nfev, stepper.steps, stepper.rejected, float(t[-1] - t[0])) if stepper else Stats(0, 0, 0, 0.0)
        events = [event for event in self.events if event.t >= t[0]]
        meta = origin(whole) | ({"loads": self.loads} if self.loads else {})
        return Run(scenario=whole, **fields_of(columns), status=status, stats=stats, meta=meta, events=events)


def _changes(old: Multibody, new: Multibody) -> str:
    """Return in words which loads are new."""
    gone = {type(load) for load in old.loads} - {type(load) for load in new.loads}
    return ", ".join([load_text(load) for load in new.loads if load not in old.loads] + [f"no {kind.label}" for kind in gone])


def _column(point: Columns, name: str) -> np.ndarray:
    """Return the values of a point; a load that was not there yet had done no work."""
    return point[name] if name in point else np.zeros(1)
