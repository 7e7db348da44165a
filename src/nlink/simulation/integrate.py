"""simulate(): the one loop that takes a chain through time: chunks, progress, interrupt, events, saving.

The integrator advances in compiled chunks of about 50 ms. After each the loop reads off the saved points and the events
from the method's dense output, shows progress, and looks whether the user has asked to stop. Whatever ends a run, what
was computed is kept, in memory or in a file, and the run knows where to go on.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nlink._support.checks import ModelError, number
from nlink._support.interrupt import Interrupt
from nlink._support.progress import Bar, Notice
from nlink.formulations import formulate
from nlink.integrators import method_for
from nlink.integrators.base import ARRIVED, NOT_CONVERGED, NOT_FINITE, RUNNING, STEP_TOO_SMALL, Chunk, Integrator, Restart, Stepper
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import Chain
from nlink.mechanics.system import System, beyond, rates_many
from nlink.run.run import EventRecord, Run, Stats, Status
from nlink.run.writer import Claim
from nlink.scenario import Scenario, Settings
from nlink.simulation.balance import refined
from nlink.simulation.events import Flip, Watch, passages
from nlink.simulation.recording import Record, arrived, joined, known_times, origin, saved_times
from nlink.simulation.streaming import StreamedRecord

CHUNK_SECONDS = 0.05
WEIGHED = 8
"""Knots of a chunk whose energy is looked at where few points are saved."""
COMPILING = "nlink: compiling its kernels for this machine, once; this takes some seconds"


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
    project: bool = True,
    file: str | os.PathLike[str] | None = None,
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
    project : bring a raw state that violates its constraints onto them; run.meta["start"] tells by how much it did
    file : write the run there (.nc) as it goes, instead of keeping it in memory; it can be watched, and resumed after a kill
    progress : show a progress bar on a terminal
    strict : raise SimulationError if the run does not reach its end, or its energy balance is off; else look at run.status

    >>> run = simulate(Chain.uniform(3), 0.5, t_end=2.0)
    >>> run.status.code, run.theta.shape
    ('finished', (201, 3))
    """
    with _claimed(file):
        system = chain_or_system if isinstance(chain_or_system, System) else _system(_chain(chain_or_system), formulation, progress)
        mark, found = _start_of(system, theta, omega, state, project)
        angles, rates = system.decode(mark.y[: system.size])
        method = method_for(system, integrator, rtol, atol)
        settings = Settings(t_end, save, system.formulation, method, rtol, atol, "off")
        scenario = Scenario(system.chain, tuple(angles.tolist()), tuple(rates.tolist()), settings)
        return _simulate(scenario, system, mark, _listed_events(events), progress, strict, file, found=found)


def _start_of(system: System, theta: Any, omega: Any, state: Any, project: bool) -> tuple[Restart, dict[str, Any]]:
    """Return the start that angles and rates, or a raw state, stand for, and by how much it was changed."""
    if (theta is None) == (state is None):
        raise ModelError("simulate needs a start: give theta (N angles in rad), or state, and not both")
    if state is not None:
        return _raw_start(system, state, project)
    return _angle_start(system, theta, 0.0 if omega is None else omega)


def _claimed(file: Any, going_on: bool = False) -> Any:
    """Claim the file of a run, if there is one, before anything is computed or compiled."""
    return nullcontext() if file is None else Claim(file, going_on)


def simulate_scenario(
    scenario: Scenario, *, events: Any = (), file: Any = None, progress: bool = False, strict: bool = True
) -> Run:
    """Simulate a scenario; see Scenario.run."""
    with _claimed(file):
        system = _system(scenario.chain, scenario.settings.formulation, progress)
        mark, found = _angle_start(system, scenario.theta, scenario.omega)
        watched = (*_flip_events(scenario.settings.flips), *_listed_events(events))
        return _simulate(scenario, system, mark, watched, progress, strict, file, found=found)


