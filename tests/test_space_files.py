"""Run files of chains in space: whole, growing, resumed, refused; and what xarray and CSV make of them."""

from __future__ import annotations

import json
import signal
from dataclasses import replace

import h5py
import numpy as np
import pytest
import xarray

import nlink
from nlink import Chain, Event, JointDamper, Link, SpatialChain, simulate
from nlink.run.file import RunFileError
from nlink.run.table import columns
from nlink.simulation.integrate import SimulationInterrupted

POSE, OMEGA = [(1.0, 0.3), (2.5, 1.0)], [(0.0, 1.0, 0.0), (0.2, 2.0, 0.1)]
SERIES = ("t", "position", "velocity", "acceleration", "kinetic", "potential", "drift")


def made(t_end=1.0, **options):
    chain = SpatialChain.uniform(2, loads=[JointDamper(0.05)])
    return simulate(chain, POSE, OMEGA, t_end=t_end, events=Event(lambda t, e, w: e[0, 0], name="west"), **options)


def same(a, b):
    for name in SERIES:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_array_equal(a.work["joint_damper"], b.work["joint_damper"])
    np.testing.assert_array_equal(a.checkpoint.state, b.checkpoint.state)
    assert [(e.t, e.name, e.info, e.position.tolist()) for e in a.events] == [
        (e.t, e.name, e.info, e.position.tolist()) for e in b.events
    ]
    first, second = a.scenario, b.scenario
    assert (first.chain, first.theta, first.omega) == (second.chain, second.theta, second.omega)
    assert a.status == b.status


def test_a_run_comes_back_from_its_file(tmp_path):
    run = made(save=0.05)
    run.save(tmp_path / "run.nc")
    back = nlink.load(tmp_path / "run.nc")
    same(run, back)
    assert back.knots.direction.shape == (len(run.knots.t), 2, 3)
    np.testing.assert_array_equal(back.knots.position, run.knots.position)
    np.testing.assert_array_equal(back.omega, run.omega)
    np.testing.assert_array_equal(back.at([0.123]).direction, run.at([0.123]).direction)
    assert back.events[0].direction.shape == (2, 3)


def test_a_run_written_as_it_goes_is_the_same(tmp_path):
    same(made(file=tmp_path / "run.nc"), made())
    same(nlink.load(tmp_path / "run.nc"), made())


def test_a_run_goes_on_in_its_file_bit_for_bit(tmp_path):
    made(file=tmp_path / "run.nc")
    watch = Event(lambda t, e, w: e[0, 0], name="west")
    nlink.load(tmp_path / "run.nc").resume(2.0, file=tmp_path / "run.nc", events=watch)
    whole, back = made(2.0), nlink.load(tmp_path / "run.nc")
    for name in SERIES:
        np.testing.assert_array_equal(getattr(whole, name), getattr(back, name), err_msg=name)
    assert [event.t for event in whole.events] == [event.t for event in back.events]


def test_a_run_that_was_stopped_leaves_a_file_that_goes_on(tmp_path):
    pressed = []

    def press(t, direction, omega):
        if t > 0.5 and not pressed:
            pressed.append(t)
            signal.raise_signal(signal.SIGINT)
        return 1.0

    chain = SpatialChain.uniform(2)
    with pytest.raises(SimulationInterrupted):
        simulate(chain, POSE, OMEGA, t_end=3.0, file=tmp_path / "run.nc", events=Event(press))
    part = nlink.load(tmp_path / "run.nc")
    assert part.status.code == "interrupted"
    part.resume(3.0, file=tmp_path / "run.nc")
    np.testing.assert_array_equal(nlink.load(tmp_path / "run.nc").position, simulate(chain, POSE, OMEGA, t_end=3.0).position)


