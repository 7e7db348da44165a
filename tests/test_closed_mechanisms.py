"""Closed mechanisms: several loops against an independent mechanics, references and closed forms, through dead positions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import linkages
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import Loops, turning
from scipy.special import ellipkinc
from test_mechanism import mirrored
from trees import check_powers, slope

from nlink import (
    GROUND,
    RK4,
    At,
    Chain,
    Drag,
    Gear,
    Gravity,
    Guide,
    JointDamper,
    Link,
    Mechanism,
    ModelError,
    Pin,
    Slider,
    assemble,
    driven,
    formulate,
    simulate,
)
from nlink.formulations.constraint_rows import END, INFO, KEPT
from nlink.mechanics import kinematics, loop_closure
from nlink.mechanics.equations import rates
from nlink.mechanics.points import ends
from nlink.view.words import run_lines

# Equations of motion -------------------------------------------------------------------------------------------------


@given(turning())
def test_accelerations_are_those_of_virtual_work_with_multipliers(case):
    model, q, v, t = case
    found, (expected, _) = formulate(model).accelerations(q, v, t), Loops(model, q, v, t).motion()
    assert np.abs(found - expected).max() <= 1e-8 * (1.0 + np.abs(expected).max())


def test_sliders_without_a_length_have_the_size_of_their_points():
    """Two sliders that a guide and a gear hold: nothing moves, and nothing is lost by a size of zero."""
    sliders = [Slider(direction=0.1), Slider(0.1).on(0)]
    pins = [Guide(At(0, 0.0, 0.1), At(1, 0.0, 0.1), 0.1), Gear(1, 0, -2.0, 0.0)]
    np.testing.assert_array_equal(formulate(Mechanism(sliders, pins=pins)).accelerations([0.0, 0.0], 0.0), 0.0)


@settings(max_examples=40)
@given(turning())
def test_powers_are_those_of_virtual_work_and_change_the_energy(case):
    here = Loops(*case)
    a, sizes = here.motion()
    held = np.abs(here.gradients().T @ sizes).max() + np.abs(here.mass_matrix() @ a).max()
    check_powers(here, held * np.abs(here.v).max())


@settings(max_examples=40)
@given(turning())
def test_reactions_are_the_multipliers_and_every_body_obeys_newton(case):
    model, q, v, t = case
    system, here = formulate(model), Loops(model, q, v, t)
    reactions = system.reactions(q, v, t)
    a, sizes = here.motion()
    scale = 1.0 + np.abs(sizes).max() + np.abs(kinematics.forces(model, q, v)).max()
    np.testing.assert_allclose(reactions[model.n :], here.closure_forces(), atol=1e-7 * scale)
    moved = slope(lambda s: here.moved(q + s * v + s * s * a / 2, v + s * a))[:, :2]
    scale += np.abs(moved).max() * (1 + model.mass.sum())
    np.testing.assert_allclose(left_over(model, q, v, reactions, moved), 0.0, atol=1e-7 * scale)


def left_over(model: Mechanism, q: np.ndarray, v: np.ndarray, reactions: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Return what is left (N, 2) of the forces on each body, its centre of mass moving with accelerations `moved`."""
    joints, closing = np.split(reactions, [model.n])
    left = joints + kinematics.forces(model, q, v) - model.mass[:, None] * moved
    for i, parent in enumerate(model.parents.tolist()):
        if parent != GROUND:
            left[parent] -= joints[i]
    for force, closure in zip(closing, model.pins, strict=True):
        for point, sign in zip(() if isinstance(closure, Gear) else ends(closure), (1.0, -1.0), strict=False):
            if isinstance(point, At):
                left[point.link] += sign * force
    return left


SYMMETRIC = (Gravity(9.81), Drag(0.2, 0.3), JointDamper(0.4))


