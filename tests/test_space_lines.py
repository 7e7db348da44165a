"""Lines in space: the sweep, natural coordinates and a dense Newton and Euler are one mechanics, with every load."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers import TOLERANCE
from hypothesis import assume, given
from hypothesis import strategies as st
from space import check_digits, check_newton, check_power, lines_case, random_state, rates_of, seeds

from nlink import (
    DOP853,
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    Link,
    LinkDamper,
    Natural,
    SpatialChain,
    TipForce,
    formulate,
)
from nlink.analysis.motion import Motion
from nlink.compiled.jit import uncached
from nlink.compiled.simd import aligned, columns
from nlink.compiled.views import views
from nlink.mechanics.contract import rhs, settled
from nlink.mechanics.space import kinematics
from nlink.mechanics.space.poses import direction_of

DATA = Path(__file__).parent / "data" / "space"
REFERENCES = json.loads((DATA / "references.json").read_text(encoding="utf-8"))["cases"]
FORMS = json.loads((DATA / "closed_forms.json").read_text(encoding="utf-8"))
LANES = 4
HANDLINGS = ("none", "Projection", "Baumgarte", "MultiplierFilter", "AugmentedLagrangian")
counts = st.integers(1, 6)


@given(counts, seeds)
def test_the_sweep_is_newton_and_euler(n, seed):
    check_newton(*lines_case(n, seed))


@pytest.mark.parametrize("constraints", HANDLINGS)
@given(counts, seeds)
def test_natural_coordinates_are_the_same_mechanics(constraints, n, seed):
    chain, c, v = lines_case(n, seed)
    natural = Natural(constraints=constraints)
    (one, powers), (other, others) = rates_of(chain, c, v), rates_of(chain, c, v, natural)
    assert np.abs(one - other).max() <= TOLERANCE["agreement"] * (1.0 + np.abs(one).max())
    assert others == pytest.approx(powers | {"constraints": 0.0}, rel=1e-9, abs=1e-9)
    system = formulate(chain, natural)
    state = system.formulation.encode(chain, c, v)
    np.testing.assert_allclose(system.decode(state), (c, v), atol=TOLERANCE["rounding"])
    assert system.energy(state) == pytest.approx(formulate(chain).energy(np.concatenate([c, v])), rel=1e-12, abs=1e-12)
    assert system.violation(state) <= TOLERANCE["rounding"]


@given(counts, seeds)
def test_a_penalty_is_nearly_rigid(n, seed):
    chain, c, v = lines_case(n, seed)
    curve, _ = rates_of(chain, c, v)
    soft, _ = rates_of(chain, c, v, Natural(constraints="Penalty"))
    assert np.abs(curve - soft).max() <= 1e-4 * (1.0 + np.abs(curve).max())


@given(counts, seeds)
def test_projection_brings_lengths_back_and_keeps_a_ledger_of_it(n, seed):
    chain, c, v = lines_case(n, seed)
    system = formulate(chain, Natural(constraints="Projection"))
    y = np.concatenate([system.formulation.encode(chain, c, v), np.zeros(system.full_size - system.size)])
    y[: system.size] += 1e-5 * np.random.default_rng(seed).normal(size=system.size)
    (new,), *_ = system.settled(y[None])
    assert system.violation(new[: system.size]) <= 1e-12
    taken = sum(system.energy(new[: system.size])) - sum(system.energy(y[: system.size]))
    assert new[system.size + system.rows_of_ledger.index("constraints")] == pytest.approx(taken, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("formulation", ["recursive", "natural"])
@given(counts, seeds)
def test_power_of_the_loads_is_the_rate_of_energy(formulation, n, seed):
    chain, c, v = lines_case(n, seed)
    assume(kinematics.bend(chain, c).max() < 3.1)  # the moment has no direction at half a turn
    check_power(chain, c, v, formulation)


@given(st.integers(1, 6), st.integers(0, 1000))
def test_motion_in_the_plane_is_that_of_a_chain(n, seed):
    """Data in the plane z = 0, with every load: the planar sweep to rounding, and z exactly 0."""
    rng = np.random.default_rng(seed)
    links = [Link(*map(float, row)) for row in rng.uniform(0.3, 1.5, (n, 4))]
    theta = np.cumsum(rng.uniform(-2.9, 2.9, n))  # neighbours less than a half turn apart
    omega = rng.uniform(-3, 3, n)
    loads = [
        JointSpring(tuple(rng.uniform(0, 4, n))), JointDamper(tuple(rng.uniform(0, 1, n))), LinkDamper(0.3), Drag(0.2, 0.1),
        FollowerForce(2.0), TipForce(1.0, -2.0), Gravity(9.0),
    ]  # fmt: skip
    flat, chain = formulate(Chain(links, loads)), SpatialChain(links, loads)
    c, v = chain.start(theta, omega)
    curve, powers = rates_of(chain, c, v)
    assert np.all(curve[2::3] == 0.0)
    alpha = kinematics.turns(chain, c, v, curve).alpha
    wanted = flat.accelerations(theta, omega)
    assert np.abs(alpha[:, 2] - wanted).max() <= TOLERANCE["agreement"] * (1.0 + np.abs(wanted).max())
    assert np.all(alpha[:, :2] == 0.0)
    out = flat.rates(0.0, np.concatenate([theta, omega, np.zeros(flat.full_size - flat.size)]))
    assert powers == pytest.approx(dict(zip(flat.rows_of_ledger, out[2 * n :], strict=True)), rel=1e-10, abs=1e-10)
    a, b = formulate(chain).reactions(theta, omega), flat.reactions(theta, omega)
    np.testing.assert_allclose(a[:, :2], b, rtol=1e-9, atol=1e-9)


def test_long_chains_keep_their_digits():
    check_digits(*lines_case(64, 5), 1e-11)


def test_friction_does_not_brake_a_bent_chain_that_turns_as_a_whole():
    chain = SpatialChain.uniform(4, loads=[JointDamper((0.0, 0.3, 0.2, 0.4))])
    pose = [(0.4, 0.0), (0.9, 1.0), (1.4, 2.0), (2.0, -1.0)]
    _, powers = rates_of(chain, *chain.start(pose, [(0.0, 3.0, 0.0)] * 4))
    assert abs(powers["joint_damper"]) <= 1e-13
    _, powers = rates_of(chain, *chain.start(pose, [(0.0, 3.0, 0.0)] * 3 + [(0.0, 2.0, 0.0)]))
    assert powers["joint_damper"] < -1e-3


@given(counts, seeds)
def test_rates_are_smooth_off_the_spheres(n, seed):
    """What Runge-Kutta stages see: a sweep that normalises nothing changes by as much as its argument."""
    chain, c, v = lines_case(n, seed)
    assume(kinematics.bend(chain, c).max() < 2.9)
    system, state = formulate(chain), np.concatenate([c, v])
    away = np.random.default_rng(seed).normal(size=len(state))
    slopes = [(system(0.0, state + h * away) - system(0.0, state - h * away)) / (2 * h) for h in (1e-4, 5e-5)]
    assert np.abs(slopes[0] - slopes[1]).max() <= 1e-4 * (1.0 + np.abs(slopes[0]).max())


def test_settling_scales_to_the_sphere_and_projects_the_rates():
    chain, c, v = lines_case(5, 2)
    system = formulate(chain)
    rough = np.concatenate([1.001 * c, v + 0.01 * c, np.zeros(system.full_size - system.size)])
    assert system.violation(rough) == pytest.approx(1e-3)
    (y,), *_ = system.settled(rough[None])
    assert system.violation(y) <= 1e-15
    e, rate = y[:15].reshape(5, 3), y[15:30].reshape(5, 3)
    assert np.abs((e * rate).sum(1)).max() <= 1e-15
    np.testing.assert_allclose(y[:30], np.concatenate([c, v]), atol=1e-13)


@uncached
def in_lanes(y, p, out, w):
    states, rates, rows = columns(y, 0, LANES), columns(out, 0, LANES), columns(w, 0, LANES)
    rhs(0.0, states, views(p), rates, rows)
    settled(states, views(p), rows)


def test_every_lane_is_as_if_alone():
    """The sweep with every load, and settling, on vectors: the same bits as one chain has."""
    chain, _, _ = lines_case(4, 3)
    system, rng = formulate(chain), np.random.default_rng(0)
    y, out, w = (aligned(*shape, LANES) for shape in ((system.full_size,), (system.full_size,), system.scratch().shape))
    y[:] = 0.0
    for k in range(LANES):
        y[: system.size, k] = 1.001 * np.concatenate(random_state(chain, rng))
    alone = np.array([system.rates(0.0, np.ascontiguousarray(y[:, k])) for k in range(LANES)])
    put_back, *_ = system.settled(np.ascontiguousarray(y.T))
    in_lanes(y, system.parameters, out, w)
    np.testing.assert_array_equal(out.T, alone)
    np.testing.assert_array_equal(y.T, put_back)


# Motions ----------------------------------------------------------------------------------------------------------


def followed(chain, pose, omega, times, formulation="recursive"):
    """Yield the coordinates and rates at these times, by DOP853 with settled steps."""
    system = formulate(chain, formulation)
    motion, t = Motion(system, DOP853(rtol=1e-15, atol=1e-15)), 0.0
    y = np.concatenate([system.encode(pose, omega), np.zeros(system.full_size - system.size)])
    for time in times:
        for chunk in motion.chunks(t, time, y):
            y = chunk.y[-1].copy()
        t = time
        yield system.decode(y[: system.size])


def made(case):
    """Return the chain of lines of a reference, and its start."""
    model, start = case["model"], case["start"]
    loads = model.get("loads", {})
    kinds = {"link_damper": LinkDamper, "joint_damper": JointDamper, "joint_spring": JointSpring}
    links = [Link(*(link[name] for name in ("length", "mass", "com", "inertia"))) for link in model["links"]]
    chain = SpatialChain(links, [Gravity(model["gravity"]), *(kinds[name](tuple(values)) for name, values in loads.items())])
    return chain, list(zip(start["inclination"], start["azimuth"], strict=True)), start["omega"]


@pytest.mark.parametrize("name", [name for name, case in REFERENCES.items() if case["model"]["kind"] == "line"])
def test_motions_are_those_of_78_digits(name):
    case = REFERENCES[name]
    chain, pose, omega = made(case)
    system = formulate(chain)
    assert sum(system.energy(system.encode(pose, omega))) == pytest.approx(case["energy_at_start"], rel=1e-14, abs=1e-14)
    times = [float(t) for t in case["results"]]
    for result, (c, v) in zip(case["results"].values(), followed(chain, pose, omega, times), strict=True):
        found = kinematics.turns(chain, c, v)
        assert np.abs(found.direction - result["direction"]).max() <= 1e-13 + 10 * result["floor"]


def test_a_spherical_pendulum_is_that_of_elliptic_functions():
    chain, pose, omega = made(REFERENCES["spherical_point_1"])
    form = FORMS["spherical_point_1"]
    period = form["period_of_height"]
    (start, _), (end, _) = chain.start(pose, omega), next(followed(chain, pose, omega, [period]))
    assert end[1] == pytest.approx(start[1], abs=1e-11)
    turned = np.arctan2(end[0], end[2]) - np.arctan2(start[0], start[2])
    turns = (turned - form["turned_about_y_in_it"]) / (2 * np.pi)
    assert turns == pytest.approx(round(turns), abs=1e-11)


@pytest.mark.parametrize("formulation", ["recursive", "natural"])
def test_a_conical_pendulum_comes_back_after_a_turn(formulation):
    rate = FORMS["conical_pendulum"]["rate"]
    form = Natural(constraints="Projection") if formulation == "natural" else formulation
    ((c, _),) = followed(SpatialChain([Link.rod(1.0, 1.0)]), [(1.0, 0.0)], [(0.0, rate, 0.0)], [2 * np.pi / rate], form)
    assert np.abs(c - direction_of(1.0, 0.0)).max() <= 1e-12


@pytest.mark.parametrize("rate", [4, 8])
def test_two_rods_turn_steadily_about_the_vertical(rate):
    inclination = FORMS["steady_two_rods"][f"rate_{rate}"]
    chain = SpatialChain.uniform(2)
    c, v = chain.start([(angle, 0.3) for angle in inclination], [(0.0, float(rate), 0.0)] * 2)
    curve, _ = rates_of(chain, c, v)
    inward = -(rate**2) * c.reshape(2, 3) * [1, 0, 1]  # each direction turns about the vertical
    np.testing.assert_allclose(curve.reshape(2, 3), inward, atol=1e-11)


def test_a_line_with_a_rotor_is_a_spinning_top():
    """The same heavy symmetric top on 6 numbers: the rotor has the momentum of the top about its axis."""
    case = REFERENCES["top_fast"]
    (link,) = case["model"]["links"]
    line = Link(link["length"], link["mass"], -link["com"][1], link["inertia"][0][0])
    turn = np.array(case["start"]["rotation"][0])
    e = np.array([np.sin(turn[2]), -np.cos(turn[2]), 0.0])  # a turn about z
    chain = SpatialChain([line], (), _momentum(link, case, e))
    times = [float(t) for t in case["results"]]
    for result, (c, _) in zip(case["results"].values(), followed(chain, [e], case["start"]["omega"], times), strict=True):
        assert np.abs(c - np.array(result["direction"])[0]).max() <= 1e-12 + 10 * result["floor"]


def _momentum(link, case, e):
    """Return the momentum of a top about its axis."""
    return link["inertia"][1][1] * float(np.array(case["start"]["omega"][0]) @ e)


def test_momentum_about_the_vertical_is_kept():
    rng = np.random.default_rng(3)
    chain = SpatialChain(SpatialChain.uniform(3).links, (), (0.4, 0.0, -0.3))
    c, v = random_state(chain, rng)
    omega = np.cross(c.reshape(3, 3), v.reshape(3, 3))
    ((d, u),) = followed(chain, c.reshape(3, 3), omega, [2.0])
    before, after = (kinematics.angular_momentum(chain, *each) for each in ((c, v), (d, u)))
    assert after[1] == pytest.approx(before[1], abs=1e-10)
    assert abs(after[0] - before[0]) > 1e-3


def test_small_motions_have_every_planar_frequency_twice():
    chain, h = SpatialChain.uniform(2), 1e-6
    hanging = np.tile([0.0, -1.0, 0.0], 2)
    stiffness = np.zeros((4, 4))
    moves = [0, 2, 3, 5]  # x and z of each direction
    for k, j in enumerate(moves):
        ends = []
        for sign in (1, -1):
            c = hanging.copy()
            c[j] += sign * h
            ends.append(rates_of(chain, c, np.zeros(6))[0])
        stiffness[:, k] = -((ends[0] - ends[1]) / (2 * h))[moves]
    found = np.sqrt(np.sort(np.linalg.eigvals(stiffness).real))
    np.testing.assert_allclose(found, [2.68011401, 2.68011401, 7.18867087, 7.18867087], atol=1e-6)
