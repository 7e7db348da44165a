"""Events: found by root finding on the dense solution, in order, once each, and where a run goes on after one."""

import math

import numpy as np
import pytest
from helpers import COMPILED, FORMULATIONS, INTEGRATORS, TOLERANCE, reference, settings

from nlink import Chain, Event, Flip, Gravity, JointTorque, Link, ModelError, Scenario, Settings, simulate
from nlink.simulation.events import turns

FREE = Chain([Link(1.0, 1.0, 0.5, 0.1)], Gravity(0.0))  # no loads: turns at a constant rate


def passes(level, **options):
    return Event(lambda t, theta, omega: theta[0] - level, **options)


@pytest.mark.parametrize("case", reference("flips")["values"], ids=lambda case: "-".join(map(str, case["degrees"])))
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_flips_of_two_rods_are_those_of_the_reference(case, formulation):
    run = simulate(
        Chain.uniform(2),
        np.radians(case["degrees"]),
        t_end=9.0,
        rtol=1e-13,
        atol=1e-13,
        formulation=formulation,
        events=Flip(terminal=True),
    )
    assert run.status.code == "event"
    assert run.status.ok
    assert len(run.events) == 1
    event = run.events[0]
    assert event.t == pytest.approx(case["t"], abs=TOLERANCE["flip"])
    assert (event.name, event.info) == ("flip", {"link": case["link"], "direction": case["sign"]})
    assert event.theta[case["link"]] == pytest.approx(case["sign"] * math.pi, abs=1e-10)
    assert run.status.message == f"stopped at t = {event.t:.9g} s by link {case['link'] + 1} turning over"


def test_a_chain_without_the_energy_never_flips():
    """Two equal rods from rest cannot flip if 3 cos a + cos b > 2."""
    run = simulate(Chain.uniform(2), [0.5, 1.2], t_end=60.0, events=Flip())
    assert 3 * math.cos(0.5) + math.cos(1.2) > 2
    assert run.events == []
    assert np.max(np.abs(run.theta)) < math.pi


@pytest.mark.parametrize("name", INTEGRATORS)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_link_that_spins_freely_flips_at_known_times(name, sign):
    """theta = 0.3 + 4 t (or backwards): flips at every odd multiple of pi, each once, in order."""
    run = simulate(FREE, 0.3, 4.0, t_end=sign * 10.0, **settings(name), events=Flip())
    wanted = [(sign * (2 * k + 1) * math.pi - 0.3) / 4 for k in range(10) if abs((sign * (2 * k + 1) * math.pi - 0.3) / 4) < 10]
    assert len(wanted) >= 6
    np.testing.assert_allclose([event.t for event in run.events], wanted, atol=1e-6)
    assert all(event.info == {"link": 0, "direction": sign} for event in run.events)


def test_several_turns_within_one_step():
    """Steps of 2 s at 10 rad/s: three flips in each."""
    run = simulate(FREE, 0.3, 10.0, t_end=4.0, integrator="RK4(step=2.0)", events=Flip())
    wanted = [((2 * k + 1) * math.pi - 0.3) / 10 for k in range(20)]
    np.testing.assert_allclose([event.t for event in run.events], [t for t in wanted if t < 4.0], atol=1e-9)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize(("direction", "parity"), [(0, None), (1, 1), (-1, 0)])
def test_directions(name, direction, parity):
    """One rod passes straight down first to the left (minus), then to the right, and so on."""
    run = simulate(Chain.uniform(1), 0.5, t_end=10.0, **settings(name), events=passes(0.0, direction=direction))
    every = simulate(Chain.uniform(1), 0.5, t_end=10.0, **settings(name), events=passes(0.0)).events
    assert [event.info["direction"] for event in every] == [(-1) ** (k + 1) for k in range(len(every))]
    assert len(every) > 10
    wanted = every if parity is None else every[parity::2]
    assert [event.t for event in run.events] == [event.t for event in wanted]


