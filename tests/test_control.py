"""Feedback control: torques that are functions of angles and rates, in Python and compiled, and regulators made of them."""

import math
import pickle

import numba
import numpy as np
import pytest
import scipy.linalg
from helpers import OF_FUNCTIONS, TOLERANCE, random_chain, settings

import nlink
from nlink import (
    DOP853,
    FTLE,
    Chain,
    Cuda,
    Dask,
    Event,
    Final,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Linear,
    Link,
    ModelError,
    SimulationError,
    Sine,
    Taylor,
    Threads,
    equilibrium,
    flow,
    formulate,
    linearize,
    lqr,
    simulate,
    simulate_many,
)
from nlink.ensemble import engines, gpu
from nlink.ensemble.fingerprint import digest
from nlink.integrators import steps
from nlink.mechanics.torque_callback import torque_signature

CLOSED = ("recursive", "momentum", "maximal", "natural")
EVERY = (*CLOSED, "projection", "lagrange", "linear")


def in_python(t, theta, omega):
    """A law without symmetry: springs, dampers, a product, and a push."""
    joint = np.diff(theta, prepend=0.0)
    return 0.3 * math.sin(t) - 2.0 * joint - 0.4 * np.diff(omega, prepend=0.0) + 0.1 * theta[0] * omega[-1]


@numba.njit
def compiled(t, theta, omega):
    torques = np.empty(len(theta))
    before = rate = 0.0
    for i in range(len(theta)):
        torques[i] = 0.3 * math.sin(t) - 2.0 * (theta[i] - before) - 0.4 * (omega[i] - rate) + 0.1 * theta[0] * omega[-1]
        before, rate = theta[i], omega[i]
    return torques


@numba.cfunc(torque_signature)
def in_c(t, theta, omega, torque, n):
    before = rate = 0.0
    for i in range(n):
        torque[i] = 0.3 * math.sin(t) - 2.0 * (theta[i] - before) - 0.4 * (omega[i] - rate) + 0.1 * theta[0] * omega[n - 1]
        before, rate = theta[i], omega[i]


LAWS = {"in Python": in_python, "by njit": compiled, "by cfunc": in_c}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


@numba.njit
def spring_and_damper(t, theta, omega):
    """What JointSpring([3, 2], [0.2, -0.1]) and JointDamper([0.5, 0.3]) do on two links."""
    return (
        -3.0 * (theta[0] - 0.2) - 0.5 * omega[0],
        -2.0 * (theta[1] - theta[0] + 0.1) - 0.3 * (omega[1] - omega[0]),
    )


TWO = Chain.uniform(2)
FED_BACK = TWO.with_loads(JointTorque(spring_and_damper))
PASSIVE = TWO.with_loads(JointSpring([3.0, 2.0], [0.2, -0.1]), JointDamper([0.5, 0.3]))


# In every formulation and integrator -----------------------------------------------------------------------------------


@each_law
@pytest.mark.parametrize("formulation", EVERY)
def test_a_law_acts_like_its_torques_in_every_formulation(formulation, law):
    chain, theta, omega = random_chain(3)
    if formulation == "linear":
        chain, theta, omega = Chain.uniform(3), 0.1 * theta, 0.1 * omega
    told = in_python(0.7, theta, omega)
    wanted = formulate(chain.with_loads(JointTorque(lambda t: told)), formulation).accelerations(theta, omega, 0.7)
    got = formulate(chain.with_loads(JointTorque(law)), formulation).accelerations(theta, omega, 0.7)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())
    without = formulate(chain.with_loads(JointTorque(0.0)), formulation).accelerations(theta, omega, 0.7)
    assert np.abs(wanted - without).max() > 0.1


