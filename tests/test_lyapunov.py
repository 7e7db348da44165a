"""Lyapunov exponents: independent references, volumes and pairs, regular motion, losses, loops, every load, and what ends early."""

from __future__ import annotations

import json
import math
import signal
import threading

import numpy as np
import pytest
from helpers import DATA, random_chain

import nlink
from nlink import (
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Sine,
    Table,
    TipForce,
    ftle,
    lyapunov,
    simulate,
)
from nlink.analysis.lyapunov import block_errors
from nlink.analysis.variations import Collocation, Duals, tangent_frame

REFERENCE = json.loads((DATA / "chaos.json").read_text(encoding="utf-8"))
ZIGZAG = [math.pi / 2, math.pi]
LOADS = {
    "spring": JointSpring(2.0, 0.3),
    "joint damper": JointDamper((0.2, 0.1, 0.3)),
    "link damper": LinkDamper(0.2),
    "sine": JointTorque(Sine(1.0, 0.7, 0.2)),
    "table": JointTorque(Table((0.0, 0.5, 1.0), (0.0, 1.0, 0.0))),
    "drag": Drag(0.3),
    "quadratic drag": Drag(0.1, 0.3),
    "python": JointTorque(lambda t: math.cos(3 * t)),
    "follower": FollowerForce(2.0),
    "tip": TipForce(1.0, 2.0),
}


@pytest.mark.parametrize("case", REFERENCE["finite_time"])
@pytest.mark.parametrize("t", ["1", "2", "5", "10"])
def test_finite_times_agree_with_the_reference(case: str, t: str) -> None:
    theta, wanted = (ZIGZAG if case == "N2_chaotic" else [math.pi / 4] * 2), REFERENCE["finite_time"][case][t]
    found = ftle(Chain.uniform(2), theta, t=float(t))
    rounding = 1e-10 if t == "10" else 1e-11  # a start moved by its last bit moves the exponent by up to 6e-11 at 10 s
    assert found.exponent == pytest.approx(wanted["ftle"], abs=rounding)
    known = 4 if wanted["digits"] == "113-bit" else 3  # double precision loses the smallest at 10 s
    np.testing.assert_allclose(found.singular_values[:known], wanted["sigma"][:known], rtol=1e-8)


@pytest.mark.parametrize("case", REFERENCE["exponents"])
def test_long_runs_agree_with_the_reference(case: str) -> None:
    row = REFERENCE["exponents"][case]
    chain = Chain.uniform(2, shape="point" if case.startswith("point") else "rod")
    found = lyapunov(chain, row["theta"], t_end=3000.0)
    first, wanted = found.exponents[0], row["spectrum"][0]
    assert abs(first - wanted) <= max(3 * math.hypot(found.errors[0], row["error"]), 0.05 * wanted)
    assert np.abs(found.pairing).max() < 3e-3
    assert found.sum == pytest.approx(found.divergence, abs=1e-8)
    assert found.residual < 1e-6


def test_errors_are_those_of_block_means() -> None:
    rng = np.random.default_rng(1)
    rates = rng.normal(2.0, 1.0, 1000)
    times, logs = np.arange(1001.0), np.append(0.0, np.cumsum(rates))[:, None]
    means = rates.reshape(10, 100).mean(1)
    assert block_errors(times, logs)[0] == pytest.approx(means.std(ddof=1) / math.sqrt(10), rel=1e-12)
    assert np.isnan(block_errors(times[:5], logs[:5])[0])


def test_regular_motion_has_no_exponents() -> None:
    found = lyapunov(Chain.uniform(2), [0.2, 0.3], t_end=2000.0)
    assert np.abs(found.exponents).max() < 0.01
    assert np.abs(found.history[-1]).max() < 0.3 * np.abs(found.history[10]).max()


def test_an_upright_rod_at_rest_has_the_exponents_of_its_linearisation() -> None:
    rate = math.sqrt(1.5 * 9.81)
    chain = Chain.uniform(1)
    assert ftle(chain, [math.pi], t=2.0).singular_values[0] == pytest.approx(
        np.linalg.svd([[math.cosh(2 * rate), math.sinh(2 * rate) / rate], [rate * math.sinh(2 * rate), math.cosh(2 * rate)]])[1][0],
        rel=1e-10,
    )
    found = lyapunov(chain.with_loads(LinkDamper(0.5)), [math.pi], t_end=3.0)
    c = 0.5 / (1 / 3)
    np.testing.assert_allclose(found.exponents, [-c / 2 + s * math.sqrt(c**2 / 4 + rate**2) for s in (1, -1)], rtol=0.1)
    assert found.sum == pytest.approx(-c, rel=1e-9)


