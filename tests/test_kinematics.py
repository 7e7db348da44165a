"""Positions, velocities, energies and reactions against finite differences, independent formulas and Newton's laws."""

import math

import numpy as np
import pytest
from helpers import TOLERANCE, Mechanics, chains, energy, moving, random_chain
from hypothesis import given
from hypothesis import strategies as st

from nlink import GROUND, At, Chain, Gravity, JointSpring, JointTorque, Link, Mechanism, Slider, TipForce, formulate
from nlink.mechanics import kinematics

STEP = 1e-5


def accelerations(chain, theta, omega, t):
    return formulate(chain).accelerations(theta, omega, t)


def test_positions_of_a_bent_chain():
    """Right, then up, then left: hinges and centres by hand; the centre of the second link lies to its left."""
    chain = Chain([Link.rod(1.0, 1.0), Link(2.0, 1.0, 0.5, 0.1, offset=0.25), Link.point(3.0, 1.0)])
    theta = np.array([math.pi / 2, math.pi, -math.pi / 2])
    np.testing.assert_allclose(kinematics.hinges(chain, theta), [[0, 0], [1, 0], [1, 2], [-2, 2]], atol=1e-15)
    np.testing.assert_allclose(kinematics.centres(chain, theta), [[0.5, 0], [0.75, 0.5], [-2, 2]], atol=1e-15)


def test_velocities_of_a_bent_chain():
    chain = Chain([Link.rod(1.0, 1.0), Link(2.0, 1.0, 0.5, 0.1, offset=0.25)])
    theta, omega = np.array([math.pi / 2, math.pi]), np.array([3.0, 10.0])
    np.testing.assert_allclose(kinematics.hinge_velocities(chain, theta, omega), [[0, 0], [0, 3], [-20, 3]], atol=1e-14)
    np.testing.assert_allclose(kinematics.centre_velocities(chain, theta, omega), [[0, 1.5], [-5, 3 - 2.5]], atol=1e-14)


def test_points_of_a_chain_are_those_of_the_same_mechanism():
    """Places along a link and beside it, tips and the ground; their velocities are the rates of their positions."""
    chain, rng = random_chain(4, seed=3)[0], np.random.default_rng(1)
    mechanism, theta, omega = Mechanism(chain.links), rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    places = [At(0), At(2, 0.3, 0.1), (1.0, 2.0), At(3, None, 0.2)]
    spots = kinematics.points(chain, theta, places)
    np.testing.assert_allclose(kinematics.points(mechanism, theta, places), spots, atol=1e-14)
    np.testing.assert_array_equal(spots[:, 0], kinematics.hinges(chain, theta)[:, 1])
    np.testing.assert_array_equal(kinematics.segments(chain, theta)[:, 1:, 0], kinematics.segments(chain, theta)[:, :-1, 1])
    np.testing.assert_allclose(kinematics.segments(mechanism, theta), kinematics.segments(chain, theta), atol=1e-14)
    after, before = (kinematics.points(chain, theta + step * omega, places) for step in (STEP, -STEP))
    rates = (after - before) / (2 * STEP)
    for model in (chain, mechanism):
        np.testing.assert_allclose(kinematics.point_velocities(model, theta, omega, places), rates, atol=1e-8)
    assert kinematics.points(chain, theta, []).shape == kinematics.points(mechanism, theta, []).shape == (3, 0, 2)


def test_a_slider_has_the_angle_of_its_parent_and_joins_its_rail():
    mechanism = Mechanism([Link.rod(2.0, 1.0), Slider(1.0, direction=-math.pi / 2, at=0.5), Slider(1.0).on(GROUND, (3.0, 1.0))])
    q = np.array([math.pi / 2, 0.25, -1.0])
    np.testing.assert_allclose(kinematics.angles(mechanism, q), [math.pi / 2, math.pi / 2, 0.0])
    expected = [[[0, 0], [2, 0]], [[0.5, 0], [0.75, 0]], [[3, 1], [2, 1]]]
    np.testing.assert_allclose(kinematics.segments(mechanism, q), expected, atol=1e-15)


