"""Closed loops: reach and assembly, agreement of the formulations, the exact four-bar, linkages of every kind through their dead
positions, what is not determined, and the catenary.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import TOLERANCE, random_chain, reference
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import fsolve

import nlink
from nlink import Chain, JointDamper, JointSpring, JointTorque, Link, LinkDamper, ModelError, TipForce, formulate, simulate
from nlink.mechanics.loads import Gravity
from nlink.mechanics.loop_closure import (
    Assembly,
    assemble,
    branches,
    driven,
    gap,
    jacobian,
    smallest_singular_value,
    tangent,
    zigzag,
)

CLOSING = ("recursive", "momentum", "maximal", "natural")
QUICK_TO_COMPILE = ("recursive", "momentum", *(pytest.param(name, marks=pytest.mark.slow) for name in ("maximal", "natural")))
"""`make test` leaves out the others: each takes ten seconds to compile."""
CHANGE_POINTS = {
    "parallelogram": ((1.0, 2.0, 1.0), 2.0, "open"),
    "antiparallelogram": ((1.0, 2.0, 1.0), 2.0, "crossed"),
    "kite": ((1.0, 1.0, 2.0), 2.0, "open"),
    "long kite": ((2.0, 1.0, 1.0), 2.0, "open"),
    "any change point": ((1.0, 2.5, 2.0), 1.5, "open"),
}
OTHERS = {
    "crank-rocker": ((1.0, 3.0, 2.5), 2.5, "open"),
    "double crank": ((2.5, 3.0, 2.2), 1.0, "open"),
    "double rocker": ((2.5, 1.0, 2.2), 3.0, "open"),
    "no crank": ((2.0, 2.2, 2.1), 3.5, "open"),
    "nearly a change point": ((1.0, 2.5, 2.0), 1.5 + 1e-5, "open"),
    "just beyond one": ((1.0, 2.5, 2.0), 1.5 - 1e-7, "open"),
}
LOADS = {
    "free": (Gravity(0.0),),
    "gravity": (Gravity(9.81),),
    "spring and dampers": (Gravity(9.81), JointSpring((3.0, 0.0, 0.0)), JointDamper(0.02)),
    "motor": (Gravity(9.81), JointDamper(0.3), JointTorque((12.0, 0.0, 0.0))),
}


def linkage(lengths, distance, loads=LOADS["gravity"]) -> Chain:
    return Chain([Link.rod(length, length) for length in lengths], loads, pin=(distance, 0.0))


def start(chain: Chain, branch: str, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """The first link at 2.6 or 1.9 rad, turning with this speed."""
    for angle in (2.6, 1.9):
        try:
            theta = driven(chain, angle, branch)
        except ModelError:
            continue
        J = jacobian(chain, theta)
        return theta, np.concatenate([[speed], np.linalg.solve(J[:, 1:], -J[:, 0] * speed)])
    raise AssertionError


# Reach and assembly --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Chain.uniform(3, pin=(3.1, 0)), r"Chain.pin is out of reach: it lies 3.1 m .* can lie 0 to 3 m from it"),
        (lambda: linkage((1, 3), 1.5), r"Chain.pin is out of reach: it lies 1.5 m .* can lie 2 to 4 m from it"),
        (lambda: Chain.uniform(1, pin=(1.0, 0)), "Chain.pin needs at least two links"),
        (lambda: Chain.uniform(3, pin=1.0), r"Chain.pin must be \(x, y\) in m, or None, got 1.0"),
        (lambda: Chain.uniform(3, pin=(1, 2, 3)), r"Chain.pin must be \(x, y\) in m"),
        (lambda: Chain.uniform(3, pin=(math.nan, 0)), r"Chain.pin\[0\] must be finite"),
        (lambda: driven(Chain.uniform(3), 0.0), "a driving angle needs a pin"),
        (lambda: driven(linkage((1, 1, 1), 2.9), math.pi), r"the driving angle 3.14159 rad cannot be reached: .* 3.06757 m from"),
        (lambda: driven(linkage((1, 1, 1), 1.0), 3.0, "bent"), "branch must be one of open, crossed"),
        (lambda: assemble(linkage((1, 1, 1), 1.0), [0.5, 0.5, 0.5]), r"the start leaves the last tip 2.66898 m from its pin"),
        (
            lambda: formulate(Chain.uniform(3, pin=(1, 0)), "lagrange"),
            r"lagrange does not support closed chains \(Chain.pin\); use recursive, momentum, maximal or",
        ),
        (lambda: formulate(Chain.uniform(3, pin=(1, 0)), "linear"), "linear does not support closed chains"),
        (
            lambda: simulate(Chain.uniform(3, pin=(1, 0)), [3.0, 1.6, -0.1], t_end=1.0, integrator="Gauss"),
            "Gauss does not support closed chains",
        ),
        (
            lambda: simulate(Chain.uniform(3, pin=(1, 0)), [3.0, 1.6, -0.1], t_end=1, formulation=nlink.Maximal(constraints="IDA")),
            "IDA does not support closed chains",
        ),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(ModelError, match=message):
        make()


@given(st.data())
def test_a_start_is_closed_by_the_smallest_change(data):
    lengths = data.draw(st.lists(st.floats(0.5, 2.0), min_size=3, max_size=6))
    chain = linkage(lengths, data.draw(st.floats(0.4, 0.8)) * sum(lengths))
    try:
        exact = zigzag(chain)
    except ModelError:
        assume(False)
    assume(smallest_singular_value(chain, exact) > 0.1)
    off = np.array(data.draw(st.lists(st.floats(-0.01, 0.01), min_size=chain.n, max_size=chain.n)))
    found = assemble(chain, exact + off, np.ones(chain.n))
    assert np.abs(gap(chain, found.theta)).max() <= 1e-14 * sum(lengths)
    J = jacobian(chain, found.theta)
    assert np.abs(J @ found.omega).max() <= 1e-13 * sum(lengths)
    change = found.theta - exact - off
    free = tangent(chain, found.theta)
    assert free.shape == (chain.n, chain.n - 2)
    assert np.abs(free.T @ change).max() <= 1e-12, "a part of the change does nothing for the closure"
    assert np.abs(free.T @ (found.omega - 1)).max() <= 1e-12
    assert found.moved == pytest.approx(np.abs(change).max(), abs=1e-15)


@pytest.mark.parametrize("turned", [1.0, 1e3, 1e5, 1e8])
def test_a_start_is_closed_after_many_turns(turned):
    chain = linkage((1, 3, 2.5), 2.5)
    near = assemble(chain, [3.0, 2.1, -0.1])
    far = assemble(chain, np.array([3.0, 2.1, -0.1]) + 2 * np.pi * turned)
    assert np.abs(far.theta - near.theta - 2 * np.pi * turned).max() < 10 * np.spacing(2 * np.pi * turned)


def test_steps_that_turn_a_linkage_without_measure_are_not_looked_through_without_end():
    chain = linkage((1, 1, 1), 1.0)
    run = simulate(
        chain, [3.0, np.pi / 2, 3.0 - np.pi], [1e10, 0, 1e10], t_end=2.0, integrator="RK4(step=1.0)", save=1.0, strict=False
    )
    assert np.isfinite(run.theta).all()


def test_both_changes_are_reported():
    chain = linkage((1, 3, 2.5), 2.5)
    run = simulate(chain, [3.0, 2.1, -0.1], [-2, 0, 0], t_end=0.1)
    exact = assemble(chain, [3.0, 2.1, -0.1], [-2, 0, 0])
    assert run.meta["start"] == {"moved": exact.moved, "sped": exact.sped}
    assert 1e-3 < exact.moved < 0.01
    np.testing.assert_allclose(run.theta[0], exact.theta, atol=1e-15)
    open_chain = assemble(Chain.uniform(2), [0.1, 0.2])
    assert isinstance(open_chain, Assembly)
    assert open_chain.moved == open_chain.sped == 0.0


@given(st.floats(-3.0, 3.0), st.sampled_from(["open", "crossed"]), st.lists(st.floats(0.5, 2.0), min_size=3, max_size=8))
def test_driven_starts_close_on_their_side(angle, branch, lengths):
    chain = linkage(lengths, 0.5 * sum(lengths))
    try:
        theta = driven(chain, angle, branch)
    except ModelError:
        assume(False)
    assert theta[0] == angle
    assert np.abs(gap(chain, theta)).max() <= 1e-7 * sum(lengths), "near the end of the reach the bend is a square root"
    points = np.vstack([[0, 0], np.cumsum(chain.length[:, None] * np.stack([np.sin(theta), -np.cos(theta)], 1), axis=0)])
    line, pivot = points[-1] - points[1], -points[1]
    sides = [line[0] * p[1] - line[1] * p[0] for p in (pivot, *(points[2:-1] - points[1]))]
    assume(abs(sides[0]) > 1e-6)
    wanted = -np.sign(sides[0]) if branch == "open" else np.sign(sides[0])
    assert all(wanted * side >= -1e-6 for side in sides[1:])


def test_the_tangent_space_of_a_dead_position_has_one_direction_more():
    chain = Chain.uniform(3, pin=(1.0, 0.0))
    assert tangent(chain, np.array([math.pi, math.pi / 2, 0.0])).shape == (3, 1)
    assert tangent(chain, np.array([math.pi / 2, math.pi / 2, -math.pi / 2])).shape == (3, 2)
    assert tangent(Chain.uniform(3), np.zeros(3)).shape == (3, 3)


# Mechanics -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLOSING)
@pytest.mark.parametrize(
    ("n", "place"), [(2, "aside"), *((n, place) for n in (3, 4, 12, 40) for place in ("aside", "at the pivot"))]
)
def test_accelerations_and_pin_forces_are_those_of_virtual_work(name, n, place):
    """With every load: the open chain under the force of the pin moves as the closed one, and the tip stays."""
    opened, _, _ = random_chain(n)
    total = float(opened.length.sum())
    closed = Chain(opened.links, opened.loads, pin=(0.5 * total, 0.1 * total) if place == "aside" else (0.0, 0.0))
    theta = driven(closed, 0.7 if n > 2 else _reached(closed), "open")
    rng = np.random.default_rng(n)
    start = assemble(closed, theta, rng.normal(size=n))
    system, t = formulate(closed, name), 0.4
    alpha, reactions = system.accelerations(start.theta, start.omega, t), system.reactions(start.theta, start.omega, t)
    e = np.stack([np.sin(start.theta), -np.cos(start.theta)], 1)
    stays = jacobian(closed, start.theta) @ alpha - (closed.length * start.omega**2) @ e
    scale = max(np.abs(alpha).max(), 1.0)
    assert np.abs(stays).max() <= TOLERANCE["agreement"] * scale * total
    tip = opened.load(TipForce)
    force = TipForce(tip.fx + reactions[-1, 0], tip.fy + reactions[-1, 1])
    pushed = formulate(opened.with_loads(force))
    assert np.abs(pushed.accelerations(start.theta, start.omega, t) - alpha).max() <= TOLERANCE["agreement"] * scale
    assert reactions.shape == (n + 1, 2)
    exact = pushed.reactions(start.theta, start.omega, t)
    np.testing.assert_allclose(reactions[:-1], exact, atol=1e-8 * np.abs(exact).max())


def _reached(chain: Chain) -> float:
    """The angle of the first of two links that reaches the pin."""
    x, y = chain.pin
    a, b = chain.length
    distance = math.hypot(x, y)
    return math.atan2(x, -y) + math.acos((a * a + distance**2 - b * b) / (2 * a * distance))


@pytest.mark.parametrize(("name", "most"), [("recursive", 1e-7), ("momentum", 1e-7), ("maximal", 1e-5), ("natural", 1e-5)])
def test_the_iftomm_four_bar(name, most):
    """The issue's figures for benchmark A02 at 1e-11, and the times at which its links lie in line."""
    exact = reference("four_bar")
    chain = Chain.uniform(3, pin=(1.0, 0.0))
    times = tuple(row["t"] for row in exact["values"])
    run = simulate(
        chain, [math.pi, math.pi / 2, 0], [-1, 0, -1], t_end=20, save=(*times, 20.0), rtol=1e-11, atol=1e-11, formulation=name
    )
    for k, row in enumerate(exact["values"]):
        assert np.abs(run.positions()[k, 1] - (row["x"], row["y"])).max() <= most
        assert np.abs(run.velocities()[k, 1] - (row["vx"], row["vy"])).max() <= 10 * most
    energy = run.energy()
    assert np.abs(energy.residual).max() <= 1e-7
    assert energy.kinetic[0] + energy.potential[0] == pytest.approx(exact["energy"], abs=1e-6)
    dead = [event for event in run.events if event.name == "dead position"]
    assert len(dead) == 21
    assert [event.t for event in dead[:8]] == pytest.approx(exact["dead"], abs=1e-7)
    assert max(event.info["sigma"] for event in dead) < 1e-7
    assert run.violation().max() <= 1e-12


