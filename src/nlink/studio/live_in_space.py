"""A chain in space that goes on piece by piece while a hand pulls it.

Ball joints take no torques: the hand acts at the beginning of each piece, by the impulse P = F PIECE of its damped spring at the
point that it holds. Its work is that of an impulse, P.(v + v')/2 with the velocity of the point before and after.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np

from nlink.formulations import formulate
from nlink.mechanics.chain import Multibody
from nlink.mechanics.space import kinematics
from nlink.mechanics.space.kinematics import turns
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.system import System
from nlink.run.readout import HAND
from nlink.scenario import Scenario
from nlink.studio.impulses import Impulses
from nlink.studio.live import PIECE, Live, read_pull
from nlink.studio.messages import Json
from nlink.studio.record import Columns


class PullInSpace(NamedTuple):
    """A hand at (x, y, z) in m, and how far along a link the point is that it pulls."""

    link: int
    along: float
    x: float
    y: float
    z: float

    @property
    def hand(self) -> np.ndarray:
        """Where the hand is, m."""
        return np.array([self.x, self.y, self.z])

    @property
    def point(self) -> tuple[float, ...]:
        """The point that it pulls."""
        return self[:2]

    @classmethod
    def of(cls, message: Json, n: int) -> Self:
        """Read a message of the page."""
        return read_pull(cls, message, n)


class LiveInSpace(Live):
    """A motion in space that goes on piece by piece, and what acts on it."""

    pulls: ClassVar[type] = PullInSpace
    chain: SpatialChain
    pull: PullInSpace | None  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, scenario: Scenario) -> None:
        self.work: float | None = None
        super().__init__(scenario)

    def made_ready(self, chain: Multibody) -> System:
        """Return the system of a chain."""
        assert isinstance(chain, SpatialChain)
        self.impulses = Impulses(chain)
        return formulate(chain)

    def columns(self) -> Columns:
        """Return what a run holds of this moment, with the work of the hand once it has pulled."""
        return super().columns() | ({} if self.work is None else {f"work_{HAND}": np.array([self.work])})

    def ease(self, pull: PullInSpace) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return how much the pulled point gives way to a force where it moves most easily, in 1/kg."""
        at = turns(self.chain, self.angles()[0])
        return float(np.linalg.eigvalsh(self.impulses.answer(at, pull.link, pull.along, np.eye(3))[1]).max())

    def point_of(self, pull: PullInSpace) -> tuple[np.ndarray, np.ndarray]:
        """Return where the pulled point is, and its velocity."""
        c, v = self.angles()
        at, k = turns(self.chain, c, v), pull.link
        arm = pull.along * at.direction[k]
        place, velocity = kinematics.hinges(self.chain, c)[k], kinematics.hinge_velocities(self.chain, c, v)[k]
        return place + arm, velocity + np.cross(at.omega[k], arm)

    def push(self) -> None:
        """Let the hand act by the impulse of the next piece."""
        if self.pull is None:
            return
        pull, c = self.pull, self.angles()[0]
        place, velocity = self.point_of(pull)
        impulse = PIECE * (self.stiffness * (pull.hand - place) - self.damping * velocity)
        at = turns(self.chain, c)
        spins, change = self.impulses.answer(at, pull.link, pull.along, impulse[:, None])
        size = self.chain.size
        self.state[size : 2 * size] += self.impulses.rates(c, at, spins[..., 0])
        self.work = (self.work or 0.0) + float(impulse @ (velocity + change[:, 0] / 2))
