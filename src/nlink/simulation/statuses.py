"""How a run can end: sentences and remedies."""

from __future__ import annotations

import numpy as np

from nlink.integrators.base import NOT_CONVERGED, NOT_FINITE, STEP_TOO_SMALL, Chunk, FixedStep, Integrator
from nlink.mechanics.system import System
from nlink.run.run import EventRecord, Status


def refined(method: Integrator) -> str:
    """Return how to follow a motion more closely."""
    return f"try a smaller step than {method.step:g}" if isinstance(method, FixedStep) else "try a tighter tolerance"


def stopped_by(event: EventRecord) -> Status:
    """Return the status of a run that a terminal event ended."""
    what = f"link {event.info['link'] + 1} turning over" if event.name == "flip" else event.name
    return Status("event", f"stopped at t = {event.t:.9g} s by {what}")


def stuck(system: System, t: float, state: np.ndarray) -> Status | None:
    """Return the status of a run that has come to a state beyond which its motion is not determined, if it has."""
    reason = system.formulation.stuck(system, t, state)
    return Status("undetermined", f"stopped at t = {t:g} s: {reason[0]}", reason[1]) if reason else None


def too_many_steps(method: Integrator, t: float) -> Status:
    """Return the status of a run that used up its steps."""
    stiff = "" if method.name == "Scipy" else ", or try Scipy(method='Radau') if the chain is stiff"
    ease = "or take a larger step" if isinstance(method, FixedStep) else f"loosen its tolerance{stiff}"
    message = f"{method.max_steps} steps were not enough: stopped at t = {t:g} s"
    return Status("too_many_steps", message, f"raise max_steps of {method.name}, {ease}")


def not_finite(method: Integrator, t: float) -> Status:
    """Return the status of a run whose numbers stopped being finite."""
    remedy = refined(method) if isinstance(method, FixedStep) else f"look at the loads, or {refined(method)}"
    return Status("not_finite", f"the motion stopped being finite after t = {t:g} s", remedy)


def failed(chunk: Chunk, system: System, method: Integrator, off: str) -> Status:
    """Return the status of a run that cannot go on; `off` says how far its energy balance was off before, if it was."""
    t = float(chunk.t[-1])
    undetermined = stuck(system, t, chunk.y[-1])
    if undetermined:
        return undetermined
    error = system.torque_error(t, chunk.y[-1])
    if error:
        if not isinstance(error, Exception):
            raise error  # a second Ctrl-C, say
        return Status("torque_failed", f"the torque function failed near t = {t:g} s: {type(error).__name__}: {error}")
    if chunk.code == NOT_FINITE:
        return not_finite(method, t)
    if chunk.code == STEP_TOO_SMALL and off:
        return Status("step_too_small", f"the steps became too small to go on at t = {t:g} s, where {off}", refined(method))
    if chunk.code == STEP_TOO_SMALL:
        remedy = "the chain is stiff or the tolerance too tight: try Scipy(method='Radau') or a looser tolerance"
        return Status("step_too_small", f"the steps became too small to go on at t = {t:g} s", remedy)
    assert chunk.code == NOT_CONVERGED
    return Status("not_converged", f"the implicit stages did not converge at t = {t:g} s", refined(method))
