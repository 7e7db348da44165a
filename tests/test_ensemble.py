"""simulate_many: each member against simulate, whatever its neighbours; what is kept; what varies; faults; refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers import random_chain

import nlink
from nlink import (
    DOP853,
    Chain,
    Cuda,
    Drag,
    EnergyDrift,
    Extremes,
    Final,
    Flip,
    FlipTime,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    ModelError,
    Reducer,
    Samples,
    Sine,
    Taylor,
    Threads,
    TipForce,
    simulate,
    simulate_many,
)
from nlink.ensemble.kernels.loop import compile_step

DATA = json.loads((Path(__file__).parent / "data" / "ensemble.json").read_text())
LOADS = {
    "gravity": (),
    "moments": (JointSpring(2.0, 0.1), JointDamper(0.1), JointTorque(Sine(1.0, 0.7, 0.2))),
    "swept": (JointSpring(1.0), Drag(0.2), FollowerForce(0.5), TipForce(0.3, 0.2)),
    "quadratic drag": (Drag(0.1, 0.2),),
    "table": (JointTorque(nlink.Table((0.0, 0.5, 1.0), (0.0, 1.0, 0.0))),),
}
BOTH = pytest.mark.parametrize("method", [None, DOP853(1e-10, 1e-10)], ids=["series", "stages"])
FINE = DOP853(1e-12, 1e-12)
"""By which a member is followed alone: compiled once for all chains and loads."""

ALL = (Final(), Samples((0.0, 0.25, 0.7, 1.0)), FlipTime(), EnergyDrift(), Extremes())
"""Tests use the same outputs where they can: a loop is compiled for each set of them."""


def starts(members: int, n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-3.1, 3.1, (members, n))


@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("t_end", [1.0, -0.8])
def test_members_are_as_if_alone(loads, n, t_end):
    chain, theta = Chain.uniform(n).with_loads(*LOADS[loads]), starts(5, n)
    times = tuple(t * np.sign(t_end) for t in (0.0, 0.25, 0.7))
    many = simulate_many(chain, theta, 0.3, t_end=t_end, keep=(Final(), Samples(times), EnergyDrift()))
    assert many.status.values.tolist() == [0] * 5
    for k in range(5):
        run = simulate(chain, theta[k], 0.3, t_end=t_end, save=(*times, t_end), integrator=FINE)
        np.testing.assert_allclose(many.theta[k], run.theta[-1], atol=1e-7)
        np.testing.assert_allclose(many.sample_omega[k], run.omega[:3], atol=1e-7)
    assert many.energy_drift.max() < 1e-6


@pytest.mark.parametrize("loads", ["gravity", "moments", "swept"])
def test_series_of_long_chains_are_as_if_alone(loads):
    chain, theta = Chain.uniform(11).with_loads(*LOADS[loads]), starts(9, 11)
    many = simulate_many(chain, theta, 0.3, t_end=0.7, integrator=Taylor(1e-15))
    for k in range(9):
        run = simulate(chain, theta[k], 0.3, t_end=0.7, save=(0.7,), integrator=DOP853(1e-13, 1e-13))
        np.testing.assert_allclose(many.theta[k], run.theta[-1], atol=1e-9)
        np.testing.assert_allclose(many.omega[k], run.omega[-1], atol=1e-8)


@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("t_end", [1.5, -0.8])
def test_stages_agree_with_series_run_one_by_one(loads, n, t_end):
    chain, theta = Chain.uniform(n).with_loads(*LOADS[loads]), starts(20, n)
    times = tuple(t * np.sign(t_end) for t in (0.0, 0.25, 0.7))
    many = simulate_many(
        chain, theta, 0.3, t_end=t_end, keep=(Final(), Samples(times), EnergyDrift(), FlipTime()), integrator=DOP853(1e-11, 1e-11)
    )
    assert many.status.values.tolist() == [0] * 20
    assert many.energy_drift.max() < 1e-7
    for k in range(0, 20, 6):
        run = simulate(chain, theta[k], 0.3, t_end=t_end, save=(*times, t_end), rtol=1e-12, atol=1e-12, events=[Flip()])
        flips = [event for event in run.events if event.name == "flip"]
        np.testing.assert_allclose(many.theta[k], run.theta[-1], atol=1e-8)
        np.testing.assert_allclose(many.sample_omega[k], run.omega[:3], atol=1e-7)
        assert many.flip_link[k] == (flips[0].info["link"] + 1 if flips else 0)
        np.testing.assert_allclose(many.flip_time[k], flips[0].t if flips else np.nan, atol=1e-8)


def test_stages_converge_with_their_order():
    chain, theta = Chain.uniform(3), starts(16, 3)
    exact = simulate_many(chain, theta, t_end=1.0, integrator=Taylor(1e-17)).theta.values
    steps, errors = [], []
    for tol in (1e-6, 1e-8, 1e-10):
        many = simulate_many(chain, theta, t_end=1.0, integrator=DOP853(tol, tol))
        steps.append(many.steps.values.mean())
        errors.append(np.median(np.abs(many.theta.values - exact).max(1)))
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 7.0 < order < 10.5


def test_stages_end_steps_where_a_table_has_a_kink():
    chain = Chain.uniform(2).with_loads(JointTorque(nlink.Table((0.0, 0.1, 0.2, 0.9), (0.0, 30.0, -30.0, 0.0))))
    theta = starts(20, 2)
    many = simulate_many(chain, theta, t_end=1.0, keep=(Final(), Samples((0.1, 0.15, 0.9))), integrator=DOP853(1e-10, 1e-10))
    for k in range(0, 20, 4):
        run = simulate(chain, theta[k], t_end=1.0, save=(0.1, 0.15, 0.9, 1.0), integrator=FINE)
        np.testing.assert_allclose(many.sample_theta[k], run.theta[:3], atol=1e-9)
        np.testing.assert_allclose(many.theta[k], run.theta[3], atol=1e-8)
        alone = simulate(chain, theta[k], t_end=1.0, integrator=DOP853(1e-10, 1e-10))
        assert int(many.steps[k]) <= alone.stats.steps + 3


@BOTH
@pytest.mark.parametrize("n", [2, 5, 7])
def test_a_member_does_not_depend_on_its_company(n, method):
    chain, theta = Chain.uniform(n), starts(70, n)
    whole = simulate_many(chain, theta, t_end=2.0, keep=ALL, backend=Threads(2), integrator=method)
    turned = simulate_many(chain, theta[::-1], t_end=2.0, keep=ALL, backend=Threads(1), integrator=method)
    alone = simulate_many(chain, theta[17:18], t_end=2.0, keep=ALL, integrator=method)
    for name in ("theta", "omega", "sample_theta", "flip_time", "energy_drift", "largest_theta", "steps"):
        assert np.array_equal(whole[name].values, turned[name].values[::-1], equal_nan=True), name
        assert np.array_equal(whole[name].values[17:18], alone[name].values, equal_nan=True), name


@BOTH
def test_a_member_that_blows_up_is_flagged_and_harms_no_other(method):
    chain, theta = Chain.uniform(2), starts(300, 2)
    omega = np.zeros_like(theta)
    bad = np.random.default_rng(5).choice(300, 3, replace=False)
    omega[bad] = 1e200
    many = simulate_many(chain, theta, omega, t_end=1.0, integrator=method)
    assert np.flatnonzero(many.status.values == 2).tolist() == sorted(bad.tolist())
    good = many.status.values == 0
    assert good.sum() == 297
    assert np.array_equal(many.theta.values[good], simulate_many(chain, theta[good], t_end=1.0, integrator=method).theta.values)


@pytest.mark.parametrize("method", [Taylor(1e-12, max_steps=10), DOP853(max_steps=10)])
def test_too_many_steps_is_a_status(method):
    many = simulate_many(Chain.uniform(2), starts(4, 2), t_end=50.0, integrator=method)
    assert many.status.values.tolist() == [3] * 4
    assert many.steps.values.tolist() == [10] * 4


@pytest.mark.parametrize("case", DATA["flip_times"], ids=lambda case: f"{case['theta1_deg']},{case['theta2_deg']}")
def test_flip_times_of_the_reference(case):
    theta = np.radians([[case["theta1_deg"], case["theta2_deg"]]])
    many = simulate_many(Chain.uniform(2), theta, t_end=13.0, keep=FlipTime(), integrator=Taylor(1e-15))
    assert float(many.flip_time[0]) == pytest.approx(float(case["flip_time_s"]), abs=1e-8)
    mirrored = simulate_many(Chain.uniform(2), -theta, t_end=13.0, keep=FlipTime(), integrator=Taylor(1e-15))
    assert np.array_equal(mirrored.flip_time.values, many.flip_time.values)


@BOTH
def test_flips_agree_with_events(method):
    chain, theta = Chain.uniform(3), starts(40, 3, seed=4)
    many = simulate_many(chain, theta, t_end=3.0, keep=ALL, integrator=method)
    mirrored = simulate_many(chain, -theta, t_end=3.0, keep=ALL, integrator=method)
    assert np.array_equal(many.flip_time, mirrored.flip_time, equal_nan=True)
    for k in range(40):
        run = simulate(chain, theta[k], t_end=3.0, events=Flip(terminal=True), save=(3.0,))
        if run.events:
            assert float(many.flip_time[k]) == pytest.approx(run.events[0].t, abs=1e-8)
            assert int(many.flip_link[k]) == run.events[0].info["link"] + 1
        else:
            assert np.isnan(many.flip_time[k])
            assert int(many.flip_link[k]) == 0


@BOTH
def test_flip_time_alone_ends_a_member(method):
    theta = np.radians([[120.0, 0.0], [10.0, 10.0]])
    many = simulate_many(Chain.uniform(2), theta, t_end=5.0, keep=FlipTime(), integrator=method)
    assert many.status.values.tolist() == [1, 0]
    assert int(many.steps[0]) < int(many.steps[1])


def peaks(run, name):
    """Return least and largest values, by parabolas through the saved points next to them."""
    values, found = getattr(run, name), []
    for sign in (-1, 1):
        at = (sign * values).argmax(0).clip(1, len(run.t) - 2)
        a, b, c = (np.take_along_axis(values, at[None] + step, 0)[0] for step in (-1, 0, 1))
        bend = a - 2 * b + c
        inner = (a - b) * (c - b) > 0
        ends = sign * (sign * values).max(0)
        found.append(np.where(inner, b - (c - a) ** 2 / (8 * np.where(inner, bend, 1.0)), ends))
    return found


@BOTH
@pytest.mark.parametrize(("n", "t_end"), [(1, 3.0), (2, 2.0), (2, -1.5), (5, 0.6)])
def test_extremes_are_those_of_the_motion(method, n, t_end):
    chain, theta = Chain.uniform(n).with_loads(JointSpring(1.0)), starts(5, n)
    many = simulate_many(chain, theta, 0.3, t_end=t_end, keep=Extremes(), integrator=method)
    for k in range(5):
        run = simulate(chain, theta[k], 0.3, t_end=t_end, save=abs(t_end) / 30000, integrator=FINE)
        for name in ("theta", "omega"):
            for which, want in zip(("least", "largest"), peaks(run, name), strict=True):
                np.testing.assert_allclose(many[f"{which}_{name}"][k], want, atol=2e-7, err_msg=f"{which} {name}")


def test_extremes_of_members_one_by_one_do_not_depend_on_the_samples():
    chain = Chain.uniform(3, pin=(1.0, 0.0))
    theta = nlink.assemble(chain, [0.0, 1.57, 3.14]).theta
    keeps = (Extremes(), EnergyDrift()), (Extremes(), EnergyDrift(), Samples((0.5,)))
    alone, sampled = (simulate_many(chain, theta, t_end=2.0, keep=keep) for keep in keeps)
    run = simulate(chain, theta, t_end=2.0, save=1e-4)
    for name in ("theta", "omega"):
        for which, want in zip(("least", "largest"), peaks(run, name), strict=True):
            np.testing.assert_allclose(alone[f"{which}_{name}"][0], want, atol=1e-7, err_msg=f"{which} {name}")
            np.testing.assert_allclose(sampled[f"{which}_{name}"], alone[f"{which}_{name}"], atol=1e-9)
    assert 0.0 < float(sampled.energy_drift[0]) == float(alone.energy_drift[0])


def test_a_link_that_turns_back_within_a_step_is_seen():
    start, fine = [[-1.70722483, 2.26014634]], DOP853(1e-12, 1e-12, max_step=0.002)
    found, sought = (
        simulate_many(Chain.uniform(2), start, t_end=0.5, keep=Extremes(), integrator=method) for method in (Taylor(1e-12), fine)
    )
    assert found.least_theta[0, 1] < start[0][1] - 2e-4
    np.testing.assert_allclose(found.least_theta, sought.least_theta, atol=1e-9)


@BOTH
def test_what_varies(method):
    count = 6
    mass, g, stiffness, force = (
        np.linspace(0.5, 2, count),
        np.linspace(3, 10, count),
        np.linspace(0, 4, count),
        np.linspace(0, 1, count),
    )
    vary = {"mass[2]": mass, "gravity": g, "joint_spring.stiffness": stiffness, "tip_force.fx": force, "joint_torque[1]": force}
    many = simulate_many(Chain.uniform(3), [0.4, 1.0, -2.0], t_end=1.5, vary=vary, keep=(Final(), EnergyDrift()), integrator=method)
    for k in range(count):
        links = [Link(1, m, 0.5, 1 / 12) for m in (1.0, mass[k], 1.0)]
        loads = (Gravity(g[k]), JointSpring(stiffness[k]), TipForce(force[k], 0.0), JointTorque([force[k], 0.0, 0.0]))
        run = simulate(Chain(links, loads), [0.4, 1.0, -2.0], t_end=1.5, save=(1.5,))
        np.testing.assert_allclose(many.theta[k], run.theta[-1], atol=1e-9)
    assert many.energy_drift.max() < 1e-7


def test_quadratic_drag_and_sines_vary_too():
    vary = {"drag.quadratic": [0.0, 0.3], "joint_torque.amplitude": [0.5, 1.0], "joint_torque.frequency": [0.4, 0.8]}
    many = simulate_many(Chain.uniform(2), 0.5, t_end=1.0, vary=vary)
    loads = (Drag(0.0, 0.3), JointTorque(Sine(1.0, 0.8)))
    run = simulate(Chain.uniform(2).with_loads(*loads), 0.5, t_end=1.0, save=(1.0,))
    np.testing.assert_allclose(many.theta[1], run.theta[-1], atol=1e-8)


@BOTH
def test_a_function_of_the_user(method):
    def highest(memory, t, theta, omega):
        memory[0] = max(memory[0], abs(theta[0]))
        memory[1] += 1

    many = simulate_many(
        Chain.uniform(2), starts(20, 2), t_end=2.0, keep=(Reducer("highest", 2, highest), Final()), integrator=method
    )
    assert (many.highest[:, 1] == many.steps + 1).all()
    assert (many.highest[:, 0] >= np.abs(many.theta[:, 0])).all()


@pytest.mark.parametrize("count", [10.0, 100.0])
def test_another_function_of_the_user_is_not_the_one_before(count):
    def add(memory, t, theta, omega):
        memory[0] += count

    many = simulate_many(Chain.uniform(2), starts(3, 2), t_end=0.1, keep=Reducer("sum", 1, add), integrator=DOP853())
    assert (many["sum"][:, 0] == count * (many.steps + 1)).all()


def test_a_step_is_compiled_once_for_all_outputs():
    def steps(keep):
        simulate_many(Chain.uniform(2), np.ones((1, 2)), t_end=0.1, keep=keep)
        return len(compile_step.signatures)

    assert steps(Final()) == steps(EnergyDrift()) == steps(Extremes())


def test_closed_chains_and_random_ones():
    four = nlink.preset("four-bar")
    many = simulate_many(four.chain, np.array([four.theta]), np.array([four.omega]), t_end=0.5)
    run = simulate(four.chain, four.theta, four.omega, t_end=0.5, save=(0.5,))
    np.testing.assert_allclose(many.theta[0], run.theta[-1], atol=1e-9)
    chain, theta, omega = random_chain(4)
    many = simulate_many(chain, theta[None], omega[None], t_end=0.5)
    np.testing.assert_allclose(many.theta[0], simulate(chain, theta, omega, t_end=0.5, save=(0.5,)).theta[-1], atol=1e-8)


def test_torques_need_no_hash():
    class Push:
        def __call__(self, t):
            return 0.1 * t

        def __eq__(self, other):
            return self is other

    chain = Chain.uniform(2).with_loads(JointTorque(Push()))
    many = simulate_many(chain, [[0.1, 0.2]], t_end=0.2, rtol=1e-11, atol=1e-11)
    plain = simulate_many(chain.with_loads(JointTorque(lambda t: 0.1 * t)), [[0.1, 0.2]], t_end=0.2, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(many.theta, plain.theta)


def test_the_result_is_named_and_says_how():
    many = simulate_many(Chain.uniform(2), starts(3, 2), t_end=1.0, keep=ALL)
    assert many.theta.dims == ("member", "link")
    assert many.sample_theta.dims == ("member", "time", "link")
    assert many.time.values.tolist() == [0.0, 0.25, 0.7, 1.0]
    assert many.attrs["integrator"] == "Taylor(tol=1e-13, order=16)"
    assert many.theta.attrs["units"] == "rad"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"theta": [[1.0, 2.0, 3.0]]}, r"theta must have the shape \(members, 2\)"),
        ({"theta": [[1.0, np.nan]]}, "theta must be finite; member 0 is not"),
        ({"keep": ()}, "keep must name at least one thing"),
        ({"keep": (Final(), Final())}, "each once"),
        ({"keep": "final"}, "keep must list what to keep"),
        ({"keep": Samples((2.0,))}, r"Samples.times must lie between 0 and t_end = 1"),
        ({"vary": {"mas[1]": [1.0]}}, "vary does not know 'mas.1.'; did you mean mass"),
        ({"vary": {"mass[3]": [1.0]}}, "links count from 1 to 2, got 3"),
        ({"vary": {"mass": [-1.0]}}, "vary 'mass' must not be negative"),
        ({"t_end": 0.0}, "t_end must not be 0"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(change, sentence):
    given = {"theta": [[0.1, 0.2]], "t_end": 1.0} | change
    with pytest.raises(ModelError, match=sentence):
        simulate_many(Chain.uniform(2), **given)


def test_without_a_gpu_a_plain_sentence():
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ModelError, match=r"Cuda .*use Threads\(\)"):
        simulate_many(Chain.uniform(2), [[0.1, 0.2]], t_end=1.0, backend=Cuda())


def test_the_gpu_agrees():
    from numba import cuda

    if not cuda.is_available():
        pytest.skip("there is no NVIDIA GPU")
    for n in (1, 2, 5):
        for loads in LOADS:
            chain, theta = Chain.uniform(n).with_loads(*LOADS[loads]), starts(50, n)
            both = [simulate_many(chain, theta, t_end=1.0, keep=ALL, backend=backend) for backend in (Threads(), Cuda())]
            for name in (
                "theta",
                "omega",
                "sample_theta",
                "flip_time",
                "least_theta",
                "largest_theta",
                "least_omega",
                "largest_omega",
            ):
                np.testing.assert_allclose(both[0][name], both[1][name], atol=1e-9)
            np.testing.assert_allclose(both[0].energy_drift, both[1].energy_drift, atol=1e-9)


@BOTH
def test_the_gpu_takes_what_varies_and_functions(method):
    from numba import cuda

    if not cuda.is_available():
        pytest.skip("there is no NVIDIA GPU")

    def count(memory, t, theta, omega):
        memory[0] += 1

    vary = {"gravity": np.linspace(3, 10, 50), "mass[2]": np.linspace(0.5, 2, 50), "joint_damper.damping": np.linspace(0, 1, 50)}
    keep = (Final(), Reducer("calls", 1, count))
    both = [
        simulate_many(Chain.uniform(2), starts(50, 2), t_end=1.0, vary=vary, keep=keep, integrator=method, backend=backend)
        for backend in (Threads(), Cuda())
    ]
    np.testing.assert_allclose(both[0].theta, both[1].theta, atol=1e-9)
    for each in both:
        assert (each.calls[:, 0] == each.steps + 1).all()
