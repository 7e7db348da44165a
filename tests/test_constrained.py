"""`maximal`, `natural` and `linear`: agreement with the forms in angles, what handling constraints costs, and its ledger."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from helpers import TOLERANCE, moving, random_chain, reference
from hypothesis import given
from hypothesis import strategies as st

import nlink
from nlink import (
    IDA,
    AugmentedLagrangian,
    Baumgarte,
    Chain,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    Linear,
    Link,
    Maximal,
    ModelError,
    MultiplierFilter,
    Natural,
    Penalty,
    Projection,
    Unstabilized,
    formulate,
    simulate,
)

CONSTRAINED = (Maximal, Natural)
EXACT = (Unstabilized(), Baumgarte(), MultiplierFilter(), AugmentedLagrangian(), Projection(), "IDA")
"""Handlings whose accelerations on the constraints are the exact ones."""


@pytest.mark.parametrize("kind", CONSTRAINED)
@given(data=st.data())
def test_accelerations_are_those_in_angles(kind, data):
    chain, theta, omega, t = data.draw(moving())
    exact = formulate(chain).accelerations(theta, omega, t)
    system = formulate(chain, kind(constraints=data.draw(st.sampled_from(EXACT))))
    assert np.abs(system.accelerations(theta, omega, t) - exact).max() <= TOLERANCE["agreement"] * max(1.0, np.abs(exact).max())


@pytest.mark.parametrize("kind", CONSTRAINED)
@pytest.mark.parametrize("n", [1, 2, 3, 12, 50])
def test_accelerations_of_every_load_at_once(kind, n):
    chain, theta, omega = random_chain(n)
    exact = formulate(chain).accelerations(theta, omega, 0.4)
    found = formulate(chain, kind()).accelerations(theta, omega, 0.4)
    assert np.abs(found - exact).max() <= TOLERANCE["agreement"] * np.abs(exact).max()
    reactions = formulate(chain).reactions(theta, omega, 0.4)
    assert np.allclose(
        formulate(chain, kind()).reactions(theta, omega, 0.4), reactions, rtol=1e-9, atol=1e-9 * np.abs(reactions).max()
    )


@pytest.mark.parametrize("kind", CONSTRAINED)
def test_a_penalty_agrees_in_its_limit(kind):
    chain, theta, omega = random_chain(5)
    exact = formulate(chain).accelerations(theta, omega)
    weights = (1e5, 1e6, 1e7)
    errors = [np.abs(formulate(chain, kind(constraints=Penalty(a))).accelerations(theta, omega) - exact).max() for a in weights]
    slopes = np.diff(np.log(errors)) / np.diff(np.log(weights))
    assert slopes == pytest.approx([-1.0, -1.0], abs=0.05)


@pytest.mark.parametrize("kind", CONSTRAINED)
@pytest.mark.parametrize("handling", [*EXACT, Penalty(1e6)])
def test_power_balance_closes_off_the_constraints_too(kind, handling):
    """The rate of the energy of a drifted state is the sum of the ledger's powers."""
    chain, theta, omega = random_chain(4)
    system = formulate(chain, kind(constraints=handling))
    y = np.zeros(system.full_size)
    y[: system.size] = system.encode(theta, omega)
    y[: 2 * chain.n] += 0.02 * np.cos(np.arange(2 * chain.n))
    f, h = system.rates(0.4, y), 1e-5
    above, below = (sum(system.energy((y + sign * h * f)[: system.size])) for sign in (1, -1))
    powers = f[system.size :]
    assert (above - below) / (2 * h) == pytest.approx(powers.sum(), abs=1e-5 * np.abs(powers).max())
    assert abs(powers[-1]) > 1e-4


@pytest.mark.parametrize("kind", CONSTRAINED)
def test_states_come_back_unwrapped(kind):
    chain = Chain.uniform(3)
    theta, omega = np.array([0.3, 7.0, -20.0]), np.array([1.0, -2.0, 3.0])
    system = formulate(chain, kind())
    found = system.decode(system.encode(theta, omega))
    assert np.allclose(found, [theta, omega], atol=1e-13)
    run = simulate(Chain.uniform(2), [3.0, 3.0], [9.0, 12.0], t_end=3.0, formulation=kind())
    exact = simulate(Chain.uniform(2), [3.0, 3.0], [9.0, 12.0], t_end=3.0)
    assert np.abs(exact.theta).max() > 10
    assert np.abs(run.theta - exact.theta).max() < 1e-5


@pytest.mark.parametrize("kind", CONSTRAINED)
@pytest.mark.parametrize("handling", [*EXACT, Penalty(1e3, 10, 0.7)])
def test_the_energy_balance_of_a_run_closes(kind, handling):
    chain = Chain.uniform(3).with_loads(JointDamper(0.2), nlink.JointTorque(nlink.Sine(1.0, 0.5)), JointSpring(2.0))
    run = simulate(chain, [1.0, 2.0, 0.5], t_end=2.0, formulation=kind(constraints=handling))
    energy = run.energy()
    assert np.abs(energy.residual).max() < 1e-6
    if isinstance(handling, Penalty):  # soft: the constraints do real work, and the balance closes only with it
        assert np.abs(energy.work["constraints"]).max() > 1e-4