@pytest.mark.parametrize("name", CLOSING)
def test_the_crank_rocker(name):
    exact = reference("crank_rocker")
    times = tuple(row["t"] for row in exact["values"])
    chain = linkage((1, 3, 2.5), 2.5)
    run = simulate(chain, exact["theta"], exact["omega"], t_end=times[-1], save=times, rtol=1e-12, atol=1e-12, formulation=name)
    for k, row in enumerate(exact["values"]):
        assert np.abs(run.theta[k] - row["theta"]).max() <= 1e-9
        assert np.abs(run.omega[k] - row["omega"]).max() <= 1e-8


@pytest.mark.parametrize("name", ["recursive", "momentum"])
def test_the_closure_does_not_drift(name):
    """The issue's figures: position and velocity to 1e-12 over 20 s at 1e-10."""
    scenario = nlink.preset("four-bar")
    run = simulate(scenario.chain, scenario.theta, scenario.omega, t_end=20, rtol=1e-10, atol=1e-10, formulation=name)
    assert run.violation().max() <= 1e-12
    assert np.abs(run.velocities()[:, -1]).max() <= 1e-12


@pytest.mark.parametrize("kind", [*CHANGE_POINTS, *OTHERS])
@pytest.mark.parametrize("loads", LOADS)
def test_linkages_of_every_kind_run_for_a_minute(kind, loads):
    """No abort, the balance closes, and runs at two tolerances and in two forms are one motion: the same branch every time."""
    lengths, distance, branch = (CHANGE_POINTS | OTHERS)[kind]
    chain = linkage(lengths, distance, LOADS[loads])
    theta, omega = start(chain, branch, 3.0 if loads == "free" else 0.5)
    runs = [
        simulate(chain, theta, omega, t_end=60, rtol=tolerance, atol=tolerance, formulation=name, save=0.5)
        for name, tolerance in (("recursive", 1e-9), ("recursive", 1e-11), ("momentum", 1e-10))
    ]
    loose, tight, other = runs
    scale = max(np.ptp(tight.kinetic), tight.kinetic[0])
    assert np.abs(loose.energy().residual).max() <= 2e-7 * scale
    assert np.abs(tight.energy().residual).max() <= 1e-8 * scale
    assert np.abs(loose.theta - tight.theta).max() <= 5e-5
    assert np.abs(other.theta - tight.theta).max() <= 5e-6
    counts = {len([event for event in run.events if event.name == "dead position"]) for run in runs}
    assert len(counts) == 1
    if kind in CHANGE_POINTS and loads in ("free", "gravity"):
        assert counts.pop() >= 20