@each_law
@pytest.mark.parametrize("formulation", CLOSED)
def test_a_law_on_a_closed_chain(formulation, law):
    four = nlink.preset("four-bar")
    runs = [
        simulate(four.chain.with_loads(JointTorque(each)), four.theta, four.omega, t_end=1.0, formulation=formulation)
        for each in (law, in_python)
    ]
    passive = simulate(four.chain, four.theta, four.omega, t_end=1.0)
    np.testing.assert_allclose(runs[0].theta, runs[1].theta, rtol=0, atol=1e-9)
    assert np.abs(runs[0].theta - passive.theta).max() > 0.1
    assert abs(runs[0].energy().residual).max() < 1e-6
    assert abs(runs[0].energy().work["joint_torque"][-1]) > 0.1


@pytest.mark.parametrize("law", [spring_and_damper, spring_and_damper.py_func], ids=["compiled", "in Python"])
@pytest.mark.parametrize("integrator", OF_FUNCTIONS)
def test_a_law_gives_the_motion_of_the_loads_that_it_replaces(integrator, law):
    controlled = TWO.with_loads(JointTorque(law))
    one, other = (simulate(chain, [2.0, 1.0], t_end=2.0, **settings(integrator)) for chain in (controlled, PASSIVE))
    np.testing.assert_allclose(one.theta, other.theta, rtol=0, atol=TOLERANCE["method"])
    energy, stored = one.energy(), other.energy()
    assert abs(energy.residual).max() < 5 * TOLERANCE["ledger"]  # BDF
    springs = stored.potential - one_potential(other)
    lost = stored.work["joint_damper"] - (springs - springs[0])
    np.testing.assert_allclose(energy.work["joint_torque"], lost, rtol=0, atol=20 * TOLERANCE["method"])


def one_potential(run):
    return formulate(TWO).energy(np.hstack([run.theta, run.omega])).potential


def test_angles_come_unwrapped_and_as_copies():
    seen = []

    def law(t, theta, omega):
        seen.append((theta, omega))
        values = theta[1], omega[1]
        theta[:], omega[:] = 99.0, 99.0
        seen[-1] = (*values, theta)
        return 0.0

    run, plain = (
        simulate(each, [3.0, 12.0], [0.0, 10.0], t_end=1.0, integrator="DOP853") for each in (TWO.with_loads(JointTorque(law)), TWO)
    )
    assert np.array_equal(run.theta, plain.theta)
    angles = [angle for angle, _, _ in seen]
    assert min(angles) == pytest.approx(run.theta[:, 1].min(), abs=0.1)
    assert max(angles) == pytest.approx(run.theta[:, 1].max(), abs=0.1)
    assert max(angles) > 4 * math.pi
    assert all((kept == 99.0).all() for _, _, kept in seen)


def test_flow_events_and_rates_of_many_states():
    theta, _ = flow(FED_BACK, integrator=DOP853(1e-12, 1e-12))([2.0, 1.0], t=1.5)
    run = simulate(PASSIVE, [2.0, 1.0], t_end=1.5, rtol=1e-12, atol=1e-12, events=[Event(lambda t, theta, omega: theta[0] - 1.0)])
    np.testing.assert_allclose(theta, run.theta[-1], rtol=0, atol=1e-10)
    other = simulate(
        FED_BACK, [2.0, 1.0], t_end=1.5, rtol=1e-12, atol=1e-12, events=[Event(lambda t, theta, omega: theta[0] - 1.0)]
    )
    assert other.events[0].t == pytest.approx(run.events[0].t, abs=1e-9)
    states = np.random.default_rng(0).normal(size=(4, 30))
    for name in ("rates_of", "accelerations_of"):
        one, two = (getattr(formulate(chain), name)(states) for chain in (FED_BACK, PASSIVE))
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-11)


def test_a_run_goes_on_and_is_saved_by_the_name_of_its_law(tmp_path):
    run = simulate(FED_BACK, [2.0, 1.0], t_end=1.0)
    whole = simulate(FED_BACK, [2.0, 1.0], t_end=2.0)
    assert np.array_equal(run.resume(2.0).theta, whole.theta)
    run.save(tmp_path / "run.nc")
    back = nlink.load(tmp_path / "run.nc")
    assert back.chain.load(JointTorque).torque.name == "spring_and_damper"
    with pytest.raises(ModelError, match="cannot be resumed: its torque was a function that the file does not hold"):
        back.resume(2.0)


