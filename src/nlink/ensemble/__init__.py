"""simulate_many(): a whole ensemble in one call: starts and parameters vary over members, and only what is asked for is kept."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import DEGREES, WIDEST_ANGLE, ModelError, number, shown, warn_of_degrees
from nlink._support.interrupt import Interrupt
from nlink._support.progress import Bar
from nlink.ensemble.backends import Backend, Threads
from nlink.ensemble.cluster import Dask
from nlink.ensemble.engines import side_by_side
from nlink.ensemble.gpu import Cuda
from nlink.ensemble.job import EnsembleInterrupted, Job
from nlink.ensemble.outputs import FTLE, EnergyDrift, Extremes, Final, FlipTime, Keep, Reducer, Samples, checked
from nlink.ensemble.varied import Varied, numbers_of
from nlink.formulations import formulate
from nlink.integrators import method_for
from nlink.integrators.accuracy import MANY_DEVIATIONS, MANY_SERIES, STAGES_AS_SERIES
from nlink.integrators.base import Integrator
from nlink.integrators.taylor import Taylor
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import Mechanism, a_model
from nlink.mechanics.mobility import check_start
from nlink.mechanics.space.many import starts
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.system import System

if TYPE_CHECKING:
    import xarray

__all__ = [
    "FTLE", "Cuda", "Dask", "EnergyDrift", "EnsembleInterrupted", "Extremes", "Final", "FlipTime", "Reducer", "Samples", "Threads",
    "simulate_many",
]  # fmt: skip
FINAL = (Final(),)
ORDER = 16
"""Order of the series for ensembles: measured best for members of few links."""
FEW_ON_CARD = 3
"""Links up to which a GPU is faster by series, by measurement."""


def simulate_many(
    chain: Multibody,
    theta: ArrayLike,
    omega: ArrayLike | None = None,
    *,
    t_end: float,
    vary: Any = None,
    keep: object = FINAL,
    integrator: Any = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    backend: Backend | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> xarray.Dataset:
    """Simulate many members of a chain or mechanism from angles theta (members, N), rates omega (members, N) (0 if not given).

    A SpatialChain takes a pose for each member, as `simulate` does: (members, N), (members, N, 2), (members, N, 3) or a list; and
    omega (members, N) about z or (members, N, 3). Its results are called direction and omega, (member, link, axis). FTLE and
    Extremes are as in the plane; of bodies com.x, inertia.xy, ... vary too.

    Parameters
    ----------
    vary : values (members,) of parameters by name, like {"mass[2]": ..., "gravity": ..., "joint_spring.stiffness": ...}; theta may
        then be one start (N,) for all
    keep : what survives: Final(), Samples(times), FlipTime(), EnergyDrift(), FTLE(), Extremes(), Reducer(...)
    integrator, rtol, atol : as for `simulate`; Taylor (the default, but for tables and quadratic drag) and DOP853 take many members
        side by side
    backend : where to compute: Threads(n), Dask(address_or_client), with the same results to the last bit; or Cuda(), an NVIDIA GPU
    store : a folder x.zarr to which blocks go as they are done; the same call goes on with one that was cut off
    progress : show a progress bar on a terminal

    >>> from nlink import Chain
    >>> many = simulate_many(Chain.uniform(2), [[0.5, 0.5], [1.0, 0.0]], t_end=1.0)
    >>> many["theta"].dims, many["status"].values.tolist()
    (('member', 'link'), [0, 0])
    """
    backend = Threads() if backend is None else backend
    job = make_job(chain, theta, omega, t_end, vary, keep, integrator, rtol, atol, isinstance(backend, Cuda))
    if store is not None:
        from nlink.ensemble.store import stored

        return stored(job, backend, store, progress)
    todo = job.blocks(backend.size(job))
    results = {name: np.empty((job.members, *output.shape), output.dtype, "F") for name, output in job.outputs().items()}
    done, count = np.zeros(job.members, bool), 0
    with Interrupt() as interrupt, Bar("simulating", progress, "members") as bar:
        for (first, last), block in backend.run(job, todo, lambda: interrupt.asked):
            if last - first == job.members:
                results = block
            else:
                for name, values in block.items():
                    results[name][first:last] = values
            done[first:last], count = True, count + last - first
            bar.update(count, job.members)
    if not done.all():
        part = job.dataset({name: values[done] for name, values in results.items()})
        raise EnsembleInterrupted(part, done, 'give store="x.zarr" to be able to go on')
    return job.dataset(results)


def make_job(
    chain: Multibody,
    theta: ArrayLike,
    omega: ArrayLike | None,
    t_end: float,
    vary: Any,
    keep: object,
    integrator: Any = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    on_card: bool = False,
) -> Job:
    """Return the job that a call of simulate_many describes, checked; `on_card`, if a GPU is to compute it."""
    chain = chain if isinstance(chain, SpatialChain) else a_model("simulate_many", chain)
    chain = chain.as_chain() or chain if isinstance(chain, Mechanism) else chain
    try:
        table = dict(vary or {})
    except (TypeError, ValueError):
        raise ModelError(f"vary must be a table of values by name, got {shown(vary)}") from None
    vary = {str(name): numbers_of(f"vary {shown(name)}", values) for name, values in table.items()}
    members = len(next(iter(vary.values()))) if vary and next(iter(vary.values())).ndim else None
    if isinstance(chain, SpatialChain):
        angles, rates = starts(chain, theta, omega, members)
    else:
        angles = _states("theta", theta, chain.n, members)
        warn_of_degrees("theta", angles[np.abs(angles) > DEGREES], "np.radians(theta)")
        rates = _states("omega", 0.0 if omega is None else omega, chain.n, len(angles))
    varied = Varied(chain, vary, len(angles))
    varied.check()
    for k in range(len(angles) if chain.closed else 0):
        try:
            member = varied.chain(k)
            if isinstance(member, Mechanism):
                check_start(member.as_assembled(angles[k]), angles[k])
            else:
                loop_closure.assemble(member, angles[k], rates[k])
        except ModelError as error:
            raise ModelError(f"member {k}: {error}") from None
    t_end = number("t_end", t_end)
    if t_end == 0:
        raise ModelError("t_end must not be 0: there is nothing to simulate")
    several = checked(keep)
    for each in several if chain.spatial else ():
        each.in_space(chain)
    if isinstance(chain, Mechanism):
        angles, rates = chain.given(0.0, angles, rates)
    for each in several:
        if isinstance(each, Samples) and any(t * t_end < 0 or abs(t) > abs(t_end) for t in each.times):
            span = f"{each.times[0]:g} to {each.times[-1]:g}"
            raise ModelError(f"Samples.times must lie between 0 and t_end = {t_end:g}, got {span}")
    method = _method(formulate(chain), integrator, rtol, atol, varied, several, on_card)
    return Job(chain, angles, rates, t_end, several, method, vary)


def _method(
    system: System, integrator: Any, rtol: float, atol: float, varied: Varied, keep: tuple[Keep, ...], on_card: bool
) -> Integrator:
    """Return the method that was asked for; by default series, but stages for loads whose series are dear, and for chains whose
    series a GPU cannot hold: there with tolerances that make them as accurate as the series.
    """
    if isinstance(integrator, Taylor) and not integrator.order:
        integrator = replace(integrator, order=ORDER)
    method = method_for(system, integrator, rtol, atol)
    if integrator is not None or not isinstance(method, Taylor):
        return method
    if not side_by_side(system, method, varied):
        stages = method_for(system, "DOP853", rtol, atol)
        slow = system.chain.spatial and not side_by_side(system, stages, varied)
        return method if slow and not varied.flagged(system.parameters.chain).damped else stages
    if on_card and system.chain.n > FEW_ON_CARD:
        return method_for(system, "DOP853", STAGES_AS_SERIES * rtol, STAGES_AS_SERIES * atol)
    share = MANY_DEVIATIONS if any(isinstance(each, FTLE) for each in keep) else MANY_SERIES
    return Taylor(float(f"{share * method.tol:.2g}"), ORDER)


def _states(name: str, given: Any, n: int, members: int | None) -> np.ndarray:
    values = numbers_of(name, given, np.inf)  # a member that is too fast gets its status
    finite = np.isfinite(values)
    if name == "theta" and np.abs(values[finite]).max(initial=0.0) > WIDEST_ANGLE:
        raise ModelError(f"theta must be within {WIDEST_ANGLE:g} rad: a larger angle loses digits; take it modulo 2 pi")
    if not finite.all():
        which = f"; member {int(np.argmin(finite.all(1)))} is not" if values.ndim == 2 else ""
        raise ModelError(f"{name} must be finite{which}")
    if values.shape in ((), (n,)):
        values = np.broadcast_to(values, (members or 1, n))
    if values.ndim != 2 or values.shape[1] != n or (members is not None and len(values) != members):
        want = f"({members or 'members'}, {n})"
        raise ModelError(f"{name} must have the shape {want}, a row for each member, got {np.shape(given)}")
    return values
