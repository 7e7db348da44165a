"""Least and largest angles and rates; in space inclinations, angular velocities and speeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from nlink.compiled.jit import kernel
from nlink.ensemble.kernels.lanes import NEW, OLD, SPAN, member_in, moved
from nlink.ensemble.kernels.methods import path_of, seen
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.kernels.within import may_exceed, note_turns, parabola
from nlink.ensemble.outputs.base import OFTEN, Arrays, Keep, Output
from nlink.ensemble.outputs.extremes_in_space import RangeInSpace
from nlink.integrators.save_times import save_times
from nlink.mechanics.chain import Multibody
from nlink.mechanics.space.model import SpatialChain

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.readout import Readout
    from nlink.run.run import Run

HALVINGS = 30
"""Of the time between two points, to find where something turns back."""


class Range(NamedTuple):
    """The observer: least and largest angles and rates (M, N)."""

    least_theta: np.ndarray
    largest_theta: np.ndarray
    least_omega: np.ndarray
    largest_omega: np.ndarray


@dataclass(frozen=True)
class Extremes(Keep):
    """Least and largest angles and rates, also between the ends of the steps: least_theta, ..., largest_omega.

    In space least and largest inclinations, sizes of angular velocities, and speeds of lower ends: least_inclination, ...,
    largest_speed. Inclinations near the vertical have errors of about 1e-8 rad.
    """

    def outputs(self, n: int) -> dict[str, Output]:
        """Return four arrays."""
        return _outputs(n, (("theta", "rad", "angle"), ("omega", "rad/s", "rate")))

    def in_space(self, chain: Multibody) -> dict[str, Output]:
        """Return six arrays."""
        sizes = ("omega", "rad/s", "size of the angular velocity"), ("speed", "m/s", "speed of the lower end")
        return _outputs(chain.n, (("inclination", "rad", "inclination"), *sizes))

    def tracked(self, chain: Multibody) -> dict[str, Output]:
        """Return the arrays of `kept`: heights stand for inclinations in space, and squares for sizes."""
        return self.kept(chain)

    def in_lanes(self, chain: Multibody) -> bool:
        """Whether a chain lies in the plane, or has no bodies in space."""
        return not isinstance(chain, SpatialChain) or chain.lines

    def observe(self, job: Job, arrays: Arrays) -> Range | RangeInSpace:
        """Return an observer of angles and rates, or of lines in space."""
        kind = RangeInSpace if job.chain.spatial else Range
        return kind(*(arrays.new((job.members, *each.shape), each.dtype) for each in self.kept(job.chain).values()))

    def translated(self, chain: Multibody, raw: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return inclinations of heights, and sizes of squares."""
        if not chain.spatial:
            return raw
        return {name: _inclination(values) if "inclination" in name else np.sqrt(values) for name, values in raw.items()}

    def points(self, t_end: float) -> Sequence[float]:
        """Return times close together."""
        return save_times(OFTEN, t_end).all().tolist()

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Take the points, and where the links turn back in between."""
        looks = IN_SPACE if run.chain.spatial else IN_PLANE
        raw = {f"{which}_{name}": row for name, look in looks.items() for which, row in zip(ENDS, _of_run(run, look), strict=True)}
        for name, values in self.translated(run.chain, raw).items():
            results[name][k] = values


ENDS = "least", "largest"
Look: TypeAlias = "Callable[[Readout], tuple[np.ndarray, np.ndarray]]"
"""Of a run, or of its points: what is looked at and its derivative, each (T, N)."""


def _outputs(n: int, kinds: tuple[tuple[str, str, str], ...]) -> dict[str, Output]:
    """Return the least and the largest of each kind: its name, unit and words."""
    return {
        f"{which}_{name}": Output(("link",), (n,), "f8", unit, f"{which} {word}", f"{which}_{name}", f"{which} {word}")
        for name, unit, word in kinds
        for which in ENDS
    }


def _inclination(height: np.ndarray) -> np.ndarray:
    """Return the angle from straight down of a direction with this component up."""
    return np.arccos(np.clip(-height, -1.0, 1.0))


def _heights(run: Readout) -> tuple[np.ndarray, np.ndarray]:
    """Return the heights of directions."""
    return run.direction[..., 1], np.cross(run.omega, run.direction)[..., 1]


def _squares(run: Readout) -> tuple[np.ndarray, np.ndarray]:
    """Return the squares of angular velocities."""
    return (run.omega**2).sum(-1), 2 * (run.omega * run.alpha).sum(-1)


def _speeds(run: Readout) -> tuple[np.ndarray, np.ndarray]:
    """Return the squares of the speeds of lower ends."""
    length, omega, e = run.chain.length[:, None], run.omega, run.direction
    rate = np.cross(omega, e)
    v, a = (np.cumsum(length * each, -2) for each in (rate, np.cross(run.alpha, e) + np.cross(omega, rate)))
    return (v**2).sum(-1), 2 * (v * a).sum(-1)


IN_PLANE: dict[str, Look] = {"theta": lambda run: (run.theta, run.omega), "omega": lambda run: (run.omega, run.alpha)}
IN_SPACE: dict[str, Look] = {"inclination": _heights, "omega": _squares, "speed": _speeds}


def _of_run(run: Run, look: Look) -> np.ndarray:
    """Return the least and the largest of what is looked at (2, N): at the saved points, and where it turns back in between."""
    values, paces = look(run)
    found = np.array([values.min(0), values.max(0)])
    for i in range(run.chain.n):
        turns = np.flatnonzero(paces[:-1, i] * paces[1:, i] < 0)
        low, high = run.t[turns], run.t[turns + 1]
        for _ in range(HALVINGS if len(turns) else 0):
            middle = 0.5 * (low + high)
            before = look(run.at(middle))[1][:, i] * paces[turns, i] > 0
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        peaks = look(run.at(low))[0][:, i] if len(turns) else values[:0, i]
        found[0, i], found[1, i] = peaks.min(initial=found[0, i]), peaks.max(initial=found[1, i])
    return found


@kernel
def begin(observer, view, k):
    """Begin with the start of the member in lane k."""
    n, member, y = view.p.chain.n, member_in(view, k), view.own.y
    for i in range(n):
        observer.least_theta[member, i] = observer.largest_theta[member, i] = y[OLD, i, k]
        observer.least_omega[member, i] = observer.largest_omega[member, i] = y[OLD, n + i, k]


@kernel
def look(observer, view, _):
    """Look at the steps of all lanes."""
    for k in range(len(view.lanes)):
        if moved(view, k):
            path, member = path_of(view.method, view, k), member_in(view, k)
            for i in range(view.p.chain.n):
                look_at_angle(k, i, view, path, observer.least_theta[member], observer.largest_theta[member])
                look_at_rate(k, i, view, path, observer.least_omega[member], observer.largest_omega[member])


@kernel
def look_at_angle(k, i, view, path, least, largest):
    """Note the angle of link i of lane k at the end of its step, and where it turns back."""
    y, h, rate = view.own.y, view.own.clocks[SPAN, k], view.p.chain.n + i
    first, last, begins, ends = y[OLD, i, k], y[NEW, i, k], y[OLD, rate, k], y[NEW, rate, k]
    least[i], largest[i] = min(least[i], last), max(largest[i], last)
    if may_exceed(first, last, h * begins, h * ends, least[i], largest[i]):
        note_turns(k, i, i, False, h, begins, ends, last - first, first, least, largest, path)


@kernel
def look_at_rate(k, i, view, path, least, largest):
    """Note the rate of link i of lane k likewise: its derivatives are guessed first."""
    y, h, rate = view.own.y, view.own.clocks[SPAN, k], view.p.chain.n + i
    first, last = y[OLD, rate, k], y[NEW, rate, k]
    least[i], largest[i] = min(least[i], last), max(largest[i], last)
    square, slope = parabola(h, first, last, y[NEW, i, k] - y[OLD, i, k])
    if may_exceed(first, last, slope, slope + 2.0 * square, least[i], largest[i]):
        _, begins = seen(k, i, 0.0, True, path)
        _, ends = seen(k, i, h, True, path)
        note_turns(k, i, i, True, h, begins, ends, last - first, 0.0, least, largest, path)


HOOKS[Range] = Hooks(start=begin, after_step=look)
