"""Taylor for lines in space: every load, references, layouts, symmetric starts, the plane, saved points, going on, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from space import lines_case, seeds

from nlink import (
    DOP853,
    Body,
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    Link,
    LinkDamper,
    ModelError,
    SpatialChain,
    Taylor,
    TipForce,
    simulate,
)
from nlink.formulations import formulate
from nlink.formulations.space.lines import LineParameters
from nlink.integrators.base import Restart
from nlink.mechanics.series import ONE_VECTOR, SERIES

THREE = (Link.rod(1.0, 1.0), Link.point(0.8, 2.0), Link(0.7, 1.3, 0.4, inertia=0.05))
POSE, OMEGA = [(1.2, 0.4), (0.5, -1.0), (1.9, 2.2)], [(0.3, 0.5, -0.2), (0.0, 1.0, 0.4), (-0.6, 0.1, 0.2)]
LOADS = {
    "nothing": (),
    "link damper": (LinkDamper((0.2, 0.0, 0.3)),),
    "spring": (JointSpring((2.0, 0.0, 3.0)),),
    "tip": (TipForce(1.0, 2.0, fz=-0.5),),
    "follower": (FollowerForce(2.0),),
    "drag": (Drag((0.3, 0.0, 0.2)),),
    "quadratic drag": (Drag(0.1, 0.2),),
}


def without_joint_friction(chain, quadratic=True):
    """Return a chain without what has no series; or with nothing that a series in lanes does not take."""
    loads = [load for load in chain.loads if not isinstance(load, JointDamper)]
    if not quadratic:
        loads = [Drag(load.linear) if isinstance(load, Drag) else load for load in loads]
    return SpatialChain(chain.links, loads, chain.spin)


def wild(n):
    """Return a pose and rates of n lines that turn fast in every direction."""
    inclination = np.where(np.arange(n) % 2 == 0, math.pi / 2, math.pi - 0.3)
    azimuth = (0.4 + 0.9 * np.arange(n)) % (2 * math.pi)
    return np.stack([inclination, azimuth], 1), np.tile([0.3, 0.5, -0.2], (n, 1))


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("t_end", [1.0, -0.5])
@pytest.mark.parametrize("spin", [0.0, (0.3, 0.0, -0.2)])
def test_every_load(load, t_end, spin):
    chain = SpatialChain(THREE, LOADS[load], spin)
    exact = simulate(chain, POSE, OMEGA, t_end=t_end, integrator=DOP853(1e-13, 1e-13), save=0.1)
    run = simulate(chain, POSE, OMEGA, t_end=t_end, integrator=Taylor(), save=0.1)
    np.testing.assert_allclose(run.position, exact.position, atol=1e-11)
    np.testing.assert_allclose(run.velocity, exact.velocity, atol=1e-10)
    np.testing.assert_allclose(run.acceleration, exact.acceleration, atol=1e-8)
    assert np.abs(run.energy().residual).max() <= 1e-9
    for name, work in exact.work.items():
        np.testing.assert_allclose(run.work[name], work, atol=1e-9)


@given(seeds, st.integers(1, 5))
@settings(max_examples=20)
def test_any_lines_with_any_loads(seed, n):
    chain, position, velocity = lines_case(n, seed)
    chain = without_joint_friction(chain, quadratic=False)
    system = formulate(chain)
    start = np.concatenate([position, velocity, np.zeros(system.full_size - system.size)])
    ends = [followed(system, start, method, 0.2) for method in (DOP853(1e-13, 1e-13), Taylor(1e-14))]
    assume(all(np.isfinite(end).all() for end in ends) and np.abs(ends[0]).max() < 50)
    np.testing.assert_allclose(*ends, atol=1e-8 * max(1.0, np.abs(ends[0]).max()))


def followed(system, start, method, t_end):
    """Return the state with its ledger at t_end; NaN if the motion does not come so far."""
    stepper = method.stepper(system, Restart.at(0.0, start.copy()), t_end)
    chunk = stepper.advance(np.array([t_end]), 10_000)
    return chunk.y[-1].copy() if chunk.code == 1 else np.full(len(start), np.nan)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 8, 10, 11, 16, 17, 30])
def test_every_width(n):
    """Chains that fill a vector, do not fill it, or need several."""
    pose, omega = wild(n)
    exact = simulate(SpatialChain.uniform(n), pose, omega, t_end=0.3, save=(0.3,), integrator=DOP853(1e-13, 1e-13))
    run = simulate(SpatialChain.uniform(n), pose, omega, t_end=0.3, save=(0.3,), integrator=Taylor(1e-14))
    np.testing.assert_allclose(run.position, exact.position, atol=1e-10)
    np.testing.assert_allclose(run.velocity, exact.velocity, atol=1e-9)
    assert abs(np.linalg.norm(run.direction, axis=-1) - 1).max() <= 1e-15


@pytest.mark.parametrize("n", [1, 3, 5, 10])
def test_one_vector_and_loops_are_the_same_series(n, monkeypatch):
    """At a loose tolerance too, where both must stop the same series at the same term."""
    links = (Link.rod(1.0, 1.0), Link.point(0.5, 0.3)) * (n // 2) + (Link.rod(0.7, 2.0),) * (n % 2)
    chain, (pose, omega) = SpatialChain(links), wild(n)
    fast = simulate(chain, pose, omega, t_end=1.0, save=0.1, integrator=Taylor(1e-6, order=12))
    monkeypatch.setitem(SERIES[LineParameters], ONE_VECTOR, SERIES[LineParameters][ONE_VECTOR]._replace(most=0))
    slow = simulate(chain, pose, omega, t_end=1.0, save=0.1, integrator=Taylor(1e-6, order=12))
    assert fast.stats.steps == slow.stats.steps
    np.testing.assert_allclose(fast.position, slow.position, atol=1e-9)
    np.testing.assert_allclose(fast.velocity, slow.velocity, atol=1e-8)


@pytest.mark.parametrize("inclination", [(0.0, 0.0), (math.pi, math.pi), (math.pi / 2, math.pi / 2), (math.pi / 2, 0.0)])
@pytest.mark.parametrize("rate", [(0.0, 0.0, 0.0), (0.0, 30.0, 0.0), (20.0, 0.0, 0.0)])
def test_symmetric_starts_do_not_fool_the_step(inclination, rate):
    """Hanging, inverted, level; at rest and spinning fast: coefficients that vanish by symmetry must not make a step too long."""
    pose = [(angle, 0.3) for angle in inclination]
    case = {"t_end": 0.5, "save": 0.1}
    exact = simulate(SpatialChain.uniform(2), pose, [rate] * 2, integrator=DOP853(1e-13, 1e-13, max_step=0.01), **case)
    run = simulate(SpatialChain.uniform(2), pose, [rate] * 2, integrator=Taylor(), **case)
    np.testing.assert_allclose(run.position, exact.position, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_a_planar_start_gives_the_planar_run(n):
    """In directions; nothing ever leaves the plane."""
    theta, omega = np.linspace(1.0, 2.0, n), np.linspace(-1.0, 1.0, n)
    plane = simulate(Chain.uniform(n), theta, omega, t_end=2.0, save=0.5, integrator=Taylor(1e-15))
    run = simulate(SpatialChain.uniform(n), theta, omega, t_end=2.0, save=0.5, integrator=Taylor(1e-15))
    assert not run.direction[..., 2].any()
    np.testing.assert_allclose(run.direction[..., 0], np.sin(plane.theta), atol=1e-10)
    np.testing.assert_allclose(run.direction[..., 1], -np.cos(plane.theta), atol=1e-10)
    np.testing.assert_allclose(run.omega[..., 2], plane.omega, atol=1e-9)


@pytest.mark.parametrize("bend", [0.0, 1e-9, 1e-3, 0.3, 1.5, 3.0])
def test_springs_keep_their_digits_at_every_bend(bend):
    """Straight, where sin(beta) vanishes; nearly folded, where the moment has its largest slope; and through both."""
    chain = SpatialChain.uniform(2, loads=[JointSpring(20.0)])
    pose, omega = [(0.4, 0.2), (0.4 + bend, 0.2)], [(0.0, 0.0, 0.0), (1.0, 0.5, 3.0)]
    exact = simulate(chain, pose, omega, t_end=0.5, save=0.05, integrator=DOP853(1e-14, 1e-14))
    run = simulate(chain, pose, omega, t_end=0.5, save=0.05, integrator=Taylor(1e-14))
    np.testing.assert_allclose(run.position, exact.position, atol=1e-11)
    assert run.stats.steps < 100  # a division by sin^2(beta) would take thousands near a straight joint


@pytest.mark.parametrize("off", [0.0, 1e-10, 1e-5])
def test_a_motion_through_the_fold_of_a_spring(off):
    """In a plane lines pass exactly through it, else close by: the moment turns round, and the spring gives back what it took."""
    chain = SpatialChain.uniform(2, loads=[JointSpring(2.0), Drag(0.1)])
    case = {"t_end": 1.0, "save": 0.05}
    pose, omega = [(0.3, off), (0.3 + math.pi - 0.2, 0.0)], [(0.0, 0.0, 0.0), (0.0, 0.0, 6.0)]
    exact = simulate(chain, pose, omega, integrator=DOP853(1e-13, 1e-13), **case)
    run = simulate(chain, pose, omega, integrator=Taylor(), **case)
    bend = np.arccos((run.direction[:, 0] * run.direction[:, 1]).sum(1))
    assert bend[0] < bend.max()
    assert bend[-1] < bend.max() - 1.0  # it has come back
    assert run.stats.steps < 400
    np.testing.assert_allclose(run.direction, exact.direction, atol=1e-8)
    assert np.abs(run.energy().residual).max() <= 1e-9


@pytest.mark.parametrize("integrator", [Taylor(), DOP853()])
@pytest.mark.parametrize("links", [1, 2])
def test_a_fold_at_rest_is_a_rest_that_the_slightest_push_ends(integrator, links):
    """Without gravity nothing but rounding errors pushes: whatever it does, the energy of the spring is neither lost nor won."""
    chain = SpatialChain.uniform(links, loads=[JointSpring(2.0), Gravity(0.0)])
    run = simulate(chain, [0.0, math.pi][2 - links :], t_end=0.5, integrator=integrator)
    assert run.status.code == "finished"
    assert run.energy().potential[0] == pytest.approx(math.pi**2, rel=1e-7)
    assert np.abs(run.energy().residual).max() <= 1e-6


def test_saved_points_and_going_on_are_the_same_to_the_last_bit():
    chain, (pose, omega) = SpatialChain.uniform(3), wild(3)
    fine = simulate(chain, pose, omega, t_end=2.0, integrator=Taylor(), save=0.01)
    coarse = simulate(chain, pose, omega, t_end=2.0, integrator=Taylor(), save=0.5)
    np.testing.assert_array_equal(fine.position[::50], coarse.position)
    part = simulate(chain, pose, omega, t_end=0.83, integrator=Taylor(), save=0.01).resume(2.0)
    np.testing.assert_array_equal(part.position, fine.position)
    np.testing.assert_array_equal(part.velocity, fine.velocity)


@pytest.mark.parametrize("n", [1, 2, 5, 15])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-9])
def test_the_default_is_taylor_and_not_less_accurate_than_dop853(n, rtol):
    pose = np.stack([np.full(n, 0.7), np.linspace(0.0, 1.0, n)], 1)
    case = {"theta": pose, "omega": [(0.1, 0.4, 0.2)] * n, "t_end": 4.0, "save": (4.0,)}
    exact = simulate(SpatialChain.uniform(n), integrator=Taylor(1e-18, order=24), **case).position
    chosen = simulate(SpatialChain.uniform(n), rtol=rtol, atol=rtol, **case)
    other = simulate(SpatialChain.uniform(n), integrator=DOP853(rtol, rtol), **case).position
    assert chosen.meta["integrator"].startswith("Taylor")
    assert np.abs(chosen.position - exact).max() <= np.abs(other - exact).max()


def test_a_higher_order_takes_fewer_steps():
    pose, omega = wild(2)
    runs = [simulate(SpatialChain.uniform(2), pose, omega, t_end=2.0, integrator=Taylor(order=order)) for order in (10, 16, 24)]
    steps = [run.stats.steps for run in runs]
    assert steps[0] > steps[1] > steps[2]


def test_what_it_does_not_take():
    with pytest.raises(ModelError, match="Taylor does not take friction of joints in space"):
        simulate(SpatialChain.uniform(2, loads=[JointDamper(0.1)]), 0.3, t_end=1.0, integrator="Taylor")
    with pytest.raises(ModelError, match="Taylor takes lines in space, not bodies; use DOP853"):
        simulate(SpatialChain([Body.cylinder(1.0, 1.0, 0.1)]), 0.3, t_end=1.0, integrator="Taylor")
    default = simulate(SpatialChain.uniform(2, loads=[JointDamper(0.1)]), 0.3, t_end=0.1)
    assert default.meta["integrator"].startswith("DOP853")