@pytest.mark.parametrize(
    ("kind", "loads", "speed"), [("long kite", "free", 7.9), ("long kite", "gravity", 4.7), ("parallelogram", "motor", 0.5)]
)
def test_tight_tolerances_pass_dead_positions(kind, loads, speed):
    """A step that ends close to a dead position after many turns: rounded angles alone give rates no better than 1e-10 there."""
    lengths, distance, branch = CHANGE_POINTS[kind]
    chain = linkage(lengths, distance, LOADS[loads])
    theta, omega = start(chain, branch, speed)
    tight, loose = (simulate(chain, theta, omega, t_end=60, rtol=tol, atol=tol, save=0.5) for tol in (1e-13, 1e-11))
    assert tight.stats.rejected <= tight.stats.steps
    assert np.abs(tight.theta - loose.theta).max() <= 5e-6
    assert tight.violation().max() <= 1e-12


def test_steps_of_many_turns_hide_no_dead_position():
    """A free parallelogram turns evenly: 3 rad/s for 60 s pass 57 dead positions, in steps of several seconds."""
    chain = linkage((1.0, 2.0, 1.0), 2.0, Gravity(0.0))
    theta, omega = start(chain, "open", 3.0)
    run = simulate(chain, theta, omega, t_end=60.0)
    assert run.stats.steps < 20
    times = np.array([event.t for event in run.events])
    np.testing.assert_allclose(np.diff(times), math.pi / 3, atol=1e-6)
    assert len(times) == 57