@settings(max_examples=40)
@given(turning(driven=False))
def test_the_mirror_image_moves_as_the_mirror_image(case):
    model, q, v, _ = case
    model = replace(model, loads=SYMMETRIC)
    bodies = [mirrored(body, model, i) for i, body in enumerate(model.links)]
    other = Mechanism(bodies, SYMMETRIC, [reflected(closure, model) for closure in model.pins])
    np.testing.assert_allclose(loop_closure.gap(other, -q), 0.0, atol=1e-9)
    a, b = formulate(model).accelerations(q, v), formulate(other).accelerations(-q, -v)
    assert np.abs(a + b).max() <= 1e-8 * (1 + np.abs(a).max())


def reflected(closure: Any, model: Mechanism) -> Any:
    """Return a closure of the mirror image in the y axis."""

    def point(place: Any) -> Any:
        return replace(place, left=-place.left) if isinstance(place, At) else (-place[0], place[1])

    if isinstance(closure, Gear):
        return replace(closure, offset=-closure.offset)
    if isinstance(closure, Guide):
        return Guide(point(closure.point), point(closure.through), -closure.direction)
    return replace(closure, a=point(closure.a), b=point(closure.b))


@settings(max_examples=40)
@given(turning())
def test_moved_as_a_whole_it_moves_the_same(case):
    model, q, v, t = case
    loads = [load for load in model.loads if not load.several]
    here = replace(model, loads=tuple(loads))

    def point(place: Any) -> Any:
        return place if isinstance(place, At) else (place[0] + 3.0, place[1] - 2.0)

    def shifted(i: int, body: Any) -> Any:
        at = body.at or (0.0, 0.0)
        return replace(body, at=(at[0] + 3.0, at[1] - 2.0), parent=GROUND) if here.parents[i] == GROUND else body

    pins = [
        closure
        if isinstance(closure, Gear)
        else Guide(closure.point, point(closure.through), closure.direction)
        if isinstance(closure, Guide)
        else replace(closure, a=point(closure.a), b=point(closure.b))
        for closure in here.pins
    ]
    there = replace(here, links=tuple(shifted(i, body) for i, body in enumerate(here.links)), pins=tuple(pins))
    a, b = formulate(here).accelerations(q, v, t), formulate(there).accelerations(q, v, t)
    assert np.abs(a - b).max() <= 1e-8 * (1 + np.abs(a).max())


def test_the_order_of_closures_changes_nothing():
    linkage = linkages.jansen()
    at = assemble(linkage.model, linkage.near, [1.0] * 7)
    other = replace(linkage.model, pins=linkage.model.pins[::-1])
    a, b = (formulate(model).accelerations(at.theta, at.omega) for model in (linkage.model, other))
    np.testing.assert_allclose(a, b, atol=1e-10 * np.abs(a).max())


# References ----------------------------------------------------------------------------------------------------------

A02 = {1e-9: (2e-6, 1e-8), 1e-12: (2e-9, 1e-11)}
"""Errors of angle, and of energy as a part of the largest kinetic one, for A02 over 20 s, by tolerance: what a pendulum has."""


def turned_up(t: np.ndarray, loops: int) -> np.ndarray:
    """Return the angle of the rockers of A02 from straight up: I th'' = G sin th is t = 2 F(th/2, -4 G/I), for th' = 1 at first."""
    m = -4.0 * ((loops + 1) / 2 + loops) * 9.81 / ((loops + 1) / 3 + loops)
    half = np.interp(t, 2 * ellipkinc(np.linspace(0, 50, 20001), m), np.linspace(0, 50, 20001))
    for _ in range(4):
        half -= (2 * ellipkinc(half, m) - t) * np.sqrt(1 - m * np.sin(half) ** 2) / 2
    return 2 * half


