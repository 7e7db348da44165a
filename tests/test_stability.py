"""Equilibria, linearisation, modes, critical loads, maps and limit cycles, against theory and the nonlinear motion itself."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import moving, random_chain, reference
from hypothesis import assume, given
from scipy.special import jn_zeros

from nlink import (
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Sine,
    critical_load,
    equilibria,
    equilibrium,
    formulate,
    limit_cycle,
    linearize,
    locus,
    modes,
    preset,
    simulate,
    stability_map,
)
from nlink.analysis.cycle import amplitudes
from nlink.analysis.equilibrium import settled
from nlink.analysis.linearize import statics
from nlink.analysis.stability_map import DIVERGENCE, FLUTTER, STABLE
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import wrapped
from nlink.mechanics.kinematics import potential_energy
from nlink.mechanics.loop_closure import tangent

MG = 0.01 * 9.8


def hanging(n: int, b: float = 0.0, k: float = 0.0) -> Chain:
    loads = [Gravity(9.8), *([JointDamper(b)] if b else []), *([JointSpring(k)] if k else [])]
    return Chain.uniform(n, length=0.1, mass=0.01, shape="point", loads=loads)


def pushed(chain: Chain):
    return lambda load: chain.with_loads(FollowerForce(load))


def ziegler(c1: float, c2: float):
    links = [Link.point(1.0, 2.0), Link.point(1.0, 1.0)]
    damped = [JointDamper((c1, c2))] if c1 or c2 else []
    return lambda load: Chain(links, [Gravity(0.0), JointSpring(1.0), FollowerForce(load), *damped])


# Linearisation -------------------------------------------------------------------------------------------------------


@given(moving(most=5))
def test_the_matrices_are_the_derivatives_of_the_accelerations(case):
    """About any state, with any loads: central differences of the accelerations, to what these can."""
    chain, theta, omega, _ = case
    torque = chain.load(JointTorque)
    chain = chain.with_loads(JointTorque(0.0)) if torque else chain
    assume(np.abs(omega).min() > 0.1 or not chain.load(Drag))  # |v| v has a kink at rest
    small, system, h, n = linearize(chain, theta, omega), formulate(chain), 1e-5, chain.n

    def slope(turn, speed):
        ahead, behind = (system.accelerations(theta + h * side * turn, omega + h * side * speed) for side in (1, -1))
        return (ahead - behind) / (2 * h)

    eye, none = np.eye(n), np.zeros(n)
    scale = np.abs(small.A).max() + np.abs(system.accelerations(theta, omega)).max()
    assert np.abs(small.A[n:, :n].T - [slope(e, none) for e in eye]).max() <= 1e-5 * scale
    assert np.abs(small.A[n:, n:].T - [slope(none, e) for e in eye]).max() <= 1e-5 * scale
    assert np.array_equal(small.A[:n, n:], eye)


def test_relative_angles_are_the_same_motion():
    chain, theta, omega = random_chain(4)
    chain = chain.with_loads(JointTorque(0.0))
    absolute, relative = linearize(chain, theta, omega), linearize(chain, theta, omega, coordinates="relative")
    T = np.tril(np.ones((4, 4)))
    np.testing.assert_allclose(relative.K, T.T @ absolute.K @ T, atol=1e-12)
    np.testing.assert_allclose(np.sort_complex(relative.eigenvalues), np.sort_complex(absolute.eigenvalues), atol=1e-8)


def test_a_follower_force_makes_the_stiffness_unsymmetric():
    small = linearize(hanging(3).with_loads(FollowerForce(0.05)))
    exact = np.diag(MG * 0.1 * np.array([3, 2, 1])) + 0.05 * 0.1 * (np.outer(np.ones(3), [0, 0, 1]) - np.eye(3))
    np.testing.assert_allclose(small.K, exact, atol=1e-17)
    assert not small.conservative


@pytest.mark.parametrize("n", [1, 2, 5, 10, 20])
def test_a_hanging_chain_of_point_masses_has_laguerre_frequencies(n):
    roots = np.polynomial.laguerre.lagroots([0] * n + [1])
    found = linearize(Chain.uniform(n, shape="point")).frequencies
    np.testing.assert_allclose(found, np.sqrt(np.sort(roots.real) * 9.81), rtol=1e-10)


def test_many_links_swing_like_a_rope():
    """Zeros of J0 by Richardson's extrapolation in 1/N^2, to 1e-6."""
    sizes = np.array([40, 80, 160, 320])
    found = np.array([linearize(Chain.uniform(n, length=1 / n, mass=1 / n)).frequencies[:3] / math.sqrt(9.81) for n in sizes])
    for _ in range(2):
        power = 2 if len(found) == 4 else 4
        found = (2**power * found[1:] - found[:-1]) / (2**power - 1)
    np.testing.assert_allclose(found[-1], jn_zeros(0, 3) / 2, atol=1e-6)


