"""What `vary` means: it replaces one value of the chain and leaves the others, whatever engine follows the members."""

from dataclasses import replace

import numba
import numpy as np
import pytest
from by_hand import NAMES, WHOLE, by_hand
from helpers import chains, random_chain, rates
from hypothesis import given, settings
from hypothesis import strategies as st

from nlink import (
    DOP853,
    FTLE,
    RK4,
    RK45,
    Chain,
    EnergyDrift,
    Extremes,
    Final,
    FlipTime,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    ModelError,
    Samples,
    Sine,
    Table,
    Taylor,
    simulate,
    simulate_many,
)
from nlink.ensemble import make_job
from nlink.ensemble.engines import flagged, side_by_side
from nlink.ensemble.varied import Varied
from nlink.formulations import formulate
from nlink.mechanics.kernels import chain_parameters
from nlink.mechanics.parameters import TORQUE

TABLE = Table([0.0, 0.1, 0.3], [1.0, -2.0, 3.0])
TORQUES = {
    "none": None,
    "number": 2.0,
    "list": [2.0, -1.0],
    "Sine": Sine(2.0, 0.7, 0.3),
    "Table": TABLE,
    "mixed": [Sine(2.0, 0.7, 0.3), TABLE],
    "mixed with a number": [TABLE, 1.5],
    "function": lambda t: [1.0 + t, -2.0 * t],
    "function of one number": lambda t: 3.0 * t,
    "compiled function": numba.njit(lambda t: (1.0 + t, -2.0 * t)),
}
ENGINES = {
    "Taylor": Taylor(1e-12),
    "DOP853": DOP853(1e-11, 1e-11),
    "RK45": RK45(1e-11, 1e-11),
    "RK4": RK4(step=0.001),
}
FINE = DOP853(1e-12, 1e-12)
FULL = random_chain(2)[0]
"""every load, unequal links; torques that vary are in TORQUES"""
LINEAR = by_hand(FULL, {"drag.quadratic": 0.0})
"""what Taylor takes in lanes, but for its torque"""
CHAINS = {
    "bare": Chain.uniform(2, loads=Gravity(0.0)),
    "full": FULL,
    "full but for quadratic drag and tables": LINEAR.with_loads(JointTorque([1.5, Sine(2.0, 0.7, 0.3)])),
}
CLOSED = {
    "bare": Chain.uniform(3, pin=(1.0, 0.0)),
    "full": replace(random_chain(3)[0], links=Chain.uniform(3).links, pin=(1.0, 0.0)),
}
NEARLY_CLOSED = [3.1, 1.6, 0.03]
KEYS = [key for name in NAMES for key in ([name] if name in WHOLE else [name, f"{name}[2]"])]
TORQUE_KEYS = [key for key in KEYS if key.startswith("joint_torque")]


def compared(chain, vary, theta, method=None, t_end=0.25):
    """Check the members of an ensemble against chains built by hand; return their angles."""
    omega = np.linspace(2.0, -1.0, chain.n)
    many = simulate_many(chain, theta, omega, t_end=t_end, vary=vary, integrator=method)
    assert (many.status == 0).all()
    for k in range(len(many.theta)):
        made = by_hand(chain, {key: values[k] for key, values in vary.items()})
        run = simulate(made, theta, omega, t_end=t_end, save=(t_end,), integrator=FINE)
        np.testing.assert_allclose(many.theta[k], run.theta[-1], atol=1e-8, err_msg=f"{vary}, member {k}")
        np.testing.assert_allclose(many.omega[k], run.omega[-1], atol=1e-7, err_msg=f"{vary}, member {k}")
    return many.theta.values


