"""Events: moments of a run found by root finding on the dense output.

    Event(function)   where function(t, theta, omega) changes sign
    Flip()            where a link turns over: its angle passes an odd multiple of pi; a link that starts there does not turn over
                      by leaving that place
    dead positions    where all links of a closed chain come to lie in line: always looked for

Flips are found in the compiled steps (`integrators/flips.py`), if a method is compiled and angles are components of its state. A
Watch looks for all else, from chunk to chunk. Between two points the moment is the first at which the sign (or the
number of turns) is no longer the old one, narrowed by dividing the step into ever smaller parts, down to rounding.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError, line, shown, whole
from nlink.integrators.base import Chunk, Stepper
from nlink.integrators.flips import MOST_FLIP_NUMBERS, MOST_IN_A_STEP, UPSIDE_DOWN, FlipRoom, flip_room, no_room
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import Multibody, wrapped
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.kinematics import turns as turns_of
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.refusals import refuse_space
from nlink.mechanics.system import System
from nlink.run.readout import EventRecord, event_record

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
CLOSE, BEYOND, PARABOLAS = 0.3, 0.25, (0.75, 0.2, 0.02, 1e-3, 1e-5)
"""Of mechanisms: nearness at which a minimum is followed; how far beyond a chunk, in times between two looks, one is looked for;
and half the widths of the parabolas, in the same.
"""
TURN = 0.2
"""Angle in rad after which a step is looked at again for dead positions: free linkages take steps of many turns."""
MOST_LOOKS = 10_000
"""Looks at one step at most. A step that turns a link by more than MOST_LOOKS * TURN can pass dead positions that are not seen."""
ENOUGH = 2
"""Points beyond which a function is tried on many at once."""
AWAY = 1e-6
"""How far, in rad, a link that starts upside down must have gone before it can turn over."""
NO_LINKS = np.empty(0, int)
SAME = 1e-9
"""What values of a function of many points at once may differ by, relatively, from those of one point at a time."""


@dataclass(frozen=True)
class Event:
    """A user's function of (t, theta, omega) whose sign changes are recorded; `terminal` ends the run there. Of a chain in space
    it is a function of (t, direction, omega), both (N, 3) in world axes.

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


def upside_down(theta: np.ndarray) -> np.ndarray:
    """Whether links stand upside down, to rounding."""
    return np.abs(np.abs(wrapped(theta)) - math.pi) <= UPSIDE_DOWN * np.maximum(1.0, np.abs(theta))


def passages(chunk: Chunk, system: System) -> list[EventRecord]:
    """Return the dead positions within a chunk: where the links of a loop come to lie in line, or nearly."""
    chain, size = system.chain, system.size
    if not chain.closed or len(chunk.t) < 2:
        return []
    turned = np.abs(np.diff(chunk.t)) * np.abs(system.decode(chunk.y[:, :size])[1] / loop_closure.units(chain)).max(-1)[:-1]
    looks = np.clip(np.ceil(turned / TURN), LOOKS, MOST_LOOKS).astype(int)
    inner = [np.linspace(chunk.t[k], chunk.t[k + 1], count, endpoint=False) for k, count in enumerate(looks.tolist())]
    t = np.append(np.concatenate(inner), chunk.t[-1])
    if isinstance(chain, Mechanism):
        return _passages_of_mechanism(chunk, system, chain, t)
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