def test_uniform_rods():
    for n, row in reference("hanging")["rod"].items():
        found = linearize(Chain.uniform(int(n))).frequencies
        np.testing.assert_allclose(found**2 / 9.81, np.array(row, float)[: len(found)], rtol=1e-10)


def test_damping_ratios_and_shapes_of_one_oscillator():
    chain = Chain.uniform(1).with_loads(LinkDamper(0.2))
    (mode,) = linearize(chain).table()
    inertia, stiffness = 1 / 3, 9.81 / 2
    assert mode.undamped == pytest.approx(math.sqrt(stiffness / inertia))
    assert mode.ratio == pytest.approx(0.2 / (2 * math.sqrt(stiffness * inertia)))
    assert mode.frequency == pytest.approx(mode.undamped * math.sqrt(1 - mode.ratio**2))
    assert mode.growth == pytest.approx(-0.2 / (2 * inertia))
    assert mode.shape == pytest.approx([1.0])


@pytest.mark.parametrize("rounding", [-1e-17, 1e-17])
def test_a_neutral_mode_is_one_mode_and_stable_whatever_rounding_says(rounding):
    small = linearize(Chain.uniform(2), 0.0)
    neutral = replace(small, M=np.eye(2), K=np.diag([rounding, 1.0]), C=np.zeros((2, 2)))
    assert neutral.stable
    assert len(neutral.table()) == 2


def test_long_chains_by_their_structure():
    dense, slow = linearize(Chain.uniform(400)).table()[:6], modes(Chain.uniform(400), count=6)
    for a, b in zip(dense, slow, strict=True):
        assert b.frequency == pytest.approx(a.frequency, rel=1e-9)
        np.testing.assert_allclose(b.shape, a.shape.real, atol=1e-6)
    sprung = Chain.uniform(500).with_loads(JointSpring(3.0))
    assert modes(sprung, count=3)[2].frequency == pytest.approx(linearize(sprung).frequencies[2], rel=1e-9)
    assert modes(Chain.uniform(10_000), count=20)[0].frequency * math.sqrt(10_000 / 9.81) == pytest.approx(
        jn_zeros(0, 1)[0] / 2, abs=1e-8
    )


# Equilibria ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_hanging_chain_has_two_to_the_n_equilibria(n):
    found = equilibria(Chain.uniform(n))
    assert len(found) == 2**n
    assert [rest.stable for rest in found] == [True] + [False] * (2**n - 1)
    assert all(rest.residual < 1e-12 for rest in found)
    assert np.abs(np.sin([rest.theta for rest in found])).max() < 1e-9, "up or down, folded or not"


def test_springs_and_torques_bend_the_equilibrium():
    chain = Chain.uniform(3).with_loads(JointSpring(20.0, (0.3, -0.2, 0.1)), JointTorque((1.0, 0.0, -2.0)), FollowerForce(3.0))
    rest = equilibrium(chain)
    assert np.abs(formulate(chain).accelerations(rest.theta, 0.0)).max() < 1e-10
    assert rest.stable
    assert np.abs(rest.theta).max() > 0.01


def minima(chain, count=720):
    """Yield angles near the stable rests of a four-bar: those of each assembly with less energy than their neighbours."""
    for sign in (1, -1):
        energies, angles = [], []
        for drive in np.linspace(-math.pi, math.pi, count, endpoint=False):
            both = []
            for branch in loop_closure.BRANCHES:
                with contextlib.suppress(ModelError):
                    both.append(loop_closure.driven(chain, float(drive), branch))
            here = [theta for theta in both if sign * math.sin(theta[2] - theta[1]) > 0]
            angles.append(here[0] if here else np.full(3, np.nan))
            energies.append(float(potential_energy(chain, angles[-1])))
        level = np.array(energies)
        yield from (angles[k] for k in np.flatnonzero((level < np.roll(level, 1)) & (level < np.roll(level, -1))))


