"""simulate(): the reference motions, the energy ledger, going on after a stop bit for bit, and every way a run can end."""

import math
import os
import signal
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from helpers import (
    COMPILED,
    FIXED,
    FORMULATIONS,
    INTEGRATORS,
    OF_FUNCTIONS,
    TOLERANCE,
    random_chain,
    reference,
    settings,
    start_angles,
    torques_at,
    worked,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import nlink
from nlink import (
    Chain,
    Drag,
    Event,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    Mechanism,
    ModelError,
    SimulationError,
    Sine,
    Slider,
    Table,
    TipForce,
    formulate,
    preset,
    simulate,
)
from nlink._support.interrupt import Interrupt
from nlink.integrators.save_times import save_times
from nlink.simulation import balance, knots

each_formulation = pytest.mark.parametrize("formulation", FORMULATIONS)
SERIES = ("t", "theta", "omega", "alpha", "kinetic", "potential")


def same(a, b):
    """Assert that two runs hold the same numbers to the last bit."""
    for name in SERIES:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.work.keys() == b.work.keys()
    for name in a.work:
        np.testing.assert_array_equal(a.work[name], b.work[name], err_msg=name)


# References -----------------------------------------------------------------------------------------------------------

RODS = reference("uniform_rods")["cases"]


def reference_run(case, tolerance, formulation):
    chain = Chain.uniform(case["n"])
    times = [value["t"] for value in case["values"]]
    theta = start_angles(case["start"], case["n"])
    return simulate(chain, theta, t_end=20.0, rtol=tolerance, atol=tolerance, formulation=formulation, save=times)


@each_formulation
@pytest.mark.parametrize("name", RODS)
def test_rods_at_1e_12(name, formulation):
    """Nice starts to 1e-9 at every time; chaotic ones within max(2e-9, 1000 x the double-precision floor) to 5 s."""
    case = RODS[name]
    run = reference_run(case, 1e-12, formulation)
    for theta, omega, value in zip(run.theta, run.omega, case["values"], strict=True):
        if case["start"] == "nice":
            within = TOLERANCE["nice"]
        elif value["t"] <= 5:
            within = max(2e-9, 1000 * (value["floor"] or 1e-12))
        else:
            continue
        assert np.max(np.abs(theta - value["theta"])) <= within, value["t"]
        assert np.max(np.abs(omega - value["omega"])) <= 30 * within, value["t"]


@each_formulation
@pytest.mark.parametrize("name", RODS)
def test_rods_at_the_tightest_tolerance(name, formulation):
    """Within max(1e-9, 1000 x floor) wherever the floor is below 1e-6."""
    case = RODS[name]
    run = reference_run(case, 1e-14, formulation)
    compared = 0
    for theta, value in zip(run.theta, case["values"], strict=True):
        floor = value["floor"] or 1e-12
        if floor < 1e-6:
            assert np.max(np.abs(theta - value["theta"])) <= max(1e-9, 1000 * floor), value["t"]
            compared += 1
    assert compared >= 6


@each_formulation
def test_the_pendulum_of_iftomm(formulation):
    table = reference("pendulum")
    times = [value["t"] for value in table["values"]]
    chain = Chain.uniform(1, shape="point")
    run = simulate(chain, math.pi / 2, t_end=10.0, rtol=1e-13, atol=1e-13, save=times, formulation=formulation)
    np.testing.assert_allclose(run.positions()[:, 1], [[value["x"], value["y"]] for value in table["values"]], atol=1e-10)


@each_formulation
def test_massless_links_stay_in_line(formulation):
    """Inertia in proportion to length on every link, mass at the tip only: the straight chain swings as one pendulum."""
    table = reference("massless")
    alpha, m, lengths = table["alpha"], table["mass"], table["length"]
    links = [Link(length, 0.0, length / 2, alpha * m * length) for length in lengths[:-1]]
    links.append(Link(lengths[-1], m, lengths[-1], alpha * m * lengths[-1]))
    times = [value["t"] for value in table["values"]]
    run = simulate(
        Chain(links, [Gravity(9.81)]), table["theta0"], t_end=3.0, rtol=1e-12, atol=1e-12, save=times, formulation=formulation
    )
    np.testing.assert_allclose(run.theta, [[value["theta"]] * 3 for value in table["values"]], atol=1e-9)


@each_formulation
def test_the_double_pendulum_with_an_offset_centre(formulation):
    table, scenario = reference("offaxis"), preset("offaxis-double")
    times = [value["t"] for value in table["values"]]
    run = simulate(
        scenario.chain, scenario.theta, scenario.omega, t_end=1.5, rtol=1e-13, atol=1e-13, save=times, formulation=formulation
    )
    np.testing.assert_allclose(run.theta, [np.add(value["angle"], math.pi / 2) for value in table["values"]], atol=1e-9)
    np.testing.assert_allclose(run.omega, [value["omega"] for value in table["values"]], atol=1e-8)


@pytest.mark.parametrize("shape", ["point", "rod"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_small_oscillations_in_the_lowest_mode(shape, n):
    """Started in its lowest mode by the eigenvector of M, K, a hanging chain repeats after 2 pi/omega_1."""
    square = reference("hanging")[shape][str(n)][0] * 9.81
    chain, period = Chain.uniform(n, shape=shape), 2 * math.pi / math.sqrt(square)
    system, h = formulate(chain), 1e-6
    slope = np.array([system.accelerations(h * unit, 0.0) / h for unit in np.eye(n)]).T
    values, vectors = np.linalg.eig(slope)
    mode = vectors[:, np.argmax(values.real)].real
    run = simulate(chain, 1e-5 * mode, t_end=period, rtol=1e-12, atol=1e-17, save=(period / 4, period / 2, period))
    np.testing.assert_allclose(run.theta[0], 0.0, atol=1e-10)
    np.testing.assert_allclose(run.theta[1], -1e-5 * mode, atol=1e-10)
    np.testing.assert_allclose(run.theta[2], 1e-5 * mode, atol=1e-10)


def test_a_heavy_tip_swings_like_one_pendulum():
    """Four rods and a mass of 100 at the tip stay within 0.1 rad of a simple pendulum of length 5 for 20 s."""
    run = preset("heavy-tip-5").run()
    one = simulate(Chain([Link.point(5.0, 100.0)], [Gravity(9.81)]), math.pi / 4, t_end=20.0)
    assert run.t[-1] == 20.0
    np.testing.assert_array_equal(run.t, one.t)
    assert np.max(np.abs(run.theta - one.theta)) < 0.1
    assert np.max(np.abs(run.theta)) > 0.7


def test_the_massless_preset_stays_in_line():
    run = preset("massless-3").run()
    assert np.max(np.abs(run.theta - run.theta[:, :1])) < 1e-6
    np.testing.assert_allclose(np.abs(run.alpha[0]), 9.81 / (0.1 + 3.0), rtol=1e-12)


def test_friction_calms_a_chain():
    """40 s of joint friction take nearly all the energy of the zig-zag, and never give any back."""
    run = preset("chaotic-3-springs-friction").run()
    energy = run.energy()
    assert run.t[-1] == 40.0
    assert np.all(np.diff(energy.work["joint_damper"]) <= 0)
    assert np.max(energy.kinetic[-200:]) < 0.05 * np.max(energy.kinetic)
    assert np.max(np.abs(run.theta[-200:])) < 0.3
    assert np.max(np.abs(energy.residual)) < 1e-6


# Energy ---------------------------------------------------------------------------------------------------------------

LOADS = {
    "none": (),
    "springs": (JointSpring([1.0, 2.0], rest=[0.1, -0.2]),),
    "torque": (JointTorque([1.0, -0.5]),),
    "sine": (JointTorque(Sine(2.0, 0.7, 0.4)),),
    "table": (JointTorque([Table([0.2, 0.9, 1.3], [0.0, 3.0, -1.0]), 0.3]),),
    "function": (JointTorque(lambda t: math.cos(3 * t)),),
    "joint damper": (JointDamper([0.3, 0.2]),),
    "link damper": (LinkDamper([0.1, 0.2]),),
    "drag": (Drag([0.1, 0.2], 0.1),),
    "follower": (FollowerForce(3.0),),
    "tip force": (TipForce(1.0, 2.0),),
    "all": (JointSpring(1.0), JointTorque(Sine(2.0, 0.7)), JointDamper(0.3), LinkDamper(0.1), Drag(0.1, 0.1), FollowerForce(1.0)),
}


@pytest.mark.parametrize(
    ("loads", "integrator"), [pair for pair in product(LOADS, INTEGRATORS) if pair[0] != "function" or pair[1] in OF_FUNCTIONS]
)
def test_the_energy_balance_closes_for_every_load_and_method(loads, integrator):
    """E(t) - E(0) - W(t) = 0, while the energy itself changes by far more where a load does work."""
    chain = Chain([Link(1.0, 1.0, 0.5, 0.1, 0.1), Link.point(0.8, 1.0)], [Gravity(9.81)]).with_loads(*LOADS[loads])
    run = simulate(chain, [1.0, 1.5], [0.5, 0.0], t_end=2.0, **settings(integrator))
    energy = run.energy()
    assert np.max(np.abs(energy.residual)) < TOLERANCE["ledger"] * (30 if integrator == "BDF" else 1)
    assert energy.residual[0] == 0
    change = np.ptp(energy.kinetic + energy.potential)
    assert change > 0.1 if loads not in ("none", "springs") else change < 1e-4
    assert set(energy.work) == set(run.work)


@pytest.mark.parametrize("integrator", COMPILED)
def test_the_ledger_is_integrated_with_the_motion(integrator):
    """Saved once a second the balance still closes: no sum over saved points could do that."""
    chain, theta, omega = random_chain(3)
    run = simulate(chain, theta, omega, t_end=3.0, **settings(integrator), save=1.0)
    assert run.energy().residual.shape == (4,)
    assert np.max(np.abs(run.energy().residual)) < 2 * TOLERANCE["ledger"]
    assert set(run.work) == {"joint_torque", "joint_damper", "link_damper", "drag", "follower_force", "tip_force"}


def test_rows_of_the_ledger_have_their_signs():
    """A constant torque over a known turn, a damper against the motion, a tip force along it."""
    free = Chain([Link(1.0, 1.0, 0.5, 0.1)], Gravity(0.0))
    run = simulate(
        free.with_loads(JointTorque(2.0), TipForce(0.0, -3.0), LinkDamper(0.1)), 0.2, 1.0, t_end=1.0, rtol=1e-11, atol=1e-11
    )
    turned = run.theta[-1, 0] - 0.2
    assert turned > 0
    assert run.work["joint_torque"][-1] == pytest.approx(2.0 * turned, abs=1e-9)
    assert run.work["tip_force"][-1] == pytest.approx(-3.0 * (run.positions()[-1, 1, 1] - run.positions()[0, 1, 1]), abs=1e-9)
    assert run.work["link_damper"][-1] < 0
    assert np.all(np.diff(run.work["link_damper"]) <= 0)


def test_a_load_of_zero_has_its_row():
    run = simulate(Chain.uniform(2).with_loads(JointDamper(0.0)), 0.5, t_end=1.0)
    assert run.work.keys() == {"joint_damper"}
    assert np.all(run.work["joint_damper"] == 0)


@pytest.mark.parametrize("name", ["DOP853", "RK45", "Radau", "BDF", "LSODA"])
def test_the_ledger_does_not_steer_the_steps(name):
    """The weight of a point mass as gravity (no ledger) or as a force at its tip (a row of large work): the same steps."""
    loads = [Gravity(9.81)], [Gravity(0.0), TipForce(0.0, -1e3 * 9.81)]
    runs = [simulate(Chain([Link.point(1.0, 1e3)], load), 2.0, t_end=5.0, **settings(name)) for load in loads]
    assert np.max(np.abs(runs[1].work["tip_force"])) > 1e3
    assert runs[1].stats.steps <= 1.02 * runs[0].stats.steps
    assert name not in COMPILED or runs[1].stats.steps >= 0.98 * runs[0].stats.steps
    np.testing.assert_allclose(runs[1].theta, runs[0].theta, atol=TOLERANCE["method"])


# Kinks in time --------------------------------------------------------------------------------------------------------

KINKED = [Table([0.1003, 0.3507, 0.3609, 1.1], [0.0, 6.0, -6.0, 3.0]), Table([0.5004, 0.7702], [-2.0, 4.0])]
"""Knots that no fixed step falls on."""


def piecewise(chain, theta, omega, t_end):
    """Integrate with SciPy from knot to knot."""
    system = formulate(chain)
    y, t = system.encode(theta, omega), 0.0
    for stop in [*(b for b in system.breaks() if 0 < b < t_end), t_end]:
        y = solve_ivp(system, (t, stop), y, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
        t = stop
    return system.decode(y)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_tables_with_kinks_are_followed_accurately(name):
    chain = Chain.uniform(2).with_loads(JointTorque(KINKED))
    theta, omega = piecewise(chain, [0.5, 0.8], [0.0, 0.0], 1.5)
    run = simulate(chain, [0.5, 0.8], t_end=1.5, **settings(name))
    assert run.status.code == "finished"
    np.testing.assert_allclose(run.theta[-1], theta, atol=TOLERANCE["method"])
    np.testing.assert_allclose(run.omega[-1], omega, atol=20 * TOLERANCE["method"])
    assert np.all(np.diff(run.t) > 0)


def test_knots_cost_no_accuracy():
    """With the knots as step boundaries the error is that of the tolerance; no step is rejected at them for nothing."""
    chain = Chain.uniform(2).with_loads(JointTorque(KINKED))
    theta, omega = piecewise(chain, [0.5, 0.8], [0.0, 0.0], 1.5)
    run = simulate(chain, [0.5, 0.8], t_end=1.5, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run.theta[-1], theta, atol=1e-9)
    np.testing.assert_allclose(run.omega[-1], omega, atol=1e-8)
    np.testing.assert_allclose(run.energy().residual, 0.0, atol=1e-8)


@pytest.mark.parametrize("name", COMPILED)
def test_tables_backwards(name):
    """There and back through the knots."""
    chain = Chain.uniform(1).with_loads(JointTorque(Table([-1.2, -0.7, -0.3], [1.0, -2.0, 0.5])))
    back = simulate(chain, 0.5, t_end=-1.5, **settings(name), save=(-1.5,))
    assert {-1.2, -0.7, -0.3} <= set(back.knots.t.tolist())
    done = solve_ivp(formulate(chain), (0.0, -1.5), [0.5, 0.0], rtol=1e-11, atol=1e-11, max_step=0.01)
    np.testing.assert_allclose(back.theta[-1], done.y[0, -1], atol=1e-5)


# Saved points ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("save", "t_end", "wanted"),
    [
        (0.25, 1.0, [0.0, 0.25, 0.5, 0.75, 1.0]),
        (0.3, 1.0, [0.0, 0.3, 0.6, 0.9, 1.0]),
        (0.25, -1.0, [0.0, -0.25, -0.5, -0.75, -1.0]),
        (0.3, -1.0, [0.0, -0.3, -0.6, -0.9, -1.0]),
        (5.0, 1.0, [0.0, 1.0]),
        (0.1, 0.3, [0.0, 0.1, 0.2, 0.3]),
        ((0.0, 0.5, 0.7), 1.0, [0.0, 0.5, 0.7]),
        ((0.5,), 1.0, [0.5]),
        ((-0.5, -0.7), -1.0, [-0.5, -0.7]),
    ],
)
def test_times_to_save(save, t_end, wanted):
    np.testing.assert_allclose(save_times(save, t_end).all(), wanted, atol=1e-15)
    run = simulate(Chain.uniform(1), 0.5, t_end=t_end, save=save)
    np.testing.assert_allclose(run.t, wanted, atol=1e-15)
    assert len(run.theta) == len(run.omega) == len(run.alpha) == len(run.kinetic) == len(wanted)


def test_the_grid_of_saved_times_is_exact_and_ends_at_t_end():
    times = save_times(0.01, 20.0).all()
    assert len(times) == 2001
    assert times[-1] == 20.0
    assert times.tolist() == [k / 100 for k in range(2001)]
    for save, t_end in ((0.1, 0.7), (0.1, 2.3), (1 / 3, 2.0), (0.07, 0.7), (1e-3, 0.3)):
        times = save_times(save, t_end).all()
        assert times[-1] == pytest.approx(t_end, abs=1e-12)
        assert np.all(np.diff(times) > 0.5 * save)
        assert len(times) == round(t_end / save) + 1


def test_the_first_saved_point_is_the_start():
    theta, omega = [0.3, -0.4], [0.1, 0.2]
    for name in INTEGRATORS:
        run = simulate(Chain.uniform(2), theta, omega, t_end=0.1, **settings(name))
        rounding = 1e-15 if "formulation" in settings(name) else 0.0  # of the way to other coordinates and back
        np.testing.assert_allclose(run.theta[0], theta, rtol=0, atol=rounding)
        np.testing.assert_allclose(run.omega[0], omega, rtol=0, atol=rounding)
        np.testing.assert_allclose(run.alpha[0], formulate(Chain.uniform(2)).accelerations(theta, omega), rtol=1e-12)


def test_saved_points_do_not_depend_on_the_others():
    """The motion at a time is the same however many other times are saved."""
    options = {"t_end": 3.0, "rtol": 1e-9, "atol": 1e-9}
    dense = simulate(Chain.uniform(2), [1.0, 2.0], save=0.01, **options)
    sparse = simulate(Chain.uniform(2), [1.0, 2.0], save=(0.37, 1.5, 2.99), **options)
    picked = [int(np.argmin(np.abs(dense.t - t))) for t in sparse.t]
    np.testing.assert_allclose(sparse.theta, dense.theta[picked], atol=1e-13)


def test_accelerations_and_reactions_belong_to_their_time():
    """A run's accelerations are those of the system at each saved time, driven by time too."""
    chain, theta, omega = random_chain(3)
    run = simulate(chain, theta, omega, t_end=1.0, save=0.1)
    system = formulate(chain)
    for k, t in enumerate(run.t):
        np.testing.assert_allclose(run.alpha[k], system.accelerations(run.theta[k], run.omega[k], t), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(run.reactions()[k], system.reactions(run.theta[k], run.omega[k], t), rtol=1e-12, atol=1e-12)
    assert np.ptp([torques_at(chain, t)[1] for t in run.t]) > 0.1


def test_shapes_of_a_run():
    run = simulate(Chain.uniform(3), 0.5, t_end=1.0)
    assert run.t.shape == (101,)
    assert run.theta.shape == run.omega.shape == run.alpha.shape == (101, 3)
    assert run.positions().shape == run.velocities().shape == (101, 4, 2)
    assert run.centres().shape == run.reactions().shape == (101, 3, 2)
    assert run.energy().kinetic.shape == run.energy().residual.shape == run.violation().shape == (101,)
    assert run.trusted_until is None
    assert repr(run) == "<Run of 3 links to 1 s, 101 points, finished>"
    assert run.meta["version"] == nlink.__version__
    assert run.meta["formulation"] == "recursive"
    assert run.meta["integrator"] == "Taylor(tol=1e-12, order=22)"
    assert run.stats.nfev > run.stats.steps > 0
    assert run.stats.wall > 0


# Between saved points -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("integrator", "save", "within"),
    [
        ("DOP853(rtol=1e-11, atol=1e-11)", 0.01, 1e-9),
        ("DOP853(rtol=1e-11, atol=1e-11)", 1.0, 1e-6),
        ("DOP853(rtol=1e-11, atol=1e-11)", (0.0, 1.7, 2.0), 1e-6),
        ("Taylor(tol=1e-11)", 0.01, 1e-9),
        ("RK4(step=0.001)", 1.0, 1e-8),
        ("Gauss(step=0.01)", 1.0, 1e-8),
        ("Scipy(method='LSODA', rtol=1e-11, atol=1e-11)", 1.0, 1e-7),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_motion_between_saved_points(integrator, save, within, sign):
    """at() is as good between saved points as the steps are, also where these are much closer than the saved points."""
    save = tuple(sign * t for t in save) if isinstance(save, tuple) else save
    chain, theta, omega = Chain.uniform(2).with_loads(JointTorque(Sine(1.0, 0.5))), [1.0, 1.3], [0.4, 0.0]
    run = simulate(chain, theta, omega, t_end=sign * 2.0, integrator=integrator, save=save)
    times = sign * np.random.default_rng(1).uniform(0.0, 2.0, 200)
    exact = simulate(chain, theta, omega, t_end=sign * 2.0, rtol=1e-13, atol=1e-13, save=tuple(sign * np.sort(np.abs(times))))
    order = np.argsort(np.abs(times))
    got = run.at(times)
    np.testing.assert_array_equal(got.t, times)
    np.testing.assert_allclose(got.theta[order], exact.theta, atol=within)
    np.testing.assert_allclose(got.omega[order], exact.omega, atol=300 * within)
    np.testing.assert_allclose(got.alpha[order], exact.alpha, atol=2e-3)


@pytest.mark.parametrize(
    "chain",
    [
        Chain.uniform(2),
        Chain.uniform(3).with_loads(JointDamper(0.1)),
        Chain.uniform(3).with_loads(TipForce(0.3, 0.2)),
        Chain.uniform(17),
        Mechanism([Slider(1.0), Link.rod(1.0, 1.0)]),
    ],
    ids=["one vector", "one vector, moments", "forces", "in loops", "tree"],
)
def test_knots_of_series_have_the_accelerations_of_their_states(chain):
    knots = simulate(chain, 1.0, 0.5, t_end=0.5, save=0.5, integrator="Taylor").knots
    wanted = formulate(chain).accelerations(knots.theta[-1], knots.omega[-1], knots.t[-1])
    assert len(knots.t) > 3
    np.testing.assert_allclose(knots.alpha[-1], wanted, rtol=1e-10, atol=1e-10)


def test_at_the_saved_points_it_is_the_saved_values():
    run = simulate(Chain.uniform(2), [1.0, 2.0], t_end=2.0, save=0.05)
    got = run.at(run.t)
    np.testing.assert_allclose(got.theta, run.theta, rtol=0, atol=1e-14)
    np.testing.assert_allclose(got.omega, run.omega, rtol=0, atol=1e-12)
    np.testing.assert_allclose(got.alpha, run.alpha, rtol=0, atol=1e-10)
    assert run.at(1.0).theta.shape == (1, 2)


@pytest.mark.parametrize("times", [2.1, -0.1, [0.5, 3.0], math.nan])
def test_outside_the_run_is_refused(times):
    run = simulate(Chain.uniform(2), [1.0, 2.0], t_end=2.0)
    with pytest.raises(ValueError, match=r"times must lie in the run, 0 to 2 s, got "):
        run.at(times)


def test_the_beginning_is_known_even_if_it_was_not_saved():
    run = simulate(Chain.uniform(2), [1.0, 2.0], [0.5, 0.0], t_end=2.0, save=(1.0, 2.0))
    np.testing.assert_allclose(run.at(0.0).theta, [[1.0, 2.0]], atol=1e-12)
    np.testing.assert_allclose(run.at(0.001).theta, [[1.0005, 2.0]], atol=1e-4)


# Going on -------------------------------------------------------------------------------------------------------------


def driven():
    chain, theta, omega = random_chain(3)
    return chain.with_loads(JointTorque([Sine(2.0, 0.7), Table([0.33, 1.02, 1.4], [0.0, 3.0, -1.0]), 0.5])), theta, omega


@pytest.mark.parametrize("integrator", ["RK4(step=0.01)", "Gauss(step=0.02)", "RK4(step=0.0137)", "Gauss(step=0.0137)"])
@pytest.mark.parametrize("cuts", [(1.0,), (0.7773,), (0.5, 0.501, 1.0, 1.39), (1.02,), (1.019, 1.021), (0.005,), (1.9999,)])
def test_resumed_runs_with_fixed_steps_are_the_same_to_the_last_bit(integrator, cuts):
    """Cut on or off the grid of steps, at, before and behind knots of a table, once or several times."""
    chain, theta, omega = driven()
    whole = simulate(chain, theta, omega, t_end=2.0, integrator=integrator)
    run = simulate(chain, theta, omega, t_end=cuts[0], integrator=integrator)
    for stop in (*cuts[1:], 2.0):
        run = run.resume(stop)
    same(run, whole)
    assert run.status == whole.status
    assert run.scenario == whole.scenario
    np.testing.assert_array_equal(run.checkpoint.state, whole.checkpoint.state)


@pytest.mark.parametrize("integrator", ["DOP853", "RK45"])
@pytest.mark.parametrize("cuts", [(1.0,), (0.7773,), (0.5, 0.501, 1.0, 1.39), (1.02,), (1.019, 1.021), (1.9999,)])
def test_resumed_runs_with_adaptive_steps_repeat_the_steps(integrator, cuts):
    """The step shortened to end a part is taken again in full. (Only the very first step knows the length of the run.)"""
    chain, theta, omega = driven()
    whole = simulate(chain, theta, omega, t_end=2.0, integrator=integrator)
    run = simulate(chain, theta, omega, t_end=cuts[0], integrator=integrator)
    for stop in (*cuts[1:], 2.0):
        run = run.resume(stop)
    same(run, whole)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("save", [0.05, (0.0, 0.3, 0.5)])
def test_resumed_runs_of_every_method(integrator, save):
    chain, theta, omega = driven()
    whole = simulate(chain, theta, omega, t_end=1.2, **settings(integrator), save=save)
    run = simulate(chain, theta, omega, t_end=0.61, **settings(integrator), save=save).resume(1.2)
    np.testing.assert_array_equal(run.t, whole.t)
    np.testing.assert_allclose(run.theta, whole.theta, atol=TOLERANCE["method"])
    np.testing.assert_allclose(run.energy().residual, 0.0, atol=30 * TOLERANCE["ledger"])
    times = np.linspace(0.0, 1.2, 77)
    np.testing.assert_allclose(run.at(times).theta, whole.at(times).theta, atol=10 * TOLERANCE["method"])


@pytest.mark.parametrize("integrator", FIXED)
def test_resumed_backwards(integrator):
    chain, theta = Chain.uniform(2), [1.0, 2.0]
    whole = simulate(chain, theta, t_end=-2.0, integrator=integrator)
    same(simulate(chain, theta, t_end=-0.7773, integrator=integrator).resume(-2.0), whole)


@pytest.mark.parametrize("integrator", ["RK4(step=0.01)", "Gauss(step=0.02)", "DOP853"])
def test_resumed_from_a_file_is_the_same_to_the_last_bit(integrator, tmp_path):
    chain, theta, omega = driven()
    whole = simulate(chain, theta, omega, t_end=2.0, integrator=integrator)
    simulate(chain, theta, omega, t_end=0.7773, integrator=integrator).save(tmp_path / "part.nc")
    same(nlink.load(tmp_path / "part.nc").resume(2.0), whole)


@pytest.mark.parametrize("integrator", ["RK4(step=0.001)", "Gauss(step=0.002)", "DOP853", "RK45"])
def test_resumed_after_too_many_steps_is_the_same_to_the_last_bit(integrator):
    chain, theta, omega = driven()
    whole = simulate(chain, theta, omega, t_end=2.0, integrator=integrator)
    name = integrator.removesuffix(")") + (", " if "(" in integrator else "(") + "max_steps={})"
    part = simulate(chain, theta, omega, t_end=2.0, integrator=name.format(whole.stats.steps // 2), strict=False)
    assert part.status.code == "too_many_steps"
    run = part
    for _ in range(20):
        run = run.resume(strict=False)
        if run.status.ok:
            break
    same(run, whole)


def test_resume_refuses_what_lies_behind():
    run = simulate(Chain.uniform(1), 0.5, t_end=1.0, integrator="RK4")
    for t_end in (0.5, 1.0, -1.0, 0.0):
        with pytest.raises(ModelError, match=rf"the run has reached t = 1 s; t_end must lie beyond, got {t_end:g}"):
            run.resume(t_end)
    with pytest.raises(ModelError, match=r"t_end must be finite, got nan"):
        run.resume(math.nan)
    with pytest.raises(ModelError, match=r"the run has reached t = -1 s"):
        simulate(Chain.uniform(1), 0.5, t_end=-1.0, integrator="RK4").resume(1.0)


def test_resume_keeps_the_first_run_as_it_was():
    first = simulate(Chain.uniform(2), [1.0, 2.0], t_end=1.0)
    kept = first.theta.copy(), first.checkpoint.state.copy(), first.t.copy()
    first.resume(3.0)
    for before, after in zip(kept, (first.theta, first.checkpoint.state, first.t), strict=True):
        np.testing.assert_array_equal(before, after)


# Interrupts -----------------------------------------------------------------------------------------------------------


def interrupting(at, times=1):
    """Return an event function that presses Ctrl-C when the run gets to a time."""
    left = [times]

    def press(t, theta, omega):
        if t > at and left[0]:
            left[0] -= 1
            signal.raise_signal(signal.SIGINT)
        return 1.0

    return Event(press)


@pytest.mark.parametrize("integrator", ["RK4(step=0.0001)", "Gauss(step=0.0003)", "DOP853(max_step=0.0005)"])
def test_an_interrupted_run_keeps_its_part_and_goes_on_bit_for_bit(integrator, tmp_path):
    chain, theta, omega = driven()
    with pytest.raises(SimulationError, match=r"stopped by the user at t = .* s; resume the run to go on") as caught:
        simulate(chain, theta, omega, t_end=2.0, integrator=integrator, events=interrupting(0.4))
    assert isinstance(caught.value, KeyboardInterrupt)
    part = caught.value.run
    assert part.status.code == "interrupted"
    assert not part.status.ok
    assert 0.39 < part.t[-1] < 2.0
    whole = simulate(chain, theta, omega, t_end=2.0, integrator=integrator)
    np.testing.assert_array_equal(part.theta, whole.theta[: len(part.t)])
    same(part.resume(), whole)
    part.save(tmp_path / "part.nc")
    same(nlink.load(tmp_path / "part.nc").resume(2.0), whole)


def test_an_interrupt_is_a_value_if_not_strict():
    run = simulate(Chain.uniform(1), 0.5, t_end=50.0, integrator="RK4", events=interrupting(1.0), strict=False)
    assert run.status.code == "interrupted"
    assert run.t[-1] < 50.0


def test_the_handler_of_interrupts_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    simulate(Chain.uniform(1), 0.5, t_end=0.1)
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(RuntimeError, match="broken"):
        simulate(
            Chain.uniform(1), 0.5, t_end=0.1, events=Event(lambda t, theta, omega: (_ for _ in ()).throw(RuntimeError("broken")))
        )
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_after_the_last_chunk_began_is_handed_on(tmp_path):
    """A sweep over runs of one chunk each ends at the first Ctrl-C; what the run has written is whole."""
    file, handled = tmp_path / "run.nc", []
    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(Chain.uniform(1), 0.5, t_end=0.1, save=0.05, events=interrupting(0.09), file=file)
    assert not isinstance(caught.value, SimulationError)
    assert nlink.load(file).status.ok
    before = signal.signal(signal.SIGINT, lambda *_: handled.append(True))
    try:
        assert simulate(Chain.uniform(1), 0.5, t_end=0.1, events=interrupting(0.09)).status.ok
        assert handled == [True]
        with Interrupt() as outer:
            simulate(Chain.uniform(1), 0.5, t_end=0.1, events=interrupting(0.09))
            assert outer.asked
        assert handled == [True]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_second_interrupt_aborts():
    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(Chain.uniform(1), 0.5, t_end=50.0, integrator="RK4", events=interrupting(1.0, times=2))
    assert not isinstance(caught.value, SimulationError)


def test_a_second_interrupt_inside_a_torque_function_aborts():
    """A Python torque is where a slow run spends its time, so that is where the second Ctrl-C lands."""
    presses = []

    def torque(t):
        if t > 0.5 and len(presses) < 2:
            presses.append(t)
            signal.raise_signal(signal.SIGINT)
        return 0.0

    chain = Chain.uniform(1).with_loads(JointTorque(torque))
    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(chain, 0.5, t_end=50.0, integrator="RK4")
    assert not isinstance(caught.value, SimulationError)


LONG_RUN = """
import sys, nlink
chain = nlink.Chain.uniform(3)
nlink.simulate(chain, 1.0, t_end=0.1, save=0.05)
print("ready", flush=True)
try:
    nlink.simulate(chain, 1.0, t_end=1e6, save=1.0)
except nlink.SimulationError as error:
    run = error.run
    print(error.status.code, isinstance(error, KeyboardInterrupt), len(run.t) > 10, run.resumable, run.t[-1] > 0, flush=True)
"""


def test_ctrl_c_stops_a_long_run_in_a_process_of_its_own():
    process = subprocess.Popen([sys.executable, "-c", LONG_RUN], stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert process.stdout.readline() == "ready\n"
        worked(0.3, process.pid)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert out == "interrupted True True True True\n"
    assert process.returncode == 0


def test_simulations_run_outside_the_main_thread():
    """Where no handler can be installed a run works all the same."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda a: simulate(Chain.uniform(2), a, t_end=1.0), [0.5, 0.5]))
    same(*runs)
    same(runs[0], simulate(Chain.uniform(2), 0.5, t_end=1.0))


# Torque functions that fail -------------------------------------------------------------------------------------------


class OwnError(Exception):
    pass


@pytest.mark.parametrize("integrator", OF_FUNCTIONS)
@pytest.mark.parametrize("kind", [ValueError, RuntimeError, OwnError])
def test_a_torque_function_that_raises_ends_the_run_with_its_message(integrator, kind):
    def torque(t):
        if t > 0.5:
            raise kind("the motor burnt out")
        return 0.1

    chain = Chain.uniform(2).with_loads(JointTorque(torque))
    message = rf"the torque function failed near t = 0\.[45][0-9]* s: {kind.__name__}: the motor burnt out"
    with pytest.raises(SimulationError, match=message) as caught:
        simulate(chain, [1.0, 2.0], t_end=1.0, **settings(integrator))
    assert caught.value.status.code == "torque_failed"
    run = caught.value.run
    assert 0.4 < run.t[-1] <= 0.5
    assert np.all(np.isfinite(run.theta))
    assert np.all(np.isfinite(run.alpha))


@pytest.mark.parametrize("integrator", OF_FUNCTIONS)
def test_a_torque_function_that_raises_in_the_first_step(integrator):
    def torque(t):
        if t != 0:
            raise ValueError("no torque but at the start")
        return 0.1

    chain = Chain.uniform(2).with_loads(JointTorque(torque))
    with pytest.raises(
        SimulationError, match=r"the torque function failed near t = 0 s: ValueError: no torque but at the start"
    ) as caught:
        simulate(chain, [1.0, 2.0], t_end=1.0, **settings(integrator))
    assert caught.value.run.t.tolist() == [0.0]


@pytest.mark.parametrize("integrator", [name for name in COMPILED if name in OF_FUNCTIONS])
def test_a_torque_function_that_returns_too_many_numbers_later(integrator):
    chain = Chain.uniform(2).with_loads(JointTorque(lambda t: [0.0] * (3 if t > 0.5 else 2)))
    with pytest.raises(
        SimulationError, match=r"ModelError: the torque function must return a number or 2 of them, got \[0\.0, 0\.0, 0\.0\]"
    ):
        simulate(chain, [1.0, 2.0], t_end=1.0, **settings(integrator))


def test_a_system_works_again_after_a_torque_failed():
    armed = [True]

    def torque(t):
        if t > 0.5 and armed[0]:
            raise ValueError("not yet")
        return 0.1

    system = formulate(Chain.uniform(2).with_loads(JointTorque(torque)))
    assert simulate(system, 0.5, t_end=1.0, strict=False).status.code == "torque_failed"
    armed[0] = False
    assert simulate(system, 0.5, t_end=1.0).status.code == "finished"


# What is asked --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"simulate needs a start: give theta \(N angles in rad\), or state, and not both"),
        ({"theta": 0.5, "state": [0.5, 0.5, 0.0, 0.0]}, r"simulate needs a start: .* and not both"),
        ({"theta": [0.5]}, r"theta has 1 value for 2 links; give one number, or 2"),
        ({"theta": 0.5, "omega": [0.0] * 3}, r"omega has 3 values for 2 links"),
        ({"theta": math.nan}, r"theta must be finite, got nan"),
        ({"theta": [0.0, math.nan]}, r"theta\[1\] must be finite, got nan"),
        ({"theta": "line"}, r"theta must be a number, or a text like '90 deg' or '90 rad', got 'line'"),
        ({"theta": 0.5, "t_end": 0.0}, r"t_end must not be 0: there is nothing to simulate"),
        ({"theta": 0.5, "t_end": math.inf}, r"t_end must be finite, got inf"),
        ({"theta": 0.5, "t_end": "1"}, r"t_end must be a number, got '1'"),
        ({"theta": 0.5, "t_end": True}, r"t_end must be a number, got True"),
        ({"theta": 0.5, "save": 0.0}, r"save must be positive, got 0"),
        ({"theta": 0.5, "save": -0.1}, r"save must be positive, got -0\.1"),
        ({"theta": 0.5, "save": True}, r"save must be a number, got True"),
        ({"theta": 0.5, "save": []}, r"save must not be an empty list"),
        (
            {"theta": 0.5, "save": [0.0, 0.5, 0.4]},
            r"save must run from 0 towards t_end = 1 without a repeat, got 3 times from 0 to 0\.4",
        ),
        ({"theta": 0.5, "save": [0.0, 0.5, 0.5]}, r"save must run from 0 towards t_end = 1 without a repeat"),
        ({"theta": 0.5, "save": [0.0, 2.0]}, r"save must run from 0 towards t_end = 1"),
        ({"theta": 0.5, "save": [-0.5, 0.5]}, r"save must run from 0 towards t_end = 1"),
        ({"theta": 0.5, "save": [0.0, math.nan]}, r"save\[1\] must be finite, got nan"),
        ({"theta": 0.5, "save": 1e-9}, r"save = 1e-09 would keep 1e\+09 points up to t_end = 1; use a larger interval"),
        ({"theta": 0.5, "rtol": 0.0}, r"rtol must be positive, got 0"),
        ({"theta": 0.5, "atol": "1"}, r"atol must be a number, got '1'"),
        ({"state": [0.0] * 3}, r"state must hold 4 finite numbers for recursive, got shape \(3,\)"),
        ({"state": [0.0, 0.0, 0.0, math.nan]}, r"state must hold 4 finite numbers for recursive"),
    ],
)
def test_bad_requests_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        simulate(Chain.uniform(2), **{"t_end": 1.0} | options)


def test_what_is_not_a_chain_is_refused():
    with pytest.raises(ModelError, match=r"simulate needs a Chain, a Mechanism, a SpatialChain or a System, got int"):
        simulate(3, 0.5, t_end=1.0)
    with pytest.raises(ModelError, match=r"System, got str; a preset by its name: preset\(name\)\.run\(\)$"):
        simulate("chaotic-3", t_end=1.0)


def test_a_raw_state_and_a_system_are_accepted():
    chain = Chain.uniform(2)
    system = formulate(chain, "momentum")
    run = simulate(system, state=system.encode([0.3, 0.4], [0.1, 0.2]), t_end=1.0)
    same(run, simulate(chain, [0.3, 0.4], [0.1, 0.2], t_end=1.0, formulation="momentum"))
    assert run.meta["formulation"] == "momentum"


def test_numpy_numbers_are_accepted_everywhere():
    run = simulate(
        Chain.uniform(2), np.float32(0.5), np.zeros(2), t_end=np.int64(1), save=np.linspace(0, 1, 5), rtol=np.float64(1e-8)
    )
    assert run.t.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_no_output_and_no_bar_when_piped(capfd):
    simulate(Chain.uniform(2), 0.5, t_end=50.0, integrator="RK4(step=0.0001)", progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "simulating" not in err


def test_a_stepper_that_waits_for_the_next_run_leaves_no_trace():
    """The same bits by a system that has been simulated otherwise before, also within a run of the same system."""
    system, start = nlink.formulate(Chain.uniform(2)), [1.5, 3.0]

    def told(run):
        return [run.theta, run.omega, run.alpha, run.kinetic, *run.knots, run.checkpoint.state, run.checkpoint.rates]

    fresh = told(simulate(system, start, t_end=3.0, save=0.1))
    ((_, _, stepper),) = system.idle
    again = told(simulate(system, start, t_end=3.0, save=0.1))
    assert system.idle[0][2] is stepper
    simulate(system, [0.1, -2.0], [3.0, 1.0], t_end=-20.0, save=5.0, events=nlink.Flip())
    simulate(system, start, t_end=3.0, integrator="Taylor(max_steps=3)", strict=False)
    later, inner = told(simulate(system, start, t_end=3.0, save=0.1)), []

    def nested(t, theta, omega):
        inner[:] = inner or told(simulate(system, start, t_end=3.0, save=0.1))
        return float(theta[0])

    outer = told(simulate(system, start, t_end=3.0, save=0.1, events=Event(nested)))
    for values in (again, later, inner, outer):
        for own, known in zip(values, fresh, strict=True):
            np.testing.assert_array_equal(own, known)


@pytest.mark.parametrize("name", ["theta", "alpha", "kinetic", "potential"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_balance_takes_nothing_that_is_not_finite(name, value):
    columns = {each: np.zeros((3, 2)) for each in ("theta", "omega", "alpha")}
    columns |= {each: np.zeros(3) for each in ("kinetic", "potential", "violation", "work_friction")}
    weighed = balance.Balance(Chain.uniform(2))
    assert weighed.take({each: values + 1.0 for each, values in columns.items()})
    known = vars(weighed).copy()
    columns[name][1] = value
    assert not weighed.take(columns)
    assert vars(weighed) == known
    assert (known["kinetic"], known["work"], known["residual"], known["low"]) == (1.0, 1.0, 0.0, 1.0)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_steps_that_are_too_many_are_thinned_evenly(sizes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knots, "MOST_KNOT_NUMBERS", 64)
        store = knots.KnotStore(4)
    t = np.arange(float(sum(sizes)))
    for part in np.split(t, np.cumsum(sizes)[:-1]):
        store.add(part, part[:, None] + np.arange(4), -part[:, None] * np.ones(4))
    wanted, (times, states, rates) = t[:: store.stride], store.kept
    assert len(wanted) <= store.room < 2 * len(wanted) + 2 or store.stride == 1
    np.testing.assert_array_equal(times, wanted)
    np.testing.assert_array_equal(states, wanted[:, None] + np.arange(4))
    np.testing.assert_array_equal(rates[:, 0], -wanted)


def test_starts_in_python_say_their_units():
    """Texts as in model files: of angles, rates, and of sliders; a number beside them is still in rad."""
    chain, cart = nlink.Chain.uniform(2), nlink.preset("cart-pole").chain
    run = nlink.simulate(chain, ["90 deg", 0.5], ["10 deg/s", "1 rad/s"], t_end=0.01)
    np.testing.assert_allclose(run.theta[0], [math.pi / 2, 0.5], rtol=1e-15)
    np.testing.assert_allclose(run.omega[0], [math.pi / 18, 1.0], rtol=1e-15)
    assert nlink.Scenario(chain, "30 deg").theta == pytest.approx((math.pi / 6,) * 2)
    assert nlink.Scenario(cart, ("20 cm", "10 deg"), ("5 mm/s", 1.0)).theta == pytest.approx((0.2, math.pi / 18))
    np.testing.assert_allclose(nlink.equilibrium(chain, np.array(["170 deg", "1 deg"])).theta, [math.pi, 0.0], atol=1e-12)
    with pytest.warns(UserWarning, match="90 rad is 14.3 turns"):
        nlink.simulate(chain, ["1 deg", 90], t_end=0.01)
    with pytest.raises(ModelError, match=r"^theta\[0\] must be a number, or a text like '0.2 m' or .*, got '20 deg'$"):
        nlink.Scenario(cart, ("20 deg", 0.0))
    with pytest.raises(ModelError, match=r"^omega\[1\] must be a number, or a text like '90 deg/s' or '90 rad/s', got '1 deg'$"):
        nlink.Scenario(chain, 0.0, (0.0, "1 deg"))
    with pytest.raises(ModelError, match=r"^theta has 3 values for 2 links"):
        nlink.Scenario(chain, ("1 deg",) * 3)
