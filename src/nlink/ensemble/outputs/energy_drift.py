"""The largest change of energy that no load explains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import kernel
from nlink.compiled.lowering import Operand
from nlink.compiled.simd import anywhere
from nlink.ensemble.kernels.lanes import AT, COUNT, NEW, OLD, SEAT, member_in
from nlink.ensemble.kernels.observers import HOOKS, Hooks
from nlink.ensemble.outputs.base import OFTEN, Arrays, Keep, Output
from nlink.formulations.space.bodies import BallParameters
from nlink.formulations.space.joints import JointParameters
from nlink.formulations.space.lines import LineParameters
from nlink.integrators.save_times import save_times
from nlink.mechanics.chain import Multibody
from nlink.mechanics.kernels import energies, turn
from nlink.mechanics.space.energy import line_energies, link_energies
from nlink.mechanics.tree import TreeParameters, tree_energies

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run


class Energies(NamedTuple):
    """The observer: the drift (M,), and the energy at the start (M,)."""

    drift: np.ndarray
    start: np.ndarray


@dataclass(frozen=True)
class EnergyDrift(Keep):
    """The largest residual of the energy, work of the loads taken off: energy_drift."""

    observer: ClassVar[Any] = Energies
    ledger: ClassVar[bool] = True

    def outputs(self, n: int) -> dict[str, Output]:
        """Return one number."""
        meaning = "largest change of energy that no load explains"
        return {"energy_drift": Output((), (), "f8", "J", meaning, "energy", "largest energy residual")}

    def in_space(self, chain: Multibody) -> dict[str, Output]:
        """Return the same."""
        return self.outputs(chain.n)

    def extras(self, job: Job, arrays: Arrays) -> tuple[Any, ...]:
        """Return an array for the energies at the start."""
        return (arrays.new((job.members,), "f8"),)

    def points(self, t_end: float) -> Sequence[float]:
        """Return times close together."""
        return save_times(OFTEN, t_end).all().tolist()

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Take the largest residual of the points."""
        results["energy_drift"][k] = np.abs(run.energy().residual).max(initial=0.0)


@kernel
def compare(observer, view, _):
    """Compare the energy after the step with that at the start, which is found in the first step."""
    if anywhere(view.clocks[COUNT] == 1.0):
        view.clocks[AT] = balanced_energy(view, view.states[OLD])
        for k in range(len(view.lanes)):
            if view.own.clocks[SEAT, k] >= 0.0 and view.own.clocks[COUNT, k] == 1.0:
                member = member_in(view, k)
                observer.start[member], observer.drift[member] = view.own.clocks[AT, k], 0.0
    view.clocks[AT] = balanced_energy(view, view.states[NEW])
    for k in range(len(view.lanes)):
        if view.own.clocks[SEAT, k] >= 0.0:
            member = member_in(view, k)
            observer.drift[member] = max(observer.drift[member], abs(view.own.clocks[AT, k] - observer.start[member]))


@kernel
def balanced_energy(view, y):
    """Return the energy of the lanes in the states y, less the work done on them."""
    moving, resting = energies_of(y, view.p, view.room.w)
    total = moving + resting
    for i in range(len(y) - view.p.chain.ledger, len(y)):
        total -= y[i]
    return total


@kernel
def chain_energies(y, p, w):
    """Return kinetic and potential energy of a chain."""
    turn(y, p.chain.n, w)
    return energies(y, y, p.chain.n, p.chain, w, 0.0, 1.0)


ENERGIES: dict[type, Callable[..., tuple[Operand, Operand]]] = {
    TreeParameters: tree_energies, LineParameters: line_energies, BallParameters: link_energies, JointParameters: link_energies,
}  # fmt: skip
"""Of a chain in the plane, if not said."""


@dispatched(lambda kind: ENERGIES.get(kind, chain_energies))
def energies_of(y, p, w):
    """Return kinetic and potential energy of the states y."""


HOOKS[Energies] = Hooks(after_step=compare)