@pytest.mark.slow
def test_all_stable_equilibria_of_four_bars():
    rng, seen = np.random.default_rng(3), 0
    for _ in range(4):
        lengths = rng.uniform(0.3, 1.5, 3)
        distance, angle = (
            rng.uniform(max(0.05, 2 * lengths.max() - lengths.sum()), 0.95 * lengths.sum()),
            rng.uniform(0, 2 * math.pi),
        )
        chain = Chain([Link.rod(x, x) for x in lengths], pin=(distance * math.cos(angle), distance * math.sin(angle)))
        found = [rest.theta for rest in equilibria(chain) if rest.stable]
        for least in minima(chain):
            seen += 1
            assert min(np.abs(wrapped(least - theta)).max() for theta in found) < 0.05
    assert seen >= 4


def test_a_parallelogram_has_three_stable_equilibria():
    """Hanging, and folded to either side."""
    found = equilibria(Chain.uniform(3, pin=(1.0, 0.0)))
    stable = sorted(np.abs(np.degrees(wrapped(rest.theta))).round(3).tolist() for rest in found if rest.stable)
    assert stable == [[0.0, 90.0, 180.0], [0.0, 180.0, 90.0], [90.0, 0.0, 180.0]]


def test_a_loop_settles_downhill_from_its_start():
    scenario = preset("four-bar")
    assert np.exp(1j * settled(scenario.chain, scenario.theta).theta) == pytest.approx([1, 1j, -1], abs=1e-7)
    folded = settled(scenario.chain, loop_closure.driven(scenario.chain, 1.5, "crossed"))
    assert np.abs(wrapped(folded.theta)) == pytest.approx([0.0, math.pi, math.pi / 2], abs=1e-7)


@pytest.mark.parametrize("pin", [None, (1.2, -0.5)])
def test_a_chain_with_springs_rests_at_the_angles_that_are_told(pin):
    chain = Chain.uniform(4, pin=pin).with_loads(JointSpring(3.0))
    found = equilibria(chain)
    assert len(found) > 8
    for rest in found:  # springs count turns: without them the angles would be those of another chain
        assert statics(chain, rest.theta).balanced(1e-10)
    assert any(np.abs(rest.theta).max() > np.pi for rest in found)


def test_all_equilibria_of_a_five_bar():
    """Places of rest with two directions to move in: each one of the mechanics, and with each its mirror image."""
    chain = preset("five-bar").chain
    found = equilibria(chain)
    assert sum(rest.stable for rest in found) >= 1
    assert sum(not rest.stable for rest in found) >= 4
    for rest in found:
        assert np.abs(formulate(chain).accelerations(rest.theta, 0.0)).max() < 1e-8
        mirrored = math.pi - rest.theta[::-1]
        assert min(np.abs(np.exp(1j * mirrored) - np.exp(1j * other.theta)).max() for other in found) < 1e-6


def test_a_closed_chain_rests_where_its_motion_would_end():
    chain = preset("catenary-50").chain
    rest = equilibrium(chain)
    assert rest.stable
    assert rest.pin_force[1] == pytest.approx(0.5 * 50 * 0.05 * 9.81)
    assert np.abs(formulate(chain).accelerations(rest.theta, 0.0)).max() < 1e-7
    assert rest.theta == pytest.approx(math.pi - rest.theta[::-1]), "symmetric"


@pytest.mark.parametrize("distance", [0.5, 1.0, 1.2, 2.0])
def test_a_closed_chain_is_found_at_a_stable_rest(distance):
    rest = equilibrium(Chain.uniform(3, pin=(distance, 0.0)))
    assert rest.stable
    assert rest.residual < 1e-11


