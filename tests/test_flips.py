"""Flips in the compiled steps: those that a search from outside finds, whatever the chunks and the room; and the times to save."""

import math

import numpy as np
import pytest
from helpers import COMPILED, settings
from hypothesis import given
from hypothesis import strategies as st

from nlink import Chain, Event, Flip, FlipTime, Gravity, JointDamper, Link, ModelError, simulate, simulate_many
from nlink.formulations import formulate
from nlink.integrators import flips
from nlink.integrators.flips import flip_room
from nlink.integrators.sampling import save_time
from nlink.integrators.save_times import save_times
from nlink.mechanics.system import System
from nlink.simulation import loop
from nlink.simulation.events import Watch

CHAOTIC = [1.5, 3.0, 1.5]


def told(run):
    return [(event.t, event.info["link"], event.info["direction"]) for event in run.events]


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_steps_find_the_flips_that_a_watch_finds(name, sign, monkeypatch):
    chain, options = Chain.uniform(3).with_loads(JointDamper(0.02)), {"t_end": sign * 6.0, **settings(name), "events": Flip()}
    inside = simulate(chain, CHAOTIC, [0.0, 8.0, -9.0], **options)
    monkeypatch.setattr(System, "angle_rows", np.empty(0, int))
    outside = simulate(chain, CHAOTIC, [0.0, 8.0, -9.0], **options)
    assert len(inside.events) > 5
    assert [event[1:] for event in told(inside)] == [event[1:] for event in told(outside)]
    for mine, its in zip(inside.events, outside.events, strict=True):
        assert abs(mine.t - its.t) <= 1e-13 * abs(its.t)
        np.testing.assert_allclose(mine.theta, its.theta, atol=1e-11)
        np.testing.assert_allclose(mine.omega, its.omega, atol=1e-9)


@pytest.mark.parametrize(
    ("formulation", "found"),
    [("recursive", True), ("momentum", True), ("lagrange", True), ("maximal", True), ("projection", False), ("natural", False)],
)
def test_which_components_of_a_state_are_angles(formulation, found):
    system = formulate(Chain.uniform(3), formulation)
    rows, theta = system.angle_rows, np.array([0.3, -1.0, 9.0])
    assert len(rows) == (3 if found else 0)
    if found:
        np.testing.assert_array_equal(system.encode(theta, np.zeros(3))[rows], theta)


@pytest.mark.parametrize("first", [0, 40, 400])
@pytest.mark.parametrize("most", [1, 64])
def test_flips_and_points_do_not_depend_on_chunks_nor_on_room(first, most, monkeypatch):
    chain = Chain.uniform(3)
    whole = simulate(chain, CHAOTIC, t_end=60.0, events=Flip())
    monkeypatch.setattr(loop, "FIRST_WORK", first)
    monkeypatch.setattr(flips, "MOST_FLIPS", most)
    run = simulate(chain, CHAOTIC, t_end=60.0, events=Flip())
    assert told(run) == told(whole)
    assert len(whole.events) > 2 * flips.MOST_IN_A_STEP * 3
    np.testing.assert_array_equal(run.theta, whole.theta)
    for mine, its in zip(run.events, whole.events, strict=True):
        np.testing.assert_array_equal(mine.theta, its.theta)


def test_a_terminal_flip_of_one_link_ends_the_steps_there():
    every = simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, events=Flip())
    first = next(event for event in every.events if event.info["link"] == 2)
    run = simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, events=[Flip(), Flip(2, terminal=True)])
    assert run.status.code == "event"
    assert run.t[-1] == first.t == run.events[-1].t
    assert run.stats.steps < every.stats.steps * 1.1 * first.t / 20.0 + 5
    assert [e.t for e in run.events if e.info["link"] != 2] == [e.t for e in every.events if e.info["link"] != 2 and e.t < first.t]


@pytest.mark.parametrize("upright", [math.pi, -math.pi, 3 * math.pi])
@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0, 30.0])
def test_a_link_that_starts_upside_down_does_not_turn_over_by_leaving(upright, rate, monkeypatch):
    chain, start = Chain.uniform(2), ([upright, 1.5], [rate, 0.0])
    run = simulate(chain, *start, t_end=6.0, events=Flip())
    assert run.events
    near = run.at([0.01]).theta[0, 0]
    for event in run.events:  # a link comes from the other side: it has been away
        assert event.info["link"] != 0 or event.t > 0.01
    assert (near - upright) * rate >= 0.0
    first = next(event for event in run.events)
    many = simulate_many(chain, [start[0]], [start[1]], t_end=6.0, keep=FlipTime())
    assert float(many.flip_time[0]) == pytest.approx(first.t, rel=1e-7)
    assert int(many.flip_link[0]) == first.info["link"] + 1
    monkeypatch.setattr(System, "angle_rows", np.empty(0, int))
    assert [event[1:] for event in told(simulate(chain, *start, t_end=6.0, events=Flip()))] == [event[1:] for event in told(run)]


