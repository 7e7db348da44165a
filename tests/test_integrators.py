"""Integrators: their coefficients by the order conditions, their order by slope, their promises (reversible, symplectic,
steps that do not depend on what is saved), and how they end when they cannot go on.
"""

import itertools
import math

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
    trend_and_swing,
)
from scipy.special import ellipk

from nlink import (
    DOP853,
    RK4,
    RK45,
    Chain,
    Drag,
    Event,
    FollowerForce,
    Gauss,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Scipy,
    SimulationError,
    Sine,
    Table,
    TipForce,
    flow,
    formulate,
    integrators,
    simulate,
)
from nlink.integrators import gauss, integrator_record
from nlink.integrators.base import Restart
from nlink.integrators.tableaus import DOP853_TABLEAU, DOPRI5_TABLEAU, RK4_TABLEAU

# Coefficients ---------------------------------------------------------------------------------------------------------


def dense_rows(tab):
    """Return a tableau's compressed rows as plain matrices: stages A, error estimates, dense output by powers of u."""
    rows = np.zeros((len(tab.pick), tab.total))
    for i in range(len(rows)):
        for j, weight in zip(tab.pick[i], tab.weight[i], strict=True):
            rows[i, j] += weight
    return rows[: tab.total], rows[tab.total : tab.total + 2], rows[tab.total + 2 :]


def trees(order):
    """Return the rooted trees with so many nodes, each a sorted tuple of its branches."""
    if order == 1:
        return [()]
    found = set()
    for parts in partitions(order - 1):
        for branches in itertools.product(*(trees(part) for part in parts)):
            found.add(tuple(sorted(branches)))
    return sorted(found)


def partitions(n, largest=None):
    largest = n if largest is None else largest
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def size(tree):
    return 1 + sum(size(branch) for branch in tree)


def density(tree):
    """Return gamma: the product over all nodes of the size of what hangs on them."""
    return size(tree) * math.prod(density(branch) for branch in tree)


def stage_weights(A, tree):
    """Return the elementary weight of each stage: the product over the branches of A times theirs."""
    out = np.ones(len(A))
    for branch in tree:
        out = out * (A @ stage_weights(A, branch))
    return out


