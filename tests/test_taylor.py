"""Taylor: agreement with other methods under every load, symmetric starts, order, dense output, events, going on, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import TOLERANCE, moving, random_chain, start_angles
from hypothesis import assume, given, settings

import nlink
from nlink import (
    DOP853,
    Chain,
    Drag,
    Event,
    Flip,
    FollowerForce,
    JointDamper,
    JointSpring,
    JointTorque,
    LinkDamper,
    ModelError,
    Sine,
    Table,
    Taylor,
    TipForce,
    simulate,
)

LOADS = {
    "spring": JointSpring(2.0, 0.3),
    "joint damper": JointDamper(0.2),
    "link damper": LinkDamper(0.2),
    "torque": JointTorque((1.0, -0.5, 0.2)),
    "sine": JointTorque(Sine(1.0, 0.7, 0.2)),
    "table": JointTorque(Table((0.0, 0.5, 1.0), (0.0, 1.0, 0.0))),
    "drag": Drag(0.3),
    "quadratic drag": Drag(0.0, 0.05),
    "follower": FollowerForce(2.0),
    "tip": TipForce(1.0, 2.0),
}


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("t_end", [2.0, -1.0])
def test_every_load(load, t_end):
    chain = Chain.uniform(3).with_loads(LOADS[load])
    exact = simulate(chain, [1.0, 2.0, 0.5], [1.0, 0, 0], t_end=t_end, integrator=DOP853(1e-13, 1e-13), save=0.1)
    run = simulate(chain, [1.0, 2.0, 0.5], [1.0, 0, 0], t_end=t_end, integrator=Taylor(), save=0.1)
    np.testing.assert_allclose(run.theta, exact.theta, atol=1e-10)
    np.testing.assert_allclose(run.omega, exact.omega, atol=1e-9)
    assert np.abs(run.energy().residual).max() <= 1e-9
    for name, work in exact.work.items():
        np.testing.assert_allclose(run.work[name], work, atol=1e-9)


@given(moving(most=5))
@settings(max_examples=25)
def test_any_chain_with_any_loads(case):
    chain, theta, omega, _ = case
    drag = chain.load(Drag)
    chain = chain.with_loads(Drag(drag.linear)) if drag else chain
    exact = simulate(chain, theta, omega, t_end=0.3, integrator=DOP853(1e-12, 1e-12), save=0.1, strict=False)
    assume(exact.status.ok and np.abs(exact.omega).max() < 50)
    run = simulate(chain, theta, omega, t_end=0.3, integrator="Taylor", save=0.1)
    assert np.abs(run.theta - exact.theta).max() <= 1e-8 * max(1.0, np.abs(exact.omega).max())


def test_every_load_at_once_and_long_chains():
    for n in (1, 4, 20):
        chain, theta, omega = random_chain(n)
        chain = chain.with_loads(Drag(0.2))
        exact = simulate(chain, theta, omega, t_end=0.5, integrator=DOP853(1e-13, 1e-13), save=0.1)
        run = simulate(chain, theta, omega, t_end=0.5, integrator=Taylor(), save=0.1)
        np.testing.assert_allclose(run.theta, exact.theta, atol=1e-9 * max(1.0, np.abs(exact.omega).max()))


@pytest.mark.parametrize("case", ["nice", "chaotic"])
def test_the_reference_starts(case):
    for n in (2, 3):
        exact = simulate(Chain.uniform(n), start_angles(case, n), t_end=3.0, integrator=DOP853(1e-14, 1e-14), save=0.5)
        run = simulate(Chain.uniform(n), start_angles(case, n), t_end=3.0, integrator=Taylor(tol=1e-16), save=0.5)
        np.testing.assert_allclose(run.theta, exact.theta, atol=1e-8)


@pytest.mark.parametrize("quarters", [(2, 2, 2), (0, 0, 0), (2, -2, 2), (1, 0, 0)])
@pytest.mark.parametrize("speed", [0.0, 40.0])
def test_symmetric_starts_do_not_fool_the_step(quarters, speed):
    """Level, hanging, folded; at rest and spinning fast: coefficients that vanish by symmetry must not make a step too long."""
    angles = [math.pi / 4 * quarter for quarter in quarters]
    exact = simulate(Chain.uniform(3), angles, speed, t_end=0.5, integrator=DOP853(1e-13, 1e-13), save=0.1)
    run = simulate(Chain.uniform(3), angles, speed, t_end=0.5, integrator=Taylor(), save=0.1)
    np.testing.assert_allclose(run.theta, exact.theta, atol=1e-9)


@pytest.mark.parametrize("order", [18, 40])
def test_links_that_spin_fast_keep_their_digits(order):
    """Also where a step that its last terms allow would be longer than a quarter turn, within which the rates come from y' / x."""
    run = simulate(Chain.uniform(1), 0.3, 60.0, t_end=1.0, save=(1.0,), integrator=Taylor(1e-14, order=order))
    exact = simulate(Chain.uniform(1), 0.3, 60.0, t_end=1.0, save=(1.0,), integrator=DOP853(1e-14, 1e-14, max_step=0.002))
    assert abs(run.theta[-1, 0] - exact.theta[-1, 0]) <= 1e-11