def test_projection_stays_on_the_constraints():
    """The issue's figures: violation 1e-10, residual 1e-7 of the energy exchanged, on chaotic-5 at 1e-10 for 20 s."""
    scenario = nlink.preset("chaotic-5")
    run = simulate(
        scenario.chain, scenario.theta, t_end=20.0, formulation=Maximal(constraints=Projection()), rtol=1e-10, atol=1e-10
    )
    energy = run.energy()
    assert run.violation().max() <= 1e-10
    assert np.abs(energy.residual).max() <= 1e-7 * np.ptp(energy.potential)


def test_plain_constraints_drift():
    scenario = nlink.preset("offaxis-double")
    forms = Natural(), Natural(constraints=Baumgarte())
    start = scenario.theta, scenario.omega
    run, held = (simulate(scenario.chain, *start, t_end=20.0, formulation=form, rtol=1e-3, atol=1e-6) for form in forms)
    assert run.violation().max() > 1e-3
    assert held.violation().max() < 0.5 * run.violation().max()


@pytest.mark.parametrize(
    ("handling", "most"),
    [
        (Baumgarte(10, 0.8), 1e-7),
        (Projection(), 1e-8),
        ("IDA", 1e-8),
        (Penalty(1e8), 1e-5),
        (AugmentedLagrangian(), 1e-7),
        (MultiplierFilter(), 1e-7),
    ],
)
def test_the_off_axis_double_pendulum_in_natural_coordinates(handling, most):
    rows = reference("offaxis")["values"]
    scenario = nlink.preset("offaxis-double")
    times = tuple(row["t"] for row in rows)
    run = simulate(scenario.chain, scenario.theta, scenario.omega, t_end=1.5, save=times, formulation=Natural(constraints=handling))
    exact = np.array([row["angle"] for row in rows]) + math.pi / 2
    assert np.abs(run.theta - exact).max() <= most


def test_an_inconsistent_start_is_measured_and_projected():
    """The document's start: yB' = 0.01 and u2x' = 0.01 violate both velocity constraints."""
    chain = nlink.preset("offaxis-double").chain
    system = formulate(chain, "natural")
    state = system.encode([math.pi, math.pi / 2], [1 / 3, 0.1])
    state[4:8] += [0.0, 0.01, 0.01, 0.0]
    run = simulate(system, state=state, t_end=0.1)
    assert run.meta["start"] == {
        "violation": pytest.approx(0.0, abs=1e-15),
        "rate_violation": pytest.approx(0.02),
        "projected": True,
    }
    assert run.omega[0] == pytest.approx([1 / 3, 0.1], abs=1e-12)
    kept = simulate(system, state=state, t_end=0.1, project=False)
    assert not kept.meta["start"]["projected"]
    assert kept.violation()[-1] > 100 * run.violation()[-1]


@pytest.mark.parametrize("kind", CONSTRAINED)
@pytest.mark.parametrize("t_end", [1.0, -0.3])
@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_ida_keeps_the_constraints_and_the_motion(kind, n, t_end):
    """With every load; kinks of the torques within the run."""
    chain, theta, omega = random_chain(n)
    exact = simulate(chain, theta, omega, t_end=t_end, rtol=1e-12, atol=1e-12, save=0.1)
    run = simulate(chain, theta, omega, t_end=t_end, formulation=kind(constraints=IDA(rtol=1e-8, atol=1e-8)), save=0.1)
    assert run.meta["integrator"] == "IDA(rtol=1e-08, atol=1e-08)"
    assert np.abs(run.theta - exact.theta).max() <= 1e-6 * max(1.0, np.abs(exact.omega).max())
    assert run.violation().max() <= 1e-9
    assert np.abs(run.energy().residual).max() <= 1e-6 * max(1.0, np.ptp(exact.energy().kinetic))


def test_ida_by_its_name_as_a_method_and_as_a_handling(tmp_path):
    runs = [
        simulate(Chain.uniform(2), 0.5, t_end=0.5, formulation="natural", integrator="IDA"),
        simulate(Chain.uniform(2), 0.5, t_end=0.5, formulation="natural", integrator=IDA()),
        simulate(Chain.uniform(2), 0.5, t_end=0.5, formulation="natural(constraints='IDA')"),
        simulate(Chain.uniform(2), 0.5, t_end=0.5, formulation=Natural(constraints=IDA())),
        simulate(Chain.uniform(2), 0.5, t_end=0.25, formulation=Natural(constraints="IDA")).resume(0.5),
    ]
    for run in runs[:4]:
        np.testing.assert_array_equal(run.theta, runs[0].theta)
    np.testing.assert_allclose(runs[4].theta, runs[0].theta, atol=1e-8)
    runs[3].save(tmp_path / "run.nc")
    assert nlink.load(tmp_path / "run.nc").scenario.run().theta == pytest.approx(runs[0].theta, abs=1e-15)


