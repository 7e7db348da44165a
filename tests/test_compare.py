"""Comparisons and trust: held against multi-precision references, densely and for every formulation there is."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers import reference, start_angles

import nlink
from nlink import DOP853, RK4, RK45, Chain, Gauss, ModelError, Scenario, Settings, Taylor, compare, preset, simulate, trusted_until
from nlink.analysis.compare import Row
from nlink.analysis.trust import difference, within
from nlink.run.run import Status
from nlink.simulation.integrate import SimulationInterrupted
from nlink.view.compare import compare_figure, overlay_figure, save_comparison

FORMULATIONS = tuple(nlink.FORMULATIONS)
FULL = [name for name in FORMULATIONS if name != "linear"]
ANGLE = 1e-3
CASES = {"N2_chaotic": 20.0, "N3_chaotic": 12.0, "N5_chaotic": 9.0, "N3_nice": 20.0}
"""References and how long they are followed: chaos is over, to 1e-3, well before."""


def motion(case: str, integrator, formulation: str = "recursive", save=0.01):
    """Return a run that may end as inaccurate: RK45 at 1e-3 loses a tenth of the energy of five links."""
    kind = "nice" if "nice" in case else "chaotic"
    n = int(case[1])
    options = {"formulation": formulation, "integrator": integrator, "save": save, "strict": False}
    return simulate(Chain.uniform(n), start_angles(kind, n), t_end=CASES[case], **options)


@pytest.fixture(scope="module")
def truth() -> dict[str, nlink.Run]:
    """Runs at the limit of double precision; a test below says how far they are true."""
    return {case: motion(case, DOP853(1e-14, 1e-14)) for case in CASES}


TRUE = {"N2_chaotic": 18.0, "N3_chaotic": 8.9, "N5_chaotic": 6.6, "N3_nice": 20.0}
"""Times until which those runs are within 1e-4 of the exact motion: they err by 1e-3 at 20, 10.1, 7.3 and never."""


@pytest.mark.parametrize("case", CASES)
def test_the_dense_truth_is_true_where_the_references_are_listed(truth, case):
    for value in reference("uniform_rods")["cases"][case]["values"]:
        if value["t"] <= TRUE[case]:
            assert np.abs(truth[case].at([value["t"]]).theta[0] - value["theta"]).max() < 1e-4, value["t"]


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
@pytest.mark.parametrize("case", CASES)
def test_the_stated_time_is_honest(truth, case, rtol):
    run = motion(case, DOP853(rtol, rtol))
    until = trusted_until(run)
    for value in reference("uniform_rods")["cases"][case]["values"]:
        if value["t"] <= until:
            assert np.abs(run.at([value["t"]]).theta[0] - value["theta"]).max() <= ANGLE, value["t"]
    seen = run.t <= min(until, TRUE[case])
    assert np.abs(run.theta - truth[case].theta)[seen].max() <= ANGLE + 1e-4


METHODS = [None, Taylor(1e-6), Taylor(1e-9), RK45(1e-6, 1e-6), RK45(1e-3, 1e-6), RK4(0.01), RK4(0.001), Gauss(0.005)]


@pytest.mark.parametrize("integrator", METHODS, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_the_stated_time_is_honest_for_other_methods(truth, case, integrator):
    run = motion(case, integrator)
    seen = run.t <= min(trusted_until(run), TRUE[case])
    assert np.abs(run.theta - truth[case].theta)[seen].max() <= ANGLE + 1e-4


@pytest.mark.parametrize("name", FULL)
def test_the_stated_time_is_honest_in_every_formulation(truth, name):
    for rtol in (1e-6, 1e-9):
        run = motion("N3_chaotic", DOP853(rtol, rtol), name)
        until = trusted_until(run)
        assert np.abs(run.theta - truth["N3_chaotic"].theta)[run.t <= until].max() <= ANGLE
        assert until > {1e-6: 1.5, 1e-9: 5.0}[rtol]  # measured 2.1 to 3.4, and 6.0 to 6.7


def test_the_stated_time_is_not_needlessly_early():
    """Departure is at 3.5, 6.8 and 8.9 s; a margin of 5 costs ln(5)/3 = 0.5 s, at worst 1.5 s where the growth pauses."""
    times = [trusted_until(motion("N3_chaotic", DOP853(rtol, rtol))) for rtol in (1e-6, 1e-9, 1e-12)]
    assert times[0] > 2.0
    assert times[1] > 5.3
    assert times[2] > 7.3
    assert trusted_until(motion("N3_nice", DOP853(1e-9, 1e-9))) == 20.0


def test_a_smaller_angle_is_left_earlier():
    run = motion("N3_chaotic", DOP853(1e-9, 1e-9))
    times = [trusted_until(run, angle) for angle in (1e-1, 1e-3, 1e-5, 1e-7)]
    assert times == sorted(times, reverse=True)
    assert times[-1] < 3.0 < 7.0 < times[0]
    assert trusted_until(run, 1e-16) == 0.0


def test_sparse_saving_hides_nothing():
    """The integrator's steps are compared too, so the time cannot fall behind a difference that comes and goes."""
    dense = trusted_until(motion("N3_chaotic", DOP853(1e-9, 1e-9)))
    sparse = trusted_until(motion("N3_chaotic", DOP853(1e-9, 1e-9), save=3.0))
    assert sparse == pytest.approx(dense, abs=0.05)


