"""Lanes, duals and unrolled code: what they compute against plain numbers, lane by lane; derivatives; chains side by side."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import TOLERANCE, moving, random_chain
from hypothesis import given, settings
from hypothesis import strategies as st

import nlink
from nlink import Chain, Drag, FollowerForce, JointDamper, JointSpring, JointTorque, LinkDamper, ModelError, Sine, Taylor, TipForce
from nlink.compiled.duals import dual, rate_of
from nlink.compiled.jit import uncached
from nlink.compiled.simd import alike, anywhere, columns, power, sincos, value_of, where
from nlink.integrators.tangent import TangentStepper

LOADS = (JointSpring(2.0, 0.1), JointDamper(0.1), LinkDamper(0.05), JointTorque(Sine(1.0, 0.7, 0.2)))
SWEPT = (*LOADS, Drag(0.2), FollowerForce(0.5), TipForce(0.3, 0.2))


def several(a, b):
    """A bit of everything."""
    s, c = sincos(a)
    return where(a > b, s * b + c, -c / (abs(b) + 1.0)) + math.sqrt(abs(a)) - max(a, b) + min(a, 0.5) * 2.0


@uncached
def in_lanes(a, b, out):
    x, y, z = columns(a, 0, 8), columns(b, 0, 8), columns(out, 0, 8)
    for i in range(len(x)):
        z[i] = kernel(x[i], y[i])


kernel = uncached(several)


@uncached
def in_numbers(a, b, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = kernel(a[i, j], b[i, j])


def test_every_lane_is_as_if_alone():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 3, (6, 8)), rng.normal(0, 3, (6, 8))
    wide, each = np.empty_like(a), np.empty_like(a)
    in_lanes(a, b, wide)
    in_numbers(a, b, each)
    np.testing.assert_allclose(wide, each, rtol=1e-14)
    a[:, 3] = np.nan
    spoilt = np.empty_like(a)
    in_lanes(a, b, spoilt)
    others = [j for j in range(8) if j != 3]
    assert np.array_equal(spoilt[:, others], wide[:, others])


@uncached
def sines(x, s, c):
    for i in range(len(x)):
        s[i], c[i] = sincos(x[i])


@uncached
def roots(x, share, out):
    for i in range(len(x)):
        out[i] = power(x[i], share)


@pytest.mark.parametrize("span", [1.0, 10.0, 1e3, 3e4])
def test_sine_and_cosine_are_right_to_the_last_digits(span):
    x = np.random.default_rng(2).uniform(-span, span, 20_000)
    s, c = np.empty_like(x), np.empty_like(x)
    sines(x, s, c)
    assert np.abs(s - np.sin(x)).max() <= 2.5e-16
    assert np.abs(c - np.cos(x)).max() <= 2.5e-16


@given(st.floats(-240, 240), st.floats(-1, 1))
@settings(max_examples=50)
def test_rough_powers(exponent, share):
    x, out = np.array([10.0**exponent]), np.empty(1)
    roots(x, share, out)
    assert out[0] == pytest.approx(10.0 ** (exponent * share), rel=2e-5)


@uncached
def with_rates(a, da, b, out):
    x, dx, y, z = columns(a, 0, 4), columns(da, 0, 4), columns(b, 0, 4), columns(out, 0, 4)
    for i in range(len(x)):
        result = kernel(dual(x[i], dx[i]), y[i])
        z[2 * i], z[2 * i + 1] = value_of(result), rate_of(result)
        if anywhere(value_of(result) > 1e300):
            z[0] = alike(0.0, z[0])


def test_duals_carry_the_derivative():
    rng = np.random.default_rng(3)
    a, b, h = rng.normal(0, 2, (5, 4)), rng.normal(0, 2, (5, 4)), 1e-6
    out = np.empty((10, 4))
    with_rates(a, np.ones_like(a), b, out)
    ahead, behind, here = (np.empty_like(a) for _ in range(3))
    in_numbers(a + h, b, ahead)
    in_numbers(a - h, b, behind)
    in_numbers(a, b, here)
    np.testing.assert_allclose(out[0::2], here, rtol=1e-13)
    np.testing.assert_allclose(out[1::2], (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-7)


@uncached
def sizes_with_rates(a, da, out):
    x, dx, z = columns(a, 0, 4), columns(da, 0, 4), columns(out, 0, 4)
    v = dual(x[0], dx[0])
    result = math.sqrt(v * v) * v
    z[0], z[1] = value_of(result), rate_of(result)


def test_the_rate_of_a_root_at_zero_is_none():
    out = np.empty((2, 4))
    sizes_with_rates(np.array([[0.0, 2.0, -3.0, -0.0]]), np.ones((1, 4)), out)
    assert out.tolist() == [[0.0, 4.0, -9.0, 0.0], [0.0, 4.0, 6.0, 0.0]]


@pytest.mark.parametrize("loads", [(), LOADS, SWEPT], ids=["gravity", "moments", "swept"])
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_the_tangent_is_the_derivative_of_the_motion(n, loads):
    chain, theta, omega = random_chain(n)
    chain = Chain(chain.links, (nlink.Gravity(9.81), *loads))
    system, state, h = nlink.formulate(chain), np.concatenate([theta, omega]), 1e-6
    _code, end, tangent = TangentStepper(system, Taylor(1e-15)).advance(0.0, 0.3, state, np.eye(2 * n))
    flow = nlink.flow(chain, integrator=Taylor(1e-15))
    np.testing.assert_allclose(end, np.concatenate(flow(theta, omega, 0.3)), atol=1e-12)
    for j in range(0, 2 * n, max(1, n // 2)):
        step = h * np.eye(2 * n)[j]
        sides = [np.concatenate(flow(*np.split(state + sign * step, 2), 0.3)) for sign in (1, -1)]
        np.testing.assert_allclose(tangent[:, j], (sides[0] - sides[1]) / (2 * h), rtol=1e-5, atol=1e-6)


@uncached
def lane_sines(x, s, c):
    vectors, sine, cosine = columns(x, 0, 16), columns(s, 0, 16), columns(c, 0, 16)
    for i in range(len(vectors)):
        sine[i], cosine[i] = sincos(vectors[i])


@pytest.mark.parametrize("span", [1.0, 10.0, 1e3, 3e4, 1e6])
def test_sine_and_cosine_in_lanes_are_right_to_the_last_digits(span):
    x = np.random.default_rng(2).uniform(-span, span, (2000, 16))
    x[0] = np.arange(-8, 8) * math.pi / 4
    s, c = np.empty_like(x), np.empty_like(x)
    lane_sines(x, s, c)
    assert np.abs(s - np.sin(x)).max() <= 2.5e-16
    assert np.abs(c - np.cos(x)).max() <= 2.5e-16
    x[:, 3] = np.nan
    lane_sines(x, s, c)
    assert np.isnan(s[:, 3]).all()
    assert np.isfinite(np.delete(s, 3, axis=1)).all()


def check_side_by_side(system, states, t):
    """Each column has the rates of its chain, wherever it stands and whatever stands beside it."""
    n, together = system.chain.n, system.rates_of(states, t)
    each = np.stack([system(t, state) for state in states.T], axis=1)
    assert np.array_equal(together[:n], states[n:])
    np.testing.assert_allclose(together[n:], each[n:], rtol=0, atol=TOLERANCE["rounding"] * max(1.0, np.abs(each).max()))
    assert np.array_equal(system.accelerations_of(states, t), together[n:])
    assert np.array_equal(system.rates_of(states[:, ::-1], t), together[:, ::-1])
    for k in (0, states.shape[1] - 1):
        assert np.array_equal(system.rates_of(states[:, [k]], t), together[:, [k]])
    spoilt = states.copy()
    spoilt[:, 0] = np.nan
    assert np.array_equal(system.rates_of(spoilt, t)[:, 1:], together[:, 1:])


@pytest.mark.parametrize("plain", [True, False], ids=["gravity", "every load"])
@pytest.mark.parametrize("n", [*range(1, 21), 64])
def test_many_chains_have_the_rates_of_each(n, plain):
    chain, *_ = random_chain(n, n)
    if plain:
        chain = Chain([replace(link, offset=0.0) for link in chain.links], (nlink.Gravity(9.81),))
    check_side_by_side(nlink.formulate(chain), np.random.default_rng(n).normal(0, 2, (2 * n, 3 + 17 * (n % 4))), 0.3)


@given(moving(most=5))
@settings(max_examples=60, deadline=None)
def test_many_chains_of_any_kind_have_the_rates_of_each(given):
    chain, theta, omega, t = given
    state = np.concatenate([theta, omega])
    check_side_by_side(nlink.formulate(chain), np.stack([(1 - 0.1 * k) * state for k in range(5)], axis=1), t)


@pytest.mark.parametrize("shape", ["rod", "point"])
@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("count", [1, 31, 32, 33, 100])
def test_equal_links_side_by_side(n, count, shape):
    system = nlink.formulate(Chain.uniform(n, shape=shape, length=0.7))
    check_side_by_side(system, np.random.default_rng(n).normal(0, 2, (2 * n, count)), 0.0)


def test_a_mass_far_from_its_link_keeps_its_digits():
    rod = nlink.Link.rod(1.0, 1.0)
    chain = Chain([rod, nlink.Link(1e-6, 1.0, 1.0, 0.1), rod], (nlink.Gravity(9.81),))
    check_side_by_side(nlink.formulate(chain), np.random.default_rng(4).normal(size=(6, 5)), 0.0)


@pytest.mark.parametrize("mass", [0.0, 1e-200, 1e-4])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_tip_of_hardly_any_mass_side_by_side(n, mass):
    chain = Chain([nlink.Link.rod(1.0, 1.0)] * (n - 1) + [nlink.Link(1.0, mass, 0.3, 0.1)], (nlink.Gravity(9.81),))
    check_side_by_side(nlink.formulate(chain), np.random.default_rng(4).normal(size=(2 * n, 5)), 0.0)


@pytest.mark.parametrize("name", ["momentum", "maximal"])
def test_other_formulations_take_many_chains_one_by_one(name):
    chain, theta, omega = random_chain(3)
    system = nlink.formulate(chain, name)
    states = np.stack([system.encode(theta, omega), system.encode(2 * theta, omega)], axis=1)
    assert np.array_equal(system.rates_of(states, 0.2)[:, 1], system(0.2, states[:, 1]))
    np.testing.assert_allclose(system.accelerations_of(states, 0.2)[:, 0], system.accelerations(theta, omega, 0.2), rtol=1e-12)


@pytest.mark.parametrize("shape", [(5, 3), (6,), (3, 6)])
def test_states_of_the_wrong_shape_are_refused(shape):
    system = nlink.formulate(Chain.uniform(3))
    for many in (system.rates_of, system.accelerations_of):
        with pytest.raises(ModelError, match=r"states must be \(6, K\), a chain in each column, got shape"):
            many(np.zeros(shape))


@pytest.mark.parametrize("name", ["recursive", "momentum"])
def test_no_chains_have_no_rates(name):
    system = nlink.formulate(Chain.uniform(3), name)
    assert system.rates_of(np.empty((6, 0))).shape == (6, 0)
    assert system.accelerations_of(np.empty((6, 0))).shape == (3, 0)


def test_flow_is_the_motion():
    chain, theta, omega = random_chain(3)
    flow = nlink.flow(chain)
    run = nlink.simulate(chain, theta, omega, t_end=1.0, save=(0.4, 1.0))
    there = flow(theta, omega, 1.0)
    np.testing.assert_allclose(there[0], run.theta[-1], atol=1e-11)
    half = flow(theta, omega, 0.4)
    np.testing.assert_allclose(flow(*half, 0.6, start=0.4)[0], there[0], atol=1e-10)
    np.testing.assert_allclose(flow(*there, -1.0, start=1.0)[0], theta, atol=1e-9)
    np.testing.assert_array_equal(flow(theta, omega, 0.0)[0], theta)
    fixed = nlink.flow(chain, integrator="RK4(step=0.003)")
    np.testing.assert_allclose(fixed(theta, omega, 1.0)[0], run.theta[-1], atol=1e-6)


def test_flow_follows_torques_in_time_and_refuses_pins():
    table = JointTorque(nlink.Table((0.0, 0.5, 1.0), (0.0, 1.0, 0.0)))
    chain = Chain.uniform(2).with_loads(table)
    run = nlink.simulate(chain, 0.4, t_end=1.2, save=(0.3, 1.2))
    flow = nlink.flow(chain)
    np.testing.assert_allclose(flow(run.theta[0], run.omega[0], 0.9, start=0.3)[0], run.theta[-1], atol=1e-10)
    with pytest.raises(ModelError, match="flow takes open chains"):
        nlink.flow(nlink.preset("four-bar").chain)
    with pytest.raises(nlink.FlowError, match="could not be followed"):
        nlink.flow(Chain.uniform(2), integrator=Taylor(max_steps=3))(0.5, 0.0, 10.0)