@pytest.mark.parametrize(("loops", "tolerance"), [(1, 1e-9), (1, 1e-12), (2, 1e-12), (10, 1e-9), (40, 1e-9)])
def test_a02_with_its_dead_positions(loops, tolerance):
    """IFToMM A02: all loops vanish at once, twice in a turn."""
    most, energy = A02[tolerance]
    start = linkages.a02_start(loops)
    run = simulate(linkages.a02(loops).model, *start, t_end=20.0, save=0.05, rtol=tolerance, atol=tolerance)
    expected = math.pi - turned_up(run.t, loops)
    assert np.abs(run.theta[:, 0] - expected).max() <= most
    assert np.abs(run.theta[:, 2::2] - run.theta[:, :1]).max() <= 1e-12  # all rockers turn together
    assert np.abs(run.theta[:, 1::2] - math.pi / 2).max() <= 1e-12
    assert np.abs(run.energy().residual).max() <= energy * run.energy().kinetic.max()
    assert run.violation().max() <= 1e-13
    passed = [event for event in run.events if event.name == "dead position"]
    assert len(passed) == int((turned_up(run.t[-1:], loops)[0] + math.pi / 2) / math.pi) >= 20
    assert all(event.info["determined"] for event in passed)
    lines = np.array([event.theta[0] for event in passed])
    np.testing.assert_allclose(np.cos(lines), 0.0, atol=2e-6)


def test_a02_meets_the_accuracy_that_the_benchmark_asks_for():
    """Position and velocity of the first tip, with 40 loops, 20 s, 400 points: at most 1e-3, relative with a threshold of 1e-3
    (A02_specification.xml of the library of benchmarks of the IFToMM committee for multibody dynamics; 1e-3 is "high precision").
    """
    run = simulate(linkages.a02(40).model, *linkages.a02_start(40), t_end=20.0, save=0.05, rtol=1e-8, atol=1e-8)
    up = turned_up(run.t, 40)
    k = 60.5 * 9.81 / (41 / 3 + 40)
    rate = np.sqrt(1 + 2 * k * (1 - np.cos(up)))
    expected = np.array([np.sin(up), np.cos(up), rate * np.cos(up), -rate * np.sin(up)])
    theta, omega = run.theta[:, 0], run.omega[:, 0]
    found = np.array([np.sin(theta), -np.cos(theta), omega * np.cos(theta), omega * np.sin(theta)])
    error = np.abs(found - expected) / np.maximum(np.abs(expected), 1e-3)
    assert np.sqrt((error**2).mean(1)).max() <= 1e-3


@pytest.mark.parametrize("loops", [2, 10])
def test_a02_against_the_references(loops):
    data = linkages.reference(f"a02_n{loops}")
    times = [float(t) for t in data["results"]]
    run = simulate(linkages.a02(loops).model, *linkages.a02_start(loops), t_end=20.0, save=[0.0, *times], rtol=1e-13, atol=1e-13)
    for k, (t, expected) in enumerate(data["results"].items(), 1):
        floor = 1e-11 if float(t) <= 5 else 2e-10
        assert run.theta[k, 0] == pytest.approx(float(expected["rocker_theta"]), abs=floor), t
        assert run.omega[k, 0] == pytest.approx(float(expected["rocker_omega"]), abs=5 * floor), t
        assert run.alpha[k, 0] == pytest.approx(float(expected["rocker_alpha"]), abs=20 * floor), t
    passed = [event.t for event in run.events if event.name == "dead position" and event.t < 11.5]
    np.testing.assert_allclose(passed, np.array(data["dead_positions_s"], float), atol=2e-11)


