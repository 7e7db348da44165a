"""Formulation, which describes one way to write the equations of motion, and System: a chain in one of them, ready to be evaluated.

`contract` has the compiled functions that a formulation brings. docs/extending.md adds a formulation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import LARGEST, WIDEST_ANGLE, ModelError
from nlink.compiled.jit import Direct, entry
from nlink.compiled.views import views
from nlink.mechanics import kinematics, loop_closure
from nlink.mechanics.chain import Chain, Multibody
from nlink.mechanics.contract import residual
from nlink.mechanics.equations import equations_of, rates
from nlink.mechanics.kernels import chain_parameters, energies, turn
from nlink.mechanics.loads import CONSTRAINTS, LOADS, MOTION, POINT_LOADS, JointTorque, kinks, ledger, mechanism_ledger
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.motions import fastest, knots_of
from nlink.mechanics.scratch import TIP
from nlink.mechanics.space.kinematics import turns
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import spatial_numbers
from nlink.mechanics.torque_callback import TorqueCallback

OWN = ("_equations", "_energies_many", "idle")
"""What a System makes for itself when it needs it, and does not hand on to a copy."""
BEYOND = (1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3)
"""s: how far beyond its end a motion is looked at for an exception of a compiled torque function."""
TURN = 0.5
"""rad: how far a joint turns in a step at most where its angle is given in time."""


@entry("the equations of motion with constraints")
def residual_of(t, z, rate, p, y, out, w):
    """Evaluate the residual once."""
    residual(t, views(z), views(rate), views(p), views(y), views(out), views(w))


@entry("energies")
def energies_many(states, chain, out, w):
    """Fill out (rows, 2) with kinetic and potential energy of each row of angles and rates."""
    states, chain, out, w = views(states), views(chain), views(out), views(w)
    for k in range(len(out)):
        turn(states[k], chain.n, w)
        out[k, 0], out[k, 1] = energies(states[k], states[k], chain.n, chain, w, 0.0, 1.0)


class Formulation(ABC):
    """One way to write the equations of motion: a frozen record."""

    name: ClassVar[str]
    constrained: ClassVar[bool] = False
    closes: ClassVar[bool] = False
    """whether it takes a chain whose last tip is pinned"""

    def of_mechanism(self, mechanism: Mechanism) -> Formulation:
        """Return the formulation of a mechanism that goes by this name; refuse mechanisms by name if there is none."""
        others = "recursive" if mechanism.closed else "recursive or projection"
        raise ModelError(f"{self.name} takes chains, not mechanisms; use {others}")

    def described(self) -> str:
        """Return the formulation for people: its name, and its options if it has any that are not as usual."""
        return self.name if self == type(self)() else repr(self)

    def of_space(self, chain: SpatialChain) -> Formulation:
        """Return the formulation of a chain in space that goes by this name; refuse it by name if there is none."""
        raise ModelError(f"{self.name} takes chains in the plane, not in space; use recursive or natural")

    @abstractmethod
    def parameters(self, chain: Multibody, numbers: Any) -> Any:
        """Return the NamedTuple of parameters; raise ModelError for what this formulation cannot take."""

    def side_by_side(self, parameters: Any) -> Any:
        """Return what evaluates many chains at once, if anything does: a function (t, states, out, to) that fills out[to:] with
        their accelerations and what is before with their rates.
        """
        return None

    @abstractmethod
    def scratch(self, n: int) -> int:
        """Return the number of scratch rows."""

    def room(self, chain: Multibody) -> np.ndarray:
        """Return new scratch for a chain."""
        return np.zeros((self.scratch(chain.n), chain.n))

    @abstractmethod
    def encode(self, chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return the state (..., size) of angles and rates (..., N)."""

    @abstractmethod
    def decode(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return angles and rates (..., N) of states (..., size)."""

    @abstractmethod
    def decode_rates(self, chain: Multibody, state: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the angular accelerations (..., N) held in the rates of states."""

    @abstractmethod
    def energy(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return kinetic and potential energy of states."""

    @abstractmethod
    def violation(self, chain: Multibody, state: np.ndarray) -> np.ndarray:
        """Return how far states are off their constraints."""

    @property
    def projected(self) -> bool:
        """Whether states are brought back onto their constraints after each step."""
        return False

    @property
    def method(self) -> Any:
        """The record of the integrator that this formulation brings with it, or None."""
        return None

    def begun(self, chain: Multibody, parameters: Any, state: np.ndarray) -> Any:
        """Return the parameters for a run from a state: the same, unless they depend on how a mechanism is assembled."""
        return parameters

    def stuck(self, system: System, t: float, y: np.ndarray) -> tuple[str, str] | None:
        """Return why the motion is not determined at a state with its ledger, and what to try; None if it is."""
        return loop_closure.stuck(system.chain, *self.decode(system.chain, y[: system.size]))

    def spare(self, parameters: Any) -> int:
        """Return how many rows of constraints depend on others: the forces of pins are not unique then."""
        return 0

    def nearness(self, parameters: Any, states: np.ndarray, scratch: np.ndarray) -> np.ndarray:
        """Return how near states (K, size) of a closed mechanism are to a dead position, (K,): 0 there, at most 1."""
        return np.ones(len(states))

    def multipliers(self, scratch: np.ndarray) -> np.ndarray:
        """Return the multipliers (kinds, N) that the right-hand side has left in `scratch`: there are none without constraints."""
        return np.empty((0, scratch.shape[1]))

    def reactions(
        self, chain: Multibody, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray, scratch: np.ndarray
    ) -> np.ndarray:
        """Return the force on each link at its upper hinge (N, 2), and of the pin on the tip, if there is one; `scratch` is as the
        right-hand side has left it.
        """
        return kinematics.reactions(chain, theta, omega, alpha, scratch[TIP, :2].copy() if chain.pin else None)

    def settled(self, parameters: Any, states: np.ndarray, scratch: np.ndarray, plain: bool) -> tuple[float, float]:
        """Bring states (K, size + ledger) onto their constraints, in place, by the smallest change, plain or in the metric of
        the masses; return the largest violations before, of the
        constraints and of their rates. Without constraints there is nothing to do.
        """
        return 0.0, 0.0

    @abstractmethod
    def turning(self, n: int) -> np.ndarray:
        """Return which components of the state are angles: their error is not measured against a wound-up value."""

    def turning_of(self, chain: Multibody) -> np.ndarray:
        """Return which components of the state of a chain are angles (size,): not the displacements of sliders."""
        turning = self.turning(chain.n)
        turning[: chain.n] &= ~chain.slides
        return turning


class AngleFormulation(Formulation):
    """A formulation in angles: its state is (theta, omega), unless it says how to read its own."""

    def encode(self, chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Join angles and rates."""
        return np.concatenate([theta, omega], axis=-1)

    def decode(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split a state into angles and rates."""
        return state[..., : chain.n], state[..., chain.n : 2 * chain.n]

    def decode_rates(self, chain: Multibody, state: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the second half of the rates."""
        return rates[..., chain.n : 2 * chain.n]

    def energy(self, chain: Multibody, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return kinetic and potential energy of states."""
        theta, omega = self.decode(chain, state)
        return kinematics.energies(chain, theta, omega)

    def violation(self, chain: Multibody, state: np.ndarray) -> np.ndarray:
        """Return how far the pins are from being closed, in m (of gears in rad): coordinates cannot leave their joints."""
        if not chain.closed:
            return np.zeros(np.shape(state)[:-1])
        gap = loop_closure.gap(chain, self.decode(chain, state)[0])
        return np.hypot(*np.moveaxis(gap, -1, 0)) if chain.pin else np.sqrt((gap**2).sum(-1))

    def turning(self, n: int) -> np.ndarray:
        """Return True for the first n components."""
        return np.arange(2 * n) < n


class EnergyPair(NamedTuple):
    """Kinetic and potential energy in J."""

    kinetic: Any
    potential: Any


def beyond(bounds: np.ndarray, t: float, sign: float) -> np.ndarray:
    """Return those of the ordered bounds that lie beyond t in the direction of sign."""
    passed = np.searchsorted(bounds, t, "right") if sign > 0 else len(bounds) - np.searchsorted(bounds[::-1], t, "left")
    return bounds[passed:]


class System:
    """A chain in one formulation, ready to be evaluated and integrated.

    >>> from nlink.formulations import formulate
    >>> system = formulate(Chain.uniform(2))
    >>> [round(float(a), 3) for a in system.accelerations([0.5, 0.5], [0.0, 0.0])]
    [-6.047, 2.016]
    """

    asked: Formulation
    """the formulation as it was asked for, which a scenario keeps: for mechanisms `formulation` is another record"""

    def __init__(self, chain: Multibody, formulation: Formulation) -> None:
        if isinstance(chain, Mechanism):
            chain.check_masses()
            chain = chain.as_chain() or chain
        self.asked = formulation
        if isinstance(chain, Mechanism):
            formulation = formulation.of_mechanism(chain)
        elif isinstance(chain, SpatialChain):
            formulation = formulation.of_space(chain)
        if chain.pin and not formulation.closes:
            others = "recursive, momentum, maximal or natural"
            raise ModelError(f"{formulation.name} does not support closed chains (Chain.pin); use {others}")
        self.chain, self.formulation = chain, formulation
        load = chain.load(JointTorque)
        self.callback = TorqueCallback(load.at(chain.n)) if load and load.function else None
        if isinstance(chain, SpatialChain):
            numbers = spatial_numbers(chain, formulation.constrained)
        else:
            numbers = chain_parameters(chain, self.callback.address if self.callback else 0, formulation.constrained)
        self.parameters = formulation.parameters(chain, numbers)
        self.size = len(formulation.turning_of(chain))
        self.rows_of_ledger = mechanism_ledger() if isinstance(chain, Mechanism) else ledger()
        self.ledger = [name for name in self.rows_of_ledger if self._works(name)]
        self._rows = self.parameters.chain.ledger
        self._w = self.scratch()
        self.compiled: list[tuple[object, bool]] = []
        """the methods whose code is there, with or without dense output"""
        self.angles_alone = isinstance(chain, Chain) and type(formulation).energy is AngleFormulation.energy
        """whether energies follow from the angles and rates of a chain in the plane"""

    def _works(self, name: str) -> bool:
        """Whether a row of the ledger is that of something that this system has."""
        kinds = LOADS | POINT_LOADS
        if name in kinds:
            return self.chain.load(kinds[name]) is not None
        if name == MOTION:
            return isinstance(self.chain, Mechanism) and bool(self.chain.prescribed.any())
        assert name == CONSTRAINTS
        return self.formulation.constrained or self.chain.closed

    def __repr__(self) -> str:
        """Return one line: which chain, in which formulation."""
        return f"<System of {self.formulation.described()}: {self.chain!r}>"

    def scratch(self) -> np.ndarray:
        """Return new scratch rows for the compiled functions."""
        return self.formulation.room(self.chain)

    @property
    def full_size(self) -> int:
        """Length of a state with its ledger."""
        return self.size + self._rows

    @property
    def equations(self) -> Any:
        """The equations of motion with its parameters, as machine code; see `equations`."""
        made = self.__dict__.get("_equations")
        if made is None or made[0] is not self.parameters:
            made = self._equations = (self.parameters, equations_of(self.parameters, self.projected))
        return made[1]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the machine code, which has the addresses of these very parameters, and what waits for the next run."""
        return {name: value for name, value in self.__dict__.items() if name not in OWN}

    @cached_property
    def idle(self) -> list[tuple[object, object, Any]]:
        """The stepper that the last run has left, with its method and its parameters; see `Stepper.lasting`."""
        return []

    @cached_property
    def _energies_many(self) -> Direct:
        return Direct(energies_many)

    def begin(self, state: np.ndarray) -> None:
        """Make ready for a run from a state."""
        self.parameters = self.formulation.begun(self.chain, self.parameters, state)

    def breaks(self) -> np.ndarray:
        """Return the times at which the loads have kinks: step boundaries."""
        return self._kinks

    @cached_property
    def _kinks(self) -> np.ndarray:
        own = kinks(self.chain.load(JointTorque))
        return np.unique(np.concatenate([own, *(knots_of(body.motion) for body in self.chain.links if body.motion)]))

    def bounds(self, t: float, end: float) -> np.ndarray:
        """Return the step boundaries on the way from t to `end`, in order, `end` the last."""
        if not len(self._kinks):
            return np.array([end], float)
        low, high = np.searchsorted(self._kinks, min(t, end), "right"), np.searchsorted(self._kinks, max(t, end), "left")
        inside = self._kinks[low:high]
        return np.append(inside if end >= t else inside[::-1], float(end))

    @cached_property
    def longest_step(self) -> float:
        """The longest step that follows the joints with a prescribed motion, in s: a quadrature does not see how far they turn."""
        driven = zip(self.chain.links, self.chain.slides, strict=True)
        rate = max((fastest(body.motion) for body, slides in driven if body.motion and not slides), default=0.0)
        return TURN / rate if rate else math.inf

    def reach(self, end: float, step: float) -> float:
        """Return how far a step may go over the end: to the next kink of the loads, in the direction of `step`."""
        passed = np.searchsorted(self._kinks, end, "left" if step > 0 else "right")
        rest = self._kinks[passed:] if step > 0 else self._kinks[:passed][::-1]
        return float(rest[0]) if len(rest) else math.copysign(math.inf, step)

    def __call__(self, t: float, state: np.ndarray) -> np.ndarray:
        """Return the rates of a state: fits scipy.integrate.solve_ivp."""
        y = np.zeros(self.full_size)
        y[: self.size] = state
        return self.rates(t, y)[: self.size]

    def rates(self, t: float, y: np.ndarray, strict: bool = True) -> np.ndarray:
        """Return the rates of a state with its ledger; what a torque function raises comes out, or, if not strict, is kept."""
        out = np.empty(self.full_size)
        rates(float(t), y, self.equations, out, self._w)
        if strict and self.callback and not np.isfinite(out).all():
            if self.failed:
                raise self.callback.taken()
            self.callback.torques(t, *self.decode(y[: self.size]))  # called from Python, a compiled function says what is wrong
        return out

    def torque_error(self, t: float, y: np.ndarray) -> BaseException | None:
        """Return what the torque function has raised in Python, and forget it; or what a compiled one, whose exceptions are lost,
        raises at the end y of the motion or just beyond it.
        """
        if self.callback is None or self.failed:
            return self.callback.taken() if self.callback else None
        theta, omega = self.decode(y[: self.size])
        for far in (0.0, *BEYOND) if self.callback.compiled else ():
            try:
                self.callback.torques(t + far, theta + far * omega, omega)
            except Exception as error:
                return error
        return None

    @cached_property
    def _side_by_side(self) -> Any:
        return self.formulation.side_by_side(self.parameters)

    def rates_of(self, states: np.ndarray, t: float = 0.0) -> np.ndarray:
        """Return the rates (size, K) of many states (size, K), a chain in each column; quick for open chains and trees in
        `recursive`.
        """
        states = self._in_columns(states)
        out = np.empty_like(states)
        if self._side_by_side:
            self._side_by_side(float(t), states, out, self.chain.n)
        else:
            for k, state in enumerate(states.T):
                out[:, k] = self(t, state)
        return out

    def accelerations_of(self, states: np.ndarray, t: float = 0.0) -> np.ndarray:
        """Return the angular accelerations (N, K) of many states (size, K), a chain in each column; see `rates_of`."""
        states = self._in_columns(states)
        if not self._side_by_side:
            return self.formulation.decode_rates(self.chain, states.T, self.rates_of(states, t).T).T
        out = np.empty((self.chain.n, states.shape[1]))
        self._side_by_side(float(t), states, out, 0)
        return out

    def _in_columns(self, states: np.ndarray) -> np.ndarray:
        """Return states as compiled code takes them, checked."""
        states = np.ascontiguousarray(states, float)
        if states.ndim != 2 or len(states) != self.size:
            raise ModelError(f"states must be ({self.size}, K), a chain in each column, got shape {states.shape}")
        return states

    @cached_property
    def angle_rows(self) -> np.ndarray:
        """The components of a state that are the angles of the links, in order; none if angles are read out in another way."""
        state = np.random.default_rng(0).uniform(1.0, 2.0, self.size)
        order = np.argsort(state)
        rows = order[np.searchsorted(state[order], self.decode(state)[0]) % self.size]
        return rows if np.array_equal(state[rows], self.decode(state)[0]) else np.empty(0, int)

    @property
    def projected(self) -> bool:
        """Whether states are brought back onto their constraints after each step."""
        return self.formulation.projected or self.chain.pin is not None

    def settled(self, states: np.ndarray, plain: bool = False) -> tuple[np.ndarray, float, float]:
        """Return states (K, size + ledger) brought onto the constraints by the smallest change, plain or weighed by the masses,
        and the largest violations before: of Phi and of its rate.
        """
        states = np.ascontiguousarray(states).copy()
        return states, *self.formulation.settled(self.parameters, states, self._w, plain)

    @property
    def spare(self) -> int:
        """Rows of the constraints that depend on others, the way the mechanism is assembled; see `begin`."""
        return self.formulation.spare(self.parameters)

    def nearness(self, states: np.ndarray) -> np.ndarray:
        """Return how near states (K, size) of a closed mechanism are to a dead position, (K,): 0 there, at most 1."""
        return self.formulation.nearness(self.parameters, np.ascontiguousarray(states), self._w)

    @property
    def failed(self) -> bool:
        """Whether a torque function in Python has raised inside the compiled code."""
        return self.callback is not None and self.callback.error is not None

    @property
    def calls_python(self) -> bool:
        """Whether compiled code calls a torque function in Python: one chain at a time, and slowly."""
        return self.callback is not None and not self.callback.compiled

    def accelerations(self, theta: object, omega: object, t: float = 0.0) -> np.ndarray:
        """Return the angular accelerations (N,) in rad/s^2, in space (N, 3) in world axes: what formulations are compared by."""
        state = self.encode(theta, omega)
        found = self.formulation.decode_rates(self.chain, state, self(t, state))
        return turns(self.chain, *self.decode(state), found).alpha if isinstance(self.chain, SpatialChain) else found

    def reactions(self, theta: object, omega: object, t: float = 0.0) -> np.ndarray:
        """Return the force on each link at its upper hinge, (N, 2) in N, in space (N, 3); with a pin (N+1, 2), the last row its
        force on the tip.
        """
        if self.chain.spatial:
            state = self.encode(theta, omega)
            rates = self.formulation.decode_rates(self.chain, state, self(t, state))
            return self.formulation.reactions(self.chain, *self.decode(state), rates, self._w)
        alpha = self.accelerations(theta, omega, t)
        angles, rates = self.chain.given(t, self.angles("theta", theta), self.angles("omega", omega))
        return self.formulation.reactions(self.chain, angles, rates, alpha, self._w)

    def multipliers(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the multipliers of the constraints (kinds, N) at a state with its ledger."""
        self.rates(t, y, strict=False)
        return self.formulation.multipliers(self._w)

    def energy(self, state: np.ndarray) -> EnergyPair:
        """Return kinetic and potential energy of a state, or of many (..., size)."""
        if self.angles_alone and np.ndim(state) == 2:
            plain = type(self.formulation).decode is AngleFormulation.decode
            states = np.ascontiguousarray(state if plain else np.hstack(self.decode(state)), float)
            out = np.empty((len(states), 2))
            self._energies_many(states, self.parameters.chain, out, self._w)
            return EnergyPair(out[:, 0], out[:, 1])
        return EnergyPair(*self.formulation.energy(self.chain, np.asarray(state, float)))

    def given(self, t: ArrayLike, state: np.ndarray) -> np.ndarray:
        """Return states (..., size) with the coordinates of joints with a prescribed motion as they are at times t (...)."""
        if not isinstance(self.chain, Mechanism) or not self.chain.prescribed.any():
            return state
        return self.formulation.encode(self.chain, *self.chain.given(t, *self.decode(state)))

    @property
    def turning(self) -> np.ndarray:
        """Which components of the state are angles (size,): not the displacements of sliders."""
        return self.formulation.turning_of(self.chain)

    def violation(self, state: np.ndarray) -> Any:
        """Return how far a state is off its constraints."""
        return self.formulation.violation(self.chain, np.asarray(state, float))

    def encode(self, theta: object, omega: object) -> np.ndarray:
        """Return the state of these angles (N,) and rates (N,); in space of a pose and of rates: `SpatialChain.start`."""
        if self.chain.spatial:
            return self.formulation.encode(self.chain, *self.chain.start(theta, omega))
        return self.formulation.encode(self.chain, self.angles("theta", theta), self.angles("omega", omega))

    def decode(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return angles and rates of a state, or of many (..., size): in space coordinates and their rates (..., K)."""
        return self.formulation.decode(self.chain, np.asarray(state, float))

    def angles(self, name: str, values: Any) -> np.ndarray:
        """Return angles or rates as (N,), checked: one number serves all links."""
        plain, most = type(values) is np.ndarray and values.dtype == float, WIDEST_ANGLE if name == "theta" else LARGEST
        if plain and values.shape == (self.chain.n,) and np.abs(values).max() <= most:  # also if called a million times
            return values.copy()
        return np.array(self.chain.coordinates(name, values))
