"""Sections: points lie on them and on the energy surface, directions, strobes, many starts, loops; bifurcations against a book."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from helpers import DATA

import nlink
from nlink import (
    Chain,
    Drag,
    Event,
    Gravity,
    JointDamper,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Section,
    Sine,
    Strobe,
    bifurcation,
    on_energy,
    poincare,
    simulate,
    starts_on_energy,
)
from nlink.mechanics import kinematics
from nlink.mechanics.chain import wrapped

CHAIN = Chain.uniform(2, shape="point")


@pytest.mark.parametrize("direction", [1, -1, 0])
@pytest.mark.parametrize("angle", [0.0, 1.0, 7.5])
def test_points_lie_on_the_section_and_on_the_energy_surface(direction: int, angle: float) -> None:
    points = poincare(CHAIN, [2.0, 1.0], t_end=80.0, section=Section(1, angle, direction))
    assert len(points) > 10
    assert np.abs(wrapped(points.theta[:, 1] - angle)).max() < 1e-10
    assert direction == 0 or (points.omega[:, 1] * direction > 0).all()
    assert np.abs(points.residual).max() < 1e-8
    energy = sum(kinematics.energies(CHAIN, points.theta, points.omega))
    np.testing.assert_allclose(energy, kinematics.potential_energy(CHAIN, np.array([2.0, 1.0])), atol=1e-8)
    assert (np.diff(points.t) > 0).all()


def test_as_events_of_a_run() -> None:
    points = poincare(CHAIN, [1.0, 0.5], t_end=20.0)
    run = simulate(
        CHAIN, [1.0, 0.5], t_end=20.0, rtol=1e-12, atol=1e-12, events=Event(lambda t, a, w: math.sin(a[0] / 2), direction=0)
    )
    events = [e for e in run.events if e.omega[0] > 0]
    assert len(events) == len(points)
    np.testing.assert_allclose(points.t, [e.t for e in events], atol=1e-8)
    np.testing.assert_allclose(points.omega, [e.omega for e in events], atol=1e-7)


def test_both_directions_are_the_sum_of_each_and_a_start_on_the_section_does_not_count() -> None:
    counts = {d: len(poincare(CHAIN, [0.0, 0.5], [2.0, 0.0], t_end=30.0, section=Section(0, 0.0, d))) for d in (1, -1, 0)}
    assert counts[0] == counts[1] + counts[-1]
    back = poincare(CHAIN, [0.0, 0.5], [-2.0, 0.0], t_end=1.0, section=Section(0, 0.0, -1))
    assert not len(back) or back.t[0] > 0.1


def test_a_spinning_rod_passes_once_a_turn() -> None:
    rod = Chain([Link.rod(1.0, 1.0)], Gravity(0.0))
    points = poincare(rod, [0.3], [2 * math.pi * 5], t_end=10.0, section=Section(0, 1.0))
    np.testing.assert_allclose(points.t, (1.0 - 0.3) / (10 * math.pi) + 0.2 * np.arange(50), atol=1e-11)


def test_many_starts_on_one_energy() -> None:
    theta, omega = starts_on_energy(CHAIN, -15.0, 5)
    np.testing.assert_allclose(sum(kinematics.energies(CHAIN, theta, omega)), -15.0, atol=1e-12)
    points = poincare(CHAIN, theta, omega, t_end=30.0)
    assert set(points.start.tolist()) == set(range(5))
    assert points.last.shape == (5, 4)
    alone = poincare(CHAIN, theta[3], omega[3], t_end=30.0)
    np.testing.assert_array_equal(points.theta[points.start == 3], alone.theta)
    np.testing.assert_array_equal(starts_on_energy(CHAIN, -15.0, 5)[0], theta)


def test_momenta_tell_points_of_one_energy_apart() -> None:
    points = poincare(CHAIN, [1.0, 0.5], t_end=30.0)
    eps = 1e-6
    for k in (0, 5):
        theta, omega = points.theta[k], points.omega[k]
        up, down = (kinematics.kinetic_energy(CHAIN, theta, omega + s * eps * np.array([0, 1.0])) for s in (1, -1))
        assert points.momentum[k, 1] == pytest.approx((up - down) / (2 * eps), abs=1e-7)


def test_one_rate_for_an_energy() -> None:
    theta = np.array([[0.0, 0.3], [0.0, -1.0]])
    omega = on_energy(CHAIN, -10.0, theta, [0.0, 1.5])
    np.testing.assert_allclose(sum(kinematics.energies(CHAIN, theta, omega)), -10.0, atol=1e-12)
    assert (omega[:, 1] == 1.5).all()
    assert (omega[:, 0] > 0).all()
    assert on_energy(CHAIN, -10.0, [0.0, 0.3], link=1)[0] == 0.0


def test_a_loop_and_quadratic_drag() -> None:
    case = nlink.preset("five-bar")
    theta, omega = starts_on_energy(case.chain, 8.0, 2)
    np.testing.assert_allclose(sum(kinematics.energies(case.chain, theta, omega)), 8.0, atol=1e-10)
    points = poincare(case.chain, theta, omega, t_end=8.0, section=Section(1, 1.0, 0))
    assert len(points) > 3
    assert np.abs(wrapped(points.theta[:, 1] - 1.0)).max() < 1e-10
    assert np.abs(points.residual).max() < 1e-7
    slowed = poincare(Chain.uniform(2).with_loads(Drag(0.1, 0.1)), [2.0, 1.0], t_end=10.0)
    assert np.abs(slowed.residual).max() < 1e-9
    assert np.abs(wrapped(slowed.theta[:, 0])).max() < 1e-10


def test_strobes() -> None:
    points = poincare(CHAIN, [1.0, 0.5], t_end=3.0, section=Strobe(0.5, 0.25))
    np.testing.assert_allclose(points.t, [0.25, 0.75, 1.25, 1.75, 2.25, 2.75])
    run = simulate(CHAIN, [1.0, 0.5], t_end=3.0, save=tuple(points.t.tolist()), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(points.theta, run.theta, atol=1e-9)
    assert poincare(CHAIN, [1.0, 0.5], t_end=3.0, section=Strobe(0.5)).t.tolist() == pytest.approx([0.5, 1, 1.5, 2, 2.5, 3])
    assert poincare(CHAIN, [1.0, 0.5], t_end=3.0, section=Strobe(0.5), transient=1.7).t.tolist() == pytest.approx([2, 2.5, 3])


def _driven(strength: float) -> Chain:
    """J. R. Taylor's pendulum: omega = 2 pi, omega_0 = 1.5 omega, beta = omega_0/4."""
    w0 = 3 * math.pi
    return Chain(
        [Link.point(1.0, 1.0)], [Gravity(w0**2), LinkDamper(w0 / 2), JointTorque(Sine(strength * w0**2, 1.0, math.pi / 2))]
    )