def _passages_of_mechanism(chunk: Chunk, system: System, chain: Mechanism, t: np.ndarray) -> list[EventRecord]:
    """Return where a mechanism is nearest to a dead position within a chunk, if it is near: minima of the nearness between the
    times t, which are looked for by parabolas of its square. They depend on the steps alone, not on the chunks.
    """
    size, found, sign = system.size, [], math.copysign(1.0, t[-1] - t[0])

    def square(times: np.ndarray) -> np.ndarray:
        return system.nearness(chunk.at(times)[:, :size]) ** 2

    first, last = BEYOND * (t[1] - t[0]), BEYOND * (t[-1] - t[-2])
    looks = np.concatenate([t[:1] - first, t, t[-1:] + last])
    near = square(looks)
    lowest = (near[1:-1] <= near[:-2]) & (near[1:-1] < near[2:]) & (near[1:-1] < CLOSE**2)
    for k in (1 + np.flatnonzero(lowest)).tolist():
        part = int(np.searchsorted(sign * t, sign * _vertex(looks[k - 1 : k + 2], near[k - 1 : k + 2])))
        if not 0 < part < len(t):  # it is in the chunk before or after
            continue
        middle, width = 0.5 * float(t[part - 1] + t[part]), float(t[part] - t[part - 1])
        low, high = sorted((middle - 1.5 * width, middle + 1.5 * width))
        for half in PARABOLAS:
            times = middle + half * width * np.array([-1.0, 0.0, 1.0])
            middle = min(max(_vertex(times, square(times)), low), high)
        if not sign * t[0] < sign * middle <= sign * t[-1]:
            continue
        state = chunk.at(np.array([middle]))
        sigma = float(system.nearness(state[:, :size])[0])
        if sigma <= DEAD:
            theta, omega = (values[0] for values in system.decode(state[:, :size]))
            freedom = int((~chain.prescribed).sum()) - chain.rows + system.spare
            info = {"sigma": sigma, "determined": freedom <= 1 or sigma > UNSURE}
            found.append(EventRecord(middle, "dead position", theta.copy(), omega.copy(), info))
    return found


def _vertex(times: np.ndarray, values: np.ndarray) -> float:
    """Return where the parabola through three points is lowest; the middle of these, if it is not bent upwards."""
    left, right = (times[0] - times[1]), (times[2] - times[1])
    a, b = (values[0] - values[1]) / left, (values[2] - values[1]) / right
    bent = (b - a) / (right - left)
    return float(times[1] - (0.5 * (a * right - b * left) / (b - a) if bent > 0 else 0.0))


class Occurrence(NamedTuple):
    """An event with the state at which it happened, and whether it ends the run."""

    record: EventRecord
    state: np.ndarray
    terminal: bool


