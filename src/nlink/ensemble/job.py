"""A job: an ensemble that can be computed block by block, in any order, by anyone who gets it; and the Dataset of its results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray

import nlink.ensemble.accessor  # noqa: F401 - the Datasets have it
from nlink._support.version import __version__
from nlink.ensemble.outputs import Keep, Output
from nlink.ensemble.varied import Varied
from nlink.formulations import formulate
from nlink.integrators.base import Integrator
from nlink.mechanics.chain import Multibody
from nlink.mechanics.system import System

Block = tuple[int, int]
"""The members first ... last - 1."""
Results = dict[str, np.ndarray]
"""Arrays by the names of the outputs, rows being members."""
STATUS = ("finished", "event", "not_finite", "too_many_steps", "inaccurate")
ALWAYS = {
    "status": Output((), (), "i1", "", "0 finished, 1 event, 2 not finite, 3 too many steps, 4 inaccurate"),
    "steps": Output((), (), "i4", "", "number of steps"),
}
_latest: tuple[Multibody | None, Any] = None, None


class EnsembleInterrupted(KeyboardInterrupt):
    """An ensemble stopped by Ctrl-C.

    `done` (members,) says which members are done. `result` holds those; or, with a store, all that is in it.
    """

    def __init__(self, result: Any, done: np.ndarray, remedy: str) -> None:
        super().__init__(f"stopped by the user after {int(done.sum())} of {len(done)} members; {remedy}")
        self.result, self.done = result, done


@dataclass(frozen=True)
class Job:
    """Coordinates and rates (M, K) at the start of a chain, in the plane angles; what varies, how far to go, what to keep, and how
    to step.
    """

    chain: Multibody
    position: np.ndarray
    velocity: np.ndarray
    t_end: float
    keep: tuple[Keep, ...]
    method: Integrator
    vary: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def members(self) -> int:
        """Number of members."""
        return len(self.position)

    @cached_property
    def system(self) -> System:
        """The equations of motion, to be read only: the blocks of a job have the same chain object, and share them."""
        global _latest
        latest = _latest
        if latest[0] is not self.chain:
            latest = _latest = self.chain, formulate(self.chain)
        return latest[1]

    @cached_property
    def varied(self) -> Varied:
        """The chains of the members, and their numbers."""
        return Varied(self.chain, self.vary, self.members)

    def outputs(self) -> dict[str, Output]:
        """Return the arrays it gives, by name."""
        return {name: output for keep in self.keep for name, output in keep.kept(self.chain).items()} | ALWAYS

    def blocks(self, size: int) -> list[Block]:
        """Return the blocks of so many members."""
        return [(first, min(first + size, self.members)) for first in range(0, self.members, size)]

    def part(self, first: int, last: int) -> Job:
        """Return the job of the members first ... last - 1."""
        return self.rows(slice(first, last))

    def rows(self, which: Any) -> Job:
        """Return the job of some members."""
        vary = {name: values[which] for name, values in self.vary.items()}
        return replace(self, position=self.position[which], velocity=self.velocity[which], vary=vary)

    def keeps(self, kind: type) -> bool:
        """Whether an output of this kind is kept."""
        return any(isinstance(keep, kind) for keep in self.keep)

    def alone(self, keep: Keep) -> bool:
        """Whether nothing else that is kept is found on the way of a member."""
        return not any(each.watches for each in self.keep if each is not keep)

    def settings(self) -> dict[str, Any]:
        """Return what a Dataset says about how it came to be."""
        return {
            "t_end": self.t_end,
            "integrator": self.method.described(),
            "nlink_version": __version__,
            "status_codes": ", ".join(STATUS),
        }

    def coordinates(self) -> dict[str, tuple[str, np.ndarray, dict[str, str]]]:
        """Return dimension, values and attributes of the coordinates."""
        links: dict[str, Any] = {"link": ("link", np.arange(1, self.chain.n + 1), {})}
        return links | {name: each for keep in self.keep for name, each in keep.coordinates().items()}

    def dataset(self, results: Results) -> xarray.Dataset:
        """Return results as a Dataset with named dimensions and settings."""
        variables = {
            name: (("member", *output.dims), results[name], {"units": output.units, "long_name": output.meaning})
            for name, output in self.outputs().items()
        }
        return xarray.Dataset(variables, self.coordinates(), self.settings())
