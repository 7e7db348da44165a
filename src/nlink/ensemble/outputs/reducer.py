"""A function of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from nlink._support.checks import ModelError, line, number, shown, whole
from nlink.compiled.jit import kernel, of_user
from nlink.ensemble.kernels.lanes import NEW, OLD, SPAN, T, half_of, member_in, moved
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.outputs.base import Arrays, Keep, Output
from nlink.mechanics.chain import Multibody

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run

MOST_KEPT = 1_000_000
"""Numbers that a Reducer may keep of each member."""
Step = Callable[[np.ndarray, float, np.ndarray, np.ndarray], None]


@dataclass(frozen=True)
class Reducer(Keep):
    """A function of your own: step(memory, t, theta, omega) is called at the start and after every step with plain numbers and
    arrays, and changes `memory` (size,), up to 1,000,000 numbers, which is kept; it must be something Numba can compile. In space
    theta and omega are the coordinates (K,) and their rates: (x, y, z) of the direction of each line.
    """

    name: str
    size: int
    step: Step
    start: float = 0.0

    def __post_init__(self) -> None:
        line("Reducer.name", self.name, 100)
        whole("Reducer.size", self.size, most=MOST_KEPT)
        number("Reducer.start", self.start)
        if not self.name.isidentifier() or not callable(self.step):
            raise ModelError(f"Reducer needs a name like 'work' and a function step(memory, t, theta, omega), got {shown(self)}")

    @property
    def key(self) -> str:
        """Several are kept if their names differ."""
        return self.name

    def outputs(self, n: int) -> dict[str, Output]:
        """Return its memory."""
        return {self.name: Output((f"{self.name}_part",), (self.size,), "f8", "", "kept by a function of the user")}

    def in_space(self, chain: Multibody) -> dict[str, Output]:
        """Return the same."""
        return self.outputs(chain.n)

    def observe(self, job: Job, arrays: Arrays) -> Any:
        """Return an observer that calls the function."""
        states = (arrays.new((job.members, job.chain.size), "f8", 0.0) for _ in range(2))
        return _observer(self.step)(arrays.new((job.members, self.size), "f8", self.start), *states)

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Call the function at the start and after every step of the run."""
        steps, memory = run.knots, results[self.name][k]
        if steps is None or len(steps.t) < 0.75 * run.stats.steps:
            alone = "for members that are followed one by one (pins, torque functions in Python)"
            raise ModelError(f"Reducer cannot keep {run.stats.steps} steps {alone}; shorten t_end")
        memory[:], step = self.start, _compiled(self.step)
        for t, position, velocity in zip(steps.t, steps.position, steps.velocity, strict=True):
            step(memory, t, position.copy(), velocity.copy())


@cache
def _compiled(step: Step) -> Any:
    """Return the function, compiled once."""
    return step if isinstance(step, Dispatcher) else of_user(step, "the function of a Reducer")


@cache
def _observer(step: Step) -> Any:
    """Return a type of observers that call a function: what it keeps (M, size), and a copy of the state of each member (M, N)."""
    call = _compiled(step)

    class Reduction(NamedTuple):
        memory: np.ndarray
        theta: np.ndarray
        omega: np.ndarray

    @kernel
    def show(observer, view, k, row, t):
        n, member, y = half_of(view), member_in(view, k), view.own.y
        for i in range(n):
            observer.theta[member, i], observer.omega[member, i] = y[row, i, k], y[row, n + i, k]
        call(observer.memory[member], t, observer.theta[member], observer.omega[member])

    @kernel
    def begin(observer, view, k):
        show(observer, view, k, OLD, 0.0)

    @kernel
    def look(observer, view, _):
        for k in range(len(view.lanes)):
            if moved(view, k):
                show(observer, view, k, NEW, view.own.clocks[T, k] + view.own.clocks[SPAN, k])

    HOOKS[Reduction] = Hooks(start=begin, after_step=look)
    return Reduction
