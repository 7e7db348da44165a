"""simulate(): the one loop that takes a chain through time: chunks, progress, interrupt, events, saving.

The integrator advances in compiled chunks of about 50 ms. After each the loop reads off the saved points and the events
from the method's dense output, shows progress, and looks whether the user has asked to stop. Whatever ends a run, what
was computed is kept, and the run knows where to go on.
"""

from __future__ import annotations

import datetime
import math
import shlex
import signal
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nlink._check import ModelError, number
from nlink._version import __version__
from nlink.chain import Chain
from nlink.events import Flip, Watch
from nlink.formulations import formulate
from nlink.integrators import integrator_record
from nlink.integrators.base import ARRIVED, NOT_CONVERGED, NOT_FINITE, RUNNING, STEP_TOO_SMALL, Chunk, Integrator, Mark
from nlink.progress import Bar, Notice
from nlink.run import Checkpoint, Occurrence, Run, Stats, Status, Track
from nlink.scenario import Scenario, Settings
from nlink.system import System, rates_many

CHUNK_SECONDS = 0.05
MOST_SAVED = 10**8
MOST_KNOT_NUMBERS = 4_000_000


class SimulationError(RuntimeError):
    """A simulation that did not do what was asked; `status` says why, `run` holds what was computed."""

    def __init__(self, status: Status, run: Run) -> None:
        super().__init__(str(status))
        self.status, self.run = status, run


class SimulationInterrupted(SimulationError, KeyboardInterrupt):
    """A simulation stopped by Ctrl-C; `run` holds what was computed and can be resumed."""


def simulate(
    chain_or_system: Chain | System,
    theta: Any = None,
    omega: Any = None,
    *,
    t_end: float,
    formulation: Any = "recursive",
    integrator: Any = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    save: Any = 0.01,
    events: Any = (),
    state: Any = None,
    progress: bool = False,
    strict: bool = True,
) -> Run:
    """Simulate a chain from angles theta (N,) in rad and rates omega (N,) in rad/s (at rest if not given) to t_end.

    Parameters
    ----------
    chain_or_system : a Chain, or the System that `formulate` returns
    theta, omega : a number for every link, or one each
    t_end : s; negative runs backwards in time
    formulation, integrator : a name, a text like "RK4(step=0.001)", or a record
    rtol, atol : tolerances of an adaptive integrator that has none of its own
    save : interval in s between saved points, or the times to save at; never changes the steps
    events : Event and Flip records
    state : a raw state of the formulation instead of theta and omega
    progress : show a progress bar on a terminal
    strict : raise SimulationError if the run does not reach its end; else look at run.status

    >>> run = simulate(Chain.uniform(3), 0.5, t_end=2.0)
    >>> run.status.code, run.theta.shape
    ('finished', (201, 3))
    """
    system = chain_or_system if isinstance(chain_or_system, System) else formulate(_chain(chain_or_system), formulation)
    if (theta is None) == (state is None):
        raise ModelError("simulate needs a start: give theta (N angles in rad), or state, and not both")
    if state is not None:
        theta, omega = system.decode(_raw_state(system, state))
    angles, rates = system.decode(system.encode(theta, 0.0 if omega is None else omega))
    method = integrator_record(integrator, rtol, atol)
    settings = Settings(t_end, save, system.formulation, method, rtol, atol, "off")
    scenario = Scenario(system.chain, tuple(angles.tolist()), tuple(rates.tolist()), settings)
    start = _raw_state(system, state) if state is not None else system.encode(angles, rates)
    return _simulate(scenario, system, start, _listed_events(events), progress, strict)


def simulate_scenario(scenario: Scenario, *, events: Any = (), progress: bool = False, strict: bool = True) -> Run:
    """Simulate a scenario; see Scenario.run."""
    system = formulate(scenario.chain, scenario.settings.formulation)
    start = system.encode(scenario.theta, scenario.omega)
    watched = (*_flip_events(scenario.settings.flips), *_listed_events(events))
    return _simulate(scenario, system, start, watched, progress, strict)


def resume(run: Run, t_end: float | None = None, *, events: Any = (), progress: bool = False, strict: bool = True) -> Run:
    """Go on with a run; see Run.resume."""
    settings = run.scenario.settings
    t_end = settings.t_end if t_end is None else number("t_end", t_end)
    point = run.checkpoint
    if point is None or not run.resumable:
        raise ModelError("this run cannot be resumed: its torque was a Python function that the file does not hold; simulate again")
    if (t_end - point.t) * (1 if settings.t_end > 0 else -1) <= 0 or t_end * settings.t_end < 0:
        raise ModelError(f"the run has reached t = {point.t:g} s; t_end must lie beyond, got {t_end:g}")
    scenario = replace(run.scenario, settings=replace(settings, t_end=t_end))
    system = formulate(scenario.chain, settings.formulation)
    mark = Mark(point.t, point.step, point.state, point.rates, point.origin, point.count)
    watched = (*_flip_events(settings.flips), *_listed_events(events))
    return _simulate(scenario, system, None, watched, progress, strict, earlier=run, mark=mark)