@pytest.mark.parametrize("spring", [0.0, 25.0])
def test_a_four_bar_swings_as_its_linearisation_says(spring):
    """Against the nonlinear motion itself: after three periods it is where it began."""
    chain = Chain.uniform(3, pin=(1.2, 0.0)).with_loads(JointSpring((spring, 0.0, 0.0), (0.4, 0.0, 0.0)))
    rest = next(each for each in equilibria(chain) if each.stable)
    small = linearize(chain, rest.theta)
    assert small.M.shape == (1, 1)
    way = tangent(chain, rest.theta)[:, 0]
    period = 2 * math.pi / small.frequencies[0]
    run = simulate(chain, rest.theta + 1e-5 * way, t_end=3 * period, save=(3 * period,), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose((run.theta[-1] - rest.theta) / 1e-5, way, atol=1e-3)
    half = simulate(chain, rest.theta + 1e-5 * way, t_end=2.5 * period, save=(2.5 * period,), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose((half.theta[-1] - rest.theta) / 1e-5, -way, atol=1e-3)


def test_a_damped_four_bar_decays_as_its_linearisation_says():
    chain = Chain.uniform(3, pin=(1.2, 0.0)).with_loads(JointDamper(0.05))
    rest = next(each for each in equilibria(chain) if each.stable)
    (mode,) = linearize(chain, rest.theta).table()
    way, period = tangent(chain, rest.theta)[:, 0], 2 * math.pi / mode.frequency
    run = simulate(chain, rest.theta + 1e-6 * way, t_end=4 * period, save=(period, 4 * period), rtol=1e-12, atol=1e-16)
    sizes = np.abs((run.theta - rest.theta) @ way)
    assert math.log(sizes[1] / sizes[0]) / (3 * period) == pytest.approx(mode.growth, rel=1e-3)


# Critical loads ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", reference("follower")["cases"], ids=lambda c: f"{c['n']}-{c['b']}-{c['k']}")
def test_the_chain_with_a_follower_force(case):
    """The issue's figure: 1e-12, with and without damping."""
    chain_of = pushed(hanging(case["n"], case["b"], case["k"]))
    found = critical_load(lambda load: chain_of(load * MG), (0.0, 30.0 if case["k"] else 4.0))
    assert found.kind == case["kind"]
    assert found.load == pytest.approx(case["alpha_over_mg"], rel=1e-12)
    assert found.frequency == pytest.approx(case["omega"], rel=1e-12)
    assert found.lost


def test_zieglers_column_and_its_paradox():
    exact = reference("columns")
    assert critical_load(ziegler(0, 0), (0.0, 4.0)).load == pytest.approx(exact["ziegler"], rel=1e-12)
    for row in exact["damped"]:
        found = critical_load(ziegler(row["c"], row["c"]), (0.0, 4.0))
        assert found.load == pytest.approx(row["P_l_over_k"], rel=1e-12), "small damping does not give the undamped value"
        assert found.frequency == pytest.approx(row["omega"], rel=1e-12)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0, 3.0, 4 + 5 * math.sqrt(2), 20.0])
def test_zieglers_column_for_any_ratio_of_dampings(ratio):
    found = critical_load(ziegler(ratio * 1e-7, 1e-7), (0.0, 4.0))
    assert found.load == pytest.approx((4 * ratio**2 + 33 * ratio + 4) / (2 * (ratio**2 + 7 * ratio + 6)), rel=1e-9)


def test_becks_column_is_the_limit_of_many_links():
    exact = reference("columns")

    def column(n):
        spring = (2.0 * n, *[float(n)] * (n - 1))
        free = Chain.uniform(n, length=1 / n, mass=1 / n, loads=[Gravity(0.0), JointSpring(spring)])
        return lambda load: free.with_loads(FollowerForce(load))

    for row in exact["beck_links"][1:3]:
        found = critical_load(column(row["N"]), (5.0, 30.0))
        assert found.load == pytest.approx(row["P_L2_over_EI"], rel=1e-9)
        assert found.frequency == pytest.approx(row["Omega"], rel=1e-8)
    loads = np.array([critical_load(column(n), (15.0, 21.0)).load for n in (10, 20, 40)])
    loads = (4 * loads[1:] - loads[:-1]) / 3
    assert (16 * loads[1] - loads[0]) / 15 == pytest.approx(exact["beck"], abs=1e-3)


