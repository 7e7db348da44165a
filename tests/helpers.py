"""What the tests share: the tables they are parametrised by, the tolerances and their reasons, random chains, and an
independent mechanics in plain NumPy (dense, by virtual work) against which every formulation is held.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from typer.testing import CliRunner

import nlink
from nlink import (
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Sine,
    Table,
    TipForce,
)
from nlink.cli import app
from nlink.mechanics.loads import LOADS, Load, Parameter
from nlink.run.run import Run

OTHERS = tuple(kind for kind in LOADS.values() if kind.law and kind not in (JointSpring, JointDamper, LinkDamper))
"""Loads whose mechanics are not written out below: what their law says is tested everywhere."""

APART = {
    "lagrange": "compiles for each number of links, and takes few: test_lagrange.py",
    "linear": "another model, of small motion: test_contract.py and test_compare.py hold it",
    "maximal": "coordinates under constraints, so that states and powers have other meanings: test_constrained.py",
    "natural": "like maximal",
}
"""Formulations that the shared tests leave out, and why."""

FORMULATIONS = tuple(name for name in nlink.FORMULATIONS if name not in APART)

INTEGRATORS = {
    "Taylor": "Taylor(tol=1e-12)",
    "DOP853": "DOP853(rtol=1e-10, atol=1e-10)",
    "RK45": "RK45(rtol=1e-9, atol=1e-9)",
    "RK4": "RK4(step=0.001)",
    "Gauss": "Gauss(step=0.005)",
    "Radau": "Scipy(method='Radau', rtol=1e-8, atol=1e-8)",
    "BDF": "Scipy(method='BDF', rtol=1e-8, atol=1e-8)",
    "LSODA": "Scipy(method='LSODA', rtol=1e-10, atol=1e-10)",
    "IDA": "IDA(rtol=1e-9, atol=1e-9)",
}
"""One working setting of every method; the short runs of the tests are followed to better than 1e-5 by each."""


def settings(name: str) -> dict[str, str]:
    """Return how `simulate` is to use an integrator: its setting, and the formulation where it does not take the default."""
    return {"integrator": INTEGRATORS[name]} | ({"formulation": "natural"} if name == "IDA" else {})


OF_FUNCTIONS = tuple(name for name in INTEGRATORS if name != "Taylor")
"""Methods that take a torque that is a Python function: there is no series of one."""
COMPILED = ("Taylor", "DOP853", "RK45", "RK4", "Gauss")
FIXED = ("RK4", "Gauss")

TOLERANCE = {
    "agreement": 1e-10,  # of formulations, relative to the largest acceleration: rounding times the condition of M, N <= 50
    "rounding": 1e-12,  # quantities of order 1 computed twice by short sums in different order
    "power": 1e-11,  # power of the loads against the rate of energy, relative to the largest term: sums of products of order 1e3
    "difference": 1e-7,  # central differences with a step of 1e-5: h^2/6 times third derivatives of order 100, rounding 1e-11
    "nice": 1e-9,  # regular motion at 1e-12 for 20 s: the tolerance times the growth of errors in 20 s
    "flip": 1e-8,  # s; flips of the reference within 8.5 s at 1e-13, error growth up to 1e4
    "period": 1e-10,  # s; one rod at 1e-13: no growth beyond linear
    "method": 1e-5,  # the settings in INTEGRATORS over a second or two, BDF being the loosest
    "ledger": 1e-6,  # J; energy balance for the settings in INTEGRATORS over 2 s, energies of order 10
}

DATA = Path(__file__).parent / "data"


def reference(name: str) -> dict:
    """Return one of the tables of independently computed values."""
    return json.loads((DATA / "reference.json").read_text(encoding="utf-8"))[name]


def start_angles(kind: str, n: int) -> list[float]:
    """Return the start angles of the references: nice (all 45 degrees) or chaotic (90, 180, 90, ...)."""
    return [math.pi / 4] * n if kind == "nice" else [math.pi if i % 2 else math.pi / 2 for i in range(n)]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a piece of Python in a process of its own; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=os.environ | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


# Random chains, loads and states -------------------------------------------------------------------------------------


def tenths(low: int, high: int) -> st.SearchStrategy[float]:
    """Numbers low/10 .. high/10: no tiny ones, which would only probe the conditioning of the mass matrix."""
    return st.integers(low, high).map(lambda k: k / 10)


def angles(n: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.floats(-7, 7, allow_subnormal=False), min_size=n, max_size=n).map(np.array)


def rates(n: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=n, max_size=n).map(np.array)


@st.composite
def links(draw: st.DrawFn) -> Link:
    """A rod, a point mass, a massless link with inertia, or a body with its centre of mass anywhere."""
    length, mass = draw(tenths(2, 20)), draw(tenths(1, 30))
    kind = draw(st.sampled_from(["rod", "point", "massless", "body"]))
    if kind == "rod":
        return Link.rod(length, mass)
    if kind == "point":
        return Link.point(length, mass)
    com, offset = draw(tenths(-5, 25)), draw(tenths(-8, 8))
    if kind == "massless":
        return Link(length, 0.0, com, draw(tenths(1, 10)), offset)
    return Link(length, mass, com, draw(tenths(0, 10)), offset)


def each(values: st.SearchStrategy, n: int) -> st.SearchStrategy:
    """One value for all, or a list of n."""
    return st.one_of(values, st.lists(values, min_size=n, max_size=n))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    times = draw(st.lists(st.integers(-20, 60), min_size=1, max_size=5, unique=True).map(sorted))
    values = draw(st.lists(tenths(-50, 50), min_size=len(times), max_size=len(times)))
    return Table([t / 10 for t in times], values)


def torques() -> st.SearchStrategy:
    sines = st.builds(Sine, tenths(-50, 50), tenths(0, 20), tenths(-30, 30))
    return st.one_of(tenths(-50, 50), sines, tables())


def load_strategies(n: int) -> dict[type, st.SearchStrategy]:
    """Return a strategy for every load of an n-link chain."""
    return {
        Gravity: st.builds(Gravity, tenths(-50, 200)),
        JointSpring: st.builds(JointSpring, each(tenths(0, 50), n), each(tenths(-20, 20), n)),
        JointDamper: st.builds(JointDamper, each(tenths(0, 20), n)),
        LinkDamper: st.builds(LinkDamper, each(tenths(0, 20), n)),
        JointTorque: st.builds(JointTorque, each(torques(), n)),
        Drag: st.builds(Drag, each(tenths(0, 10), n), each(tenths(0, 10), n)),
        FollowerForce: st.builds(FollowerForce, tenths(-50, 50)),
        TipForce: st.builds(TipForce, tenths(-50, 50), tenths(-50, 50)),
        **{kind: st.builds(kind, **by_parameter(kind, lambda each_of: _drawn(each_of, n))) for kind in OTHERS},
    }


def by_parameter(kind: type[Load], value: Callable[[Parameter], Any]) -> dict[str, Any]:
    """Return a value for each parameter of a load."""
    return {name: value(parameter) for name, parameter in kind.parameters().items()}


def _drawn(parameter: Parameter, n: int) -> st.SearchStrategy:
    bounded = parameter.least is not None or parameter.above is not None
    values = tenths(1 if bounded else -20, 20)
    return values if parameter.single else each(values, n)


@st.composite
def chains(draw: st.DrawFn, least: int = 1, most: int = 6, only: type | None = None) -> Chain:
    """A chain of unequal links with any of the loads; `only`: gravity, springs and this one."""
    n = draw(st.integers(least, most))
    made = draw(st.lists(links(), min_size=n, max_size=n))
    strategies = load_strategies(n)
    kinds = [kind for kind in strategies if draw(st.booleans())] if only is None else list({Gravity, JointSpring, only})
    loads = [draw(strategies[kind]) for kind in sorted(kinds, key=lambda kind: kind.__name__)]
    try:
        return Chain(made, loads)
    except ModelError as error:
        assume("singular" not in str(error))  # a mass on the hinge of a light chain
        raise


@st.composite
def moving(draw: st.DrawFn, **options) -> tuple[Chain, np.ndarray, np.ndarray, float]:
    """A chain with angles, rates and a time."""
    chain = draw(chains(**options))
    return chain, draw(angles(chain.n)), draw(rates(chain.n)), draw(tenths(-10, 50))


def random_chain(n: int, seed: int = 0) -> tuple[Chain, np.ndarray, np.ndarray]:
    """A chain of n unequal links with every load at once, and a state; the same for the same seed."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        length, mass = rng.uniform(0.3, 1.5), rng.uniform(0.2, 2.0)
        body = Link(length, mass, rng.uniform(0, length), rng.uniform(0.02, 0.3), rng.uniform(-0.2, 0.2))
        massless = Link(length, 0.0, 0.0, rng.uniform(0.1, 0.3))
        made.append([body, Link.rod(length, mass), Link.point(length, mass), massless][i % 4])
    torque = [[1.5, Sine(2.0, 0.7, 0.3), Table([0.0, 0.5, 1.2], [1.0, -2.0, 0.5])][i % 3] for i in range(n)]
    loads = [
        Gravity(9.81),
        JointSpring(rng.uniform(0, 3, n), rng.uniform(-0.5, 0.5, n)),
        JointDamper(rng.uniform(0, 0.3, n)),
        LinkDamper(rng.uniform(0, 0.3, n)),
        JointTorque(torque),
        Drag(rng.uniform(0, 0.2, n), rng.uniform(0, 0.2, n)),
        FollowerForce(2.0),
        TipForce(1.0, -0.5),
        *(kind(**by_parameter(kind, lambda each_of: rng.uniform(0.1, 0.5, None if each_of.single else n))) for kind in OTHERS),
    ]
    return Chain(made, loads), rng.uniform(-3, 3, n), rng.uniform(-2, 2, n)