@pytest.mark.parametrize(
    ("lengths", "distance"), [((1, 2, 2, 1), 1.5), ((1, 1, 1, 1), 2.0), ((1, 1.5, 1.2, 0.8), 0.9), ((1, 1, 1, 1), 0.0)]
)
@pytest.mark.parametrize("loads", ["gravity", "motor"])
def test_five_bars_run_for_a_minute(lengths, distance, loads):
    more = {"gravity": (Gravity(9.81),), "motor": (Gravity(9.81), JointDamper(0.05), JointTorque((3.0, 0, 0, 0)))}[loads]
    chain = linkage(lengths, distance, more)
    run = simulate(chain, driven(chain, 2.0), t_end=60.0)
    assert np.abs(run.energy().residual).max() <= 2e-6 * np.ptp(run.kinetic)
    assert run.violation().max() <= 1e-12


@pytest.mark.parametrize("method", ["RK45", "RK4(step=0.002)", "Scipy(method='Radau', rtol=1e-7, atol=1e-7)"])
def test_other_methods_go_through_too(method):
    scenario = nlink.preset("four-bar")
    exact = simulate(scenario.chain, scenario.theta, scenario.omega, t_end=3, rtol=1e-11, atol=1e-11)
    run = simulate(scenario.chain, scenario.theta, scenario.omega, t_end=3, integrator=method)
    assert np.abs(run.theta - exact.theta).max() <= 1e-4
    assert run.violation().max() <= 1e-12


