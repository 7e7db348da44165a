"""What is asked of open mechanisms besides their motion: rest, small motions, stability under drives, exponents, trust."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.integrate import solve_ivp
from trees import Tree, built, moving, slope, table
from typer.testing import CliRunner

from nlink import (
    DOP853,
    At,
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    Link,
    LinkDamper,
    Mechanism,
    ModelError,
    PointForce,
    PointSpring,
    Ramp,
    Scenario,
    Settings,
    Sine,
    Slider,
    Spline,
    bifurcation,
    compare,
    critical_load,
    equilibria,
    equilibrium,
    floquet,
    formulate,
    ftle,
    limit_cycle,
    linearize,
    locus,
    lyapunov,
    modes,
    preset,
    simulate,
    stability_map,
    trusted_until,
)
from nlink.analysis.stability_map import KINDS
from nlink.cli import app

ROD = Link.rod(1.0, 1.0)
UP = math.pi


# Rest and small motions ----------------------------------------------------------------------------------------------


def test_frequencies_of_the_tree_of_the_reference():
    model, *_ = built("tree_y5")
    found, wanted = modes(model), np.array(table("tree_y5_modes")["frequencies_rad_s"], float)
    np.testing.assert_allclose([mode.frequency for mode in found], wanted, rtol=1e-13)
    assert max(abs(mode.growth) for mode in found) == 0.0


@given(moving())
def test_small_motions_are_the_derivatives_of_the_accelerations(case):
    """About any motion at t = 0, with all loads and drives: M, C, K against differences of the accelerations."""
    model, q, v, _ = case
    model = model.with_loads(Drag(model.load(Drag).linear)) if model.load(Drag) else model  # |v| has no derivative at rest
    q, v = model.given(0.0, q, v)
    free = np.flatnonzero(~model.prescribed)
    assume(len(free) and model.as_chain() is None)
    here = Tree(model, q, v)
    assume(np.linalg.cond(here.free_mass()) < 1e3)
    assume(all(here.span(load)[0] > 0.5 for load in model.loads if isinstance(load, PointSpring)))
    small, system = linearize(model, q, v), formulate(model)
    for k, i in enumerate(free):
        along = np.eye(model.n)[i]
        wanted = (
            slope(lambda s, d=along: system.accelerations(q + s * d, v), 1e-2)[free],
            slope(lambda s, d=along: system.accelerations(q, v + s * d), 1e-2)[free],
        )
        for side, rates in enumerate(wanted):
            found = small.A[len(free) :, side * len(free) + k]
            np.testing.assert_allclose(found, rates, atol=1e-6 * (1.0 + np.abs(small.A).max()))


HANGING = {
    "spring to the ground": Mechanism([Slider(2.0), ROD, Link.rod(0.5, 0.4).on(1, 0.5)], PointSpring(At(0), (0.4, 0.0), 8.0, 0.1)),
    "tree with springs": Mechanism([ROD, ROD.on(0, 0.5), ROD.on(0)], [JointSpring(3.0), PointForce(At(1), 2.0, 1.0)]),
    "a slide on a link": Mechanism([ROD, Slider(0.5, -math.pi / 2).on(0, 0.2)], JointSpring((0.0, 30.0))),
    "a joint that is held": Mechanism([Slider(motion=Ramp(0.3, 0.0)), ROD, ROD], JointSpring(2.0, 0.3)),
}


@pytest.mark.parametrize("name", HANGING)
def test_equilibria_are_at_rest_by_virtual_work(name):
    model = HANGING[name]
    found = equilibrium(model, 0.1)
    here = Tree(model, found.theta, np.zeros(model.n))
    forces = sum(here.generalised().values())
    assert np.abs(forces[here.free]).max() <= 1e-12 * model.mass.sum() * 9.81
    assert found.stable
    assert found.stable == linearize(model, found.theta).stable
    np.testing.assert_allclose(simulate(model, found.theta, t_end=1.0).theta[-1], found.theta, atol=1e-12)
    if name == "a joint that is held":
        assert found.theta[0] == 0.3


def test_all_equilibria_of_a_tree():
    """Each link up or down: the energy is a sum over the links."""
    model, *_ = built("tree_y5")
    found = equilibria(model)
    assert {tuple(np.rint(each.theta / math.pi).astype(int)) for each in found} == {tuple(k) for k in np.ndindex(*(2,) * 5)}
    assert [each.stable for each in found] == [True] + [False] * 31


def test_what_has_no_equilibrium_says_so():
    with pytest.raises(ModelError, match=r"no equilibrium was found from this guess: .* give a guess nearer to one"):
        equilibrium(Mechanism.floating([ROD, ROD]), 0.1)
    with pytest.raises(ModelError, match=r"links\[0\] has a prescribed motion, which leaves no equilibrium; .* or ask floquet\(\)"):
        equilibrium(preset("kapitza").chain)
    with pytest.raises(ModelError, match=r"where every joint is a free hinge; give equilibrium\(\) a guess"):
        equilibria(Mechanism([Slider(2.0), ROD]))


# Stability along a load ----------------------------------------------------------------------------------------------


def held(links, loads) -> Mechanism:
    """A chain as a mechanism: its pivot is held by a drive that does not move."""
    return Mechanism([Slider(motion=Ramp(0.4, 0.0)), *links], loads)


def ziegler(load: float, mechanism: bool, damping: float = 0.0):
    links, loads = [Link.point(1.0, 2.0), Link.point(1.0, 1.0)], [Gravity(0.0), FollowerForce(load)]
    springs = [JointSpring(1.0), JointDamper(damping)]
    if mechanism:
        return held(links, [*loads, JointSpring((0.0, 1.0, 1.0)), JointDamper((0.0, damping, damping))])
    return Chain(links, [*loads, *springs])


@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_flutter_of_a_mechanism_is_that_of_the_chain(damping):
    tree, chain = (critical_load(lambda p, m=m: ziegler(p, m, damping), (0.0, 4.0)) for m in (True, False))
    assert (tree.kind, chain.kind) == ("flutter", "flutter")
    assert (tree.load, tree.frequency) == pytest.approx((chain.load, chain.frequency), rel=1e-9)
    loads = np.linspace(0.0, 4.0, 9)
    one, other = (locus(lambda p, m=m: ziegler(p, m, damping), loads).eigenvalues for m in (True, False))
    np.testing.assert_allclose(np.sort_complex(one[-1]), np.sort_complex(other[-1]), atol=1e-8)
    one, other = (stability_map(lambda p, d, m=m: ziegler(p, m, d), loads + 0.01, (0.0, 0.1)) for m in (True, False))
    np.testing.assert_array_equal(one.kind, other.kind)
    assert len(set(one.kind.ravel())) == 2


def test_a_column_on_a_branch_buckles():
    """A rod that stands on an arm, held by a spring, under a weight: it gives way at k/l."""

    def column(push):
        loads = [Gravity(0.0), JointSpring((0.0, 0.0, 5.0), (0.0, 0.0, UP)), PointForce(At(2), 0.0, -push)]
        return Mechanism([Slider(motion=Ramp(0.0, 0.0)), ROD.with_motion(Ramp(0.0, 0.0)), Link.rod(0.8, 1.0).on(1, 0.3)], loads)

    found = critical_load(column, (0.0, 20.0), theta=[0.0, 0.0, UP])
    assert (found.kind, found.load) == ("divergence", pytest.approx(5.0 / 0.8, rel=1e-12))


# Drives that repeat --------------------------------------------------------------------------------------------------


def kapitza(amplitude: float, frequency: float = 40.0, link: Link | None = None, phase: float = 0.0) -> Mechanism:
    return Mechanism([Slider(direction=math.pi / 2, motion=Sine(amplitude, frequency, phase)), link or Link.rod(0.3, 0.1)])


@pytest.mark.parametrize("amplitude", ["0.002", "0.01", "0.02", "0.08"])
def test_multipliers_of_kapitzas_rod(amplitude):
    for side, theta in (("up", UP), ("down", 0.0)):
        wanted = table("kapitza_floquet")["modes"][0]["floquet"][amplitude][side]
        found = floquet(kapitza(float(amplitude)), [0.0, theta])
        multipliers = [complex(float(re), float(im)) for re, im in wanted["multipliers"]]
        np.testing.assert_allclose(np.sort_complex(found.multipliers), np.sort_complex(multipliers), atol=1e-12)
        assert found.monodromy.trace() == pytest.approx(float(wanted["trace"]), abs=1e-12)
        assert found.stable == wanted["stable"]
        assert found.period == pytest.approx(1 / 40)


def test_the_window_in_which_kapitzas_rod_stands():
    mode = table("kapitza_floquet")["modes"][0]
    begins, ends = critical_load(kapitza, (0.001, 0.1), theta=[0.0, UP], later=True)
    assert (begins.kind, begins.lost, ends.kind, ends.lost) == ("divergence", False, "flutter", True)
    assert begins.load == pytest.approx(float(mode["stable_upside_down_from_amplitude"]), rel=1e-11)
    assert ends.load == pytest.approx(float(mode["stable_upside_down_to_amplitude"]), rel=1e-11)
    assert ends.frequency == pytest.approx(40.0 * math.pi)


def test_the_threshold_of_a_point_mass_in_its_limit():
    """(a w)^2 > 2 g l, the faster the better: the rest falls as 1/w^2."""
    length, rest = 0.25, []
    for frequency in (20.0, 40.0, 80.0):
        critical = math.sqrt(2 * 9.81 * length) / (2 * math.pi * frequency)
        point = Link.point(length, 0.3)
        found = critical_load(lambda a, f=frequency, p=point: kapitza(a, f, p), (0.5 * critical, 2 * critical), theta=[0.0, UP])
        rest.append(found.load / critical - 1.0)
    assert np.abs(rest).max() < 0.02
    np.testing.assert_allclose(np.array(rest[:-1]) / rest[1:], 4.0, rtol=0.05)


@settings(max_examples=20)
@given(
    st.floats(0.001, 0.05), st.floats(2.0, 60.0), st.floats(0.1, 1.0), st.floats(-3.0, 3.0), st.sampled_from([0.0, UP]),
    st.floats(0.0, 0.5),
)  # fmt: skip
def test_multipliers_are_those_of_hills_equation(amplitude, frequency, length, phase, theta, damping):
    """phi'' + c phi' + (sign) (g + y'')/l phi = 0 integrated over a period, for a point mass on a pivot that moves as y."""
    model = kapitza(amplitude, frequency, Link.point(length, 1.0), phase).with_loads(LinkDamper((0.0, damping)))
    pulse, sign = 2 * math.pi * frequency, 1.0 if theta == 0.0 else -1.0

    def hill(t, x):
        lifted = 9.81 - amplitude * pulse**2 * math.sin(pulse * t + phase)
        return [x[1], -damping / length**2 * x[1] - sign * lifted / length * x[0]]

    ends = [solve_ivp(hill, (0.0, 1 / frequency), start, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1] for start in np.eye(2)]
    found = floquet(model, [0.0, theta])
    np.testing.assert_allclose(found.monodromy, np.transpose(ends), rtol=1e-9, atol=1e-9 * np.abs(ends).max())


