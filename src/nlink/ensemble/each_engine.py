"""Compute a job member by member, by `simulate`: for what lanes do not take (pins, Python torques, other methods; tables
and quadratic drag by Taylor).
"""

from __future__ import annotations

import numpy as np

from nlink._support.checks import ModelError
from nlink._support.interrupt import halted_by
from nlink.ensemble.job import STATUS, Halted, Job
from nlink.ensemble.outputs import FTLE
from nlink.ensemble.varied import Varied
from nlink.mechanics.chain import Chain
from nlink.run.run import Run
from nlink.simulation.integrate import simulate


def compute_each(job: Job, halt: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs of a job."""
    if job.wanted(FTLE) and job.t_end < 0:
        raise ModelError("FTLE of members that are followed one by one (pins, Python torques) takes no t_end < 0; leave it out")
    varied = Varied(job.chain, job.vary, job.members)
    results = {
        name: np.full((job.members, *output.shape), np.nan if output.dtype == "f8" else 0, output.dtype)
        for name, output in job.outputs().items()
    }
    for k in range(job.members):
        with halted_by(lambda: bool(halt[0])):
            run = _run(job, varied.chain(k), k)
        if run.status.code == "interrupted":
            raise Halted
        results["status"][k] = STATUS.index(run.status.code if run.status.code in STATUS else "not_finite")
        results["steps"][k] = run.stats.steps
        for keep in job.keep:
            keep.read(run, job, k, results)
    return results


def _run(job: Job, chain: Chain, k: int) -> Run:
    save = tuple(sorted({job.t_end, *(t for keep in job.keep for t in keep.points(job.t_end))}, key=abs))
    events = tuple(event for keep in job.keep for event in keep.events(job.alone(keep)))
    theta, omega = job.theta[k], job.omega[k]
    return simulate(chain, theta, omega, t_end=job.t_end, integrator=job.method, save=save, events=events, strict=False)
