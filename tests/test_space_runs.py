"""Runs of chains in space: the references by the method that nlink chooses, what a run is read out in, events, and going on."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nlink
from nlink import (
    At,
    Body,
    Chain,
    Drag,
    Event,
    Flip,
    Gravity,
    Hinge,
    JointDamper,
    JointSpring,
    JointTorsion,
    Link,
    LinkDamper,
    ModelError,
    SpatialChain,
    TipForce,
    Universal,
    simulate,
)
from nlink.mechanics import kinematics
from nlink.mechanics.space.kinematics import conjugate, turned
from nlink.mechanics.space.rows import omega_rows, pose_rows
from nlink.mechanics.space.turning import steady_turning
from nlink.run.readout import unwrapped
from nlink.simulation.integrate import SimulationInterrupted

DATA = Path(__file__).parent / "data" / "space"
CASES = json.loads((DATA / "references.json").read_text(encoding="utf-8"))["cases"]
FORMS = json.loads((DATA / "closed_forms.json").read_text(encoding="utf-8"))
LOADS = {"joint_damper": JointDamper, "joint_spring": JointSpring, "joint_torsion": JointTorsion, "link_damper": LinkDamper}
POSE, OMEGA = [(1.0, 0.3), (2.5, 1.0)], [(0.0, 1.0, 0.0), (0.2, 2.0, 0.1)]


def chain_of(model: dict) -> SpatialChain:
    """Return the chain of a reference."""
    loads = [Gravity(model["gravity"]), *(LOADS[name](tuple(values)) for name, values in model.get("loads", {}).items())]
    if model["kind"] == "line":
        return SpatialChain([Link(**link) for link in model["links"]], loads)
    return SpatialChain([body_of(link) for link in model["links"]], loads)


def body_of(link: dict) -> Body:
    kinds = {"revolute": Hinge, "universal": Universal}
    joint = {"joint": kinds[link["joint"]](*link["axes"])} if "joint" in link else {}
    return Body(link["length"], link["mass"], link["com"], link["inertia"], **joint)


def start_of(start: dict) -> tuple[list, list]:
    """Return pose and rates of a reference; its rotations are rotation vectors."""
    if "inclination" in start:
        return list(zip(start["inclination"], start["azimuth"], strict=True)), start["omega"]
    angles, rates = start.get("angles") or [None] * 9, start.get("rates") or [None] * 9
    pose = [turn(vector) if vector else flat(angle) for vector, angle in zip(start["rotation"], angles, strict=False)]
    return pose, [omega or flat(rate) for omega, rate in zip(start["omega"], rates, strict=False)]


def flat(values: list) -> object:
    return values[0] if len(values) == 1 else tuple(values)


def turn(vector: list) -> tuple:
    """Return the quaternion of a rotation vector."""
    angle = np.linalg.norm(vector)
    return (float(np.cos(angle / 2)), *(np.sin(angle / 2) / angle * np.array(vector)).tolist())


@pytest.mark.parametrize("name", CASES)
def test_references_by_the_usual_method(name):
    """Within ten times what rounding the start costs (the floor), and what some hundred steps add by rounding: 1e-13."""
    case = CASES[name]
    times = sorted(map(float, case["results"]))
    run = simulate(chain_of(case["model"]), *start_of(case["start"]), t_end=times[-1], save=tuple(times), rtol=1e-15, atol=1e-15)
    for k, (_, wanted) in enumerate(sorted(case["results"].items(), key=lambda item: float(item[0]))):
        allowed = 1e-13 + 10 * wanted["floor"]
        assert np.abs(run.direction[k] - wanted["direction"]).max() <= allowed
        assert np.abs(run.omega[k] - wanted["omega"]).max() <= 30 * allowed
        assert run.kinetic[k] + run.potential[k] == pytest.approx(wanted["energy"], abs=10 * allowed)


@pytest.mark.parametrize("integrator", ["DOP853(rtol=1e-12, atol=1e-12)", "RK45(rtol=1e-11, atol=1e-11)", "RK4(step=0.0005)", None])
def test_the_spherical_pendulum_turns_as_elliptic_functions_say(integrator):
    case, form = CASES["spherical_point_1"], FORMS["spherical_point_1"]
    run = simulate(chain_of(case["model"]), *start_of(case["start"]), t_end=10.0, save=1.0, integrator=integrator)
    for t, values in form["values"].items():
        k = int(t)
        assert run.direction[k, 0, 1] == pytest.approx(float(values["height"]), abs=2e-8)
    fine = simulate(chain_of(case["model"]), *start_of(case["start"]), t_end=10.0, save=0.01, integrator=integrator)
    turned = fine.azimuth[0, 0] - fine.azimuth[:, 0]  # azimuths go from x to z, against a turn about +y
    for t, values in form["values"].items():
        assert turned[100 * int(t)] == pytest.approx(float(values["turned"]), abs=2e-7)


def test_a_conical_pendulum_is_back_after_a_turn():
    rate = float(FORMS["conical_pendulum"]["rate"])
    run = simulate(
        SpatialChain.uniform(1), [(1.0, 0.0)], [(0.0, rate, 0.0)], t_end=2 * np.pi / rate, save=2 * np.pi / rate, rtol=1e-13
    )
    assert np.abs(run.direction[-1] - run.direction[0]).max() < 1e-12
    np.testing.assert_allclose(run.inclination, 1.0, atol=1e-12)


@given(st.integers(1, 4), st.integers(0, 1000))
def test_a_start_in_the_plane_is_the_run_in_the_plane(n, seed):
    rng = np.random.default_rng(seed)
    theta, omega = rng.uniform(-1.5, 1.5, n), rng.uniform(-1, 1, n)
    flat = simulate(Chain.uniform(n), theta, omega, t_end=1.0, save=0.1, rtol=1e-12, atol=1e-12)
    run = simulate(SpatialChain.uniform(n), theta, omega, t_end=1.0, save=0.1, rtol=1e-12, atol=1e-12)
    assert np.all(run.position[:, 2::3] == 0.0)
    assert np.all(run.velocity[:, 2::3] == 0.0)
    np.testing.assert_allclose(run.direction[..., 0], np.sin(flat.theta), atol=1e-10)
    np.testing.assert_allclose(run.omega[..., 2], flat.omega, atol=1e-9)
    np.testing.assert_allclose(run.reactions()[..., :2], flat.reactions(), atol=1e-7)
    np.testing.assert_allclose(run.positions()[..., :2], flat.positions(), atol=1e-10)


def test_a_run_is_read_out_in_directions_rates_and_forces():
    chain = SpatialChain.uniform(2, loads=[JointDamper(0.1)])
    run = simulate(chain, POSE, OMEGA, t_end=1.0, save=0.001)
    shape = (1001, 2)
    assert run.direction.shape == run.omega.shape == run.alpha.shape == run.velocities()[:, 1:].shape == (*shape, 3)
    assert run.inclination.shape == run.azimuth.shape == run.tensions().shape == shape
    assert run.rotation.shape == (*shape, 4)
    assert np.isnan(run.rotation).all()
    np.testing.assert_allclose(np.linalg.norm(run.direction, axis=-1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(run.inclination[0], [1.0, 2.5])
    np.testing.assert_allclose(run.azimuth[0], [0.3, 1.0])
    np.testing.assert_allclose(np.cross(run.omega, run.direction)[2:-2], slopes(run.direction), atol=1e-6)
    np.testing.assert_allclose(run.alpha[2:-2], slopes(run.omega), atol=1e-5)
    np.testing.assert_allclose(run.points(At(1), At(0, 0.25), (1.0, 2.0, 3.0))[:, 0], run.positions()[:, 2])
    np.testing.assert_allclose(run.points(At(0, 0.25))[:, 0], 0.25 * run.direction[:, 0])
    np.testing.assert_allclose(run.segments()[:, 1, 0], run.positions()[:, 1])
    assert abs(run.energy().residual).max() < 1e-6


def slopes(values):
    """Return the derivative of values every ms, by differences of order 4."""
    return (8 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])) / 0.012


def test_newton_holds_for_the_whole_chain():
    """The forces at the pivot, on the links and at the tip give the change of momentum; so do their moments about the pivot."""
    run = simulate(
        SpatialChain.uniform(3, loads=[Drag(0.3), TipForce(1.0, 2.0, fz=-1.0)]), 1.0, [(0, 2, 0)] * 3, t_end=1.0, save=0.001
    )
    drag = -0.3 * kinematics.centre_velocities(run.chain, run.position, run.velocity)
    force = run.reactions()[:, 0] + drag.sum(1) + np.array([1.0, 2.0 - 3 * 9.81, -1.0])
    np.testing.assert_allclose(slopes(run.momentum()), force[2:-2], atol=1e-6)
    levers = np.cross(run.centres(), drag - np.array([0, 9.81, 0])).sum(1) + np.cross(run.positions()[:, -1], [1.0, 2.0, -1.0])
    np.testing.assert_allclose(slopes(run.angular_momentum()), levers[2:-2], atol=1e-6)
    np.testing.assert_allclose(run.about_vertical(), run.angular_momentum()[:, 1])


@pytest.mark.parametrize("loads", [(), (JointSpring(2.0),)])
def test_the_momentum_about_the_vertical_stays(loads):
    run = simulate(
        SpatialChain.uniform(3, loads=loads), [(1.0, 0.1), (2.0, 2.0), (0.5, 4.0)], 0.5, t_end=3.0, rtol=1e-12, atol=1e-12
    )
    kept = run.about_vertical()
    assert np.ptp(kept) < (1e-9 if not loads else 10.0)
    if loads:  # the first spring is bent against straight down, about a horizontal axis
        assert np.ptp(kept) < 1e-9


def test_a_motion_goes_back_in_time():
    there = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=2.0, rtol=1e-12, atol=1e-12)
    c, v = there.position[-1], there.velocity[-1]
    back = simulate(there.chain, state=np.concatenate([c, -v]), t_end=2.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(back.position[-1], there.position[0], atol=1e-8)
    backwards = simulate(there.chain, state=np.concatenate([c, v]), t_end=-2.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(backwards.direction[-1], there.direction[0], atol=1e-8)


def test_interpolation_keeps_lengths_and_follows_the_motion():
    run = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=2.0, save=0.1, integrator="DOP853(rtol=1e-11, atol=1e-11)")
    fine = simulate(run.chain, POSE, OMEGA, t_end=2.0, save=0.013, integrator="DOP853(rtol=1e-11, atol=1e-11)")
    at = run.at(fine.t)
    np.testing.assert_allclose(np.linalg.norm(at.direction, axis=-1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(at.direction, fine.direction, atol=1e-6)
    np.testing.assert_allclose(at.omega, fine.omega, atol=1e-4)
    np.testing.assert_allclose(at.alpha, fine.alpha, atol=1e-2)
    e, rate = (values.reshape(-1, 2, 3) for values in (at.position, at.velocity))
    assert np.abs((e * rate).sum(-1)).max() < 1e-13
    assert at.inclination.shape == at.azimuth.shape == (len(fine.t), 2)


def test_an_event_sees_directions_and_angular_velocities():
    seen = []

    def west(t, direction, omega):
        seen.append((direction.shape, omega.shape))
        return direction[0, 0]

    run = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=3.0, events=Event(west, direction=-1))
    assert {((2, 3), (2, 3))} <= set(seen)
    assert run.events
    for event in run.events:
        assert abs(event.direction[0, 0]) < 1e-9
        assert event.omega.shape == (2, 3)
        assert event.info == {"direction": -1}
        np.testing.assert_allclose(event.position, run.at([event.t]).position[0], atol=1e-7)
        with pytest.raises(ModelError, match="directions, not angles"):
            event.theta  # noqa: B018
    stop = simulate(run.chain, POSE, OMEGA, t_end=3.0, events=Event(west, terminal=True, direction=-1))
    assert stop.status.code == "event"
    assert stop.t[-1] == stop.events[-1].t == pytest.approx(run.events[0].t, rel=1e-12)


@pytest.mark.parametrize("integrator", ["DOP853", "RK45", "RK4(step=0.002)", "Scipy(method='LSODA')", None])
def test_a_run_goes_on_bit_for_bit(integrator):
    chain = SpatialChain.uniform(2, loads=[JointDamper(0.05)])
    whole = simulate(chain, POSE, OMEGA, t_end=2.0, integrator=integrator)
    part = simulate(chain, POSE, OMEGA, t_end=1.0, integrator=integrator).resume(2.0)
    if integrator and integrator.startswith("Scipy"):
        np.testing.assert_allclose(part.position, whole.position, atol=1e-6)
    else:
        np.testing.assert_array_equal(part.position, whole.position)
        np.testing.assert_array_equal(part.velocity, whole.velocity)
        np.testing.assert_array_equal(part.work["joint_damper"], whole.work["joint_damper"])


def test_an_interrupted_run_goes_on_bit_for_bit():
    pressed = []

    def press(t, direction, omega):
        if t > 0.7 and not pressed:
            pressed.append(t)
            signal.raise_signal(signal.SIGINT)
        return 1.0

    chain = SpatialChain.uniform(2)
    with pytest.raises(SimulationInterrupted) as caught:
        simulate(chain, POSE, OMEGA, t_end=4.0, events=Event(press))
    assert caught.value.run.t[-1] < 4.0
    whole = simulate(chain, POSE, OMEGA, t_end=4.0)
    np.testing.assert_array_equal(caught.value.run.resume(4.0).position, whole.position)


def test_save_times_never_change_the_steps():
    coarse = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=2.0, save=0.5)
    fine = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=2.0, save=0.01)
    np.testing.assert_array_equal(coarse.position, fine.position[::50])


def test_projection_changes_nothing_beyond_the_tolerance():
    """LSODA is not projected; what it saves is."""
    by_steps = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=2.0, rtol=1e-12, atol=1e-12)
    plain = simulate(SpatialChain.uniform(2), POSE, OMEGA, t_end=2.0, integrator="Scipy(method='DOP853', rtol=1e-12, atol=1e-12)")
    np.testing.assert_allclose(plain.direction, by_steps.direction, atol=1e-8)
    assert plain.drift.max() < 1e-12


@given(st.integers(0, 10_000))
def test_a_start_is_kept_as_rows_that_stay_as_they_are(seed):
    rng = np.random.default_rng(seed)
    chain = SpatialChain([Link.rod(1.0, 1.0), Body.cylinder(1.0, 1.0, 0.2), Body.rod(1.0, 1.0, Hinge((1, 0, 0)))])
    pose = [tuple(rng.normal(size=3)), tuple(rng.normal(size=4)), float(rng.normal())]
    rows = pose_rows(chain, pose)
    assert pose_rows(chain, rows) == rows
    rates = omega_rows(chain, [1.0, tuple(rng.normal(size=3)), 2.0])
    assert omega_rows(chain, rates) == rates
    assert rates[0] == (0.0, 0.0, 1.0)


def test_a_run_of_a_scenario_is_the_run_of_its_numbers():
    run = simulate(SpatialChain.uniform(3), [(1.0, 0.3), (2.0, 1.0), (0.4, 5.0)], [(1.0, 2.0, 3.0)] * 3, t_end=1.0)
    again = run.scenario.run()
    np.testing.assert_array_equal(again.position, run.position)
    assert again.scenario == run.scenario


def test_azimuths_are_unwrapped_between_gaps():
    angle = np.array([[3.0], [-3.0], [-2.0], [np.nan], [-3.0], [3.0], [np.nan]])
    full = 2 * np.pi
    np.testing.assert_allclose(unwrapped(angle), [[3.0], [full - 3.0], [full - 2.0], [np.nan], [-3.0], [3.0 - full], [np.nan]])


def test_steady_turning_stays_in_its_plane():
    form = FORMS["steady_two_rods"]
    chain = SpatialChain.uniform(2)
    for rate, mode, wanted in ((4.0, 1, form["rate_4"]), (8.0, 2, form["rate_8"])):
        theta = steady_turning(chain, rate, mode)
        np.testing.assert_allclose(theta, np.array(wanted, float), atol=1e-13)
        run = simulate(chain, theta, [(0.0, rate, 0.0)] * 2, t_end=0.5, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(run.inclination - np.abs(theta), 0.0, atol=1e-8)
        turned = run.azimuth - run.azimuth[0]
        np.testing.assert_allclose(turned, -rate * run.t[:, None] * np.ones(2), atol=1e-8)
    with pytest.raises(ModelError, match=r"start\.rate must be above 2\.68011 rad/s in mode 1: slower, the chain hangs"):
        steady_turning(chain, 2.5)
    with pytest.raises(ModelError, match=r"start\.mode must be at most 2, got 3"):
        steady_turning(chain, 9.0, 3)


@pytest.mark.parametrize("rate", [4.0, -4.0])
def test_steady_turning_with_rotors_and_springs(rate):
    chain = SpatialChain([Link.rod(1.0, 1.0), Link.rod(0.5, 2.0)], [JointSpring(3.0)], spin=(0.4, 0.2))
    theta = steady_turning(chain, rate)
    run = simulate(chain, theta, [(0.0, rate, 0.0)] * 2, t_end=2.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.inclination, np.broadcast_to(np.abs(theta), run.inclination.shape), atol=1e-7)


def test_what_a_chain_in_space_does_not_take():
    chain = SpatialChain.uniform(2)
    with pytest.raises(ModelError, match="Flip takes chains in the plane, not in space; to pass straight up"):
        simulate(chain, POSE, t_end=1.0, events=Flip())
    run = simulate(chain, POSE, t_end=0.1)
    with pytest.raises(ModelError, match="a chain in space has directions, not angles"):
        run.theta  # noqa: B018
    with pytest.raises(ModelError, match="directions, not angles"):
        run.angles()
    flat = simulate(Chain.uniform(2), 0.5, t_end=0.1)
    for name in ("direction", "inclination", "azimuth", "rotation"):
        with pytest.raises(ModelError, match="a chain in the plane has angles: use theta, omega and alpha"):
            getattr(flat, name)
    with pytest.raises(ModelError, match="in the plane has angles"):
        flat.tensions()
    with pytest.raises(ModelError, match="maximal takes chains in the plane, not in space; use recursive or natural"):
        simulate(chain, POSE, t_end=1.0, formulation="maximal")
    for integrator in ("Gauss", "IDA"):
        with pytest.raises(ModelError, match=f"{integrator} takes chains in the plane, not in space"):
            simulate(chain, POSE, t_end=1.0, integrator=integrator)
    with pytest.raises(ModelError, match="pose has 3 entries for 2 links"):
        simulate(chain, [0.1, 0.2, 0.3], t_end=1.0)
    with pytest.raises(ModelError, match="simulate needs a start"):
        simulate(chain, t_end=1.0)
    with pytest.raises(ModelError, match=r"At\(0\)\.left must be 0"):
        run.points(At(0, 0.5, 0.1))


def test_what_takes_chains_in_the_plane_alone_refuses_by_its_name():
    chain = SpatialChain.uniform(2)
    run = simulate(chain, POSE, t_end=0.1)
    calls = {
        "linearize": lambda: nlink.linearize(chain),
        "equilibrium": lambda: nlink.equilibrium(chain),
        "critical_load": lambda: nlink.critical_load(lambda load: chain, (0.0, 1.0)),
        "floquet": lambda: nlink.floquet(chain, [0.0, 0.0]),
        "poincare": lambda: nlink.poincare(chain, POSE, t_end=1.0),
        "chaos_map": lambda: nlink.chaos_map(chain),
        "lqr": lambda: nlink.lqr(chain, [0.0, 0.0]),
        "flow": lambda: nlink.flow(chain),
        "limit_cycle": lambda: nlink.limit_cycle(run),
        "a live page": lambda: run.scenario.live(),
    }
    for name, call in calls.items():
        with pytest.raises(ModelError, match=f"^{name} takes chains in the plane, not in space; "):
            call()


def top(spin_of_line=0.0):
    """Return the fast top of the closed forms, as a body, or as a line whose rotor has the momentum."""
    if spin_of_line:
        return SpatialChain([Link(0.2, 1.5, 0.1, 0.004)], spin=spin_of_line)
    return SpatialChain([Body(0.2, 1.5, (0.0, -0.1, 0.0), (0.004, 0.006, 0.004))])


@pytest.mark.parametrize("as_line", [False, True])
def test_a_heavy_top_nods_and_goes_around_as_elliptic_functions_say(as_line):
    """As a body that spins, and as a line with a rotor: its momentum about itself stays what it is at the start."""
    form = FORMS["top_fast"]
    chain = top(0.006 * float(np.dot([22.5, 30.0, 0.0], [np.sin(2.5), -np.cos(2.5), 0.0])) if as_line else 0.0)
    run = simulate(chain, [2.5], [(22.5, 30.0, 0.0)], t_end=3.0, save=0.005, rtol=1e-12, atol=1e-12)
    around = run.azimuth[0, 0] - run.azimuth[:, 0]
    for t, values in form["values"].items():
        assert run.direction[round(200 * float(t)), 0, 1] == pytest.approx(float(values["height"]), abs=1e-7)
        assert around[round(200 * float(t))] == pytest.approx(float(values["turned"]), abs=1e-6)
    assert run.direction[:, 0, 1].max() == pytest.approx(float(form["highest"]), abs=1e-3)
    assert np.ptp(run.about_vertical()) < 1e-9
    if as_line:
        assert abs(chain.spin) == pytest.approx(float(form["spin_momentum"]), rel=1e-9)


def test_a_free_body_turns_over_about_its_middle_axis():
    chain = SpatialChain([Body(1.0, 1.0, (0.0, 0.0, 0.0), (1.0, 2.0, 3.0))], [Gravity(0.0)])
    run = simulate(chain, [(1.0, 0.0, 0.0, 0.0)], [(0.01, 2.0, 0.02)], t_end=10.0, save=1.0, rtol=1e-12, atol=1e-12)
    for t, rates in FORMS["free_top"]["values"].items():
        k = round(float(t))
        inner = turned(conjugate(run.rotation[k]), run.omega[k])[0]
        np.testing.assert_allclose(inner, np.array(rates, float), atol=1e-7)
    assert np.ptp(run.angular_momentum(), axis=0).max() < 1e-9
    assert run.inclination.max() > 3.0


@pytest.mark.parametrize(("rate", "falls"), [(55.5, True), (56.0, False)])
def test_an_upright_top_sleeps_beyond_its_rate(rate, falls):
    assert 55.5 < float(FORMS["sleeping_top"]["critical_rate"]) < 56.0
    run = simulate(top(), [np.pi - 1e-6], [(0.0, rate, 0.0)], t_end=20.0, save=0.05, rtol=1e-11, atol=1e-11)
    tilt = (np.pi - run.inclination).max()
    assert tilt > 1e-3 if falls else tilt < 1e-4
