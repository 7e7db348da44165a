"""Finite-time Lyapunov exponents of ensembles: each member's against `ftle` of one start, whatever its neighbours and its loads."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from helpers import random_chain

import nlink
from nlink import (
    DOP853,
    FTLE,
    Chain,
    Drag,
    Final,
    FlipTime,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    ModelError,
    Reducer,
    Sine,
    Table,
    Taylor,
    Threads,
    TipForce,
    ftle,
    simulate_many,
)
from nlink.ensemble import engines, make_job
from nlink.ensemble.engines import ON, Halted

DATA = json.loads((Path(__file__).parent / "data" / "ensemble.json").read_text())
METHODS = {"series": Taylor(1e-15, 16), "stages": DOP853(1e-12, 1e-12)}
BOTH = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def starts(members: int, n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-3.1, 3.1, (members, n))


def exponents(chain, theta, omega=None, t_end=1.0, method=None, **more) -> np.ndarray:
    return simulate_many(chain, theta, omega, t_end=t_end, keep=FTLE(), integrator=method, **more).ftle.values


def unwarned(chain, theta, omega, t_end, method, halt=ON) -> np.ndarray:
    """Return the exponents of members of which nobody has said that they do not come to their end."""
    job = make_job(chain, theta, omega, t_end, None, FTLE(), method)
    return engines.exponents(job, np.zeros(len(theta)), halt)


@BOTH
@pytest.mark.parametrize("case", DATA["ftle"], ids=lambda case: f"N={case['n']},t={case['t']}")
def test_the_reference(case, method):
    n = case["n"]
    theta = np.where(np.arange(n) % 2, np.pi, np.pi / 2)[None]
    assert exponents(Chain.uniform(n), theta, t_end=case["t"], method=method)[0] == pytest.approx(float(case["ftle"]), abs=1e-8)


@pytest.mark.parametrize("n", range(1, 7))
def test_every_load_at_once(n):
    chain, theta, omega = random_chain(n)
    found = exponents(chain, np.stack([theta, -theta, 0.3 * theta]), np.stack([omega, omega, -omega]), 1.5, METHODS["stages"])
    alone = [ftle(chain, *start, 1.5).exponent for start in ((theta, omega), (-theta, omega), (0.3 * theta, -omega))]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-8)


SMOOTH = {
    "gravity": (),
    "moments": (JointSpring(2.0, 0.1), JointDamper(0.1), JointTorque(Sine(1.0, 0.7, 0.2))),
    "swept": (JointSpring(1.0), Drag(0.2), FollowerForce(0.5), TipForce(0.3, 0.2)),
}


@BOTH
@pytest.mark.parametrize(("n", "loads"), [(2, "moments"), (3, "gravity"), *((n, "swept") for n in range(1, 7))])
def test_smooth_loads_by_both_methods(n, loads, method):
    chain, theta = Chain.uniform(n).with_loads(*SMOOTH[loads]), starts(5, n)
    alone = [ftle(chain, row, 0.3, 1.5).exponent for row in theta]
    np.testing.assert_allclose(exponents(chain, theta, 0.3, 1.5, method), alone, rtol=0, atol=1e-8)


@BOTH
def test_members_that_differ(method):
    stiffness, g, amplitude, push = np.linspace(0, 4, 9), np.linspace(3, 10, 9), np.linspace(0, 2, 9), np.linspace(0, 1, 9)
    vary = {"joint_spring.stiffness": stiffness, "gravity": g, "joint_torque.amplitude": amplitude, "mass[2]": 0.5 + push}
    vary |= {"follower_force": push} if isinstance(method, DOP853) else {}
    found = exponents(Chain.uniform(2).with_loads(JointTorque(Sine(1.0, 0.6))), [0.4, -2.0], None, 1.5, method, vary=vary)
    for k in range(9):
        links = [Link.rod(1.0, 1.0), Link(1.0, 0.5 + push[k], 0.5, 1 / 12)]
        loads = [Gravity(g[k]), JointSpring(stiffness[k]), JointTorque(Sine(amplitude[k], 0.6))]
        loads += [FollowerForce(push[k])] if isinstance(method, DOP853) else []
        assert found[k] == pytest.approx(ftle(Chain(links, loads), [0.4, -2.0], t=1.5).exponent, abs=1e-8)
    assert np.ptp(found) > 0.1


def test_quadratic_drag_that_differs():
    drag = np.linspace(0, 0.5, 9)
    finest = DOP853(1e-14, 1e-14)  # where a link comes to rest the derivative has a kink: errors are tol^(2/3)
    found = exponents(Chain.uniform(2), [0.4, -2.0], None, 1.5, finest, vary={"drag.quadratic": drag})
    alone = [ftle(Chain.uniform(2).with_loads(Drag(0.0, each)), [0.4, -2.0], t=1.5).exponent for each in drag]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-8)


@BOTH
def test_backwards(method):
    """The derivative of the way back is the inverse of that of the way there."""
    tables = isinstance(method, DOP853)

    def chain(later):
        drive = Table(np.array([-0.7, -0.4, -0.1]) + later, (0.0, 5.0, -3.0)) if tables else 0.5
        torques = [Sine(1.0, 0.7, 0.2 - 2 * math.pi * 0.7 * later), drive]
        return Chain.uniform(2).with_loads(JointDamper(0.1), JointTorque(torques))

    theta = starts(4, 2)
    many = simulate_many(chain(0.0), theta, 0.3, t_end=-0.8, keep=(FTLE(), Final()), integrator=method)
    there = [ftle(chain(0.8), many.theta[k].values, many.omega[k].values, 0.8).singular_values[-1] for k in range(4)]
    np.testing.assert_allclose(many.ftle, -np.log(there) / 0.8, rtol=0, atol=1e-8)


@BOTH
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_at_rest_the_steps_are_short_enough_for_deviations(n, damping, method):
    chain = Chain.uniform(n).with_loads(JointDamper(damping))
    wanted = ftle(chain, np.zeros(n), t=20.0).exponent
    assert exponents(chain, np.zeros((1, n)), None, 20.0, method)[0] == pytest.approx(wanted, abs=1e-9)


def test_quadratic_drag_does_nothing_at_rest():
    theta = np.zeros((2, 2))
    method = METHODS["stages"]
    found = exponents(Chain.uniform(2).with_loads(Drag(0.0, 0.7)), theta, None, 2.0, method)
    np.testing.assert_allclose(found, exponents(Chain.uniform(2), theta, None, 2.0, method), rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", [None, DOP853(1e-10, 1e-10)], ids=["series", "stages"])
@pytest.mark.parametrize("vary", [False, True])
def test_an_exponent_does_not_depend_on_its_company(method, vary):
    theta, g = starts(70, 2), np.linspace(5, 10, 70)

    def part(rows, **more):
        return exponents(Chain.uniform(2), theta[rows], None, 2.0, method, vary={"gravity": g[rows]} if vary else None, **more)

    whole = part(slice(None), backend=Threads(2))
    assert np.array_equal(whole, part(slice(None, None, -1), backend=Threads(1))[::-1])
    assert np.array_equal(whole[17:18], part(slice(17, 18)))


def test_pieces_change_nothing(monkeypatch):
    theta = starts(21, 2)
    whole = exponents(Chain.uniform(2), theta, None, 2.0)
    monkeypatch.setattr(engines, "MOST_DEVIATIONS", 5 * 16)
    assert np.array_equal(whole, exponents(Chain.uniform(2), theta, None, 2.0))


@pytest.mark.parametrize("method", [Taylor(1e-12, 16), DOP853(1e-9, 1e-9)], ids=["series", "stages"])
def test_what_blows_up_has_none_and_harms_no_other(method):
    theta, omega = starts(60, 2), np.zeros((60, 2))
    bad = [3, 20, 58]
    omega[bad] = 1e200
    found = exponents(Chain.uniform(2), theta, omega, 1.0, method)
    good = np.setdiff1d(np.arange(60), bad)
    assert np.flatnonzero(np.isnan(found)).tolist() == bad
    assert np.array_equal(found, unwarned(Chain.uniform(2), theta, omega, 1.0, method), equal_nan=True)
    assert np.array_equal(found[good], exponents(Chain.uniform(2), theta[good], None, 1.0, method))


@pytest.mark.parametrize("method", [Taylor(1e-12, max_steps=10), DOP853(max_steps=10)], ids=["series", "stages"])
def test_too_many_steps_leave_none(method):
    many = simulate_many(Chain.uniform(2), starts(4, 2), t_end=50.0, keep=FTLE(), integrator=method)
    assert many.status.values.tolist() == [3] * 4
    assert np.isnan(many.ftle).all()
    assert np.isnan(unwarned(Chain.uniform(2), starts(4, 2), 0.0, 50.0, method)).all()


def test_a_flip_does_not_end_it():
    theta = np.radians([[120.0, 0.0], [10.0, 10.0]])
    many = simulate_many(Chain.uniform(2), theta, t_end=3.0, keep=(FlipTime(), FTLE()))
    assert many.status.values.tolist() == [1, 0]
    np.testing.assert_allclose(many.ftle, [ftle(Chain.uniform(2), row, t=3.0).exponent for row in theta], atol=1e-6)


@pytest.mark.parametrize("method", [Taylor(1e-12, 16), DOP853(1e-9, 1e-9)], ids=["series", "stages"])
def test_it_leaves_off_when_asked(method):
    with pytest.raises(Halted):
        unwarned(Chain.uniform(2), starts(20, 2), 0.0, 1.0, method, np.ones(1, np.int64))


def test_pins_and_python_torques_one_by_one():
    four = nlink.preset("four-bar")
    many = simulate_many(four.chain, np.array([four.theta]), np.array([four.omega]), t_end=0.5, keep=FTLE())
    assert float(many.ftle[0]) == ftle(four.chain, four.theta, four.omega, 0.5).exponent
    driven = Chain.uniform(2).with_loads(JointTorque(lambda t: [math.sin(2 * math.pi * 0.7 * t), 0.0]))
    sine = Chain.uniform(2).with_loads(JointTorque([Sine(1.0, 0.7), 0.0]))
    theta = starts(3, 2)
    np.testing.assert_allclose(exponents(driven, theta), exponents(sine, theta, None, 1.0, METHODS["series"]), rtol=0, atol=1e-8)
    with pytest.raises(ModelError, match=r"FTLE of members that are followed one by one .* takes no t_end < 0"):
        exponents(driven, theta, None, -1.0)


@pytest.mark.parametrize("more", [(), (nlink.Extremes(),)])
def test_a_function_of_the_user_one_by_one(more):
    def highest(memory, t, theta, omega):
        memory[0] = max(memory[0], abs(theta[0]))
        memory[1] += 1

    four = nlink.preset("four-bar")
    driven = Chain.uniform(2).with_loads(JointTorque(lambda t: 0.3 * t))
    for chain, theta, omega in ((four.chain, [four.theta] * 2, [four.omega] * 2), (driven, starts(4, 2), None)):
        keep = (Reducer("highest", 2, highest), Final(), *more)
        many = simulate_many(chain, theta, omega, t_end=1.0, keep=keep)
        assert (many.highest[:, 1] == many.steps + 1).all()
        assert (many.highest[:, 0] >= np.abs(many.theta[:, 0])).all()


@pytest.mark.parametrize("n", [2, 5])
def test_the_default_is_right_to_1e_9_after_a_second(n):
    found = simulate_many(Chain.uniform(n), starts(300, n), t_end=1.0, keep=(FTLE(), Final()))
    alone = simulate_many(Chain.uniform(n), starts(300, n), t_end=1.0)
    exact = simulate_many(Chain.uniform(n), starts(300, n), t_end=1.0, keep=(FTLE(), Final()), integrator=Taylor(1e-17, 16))
    for given, wanted in ((found.ftle, exact.ftle), (found.theta, exact.theta), (alone.theta, exact.theta)):
        np.testing.assert_allclose(given, wanted, rtol=0, atol=1e-9)