def resume(
    run: Run, t_end: float | None = None, *, events: Any = (), file: Any = None, progress: bool = False, strict: bool = True
) -> Run:
    """Go on with a run; see Run.resume."""
    settings = run.scenario.settings
    t_end = settings.t_end if t_end is None else number("t_end", t_end)
    point = run.checkpoint
    if run.status.code == "running":
        raise ModelError("this run is still under way in another process; wait for it to end, or stop it")
    if point is None or not run.resumable:
        raise ModelError("this run cannot be resumed: its torque was a Python function that the file does not hold; simulate again")
    reached = settings.t_end if arrived(run) else point.t
    if (t_end - reached) * (1 if settings.t_end > 0 else -1) <= 0:
        raise ModelError(f"the run has reached t = {reached:g} s; t_end must lie beyond, got {t_end:g}")
    scenario = replace(run.scenario, settings=replace(settings, t_end=t_end))
    with _claimed(file, going_on=True):
        system = _system(scenario.chain, settings.formulation, progress)
        mark = Restart(point.t, point.step, point.state, point.rates, point.origin, point.count)
        watched = (*_flip_events(settings.flips), *_listed_events(events))
        return _simulate(scenario, system, mark, watched, progress, strict, file, earlier=run)


def _simulate(
    scenario: Scenario,
    system: System,
    mark: Restart,
    events: tuple[Any, ...],
    progress: bool,
    strict: bool,
    file: str | os.PathLike[str] | None,
    earlier: Run | None = None,
    found: dict[str, Any] | None = None,
) -> Run:
    settings = scenario.settings
    if settings.t_end == 0:
        raise ModelError("t_end must not be 0: there is nothing to simulate")
    method = method_for(system, settings.integrator, settings.rtol, settings.atol)
    scenario = replace(scenario, settings=replace(settings, formulation=system.formulation, integrator=method))
    times = saved_times(settings.save, settings.t_end)
    with Notice(COMPILING, progress), np.errstate(over="ignore", invalid="ignore"):  # what is not finite ends in a status
        stepper = method.stepper(system, mark, settings.t_end)
        _compile(system, stepper, settings.t_end)
    times = times[np.count_nonzero(known_times(earlier, scenario)) :] if earlier else times
    watches, begun = [Watch(event, system, mark.t, mark.y) for event in events], time.perf_counter()
    meta = origin(scenario) | ({"start": found} if found else {})
    record = Record(times, system) if file is None else StreamedRecord(times, scenario, system, Path(file), meta, earlier)
    with Interrupt() as interrupt, record, Bar("simulating", progress) as bar:
        record.set_out(mark, earlier)
        status, mark = _loop(system, method, stepper, mark, settings.t_end, watches, record, interrupt, bar)
        if status.ok:
            status, mark = _judged(status, mark, record, method, stepper.steps + (earlier.stats.steps if earlier else 0))
        run = record.finished(scenario, status, _cost(stepper, begun), mark, meta)
    run = joined(earlier, run) if earlier and file is None else run
    if strict and not status.ok:
        raise (SimulationInterrupted if status.code == "interrupted" else SimulationError)(status, run)
    return run


def _judged(status: Status, mark: Restart, record: Record, method: Integrator, steps: int) -> tuple[Status, Restart]:
    """Return the status of a run that came to its end, and where it can go on, when all of it has been read out and weighed."""
    record.read_out()
    if record.broken:
        return _not_finite(method, record.last.t), record.last
    return record.balance.verdict(status, method, steps), mark


def _system(chain: Chain, formulation: Any, progress: bool) -> System:
    with Notice(COMPILING, progress):
        return formulate(chain, formulation)


def _compile(system: System, stepper: Stepper, t_end: float) -> None:
    """Call each compiled function on nothing, so that compiling is over before the clock and the interrupt are watched."""
    none, m = np.empty(0), system.full_size
    stepper.advance(np.array([t_end]), True, none, np.empty((0, m)), False, 0).at(none)
    rates_many(none, np.empty((0, m)), system.parameters, np.empty((0, m)), np.empty((0, 2)), system.scratch())
    system.energy(np.empty((0, system.size)))
    if system.projected:
        system.settled(np.empty((0, m)))


def _angle_start(system: System, theta: Any, omega: Any) -> tuple[Restart, dict[str, Any]]:
    """Return angles and rates as a start, closed if the chain is pinned, and by how much they were changed for that."""
    angles, rates = system.angles("theta", theta), system.angles("omega", omega)
    start = loop_closure.assemble(system.chain, angles, rates)
    found = {"moved": start.moved, "sped": start.sped} if system.chain.pin else {}
    return _start(system, system.encode(start.theta, start.omega)), found


