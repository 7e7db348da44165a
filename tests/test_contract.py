"""The contract every formulation keeps: on random chains with every load it is the same mechanics, in other coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import TOLERANCE, random_chain, relative_difference
from hypothesis import given
from trees import moving

from nlink import FORMULATIONS, Chain, JointTorque, Linear, Mechanism, ModelError, Slider, formulate
from nlink.mechanics.chain import Link
from nlink.mechanics.loads import Drag, FollowerForce, Gravity, JointDamper, JointSpring, LinkDamper, TipForce

EXACT = [name for name in FORMULATIONS if name != "linear"]
STATES = 5
sizes = pytest.mark.parametrize("n", [1, 2, 3, 5, 8, pytest.param(12, marks=pytest.mark.slow)])


def states(n: int, seed: int):
    """Yield a chain of n unequal links with every load, and states of it."""
    chain, _, _ = random_chain(n, seed)
    rng = np.random.default_rng(1000 + seed)
    for _ in range(STATES):
        yield chain, rng.uniform(-3, 3, n), rng.uniform(-2, 2, n), rng.uniform(0, 2)


@pytest.mark.parametrize("name", EXACT)
@sizes
@pytest.mark.parametrize("seed", range(3))
def test_all_formulations_are_one_mechanics(name, n, seed):
    for chain, theta, omega, t in states(n, seed):
        mine, other = formulate(chain, name), formulate(chain, "momentum" if name == "recursive" else "recursive")
        assert relative_difference(mine.accelerations(theta, omega, t), other.accelerations(theta, omega, t)) <= 1e-10
        assert relative_difference(mine.reactions(theta, omega, t), other.reactions(theta, omega, t)) <= 1e-9
        state, same = mine.encode(theta, omega), other.encode(theta, omega)
        assert mine.energy(state) == pytest.approx(other.energy(same), rel=TOLERANCE["rounding"], abs=TOLERANCE["rounding"])
        assert mine.violation(state) <= TOLERANCE["rounding"]
        np.testing.assert_allclose(mine.decode(state), (theta, omega), atol=TOLERANCE["rounding"])


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
def test_linear_is_the_same_to_first_order(n):
    """About straight down with every load that leaves it an equilibrium: the difference falls with the square."""
    rng = np.random.default_rng(n)
    links = [Link(rng.uniform(0.5, 1.5), rng.uniform(0.5, 2), rng.uniform(0.2, 0.5), 0.1) for _ in range(n)]
    loads = [Gravity(9.81), JointSpring(2.0), JointDamper(0.2), LinkDamper(0.1), Drag(0.3), FollowerForce(1.5), TipForce(0.0, -2.0)]
    chain = Chain(links, [*loads, JointTorque(0.0)])
    linear, exact = formulate(chain, Linear()), formulate(chain)
    theta, omega = rng.normal(size=(2, n))
    gaps = [
        np.abs(linear.accelerations(size * theta, size * omega) - exact.accelerations(size * theta, size * omega)).max()
        for size in (1e-3, 1e-4)
    ]
    assert math.log10(gaps[0] / gaps[1]) >= 1.9
    assert gaps[1] <= 1e-4 * np.abs(exact.accelerations(1e-4 * theta, 1e-4 * omega)).max()
    np.testing.assert_allclose(linear.reactions(1e-6 * theta, 1e-6 * omega), exact.reactions(1e-6 * theta, 1e-6 * omega), atol=1e-4)
    assert linear.violation(linear.encode(theta, omega)) == 0.0


OF_MECHANISMS = ("recursive", "projection")


@given(moving())
def test_all_formulations_of_mechanisms_are_one_mechanics(case):
    """On random trees of links and sliders with every load and prescribed motions: accelerations, powers and reactions."""
    model, q, v, t = case
    mine, other = (formulate(model, name) for name in OF_MECHANISMS)
    a, b = (system.accelerations(q, v, t) for system in (mine, other))
    assert np.abs(a - b).max() <= 1e-9 * (1.0 + np.abs(b).max())
    a, b = (powers(system, q, v, t) for system in (mine, other))
    assert np.abs(a - b).max(initial=0.0) <= 1e-9 * (1.0 + np.abs(b).max(initial=0.0))
    a, b = (system.reactions(q, v, t) for system in (mine, other))
    assert np.abs(a - b).max() <= 1e-8 * (1.0 + np.abs(b).max())


def powers(system, q, v, t):
    state = np.concatenate([system.encode(q, v), np.zeros(system.full_size - system.size)])
    return system.rates(t, state)[system.size :]


@pytest.mark.parametrize("name", [name for name in FORMULATIONS if name not in OF_MECHANISMS])
def test_formulations_without_mechanisms_refuse_them_by_name(name):
    with pytest.raises(ModelError, match=f"{name} takes chains, not mechanisms; use recursive or projection"):
        formulate(Mechanism([Slider(1.0), Link.rod(1.0, 1.0)]), name)
