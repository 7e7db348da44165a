"""Open mechanisms: trees of links and sliders against an independent mechanics, references, symmetries and balances."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers import chains, relative_difference
from helpers import moving as moving_chain
from hypothesis import given
from hypothesis import strategies as st
from trees import Tree, built, check_powers, mechanisms, motions, moving, slope, table

from nlink import (
    GROUND,
    At,
    Chain,
    Drag,
    Event,
    Flip,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    Mechanism,
    ModelError,
    PointForce,
    PointSpring,
    Ramp,
    Sine,
    Slider,
    Spline,
    Table,
    TipForce,
    formulate,
    simulate,
)
from nlink.mechanics import kinematics
from nlink.mechanics.motions import knots_of, motion_at

ROD = Link.rod(1.0, 1.0)
CART = Mechanism([Slider(2.0), ROD, Link.rod(0.8, 0.6)])


# Equations of motion -------------------------------------------------------------------------------------------------


@given(moving())
def test_accelerations_are_those_of_virtual_work(case):
    model, q, v, t = case
    found, expected = formulate(model).accelerations(q, v, t), Tree(model, q, v, t).accelerations()
    assert np.abs(found - expected).max() <= 1e-8 * (1.0 + np.abs(expected).max())


@given(moving())
def test_powers_are_those_of_virtual_work_and_change_the_energy(case):
    here = Tree(*case)
    check_powers(here, abs(here.drive_power()))


@given(moving())
def test_kinematics_are_those_of_independent_places(case):
    model, q, v, t = case
    here, a = Tree(model, q, v, t), np.linspace(-2.0, 3.0, model.n)

    def along(function: Any) -> Any:
        return slope(lambda s: function(q + s * v + s * s * a / 2, v + s * a))

    place = here.place(q)
    np.testing.assert_allclose(kinematics.centres(model, q), place[:, :2], atol=1e-12)
    np.testing.assert_allclose(kinematics.centre_velocities(model, q, v), here.moved(q, v)[:, :2], atol=1e-11)
    np.testing.assert_allclose(kinematics.hinge_velocities(model, q, v), along(lambda q, _: kinematics.hinges(model, q)), atol=1e-8)
    np.testing.assert_allclose(
        kinematics.centre_accelerations(model, q, v, a), along(lambda q, v: here.moved(q, v)[:, :2]), atol=1e-7
    )
    energy, size = sum(kinematics.energies(model, q, v)), 1.0 + np.abs(model.mass).sum() * 100
    assert energy == pytest.approx(here.energy(q, v), abs=1e-9 * size)
    momentum, turning = kinematics.momentum(model, q, v), kinematics.angular_momentum(model, q, v)
    moved = here.moved(q, v)
    np.testing.assert_allclose(momentum, model.mass @ moved[:, :2], atol=1e-10 * size)
    spin = model.mass @ (place[:, 0] * moved[:, 1] - place[:, 1] * moved[:, 0]) + model.inertia @ moved[:, 2]
    assert turning == pytest.approx(spin, abs=1e-10 * size)


def test_many_times_at_once():
    model, rng = CART.with_loads(Drag(0.1, 0.2), PointSpring(At(1), (1.0, 1.0), 3.0, 0.5, 0.2)), np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 4, model.n))
    for function, given_values in (
        (kinematics.hinges, (q,)),
        (kinematics.centres, (q,)),
        (kinematics.hinge_velocities, (q, v)),
        (kinematics.energies, (q, v)),
        (kinematics.reactions, (q, v, a)),
        (kinematics.momentum, (q, v)),
        (kinematics.angular_momentum, (q, v)),
    ):
        one = [function(model, *(values[k] for values in given_values)) for k in range(len(q))]
        np.testing.assert_allclose(
            np.moveaxis(np.asarray(function(model, *given_values)), 0, 0 if function is not kinematics.energies else -1),
            one,
            rtol=1e-12,
        )


@given(moving())
def test_every_body_obeys_newton_and_the_ground_carries_all(case):
    """The force at the joint of each body balances its mass times acceleration, the loads on it and the joints of its children."""
    model, q, v, t = case
    a = formulate(model).accelerations(q, v, t)
    force = formulate(model).reactions(q, v, t)
    here = Tree(model, q, v, t)
    step = 4e-3 / max(1.0, math.sqrt(np.abs(a).max()) / 3)  # light bodies turn far within a longer one
    moved = slope(lambda s: here.moved(q + s * v + s * s * a / 2, v + s * a), step)[:, :2]
    outer = kinematics.forces(model, q, v)
    J = here.jacobian()[:, :2]
    work = sum(value for name, value in here.generalised().items() if name in ("gravity", "drag"))
    scale = 1.0 + np.abs(moved).max() * (1 + model.mass.sum()) + np.abs(outer).max()
    for i in range(model.n):
        children = np.flatnonzero(model.parents == i)
        balance = force[i] - force[children].sum(0) + outer[i] - model.mass[i] * moved[i]
        np.testing.assert_allclose(balance, 0.0, atol=1e-7 * scale)
    if not any(load.moves or load.several for load in model.loads if not isinstance(load, Drag)):
        np.testing.assert_allclose(np.einsum("jx,jxi->i", outer, J), work, atol=1e-9 * scale)


@given(moving(driven=False))
def test_the_mirror_image_moves_as_the_mirror_image(case):
    model, q, v, _ = case
    if any(not load.symmetric for load in model.loads if not isinstance(load, JointSpring)) or model.load(JointTorque):
        model = replace(model, loads=(Gravity(9.81), Drag(0.2, 0.3), JointDamper(0.4)))
    model = replace(
        model, loads=tuple(load for load in model.loads if not isinstance(load, JointSpring | PointForce | PointSpring))
    )
    other = Mechanism([mirrored(body, model, i) for i, body in enumerate(model.links)], model.loads)
    a, b = formulate(model).accelerations(q, v), formulate(other).accelerations(-q, -v)
    assert np.abs(a + b).max() <= 1e-9 * (1 + np.abs(a).max())


def mirrored(body: Any, model: Mechanism, i: int) -> Any:
    """Return a body of the mirror image in the y axis, whose coordinates are the opposite ones."""
    at = body.at
    if isinstance(at, tuple):
        at = (-at[0], at[1]) if model.parents[i] == GROUND else (at[0], -at[1])
    turned = replace(body, offset=-body.offset, at=at)
    return replace(turned, direction=-body.direction) if isinstance(body, Slider) else turned


@given(moving(), st.floats(-5, 5), st.floats(-5, 5))
def test_moved_as_a_whole_it_moves_the_same(case, x, y):
    model, q, v, t = case
    loads = [load for load in model.loads if not load.several]
    here = replace(model, loads=tuple(loads))

    def shifted(i: int, body: Any) -> Any:
        if here.parents[i] != GROUND:
            return body
        at = body.at or (0.0, 0.0)
        return replace(body, at=(at[0] + x, at[1] + y), parent=GROUND)

    there = replace(here, links=tuple(shifted(i, body) for i, body in enumerate(here.links)))
    a, b = formulate(here).accelerations(q, v, t), formulate(there).accelerations(q, v, t)
    assert np.abs(a - b).max() <= 1e-10 * (1 + np.abs(a).max())


@given(moving(), st.randoms(use_true_random=False))
def test_bodies_in_another_order_move_the_same(case, random):
    model, q, v, t = case
    model = replace(model, loads=(Gravity(9.81), Drag(0.1, 0.2), LinkDamper(0.1)))
    order: list[int] = []
    while len(order) < model.n:
        ready = [i for i in range(model.n) if i not in order and (model.parents[i] == GROUND or model.parents[i] in order)]
        order.append(random.choice(ready))
    where = {old: new for new, old in enumerate(order)} | {GROUND: GROUND}
    other = Mechanism([replace(model.links[i], parent=where[int(model.parents[i])]) for i in order], model.loads)
    a, b = formulate(model).accelerations(q, v, t), formulate(other).accelerations(q[order], v[order], t)
    assert np.abs(a[order] - b).max() <= 1e-8 * (1 + np.abs(a).max())


# A mechanism that is a chain -----------------------------------------------------------------------------------------


def as_mechanism(chain: Chain) -> Mechanism:
    links = [link if i % 2 else link.on(i - 1, None if i == 0 else chain.links[i - 1].length) for i, link in enumerate(chain.links)]
    return Mechanism(links, chain.loads)


@given(chains())
def test_a_mechanism_that_is_a_chain_becomes_it(chain):
    assert as_mechanism(chain).as_chain() == chain
    assert formulate(as_mechanism(chain)).chain == chain


def test_a_mechanism_that_is_a_chain_has_its_rates_to_the_last_bit():
    chain = Chain.uniform(3, loads=[JointDamper(0.1), TipForce(1.0, 0.0)])
    mine, other = (formulate(model) for model in (as_mechanism(chain), chain))
    assert mine.formulation == other.formulation
    state = np.array([1.0, 2.0, 0.5, 0.3, -1.0, 2.0])
    np.testing.assert_array_equal(mine(0.0, state), other(0.0, state))


@pytest.mark.parametrize(
    "model",
    [
        Mechanism([ROD, ROD.on(0, 0.5)]),
        Mechanism([ROD, ROD.on(GROUND, (1.0, 0.0))]),
        Mechanism([Slider(1.0), ROD]),
        Mechanism([ROD.with_motion(Ramp(0.0, 1.0)), ROD]),
        Mechanism([ROD, ROD], [TipForce(1.0, 0.0, link=0)]),
        Mechanism([ROD, ROD], [PointForce(At(0), 1.0, 0.0)]),
        Mechanism([ROD.on(GROUND, (0.0, 1.0)), ROD]),
    ],
)
def test_what_is_no_chain_stays_a_mechanism(model):
    assert model.as_chain() is None


@given(moving_chain())
def test_a_chain_hung_a_metre_higher_moves_as_the_chain(case):
    """The sweep over trees against that over chains: the pivot is not at the origin, so that it is no chain."""
    chain, theta, omega, t = case
    tree = Mechanism([chain.links[0].on(GROUND, (0.0, 1.0)), *chain.links[1:]], chain.loads)
    assert (
        relative_difference(formulate(tree).accelerations(theta, omega, t), formulate(chain).accelerations(theta, omega, t)) <= 1e-9
    )


# References ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "floors"),
    [
        ("cart_double", {"1": 1e-11, "2": 1e-10, "5": 1e-9}),
        ("tree_y5", {"1": 1e-11, "2": 1e-11, "5": 1e-10, "10": 1e-9}),
        ("kapitza_rod", {"0.05": 1e-11, "0.5": 1e-10, "2": 1e-10}),
        ("floating_3", {"1": 1e-11, "2": 1e-11, "5": 1e-10}),
    ],
)
@pytest.mark.parametrize("integrator", [None, "DOP853"])
def test_references(name, floors, integrator):
    """By the default, Taylor, and by DOP853: positions and rates at 1e-13; the motions amplify rounding, by up to a million."""
    model, q, v = built(name)
    data, system = table(name), formulate(model)
    assert np.abs(system.accelerations(q, v) - np.array(data["initial"]["acceleration"], float)).max() <= 1e-13
    kinetic, potential = system.energy(system.encode(q, v))
    assert (kinetic, potential) == pytest.approx(
        (float(data["initial"]["kinetic"]), float(data["initial"]["potential"])), abs=1e-13
    )
    times = [float(t) for t in floors]
    run = simulate(model, q, v, t_end=times[-1], save=[0.0, *times], rtol=1e-13, atol=1e-13, integrator=integrator)
    assert np.abs(run.energy().residual).max() <= 1e-11
    for k, (t, floor) in enumerate(floors.items(), 1):
        expected = data["results"][t]
        for found, key in ((run.theta, "q"), (run.omega, "rate"), (run.alpha, "acceleration")):
            scale = max(1.0, np.abs(np.array(expected[key], float)).max())
            assert np.abs(found[k] - np.array(expected[key], float)).max() <= floor * scale, (t, key)


@pytest.mark.parametrize("amplitude", ["0.01", "0.5", "1", "2", "3"])
def test_period_of_a_cart_pendulum(amplitude):
    """From rest to rest on the other side, and back."""
    data = table("cart_pendulum_period")
    model = Mechanism([Slider(2.0), Link.point(1.0, 1.0)])
    period = float(data["period_by_amplitude_rad"][amplitude])
    back = Event(lambda t, q, v: v[1], direction=-1)
    run = simulate(model, [0.0, float(amplitude)], t_end=1.5 * period, rtol=1e-13, atol=1e-13, events=back)
    assert run.events[0].t == pytest.approx(period, abs=1e-10)
    np.testing.assert_allclose(run.momentum()[:, 0], 0.0, atol=1e-11)


def test_a_floating_chain_keeps_its_momenta():
    model, q, v = built("floating_3")
    run = simulate(model, q, v, t_end=10.0, rtol=1e-13, atol=1e-13)
    for values in (run.momentum(), run.angular_momentum()):
        assert np.abs(values - values[0]).max() <= 1e-9
    system = formulate(model)
    for theta, omega in zip(run.theta[::100], run.omega[::100], strict=True):
        a = system.accelerations(theta, omega)
        pull = model.mass @ kinematics.centre_accelerations(model, theta, omega, a)
        assert np.abs(pull).max() <= 1e-13 * model.mass.sum() * (1 + np.abs(a).max())
        turn = slope(lambda s, q=theta, v=omega, a=a: kinematics.angular_momentum(model, q + s * v + s * s * a / 2, v + s * a))
        assert abs(turn) <= 1e-9 * (1 + np.abs(a).max())


# Prescribed motions --------------------------------------------------------------------------------------------------


@given(motions(), st.lists(st.floats(-3, 7), min_size=1, max_size=4))
def test_motions_are_twice_differentiable_and_the_same_in_compiled_code(motion, times):
    """What is drawn and started from is what the compiled code uses: several splines too."""
    model = Mechanism([Slider(motion=motion), ROD])
    system = formulate(model)
    for t in times:
        q, v, a = (float(value) for value in motion_at(model.links[0].motion, np.array(t)))
        rates = system(t, np.zeros(4))
        np.testing.assert_allclose((rates[0], rates[2]), (v, a), atol=1e-9 * (1 + abs(v) + abs(a)))
        if all(abs(t - knot) > 0.02 for knot in knots_of(model.links[0].motion)):
            around = slope(lambda s, t=t: np.array(motion_at(model.links[0].motion, np.array(t + s))[:2]))
            np.testing.assert_allclose(around, (v, a), atol=1e-5 * (1 + abs(q) + abs(v) + abs(a)))


def test_a_spline_goes_through_its_points_and_on_in_straight_lines():
    spline = Spline([0.0, 1.0, 1.5, 3.0], [0.0, 2.0, -1.0, 0.5])
    q, v, a = motion_at(spline, np.array([0.0, 1.0, 1.5, 3.0, -1.0, -2.0, 4.0, 5.0]))
    np.testing.assert_allclose(q[:4], spline.values, atol=1e-14)
    np.testing.assert_allclose(a[[0, 3, 4, 5, 6, 7]], 0.0, atol=1e-14)
    assert (q[5] - q[4], q[7] - q[6]) == pytest.approx((-v[0], v[3]))


def test_the_start_of_a_prescribed_joint_is_that_of_its_motion():
    model = Mechanism([Slider(motion=(Sine(0.1, 2.0, 0.3), Ramp(0.5, 0.2))), ROD])
    run = simulate(model, [7.0, 1.0], [8.0, 0.0], t_end=1.0, rtol=1e-11, atol=1e-11)
    q, v, a = motion_at(model.links[0].motion, run.t)
    np.testing.assert_array_equal(run.theta[:, 0], q)
    np.testing.assert_array_equal(run.omega[:, 0], v)
    np.testing.assert_allclose(run.alpha[:, 0], a, atol=1e-12)
    np.testing.assert_array_equal(run.theta, simulate(model, 1.0, 0.0, t_end=1.0, rtol=1e-11, atol=1e-11).theta)
    assert np.abs(run.energy().residual).max() <= 1e-8


def test_the_work_of_a_drive_by_hand():
    """A rod turned at a constant rate: its drive lifts it. A driven cart: its drive gives all of its energy."""
    tight: Any = {"t_end": 1.0, "rtol": 1e-11, "atol": 1e-11}
    turned = simulate(Mechanism([ROD.with_motion(Ramp(0.0, 2.0)), Link.point(1.0, 1.0).on(GROUND, (3.0, 0.0))]), 0.0, **tight)
    np.testing.assert_allclose(turned.work["motion"], 9.81 * 0.5 * (1 - np.cos(2 * turned.t)), atol=1e-9)
    pushed = simulate(Mechanism([Slider(3.0, motion=Sine(0.2, 1.0))]), 0.0, **tight)
    np.testing.assert_allclose(pushed.work["motion"], pushed.kinetic - pushed.kinetic[0], atol=1e-9)


def test_steps_end_at_the_knots_of_splines():
    model = Mechanism([Slider(motion=Spline([0.0, 0.31, 0.77], [0.0, 1.0, 0.0])), ROD])
    assert formulate(model).breaks().tolist() == [0.0, 0.31, 0.77]
    run = simulate(model, [0.0, 0.3], t_end=1.0, save=1.0)
    assert {0.31, 0.77} <= set(run.knots.t.tolist())


# Runs ----------------------------------------------------------------------------------------------------------------


def test_resumed_runs_are_the_same_to_the_last_bit():
    model = CART.with_loads(JointDamper(0.1), PointSpring(At(2), (1.0, 0.0), 5.0, 0.3))
    whole = simulate(model, [0.1, 2.0, 1.0], t_end=2.0, integrator="RK4(step=0.01)")
    part = simulate(model, [0.1, 2.0, 1.0], t_end=0.73, integrator="RK4(step=0.01)").resume(2.0)
    for name in ("t", "theta", "omega", "alpha", "kinetic", "potential"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name), err_msg=name)
    np.testing.assert_array_equal(part.checkpoint.state, whole.checkpoint.state)


def test_saved_times_do_not_change_the_motion():
    model, q, v = built("cart_double")
    ends = [simulate(model, q, v, t_end=1.0, save=save).theta[-1] for save in (0.01, 0.3, [0.0, 1.0])]
    np.testing.assert_array_equal(ends[0], ends[2])
    on_the_way = [simulate(model, q, v, t_end=1.0, save=save).theta[k] for save, k in ((0.1, 6), (0.2, 3))]
    np.testing.assert_array_equal(on_the_way[0], on_the_way[1])
    at, saved = (simulate(model, q, v, t_end=1.0, save=save, integrator="DOP853") for save in (0.25, 0.1))
    np.testing.assert_allclose(at.at([0.6]).theta[0], saved.theta[6], atol=1e-7)


def test_sliders_do_not_turn_over():
    """A cart that goes through 3.14 m has not flipped; the rod on it has."""
    model = Mechanism([Slider(1.0), ROD])
    run = simulate(model, [3.0, 0.0], [2.0, 12.0], t_end=0.5, events=Flip())
    assert run.theta[-1, 0] > math.pi
    assert {event.info["link"] for event in run.events} == {1}
    with pytest.raises(ModelError, match=r"Flip.link must be a link, got 0, a slider"):
        simulate(model, 0.0, t_end=0.1, events=Flip(0))


def test_a_slider_far_away_is_as_exact_as_its_displacement():
    run = simulate(Mechanism([Slider(2.0), ROD]), [1e6, 1.0], t_end=5.0, rtol=1e-12, atol=1e-12)
    near = simulate(Mechanism([Slider(2.0), ROD]), [0.0, 1.0], t_end=5.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.theta[:, 1], near.theta[:, 1], atol=1e-9)


def test_torques_of_a_function_act_at_joints_and_along_slides():
    """A controller that gets coordinates and rates: a spring at each joint is the same as JointSpring."""

    def spring(t, q, v):
        return -3.0 * np.array([q[0], q[1], q[2] - q[1]]) - 0.2 * np.array([v[0], v[1], v[2] - v[1]])

    mine, other = (CART.with_loads(*loads) for loads in ([JointTorque(spring)], [JointSpring(3.0), JointDamper(0.2)]))
    a, b = (formulate(model).accelerations([0.3, 1.0, 2.0], [1.0, -1.0, 0.5]) for model in (mine, other))
    np.testing.assert_allclose(a, b, rtol=1e-12)


# Records and refusals ------------------------------------------------------------------------------------------------


@given(mechanisms())
def test_a_mechanism_says_what_it_is(model):
    links = sum(isinstance(body, Link) for body in model.links)
    assert repr(model).startswith("<Mechanism of ")
    assert (f"{links} link" in repr(model)) == (links > 0)
    assert eval(repr(model.links[-1])) == model.links[-1]


def test_floating_links_have_no_load_on_their_sliders():
    """What is given once at joints acts between links, and what is given for links acts on links alone."""
    loads = [Gravity(0.0), JointSpring(2.0), JointDamper(0.1), LinkDamper(0.3), Drag(0.5, 0.1), JointTorque(1.5)]
    model = Mechanism.floating([ROD] * 3, loads)
    for kind, name, expected in (
        (JointSpring, "stiffness", (0, 0, 0, 2, 2)),
        (JointDamper, "damping", (0, 0, 0, 0.1, 0.1)),
        (LinkDamper, "damping", (0, 0, 0.3, 0.3, 0.3)),
        (Drag, "linear", (0, 0, 0.5, 0.5, 0.5)),
        (Drag, "quadratic", (0, 0, 0.1, 0.1, 0.1)),
        (JointTorque, "torque", (0, 0, 0, 1.5, 1.5)),
    ):
        assert getattr(model.load(kind), name) == expected
    listed = Mechanism.floating([ROD] * 3, [JointDamper([1.0, 2.0, 3.0]), TipForce(1.0, 0.0)])
    assert listed.load(JointDamper).damping == (0.0, 0.0, 1.0, 2.0, 3.0)
    inner = Mechanism.floating([ROD] * 3, [Gravity(0.0), JointTorque(1.5), JointSpring(2.0)])
    a, v = formulate(inner).accelerations([0, 0, 0.3, 0.7, 1.9], np.zeros(5)), np.zeros(5)
    pull = inner.mass @ kinematics.centre_accelerations(inner, np.array([0, 0, 0.3, 0.7, 1.9]), v, a)
    np.testing.assert_allclose(pull, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mechanism([ROD.on(1), ROD]), r"links\[0\].parent must be GROUND \(-1\), got 1: it is the first body"),
        (lambda: Mechanism([ROD, ROD.on(1)]), r"links\[1\].parent must be a body listed before it, 0 to 0, or GROUND"),
        (lambda: Mechanism([ROD, ROD.on(2), ROD.on(1)]), r"list parents before their children, and close a loop by a Pin"),
        (lambda: Mechanism([ROD, ROD.on(0, 1.5)]), r"links\[1\].at is a point off its link: 1.5 m along link 0, which is 1 m long"),
        (lambda: Mechanism([ROD, ROD.on(0, -0.1)]), r"take a place on it, a longer link, or one beside its axis"),
        (lambda: Mechanism([ROD.on(GROUND, 0.5)]), r"links\[0\].at must be \(x, y\) in m on the ground, got 0.5"),
        (lambda: ROD.on(0, (1.0, 2.0, 3.0)), r"Link.at must be a distance along the parent, or \(along, left\)"),
        (lambda: ROD.on(-2), r"Link.parent must be"),
        (lambda: Mechanism([]), r"Mechanism.links must not be empty"),
        (lambda: Mechanism([ROD, "rod"]), r"Mechanism.links\[1\] must be a Link or Slider, got 'rod'"),
        (lambda: Mechanism([ROD], pins=[3]), r"Mechanism.pins\[0\] must be one of Pin, Guide, Distance, Gear, got 3"),
        (lambda: Mechanism([ROD], [PointForce(At(3), 1.0, 0.0)]), r"PointForce\[0\].point.link must be a body .*, 0 to 0, got 3"),
        (lambda: Mechanism([ROD], [PointSpring(At(0, 2.0), (0.0, 0.0), 1.0, 1.0)]), r"PointSpring\[0\].a is a point off its link"),
        (lambda: Mechanism([ROD], [TipForce(1.0, 0.0, link=1)]), r"TipForce.link must be a body of the mechanism, 0 to 0, got 1"),
        (lambda: Mechanism([ROD] * 2, [JointDamper([1.0])]), r"JointDamper.damping"),
        (lambda: Slider(motion=Table([0.0, 1.0], [0.0, 1.0])), r"motion must not be a Table: its corners .*; use Spline"),
        (lambda: Slider(motion=[]), r"Slider.motion must not be an empty list"),
        (lambda: Slider(motion=3.0), r"Slider.motion must be a Sine, a Ramp, a Spline, or a list of these, got 3.0"),
        (lambda: Spline([0.0], [1.0]), r"Spline.times needs at least two times"),
        (lambda: Spline([0.0, 1.0], [1.0]), r"Spline.values must be as long as Spline.times \(2\), got 1"),
        (lambda: Spline([0.0, 0.0], [1.0, 2.0]), r"Spline.times must increase, got 0 then 0 at \[1\]"),
        (lambda: Chain([ROD, ROD.on(0, 0.5)]), r"Chain.links\[1\] has a parent, a place .*; a chain takes none, use Mechanism"),
        (lambda: Chain([Slider(1.0)]), r"Chain.links\[0\] must be a Link, got .*; use Mechanism"),
        (lambda: Chain([ROD], [PointForce(At(0), 1.0, 0.0)]), r"for springs and forces at points use Mechanism"),
    ],
)  # fmt: skip
def test_refused_in_words(make, words):
    with pytest.raises(ModelError, match=words):
        make()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Mechanism([Slider()]), r"links\[0\] makes the mass .* resists this slider along"),
        (Mechanism([ROD, Link(1.0, 0.0, 0.5, 0.0).on(0, 0.5)]), r"nothing with mass resists this link about its joint"),
        (Mechanism([Link(1.0, 0.0, 0.5, 0.0), Link.point(1.0, 1.0)]), r"links\[0\] makes the mass matrix singular"),
        (Mechanism([Slider(), Slider(1.0).on(0)]), r"singular"),
        (Mechanism([Slider(), Link.point(1.0, 1.0)]), r"links\[0\] makes the mass matrix singular: in some configuration"),
        (Mechanism.floating([Link.point(1.0, 1.0)]), r"singular"),
        (Mechanism([Link(1.0, 0.0, 0.5, 0.0), Link(1.0, 0.0, 0.5, 1.0).with_motion(Ramp(0.0, 1.0))]), r"singular"),
    ],
)  # fmt: skip
def test_massless_bodies_that_nothing_resists_are_refused_to_move(model, words):
    with pytest.raises(ModelError, match=words):
        formulate(model)


@pytest.mark.parametrize(
    "model",
    [
        Mechanism([Slider(), ROD]),
        Mechanism([Slider(), Slider(direction=math.pi / 2), ROD]),
        Mechanism([Slider(), Slider(2.0, direction=1.0).on(0)]),
        Mechanism([Link(1.0, 0.0, 0.5, 0.0), Slider(1.0, direction=0.3), ROD]),
        Mechanism([Slider(motion=Ramp(0.0, 1.0)), Slider(motion=Ramp(0.0, 1.0)).on(0)]),
    ],
)
def test_massless_bodies_that_carry_something_heavy_are_taken(model):
    assert np.isfinite(formulate(model).accelerations(np.full(model.n, 0.3), 0.1)).all()