@pytest.mark.parametrize("half", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("b", [0.0, 0.005])
def test_a_narrow_window_is_not_stepped_over(half, b):
    """The load touches its critical value and goes back: unstable only within 2 half of the bracket's length of 1."""
    chain = hanging(5, b)
    critical = critical_load(pushed(chain), (0.0, 0.2)).load
    found = critical_load(
        lambda x: chain.with_loads(FollowerForce(critical * (1 + half**2 - (x - 0.637) ** 2))), (0.0, 1.0), later=True
    )
    assert [(c.kind, c.lost) for c in found] == [("flutter", True), ("flutter", False)]
    assert [c.load for c in found] == pytest.approx([0.637 - half, 0.637 + half], abs=1e-3 * half)


def test_later_changes_are_listed():
    found = critical_load(lambda load: hanging(3, 0.005).with_loads(FollowerForce(load * MG)), (0.0, 6.0), later=True)
    assert found[0].kind == "divergence"
    assert found[0].load == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: critical_load(pushed(hanging(5, 0.005)), (0.0, 0.1)), "stability does not change between 0 and 0.1; widen the"),
        (lambda: critical_load(pushed(hanging(5, 0.005)), (0.3, 0.4)), "the chain is unstable at load 0.3 already; begin the"),
        (lambda: critical_load(lambda x: hanging(2 + int(x)), (0.0, 2.0)), "the path changes the number of links from 2 to "),
        (lambda: critical_load(lambda x: x, (0.0, 2.0)), "chain_of must return a Chain or a Mechanism, got 0.0 at load 0"),
        (lambda: critical_load(pushed(hanging(2)), (2.0, 1.0)), "bracket must run from a smaller to a larger load, got 2 to 1"),
        (lambda: critical_load(pushed(hanging(2)), 2.0), "bracket must be two loads, got 2.0"),
        (lambda: equilibria(Chain.uniform(9)), "all equilibria are looked for up to 5 links, got 9"),
        (lambda: equilibrium(Chain.uniform(2).with_loads(JointTorque(Sine(1.0, 1.0)))), "a torque that changes in time leaves no"),
        (
            lambda: equilibrium(Chain.uniform(1, loads=[Gravity(0.0), JointTorque(1.0)])),
            "no equilibrium was found from this guess: a moment of 1 N m",
        ),
        (lambda: linearize(Chain.uniform(3, pin=(1.2, 0)), [2.0, 1.5, 0.2]), "a closed chain is linearised where it closes"),
        (
            lambda: linearize(Chain.uniform(3, pin=(1.2, 0)), omega=1.0),
            "a closed chain is linearised about an equilibrium",
        ),
        (lambda: linearize(Chain.uniform(2), coordinates="polar"), "coordinates must be one of absolute, relative"),
        (lambda: linearize(Chain.uniform(5000)), r"linearize builds matrices of N x N for up to 4000 links, got 5000; use modes"),
        (lambda: modes(Chain.uniform(2), count=0), "count must be a whole number, at least 1"),
    ],
)
def test_wrong_input(work, message):
    with pytest.raises(ModelError, match=message):
        work()


# Maps, paths and cycles ----------------------------------------------------------------------------------------------


def test_the_map_agrees_with_the_critical_loads():
    base = hanging(5)
    x, y = np.linspace(0.0, 0.4, 81), np.array([0.001, 0.005, 0.02])
    found = stability_map(lambda load, b: base.with_loads(FollowerForce(load), JointDamper(b)), x, y)
    for row, b in enumerate(y):
        first = critical_load(lambda load, b=b: base.with_loads(FollowerForce(load), JointDamper(b)), (0.0, 0.4))
        assert np.array_equal(found.kind[row] == STABLE, x < first.load)
        assert found.kind[row][x > first.load][0] == {"flutter": FLUTTER, "divergence": DIVERGENCE}[first.kind]


def test_a_map_whose_equilibrium_moves_is_built_chain_by_chain():
    def chain_of(torque, spring):
        return Chain.uniform(2).with_loads(JointTorque((torque, 0.0)), JointSpring(spring), JointDamper(0.1))

    found = stability_map(chain_of, np.linspace(0.0, 3.0, 4), np.linspace(1.0, 5.0, 3))
    assert (found.kind == STABLE).all()
    growth = linearize(chain_of(3.0, 5.0), equilibrium(chain_of(3.0, 5.0)).theta).growth
    assert found.growth[-1, -1] == pytest.approx(growth, rel=1e-6)


def test_a_locus_is_followed_without_jumps():
    paths = locus(lambda load: hanging(3, 0.002).with_loads(FollowerForce(load * MG)), np.linspace(0.0, 2.5, 400))
    assert paths.eigenvalues.shape == (400, 6)
    assert np.abs(np.diff(paths.eigenvalues, axis=0)).max() < 0.05 * np.abs(paths.eigenvalues).max()


def test_a_limit_cycle_is_measured():
    """Beyond the onset of flutter the chain settles on one oscillation, wherever it began."""
    chain = hanging(5, 0.005).with_loads(FollowerForce(1.95 * MG))
    runs = [simulate(chain, size * np.arange(1, 6), t_end=400.0, save=0.05, rtol=1e-8, atol=1e-10) for size in (0.01, 0.12)]
    first, second = (limit_cycle(run) for run in runs)
    assert first.period == pytest.approx(second.period, rel=1e-4)
    np.testing.assert_allclose(first.amplitude, second.amplitude, rtol=1e-3)
    assert 1.0 < first.period < 1.3
    rest = simulate(hanging(5, 0.005).with_loads(FollowerForce(1.0 * MG)), 0.1, t_end=100.0, save=0.05)
    assert limit_cycle(rest) is None


def test_the_amplitude_grows_from_the_onset():
    chain_of = pushed(hanging(5, 0.005))
    found = amplitudes(chain_of, np.array([1.7, 1.93, 1.97]) * MG, np.full(5, 0.05), t_end=400.0)
    assert found[0] is None
    assert 0 < found[1].amplitude[-1] < found[2].amplitude[-1]