def test_formats_are_raised_for_space_alone(tmp_path):
    simulate(Chain.uniform(2), 0.5, t_end=0.1).save(tmp_path / "flat.nc")
    made(0.1).save(tmp_path / "run.nc")
    numbers = {}
    for name in ("flat", "run"):
        with h5py.File(tmp_path / f"{name}.nc") as file:
            numbers[name] = int(file.attrs["nlink_format"])
            assert ("theta" in file, "position" in file) == (name == "flat", name == "run")
    assert numbers == {"flat": 2, "run": 4}
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as data:
        assert data["position"].dims == ("time", "coordinate")
        assert data["event_velocity"].dims == ("event", "coordinate")
        assert data["coordinate"].values.tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda table: table | {"space": False, "start": {"theta": [0.0, 0.0]}}, "its coordinates are not those of its chain"),
        (lambda table: table | {"links": 3, "start": "hanging"}, r"link has the shape \(2,\)"),
        (
            lambda table: table | {"shape": "cylinder", "radius": 0.1, "com": [0, 0, 0], "inertia": [1, 1, 1], "start": "hanging"},
            "its coord",
        ),
    ],
)
def test_a_file_whose_chain_is_another_is_refused(tmp_path, monkeypatch, change, wanted):
    monkeypatch.setattr("nlink.run.file._verified", lambda *_: {})  # as if someone had made the sum anew
    made(0.1).save(tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc", "r+") as file:
        fixed = json.loads(file.attrs["nlink"])
        file.attrs["nlink"] = json.dumps(fixed | {"scenario": change(fixed["scenario"])})
    with pytest.raises(RunFileError, match=wanted):
        nlink.load(tmp_path / "run.nc")


def test_xarray_has_names_for_coordinates_and_directions():
    data = made().to_xarray()
    assert data["coordinate"].values.tolist() == ["1.x", "1.y", "1.z", "2.x", "2.y", "2.z"]
    assert data["direction"].dims == data["omega"].dims == ("time", "link", "axis")
    np.testing.assert_allclose(data["direction"].values.reshape(-1, 6), data["position"].values, rtol=1e-15)
    assert data["omega"].attrs["units"] == "rad/s"


def test_tables_name_their_components():
    run = made(0.1)
    found = columns(run, ["direction", "omega", "inclination", "tensions", "momentum", "positions", "reactions", "energy"])
    assert {len(values) for values in found.values()} == {len(run.t)}
    assert list(found)[:4] == ["t [s]", "ex_1", "ey_1", "ez_1"]
    np.testing.assert_array_equal(found["omega_z_2 [rad/s]"], run.omega[:, 1, 2])
    np.testing.assert_array_equal(found["z_2 [m]"], run.positions()[:, 2, 2])
    np.testing.assert_array_equal(found["Ly [kg m^2/s]"], run.about_vertical())
    np.testing.assert_array_equal(found["rz_1 [N]"], run.reactions()[:, 0, 2])
    flat = simulate(Chain.uniform(1), 0.5, t_end=0.1)
    assert list(columns(flat, ["momentum"])) == ["t [s]", "L [kg m^2/s]"]


def test_long_arrays_stay_in_the_file(tmp_path, monkeypatch):
    run = made(file=tmp_path / "run.nc")
    monkeypatch.setattr("nlink.run.file.MOST_READ", 1000)
    back = nlink.load(tmp_path / "run.nc")
    assert type(back.position).__name__ == "Stored"
    np.testing.assert_array_equal(back.direction, run.direction)
    np.testing.assert_array_equal(back.at([0.5]).position, run.at([0.5]).position)
    np.testing.assert_array_equal(back.about_vertical(), run.about_vertical())


def test_a_run_with_another_start_is_not_changed_by_its_copy():
    run = made(0.1)
    other = replace(run, position=2 * run.position)
    np.testing.assert_allclose(other.direction, run.direction, atol=1e-15)


def test_a_run_of_unequal_lines_keeps_their_numbers(tmp_path):
    chain = SpatialChain([Link.rod(1.0, 2.0), Link(0.5, 1.0, 0.1, 0.2)], spin=(0.1, 0.0))
    run = simulate(chain, POSE, OMEGA, t_end=0.1)
    run.save(tmp_path / "run.nc")
    assert nlink.load(tmp_path / "run.nc").chain == chain