def test_formulations_are_compared_under_control():
    from nlink import Scenario, Settings

    scenario = Scenario(FED_BACK, (2.0, 1.0), (0.0, 0.0), Settings(t_end=1.0))
    found = nlink.compare(scenario, ["recursive", "maximal", "natural"])
    assert max(row.difference.max() for row in found.rows) < 1e-6


# What a function may be ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: 0.0, r"function of t, or of t, theta, omega, got <lambda>\(\); give its other arguments defaults"),
        (lambda t, theta: 0.0, r"function of t, or of t, theta, omega, got <lambda>\(t, theta\)"),
        (lambda t, theta, omega, gain: 0.0, r"got <lambda>\(t, theta, omega, gain\); give"),
        (lambda t, *, gain: 0.0, r"got <lambda>\(t, \*, gain\)"),
        (numba.njit(lambda t, theta: 0.0), r"got <lambda>\(t, theta\)"),
    ],
)
def test_functions_of_other_arguments_are_refused(function, message):
    with pytest.raises(ModelError, match=message):
        JointTorque(function)


@pytest.mark.parametrize(
    ("function", "of_state"),
    [
        (math.sin, False),
        (np.sin, False),
        (lambda t=0.0: 0.0, False),
        (lambda t, gain=2.0: 0.0, False),
        (lambda *values: 0.0, False),
        (lambda t, theta, omega: 0.0, True),
        (lambda t, theta, omega, gain=1.0: 0.0, True),
        (numba.njit(lambda t: 0.0), False),
        (in_c, True),
    ],
)
def test_functions_of_the_time_and_of_the_state(function, of_state):
    assert JointTorque(function).takes_state == of_state


@pytest.mark.parametrize(
    "function",
    [
        numba.njit(lambda t: 3.0 * t),
        numba.njit(lambda t: (3.0 * t, 3.0 * t)),
        numba.njit(lambda t, theta, omega: 3.0 * t),
        numba.njit(lambda t, theta, omega: (3.0 * t, 3.0 * t)),
        numba.njit(lambda t, theta, omega: np.array([3.0 * t, 3.0 * t])),
        numba.njit("float64(float64, float64[:], float64[:])")(lambda t, theta, omega: 3.0 * t),
    ],
)
def test_what_compiled_functions_return(function):
    wanted = simulate(TWO.with_loads(JointTorque(lambda t: 3.0 * t)), 0.5, t_end=1.0)
    assert np.array_equal(simulate(TWO.with_loads(JointTorque(function)), 0.5, t_end=1.0).theta, wanted.theta)


def test_whole_numbers_beside_floats():
    chain = TWO.with_loads(JointTorque(numba.njit(lambda t, theta, omega: (0, -0.5 * omega[1]))))
    wanted = TWO.with_loads(JointTorque(lambda t, theta, omega: [0.0, -0.5 * omega[1]]))
    assert np.array_equal(simulate(chain, 0.5, t_end=1.0).theta, simulate(wanted, 0.5, t_end=1.0).theta)


@numba.cfunc("float64(float64)")
def another(t):
    return 1.0


def of_text(t, theta, omega):
    return "one"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (another, r"must be a C function of the signature .*float64\*.* got \(float64,?\) -> float64; decorate it by numba\.cfunc"),
        (numba.njit(of_text), r"Numba cannot compile of_text: .*it must return a number, a tuple of numbers or an array"),
        (numba.njit(lambda t, theta, omega: theta.nothing), r"Numba cannot compile <lambda>: Unknown attribute 'nothing'"),
        (numba.njit(lambda t, theta, omega: (0.0, 0.0, 0.0)), r"must return a number or 2 of them, got \(0\.0, 0\.0, 0\.0\)"),
        (numba.njit(lambda t: (0.0, 0.0, 0.0)), r"must return a number or 2 of them, got \(0\.0, 0\.0, 0\.0\) at t = 0"),
        (numba.njit(lambda t, theta, omega: np.zeros(1)), r"must return a number or 2 of them, got array\(\[0\.\]\)"),
        (lambda t, theta, omega: None, "must return a number or 2 of them, got None"),
        (lambda t, theta, omega: [0.0], r"must return a number or 2 of them, got \[0\.0\] at t = 0"),
    ],
)
def test_functions_that_give_no_torques_are_refused(function, message):
    with pytest.raises(ModelError, match=message):
        simulate(TWO.with_loads(JointTorque(function)), 0.5, t_end=1.0)


