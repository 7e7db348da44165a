"""The contract: every formulation gives the same accelerations, those of an independent derivation by virtual work."""

import math

import numpy as np
import pytest
from helpers import (
    FORMULATIONS,
    OTHERS,
    TOLERANCE,
    Mechanics,
    angles,
    chains,
    energy,
    energy_rate,
    mirrored,
    moving,
    random_chain,
    rates,
    reference,
    relative_difference,
    start_angles,
    torques,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

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
    Momentum,
    Recursive,
    Sine,
    Table,
    TipForce,
    formulate,
    simulate,
)
from nlink.mechanics.moments import LEDGER

each_formulation = pytest.mark.parametrize("formulation", FORMULATIONS)
WORKING = {
    "joint_torque": JointTorque,
    "joint_damper": JointDamper,
    "link_damper": LinkDamper,
    "drag": Drag,
    "follower_force": FollowerForce,
    "tip_force": TipForce,
    **{kind.name: kind for kind in OTHERS if kind.works()},
}


def accelerations(chain, theta, omega, t, formulation):
    return formulate(chain, formulation).accelerations(theta, omega, t)


def powers(system, theta, omega, t):
    y = np.concatenate([system.encode(theta, omega), np.zeros(system.full_size - system.size)])
    return system.rates(t, y)[system.size :]


@each_formulation
@given(moving())
def test_accelerations_are_those_of_virtual_work(formulation, case):
    chain, theta, omega, t = case
    wanted = Mechanics(chain, theta, omega, t).accelerations()
    scale = max(np.max(np.abs(wanted)), 1.0)
    assert np.max(np.abs(accelerations(chain, theta, omega, t, formulation) - wanted)) <= TOLERANCE["agreement"] * scale