# An independent mechanics --------------------------------------------------------------------------------------------


def torques_at(chain: Chain, t: float) -> np.ndarray:
    """Return the driving torques (N,) at time t."""
    load = chain.load(JointTorque)
    if load is None:
        return np.zeros(chain.n)
    if callable(load.torque):
        return np.broadcast_to(np.asarray(load.torque(t), float), (chain.n,))
    every = load.torque if isinstance(load.torque, tuple) else (load.torque,) * chain.n
    return np.array([_torque_at(torque, t) for torque in every])


def _torque_at(torque, t: float) -> float:
    if isinstance(torque, Sine):
        return torque.amplitude * math.sin(2 * math.pi * torque.frequency * t + torque.phase)
    return np.interp(t, torque.times, torque.values) if isinstance(torque, Table) else torque


def relative(values: np.ndarray) -> np.ndarray:
    """Return the differences between neighbours, the ground being 0."""
    return values - np.concatenate([[0.0], values[:-1]])


class Mechanics:
    """The Jacobians of all centres and of the tip at one configuration, and what follows from them by virtual work."""

    def __init__(self, chain: Chain, theta: np.ndarray, omega: np.ndarray, t: float = 0.0) -> None:
        self.chain, self.theta, self.omega, self.t = chain, theta, omega, t
        n = chain.n
        e = np.array([[math.sin(a), -math.cos(a)] for a in theta])
        left = np.array([[math.cos(a), math.sin(a)] for a in theta])
        self.e, self.left = e, left
        centre, bend, tip = np.zeros((n, n, 2)), np.zeros((n, n, 2)), np.zeros((n, 2))
        for j, link in enumerate(chain.links):
            for i in range(j):
                centre[j, i] = chain.links[i].length * left[i]
                bend[j, i] = -chain.links[i].length * e[i]
            centre[j, j] = link.com * left[j] - link.offset * e[j]
            bend[j, j] = -link.com * e[j] - link.offset * left[j]
            tip[j] = link.length * left[j]
        self.centre, self.bend, self.tip = centre, bend, tip  # d centre_j/d theta_i; its rate over omega_i; d tip/d theta_i
        self.velocity = np.einsum("jix,i->jx", centre, omega)

    def mass_matrix(self) -> np.ndarray:
        mass, inertia = self.chain.mass, self.chain.inertia
        return np.einsum("j,jix,jkx->ik", mass, self.centre, self.centre) + np.diag(inertia)

    def bias(self) -> np.ndarray:
        return np.einsum("j,jix,jkx,k->i", self.chain.mass, self.centre, self.bend, self.omega**2)

    def joint_moments(self) -> dict[str, np.ndarray]:
        """Return the moments at the hinges by load: +T_i on link i, -T_i on link i-1."""
        chain, spring, damper = self.chain, self.chain.load(JointSpring), self.chain.load(JointDamper)
        zero = np.zeros(chain.n)
        stretch = relative(self.theta) - (np.array(spring.rest) if spring else 0.0)
        return {
            "joint_torque": torques_at(chain, self.t),
            "joint_spring": -np.array(spring.stiffness) * stretch if spring else zero,
            "joint_damper": -np.array(damper.damping) * relative(self.omega) if damper else zero,
            **{kind.name: self.by_law(kind) for kind in OTHERS if kind.law.on == "joint"},
        }

    def link_moments(self) -> dict[str, np.ndarray]:
        """Return the moments on links alone by load."""
        damper = self.chain.load(LinkDamper)
        return {
            "link_damper": -np.array(damper.damping) * self.omega if damper else np.zeros(self.chain.n),
            **{kind.name: self.by_law(kind) for kind in OTHERS if kind.law.on == "link"},
        }

    def by_law(self, kind: type[Load]) -> np.ndarray:
        """Return the moments push - damping * rate - stiffness * (angle - origin) of a load."""
        load, law = self.chain.load(kind), kind.law
        angle, rate = (relative(values) if law.on == "joint" else values for values in (self.theta, self.omega))
        push, damping, stiffness, origin = (
            np.array(getattr(load, name)) if name and load else 0.0 for name in (law.push, law.damping, law.stiffness, law.origin)
        )
        return np.zeros(self.chain.n) + push - damping * rate - stiffness * (angle - origin)

    def centre_forces(self) -> dict[str, np.ndarray]:
        """Return the forces (N, 2) at the centres by load."""
        chain, drag, gravity = self.chain, self.chain.load(Drag), self.chain.load(Gravity)
        weight, slowing = np.zeros((chain.n, 2)), np.zeros((chain.n, 2))
        if gravity:
            weight[:, 1] = -chain.mass * gravity.g
        if drag:
            speed = np.hypot(*self.velocity.T)
            slowing = -(np.array(drag.linear) + np.array(drag.quadratic) * speed)[:, None] * self.velocity
        return {"gravity": weight, "drag": slowing}

    def tip_forces(self) -> dict[str, np.ndarray]:
        follower, tip = self.chain.load(FollowerForce), self.chain.load(TipForce)
        return {
            "follower_force": -follower.force * self.e[-1] if follower else np.zeros(2),
            "tip_force": np.array([tip.fx, tip.fy]) if tip else np.zeros(2),
        }

    def generalised(self) -> dict[str, np.ndarray]:
        """Return the generalised force (N,) of every load by virtual work."""
        joint = {name: T - np.concatenate([T[1:], [0.0]]) for name, T in self.joint_moments().items()}
        centre = {name: np.einsum("jx,jix->i", F, self.centre) for name, F in self.centre_forces().items()}
        tip = {name: self.tip @ F for name, F in self.tip_forces().items()}
        return joint | centre | tip | self.link_moments()

    def powers(self) -> dict[str, float]:
        return {name: float(Q @ self.omega) for name, Q in self.generalised().items()}

    def accelerations(self) -> np.ndarray:
        force = sum(self.generalised().values())
        return np.linalg.solve(self.mass_matrix(), force - self.bias())