@dataclass
class _Record:
    """What a simulation collects as it goes."""

    states: list[np.ndarray] = field(default_factory=list)
    events: list[Occurrence] = field(default_factory=list)
    knots: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    saved: int = 0
    numbers: int = 0
    stride: int = 1

    def add_knots(self, t: np.ndarray, y: np.ndarray, f: np.ndarray) -> None:
        """Keep the steps, thinned so that they never take more than a set amount of memory."""
        self.knots.append((t[:: self.stride], y[:: self.stride], f[:: self.stride]))
        self.numbers += 3 * self.knots[-1][1].size // 2
        if self.numbers > MOST_KNOT_NUMBERS:
            self.knots = [(t[::2], y[::2], f[::2]) for t, y, f in self.knots]
            self.stride, self.numbers = 2 * self.stride, self.numbers // 2


def _simulate(
    scenario: Scenario,
    system: System,
    start: np.ndarray | None,
    events: tuple[Any, ...],
    progress: bool,
    strict: bool,
    earlier: Run | None = None,
    mark: Mark | None = None,
) -> Run:
    settings = scenario.settings
    if settings.t_end == 0:
        raise ModelError("t_end must not be 0: there is nothing to simulate")
    method = integrator_record(settings.integrator, settings.rtol, settings.atol)
    scenario = replace(scenario, settings=replace(settings, formulation=system.formulation, integrator=method))
    if mark is None:
        assert start is not None
        mark = Mark(0.0, 0.0, np.concatenate([start, np.zeros(system.full_size - system.size)]))
    times = saved_times(settings.save, settings.t_end)
    with Notice("nlink: compiling its kernels for this machine, once; this takes some seconds", progress):
        stepper = method.stepper(system, mark, settings.t_end)
        stepper.advance(settings.t_end, True, times[:0], False, 0).at(times[:0])
        rates_many(times[:0], np.empty((0, system.full_size)), system.parameters, np.empty((0, system.full_size)), system.scratch())
    begun = time.perf_counter()
    record = _Record()
    past = earlier.t[_known(earlier.t, times)] if earlier else times[:0]
    rest = times[len(past) :]
    watches = [Watch(event, system, mark.t, mark.y) for event in events]
    with _Interrupt() as interrupt, Bar("simulating", progress) as bar:
        status, mark = _loop(system, method, stepper, mark, settings.t_end, rest, watches, record, interrupt, bar)
    cost = Stats(stepper.nfev, stepper.steps, stepper.rejected, time.perf_counter() - begun)
    run = _run(scenario, system, rest, record, status, cost, mark)
    run = _joined(earlier, len(past), run) if earlier else run
    if strict and not status.ok:
        raise (SimulationInterrupted if status.code == "interrupted" else SimulationError)(status, run)
    return run


def _loop(
    system: System,
    method: Integrator,
    stepper: Any,
    mark: Mark,
    t_end: float,
    times: np.ndarray,
    watches: list[Watch],
    record: _Record,
    interrupt: _Interrupt,
    bar: Bar,
) -> tuple[Status, Mark]:
    """Advance to t_end chunk by chunk; return how it ended and where it can go on."""
    sign = math.copysign(1.0, t_end)
    bounds = [b for b in sign * np.sort(sign * system.breaks()) if 0 < (b - mark.t) * sign and 0 < (t_end - b) * sign] + [t_end]
    t, limit = mark.t, 64
    if len(times) and times[0] == t:
        record.states.append(mark.y[None].copy())
        record.saved = 1
    while True:
        begun = time.perf_counter()
        left = method.max_steps - stepper.steps - stepper.rejected
        chunk = stepper.advance(bounds[0], len(bounds) == 1, times[record.saved :], bool(watches), min(limit, left))
        seconds = time.perf_counter() - begun
        limit = max(1, min(100_000, 4 * limit, int(limit * CHUNK_SECONDS / max(seconds, 1e-9))))
        stop = _take(chunk, system, t_end, times, watches, record)
        if stop is not None:
            where = Mark(stop[0].t, 0.0, stop[1], None, stop[0].t, 0)
            return _event_status(stop[0]), where
        t = float(chunk.t[-1])
        if chunk.code == ARRIVED and len(bounds) == 1:
            return Status("finished", f"reached t = {t_end:g} s"), stepper.mark
        if chunk.code == ARRIVED:
            bounds.pop(0)
        elif chunk.code != RUNNING:
            return _failure(chunk.code, system, method, t), stepper.mark
        elif left <= 0 or (left <= limit and stepper.steps + stepper.rejected >= method.max_steps):
            return Status(
                "too_many_steps",
                f"{method.max_steps} steps were not enough: stopped at t = {t:g} s",
                f"raise max_steps of {method.name}, loosen its tolerance, or try Scipy(method='Radau') if the chain is stiff",
            ), stepper.mark
        if interrupt.asked:
            return Status("interrupted", f"stopped by the user at t = {t:g} s", "resume the run to go on"), stepper.mark
        bar.update(abs(t), abs(t_end))


