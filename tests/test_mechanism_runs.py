"""Runs of mechanisms: files, resumption, streaming, tables of numbers, and what is said of sliders."""

from __future__ import annotations

import csv
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import nlink
from nlink import At, Chain, Flip, Link, Mechanism, ModelError, Pin, PointSpring, Scenario, Settings, Sine, Slider
from nlink.cli import app


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """A cart, driven by a sine, with two rods and a spring; the cart passes pi m, and a rod turns over."""
    bodies = (
        Slider(2.0),
        Link.rod(1.0, 1.0),
        Slider(0.5, direction=1.0),
        Link.rod(0.8, 0.6).on(1, 0.5).with_motion(Sine(0.5, 1.0)),
    )
    spring = PointSpring(At(3), (4.0, 1.0), 5.0, 0.5, 0.1)
    settings = Settings(t_end=2.0, save=0.1, integrator="DOP853(rtol=1e-8, atol=1e-8)")
    return Scenario(Mechanism(bodies, (spring,)), (3.0, 2.0, 0.2, 0.0), (4.0, 6.0, 0.0, 0.0), settings, "A cart")


@pytest.fixture(scope="module")
def run(scenario) -> nlink.Run:
    return scenario.run()


def same(one: nlink.Run, other: nlink.Run) -> None:
    """Check that two runs are equal to the last bit."""
    for name in ("t", "theta", "omega", "alpha", "kinetic", "potential"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert all(np.array_equal(one.work[name], other.work[name]) for name in one.work)
    assert [(event.t, event.name, event.info) for event in one.events] == [(e.t, e.name, e.info) for e in other.events]


def test_a_run_comes_back_from_its_file(run, tmp_path):
    run.save(tmp_path / "run.nc")
    back = nlink.load(tmp_path / "run.nc")
    same(back, run)
    assert list(back.work) == list(run.work) == ["motion", "point_spring"]
    assert back.chain == run.chain
    assert back.scenario.settings.formulation == "Recursive()"
    assert back.meta["formulation"] == "recursive"
    assert repr(back).startswith("<Run of 4 bodies to 2 s")


def test_a_resumed_run_is_the_whole_run(scenario, run, tmp_path):
    half = Scenario(scenario.chain, scenario.theta, scenario.omega, Settings(1.03, 0.1, integrator=scenario.settings.integrator))
    half.run(file=tmp_path / "half.nc")
    whole = nlink.load(tmp_path / "half.nc").resume(2.0, file=tmp_path / "whole.nc")
    same(whole, run)


def test_a_streamed_run_is_the_run_in_memory(scenario, run, tmp_path):
    same(scenario.run(file=tmp_path / "run.nc"), run)


def test_xarray_knows_the_sliders(run, tmp_path):
    run.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as data:
        assert data.kind.values.tolist() == [1, 0, 1, 0]
        assert "units" not in data.theta.attrs
        assert data.omega.attrs["long_name"] == "angular velocity of a link in rad/s; speed of a slider in m/s"
        assert data.attrs["nlink_format"] == 3
        assert data.kinetic.attrs["units"] == "J"
    assert run.to_xarray().kind.values.tolist() == [1, 0, 1, 0]


def test_chains_are_written_as_before(tmp_path):
    nlink.simulate(Chain.uniform(1), 0.5, t_end=0.1, integrator="RK4(step=0.01)").save(tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc") as file:
        assert file.attrs["nlink_format"] == 2
        assert "kind" not in file
        assert file["theta"].attrs["units"] == "rad"


def test_only_links_turn_over(scenario, run):
    assert np.abs(run.theta[:, 0]).max() > np.pi
    assert {event.info["link"] for event in run.events} == {1}
    watched = nlink.simulate(
        scenario.chain, scenario.theta, scenario.omega, t_end=0.3, integrator="Scipy(method='RK45')", events=[Flip()]
    )
    assert {event.info["link"] for event in watched.events} == {1}
    with pytest.raises(ModelError, match=r"Flip\.link must be a link: body 2 is a slider, which turns with its parent; use Event"):
        nlink.simulate(scenario.chain, scenario.theta, t_end=0.1, events=[Flip(2)])


def test_displacements_are_not_warned_about():
    cart = Mechanism([Slider(2.0), Link.rod(1.0, 1.0)])
    nlink.simulate(cart, [90.0, 0.5], t_end=0.02, integrator="DOP853")
    with pytest.warns(UserWarning, match="theta: 90 rad is 14"):
        nlink.simulate(cart, [0.5, 90.0], t_end=0.02, integrator="DOP853")


def test_columns_are_named_after_what_they_hold(run, tmp_path):
    run.save(tmp_path / "run.nc")
    done = CliRunner().invoke(app, ["export", str(tmp_path / "run.nc"), "theta", "omega", "alpha", "-o", str(tmp_path / "run.csv")])
    assert done.exit_code == 0, done.output
    with Path(tmp_path / "run.csv").open() as file:
        head, *rows = csv.reader(file)
    assert head[:5] == ["t [s]", "s_1 [m]", "theta_2 [rad]", "s_3 [m]", "theta_4 [rad]"]
    assert head[5:9] == ["v_1 [m/s]", "omega_2 [rad/s]", "v_3 [m/s]", "omega_4 [rad/s]"]
    assert head[9:] == ["a_1 [m/s^2]", "alpha_2 [rad/s^2]", "a_3 [m/s^2]", "alpha_4 [rad/s^2]"]
    assert np.array_equal(np.array(rows, float)[:, 1:5], run.theta)


def test_a_mechanism_that_is_a_chain_runs_as_one(tmp_path):
    rods = [Link.rod(1.0, 1.0)] * 3
    settings = Settings(t_end=0.1, integrator="DOP853")
    one = Scenario(Mechanism(rods, pins=(Pin(At(2), (1.0, 0.0)),)), (3.1, 1.57, 0.04), settings=settings).run()
    other = Scenario(Chain(rods, pin=(1.0, 0.0)), (3.1, 1.57, 0.04), settings=settings).run()
    same(one, other)
    assert one.chain == other.chain
    assert np.array_equal(one.reactions(), other.reactions())
