"""Rattle: orders by slope, with loads too; energy without a trend; reversal in time; spheres; going on; what ends it; refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import trend_and_swing

from nlink import (
    DOP853,
    RK4,
    Body,
    Chain,
    Drag,
    FollowerForce,
    JointDamper,
    JointSpring,
    Link,
    LinkDamper,
    ModelError,
    Rattle,
    SpatialChain,
    Taylor,
    TipForce,
    simulate,
)
from nlink.integrators import integrator_record

CALM = [(0.6, 0.4), (0.4, -0.5)], [(0.2, 0.5, -0.2), (0.0, 0.3, 0.4)]
POSE, OMEGA = [(1.2, 0.4), (0.5, -1.0)], [(0.3, 0.5, -0.2), (0.0, 1.0, 0.4)]
LOADS = (JointDamper(0.2), LinkDamper(0.1), JointSpring(2.0), Drag(0.1, 0.2), FollowerForce(1.0), TipForce(1.0, 0.5, fz=-0.4))


@pytest.mark.parametrize(("order", "counts"), [(2, (100, 200)), (4, (48, 96)), (6, (64, 96))])
@pytest.mark.parametrize("spin", [0.0, 0.3])
@pytest.mark.parametrize("loads", [(), LOADS])
def test_the_error_falls_with_the_order(order, counts, loads, spin):
    """Directions, rates and the work of the loads, of which some depend on the rates."""
    chain = SpatialChain((Link.rod(1.0, 1.0), Link.point(0.8, 2.0)), loads, spin)
    exact = simulate(chain, *CALM, t_end=1.0, integrator=DOP853(1e-14, 1e-14), save=1.0)
    errors = []
    for count in counts:
        run = simulate(chain, *CALM, t_end=1.0, integrator=Rattle(1 / count, order), save=1.0)
        work = [abs(run.work[load][-1] - exact.work[load][-1]) for load in run.work]
        off = [np.abs(getattr(run, name)[-1] - getattr(exact, name)[-1]).max() for name in ("position", "velocity")]
        errors.append([*off, max(work, default=off[0])])
    np.testing.assert_allclose(np.log(np.array(errors[0]) / errors[1]) / math.log(counts[1] / counts[0]), order, atol=0.1)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_the_energy_has_no_trend(order):
    """One rod that swings wide for 1,000 s; that of RK4 with the same step runs away."""
    step = {2: 0.01, 4: 0.02, 6: 0.04}[order]
    case = {"theta": [(2.5, 0.4)], "omega": [(0.3, 0.5, -0.2)], "t_end": 1000.0, "save": 0.1}
    trend, swing = trend_and_swing(simulate(SpatialChain.uniform(1), integrator=Rattle(step, order), **case))
    other, _ = trend_and_swing(simulate(SpatialChain.uniform(1), integrator=RK4(0.04), **case))
    assert trend < 0.2 * swing
    assert other > 100 * trend


def test_the_largest_error_of_the_energy_is_that_of_the_study():
    """One rod, 300 s in steps of 0.01 s: 2.3e-10 J in the first tenth and in the last; two rods in chaos: no more than 3e-5 J."""
    start = {"theta": [(math.pi / 2, 0.4)], "omega": [(0.3, 0.5, -0.2)]}
    residual = np.abs(simulate(SpatialChain.uniform(1), integrator=Rattle(), t_end=300.0, save=0.05, **start).energy().residual)
    tenth = len(residual) // 10
    assert residual[:tenth].max() <= 2.4e-10
    assert residual[-tenth:].max() <= 2.4e-10
    two = {"theta": [(math.pi / 2, 0.4), (math.pi - 0.3, 1.3)], "omega": [(0.3, 0.5, -0.2)] * 2}
    run = simulate(SpatialChain.uniform(2), integrator=Rattle(), t_end=50.0, save=0.05, **two)
    assert np.abs(run.energy().residual).max() <= 3e-5


@pytest.mark.parametrize("n", [1, 3, 20])
def test_it_returns_and_stays_on_its_spheres(n):
    """It is symmetric: back to the start with any step, friction or not; angular momentum about the vertical is kept exactly."""
    pose = np.stack([np.linspace(0.5, 1.5, n), np.linspace(0.0, 2.0, n)], 1)
    forth = simulate(SpatialChain.uniform(n), pose, [(0.2, 1.0, 0.1)] * n, t_end=1.0, integrator=Rattle(0.01, 4), save=0.1)
    back = simulate(SpatialChain.uniform(n), forth.direction[-1], forth.omega[-1], t_end=-1.0, integrator=Rattle(0.01, 4), save=0.1)
    np.testing.assert_allclose(back.position[-1], forth.position[0], atol=1e-10)
    assert np.abs(np.linalg.norm(forth.direction, axis=-1) - 1).max() <= 1e-14
    assert np.abs((forth.direction * forth.velocity.reshape(-1, n, 3)).sum(-1)).max() <= 1e-12
    about = forth.angular_momentum()[:, 1]
    np.testing.assert_allclose(about, about[0], rtol=1e-12)


def test_it_returns_with_friction():
    chain = SpatialChain.uniform(2, loads=[LinkDamper(0.3), JointDamper(0.1), Drag(0.2)])
    forth = simulate(chain, POSE, OMEGA, t_end=0.5, integrator=Rattle(0.05, 2), save=0.05)
    back = simulate(chain, forth.direction[-1], forth.omega[-1], t_end=-0.5, integrator=Rattle(0.05, 2), save=0.05)
    np.testing.assert_allclose(back.direction[-1], forth.direction[0], atol=1e-11)


@pytest.mark.parametrize("cuts", [(1.0,), (0.30001, 0.77), (0.005,)])
def test_resumed_runs_are_the_same_to_the_last_bit(cuts):
    chain = SpatialChain.uniform(2, loads=LOADS)
    whole = simulate(chain, POSE, OMEGA, t_end=1.5, integrator=Rattle(0.0137), save=0.01)
    run = simulate(chain, POSE, OMEGA, t_end=cuts[0], integrator=Rattle(0.0137), save=0.01)
    for stop in (*cuts[1:], 1.5):
        run = run.resume(stop)
    np.testing.assert_array_equal(run.position, whole.position)
    np.testing.assert_array_equal(run.velocity, whole.velocity)
    for name in whole.work:
        np.testing.assert_array_equal(run.work[name], whole.work[name])


def test_between_the_steps():
    exact = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=1.0, integrator=Taylor(1e-15), save=0.0123)
    run = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=1.0, integrator=Rattle(0.01), save=0.0123)
    np.testing.assert_allclose(run.position, exact.position, atol=1e-8)


def test_stages_that_do_not_converge_say_so():
    run = simulate(SpatialChain.uniform(2), POSE, [(0.0, 0.0, 40.0)] * 2, t_end=5.0, integrator=Rattle(0.1, 2), strict=False)
    assert run.status.code == "not_converged"
    assert "try a smaller step than 0.1" in run.status.remedy
    assert np.isfinite(run.position).all()


@pytest.mark.parametrize("chain", [Chain.uniform(2), SpatialChain([Body.cylinder(1.0, 1.0, 0.1)])])
def test_it_takes_lines_in_space_alone(chain):
    with pytest.raises(ModelError, match=r"Rattle takes lines in space \(SpatialChain of Link\)"):
        simulate(chain, 0.3, t_end=1.0, integrator="Rattle")


@pytest.mark.parametrize("order", [1, 3, 8, 2.0, True, "4"])
def test_other_orders_are_refused(order):
    with pytest.raises(ModelError, match=r"Rattle\.order must be 2, 4 or 6, got"):
        Rattle(0.01, order)


def test_by_its_text():
    assert integrator_record("Rattle(step=0.02, order=4)", 1e-9, 1e-9) == Rattle(0.02, 4)
