"""Compute a job member by member, by `simulate`: for what lanes do not take (pins, Python torques, other methods; tables
and quadratic drag by Taylor).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nlink._support.checks import ModelError
from nlink._support.interrupt import halted_by
from nlink.ensemble.job import STATUS, Halted, Job
from nlink.ensemble.keep import FTLE, EnergyDrift, Extremes, Final, FlipTime, Reducer, Samples
from nlink.ensemble.lanes_engine import compiled, memories
from nlink.ensemble.varied import Varied
from nlink.run.run import Run
from nlink.simulation.events import Flip
from nlink.simulation.flow import FlowError
from nlink.simulation.integrate import simulate
from nlink.simulation.recording import saved_times

OFTEN = 0.01
"""Seconds between the points of a run whose energies or extremes are wanted."""
PACES = {"theta": "omega", "omega": "alpha"}
HALVINGS = 30
"""Of the time between two points, to find where something turns back."""


def compute_each(job: Job, halt: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs of a job."""
    if job.wanted(FTLE) and job.t_end < 0:
        raise ModelError("FTLE of members that are followed one by one (pins, Python torques) takes no t_end < 0; leave it out")
    varied = Varied(job.chain, job.vary, job.members)
    found = {
        name: np.full((job.members, *output.shape), np.nan if output.dtype == "f8" else 0, output.dtype)
        for name, output in job.outputs().items()
    }
    reducer = job.wanted(Reducer)
    if reducer:
        found[reducer.name] = memories(reducer, job.members)
    for k in range(job.members):
        chain = varied.chain(k)
        with halted_by(lambda: bool(halt[0])):
            run = _run(job, chain, k)
        if run.status.code == "interrupted":
            raise Halted
        _note(job, run, k, found)
        if reducer:
            _reduce(compiled(reducer), run, found[reducer.name][k])
        if job.wanted(FTLE) and run.status.ok:
            found["ftle"][k] = _exponent(job, chain, k)
    return found


def _run(job: Job, chain: Any, k: int) -> Run:
    alone = len(job.keep) == 1 and job.wanted(FlipTime) is not None
    samples = job.wanted(Samples)
    often = saved_times(OFTEN, job.t_end).tolist() if job.wanted(EnergyDrift) or job.wanted(Extremes) else ()
    save = tuple(sorted({*often, *(samples.times if samples else ()), job.t_end}, key=abs))
    events = (Flip(terminal=alone),) if job.wanted(FlipTime) else ()
    theta, omega = job.theta[k], job.omega[k]
    return simulate(chain, theta, omega, t_end=job.t_end, integrator=job.method, save=save, events=events, strict=False)


def _note(job: Job, run: Run, k: int, found: dict[str, np.ndarray]) -> None:
    """Put what is kept of a run into row k."""
    code = run.status.code
    found["status"][k] = STATUS.index(code) if code in STATUS else STATUS.index("not_finite")
    found["steps"][k] = run.stats.steps
    if job.wanted(Final) and run.checkpoint is not None and len(run.t):
        found["theta"][k], found["omega"][k] = run.theta[-1], run.omega[-1]
    if job.wanted(Samples):
        at = np.isin(run.t, job.wanted(Samples).times)
        count = int(at.sum())
        found["sample_theta"][k, :count], found["sample_omega"][k, :count] = run.theta[at], run.omega[at]
    if job.wanted(FlipTime):
        flips = [event for event in run.events if event.name == "flip"]
        if flips:
            found["flip_time"][k], found["flip_link"][k] = flips[0].t, flips[0].info["link"] + 1
    if job.wanted(EnergyDrift):
        found["energy_drift"][k] = np.abs(run.energy().residual).max(initial=0.0)
    if job.wanted(Extremes):
        for name in ("theta", "omega"):
            found[f"least_{name}"][k], found[f"largest_{name}"][k] = _extremes(run, name)


def _extremes(run: Run, name: str) -> np.ndarray:
    """Return least and largest angles or rates (2, N) of a run: at the saved points, and where they turn back in between."""
    values, paces = getattr(run, name), getattr(run, PACES[name])
    found = np.array([values.min(0), values.max(0)])
    for i in range(run.chain.n):
        turns = np.flatnonzero(paces[:-1, i] * paces[1:, i] < 0)
        low, high = run.t[turns], run.t[turns + 1]
        for _ in range(HALVINGS if len(turns) else 0):
            middle = 0.5 * (low + high)
            before = getattr(run.at(middle), PACES[name])[:, i] * paces[turns, i] > 0
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        peaks = getattr(run.at(low), name)[:, i] if len(turns) else values[:0, i]
        found[0, i], found[1, i] = peaks.min(initial=found[0, i]), peaks.max(initial=found[1, i])
    return found


def _reduce(step: Any, run: Run, memory: np.ndarray) -> None:
    """Call the user's function at the start and after every step of a run."""
    steps = run.knots
    if steps is None or len(steps.t) < 0.75 * run.stats.steps:
        alone = "for members that are followed one by one (pins, Python torques)"
        raise ModelError(f"Reducer cannot keep {run.stats.steps} steps {alone}; shorten t_end")
    for t, theta, omega in zip(steps.t, steps.theta, steps.omega, strict=True):
        step(memory, t, theta.copy(), omega.copy())


def _exponent(job: Job, chain: Any, k: int) -> float:
    """Return the finite-time exponent of a member, as accurate as can be, whatever the method; NaN if it cannot be followed."""
    from nlink.analysis.ftle import ftle

    try:
        return ftle(chain, job.theta[k], job.omega[k], job.t_end).exponent
    except FlowError:
        return np.nan
