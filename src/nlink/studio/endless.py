"""The task that simulates in real time without an end, while the page pulls the chain and changes its loads.

The motion goes on in pieces of PIECE seconds. A pull is a damped spring from a point of a link to the hand. Its force F is held
over a piece as torques at the joints, which do the same work on any motion:

    Q_k = F . dp/dtheta_k,    T_i = sum of Q_k over the links k from i on

So the work of the hand is that of joint torques in the ledger, and the balance of energy closes. Where a load is changed, the
potential energy goes on from its value: its zero moves, and the balance goes on too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.analysis.motion import Failure, Motion, start_state
from nlink.compiled.announcing import waiting
from nlink.formulations import formulate
from nlink.integrators import method_for
from nlink.integrators.base import ARRIVED, steps_of
from nlink.mechanics.chain import Multibody
from nlink.mechanics.kinematics import directions
from nlink.mechanics.loads import JointTorque, ledger
from nlink.mechanics.parameters import TORQUE
from nlink.scenario import Scenario
from nlink.simulation.recording import read_out
from nlink.simulation.statuses import failed
from nlink.studio.messages import FieldError, Json, checked
from nlink.studio.motion import show
from nlink.studio.offers import refuse
from nlink.studio.record import SAMPLE, Record
from nlink.studio.worker import Outbox, Stopped
from nlink.view.takes import chain_data

PIECE = SAMPLE / 4
"""Seconds over which the force of the hand is held."""
FRAME = 1 / 60
"""Seconds between two messages to the page."""
MOST_BEHIND = 0.25
"""Seconds of motion that are made up for at once; if more is missing, the motion is slower than real time."""
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

    @classmethod
    def of(cls, message: Json, n: int) -> Pull:
        """Read a message of the page."""
        link, *rest = (message.get(name) for name in cls._fields)
        if type(link) is not int or not 0 <= link < n or not all(isinstance(v, int | float) and abs(v) < 1e6 for v in rest):
            raise FieldError("a pull needs a link, a point of it, and the place of the hand")
        return cls(link, *map(float, rest))  # pyright: ignore[reportArgumentType]


class Live:
    """A motion that goes on piece by piece, and what acts on it."""

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
        system = formulate(chain if torque else chain.with_loads(JointTorque(0.0)))
        self.torques = system.parameters.chain.links[TORQUE]
        self.own = self.torques.copy()
        self.worked |= set(system.ledger)
        self.motion = Motion(system, method_for(system, None, TOLERANCE, TOLERANCE))

    def angles(self) -> tuple[np.ndarray, np.ndarray]:
        """Return angles and rates now."""
        return self.motion.system.decode(self.state[: self.motion.system.size])

    def columns(self) -> dict[str, np.ndarray]:
        """Return what a run holds of this moment: name in a file -> values (1, ...); the work of loads that were removed, too."""
        system = self.motion.system
        work = self.state[system.size :]
        done = {f"work_{name}": work[[ledger().index(name)]] for name in self.worked}
        return done | read_out(system, np.array([self.t]), self.state[None])

    def take_hold(self, pull: Pull | None) -> None:
        """Move the hand; a new hold gets a spring that suits the chain and the point."""
        if pull is not None and (self.pull is None or pull[:3] != self.pull[:3]):
            moved = self._mass(pull)
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

    def _mass(self, pull: Pull) -> float:
        """Return the mass in kg that the pulled point has where it moves most easily."""
        system, J = self.motion.system, self._arms(pull)
        theta = self.angles()[0]
        free = system.accelerations(theta, 0.0, self.t)
        gained = []
        for direction in J:
            self.torques[:] = self.own + _torques(direction)
            gained.append(system.accelerations(theta, 0.0, self.t) - free)
        self.torques[:] = self.own
        ease = float(np.linalg.eigvalsh(J @ np.array(gained).T).max())
        return 1 / ease if ease > 0 else float(self.chain.mass.sum())

    def advance(self) -> None:
        """Go on by one piece."""
        self.torques[:] = self.own if self.pull is None else self.own + _torques(self._force(self.pull))
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
        return (self.stiffness * (np.array([pull.x, pull.y]) - at) - self.damping * (J @ omega)) @ J


def _torques(forces: np.ndarray) -> np.ndarray:
    """Return the torques at the joints that act like generalised forces (N,)."""
    return np.cumsum(forces[::-1])[::-1]


def endless(request: Json, out: Outbox) -> None:
    """Simulate in real time until the page stops it; then send the record, and save it as a run."""
    scenario = checked(request["model"])
    refuse("endless", scenario.chain)
    live = Live(scenario)
    record = Record(scenario.chain, live.columns())
    out.send("begin", chain=chain_data(scenario.chain), t_end=0.0, kept=record.seconds)
    with waiting(steps_of(live.motion.system, live.motion.method)):
        live.advance()
    live = Live(scenario)
    try:
        for behind in _paced(out):
            _hear(live, record, out)
            live.advance()
            if record.due(live.t):
                record.add(live.columns())
            if behind is not None and record.told < record.count:
                out.send("points", behind=behind, **record.news())
    except Failure as failure:
        record.failure = failure.status
    show(record.run(scenario, live.motion), request, out)


def _paced(out: Outbox) -> Iterator[float | None]:
    """Yield once for each piece, as time passes; each time a frame is over, how far in s the motion is behind real time."""
    begun, done, behind, told = time.perf_counter(), 0, 0.0, 0.0
    while not out.stopping:
        now = time.perf_counter()
        missing = now - begun - done * PIECE
        if missing < PIECE:
            time.sleep(max(0.0, min(PIECE - missing, FRAME)))
            continue
        if missing > MOST_BEHIND:
            begun += missing - MOST_BEHIND
            behind += missing - MOST_BEHIND
        done += 1
        over = now - told >= FRAME
        told = now if over else told
        yield behind if over else None


def _hear(live: Live, record: Record, out: Outbox) -> None:
    """Do what the page has asked for since the last piece."""
    for message in out.heard():
        try:
            if message.get("type") == "pull":
                _pull(live, record, message)
            elif message.get("type") == "model":
                _change(live, record, checked(message.get("model")))
        except ModelError as error:
            out.send("refused", text=str(error), path=error.path if isinstance(error, FieldError) else "")
    if out.dropped:
        raise Stopped


def _pull(live: Live, record: Record, message: Json) -> None:
    hand = message.get("hand")
    pull = Pull.of(hand, live.chain.n) if isinstance(hand, dict) else None
    if (pull is None) != (live.pull is None):
        record.note("hand off" if pull is None else f"hand on link {pull.link + 1}", live.columns())
    live.take_hold(pull)


def _change(live: Live, record: Record, scenario: Scenario) -> None:
    """Go on with other loads. Other links are another motion, which the page begins anew."""
    if scenario.chain.links != live.chain.links or scenario.chain.pin != live.chain.pin:
        raise FieldError("the links have changed; start the endless mode again")
    old, before = live.chain, live.columns()
    live.take(scenario.chain)
    record.change(old, scenario.chain, before, live.columns())