def test_a_damped_rod_that_comes_to_rest() -> None:
    """Pairs sum to -c with C = c M; at rest the steps of the motion alone would be too long for its deviations."""
    found = lyapunov(Chain.uniform(1).with_loads(LinkDamper(0.2)), [2.0], t_end=200.0)
    np.testing.assert_allclose(found.pairing, [-0.6], atol=1e-9)
    np.testing.assert_allclose(found.exponents, [-0.3, -0.3], atol=0.02)


@pytest.mark.parametrize("load", LOADS)
def test_volumes_change_as_they_must_under_every_load(load: str) -> None:
    chain = Chain.uniform(3).with_loads(LOADS[load])
    found = lyapunov(chain, [1.0, 2.0, 0.5], [1.0, 0.0, 0.0], t_end=4.0)
    assert found.status.code == "finished"
    assert found.sum == pytest.approx(found.divergence, abs=1e-8)
    assert found.residual < 1e-9
    if "damper" in load or "drag" in load:
        assert found.divergence < -0.1


@pytest.mark.parametrize("load", LOADS)
def test_deviations_are_the_derivative_of_the_motion(load: str) -> None:
    """Against differences of runs, for every load; and both ways to follow deviations against each other, where both can."""
    chain = Chain.uniform(3).with_loads(LOADS[load])
    system = nlink.formulate(chain)
    start = np.array([1.0, 2.0, 0.5, 1.0, 0.0, -0.5])
    y = np.concatenate([start, np.zeros(system.full_size - 6)])
    leg = Collocation(system, 1e-13).advance(0.0, 1.0, y, np.eye(6))
    for k in (0, 4):
        ends = []
        for sign in (1, -1):
            moved = start + sign * 1e-6 * np.eye(6)[k]
            run = simulate(chain, moved[:3], moved[3:], t_end=1.0, rtol=1e-13, atol=1e-13, save=(1.0,))
            ends.append(np.append(run.theta[-1], run.omega[-1]))
        np.testing.assert_allclose(leg.deviations[:, k], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-6)
    if load not in ("quadratic drag", "python"):
        other = Duals(system, 1e-16).advance(0.0, 1.0, y, np.eye(6))
        np.testing.assert_allclose(leg.deviations, other.deviations, rtol=1e-10, atol=1e-10)
        assert leg.contraction == pytest.approx(other.contraction, abs=1e-11)


def test_unlike_links_with_every_load_at_once() -> None:
    chain, theta, omega = random_chain(4)
    found = lyapunov(chain, theta, omega, t_end=3.0)
    assert found.sum == pytest.approx(found.divergence, abs=1e-7)


def test_a_five_bar_is_chaotic_on_its_tangent_space() -> None:
    case = nlink.preset("five-bar")
    found = lyapunov(case.chain, case.theta, t_end=60.0)
    assert found.freedom == len(found.exponents) == 4
    assert found.exponents[0] > 1.5
    assert found.sum == pytest.approx(found.divergence, abs=1e-8)
    assert abs(found.sum) < 0.05
    assert np.abs(found.exponents[1:3]).max() < 0.3
    damped = lyapunov(case.chain.with_loads(JointDamper(0.05), Drag(0.1, 0.1)), case.theta, t_end=10.0)
    assert damped.divergence < -0.3
    assert damped.sum == pytest.approx(damped.divergence, abs=1e-8)


def test_deviations_of_a_loop_are_the_derivative_of_its_motion() -> None:
    case = nlink.preset("five-bar")
    chain, system = case.chain, nlink.formulate(case.chain)
    start = nlink.assemble(chain, case.theta, [1.0, 0.0, 0.0, -0.5])
    frame = tangent_frame(chain, start.theta, start.omega)
    y = np.zeros(system.full_size)
    y[:8] = np.append(start.theta, start.omega)
    engine = Collocation(system, 1e-12)
    leg = engine.advance(0.0, 1.0, y, frame)
    for k in (0, 3):
        ends = []
        for sign in (1e-6, -1e-6):
            moved = nlink.assemble(chain, start.theta + sign * frame[:4, k], start.omega + sign * frame[4:, k])
            run = simulate(chain, moved.theta, moved.omega, t_end=1.0, rtol=1e-13, atol=1e-13, save=(1.0,))
            ends.append(np.append(run.theta[-1], run.omega[-1]))
        wanted = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(leg.deviations[:, k], wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())
    after = tangent_frame(chain, *system.decode(leg.y[:8]))
    grown = np.linalg.slogdet(after.T @ leg.deviations)[1]
    changed = engine.volume(1.0, *system.decode(leg.y[:8])) - engine.volume(0.0, start.theta, start.omega)
    assert grown == pytest.approx(changed, abs=1e-8)