def test_the_slider_crank_of_the_references():
    model, data = linkages.referenced("slider_crank"), linkages.reference("slider_crank")
    q, v, a = (np.array(data["initial"][key], float) for key in ("q", "rate", "acceleration"))
    assert np.abs(formulate(model).accelerations(q, v) - a).max() <= 1e-13
    times = [float(t) for t in data["results"]]
    run = simulate(model, q, v, t_end=times[-1], save=[0.0, *times], rtol=1e-13, atol=1e-13)
    for k, (t, expected) in enumerate(data["results"].items(), 1):
        for found, key in ((run.theta, "q"), (run.omega, "rate"), (run.alpha, "acceleration")):
            wanted = np.array(expected[key], float)
            assert np.abs(found[k] - wanted).max() <= 1e-10 * max(1.0, np.abs(wanted).max()), (t, key)
    assert np.abs(run.energy().residual).max() <= 1e-10


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-13])
def test_peaucelliers_point_stays_on_its_line_and_its_drive_has_the_torque(tolerance):
    """Three loops without freedom, the crank driven: all is a matter of closing."""
    model, data = linkages.referenced("peaucellier_driven"), linkages.reference("peaucellier_driven")["results"]
    first, times = data["0"], [float(t) for t in data]
    q, v = (np.array(first[key], float) for key in ("theta", "omega"))
    run = simulate(model, q, v, t_end=times[-1], save=times, rtol=tolerance, atol=tolerance)
    system = formulate(model)
    for k, expected in enumerate(data.values()):
        for found, key in ((run.theta, "theta"), (run.omega, "omega"), (run.alpha, "alpha")):
            np.testing.assert_allclose(found[k], np.array(expected[key], float), atol=2e-14)
        rates = system.rates(run.t[k], np.concatenate([run.theta[k], run.omega[k], np.zeros(system.full_size - system.size)]))
        power = dict(zip(system.rows_of_ledger, rates[system.size :], strict=False))["motion"]
        assert power / 0.7 == pytest.approx(float(expected["driving_torque"]), abs=1e-12)
    for tip in (At(5), At(6)):
        assert np.abs(run.points(tip)[..., 0] - 3.375).max() <= 1e-14


def test_peaucelliers_point_stays_on_its_line_over_a_long_run_under_gravity():
    """The crank free, 100 s, saved often: the tip is within 1e-10 m of the line, and between saved points too."""
    driven_one = linkages.referenced("peaucellier_driven")
    free = Mechanism([replace(driven_one.links[0], motion=None), *driven_one.links[1:]], driven_one.loads, driven_one.pins)
    start = np.array(linkages.reference("peaucellier_driven")["results"]["0"]["theta"], float)
    run = simulate(free, start, t_end=100.0, save=0.05, rtol=1e-9, atol=1e-9)
    assert np.ptp(run.theta[:, 0]) > 0.5
    assert np.abs(run.points(At(5))[..., 0] - 3.375).max() <= 1e-13
    assert run.violation().max() <= 1e-13
    assert np.abs(run.energy().residual).max() <= 1e-7 * run.energy().kinetic.max()


def test_jansens_leg_walks_as_published():
    """Its crank driven at a constant rate through all the places of the references, without a mass that matters."""
    linkage, data = linkages.jansen(), linkages.reference("jansen_leg")["results"]
    from nlink import Ramp

    crank = replace(linkage.model.links[0], motion=Ramp(float(linkage.near[0]), math.radians(30.0)))
    model = Mechanism([crank, *linkage.model.links[1:]], linkage.model.loads, linkage.model.pins)
    at = assemble(model, linkage.near, [math.radians(30.0)] + [0.0] * 6)
    run = simulate(model, at.theta, at.omega, t_end=12.0, save=[float(degrees) / 30.0 for degrees in data], rtol=1e-8, atol=1e-8)
    foot = run.points(linkages.foot()).reshape(-1, 2)
    expected = np.array([place["foot"] for place in data.values()], float)
    np.testing.assert_allclose(foot[: len(expected)], expected, atol=2e-13 * 100)


@pytest.mark.parametrize(("tolerance", "error"), [(1e-8, 1e-8), (1e-12, 3e-9)])
def test_andrews_mechanism_ends_where_it_is_published_to(tolerance, error):
    """The published values are right to about nine digits: an extrapolated run is 1.1e-9 from them."""
    linkage = linkages.andrews()
    run = simulate(linkage.model, linkage.near, t_end=0.03, rtol=tolerance, atol=tolerance)
    expected = linkages.andrews_angles(linkages.ANDREWS_END)
    assert np.abs(run.theta[-1] - expected).max() <= error
    energy = run.energy()
    assert np.abs(energy.residual).max() <= 1e-7 * np.abs(energy.kinetic).max()


# Dead positions, spare rows ------------------------------------------------------------------------------------------