def test_forth_and_back_through_dead_positions():
    scenario = nlink.preset("four-bar")
    there = simulate(scenario.chain, scenario.theta, scenario.omega, t_end=5, rtol=1e-11, atol=1e-11)
    back = simulate(scenario.chain, there.theta[-1], there.omega[-1], t_end=-5, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(back.theta[-1], there.theta[0], atol=1e-7)


def test_saved_loaded_and_resumed(tmp_path):
    scenario = nlink.preset("four-bar")
    whole = simulate(scenario.chain, scenario.theta, scenario.omega, t_end=2)
    part = simulate(scenario.chain, scenario.theta, scenario.omega, t_end=1)
    part.save(tmp_path / "run.nc")
    again = nlink.load(tmp_path / "run.nc")
    assert again.chain.pin == (1.0, 0.0)
    np.testing.assert_array_equal(again.reactions(), part.reactions())
    on = again.resume(2.0)
    np.testing.assert_array_equal(on.theta, whole.theta)
    np.testing.assert_array_equal(on.pin_force, whole.pin_force)
    assert [event.t for event in on.events] == [event.t for event in whole.events]


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSING)
def test_a_raw_state_is_closed(name):
    chain = linkage((1, 3, 2.5), 2.5)
    system = formulate(chain, name)
    state = system.encode(driven(chain, 3.0), 0.0)
    state[0] += 1e-3
    run = simulate(system, state=state, t_end=0.5)
    assert run.meta["start"]["violation"] > 1e-4
    assert run.violation().max() <= 1e-12
    assert np.abs(run.energy().residual).max() <= 1e-7


