"""The compiled pieces: sine and cosine to the last digits, and the interpolation of tables."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from nlink.compiled.simd import sincos
from nlink.mechanics.torques import from_table

ULP = 3.0  # measured: 2.4 up to |x| = 1e7, in units of the last place of the result


@njit(fastmath={"contract"}, error_model="numpy")
def fill(x, sine, cosine):
    for i in range(len(x)):
        sine[i], cosine[i] = sincos(x[i])


@njit
def look_up(times, table, start, stop, out):
    for i in range(len(times)):
        out[i] = from_table(times[i], table, start, stop)


def both(x):
    x = np.asarray(x, float)
    sine, cosine = np.empty_like(x), np.empty_like(x)
    fill(x, sine, cosine)
    return sine, cosine


def error(got, x, exact):
    """Return the error in units of the last place of the exact value, computed with 60 digits."""
    with mpmath.workdps(60):
        wanted = exact(mpmath.mpf(float(x)))
        return float(abs(mpmath.mpf(float(got)) - wanted) / np.spacing(abs(float(wanted))))


@pytest.mark.parametrize("top", [1.0, 10.0, 1e3, 1e6])
def test_sine_and_cosine_are_right_to_the_last_digits(top):
    x = np.random.default_rng(7).uniform(-top, top, 700)
    sine, cosine = both(x)
    assert max(error(s, a, mpmath.sin) for s, a in zip(sine, x, strict=True)) < ULP
    assert max(error(c, a, mpmath.cos) for c, a in zip(cosine, x, strict=True)) < ULP


@pytest.mark.parametrize("top", [10.0, 1e3, 1e6])
def test_sine_and_cosine_agree_with_numpy_everywhere(top):
    x = np.random.default_rng(8).uniform(-top, top, 300_000)
    sine, cosine = both(x)
    assert np.max(np.abs(sine - np.sin(x))) < 4e-16
    assert np.max(np.abs(cosine - np.cos(x))) < 4e-16
    assert np.max(np.abs(sine**2 + cosine**2 - 1)) < 1e-15


def test_near_multiples_of_a_quarter_turn_the_small_values_are_right():
    """There the reduction cancels most digits: the result must still be right to the last place."""
    quarters = [*range(-9, 10), 1000, -1001, 31415, 636618, 636619, 636620, 636621]
    x = [float(k * mpmath.mpf(mpmath.pi) / 2) for k in quarters]
    sine, cosine = both(x)
    assert max(error(s, a, mpmath.sin) for s, a in zip(sine, x, strict=True)) < ULP
    assert max(error(c, a, mpmath.cos) for c, a in zip(cosine, x, strict=True)) < ULP


def test_each_quadrant_and_octant():
    for x in np.arange(-16, 17) * math.pi / 8 + 0.01:
        sine, cosine = both([x])
        assert sine[0] == pytest.approx(math.sin(x), abs=3e-16)
        assert cosine[0] == pytest.approx(math.cos(x), abs=3e-16)


def test_zero_tiny_and_odd():
    assert both([0.0]) == (0.0, 1.0)
    assert both([-0.0]) == (0.0, 1.0)
    assert both([1e-300]) == (1e-300, 1.0)
    x = np.linspace(0.1, 50.0, 999)
    (sine, cosine), (minus, same) = both(x), both(-x)
    np.testing.assert_array_equal(minus, -sine)
    np.testing.assert_array_equal(same, cosine)


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_stays_so(x):
    assert np.isnan(both([x])).all()


# Tables ---------------------------------------------------------------------------------------------------------------


def table_at(times, knots, values, before=(), after=()):
    rows = [*before, *zip(knots, values, strict=True), *after]
    out, start = np.empty(len(times)), len(before)
    look_up(np.asarray(times, float), np.array(rows, float).reshape(-1, 2), start, start + len(knots), out)
    return out


def test_a_table_is_held_at_its_ends_and_linear_between():
    got = table_at([-1.0, 0.0, 0.25, 1.0, 2.0, 3.0, 99.0], [0.0, 1.0, 3.0], [2.0, 4.0, -4.0])
    np.testing.assert_allclose(got, [2.0, 2.0, 2.5, 4.0, 0.0, -4.0, -4.0], rtol=1e-15)


def test_a_table_hits_its_knots_exactly():
    knots, values = [0.1, 0.2, 0.3, 0.7], [1.1, -2.2, 3.3, 0.4]
    assert table_at(knots, knots, values).tolist() == values


def test_one_knot_is_a_constant_and_none_is_nothing():
    assert table_at([-1.0, 2.0, 5.0], [2.0], [7.0]).tolist() == [7.0] * 3
    assert table_at([1.0], [], []).tolist() == [0.0]


def test_neighbouring_tables_are_not_read():
    before, after = [(0.0, 100.0), (9.0, 100.0)], [(0.0, -100.0), (0.5, -100.0)]
    got = table_at([-5.0, 0.5, 5.0], [0.0, 1.0], [2.0, 4.0], before, after)
    np.testing.assert_allclose(got, [2.0, 3.0, 4.0], rtol=1e-15)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12, unique=True).map(sorted), st.integers(0, 2**32 - 1))
def test_tables_are_those_of_numpy(knots, seed):
    rng = np.random.default_rng(seed)
    values, times = rng.normal(size=len(knots)), np.concatenate([rng.uniform(-60, 60, 30), knots])
    np.testing.assert_allclose(table_at(times, knots, values), np.interp(times, knots, values), rtol=1e-12, atol=1e-12)