@pytest.mark.parametrize("start", [[np.pi], start_angles("chaotic", 3)], ids=["upright", "chaotic"])
def test_the_last_digits_of_the_start_are_not_believed(start):
    """At tolerances where only rounding is left, runs from one double agree for longer than that double is right."""
    chain, method = Chain.uniform(len(start)), DOP853(1e-14, 1e-14)
    run = simulate(chain, start, t_end=12.0, integrator=method)
    rng = np.random.default_rng(0)
    for _ in range(6):
        moved = np.array(start) * (1 + 8 * 2.0**-52 * rng.uniform(-1, 1, len(start)))
        other = simulate(chain, moved, t_end=12.0, integrator=method)
        assert trusted_until(run) <= within(run.t, difference(run.theta, other.theta), ANGLE)


def test_backwards_ended_early_or_not_begun():
    back = simulate(Chain.uniform(3), start_angles("chaotic", 3), t_end=-12.0, integrator=DOP853(1e-9, 1e-9))
    ahead = motion("N3_chaotic", DOP853(1e-9, 1e-9))
    assert trusted_until(back) == pytest.approx(-trusted_until(ahead), abs=0.02)  # from rest, time has no direction
    sparse = simulate(Chain.uniform(3), start_angles("chaotic", 3), t_end=-12.0, integrator=DOP853(1e-9, 1e-9), save=3.0)
    assert trusted_until(sparse) == pytest.approx(trusted_until(back), abs=0.05)
    stopped = replace(preset("chaotic-3"), settings=Settings(flips="stop")).run()
    assert trusted_until(stopped) == stopped.t[-1]
    broken = Scenario(Chain.uniform(3).with_loads(nlink.JointSpring(1e6)), (0.5,) * 3, settings=Settings(2.0, integrator=RK4(0.05)))
    failed = broken.run(strict=False)
    assert failed.status.code == "not_finite"
    assert 0.0 <= trusted_until(failed) < failed.t[-1]
    alone = simulate(Chain.uniform(2), 0.5, t_end=1.0, save=[0.0])
    assert trusted_until(replace(alone, knots=None)) == 0.0


def test_a_scenario_is_run_first():
    scenario = replace(preset("nice-3"), settings=Settings(t_end=3.0, rtol=1e-5, atol=1e-5))
    assert trusted_until(scenario) == trusted_until(scenario.run()) == 3.0