# What is not determined ----------------------------------------------------------------------------------------------


def test_rest_at_a_bifurcation_is_said():
    chain, half = Chain.uniform(3, pin=(1.0, 0.0)), math.pi / 2
    sentence = r"all links lie in line, and without speed nothing says .*\(0, 1, 1\) or \(1, 0, 1\)"
    with pytest.raises(nlink.SimulationError, match=sentence) as stop:
        simulate(chain, [half, half, -half], t_end=1.0)
    assert stop.value.status.code == "undetermined"
    assert len(stop.value.run.t) == 1
    with pytest.raises(nlink.SimulationError, match="no smooth motion has these rates"):
        simulate(chain, [half, half, -half], [1, 1, 2], t_end=1.0)


@pytest.mark.parametrize("rates", [(1.0, 0.0, 1.0), (0.0, 1.0, 1.0)])
@pytest.mark.parametrize("name", QUICK_TO_COMPILE)
def test_a_start_on_a_dead_position_leaves_on_its_branch(name, rates):
    chain, half = Chain.uniform(3, pin=(1.0, 0.0)), math.pi / 2
    assert any(np.allclose(rates, way) for way in branches(chain, np.array([1.0, 1.0, -1.0])))
    run = simulate(chain, [half, half, -half], rates, t_end=0.5, rtol=1e-11, atol=1e-11, formulation=name)
    back = simulate(chain, run.theta[-1], run.omega[-1], t_end=-0.5, rtol=1e-11, atol=1e-11, formulation=name)
    np.testing.assert_allclose(back.theta[-1], [half, half, -half], atol=1e-7)
    np.testing.assert_allclose(back.omega[-1], rates, atol=1e-6)
    assert np.abs(run.energy().residual).max() <= 1e-8


def test_a_chain_pulled_straight_cannot_move():
    with pytest.raises(nlink.SimulationError, match="the pin is a full length away, so that the chain is straight and cannot move"):
        simulate(Chain.uniform(3, pin=(3.0, 0.0)), [math.pi / 2] * 3, t_end=1.0)
    nearly = Chain.uniform(3, pin=(2.999, 0.0))
    assert simulate(nearly, zigzag(nearly), t_end=5.0).status.ok


def test_two_links_away_from_the_pivot_cannot_move():
    chain = Chain.uniform(2, pin=(1.0, 0.0))
    with pytest.raises(ModelError, match=r"^the chain is over-constrained: its pin holds both links, .*; give it more links"):
        simulate(chain, [2.618, 0.5236], t_end=5.0)


