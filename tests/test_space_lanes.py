"""Lines in space side by side: lanes against members one by one, by series and by stages, with every load; a member alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nlink import (
    DOP853,
    Drag,
    EnergyDrift,
    Final,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    Link,
    LinkDamper,
    Samples,
    SpatialChain,
    Taylor,
    TipForce,
    simulate,
    simulate_many,
)
from nlink.ensemble.engines import side_by_side
from nlink.ensemble.varied import Varied
from nlink.formulations import formulate

LINKS = (Link.rod(1.0, 1.0), Link.point(0.8, 2.0), Link(0.7, 1.3, 0.4, inertia=0.05))
LOADS = (LinkDamper(0.2), JointSpring((2.0, 0.0, 1.0)), TipForce(1.0, 2.0, fz=0.5), FollowerForce(2.0), Drag(0.3))
CASES = {
    "one": (SpatialChain.uniform(1), Taylor(1e-14)),
    "two": (SpatialChain.uniform(2, shape="point"), Taylor(1e-14)),
    "five": (SpatialChain.uniform(5), Taylor(1e-14)),
    "six, in loops": (SpatialChain.uniform(6), Taylor(1e-14)),
    "loads": (SpatialChain(LINKS, (LOADS[0], *LOADS[2:]), (0.3, 0.0, 0.1)), Taylor(1e-14)),
    "loads with springs": (SpatialChain(LINKS[1:], LOADS[:1] + LOADS[2:] + (JointSpring(2.0),), (0.3, 0.1)), Taylor(1e-14)),
    "loads in loops": (SpatialChain(LINKS, LOADS, (0.3, 0.0, 0.1)), Taylor(1e-14)),
    "stages": (SpatialChain.uniform(3), DOP853(1e-13, 1e-13)),
    "loads by stages": (SpatialChain(LINKS, (*LOADS[:-1], Drag(0.1, 0.2), JointDamper(0.1)), 0.2), DOP853(1e-13, 1e-13)),
}
MEMBERS = 20


def starts(n, members=MEMBERS, seed=1):
    """Return directions and angular velocities of members, wild."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(members, n, 3)), rng.normal(size=(members, n, 3))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("t_end", [0.5, -0.3])
def test_lanes_give_what_members_give_one_by_one(case, t_end):
    chain, method = CASES[case]
    poses, rates = starts(chain.n)
    times = (0.2 * t_end, 0.7 * t_end)
    assert side_by_side(formulate(chain), method, Varied(chain, None, MEMBERS))
    many = simulate_many(chain, poses, rates, t_end=t_end, keep=(Final(), Samples(times), EnergyDrift()), integrator=method)
    assert not many["status"].any()
    assert many["energy_drift"].max() < 1e-8
    for k in (0, 7, MEMBERS - 1):
        one = simulate(chain, poses[k], rates[k], t_end=t_end, save=(*times, t_end), integrator=DOP853(1e-13, 1e-13))
        scale = max(1.0, np.abs(one.omega).max())
        np.testing.assert_allclose(many["direction"][k], one.direction[-1], atol=1e-10 * scale)
        np.testing.assert_allclose(many["omega"][k], one.omega[-1], atol=1e-9 * scale)
        np.testing.assert_allclose(many["sample_direction"][k], one.direction[:2], atol=1e-10 * scale)
        np.testing.assert_allclose(many["sample_omega"][k], one.omega[:2], atol=1e-9 * scale)


@pytest.mark.parametrize("case", CASES)
def test_a_member_alone_is_the_member_among_others_to_the_last_bit(case):
    chain, method = CASES[case]
    poses, rates = starts(chain.n)
    keep = (Final(), Samples((0.1, 0.4)), EnergyDrift())
    many = simulate_many(chain, poses, rates, t_end=0.5, keep=keep, integrator=method)
    for k in (0, 13):
        alone = simulate_many(chain, poses[k : k + 1], rates[k : k + 1], t_end=0.5, keep=keep, integrator=method)
        for name in alone:
            np.testing.assert_array_equal(alone[name][0], many[name][k], err_msg=name)