def test_the_period_of_one_rod():
    """By the elliptic integral, over ten periods."""
    from scipy.special import ellipk

    period = 4 * math.sqrt(2 / (3 * 9.81)) * ellipk(math.sin(0.5) ** 2)
    run = simulate(Chain.uniform(1), [1.0], t_end=10 * period, save=(10 * period,), integrator=Taylor())
    assert run.theta[-1, 0] == pytest.approx(1.0, abs=1e-11)
    assert run.omega[-1, 0] == pytest.approx(0.0, abs=TOLERANCE["period"])


@pytest.mark.parametrize("n", [2, 3, 5])
def test_an_equal_tolerance_is_an_equal_error_at_every_order(n):
    """The mean error of some starts, against that of order 18."""
    chain, rng = Chain.uniform(n), np.random.default_rng(n)
    starts = [rng.uniform(-1.5, 1.5, n) for _ in range(30)]
    exact, *others = (
        nlink.flow(chain, integrator=Taylor(tol, order=order)) for tol, order in ((1e-17, 18), (1e-12, 18), (1e-12, 22))
    )
    ends = np.array([exact(start, t=3.0)[0] for start in starts])
    errors = [np.abs([flow(start, t=3.0)[0] for start in starts] - ends).max(1) for flow in others]
    means = [np.log(np.maximum(error, 1e-16)).mean() for error in errors]
    assert abs(means[1] - means[0]) <= math.log(2)


def test_a_tighter_tolerance_and_a_higher_order_are_better():
    exact = simulate(Chain.uniform(2), [1.0, 2.0], t_end=2.0, integrator=DOP853(1e-14, 1e-14), save=(2.0,)).theta[-1]
    errors = []
    for tol in (1e-6, 1e-9, 1e-12):
        run = simulate(Chain.uniform(2), [1.0, 2.0], t_end=2.0, integrator=Taylor(tol=tol), save=(2.0,))
        errors.append(np.abs(run.theta[-1] - exact).max())
    assert errors[0] > 30 * errors[1] > 900 * errors[2]
    steps = [
        simulate(Chain.uniform(2), [1.0, 2.0], t_end=2.0, integrator=Taylor(order=order)).stats.steps for order in (10, 16, 24)
    ]
    assert steps[0] > steps[1] > steps[2]
    assert simulate(Chain.uniform(2), [1.0, 2.0], t_end=2.0, integrator=Taylor()).stats.rejected == 0


def test_saving_events_and_going_on():
    chain, theta = Chain.uniform(3), [math.pi / 2, math.pi, math.pi / 2]
    fine = simulate(chain, theta, t_end=4.0, integrator=Taylor(), save=0.01, events=[Flip(), Event(lambda t, a, w: a[0] - 0.3)])
    coarse = simulate(chain, theta, t_end=4.0, integrator=Taylor(), save=0.5)
    np.testing.assert_array_equal(fine.theta[::50], coarse.theta)
    other = simulate(chain, theta, t_end=4.0, integrator=DOP853(1e-13, 1e-13), events=[Flip(), Event(lambda t, a, w: a[0] - 0.3)])
    assert [e.name for e in fine.events] == [e.name for e in other.events]
    assert [e.t for e in fine.events if e.t > 0.01] == pytest.approx([e.t for e in other.events if e.t > 0.01], abs=1e-8)
    part = simulate(chain, theta, t_end=1.7, integrator=Taylor(), save=0.01).resume(4.0)
    np.testing.assert_array_equal(part.theta, fine.theta)


def test_limits_end_in_a_status():
    run = simulate(Chain.uniform(2), [1.0, 2.0], t_end=10.0, integrator=Taylor(max_steps=5), strict=False)
    assert run.status.code == "too_many_steps"
    assert run.stats.steps == 5


@pytest.mark.parametrize(
    ("chain", "formulation", "message"),
    [
        (Chain.uniform(2), "momentum", "Taylor takes the formulation recursive, not momentum"),
        (Chain.uniform(3, pin=(1.8415, -0.5403)), "recursive", "Taylor does not support closed chains"),
        (Chain.uniform(2).with_loads(JointTorque(math.sin)), "recursive", "Taylor needs torques with a series"),
    ],
)
def test_what_it_does_not_take(chain, formulation, message):
    with pytest.raises(ModelError, match=message):
        simulate(chain, [2.618, 0.5236, 1.0][: chain.n], t_end=1.0, formulation=formulation, integrator="Taylor")


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tol": 0}, "Taylor.tol must be positive, got 0"), ({"order": 2}, "Taylor.order must be a whole number, at least 4, got 2")],
)
def test_wrong_options(options, message):
    with pytest.raises(ModelError, match=message):
        Taylor(**options)


