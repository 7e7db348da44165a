"""A motion in real time: the hand does work that the ledger has, loads change on the way, and the record is a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nlink
from nlink._support.checks import ModelError
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Chain
from nlink.mechanics.loads import Drag, Gravity, JointDamper, JointTorque, Sine, TipForce
from nlink.scenario import Scenario, preset

pytest.importorskip("fastapi", reason="needs the extra web: make setup")

from nlink.studio import endless, record
from nlink.studio import live as living
from nlink.studio.live import PIECE, Live, Pull
from nlink.studio.messages import FieldError
from nlink.studio.record import SAMPLE, Record

UNEQUAL = Chain((nlink.Link.rod(0.7, 1.0), nlink.Link.point(1.1, 0.4), nlink.Link(0.5, 2.0, 0.2, 0.1, 0.05)))


def followed(live: Live, seconds: float, kept: Record | None = None) -> Live:
    """Go on for some seconds."""
    for _ in range(round(seconds / PIECE)):
        live.advance()
        if kept is not None and kept.due(live.t):
            kept.add(live.columns())
    return live


def test_without_a_hand_it_is_the_motion_of_the_library():
    for scenario in (preset("chaotic-3"), preset("four-bar")):
        live = followed(Live(scenario), 1.0)
        whole = nlink.simulate(scenario.chain, scenario.theta, scenario.omega, t_end=1.0)
        np.testing.assert_allclose(live.angles()[0], whole.theta[-1], atol=2e-6)
        assert live.t == pytest.approx(1.0)


def test_torques_of_the_hand_act_like_its_force(monkeypatch):
    """A constant force at the tip, by torques that are held over a piece: the difference shrinks with the piece."""
    force, theta = np.array([1.5, -0.8]), (0.4, 1.0, -0.7)
    whole = nlink.simulate(UNEQUAL.with_loads(TipForce(*force)), theta, t_end=0.5)
    tip = Pull(2, 0.5, 0.0, 0.0, 0.0)
    monkeypatch.setattr(Live, "_force", lambda self, pull: force @ self._arms(pull))
    off = []
    for share in (1, 4):
        monkeypatch.setattr(living, "PIECE", PIECE / share)
        live = Live(Scenario(UNEQUAL, theta))
        live.take_hold(tip)
        for _ in range(share * round(0.5 / PIECE)):
            live.advance()
        off.append(float(np.abs(live.angles()[0] - whole.theta[-1]).max()))
    assert off[0] < 0.02
    assert off[1] < 0.3 * off[0]


def test_the_pulled_point_moves_as_its_arms_say():
    live, pull = Live(Scenario(UNEQUAL, (0.4, 1.0, -0.7))), Pull(1, 0.3, 0.2, 1.0, -1.0)

    def point(theta: np.ndarray) -> np.ndarray:
        e, t = kinematics.directions(theta)
        return 0.7 * e[0] + 0.3 * e[1] + 0.2 * t[1]

    theta, steps = live.angles()[0], 1e-6 * np.eye(3)
    slopes = np.array([(point(theta + step) - point(theta - step)) / 2e-6 for step in steps]).T
    np.testing.assert_allclose(live._arms(pull), slopes, atol=1e-9)
    live.take_hold(pull)
    np.testing.assert_allclose(live._force(pull), live.stiffness * (np.array([1.0, -1.0]) - point(theta)) @ slopes, rtol=1e-7)


@pytest.mark.parametrize("name", ["chaotic-3", "four-bar", "catenary-50"])
def test_the_hand_brings_its_point_near_and_the_balance_closes(name):
    scenario = preset(name)
    live = Live(Scenario(scenario.chain.with_loads(JointDamper(0.02)), scenario.theta, scenario.omega))
    kept = Record(live.chain, live.columns())
    followed(live, 0.2, kept)
    link = live.chain.n // 2
    hinge = kinematics.hinges(live.chain, live.angles()[0])[link]
    hand = hinge * 0.9 + [0.0, 0.02]
    endless._pull(live, kept, {"hand": {"link": link, "along": 0.0, "left": 0.0, "x": hand[0], "y": hand[1]}})
    before = float(np.hypot(*(hinge - hand)))
    followed(live, 4.0, kept)
    endless._pull(live, kept, {"hand": None})
    now = kinematics.hinges(live.chain, live.angles()[0])[link]
    assert float(np.hypot(*(now - hand))) < before + 0.3 * float(live.chain.length.sum())
    followed(live, 0.5, kept)
    run = kept.run(scenario, live.motion)
    energy = run.energy()
    exchanged = float(np.ptp(energy.kinetic) + np.ptp(energy.potential))
    assert float(np.abs(energy.residual).max()) < 1e-6 * exchanged
    assert float(np.abs(energy.work["joint_torque"]).max()) > 1e-3 * exchanged
    assert float(run.violation().max()) < 1e-9
    assert [event.name for event in run.events] == [f"hand on link {link + 1}", "hand off"]


def changed(live: Live, kept: Record, *loads: Any) -> None:
    endless._change(live, kept, Scenario(Chain(live.chain.links, loads, live.chain.pin), tuple(live.angles()[0])))


def test_loads_change_on_the_way_and_the_balance_goes_on(tmp_path):
    scenario = Scenario(Chain.uniform(2, loads=[Gravity(9.81), Drag(0.1)]), (2.0, 1.0))
    live = Live(scenario)
    kept = Record(live.chain, live.columns())
    followed(live, 1.0, kept)
    changed(live, kept, Gravity(3.0), Drag(0.1))
    followed(live, 1.5, kept)
    changed(live, kept, Gravity(3.0), JointDamper(0.3))
    followed(live, 0.3, kept)
    changed(live, kept, Gravity(3.0), JointDamper(0.6))
    followed(live, 1.5, kept)
    changed(live, kept, Gravity(3.0), JointTorque(Sine(1.0, 0.5)))
    followed(live, 1.0, kept)
    run = kept.run(scenario, live.motion)
    assert [event.name for event in run.events] == [
        "change to gravity 3",
        "change to joint dampers 0.6, no drag",
        "change to joint torques 1 sin(2 pi 0.5 t + 0), no joint dampers",
    ]
    assert float(np.abs(run.energy().residual).max()) < 1e-7
    assert set(run.work) >= {"drag", "joint_damper", "joint_torque"}
    run.save(tmp_path / "record.nc")
    again = nlink.load(tmp_path / "record.nc")
    np.testing.assert_array_equal(again.theta, run.theta)
    assert [event.name for event in again.events] == [event.name for event in run.events]
    np.testing.assert_array_equal(again.reactions(), run.reactions())
    held = run.t > 1.1
    vertical = run.reactions()[held, 0, 1]  # the hinge carries the weight in force, and the inertia
    centre = np.gradient(np.gradient(run.centres()[..., 1].mean(1), run.t, edge_order=2), run.t, edge_order=2)[held]
    drag = (run.t > 1.1) & (run.t < 2.4)
    calm = ~drag[held]
    np.testing.assert_allclose(vertical[calm][8:-8], 2.0 * (centre[calm][8:-8] + 3.0), atol=0.5)
    with pytest.raises(ModelError, match="the hand in the studio"):
        again.scenario.run()
    with pytest.raises(ModelError, match="cannot be resumed"):
        again.resume(10.0)


def test_a_change_that_is_taken_back_leaves_no_event():
    live = Live(preset("nice-3"))
    kept = Record(live.chain, live.columns())
    followed(live, 0.1, kept)
    changed(live, kept, Gravity(3.0))
    changed(live, kept, *live.chain.with_loads(Gravity(9.81)).loads)
    assert kept.events == []
    changed(live, kept, Gravity(2.0))
    assert [event.name for event in kept.events] == ["change to gravity 2"]


def test_a_record_that_nothing_touched_can_be_simulated_again():
    scenario = preset("nice-3")
    live = Live(scenario)
    kept = Record(live.chain, live.columns())
    followed(live, 1.0, kept)
    run = kept.run(scenario, live.motion)
    assert len(run.t) == 61
    np.testing.assert_allclose(run.t, np.arange(61) / 60, rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.scenario.run().theta, run.theta, atol=1e-6)


def test_a_long_record_forgets_its_beginning(monkeypatch):
    monkeypatch.setattr(record, "LONGEST", 1.0)
    scenario = preset("nice-3")
    live = Live(scenario)
    kept = Record(live.chain, live.columns())
    assert kept.seconds == pytest.approx(1.0)
    endless._pull(live, kept, {"hand": {"link": 0, "along": 1, "left": 0, "x": 0.0, "y": -1.0}})
    followed(live, 2.5, kept)
    run = kept.run(scenario, live.motion)
    assert len(run.t) == 60
    assert run.t[-1] - run.t[0] == pytest.approx(59 * SAMPLE)
    assert "the record begins at t = 1.517 s" in run.status.message
    assert run.events == []
    assert float(np.abs(run.energy().residual).max()) < 1e-7


HAND = {"link": 0, "along": 0.5, "left": 0.0, "x": 0.0, "y": 0.0}


@pytest.mark.parametrize(
    "change",
    [{"link": 3}, {"link": -1}, {"link": "a"}, {"along": None}, {"x": 1e9}, {"y": float("nan")}, {"left": "x"}, {"link": True}],
)
def test_a_hand_that_holds_nothing_is_refused(change):
    with pytest.raises(FieldError, match="a pull needs a link"):
        Pull.of(HAND | change, 3)
    assert Pull.of(HAND, 3).along == 0.5


def test_other_links_are_another_motion():
    live = Live(preset("nice-3"))
    kept = Record(live.chain, live.columns())
    with pytest.raises(FieldError, match="start the endless mode again"):
        endless._change(live, kept, preset("chaotic-5"))


def test_a_dead_position_at_rest_is_refused():
    quarter = np.pi / 2
    with pytest.raises(ModelError, match="all links lie in line"):
        Live(Scenario(preset("four-bar").chain, (quarter, quarter, -quarter)))
