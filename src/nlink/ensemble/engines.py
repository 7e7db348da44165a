"""Engines: compute a job in lanes of the processor, many members side by side; or member after member by `simulate`, for what lanes
do not take (pins, torque functions in Python, other methods; tables and quadratic drag by Taylor; outputs that say so).
"""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import Any

import numpy as np

from nlink._support.checks import ModelError
from nlink._support.interrupt import halted_by
from nlink.ensemble.job import STATUS, Job, Results
from nlink.ensemble.kernels.by_series import BySeries, by_series
from nlink.ensemble.kernels.by_stages import ByStages, by_stages
from nlink.ensemble.kernels.lanes import (
    EVENT,
    FINISHED,
    MOTION,
    SHARED,
    TANGENT,
    VARIED,
    WITH_CHAIN,
    Lanes,
    Limits,
    Members,
    lanes_for,
    share,
)
from nlink.ensemble.kernels.loop import Stepped, follow, step_code
from nlink.ensemble.kernels.stages import ORDER
from nlink.ensemble.kernels.tangents import Deviations, fastest_rates
from nlink.ensemble.outputs import FTLE
from nlink.ensemble.varied import Varied
from nlink.integrators.base import Integrator
from nlink.integrators.runge_kutta import DOP853
from nlink.integrators.taylor import Taylor
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.series import LINK_BY_LINK, ORDER_BY_ORDER, SERIES, UNROLLED, SeriesLayout, series_layout
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import SpatialNumbers
from nlink.mechanics.space.tangents import frames
from nlink.mechanics.system import System

WIDTH = 16
"""Members side by side."""
LONG, NARROW = 7, 8
"""From so many links on the series of fewer members fit into the fast memory."""
DIRECTIONS = 8
"""Deviations side by side."""
FEW_LINKS = 2
"""Up to so many links all is unrolled, by measurement."""
FEW_LINES, FEW_SPRUNG = 5, 2
"""Likewise of lines in space, without springs and with them."""
FEW_WITH_DEVIATIONS = 4
"""Likewise with deviations, by measurement."""
MOST_DEVIATIONS = 8_000_000
"""Numbers in the derivatives of the members that are followed with their deviations at a time."""
FINEST = DOP853(1e-13, 1e-13)
"""Follows deviations in space whatever follows the motion."""
ON = np.zeros(1, np.int64)
"""The flag of a computation that nobody will halt."""
_memory = threading.local()


class Halted(Exception):
    """A computation left off before its end, because it was asked to."""


class HostArrays:
    """Arrays for results in the memory of the processor."""

    def new(self, shape: tuple[int, ...], dtype: str, start: float | None = None) -> np.ndarray:
        """Return a new array."""
        return np.full(shape, (np.nan if dtype == "f8" else 0) if start is None else start, dtype)

    def constant(self, values: np.ndarray) -> np.ndarray:
        """Return the values."""
        return values


def side_by_side(system: System, method: Integrator, varied: Varied) -> bool:
    """Whether members can be computed in lanes: open chains, mechanisms and chains in space, without torque functions in Python, by
    DOP853, or by Taylor where the loads have a plain series (no tables of torques, no torque functions, no quadratic drag).
    """
    if type(system.parameters) not in WITH_CHAIN or system.chain.closed or system.calls_python or varied.apart:
        return False
    numbers = varied.flagged(system.parameters.chain)
    rough = system.callback or numbers.force_level > 1 or len(system.breaks()) or (system.chain.spatial and numbers.damped)
    return isinstance(method, DOP853) or (isinstance(method, Taylor) and not rough)


def compute(job: Job, halt: np.ndarray = ON) -> Results:
    """Compute a job; return its outputs, rows being members. Raise Halted soon after another thread writes 1 to halt[0]."""
    apart = job.keeps(FTLE) and job.system.callback  # a function gives no derivatives along lanes
    apart = apart or not all(keep.in_lanes(job.chain) for keep in job.keep)
    in_lanes = side_by_side(job.system, job.method, job.varied) and not apart
    return (compute_in_lanes if in_lanes else compute_each)(job, halt)