def test_there_are_as_many_trees_as_there_should_be():
    assert [len(trees(order)) for order in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


METHODS = {"RK4": (RK4_TABLEAU, 4, (), 3), "RK45": (DOPRI5_TABLEAU, 5, (4,), 4), "DOP853": (DOP853_TABLEAU, 8, (5, 3), 7)}
each_tableau = pytest.mark.parametrize(("tab", "order", "estimates", "dense"), METHODS.values(), ids=METHODS)


@each_tableau
def test_stages_are_explicit_and_consistent(tab, order, estimates, dense):
    A, _, _ = dense_rows(tab)
    np.testing.assert_allclose(A.sum(1), tab.c, atol=2e-14)
    assert np.all(np.triu(A) == 0)
    assert tab.c[0] == 0
    assert tab.c[tab.stages] == 1


@each_tableau
def test_order_conditions(tab, order, estimates, dense):
    """sum b Phi(tree) = 1/gamma(tree) for every tree up to the order, and not for all of the next."""
    A, _, _ = dense_rows(tab)
    b = A[tab.stages]
    for n in range(1, order + 1):
        for tree in trees(n):
            assert b @ stage_weights(A, tree) == pytest.approx(1 / density(tree), abs=1e-13)
    assert any(abs(b @ stage_weights(A, tree) - 1 / density(tree)) > 1e-6 for tree in trees(order + 1))


@each_tableau
def test_error_estimates_vanish_up_to_their_order(tab, order, estimates, dense):
    A, errors, _ = dense_rows(tab)
    for row, known in zip(errors, estimates, strict=False):
        for n in range(1, known + 1):
            assert max(abs(row @ stage_weights(A, tree)) for tree in trees(n)) < 1e-13
        assert max(abs(row @ stage_weights(A, tree)) for tree in trees(known + 1)) > 1e-6
    assert np.all(errors[len(estimates) :] == 0)
    if estimates:
        assert tab.exponent == pytest.approx(-1 / {5: 5, 8: 8}[order])


@each_tableau
@pytest.mark.parametrize("u", [0.1, 0.37, 0.5, 0.9, 1.0])
def test_dense_output_fulfils_the_order_conditions_at_every_part_of_the_step(tab, order, estimates, dense, u):
    A, _, powers = dense_rows(tab)
    weights = sum(u ** (j + 1) * row for j, row in enumerate(powers))
    for n in range(1, dense + 1):
        for tree in trees(n):
            assert weights @ stage_weights(A, tree) == pytest.approx(u**n / density(tree), abs=1e-12)


@each_tableau
def test_dense_output_hits_both_ends_with_their_slopes(tab, order, estimates, dense):
    A, _, powers = dense_rows(tab)
    exponents = np.arange(1, len(powers) + 1)
    np.testing.assert_allclose(powers.sum(0), A[tab.stages], atol=1e-12)
    np.testing.assert_allclose(powers[0], np.eye(tab.total)[0], atol=1e-13)
    np.testing.assert_allclose(exponents @ powers, np.eye(tab.total)[tab.stages], atol=1e-11)


def test_gauss_is_of_order_six_symplectic_and_symmetric():
    A, b, c = gauss.MATRIX, gauss.WEIGHTS, gauss.NODES
    np.testing.assert_allclose(A.sum(1), c, atol=1e-15)
    for n in range(1, 7):
        for tree in trees(n):
            assert b @ stage_weights(A, tree) == pytest.approx(1 / density(tree), abs=1e-15)
    assert any(abs(b @ stage_weights(A, tree) - 1 / density(tree)) > 1e-6 for tree in trees(7))
    np.testing.assert_allclose(b[:, None] * A + (b[:, None] * A).T, np.outer(b, b), atol=1e-16)
    np.testing.assert_allclose(A + A[::-1, ::-1], np.broadcast_to(b, (3, 3)), atol=1e-15)


# Order by slope -------------------------------------------------------------------------------------------------------


def fixed_steps(tab, system, y, step, count):
    """Take equal steps with any tableau, adaptive ones too; return the states after each second."""
    fixed = type("Fixed", (RK4,), {"tableau": tab})
    stepper = fixed(step).stepper(system, Restart(0.0, 0.0, y), step * count)
    chunk = stepper.advance(np.array([step * count]), count + 1)
    assert len(chunk.t) == count + 1
    return chunk.y[:: round(1 / step)]


def gauss_steps(system, y, step, count):
    stepper = Gauss(step).stepper(system, Restart(0.0, 0.0, y), step * count)
    chunk = stepper.advance(np.array([step * count]), count + 1)
    assert len(chunk.t) == count + 1
    return chunk.y[:: round(1 / step)]


@pytest.mark.parametrize(
    ("name", "order", "per_second"),
    [
        ("RK4", 4, (32, 48, 64, 96, 128)),
        ("RK45", 5, (48, 64, 96, 128)),
        ("DOP853", 8, (8, 12, 16, 20)),
        ("Gauss", 6, (8, 12, 16, 24, 32)),
    ],
)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_error_falls_with_the_order_of_the_method(name, order, per_second, formulation):
    """One rod from twelve starts, errors at each second of four: the slope is within 0.1 of the order."""
    if name == "Gauss" and formulation != "recursive":
        pytest.skip("Gauss needs Hamilton's form")
    system, rng = formulate(Chain.uniform(1), formulation), np.random.default_rng(3)
    errors = np.zeros(len(per_second))
    for y in rng.uniform(-0.3, 0.3, (12, 2)):
        exact = simulate(system, y[:1], y[1:], t_end=4.0, rtol=1e-14, atol=1e-14, save=1.0)
        exact = np.hstack([exact.theta, exact.omega])
        for k, count in enumerate(per_second):
            if name == "Gauss":
                got = gauss_steps(system, y, 1 / count, 4 * count)
            else:
                got = fixed_steps(METHODS[name][0], system, y, 1 / count, 4 * count)
            errors[k] += np.sum((got - exact) ** 2)
    slope = np.polyfit(np.log(per_second), np.log(errors) / 2, 1)[0]
    assert slope == pytest.approx(-order, abs=0.1)


@pytest.mark.parametrize(("kind", "order", "counts"), [(RK4, 4, (128, 256)), (Gauss, 6, (16, 32))])
def test_the_order_holds_in_whole_runs_with_loads(kind, order, counts):
    """Driven, damped and dragged links through `simulate`: the angles and the ledger. (Quadratic drag is not smooth at rest.)"""
    loads = [JointDamper(0.3), LinkDamper(0.2), JointSpring(1.0), JointTorque(Sine(1.0, 0.3)), Drag(0.1), FollowerForce(1.0)]
    chain, theta, omega = Chain.uniform(2).with_loads(*loads, TipForce(1.0, 0.5)), [0.5, 0.8], [1.0, -0.5]
    exact = simulate(chain, theta, omega, t_end=1.0, rtol=1e-14, atol=1e-14, save=1.0)
    errors = []
    for count in counts:
        run = simulate(chain, theta, omega, t_end=1.0, integrator=kind(1 / count), save=1.0)
        work = [abs(run.work[load][-1] - exact.work[load][-1]) for load in run.work]
        errors.append([np.max(np.abs(run.theta[-1] - exact.theta[-1])), max(work)])
    np.testing.assert_allclose(np.log2(np.array(errors[0]) / errors[1]), order, atol=0.1)


@pytest.mark.parametrize("kind", [DOP853, RK45])
def test_the_error_falls_in_step_with_the_tolerance(kind):
    chain, theta = Chain.uniform(2), [0.8, 1.2]
    exact = simulate(chain, theta, t_end=5.0, rtol=1e-14, atol=1e-14, save=0.5)
    tolerances = 10.0 ** -np.arange(4, 12)
    errors = []
    for tolerance in tolerances:
        run = simulate(chain, theta, t_end=5.0, integrator=kind(tolerance, tolerance), save=0.5)
        errors.append(np.max(np.abs(run.theta - exact.theta)))
    slope = np.polyfit(np.log10(tolerances), np.log10(errors), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.15)
    assert np.all(np.array(errors) < 300 * tolerances)


# Promises -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("integrator", ["DOP853", "RK45", "Gauss(step=0.01)", "RK4(step=0.0005)"])
def test_forth_and_back_returns_to_the_start(integrator, formulation):
    """Three rods from 45 degrees, 10 s forth and 10 s back, at 1e-12. (Gauss is symmetric: it returns with any step.)"""
    if integrator.startswith("Gauss") and formulation != "recursive":
        pytest.skip("Gauss needs Hamilton's form")
    chain, theta = Chain.uniform(3), start_angles("nice", 3)
    options = {"formulation": formulation, "integrator": integrator, "rtol": 1e-12, "atol": 1e-12}
    forth = simulate(chain, theta, t_end=10.0, **options)
    back = simulate(chain, forth.theta[-1], forth.omega[-1], t_end=-10.0, **options)
    assert back.t[-1] == -10.0
    assert np.max(np.abs(back.theta[-1] - theta)) < 1e-9
    assert np.max(np.abs(back.omega[-1])) < 1e-8
    np.testing.assert_allclose(back.theta, forth.theta[::-1], atol=1e-8)


@pytest.mark.parametrize("integrator", ["DOP853(rtol=1e-13, atol=1e-13)", "RK45(rtol=1e-13, atol=1e-13)"])
@pytest.mark.parametrize("angle", [0.1, math.pi / 4, math.pi / 2, 3.0])
@pytest.mark.parametrize("link", [Link.rod(1.0, 1.0), Link.point(0.7, 2.0), Link(1.0, 2.0, 0.3, 0.1)])
def test_the_period_of_one_pendulum_is_elliptic(integrator, angle, link):
    """4 K(sin(a/2)) sqrt(J/(m g d)), between passages through straight down found as events."""
    down = Event(lambda t, theta, omega: theta[0], direction=-1)
    period = 4 * ellipk(math.sin(angle / 2) ** 2) * math.sqrt(link.hinge_inertia / (link.mass * 9.81 * link.com))
    run = simulate(Chain([link], [Gravity(9.81)]), [angle], t_end=2.5 * period, integrator=integrator, events=down)
    times = [event.t for event in run.events]
    assert len(times) == 3
    assert times[0] == pytest.approx(period / 4, abs=TOLERANCE["period"])
    assert times[1] - times[0] == pytest.approx(period, abs=TOLERANCE["period"])
    assert times[2] - times[1] == pytest.approx(period, abs=TOLERANCE["period"])


def test_the_period_of_the_reference():
    case = reference("uniform_rods")["cases"]["N1_nice"]
    down = Event(lambda t, theta, omega: theta[0], direction=1)
    run = simulate(Chain.uniform(1), math.pi / 4, t_end=3.0, rtol=1e-13, atol=1e-13, events=down)
    assert run.events[0].t == pytest.approx(0.75 * case["period"], abs=TOLERANCE["period"])


@pytest.mark.slow
def test_gauss_has_no_energy_trend_over_a_million_steps():
    """Two rods in chaos: the energy of Gauss swings about its value; that of RK4, swinging no more, runs away."""
    chain, theta, steps = Chain.uniform(2), [2.0, 2.5], 1_000_000
    run = simulate(chain, theta, t_end=0.005 * steps, integrator=Gauss(0.005), save=0.005 * steps / 200_000)
    assert run.stats.steps == steps
    drift, swing = trend_and_swing(run)
    other, other_swing = trend_and_swing(simulate(chain, theta, t_end=500.0, integrator=RK4(0.0005), save=500.0 / 200_000))
    assert drift < swing
    assert other_swing < swing
    assert other > 20 * other_swing


def test_gauss_keeps_the_energy_where_others_lose_it():
    """The same in short: 20,000 steps of one rod swinging wide; Gauss does not drift, RK4 of the same step does."""
    chain = Chain.uniform(1)
    drift, swing = trend_and_swing(simulate(chain, 3.0, t_end=1000.0, integrator=Gauss(0.05), save=0.05))
    other, _ = trend_and_swing(simulate(chain, 3.0, t_end=1000.0, integrator=RK4(0.05), save=0.05))
    assert drift < 0.1 * swing
    assert other > 1000 * drift


def test_gauss_needs_hamiltons_form():
    with pytest.raises(
        ModelError, match=r"Gauss needs Hamilton's form .* which momentum does not have; use the formulation recursive"
    ):
        simulate(Chain.uniform(2), 0.5, t_end=1.0, formulation="momentum", integrator="Gauss")


@pytest.mark.parametrize("name", INTEGRATORS)
def test_every_method_gives_the_same_motion(name):
    chain, theta, omega = random_chain(3)
    exact = simulate(chain, theta, omega, t_end=1.5, rtol=1e-13, atol=1e-13, save=0.1)
    run = simulate(chain, theta, omega, t_end=1.5, **settings(name), save=0.1)
    assert run.status.code == "finished"
    np.testing.assert_allclose(run.theta, exact.theta, atol=TOLERANCE["method"])
    np.testing.assert_allclose(run.omega, exact.omega, atol=20 * TOLERANCE["method"])
    np.testing.assert_allclose(run.alpha, exact.alpha, atol=1000 * TOLERANCE["method"])
    for load, work in exact.work.items():
        np.testing.assert_allclose(run.work[load], work, atol=10 * TOLERANCE["method"], err_msg=load)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("backwards", [False, True])
def test_what_is_saved_never_changes_the_steps(name, backwards):
    chain, theta, omega = random_chain(3)
    sign = -1.0 if backwards else 1.0
    if backwards:  # friction feeds energy when time runs backwards: the motion would run away
        chain = Chain(chain.links, [load for load in chain.loads if not isinstance(load, JointDamper | LinkDamper | Drag)])
    saves = [2.0, 0.5, 0.001, sign * np.array([0.0, 0.123456, 0.7, 1.9999, 2.0]), sign * np.array([2.0])]
    events = [(), Event(lambda t, theta, omega: theta[0] - 0.1)]
    runs = [simulate(chain, theta, omega, t_end=sign * 2.0, integrator=name, save=save) for save in saves]
    runs += [simulate(chain, theta, omega, t_end=sign * 2.0, integrator=name, save=2.0, events=event) for event in events]
    for run in runs[1:]:
        assert (run.stats.steps, run.stats.rejected) == (runs[0].stats.steps, runs[0].stats.rejected)
        np.testing.assert_array_equal(run.checkpoint.state, runs[0].checkpoint.state)
        for series in ("theta", "omega", "alpha"):
            np.testing.assert_array_equal(getattr(run, series)[-1], getattr(runs[0], series)[-1])


@pytest.mark.parametrize("name", ["Radau", "LSODA"])
def test_what_is_saved_never_changes_the_steps_of_scipy(name):
    chain, theta, omega = random_chain(2)
    runs = [simulate(chain, theta, omega, t_end=1.0, **settings(name), save=save) for save in (1.0, 0.01)]
    assert runs[0].stats.steps == runs[1].stats.steps
    np.testing.assert_array_equal(runs[0].theta[-1], runs[1].theta[-1])


@pytest.mark.parametrize(
    ("integrator", "within"),
    [
        ("DOP853(rtol=1e-9, atol=1e-9)", 1e-7),
        ("RK45(rtol=1e-8, atol=1e-8)", 1e-6),
        ("RK4(step=0.01)", 1e-4),
        ("Gauss(step=0.02)", 1e-6),
        ("Scipy(method='Radau', rtol=1e-9, atol=1e-9)", 1e-6),
        ("Scipy(method='LSODA', rtol=1e-10, atol=1e-10)", 1e-6),
    ],
)
def test_dense_output_between_the_steps(integrator, within):
    """Points saved far more densely than the steps are as good as the steps, first and last step included."""
    chain, theta = Chain.uniform(2), [1.0, 2.0]
    exact = simulate(chain, theta, t_end=0.5, rtol=1e-13, atol=1e-13, save=0.001)
    run = simulate(chain, theta, t_end=0.5, integrator=integrator, save=0.001)
    assert run.t.shape == exact.t.shape
    assert np.max(np.abs(run.theta - exact.theta)) < within
    assert np.max(np.abs(run.omega - exact.omega)) < 100 * within


@pytest.mark.parametrize("name", FIXED)
def test_nothing_is_extrapolated_in_the_first_and_last_step(name):
    """With steps ten times the saving interval the errors inside the first and the last step are like those beside them."""
    chain, theta = Chain.uniform(2), [0.5, 0.2]
    exact = simulate(chain, theta, t_end=1.05, rtol=1e-13, atol=1e-13, save=0.01)
    error = np.max(
        np.abs(simulate(chain, theta, t_end=1.05, integrator=f"{name}(step=0.1)", save=0.01).theta - exact.theta), axis=1
    )
    assert error[0] == 0
    assert np.max(error[1:10]) < 2 * np.max(error[10:20])
    assert np.max(error[-6:]) < 2 * np.max(error[-16:-6])


@pytest.mark.parametrize("name", FIXED)
def test_fixed_steps_lie_on_a_grid(name):
    run = simulate(Chain.uniform(2), 0.5, t_end=1.0, integrator=f"{name}(step=0.3, max_steps=100)", save=1.0)
    np.testing.assert_allclose(run.knots.t, [0.0, 0.3, 0.6, 0.9], rtol=1e-15)
    assert run.stats.steps == 4
    assert run.checkpoint.t == pytest.approx(0.9)


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_run_that_ends_between_grid_points_ends(name, sign):
    """However many steps it takes, so that the last one is the last of a chunk sometimes."""
    for count in range(1, 100):
        t_end = sign * 0.01 * (count + 0.5)
        run = simulate(Chain.uniform(1), 0.5, t_end=t_end, integrator=f"{name}(step=0.01, max_steps=1000)", save=1.0, strict=False)
        assert (run.status.code, run.stats.steps) == ("finished", count + 1)
        assert run.t[-1] == t_end


def test_a_largest_step_is_kept():
    for name in ("DOP853", "RK45"):
        run = simulate(Chain.uniform(1), 0.1, t_end=5.0, integrator=f"{name}(rtol=1e-3, atol=1e-3, max_step=0.02)", save=5.0)
        assert np.max(np.diff(run.knots.t)) <= 0.02 * (1 + 1e-12)
        assert run.stats.steps >= 250


@pytest.mark.parametrize("name", ["DOP853", "RK45"])
def test_wound_up_angles_are_followed_as_well_as_others(name):
    """A link that has turned over often takes the same steps: its error is not measured against the wound-up angle."""
    runs = [simulate(Chain.uniform(1), 1.1 + turns * 2 * math.pi, t_end=20.0, integrator=name) for turns in (1, 10_000)]
    assert abs(runs[0].stats.steps - runs[1].stats.steps) <= 1
    np.testing.assert_allclose(runs[1].omega[-1], runs[0].omega[-1], atol=1e-6)


# Ends -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["DOP853", "RK45", "RK4", "Gauss", "Scipy"])
def test_too_many_steps_end_in_a_status(name):
    run = simulate(Chain.uniform(2), [1.0, 2.0], t_end=20.0, integrator=f"{name}(max_steps=30)", save=0.001, strict=False)
    assert run.status.code == "too_many_steps"
    assert not run.status.ok
    assert run.status.message.startswith("30 steps were not enough: stopped at t = ")
    assert f"raise max_steps of {name}" in run.status.remedy
    assert run.stats.steps + run.stats.rejected == 30
    assert 0 < run.t[-1] < 20.0
    assert len(run.t) == len(run.theta) == len(run.kinetic) > 20
    assert run.t[-1] <= run.checkpoint.t < run.t[-1] + 0.0011


@pytest.mark.parametrize("name", FIXED)
def test_as_many_steps_as_are_needed_are_enough(name):
    run = simulate(Chain.uniform(2), 0.5, t_end=1.0, integrator=f"{name}(step=0.125, max_steps=8)", strict=False)
    assert (run.status.code, run.stats.steps) == ("finished", 8)


def test_a_stiff_chain_stops_and_scipy_takes_it():
    chain = Chain.uniform(3, loads=[Gravity(9.81), JointSpring(1e7), JointDamper(1e5)])
    run = simulate(chain, [0.1, 0.1, 0.1], t_end=1.0, integrator="DOP853(max_steps=500)", strict=False)
    assert run.status.code == "too_many_steps"
    assert "Radau" in run.status.remedy
    ends = [
        simulate(chain, [0.1] * 3, t_end=1.0, integrator=name, rtol=1e-8, atol=1e-8).theta[-1] for name in ("Radau", "BDF", "LSODA")
    ]
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, atol=1e-6)