def test_an_interrupt_is_not_taken_for_an_answer(monkeypatch):
    run = simulate(Chain.uniform(2), 0.5, t_end=1.0)

    def stopped(scenario, **options):
        raise SimulationInterrupted(Status("interrupted", "stopped by the user"), run)

    monkeypatch.setattr(Scenario, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        trusted_until(run)


def test_trust_survives_saving(tmp_path):
    run = simulate(Chain.uniform(2), 0.5, t_end=1.0)
    run.trusted_until = trusted_until(run)
    run.save(tmp_path / "run.nc")
    back = nlink.load(tmp_path / "run.nc")
    assert back.trusted_until == 1.0
    assert trusted_until(back) == 1.0


def test_a_lost_torque_cannot_be_checked(tmp_path):
    chain = Chain.uniform(2).with_loads(nlink.JointTorque(lambda t: 0.1 * t))
    run = simulate(chain, 0.5, t_end=0.5)
    assert trusted_until(run) == 0.5
    run.save(tmp_path / "run.nc")
    with pytest.raises(ModelError, match="its torque was a function, which its file does not hold; simulate again"):
        trusted_until(nlink.load(tmp_path / "run.nc"))


def test_wrong_input_to_trust():
    run = simulate(Chain.uniform(2), 0.5, t_end=1.0)
    with pytest.raises(ModelError, match="angle must be positive, got 0"):
        trusted_until(run, 0)
    with pytest.raises(ModelError, match="trusted_until needs a Run or a Scenario, got int"):
        trusted_until(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match="the run holds no saved point to be trusted"):
        trusted_until(replace(run, t=run.t[:0], position=run.position[:0]))


# The parts ---------------------------------------------------------------------------------------------------------


def test_difference_is_symmetric_and_counts_turns_made_on_the_way():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50, 3))
    assert np.array_equal(difference(a, b), difference(b, a))
    assert np.array_equal(difference(a, a), np.zeros(50))
    assert np.array_equal(difference(a[:20], b), difference(a, b)[:20])
    assert np.array_equal(difference(a, b[:20]), difference(a, b)[:20])
    assert np.allclose(difference(a + 4 * np.pi, a), 0.0, atol=1e-14)
    turned = a.copy()
    turned[30:, 1] += 2 * np.pi
    assert difference(turned, a)[29] == 0.0
    assert difference(turned, a)[30] == pytest.approx(2 * np.pi)


def test_within_is_the_last_time_before_the_limit_is_passed():
    t = np.array([0.0, 1.0, 2.0, 3.0])
    assert within(t, np.array([0.0, 0.1, 0.3, 0.1]), 0.2) == 1.0
    assert within(t, np.array([0.0, 0.1, 0.2, 0.1]), 0.2) == 3.0
    assert within(t, np.array([0.0, 0.1, np.nan, 0.0]), 0.2) == 1.0
    assert within(t, np.array([0.0, 0.1]), 0.2) == 1.0
    assert within(t, np.array([0.5]), 0.2) == 0.0
    assert within(-t, np.array([0.0, 0.1, 0.3]), 0.2) == -1.0


# Comparisons -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short() -> nlink.Comparison:
    """Four variants, of which one is refused and one is an approximation."""
    scenario = replace(preset("nice-3"), settings=Settings(t_end=2.0))
    return compare(scenario, ["recursive", "momentum", "linear"], integrators=["DOP853", "Gauss(step=0.01)"])


def row(comparison: nlink.Comparison, formulation: str, integrator: str = "") -> Row:
    (found,) = [row for row in comparison.rows if row.formulation == formulation and row.integrator.startswith(integrator)]
    return found


def test_every_formulation_is_compared_and_agrees():
    found = compare(replace(preset("nice-3"), settings=Settings(t_end=2.0)))
    assert [row.formulation for row in found.rows] == ["recursive", *FORMULATIONS]
    assert found.rows[0].integrator == preset("nice-3").run(events=()).meta["integrator"] != found.rows[1].integrator
    for each in found.rows:
        assert each.status.ok, each.status
        assert each.approximate == (each.formulation == "linear")
        assert each.difference.shape == found.t.shape
        if not each.approximate:
            assert each.largest is not None
            assert each.largest < 1e-7, each.formulation  # rtol 1e-9, errors growing little in 2 s
            assert each.trusted_until == each.within == 2.0
    assert found.trusted_until == 2.0
    assert list(found.agreement().values()) == [2.0]


