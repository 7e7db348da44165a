"""Compute a job in lanes: the memory of the compiled march is kept for each thread, results go to arrays named as outputs."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from nlink.compiled.jit import uncached
from nlink.ensemble.job import Halted, Job
from nlink.ensemble.keep import FTLE, EnergyDrift, Extremes, Final, FlipTime, Reducer, Samples
from nlink.ensemble.march import SHARED, VARIED, lanes_for, march
from nlink.ensemble.noting import EVENT, FINISHED, Kept
from nlink.ensemble.stages import METHOD, ORDER, Limits
from nlink.ensemble.stages_march import march_by_stages, room_for
from nlink.ensemble.tangents import DIRECTIONS, swiftness, tangent_lanes, tangent_room, tangents, tangents_by_stages
from nlink.ensemble.varied import Varied
from nlink.integrators.taylor import Taylor
from nlink.mechanics.system import LINK_BY_LINK, ORDER_BY_ORDER, UNROLLED_LANES, System, Way, way_by

WIDTH = 16
"""Members side by side."""
LONG, NARROW = 7, 8
"""From so many links on the series of fewer members fit into the fast memory."""
FEW_LINKS = 2
"""Up to so many links all is unrolled, by measurement."""
FEW_WITH_DEVIATIONS = 4
"""Likewise with deviations, by measurement."""
MOST_DEVIATIONS = 8_000_000
"""Numbers in the derivatives of the members that are followed with their deviations at a time."""

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
    width = NARROW if isinstance(method, Taylor) and n >= LONG else WIDTH
    lanes, own, user = (0,) * width, VARIED if varied.columns else SHARED, reducer and compiled(reducer)
    if isinstance(method, Taylor):
        run = march if reducer is None else _with(march, reducer)
        way = way_of(numbers, FEW_LINKS, LINK_BY_LINK)
        run(
            parameters, starts, varied.values, varied.places, 0, members, float(job.t_end), method.tol, float(method.max_steps),
            kept, _lanes(numbers, lanes_for, method.order, width), lanes, own, way, (0,) * method.order, user,
            memory, halt,
        )  # fmt: skip
    else:
        run = march_by_stages if reducer is None else _with(march_by_stages, reducer)
        room = _lanes(numbers, room_for, system.formulation.scratch(n), width)
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


def way_of(numbers: Any, most: int, beyond: int) -> Way:
    """Return the way to compute the series of a chain: unrolled up to so many links, and another beyond."""
    if numbers.n <= most and not numbers.swept:
        return way_by(UNROLLED_LANES, numbers.n, numbers.loaded)
    return way_by(beyond, 0, numbers.loaded, numbers.swept > 0) if beyond == LINK_BY_LINK else way_by(beyond)


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


def _lanes(numbers: Any, made: Callable[[Any, int, int], Any], size: int, width: int) -> Any:
    """Return this thread's lanes: used again if they fit, with the chain's numbers in them."""
    key = (made, numbers.n, numbers.loaded, numbers.swept, numbers.ledger, size, width)
    known = getattr(_memory, "lanes", None)
    if known is None or _memory.key != key:
        known = _memory.lanes = made(numbers, size, width)
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
    """Return the finite-time Lyapunov exponents of the members: NaN for those that do not come to their end."""
    out = np.full(job.members, np.nan)
    whole = np.flatnonzero((status == FINISHED) | (status == EVENT))
    size = max(1, MOST_DEVIATIONS // (2 * job.chain.n) ** 2)
    for first in range(0, len(whole), size):
        rows = whole[first : first + size]
        derivatives = deviations(job, system, varied, rows, halt)
        good = np.isfinite(derivatives).all((1, 2))
        stretching = np.linalg.svd(derivatives[good], compute_uv=False)[:, 0]
        out[rows[good]] = np.log(stretching) / abs(job.t_end)
    return out


def deviations(job: Job, system: System, varied: Varied, rows: np.ndarray, halt: np.ndarray) -> np.ndarray:
    """Return the derivatives (K, 2N, 2N) of the states at the end by the starts, of some members; NaN where there is none."""
    n, method, by_series = job.chain.n, cast(Any, job.method), isinstance(job.method, Taylor)
    numbers = varied.flagged(system.parameters.chain)._replace(ledger=0)
    p, own = system.parameters._replace(chain=numbers), VARIED if varied.columns else SHARED
    given = np.ascontiguousarray(job.starts[rows]), varied.values[rows], varied.places
    lanes = tangent_lanes(numbers, method.order) if by_series else tangent_room(numbers, system.formulation.scratch(n))
    swift = np.empty(len(rows) if varied.columns else 1)
    swiftness(p, *given[1:], lanes, DIRECTIONS, own, swift)
    longest = np.broadcast_to(steady(method) / np.maximum(swift, 1e-100), len(rows)).copy()
    out = np.full((len(rows), 2 * n, 2 * n), np.nan)
    if by_series:
        left = tangents(
            p, *given, longest, float(job.t_end), method.tol, float(method.max_steps), out, lanes, DIRECTIONS, own,
            way_of(numbers, FEW_WITH_DEVIATIONS, ORDER_BY_ORDER), (0,) * method.order, halt,
        )  # fmt: skip
    else:
        longest = np.minimum(longest, method.max_step)
        left = tangents_by_stages(p, *given, longest, limits_of(job), system.breaks(), out, lanes, DIRECTIONS, own, METHOD, halt)
    if left:
        raise Halted
    return out


def steady(method: Any) -> float:
    """Return by how much a swing of 1 rad may turn in a step of the method, in rad of its phase."""
    if isinstance(method, Taylor):
        return math.exp((math.log(method.tol) + math.lgamma(method.order + 1.0)) / method.order)
    return 5.0 * (method.rtol + method.atol) ** (1.0 / ORDER)