@given(moving())
def test_velocities_are_the_rates_of_positions(case):
    chain, theta, omega, _ = case
    for place, speed in (
        (kinematics.hinges, kinematics.hinge_velocities),
        (kinematics.centres, kinematics.centre_velocities),
    ):
        slope = (place(chain, theta + STEP * omega) - place(chain, theta - STEP * omega)) / (2 * STEP)
        np.testing.assert_allclose(speed(chain, theta, omega), slope, atol=TOLERANCE["difference"])


@given(moving())
def test_accelerations_are_the_rates_of_velocities(case):
    chain, theta, omega, _ = case
    alpha = np.linspace(-2.0, 3.0, chain.n)

    def speed(h):
        return kinematics.centre_velocities(chain, theta + h * omega + h * h * alpha / 2, omega + h * alpha)

    slope = (speed(STEP) - speed(-STEP)) / (2 * STEP)
    got = kinematics.centre_accelerations(chain, theta, omega, alpha)
    np.testing.assert_allclose(got, slope, atol=100 * TOLERANCE["difference"])


@given(moving())
def test_energies_are_those_of_an_independent_sum(case):
    chain, theta, omega, _ = case
    kinetic, potential = kinematics.kinetic_energy(chain, theta, omega), kinematics.potential_energy(chain, theta)
    scale = max(1.0, abs(kinetic) + abs(potential))
    assert kinetic + potential == pytest.approx(energy(chain, theta, omega), abs=TOLERANCE["rounding"] * scale)
    assert kinetic == pytest.approx(
        omega @ Mechanics(chain, theta, omega).mass_matrix() @ omega / 2, abs=TOLERANCE["rounding"] * scale
    )
    assert potential == pytest.approx(energy(chain, theta, 0 * omega), abs=TOLERANCE["rounding"] * scale)


def test_potential_energy_is_zero_at_the_pivot_and_counts_springs():
    chain = Chain([Link.point(2.0, 3.0)], [Gravity(10.0), JointSpring(4.0, rest=0.5)])
    assert kinematics.potential_energy(chain, np.array([0.0])) == pytest.approx(-60.0 + 0.5 * 4.0 * 0.25)
    assert kinematics.potential_energy(chain, np.array([math.pi / 2])) == pytest.approx(0.5 * 4.0 * (math.pi / 2 - 0.5) ** 2)


@given(st.data(), st.integers(1, 3))
def test_many_times_at_once(data, count):
    chain = data.draw(chains())
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    theta, omega, alpha = rng.normal(size=(3, count, chain.n))
    for one, many in (
        (lambda k: kinematics.hinges(chain, theta[k]), kinematics.hinges(chain, theta)),
        (lambda k: kinematics.centres(chain, theta[k]), kinematics.centres(chain, theta)),
        (lambda k: kinematics.hinge_velocities(chain, theta[k], omega[k]), kinematics.hinge_velocities(chain, theta, omega)),
        (lambda k: kinematics.centre_velocities(chain, theta[k], omega[k]), kinematics.centre_velocities(chain, theta, omega)),
        (lambda k: kinematics.kinetic_energy(chain, theta[k], omega[k]), kinematics.kinetic_energy(chain, theta, omega)),
        (lambda k: kinematics.potential_energy(chain, theta[k]), kinematics.potential_energy(chain, theta)),
        (lambda k: kinematics.reactions(chain, theta[k], omega[k], alpha[k]), kinematics.reactions(chain, theta, omega, alpha)),
    ):
        np.testing.assert_allclose(many, [one(k) for k in range(count)], rtol=1e-13, atol=1e-13)


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