@pytest.mark.parametrize("loads", [(LinkDamper(0.3),), (LinkDamper(0.3), Drag(0.1, 0.2))], ids=["series", "stages"])
def test_a_motion_that_repeats_with_its_drive(loads):
    """A pendulum of two rods under a cart that is moved to and fro: it repeats, and small deviations die out as they do in runs."""
    model = Mechanism([Slider(motion=(Sine(0.1, 0.5), Sine(0.03, 1.0))), ROD, Link.rod(0.6, 0.5)], loads)
    found = floquet(model, 0.0)
    assert found.period == pytest.approx(2.0)
    assert found.stable
    assert found.residual <= 1e-9
    tight = {"t_end": 2.0, "save": 2.0, "integrator": DOP853(1e-13, 1e-13)}
    free = np.flatnonzero(np.tile(~model.prescribed, 2))

    def end(change):
        run = simulate(model, found.theta + change[:3], found.omega + change[3:], **tight)
        return np.concatenate([run.theta[-1], run.omega[-1]])[free]

    np.testing.assert_allclose(end(np.zeros(6)), np.concatenate([found.theta, found.omega])[free], atol=1e-9)
    ends = np.transpose([slope(lambda s, d=each: end(s * d), 1e-2) for each in np.eye(6)[free]])
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(ends)), np.sort_complex(found.multipliers), atol=1e-7)
    later = simulate(model, 0.0, t_end=60.0, save=0.01)
    cycle = limit_cycle(later)
    assert cycle is not None
    np.testing.assert_allclose(later.at([58.0]).theta[0], found.theta, atol=1e-3)