def test_strict_raises_with_the_part_computed():
    with pytest.raises(SimulationError, match=r"40 steps were not enough: stopped at t = .*; raise max_steps of DOP853") as caught:
        simulate(Chain.uniform(2), [1.0, 2.0], t_end=20.0, integrator=DOP853(max_steps=40))
    assert caught.value.status.code == "too_many_steps"
    assert caught.value.run.t[-1] > 0.1
    assert caught.value.run.status == caught.value.status


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0, 5.0])
def test_an_exploding_motion_ends_in_a_status_and_what_is_kept_is_finite(step):
    run = simulate(Chain.uniform(2), [1.0, 2.0], t_end=200.0, integrator=RK4(step), strict=False)
    assert run.status.code == "not_finite"
    assert run.status.message.startswith("the motion stopped being finite after t = ")
    assert f"try a smaller step than {step:g}" in run.status.remedy
    for series in ("theta", "omega", "alpha", "kinetic", "potential"):
        assert np.all(np.isfinite(getattr(run, series))), series
    assert len(run.t) >= 1


def test_gauss_that_cannot_solve_its_stages_says_so():
    run = simulate(Chain.uniform(2), [1.0, 2.0], t_end=50.0, integrator=Gauss(0.25), strict=False)
    assert run.status.code in ("not_converged", "not_finite")
    assert "try a smaller step than 0.25" in run.status.remedy
    assert np.all(np.isfinite(run.theta))


