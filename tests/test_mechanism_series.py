"""Open mechanisms side by side and by power series: lanes against single states and members, Taylor against DOP853."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from trees import Tree, built, moving, with_series

from nlink import (
    DOP853,
    FTLE,
    GROUND,
    Cuda,
    EnergyDrift,
    Extremes,
    Final,
    FlipTime,
    JointDamper,
    JointSpring,
    Link,
    ModelError,
    Pin,
    Samples,
    Taylor,
    assemble,
    formulate,
    ftle,
    simulate,
    simulate_many,
)
from nlink.ensemble.engines import side_by_side
from nlink.ensemble.varied import Varied
from nlink.mechanics.loads import Drag, PointSpring, TipForce
from nlink.mechanics.loads.joint_torque import Sine
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.motions import Spline, motion_at
from nlink.mechanics.points import At

LOADS = (JointSpring(1.0), JointDamper(0.1), Drag(0.1, 0.05), TipForce(1.0, 2.0), PointSpring(At(4), (1.0, 1.0), 3.0, 0.2))
BODIES = (
    Slider(2.0),
    Link.rod(1.0, 1.0),
    Link(0.8, 0.6, 0.4, 0.03, offset=0.05),
    Slider(0.3, direction=0.4, parent=1, at=(0.3, 0.1)),
    Link.rod(0.5, 0.3).on(1, 0.6),
    Link.rod(0.4, 0.2),
)
BRANCHED = Mechanism(BODIES, LOADS)
DRIVEN = Mechanism(
    [
        Slider(motion=(Sine(0.1, 3.0), Spline((0.0, 0.1, 0.3), (0.0, 0.02, 0.0)))),
        Link.rod(1.0, 1.0),
        Link.rod(1.0, 1.0).on(1, 0.5),
    ]
)


# Taylor --------------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(moving())
def test_series_and_stages_are_one_motion(case):
    """Of random mechanisms with every load that has a series, and every prescribed motion: to 1e-12, with its ledger."""
    model, q, v, _ = case
    model = with_series(model)
    assume(model.as_chain() is None)
    q, v = model.given(0.0, q, v)
    assume(np.linalg.cond(Tree(model, q, v).free_mass()) < 1e3)
    one, other = (simulate(model, q, v, t_end=0.2, save=0.1, integrator=method) for method in (Taylor(1e-16), DOP853(1e-14, 1e-14)))
    scale = 1.0 + np.abs(other.alpha).max()
    assert np.abs(one.theta - other.theta).max() <= 1e-12 * scale
    assert np.abs(one.omega - other.omega).max() <= 1e-12 * scale
    work = 1.0 + np.abs([values.max() for values in other.work.values()] or 0.0).max() + np.abs(other.kinetic).max()
    for name, values in other.work.items():
        assert np.abs(one.work[name] - values).max() <= 1e-11 * work * scale, name


@pytest.mark.parametrize("order", [6, 8, 11])
def test_the_error_of_a_run_falls_with_the_tolerance(order):
    """A step of the order p has errors like its last terms: a hundredth of the tolerance, a hundredth of the error."""
    model, q, v = built("tree_y5")
    exact = simulate(model, q, v, t_end=1.0, save=1.0, rtol=1e-13, atol=1e-13).theta[-1]
    errors, steps = [], []
    for tol in (1e-6, 1e-8, 1e-10):
        run = simulate(model, q, v, t_end=1.0, save=1.0, integrator=Taylor(tol, order))
        errors.append(np.abs(run.theta[-1] - exact).max())
        steps.append(run.stats.steps)
    assert np.all(np.diff(np.log10(errors)) < -1.3)
    np.testing.assert_allclose(np.diff(np.log10(steps)), 2 / order, atol=0.12)  # h^p = tol


def test_there_and_back():
    model, q, v = built("cart_double")
    run = simulate(model, q, v, t_end=1.0, rtol=1e-13, atol=1e-13)
    back = simulate(model, run.theta[-1], run.omega[-1], t_end=-1.0, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(back.theta[-1], q, atol=1e-10)
    knots = simulate(DRIVEN, [0.0, 0.3, 0.1], t_end=0.5, save=0.05)
    again = simulate(DRIVEN, [0.0, 0.3, 0.1], t_end=0.5, save=0.05, integrator=DOP853(1e-13, 1e-13))
    np.testing.assert_allclose(knots.theta, again.theta, atol=1e-10)
    assert {0.1, 0.3} <= set(knots.knots.t.tolist())


# Side by side --------------------------------------------------------------------------------------------------------


def plain() -> Mechanism:
    """Hinges alone under gravity: on the ground twice, on tips and beside axes; centres of mass beside them too."""
    rng, bodies = np.random.default_rng(5), []
    for i, parent in enumerate([GROUND, 0, 0, 1, 2, 2, 2, GROUND, 7, 3]):
        link = Link(*rng.uniform(0.2, 1.5, 4).tolist(), offset=float(rng.normal()) * (i % 2))
        bodies.append(link.on(parent, (0.2, 0.3 * (i % 3))))
    return Mechanism(bodies)


@pytest.mark.parametrize("mechanism", [BRANCHED, DRIVEN, plain()])
def test_rates_of_many_states_are_those_of_each(mechanism):
    system, t = formulate(mechanism), 0.15
    states = np.random.default_rng(0).normal(size=(2 * mechanism.n, 21))
    one = np.array([system(t, state) for state in states.T]).T
    np.testing.assert_allclose(system.rates_of(states, t), one, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(system.accelerations_of(states[:, :3], t), one[mechanism.n :, :3], rtol=1e-11, atol=1e-12)


VARIED = {
    "branched": (BRANCHED, {"mass[2]": [1.0, 2.0, 0.5], "joint_spring.stiffness": [1.0, 2.0, 0.0], "gravity": [9.0, 1.0, 3.0]}),
    "driven": (DRIVEN, {"com": [0.5, 0.4, 0.3]}),
    "length": (DRIVEN, {"length[2]": [0.5, 0.9, 0.6]}),
}


@pytest.mark.parametrize("case", VARIED)
def test_members_side_by_side_are_those_one_by_one(case):
    mechanism, vary = VARIED[case]
    theta, omega = np.random.default_rng(1).uniform(-1.0, 1.0, (2, 3, mechanism.n))
    if mechanism is DRIVEN:
        theta[:, 0], omega[:, 0], _ = motion_at(DRIVEN.links[0].motion, 0.0)
    method = DOP853(1e-10, 1e-10)
    varied = Varied(mechanism, {name: np.array(values) for name, values in vary.items()}, 3)
    assert side_by_side(formulate(mechanism), method, varied) == (case != "length")
    many = simulate_many(
        mechanism,
        theta,
        omega,
        t_end=0.4,
        vary=vary,
        keep=[Final(), Samples((0.1, 0.33)), EnergyDrift(), FlipTime()],
        integrator=method,
    )
    for k in range(3):
        run = simulate(varied.chain(k), theta[k], omega[k], t_end=0.4, save=(0.1, 0.33, 0.4), integrator=method)
        np.testing.assert_allclose(many.theta[k], run.theta[-1], atol=1e-9)
        np.testing.assert_allclose(many.sample_omega[k], run.omega[:2], atol=1e-8)
    assert many.energy_drift.max() < 1e-8


SERIES = Mechanism(BODIES, LOADS[:-1]).with_loads(Drag(0.1))
WAVED = Mechanism([Slider(motion=(Sine(0.1, 3.0), Sine(0.05, 1.0))), Link.rod(1.0, 1.0), Link.rod(1.0, 1.0).on(1, 0.5)])
BY_SERIES = {
    "loads": (SERIES, {"mass[2]": [1.0, 2.0, 0.5], "joint_spring.stiffness": [1.0, 2.0, 0.0], "gravity": [9.0, 1.0, 3.0]}),
    "driven": (WAVED, {"com": [0.5, 0.4, 0.3]}),
    "slider": (WAVED, {"mass[1]": [0.0, 1.0, 3.0]}),
}


@pytest.mark.parametrize("case", BY_SERIES)
def test_series_side_by_side_are_those_one_by_one(case):
    """All that is kept of members, which differ in numbers; the same to the last bit whatever the company."""
    mechanism, vary = BY_SERIES[case]
    theta, omega = np.random.default_rng(2).uniform(-1.0, 1.0, (2, 3, mechanism.n))
    theta, omega = mechanism.given(0.0, theta, omega)
    varied, method = Varied(mechanism, {name: np.array(values) for name, values in vary.items()}, 3), Taylor(1e-13)
    assert side_by_side(formulate(mechanism), method, varied)
    keep = [Final(), Samples((0.1, 0.33)), EnergyDrift(), FlipTime(), Extremes()]
    many = simulate_many(mechanism, theta, omega, t_end=0.4, vary=vary, keep=keep, integrator=method)
    for k in range(3):
        run = simulate(varied.chain(k), theta[k], omega[k], t_end=0.4, save=(0.1, 0.33, 0.4), integrator=method)
        np.testing.assert_allclose(many.theta[k], run.theta[-1], atol=1e-11)
        np.testing.assert_allclose(many.omega[k], run.omega[-1], atol=1e-10)
        np.testing.assert_allclose(many.sample_theta[k], run.theta[:2], atol=1e-11)
        np.testing.assert_allclose(many.sample_omega[k], run.omega[:2], atol=1e-10)
        fine = simulate(varied.chain(k), theta[k], omega[k], t_end=0.4, save=2e-4, integrator=method)
        for name, values in (("theta", fine.theta), ("omega", fine.omega)):
            np.testing.assert_allclose(many[f"largest_{name}"][k], values.max(0), atol=1e-5, err_msg=name)
            np.testing.assert_allclose(many[f"least_{name}"][k], values.min(0), atol=1e-5, err_msg=name)
        alone = simulate_many(varied.chain(k), theta[k : k + 1], omega[k : k + 1], t_end=0.4, integrator=method)
        np.testing.assert_allclose(alone.theta[0], many.theta[k], atol=1e-13)
    assert many.energy_drift.max() < 1e-11


@pytest.mark.parametrize("integrator", [None, "DOP853"])
@pytest.mark.parametrize("case", ["loads", "spring between points", "driven", "spline", "another length", "loop"])
def test_exponents_of_members_are_those_of_each(case, integrator):
    """In lanes of dual numbers; one by one where a length moves joints, a spline has knots, or a loop is closed."""
    bars = [Link.rod(1.0, 1.0), Link.rod(3.0, 1.0), Link.rod(2.5, 1.0).on(GROUND, (2.5, 0.0))]
    sprung = Mechanism(
        [BODIES[1], BODIES[2].on(0, 0.5), BODIES[4].on(0)], (JointDamper(0.1), PointSpring(At(2), (1.0, 1.0), 3.0, 0.2))
    )
    mechanism, vary = {
        "loads": (SERIES, {"gravity": [9.0, 3.0]}),
        "spring between points": (sprung, {"mass[2]": [0.6, 1.0]}),
        "driven": (WAVED, {"com[2]": [0.5, 0.4]}),
        "spline": (DRIVEN, {"gravity": [9.0, 3.0]}),
        "another length": (WAVED, {"length[2]": [0.8, 1.2]}),
        "loop": (Mechanism(bars, pins=Pin(At(1), At(2))), {"gravity": [9.0, 3.0]}),
    }[case]
    theta, omega = mechanism.given(0.0, *np.random.default_rng(3).uniform(-1.0, 1.0, (2, 2, mechanism.n)))
    if mechanism.closed:
        theta, omega = np.tile(assemble(mechanism, [1.0, 1.5, 0.3]).theta, (2, 1)), 0.0 * omega
    many = simulate_many(mechanism, theta, omega, t_end=0.5, vary=vary, keep=FTLE(), integrator=integrator)
    varied = Varied(mechanism, {name: np.array(values) for name, values in vary.items()}, 2)
    for k in range(2):
        assert many.ftle[k] == pytest.approx(ftle(varied.chain(k), theta[k], omega[k], 0.5).exponent, abs=1e-7)


def test_starts_of_prescribed_joints_are_as_given_in_time():
    many = simulate_many(DRIVEN, np.zeros((2, 3)), t_end=0.2, integrator=DOP853(1e-10, 1e-10))
    np.testing.assert_allclose(many.theta[:, 0], motion_at(DRIVEN.links[0].motion, 0.2)[0], atol=1e-9)


def test_sliders_do_not_turn_over():
    free = Mechanism([Slider(1.0), Link.rod(1.0, 1.0)])
    many = simulate_many(free, [[0.0, 0.1]], [[10.0, 0.0]], t_end=1.0, keep=FlipTime(), integrator=DOP853())
    assert many.flip_link.values.tolist() == [0]


def test_what_ensembles_of_mechanisms_refuse():
    start = np.zeros((1, 3))
    with pytest.raises(ModelError, match="Cuda takes chains, not mechanisms; use Threads"):
        simulate_many(DRIVEN, start, t_end=1.0, backend=Cuda())
    with pytest.raises(ModelError, match="body 1 is a slider, which has no length; choose a link"):
        simulate_many(DRIVEN, start, t_end=1.0, vary={"length[1]": [1.0]})
    massless = Mechanism([Slider(), Link.rod(1.0, 1.0)])
    with pytest.raises(ModelError, match=r"member 1: .*singular"):
        simulate_many(massless, np.zeros(2), t_end=1.0, vary={"mass[2]": [1.0, 0.0], "inertia[2]": [1.0, 1.0]})