def test_a_row_says_what_its_run_did(short):
    each = row(short, "momentum", "DOP853")
    assert each.run in short.runs
    assert each.run.meta["formulation"] == "momentum"
    assert np.array_equal(each.run.t, short.t)
    assert np.array_equal(each.difference, difference(each.run.theta, short.reference.theta))
    assert each.energy == np.abs(each.run.energy().residual).max()
    assert each.violation == 0.0
    assert (each.rtol, each.atol) == (1e-9, 1e-9)
    assert row(short, "recursive", "Gauss").rtol is None
    assert short.reference.meta["integrator"] == "DOP853(rtol=1e-13, atol=1e-13)"  # Gauss, without a tolerance, counts as 1e-12


def test_a_refused_variant_is_listed_with_its_reason(short):
    refused = row(short, "momentum", "Gauss")
    assert refused.status.code == "refused"
    assert "Gauss needs Hamilton's form" in refused.status.message
    assert (refused.run, refused.largest, refused.trusted_until) == (None, None, None)
    assert np.isnan(refused.difference).all()
    assert refused.status.message in str(short)
    assert len(short.runs) == len(short.rows) - 2  # linear has no Hamilton's form either


def test_linear_differs_and_spoils_no_trust(short):
    linear = row(short, "linear", "DOP853")
    assert linear.trusted_until is not None
    assert linear.trusted_until < 0.1
    assert short.trusted_until == 2.0


def test_a_variant_like_the_reference_differs_by_nothing():
    scenario = replace(preset("nice-3"), settings=Settings(t_end=1.0))
    found = compare(scenario, "recursive", 1e-15)
    assert found.reference.meta["integrator"] == found.rows[1].integrator
    assert np.array_equal(found.rows[1].difference, np.zeros(len(found.t)))


def test_a_variant_that_fails_is_compared_as_far_as_it_came():
    chain = Chain.uniform(3).with_loads(nlink.JointSpring(1e5))
    scenario = Scenario(chain, (0.5,) * 3, settings=Settings(1.0, save=0.1, rtol=1e-6))
    found = compare(scenario, "recursive", integrators=["DOP853", "RK4(step=0.05)"])
    good, failed = found.rows
    assert good.status.ok
    assert failed.status.code == "not_finite"
    assert np.isnan(failed.difference[-1])
    assert not np.isnan(failed.difference[0])
    assert "stopped being finite" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_tolerances_and_integrators_make_the_variants():
    scenario = replace(preset("nice-3"), settings=Settings(t_end=0.2, integrator="DOP853(rtol=1e-5, atol=1e-5)"))

    def variants(**options):
        return [(row.integrator, row.rtol, row.atol) for row in compare(scenario, "recursive", **options).rows]

    assert variants() == [("DOP853(rtol=1e-05, atol=1e-05)", 1e-5, 1e-5)]
    assert [v[1:] for v in variants(tolerances=[1e-4, (1e-6, 1e-7)])] == [(1e-4, 1e-4), (1e-6, 1e-7)]
    both = variants(tolerances=[1e-4, 1e-6], integrators=["RK45", RK45(1e-3, 1e-3), "RK4"])
    assert [v[1] for v in both] == [1e-4, 1e-6, 1e-3, None]  # what has a tolerance or a step of its own comes once
    records = compare(scenario, [nlink.Momentum(), nlink.Momentum, "momentum", "Recursive()"]).rows
    assert [row.formulation for row in records] == ["momentum", "recursive"]


@pytest.mark.skipif("maximal" not in FORMULATIONS, reason="there is no maximal form yet")
def test_ways_to_handle_constraints_are_variants():
    names = ["Maximal(constraints=Baumgarte(w=10.0, zeta=0.8))", "Maximal(constraints=Projection())"]
    found = compare(replace(preset("nice-3"), settings=Settings(t_end=2.0, rtol=1e-6, atol=1e-6)), names)
    assert [row.formulation for row in found.rows] == names
    held, projected = (row.violation for row in found.rows)
    assert held is not None
    assert projected is not None
    assert projected < 1e-9 < held < 1e-4


def test_sparse_saving_is_filled_with_steps():
    found = compare(replace(preset("chaotic-3"), settings=Settings(t_end=4.0, save=2.0, rtol=1e-4)), ["momentum"])
    assert {0.0, 2.0, 4.0} <= set(found.t)
    assert np.diff(found.t).max() < 0.2


