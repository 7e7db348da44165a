"""simulate(): the motion of a chain as a Run: settings, start and files; the loop over chunks is in `loop`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import DEGREES, ModelError, listed, number, warn_of_degrees, without_texts
from nlink._support.interrupt import Interrupt
from nlink._support.progress import Bar
from nlink.compiled.announcing import waiting
from nlink.formulations import formulate
from nlink.integrators import method_for
from nlink.integrators.base import Integrator, Restart, Stepper, steps_of
from nlink.integrators.save_times import save_times
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import Chain, Multibody
from nlink.mechanics.equations import rates_many
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.rows import rows_of
from nlink.mechanics.system import Formulation, System
from nlink.models.starts import stated
from nlink.run.run import Run, Status
from nlink.run.writer import Claim
from nlink.scenario import Scenario, Settings
from nlink.simulation.events import Event, Flip, Watches
from nlink.simulation.loop import Loop
from nlink.simulation.recording import Record, arrived, joined, origin, rows_before
from nlink.simulation.streaming import StreamedRecord

Events = Event | Flip | Sequence[Event | Flip]
File = str | os.PathLike[str]
Correction = dict[str, float | bool]
"""By how much a start was changed, or off its constraints: run.meta["start"]."""


class SimulationError(RuntimeError):
    """A simulation that did not do what was asked; `status` says why, `run` holds what was computed."""

    def __init__(self, status: Status, run: Run) -> None:
        super().__init__(str(status))
        self.status, self.run = status, run


class SimulationInterrupted(SimulationError, KeyboardInterrupt):
    """A simulation stopped by Ctrl-C; `run` holds what was computed and can be resumed."""


@waiting()
def simulate(
    chain_or_system: Multibody | System,
    theta: ArrayLike | None = None,
    omega: ArrayLike | None = None,
    *,
    t_end: float | None = None,
    formulation: str | Formulation = "recursive",
    integrator: str | Integrator | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    save: Any = 0.01,
    events: Events = (),
    state: ArrayLike | None = None,
    project: bool = True,
    file: File | None = None,
    progress: bool = False,
    strict: bool = True,
) -> Run:
    """Simulate a chain from angles theta (N,) in rad and rates omega (N,) in rad/s (at rest if not given) to t_end.

    A SpatialChain takes a pose in place of theta, by its shape: (N,) angles in the plane z = 0, (N, 2) inclination and azimuth,
    (N, 3) directions, (N, 4) quaternions (w, x, y, z), or a list with one of these for each link; and omega (N,) about z, or (N, 3)
    in world axes.

    Parameters
    ----------
    chain_or_system : a Chain, a Mechanism, a SpatialChain, or the System that `formulate` returns
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
        system = chain_or_system if isinstance(chain_or_system, System) else _system(chain_or_system, formulation, theta)
        if t_end is None:
            raise ModelError("simulate needs t_end, the time in s at which the run ends")
        asked = theta
        if system.chain.spatial and theta is not None and state is None:
            theta, omega = stated(system.chain, theta, 0.0 if omega is None else omega)
        start, correction = _start(system, theta, omega, state, project)
        warn_of_degrees("theta", _angles_given(system.chain, asked), "np.radians(theta)")
        method = method_for(system, integrator, rtol, atol)
        settings = Settings(t_end, save, system.asked, method, rtol, atol, "off")
        make = Scenario if state is not None else Scenario.of_checked
        scenario = make(system.chain, *_stated(system, start, theta, omega), settings)
        return _simulate(scenario, system, start, events, progress, strict, file, correction=correction)


@waiting()
def simulate_scenario(
    scenario: Scenario, *, events: Events = (), file: File | None = None, progress: bool = False, strict: bool = True
) -> Run:
    """Simulate a scenario; see Scenario.run."""
    with _claimed(file):
        system = _system(scenario.chain, scenario.settings.formulation, scenario.theta)
        scenario = replace(scenario, chain=system.chain) if system.chain.closed else scenario
        start, correction = _start(system, scenario.theta, scenario.omega)
        return _simulate(scenario, system, start, events, progress, strict, file, correction=correction)