class Watches:
    """Follows all events of a run: flips in the compiled steps, where they can be found there, and the rest from chunk to chunk."""

    def __init__(self, events: list[Event | Flip], system: System, stepper: Stepper, t: float, state: np.ndarray) -> None:
        self.system, n, slides = system, system.chain.n, system.chain.slides
        self._flips, self._watches, self.links, self.leaving = [], [], NO_LINKS, NO_LINKS
        self.room: FlipRoom = no_room(system.full_size)
        if not events:
            return
        for event in events:
            _check(event, system.chain)
        compiled = stepper.powers and len(system.angle_rows)
        self._flips = [event for event in events if isinstance(event, Flip) and compiled]
        self._watches = [Watch(event, system, t, state) for event in events if event not in self._flips]
        ends = np.full(n, -1)  # of each link: 0 if its flips are looked for, 1 if one ends the run
        for flip in self._flips:
            links = slice(None) if flip.link is None else flip.link
            ends[links] = np.maximum(ends[links], flip.terminal)
        self.links = np.flatnonzero((ends >= 0) & ~slides)
        self.start = system.decode(state[None, : system.size])[0][0]
        flips = any(isinstance(event, Flip) for event in events)
        self.leaving = np.flatnonzero(upside_down(self.start) & ~slides) if flips else NO_LINKS
        rows = system.angle_rows[self.links] if len(self.links) else self.links
        self.room = flip_room(rows, ends[self.links], system.full_size, stepper.powers)

    @property
    def dense(self) -> bool:
        """Whether steps are looked at between their ends."""
        return bool(self._watches) or self.system.chain.closed

    @property
    def uncompiled(self) -> bool:
        """Whether Python functions are called for each step."""
        return bool(self._watches)

    def occurrences(self, chunk: Chunk) -> list[Occurrence]:
        """Return what happened within a chunk's steps, in the order of time."""
        sign = 1.0 if chunk.t[-1] >= chunk.t[0] else -1.0
        if not (self._watches or chunk.flips or len(self.leaving)):
            return []
        happened = [found for watch in self._watches for found in watch.events(chunk)]
        if chunk.flips:
            happened += self._turned(chunk)
        if len(self.leaving):
            happened = self._without_starts(happened, chunk, sign)
        return sorted(happened, key=lambda found: sign * found.record.t)

    def _without_starts(self, happened: list[Occurrence], chunk: Chunk, sign: float) -> list[Occurrence]:
        """Leave out the flips of links that start upside down and only leave that place: they have not turned over."""
        angles = self.system.decode(chunk.y[:, : self.system.size])[0][:, self.leaving]
        gone = np.abs(angles - self.start[self.leaving]) > AWAY
        k = gone.argmax(0)
        away = gone[k, np.arange(len(k))]
        first = dict(zip(self.leaving.tolist(), np.where(away, sign * chunk.t[k], np.inf).tolist(), strict=True))
        self.leaving = self.leaving[~away]

        def leaves(event: EventRecord) -> bool:
            link = event.info.get("link", -1)
            return sign * event.t <= first.get(link, -math.inf) and abs(event.theta[link] - self.start[link]) <= AWAY

        return [found for found in happened if not leaves(found.record)]

    def _turned(self, chunk: Chunk) -> list[Occurrence]:
        """Return the flips that the steps have found."""
        if chunk.flips < 0:
            raise _too_many(chunk)
        t, which, states = (values[: chunk.flips] for values in (self.room.t, self.room.which, self.room.y))
        states = states.copy()
        theta, omega = self.system.decode(states[:, : self.system.size])
        links, ways = self.links[which[:, 0]].tolist(), which[:, 1].tolist()
        flips = list(enumerate(zip(t.tolist(), links, ways, strict=True)))
        return [
            Occurrence(
                event_record(self.system.chain, time, "flip", theta[k], omega[k], {"link": link, "direction": way}),
                states[k],
                event.terminal,
            )
            for event in self._flips
            for k, (time, link, way) in flips
            if event.link in (None, link)
        ]


def _check(event: object, chain: Multibody) -> None:
    slides = chain.slides
    if not isinstance(event, Event | Flip):
        raise ModelError(f"events must be Event(...) or Flip(...) records, got {shown(event)}")
    if isinstance(event, Flip):
        refuse_space("Flip", chain)
    if isinstance(event, Flip) and event.link is not None:
        if event.link >= len(slides):
            raise ModelError(f"Flip.link must be below the number of links, {len(slides)}, got {event.link}")
        if slides[event.link]:
            raise ModelError(f"Flip.link must be a link, got {event.link}, a slider, which keeps its angle; use Event")


def _too_many(chunk: Chunk) -> ModelError:
    return ModelError(
        f"too many links turn over about t = {chunk.t[-1]:g} s to keep the state at each; "
        "set run.flips = 'off', or watch one with Flip(link)"
    )


