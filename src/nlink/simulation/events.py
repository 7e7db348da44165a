"""Events: moments of a run found by root finding on the dense solution.

    Event(function)   where function(t, theta, omega) changes sign
    Flip()            where a link turns over: its angle passes an odd multiple of pi
    dead positions    where all links of a closed chain come to lie in line: always looked for

A Watch follows one of them from chunk to chunk. Between two steps the moment is the first at which the sign (or the
number of turns) is no longer the old one, narrowed by dividing the step into ever smaller parts, down to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nlink._support.checks import ModelError, line, shown, whole
from nlink.integrators.base import Chunk
from nlink.mechanics import loop_closure
from nlink.mechanics.system import System
from nlink.run.run import EventRecord

LOOKS = 4
"""Times a step is looked at, so that two changes of sign close together are seen. Flips are looked for at the steps alone:
between them the dense output of a link at rest upside down would wobble across pi by rounding.
"""
PARTS = 64
DEAD = 1e-2
"""Smallest singular value of the closure, as a part of the largest, at which links count as in line."""
UNSURE = 1e-4
"""Nearer than this, the motion of four and more links after they were in line is decided by rounding errors."""
PASSAGE_CUTS = 9
TURN = 0.2
"""Angle in rad after which a step is looked at again for dead positions: free linkages take steps of many turns."""
MOST_LOOKS = 10_000
"""Looks at one step at most. A step that turns a link by more than MOST_LOOKS * TURN can pass dead positions that are not seen."""
MOST_EVENT_NUMBERS = 20_000_000
"""Numbers of all states at which links turn over within a few steps: a long chain can do so everywhere at once."""
MOST_IN_A_STEP = 8
"""A motion that blows up turns over without end within a step; only the first times are worth knowing."""


@dataclass(frozen=True)
class Event:
    """A user's function of (t, theta, omega) whose sign changes are recorded; `terminal` ends the run there.

    direction +1 counts changes from minus to plus only, -1 from plus to minus, 0 both.
    """

    function: Callable[[float, np.ndarray, np.ndarray], float]
    terminal: bool = False
    direction: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ModelError(f"Event.function must be a function of (t, theta, omega), got {shown(self.function)}")
        if self.direction not in (-1, 0, 1):
            raise ModelError(f"Event.direction must be -1, 0 or 1, got {shown(self.direction)}")
        line("Event.name", self.name)


@dataclass(frozen=True)
class Flip:
    """A link turns over (any, or the one given, counted from 0); `terminal` ends the run there."""

    link: int | None = None
    terminal: bool = False

    def __post_init__(self) -> None:
        if self.link is not None:
            whole("Flip.link", self.link, least=0)


def turns(theta: np.ndarray) -> np.ndarray:
    """Return how many times angles have gone round: 0 within (-pi, pi]."""
    return np.ceil((theta - math.pi) / (2 * math.pi))


def passages(chunk: Chunk, system: System) -> list[EventRecord]:
    """Return the dead positions of a closed chain within a chunk: where all links come to lie in line, or nearly."""
    chain, size = system.chain, system.size
    if chain.pin is None or len(chunk.t) < 2:
        return []
    turned = np.abs(np.diff(chunk.t)) * np.abs(system.decode(chunk.y[:, :size])[1]).max(-1)[:-1]
    looks = np.clip(np.ceil(turned / TURN), LOOKS, MOST_LOOKS).astype(int)
    inner = [np.linspace(chunk.t[k], chunk.t[k + 1], count, endpoint=False) for k, count in enumerate(looks.tolist())]
    t = np.append(np.concatenate(inner), chunk.t[-1])
    going, _ = loop_closure.passing(chain, *system.decode(chunk.at(t)[:, :size]))
    found = []
    for k in np.flatnonzero((going[:-1] < 0) & (going[1:] >= 0)).tolist():
        left, right = float(t[k]), float(t[k + 1])
        for _ in range(PASSAGE_CUTS):
            times = np.linspace(left, right, PARTS + 1)
            after = loop_closure.passing(chain, *system.decode(chunk.at(times)[:, :size]))[0] >= 0
            after[0], after[-1] = False, True
            i = int(np.argmax(after))
            left, right = float(times[i - 1]), float(times[i])
        theta, omega = (values[0] for values in system.decode(chunk.at(np.array([right]))[:, :size]))
        sigma = float(loop_closure.smallest_singular_value(chain, theta))
        if sigma <= DEAD:
            info = {"sigma": sigma, "determined": chain.n <= 3 or sigma > UNSURE}
            found.append(EventRecord(right, "dead position", theta.copy(), omega.copy(), info))
    return found


class Watch:
    """Follows one event along a run.

    What it follows are marks that change at an event: the turns of each link watched, or the sign of the function (a zero, or
    what is not a number, keeps the sign before it).
    """

    def __init__(self, event: Event | Flip, system: System, t: float, state: np.ndarray) -> None:
        if not isinstance(event, Event | Flip):
            raise ModelError(f"events must be Event(...) or Flip(...) records, got {shown(event)}")
        if isinstance(event, Flip) and event.link is not None and event.link >= system.chain.n:
            raise ModelError(f"Flip.link must be below the number of links, {system.chain.n}, got {event.link}")
        self.event, self.system = event, system
        self.marks = self._marks(np.array([t]), state[None], np.zeros(1))[0]

    def events(self, chunk: Chunk) -> list[EventRecord]:
        """Return the events within a chunk's steps."""
        looks = 1 if isinstance(self.event, Flip) else LOOKS
        t = np.append((chunk.t[:-1, None] + np.diff(chunk.t)[:, None] * np.arange(looks) / looks).ravel(), chunk.t[-1])
        marks = np.vstack([self.marks, self._marks(t[1:], chunk.at(t[1:]), self.marks)])
        self.marks = marks[-1]
        changed = np.argwhere(marks[1:] != marks[:-1])
        if len(changed) * chunk.y.shape[1] > MOST_EVENT_NUMBERS:
            raise ModelError(
                f"{len(changed)} links turn over about t = {t[-1]:g} s, too many to keep the state at each; "
                "set run.flips = 'off', or watch one with Flip(link)"
            )
        return [
            event
            for k, column in changed.tolist()
            for event in self._between(chunk, t[k : k + 2], column, marks[k : k + 2, column])
        ]

    def _marks(self, t: np.ndarray, states: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the marks (K, columns) at K times; `before` are those just before the first."""
        theta, omega = self.system.decode(states[:, : self.system.size])
        if isinstance(self.event, Flip):
            return turns(theta if self.event.link is None else theta[:, [self.event.link]])
        signs, last = np.empty((len(t), 1)), float(before[0])
        for k, time in enumerate(t.tolist()):
            value = self._value(time, theta[k], omega[k])
            last = math.copysign(1.0, value) if value > 0 or value < 0 else last
            signs[k] = last
        return signs

    def _value(self, t: float, theta: np.ndarray, omega: np.ndarray) -> float:
        assert isinstance(self.event, Event)
        value = self.event.function(t, theta, omega)
        if np.ndim(value) != 0 or isinstance(value, str):
            raise ModelError(f"Event.function must return one number, got {shown(value)} at t = {t:g}")
        return float(value)

    def _between(self, chunk: Chunk, times: np.ndarray, column: int, marks: np.ndarray) -> list[EventRecord]:
        """Return the events of one column between two times, from one mark to the other."""
        (left, right), (old, new) = times.tolist(), marks.tolist()
        out = []
        while old != new and len(out) < MOST_IN_A_STEP:
            left, state, mark = self._first(chunk, left, right, old, column)
            sign, begun = int(np.sign(mark - old)), old != 0
            old = mark
            if isinstance(self.event, Flip) or (begun and self.event.direction in (0, sign)):
                out.append(self._record(left, state, column, sign))
        return out

    def _first(self, chunk: Chunk, left: float, right: float, old: float, column: int) -> tuple[float, np.ndarray, float]:
        """Return the first moment in (left, right] at which the mark is no longer `old`, the state and the new mark."""
        while True:
            times = np.linspace(left, right, PARTS + 1)[1:]
            states = chunk.at(times)
            marks = self._marks(times, states, np.array([old]))[:, column]
            gone = marks != old
            i = int(np.argmax(gone)) if gone.any() else PARTS - 1
            narrowed = (float(times[i - 1]) if i else left), float(times[i])
            if narrowed == (left, right) or abs(narrowed[1] - narrowed[0]) <= 2 * np.spacing(abs(narrowed[1])):
                return narrowed[1], states[i], float(marks[i])
            left, right = narrowed

    def _record(self, t: float, state: np.ndarray, column: int, sign: int) -> EventRecord:
        theta, omega = self.system.decode(state[: self.system.size])
        if isinstance(self.event, Flip):
            link = int(column) if self.event.link is None else self.event.link
            return EventRecord(t, "flip", theta.copy(), omega.copy(), {"link": link, "direction": sign})
        name = self.event.name or getattr(self.event.function, "__name__", "event")
        return EventRecord(t, name, theta.copy(), omega.copy(), {"direction": sign})
