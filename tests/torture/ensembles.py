"""Attacks on ensembles: random chains with random parameters varied, followed by every engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from by_hand import NAMES, WHOLE, by_hand, values_of

from nlink import (
    DOP853,
    RK4,
    RK45,
    Chain,
    Drag,
    FollowerForce,
    Gauss,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Sine,
    Table,
    Taylor,
    TipForce,
    simulate,
    simulate_many,
)
from torture.attack import attack

METHODS = (None, Taylor(1e-12), DOP853(1e-11, 1e-11), RK45(1e-11, 1e-11), RK4(step=0.001), Gauss(step=0.004))
MEMBERS = 3
PIN = (1.0, 0.0)
CLOSED = np.array([3.1, 1.6, 0.03])


def random_torque(rng: np.random.Generator, n: int) -> Any:
    """Return a joint torque of any kind: a number, Sine or Table for all, a list of them, or a function."""

    def one() -> Any:
        sine = Sine(*rng.uniform((-3, 0, -3), (3, 2, 3)).tolist())
        times = np.cumsum(rng.uniform(0.02, 0.2, rng.integers(1, 5))) - 0.1
        return [float(rng.uniform(-3, 3)), sine, Table(times, rng.uniform(-3, 3, len(times)))][rng.integers(3)]

    kind = rng.integers(5)
    if kind == 4:
        slopes = rng.uniform(-3, 3, n)
        return lambda t: slopes * t
    return one() if kind == 3 else [one() for _ in range(n)]


def random_loads(rng: np.random.Generator, n: int) -> list[Any]:
    """Return some loads, a value for all joints or a list."""

    def each(low: float, high: float) -> Any:
        return float(rng.uniform(low, high)) if rng.integers(2) else rng.uniform(low, high, n)

    loads = [
        Gravity(float(rng.uniform(-5, 15))),
        JointSpring(each(0, 5), each(-1, 1)),
        JointDamper(each(0, 1)),
        LinkDamper(each(0, 1)),
        JointTorque(random_torque(rng, n)),
        Drag(each(0, 0.5), each(0, 0.5) if rng.integers(2) else 0.0),
        FollowerForce(float(rng.uniform(-3, 3))),
        TipForce(*rng.uniform(-3, 3, 2).tolist()),
    ]
    return [load for load in loads if rng.integers(2)]


def random_link(rng: np.random.Generator) -> Link:
    """Return a rod, a point mass, or any body."""
    length, mass = rng.uniform(0.3, 1.5, 2).tolist()
    body = Link(length, mass, *rng.uniform((0, 0.02, -0.2), (length, 0.3, 0.2)).tolist())
    return [Link.rod(length, mass), Link.point(length, mass), body][rng.integers(3)]


def random_vary(rng: np.random.Generator, chain: Chain) -> dict[str, np.ndarray]:
    """Return values of one to four parameters, each close to its own, or not."""
    names = rng.choice([name for name in NAMES if name != "length" or not chain.pin], rng.integers(1, 5), replace=False)
    own, vary = values_of(chain), {}
    for name in names.tolist():
        link = f"[{rng.integers(chain.n) + 1}]" if name not in WHOLE and rng.integers(2) else ""
        about = float(np.mean(own[name])) if rng.integers(2) else 1.0
        low = 0.0 if re.search("stiffness|damping|drag", name) else 0.1 if name in ("length", "mass", "inertia") else -2.0
        vary[name + link] = np.maximum(about * rng.uniform(0.3, 1.5, MEMBERS), low)
    return vary


@attack("the same motion as of the chain built by hand, or a refusal in a sentence", full=200, sample=4)
def random_chains_with_random_parameters_varied(k: int, folder: Path) -> None:
    rng = np.random.default_rng(k)
    n = int(rng.integers(1, 5))
    closed = n == 3 and rng.integers(2)
    links = Chain.uniform(3).links if closed else tuple(random_link(rng) for _ in range(n))
    chain = Chain(links, random_loads(rng, n), PIN if closed else None)
    vary, method = random_vary(rng, chain), METHODS[rng.integers(len(METHODS))]
    theta, omega = CLOSED if closed else rng.uniform(-3, 3, n), rng.uniform(-1, 1, n)
    try:
        many = simulate_many(chain, theta, np.tile(omega, (MEMBERS, 1)), t_end=0.3, vary=vary, integrator=method)
    except ModelError as error:
        if re.search("Taylor|Gauss|does not|takes no", str(error)):
            return
        raise
    assert (many.status == 0).all(), many.status.values
    for member in range(MEMBERS):
        made = by_hand(chain, {name: values[member] for name, values in vary.items()})
        run = simulate(made, theta, omega, t_end=0.3, save=(0.3,), integrator=DOP853(1e-12, 1e-12))
        size = max(1.0, float(np.abs(run.omega).max()))
        assert np.abs(many.theta[member] - run.theta[-1]).max() < 1e-6 * size, f"{method}, {vary}, member {member}"