@pytest.mark.parametrize(
    ("formulation", "integrator", "message"),
    [
        ("recursive", "IDA", "IDA keeps constraints, which recursive does not have; use maximal or natural"),
        (Maximal(constraints=Baumgarte()), "IDA", "IDA keeps the constraints itself, got constraints Baumgarte"),
        (Maximal(constraints="IDA"), "RK4", "bring their own integrator, got RK4 too; leave one of them out"),
    ],
)
def test_ida_where_it_does_not_belong(formulation, integrator, message):
    with pytest.raises(ModelError, match=message):
        simulate(Chain.uniform(2), 0.5, t_end=0.5, formulation=formulation, integrator=integrator)


def test_ida_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sksundae.ida", None)
    with pytest.raises(ModelError, match=r"IDA needs a package that is not installed: pip install scikit-sundae"):
        simulate(Chain.uniform(2), 0.5, t_end=0.5, formulation=Natural(constraints="IDA"))


def test_ida_stops_with_a_sentence():
    def torque(t):
        if t > 0.3:
            raise ValueError("out of range")
        return 0.1

    chain = Chain.uniform(2).with_loads(nlink.JointTorque(torque))
    with pytest.raises(
        nlink.SimulationError, match=r"the torque function failed near t = 0\.\d+ s: ValueError: out of range"
    ) as caught:
        simulate(chain, 0.5, t_end=1.0, formulation=Natural(constraints="IDA"), save=0.01)
    assert 0.2 < caught.value.run.t[-1] < 0.31


def test_projection_refuses_the_solvers_of_scipy():
    with pytest.raises(ModelError, match="Projection goes with DOP853, RK45 and RK4"):
        simulate(Chain.uniform(2), 0.1, t_end=1.0, formulation=Maximal(constraints=Projection()), integrator="Radau")
    with pytest.raises(ModelError, match="Gauss needs Hamilton's form of the equations, which maximal does not have"):
        simulate(Chain.uniform(2), 0.1, t_end=1.0, formulation="maximal", integrator="Gauss")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Maximal(constraints="Baumgart"), r"maximal: constraints must be one of none, .*did you mean 'Baumgarte'"),
        (lambda: Natural(constraints=3), "natural: constraints must be a name"),
        (lambda: Baumgarte(w=-1), "Baumgarte.w must not be negative, got -1"),
        (lambda: Penalty(alpha=0), "Penalty.alpha must be positive, got 0"),
        (lambda: MultiplierFilter(tau=0), "MultiplierFilter.tau must be positive"),
        (lambda: AugmentedLagrangian(iterations=0), "AugmentedLagrangian.iterations must be a whole number"),
        (lambda: Linear(about="up"), "Linear.about must be a number"),
        (lambda: formulate(Chain.uniform(2), Linear(about=(0.0,) * 3)), "Linear.about has 3 values for 2 links"),
        (lambda: formulate(Chain.uniform(2), Linear(about=0.5)), "linear needs an equilibrium: at Linear.about a moment of"),
    ],
)
def test_bad_records_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


@pytest.mark.parametrize("about", [0.0, math.pi, (0.0, math.pi, 0.0)])
def test_linear_is_right_to_first_order(about):
    chain = Chain(
        [Link.rod(1.0, 1.0), Link.point(0.7, 2.0), Link(0.5, 1.0, 0.3, 0.1)],
        [Gravity(9.81), JointDamper(0.3), nlink.Drag(0.2), FollowerForce(3.0), nlink.TipForce(0.0, 2.0)],
    )
    exact, linear = formulate(chain), formulate(chain, Linear(about=about))
    rng = np.random.default_rng(1)
    direction, speed = rng.normal(size=3), rng.normal(size=3)
    errors = []
    for size in (1e-2, 1e-3, 1e-4):
        theta, omega = np.array(about) + size * direction, size * speed
        errors.append(np.abs(exact.accelerations(theta, omega) - linear.accelerations(theta, omega)).max())
    slopes = np.diff(np.log10(errors))
    assert (slopes < -1.9).all()


def test_linear_about_a_bent_equilibrium_and_its_energy_balance():
    chain = Chain.uniform(2).with_loads(
        JointSpring(50.0, rest=(0.4, 0.0)), JointDamper(0.5), nlink.JointTorque([nlink.Sine(1.0, 0.7), 0.0])
    )
    theta = _equilibrium(chain.with_loads(nlink.JointTorque(0.0)), np.zeros(2))
    run = simulate(chain, theta + 0.01, t_end=5.0, formulation=Linear(about=tuple(theta)))
    assert np.abs(run.energy().residual).max() < 1e-8
    exact = simulate(chain, theta + 0.01, t_end=5.0)
    assert np.abs(run.theta - exact.theta).max() < 2e-3


def _equilibrium(chain: Chain, theta: np.ndarray) -> np.ndarray:
    system = formulate(chain)
    for _ in range(30):
        force = system.accelerations(theta, 0.0)
        slope = np.array([(system.accelerations(theta + 1e-6 * e, 0.0) - force) / 1e-6 for e in np.eye(chain.n)]).T
        theta = theta - np.linalg.solve(slope, force)
    return theta
