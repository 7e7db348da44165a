"""Ensembles of chains in space, member by member: starts, outputs, parameters that vary, stores, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import nlink
from nlink import Body, Gravity, Hinge, JointSpring, Link, ModelError, SpatialChain, simulate, simulate_many
from nlink.ensemble import EnergyDrift, Final, FlipTime, Reducer, Samples
from nlink.mechanics.space.many import starts

CHAIN = SpatialChain.uniform(2)


def poses(members=3, count=2, seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (members, 2, count))


@pytest.mark.parametrize("shape", [(5, 2), (5, 2, 2), (5, 2, 3)])
@pytest.mark.parametrize("rates", [None, 0.5, (5, 2), (5, 2, 3)])
def test_members_start_as_they_would_alone(shape, rates):
    rng = np.random.default_rng(1)
    pose = rng.uniform(-1, 1, shape)
    omega = rng.uniform(-1, 1, rates) if isinstance(rates, tuple) else rates
    position, velocity = starts(CHAIN, pose, omega, None)
    for k in range(5):
        c, v = CHAIN.start(pose[k], omega[k] if isinstance(omega, np.ndarray) else omega)
        np.testing.assert_array_equal(position[k], c)
        np.testing.assert_array_equal(velocity[k], v)


def test_one_start_serves_all_members_that_vary():
    many = simulate_many(CHAIN, [(1.0, 0.2), (0.5, 1.0)], [(0, 1, 0), (0, 1, 0)], t_end=0.5, vary={"mass[2]": [1.0, 2.0, 3.0]})
    for k, mass in enumerate((1.0, 2.0, 3.0)):
        first, second = CHAIN.links
        chain = SpatialChain([first, Link(second.length, mass, second.com, second.inertia)])
        run = simulate(chain, [(1.0, 0.2), (0.5, 1.0)], [(0, 1, 0), (0, 1, 0)], t_end=0.5, integrator=method(many))
        np.testing.assert_allclose(many["direction"].values[k], run.direction[-1], atol=1e-7)


def method(many):
    return many.attrs["integrator"]


@pytest.mark.parametrize("integrator", [None, "DOP853"])
def test_results_are_directions_and_rates(integrator):
    pose, omega = poses(), np.random.default_rng(2).normal(size=(3, 2, 3))
    keep = (Final(), Samples((0.0, 0.2, 0.4)), EnergyDrift())
    many = simulate_many(CHAIN, pose, omega, t_end=0.5, keep=keep, integrator=integrator)
    assert many["direction"].dims == ("member", "link", "axis")
    assert many["sample_omega"].dims == ("member", "time", "link", "axis")
    assert many["energy_drift"].values.max() < 1e-6
    for k in range(3):
        run = simulate(CHAIN, pose[k], omega[k], t_end=0.5, rtol=1e-12, atol=1e-12, save=(0.0, 0.2, 0.4, 0.5))
        np.testing.assert_allclose(many["direction"].values[k], run.direction[-1], atol=1e-7)
        np.testing.assert_allclose(many["omega"].values[k], run.omega[-1], atol=1e-6)
        np.testing.assert_allclose(many["sample_direction"].values[k], run.direction[:3], atol=1e-7)
        np.testing.assert_allclose(many["sample_omega"].values[k], run.omega[:3], atol=1e-6)
    assert many["status"].values.tolist() == [0, 0, 0]


def test_bodies_have_rotations_too():
    chain = SpatialChain([Body.cylinder(1.0, 1.0, 0.1), Body.rod(1.0, 1.0, Hinge((1.0, 0.0, 0.0)))])
    turned = [[(1.0, 0.2, 0.0, 0.1), 0.3], [(1.0, 0.0, 0.5, 0.0), -0.3]]
    many = simulate_many(chain, turned, [[(0.0, 0.0, 1.0), 0.5]] * 2, t_end=0.3)
    assert many["rotation"].dims == ("member", "link", "part")
    run = simulate(chain, turned[1], [(0.0, 0.0, 1.0), 0.5], t_end=0.3)
    np.testing.assert_allclose(many["rotation"].values[1], run.rotation[-1], atol=1e-7)


def test_a_function_of_the_user_sees_coordinates():
    def lowest(memory, t, position, velocity):
        memory[0] = min(memory[0], position[1])

    many = simulate_many(CHAIN, poses(), t_end=0.5, keep=Reducer("lowest", 1, lowest, start=1.0))
    for k, pose in enumerate(poses()):
        run = simulate(CHAIN, pose, t_end=0.5, save=0.001)
        assert many["lowest"].values[k, 0] == pytest.approx(run.direction[:, 0, 1].min(), abs=0.05)


def test_parameters_of_loads_vary():
    stiffness = np.array([0.0, 2.0])
    many = simulate_many(CHAIN, poses(2), t_end=0.5, vary={"joint_spring.stiffness": stiffness, "gravity": [9.81, 1.0]})
    for k, g in enumerate((9.81, 1.0)):
        chain = SpatialChain(CHAIN.links, [Gravity(g), JointSpring(float(stiffness[k]))])
        np.testing.assert_allclose(many["direction"].values[k], simulate(chain, poses(2)[k], t_end=0.5).direction[-1], atol=1e-6)


def test_a_store_keeps_what_a_call_gives(tmp_path):
    pytest.importorskip("zarr")
    many = simulate_many(CHAIN, poses(), t_end=0.3)
    stored = simulate_many(CHAIN, poses(), t_end=0.3, store=tmp_path / "many.zarr")
    np.testing.assert_array_equal(stored["direction"].values, many["direction"].values)


def test_what_is_not_kept_of_chains_in_space():
    with pytest.raises(ModelError, match=r"^FlipTime takes chains in the plane, not in space; to pass .* Extremes has how far up"):
        simulate_many(CHAIN, poses(), t_end=1.0, keep=FlipTime())
    with pytest.raises(ModelError, match=r"^member 1: pose has 1 entries for 2 links"):
        simulate_many(CHAIN, [[0.1, 0.2], [0.3]], t_end=1.0)
    with pytest.raises(ModelError, match="a pose for each member"):
        simulate_many(CHAIN, 0.5, t_end=1.0)
    with pytest.raises(ModelError, match="vary: member 1: SpatialChain"):
        simulate_many(SpatialChain.uniform(1), [0.1], t_end=1.0, vary={"mass": [1.0, 0.0], "inertia": [1.0, 0.0]})
    assert nlink.simulate_many(CHAIN, poses(1), t_end=0.1)["direction"].shape == (1, 2, 3)


def test_a_gpu_takes_no_chain_in_space():
    with pytest.raises(ModelError, match=r"Cuda takes chains in the plane, not in space; use Threads\(\)"):
        simulate_many(CHAIN, poses(), t_end=0.1, backend=nlink.Cuda())