@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_a_torque_that_stops_being_a_number(name):
    chain = Chain.uniform(2).with_loads(JointTorque(lambda t: math.nan if t > 0.5 else 0.1))
    run = simulate(chain, [1.0, 2.0], t_end=1.0, **settings(name), strict=False)
    assert run.status.code in ("not_finite", "step_too_small")
    assert 0.45 < run.t[-1] <= 0.5
    for series in ("theta", "omega", "alpha", "kinetic"):
        assert np.all(np.isfinite(getattr(run, series))), series
    assert all(np.all(np.isfinite(work)) for work in run.work.values())


@pytest.mark.parametrize("name", ["DOP853", "RK45"])
def test_a_tolerance_below_rounding_does_not_hang(name):
    run = simulate(
        Chain.uniform(2), [1.0, 2.0], t_end=1.0, integrator=f"{name}(rtol=1e-30, atol=1e-30, max_steps=100000)", strict=False
    )
    assert run.status.code in ("step_too_small", "too_many_steps")
    assert len(run.t) >= 1


@pytest.mark.parametrize("name", ["DOP853", "RK45"])
def test_steps_that_shrink_to_nothing_are_named(name):
    """A torque with a jump at a place unknown is passed; one that is nowhere smooth ends in a status."""
    jump = Chain.uniform(1).with_loads(JointTorque(lambda t: 1.0 if t > 0.3 else -1.0))
    assert simulate(jump, 0.5, t_end=1.0, integrator=name).status.ok
    noise = Chain.uniform(1).with_loads(JointTorque(lambda t: 1e10 * math.sin(1e15 * t) if t > 0.3 else 0.0))
    run = simulate(noise, 0.5, t_end=1.0, integrator=f"{name}(max_steps=20000)", strict=False)
    assert run.status.code == "step_too_small"
    assert run.status.message.startswith("the steps became too small to go on at t = 0.3 s")
    assert "Radau" in run.status.remedy
    assert 0.28 < run.t[-1] <= 0.3
    assert np.all(np.isfinite(run.theta))


