"""Compute a job in lanes of the processor: many members side by side."""

from __future__ import annotations

import math
import threading
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np

from nlink.compiled.jit import uncached
from nlink.ensemble.job import Halted, Job
from nlink.ensemble.kernels.by_series import BySeries, by_series
from nlink.ensemble.kernels.by_stages import ByStages, by_stages
from nlink.ensemble.kernels.lanes import EVENT, FINISHED, MOTION, SHARED, TANGENT, VARIED, Lanes, Limits, Members, lanes_for, share
from nlink.ensemble.kernels.loop import follow
from nlink.ensemble.kernels.stages import ORDER
from nlink.ensemble.kernels.tangents import Deviations, fastest_rates
from nlink.ensemble.outputs import FTLE
from nlink.ensemble.varied import Varied
from nlink.integrators.taylor import Taylor
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.system import LINK_BY_LINK, ORDER_BY_ORDER, UNROLLED_LANES, System, Way, way_by

WIDTH = 16
"""Members side by side."""
LONG, NARROW = 7, 8
"""From so many links on the series of fewer members fit into the fast memory."""
DIRECTIONS = 8
"""Deviations side by side."""
FEW_LINKS = 2
"""Up to so many links all is unrolled, by measurement."""
FEW_WITH_DEVIATIONS = 4
"""Likewise with deviations, by measurement."""
MOST_DEVIATIONS = 8_000_000
"""Numbers in the derivatives of the members that are followed with their deviations at a time."""


class HostArrays:
    """Arrays for results in the memory of the processor."""

    def new(self, shape: tuple[int, ...], dtype: str, start: float | None = None) -> np.ndarray:
        """Return a new array."""
        return np.full(shape, (np.nan if dtype == "f8" else 0) if start is None else start, dtype)

    def constant(self, values: np.ndarray) -> np.ndarray:
        """Return the values."""
        return values


class Ensemble(NamedTuple):
    """A job as the compiled loop takes it."""

    parameters: Any
    members: Members
    limits: Limits
    varied: tuple[int, ...]


def compute_in_lanes(job: Job, system: System, halt: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs of a job."""
    varied = Varied(job.chain, job.vary, job.members)
    chain = flagged(job, varied, system)
    ensemble = _ensemble(job, system, chain, varied, slice(None))
    width = NARROW if isinstance(job.method, Taylor) and job.chain.n >= LONG else WIDTH
    method, own = _memory_for(job, system, chain, width, False)
    watching = [keep for keep in job.keep if keep.watches]
    observers = tuple(keep.observe(job, HostArrays()) for keep in watching)
    run = follow if all(keep.built_in for keep in watching) else _uncached(tuple(type(each) for each in observers))
    p, members, limits, vary = ensemble
    if run(p, members, job.members, limits, method, observers, own, (0,) * width, vary, MOTION, halt):
        raise Halted
    results = named(job, members, observers)
    if job.wanted(FTLE):
        results["ftle"] = exponents(job, system, varied, members.status, halt)
    return results


def named(job: Job, members: Members, observers: tuple[Any, ...]) -> dict[str, np.ndarray]:
    """Return the results by the names of the outputs."""
    results = {"status": members.status, "steps": members.steps}
    for keep, observer in zip((keep for keep in job.keep if keep.watches), observers, strict=True):
        results |= dict(zip(keep.outputs(job.chain.n), observer, strict=False))
    return results


def flagged(job: Job, varied: Varied, system: System) -> ChainParameters:
    """Return the numbers of a job's chain, with the flags that what varies needs; without a ledger, if nothing asks for it."""
    numbers = varied.flagged(system.parameters.chain)
    return numbers._replace(ledger=numbers.ledger if any(keep.ledger for keep in job.keep) else 0)


def _ensemble(job: Job, system: System, chain: ChainParameters, varied: Varied, rows: Any) -> Ensemble:
    """Return some members of a job as the compiled loop takes them."""
    theta, omega = (np.ascontiguousarray(states[rows]) for states in (job.theta, job.omega))
    ends = np.full(len(theta), -1, "i1"), np.zeros(len(theta), "i4")
    members = Members(theta, omega, varied.values[rows], varied.places, *ends)
    limits = Limits(float(job.t_end), float(cast(Any, job.method).max_steps), np.array(system.breaks(), float))
    return Ensemble(system.parameters._replace(chain=chain), members, limits, VARIED if varied.columns else SHARED)


_memory = threading.local()


def _memory_for(job: Job, system: System, chain: ChainParameters, width: int, tangent: bool) -> tuple[BySeries | ByStages, Lanes]:
    """Return the method of a job and its lanes; the memory of this thread is used again if it fits."""
    way = _way(chain, tangent) if isinstance(job.method, Taylor) else None
    key = (way, job.method, chain.n, chain.loaded, chain.swept, chain.ledger, width, tangent)
    if getattr(_memory, "key", None) != key:
        _memory.made = _method(job, system, chain, way, width, tangent), lanes_for(chain, width, tangent)
        _memory.key = key
    method, own = _memory.made
    share(own, chain)
    return method, own


def _method(job: Job, system: System, chain: ChainParameters, way: Way | None, width: int, tangent: bool) -> BySeries | ByStages:
    method: Any = job.method
    if way is not None:
        return by_series(chain, method.tol, way, method.order, width, tangent)
    rows = system.formulation.scratch(chain.n)
    return by_stages(chain, (method.rtol, method.atol), float(method.max_step), rows, width, tangent)


def _way(chain: ChainParameters, tangent: bool) -> Way:
    """Return the way to compute the series of a chain: unrolled if it has few links."""
    if chain.n <= (FEW_WITH_DEVIATIONS if tangent else FEW_LINKS) and not chain.swept:
        return way_by(UNROLLED_LANES, chain.n, chain.loaded)
    return way_by(ORDER_BY_ORDER) if tangent else way_by(LINK_BY_LINK, 0, chain.loaded, chain.swept > 0)


@cache
def _uncached(observers: tuple[type, ...]) -> Any:
    """Return the loop for observers of the user, which cannot be kept on disk."""
    return uncached(follow.py_func)


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
    m, lanes = 2 * job.chain.n, (0,) * DIRECTIONS
    chain = varied.flagged(system.parameters.chain)._replace(ledger=0)
    p, members, limits, vary = _ensemble(job, system, chain, varied, rows)
    method, own = _memory_for(job, system, chain, DIRECTIONS, True)
    fastest = np.empty(len(rows) if varied.columns else 1)
    fastest_rates(p, members, limits, method, own, lanes, vary, fastest)
    longest = np.minimum(steady(job.method) / np.maximum(fastest, 1e-100), method.longest)
    observer = Deviations(np.full((len(rows), m, m), np.nan), limits.t_end, np.broadcast_to(longest, len(rows)).copy())
    if follow(p, members, m * len(rows), limits, method, (observer,), own, lanes, vary, TANGENT, halt):
        raise Halted
    return observer.derivatives


def steady(method: Any) -> float:
    """Return by how much a swing of 1 rad may turn in a step of the method, in rad of its phase."""
    if isinstance(method, Taylor):
        return math.exp((math.log(method.tol) + math.lgamma(method.order + 1.0)) / method.order)
    return 5.0 * (method.rtol + method.atol) ** (1.0 / ORDER)
