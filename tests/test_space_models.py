"""Model files of chains in space: what they say, what they refuse, and that what is written is what is read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nlink
from nlink import (
    Ball,
    Body,
    Drag,
    Gravity,
    Hinge,
    JointDamper,
    JointSpring,
    JointTorque,
    JointTorsion,
    Link,
    ModelError,
    Scenario,
    Sine,
    SpatialChain,
    TipForce,
    Universal,
)
from nlink.mechanics.space.turning import steady_turning

PRESETS = ["spherical-1", "cone-2", "spiral-5", "lasso-20", "rope-50", "top", "turning-over", "gyro-3"]


def read(**table) -> Scenario:
    return Scenario.from_dict({"space": True, **table})


def refused(**table) -> str:
    with pytest.raises(ModelError) as caught:
        read(**table)
    return str(caught.value).removeprefix("model: ")


def test_links_have_shapes():
    assert read(links=2).chain == SpatialChain.uniform(2)
    assert read(links=2, shape="point", mass=[1.0, 2.0]).chain.links == (Link.point(1.0, 1.0), Link.point(1.0, 2.0))
    assert read(links=1, shape="cylinder", radius=0.1, length=2.0).chain.links[0] == Body.cylinder(2.0, 1.0, 0.1)
    assert read(links=2, shape="box", width=0.1, depth=[0.2, 0.3]).chain.links[1] == Body.box(1.0, 1.0, 0.1, 0.3)
    body = read(links=[{"mass": 2.0, "com": [0.1, -0.2, 0.0], "inertia": [0.1, 0.2, 0.25]}]).chain.links[0]
    assert body == Body(1.0, 2.0, (0.1, -0.2, 0.0), (0.1, 0.2, 0.25))
    flat = read(links=[{"shape": "box", "width": 1.0, "depth": 0.1, "com": [0.0, 0.0, 0.0]}]).chain.links[0]
    assert (flat.com, flat.section) == ((0.0, 0.0, 0.0), (1.0, 0.1))
    assert read(links=2, com=[0.3, 0.4], inertia=0.1).chain.com.tolist() == [0.3, 0.4]


def test_links_have_joints_and_rotors():
    joints = ["ball", {"hinge": [0.0, 0.0, 2.0]}, {"universal": [[1, 0, 0], [0, 0, 1]]}]
    chain = read(links=3, shape="cylinder", radius=0.1, joint=joints).chain
    assert chain.joints == (Ball(), Hinge((0, 0, 1)), Universal((1, 0, 0), (0, 0, 1)))
    assert read(links=1, joint={"hinge": [1, 0, 0]}).chain.links[0] == Body.rod(1.0, 1.0, Hinge((1, 0, 0)))
    pendulum = read(links=1, shape="point", joint={"hinge": [1, 0, 0]}).chain.links[0]
    assert pendulum == Body(1.0, 1.0, (0.0, -1.0, 0.0), (0.0, 0.0, 0.0), Hinge((1, 0, 0)))
    assert read(links=2, spin=[0.5, 0.0]).chain.spin == (0.5, 0.0)


def test_loads_are_those_of_space():
    loads = {"gravity": 5.0, "tip_force": [1.0, 2.0, 3.0], "joint_damper": 0.1}
    chain = read(links=2, loads=loads).chain
    assert chain.load(TipForce) == TipForce(1.0, 2.0, fz=3.0)
    assert chain.load(Gravity) == Gravity(5.0)
    body = read(links=1, shape="cylinder", radius=0.1, loads={"joint_torsion": 2.0}).chain
    assert body.load(JointTorsion) == JointTorsion(2.0)
    driven = read(links=1, joint={"hinge": [0, 0, 1]}, loads={"joint_torque": {"amplitude": 1.0, "frequency": 2.0}}).chain
    assert driven.load(JointTorque) == JointTorque(Sine(1.0, 2.0))


@pytest.mark.parametrize(
    ("start", "inclination", "azimuth"),
    [
        ({"theta": "60 deg"}, [60, 60], [0, 0]),
        ({"theta": [-30, 20], "unit": "deg"}, [30, 20], [180, 0]),
        ({"inclination": [0.5, 1.0], "azimuth": "90 deg"}, np.degrees([0.5, 1.0]), [90, 90]),
        ({"inclination": 40, "azimuth": [10, 20], "unit": "deg"}, [40, 40], [10, 20]),
        ({"direction": [[1, -1, 0], [0, 0, 3]]}, [45, 90], [0, 90]),
        ({"rotation": [[1, 0, 0, 0], [1, 0, 0, 1]]}, [0, 90], [np.nan, 0]),
        ({"pose": [["30 deg", "45 deg"], [0, -1, 1]]}, [30, 45], [45, 90]),
        ({"shape": "line", "angle": 1.0}, np.degrees([1.0, 1.0]), [0, 0]),
        ({"shape": "zigzag"}, [90, 180], [0, np.nan]),
        ({"shape": "spiral", "angle": "30 deg"}, [30, 30], [0, 180]),
        ("hanging", [0, 0], [np.nan, np.nan]),
    ],
)
def test_starts(start, inclination, azimuth):
    scenario = read(links=2, start=start)
    run = nlink.simulate(scenario.chain, scenario.theta, scenario.omega, t_end=1e-3)
    np.testing.assert_allclose(np.degrees(run.inclination[0]), inclination, atol=1e-9)
    np.testing.assert_allclose(np.abs(np.degrees(run.azimuth[0])), np.abs(azimuth), atol=1e-9)


def test_rates_are_about_z_or_in_world_axes():
    assert read(links=2, start={"theta": 0.5, "omega": 2.0}).omega == ((0.0, 0.0, 2.0),) * 2
    assert read(links=2, start={"theta": 0.5, "omega": [[1, 2, 3]]}).omega == ((1.0, 2.0, 3.0),) * 2
    assert read(links=2, start={"theta": 0.5, "omega": [1, "90 deg/s"]}).omega[1][2] == pytest.approx(math.pi / 2)
    hinged = read(links=1, joint={"hinge": [1, 0, 0]}, start={"theta": 0.5, "omega": 3.0})
    assert (hinged.theta, hinged.omega) == ((0.5,), (3.0,))


def test_a_cone_is_steady_turning():
    scenario = read(links=2, start={"shape": "cone", "rate": 4.0})
    np.testing.assert_allclose(np.array(scenario.theta)[:, 0], np.sin(steady_turning(scenario.chain, 4.0)))
    assert scenario.omega == ((0.0, 4.0, 0.0),) * 2
    assert read(links=2, start={"shape": "cone", "rate": 8.0, "mode": 2}).theta != scenario.theta


@given(st.integers(0, 10_000))
def test_what_is_written_is_read_again(seed):
    rng = np.random.default_rng(seed)
    kinds = [
        Link.rod(*map(float, rng.uniform(0.5, 2, 2))),
        Link(1.0, 2.0, 0.3, 0.2),
        Body.cylinder(1.0, 2.0, 0.1),
        Body.box(1.0, 2.0, 0.1, 0.2, Universal((1, 0, 0), tuple(rng.normal(size=3)))),
        Body(1.0, 1.0, tuple(rng.normal(size=3)), np.diag([1.0, 2.0, 2.5]).tolist(), Hinge(tuple(rng.normal(size=3)))),
    ]
    links = [Body.cylinder(0.5, 1.0, 0.2)]
    for k in rng.integers(0, len(kinds), 4).tolist():
        below_line = isinstance(links[-1], Link) and isinstance(kinds[k], Body)
        links.append(Body.cylinder(1.0, 1.0, 0.1) if below_line else kinds[k])
    loads = [JointDamper(0.2), Drag(0.1, 0.2), TipForce(1.0, 2.0, fz=3.0), JointSpring(tuple(rng.uniform(0, 1, len(links))))]
    spin = tuple(float(rng.normal()) * isinstance(link, Link) for link in links)
    chain = SpatialChain(links, loads, spin if any(spin) else 0.0)
    pose = [tuple(rng.normal(size=2).tolist()) if len(joint.axes) == 2 else float(rng.normal()) for joint in chain.joints]
    scenario = Scenario(chain, pose, [0.0] * chain.n, title="All of it")
    assert Scenario.from_dict(scenario.to_dict()) == scenario


@pytest.mark.parametrize("name", PRESETS)
def test_presets_come_back_from_their_files(name, tmp_path):
    scenario = nlink.preset(name)
    assert scenario.chain.spatial
    assert scenario.settings.t_end == 20.0
    scenario.save(tmp_path / "model.toml")
    back = Scenario.load(tmp_path / "model.toml")
    assert (back.chain, back.theta, back.omega) == (scenario.chain, scenario.theta, scenario.omega)
    assert back.to_dict() == scenario.to_dict()


def test_what_is_refused_says_where_and_what_to_do():
    assert refused(links=2, pin={"x": 1.0}).startswith("the model has no key 'pin'")
    assert refused(links=2, floating=True).startswith("the model has no key 'floating'")
    assert refused(links=2, shape="ball").startswith("links[0].shape must be one of rod, point, cylinder, box, body; got 'ball'")
    assert refused(links=2, shape="cylinder") == "links[0].radius must be given: the shape is cylinder"
    assert refused(links=2, radius=0.1) == "links[0].radius belongs to another shape: the shape is rod"
    assert refused(links=1, shape="body", com=[0, 0, 0]) == "links[0] needs 'inertia': its shape is body"
    assert refused(links=1, joint="hinge").startswith("links[0].joint must be 'ball', { hinge = [x, y, z] } or { universal =")
    assert refused(links=1, joint={"hinge": [0, 0, 0]}) == "links[0].joint.hinge must be a direction, got (0, 0, 0)"
    assert refused(links=1, shape="cylinder", radius=-1.0) == "links[0].radius must be positive, got -1"
    assert refused(links=1, shape="cylinder", radius=0.1, com=0.5).startswith("links[0].com must be (x, y, z) from the upper hinge")
    assert refused(links=1, shape="cylinder", radius=0.1, spin=1.0).endswith("links[0] is a Body, whose spin is part of its motion")
    assert refused(links=[]) == "links must not be an empty list"
    assert refused(links=2, start={"theta": 0.1, "direction": [[0, 1, 0]]}) == "start has both theta and direction; give one"
    assert refused(links=2, start={"azimuth": 0.1}) == "start.azimuth belongs to start.inclination; give both"
    assert refused(links=2, start={"direction": [[0, 1, 0]]}).startswith(
        "start.direction must be a list with an entry for each of 2"
    )
    assert refused(links=1, start={"direction": [[0, 1]]}).startswith("start.direction[0] must be 3 numbers, (x, y, z), got")
    assert refused(links=1, start={"theta": [[1, 2]]}).startswith("start.theta must be one angle, or one for each link")
    assert (
        refused(links=1, start={"shape": "zigzag", "angle": 1.0})
        == "start.angle belongs to the shape line or spiral, got it with zigzag"
    )
    assert refused(links=1, start={"theta": 1.0, "rate": 1.0}) == "start.rate belongs to a shape, got it with theta"
    assert refused(links=2, start="cone").startswith("start.rate must be given for the shape cone")
    assert refused(links=2, start={"shape": "cone", "rate": 4.0, "omega": 1.0}).startswith("start.omega follows from start.rate")
    hinged = {"links": 2, "shape": "cylinder", "radius": 0.1, "joint": {"hinge": [0, 0, 1]}}
    assert refused(**hinged, start="zigzag").startswith("start.shape must be hanging for a chain with hinges")
    assert refused(**hinged, start={"shape": "cone", "rate": 1.0}).startswith(
        "steady turning is found for lines and bodies on ball"
    )
    assert refused(links=1, run={"flips": "stop"}) == "run.flips takes chains in the plane, not in space; give run.flips = 'off'"
    assert refused(links=1, loads={"joint_spring": {"stiffness": 1.0, "rest": 0.5}}).startswith(
        "loads.joint_spring.rest must be 0 in space"
    )
    assert refused(links=1, loads={"tip_force": [1.0]}) == "loads.tip_force: must be [fx, fy, fz], got [1.0]"
    with pytest.raises(ModelError, match="space must be true or false, got 1"):
        Scenario.from_dict({"space": 1, "links": 2})
    with pytest.raises(ModelError, match="the model has no key 'joint'"):
        Scenario.from_dict({"links": 2, "joint": "ball"})


def test_a_scenario_in_space_has_no_flips():
    assert read(links=2).settings.flips == "off"
    assert read(links=2, run={"flips": "record"}).settings.flips == "off"
    assert Scenario(SpatialChain.uniform(1), (0.5,)).settings.flips == "off"


def test_angles_that_look_like_degrees_are_noticed(tmp_path):
    with pytest.warns(UserWarning, match="theta: 90 rad is 14.3 turns; degrees"):
        nlink.simulate(SpatialChain.uniform(2), [(90, 0.5), (0.1, 0.2)], t_end=1e-3)
    (tmp_path / "model.toml").write_text("space = true\nlinks = 2\nstart.inclination = 80\n")
    with pytest.warns(UserWarning, match=r"start\.inclination: 80 rad is 12.7 turns"):
        Scenario.load(tmp_path / "model.toml")