def energy(chain: Chain, theta: np.ndarray, omega: np.ndarray):
    """Return kinetic + potential energy; takes complex arguments, so that a complex step differentiates it exactly."""
    x = y = vx = vy = total = before = 0.0
    spring = chain.load(JointSpring)
    stiffness = np.broadcast_to(spring.stiffness if spring else 0.0, chain.n)
    rest = np.broadcast_to(spring.rest if spring else 0.0, chain.n)
    for i, link in enumerate(chain.links):
        s, c = np.sin(theta[i]), np.cos(theta[i])
        gy = y - link.com * c + link.offset * s
        ux = vx + omega[i] * (link.com * c - link.offset * s)
        uy = vy + omega[i] * (link.com * s + link.offset * c)
        total = total + link.mass * (ux * ux + uy * uy) / 2 + link.inertia * omega[i] ** 2 / 2 + link.mass * chain.g * gy
        total = total + stiffness[i] * (theta[i] - before - rest[i]) ** 2 / 2 + _stored(chain, theta[i] - before, i)
        x, y = x + link.length * s, y - link.length * c
        vx, vy = vx + link.length * omega[i] * c, vy + link.length * omega[i] * s
        before = theta[i]
    return total


def _stored(chain: Chain, angle: Any, joint: int) -> Any:
    """Return what the laws of OTHERS store in a joint at a relative angle."""
    total = 0.0
    for kind in OTHERS:
        load, law = chain.load(kind), kind.law
        if load and law.stiffness:
            values = (getattr(load, name) if name else 0.0 for name in (law.stiffness, law.origin))
            stiffness, origin = (np.broadcast_to(value, chain.n)[joint] for value in values)
            total = total + stiffness * (angle - origin) ** 2 / 2
    return total