def test_a_link_that_rests_upside_down_never_turns_over():
    assert simulate(Chain.uniform(2), -math.pi, t_end=2.0, events=Flip()).events == []
    assert simulate(Chain.uniform(2), math.pi, t_end=2.0, events=Flip(terminal=True)).status.code == "finished"


def test_turns_within_the_first_step_from_upside_down():
    free = Chain([Link(1.0, 1.0, 0.5, 0.1)], Gravity(0.0))
    run = simulate(free, math.pi, 10.0, t_end=4.0, integrator="RK4(step=2.0)", events=Flip())
    np.testing.assert_allclose([event.t for event in run.events], 0.2 * math.pi * np.arange(1, 7), atol=1e-9)


def test_more_flips_in_a_step_than_there_is_room_for_are_refused(monkeypatch):
    monkeypatch.setattr(flips, "MOST_FLIP_NUMBERS", 10)
    with pytest.raises(ModelError, match="too many links turn over about t = "):
        simulate(Chain.uniform(2), [3.1, 3.1], [30.0, 30.0], t_end=1.0, events=Flip(), integrator="RK4(step=0.5)")


def test_no_room_is_taken_where_no_flip_is_looked_for():
    none = np.empty(0, int)
    assert sum(getattr(values, "nbytes", 0) for values in flip_room(none, none, 1000, 22)) == 0


# Events of Python functions -------------------------------------------------------------------------------------------


def counted(function):
    calls = []

    def event(t, theta, omega):
        calls.append(np.ndim(t))
        return function(t, theta, omega)

    return event, calls


@pytest.mark.parametrize(
    "function",
    [
        lambda t, theta, omega: theta[0] - 0.1,
        lambda t, theta, omega: np.sin(theta[1]) + 0.2 * omega[0],
        lambda t, theta, omega: np.cos(theta).sum(0) - 1.5,
    ],
)
def test_a_function_that_takes_arrays_is_called_on_many_points_at_once(function):
    event, calls = counted(function)
    alone, one_by_one = counted(lambda t, theta, omega: float(function(t, theta, omega)))
    many, single = (simulate(Chain.uniform(2), [1.0, 2.0], t_end=10.0, events=Event(each)) for each in (event, alone))
    assert [e.t for e in many.events] == [e.t for e in single.events]
    assert len(many.events) > 5
    assert len(calls) < 0.2 * len(one_by_one)


@pytest.mark.parametrize(
    "function",
    [
        lambda t, theta, omega: math.sin(theta[0]),
        lambda t, theta, omega: theta[0] if theta[1] > 0 else theta[1],
        lambda t, theta, omega: np.sum(theta) - 0.5,
        lambda t, theta, omega: theta @ omega,
        lambda t, theta, omega: max(theta) - 0.5,
    ],
)
def test_a_function_that_does_not_take_arrays_is_called_point_by_point(function):
    event, calls = counted(function)
    run = simulate(Chain.uniform(2), [1.0, 2.0], t_end=5.0, events=Event(event))
    assert len(run.events) > 1
    assert calls.count(1) <= 1


def test_a_watch_does_not_take_a_function_of_all_points_for_one_of_each():
    """As many points as links: the largest angle of each point, and of each link, are as many numbers."""
    system = formulate(Chain.uniform(4))
    watch = Watch(Event(lambda t, theta, omega: theta.max(-1)), system, 0.0, np.zeros(8))
    states = np.random.default_rng(1).normal(size=(4, 8))
    marks = watch._marks(np.arange(4.0), states, watch.marks)
    np.testing.assert_array_equal(marks[:, 0], np.sign(states[:, :4].max(-1)))


# Times to save --------------------------------------------------------------------------------------------------------


@given(
    st.one_of(st.floats(1e-3, 3.0), st.integers(1, 400).map(lambda k: 1 / k), st.just((0.0, 0.25, 1.5, 2.0))),
    st.one_of(st.floats(2.0, 30.0), st.just(2.5)),
    st.sampled_from([1.0, -1.0]),
)
def test_times_are_computed_alike_one_by_one_and_together(save, t_end, sign):
    save = tuple(sign * t for t in save) if isinstance(save, tuple) else save
    times = save_times(save, sign * t_end)
    every = times.all()
    assert len(every) == times.total
    assert [float(save_time(times, k)) for k in range(min(times.total, 50))] == every[:50].tolist()
    np.testing.assert_array_equal(times.part(2, 5), every[2:7])
    assert times.holds(every).all()
    assert not times.holds(every[1:-1] + 1e-7).any()
    for t in (*every[:3], *every[-3:], 0.3 * sign, sign * t_end, 0.5 * (every[0] + every[1])):
        assert times.until(t) == int(np.searchsorted(sign * every, sign * t, side="right"))
    if not isinstance(save, tuple):
        assert every[0] == 0.0
        assert every[-1] == pytest.approx(sign * t_end, abs=1e-9 * save)


def test_a_long_grid_takes_no_memory():
    times = save_times(0.01, 1e6)
    assert times.total == 10**8 + 1
    assert times.listed.nbytes == 0
    assert times.part(10**8, 3).tolist() == [1e6]