def test_by_its_text():
    run = nlink.simulate(Chain.uniform(2), 0.5, t_end=0.5, integrator="Taylor(tol=1e-10, order=18)")
    assert run.scenario.settings.integrator == Taylor(tol=1e-10, order=18)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 33])
@pytest.mark.parametrize(
    "loads", [(), (JointSpring(2.0, 0.1), JointDamper(0.1), LinkDamper(0.05), JointTorque(Sine(1.0, 0.7, 0.2)))]
)
def test_every_width_and_way(n, loads):
    """Chains that fill a vector, do not fill it, or need several; unrolled with and without moments, and order by order."""
    chain, theta, omega = random_chain(n)
    chain = Chain(chain.links, (nlink.Gravity(9.81), *loads))
    run = simulate(chain, theta, omega, t_end=0.3, save=(0.3,), integrator=Taylor(1e-14))
    exact = simulate(chain, theta, omega, t_end=0.3, save=(0.3,), integrator=DOP853(1e-13, 1e-13))
    np.testing.assert_allclose(run.theta, exact.theta, atol=1e-10)
    np.testing.assert_allclose(run.omega, exact.omega, atol=1e-9)


def test_the_default_is_taylor_where_it_can_be():
    torque = JointTorque(lambda t: 0.1 * math.sin(t))
    two = Chain.uniform(2)
    cases = {
        "Taylor(tol=1e-12, order=22)": {"chain": two},
        "Taylor(tol=1e-09, order=22)": {"chain": two, "rtol": 1e-6, "atol": 1e-6},
        "Taylor(tol=1e-12, order=18)": {"chain": two.with_loads(JointDamper(0.1))},
        "Taylor(tol=1e-11, order=18)": {"chain": Chain.uniform(6), "rtol": 1e-8, "atol": 1e-8},
        "Taylor(tol=1e-10, order=24)": {"chain": two, "integrator": Taylor(1e-10, order=24)},
        "DOP853(rtol=1e-09, atol=1e-09)": {"chain": two.with_loads(Drag(0.0, 0.1))},
        "DOP853(rtol=1e-08, atol=1e-07)": {"chain": two.with_loads(torque), "rtol": 1e-8, "atol": 1e-7},
        "DOP853(rtol=1e-10, atol=1e-10)": {"chain": two, "formulation": "momentum", "rtol": 1e-10, "atol": 1e-10},
    }
    for told, case in cases.items():
        chain = case.pop("chain")
        assert simulate(chain, 0.3, t_end=0.1, **case).meta["integrator"] == told


@pytest.mark.parametrize("n", [1, 2, 5, 15, 60])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-9])
def test_the_default_is_not_less_accurate_than_dop853(n, rtol):
    chain, theta, t_end = Chain.uniform(n), np.full(n, math.pi / 4), 3.0 if n > 5 else 8.0
    exact = simulate(chain, theta, t_end=t_end, save=(t_end,), integrator=Taylor(1e-18, order=24)).theta
    chosen = simulate(chain, theta, t_end=t_end, save=(t_end,), rtol=rtol, atol=rtol).theta
    other = simulate(chain, theta, t_end=t_end, save=(t_end,), integrator=DOP853(rtol, rtol)).theta
    assert np.abs(chosen - exact).max() <= np.abs(other - exact).max()


@pytest.mark.parametrize(
    ("n", "theta", "omega", "t_end"), [(1, 2.0, 0.0, 6.0), (1, 0.5, 3.0, -1.0), (2, [1.0, 2.0], 0.0, 5.0), (20, 0.8, 0.0, 1.0)]
)
def test_quadratic_drag_from_rest_through_turning_points_and_near_them(n, theta, omega, t_end):
    """The size of a velocity has a kink where it is zero, and a series that converges badly close by."""
    chain = Chain.uniform(n).with_loads(Drag(0.1, 0.4))
    run = simulate(chain, theta, omega, t_end=t_end, save=0.1, integrator=Taylor(1e-13))
    exact = simulate(chain, theta, omega, t_end=t_end, save=0.1, integrator=DOP853(1e-12, 1e-12, max_step=0.01))
    np.testing.assert_allclose(run.theta, exact.theta, atol=1e-9)
    np.testing.assert_allclose(run.work["drag"], exact.work["drag"], atol=1e-8)
    assert np.abs(run.energy().residual).max() <= 1e-10