@waiting()
def resume(run: Run, t_end: float | None, events: Events, file: File | None, progress: bool, strict: bool) -> Run:
    """Go on with a run; see Run.resume."""
    settings = run.scenario.settings
    t_end = settings.t_end if t_end is None else number("t_end", t_end)
    point = run.checkpoint
    if run.status.code == "running":
        raise ModelError("this run is still under way in another process; wait for it to end, or stop it")
    if point is None or not run.resumable:
        raise ModelError("this run cannot be resumed: its torque was a function that the file does not hold; simulate again")
    reached = settings.t_end if arrived(run) else point.t
    if (t_end - reached) * (1 if settings.t_end > 0 else -1) <= 0:
        raise ModelError(f"the run has reached t = {reached:g} s; t_end must lie beyond, got {t_end:g}")
    scenario = replace(run.scenario, settings=replace(settings, t_end=t_end))
    with _claimed(file, going_on=True):
        system = _system(scenario.chain, settings.formulation)
        state, rates = (_with_rows(system, values) for values in (point.state, point.rates))
        start = Restart(point.t, point.step, state, rates, point.origin, point.count)
        return _simulate(scenario, system, start, events, progress, strict, file, earlier=run)


def closed_reactions(run: Run, chain: Multibody, rows: slice) -> np.ndarray:
    """Return the forces (T, N + C, 2) of a mechanism with C closures at saved points of a run; see Run.reactions."""
    if run.lost:
        raise ModelError("the forces need the torque, a function that the file does not hold; simulate again")
    system = formulate(chain, run.scenario.settings.formulation)
    states = zip(run.theta[rows], run.omega[rows], run.t[rows].tolist(), strict=True)
    found = []
    for k, (theta, omega, t) in enumerate(states):
        if k == 0:
            system.begin(np.concatenate([system.encode(theta, omega), np.zeros(system.full_size - system.size)]))
        found.append(system.reactions(theta, omega, t))
    return np.array(found)


def _with_rows(system: System, values: np.ndarray) -> np.ndarray:
    """Return a state or its rates with the rows of the ledger that this process has: those of loads that were not there are 0."""
    missing = system.full_size - len(values)
    if missing < 0:
        raise ModelError("this run was written with loads that are not registered here; register them, or simulate again")
    return np.concatenate([values, np.zeros(missing)]) if missing else values


def _simulate(
    scenario: Scenario,
    system: System,
    start: Restart,
    events: Events,
    progress: bool,
    strict: bool,
    file: File | None,
    earlier: Run | None = None,
    correction: Correction | None = None,
) -> Run:
    settings = scenario.settings
    if settings.t_end == 0:
        raise ModelError("t_end must not be 0: there is nothing to simulate")
    method = method_for(system, settings.integrator, settings.rtol, settings.atol)
    if (settings.formulation, settings.integrator, scenario.chain) != (system.asked, method, system.chain):
        scenario = replace(scenario, chain=system.chain, settings=replace(settings, formulation=system.asked, integrator=method))
    times = save_times(settings.save, settings.t_end)
    flips = () if settings.flips == "off" else (Flip(terminal=settings.flips == "stop"),)
    asked = events if isinstance(events, list | tuple) else (events,)
    with waiting(steps_of(system, method)), np.errstate(over="ignore", invalid="ignore"):  # what is not finite ends in a status
        system.begin(start.y)
        stepper = _stepper(system, method, start, settings.t_end)
        watches = Watches([*flips, *asked], system, stepper, start.t, start.y)  # pyright: ignore[reportArgumentType]
        if (method, watches.dense) not in system.compiled:
            _compile(system, stepper, settings.t_end, watches.dense)
            system.compiled.append((method, watches.dense))
    times = times._replace(first=len(rows_before(earlier, scenario)[0])) if earlier else times
    meta = origin(scenario) | ({"start": correction} if correction else {}) | ({"spare": system.spare} if system.spare else {})
    record = Record(times, system) if file is None else StreamedRecord(times, scenario, system, Path(file), meta)
    loop = Loop(system, method, stepper, settings.t_end, watches, record)
    with Interrupt() as interrupt, record, Bar("simulating", progress) as bar:
        record.begin(start, earlier)
        end = loop.run(start, interrupt, bar)
        status, point = loop.judged(end, earlier.stats.steps if earlier else 0)
        run = record.finished(scenario, status, loop.cost, point, meta)
    if stepper.lasting:
        system.idle[:] = [(method, system.parameters, stepper)]
    run = joined(earlier, run) if earlier and file is None else run
    if strict and not status.ok:
        raise (SimulationInterrupted if status.code == "interrupted" else SimulationError)(status, run)
    return run


def _claimed(file: File | None, going_on: bool = False) -> AbstractContextManager[object]:
    """Claim the file of a run, if there is one, before anything is computed or compiled."""
    return nullcontext() if file is None else Claim(file, going_on)