def _start(system: System, state: np.ndarray) -> Restart:
    return Restart(0.0, 0.0, np.concatenate([state, np.zeros(system.full_size - system.size)]))


def _loop(
    system: System,
    method: Integrator,
    stepper: Any,
    mark: Restart,
    t_end: float,
    watches: list[Watch],
    record: Record,
    interrupt: Interrupt,
    bar: Bar,
) -> tuple[Status, Restart]:
    """Advance to t_end chunk by chunk; return how it ended and where it can go on."""
    sign = math.copysign(1.0, t_end)
    bounds = system.bounds(mark.t, t_end)
    t, limit, closed, started = mark.t, 4, system.chain.pin is not None, time.perf_counter()
    record.begin(mark, system.rates(t, mark.y))
    stuck = loop_closure.stuck(system.chain, *system.decode(mark.y[: system.size]))
    if stuck:
        return Status("undetermined", f"stopped at t = {t:g} s: {stuck[0]}", stuck[1]), mark
    while True:
        begun = time.perf_counter()
        left = method.max_steps - stepper.steps - stepper.rejected
        before = record.saved
        chunk = stepper.advance(bounds, True, *record.waiting(), bool(watches) or closed, min(limit, left))
        seconds = time.perf_counter() - begun
        cut = _cut(chunk)
        stop = _take(chunk, system, t_end, watches, record)
        ease = min(CHUNK_SECONDS / max(seconds, 1e-9), record.block / max(record.saved - before, 1))
        limit = max(1, min(100_000, 4 * limit, int(limit * ease)))
        if stop is not None:
            where = Restart(stop[0].t, 0.0, stop[1], None, stop[0].t, 0)
            record.add_last(where.t, where.y)
            return _event_status(stop[0]), where
        t = float(chunk.t[-1])
        if record.broken:
            return _not_finite(method, record.last.t), record.last
        if record.saved - before < len(chunk.t) - 1:
            few = slice(len(chunk.t) - 1, None, -max(1, len(chunk.t) // WEIGHED))
            record.weigh(chunk.t[few][::-1], chunk.y[few][::-1])
        if chunk.code not in (RUNNING, ARRIVED):
            record.read_out()
            if record.broken:
                return _not_finite(method, record.last.t), record.last
            where = Restart(t, 0.0, chunk.y[-1].copy(), None, t, 0) if cut else stepper.point
            return _failure(chunk, system, method, t, record.balance.off(method, stepper.steps)), where
        bounds = beyond(bounds, t, sign)
        if not len(bounds):
            return Status("finished", f"reached t = {t_end:g} s"), stepper.point
        if left <= 0 or (left <= limit and stepper.steps + stepper.rejected >= method.max_steps):
            return Status(
                "too_many_steps",
                f"{method.max_steps} steps were not enough: stopped at t = {t:g} s",
                f"raise max_steps of {method.name}, {_ease(method)}",
            ), stepper.point
        if interrupt.asked:
            return Status("interrupted", f"stopped by the user at t = {t:g} s", "resume the run to go on"), stepper.point
        record.keep_up(_cost(stepper, started), stepper.point)
        bar.update(abs(t), abs(t_end))


def _cut(chunk: Chunk) -> bool:
    """Cut a chunk off before its first knot that is not finite, if there is one, and say so.

    The last knot tells: no step leads from what is not finite to what is.
    """
    if math.isfinite(np.vdot(chunk.y[-1], chunk.f[-1])):
        return False
    good = np.isfinite(chunk.y).all(1) & np.isfinite(chunk.f).all(1)
    if good.all():
        return False
    count = max(1, int(np.argmin(good)))
    chunk.t, chunk.y, chunk.f, chunk.code = chunk.t[:count], chunk.y[:count], chunk.f[:count], NOT_FINITE
    return True


def _cost(stepper: Stepper, begun: float) -> Stats:
    return Stats(stepper.nfev, stepper.steps, stepper.rejected, time.perf_counter() - begun)


def _take(
    chunk: Chunk, system: System, t_end: float, watches: list[Watch], record: Record
) -> tuple[EventRecord, np.ndarray] | None:
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
    record.events += [e for e in passages(chunk, system) if e.t * sign <= end]
    record.events.sort(key=lambda event: event.t * sign)
    times, rows = record.waiting()
    count = int(np.searchsorted(sign * times, end, side="right"))
    if count == len(times) < len(record.times) - record.saved and record.times[record.saved + count] * sign <= end:
        raise ModelError(f"save asks for more than {count} points within a step, more than there is memory for; save fewer")
    if count:
        states = rows[:count]
        if system.projected:
            states[:] = system.settled(states)[0]
        good = np.isfinite(states).all(1)
        if not good.all():  # the steps are finite, what lies between them is not
            chunk.code, count = NOT_FINITE, int(np.argmin(good))
        record.add_points(count)
    inside = slice(1, 1 + int(np.searchsorted(sign * chunk.t[1:], end, side="right")))
    record.add_knots(chunk.t[inside], chunk.y[inside], chunk.f[inside])
    if last is None:
        return None
    state = chunk.at(np.array([last.t]))
    return last, (system.settled(state)[0] if system.projected else state)[0]


def _event_status(event: EventRecord) -> Status:
    what = f"link {event.info['link'] + 1} turning over" if event.name == "flip" else event.name
    return Status("event", f"stopped at t = {event.t:.9g} s by {what}")


def _ease(method: Integrator) -> str:
    if hasattr(method, "step"):
        return "or take a larger step"
    stiff = "" if method.name == "Scipy" else ", or try Scipy(method='Radau') if the chain is stiff"
    return f"loosen its tolerance{stiff}"


def _failure(chunk: Chunk, system: System, method: Integrator, t: float, off: str) -> Status:
    """Return the status of a run that cannot go on; `off` says how far its energy balance was off before, if it was."""
    code = chunk.code
    stuck = loop_closure.stuck(system.chain, *system.decode(chunk.y[-1, : system.size]))
    if stuck:
        return Status("undetermined", f"stopped at t = {t:g} s: {stuck[0]}", stuck[1])
    if system.failed and system.callback:
        error = system.callback.taken()
        if not isinstance(error, Exception):
            raise error  # a second Ctrl-C, say
        return Status("torque_failed", f"the torque function failed near t = {t:g} s: {type(error).__name__}: {error}")
    if code == NOT_FINITE:
        return _not_finite(method, t)
    if code == STEP_TOO_SMALL and off:
        return Status("step_too_small", f"the steps became too small to go on at t = {t:g} s, where {off}", refined(method))
    if code == STEP_TOO_SMALL:
        remedy = "the chain is stiff or the tolerance too tight: try Scipy(method='Radau') or a looser tolerance"
        return Status("step_too_small", f"the steps became too small to go on at t = {t:g} s", remedy)
    assert code == NOT_CONVERGED
    return Status("not_converged", f"the implicit stages did not converge at t = {t:g} s", refined(method))


def _not_finite(method: Integrator, t: float) -> Status:
    remedy = refined(method) if hasattr(method, "step") else f"look at the loads, or {refined(method)}"
    return Status("not_finite", f"the motion stopped being finite after t = {t:g} s", remedy)


def _chain(value: Any) -> Chain:
    if not isinstance(value, Chain):
        raise ModelError(f"simulate needs a Chain or a System, got {type(value).__name__}")
    return value


def _raw_start(system: System, state: Any, project: bool) -> tuple[Restart, dict[str, Any]]:
    """Return a raw state as a start, brought onto its constraints if asked, and by how much it violates them."""
    state = np.asarray(state, float)
    if state.shape != (system.size,) or not np.all(np.isfinite(state)):
        raise ModelError(f"state must hold {system.size} finite numbers for {system.formulation.name}, got shape {state.shape}")
    mark = _start(system, state)
    if not system.formulation.constrained and not system.chain.pin:
        return mark, {}
    states, gap, speed = system.settled(mark.y[None], plain=True)
    found = {"violation": gap, "rate_violation": speed, "projected": project}
    return (replace(mark, y=np.append(states[0, : system.size], mark.y[system.size :])) if project else mark), found


def _listed_events(events: Any) -> tuple[Any, ...]:
    return tuple(events) if isinstance(events, list | tuple) else (events,)


def _flip_events(flips: str) -> tuple[Flip, ...]:
    return () if flips == "off" else (Flip(terminal=flips == "stop"),)
