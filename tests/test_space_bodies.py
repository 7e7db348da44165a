"""Bodies in space on balls, hinges and universal joints, mixed with lines: one mechanics with a dense Newton and Euler; tops."""

import numpy as np
import pytest
from helpers import TOLERANCE
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from space import Newton, bodies_case, check_digits, check_newton, check_power, random_body, random_state, rates_of, seeds
from test_space_lines import FORMS, REFERENCES, followed

from nlink import (
    Ball,
    Body,
    Chain,
    Gravity,
    Hinge,
    JointDamper,
    JointSpring,
    JointTorque,
    JointTorsion,
    Link,
    LinkDamper,
    Sine,
    SpatialChain,
    Universal,
    formulate,
)
from nlink.mechanics.space import kinematics

counts = st.integers(1, 6)


@pytest.mark.parametrize("joints", [False, True], ids=["balls", "joints"])
@given(counts, seeds)
def test_the_sweep_is_newton_and_euler(joints, n, seed):
    check_newton(*bodies_case(n, seed, joints))


@pytest.mark.parametrize("joints", [False, True], ids=["balls", "joints"])
@given(counts, seeds)
def test_power_of_the_loads_is_the_rate_of_energy(joints, n, seed):
    chain, c, v = bodies_case(n, seed, joints)
    twist = np.nan_to_num(kinematics.twist(chain, c))
    assume(max(np.abs(twist).max(), kinematics.bend(chain, c).max()) < 3.1)  # the moments jump at half a turn
    check_power(chain, c, v, within=1e-5)


@given(counts, st.integers(0, 1000))
def test_hinges_about_z_are_the_plane(n, seed):
    """Bodies on hinges about z with every load: relative angles of the planar chain, with offsets."""
    rng = np.random.default_rng(seed)
    links = [Link(*map(float, row)) for row in rng.uniform(0.3, 1.5, (n, 5))]
    loads = [
        JointSpring(tuple(rng.uniform(0, 4, n))), JointDamper(tuple(rng.uniform(0, 1, n))), LinkDamper(0.3),
        JointTorque([Sine(*rng.uniform(0.1, 2, 3)) if k % 2 else 1.5 for k in range(n)]), Gravity(9.0),
    ]  # fmt: skip
    axis = Hinge((0.0, 0.0, 1.0))
    bodies = [
        Body(each.length, each.mass, (each.offset, -each.com, 0.0), (each.inertia, 0.3, each.inertia), axis) for each in links
    ]
    phi, rate, t = rng.uniform(-2.9, 2.9, n), rng.uniform(-3, 3, n), 0.7
    flat = formulate(Chain(links, loads))
    wanted = flat.accelerations(np.cumsum(phi), np.cumsum(rate), t)
    alpha = formulate(SpatialChain(bodies, loads)).accelerations(phi, rate, t)
    assert np.abs(alpha[:, :2]).max() <= 1e-12
    assert np.abs(alpha[:, 2] - wanted).max() <= TOLERANCE["agreement"] * (1.0 + np.abs(wanted).max())


def test_a_universal_joint_is_two_hinges_with_nothing_between():
    rng = np.random.default_rng(1)
    body = random_body(rng, Universal((1, 0, 0.2), (0, 0.3, 1)))
    between = Body(1e-9, 0.0, (0, 0, 0), (1e-14, 1e-14, 1e-14), Hinge((1, 0, 0.2)))
    behind = Body(body.length, body.mass, body.com, body.inertia, Hinge((0, 0.3, 1)))
    one = SpatialChain([body]).start([(0.7, -0.4)], [(1.0, 2.0)])
    a = formulate(SpatialChain([body])).accelerations([(0.7, -0.4)], [(1.0, 2.0)])
    b = formulate(SpatialChain([between, behind])).accelerations([0.7, -0.4], [1.0, 2.0])
    assert len(one[0]) == 2
    np.testing.assert_allclose(a[0], b[1], rtol=1e-6)


def test_long_chains_of_bodies_keep_their_digits():
    check_digits(*bodies_case(40, 4, True), 1e-10)


def test_thin_bodies_come_to_lines_with_the_same_friction():
    """The law of friction of lines is the limit of thin bodies, whose spins are those that leave no moment about them."""
    rng, n = np.random.default_rng(2), 4
    loads = [JointDamper(tuple(rng.uniform(0.1, 0.4, n))), LinkDamper(0.1)]
    lines = SpatialChain([Link.rod(1.0, 1.0)] * n, loads)
    c, v = random_state(lines, rng)
    e = c.reshape(n, 3)
    newton = Newton(lines, c, v)
    wanted, powers = rates_of(lines, c, v)
    for thin in (1e-5, 1e-6):
        bodies = SpatialChain([Body(1.0, 1.0, (0, -0.5, 0), (1 / 12, thin, 1 / 12))] * n, loads)
        q, rate = bodies.start(e, newton.whole)
        curve, same = rates_of(bodies, q, rate)
        at = kinematics.turns(bodies, q, rate, curve)
        bent = np.cross(at.alpha, e) + np.cross(at.omega, np.cross(at.omega, e))  # e''
        assert np.abs(bent.ravel() - wanted).max() <= 100 * thin * np.abs(wanted).max() + 1e-9
        assert same["joint_damper"] == pytest.approx(powers["joint_damper"], rel=1e-9)


# Motions ----------------------------------------------------------------------------------------------------------

