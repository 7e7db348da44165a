"""When and which link first turns over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, anywhere, where
from nlink.ensemble.kernels.lanes import AT, BAD, FLAG, NEW, OLD, SPAN, STOP, T, member_in, moved
from nlink.ensemble.kernels.methods import path_of
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.kernels.within import crossing, turning_point
from nlink.ensemble.outputs.base import Arrays, Keep, Output
from nlink.integrators.flips import UPSIDE_DOWN
from nlink.mechanics.tree import SLIDE, TreeParameters
from nlink.simulation.events import Flip

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run

NEAR = 0.5
"""How close to upside down, in rad, a link must be for its turning points to be looked at."""


class Flips(NamedTuple):
    """The observer: time and link of the first flip (M,), and whether it ends the member."""

    time: np.ndarray
    link: np.ndarray
    terminal: bool


@dataclass(frozen=True)
class FlipTime(Keep):
    """When and which link first turns over: flip_time (NaN if none does), flip_link (from 1; 0 if none does).

    Alone it ends a member there, and its status is "event".
    """

    observer: ClassVar[Any] = Flips

    def outputs(self, n: int) -> dict[str, Output]:
        """Return time and link."""
        return {
            "flip_time": Output((), (), "f8", "s", "when a link first turned over", "flip", "time of the first flip"),
            "flip_link": Output(
                (), (), "i4", "", "which link it was, counted from the pivot; 0: none", "link", "link that flips first"
            ),
        }

    def extras(self, job: Job, arrays: Arrays) -> tuple[Any, ...]:
        """Return whether a flip ends a member."""
        return (job.alone(self),)

    def events(self, alone: bool) -> tuple[Any, ...]:
        """Return the flip."""
        return (Flip(terminal=alone),)

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Take the first flip of the run."""
        flips = [event for event in run.events if event.name == "flip"]
        if flips:
            results["flip_time"][k], results["flip_link"][k] = flips[0].t, flips[0].info["link"] + 1


@kernel
def look(observer, view, _):
    """Look for a flip in the lanes in which a link may have turned over."""
    view.clocks[AT] = suspicion(view)
    if anywhere(view.clocks[AT] > 0.0):
        for k in range(len(view.lanes)):
            if view.own.clocks[AT, k] > 0.0 and moved(view, k) and view.own.clocks[BAD, k] == 0.0:
                note(observer, view, k)


@kernel
def note(observer, view, k):
    """Write down the first flip of the member in lane k, if it has one in this step."""
    member, own = member_in(view, k), view.own
    if math.isnan(observer.time[member]):
        link, when = flip(view, k)
        if link >= 0:
            observer.time[member], observer.link[member] = own.clocks[T, k] + when, link + 1
            if observer.terminal:
                own.clocks[STOP, k] = own.clocks[FLAG, k] = 1.0


@dispatched(lambda kind: (lambda i, p: p.tree.bodies[SLIDE, i] != 0) if kind is TreeParameters else (lambda i, p: False))
def slides(i, p):
    """Whether body i slides: it does not turn over."""


@kernel
def suspicion(view):
    """Return 1 in the lanes in which a link may have turned over."""
    n, y, new = view.p.chain.n, view.states[OLD], view.states[NEW]
    found, one = alike(0.0, view.clocks[T]), alike(1.0, view.clocks[T])
    for i in range(n):
        if slides(i, view.p):
            continue
        start, end, back = abs(y[i] - view.levels[i]), abs(new[i] - view.levels[i]), y[n + i] * new[n + i]
        near = (max(start, end) > math.pi - NEAR) & (back < 0.0)
        found = where((end > math.pi) | near, one, found)
    return found


@kernel
def flip(view, k):
    """Return the first link of lane k that turns over in the step, and the time into the step; -1 if none does.

    A link turns over when it has gone half a turn from where it hangs down. One that does and comes back within the step is found
    where it turns back.
    """
    n, own, path = view.p.chain.n, view.own, path_of(view.method, view, k)
    h = own.clocks[SPAN, k]
    link, soonest = -1, h
    for i in range(n):
        if slides(i, view.p):
            continue
        start, end, stop = own.y[OLD, i, k] - own.levels[i, k], own.y[NEW, i, k] - own.levels[i, k], h
        if own.clocks[T, k] == 0.0 and abs(end) > math.pi and abs(abs(start) - math.pi) <= UPSIDE_DOWN:
            turn = math.copysign(2.0 * math.pi, end)  # it only leaves the place where it starts upside down
            own.levels[i, k], start, end = own.levels[i, k] + turn, start - turn, end - turn
        back = own.y[OLD, n + i, k] * own.y[NEW, n + i, k] < 0.0
        if back and abs(end) <= math.pi and max(abs(start), abs(end)) > math.pi - NEAR:
            stop, by = turning_point(k, i, False, 0.0, h, own.y[OLD, n + i, k], own.y[NEW, n + i, k], path)
            end = start + by
        if abs(end) > math.pi and abs(start) <= math.pi:
            when = crossing(k, i, math.copysign(math.pi, end) - start, end - start, stop, path)
            if link < 0 or abs(when) < abs(soonest):
                link, soonest = i, when
    return link, soonest


HOOKS[Flips] = Hooks(after_step=look)