def energy_rate(chain: Chain, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray) -> float:
    """Return dE/dt along theta' = omega, omega' = alpha, exact to rounding."""
    step = 1e-30j
    return float(np.imag(energy(chain, theta + step * omega, omega + step * alpha)) / 1e-30)


def mirrored(chain: Chain) -> Chain:
    """Return the mirror image of a chain and its loads in the y axis."""
    turned = [Link(k.length, k.mass, k.com, k.inertia, -k.offset) for k in chain.links]
    return Chain(turned, [_mirrored(load) for load in chain.loads])


def _mirrored(load):
    if isinstance(load, JointSpring):
        return JointSpring(load.stiffness, tuple(-r for r in load.rest) if isinstance(load.rest, tuple) else -load.rest)
    if isinstance(load, TipForce):
        return TipForce(-load.fx, load.fy)
    if isinstance(load, JointTorque):
        return JointTorque([_negative(v) for v in load.torque] if isinstance(load.torque, tuple) else _negative(load.torque))
    return load


def _negative(torque):
    if isinstance(torque, Sine):
        return Sine(-torque.amplitude, torque.frequency, torque.phase)
    return Table(torque.times, [-v for v in torque.values]) if isinstance(torque, Table) else -torque


def relative_difference(a, b) -> float:
    """Return the largest difference over the largest value."""
    return float(np.max(np.abs(np.subtract(a, b))) / max(np.max(np.abs(b)), 1e-300))