@pytest.mark.parametrize("method", [Taylor(1e-14), DOP853(1e-12, 1e-12)])
def test_motions_through_the_folds_of_springs(method):
    """Of lines in a plane, which pass exactly through them, beside members without springs that start folded."""
    stiffness, poses, rates = np.array([2.0, 0.0, 3.0]), [[0.3, 3.3], [0.3, 0.3 + math.pi], [0.0, math.pi]], [[0.0, 6.0]] * 3
    many = simulate_many(
        SpatialChain.uniform(2), poses, rates, t_end=1.0, vary={"joint_spring.stiffness": stiffness}, keep=(Final(), EnergyDrift()),
        integrator=method,
    )  # fmt: skip
    assert not many["status"].any()
    assert many["energy_drift"].max() < 1e-6
    for k, each in enumerate(stiffness):
        chain = SpatialChain.uniform(2, loads=[JointSpring(each)])
        one = simulate(chain, poses[k], rates[k], t_end=1.0, save=(1.0,), integrator=DOP853(1e-13, 1e-13))
        np.testing.assert_allclose(many["direction"][k], one.direction[-1], atol=1e-7)


def test_what_varies_of_loads_and_lines_stays_in_lanes():
    chain, (poses, rates) = SpatialChain.uniform(2, loads=[JointSpring(1.0)]), starts(2)
    rng = np.random.default_rng(5)
    spans = {"gravity": (1.0, 9.0), "joint_spring.stiffness[2]": (0.0, 5.0), "drag.linear": (0.0, 0.3)}
    spans |= {"mass": (0.5, 2.0), "length[1]": (0.5, 1.5), "com[2]": (0.2, 0.9), "inertia[2]": (0.01, 0.2)}
    vary = {name: rng.uniform(*span, MEMBERS) for name, span in spans.items()}
    method = Taylor(1e-14)
    assert side_by_side(formulate(chain), method, Varied(chain, vary, MEMBERS))
    many = simulate_many(chain, poses, rates, t_end=0.5, vary=vary, integrator=method)
    for k in (0, 11):
        gravity, stiffness, linear, mass, length, com, inertia = (values[k] for values in vary.values())
        links = Link(length, mass, 0.5, 1 / 12), Link(1.0, mass, com, inertia)
        member = SpatialChain(links, [Gravity(gravity), JointSpring((1.0, stiffness)), Drag(linear)])
        one = simulate(member, poses[k], rates[k], t_end=0.5, save=(0.5,), integrator=DOP853(1e-13, 1e-13))
        np.testing.assert_allclose(many["direction"][k], one.direction[-1], atol=1e-10)


def test_the_default_is_series_but_for_friction_of_joints_and_quadratic_drag():
    poses, rates = starts(2, 4)
    assert simulate_many(SpatialChain.uniform(2), poses, rates, t_end=0.1).attrs["integrator"].startswith("Taylor")
    damped = SpatialChain.uniform(2, loads=[JointDamper(0.1)])
    assert simulate_many(damped, poses, rates, t_end=0.1).attrs["integrator"].startswith("DOP853")
    dragged = SpatialChain.uniform(2, loads=[Drag(0.0, 0.1)])
    assert simulate_many(dragged, poses, rates, t_end=0.1).attrs["integrator"].startswith("DOP853")
    varied = simulate_many(
        SpatialChain.uniform(2), poses, rates, t_end=0.1, vary={"joint_damper.damping": np.linspace(0.0, 0.3, 4)}
    )
    one = simulate(damped.with_loads(JointDamper(0.3)), poses[3], rates[3], t_end=0.1, save=(0.1,))
    np.testing.assert_allclose(varied["direction"][3], one.direction[-1], atol=1e-8)


def test_planar_starts_stay_in_the_plane():
    angles = np.random.default_rng(2).uniform(-2.0, 2.0, (MEMBERS, 2))
    many = simulate_many(SpatialChain.uniform(2), angles, t_end=1.0)
    assert not many["direction"].values[..., 2].any()
