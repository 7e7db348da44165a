"""Compute a job in lanes: the memory of the compiled march is kept for each thread, results go to arrays named as outputs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from nlink._jit import uncached
from nlink.ensemble.job import Halted, Job
from nlink.ensemble.keep import FTLE, EnergyDrift, Extremes, Final, FlipTime, Reducer, Samples
from nlink.ensemble.march import SHARED, VARIED, lanes_for, march
from nlink.ensemble.noting import Kept
from nlink.ensemble.stages import METHOD, Limits
from nlink.ensemble.stages_march import march_by_stages, room_for
from nlink.ensemble.varied import Varied
from nlink.integrators.base import ARRIVED
from nlink.integrators.tangent import TangentStepper
from nlink.integrators.taylor import Taylor
from nlink.system import ORDER_BY_ORDER, UNROLLED_LANES, System

WIDTH = 16
"""Members side by side."""
FEW_LINKS = 6
"""Up to so many links all is unrolled: faster, but slow to compile for more."""

_memory = threading.local()


def compute_in_lanes(job: Job, system: System, halt: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs of a job."""
    n, members = job.chain.n, job.members
    method: Any = job.method
    varied = Varied(job.chain, job.vary, members)
    numbers = varied.flagged(system.parameters.chain)
    numbers = numbers._replace(ledger=numbers.ledger if job.wanted(EnergyDrift) else 0)
    kept = results_for(job, n, members)
    reducer = job.wanted(Reducer)
    memory = memories(reducer, members)
    parameters, starts = system.parameters._replace(chain=numbers), np.ascontiguousarray(job.starts)
    lanes, own, user = (0,) * WIDTH, VARIED if varied.names else SHARED, reducer and compiled(reducer)
    if isinstance(method, Taylor):
        run = march if reducer is None else _with(march, reducer)
        unrolled = n <= FEW_LINKS and not numbers.swept
        way = UNROLLED_LANES + 2 * n + numbers.loaded if unrolled else ORDER_BY_ORDER
        run(
            parameters, starts, varied.values, varied.places, 0, members, float(job.t_end), method.tol, float(method.max_steps),
            kept, _lanes(numbers, lanes_for, method.order), lanes, own, (0,) * way, (0,) * method.order, user, memory, halt,
        )  # fmt: skip
    else:
        run = march_by_stages if reducer is None else _with(march_by_stages, reducer)
        room = _lanes(numbers, room_for, system.formulation.scratch(n))
        run(
            parameters, starts, varied.values, varied.places, 0, members, limits_of(job), system.breaks(), kept, room, lanes, own,
            METHOD, user, memory, halt,
        )  # fmt: skip
    if (kept.status < 0).any():
        raise Halted
    found = named(job, kept, n)
    if reducer:
        found[reducer.name] = memory
    if job.wanted(FTLE):
        found["ftle"] = exponents(job, system, varied, kept.status, halt)
    return found


def memories(reducer: Reducer | None, members: int) -> np.ndarray:
    """Return what a user's function begins with, a row for each member; without one there is nothing."""
    return np.full((members if reducer else 0, reducer.size if reducer else 0), reducer.start if reducer else 0.0)


def limits_of(job: Job) -> Limits:
    """Return how far and how well a job goes by stages."""
    method: Any = job.method
    return Limits(float(job.t_end), method.rtol, method.atol, float(method.max_step), float(method.max_steps))


def results_for(job: Job, n: int, members: int, made: Callable[..., Any] | None = None) -> Kept:
    """Return arrays for the results, of floats or made by made(shape, value, kind); for what is not wanted they are empty."""
    made = made or (lambda shape, value, kind: np.full(shape, float(value)))

    def rows(kind: type[Any], *shape: int) -> Any:
        return made((members if job.wanted(kind) else 0, *shape), np.nan, "f8")

    times = np.array(job.wanted(Samples).times if job.wanted(Samples) else ())
    return Kept(
        final=rows(Final, 2 * n),
        times=times,
        samples=rows(Samples, len(times), 2 * n),
        flip_time=rows(FlipTime),
        flip_link=made(members if job.wanted(FlipTime) else 0, 0, "i4"),
        drift=rows(EnergyDrift),
        extremes=rows(Extremes, 2, 2 * n),
        status=made(members, -1, "i1"),
        steps=made(members, 0, "i4"),
    )


def named(job: Job, kept: Kept, n: int) -> dict[str, np.ndarray]:
    """Return the results by the names of the outputs."""
    found = {"status": kept.status.astype("i1", copy=False), "steps": kept.steps.astype("i4", copy=False)}
    if job.wanted(Final):
        found |= {"theta": kept.final[:, :n], "omega": kept.final[:, n:]}
    if job.wanted(Samples):
        found |= {"sample_theta": kept.samples[..., :n], "sample_omega": kept.samples[..., n:]}
    if job.wanted(FlipTime):
        found |= {"flip_time": kept.flip_time, "flip_link": kept.flip_link.astype("i4", copy=False)}
    if job.wanted(EnergyDrift):
        found["energy_drift"] = kept.drift
    if job.wanted(Extremes):
        for k, which in enumerate(("least", "largest")):
            found |= {f"{which}_theta": kept.extremes[:, k, :n], f"{which}_omega": kept.extremes[:, k, n:]}
    return found


def _lanes(numbers: Any, made: Callable[[Any, int, int], Any], size: int) -> Any:
    """Return this thread's lanes: used again if they fit, with the chain's numbers in them."""
    key = (made, numbers.n, numbers.ledger, size)
    known = getattr(_memory, "lanes", None)
    if known is None or _memory.key != key:
        known = _memory.lanes = made(numbers, size, WIDTH)
        _memory.key = key
    known.links[:], known.tip[:], known.g[:] = numbers.links[..., None], numbers.tip[:, None], numbers.g
    return known


def compiled(reducer: Reducer) -> Any:
    """Return the user's function, compiled once."""
    if not hasattr(reducer.step, "py_func"):
        return _functions.setdefault(reducer.step, uncached(reducer.step))
    return reducer.step


_functions: dict[Any, Any] = {}
_marches: dict[Any, Any] = {}


def _with(run: Any, reducer: Reducer) -> Any:
    """Return a march that calls the user's function; it cannot be kept on disk."""
    return _marches.setdefault((run, reducer.step), uncached(run.py_func))


def exponents(job: Job, system: System, varied: Varied, status: np.ndarray, halt: np.ndarray) -> np.ndarray:
    """Return the finite-time Lyapunov exponents of the members."""
    method: Any = job.method
    assert isinstance(method, Taylor)
    stepper, unit = TangentStepper(system, method), np.eye(2 * job.chain.n)
    numbers = varied.flagged(stepper.parameters.chain)._replace(ledger=0)
    out = np.full(job.members, np.nan)
    for k in np.flatnonzero(status != 2):
        if halt[0]:
            raise Halted
        stepper.parameters = stepper.parameters._replace(chain=varied.own(numbers, int(k)))
        code, _, deviations = stepper.advance(0.0, job.t_end, job.starts[k], unit)
        if code == ARRIVED:
            out[k] = np.log(np.linalg.norm(deviations, 2)) / abs(job.t_end)
    return out
