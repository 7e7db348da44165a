"""A chain in space in real time: impulses act as the masses say, the balance has the work of the hand, the record is a run."""

from __future__ import annotations

import numpy as np
import pytest
from made_space import mixed_chain

import nlink
from nlink._support.checks import ModelError
from nlink.mechanics.chain import Link
from nlink.mechanics.loads import Gravity, JointDamper, LinkDamper, TipForce
from nlink.mechanics.space import kinematics
from nlink.mechanics.space.model import SpatialChain
from nlink.run.readout import HAND, settled
from nlink.scenario import Scenario

pytest.importorskip("fastapi", reason="needs the extra web: make setup")

from nlink.studio import endless
from nlink.studio import live_in_space as living
from nlink.studio.impulses import Impulses
from nlink.studio.live import PIECE
from nlink.studio.live_in_space import LiveInSpace, PullInSpace
from nlink.studio.messages import FieldError
from nlink.studio.record import Record

RODS = Scenario(SpatialChain.uniform(3), ((1.0, 0.5), (0.4, 2.0), (2.0, 1.0)), (0.0, 0.0, 0.0))
POSES = {
    "mixed": (mixed_chain(), [0.3, (0.1, 0.2), 0.5, 0.7, (1.0, 2.0), (0.0, 1.0, 0.0)]),
    "rods": (RODS.chain, RODS.theta),
    "points": (SpatialChain([Link.point(0.5, 1.0), Link.point(0.7, 0.2)]), [(1.0, 0.5), (0.4, 2.0)]),
}


@pytest.mark.parametrize("name", POSES)
def test_an_impulse_changes_the_velocities_as_the_kinetic_energy_says(name):
    """For any rates u of the chain the momentum of the answer along u is the impulse along the velocity that u gives the point."""
    chain, pose = POSES[name]
    random = np.random.default_rng(3)
    c, _ = chain.start(pose)
    at, link, along, impulse = kinematics.turns(chain, c), chain.n - 2, 0.3, random.normal(size=3)
    impulses = Impulses(chain)
    spins, change = impulses.answer(at, link, along, impulse[:, None])
    rates = impulses.rates(c, at, spins[..., 0])

    def kinetic(u: np.ndarray) -> float:
        return float(kinematics.energies(chain, c, u)[0])

    def point(u: np.ndarray) -> np.ndarray:
        arm = along * at.direction[link]
        return kinematics.hinge_velocities(chain, c, u)[link] + np.cross(kinematics.turns(chain, c, u).omega[link], arm)

    np.testing.assert_allclose(point(rates), change[:, 0], atol=1e-12)
    for _ in range(3):
        u = settled(chain, c[None], random.normal(size=(1, chain.size)), np.zeros((1, chain.size)))[1][0]
        momentum = kinetic(rates + u) - kinetic(rates) - kinetic(u)
        assert momentum == pytest.approx(float(impulse @ point(u)), rel=1e-9)


def followed(live: LiveInSpace, seconds: float, kept: Record | None = None) -> LiveInSpace:
    """Go on for some seconds."""
    for _ in range(round(seconds / PIECE)):
        live.advance()
        if kept is not None and kept.due(live.t):
            kept.add(live.columns())
    return live


def test_without_a_hand_it_is_the_motion_of_the_library():
    live = followed(LiveInSpace(RODS), 0.5)
    whole = nlink.simulate(RODS.chain, RODS.theta, RODS.omega, t_end=0.5)
    np.testing.assert_allclose(live.angles()[0], whole.position[-1], atol=2e-6)


def test_a_force_that_is_held_acts_like_that_of_a_load(monkeypatch):
    """A constant force at the tip, by impulses: the difference shrinks with the pieces."""
    force = np.array([1.5, -0.8, 2.0])
    loaded = RODS.chain.with_loads(TipForce(force[0], force[1], fz=force[2]))
    whole, off = nlink.simulate(loaded, RODS.theta, RODS.omega, t_end=0.25), []
    tip = PullInSpace(2, 1.0, 0.0, 0.0, 0.0)
    for share in (1, 4):
        monkeypatch.setattr(living, "PIECE", PIECE / share)
        monkeypatch.setattr("nlink.studio.live.PIECE", PIECE / share)
        live = LiveInSpace(RODS)
        live.pull, live.stiffness, live.damping = tip, 1e6, 0.0
        monkeypatch.setattr(living.LiveInSpace, "point_of", lambda self, pull: (-force / 1e6, np.zeros(3)))
        for _ in range(share * round(0.25 / PIECE)):
            live.advance()
        off.append(float(np.abs(live.angles()[0] - whole.position[-1]).max()))
    assert off[0] < 0.02
    assert off[1] < 0.3 * off[0]


def test_the_hand_brings_its_point_near_the_balance_closes_and_the_record_is_a_run(tmp_path):
    scenario = Scenario(RODS.chain.with_loads(JointDamper(0.05)), RODS.theta, RODS.omega)
    live = LiveInSpace(scenario)
    kept = Record(live.chain, live.columns())
    followed(live, 0.2, kept)
    hand = np.array([1.2, -1.2, 0.6])
    endless._pull(live, kept, {"hand": {"link": 1, "along": 0.8, "x": 1.2, "y": -1.2, "z": 0.6}})
    before = float(np.linalg.norm(live.point_of(live.pull)[0] - hand))
    followed(live, 2.0, kept)
    now = float(np.linalg.norm(live.point_of(live.pull)[0] - hand))
    endless._pull(live, kept, {"hand": None})
    assert now < 0.5 * before
    endless._change(live, kept, Scenario(live.chain.with_loads(Gravity(3.0)), scenario.theta, scenario.omega))
    followed(live, 0.3, kept)
    assert max(map(abs, kept.news()["residual"])) < 1e-6
    run = kept.run(scenario, live.motion)
    energy = run.energy()
    exchanged = float(np.ptp(energy.kinetic) + np.ptp(energy.potential))
    assert float(np.abs(energy.residual).max()) < 1e-6 * exchanged
    assert abs(float(energy.work[HAND][-1])) > 0.1
    assert [event.name for event in run.events] == ["hand on link 2", "hand off", "change to gravity 3"]
    run.save(tmp_path / "record.nc")
    again = nlink.load(tmp_path / "record.nc")
    np.testing.assert_array_equal(again.position, run.position)
    np.testing.assert_array_equal(again.work[HAND], run.work[HAND])
    assert again.lost
    assert "a hand has pulled it" in again.status.message
    with pytest.raises(ModelError, match="a hand has pulled it"):
        nlink.trusted_until(again)


def test_a_record_that_nothing_touched_can_be_simulated_again():
    scenario = Scenario(RODS.chain.with_loads(LinkDamper(0.1)), RODS.theta, RODS.omega)
    live = LiveInSpace(scenario)
    kept = Record(live.chain, live.columns())
    followed(live, 0.5, kept)
    run = kept.run(scenario, live.motion)
    assert not run.lost
    np.testing.assert_allclose(run.scenario.run().position, run.position, atol=1e-6)


@pytest.mark.parametrize("change", [{"link": 3}, {"z": None}, {"z": float("nan")}, {"along": 1e9}])
def test_a_hand_that_holds_nothing_is_refused(change):
    hand = {"link": 0, "along": 0.5, "x": 0.0, "y": 0.0, "z": 0.0}
    assert PullInSpace.of(hand, 3).along == 0.5
    with pytest.raises(FieldError, match="a pull needs a link"):
        PullInSpace.of(hand | change, 3)