@pytest.mark.parametrize("name", QUICK_TO_COMPILE)
@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_two_links_on_each_other_swing_as_one(name, speed):
    """Closed at the pivot by equal lengths: one constraint says nothing, in any position."""
    chain = Chain.uniform(2, pin=(0.0, 0.0))
    run = simulate(chain, [0.5, 0.5 - math.pi], speed, t_end=3.0, formulation=name)
    one = simulate(Chain.uniform(1, mass=2.0), [0.5], speed, t_end=3.0)
    np.testing.assert_allclose(run.theta[:, 0], one.theta[:, 0], atol=1e-7)
    np.testing.assert_allclose(run.theta[:, 1], one.theta[:, 0] - math.pi, atol=1e-7)


# Chains --------------------------------------------------------------------------------------------------------------


def catenary(n: int, length: float, mass: float, span: float) -> np.ndarray:
    """The angles of n equal rods at rest between two points: each lies along the tension in its middle."""
    middle = (np.arange(n) + 0.5) * mass * 9.81

    def angles(force):
        return np.arctan2(force[0], force[1] - middle)

    def miss(force):
        theta = angles(force)
        return [length * np.sin(theta).sum() - span, np.cos(theta).sum()]

    force = fsolve(miss, [0.3 * n * mass * 9.81, 0.5 * n * mass * 9.81], xtol=1e-13)
    assert np.abs(miss(force)).max() < 1e-13
    return angles(force)


@pytest.mark.slow
def test_a_hundred_links_come_to_rest_on_the_catenary():
    chain = Chain.uniform(100, length=0.03, mass=0.03, pin=(1.5, 0.0)).with_loads(LinkDamper(5e-3))
    run = simulate(chain, zigzag(chain), t_end=40.0, save=(40.0,))
    off = run.theta[-1] - catenary(100, 0.03, 0.03, 1.5)
    assert np.abs(off - 2 * math.pi * np.round(off / (2 * math.pi))).max() <= 1e-8
    assert np.abs(run.omega[-1]).max() <= 1e-8
    assert run.violation().max() <= 1e-12


# Model files ---------------------------------------------------------------------------------------------------------


def model(**tables):
    return nlink.Scenario.from_dict({"links": 3, "pin": {"x": 1.0}} | tables)


def test_pins_in_model_files(tmp_path):
    scenario = model(start={"drive": 180, "branch": "open", "unit": "deg"})
    assert scenario.chain.pin == (1.0, 0.0)
    np.testing.assert_allclose(scenario.theta, [math.pi, math.pi / 2, 0], atol=1e-12)
    scenario.save(tmp_path / "model.toml")
    assert nlink.Scenario.load(tmp_path / "model.toml") == scenario
    assert model(pin=[1.0, 0.0], start="zigzag").theta == pytest.approx(zigzag(scenario.chain))
    assert model().theta == pytest.approx(zigzag(scenario.chain)), "a pinned chain hangs by its two ends"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"pin": {"z": 1.0}}, r"\[pin\] has no key 'z'"),
        ({"pin": {"x": 9.0}}, "Chain.pin is out of reach"),
        ({"pin": "left"}, r"Chain.pin must be \(x, y\)"),
        ({"start": {"branch": "open"}}, "start.branch needs start.drive"),
        ({"start": {"drive": 3.0, "shape": "line"}}, "start has both drive and shape; give one"),
        ({"start": {"drive": 3.0, "branch": "up"}}, "branch must be one of open, crossed"),
        ({"start": {"theta": 0.0, "drive": 3.0}}, "start has both theta and drive; give one"),
    ],
)
def test_wrong_pins_in_model_files(tables, message):
    with pytest.raises(ModelError, match=message):
        model(**tables)


def test_closed_chains_can_be_compared():
    scenario = nlink.preset("four-bar")
    settings = nlink.Settings(t_end=3.0, rtol=1e-10, atol=1e-10)
    found = nlink.compare(nlink.Scenario(scenario.chain, scenario.theta, scenario.omega, settings))
    done = {row.formulation: row for row in found.rows}
    assert all(np.nanmax(done[name].difference) < 1e-6 for name in CLOSING)
    assert "does not support closed chains" in done["lagrange"].status.message