def test_text_and_json(short):
    text = str(short)
    assert text.splitlines()[0].split() == [
        "formulation", "integrator", "difference", "within", "trusted", "violation", "energy", "steps", "evaluations", "time",
    ]  # fmt: skip
    assert "largest angle difference from recursive, DOP853(rtol=1e-13, atol=1e-13)" in text
    assert "DOP853(rtol=1e-09, atol=1e-09): its formulations agree with each other until t = 2 s" in text
    assert text.splitlines()[-1] == "trusted until t = 2 s (angles within 0.001 rad)"
    table = json.loads(json.dumps(short.to_dict(), allow_nan=False))
    assert table["trusted_until"] == 2.0
    assert [r["status"] for r in table["rows"]] == ["finished"] * 4 + ["refused"] * 2
    assert table["rows"][0]["largest_difference"] == short.rows[0].largest
    assert table["rows"][0]["evaluations"] == short.rows[0].run.stats.nfev


def test_wrong_input_to_compare():
    scenario = replace(preset("nice-3"), settings=Settings(t_end=0.1))
    with pytest.raises(ModelError, match="compare needs a Scenario, got Chain"):
        compare(Chain.uniform(2))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match=r"formulation must be one of recursive, .*got 'momentun' \(did you mean 'momentum'\?\)"):
        compare(scenario, ["momentun"])
    with pytest.raises(ModelError, match="formulations must not be an empty list"):
        compare(scenario, [])
    with pytest.raises(ModelError, match="tolerance must be positive, got -1"):
        compare(scenario, tolerances=-1)
    with pytest.raises(ModelError, match=r"a tolerance must be a number or a pair \(rtol, atol\), got \(1, 2, 3\)"):
        compare(scenario, tolerances=[(1, 2, 3)])
    with pytest.raises(ModelError, match=r"angle must be positive, got -0\.1"):
        compare(scenario, angle=-0.1)
    with pytest.raises(ModelError, match="integrator must be one of DOP853"):
        compare(scenario, integrators="Euler")


# The seed's finding: at ode45's default tolerances formulations part, at tight ones they agree ----------------------


@pytest.fixture(scope="module")
def loose() -> nlink.Comparison:
    return compare(preset("chaotic-3"), FULL, [(1e-3, 1e-6)], "RK45")


@pytest.fixture(scope="module")
def tight() -> nlink.Comparison:
    return compare(preset("chaotic-3"), FULL, [1e-10], "RK45")


def test_all_part_early_at_the_defaults_of_ode45_and_far_later_at_1e_10(loose, tight):
    """Measured 0.52 to 0.59 s and 7.1 to 7.3 s. Errors grow by 3 a second, so a factor of 5 in one is worth 0.5 s."""
    for name in FULL:
        early, late = row(loose, name), row(tight, name)
        assert early.within is not None
        assert late.within is not None
        assert 0.2 < early.within < 1.2, name
        assert 6.0 < late.within < 8.5, name
        assert early.energy is not None
        assert late.energy is not None
        assert early.energy > 1.0  # J, of 60 J exchanged: measured 4 to 17
        assert late.energy < 1e-5  # measured 1e-7
    assert loose.trusted_until is not None
    assert tight.trusted_until is not None
    assert 0.05 < loose.trusted_until < 0.6
    assert 5.5 < tight.trusted_until < 7.5


@pytest.mark.parametrize("name", [name for name in ("recursive", "lagrange") if name in FORMULATIONS])
def test_forms_in_angles_part_from_momentum_by_rounding_alone(loose, tight, name):
    """They take the same steps, so that only rounding, 1e-16, parts them: measured at 6.2 s, and at 10.7 s at 1e-10.

    The loose steps multiply it faster. Which digit is rounded is up to the machine: a factor of 100 is worth 1.5 s.
    """

    def parting(comparison):
        one, other = row(comparison, name).run, row(comparison, "momentum").run
        return within(comparison.t, difference(one.theta, other.theta), ANGLE)

    assert 4.0 < parting(loose) < 9.0
    assert 8.5 < parting(tight) < 20.0


