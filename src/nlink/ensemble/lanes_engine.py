"""Compute a job in lanes: the memory of the compiled march is kept for each thread, results go to arrays named as outputs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from nlink._jit import uncached
from nlink.ensemble.job import Halted, Job
from nlink.ensemble.keep import FTLE, EnergyDrift, Extremes, Final, FlipTime, Reducer, Samples
from nlink.ensemble.march import SHARED, VARIED, Kept, lanes_for, march
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
    run = march if reducer is None else _with(reducer)
    memory = np.full((members if reducer else 0, reducer.size if reducer else 0), reducer.start if reducer else 0.0)
    unrolled = n <= FEW_LINKS and not numbers.swept
    way = UNROLLED_LANES + 2 * n + numbers.loaded if unrolled else ORDER_BY_ORDER
    run(
        system.parameters._replace(chain=numbers), np.ascontiguousarray(job.starts), varied.values, varied.places, 0, members,
        float(job.t_end), method.tol, float(method.max_steps), kept, _lanes(numbers, method.order), (0,) * WIDTH,
        VARIED if varied.names else SHARED, (0,) * way, (0,) * method.order, reducer and _compiled(reducer), memory, halt,
    )  # fmt: skip
    if (kept.status < 0).any():
        raise Halted
    found = named(job, kept, n)
    if reducer:
        found[reducer.name] = memory
    if job.wanted(FTLE):
        found["ftle"] = _exponents(job, system, varied, kept.status, halt)
    return found


def results_for(job: Job, n: int, members: int) -> Kept:
    """Return arrays for the results; for what is not wanted they are empty."""

    def rows(kind: type[Any], *shape: int, fill: float = np.nan) -> np.ndarray:
        return np.full((members if job.wanted(kind) else 0, *shape), fill)

    times = np.array(job.wanted(Samples).times if job.wanted(Samples) else ())
    return Kept(
        final=rows(Final, 2 * n),
        times=times,
        samples=rows(Samples, len(times), 2 * n),
        flip_time=rows(FlipTime),
        flip_link=rows(FlipTime, fill=-1.0),
        drift=rows(EnergyDrift),
        extremes=rows(Extremes, 2, 2 * n),
        status=np.full(members, -1.0),
        steps=np.zeros(members),
    )


def named(job: Job, kept: Kept, n: int) -> dict[str, np.ndarray]:
    """Return the results by the names of the outputs."""
    found = {"status": kept.status.astype("i1"), "steps": kept.steps.astype("i4")}
    if job.wanted(Final):
        found |= {"theta": kept.final[:, :n], "omega": kept.final[:, n:]}
    if job.wanted(Samples):
        found |= {"sample_theta": kept.samples[..., :n], "sample_omega": kept.samples[..., n:]}
    if job.wanted(FlipTime):
        found |= {"flip_time": kept.flip_time, "flip_link": (kept.flip_link + 1).astype("i4")}
    if job.wanted(EnergyDrift):
        found["energy_drift"] = kept.drift
    if job.wanted(Extremes):
        for k, which in enumerate(("least", "largest")):
            found |= {f"{which}_theta": kept.extremes[:, k, :n], f"{which}_omega": kept.extremes[:, k, n:]}
    return found


def _lanes(numbers: Any, order: int) -> Any:
    """Return this thread's lanes: used again if they fit, with the chain's numbers in them."""
    key = (numbers.n, numbers.ledger, order)
    known = getattr(_memory, "lanes", None)
    if known is None or _memory.key != key:
        known = _memory.lanes = lanes_for(numbers, order, WIDTH)
        _memory.key = key
    known.links[:], known.tip[:], known.g[:] = numbers.links[..., None], numbers.tip[:, None], numbers.g
    return known


def _compiled(reducer: Reducer) -> Any:
    """Return the user's function, compiled once."""
    if not hasattr(reducer.step, "py_func"):
        return _functions.setdefault(reducer.step, uncached(reducer.step))
    return reducer.step


_functions: dict[Any, Any] = {}
_marches: dict[Any, Any] = {}


def _with(reducer: Reducer) -> Any:
    """Return a march that calls the user's function; it cannot be kept on disk."""
    return _marches.setdefault(reducer.step, uncached(march.py_func))


def _exponents(job: Job, system: System, varied: Varied, status: np.ndarray, halt: np.ndarray) -> np.ndarray:
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