def compute_each(job: Job, halt: np.ndarray) -> Results:
    """Compute member after member by `simulate`."""
    from nlink.simulation.integrate import simulate

    follows = job.keeps(FTLE) and isinstance(job.chain, SpatialChain)
    if job.keeps(FTLE) and job.t_end < 0 and not follows:
        raise ModelError("FTLE of members that are followed one by one (pins, torque functions) takes no t_end < 0; leave it out")
    results = {name: HostArrays().new((job.members, *each.shape), each.dtype) for name, each in job.outputs().items()}
    save = tuple(sorted({job.t_end, *(t for keep in job.keep for t in keep.points(job.t_end))}, key=abs))
    events = tuple(event for keep in job.keep for event in keep.events(job.alone(keep)))
    settings: Any = {"t_end": job.t_end, "integrator": job.method, "save": save, "events": events, "strict": False}
    for k in range(job.members):
        with halted_by(lambda: bool(halt[0])):
            try:
                run = simulate(job.varied.chain(k), **_start(job, k), **settings)
            except ModelError as error:
                raise ModelError(f"member {k}: {error}") from None
        if run.status.code == "interrupted":
            raise Halted
        results["status"][k] = STATUS.index(run.status.code if run.status.code in STATUS else "not_finite")
        results["steps"][k] = run.stats.steps
        for keep in job.keep:
            if keep.watches or not follows:
                keep.read(run, job, k, results)
    if follows:
        method = job.method if side_by_side(job.system, job.method, job.varied) else FINEST
        results["ftle"] = exponents(replace(job, method=method), results["status"], halt)
    return results


def _start(job: Job, k: int) -> dict[str, Any]:
    """Return the start of a member as `simulate` takes it: angles and rates; in space the state, which is on its spheres."""
    if job.chain.spatial:
        return {"state": np.concatenate([job.position[k], job.velocity[k]]), "project": False}
    return {"theta": job.position[k], "omega": job.velocity[k]}


def compute_in_lanes(job: Job, halt: np.ndarray) -> Results:
    """Compute members side by side."""
    chain = flagged(job)
    width = NARROW if isinstance(job.method, Taylor) and (job.chain.n >= LONG or _few_springs(chain)) else WIDTH
    p, members, limits, vary = _compiled_arguments(job, chain, slice(None))
    method, own = _memory_for(job, chain, width, False)
    stepped = Stepped(p, limits, method, own, (0,) * width, vary, MOTION)
    observers = tuple(keep.observe(job, HostArrays()) for keep in job.keep if keep.watches)
    if follow(members, job.members, stepped, step_code(stepped), observers, halt):
        raise Halted
    results = named(job, members, observers)
    if job.keeps(FTLE):
        results["ftle"] = exponents(job, members.status, halt)
    return results


def _few_springs(chain: ChainParameters | SpatialNumbers) -> bool:
    """Whether the series of a chain in space has springs and is unrolled: it has many rows then, and few lines."""
    return sprung(chain) and chain.n <= FEW_SPRUNG


def sprung(chain: ChainParameters | SpatialNumbers) -> bool:
    """Whether a chain in space has springs."""
    return isinstance(chain, SpatialNumbers) and chain.sprung


def named(job: Job, members: Members, observers: tuple[Any, ...]) -> dict[str, Any]:
    """Return the results by the names of the outputs."""
    results = {"status": members.status, "steps": members.steps}
    for keep, observer in zip((keep for keep in job.keep if keep.watches), observers, strict=True):
        results |= keep.translated(job.chain, dict(zip(keep.tracked(job.chain), observer, strict=False)))
    return results


def flagged(job: Job) -> ChainParameters:
    """Return the numbers of a job's chain, with the flags that what varies needs; without a ledger, if nothing asks for it."""
    numbers = job.varied.flagged(job.system.parameters.chain)
    return numbers._replace(ledger=numbers.ledger if any(keep.ledger for keep in job.keep) else 0)


def _compiled_arguments(job: Job, chain: ChainParameters, rows: Any) -> tuple[Any, Members, Limits, tuple[int, ...]]:
    """Return parameters, some members, limits, and whether members vary, as the compiled loop takes them."""
    position, velocity = (np.ascontiguousarray(states[rows]) for states in (job.position, job.velocity))
    ends = np.full(len(position), -1, "i1"), np.zeros(len(position), "i4")
    members = Members(position, velocity, job.varied.values[rows], job.varied.places, *ends)
    limits = Limits(float(job.t_end), float(job.method.max_steps), np.array(job.system.breaks(), float))
    return job.system.parameters._replace(chain=chain), members, limits, VARIED if job.vary else SHARED