def _take(
    chunk: Chunk, system: System, t_end: float, times: np.ndarray, watches: list[Watch], record: _Record
) -> tuple[Occurrence, np.ndarray] | None:
    """Record a chunk's saved points, knots and events; return a terminal event and its state, if one came."""
    if len(chunk.t) < 2:
        return None
    sign = 1.0 if chunk.t[-1] > chunk.t[0] else -1.0
    end, last = min(chunk.t[-1] * sign, t_end * sign), None
    found = sorted(((e, w) for w in watches for e in w.found(chunk) if e.t * sign <= end), key=lambda pair: pair[0].t * sign)
    for event, watch in found:
        record.events.append(event)
        if watch.event.terminal:
            last, end = event, event.t * sign
            break
    count = int(np.searchsorted(sign * times[record.saved :], end, side="right"))
    wanted = times[record.saved : record.saved + count]
    if count:
        record.states.append(chunk.at(wanted))
        record.saved += count
    inside = slice(1, 1 + int(np.searchsorted(sign * chunk.t[1:], end, side="right")))
    record.add_knots(chunk.t[inside], chunk.y[inside], chunk.f[inside])
    return None if last is None else (last, chunk.at(np.array([last.t]))[0])


def _event_status(event: Occurrence) -> Status:
    what = f"link {event.info['link'] + 1} turning over" if event.name == "flip" else event.name
    return Status("event", f"stopped at t = {event.t:.9g} s by {what}")


def _failure(code: int, system: System, method: Integrator, t: float) -> Status:
    error = system.callback.error if system.callback else None
    if error is not None and system.callback:
        system.callback.error = None
        return Status("torque_failed", f"the torque function failed near t = {t:g} s: {type(error).__name__}: {error}", "mend the function")
    fixed = hasattr(method, "step")
    if code == NOT_FINITE:
        remedy = f"try a smaller step than {method.step:g}" if fixed else "look at the loads, or try a tighter tolerance"  # pyright: ignore[reportAttributeAccessIssue]
        return Status("not_finite", f"the motion stopped being finite after t = {t:g} s", remedy)
    if code == STEP_TOO_SMALL:
        remedy = "the chain is stiff or the tolerance too tight: try Scipy(method='Radau') or a looser tolerance"
        return Status("step_too_small", f"the steps became too small to go on at t = {t:g} s", remedy)
    assert code == NOT_CONVERGED
    remedy = f"try a smaller step than {method.step:g}"  # pyright: ignore[reportAttributeAccessIssue]
    return Status("not_converged", f"the implicit stages did not converge at t = {t:g} s", remedy)


def saved_times(save: float | tuple[float, ...], t_end: float) -> np.ndarray:
    """Return the times to save at, from 0 towards t_end: a grid (and t_end), or the times given, checked."""
    sign = math.copysign(1.0, t_end)
    if isinstance(save, tuple):
        times = np.array(save)
        if np.any(np.diff(times) * sign <= 0) or np.any(times * sign < 0) or np.any((times - t_end) * sign > 0):
            raise ModelError(f"save times must run from 0 to t_end = {t_end:g} without a repeat; got {_span(times)}")
        return times
    if abs(t_end) / save > MOST_SAVED:
        raise ModelError(f"save = {save:g} would keep {abs(t_end) / save:.2g} points up to t_end = {t_end:g}; use a larger interval")
    count = math.floor(abs(t_end) / save * (1 + 1e-12))
    rate = 1 / save
    grid = np.arange(count + 1) / round(rate) if abs(rate - round(rate)) < 1e-9 * rate else np.arange(count + 1) * save
    times = sign * np.minimum(grid, abs(t_end))
    return times if abs(times[-1] - t_end) <= 1e-9 * save else np.append(times, t_end)


def _span(times: np.ndarray) -> str:
    return f"{len(times)} times from {times[0]:g} to {times[-1]:g}"