def test_period_doubling_as_in_the_book() -> None:
    a, b, c, d = json.loads((DATA / "chaos.json").read_text(encoding="utf-8"))["period_doubling"]["thresholds"]
    values = [a - 0.003, a + 0.003, b - 0.003, b + 0.0012, c - 0.0012, c + 0.0003, d + 0.0023]
    found = bifurcation(_driven, values, [-math.pi / 2], t_end=200.0, transient=130.0, follow=False)
    assert found.periods.tolist() == [1, 2, 2, 4, 4, 8, 0]
    followed = bifurcation(_driven, values[:4], [-math.pi / 2], t_end=150.2, transient=100.0)
    assert followed.periods.tolist() == [1, 2, 2, 4]
    assert len(followed.points[0]) == 51  # whole periods: to 151 s


def test_a_bifurcation_without_a_drive_uses_the_section() -> None:
    found = bifurcation(lambda g: Chain.uniform(2).with_loads(Gravity(g)), [5.0, 9.81], [0.5, 0.5], t_end=10.0, transient=1.0)
    assert isinstance(found.points[0].section, Section)
    assert all(np.abs(wrapped(points.theta[:, 0])).max() < 1e-10 for points in found.points)


def test_a_motion_that_fails_keeps_its_points() -> None:
    def torque(t: float) -> float:
        return 1 / 0 if t > 5.0 else 0.0

    points = poincare(Chain.uniform(2).with_loads(JointTorque(torque)), [1.0, 0.5], t_end=10.0)
    assert points.status[0].code == "torque_failed"
    assert len(points) > 0
    assert points.t.max() <= 5.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Section(-1), "Section.link must be a whole number, at least 0, got -1"),
        (lambda: Section(0, 0.0, 2), "Section.direction must be -1, 0 or 1, got 2"),
        (lambda: Strobe(0.0), "Strobe.period must be positive, got 0"),
        (lambda: poincare(CHAIN, [1.0, 1.0], t_end=1.0, section=Section(2)), "Section.link must be below the number of links"),
        (lambda: poincare(CHAIN, [1.0, 1.0], t_end=1.0, section=3), r"section must be a Section\(...\) or a Strobe\(...\), got 3"),
        (lambda: poincare(CHAIN, [[1.0, 1.0]], [[0.0, 0.0]] * 2, t_end=1.0), "omega must hold a row for each of the 1 starts"),
        (lambda: poincare(7, 1.0, t_end=1.0), "poincare needs a Chain, got int"),
        (lambda: on_energy(CHAIN, -40.0, [0.0, 0.0]), "energy must be at least -29.43 J with these angles and rates, got -40"),
        (lambda: on_energy(CHAIN, 1.0, [0.0]), r"theta must hold 2 angles in its last axis, got shape \(1,\)"),
        (lambda: starts_on_energy(CHAIN, -40.0, 3), "energy must be above -29.43 J, that of the chain at rest, got -40"),
        (
            lambda: bifurcation(_driven, [1.0], [0.0], t_end=1.0, transient=1.0),
            "transient must be below t_end, 1 s, got 1",
        ),
    ],
)  # fmt: skip
def test_wrong_input(call, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        call()


def test_friction_brings_points_to_rest() -> None:
    points = poincare(Chain.uniform(2).with_loads(JointDamper(0.3)), [1.0, 1.0], t_end=30.0)
    assert np.abs(points.omega[-1]).max() < 0.5 * np.abs(points.omega[0]).max()
    assert np.abs(points.residual).max() < 1e-10