@pytest.mark.parametrize(
    ("motion", "said"),
    [
        (Spline((0.0, 1.0), (0.0, 1.0)), "a spline or a slider that goes on and on does not repeat; give it as Sines"),
        (Ramp(0.0, 1.0), "a spline or a slider that goes on and on does not repeat; give it as Sines"),
        ((Sine(0.1, 1.0), Sine(0.1, math.sqrt(2.0))), "the drives have no common period: 1, 1.41421 Hz; give period="),
        (None, "nothing drives this motion in time, so that its period is not known; give period="),
    ],
)
def test_what_does_not_repeat_is_refused(motion, said):
    with pytest.raises(ModelError, match=said):
        floquet(Mechanism([Slider(1.0, motion=motion), ROD]), 0.0)


def test_the_command_finds_kapitzas_window_and_draws_its_chart(tmp_path):
    varied = ["stability", "kapitza", "--about", "up", "--vary", "links[0].motion.amplitude", "--from", "0.001", "--to", "0.1"]
    files = ["-o", str(tmp_path / "window.png"), "--csv", str(tmp_path / "w.csv")]
    told = CliRunner().invoke(app, [*varied, "--points", "30", *files])
    assert told.exit_code == 0, told.output
    assert "divergence ends at links[0].motion.amplitude = 0.00788446306692" in told.output
    assert "flutter begins at links[0].motion.amplitude = 0.0910653733678, 125.663706144 rad/s (20 Hz)" in told.output
    assert len((tmp_path / "w.csv").read_text().splitlines()) > 30
    second = ["--vary2", "links[0].motion.frequency", "--from2", "20", "--to2", "80", "--points", "12", "--points2", "8"]
    chart = CliRunner().invoke(app, [*varied, *second, "-o", str(tmp_path / "chart.png"), "--json"])
    assert chart.exit_code == 0, chart.output
    result = json.loads(chart.output[: chart.output.rindex("}") + 1])
    assert result["shares"]["divergence"] + result["shares"]["flutter"] + result["shares"]["stable"] == pytest.approx(1.0)
    found = stability_map(kapitza, result["x"], np.linspace(20.0, 80.0, 8), [0.0, UP])
    assert result["shares"] == pytest.approx({kind: (found.kind == k).mean() for k, kind in enumerate(KINDS)})
    lifting = (found.x * 2 * math.pi * found.y[:, None]) ** 2 / (2 * 9.81 * 0.2)
    assert (found.kind[lifting < 0.9] == KINDS.index("divergence")).all()
    assert (found.kind[(lifting > 1.1) & (found.x < 0.085)] == KINDS.index("stable")).all()
    assert (found.kind[:, found.x > 0.099] == KINDS.index("flutter")).all()
    for name in ("window", "chart"):
        picture = np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB"))
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


