"""Whole runs as plain Python that no other test has so short; needs NUMBA_DISABLE_JIT=1, `test_uncompiled.py` runs it so."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from uncompiled import bodies, close, feedback_in_c

from nlink import (
    DOP853,
    FTLE,
    Chain,
    Drag,
    Final,
    Flip,
    FlipTime,
    Gravity,
    JointDamper,
    JointTorque,
    Threads,
    TipForce,
    ftle,
    simulate,
    simulate_many,
)
from nlink.ensemble.kernels import tangents


@pytest.mark.parametrize("integrator", ["Taylor", "DOP853"])
@pytest.mark.parametrize("acting", [[], [JointDamper(0.2), Drag(0.3), TipForce(1.0, 0.3)]], ids=["gravity", "loads"])
def test_exponents_of_members_side_by_side(acting, integrator):
    """In lanes of dual numbers, against the steps of one member; chains differ in a mass."""
    made, theta, omega = bodies(2)
    chain, masses, t = Chain(made, [Gravity(9.81), *acting]), [made[0].mass, 0.7], 0.06
    vary = {"mass[1]": masses} if acting else {}
    starts = (np.array([theta, theta + 0.1]), np.array([omega, omega]))
    found = simulate_many(chain, *starts, t_end=t, keep=FTLE(), vary=vary, integrator=integrator, backend=Threads(1))
    close(found.ftle[0], ftle(chain, theta, omega, t).exponent, 1e-7)
    if acting:
        heavier = Chain([replace(made[0], mass=masses[1]), made[1]], chain.loads)
        close(found.ftle[1], ftle(heavier, theta + 0.1, omega, t).exponent, 1e-7)


def test_the_largest_singular_value():
    """What a thread of a GPU computes."""
    for m in (1, 2, 5):
        a = np.random.default_rng(m).normal(size=(m, m))
        close(tangents.stretching(a.copy()), np.linalg.norm(a, 2))
    assert math.isnan(tangents.stretching(np.array([[1.0, math.nan], [0.0, 1.0]])))


@pytest.mark.parametrize("integrator", ["Taylor", "DOP853"])
def test_flips_of_members_side_by_side(integrator):
    """A member that turns over, one that turns back near the top, and one that does neither, against one run of each."""
    chain, theta, omega = (
        Chain.uniform(2),
        np.array([[3.0, 3.0], [2.9, 0.0], [0.1, 0.2]]),
        np.array([[2.0, 1.0], [0.5, 0.0], [0.0, 0.0]]),
    )
    found = simulate_many(chain, theta, omega, t_end=0.5, keep=FlipTime(), integrator=integrator, backend=Threads(1))
    for member, (start, rate) in enumerate(zip(theta, omega, strict=True)):
        events = simulate(chain, start, rate, t_end=0.5, integrator=integrator, events=Flip()).events
        np.testing.assert_allclose(found.flip_time[member], events[0].t if events else np.nan, rtol=1e-8)


@pytest.mark.parametrize("formulation", ["maximal", "natural"])
def test_constraints_as_they_are(formulation):
    """IDA solves the equations with their constraints."""
    made, theta, omega = bodies(2)
    chain, t = Chain(made, [Gravity(9.81), JointDamper(0.2)]), 0.03
    run = simulate(chain, theta, omega, t_end=t, save=t, formulation=formulation, integrator="IDA(rtol=1e-9, atol=1e-9)")
    close(run.theta[-1], simulate(chain, theta, omega, t_end=t, save=t).theta[-1], 1e-7)


def test_steps_that_end_without_arriving():
    """Numbers that are not finite, and too many steps, end a member and leave the others alone."""
    theta = np.array([[0.5, 0.5], [0.1, 0.2]])
    for integrator in ("Taylor", "DOP853"):
        found = simulate_many(
            Chain.uniform(2), theta, [[1e200, 0.0], [0.0, 0.0]], t_end=0.2, integrator=integrator, backend=Threads(1)
        )
        assert found.status.values.tolist() == [2, 0]
        few = simulate_many(Chain.uniform(2), theta, t_end=0.2, integrator=f"{integrator}(max_steps=1)", backend=Threads(1))
        assert few.status.values.tolist() == [3, 3]


def test_torques_of_the_state_side_by_side():
    """The function is called lane by lane, also for a flip within a step of a single lane."""
    chain, theta = Chain.uniform(2).with_loads(JointTorque(feedback_in_c)), np.array([[0.3, 1.0], [1.0, -2.0], [3.1, 0.1]])
    method = DOP853(1e-6, 1e-6)
    many = simulate_many(chain, theta, 2.0, t_end=0.1, integrator=method, keep=(Final(), FlipTime()), backend=Threads(1))
    for k in range(3):
        run = simulate(chain, theta[k], 2.0, t_end=0.1, integrator=method, save=(0.1,), events=Flip())
        close(many.theta.values[k], run.theta[-1], 1e-6)
        close(many.flip_time.values[k], run.events[0].t if run.events else math.nan, 1e-6)