@pytest.mark.parametrize("method", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_every_parameter_of_an_open_chain(chain, method):
    for key in KEYS:
        found = compared(chain, {key: [0.4, 1.3]}, [0.5, -1.0], method)
        assert chain is CHAINS["bare"] or np.abs(found[1] - found[0]).max() > 1e-5, f"{key} changes nothing"


@pytest.mark.parametrize("method", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("torque", TORQUES.values(), ids=TORQUES)
def test_torques_of_every_kind(torque, method):
    chain = Chain.uniform(2) if torque is None else Chain.uniform(2).with_loads(JointTorque(torque))
    if callable(torque) and isinstance(method, Taylor):
        with pytest.raises(ModelError, match="not a function"):
            simulate_many(chain, 0.5, t_end=0.1, vary={"joint_torque": [1.0]}, integrator=method)
        return
    for key in TORQUE_KEYS:
        compared(chain, {key: [0.0, 1.3]}, [0.5, -1.0], method)
    compared(chain, {"joint_torque.amplitude": [0.0, 1.3], "joint_torque.phase[2]": [0.2, 1.0]}, [0.5, -1.0], method)


@pytest.mark.parametrize("chain", CLOSED.values(), ids=CLOSED)
def test_every_parameter_of_a_closed_chain(chain):
    for key in KEYS:
        value = [1.0, 1.02] if key.startswith("length") else [0.4, 1.3]
        compared(chain, {key: value}, NEARLY_CLOSED, ENGINES["DOP853"])


def test_the_torque_that_does_not_vary_stays():
    chain = Chain.uniform(1).with_loads(JointTorque(2.0))  # once -0.23479 by RK45
    for method in ENGINES.values():
        many = simulate_many(chain, 0.3, t_end=1.0, vary={"joint_torque.amplitude": [0.0]}, integrator=method)
        assert abs(float(many.theta[0, 0]) - 0.5264612) < 1e-6


@settings(max_examples=25)
@given(chain=chains(most=3), omega=rates(3), data=st.data())
def test_any_chain_with_anything_varied(chain, omega, data):
    keys = data.draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique_by=lambda key: key.split("[")[0]))
    vary = {key: data.draw(st.floats(0.5, 2.0)) for key in keys if chain.n > 1 or "[" not in key}
    varied = Varied(chain, {key: [value] for key, value in vary.items()}, 1)
    numbers, own = chain_parameters(varied.chain(0)), written(varied)
    for name in ("links", "tip", "g", "table", "spans"):
        np.testing.assert_array_equal(getattr(numbers, name), getattr(own, name), err_msg=name)
    for flag in ("loaded", "timed", "force_level", "ledger"):
        assert getattr(own, flag) >= getattr(numbers, flag), flag
    made = formulate(by_hand(chain, vary))
    theta, omega = np.linspace(-1, 2, chain.n), omega[: chain.n]
    wanted = made.accelerations(theta, omega, 0.3)
    found = formulate(varied.chain(0)).accelerations(theta, omega, 0.3)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(wanted).max()))


def written(varied):
    """Return the numbers that a lane has for the first member."""
    numbers = varied.flagged(chain_parameters(varied.base))
    links, tip, g = numbers.links.copy(), numbers.tip.copy(), np.array([numbers.g])
    arrays = {-1: g[None], -2: tip[None]}
    for (row, i), value in zip(varied.places, varied.values[0], strict=True):
        arrays.get(row, links)[row if row >= 0 else 0, i] = value
    return numbers._replace(links=links, tip=tip, g=float(g[0]))


DRIVEN = Chain.uniform(2).with_loads(JointTorque(2.0))
KEPT = (Final(), Samples((0.1, 0.3)), FlipTime(), EnergyDrift(), Extremes(), FTLE())