@pytest.mark.parametrize("name", INTEGRATORS)
def test_a_terminal_event_ends_the_run_there(name):
    options = {"t_end": 5.0, **settings(name), "save": 0.1}
    run = simulate(Chain.uniform(2), [1.0, 2.0], events=passes(0.25, terminal=True, name="low"), **options)
    assert run.status == ("event", f"stopped at t = {run.events[0].t:.9g} s by low", "")
    event = run.events[0]
    assert len(run.events) == 1
    assert run.t[-1] == event.t
    assert run.theta[-1, 0] == pytest.approx(0.25, abs=1e-9)
    np.testing.assert_array_equal(run.theta[-1], event.theta)
    np.testing.assert_array_equal(run.omega[-1], event.omega)
    np.testing.assert_allclose(run.t[:-1], np.arange(len(run.t) - 1) / 10, atol=1e-15)
    assert run.t[-2] < event.t <= run.t[-2] + 0.1
    assert run.checkpoint.t == event.t
    assert run.knots is None or np.max(run.knots.t) <= event.t


def test_events_do_not_stop_a_run_unless_terminal():
    run = simulate(Chain.uniform(1), 0.5, t_end=5.0, events=[passes(0.0), Flip()])
    assert run.status.code == "finished"
    assert run.t[-1] == 5.0


def test_nothing_after_a_terminal_event_is_reported():
    first, later = passes(0.4, terminal=True, name="first"), passes(0.39, name="later")
    run = simulate(Chain.uniform(1), 0.5, t_end=5.0, events=[later, first])
    assert [event.name for event in run.events] == ["first"]


def test_several_events_come_in_order_of_time():
    events = [passes(level, name=f"at {level}") for level in (0.1, 0.4, -0.2, 0.3)]
    run = simulate(Chain.uniform(1), 0.5, t_end=4.0, events=events)
    times = [event.t for event in run.events]
    assert times == sorted(times)
    assert [event.name for event in run.events][:4] == ["at 0.4", "at 0.3", "at 0.1", "at -0.2"]
    for event in run.events:
        assert event.theta[0] == pytest.approx(float(event.name.removeprefix("at ")), abs=1e-9)


def test_several_links_flip_in_order_and_by_number():
    run = simulate(Chain.uniform(3), [math.pi / 2, math.pi, math.pi / 2], t_end=15.0, events=Flip())
    times, links = [event.t for event in run.events], [event.info["link"] for event in run.events]
    assert times == sorted(times)
    assert len(set(links)) >= 2
    for link in range(3):
        alone = simulate(Chain.uniform(3), [math.pi / 2, math.pi, math.pi / 2], t_end=15.0, events=Flip(link)).events
        assert [event.t for event in alone] == [t for t, k in zip(times, links, strict=True) if k == link]
        assert all(event.info["link"] == link for event in alone)
        counted = np.sum([event.info["direction"] for event in alone])
        assert counted == turns(run.theta[-1, link]) - turns(run.theta[0, link])


@pytest.mark.parametrize("rate", [0.5, -0.5])
def test_an_event_at_the_start_is_not_reported(rate):
    run = simulate(FREE, 0.0, rate, t_end=1.0, events=passes(0.0))
    assert run.events == []
    run = simulate(Chain.uniform(1), 0.0, rate, t_end=1.5, events=passes(0.0))
    assert len(run.events) >= 1
    assert run.events[0].t > 0.3


def test_an_event_at_the_very_end_is_reported_once():
    run = simulate(FREE, 0.0, 1.0, t_end=1.0, integrator="RK4(step=0.25)", events=Event(lambda t, theta, omega: t - 1.0 + 1e-12))
    assert len(run.events) == 1
    assert run.events[0].t == pytest.approx(1.0, abs=1e-11)


def test_events_beyond_the_end_are_not_reported():
    """A fixed-step method steps over the end; what it finds there is not part of the run."""
    run = simulate(
        FREE, 0.0, 1.0, t_end=1.1, integrator="RK4(step=0.25)", events=Event(lambda t, theta, omega: t - 1.2, terminal=True)
    )
    assert run.events == []
    assert run.status.code == "finished"