JOINTS = {"ball": lambda axes: Ball(), "revolute": lambda axes: Hinge(axes[0]), "universal": lambda axes: Universal(*axes)}
LOADS = {"joint_damper": JointDamper, "joint_spring": JointSpring, "joint_torsion": JointTorsion}


def quaternion(turn):
    """Return (w, x, y, z) of a rotation vector."""
    x, y, z, w = Rotation.from_rotvec(turn).as_quat()
    return w, x, y, z


def made(case):
    """Return the chain of bodies of a reference, and its start."""
    model, start = case["model"], case["start"]
    links = [
        Body(link["length"], link["mass"], link["com"], link["inertia"], JOINTS[link.get("joint", "ball")](link.get("axes", [])))
        for link in model["links"]
    ]
    loads = [LOADS[name](tuple(values)) for name, values in model.get("loads", {}).items()]
    none = [None] * len(links)
    angles, rates = start.get("angles", none), start.get("rates", none)
    pose = [quaternion(turn) if turn else angle for turn, angle in zip(start["rotation"], angles, strict=True)]
    omega = [each if each else rate for each, rate in zip(start["omega"], rates, strict=True)]
    return SpatialChain(links, [Gravity(model["gravity"]), *loads]), pose, omega


@pytest.mark.parametrize("name", [name for name, case in REFERENCES.items() if case["model"]["kind"] == "body"])
def test_motions_are_those_of_78_digits(name):
    case = REFERENCES[name]
    chain, pose, omega = made(case)
    system = formulate(chain)
    assert sum(system.energy(system.encode(pose, omega))) == pytest.approx(case["energy_at_start"], rel=1e-14, abs=1e-13)
    times = [float(t) for t in case["results"]]
    for result, (c, v) in zip(case["results"].values(), followed(chain, pose, omega, times), strict=True):
        found = kinematics.turns(chain, c, v)
        far = 1e-13 + 10 * result["floor"]
        R = Rotation.from_quat(np.roll(found.rotation, -1, axis=-1)).as_matrix()
        assert np.abs(found.direction - result["direction"]).max() <= far
        assert np.abs(R.reshape(chain.n, 9) - result["rotation"]).max() <= far
        assert np.abs(found.omega - result["omega"]).max() <= 30 * far


def test_a_free_top_turns_over():
    """Dzhanibekov: no gravity, the pivot in the centre of mass; body rates by elliptic functions."""
    top = SpatialChain([Body(1.0, 1.0, (0, 0, 0), (1.0, 2.0, 3.0))], Gravity(0.0))
    values = FORMS["free_top"]["values"]
    for wanted, (c, v) in zip(
        values.values(), followed(top, [(1.0, 0.0, 0.0, 0.0)], [(0.01, 2.0, 0.02)], map(float, values)), strict=True
    ):
        at = kinematics.turns(top, c, v)
        body = kinematics.turned(kinematics.conjugate(at.rotation), at.omega)[0]
        assert np.abs(body - wanted).max() <= 5e-12


@pytest.mark.parametrize(("rate", "tilt"), [(55.5, 1e-2), (56.0, 1e-4)])
def test_an_upright_top_sleeps_beyond_its_threshold(rate, tilt):
    """Stable if I3^2 w^2 > 4 I1 m g d, at 55.736 rad/s: from a tilt of 1e-6 it grows below, and does not above."""
    critical = FORMS["sleeping_top"]["critical_rate"]
    top = SpatialChain([Body(0.2, 1.5, (0, -0.1, 0), (0.004, 0.006, 0.004))])
    up = np.pi - 1e-6
    ends = [c for c, _ in followed(top, [(up, 0.0)], [(0.0, rate, 0.0)], np.linspace(0.5, 8.0, 16))]
    far = max(np.hypot(*kinematics.directions(top, c)[0, ::2]) for c in ends)
    assert (far > 1e-3) == (rate < critical)
    assert far < tilt or rate < critical


def test_momentum_about_the_vertical_is_kept():
    rng = np.random.default_rng(5)
    chain = SpatialChain([random_body(rng), Link.rod(0.7, 0.5), random_body(rng), random_body(rng)])
    c, v = random_state(chain, rng)
    at = kinematics.turns(chain, c, v)
    pose = [c[place] for place in chain.places]
    ((d, u),) = followed(chain, pose, at.omega, [1.0])
    before, after = (kinematics.angular_momentum(chain, *each)[1] for each in ((c, v), (d, u)))
    assert after == pytest.approx(before, abs=1e-10)


def test_a_universal_joint_that_is_locked_is_told():
    """A thin rod along the first axis of its universal joint: nothing resists a turn about that axis."""
    rod = SpatialChain([Body.rod(1.0, 1.0, Universal((1, 0, 0), (0, 0, 1)))])
    system = formulate(rod)
    there, beside = (system.encode([(0.3, angle)], 0.0) for angle in (np.pi / 2, 1.5))
    said = system.formulation.stuck(system, 0.0, there)
    assert said
    assert "link 1 about an axis of its universal joint, which is locked here" in said[0]
    assert system.formulation.stuck(system, 0.0, beside) is None
    solid = SpatialChain([Body.cylinder(1.0, 1.0, 0.1, Universal((1, 0, 0), (0, 0, 1)))])
    assert formulate(solid).formulation.stuck(formulate(solid), 0.0, there) is None