def _memory_for(job: Job, chain: ChainParameters, width: int, tangent: bool) -> tuple[BySeries | ByStages, Lanes]:
    """Return the method of a job and its lanes; the memory of this thread is used again if it fits."""
    record: Any = job.method
    kind = type(job.system.parameters)
    layout = _layout(kind, chain, tangent) if isinstance(job.method, Taylor) else None
    key = (kind, layout, record, chain.n, chain.loaded, chain.force_level, chain.ledger, width, tangent)
    if getattr(_memory, "key", None) != key:
        rows = job.system.formulation.scratch(chain.n)
        if layout is not None:
            made = SERIES[kind][ORDER_BY_ORDER]
            method = by_series(chain, made, record.tol, layout, record.order, width, rows if tangent else 0)
        else:
            method = by_stages(chain, (record.rtol, record.atol), float(record.max_step), rows, width, tangent)
        _memory.made, _memory.key = (method, lanes_for(chain, width, tangent)), key
    method, own = _memory.made
    share(own, chain)
    return method, own


def _layout(kind: type, chain: ChainParameters, tangent: bool) -> SeriesLayout:
    """Return the way to compute the series of parameters of this type: of a chain, unrolled if it has few links."""
    if UNROLLED not in SERIES[kind]:
        return series_layout(ORDER_BY_ORDER)
    if LINK_BY_LINK not in SERIES[kind]:
        few = _few_springs(chain) or (chain.n <= FEW_LINES and not sprung(chain))
        acting = SERIES[kind][UNROLLED].acting(chain)
        return series_layout(UNROLLED, chain.n, acting) if few and not tangent else series_layout(ORDER_BY_ORDER)
    if chain.n <= (FEW_WITH_DEVIATIONS if tangent else FEW_LINKS) and not chain.force_level:
        return series_layout(UNROLLED, chain.n, chain.loaded)
    return series_layout(ORDER_BY_ORDER) if tangent else series_layout(LINK_BY_LINK, 0, chain.loaded, chain.force_level > 0)


def exponents(job: Job, status: np.ndarray, halt: np.ndarray) -> np.ndarray:
    """Return the finite-time Lyapunov exponents of the members: NaN for those that do not come to their end."""
    out = np.full(job.members, np.nan)
    whole = np.flatnonzero((status == FINISHED) | (status == EVENT))
    size = max(1, MOST_DEVIATIONS // (2 * job.chain.size) ** 2)
    for first in range(0, len(whole), size):
        rows = whole[first : first + size]
        derivatives = deviations(job, rows, halt)
        if isinstance(job.chain, SpatialChain):
            derivatives = derivatives @ frames(job.chain, job.position[rows], job.velocity[rows])
        good = np.isfinite(derivatives).all((1, 2))
        stretching = np.linalg.svd(derivatives[good], compute_uv=False)[:, 0]
        out[rows[good]] = np.log(stretching) / abs(job.t_end)
    return out


def deviations(job: Job, rows: np.ndarray, halt: np.ndarray) -> np.ndarray:
    """Return the derivatives (M, 2K, 2K) of the states at the end by the starts, of some members; NaN where there is none."""
    m = 2 * job.chain.size
    chain = job.varied.flagged(job.system.parameters.chain)._replace(ledger=0)
    p, members, limits, vary = _compiled_arguments(job, chain, rows)
    method, own = _memory_for(job, chain, DIRECTIONS, True)
    fastest = np.empty(len(rows) if job.vary else 1)
    stepped = Stepped(p, limits, method, own, (0,) * DIRECTIONS, vary, TANGENT)
    fastest_rates(members, stepped, fastest)
    longest = np.minimum(steady(job.method) / np.maximum(fastest, 1e-100), method.longest)
    observer = Deviations(np.full((len(rows), m, m), np.nan), limits.t_end, np.broadcast_to(longest, len(rows)).copy())
    if follow(members, m * len(rows), stepped, step_code(stepped), (observer,), halt):
        raise Halted
    return observer.derivatives


def steady(method: Any) -> float:
    """Return by how much a swing of 1 rad may turn in a step of the method, in rad of its phase."""
    if isinstance(method, Taylor):
        return math.exp((math.log(method.tol) + math.lgamma(method.order + 1.0)) / method.order)
    return 5.0 * (method.rtol + method.atol) ** (1.0 / ORDER)
