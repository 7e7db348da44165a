"""Where a run begins: angles and rates, or a raw state of the formulation, brought onto the constraints of a chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError
from nlink.integrators.base import Restart
from nlink.mechanics import loop_closure
from nlink.mechanics.system import System

Correction = dict[str, float | bool]
"""By how much a start was changed, or off its constraints: run.meta["start"]."""


def start_of(
    system: System, theta: ArrayLike | None, omega: ArrayLike | None, state: ArrayLike | None = None, project: bool = True
) -> tuple[Restart, Correction]:
    """Return the start that angles and rates, or a raw state, stand for, and its correction."""
    if (theta is None) == (state is None):
        raise ModelError("simulate needs a start: give theta (N angles in rad), or state, and not both")
    if state is not None:
        return _raw_start(system, np.asarray(state, float), project)
    angles, rates = system.angles("theta", theta), system.angles("omega", 0.0 if omega is None else omega)
    start = loop_closure.assemble(system.chain, angles, rates)
    correction: Correction = {"moved": start.moved, "sped": start.sped} if system.chain.pin else {}
    return _at_zero(system, system.encode(start.theta, start.omega)), correction


def _raw_start(system: System, state: np.ndarray, project: bool) -> tuple[Restart, Correction]:
    """Return the start from a raw state, brought onto its constraints if asked."""
    if state.shape != (system.size,) or not np.all(np.isfinite(state)):
        raise ModelError(f"state must hold {system.size} finite numbers for {system.formulation.name}, got shape {state.shape}")
    start = _at_zero(system, state)
    if not system.formulation.constrained and not system.chain.pin:
        return start, {}
    states, gap, speed = system.settled(start.y[None], plain=True)
    correction: Correction = {"violation": gap, "rate_violation": speed, "projected": project}
    return (_at_zero(system, states[0, : system.size]) if project else start), correction


def _at_zero(system: System, state: np.ndarray) -> Restart:
    return Restart(0.0, 0.0, np.concatenate([state, np.zeros(system.full_size - system.size)]))