# Processes -----------------------------------------------------------------------------------------------------------

COMMAND = str(Path(sys.executable).with_name("nlink"))


def call(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    env = os.environ | {"NO_COLOR": "1", "COLUMNS": "120"} | environment
    return subprocess.run([COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, env=env, timeout=120, check=False)


def worked(seconds: float, *processes: int) -> None:
    """Wait until processes have used the processor for some seconds more, together."""
    start = used(*processes)
    while used(*processes) - start < seconds:
        time.sleep(0.01)


def used(*processes: int) -> float:
    """Return for how many seconds processes have used the processor, together."""
    told = [Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in processes]
    assert all(state != "Z" for state, *_ in told), "a process has ended"
    return sum(int(ticks) for each in told for ticks in each[11:13]) / os.sysconf("SC_CLK_TCK")


def check_refused(done: Any, code: int, said: str, folder: Path) -> None:
    """Check that a command said one thing, ended with this code, and wrote nothing."""
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(folder.iterdir()) == []


def check_same(one: Run, other: Run) -> None:
    """Check that two runs are equal to the last bit."""
    for name in ("t", "theta", "omega", "alpha", "kinetic", "potential"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert all(np.array_equal(one.work[name], other.work[name]) for name in one.work)
    assert [(event.t, event.name, event.info) for event in one.events] == [(e.t, e.name, e.info) for e in other.events]


def trend_and_swing(run: Run) -> tuple[float, float]:
    """Return the trend of the energy over the whole run, and how much it swings within a twentieth of it."""
    residual = run.energy().residual[1:]
    slope = np.polyfit(run.t[1:], residual, 1)[0]
    return abs(slope * run.t[-1]), float(np.median(residual.reshape(20, -1).std(1)))


def check_commands(page: str, least: int) -> None:
    """Check that the commands in a text, at least so many, are those of nlink, with options and presets that there are."""
    said = {command for command in re.findall(r"`nlink ([^`]*)`", page) if " " in command and " live" not in command}
    assert len(said) >= least
    for command in said:
        name, first, *rest = shlex.split(command)
        done = CliRunner().invoke(app, [name, first, *rest, "--help"])
        assert done.exit_code == 0, command
        assert [word for word in rest if word.startswith("--") and word not in done.output] == [], command
        assert first.endswith(".nc") or first in nlink.presets(), command