@numba.njit
def burnt_out(t, theta, omega):
    if t > 0.5:
        raise ValueError("the motor burnt out")
    return 0.1


@pytest.mark.parametrize("function", [burnt_out, burnt_out.py_func], ids=["compiled", "in Python"])
@pytest.mark.parametrize("integrator", ["DOP853", "RK4", "Gauss", "Radau"])
def test_a_law_that_raises_ends_the_run_with_its_message(integrator, function, capfd):
    message = r"the torque function failed near t = 0\.[45][0-9]* s: ValueError: the motor burnt out"
    with pytest.raises(SimulationError, match=message) as caught:
        simulate(TWO.with_loads(JointTorque(function)), [1.0, 2.0], t_end=1.0, **settings(integrator))
    assert caught.value.status.code == "torque_failed"
    assert "Exception" not in capfd.readouterr().err
    assert 0.4 < caught.value.run.t[-1] <= 0.5


def test_a_compiled_law_that_gives_no_number_ends_the_run():
    nowhere = numba.njit(lambda t, theta, omega: math.nan if t > 0.5 else 0.0)
    with pytest.raises(SimulationError, match=r"the motion stopped being finite after t = 0\.[45].*look at the loads"):
        simulate(TWO.with_loads(JointTorque(nowhere)), 0.5, t_end=1.0)
    half = numba.cfunc(torque_signature)(_fills_one)
    with pytest.raises(SimulationError, match=r"the motion stopped being finite after t = 0 s"):
        simulate(TWO.with_loads(JointTorque(half)), 0.5, t_end=1.0)


def _fills_one(t, theta, omega, torque, n):
    torque[0] = 1.0


def test_other_gains_compile_no_steps_again():
    def law(gain):
        return numba.njit(lambda t, theta, omega: -gain * omega[0])

    runs = [simulate(TWO.with_loads(JointTorque(law(1.0))), 0.5, t_end=1.0)]
    before = len(steps.advance.overloads)
    runs += [simulate(TWO.with_loads(JointTorque(law(2.0))), 0.5, t_end=1.0)]
    assert len(steps.advance.overloads) == before > 0
    assert np.abs(runs[0].theta - runs[1].theta).max() > 1e-3


def test_series_refuse_functions():
    with pytest.raises(
        ModelError, match="Taylor needs torques with a series: numbers, sines or tables, not a function; use DOP853"
    ):
        simulate(FED_BACK, 0.5, t_end=1.0, integrator=Taylor())


# Ensembles -------------------------------------------------------------------------------------------------------------


STARTS = np.random.default_rng(0).uniform(-2, 2, (37, 2))


@pytest.mark.parametrize("law", [spring_and_damper, spring_and_damper.py_func], ids=["compiled", "in Python"])
def test_members_move_as_alone(law, monkeypatch):
    used = []
    for name in ("compute_in_lanes", "compute_each"):
        engine = getattr(engines, name)
        monkeypatch.setattr(engines, name, lambda *given, name=name, engine=engine: used.append(name) or engine(*given))
    method, count = DOP853(1e-11, 1e-11), len(STARTS) if law is spring_and_damper else 3
    many = simulate_many(TWO.with_loads(JointTorque(law)), STARTS[:count], t_end=1.0, integrator=method, backend=Threads(2))
    assert set(used) == {"compute_in_lanes" if law is spring_and_damper else "compute_each"}
    alone = simulate_many(PASSIVE, STARTS[:count], t_end=1.0, integrator=method)
    np.testing.assert_allclose(many.theta, alone.theta, rtol=0, atol=1e-8)