def unequal(loops: int, seed: int) -> tuple[Mechanism, np.ndarray]:
    """Parallel four-bars in a row of unequal widths and masses, whose rockers are one length only to rounding."""
    rng = np.random.default_rng(seed)
    places = np.cumsum([0.0, *rng.uniform(0.4, 1.3, loops)])
    parts = rng.uniform(0.1, 0.5, 3)
    length = float(parts.sum())
    bars = [Link.rod(length, float(rng.uniform(0.5, 2)))]
    last = 0
    for i in range(loops):
        width, order = float(places[i + 1] - places[i]), parts[rng.permutation(3)]
        bars.append(Link.rod(width, float(rng.uniform(0.5, 2))).on(last))
        rocker = Link.rod(float(order[0] + order[1] + order[2]), float(rng.uniform(0.5, 2)))
        bars.append(rocker.on(GROUND, (float(places[i + 1]), 0.0)))
        last = 2 * i + 2
    pins = [Pin(At(2 * i + 1), At(2 * i + 2)) for i in range(loops)]
    return Mechanism(bars, pins=pins), np.array([math.pi] + [math.pi / 2, math.pi] * loops)


def pendulum(inertia: float, weight: float) -> Chain:
    """Return one link with inertia theta'' = -weight sin theta."""
    mass = weight / 9.81 / 0.1
    return Chain([Link(1.0, mass, 0.1, inertia - mass * 0.01)])


def as_one(model: Mechanism) -> tuple[float, float]:
    """Return inertia and weight of the pendulum that the equal rockers of parallel four-bars in a row make."""
    rockers, couplers, length = model.mass[::2].sum(), model.mass[1::2].sum(), model.length[0]
    return (rockers / 3 + couplers) * length**2, (rockers / 2 + couplers) * length * 9.81


@pytest.mark.parametrize("seed", range(4))
def test_unequal_parallel_loops_pass_their_dead_positions_on_the_smooth_branch(seed):
    """Three loops whose lengths add up to rounding only: all rockers turn as one pendulum, which is integrated on its own."""
    model, start = unequal(3, seed)
    rate = np.where(np.isclose(start, math.pi), -2.0, 0.0)
    run = simulate(model, start, rate, t_end=10.0, save=0.1, rtol=1e-11, atol=1e-11)
    rockers, couplers = [0, 2, 4, 6], [1, 3, 5]
    other = simulate(pendulum(*as_one(model)), math.pi, -2.0, t_end=10.0, save=0.1, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.theta[:, rockers], np.tile(other.theta, 4), atol=2e-7)
    np.testing.assert_allclose(run.theta[:, couplers], math.pi / 2, atol=1e-9)
    assert len([event for event in run.events if event.name == "dead position"]) >= 5


@pytest.mark.parametrize("aside", [0.05, 1e-3, 1e-5])
def test_the_work_beside_a_dead_position_grows_with_the_length_of_a_ladder_alone(aside):
    """Sixty loops, half of whose rows nearly vanish: each reflection reaches a few columns. The accelerations are those of one
    pendulum, as well as the distance to the dead position lets lengths that fit to rounding say so.
    """
    model, theta = unequal(60, 1)
    theta[::2], rate = math.pi / 2 + aside, np.zeros(model.n)
    rate[::2] = -2.0
    system = formulate(model)
    out, w = np.empty(system.full_size), system.scratch()
    rates(0.0, np.concatenate([theta, rate, np.zeros(system.full_size - 2 * model.n)]), system.equations, out, w)
    (moved, pull), found, error = as_one(model), out[model.n : 2 * model.n], 1e-12 + 1e-14 / aside
    assert np.abs(found[::2] + pull / moved * math.sin(theta[0])).max() <= error
    assert np.abs(found[1::2]).max() <= error
    assert w[INFO, KEPT] == model.rows
    assert (w[END, : model.rows] - np.arange(model.rows)).max() <= 12


