"""Events: moments of a run found by root finding on the dense solution.

    Event(function)   where function(t, theta, omega) changes sign
    Flip()            where a link turns over: its angle passes an odd multiple of pi

A Watch follows one of them from chunk to chunk. Between two steps the moment is the first at which the sign (or the
number of turns) is no longer the old one, narrowed by dividing the step into ever smaller parts, down to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlink._check import ModelError, choice, shown, whole
from nlink.integrators.base import Chunk
from nlink.run import Occurrence
from nlink.system import System

PARTS = 64


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


class Watch:
    """Follows one event along a run."""

    def __init__(self, event: Event | Flip, system: System, t: float, state: np.ndarray) -> None:
        if not isinstance(event, Event | Flip):
            choice("events", event, ("Event(...)", "Flip(...)"))
        if isinstance(event, Flip) and event.link is not None and event.link >= system.chain.n:
            raise ModelError(f"Flip.link must be below the number of links, {system.chain.n}, got {event.link}")
        self.event, self.system = event, system
        self.old = self._marks(np.array([t]), state[None])[0]

    def _marks(self, t: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return what must not change between events: the turns of the links watched, or the sign of the function."""
        theta, omega = self.system.decode(states[:, : self.system.size])
        if isinstance(self.event, Flip):
            return turns(theta if self.event.link is None else theta[:, [self.event.link]])
        return np.array([[np.sign(self.event.function(*point))] for point in zip(t.tolist(), theta, omega, strict=True)])

    def found(self, chunk: Chunk) -> list[Occurrence]:
        """Return the events within a chunk's steps, in order of time for each link."""
        marks = self._marks(chunk.t, chunk.y)
        out: list[Occurrence] = []
        for column in range(marks.shape[1]):
            out += self._column(chunk, marks, column)
        return out

    def _column(self, chunk: Chunk, marks: np.ndarray, column: int) -> list[Occurrence]:
        old, out = self.old[column], []
        flip = isinstance(self.event, Flip)
        current = marks[1:, column]
        changed = np.flatnonzero((current != np.concatenate([[old], current[:-1]])) | (current == 0) * (not flip))
        for k in changed if len(changed) else ():
            left, target = chunk.t[k], marks[k + 1, column]
            if not flip and target == 0:
                continue
            if not flip and old in (0, target):
                old = target
                continue
            while old != target:
                left, state, new = self._first(chunk, left, chunk.t[k + 1], old, column)
                sign = int(np.sign(new - old))
                old = new
                if flip or self.event.direction in (0, sign):
                    out.append(self._occurrence(left, state, column, sign))
        self.old[column] = old
        return out

    def _first(self, chunk: Chunk, left: float, right: float, old: float, column: int) -> tuple[float, np.ndarray, float]:
        """Return the first moment in (left, right] at which the mark is no longer `old`, the state and the new mark."""
        state, new = chunk.at(np.array([right]))[0], 0.0
        while True:
            times = np.linspace(left, right, PARTS + 1)[1:]
            states = chunk.at(times)
            marks = self._marks(times, states)[:, column]
            gone = (marks != old) & ((marks != 0) | isinstance(self.event, Flip))
            i = int(np.argmax(gone)) if gone.any() else PARTS - 1
            state, new = states[i], marks[i]
            narrowed = (times[i - 1] if i else left), times[i]
            if narrowed == (left, right) or abs(narrowed[1] - narrowed[0]) <= 2 * np.spacing(abs(narrowed[1])):
                return float(narrowed[1]), state, float(new)
            left, right = narrowed

    def _occurrence(self, t: float, state: np.ndarray, column: int, sign: int) -> Occurrence:
        theta, omega = self.system.decode(state[: self.system.size])
        if isinstance(self.event, Flip):
            link = column if self.event.link is None else self.event.link
            return Occurrence(t, "flip", theta.copy(), omega.copy(), {"link": link, "direction": sign})
        name = self.event.name or getattr(self.event.function, "__name__", "event")
        return Occurrence(t, name, theta.copy(), omega.copy(), {"direction": sign})
