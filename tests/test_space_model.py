"""Chains in space as models: records, coordinates, poses, read-out, and what is refused, with the remedy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from space import bodies_case, seeds

import nlink
from nlink import (
    Ball,
    Body,
    Chain,
    Drag,
    Gravity,
    Hinge,
    JointDamper,
    JointSpring,
    JointTorque,
    JointTorsion,
    Link,
    Mechanism,
    ModelError,
    Natural,
    PointForce,
    SpatialChain,
    TipForce,
    Universal,
    formulate,
)
from nlink.mechanics.kinematics import segments
from nlink.mechanics.space import kinematics

ROD, BODY = Link.rod(1.0, 1.0), Body.cylinder(1.0, 1.0, 0.1)


def test_a_chain_says_its_coordinates():
    links = [ROD, BODY, Body.box(1, 1, 0.1, 0.2, Hinge((0, 0, 1))), Body.rod(1, 1, Universal((1, 0, 0), (0, 0, 1)))]
    chain = SpatialChain(links)
    assert chain.labels == ("1.x", "1.y", "1.z", "2.w", "2.x", "2.y", "2.z", "3", "4.1", "4.2")
    assert (chain.size, chain.n, chain.spatial) == (10, 4, True)
    assert [(place.start, place.stop) for place in chain.places] == [(0, 3), (3, 7), (7, 8), (8, 10)]
    assert chain.turning.tolist() == [False] * 7 + [True] * 3
    assert chain.loads == (Gravity(9.81),)
    flat = Chain.uniform(2)
    assert (flat.size, flat.spatial, flat.labels, flat.turning.tolist()) == (2, False, ("1", "2"), [True, True])


def test_every_sweep_of_recursive_is_chosen_by_the_links():
    names = [
        type(formulate(SpatialChain(links)).formulation).__name__
        for links in ([ROD], [ROD, BODY], [Body.rod(1, 1, Hinge((0, 0, 1)))])
    ]
    assert names == ["LineSweep", "BallSweep", "JointSweep"]


def test_bodies_have_the_inertia_of_their_shapes():
    cylinder, box = Body.cylinder(2.0, 3.0, 0.5), Body.box(2.0, 3.0, 0.4, 0.6)
    assert np.diag(cylinder.tensor) == pytest.approx([3 * (0.25 / 4 + 4 / 12), 3 * 0.25 / 2, 3 * (0.25 / 4 + 4 / 12)])
    assert np.diag(box.tensor) == pytest.approx([3 * (4 + 0.36) / 12, 3 * (0.16 + 0.36) / 12, 3 * (4 + 0.16) / 12])
    assert cylinder.hinge_tensor[0, 0] == pytest.approx(cylinder.tensor[0, 0] + 3.0)
    assert (cylinder.section, box.section) == ((0.5,), (0.4, 0.6))
    assert Body(1, 1, (0, -0.5, 0), (1, 1, 1)) == Body(1, 1, [0, -0.5, 0], np.eye(3))


# Poses ------------------------------------------------------------------------------------------------------------


def directions(chain, pose):
    return kinematics.directions(chain, chain.start(pose)[0])


@pytest.mark.parametrize("links", [[ROD, ROD], [BODY, BODY], [ROD, BODY]])
def test_a_pose_is_given_by_its_shape(links):
    chain = SpatialChain(links)
    angle = [[math.sin(0.3), -math.cos(0.3), 0.0]] * 2
    for pose in (0.3, [0.3, 0.3], np.array([0.3, 0.3]), ["17.188733853924695 deg", 0.3], [(0.3, 0.0)] * 2, [angle[0], 0.3]):
        np.testing.assert_allclose(directions(chain, pose), angle, atol=1e-15)
    there = [math.sin(1.0) * math.cos(2.0), -math.cos(1.0), math.sin(1.0) * math.sin(2.0)]
    for pose in ([(1.0, 2.0)] * 2, [[5 * x for x in there]] * 2):
        np.testing.assert_allclose(directions(chain, pose), [there] * 2, atol=1e-15)
    half = math.sqrt(0.5)
    np.testing.assert_allclose(directions(chain, [(half, half, 0.0, 0.0)] * 2), [[0, 0, -1]] * 2, atol=1e-15)
    np.testing.assert_allclose(directions(chain, math.pi), [[0, 1, 0]] * 2, atol=1e-15)


def test_rates_are_angular_velocities():
    chain = SpatialChain([ROD, BODY, Body.box(1, 1, 0.1, 0.2, Hinge((0, 0, 2)))])
    c, v = chain.start([(1.0, 2.0), (0.5, 1.0), 0.7], [(1.0, 2.0, 3.0), (0.1, 0.2, 0.3), "90 deg/s"])
    at = kinematics.turns(chain, c, v)
    omega = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(at.omega[0], omega - (omega @ at.direction[0]) * at.direction[0], atol=1e-14)
    np.testing.assert_allclose(at.omega[1], [0.1, 0.2, 0.3], atol=1e-15)
    axis = kinematics.turned(at.rotation[1], np.array([0, 0, 1.0]))
    np.testing.assert_allclose(at.omega[2], at.omega[1] + math.pi / 2 * axis, atol=1e-14)
    assert not chain.start([(1.0, 2.0), (0.5, 1.0), 0.7])[1].any()


@given(st.floats(0.01, math.pi - 0.01), st.floats(-3.1, 3.1))
def test_inclination_and_azimuth_are_read_back(inclination, azimuth):
    e = directions(SpatialChain([BODY]), [(inclination, azimuth)])
    assert kinematics.inclination(e)[0] == pytest.approx(inclination, abs=1e-12)
    assert kinematics.azimuth(e)[0] == pytest.approx(azimuth, abs=1e-11)
    assert np.isnan(kinematics.azimuth(np.array([0.0, -1.0, 0.0])))


@given(st.integers(1, 5), seeds)
def test_read_out_is_consistent(n, seed):
    """Velocities are rates of places, by differences along the motion; reactions support the whole."""
    chain, c, v = bodies_case(n, seed, True)
    h = 1e-6
    ahead, back = ((c + k * h * v) for k in (1, -1))
    for place, speed in (("hinges", "hinge_velocities"), ("centres", "centre_velocities")):
        slope = (getattr(kinematics, place)(chain, ahead) - getattr(kinematics, place)(chain, back)) / (2 * h)
        np.testing.assert_allclose(slope, getattr(kinematics, speed)(chain, c, v), atol=1e-6)
    many = kinematics.hinges(chain, np.stack([c, ahead]))
    np.testing.assert_array_equal(many[0], kinematics.hinges(chain, c))
    np.testing.assert_array_equal(segments(chain, c)[:, 1], kinematics.hinges(chain, c)[1:])


def test_tension_of_a_hanging_chain_is_the_weight_below():
    chain = SpatialChain.uniform(3)
    c, v = chain.start(0.0)
    np.testing.assert_allclose(kinematics.tensions(chain, c, v, np.zeros(9)), 9.81 * np.array([3, 2, 1]))


# Refusals ---------------------------------------------------------------------------------------------------------

REFUSED = [
    (lambda: SpatialChain([Link(1, 1, 0.5, 0.1, 0.2)]), "offset must be 0, got 0.2: a Link in space is a line; use Body"),
    (lambda: SpatialChain([ROD.on(0)]), "has a parent, a place on it or a motion"),
    (lambda: SpatialChain([]), "must not be empty"),
    (lambda: SpatialChain([1]), "must be a Link or Body, got 1"),
    (lambda: SpatialChain([Link(1, 0, 0.5, 0)]), "makes the mass matrix singular"),
    (lambda: SpatialChain([Link(1, 0, 0.5, 0), Link.point(1, 1)]), "makes the mass matrix singular"),
    (lambda: SpatialChain([Body(1, 1, (0, -0.5, 0), (1 / 12, 0, 1 / 12))]), "a rod has no spin; use Link.rod, or give it a radius"),
    (lambda: SpatialChain([Body.rod(1, 1, Hinge((0, 1, 0)))]), "nothing with mass resists a turn about its hinge"),
    (lambda: SpatialChain([Body.rod(1, 1, Universal((1, 0, 0), (0, 1, 0)))]), "resists a turn about an axis of its joint"),
    (lambda: SpatialChain([Link(1, 0, 0.5, 0), BODY, Body.rod(1, 0, Hinge((0, 0, 1)))]), "makes the mass matrix singular"),
    (lambda: SpatialChain([ROD, Body.rod(1, 1, Hinge((0, 0, 1)))]), "below a line, which has no twist; make links[0] a Body"),
    (lambda: Body(1, 1, (0, -0.5, 0), (1, 1, 3)), "is one that no body can have: principal moments 1, 1, 3"),
    (lambda: Body(1, 1, (0, -0.5, 0), (1, -1, 1)), "none may be negative"),
    (lambda: Body(1, 1, (0, -0.5, 0), [[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "must be symmetric"),
    (lambda: Body(1, 1, (0, -0.5, 0), 1.0), "must be three moments, or 3 x 3 numbers, got 1.0"),
    (lambda: Body(1, 1, 0.5, (1, 1, 1)), "Body.com must be three numbers (x, y, z), got 0.5"),
    (lambda: Body(1, 1, (0, -0.5, 0), (1, 1, 1), "hinge"), "must be Ball(), Hinge(axis) or Universal(first, second)"),
    (lambda: Body(0, 1, (0, -0.5, 0), (1, 1, 1)), "Body.length must be positive"),
    (lambda: Body.cylinder(1, 1, 0), "Body.cylinder: radius must be positive"),
    (lambda: Body.box(1, 1, 1, -1), "Body.box: depth must be positive"),
    (lambda: Hinge((0, 0, 0)), "Hinge.axis must be a direction, got (0, 0, 0)"),
    (lambda: Universal((1, 0, 0), (-2, 0, 0)), "needs two different axes"),
    (lambda: SpatialChain([BODY], spin=1.0), "no link is a line; give a Body its spin by omega"),
    (lambda: SpatialChain([ROD, BODY], spin=(1.0, 1.0)), "spin[1] must be 0: links[1] is a Body"),
    (lambda: SpatialChain.uniform(2).with_loads(JointSpring(1.0, 0.2)), "JointSpring.rest must be 0 in space"),
    (lambda: SpatialChain.uniform(2).with_loads(JointTorsion(1.0)), "links[0] is a line, which has no twist; use Body"),
    (lambda: SpatialChain([BODY, ROD]).with_loads(JointTorsion((1.0, 1.0))), "stiffness[1] must be 0: links[1] is a line"),
    (lambda: SpatialChain([ROD, BODY]).with_loads(JointTorsion((0.0, 1.0))), "stiffness[1] must be 0: links[0] is a line"),
    (lambda: SpatialChain.uniform(1).with_loads(JointTorque(1.0)), "links[0] is not on a Hinge; torques act about hinges only"),
    (lambda: SpatialChain.uniform(1).with_loads(JointTorque(lambda t: 1.0)), "takes no function in space"),
    (lambda: SpatialChain.uniform(2).with_loads(JointDamper((1.0,))), "JointDamper.damping has 1 value for 2 links"),
    (lambda: SpatialChain.uniform(2).with_loads(TipForce(1.0, 1.0, link=0)), "link must be the last link of a chain, 1"),
    (lambda: SpatialChain.uniform(2).with_loads(PointForce((0.0, 0.0), 1.0, 1.0)), "must be a load"),
    (lambda: Chain.uniform(2).with_loads(TipForce(1.0, 1.0, fz=1.0)), "which moves in the plane; use SpatialChain"),
    (lambda: Mechanism([ROD], TipForce(1.0, 1.0, fz=1.0)), "which moves in the plane; use SpatialChain"),
    (lambda: Chain.uniform(2).with_loads(JointTorsion(1.0)), "for torsion springs use SpatialChain"),
    (lambda: Chain([BODY]), "Chain.links[0] must be a Link"),
    (lambda: SpatialChain.uniform(2).start([1.0]), "pose has 1 entries for 2 links"),
    (lambda: SpatialChain.uniform(1).start([(0, 0, 0)]), "pose[0] must be a direction, got (0, 0, 0)"),
    (lambda: SpatialChain.uniform(1).start([(0, 0, 0, 0)]), "must be a quaternion (w, x, y, z) of a turn, got zeros"),
    (lambda: SpatialChain.uniform(1).start([(0, 0, 0, 0, 1)]), "a direction (x, y, z) or a quaternion (w, x, y, z)"),
    (lambda: SpatialChain.uniform(1).start([(1e10, 0)]), "pose[0]"),
    (lambda: SpatialChain.uniform(1).start(0.0, [(1.0, 2.0)]), "omega[0] must be three numbers"),
    (lambda: SpatialChain([Body.rod(1, 1, Hinge((0, 0, 1)))]).start([(1.0, 2.0)]), "a hinge takes one angle"),
    (lambda: SpatialChain([Body.rod(1, 1, Hinge((0, 0, 1)))]).start(0.0, [(1.0, 2.0, 3.0)]), "a hinge takes the rate of its angle"),
    (lambda: SpatialChain([Body.rod(1, 1, Universal((1, 0, 0), (0, 0, 1)))]).start(0.5), "a universal joint takes two angles"),
    (lambda: formulate(SpatialChain([BODY]), "natural"), "natural takes lines in space, not bodies; use recursive"),
    (lambda: formulate(SpatialChain.uniform(1), Natural(constraints="no")), "constraints"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_has_a_sentence(make, said):
    with pytest.raises(ModelError) as refusal:
        make()
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", [name for name in nlink.FORMULATIONS if name not in ("recursive", "natural")])
def test_other_formulations_are_refused_by_name(name):
    with pytest.raises(ModelError, match=rf"{name} takes chains in the plane, not in space; use recursive or natural"):
        formulate(SpatialChain.uniform(2), name)


def test_a_body_is_as_heavy_as_it_says():
    """A massless body with inertia, and massless lines before a solid one, are taken."""
    assert SpatialChain([Link(1, 0, 0.5, 0.0), BODY]).n == 2
    assert SpatialChain([Body(1, 0, (0, -0.5, 0), (1, 1, 1)), ROD]).with_loads(Drag(0.1)).n == 2
    assert isinstance(SpatialChain.uniform(1).joints[0], Ball)