# Records --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RK4(0.0), r"RK4\.step must be positive, got 0"),
        (lambda: RK4(-0.1), r"RK4\.step must be positive, got -0\.1"),
        (lambda: RK4(math.nan), r"RK4\.step must be finite, got nan"),
        (lambda: RK4("0.1"), r"RK4\.step must be a number, got '0\.1'"),
        (lambda: RK4(0.1, max_steps=0), r"RK4\.max_steps must be a whole number, at least 1, got 0"),
        (lambda: RK4(0.1, max_steps=1e3), r"RK4\.max_steps must be a whole number, at least 1, got 1000\.0"),
        (lambda: Gauss(0.0), r"Gauss\.step must be positive, got 0"),
        (lambda: Gauss(0.1, max_steps=True), r"Gauss\.max_steps must be a whole number"),
        (lambda: DOP853(rtol=0), r"DOP853\.rtol must be positive, got 0"),
        (lambda: DOP853(atol=-1), r"DOP853\.atol must be positive, got -1"),
        (lambda: DOP853(max_step=0), r"DOP853\.max_step must be positive, got 0"),
        (lambda: DOP853(max_step="1"), r"DOP853\.max_step must be a number, got '1'"),
        (lambda: DOP853(max_step=math.nan), r"DOP853\.max_step must be finite, got nan"),
        (lambda: DOP853(max_step=True), r"DOP853\.max_step must be a number, got True"),
        (lambda: RK45(max_steps=0), r"RK45\.max_steps must be a whole number, at least 1, got 0"),
        (lambda: RK45(rtol=math.nan), r"RK45\.rtol must be finite, got nan"),
        (lambda: Scipy("Radua"), r"Scipy\.method must be one of Radau, BDF, .*; got 'Radua' \(did you mean 'Radau'\?\)"),
        (lambda: Scipy(rtol=0), r"Scipy\.rtol must be positive, got 0"),
        (lambda: Scipy(max_steps=-1), r"Scipy\.max_steps must be a whole number"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_names_take_the_tolerances_given_beside_them():
    assert integrator_record(None, 1e-5, 1e-6) == DOP853(1e-5, 1e-6)
    assert integrator_record("RK45", 1e-5, 1e-6) == RK45(1e-5, 1e-6)
    assert integrator_record("rk45", 1e-5, 1e-6) == RK45(1e-5, 1e-6)
    assert integrator_record("RK45(rtol=1e-3)", 1e-5, 1e-6) == RK45(1e-3, 1e-6)
    assert integrator_record("BDF", 1e-5, 1e-6) == Scipy("BDF", 1e-5, 1e-6)
    assert integrator_record(RK45(1e-3, 1e-3), 1e-5, 1e-6) == RK45(1e-3, 1e-3)
    assert integrator_record("RK4", 1e-5, 1e-6) == RK4()
    assert integrator_record("DOP853(max_step=0.5)", 1e-5, 1e-6) == DOP853(1e-5, 1e-6, max_step=0.5)


def test_unknown_methods_are_refused_with_the_list():
    with pytest.raises(
        ModelError,
        match=r"integrator must be one of DOP853, RK45, RK4, Gauss, Rattle, Scipy, IDA, Taylor; got 'RK5' \(did you mean 'RK45'",
    ):
        simulate(Chain.uniform(1), 0.1, t_end=1.0, integrator="RK5")
    with pytest.raises(ModelError, match=r"integrator must be a name \(DOP853, .*\) or such a record, got 5"):
        simulate(Chain.uniform(1), 0.1, t_end=1.0, integrator=5)


def test_knots_of_tables_bound_the_steps():
    """Every knot inside the run is the end of a step, whatever the method; knots outside are not."""
    chain = Chain.uniform(2).with_loads(JointTorque([Table([-1.0, 0.1234, 0.7, 5.0], [0.0, 3.0, -3.0, 0.0]), Table([0.31], [1.0])]))
    for name in INTEGRATORS:
        run = simulate(chain, 0.5, t_end=1.0, **settings(name), save=(1.0,))
        assert {0.1234, 0.31, 0.7} <= set(run.knots.t.tolist()), name
        assert run.knots.t[-1] <= 1.0
        assert np.all(np.diff(run.knots.t) > 0)


def test_the_shared_table_holds_every_integrator_of_the_package():
    elsewhere = {"Scipy", "Rattle"}  # Scipy by its methods; Rattle takes chains in space alone: test_rattle.py
    named = {integrator_record(setting, 1e-9, 1e-9).name for setting in INTEGRATORS.values()}
    assert named >= set(integrators.INTEGRATORS) - elsewhere
    assert {"Radau", "BDF", "LSODA"} <= set(INTEGRATORS), "methods of Scipy"


@pytest.mark.parametrize("name", ["Taylor", "DOP853", "RK4(step=0.01)", "Gauss(step=0.01)", "Radau"])
def test_a_flow_begins_anew_from_any_start_and_takes_whole_seconds(name):
    motion = flow(Chain.uniform(2).with_loads(JointTorque(Sine(1.0, 0.5))), integrator=name)
    first = motion([0.5, 0.2], [0.1, 0.0], t=1, start=0)
    motion([1.0, -1.0], t=-0.3, start=2.0)
    np.testing.assert_array_equal(motion([0.5, 0.2], [0.1, 0.0], t=1.0, start=0.0), first)
    once = flow(Chain.uniform(2).with_loads(JointTorque(Sine(1.0, 0.5))), integrator=name)
    np.testing.assert_array_equal(once([0.5, 0.2], [0.1, 0.0], t=1.0), first)
