"""poincare(): where motions pass through a section of their phase space, found by root finding on the dense output.

    Section(link, angle, direction)    the link passes an angle, counted modulo whole turns
    Strobe(period, start)              once a period: the natural section of a driven chain

Many starts can be followed at once; every point carries the error of its balance of energy, so that one sees whether points of a
chain without losses lie on the energy surface of their start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import WIDEST_ANGLE, ModelError, number, set_checked, shown, whole
from nlink._support.lazy import shown_by
from nlink._support.progress import Bar
from nlink._support.showing import short
from nlink.analysis.motion import Motion, failure, followed, start_state
from nlink.compiled.announcing import waiting
from nlink.formulations import formulate
from nlink.integrators.accuracy import CLOSED_SECTIONS, SECTIONS
from nlink.integrators.base import ARRIVED, Chunk
from nlink.integrators.runge_kutta import DOP853
from nlink.integrators.taylor import Taylor
from nlink.mechanics import kinematics, linearised
from nlink.mechanics.chain import Chain, Multibody
from nlink.mechanics.mechanism import plain_chain
from nlink.mechanics.system import System
from nlink.run.run import Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS, TURN = 4, 0.5
"""Times a step is looked at, and the angle in rad after which it is looked at again."""
MOST_STROBES = 10_000_000
"""Points of a strobe for each start."""
MOST_CUTS = 80
BARELY = 1e-9
"""Seconds after its start in which a motion that begins on the section does not count as passing it."""


@dataclass(frozen=True)
class Section:
    """Where a link (counted from 0) passes an angle in rad, modulo whole turns: upwards (direction 1), downwards (-1), both (0)."""

    link: int = 0
    angle: float = 0.0
    direction: int = 1

    def __post_init__(self) -> None:
        whole("Section.link", self.link, least=0)
        set_checked(self, number, "angle", most=WIDEST_ANGLE)
        if self.direction not in (-1, 0, 1) or isinstance(self.direction, bool):
            raise ModelError(f"Section.direction must be -1, 0 or 1, got {shown(self.direction)}")


@dataclass(frozen=True)
class Strobe:
    """Once every `period` s, first at `start`."""

    period: float
    start: float = 0.0

    def __post_init__(self) -> None:
        set_checked(self, number, "period", above=0)
        set_checked(self, number, "start", least=0)


@short
@dataclass(frozen=True, eq=False)
class Points:
    """Points of a section in the order of starts and times.

    theta, omega (P, N): angles, not wrapped, and rates; momentum (P, N): M omega in kg m^2/s, in whose planes the motions of two
    links without losses do not cross (in those of the rates they can: the section's link has two rates of the same energy);
    t (P,) in s; start (P,): from which start, counted from 0; residual (P,): error of the balance of energy in J; status: how the
    motion from each start ended; last (members, 2N): the states there.
    """

    section: Section | Strobe
    theta: np.ndarray
    omega: np.ndarray
    momentum: np.ndarray
    t: np.ndarray
    start: np.ndarray
    residual: np.ndarray
    status: tuple[Status, ...]
    last: np.ndarray

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.t)

    @shown_by("chaos.poincare_figure")
    def plot(
        self,
        link: int | None = None,
        *,
        ax: Axes | None = None,
        size: tuple[float, float] | str | None = None,
        theme: str | None = None,
    ) -> Figure:
        """Return the points in the plane of angle and momentum (of a Strobe: rate) of a link, from 0; the rest as in `Run.plot`."""
        ...


@waiting("sections")
def poincare(
    chain: Multibody,
    theta: ArrayLike,
    omega: ArrayLike | None = None,
    *,
    t_end: float,
    section: Section | Strobe = Section(),
    transient: float = 0.0,
    progress: bool = False,
) -> Points:
    """Return the points at which motions from angles theta and rates omega, (N,) or (members, N), pass a section until t_end.

    Parameters
    ----------
    theta, omega : rad and rad/s; at rest if omega is not given
    section : Section(link, angle, direction) or Strobe(period)
    transient : s at the beginning whose points are left out
    progress : show a progress bar on a terminal

    Ctrl-C, or a motion that cannot be followed further, keeps the points found so far; `status` says how each motion ended.

    >>> points = poincare(Chain.uniform(2), [0.5, 0.5], t_end=20.0)
    >>> len(points), bool(abs(points.residual).max() < 1e-9)
    (8, True)
    """
    system = formulate(_checked(chain, section))
    t_end, transient = number("t_end", t_end, above=0), number("transient", transient, least=0)
    if isinstance(section, Strobe) and t_end / section.period > MOST_STROBES:
        told = f"{t_end / section.period:.3g} points up to t_end = {t_end:g}"
        raise ModelError(f"Strobe.period would give {told}, at most {MOST_STROBES:,}; give a longer period or a shorter time")
    starts = _starts(system, theta, omega)
    finder = _Finder(system, section, transient)
    status: list[Status] = []
    with Bar("passing the section", progress) as bar:
        for k, state in enumerate(starts):
            times = finder.times(state, k, t_end)
            status.append(followed(times, t_end, "points", lambda t, k=k: bar.update(k + t / t_end, len(starts))))
            if status[-1].code == "interrupted":
                break
    return finder.points(tuple(status))


def _checked(chain: Multibody, section: Section | Strobe) -> Chain:
    chain = plain_chain("poincare", chain, "give simulate an Event where the motion crosses the section")
    if not isinstance(section, Section | Strobe):
        raise ModelError(f"section must be a Section(...) or a Strobe(...), got {shown(section)}")
    if isinstance(section, Section) and section.link >= chain.n:
        raise ModelError(f"Section.link must be below the number of links, {chain.n}, got {section.link}")
    return chain


def _starts(system: System, theta: ArrayLike, omega: ArrayLike | None) -> list[np.ndarray]:
    """Return the start states, closed if the chain is."""
    rows = [theta] if np.ndim(theta) < 2 else list(np.asarray(theta))
    rates = [omega] * len(rows) if omega is None or np.ndim(omega) < 2 else list(np.asarray(omega))
    if not rows or len(rates) != len(rows):
        raise ModelError(f"omega must hold a row for each of the {len(rows)} starts in theta, got {len(rates)}; give as many")
    return [start_state(system, angles, speeds) for angles, speeds in zip(rows, rates, strict=True)]


class _Finder:
    """Follows motions and gathers their points."""

    def __init__(self, system: System, section: Section | Strobe, transient: float) -> None:
        self.system, self.section, self.transient = system, section, transient
        tol = CLOSED_SECTIONS if system.chain.pin else SECTIONS
        self.motion = Motion(system, DOP853(tol, tol) if Taylor.refusal(system) else Taylor(SECTIONS))
        self.last: list[np.ndarray] = []
        """Of each motion the state that it has reached."""
        self.passages = [(np.empty(0), np.empty((0, system.full_size)), np.empty(0, int), np.empty(0))]
        """Times (P,), states (P, m), from which start (P,), and the energy in J of that start (P,)."""

    def times(self, state: np.ndarray, start: int, t_end: float) -> Iterator[float]:
        """Follow the motion from a state, gather its points, and yield the times that it reaches."""
        size = self.system.size
        energy = float(np.sum(self.system.energy(state[None, :size])))
        self.last.append(state[:size])
        for chunk in self.motion.chunks(0.0, t_end, state, 2000):
            if len(chunk.t) > 1 and np.isfinite(chunk.y).all():
                self._gather(chunk, start, energy)
            t, self.last[-1] = float(chunk.t[-1]), chunk.y[-1, :size].copy()
            yield t
            if chunk.code > ARRIVED:
                stopped = f"the motion could not be followed beyond t = {t:g} s"
                raise failure(self.system, t, Status("failed", stopped, "simulate it to see why"))

    def _gather(self, chunk: Chunk, start: int, energy: float) -> None:
        """Add the points of a chunk."""
        times = strobes(chunk, self.section) if isinstance(self.section, Strobe) else crossings(chunk, self.system, self.section)
        states = chunk.at(times)
        if self.system.projected and len(states):
            states = self.system.settled(states)[0]
        late = times > max(self.transient, BARELY)
        count = int(late.sum())
        self.passages.append((times[late], states[late], np.full(count, start), np.full(count, energy)))

    def points(self, status: tuple[Status, ...]) -> Points:
        """Return the points of all motions."""
        system, (t, states, start, energy) = self.system, (np.concatenate(parts) for parts in zip(*self.passages, strict=True))
        theta, omega = (values.copy() for values in system.decode(states[:, : system.size]))
        kinetic, potential = kinematics.energies(system.chain, theta, omega)
        residual = kinetic + potential - energy - states[:, system.size :].sum(1)
        momentum = (linearised.mass_matrix(system.chain, theta) @ omega[..., None])[..., 0]
        return Points(self.section, theta, omega, momentum, t, start, residual, status, np.array(self.last))


def strobes(chunk: Chunk, strobe: Strobe) -> np.ndarray:
    """Return the times of a chunk that are whole periods after the start of a strobe."""
    first = max(0, math.ceil((float(chunk.t[0]) - strobe.start) / strobe.period))
    last = math.floor((float(chunk.t[-1]) - strobe.start) / strobe.period + 1e-12)
    times = strobe.start + strobe.period * np.arange(first, last + 1)
    return np.minimum(times[times > chunk.t[0]], chunk.t[-1])


def crossings(chunk: Chunk, system: System, section: Section) -> np.ndarray:
    """Return the times in a chunk at which the link passes the angle in the direction asked for, to rounding."""
    link, turn = section.link, 2 * math.pi
    fastest = np.abs(system.decode(chunk.y[:, : system.size])[1][:, link]).max()
    looks = max(LOOKS, math.ceil(float(np.diff(chunk.t).max() * fastest) / TURN))
    t = np.append((chunk.t[:-1, None] + np.diff(chunk.t)[:, None] * np.arange(looks) / looks).ravel(), chunk.t[-1])
    count = np.floor((chunk.at(t)[:, link] - section.angle) / turn)
    change = np.diff(count)
    at = np.flatnonzero(change != 0 if section.direction == 0 else change * section.direction > 0)
    up = change[at] > 0
    level = section.angle + turn * np.where(up, count[at + 1], count[at])
    return _roots(chunk, system, link, level, np.where(up, 1.0, -1.0), t[at], t[at + 1])


def _roots(
    chunk: Chunk, system: System, link: int, level: np.ndarray, sign: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return where an angle passes levels within (low, high], all at once: Newton's method, kept inside by halving."""
    t = 0.5 * (low + high)
    for _ in range(MOST_CUTS if len(t) else 0):
        theta, omega = system.decode(chunk.at(t)[:, : system.size])
        miss = sign * (theta[:, link] - level)
        low, high = np.where(miss < 0, t, low), np.where(miss < 0, high, t)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = t - sign * miss / omega[:, link]
        new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        close = np.abs(new - t) <= 2 * np.spacing(np.abs(t))
        t = new
        if close.all():
            break
    return t