def test_a_four_bar_passes_its_dead_positions() -> None:
    """One freedom, no losses: no exponents; and the rate of the state is a deviation that is carried along."""
    case = nlink.preset("four-bar")
    system = nlink.formulate(case.chain)
    y = np.zeros(system.full_size)
    y[:6] = np.append(case.theta, case.omega)
    leg = Collocation(system, 1e-12).advance(0.0, 10.0, y, system(0.0, y[:6])[:, None])
    np.testing.assert_allclose(leg.deviations[:, 0], system(10.0, leg.y[:6]), atol=1e-6)
    found = lyapunov(case.chain, case.theta, case.omega, t_end=100.0)
    assert np.abs(found.exponents).max() < 0.1
    assert found.sum == pytest.approx(found.divergence, abs=1e-9)


def test_the_largest_only_and_a_transient() -> None:
    chain = Chain.uniform(2)
    every, first = lyapunov(chain, ZIGZAG, t_end=30.0), lyapunov(chain, ZIGZAG, t_end=30.0, count=1)
    assert first.exponents.shape == (1,)
    assert first.pairing.shape == (0,)
    assert first.exponents[0] == pytest.approx(every.exponents[0], abs=1e-6)
    later = lyapunov(chain, ZIGZAG, t_end=30.0, transient=10.0)
    assert later.times[0] > 10.0
    assert later.times[-1] == 30.0
    assert later.sum == pytest.approx(later.divergence, abs=1e-8)


def test_a_driven_pendulum_contracts_as_its_damper_says() -> None:
    case = nlink.preset("driven-1")
    found = lyapunov(case.chain, case.theta, t_end=1500.0, transient=60.0)
    assert found.exponents[0] > 10 * found.errors[0]
    assert found.sum == pytest.approx(-0.5 * math.sqrt(9.81), rel=1e-9)
    quiet = case.chain.with_loads(JointTorque(Sine(0.9, case.chain.load(JointTorque).torque.frequency, math.pi / 2)))
    assert lyapunov(quiet, case.theta, t_end=300.0, transient=60.0).exponents[0] < -0.1


def test_mirror_images_have_the_same_exponents() -> None:
    chain = Chain([Link(1.0, 1.0, 0.4, 0.1, 0.2), Link.rod(0.7, 2.0)], [Gravity(9.81)])
    image = Chain([Link(1.0, 1.0, 0.4, 0.1, -0.2), Link.rod(0.7, 2.0)], [Gravity(9.81)])
    found, other = ftle(chain, [1.0, 2.0], [0.5, 0.0], 3.0), ftle(image, [-1.0, -2.0], [-0.5, 0.0], 3.0)
    np.testing.assert_allclose(found.singular_values, other.singular_values, rtol=1e-9)


def test_ctrl_c_keeps_what_was_found() -> None:
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    found = lyapunov(Chain.uniform(2), ZIGZAG, t_end=1e6)
    assert found.status.code == "interrupted"
    assert "stopped by the user at t = " in found.status.message
    assert found.exponents[0] > 0.5
    assert found.sum == pytest.approx(found.divergence, abs=1e-7)


def test_a_torque_that_fails_keeps_what_was_found() -> None:
    def torque(t: float) -> float:
        return 1 / 0 if t > 1.0 else 0.0

    found = lyapunov(Chain.uniform(2).with_loads(JointTorque(torque)), ZIGZAG, t_end=10.0)
    assert found.status.code == "torque_failed"
    assert "ZeroDivisionError" in found.status.message
    assert 0 < found.times[-1] <= 1.0
    with pytest.raises(nlink.FlowError, match="the torque function failed"):
        ftle(Chain.uniform(2).with_loads(JointTorque(torque)), ZIGZAG, t=5.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t_end": 0}, "t_end must be positive, got 0"),
        ({"t_end": 1.0, "count": 5}, "count must be at most 4, the number of exponents of this chain, got 5"),
        ({"t_end": 1.0, "count": 0}, "count must be a whole number, at least 1, got 0"),
        ({"t_end": 1.0, "transient": 2.0}, "transient must be below t_end, 1 s, got 2"),
        ({"t_end": 1.0, "theta": [1.0]}, "theta has 1 value for 2 links"),
        ({"t_end": 1.0, "chain": 2}, "lyapunov needs a Chain or a Mechanism, got int"),
        ({"t_end": 1.0, "chain": Chain.uniform(2, pin=(1.0, 0.0)), "theta": [2.618, 0.5236]}, "the links cannot move"),
    ],
)
def test_wrong_input(options: dict, message: str) -> None:
    chain, theta = options.pop("chain", Chain.uniform(2)), options.pop("theta", ZIGZAG)
    with pytest.raises(ModelError, match=message):
        lyapunov(chain, theta, **options)