@each_formulation
@pytest.mark.parametrize("n", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("seed", range(4))
def test_every_load_at_once_for_any_number_of_links(formulation, n, seed):
    chain, theta, omega = random_chain(n, seed)
    for t in (0.0, 0.31, 0.9, 2.0):
        got = accelerations(chain, theta, omega, t, formulation)
        assert relative_difference(got, Mechanics(chain, theta, omega, t).accelerations()) <= TOLERANCE["agreement"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n", [2, 15, 50])
def test_the_formulations_agree_among_themselves(n, seed):
    chain, theta, omega = random_chain(n, 100 + seed)
    first, *others = (accelerations(chain, theta, omega, 0.4, name) for name in FORMULATIONS)
    assert all(relative_difference(other, first) <= TOLERANCE["agreement"] for other in others)


@pytest.mark.parametrize("shape", ["rod", "point"])
@pytest.mark.parametrize("n", [50, 200])
def test_long_uniform_chains_agree_too(shape, n):
    rng = np.random.default_rng(n)
    theta, omega = rng.uniform(-3, 3, n), rng.uniform(-1, 1, n)
    first, *others = (accelerations(Chain.uniform(n, shape=shape), theta, omega, 0.0, name) for name in FORMULATIONS)
    assert all(relative_difference(other, first) <= TOLERANCE["agreement"] for other in others)


@each_formulation
@pytest.mark.parametrize("name", WORKING)
@given(data=st.data())
def test_power_of_one_load_is_the_rate_of_energy(formulation, name, data):
    """Each load alone, beside gravity and springs: its row of the ledger, the energy's rate, and force times velocity."""
    chain, theta, omega, t = data.draw(moving(only=WORKING[name]))
    system = formulate(chain, formulation)
    got = powers(system, theta, omega, t)
    wanted = Mechanics(chain, theta, omega, t).powers()[name]
    alpha = system.accelerations(theta, omega, t)
    scale = _scale(chain, theta, omega, alpha)
    assert got[LEDGER.index(name)] == pytest.approx(wanted, abs=TOLERANCE["power"] * max(abs(wanted), 1.0))
    assert np.all(np.delete(got, LEDGER.index(name)) == 0)
    assert energy_rate(chain, theta, omega, alpha) == pytest.approx(wanted, abs=TOLERANCE["power"] * scale)


@each_formulation
@given(moving())
def test_power_of_all_loads_is_the_rate_of_energy(formulation, case):
    chain, theta, omega, t = case
    system = formulate(chain, formulation)
    alpha = system.accelerations(theta, omega, t)
    wanted = Mechanics(chain, theta, omega, t).powers()
    got = powers(system, theta, omega, t)
    if len(got):
        np.testing.assert_allclose(
            got, [wanted.get(name, 0.0) for name in LEDGER], rtol=0, atol=TOLERANCE["power"] * _largest(wanted)
        )
    assert system.ledger == [name for name in WORKING if chain.load(WORKING[name])]
    scale = max(_scale(chain, theta, omega, alpha), _largest(wanted))
    assert energy_rate(chain, theta, omega, alpha) == pytest.approx(np.sum(got), abs=TOLERANCE["power"] * scale)


def _largest(values):
    return max(1.0, *(abs(v) for v in values.values()))


def _scale(chain, theta, omega, alpha):
    """Size of the terms whose sum is the rate of energy: momenta times accelerations, summed without signs."""
    reach = chain.length.sum() + np.abs(chain.com).max() + np.abs(chain.offset).max()
    inertia = chain.inertia.sum() + chain.mass.sum() * reach**2
    return max(1.0, inertia * np.abs(omega).max(initial=0.1) * (np.abs(alpha).max() + np.abs(omega).max() ** 2 + 20.0))


@each_formulation
@given(moving())
def test_a_mirrored_chain_moves_mirrored(formulation, case):
    chain, theta, omega, t = case
    here = accelerations(chain, theta, omega, t, formulation)
    there = accelerations(mirrored(chain), -theta, -omega, t, formulation)
    assert np.max(np.abs(here + there)) <= TOLERANCE["agreement"] * max(1.0, np.max(np.abs(here)))


@each_formulation
@given(moving())
def test_full_turns_change_nothing(formulation, case):
    """Turning every link, and a spring's rest angle with the first, by 2 pi."""
    chain, theta, omega, t = case
    spring = chain.load(JointSpring)
    here = accelerations(chain, theta, omega, t, formulation)
    if spring:
        rest = np.broadcast_to(spring.rest, chain.n) + np.where(np.arange(chain.n) == 0, 2 * math.pi, 0.0)
        chain = chain.with_loads(JointSpring(spring.stiffness, rest))
    there = accelerations(chain, theta + 2 * math.pi, omega, t, formulation)
    assert np.max(np.abs(here - there)) <= 100 * TOLERANCE["agreement"] * max(1.0, np.max(np.abs(here)))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@each_formulation
def test_massless_links_with_a_mass_at_the_tip(formulation, n):
    """The exam of the course project: all accelerations are m g l/(I + N m l^2), downwards."""
    m, g, length, inertia = 1.7, 9.81, 0.8, 0.1
    links = [Link(length, 0.0, length / 2, inertia)] * (n - 1) + [Link(length, m, length, inertia)]
    got = accelerations(Chain(links, [Gravity(g)]), [math.pi / 2] * n, [0.0] * n, 0.0, formulation)
    np.testing.assert_allclose(got, -m * g * length / (inertia + n * m * length**2), rtol=1e-12)


@each_formulation
@pytest.mark.parametrize(("angle", "stays"), [(0.0, True), (math.pi, True), (0.1, False)])
@pytest.mark.parametrize("n", [1, 5, 50])
def test_a_straight_vertical_chain_at_rest_stays(formulation, angle, stays, n):
    got = accelerations(Chain.uniform(n), [angle] * n, [0.0] * n, 0.0, formulation)
    assert (np.max(np.abs(got)) < 1e-12) == stays


@each_formulation
def test_one_pendulum(formulation):
    """I theta'' = -m g (d sin theta + b cos theta) with I about the hinge."""
    link = Link(1.0, 2.0, 0.4, 0.3, offset=0.1)
    got = accelerations(Chain([link], [Gravity(9.81)]), [0.7], [3.0], 0.0, formulation)
    wanted = -2.0 * 9.81 * (0.4 * math.sin(0.7) + 0.1 * math.cos(0.7)) / (0.3 + 2.0 * (0.4**2 + 0.1**2))
    np.testing.assert_allclose(got, [wanted], rtol=1e-13)


@each_formulation
def test_two_point_masses_against_the_textbook(formulation):
    """The double pendulum of every textbook, l1 = 1, l2 = 0.5, m1 = 2, m2 = 3."""
    (l1, m1), (l2, m2), g, (a, b), (v, w) = (1.0, 2.0), (0.5, 3.0), 9.81, (0.9, -0.4), (1.1, -2.3)
    d = a - b
    below = 2 * m1 + m2 - m2 * math.cos(2 * d)
    first = -g * (2 * m1 + m2) * math.sin(a) - m2 * g * math.sin(a - 2 * b)
    first -= 2 * math.sin(d) * m2 * (w * w * l2 + v * v * l1 * math.cos(d))
    second = 2 * math.sin(d) * (v * v * l1 * (m1 + m2) + g * (m1 + m2) * math.cos(a) + w * w * l2 * m2 * math.cos(d))
    chain = Chain([Link.point(l1, m1), Link.point(l2, m2)], [Gravity(g)])
    np.testing.assert_allclose(
        accelerations(chain, [a, b], [v, w], 0.0, formulation), [first / (l1 * below), second / (l2 * below)], rtol=1e-12
    )


@each_formulation
@pytest.mark.parametrize(
    ("load", "wanted"),
    [
        (JointTorque([1.0, 0.0]), [1.0, 0.0]),
        (JointTorque([0.0, 1.0]), [-1.0, 1.0]),
        (JointTorque(1.0), [0.0, 1.0]),
        (JointSpring(2.0), [-2.0 * 0.3 + 2.0 * 0.4, -2.0 * 0.4]),
        (JointSpring([2.0, 0.0], rest=[0.1, 5.0]), [-2.0 * 0.2, 0.0]),
        (JointSpring([0.0, 2.0], rest=[5.0, 0.1]), [2.0 * 0.3, -2.0 * 0.3]),
        (JointDamper([1.0, 0.0]), [-2.0, 0.0]),
        (JointDamper([0.0, 1.0]), [-3.0, 3.0]),
        (LinkDamper([1.0, 0.0]), [-2.0, 0.0]),
        (LinkDamper([0.0, 1.0]), [0.0, 1.0]),
    ],
)
def test_signs_of_the_moments(formulation, load, wanted):
    """Links without mass turn freely, each with inertia 1: the acceleration is the moment on it."""
    chain = Chain([Link(1.0, 0.0, 0.5, 1.0)] * 2, [Gravity(0.0), load])
    got = accelerations(chain, [0.3, 0.7], [2.0, -1.0], 0.0, formulation)
    np.testing.assert_allclose(got, wanted, atol=1e-14)


@each_formulation
@pytest.mark.parametrize(
    ("load", "wanted"),
    [
        (TipForce(3.0, 0.0), [3.0 * math.cos(0.3), 3.0 * math.cos(0.7)]),
        (TipForce(0.0, 3.0), [3.0 * math.sin(0.3), 3.0 * math.sin(0.7)]),
        (FollowerForce(3.0), [-3.0 * math.sin(0.7 - 0.3), 0.0]),
    ],
)
def test_signs_of_the_forces_at_the_tip(formulation, load, wanted):
    """Pull to the right or up turns hanging links left; pressing along the last link turns the first one away."""
    chain = Chain([Link(1.0, 0.0, 0.5, 1.0)] * 2, [Gravity(0.0), load])
    np.testing.assert_allclose(accelerations(chain, [0.3, 0.7], [0.0, 0.0], 0.0, formulation), wanted, atol=1e-14)


@each_formulation
def test_drag_of_one_point_mass(formulation):
    """m l theta'' = -(c1 + c2 v) v with v = l omega."""
    chain = Chain([Link.point(2.0, 0.5)], [Gravity(0.0), Drag(0.3, 0.4)])
    for omega in (1.5, -1.5):
        wanted = -(0.3 + 0.4 * abs(2 * omega)) * 2 * omega / (0.5 * 2.0)
        np.testing.assert_allclose(accelerations(chain, [0.4], [omega], 0.0, formulation), [wanted], rtol=1e-13)


@each_formulation
@given(data=st.data())
def test_a_python_torque_equals_the_same_sine_or_table(formulation, data):
    chain = data.draw(chains(only=JointTorque))
    each = data.draw(st.lists(torques(), min_size=chain.n, max_size=chain.n))
    chain = chain.with_loads(JointTorque(each))
    theta, omega = data.draw(angles(chain.n)), data.draw(rates(chain.n))
    times = [*data.draw(st.lists(st.floats(-3, 8), min_size=1, max_size=5)), *_knots(each)]

    def function(t):
        return [_value(torque, t) for torque in each]

    mine, own = formulate(chain.with_loads(JointTorque(function)), formulation), formulate(chain, formulation)
    for t in times:
        np.testing.assert_allclose(mine.accelerations(theta, omega, t), own.accelerations(theta, omega, t), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(powers(mine, theta, omega, t), powers(own, theta, omega, t), rtol=1e-9, atol=1e-9)


def _knots(torques):
    return [t for torque in torques if isinstance(torque, Table) for t in torque.times]


def _value(torque, t):
    if isinstance(torque, Sine):
        return torque.amplitude * math.sin(2 * math.pi * torque.frequency * t + torque.phase)
    return float(np.interp(t, torque.times, torque.values)) if isinstance(torque, Table) else torque


@each_formulation
def test_a_python_torque_may_return_one_number_for_all(formulation):
    chain, theta, omega = random_chain(3)
    one = accelerations(chain.with_loads(JointTorque(lambda t: 2 * t)), theta, omega, 0.5, formulation)
    np.testing.assert_array_equal(one, accelerations(chain.with_loads(JointTorque(1.0)), theta, omega, 0.5, formulation))


def test_a_python_torque_of_the_wrong_shape_is_refused():
    chain = Chain.uniform(3).with_loads(JointTorque(lambda t: [1.0, 2.0]))
    with pytest.raises(ModelError, match=r"must return a number or 3 of them, got \[1\.0, 2\.0\] at t = 0"):
        formulate(chain)


@each_formulation
def test_an_error_in_a_python_torque_reaches_the_caller(formulation):
    def torque(t):
        if t > 1:
            raise ZeroDivisionError("no torque after 1 s")
        return 0.0

    system = formulate(Chain.uniform(2).with_loads(JointTorque(torque)), formulation)
    with pytest.raises(ZeroDivisionError, match="no torque after 1 s"):
        system.accelerations([0.1, 0.2], 0.0, 2.0)
    assert np.all(np.isfinite(system.accelerations([0.1, 0.2], 0.0, 0.5)))


@each_formulation
def test_a_system_is_a_right_hand_side_for_scipy(formulation):
    chain, theta, omega = random_chain(3)
    system = formulate(chain, formulation)
    done = solve_ivp(system, (0.0, 1.0), system.encode(theta, omega), method="DOP853", rtol=1e-11, atol=1e-11)
    angle, rate = system.decode(done.y[:, -1])
    run = simulate(system, theta, omega, t_end=1.0, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run.theta[-1], angle, atol=1e-8)
    np.testing.assert_allclose(run.omega[-1], rate, atol=1e-7)


@each_formulation
@given(moving())
def test_encode_and_decode_are_inverse_and_energy_is_right(formulation, case):
    chain, theta, omega, _ = case
    system = formulate(chain, formulation)
    state = system.encode(theta, omega)
    back = system.decode(state)
    assert state.shape == (system.size,)
    np.testing.assert_allclose(back[0], theta, atol=1e-14)
    np.testing.assert_allclose(back[1], omega, atol=1e-13)
    got = system.energy(state)
    assert got.kinetic >= 0
    assert got.kinetic + got.potential == pytest.approx(energy(chain, theta, omega), abs=1e-10)
    many = system.energy(np.stack([state, 0 * state]))
    assert many.kinetic.shape == (2,)
    assert many.kinetic[0] == pytest.approx(got.kinetic, abs=1e-12)
    assert many.kinetic[1] == 0
    assert system.violation(np.stack([state, state])).tolist() == [0.0, 0.0]


@each_formulation
def test_a_number_serves_every_link(formulation):
    system = formulate(Chain.uniform(3), formulation)
    np.testing.assert_array_equal(system.accelerations(0.5, 0.1), system.accelerations([0.5] * 3, np.full(3, 0.1)))


@each_formulation
def test_evaluating_does_not_touch_its_arguments(formulation):
    chain, theta, omega = random_chain(4)
    system = formulate(chain, formulation)
    state = system.encode(theta, omega)
    kept = theta.copy(), omega.copy(), state.copy()
    system.accelerations(theta, omega)
    system(0.0, state)
    for before, after in zip(kept, (theta, omega, state), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([0.1, 0.2], r"theta has 2 values for 3 links; give one number, or 3"),
        ([0.1, 0.2, math.nan], r"theta\[2\] must be finite, got nan"),
        ([0.1, math.inf, 0.2], r"theta\[1\] must be finite, got inf"),
        ([0.1, "0.2", 0.3], r"theta\[1\] must be a number, or a text like '90 deg' or '90 rad', got '0\.2'"),
        ([0.1, True, 0.3], r"theta\[1\] must be a number, got True"),
        (np.array([True, False, True]), r"theta\[0\] must be a number, got True"),
        ("line", "theta must be a number, or a text like '90 deg' or '90 rad', got 'line'"),
        (None, "theta must be a number, got None"),
        (True, "theta must be a number, got True"),
        (np.zeros((3, 2)), r"theta\[0\] must be a number"),
    ],
)
def test_bad_angles_are_refused(theta, message):
    with pytest.raises(ModelError, match=message):
        formulate(Chain.uniform(3)).accelerations(theta, 0.0)


def test_bad_rates_are_refused_by_name():
    with pytest.raises(ModelError, match=r"omega\[1\] must be finite, got nan"):
        formulate(Chain.uniform(2)).encode(0.0, [0.0, math.nan])


def test_formulations_by_name_and_record():
    chain = Chain.uniform(2)
    assert formulate(chain).formulation == Recursive()
    assert formulate(chain, "Momentum").formulation == Momentum()
    assert formulate(chain, Momentum()).formulation == Momentum()
    assert formulate(chain, Momentum).formulation == Momentum()
    with pytest.raises(ModelError, match=r"formulation must be one of recursive, momentum.* \(did you mean 'recursive'\?\)"):
        formulate(chain, "recursiv")
    with pytest.raises(ModelError, match=r"formulation must be a name \(recursive, momentum.*\) or such a record, got 3"):
        formulate(chain, 3)


@each_formulation
def test_small_oscillations_of_hanging_chains(formulation):
    """The linearised accelerations have the frequencies of Laguerre's zeros (point masses) and of the listed rods."""
    table = reference("hanging")
    for shape in ("point", "rod"):
        for n, squares in table[shape].items():
            system, n, h = formulate(Chain.uniform(int(n), shape=shape), formulation), int(n), 1e-6
            slope = np.array([system.accelerations(h * unit, 0.0) / h for unit in np.eye(n)]).T
            found = np.sort(np.linalg.eigvals(-slope / 9.81).real)
            np.testing.assert_allclose(found, squares, rtol=1e-7)


@each_formulation
def test_the_reference_start_of_three_rods(formulation):
    """At the zig-zag start of three rods the accelerations agree with a hand-written solve."""
    theta = np.array(start_angles("chaotic", 3))
    wanted = Mechanics(Chain.uniform(3), theta, np.zeros(3)).accelerations()
    np.testing.assert_allclose(accelerations(Chain.uniform(3), theta, 0.0, 0.0, formulation), wanted, atol=1e-12)