@pytest.mark.parametrize("method", [Taylor(1e-13), DOP853(1e-11, 1e-11), RK45(1e-11, 1e-11)], ids=["Taylor", "DOP853", "RK45"])
@pytest.mark.parametrize(
    ("chain", "vary"),
    [
        (Chain.uniform(2), {"joint_damper.damping": [0.0, 0.5], "mass[2]": [0.7, 2.0]}),
        (Chain.uniform(2), {"tip_force.fx": [3.0, 0.0], "drag.linear": [0.0, 0.4], "gravity": [0.0, 7.0]}),
        (Chain.uniform(2), {"joint_spring.stiffness": [0.0, 4.0], "joint_spring.rest[1]": [0.3, -0.6]}),
        (DRIVEN, {"joint_torque.amplitude[1]": [0.0, 5.0], "joint_torque.frequency": [0.8, 2.0]}),
    ],
)  # fmt: skip
def test_all_that_is_kept(chain, vary, method):
    start = {"theta": [2.6, 2.9], "omega": [[1.0, 3.0]] * 2, "t_end": 0.4, "keep": KEPT, "integrator": method}
    many = simulate_many(chain, vary=vary, **start)
    for k in range(2):
        made = by_hand(chain, {key: values[k] for key, values in vary.items()})
        alone = simulate_many(made, **start | {"omega": [[1.0, 3.0]], "integrator": RK45(1e-12, 1e-12)})
        for name in set(alone.data_vars) - {"steps", "energy_drift"}:
            np.testing.assert_allclose(many[name][k], alone[name][0], atol=2e-7, err_msg=name)
    assert (many.energy_drift < 1e-7).all()
    assert np.isfinite(many.flip_time).any()


@pytest.mark.parametrize(
    ("chain", "vary", "sentence"),
    [
        (Chain.uniform(2), {"mass": [1.0], "mass[1]": [2.0]}, "gives a value twice, by 'mass' and 'mass.1.'; leave one out"),
        (Chain.uniform(2), {"gravity": [1.0], "loads.gravity": [2.0]}, "gives a value twice"),
        (Chain.uniform(2), {"gravity[1]": [1.0]}, "the chain has one gravity, not one for each link; leave out .1."),
        (Chain.uniform(2), {"length": [1.0, 0.0]}, "'length' must be positive, got 0 for member 1"),
        (Chain.uniform(2), {"drag.linear": [0.0, 1.0, -2.0]}, "must not be negative, got -2 for member 2"),
        (Chain.uniform(2), {"gravity": [1.0, np.nan]}, "'gravity' must be finite, got nan for member 1"),
        (Chain.uniform(2, shape="point"), {"mass": [1.0, 0.5, 0.0]}, r"member 2: Chain.links\[1\] makes the mass matrix singular"),
        (Chain.uniform(2, shape="point"), {"mass[2]": [1.0, 0.0]}, r"member 1: Chain.links\[1\] makes the mass matrix singular"),
        (CLOSED["bare"], {"length": [1.0, 0.2]}, "member 1: Chain.pin is out of reach"),
        (CLOSED["bare"], {"length[1]": [1.0, 1.5]}, "member 1: the start leaves the last tip"),
    ],
)  # fmt: skip
def test_bad_values_are_refused_with_the_number_of_the_member(chain, vary, sentence):
    with pytest.raises(ModelError, match=sentence):
        simulate_many(chain, NEARLY_CLOSED[: chain.n], t_end=1.0, vary=vary)


def test_a_massless_link_between_others_is_valid():
    links = [Link.point(1.0, 1.0), Link.rod(1.0, 1.0), Link.rod(0.5, 2.0)]
    compared(Chain(links, [Gravity(9.81)]), {"mass[1]": [0.0, 1.0], "inertia[1]": [0.3, 0.0]}, [0.5, 1.0, -0.5])


def test_quadratic_drag_of_one_link_is_not_for_series_in_lanes():
    job = make_job(Chain.uniform(2), [0.5, 1.0], None, 1.0, {"drag.quadratic[2]": [0.3]}, Final())
    assert isinstance(job.method, DOP853)
    assert not side_by_side(formulate(job.chain), Taylor(1e-12), job.varied)


def test_a_card_gets_the_same_numbers_as_lanes():
    chain = Chain.uniform(2).with_loads(JointTorque(2.0), JointDamper(0.1), JointSpring(1.0, 0.2))
    job = make_job(chain, [0.5, 1.0], None, 1.0, {"joint_torque.amplitude": [0.0, 3.0]}, EnergyDrift(), on_card=True)
    numbers = flagged(job.part(0, 1))
    assert (numbers.timed, numbers.loaded, numbers.ledger > 0) == (True, True, True)
    assert numbers.links[TORQUE].tolist() == [2.0, 2.0]
