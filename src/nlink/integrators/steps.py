"""The loop over compiled steps, one for all methods: clock, counts, bounds, saved points and the point to restart from.

A method is a NamedTuple of numbers and arrays, and the kernels of its step: `STEPS[its type] = StepKernels(...)`. The loop calls

    prepare       at each knot, and again beyond each bound: what a step from there needs
    attempt       takes a step from knot k to knot k + 1: calls `aim`, fills the state and its rates, returns a code
    interpolate   makes what the next two need, if one of them is called
    polynomial    fills the coefficients q of the step: y(t + u h) = y + h sum_j u^(j+1) q_j
    point         fills the state at a time within the step
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nlink.compiled.dispatch import ByClass, dispatched
from nlink.compiled.jit import Direct, entry, kernel
from nlink.compiled.views import views
from nlink.integrators.base import ARRIVED, RUNNING, Restart, Stepper
from nlink.integrators.flips import any_flip, find_flips, full
from nlink.integrators.polynomials import PolynomialChunk, copy_row
from nlink.integrators.sampling import Sampling, no_sampling, save_time

CHUNK_NUMBERS = 250_000
"""Most numbers that a chunk's knots and polynomials hold, unless one step needs more: 2 MB stay in the processor's cache."""
REJECTED = -1
"""The code of an attempt that is to be repeated with a smaller step."""
EPS = float(np.finfo(float).eps)


class Clock(NamedTuple):
    """Times, step sizes and counts of an integration. In compiled code it is a record of numbers that can be written."""

    t: float
    t_end: float
    sign: float
    step: float = 0.0
    """the next step as proposed; the one of the grid, if fixed"""
    reach: float = 0.0
    """how far fixed steps may go beyond the end"""
    origin: float = 0.0
    """of the grid of fixed steps, `grid_steps` steps ago"""
    target: float = 0.0
    """the end of the step under way"""
    h: float = 0.0
    """the size of the step under way"""
    smallest: float = 0.0
    """the smallest step that is taken"""
    restart_step: float = 0.0
    restart_origin: float = 0.0
    fixed: int = 0
    grid_steps: int = 0
    shortened: int = 0
    """whether the step under way ends at a bound"""
    frozen: int = 0
    """whether the end of the run has begun to shape the steps: the point to restart from lies before it"""
    retry: int = 0
    """whether the step before was rejected"""
    nfev: int = 0
    steps: int = 0
    rejected: int = 0
    restart_count: int = 0
    restart_knot: int = 0


CLOCK = np.dtype((np.record, [(name, type(Clock._field_defaults.get(name, 0.0))) for name in Clock._fields]))


class Knots(NamedTuple):
    """The knots of a chunk, t (K+1,), y and f (K+1, m), and its polynomials q (K, powers, m); there are none unless it is dense."""

    t: np.ndarray
    y: np.ndarray
    f: np.ndarray
    q: np.ndarray


class StepKernels(NamedTuple):
    """What a method does in a step: plain functions that stand for the generic ones of the same names. One that is left out does
    nothing.
    """

    attempt: Callable[..., int]
    polynomial: Callable[..., None] = lambda method, p, clock, q: None
    point: Callable[..., None] = lambda method, p, clock, knots, k, time, out: None
    interpolate: Callable[..., None] = lambda method, p, clock, knots, k: None
    prepare: Callable[..., None] = lambda method, p, clock, knots, k, bound, fresh: None


STEPS: dict[type, StepKernels] = ByClass()


@dispatched(lambda kind: STEPS[kind].prepare, "method")
def prepare(method, p, clock, knots, k, bound, fresh):
    """Make what a step from knot k towards a bound needs; fill the rates there, if the knot is fresh and they are not known."""


@dispatched(lambda kind: STEPS[kind].attempt, "method")
def attempt(method, p, clock, knots, k, bound, last):
    """Take a step from knot k: fill the state and the rates at knot k + 1; return RUNNING, REJECTED or why it cannot go on."""


@dispatched(lambda kind: STEPS[kind].interpolate, "method")
def interpolate(method, p, clock, knots, k):
    """Make the dense output of the step from knot k."""


@dispatched(lambda kind: STEPS[kind].polynomial, "method")
def polynomial(method, p, clock, q):
    """Fill the polynomial q (powers, m) of the step."""


@dispatched(lambda kind: STEPS[kind].point, "method")
def point(method, p, clock, knots, k, time, out):
    """Fill out with the state at a time within the step from knot k."""


@kernel
def aim(clock, h, bound, last):
    """Set target and size of a step of size h that ends at the bound at most; a fixed step may go beyond the last one."""
    target = clock.origin + (clock.grid_steps + 1) * h if clock.fixed else clock.t + h
    beyond = (target - bound) * clock.sign > 0.0
    if beyond and last:
        clock.frozen = 1
        if clock.fixed:
            bound = clock.reach
            beyond = (target - bound) * clock.sign > 0.0
    if beyond:
        target, h = bound, bound - clock.t
    clock.target, clock.h, clock.shortened = target, h, beyond


@kernel
def mark(clock, knot):
    """Let a run restart from a knot, unless the end has begun to shape the steps."""
    if not clock.frozen:
        clock.restart_knot, clock.restart_step = knot, clock.step
        clock.restart_origin, clock.restart_count = clock.origin, clock.grid_steps


@kernel
def accept(clock, knots, taken):
    """Stand at the end of the step, which is knot number `taken`."""
    clock.t = knots.t[taken] = clock.target
    clock.steps += 1
    if clock.fixed:
        clock.grid_steps += 1
        if clock.shortened:
            clock.origin, clock.grid_steps = clock.target, 0
    mark(clock, taken)


@kernel
def sample(method, p, clock, knots, k, sampling, saved, flips):
    """Make the dense output of the step from knot k, if it is needed; write down the points and flips of the step. Return how many
    points and flips there are then.
    """
    times, states, room = sampling.times, sampling.states, sampling.flips
    y, new, first = knots.y[k], knots.y[k + 1], times.first
    dense, turned = len(knots.q) > 0, any_flip(room, y, new)
    some = saved < min(len(states), times.total - first)
    if dense or turned or (some and (save_time(times, first + saved) - clock.target) * clock.sign < 0.0):
        interpolate(method, p, clock, knots, k)
    if dense:
        polynomial(method, p, clock, knots.q[k])
    if turned:
        polynomial(method, p, clock, room.q)
        flips = find_flips(room, clock.t, clock.target - clock.t, clock.target, y, new, flips)
    for i in range(saved, min(len(states), times.total - first)):
        time = save_time(times, first + i)
        if (time - clock.target) * clock.sign > 0.0:
            break
        if time == clock.target:
            copy_row(new, states[i])
        else:
            point(method, p, clock, knots, k, time, states[i])
        saved = i + 1
    return saved, flips


@entry("steps")
def advance(method, p, clocks, bounds, final, sampling, knots, limit):
    """Try up to `limit` steps from knot 0 on, from bound to bound; return how many were taken, how many points and flips there are,
    and a code.
    """
    method, p, knots, sampling = views(method), views(p), views(knots), views(sampling)
    clock = clocks[0]
    taken = saved = flips = at = tried = 0
    known, code, ended = -1, RUNNING, False
    knots.t[0] = clock.t
    clock.restart_knot = -1
    mark(clock, 0)
    while True:
        prepare(method, p, clock, knots, taken, bounds[at], known < taken)
        known = taken
        if taken == len(knots.t) - 1 or tried == limit or ended:
            break
        if (bounds[at] - clock.t) * clock.sign <= 0.0:
            if at == len(bounds) - 1:
                break
            at += 1
            continue
        tried += 1
        clock.smallest = 16 * EPS * max(abs(clock.t), 1e-6 * abs(clock.t_end))
        code = attempt(method, p, clock, knots, taken, bounds[at], final and at == len(bounds) - 1)
        if code == RUNNING:
            before = flips
            saved, flips = sample(method, p, clock, knots, taken, sampling, saved, flips)
            ended = full(sampling.flips, before, flips)
            taken += 1
            accept(clock, knots, taken)
        elif code == REJECTED:
            code = RUNNING
        else:
            break
    if code == RUNNING and (bounds[-1] - clock.t) * clock.sign <= 0.0:
        code = ARRIVED
    return taken, saved, flips, code


class CompiledStepper(Stepper):
    """Takes the steps of a method whose kernels are in STEPS."""

    method: Any

    def __init__(self, parameters: Any, m: int, powers: int) -> None:
        """`m` is the length of a state, `powers` the degree of the polynomials of the dense output."""
        self.parameters, self.powers = parameters, powers
        self.room, self.clock, self.no_sampling = Room(m, powers), np.zeros(1, CLOCK), no_sampling(m)
        self._advance = Direct(advance)  # of one stepper, all arguments keep their types

    def start(
        self,
        point: Restart,
        t_end: float,
        f: np.ndarray | None,
        step: float = 0.0,
        reach: float = 0.0,
        fixed: bool = False,
        nfev: int = 0,
    ) -> None:
        """Begin at a point with its rates, if they are known, with a first step, and with what the rates have cost."""
        self.point, self.y, self.f = point, point.y, f
        self.nfev = self.steps = self.rejected = 0
        sign = math.copysign(1.0, t_end - point.t)
        self.clock[0] = Clock(point.t, t_end, sign, step, reach, point.origin, fixed=fixed, grid_steps=point.count, nfev=nfev)

    def advance(
        self, bounds: np.ndarray, limit: int, final: bool = True, sampling: Sampling | None = None, dense: bool = False
    ) -> PolynomialChunk:
        """Take steps in one compiled call."""
        t, y, f, q = knots = self.room.take(limit, dense)
        y[0] = self.y
        if self.f is not None:
            f[0] = self.f
        bounds = np.ascontiguousarray(bounds, float)
        sampling = sampling or self.no_sampling
        given = self.method, self.parameters, self.clock, bounds, final, sampling, knots, limit
        taken, saved, flips, code = self._advance(*given)
        clock = Clock._make(self.clock.item())
        self.nfev, self.steps, self.rejected = clock.nfev, clock.steps, clock.rejected
        k = clock.restart_knot
        if k >= 0:
            step, origin, count = clock.restart_step, clock.restart_origin, clock.restart_count
            self.point = Restart(float(t[k]), step, y[k].copy(), f[k].copy(), origin, count)
        self.y, self.f = y[taken].copy(), f[taken].copy()
        return PolynomialChunk(t[: taken + 1], y[: taken + 1], f[: taken + 1], code, q[:taken], saved=saved, flips=flips)


class Room:
    """The arrays of a chunk, used again by the next: fresh memory would cost more than the steps of a long chain."""

    def __init__(self, m: int, powers: int) -> None:
        self.m, self.powers = m, powers
        self.knots = self.taken = Knots(np.empty(0), np.empty((0, m)), np.empty((0, m)), np.empty((0, powers, m)))
        self.asked = -1, False

    def take(self, limit: int, dense: bool) -> Knots:
        """Return room for at most `limit` steps: the same as before, if the same is asked for."""
        if self.asked != (limit, dense):
            self.asked, self.taken = (limit, dense), self.made(limit, dense)
        return self.taken

    def made(self, limit: int, dense: bool) -> Knots:
        """Return room for at most `limit` steps, in larger arrays if need be."""
        most = CHUNK_NUMBERS // (self.m * (self.powers * dense + 2))
        steps = min(limit, max(1, most))
        t, y, f, q = self.knots
        if len(t) <= steps:
            t, y, f = np.empty(steps + 1), np.empty((steps + 1, self.m)), np.empty((steps + 1, self.m))
        if len(q) < steps * dense:
            q = np.empty((steps, self.powers, self.m))
        self.knots = Knots(t, y, f, q)
        return Knots(t[: steps + 1], y[: steps + 1], f[: steps + 1], q[: steps * dense])
