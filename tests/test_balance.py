"""A finished run is finite in every column and its energy balance holds; one that is not says so."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from helpers import chains, rates
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import nlink
from nlink import (
    DOP853,
    RK4,
    RK45,
    Chain,
    Event,
    Gauss,
    JointTorque,
    Scipy,
    SimulationError,
    Taylor,
    simulate,
    simulate_many,
)
from nlink.cli import app
from nlink.simulation.balance import MOST

CHAOTIC = [1.5, 3.0, 1.5]


def columns(run: nlink.Run) -> dict[str, np.ndarray]:
    """Return everything a run holds, by name."""
    held = {name: getattr(run, name) for name in ("t", "position", "velocity", "acceleration", "kinetic", "potential", "drift")}
    held |= {f"work of {name}": values for name, values in run.work.items()}
    held |= {} if run.pin_force is None else {"pin_force": run.pin_force}
    held |= {} if run.knots is None else {f"knots {k}": values for k, values in enumerate(run.knots)}
    held |= {f"event {k}": np.array([e.t, *e.position, *e.velocity]) for k, e in enumerate(run.events)}
    assert run.checkpoint is not None
    return held | {"checkpoint": np.array([run.checkpoint.state, run.checkpoint.rates])}


def assert_sound(run: nlink.Run, share: float = MOST) -> None:
    for name, values in columns(run).items():
        assert np.isfinite(values).all(), name
    energy = run.energy()
    exchanged = energy.kinetic.max() + np.ptp(energy.potential) + sum(np.abs(w).max() for w in energy.work.values())
    lost = 0.1 * (run.chain.mass + run.chain.inertia).sum()  # J: a chain at rest that trembles by a few hundredths of a rad
    assert np.abs(energy.residual).max() <= 1.5 * share * exchanged + lost  # saved points miss the largest energies


FEW = 5_000
"""Steps: rates of 1e90 rad/s would take forever."""
TOLERANCES = st.sampled_from([1e-2, 1e-3, 1e-6, 1e-9, 1e-12])
METHODS = st.one_of(
    *(st.builds(lambda tol, kind=kind: kind(tol, tol, max_steps=FEW), TOLERANCES) for kind in (DOP853, RK45)),
    st.builds(lambda tol: Taylor(tol, max_steps=FEW), TOLERANCES),
    *(st.builds(lambda h, kind=kind: kind(h, max_steps=FEW), st.floats(1e-3, 200.0)) for kind in (RK4, Gauss)),
    st.builds(lambda tol: Scipy("LSODA", tol, tol, max_steps=100), TOLERANCES),
)
ANGLES, RATES = st.sampled_from([0.0, 1.0, 1.0, 1e3, 1e7]), st.sampled_from([0.0, 1.0, 1.0, 1e3, 1e8, 1e15, 1e90])
"""Factors of angles and of rates."""


@pytest.mark.filterwarnings("ignore:.* turns; degrees:UserWarning")
@settings(max_examples=200)
@given(chain=chains(most=3), method=METHODS, data=st.data(), t_end=st.sampled_from([0.01, 0.5, -0.5, 2.0]))
def test_a_finished_run_is_finite_and_balanced(chain, method, data, t_end):
    theta, omega = (data.draw(sizes) * data.draw(rates(chain.n)) for sizes in (ANGLES, RATES))
    run = simulate(chain, theta, omega, t_end=t_end, integrator=method, save=0.05, strict=False)
    assert run.status.ok or run.status.remedy
    for name, values in columns(run).items():
        assert np.isfinite(values).all() or (not run.status.ok and name in ("knots 3", "checkpoint")), name
    if run.status.ok:
        assert_sound(run)


def test_a_step_longer_than_the_run_is_not_taken_for_a_motion():
    run = simulate(Chain.uniform(3), [1, 2, 3.0], t_end=5.0, integrator=RK4(100.0), strict=False)
    assert run.status.code == "not_finite"
    assert run.status.remedy == "try a smaller step than 100"
    assert run.t.tolist() == [0.0]
    assert_sound(run)


@pytest.mark.parametrize("omega", [1e13, 1e15, 1e20])
def test_angles_of_many_turns_are_inaccurate(omega):
    run = simulate(Chain.uniform(1, loads=nlink.Gravity(0.0)), 0.5, omega, t_end=5.0, strict=False, integrator=RK4(0.5))
    assert run.status.code == "inaccurate"
    assert run.status.message.startswith("reached t = 5 s, but ")
    assert run.t[-1] == 5.0


@pytest.mark.filterwarnings("ignore:.* turns; degrees:UserWarning")
@pytest.mark.parametrize("theta", [1e3, 1e6, 1e8])
def test_angles_of_fewer_turns_are_fine(theta):
    assert_sound(simulate(Chain.uniform(3), [theta, 2, 3.0], t_end=5.0), 1e-6)


@pytest.mark.parametrize(
    "method",
    [
        RK4(0.05),
        RK4(0.1),
        RK45(1e-2, 1e-2),
        Taylor(1e-2),
        "Scipy(method='Radau', rtol=1, atol=1)",
        "Scipy(method='BDF', rtol=1, atol=1)",
    ],
    ids=str,
)
def test_a_chaotic_chain_followed_too_loosely_is_inaccurate(method):
    with pytest.raises(
        SimulationError, match=r"reached t = 20 s, but the energy balance is off by \d.* J, \d+ % of what"
    ) as caught:
        simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, integrator=method)
    run = caught.value.run
    assert run.status.code == "inaccurate"
    assert run.status.remedy.startswith("try a smaller step than" if isinstance(method, RK4) else "try a tighter tolerance")
    assert run.t[-1] == 20.0
    assert np.abs(run.energy().residual).max() > 5.0


def test_a_drift_of_a_percent_by_a_fixed_step_is_a_finished_run():
    run = simulate(Chain.uniform(3), 0.7, t_end=20.0, integrator=RK4(0.1))
    energy = run.energy()
    assert 0.005 < np.abs(energy.residual).max() / (energy.kinetic.max() + np.ptp(energy.potential)) < 0.05


@pytest.mark.parametrize("save", [[0.0], [20.0], [0.0, 20.0], 20.0])
def test_steps_are_weighed_where_few_points_are_saved(save):
    run = simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, integrator=RK4(0.05), save=save, strict=False)
    assert run.status.code == "inaccurate"


@pytest.mark.parametrize("method", [DOP853(), RK45(1e-3, 1e-3), RK4(0.01), None], ids=str)
def test_a_whole_period_does_not_pass_for_rest(method):
    """Released at rest and saved at rest: what is exchanged in between must not be overlooked."""
    period = 1.6645
    run = simulate(Chain.uniform(1), 0.5, t_end=period, integrator=method, save=[period])
    assert run.kinetic[-1] < 1e-4


@pytest.mark.parametrize("tol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("theta", [0.0, 1e-12, 1e-9, 1e-6, math.pi])
@pytest.mark.parametrize("method", [DOP853, RK45, lambda rtol, atol: Taylor.like(rtol, atol)], ids=["DOP853", "RK45", "Taylor"])
def test_a_chain_at_rest_may_tremble(method, theta, tol):
    simulate(Chain.uniform(3), theta, t_end=5.0, integrator=method(tol, tol))


def test_hinges_that_come_apart_are_inaccurate():
    run = simulate(Chain.uniform(3), CHAOTIC, t_end=10.0, formulation="natural", rtol=1e-3, atol=1e-3, strict=False)
    assert run.status.code == "inaccurate"
    assert "the constraints are violated by" in run.status.message
    assert run.violation().max() > MOST


def test_a_run_stopped_by_an_event_is_weighed_too():
    late = Event(lambda t, theta, omega: t - 15.0, terminal=True)
    run = simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, integrator=RK4(0.05), events=late, strict=False)
    assert run.status.code == "inaccurate"
    assert run.status.message.startswith("stopped at t = 15 s by")
    whole = run.resume(strict=False)
    assert whole.t[-1] == 20.0
    assert whole.status.code == "inaccurate"


def test_resumed_runs_are_weighed_from_their_first_point(tmp_path):
    once = simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, integrator=RK4(0.03), strict=False, events=nlink.Flip())
    assert once.status.code == "inaccurate"
    part = simulate(Chain.uniform(3), CHAOTIC, t_end=2.0, integrator=RK4(0.03), strict=False, events=nlink.Flip())
    assert part.status.code == "finished"
    path = tmp_path / "run.nc"
    for run in (
        part.resume(20.0, strict=False, events=nlink.Flip()),
        part.resume(20.0, strict=False, file=path, events=nlink.Flip()),
    ):
        assert run.status == once.status
        assert np.array_equal(run.theta, once.theta)
    longer = once.resume(21.0, strict=False, events=nlink.Flip())
    assert longer.status.code == "inaccurate"
    assert len({event.t for event in longer.events}) == len(longer.events) >= len(once.events)
    assert nlink.load(path).status == once.status


def test_a_file_holds_the_same(tmp_path):
    for k, method in enumerate([RK4(100.0), RK4(0.05)]):
        there = simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, integrator=method, strict=False)
        run = simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, integrator=method, strict=False, file=tmp_path / f"{k}.nc")
        assert run.status == there.status
        assert not run.status.ok
        assert np.array_equal(run.kinetic, there.kinetic)


def test_the_command_says_so_and_keeps_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["run", "chaotic-3", "--set", "run.integrator=RK4(step=0.05)", "-o", "loose.nc"])
    assert done.exit_code == 4
    assert "but the energy balance is off by" in done.stderr
    assert done.stderr.strip().endswith("; the run is in loose.nc")
    assert nlink.load("loose.nc").status.code == "inaccurate"


def test_members_followed_one_by_one_have_a_code_of_their_own():
    chain = Chain.uniform(3).with_loads(JointTorque(lambda t: 0.0))
    many = simulate_many(chain, [CHAOTIC, [0.1, 0.1, 0.1]], t_end=10.0, integrator=RK45(1e-2, 1e-2))
    assert many["status"].values.tolist() == [4, 0]
    assert many.attrs["status_codes"].split(", ")[4] == "inaccurate"


def test_steps_that_become_too_small_because_the_motion_blew_up_ask_for_a_tighter_tolerance():
    run = simulate(Chain.uniform(3), CHAOTIC, t_end=20.0, integrator=DOP853(1.0, 1.0), strict=False)
    assert run.status.code == "step_too_small"
    assert "where the energy balance is off by" in run.status.message
    assert run.status.remedy == "try a tighter tolerance"


@pytest.mark.parametrize("name", nlink.presets())
def test_presets_use_a_hundredth_of_what_is_allowed(name):
    run = nlink.preset(name).run()
    assert run.status.code == "finished"
    assert_sound(run, 1e-8)
    json.dumps(run.status._asdict())


@pytest.mark.parametrize("step", [0.001, 0.003])
@pytest.mark.parametrize("save", [0.001, 0.01])
@pytest.mark.parametrize("growth", [150.0, 200.0, 300.0, 400.0])
def test_a_run_that_overflows_ends_at_its_last_finite_point(growth, save, step):
    """Kinetic energies overflow before the rates do: the place to go on from must be one that the columns can show."""
    chain = Chain([nlink.Link.rod(1.0, 1e100)], [nlink.Gravity(9.81), JointTorque(lambda t: 3e109 * np.exp(growth * t))])
    run = simulate(chain, [1.0], t_end=1.0, integrator=RK4(step), save=save, strict=False)
    assert run.status.code == "not_finite"
    assert run.checkpoint is not None
    assert 0 <= run.checkpoint.t - run.t[-1] < max(save, step) * 1.001
    assert all(np.isfinite(values).all() for values in columns(run).values())
