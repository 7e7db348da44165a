"""A motion that goes on piece by piece while a hand pulls it and its loads change.

A pull is a damped spring from a point of a link to the hand. Its force F is held over a piece as torques at the joints, which do
the same work on any motion:

    Q_k = F . dp/dtheta_k,    T_i = sum of Q_k over the links k from i on

So the work of the hand is that of joint torques in the ledger, and the balance of energy closes.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from nlink.analysis.motion import Failure, Motion, start_state
from nlink.formulations import formulate
from nlink.integrators import method_for
from nlink.integrators.base import ARRIVED
from nlink.mechanics.chain import Multibody
from nlink.mechanics.kinematics import directions
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.parameters import TORQUE
from nlink.mechanics.system import System
from nlink.scenario import Scenario
from nlink.simulation.recording import read_out
from nlink.simulation.statuses import failed
from nlink.studio.messages import FieldError, Json
from nlink.studio.record import SAMPLE, Columns

PIECE = SAMPLE / 4
"""Seconds over which the force of the hand is held."""
SOFTNESS = 1 / 8
"""How far, as a part of the chain's length, a pull moves the hand from its point when it carries the weight of the chain."""
STIFFEST = 0.25 / PIECE
"""Largest circular frequency in rad/s of the pulled point at the spring: one that the pieces resolve."""
DAMPING = 0.3
TOLERANCE = 1e-8


class Pull(NamedTuple):
    """A hand at (x, y) in m, and the point of a link that it pulls: so far along the link, and to its left."""

    link: int
    along: float
    left: float
    x: float
    y: float

    @property
    def hand(self) -> np.ndarray:
        """Where the hand is, m."""
        return np.array([self.x, self.y])

    @property
    def point(self) -> tuple[float, ...]:
        """The point that it pulls."""
        return self[:3]

    @classmethod
    def of(cls, message: Json, n: int) -> Self:
        """Read a message of the page."""
        return read_pull(cls, message, n)


def read_pull(kind: type[Any], message: Json, n: int) -> Any:
    """Return a pull of a kind from a message of the page."""
    link, *rest = (message.get(name) for name in kind._fields)
    if type(link) is not int or not 0 <= link < n or not all(isinstance(v, int | float) and abs(v) < 1e6 for v in rest):
        raise FieldError("a pull needs a link, a point of it, and the place of the hand")
    return kind(link, *map(float, rest))  # pyright: ignore[reportArgumentType]


class Live:
    """A motion that goes on piece by piece, and what acts on it."""

    pulls: ClassVar[type] = Pull

    def __init__(self, scenario: Scenario) -> None:
        self.t, self.worked = 0.0, set[str]()
        self.pull: Pull | None = None
        self.stiffness = self.damping = 0.0
        self.take(scenario.chain)
        self.state = start_state(self.motion.system, scenario.theta, scenario.omega)

    def take(self, chain: Multibody) -> None:
        """Go on with this chain and its loads."""
        self.chain = chain
        torque = chain.load(JointTorque)
        if torque and callable(torque.torque):
            raise FieldError(
                "a Python torque function cannot be simulated in real time; remove the joint torques", "loads.joint_torque"
            )
        system = self.made_ready(chain)
        self.worked |= set(system.ledger)
        self.motion = Motion(system, method_for(system, None, TOLERANCE, TOLERANCE))

    def made_ready(self, chain: Multibody) -> System:
        """Return the system of a chain with room for the torques of the hand."""
        system = formulate(chain if chain.load(JointTorque) else chain.with_loads(JointTorque(0.0)))
        self.torques = system.parameters.chain.links[TORQUE]
        self.own = self.torques.copy()
        return system

    def angles(self) -> tuple[np.ndarray, np.ndarray]:
        """Return angles and rates now; in space coordinates and theirs."""
        return self.motion.system.decode(self.state[: self.motion.system.size])

    def columns(self) -> Columns:
        """Return what a run holds of this moment: name in a file -> values (1, ...); the work of loads that were removed, too."""
        system = self.motion.system
        work = self.state[system.size :]
        done = {f"work_{name}": work[[system.rows_of_ledger.index(name)]] for name in self.worked}
        return done | read_out(system, np.array([self.t]), self.state[None])

    def take_hold(self, pull: Pull | None) -> None:
        """Move the hand; a new hold gets a spring that suits the chain and the point."""
        if pull is not None and (self.pull is None or pull.point != self.pull.point):
            ease = self.ease(pull)
            moved = 1 / ease if ease > 0 else float(self.chain.mass.sum())
            weight = float(self.chain.mass.sum()) * (abs(self.chain.g) or 9.81)
            self.stiffness = min(weight / (SOFTNESS * float(self.chain.length.sum())), moved * STIFFEST**2)
            self.damping = 2 * DAMPING * math.sqrt(self.stiffness * moved)
        self.pull = pull

    def _arms(self, pull: Pull) -> np.ndarray:
        """Return the derivative (2, N) of the pulled point by the angles."""
        e, t = directions(self.angles()[0])
        arms = self.chain.length[:, None] * t
        arms[pull.link] = pull.along * t[pull.link] - pull.left * e[pull.link]
        arms[pull.link + 1 :] = 0.0
        return arms.T

    def ease(self, pull: Pull) -> float:
        """Return how much the pulled point gives way to a force where it moves most easily, in 1/kg."""
        system, J = self.motion.system, self._arms(pull)
        theta = self.angles()[0]
        free = system.accelerations(theta, 0.0, self.t)
        gained = []
        for direction in J:
            self.torques[:] = self.own + _torques(direction)
            gained.append(system.accelerations(theta, 0.0, self.t) - free)
        self.torques[:] = self.own
        return float(np.linalg.eigvalsh(J @ np.array(gained).T).max())

    def push(self) -> None:
        """Let the hand act over the next piece."""
        self.torques[:] = self.own if self.pull is None else self.own + _torques(self._force(self.pull))

    def advance(self) -> None:
        """Go on by one piece."""
        self.push()
        end = self.t + PIECE
        for chunk in self.motion.chunks(self.t, end, self.state):
            if chunk.code > ARRIVED:
                raise Failure(failed(chunk, self.motion.system, self.motion.method, ""))
            self.state = chunk.y[-1].copy()
        self.t = end

    def _force(self, pull: Pull) -> np.ndarray:
        """Return the generalised forces (N,) of the hand."""
        theta, omega = self.angles()
        e, t = directions(theta)
        J = self._arms(pull)
        at = (self.chain.length[: pull.link, None] * e[: pull.link]).sum(0) + pull.along * e[pull.link] + pull.left * t[pull.link]
        return (self.stiffness * (pull.hand - at) - self.damping * (J @ omega)) @ J


def _torques(forces: np.ndarray) -> np.ndarray:
    """Return the torques at the joints that act like generalised forces (N,)."""
    return np.cumsum(forces[::-1])[::-1]
