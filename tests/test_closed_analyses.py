"""What else is done with closed mechanisms: runs that go on, ensembles, comparisons, equilibria, small motions, exponents; and what
is refused, with what to use instead. A chain with a pin, given as a mechanism a metre higher, is the witness of all analyses.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import linkages
import numpy as np
import pytest
from helpers import check_same
from hypothesis import given, settings
from hypothesis import strategies as st

import nlink
from nlink import (
    GROUND,
    At,
    Chain,
    Distance,
    Drag,
    EnergyDrift,
    Event,
    Final,
    FollowerForce,
    Gear,
    Gravity,
    Guide,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    Mechanism,
    ModelError,
    Pin,
    PointSpring,
    Ramp,
    Samples,
    Scenario,
    Sine,
    Slider,
    assemble,
    equilibrium,
    formulate,
    linearize,
    modes,
    simulate,
    simulate_many,
)
from nlink.analysis.equilibrium import equilibria, settled
from nlink.analysis.variations import state_matrix
from nlink.mechanics import kinematics, loop_closure
from nlink.scenario import Settings

LOADS = [Gravity(9.81), JointDamper(0.1), JointSpring(2.0, 0.3), Drag(0.1, 0.2), FollowerForce(1.5)]


def lifted(chain: Chain) -> Mechanism:
    """Return a chain with a pin a metre higher, as a mechanism that is no chain."""
    assert chain.pin is not None
    first = chain.links[0].on(GROUND, (0.0, 1.0))
    pins = Pin(At(chain.n - 1), (chain.pin[0], chain.pin[1] + 1.0))
    return Mechanism([first, *chain.links[1:]], chain.loads, pins)


def closed_chain(n: int = 3, loads=LOADS) -> tuple[Chain, Mechanism, np.ndarray, np.ndarray]:
    chain = Chain.uniform(n, loads=loads, pin=(0.4 * n, 0.3))
    rng = np.random.default_rng(1)
    start = loop_closure.nearest(chain, loop_closure.zigzag(chain) + rng.uniform(-0.5, 0.5, n), float(n))
    at = assemble(chain, start, rng.normal(size=n))
    return chain, lifted(chain), at.theta, at.omega


CRANK = linkages.four_bar()
START = assemble(CRANK.model, CRANK.near, [1.0, 0.0, 0.0])


# Runs that go on -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """A slider-crank whose crank turns through dead positions of none, with a spring and a bar as it is assembled."""
    linkage = linkages.slider_crank()
    loads = [Gravity(9.81), PointSpring(At(1, 0.5), (1.0, 1.0), 20.0, 0.5, 0.1), JointTorque((0.25, 0.0, 0.0))]
    model = Mechanism(linkage.model.links, loads, linkage.model.pins)
    start = assemble(model, linkage.near, [5.0, 0.0, 0.0])
    return Scenario(model, tuple(start.theta), tuple(start.omega), Settings(t_end=2.0, save=0.1))


def test_a_resumed_run_and_a_streamed_one_are_the_whole_run_to_the_last_bit(scenario, tmp_path):
    whole = scenario.run()
    check_same(scenario.run(file=tmp_path / "whole.nc"), whole)
    replace(scenario, settings=replace(scenario.settings, t_end=1.03)).run(file=tmp_path / "half.nc")
    check_same(nlink.load(tmp_path / "half.nc").resume(2.0, file=tmp_path / "rest.nc"), whole)
    check_same(nlink.load(tmp_path / "whole.nc"), whole)
    assert set(whole.work) == {"constraints", "joint_torque", "point_spring"}
    assert whole.reactions().shape == (21, 4, 2)
    np.testing.assert_array_equal(nlink.load(tmp_path / "whole.nc").reactions(), whole.reactions())


def test_a_run_through_dead_positions_is_resumed_to_the_last_bit(tmp_path):
    model, start = linkages.a02(3).model, linkages.a02_start(3)
    whole = simulate(model, *start, t_end=3.0, save=0.1)
    half = simulate(model, *start, t_end=1.0, save=0.1, file=tmp_path / "half.nc")
    check_same(half.resume(3.0), whole)
    assert len([event for event in whole.events if event.name == "dead position"]) == 3


def test_a_bar_without_a_length_is_taken_as_it_is_assembled_and_kept(tmp_path):
    rods = [Link.rod(1.0, 1.0), Link.rod(1.0, 1.0).on(GROUND, (1.2, 0.0))]
    model = Mechanism(rods, pins=[Distance(At(0), At(1)), Gear(0, 1, 1.0)][:1])
    run = simulate(model, [0.3, 0.1], t_end=1.0, save=0.5, file=tmp_path / "run.nc")
    length = float(np.hypot(*np.subtract(*run.points(At(0), At(1))[0])))
    assert run.chain.pins[0].length == pytest.approx(length, abs=1e-15)
    assert run.resume(2.0).chain.pins[0].length == run.chain.pins[0].length


def test_events_of_the_user_end_a_run():
    run = simulate(CRANK.model, START.theta, START.omega, t_end=5.0, events=Event(lambda t, q, v: q[0], terminal=True, name="down"))
    assert run.status.code == "event"
    assert abs(run.theta[-1, 0]) < 1e-9


def test_ensembles_go_one_by_one_and_their_members_are_as_if_alone():
    rates = START.omega * np.array([[1.0], [2.0], [-1.0]])
    many = simulate_many(
        CRANK.model, [START.theta] * 3, rates, t_end=1.0, keep=[Final(), EnergyDrift(), Samples([0.5, 1.0])],
        vary={"gravity": [9.0, 10.0, 11.0]},
    )  # fmt: skip
    for k, g in enumerate((9.0, 10.0, 11.0)):
        alone = simulate(CRANK.model.with_loads(Gravity(g)), START.theta, rates[k], t_end=1.0, save=[0.0, 0.5, 1.0])
        np.testing.assert_array_equal(many.theta[k], alone.theta[-1])
        np.testing.assert_allclose(many.sample_theta[k], alone.theta[1:], atol=1e-12)
        assert many.energy_drift[k] < 1e-7


def test_tolerances_and_methods_are_compared_and_a_run_is_trusted_until():
    scenario = Scenario(CRANK.model, tuple(START.theta), tuple(START.omega), Settings(t_end=3.0))
    comparison = nlink.compare(scenario, tolerances=[1e-8, 1e-10], integrators=["DOP853", "RK45"])
    assert "RK45" in str(comparison)
    assert nlink.trusted_until(scenario.run()) == 3.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: formulate(m, "projection"), "projection takes open mechanisms, without pins; use recursive"),
        (lambda m: formulate(m, "momentum"), "momentum takes chains, not mechanisms; use recursive"),
        (lambda m: formulate(m, "maximal(constraints=Baumgarte(10, 10))"), "maximal takes chains, not mechanisms; use recursive"),
        (lambda m: formulate(m, "natural"), "natural takes chains, not mechanisms; use recursive"),
        (lambda m: formulate(m, "lagrange"), "lagrange takes chains, not mechanisms; use recursive"),
        (lambda m: formulate(m, "linear"), "linear takes chains, not mechanisms; use recursive"),
        (lambda m: run_by(m, "Taylor"), "Taylor does not support closed mechanisms; use DOP853, RK45 or RK4"),
        (lambda m: run_by(m, "Gauss"), "Gauss does not support mechanisms; use DOP853, RK45 or RK4"),
        (lambda m: run_by(m, "IDA"), "IDA does not support mechanisms; use DOP853, RK45 or RK4"),
        (
            lambda m: run_by(m, "Scipy(method='Radau')"),
            "the solvers of SciPy do not support closed mechanisms; use DOP853, RK45 or RK4",
        ),
        (lambda m: nlink.flow(m), "flow takes open chains in angles; use simulate for pins and constraints"),
        (lambda m: simulate_many(m, [START.theta, START.theta + 1.0], t_end=1.0), "member 1: the start does not close"),
        (lambda m: linearize(m, START.theta), "a closed mechanism is linearised where it closes and can rest; give the theta"),
        (
            lambda m: linearize(m, START.theta, 1.0),
            "a closed mechanism is linearised about an equilibrium",
        ),
        (lambda m: linearize(linkages.a02(100).model), "linearize takes closed mechanisms of up to 200 bodies, got 201"),
        (lambda m: linearize(folded(), [math.pi / 2] * 3), "the mechanism rests on a dead position, where small motions are not"),
    ],
)
def test_what_is_not_offered_is_refused_with_what_to_use(make, words):
    with pytest.raises(ModelError, match="^" + re.escape(words)):
        make(CRANK.model)


def run_by(model: Mechanism, integrator: str) -> nlink.Run:
    return simulate(model, START.theta, START.omega, t_end=0.1, integrator=integrator)


def folded() -> Mechanism:
    """A parallelogram without gravity, which rests level on its dead position too."""
    bars = [Link.rod(1.0, 1.0), Link.rod(2.0, 1.0), Link.rod(1.0, 1.0).on(GROUND, (2.0, 0.0))]
    return Mechanism(bars, Gravity(0.0), Pin(At(1), At(2)))


# Prescribed motions in loops -----------------------------------------------------------------------------------------


def test_a_crank_that_is_driven_has_its_work_in_the_ledger():
    """A four-bar without freedom: the drive does what the bodies gain, the damper takes and gravity gives."""
    links = CRANK.model.links
    crank = links[0].with_motion(Sine(0.8, 0.5), Ramp(1.0, 2.0))
    model = Mechanism([crank, *links[1:]], [Gravity(9.81), JointDamper(0.3)], CRANK.model.pins)
    at = assemble(model, START.theta, START.omega)
    run = simulate(model, at.theta, at.omega, t_end=4.0, save=0.05, rtol=1e-11, atol=1e-11)
    assert set(run.work) == {"constraints", "motion", "joint_damper"}
    assert np.abs(run.energy().residual).max() <= 1e-10 * run.energy().kinetic.max()
    turned = 0.8 * np.sin(math.pi * run.t) + 1.0 + 2.0 * run.t
    np.testing.assert_allclose(run.theta[:, 0], turned, atol=1e-13)
    posed = nlink.posed(CRANK.model, {0: turned}, near=at.theta)
    np.testing.assert_allclose(run.theta, posed.theta, atol=1e-12)
    np.testing.assert_allclose(run.work["constraints"], 0.0, atol=1e-9)


@pytest.mark.parametrize("carried", [(), (Link.rod(0.5, 0.3).on(2, 0.7), Slider(0.2).on(3, 0.2))])
def test_a_drive_that_asks_too_much_stops_at_the_end_of_its_way(carried):
    """Without freedom, and with that of bodies that hang on the linkage."""
    linkage = linkages.four_bar(crank=2.0, coupler=1.5, rocker=1.5, ground=2.0)
    links = linkage.model.links
    model = Mechanism([links[0].with_motion(Ramp(1.0, 1.0)), *links[1:], *carried], linkage.model.loads, linkage.model.pins)
    rest = [0.0] * len(carried)
    at = assemble(model, [1.0, 2.0, 2.0, *rest], [1.0, 0.0, 0.0, *rest])
    run = simulate(model, at.theta, at.omega, t_end=8.0, strict=False)
    assert run.status.code == "undetermined"
    (limit,) = nlink.posed(linkage.model, {0: np.linspace(1.0, 4.0, 200)}, near=at.theta[:3]).limits
    assert re.search(r"the drive asks for what the linkage cannot do: link 0 at [\d.]+ rad is the end of its way", str(run.status))
    assert run.theta[-1, 0] == pytest.approx(float(re.findall(r"above ([\d.]+\d)", limit)[0]), abs=1e-2)


def test_a_drive_with_freedom_left_over():
    """A five-bar with one crank driven: one freedom, energy balanced against the work of the drive, and no rest."""
    links = linkages.five_bar().model.links
    model = Mechanism([links[0].with_motion(Ramp(2.0, 1.0)), *links[1:]], pins=linkages.five_bar().model.pins)
    assert (model.freedom, model.spare) == (1, 0)
    at = assemble(model, linkages.five_bar().near, [1.0, 0.0, 0.0, 0.0])
    run = simulate(model, at.theta, at.omega, t_end=1.0, rtol=1e-11, atol=1e-11)
    assert np.abs(run.energy().residual).max() <= 1e-9
    with pytest.raises(ModelError, match="has a prescribed motion, which leaves no equilibrium"):
        equilibrium(model, at.theta)


# Equilibria and small motions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 5])
def test_a_chain_with_a_pin_and_the_same_as_a_mechanism_have_the_same_derivatives(n):
    chain, model, q, v = closed_chain(n)
    a, force = formulate(chain).accelerations(q, v), formulate(chain).reactions(q, v)[-1]
    for name, values in (
        ("gap", (q,)),
        ("jacobian", (q,)),
        ("inverse", (q,)),
        ("jacobian_rate", (q, v)),
        ("pull_slopes", (q, v, a)),
        ("geometric", (q, force)),
    ):
        mine, other = (getattr(loop_closure, name)(each, *values) for each in (model, chain))
        np.testing.assert_allclose(mine, other, atol=1e-13, err_msg=name)
    mine, other = (
        state_matrix(each, np.zeros(1), q[None], v[None], a[None], force[None]) for each in (model, chain)
    )  # fmt: skip
    np.testing.assert_allclose(mine, other, atol=1e-11 * np.abs(other).max())


def test_a_chain_with_a_pin_and_the_same_as_a_mechanism_rest_and_swing_the_same():
    chain, model, q, _ = closed_chain()
    rests = [settled(each, q) for each in (model, chain)]
    np.testing.assert_allclose(rests[0].theta, rests[1].theta, atol=1e-12)
    np.testing.assert_allclose(equilibrium(model).theta, equilibrium(chain).theta, atol=1e-12)
    found = [np.sort_complex(linearize(each, rest.theta).eigenvalues) for each, rest in zip((model, chain), rests, strict=True)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    all_rests = [equilibria(each) for each in (model, chain)]
    assert [rest.stable for rest in all_rests[0]] == [rest.stable for rest in all_rests[1]]
    np.testing.assert_allclose([r.theta for r in all_rests[0]], [r.theta for r in all_rests[1]], atol=1e-9)


def test_a_chain_with_a_pin_and_the_same_as_a_mechanism_have_the_same_growth_of_deviations():
    chain, model, q, v = closed_chain()
    growths = [nlink.ftle(each, q, v, t=3.0) for each in (model, chain)]
    assert growths[0].exponent == pytest.approx(growths[1].exponent, abs=1e-7)
    spectra = [nlink.lyapunov(each, q, v, t_end=4.0) for each in (model, chain)]
    assert spectra[0].exponents.sum() == pytest.approx(spectra[1].exponents.sum(), abs=1e-8)
    assert spectra[0].divergence == pytest.approx(spectra[0].exponents.sum(), abs=1e-7)


def test_a_hanging_parallelogram_swings_as_a_pendulum():
    """Three loops of unequal widths and masses hang straight down: one frequency, that of all their weight."""
    linkage = linkages.a02(3)
    weights = 1.0 + 0.2 * np.arange(7)
    bars = [replace(link, mass=m, inertia=m / 12) for link, m in zip(linkage.model.links, weights.tolist(), strict=True)]
    model = Mechanism(bars, pins=linkage.model.pins)
    down = np.array([0.0] + [math.pi / 2, 0.0] * 3)
    rockers, couplers = model.mass[::2].sum(), model.mass[1::2].sum()
    expected = math.sqrt(9.81 * (rockers / 2 + couplers) / (rockers / 3 + couplers))
    small = linearize(model, down)
    np.testing.assert_allclose(small.frequencies, [expected], rtol=1e-12)
    assert [mode.frequency for mode in modes(model, down)] == pytest.approx([expected], rel=1e-12)
    shape = small.modes[:, 0].real
    np.testing.assert_allclose(shape[::2], shape[0], atol=1e-12)
    np.testing.assert_allclose(shape[1::2], 0.0, atol=1e-12)
    run = simulate(model, down + 1e-4 * np.array([1.0] + [0.0, 1.0] * 3), t_end=2.0, save=2.0, rtol=1e-12, atol=1e-15)
    assert run.theta[-1, 0] == pytest.approx(1e-4 * math.cos(2.0 * expected), abs=1e-10)


def test_redundant_bars_leave_the_frequency_of_a_pendulum():
    linkage = linkages.rockers()
    down = np.array([0.0] * 4 + [math.pi / 2])
    expected = math.sqrt(9.81 * (4 / 2 + 1.7) / (4 / 3 + 1.7))
    np.testing.assert_allclose(linearize(linkage.model, down).frequencies, [expected], rtol=1e-10)


@settings(max_examples=8)
@given(st.integers(0, 1000))
def test_small_motions_are_those_of_the_motion_itself(seed):
    """About the rest of linkages with springs, slides, guides and bars: M, C and K against the accelerations beside it."""
    rng = np.random.default_rng(seed)
    loads = [Gravity(9.81), JointSpring(float(rng.uniform(2, 6)), float(rng.uniform(-1, 1))), JointDamper(0.3)]
    bars = [Link.rod(0.5, 1.0), Link.rod(1.3, 1.0), Slider(0.7, 0.4).on(GROUND, (0.0, 0.2)), Link.rod(0.6, 0.4).on(1, 0.7)]
    pins = [Pin(At(1), At(2)), [Distance(At(3), (1.5, 0.5), 1.0), Guide(At(3), (0.0, -0.5), 0.2)][seed % 2]]
    model = Mechanism(bars, loads, pins)
    rest = equilibrium(model)
    small = linearize(model, rest.theta)
    assert rest.residual < 1e-10
    n, d = model.n, len(small.M)
    assert d == model.freedom
    system, h = formulate(model), 1e-4

    def pulled(x: np.ndarray, rate: np.ndarray) -> np.ndarray:
        start = assemble(model, rest.theta + small.basis @ x, small.basis @ rate)
        return small.basis.T @ system.accelerations(start.theta, start.omega)

    for k in range(d):
        unit = h * np.eye(d)[k]
        by_place = (pulled(unit, 0 * unit) - pulled(-unit, 0 * unit)) / (2 * h)
        by_rate = (pulled(0 * unit, unit) - pulled(0 * unit, -unit)) / (2 * h)
        np.testing.assert_allclose(-np.linalg.solve(small.M, small.K[:, k]), by_place, atol=1e-5 * (1 + np.abs(small.K).max()))
        np.testing.assert_allclose(-np.linalg.solve(small.M, small.C[:, k]), by_rate, atol=1e-5 * (1 + np.abs(small.C).max()))
    assert n == len(small.basis)


def test_a_rest_is_where_forces_balance_and_motion_would_end():
    linkage = linkages.jansen()
    rest = equilibrium(linkage.model, linkage.near)
    system = formulate(linkage.model)
    assert np.abs(system.accelerations(rest.theta, np.zeros(7))).max() <= 1e-9
    damped = CRANK.model.with_loads(Gravity(9.81), JointDamper(8.0))
    run = simulate(damped, START.theta, START.omega, t_end=60.0, save=60.0)
    end = settled(damped, START.theta)
    assert end.stable
    np.testing.assert_allclose(run.theta[-1], end.theta, atol=1e-5)
    energy = kinematics.potential_energy(CRANK.model, np.array([rest.theta for rest in equilibria(CRANK.model)]))
    assert kinematics.potential_energy(CRANK.model, equilibrium(CRANK.model).theta) == pytest.approx(energy.min(), abs=1e-9)


def test_slides_count_by_the_size_so_that_units_make_no_difference():
    """A slider-crank in metres and the same a thousand times smaller, with all loads as by dimensional analysis."""
    ends = []
    for size in (1.0, 1e-3):
        crank, rod = Link.rod(0.3 * size, 0.4), Link.rod(0.9 * size, 0.8)
        spring = PointSpring(At(2), (2.0 * size, 0.0), 3.0 / size, 0.5 * size)
        model = Mechanism([crank, rod, Slider(0.5).on(GROUND)], [Gravity(9.81), spring], Pin(At(1), At(2)))
        rest = equilibrium(model, np.array([1.2, 1.5, 1.1 * size]))
        ends.append((rest.theta / [1.0, 1.0, size], linearize(model, rest.theta).frequencies * math.sqrt(size)))
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=1e-9)
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=1e-9)


def test_a_critical_load_of_a_linkage_is_that_of_its_closed_form():
    """A parallelogram upside down on a spring: it tips over where gravity turns as hard as the spring holds."""
    linkage = linkages.a02(2)
    up = np.array([math.pi] + [math.pi / 2, math.pi] * 2)
    spring = JointSpring((30.0, 0.0, 0.0, 0.0, 0.0), (math.pi, 0.0, 0.0, 0.0, 0.0))
    critical = nlink.critical_load(lambda g: linkage.model.with_loads(Gravity(g), spring), (0.5, 20.0), theta=up)
    assert critical.kind == "divergence"
    assert critical.load == pytest.approx(30.0 / (3 / 2 + 2), rel=1e-9)


def test_multipliers_over_a_period_are_those_of_small_motions():
    """A four-bar at rest, over any time: its Floquet multipliers are exp(eigenvalue t)."""
    model = CRANK.model.with_loads(Gravity(9.81), JointDamper(0.4))
    rest = equilibrium(model).theta
    found = nlink.floquet(model, rest, period=1.3)
    expected = np.exp(1.3 * linearize(model, rest).eigenvalues)
    np.testing.assert_allclose(np.sort_complex(found.multipliers), np.sort_complex(expected), atol=1e-8)


def test_exponents_of_a_linkage_add_up_to_its_contraction():
    """Two loops, a slide and a damper: the sum of all exponents is how volumes shrink; without friction it is zero."""
    linkage = linkages.five_bar()
    start = assemble(linkage.model, linkage.near, [1.0, 0.0, -0.5, 0.0])
    free = nlink.lyapunov(linkage.model, start.theta, start.omega, t_end=3.0)
    assert len(free.exponents) == 4
    assert free.exponents.sum() == pytest.approx(free.divergence, abs=1e-7)