def _system(chain: object, formulation: str | Formulation, theta: ArrayLike | None = None) -> System:
    """Return the system of a model, of a mechanism as it is assembled at theta."""
    if not isinstance(chain, Chain | Mechanism | SpatialChain):
        remedies = {
            Scenario: "; a scenario has all that it needs: scenario.run()",
            str: "; a preset by its name: preset(name).run()",
        }
        remedy = next((text for kind, text in remedies.items() if isinstance(chain, kind)), "")
        raise ModelError(f"simulate needs a Chain, a Mechanism, a SpatialChain or a System, got {type(chain).__name__}{remedy}")
    if isinstance(chain, Mechanism) and theta is not None:
        chain = chain.as_assembled(theta)
    return formulate(chain, formulation)


def _stepper(system: System, method: Integrator, start: Restart, t_end: float) -> Stepper:
    """Return a stepper from a point: the one that the last run of the system has left, if it serves. Its memory is warm."""
    try:
        own, parameters, stepper = system.idle.pop()
    except IndexError:
        return method.stepper(system, start, t_end)
    if own != method or parameters is not system.parameters:
        return method.stepper(system, start, t_end)
    stepper.restart(start, t_end)
    return stepper


def _compile(system: System, stepper: Stepper, t_end: float, dense: bool) -> None:
    """Call each compiled function on nothing, so that compiling is over before the clock and the interrupt are watched."""
    none, m = np.empty(0), system.full_size
    chunk = stepper.advance(np.array([t_end]), 0)
    if dense:
        chunk.at(none)
    rates_many(none, np.empty((0, m)), system.equations, np.empty((0, m)), np.empty((0, 2)), system.scratch())
    system.energy(np.empty((0, system.size)))
    if system.projected:
        system.settled(np.empty((0, m)))


def _start(
    system: System, theta: ArrayLike | None, omega: ArrayLike | None, state: ArrayLike | None = None, project: bool = True
) -> tuple[Restart, Correction]:
    """Return the start that angles and rates, or a raw state, stand for, and its correction."""
    if (theta is None) == (state is None):
        raise ModelError("simulate needs a start: give theta (N angles in rad), or state, and not both")
    if state is not None:
        return _raw_start(system, np.asarray(state, float), project)
    if system.chain.spatial:
        return _at_zero(system, system.encode(theta, 0.0 if omega is None else omega)), {}
    angles = system.angles("theta", theta)
    rates = np.zeros(system.chain.n) if omega is None else system.angles("omega", omega)
    angles, rates = system.chain.given(0.0, angles, rates)
    start = loop_closure.started(system.chain, angles, rates)
    correction: Correction = {"moved": start.moved, "sped": start.sped} if system.chain.closed else {}
    return _at_zero(system, system.formulation.encode(system.chain, start.theta, start.omega)), correction


def _angles_given(chain: Multibody, theta: Any) -> list[float]:
    """Return the angles of a start that may be degrees by mistake: numbers; in space those of angles, inclinations and azimuths."""
    if theta is None or (type(theta) is np.ndarray and theta.dtype == float and np.abs(theta).max() <= DEGREES):
        return []
    if chain.spatial:
        entries = theta if listed(theta) else [theta]
        flat = [each for entry in entries for each in (entry if listed(entry) and len(entry) == 2 else [entry])]
        given = np.array([each for each in flat if isinstance(each, float | int)], float)
    else:
        given = np.ravel(np.where(chain.slides, 0.0, without_texts(theta)))
    return given[np.abs(given) > DEGREES].tolist()


def _stated(system: System, start: Restart, theta: Any, omega: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return a start as a scenario holds it: the angles and rates of the state; in space rows, those that are given as they are."""
    if isinstance(system.chain, SpatialChain) and theta is not None:
        return theta, omega
    angles, rates = system.decode(start.y[: system.size])
    if isinstance(system.chain, SpatialChain):
        return rows_of(system.chain, angles, rates)
    return tuple(angles.tolist()), tuple(rates.tolist())


def _raw_start(system: System, state: np.ndarray, project: bool) -> tuple[Restart, Correction]:
    """Return the start from a raw state, brought onto its constraints if asked."""
    if state.shape != (system.size,) or not np.all(np.isfinite(state)):
        raise ModelError(f"state must hold {system.size} finite numbers for {system.formulation.name}, got shape {state.shape}")
    start = _at_zero(system, system.given(0.0, state))
    if not system.formulation.constrained and not system.chain.closed and not system.chain.spatial:
        return start, {}
    states, gap, speed = system.settled(start.y[None], plain=True)
    correction: Correction = {"violation": gap, "rate_violation": speed, "projected": project}
    return (_at_zero(system, states[0, : system.size]) if project else start), correction


def _at_zero(system: System, state: np.ndarray) -> Restart:
    y = np.zeros(system.full_size)
    y[: system.size] = state
    return Restart(0.0, 0.0, y)