def test_a_zero_exactly_on_a_step_is_one_event():
    run = simulate(FREE, 0.0, 1.0, t_end=2.0, integrator="RK4(step=0.25)", events=Event(lambda t, theta, omega: t - 0.5))
    assert [event.t for event in run.events] == [pytest.approx(0.5, abs=1e-9)]


def test_touching_zero_is_no_event():
    run = simulate(FREE, 0.0, 1.0, t_end=2.0, integrator="RK4(step=0.25)", events=Event(lambda t, theta, omega: (t - 0.5) ** 2))
    assert run.events == []


def test_a_function_that_is_not_a_number_for_a_while():
    """nan keeps the sign before it; the change is found where the function is a number again."""
    run = simulate(
        FREE,
        0.0,
        1.0,
        t_end=2.0,
        integrator="RK4(step=0.1)",
        events=Event(lambda t, th, om: math.nan if 0.4 < t < 0.6 else t - 0.5),
    )
    assert [event.t for event in run.events] == [pytest.approx(0.6, abs=0.01)]


@pytest.mark.parametrize("rate", [1.0, -1.0])
def test_a_start_exactly_at_pi_flips_when_it_comes_back_there(rate):
    """A link turns over by coming from the other side, and that takes a whole turn."""
    run = simulate(FREE, math.pi, rate, t_end=7.0, events=Flip())
    assert [event.t for event in run.events] == [pytest.approx(2 * math.pi, abs=1e-9)]


def test_a_start_at_pi_at_rest_waits():
    """Upside down at rest the rod stays (to rounding), pushed later by a torque it leaves, which is no flip."""
    late = Chain(FREE.links, [Gravity(0.0), JointTorque(lambda t: 1.0 if t > 1 else 0.0)])
    assert simulate(late, math.pi, t_end=2.0, events=Flip()).events == []


def test_angles_outside_the_first_turn_flip_at_their_own_multiples():
    run = simulate(FREE, 0.3 + 4 * math.pi, 4.0, t_end=2.0, events=Flip())
    np.testing.assert_allclose([event.t for event in run.events], [(math.pi - 0.3) / 4], atol=1e-9)


def test_turns():
    assert turns(np.array([0.0, 3.1, -3.1, math.pi, -math.pi, 3.2, -3.2, 9.4, 9.5])).tolist() == [0, 0, 0, 0, -1, 1, -1, 1, 2]


@pytest.mark.parametrize("name", INTEGRATORS)
def test_resume_goes_on_after_a_terminal_event(name):
    """Stopped at each passage and resumed, the run finds every passage once, and the motion is the uninterrupted one."""
    chain, options = Chain.uniform(1), {**settings(name), "save": 0.05}
    whole = simulate(chain, 0.5, t_end=3.0, events=passes(0.0), **options)
    run = simulate(chain, 0.5, t_end=3.0, events=passes(0.0, terminal=True), **options)
    for _ in range(len(whole.events) - 1):
        assert run.status.code == "event"
        run = run.resume(3.0, events=passes(0.0, terminal=True))
    run = run.resume(3.0, events=passes(0.0, terminal=True))
    assert run.status.code == "finished"
    assert len(whole.events) >= 3
    np.testing.assert_allclose([event.t for event in run.events], [event.t for event in whole.events], atol=2e-6)
    np.testing.assert_array_equal(run.t, whole.t)
    np.testing.assert_allclose(run.theta, whole.theta, atol=TOLERANCE["method"])