def _columns(*values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays with a point in each row, (K, ...), with a point in each column, (..., K)."""
    return tuple(np.moveaxis(each, 0, -1) for each in values)


class Watch:
    """Follows one event along a run.

    What it follows are marks that change at an event: the turns of each link watched, or the sign of the function (a zero, or
    what is not a number, keeps the sign before it).
    """

    def __init__(self, event: Event | Flip, system: System, t: float, state: np.ndarray) -> None:
        self.event, self.system = event, system
        self._many: bool | None = None
        self.marks = self._marks(np.array([t]), state[None], np.zeros(1))[0]

    def events(self, chunk: Chunk) -> list[Occurrence]:
        """Return the events within a chunk's steps."""
        looks = 1 if isinstance(self.event, Flip) else LOOKS
        t = np.append((chunk.t[:-1, None] + np.diff(chunk.t)[:, None] * np.arange(looks) / looks).ravel(), chunk.t[-1])
        marks = np.vstack([self.marks, self._marks(t[1:], chunk.at(t[1:]), self.marks)])
        self.marks = marks[-1]
        changed = np.argwhere(marks[1:] != marks[:-1])
        if len(changed) * chunk.y.shape[1] > MOST_FLIP_NUMBERS:
            raise _too_many(chunk)
        return [
            event
            for k, column in changed.tolist()
            for event in self._between(chunk, t[k : k + 2], column, marks[k : k + 2, column])
        ]

    def _marks(self, t: np.ndarray, states: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the marks (K, columns) at K times; `before` are those just before the first."""
        theta, omega = self.system.decode(states[:, : self.system.size])
        if isinstance(self.event, Flip):
            angles = np.where(self.system.chain.slides, 0.0, theta)
            return turns(angles if self.event.link is None else angles[:, [self.event.link]])
        signs = np.sign(self._values(t, *self._seen(theta, omega)))
        known = np.isfinite(signs) & (signs != 0)
        last = np.maximum.accumulate(np.where(known, np.arange(len(t)), -1))
        return np.where(last >= 0, signs[last], before[0])[:, None]

    def _seen(self, position: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the function is given: angles and rates (K, N); in space directions and angular velocities (K, N, 3)."""
        chain = self.system.chain
        if not isinstance(chain, SpatialChain):
            return position, velocity
        found = turns_of(chain, position, velocity)
        return found.direction, found.omega

    def _values(self, t: np.ndarray, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return the values of the function: of all points at once, if it has given the same values so as point by point before."""
        assert isinstance(self.event, Event)
        if self._many:
            return np.asarray(self.event.function(t, *_columns(theta, omega)), float)  # pyright: ignore[reportArgumentType]
        values = np.array([self._value(*point) for point in zip(t.tolist(), theta, omega, strict=True)])
        if self._many is None and len(t) > ENOUGH:
            self._many = self._agrees(t, theta, omega, values)
        return values

    def _agrees(self, t: np.ndarray, theta: np.ndarray, omega: np.ndarray, values: np.ndarray) -> bool:
        """Whether the function of arrays, a point in each column, gives these values too; whatever it raises, it does not."""
        assert isinstance(self.event, Event)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                many = np.asarray(self.event.function(t, *_columns(theta, omega)), float)  # pyright: ignore[reportArgumentType]
        except Exception:
            return False
        return many.shape == values.shape and bool(np.allclose(many, values, rtol=SAME, atol=0.0, equal_nan=True))

    def _value(self, t: float, theta: np.ndarray, omega: np.ndarray) -> float:
        assert isinstance(self.event, Event)
        value = self.event.function(t, theta, omega)
        if np.ndim(value) != 0 or isinstance(value, str):
            raise ModelError(f"Event.function must return one number, got {shown(value)} at t = {t:g}")
        return float(value)

    def _between(self, chunk: Chunk, times: np.ndarray, column: int, marks: np.ndarray) -> list[Occurrence]:
        """Return the events of one column between two times, from one mark to the other."""
        (left, right), (old, new) = times.tolist(), marks.tolist()
        out = []
        while old != new and len(out) < MOST_IN_A_STEP:
            left, state, mark = self._first(chunk, left, right, old, column)
            sign, begun = int(np.sign(mark - old)), old != 0
            old = mark
            if isinstance(self.event, Flip) or (begun and self.event.direction in (0, sign)):
                out.append(Occurrence(self._record(left, state, column, sign), state, self.event.terminal))
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
            return event_record(self.system.chain, t, "flip", theta.copy(), omega.copy(), {"link": link, "direction": sign})
        name = self.event.name or getattr(self.event.function, "__name__", "event")
        return event_record(self.system.chain, t, name, theta.copy(), omega.copy(), {"direction": sign})