@settings(max_examples=12)
@given(st.integers(0, 10_000))
def test_change_point_four_bars_keep_their_energy_and_branch_at_every_tolerance(seed):
    """Random four-bars that can fold, their lengths fitting to rounding only: two tolerances end in the same place."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(0.4, 1.5, 3)
    ground = [a + b - c, a + c - b, b + c - a][seed % 3]
    if abs(ground) < 0.2:
        ground = a + b + c - 2 * min(a, b, c)
    bars = [Link.rod(float(x), float(rng.uniform(0.3, 2))) for x in (a, b, c)]
    model = Mechanism([bars[0], bars[1], bars[2].on(GROUND, (float(ground), 0.0))], pins=Pin(At(1), At(2)))
    try:
        start = driven(model, {0: 1.3 + float(rng.uniform(-0.5, 0.5))})
    except ModelError:
        return
    at = assemble(model, start, [4.0, 0.0, 0.0])
    ends = [simulate(model, at.theta, at.omega, t_end=3.0, save=3.0, rtol=tol, atol=tol) for tol in (1e-9, 1e-12)]
    assert np.abs(ends[0].theta[-1] - ends[1].theta[-1]).max() <= 2e-5
    assert np.abs(ends[1].energy().residual).max() <= 1e-7


def test_a_motion_through_dead_positions_runs_back():
    """Three unequal parallel loops there and back: twelve dead positions, all rates reversed in between."""
    model, start = unequal(3, 7)
    rate = np.where(np.isclose(start, math.pi), -2.0, 0.0)
    there = simulate(model, start, rate, t_end=5.0, rtol=1e-12, atol=1e-12)
    back = simulate(model, there.theta[-1], -there.omega[-1], t_end=5.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(back.theta[-1], start, atol=1e-8)
    np.testing.assert_allclose(back.omega[-1], -rate, atol=1e-8)
    passed = [[event.t for event in run.events if event.name == "dead position"] for run in (there, back)]
    np.testing.assert_allclose(5.0 - np.array(passed[1])[::-1], passed[0], atol=1e-8)
    backwards = simulate(model, there.theta[-1], there.omega[-1], t_end=-5.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(backwards.theta[-1], start, atol=1e-8)
    assert len([event for event in backwards.events if event.name == "dead position"]) == len(passed[0])


def test_two_loops_that_vanish_at_different_times_have_their_events():
    """Two folding four-bars on one shaft, one turned by 1 rad against the other by a gear: each has its dead positions."""
    single = [Link.rod(1.0, 1.0), Link.rod(2.0, 1.0).on(0), Link.rod(1.0, 1.0).on(GROUND, (2.0, 0.0))]
    far = [Link.rod(1.0, 1.0).on(GROUND, (0.0, 9.0)), Link.rod(2.0, 1.0).on(3), Link.rod(1.0, 1.0).on(GROUND, (2.0, 9.0))]
    pins = [Pin(At(1), At(2)), Pin(At(4), At(5)), Gear(0, 3, 1.0, 1.0)]
    model = Mechanism([*single, *far], Gravity(0.0), pins)
    start, rate = np.array([3.0, math.pi / 2, 3.0, 2.0, math.pi / 2, 2.0]), np.array([2.0, 0.0, 2.0, 2.0, 0.0, 2.0])
    run = simulate(model, start, rate, t_end=6.0, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(run.theta[-1], start + 6.0 * rate, atol=1e-8)  # no load, and a constant mass matrix
    passed = [event.t for event in run.events if event.name == "dead position"]
    lines = [(math.pi / 2 + k * math.pi - first) / 2.0 for k in range(10) for first in (3.0, 2.0)]
    np.testing.assert_allclose(passed, sorted(t for t in lines if 0 < t < 6.0), atol=1e-9)


@pytest.mark.parametrize("spare", [1, 2])
def test_redundant_bars_change_nothing_and_are_told(spare):
    """Rockers under one rigid coupler: with and without the redundant ones, which are light, the motion is nearly the same; and it
    is that of one pendulum.
    """
    linkage = linkages.rockers((0.0, 0.3, 1.1, 1.7)[2 - spare :])
    model = linkage.model
    assert (model.spare, model.freedom) == (spare, 1)
    start = np.array([math.pi] * (2 + spare) + [math.pi / 2])
    rate = np.array([-1.0] * (2 + spare) + [0.0])
    run = simulate(model, start, rate, t_end=20.0, rtol=1e-11, atol=1e-11)
    bars = 2 + spare
    moved, pull = bars / 3 + model.mass[-1], (bars / 2 + model.mass[-1]) * 9.81
    other = simulate(pendulum(moved, pull), math.pi, -1.0, t_end=20.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.theta[:, :bars], np.tile(other.at(run.t).theta, bars), atol=3e-7)
    assert run.meta["spare"] == spare
    told = dict(run_lines(run))["reactions"]
    rows = {1: "1 row of the pins depends", 2: "2 rows of the pins depend"}[spare]
    assert told == f"{rows} on others: forces of pins are not unique, the smallest are given"


def test_forces_that_are_unique_are_right_in_spite_of_spare_rows():
    """Every body obeys Newton and Euler; what a redundant bar cannot change is as by dense least squares."""
    linkage = linkages.rockers((0.0, 0.6, 1.1, 1.7))
    at = assemble(linkage.model, linkage.near, [-2.0] * 4 + [0.0])
    run = simulate(linkage.model, at.theta, at.omega, t_end=2.0, save=0.25)
    forces, model = run.reactions(), linkage.model
    assert forces.shape == (9, 5 + 3, 2)
    for k in range(9):
        q, v = run.theta[k], run.omega[k]
        here = Loops(model, q, v)
        a = run.alpha[k]
        moved = slope(lambda s, here=here, q=q, v=v, a=a: here.moved(q + s * v + s * s * a / 2, v + s * a))[:, :2]
        np.testing.assert_allclose(left_over(model, q, v, forces[k], moved), 0.0, atol=1e-7)
        J, f = here.gradients(), here.mass_matrix() @ a + here.bias() - sum(here.generalised().values())
        least = np.linalg.pinv(J.T, rcond=1e-9) @ f
        np.testing.assert_allclose(forces[k, 5:], least.reshape(-1, 2), atol=1e-7)
        np.testing.assert_allclose(J.T @ forces[k, 5:].ravel(), f, atol=1e-8)  # moments balance too


# Long runs, orders, options ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aside", [0.0, 1e-6, -1e-4])
def test_forces_have_poles_at_dead_positions(aside):
    """Two loops, rods of 1 kg and 1 m: an outer rocker alone would turn faster than all do, by a torque g/36 that has no lever."""
    model = linkages.a02(2).model
    theta, rate = np.full(model.n, math.pi / 2), np.zeros(model.n)
    theta[::2], rate[::2] = math.pi / 2 + aside, -1.0
    along, across = formulate(model).reactions(theta, rate)[-2]
    assert across == pytest.approx(-9.81 / 12, abs=1e-4)
    assert along * aside == pytest.approx(-9.81 / 36 if aside else 0.0, abs=1e-4)
    assert abs(along) < 1e-9 or aside


def test_closures_stay_closed_over_a_long_run():
    """100 s of a slider-crank, a five-bar and Jansen's leg under gravity: gaps of rounding, energies to the tolerance."""
    for linkage in (linkages.slider_crank(), linkages.five_bar(), linkages.jansen()):
        model = replace(linkage.model, loads=(Gravity(9.81),))
        start = assemble(model, linkage.near).theta
        run = simulate(model, start, t_end=100.0, save=0.5, rtol=1e-9, atol=1e-9)
        size = max(1.0, float(model.length.max()))
        assert run.violation().max() <= 1e-13 * size
        scale = np.abs(run.energy().kinetic).max()
        assert np.abs(run.energy().residual).max() <= 1e-5 * scale


def test_the_order_of_convergence_is_that_of_the_method():
    linkage = linkages.slider_crank()
    at = assemble(linkage.model, linkage.near, [3.0, 0.0, 0.0])
    exact = simulate(linkage.model, at.theta, at.omega, t_end=1.0, save=1.0, rtol=1e-13, atol=1e-13).theta[-1]
    errors = [
        np.abs(simulate(linkage.model, at.theta, at.omega, t_end=1.0, save=1.0, integrator=RK4(h)).theta[-1] - exact).max()
        for h in (0.02, 0.01, 0.005)
    ]
    np.testing.assert_allclose(np.diff(np.log2(errors)), -4.0, atol=0.4)