@pytest.mark.parametrize("name", COMPILED)
def test_resume_neither_loses_nor_repeats_events(name):
    """Whatever the end of the first part, also just behind an event, in the step that will be taken again."""
    chain, event = Chain.uniform(2), Event(lambda t, theta, omega: theta[0], name="down")
    options = {**settings(name), "events": (event, Flip())}
    whole = simulate(chain, [1.0, 2.0], t_end=8.0, **options)
    times = [e.t for e in whole.events]
    assert len(times) > 8
    for t in [*(t + 1e-3 for t in times[:5]), *(t - 1e-3 for t in times[:5]), *(t + 1e-9 for t in times[:5]), 2.0]:
        run = simulate(chain, [1.0, 2.0], t_end=t, **options).resume(8.0, events=(event, Flip()))
        assert [e.name for e in run.events] == [e.name for e in whole.events]
        np.testing.assert_allclose([e.t for e in run.events], times, atol=1e-7)


def test_resume_without_the_events_keeps_those_already_found():
    event = passes(0.0, name="down")
    first = simulate(Chain.uniform(1), 0.5, t_end=1.3, events=event)
    assert len(first.events) == 2
    assert [e.t for e in first.resume(2.0).events] == [e.t for e in first.events]


def test_a_scenario_records_flips_by_itself():
    chain, theta = Chain([Link(1.0, 1.0, 0.5, 0.1)], [Gravity(1.0)]), (3.0,)
    run = Scenario(chain, theta, 2.0, Settings(t_end=10.0)).run()
    assert {event.name for event in run.events} == {"flip"}
    assert Scenario(chain, theta, 2.0, Settings(t_end=10.0, flips="off")).run().events == []
    stopped = Scenario(chain, theta, 2.0, Settings(t_end=10.0, flips="stop")).run(events=passes(3.05))
    assert [event.name for event in stopped.events] == ["<lambda>", "flip"]
    assert stopped.status.code == "event"


def test_names_of_events():
    def straight(t, theta, omega):
        return theta[0]

    run = simulate(Chain.uniform(1), 0.5, t_end=1.0, events=[Event(straight), Event(straight, name="mine")])
    assert {event.name for event in run.events} == {"straight", "mine"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Event(3), r"Event\.function must be a function of \(t, theta, omega\), got 3"),
        (lambda: Event(abs, direction=2), r"Event\.direction must be -1, 0 or 1, got 2"),
        (lambda: Flip(-1), r"Flip\.link must be a whole number, at least 0, got -1"),
        (lambda: Flip(1.0), r"Flip\.link must be a whole number, at least 0, got 1\.0"),
        (
            lambda: simulate(Chain.uniform(2), 0.1, t_end=1.0, events=Flip(2)),
            r"Flip\.link must be below the number of links, 2, got 2",
        ),
        (
            lambda: simulate(Chain.uniform(2), 0.1, t_end=1.0, events="flip"),
            r"events must be Event\(\.\.\.\) or Flip\(\.\.\.\) records, got 'flip'",
        ),
        (
            lambda: simulate(Chain.uniform(2), 0.1, t_end=1.0, events=[Flip(), 3]),
            r"events must be Event\(\.\.\.\) or Flip\(\.\.\.\) records, got 3",
        ),
    ],
)
def test_bad_events_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_an_event_function_that_raises_is_not_hidden():
    def broken(t, theta, omega):
        raise RuntimeError("my event is broken")

    with pytest.raises(RuntimeError, match="my event is broken"):
        simulate(Chain.uniform(1), 0.5, t_end=1.0, events=Event(broken))


def test_two_crossings_within_a_step_are_seen():
    """Just below the turning point the angle passes a level twice in quick succession."""

    def level(t, theta, omega):
        return theta[0] - 0.498

    found = simulate(Chain.uniform(1), 0.5, t_end=20.0, events=Event(level)).events
    fine = simulate(Chain.uniform(1), 0.5, t_end=20.0, events=Event(level), integrator="RK4(step=0.001)").events
    assert len(found) == len(fine) > 20
    assert np.abs(np.array([e.t for e in found]) - [e.t for e in fine]).max() < 1e-5


def test_a_function_that_returns_no_number_is_refused():
    with pytest.raises(ModelError, match=r"Event\.function must return one number, got array"):
        simulate(Chain.uniform(2), 0.5, t_end=1.0, events=Event(lambda t, theta, omega: theta))