def _known(old: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return which of the old saved times belong to the new grid too."""
    return np.isin(old, times)


def _run(scenario: Scenario, system: System, times: np.ndarray, record: _Record, status: Status, cost: Stats, mark: Mark) -> Run:
    """Turn what was collected into a Run, read out in angles."""
    m = system.full_size
    t = times[: record.saved]
    states = np.concatenate(record.states) if record.states else np.empty((0, m))
    if status.code == "event" and (not len(t) or t[-1] != mark.t):
        t, states = np.append(t, mark.t), np.concatenate([states, mark.y[None]])
    own = states[:, : system.size]
    theta, omega = system.decode(own)
    kinetic, potential = system.energy(own)
    rows = [i for i, name in enumerate(_ledger_rows()) if name in system.ledger]
    work = {name: states[:, system.size + row].copy() for name, row in zip(system.ledger, rows, strict=True)}
    return Run(
        scenario=scenario,
        t=t,
        theta=theta.copy(),
        omega=omega.copy(),
        alpha=_accelerations(system, t, states),
        kinetic=kinetic,
        potential=potential,
        work=work,
        drift=system.violation(own),
        status=status,
        stats=cost,
        meta=_meta(scenario),
        events=record.events,
        knots=_knots(scenario, system, record),
        checkpoint=_checkpoint(system, mark),
    )


def _ledger_rows() -> tuple[str, ...]:
    from nlink.loads import LEDGER

    return LEDGER


def _accelerations(system: System, t: np.ndarray, states: np.ndarray) -> np.ndarray:
    rates = np.empty_like(states)
    rates_many(t, np.ascontiguousarray(states), system.parameters, rates, system.scratch())
    return system.formulation.decode_rates(system.chain, states[:, : system.size], rates[:, : system.size]).copy()


def _knots(scenario: Scenario, system: System, record: _Record) -> Track | None:
    """Return the integrator's steps where they tell more than the saved points do, else None."""
    count = sum(len(t) for t, _, _ in record.knots)
    if not count or (isinstance(scenario.settings.save, float) and record.saved >= count):
        return None
    t, y, f = (np.concatenate(parts) for parts in zip(*record.knots, strict=True))
    theta, omega = system.decode(y[:, : system.size])
    alpha = system.formulation.decode_rates(system.chain, y[:, : system.size], f[:, : system.size])
    return Track(t, theta.copy(), omega.copy(), alpha.copy())


def _checkpoint(system: System, mark: Mark) -> Checkpoint:
    rates = system.rates(mark.t, mark.y) if mark.f is None else mark.f
    return Checkpoint(float(mark.t), float(mark.step), mark.y.copy(), rates.copy(), float(mark.origin), int(mark.count))


def _joined(earlier: Run, kept: int, later: Run) -> Run:
    """Join a resumed run to the part before it."""
    known = np.flatnonzero(_known(earlier.t, saved_times(later.scenario.settings.save, later.scenario.settings.t_end)))[:kept]
    series = {
        name: np.concatenate([getattr(earlier, name)[known], getattr(later, name)])
        for name in ("t", "theta", "omega", "alpha", "kinetic", "potential", "drift")
    }
    work = {name: np.concatenate([earlier.work[name][known], values]) for name, values in later.work.items()}
    parts = [track for track in (earlier.knots, later.knots) if track is not None]
    knots = Track(*(np.concatenate(values) for values in zip(*parts, strict=True))) if parts else None
    seen = {(e.t, e.name) for e in earlier.events}
    events = earlier.events + [e for e in later.events if (e.t, e.name) not in seen]
    stats = Stats(*(a + b for a, b in zip(earlier.stats, later.stats, strict=True)))
    return replace(later, **series, work=work, knots=knots, events=events, stats=stats)


def _meta(scenario: Scenario) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    settings = scenario.settings
    return {
        "version": __version__,
        "date": now,
        "command": shlex.join(sys.argv),
        "formulation": settings.formulation.name,
        "integrator": repr(settings.integrator),
    }


def _chain(value: Any) -> Chain:
    if not isinstance(value, Chain):
        raise ModelError(f"simulate needs a Chain or a System, got {type(value).__name__}")
    return value


def _raw_state(system: System, state: Any) -> np.ndarray:
    state = np.asarray(state, float)
    if state.shape != (system.size,) or not np.all(np.isfinite(state)):
        raise ModelError(f"state must hold {system.size} finite numbers for {system.formulation.name}, got shape {state.shape}")
    return state


def _listed_events(events: Any) -> tuple[Any, ...]:
    return tuple(events) if isinstance(events, list | tuple) else (events,)


def _flip_events(flips: str) -> tuple[Flip, ...]:
    return () if flips == "off" else (Flip(terminal=flips == "stop"),)


class _Interrupt:
    """Turns the first Ctrl-C into a question the loop answers between chunks; the second aborts."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> _Interrupt:
        self._old = signal.signal(signal.SIGINT, self._handle) if threading.current_thread() is threading.main_thread() else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)

    def _handle(self, number: int, frame: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
