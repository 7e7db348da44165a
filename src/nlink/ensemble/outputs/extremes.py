"""Least and largest angles and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from nlink.compiled.jit import kernel
from nlink.ensemble.kernels.lanes import NEW, OLD, SPAN, member_in, moved
from nlink.ensemble.kernels.methods import path_of, seen
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.kernels.within import turning_point
from nlink.ensemble.outputs.base import OFTEN, Keep, Output
from nlink.integrators.save_times import save_times

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run

PACES = {"theta": "omega", "omega": "alpha"}
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
    """Least and largest angles and rates, also between the ends of the steps."""

    observer: ClassVar[Any] = Range

    def outputs(self, n: int) -> dict[str, Output]:
        """Return four arrays."""
        return {
            f"{which}_{name}": Output(("link",), (n,), "f8", unit, f"{which} {name}", f"{which}_{name}", f"{which} {word}")
            for name, unit, word in (("theta", "rad", "angle"), ("omega", "rad/s", "rate"))
            for which in ("least", "largest")
        }

    def points(self, t_end: float) -> Sequence[float]:
        """Return times close together."""
        return save_times(OFTEN, t_end).all().tolist()

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Take the points, and where the links turn back in between."""
        for name in PACES:
            results[f"least_{name}"][k], results[f"largest_{name}"][k] = _of_run(run, name)


def _of_run(run: Run, name: str) -> np.ndarray:
    """Return least and largest angles or rates (2, N) of a run: at the saved points, and where they turn back in between."""
    values, paces = getattr(run, name), getattr(run, PACES[name])
    found = np.array([values.min(0), values.max(0)])
    for i in range(run.chain.n):
        turns = np.flatnonzero(paces[:-1, i] * paces[1:, i] < 0)
        low, high = run.t[turns], run.t[turns + 1]
        for _ in range(HALVINGS if len(turns) else 0):
            middle = 0.5 * (low + high)
            before = getattr(run.at(middle), PACES[name])[:, i] * paces[turns, i] > 0
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        peaks = getattr(run.at(low), name)[:, i] if len(turns) else values[:0, i]
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
        note_turns(k, i, False, h, begins, ends, last - first, first, least, largest, path)


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
        note_turns(k, i, True, h, begins, ends, last - first, 0.0, least, largest, path)


@kernel
def may_exceed(first, last, begins, ends, least, largest):
    """Whether a number may go beyond its extremes in a step, by which it would change by `begins` and `ends` at the derivatives of
    both ends: by the peak of a parabola, and a term of third order as large as all its change besides.
    """
    paces = abs(begins) + abs(ends)
    peak = first + (0.5 * begins * abs(begins) / paces if begins * ends < 0.0 else 0.0)
    slack = 0.15 * (paces + abs(last - first))
    return max(first, last, peak) + slack > largest or min(first, last, peak) - slack < least


@kernel
def parabola(h, first, last, by):
    """Return the coefficients of (s / h)^2 and s / h of a number that goes from first to last in a step h, its integral `by`."""
    return 3.0 * (first + last - 2.0 * by / h), 6.0 * by / h - 4.0 * first - 2.0 * last


@kernel
def note_turns(k, i, of_rates, h, first, last, by, start, least, largest, path):
    """Note where the angle of link i of lane k, or its rate, turns back; its derivatives at the ends of the step are first and
    last, it changes by `by`, and `start` is what values within the step are counted from.
    """
    stop, pace = h, last
    if first * last >= 0.0:
        stop = slowest(h, first, last, by)
        if stop != h:
            _, pace = seen(k, i, stop, of_rates, path)
    low, below = 0.0, first
    for part in range(2):
        high, above = (h, last) if part else (stop, pace)
        if below * above < 0.0:
            _, value = turning_point(k, i, of_rates, low, high, below, above, path)
            least[i], largest[i] = min(least[i], start + value), max(largest[i], start + value)
        low, below = high, above


@kernel
def slowest(h, first, last, by):
    """Return the time at which a derivative is smallest, from the quadratic that matches its values first and last at the ends of a
    step of length h and its integral `by`; h if it does not come near to a change of sign.
    """
    square, slope = parabola(h, first, last, by)
    if slope * square >= 0.0 or abs(slope) >= 2.0 * abs(square) or slope * first > 0.0:
        return h
    left = first * (first - slope * slope / (4.0 * square))
    return -0.5 * h * slope / square if first == 0.0 or left < 0.25 * first * first else h


HOOKS[Range] = Hooks(start=begin, after_step=look)
