"""Tables of torques: knots are step boundaries, in one compiled call from knot to knot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlink import DOP853, RK4, RK45, Chain, Flip, Gauss, Gravity, JointTorque, Link, ModelError, Table, Taylor, flow, simulate
from nlink.compiled.jit import Direct
from nlink.ensemble.kernels.lanes import next_break
from nlink.formulations import formulate
from nlink.integrators import steps
from nlink.integrators.base import ARRIVED, Restart
from nlink.mechanics.kernels import chain_parameters
from nlink.mechanics.torques import piece
from nlink.simulation import loop
from nlink.view.words import run_lines

METHODS = [DOP853(), Taylor(1e-13, 16), RK45(), RK4(step=0.013), Gauss(step=0.017)]
ROD = Link(1.0, 1.0, 0.5, 0.75)
"""of inertia 1 about its hinge"""
TENT = Table([0.0, 0.25, 1.0], [0.0, 1.0, -2.0])


def driven(table=TENT):
    return Chain([ROD], [Gravity(0.0), JointTorque(table)])


def taken(stepper, calls):
    """Return times and states of all steps of some calls."""
    found = []
    for bounds in calls:
        chunk = stepper.advance(np.array(bounds), 1000)
        assert chunk.code == ARRIVED
        found += [np.append(t, y) for t, y in zip(chunk.t[1:], chunk.y[1:].copy(), strict=True)]
    return np.array(found)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("t_end", [0.9, -0.9])
def test_steps_are_the_same_in_one_call_and_in_one_for_each_knot(method, t_end):
    times = np.linspace(-1, 1, 9)
    system = formulate(Chain.uniform(2).with_loads(JointTorque(Table(times, np.sin(7 * times)))))
    mark = Restart(0.0, 0.0, np.concatenate([[0.5, -1.0, 0.0, 0.0], np.zeros(system.full_size - 4)]))
    bounds = system.bounds(0.0, t_end)
    assert len(bounds) == 4
    at_once = taken(method.stepper(system, mark, t_end), [bounds])
    # with a bound for each call, only the last call is the final one
    stepper, one_by_one = method.stepper(system, mark, t_end), []
    for bound in bounds:
        chunk = stepper.advance(np.array([bound]), 1000, final=bool(bound == t_end))
        one_by_one += [np.append(t, y) for t, y in zip(chunk.t[1:], chunk.y[1:].copy(), strict=True)]
    np.testing.assert_array_equal(at_once, one_by_one)
    assert set(bounds[:-1]) <= set(at_once[:, 0])


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_run_goes_on_to_the_bit_from_within_a_piece(method):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        chain = Chain.uniform(1).with_loads(JointTorque(Table(np.sort(rng.uniform(0, 2, 9)), rng.normal(size=9))))
        whole = simulate(chain, 1.0, t_end=2.0, save=0.1, integrator=method)
        parts = simulate(chain, 1.0, t_end=1.1, save=0.1, integrator=method).resume(2.0)
        np.testing.assert_array_equal(parts.theta, whole.theta)


@pytest.mark.parametrize("method", [RK4(step=0.1), Gauss(step=0.1)], ids=lambda method: method.name)
@pytest.mark.parametrize("t_end", [0.25, 0.23])
def test_a_fixed_step_over_the_end_does_not_cross_a_knot(method, t_end):
    wanted = 4 * t_end**3 / 6  # theta'' = 4 t
    run = simulate(driven(), 0.0, t_end=t_end, save=(t_end,), integrator=method)
    assert abs(run.theta[-1, 0] - wanted) < 1e-15
    assert abs(flow(driven(), integrator=method)([0.0], t=t_end)[0][0] - wanted) < 1e-15


TIMES = st.lists(st.integers(-20, 20), min_size=1, max_size=12, unique=True).map(sorted)


@given(TIMES, st.integers(-25, 25), st.booleans())
def test_the_piece_of_a_bound(times, bound, ahead):
    table = np.array([[t, (7 * t) % 5] for t in times], float)
    value, slope = piece.py_func(bound - 0.5 if ahead else bound + 0.5, float(bound), ahead, table, 0, len(table))
    middle = bound - 0.5 if ahead else bound + 0.5
    assert abs(value - np.interp(middle, *table.T)) < 1e-12
    assert abs(slope - (np.interp(middle + 0.25, *table.T) - np.interp(middle - 0.25, *table.T)) / 0.5) < 1e-12


@given(TIMES, st.integers(-25, 25), st.integers(-25, 25))
def test_the_next_break(times, t, t_end):
    breaks = np.array(times, float)
    on_the_way = sorted((b for b in times if min(t, t_end) < b < max(t, t_end)), key=lambda b: abs(b - t))
    assert next_break.py_func(float(t), float(t_end), breaks) == ([*on_the_way, t_end])[0]


def test_joints_share_one_table():
    numbers = chain_parameters(Chain.uniform(4).with_loads(JointTorque(TENT)))
    assert numbers.table.shape == (3, 2)
    assert numbers.spans.tolist() == [[0] * 4, [3] * 4]


def test_times_too_far_apart_are_refused():
    with pytest.raises(ModelError, match=r"Table.times\[0\] must be at most 1e\+100 in magnitude, got -1e\+308"):
        Table([-1e308, 1e308], [0.0, 1.0])


def test_the_report_says_that_a_table_has_forced_the_steps():
    times = np.linspace(0, 1, 2001)
    long = simulate(driven(Table(times, np.sin(times))), 0.0, t_end=1.0)
    assert "1,999 of the steps end at knots of a table, and a coarser table would be faster" in dict(run_lines(long))["steps"]
    assert "knots" not in dict(run_lines(simulate(driven(), 0.0, t_end=1.0)))["steps"]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("t_end", [4.0, -4.0])
def test_steps_are_the_same_whether_or_not_types_are_looked_up_at_each_call(method, t_end, monkeypatch):
    times = np.linspace(-4, 4, 33)
    chain = Chain.uniform(2).with_loads(JointTorque(Table(times, np.sin(7 * times))))
    monkeypatch.setattr(loop, "FIRST_WORK", 0)
    made = []
    monkeypatch.setattr(steps, "Direct", lambda entry: made.append(Direct(entry)) or made[-1])
    known = simulate(chain, 0.5, [-1.0, 3.0], t_end=t_end, integrator=method, events=Flip())
    assert [direct._code is not None for direct in made] == [True]
    monkeypatch.setattr(steps, "Direct", lambda entry: entry)
    each = simulate(chain, 0.5, [-1.0, 3.0], t_end=t_end, integrator=method, events=Flip())
    np.testing.assert_array_equal(known.theta, each.theta)
    assert [event.t for event in known.events] == [event.t for event in each.events]
