"""Open mechanisms side by side and by power series: lanes against single states and members, Taylor against DOP853."""

from __future__ import annotations

import numpy as np
import pytest

from nlink import (
    DOP853,
    Cuda,
    EnergyDrift,
    Final,
    FlipTime,
    JointDamper,
    JointSpring,
    Link,
    ModelError,
    Samples,
    formulate,
    simulate,
    simulate_many,
)
from nlink.ensemble.engines import side_by_side
from nlink.ensemble.varied import Varied
from nlink.mechanics.loads import Drag, PointSpring, TipForce
from nlink.mechanics.loads.joint_torque import Sine
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.motions import Spline, motion_at
from nlink.mechanics.points import At

LOADS = (JointSpring(1.0), JointDamper(0.1), Drag(0.1, 0.05), TipForce(1.0, 2.0), PointSpring(At(4), (1.0, 1.0), 3.0, 0.2))
BODIES = (
    Slider(2.0),
    Link.rod(1.0, 1.0),
    Link(0.8, 0.6, 0.4, 0.03, offset=0.05),
    Slider(0.3, direction=0.4, parent=1, at=(0.3, 0.1)),
    Link.rod(0.5, 0.3).on(1, 0.6),
    Link.rod(0.4, 0.2),
)
BRANCHED = Mechanism(BODIES, LOADS)
DRIVEN = Mechanism(
    [
        Slider(motion=(Sine(0.1, 3.0), Spline((0.0, 0.1, 0.3), (0.0, 0.02, 0.0)))),
        Link.rod(1.0, 1.0),
        Link.rod(1.0, 1.0).on(1, 0.5),
    ]
)


@pytest.mark.parametrize("mechanism", [BRANCHED, DRIVEN])
def test_rates_of_many_states_are_those_of_each(mechanism):
    system, t = formulate(mechanism), 0.15
    states = np.random.default_rng(0).normal(size=(2 * mechanism.n, 21))
    one = np.array([system(t, state) for state in states.T]).T
    np.testing.assert_allclose(system.rates_of(states, t), one, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(system.accelerations_of(states[:, :3], t), one[mechanism.n :, :3], rtol=1e-11, atol=1e-12)


VARIED = {
    "branched": (BRANCHED, {"mass[2]": [1.0, 2.0, 0.5], "joint_spring.stiffness": [1.0, 2.0, 0.0], "gravity": [9.0, 1.0, 3.0]}),
    "driven": (DRIVEN, {"com": [0.5, 0.4, 0.3]}),
    "length": (DRIVEN, {"length[2]": [0.5, 0.9, 0.6]}),
}


@pytest.mark.parametrize("case", VARIED)
def test_members_side_by_side_are_those_one_by_one(case):
    mechanism, vary = VARIED[case]
    theta, omega = np.random.default_rng(1).uniform(-1.0, 1.0, (2, 3, mechanism.n))
    if mechanism is DRIVEN:
        theta[:, 0], omega[:, 0], _ = motion_at(DRIVEN.links[0].motion, 0.0)
    method = DOP853(1e-10, 1e-10)
    varied = Varied(mechanism, {name: np.array(values) for name, values in vary.items()}, 3)
    assert side_by_side(formulate(mechanism), method, varied) == (case != "length")
    many = simulate_many(
        mechanism,
        theta,
        omega,
        t_end=0.4,
        vary=vary,
        keep=[Final(), Samples((0.1, 0.33)), EnergyDrift(), FlipTime()],
        integrator=method,
    )
    for k in range(3):
        run = simulate(varied.chain(k), theta[k], omega[k], t_end=0.4, save=(0.1, 0.33, 0.4), integrator=method)
        np.testing.assert_allclose(many.theta[k], run.theta[-1], atol=1e-9)
        np.testing.assert_allclose(many.sample_omega[k], run.omega[:2], atol=1e-8)
    assert many.energy_drift.max() < 1e-8


def test_starts_of_prescribed_joints_are_as_given_in_time():
    many = simulate_many(DRIVEN, np.zeros((2, 3)), t_end=0.2, integrator=DOP853(1e-10, 1e-10))
    np.testing.assert_allclose(many.theta[:, 0], motion_at(DRIVEN.links[0].motion, 0.2)[0], atol=1e-9)


def test_sliders_do_not_turn_over():
    free = Mechanism([Slider(1.0), Link.rod(1.0, 1.0)])
    many = simulate_many(free, [[0.0, 0.1]], [[10.0, 0.0]], t_end=1.0, keep=FlipTime(), integrator=DOP853())
    assert many.flip_link.values.tolist() == [0]


def test_what_ensembles_of_mechanisms_refuse():
    from nlink import FTLE

    start = np.zeros((1, 3))
    with pytest.raises(ModelError, match="Cuda takes chains, not mechanisms; use Threads"):
        simulate_many(DRIVEN, start, t_end=1.0, backend=Cuda())
    with pytest.raises(ModelError, match="FTLE of ensembles takes chains, not mechanisms"):
        simulate_many(DRIVEN, start, t_end=1.0, keep=FTLE())
    with pytest.raises(ModelError, match="body 1 is a slider, which has no length; choose a link"):
        simulate_many(DRIVEN, start, t_end=1.0, vary={"length[1]": [1.0]})
    massless = Mechanism([Slider(), Link.rod(1.0, 1.0)])
    with pytest.raises(ModelError, match=r"member 1: .*singular"):
        simulate_many(massless, np.zeros(2), t_end=1.0, vary={"mass[2]": [1.0, 0.0], "inertia[2]": [1.0, 1.0]})