@pytest.mark.parametrize("name", [name for name in ("maximal", "natural") if name in FORMULATIONS])
def test_constrained_forms_drift_at_the_defaults_of_ode45(loose, tight, name):
    """Without stabilisation the hinges of links of 1 m come apart by metres in 20 s; at 1e-10 by less than a micrometre."""
    torn, held = row(loose, name).violation, row(tight, name).violation
    assert torn is not None
    assert held is not None
    assert torn > 0.5  # m, or m^2: measured 9.6 and 74
    assert held < 1e-5  # measured 6e-8 and 3e-7


def test_formulations_agree_with_each_other_far_longer_at_1e_10(loose, tight):
    (early,), (late,) = loose.agreement().values(), tight.agreement().values()
    assert early < 7.5  # 0.44 s with the forms that measure their errors in other coordinates
    assert late > 6.0
    assert late > early + 1.0


# Pictures ----------------------------------------------------------------------------------------------------------


def labels(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_differences_are_drawn_on_a_log_axis(loose):
    (axes,) = compare_figure(loose).axes
    assert axes.get_yscale() == "log"
    curves = [line for line in axes.lines if len(line.get_xdata()) == len(loose.t)]
    assert len(curves) == len(loose.rows)
    assert len({line.get_color() for line in curves}) == len(curves)
    for line, each in zip(curves, loose.rows, strict=True):
        assert np.array_equal(line.get_ydata(), np.maximum(each.difference, 1e-16))
    straight = [line for line in axes.lines if len(line.get_xdata()) == 2]
    assert any(list(line.get_ydata()) == [ANGLE, ANGLE] for line in straight)
    assert any(list(line.get_xdata()) == [loose.trusted_until] * 2 for line in straight)
    assert [text.get_text() for text in axes.texts] == ["0.001 rad"]
    assert axes.get_ylim()[0] <= ANGLE / 1000
    assert labels(compare_figure(loose)) == [each.formulation for each in loose.rows]


def test_integrators_differ_by_their_dashes(short):
    figure = compare_figure(short)
    assert labels(figure)[:3] == ["recursive", "momentum", "linear"]
    assert [text.split("\n")[0] for text in labels(figure)[3:]] == ["DOP853", "Gauss"]
    recursive = [line for line in figure.axes[0].lines if len(line.get_xdata()) == len(short.t)][::3]
    assert len({line.get_color() for line in recursive}) == 1
    assert len({line._unscaled_dash_pattern for line in recursive}) == 2  # pyright: ignore[reportAttributeAccessIssue]


def test_angles_are_overlaid(short):
    (axes,) = overlay_figure(short).axes
    curves = [line for line in axes.lines if len(line.get_xdata()) > 100]
    assert len(curves) == len(short.runs) + 1
    assert np.interp(1.0, *curves[0].get_data()) == pytest.approx(np.degrees(short.reference.at([1.0]).theta[0, -1]))
    assert np.interp(1.0, *curves[1].get_data()) == pytest.approx(np.degrees(short.runs[0].at([1.0]).theta[0, -1]))
    assert labels(overlay_figure(short))[:4] == ["recursive", "momentum", "linear", "reference"]


def test_positions_of_a_chosen_link_are_overlaid(short):
    across, up = overlay_figure(short, "positions", link=0).axes
    for axes, k in ((across, 0), (up, 1)):
        curve = next(line for line in axes.lines if len(line.get_xdata()) > 100)
        assert np.interp(short.t[-1], *curve.get_data()) == pytest.approx(short.reference.positions()[-1, 1, k])


def test_pictures_are_written(short, tmp_path):
    paths = save_comparison(short, tmp_path / "plots", overlay="positions")
    assert [path.name for path in paths] == ["differences.png", "overlay-positions.png"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in paths)
    assert len(save_comparison(short, tmp_path)) == 1


def test_wrong_input_to_pictures(short):
    with pytest.raises(ModelError, match="coordinates must be one of angles, positions; got 'rates'"):
        overlay_figure(short, "rates")
    with pytest.raises(ModelError, match="link must be a whole number from 0 to 2, or from -3 to -1, got 3"):
        overlay_figure(short, link=3)
    with pytest.raises(ModelError, match="fontsize must be positive"):
        compare_figure(short, fontsize=0)