def test_outputs_between_steps_in_lanes():
    """A flip and a sample are evaluated in single lanes, whose numbers lie apart."""
    keep = (Final(), nlink.Samples([0.3, 0.9]), nlink.FlipTime(), nlink.EnergyDrift(), nlink.Extremes())
    fast, theta = np.array([[2.0, 1.0], [3.0, -2.0], [1.0, 3.0]]), np.tile([1.0, 2.0], (3, 1))
    one, other = (
        simulate_many(chain, theta, 4 * fast, t_end=1.0, keep=keep, integrator=DOP853(1e-11, 1e-11))
        for chain in (FED_BACK, PASSIVE)
    )
    for name in ("flip_time", "sample_theta", "largest_omega", "theta"):
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-7, err_msg=name)
    assert np.isfinite(one.flip_time).any()
    assert float(one.energy_drift.max()) < 1e-7


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("integrator", [DOP853(1e-11, 1e-11), "RK4(step=0.001)"], ids=["lanes", "one by one"])
def test_what_varies_is_added_to_a_law(law, integrator):
    vary = {
        "joint_torque": [0.0, 1.0],
        "joint_torque.amplitude[2]": [2.0, 3.0],
        "joint_torque.frequency": [0.5, 0.7],
        "mass[1]": [1.0, 2.0],
    }
    chain = TWO.with_loads(JointTorque(law))
    many = simulate_many(chain, [0.5, -1.0], t_end=1.0, vary=vary, integrator=integrator)
    for k in range(2):
        constant, size, frequency, mass = (values[k] for values in vary.values())

        def torques(t, theta, omega, constant=constant, size=size, frequency=frequency):
            return in_python(t, theta, omega) + constant + np.array([0.0, size * math.sin(2 * math.pi * frequency * t)])

        first = Link(1.0, mass, 0.5, TWO.links[0].inertia)
        run = simulate(Chain([first, TWO.links[1]], [JointTorque(torques)]), [0.5, -1.0], t_end=1.0, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(many.theta[k], run.theta[-1], rtol=0, atol=1e-8)


@pytest.mark.parametrize("law", [spring_and_damper, spring_and_damper.py_func], ids=["compiled", "in Python"])
def test_exponents_of_members(law):
    controlled = TWO.with_loads(JointTorque(law))
    one = simulate_many(controlled, STARTS[:3], t_end=1.0, keep=(FTLE(), Final()))
    other = simulate_many(PASSIVE, STARTS[:3], t_end=1.0, keep=(FTLE(), Final()), integrator=DOP853(1e-12, 1e-12))
    np.testing.assert_allclose(one.ftle, other.ftle, rtol=0, atol=1e-7)
    with pytest.raises(ModelError, match=r"one by one \(pins, torque functions\) takes no t_end < 0"):
        simulate_many(controlled, STARTS[:3], t_end=-1.0, keep=FTLE())


def test_gpus_and_clusters_refuse_what_they_cannot_take(monkeypatch):
    monkeypatch.setattr(gpu, "usable_cuda", lambda: None)
    with pytest.raises(ModelError, match="Cuda takes open chains without torque functions"):
        simulate_many(FED_BACK, STARTS, t_end=1.0, integrator="DOP853", backend=Cuda())
    with pytest.raises(
        ModelError, match=r"Dask cannot send a numba\.cfunc to its workers; give the torque as a numba\.njit function"
    ):
        simulate_many(TWO.with_loads(JointTorque(in_c)), STARTS, t_end=1.0, backend=Dask("tcp://127.0.0.1:1"))


def test_a_compiled_law_travels_to_other_processes():
    import cloudpickle

    for function in (spring_and_damper, lqr(TWO).torque):
        there = pickle.loads(cloudpickle.dumps(TWO.with_loads(JointTorque(function))))
        wanted = formulate(TWO.with_loads(JointTorque(function))).accelerations([1.0, 2.0], 0.5)
        assert np.array_equal(formulate(there).accelerations([1.0, 2.0], 0.5), wanted)


def test_stores_know_laws_apart():
    def c_function(gain):
        def law(t, theta, omega, torque, n):
            torque[0] = torque[1] = gain

        return numba.cfunc(torque_signature)(law)

    def njit_function(gain):
        return numba.njit(lambda t: gain)

    for made in (c_function, njit_function):
        same, again, other = (digest(JointTorque(made(gain))) for gain in (1.0, 1.0, 2.0))
        assert same == again != other
    code = "def law(t):\n    return GAIN"
    laws = []
    for gain in (1.0, 1.0, 2.0):
        exec(code, made := {"GAIN": gain})
        laws.append(digest(JointTorque(made["law"])))
    assert laws[0] == laws[1] != laws[2]


# Small motions and exponents -------------------------------------------------------------------------------------------


@each_law
def test_derivatives_of_a_law(law):
    theta, omega = np.array([0.4, 1.3, -0.2]), np.array([0.5, -1.0, 2.0])
    chain = Chain.uniform(3).with_loads(JointDamper(0.2), JointTorque(law))
    found, system, far = linearize(chain, theta, omega), formulate(chain), 1e-5
    wanted = np.zeros((6, 6))
    state = np.concatenate([theta, omega])
    for j in range(6):
        step = far * np.eye(6)[j]
        wanted[:, j] = (system(0.0, state + step) - system(0.0, state - step)) / (2 * far)
    np.testing.assert_allclose(found.A, wanted, rtol=0, atol=1e-7 * np.abs(wanted).max())
    np.testing.assert_allclose(
        found.C - linearize(Chain.uniform(3).with_loads(JointDamper(0.2)), theta, omega).C, by_hand(theta), atol=1e-9
    )


def by_hand(theta):
    """The damping that the law adds, by hand."""
    D = np.eye(3) - np.eye(3, k=-1)
    rates = np.outer(np.ones(3), [0.0, 0.0, 0.1 * theta[0]]) - 0.4 * D
    return -D.T @ rates


def test_equilibria_modes_and_exponents_are_those_of_the_loads_that_a_law_replaces():
    rest, wanted = equilibrium(FED_BACK), equilibrium(PASSIVE)
    np.testing.assert_allclose(rest.theta, wanted.theta, rtol=0, atol=1e-10)
    assert rest.stable == wanted.stable
    one, other = (linearize(chain, wanted.theta) for chain in (FED_BACK, PASSIVE))
    np.testing.assert_allclose(one.K, other.K, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.C, other.C, rtol=0, atol=1e-9)
    one, other = (nlink.lyapunov(chain, [2.0, 1.0], [3.0, 0.0], t_end=3.0) for chain in (FED_BACK, PASSIVE))
    np.testing.assert_allclose(one.exponents, other.exponents, rtol=0, atol=1e-6)
    assert abs(one.sum - one.divergence) < 1e-9
    assert one.divergence == pytest.approx(other.divergence, abs=1e-6)


def test_modes_of_a_long_chain_know_its_law():
    chain = Chain.uniform(300)
    stiff = numba.njit(lambda t, theta, omega: np.append(-1e4 * theta[0], np.zeros(299)))
    springs = chain.with_loads(JointSpring([1e4, *[0.0] * 299]))
    one, other = (nlink.modes(each, count=1)[0].frequency for each in (chain.with_loads(JointTorque(stiff)), springs))
    assert one == pytest.approx(other, rel=1e-9)
    assert one != pytest.approx(nlink.modes(chain, count=1)[0].frequency, rel=1e-6)


def test_a_law_that_holds_a_chain_in_small_motions():
    regulator = lqr(TWO, [1.0, 2.0])
    chain = TWO.with_loads(JointTorque(regulator.torque))
    small = simulate(chain, [1.001, 2.0], t_end=1.0, formulation=Linear(about=(1.0, 2.0)))
    exact = simulate(chain, [1.001, 2.0], t_end=1.0)
    np.testing.assert_allclose(small.theta, exact.theta, rtol=0, atol=1e-5)
    assert abs(small.energy().residual).max() < 1e-9
    pushed = TWO.with_loads(JointTorque(lambda t, theta, omega: math.cos(t)))
    assert simulate(pushed, 0.0, t_end=0.1, formulation="linear").status.ok
    with pytest.raises(ModelError, match="linear needs an equilibrium"):
        formulate(TWO.with_loads(JointTorque(spring_and_damper)), Linear(about=1.0))


# Regulators ------------------------------------------------------------------------------------------------------------


def independent(chain, theta, Q, R, joints):
    """Return gains by eigenvectors of the Hamiltonian matrix, with A and B from differences of the equations of motion."""
    n, far = chain.n, 1e-5

    def rates(x, u):
        torque = np.zeros(n)
        torque[joints] = u
        return formulate(chain.with_loads(JointTorque(torque))).__call__(0.0, np.concatenate([theta, np.zeros(n)]) + x)

    none, size = np.zeros(len(joints)), 2 * n
    A = np.stack([(rates(far * e, none) - rates(-far * e, none)) / (2 * far) for e in np.eye(size)], 1)
    B = np.stack([rates(np.zeros(size), e) - rates(np.zeros(size), none) for e in np.eye(len(joints))], 1)
    values, vectors = np.linalg.eig(np.block([[A, -B @ np.linalg.solve(R, B.T)], [-Q, -A.T]]))
    stable = vectors[:, values.real < 0]
    P = np.real(stable[size:] @ np.linalg.inv(stable[:size]))
    return np.linalg.solve(R, B.T @ P), values[values.real < 0]


CASES = {
    "both joints": {},
    "acrobot": {"joints": [1]},
    "pendubot": {"joints": [0], "Q": [10.0, 5.0, 1.0, 1.0], "R": 0.5},
    "weights as matrices": {"Q": np.diag([3.0, 2.0, 1.0, 1.0]) + 0.5, "R": [[2.0, 0.3], [0.3, 1.0]]},
    "hanging": {"theta": 0.0, "joints": [1]},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_gains_are_those_of_another_method(case):
    chain = TWO.with_loads(JointDamper(0.1))
    joints = case.get("joints", [0, 1])
    Q, R = (np.asarray(case.get(name, 1.0)) for name in "QR")
    Q = np.diag(np.broadcast_to(Q, 4)) if Q.ndim < 2 else Q
    R = np.diag(np.broadcast_to(R, len(joints))) if R.ndim < 2 else R
    regulator = lqr(chain, **case)
    gains, values = independent(chain, np.full(2, case.get("theta", math.pi)), Q, R, joints)
    np.testing.assert_allclose(regulator.K, gains, rtol=1e-6, atol=1e-6 * np.abs(gains).max())
    assert _apart(regulator.eigenvalues, values) < 1e-6 * np.abs(values).max()
    A, B, P = regulator.A, regulator.B, regulator.P
    left = A.T @ P + P @ A - P @ B @ np.linalg.solve(R, B.T @ P) + Q
    assert np.abs(left).max() < 1e-9 * np.abs(A.T @ P).max()
    small = linearize(chain.with_loads(JointTorque(regulator.torque)), regulator.theta)
    assert _apart(small.eigenvalues, regulator.eigenvalues) < 1e-8 * np.abs(values).max()


def _apart(values, others):
    """The largest distance of a value from the nearest of the others."""
    return np.abs(np.subtract.outer(values, others)).min(1).max()


def test_one_rod_by_hand():
    """x'' = a x + b u with the weights 1: the gains are roots of quadratic equations."""
    regulator = lqr(Chain.uniform(1))
    a, b = 1.5 * 9.81, 3.0
    first = (a + math.sqrt(a * a + b * b)) / b
    np.testing.assert_allclose(regulator.K, [[first, math.sqrt(2 * first / b + 1)]], rtol=1e-12)


@pytest.mark.parametrize("joints", [None, [1], [0]], ids=["both joints", "acrobot", "pendubot"])
def test_a_double_pendulum_stays_upright(joints):
    chain = TWO.with_loads(JointDamper(0.05))
    regulator = lqr(chain, joints=joints)
    balanced = chain.with_loads(JointTorque(regulator.torque))
    upright = np.array([math.pi, math.pi]) + 2 * math.pi * np.array([3, -2])  # after some turns
    run = simulate(balanced, upright + 0.01, [0.01, 0.0], t_end=20.0)
    np.testing.assert_allclose(run.theta[-1], upright, rtol=0, atol=1e-8)
    assert abs(run.energy().residual).max() < 1e-8
    assert abs(run.energy().work["joint_torque"]).max() > 1e-5
    left = simulate(chain, upright + 0.01, [0.01, 0.0], t_end=20.0)
    assert np.abs(left.theta[-1] - upright).max() > 1.0
    passive = [i for i in range(2) if i not in regulator.joints]
    assert all(torque == 0.0 for torque in np.array(regulator.torque(0.0, upright + 0.1, np.ones(2)))[passive])


def test_a_regulator_holds_a_posture_and_serves_a_law_of_ones_own():
    regulator = lqr(TWO, [1.0, 2.0])
    np.testing.assert_allclose(regulator.hold, [9.81 * (1.5 * math.sin(1.0) + 0.5 * math.sin(2.0)), 9.81 * 0.5 * math.sin(2.0)])
    hold = regulator.torque

    @numba.njit
    def limited(t, theta, omega):
        first, second = hold(t, theta, omega)
        return min(20.0, max(-20.0, first)), min(20.0, max(-20.0, second))

    run = simulate(TWO.with_loads(JointTorque(limited)), [1.1, 1.9], t_end=20.0)
    np.testing.assert_allclose(run.theta[-1], [1.0, 2.0], atol=1e-4)


def test_torques_of_the_chain_itself_are_replaced():
    one, other = lqr(TWO), lqr(TWO.with_loads(JointTorque([3.0, Sine(1.0, 2.0)])))
    assert np.array_equal(one.K, other.K)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lqr(Chain.uniform(3, pin=(1.0, 0.0))), r"lqr does not support closed chains \(Chain\.pin\); omit the pin"),
        (lambda: lqr(TWO, joints=[2]), r"joints must be different numbers from 0 to 1, got \[2\]"),
        (lambda: lqr(TWO, joints=[1, 1]), "joints must be different"),
        (lambda: lqr(TWO, joints=[]), "joints must be different"),
        (lambda: lqr(TWO, [1.0, 2.0], joints=[1]), r"joints \[1\] cannot hold the chain at theta: a moment of .* let more joints"),
        (
            lambda: lqr(TWO, Q=[1.0, 2.0]),
            r"Q must be a number, 4 of them or a symmetric matrix of 4 x 4 \(2 N\), got \[1\.0, 2\.0\]",
        ),
        (lambda: lqr(TWO, R=[[1.0, 2.0], [0.0, 1.0]]), "R must be a number, 2 of them or a symmetric matrix"),
        (lambda: lqr(TWO, Q="much"), "Q must be a number"),
        (lambda: lqr(TWO, R=0.0), "a Q without negative and an R with positive eigenvalues"),
        (lambda: lqr(TWO, Q=[1.0, 1.0, 1.0, -1.0]), "a Q without negative"),
        (lambda: lqr(TWO, 0.0, Q=0.0), "the Riccati equation has no solution"),
        (
            lambda: lqr(Chain.uniform(2, loads=Gravity(0.0)), joints=[1]),
            r"joints \[1\] have no influence on a motion with the eigenvalue .*; let another joint be driven",
        ),
    ],
)
def test_regulators_that_there_are_not(call, message):
    with pytest.raises(ModelError, match=message):
        call()


def test_scipy_agrees():
    regulator = lqr(TWO, joints=[1])
    P = scipy.linalg.solve_continuous_are(regulator.A, regulator.B, np.eye(4), np.eye(1))
    np.testing.assert_allclose(regulator.K, regulator.B.T @ P, rtol=1e-9)