# Chaos and trust -----------------------------------------------------------------------------------------------------

FOLLOWED = {
    "cart": (Mechanism([Slider(2.0), ROD, Link.rod(0.8, 0.6)]), [0.0, 2.0, 1.0]),
    "damped": (Mechanism([Slider(2.0), ROD, Link.rod(0.8, 0.6)], [JointDamper(0.2), LinkDamper(0.1)]), [0.0, 2.0, 1.0]),
    "driven": (
        Mechanism([ROD.with_motion(Sine(0.5, 1.0)), ROD, Slider(0.3, 0.4).on(1, 0.3)], [Drag(0.2)]), [0.0, 0.5, 0.1]
    ),
    "kapitza": (kapitza(0.02), [0.0, 2.8]),
    "springs": (
        Mechanism([ROD, ROD.on(0, 0.5), ROD.on(0)], [JointDamper(0.3), PointSpring(At(2), (1.0, 0.0), 5.0, 0.3, 0.2)]),
        [1.0, 2.0, 1.0],
    ),
    "quadratic drag": (Mechanism([Slider(2.0), ROD], [Drag(0.2, 0.3)]), [0.0, 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_exponents_add_up_to_the_exact_divergence(name):
    """By dual numbers where the loads have a series, else by collocation; the volume by the matrices alone."""
    model, theta = FOLLOWED[name]
    found = lyapunov(model, theta, t_end=3.0)
    assert found.freedom == 2 * int((~model.prescribed).sum())
    assert found.sum == pytest.approx(found.divergence, abs=1e-9)
    assert found.residual <= 1e-8
    if name in ("kapitza", "cart"):
        assert abs(found.divergence) < 0.1
    else:
        assert found.divergence < -0.1


@pytest.mark.parametrize("name", FOLLOWED)
def test_growth_in_finite_time_is_that_of_neighbours(name):
    model, theta = FOLLOWED[name]
    free = np.flatnonzero(np.tile(~model.prescribed, 2))
    start = np.concatenate([theta, np.full(model.n, 0.1)])

    def end(y):
        run = simulate(model, y[: model.n], y[model.n :], t_end=0.5, save=0.5, integrator=DOP853(1e-14, 1e-14))
        return np.concatenate([run.theta[-1], run.omega[-1]])[free]

    flow = np.transpose([slope(lambda s, d=each: end(start + s * d), 5e-4) for each in np.eye(2 * model.n)[free]])
    found = ftle(model, theta, 0.1, 0.5)
    np.testing.assert_allclose(found.singular_values, np.linalg.svd(flow)[1], rtol=1e-7)
    assert found.exponent == pytest.approx(math.log(found.singular_values[0]) / 0.5)


@pytest.mark.parametrize("name", ["cart-2", "kapitza"])
def test_formulations_are_compared_and_what_refuses_is_listed(name):
    scenario = preset(name)
    scenario = Scenario(scenario.chain, scenario.theta, scenario.omega, Settings(t_end=1.0))
    found = compare(scenario, ["recursive", "projection", "maximal"])
    assert found.trusted_until == 1.0
    rows = {row.formulation: row for row in found.rows}
    assert rows["projection"].largest < 1e-7
    assert "maximal takes chains, not mechanisms; use recursive or projection" in str(rows["maximal"].status)
    assert trusted_until(scenario.run()) == 1.0


def test_what_takes_chains_alone_is_not_compared_if_not_asked_for():
    scenario = Scenario(preset("cart-2").chain, (0.0, 2.0, 2.5), settings=Settings(t_end=0.1))
    assert {row.formulation for row in compare(scenario).rows} == {"recursive", "projection"}


def test_trust_in_a_chaotic_tree_ends():
    scenario = Scenario(
        preset("cart-2").chain,
        (0.0, 2.0, 2.5),
        settings=Settings(t_end=60.0, rtol=1e-5, atol=1e-5, integrator="DOP853(rtol=1e-5, atol=1e-5)"),
    )
    found = trusted_until(scenario)
    assert 1.0 < found < 30.0
    run, exact = scenario.run(), simulate(scenario.chain, scenario.theta, t_end=found, rtol=1e-13, atol=1e-13, save=found)
    assert np.abs(run.at([found]).theta[0] - exact.theta[-1]).max() <= 1e-3


def test_what_takes_chains_only_says_what_to_use():
    with pytest.raises(
        ModelError, match="takes chains, not mechanisms; give simulate an Event where the motion crosses the section"
    ):
        bifurcation(lambda a: kapitza(a), [0.01, 0.02], [0.0, 3.0], t_end=1.0, transient=0.5)
