"""What survives of each member of an ensemble: a frozen record for users, and an observer for the compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from nlink.mechanics.chain import Multibody
from nlink.mechanics.space.kinematics import turns
from nlink.mechanics.space.refusals import refuse_space

if TYPE_CHECKING:
    from nlink.ensemble.job import Job
    from nlink.run.run import Run

OFTEN = 0.01
"""Seconds between the points of a run that is looked at closely."""


class Arrays(Protocol):
    """Makes arrays where the members are followed: in the memory of the processor, or of a GPU."""

    def new(self, shape: tuple[int, ...], dtype: str, start: float | None = None) -> Any:
        """Return an array for results. Floats are NaN at first, whole numbers 0, if `start` does not say otherwise."""
        ...

    def constant(self, values: np.ndarray) -> Any:
        """Return an array with these values."""
        ...


class Output(NamedTuple):
    """An array of results: dimensions after `member`, the shape of one member's part, kind of numbers, unit and meaning."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    units: str
    meaning: str
    quantity: str = ""
    """its name in maps, if one number of a member, or one for each link, can be drawn"""
    label: str = ""
    """what it is, in words, of one member and link"""


@dataclass(frozen=True)
class Keep:
    """Something to keep of each member.

    The compiled loop carries `observer`, a NamedTuple, whose hooks are in `kernels.observers.HOOKS`. Its first fields are the
    arrays of `outputs`, in that order. Members that are followed one by one are read from their runs by `read`.
    """

    observer: ClassVar[Any] = None
    watches: ClassVar[bool] = True
    """Whether it is found on the way of a member."""
    ledger: ClassVar[bool] = False
    """Whether the work of the loads is needed."""

    @property
    def key(self) -> str:
        """What may be kept once only."""
        return type(self).__name__

    def outputs(self, n: int) -> dict[str, Output]:
        """Return the arrays it gives for chains of n links."""
        raise NotImplementedError

    def kept(self, chain: Multibody) -> dict[str, Output]:
        """Return the arrays it gives for a chain: in the plane its `outputs`, in space those of `in_space`."""
        return self.in_space(chain) if chain.spatial else self.outputs(chain.n)

    def in_space(self, chain: Multibody) -> dict[str, Output]:
        """Return the arrays it gives for a chain in space; refuse that by its name, if it is for chains in the plane."""
        refuse_space(type(self).__name__, chain, "use Samples, or Reducer with a function of your own")
        raise NotImplementedError

    def tracked(self, chain: Multibody) -> dict[str, Output]:
        """Return the arrays of its observer: its `outputs` for as many links as the chain has coordinates."""
        return self.outputs(chain.size)

    def translated(self, chain: Multibody, raw: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the arrays of `kept` from those of `tracked`, which hold coordinates (..., K) and their rates."""
        return raw

    def in_lanes(self, chain: Multibody) -> bool:
        """Whether members of a chain are watched in lanes; else they are followed one by one."""
        return True

    def observe(self, job: Job, arrays: Arrays) -> Any:
        """Return an observer of the members of a job: new arrays for its outputs, of all coordinates, then what else it has."""
        results = (arrays.new((job.members, *each.shape), each.dtype) for each in self.tracked(job.chain).values())
        return self.observer(*results, *self.extras(job, arrays))

    def extras(self, job: Job, arrays: Arrays) -> tuple[Any, ...]:
        """Return the fields of its observer that are no outputs."""
        return ()

    def points(self, t_end: float) -> Sequence[float]:
        """Return the times at which `read` needs the states of a run."""
        return ()

    def events(self, alone: bool) -> tuple[Any, ...]:
        """Return the events that `read` needs of a run; `alone`, if nothing else watches it."""
        return ()

    def read(self, run: Run, job: Job, k: int, results: dict[str, np.ndarray]) -> None:
        """Fill row k of its results from the run of member k."""
        raise NotImplementedError

    def coordinates(self) -> dict[str, tuple[str, np.ndarray, dict[str, str]]]:
        """Return dimension, values and attributes of coordinates that it adds to the result."""
        return {}


def vectors(chain: Any, before: tuple[tuple[str, int], ...], name: str, when: str) -> dict[str, Output]:
    """Return the outputs of directions and angular velocities, and of rotations if there are bodies, their names after `name`."""
    dims, shape = tuple(dim for dim, _ in before), tuple(size for _, size in before)
    each = ((*dims, "link", "axis"), (*shape, chain.n, 3), "f8")
    found = {
        f"{name}direction": Output(*each, "", f"unit vectors along the links {when}"),
        f"{name}omega": Output(*each, "rad/s", f"angular velocities in world axes {when}"),
    }
    if chain.lines:
        return found
    meaning = f"quaternions (w, x, y, z) of the links {when}; lines have none"
    return found | {f"{name}rotation": Output((*dims, "link", "part"), (*shape, chain.n, 4), "f8", "", meaning)}


def read_vectors(chain: Any, position: np.ndarray, velocity: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """Return the values of these outputs at coordinates (..., K) and their rates."""
    at = turns(chain, position, velocity)
    found = {f"{name}direction": at.direction, f"{name}omega": at.omega}
    return found if chain.lines else found | {f"{name}rotation": at.rotation}