@given(moving())
def test_every_link_obeys_newton_and_euler(case):
    """Force balance of every link, and the balance of moments about its centre with all loads and hinge reactions."""
    chain, theta, omega, t = case
    alpha = accelerations(chain, theta, omega, t)
    upper = kinematics.reactions(chain, theta, omega, alpha)
    lower = -np.vstack([upper[1:], np.zeros((1, 2))])
    here = Mechanics(chain, theta, omega, t)
    moments, ends, centres = here.joint_moments(), kinematics.hinges(chain, theta), kinematics.centres(chain, theta)
    joint, link = sum(moments.values()), sum(here.link_moments().values())
    tip = sum(here.tip_forces().values())
    acceleration = np.einsum("jix,i->jx", here.centre, alpha) + np.einsum("jix,i->jx", here.bend, omega**2)
    inertial = chain.mass[:, None] * acceleration
    largest = max(1.0, np.abs(inertial).max(), np.abs(joint).max(), np.abs(tip).max(), np.abs(chain.inertia * alpha).max())
    reach = max(1.0, chain.length.max() + np.abs(chain.com).max() + np.abs(chain.offset).max())
    for i in range(chain.n):
        outer = tip if i == chain.n - 1 else np.zeros(2)
        force = upper[i] + lower[i] + sum(F[i] for F in here.centre_forces().values()) + outer
        np.testing.assert_allclose(force, inertial[i], atol=1e-11 * largest * chain.n)
        moment = cross(ends[i] - centres[i], upper[i]) + cross(ends[i + 1] - centres[i], lower[i] + outer)
        moment += joint[i] - (joint[i + 1] if i + 1 < chain.n else 0.0) + link[i]
        assert moment == pytest.approx(chain.inertia[i] * alpha[i], abs=1e-10 * largest * reach * chain.n)


@given(moving())
def test_total_momentum_changes_by_the_outer_forces(case):
    """d/dt sum m v = reaction at the pivot + all outer forces, with the rate of momentum by differences."""
    chain, theta, omega, t = case
    alpha = accelerations(chain, theta, omega, t)

    def momentum(h):
        velocity = kinematics.centre_velocities(chain, theta + h * omega + h * h * alpha / 2, omega + h * alpha)
        return chain.mass @ velocity

    here = Mechanics(chain, theta, omega, t)
    outer = sum(F.sum(0) for F in here.centre_forces().values()) + sum(here.tip_forces().values())
    pivot = kinematics.reactions(chain, theta, omega, alpha)[0]
    change = (momentum(STEP) - momentum(-STEP)) / (2 * STEP)
    scale = 1.0 + np.abs(alpha).max() ** 1.5 + np.abs(omega).max() ** 3
    np.testing.assert_allclose(pivot + outer, change, atol=1e-5 * scale * (1 + chain.mass.sum()))


def test_reactions_of_a_hanging_chain_are_its_weight():
    chain = Chain.uniform(4, mass=2.0, loads=[Gravity(10.0), TipForce(0.0, -3.0)])
    got = formulate(chain).reactions(0.0, 0.0)
    np.testing.assert_allclose(got, [[0, 83], [0, 63], [0, 43], [0, 23]], atol=1e-12)


def test_reaction_of_a_turning_mass_is_centripetal():
    chain = Chain([Link.point(2.0, 3.0)], Gravity(0.0))
    np.testing.assert_allclose(formulate(chain).reactions([math.pi / 2], [5.0]), [[-3.0 * 25.0 * 2.0, 0.0]], atol=1e-12)


def test_reactions_follow_time():
    """A torque that changes in time changes the reactions of the system at that time."""
    chain = Chain.uniform(2).with_loads(JointTorque(lambda t: 4 * t))
    system, fixed = formulate(chain), formulate(Chain.uniform(2).with_loads(JointTorque(2.0)))
    np.testing.assert_allclose(system.reactions([0.3, 0.7], 0.1, 0.5), fixed.reactions([0.3, 0.7], 0.1), rtol=1e-13)
    assert np.abs(system.reactions([0.3, 0.7], 0.1, 0.5) - system.reactions([0.3, 0.7], 0.1, 0.0)).max() > 0.1


def test_forces_of_a_long_random_chain_balance():
    chain, theta, omega = random_chain(30)
    alpha = accelerations(chain, theta, omega, 0.0)
    here = Mechanics(chain, theta, omega)
    outer = sum(F.sum(0) for F in here.centre_forces().values()) + sum(here.tip_forces().values())
    total = chain.mass @ kinematics.centre_accelerations(chain, theta, omega, alpha)
    np.testing.assert_allclose(kinematics.reactions(chain, theta, omega, alpha)[0] + outer, total, atol=1e-9)
