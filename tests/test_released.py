"""Files of formats that were released once: they are read for ever, with the numbers that were written then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray

import nlink
from nlink import GROUND, At, Chain, Final, Gravity, JointDamper, Link, Mechanism, Pin, PointSpring, Slider, simulate_many
from nlink.ensemble.store import StoreError

FOLDER = Path(__file__).parent / "data" / "released"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


@pytest.mark.parametrize("name", ["run-2.nc", "loop-2.nc", "mechanism-3.nc"])
def test_runs_of_formats_2_and_3(name):
    run, told = nlink.load(FOLDER / name), EXPECTED[name]
    for key in ("t", "theta", "kinetic"):
        assert getattr(run, key).tolist() == told[key], key
    assert (run.pin_force is None) == ("pin_force" not in told)
    assert run.pin_force is None or run.pin_force.tolist() == told["pin_force"]
    assert run.checkpoint.state.tolist() == told["state"]
    assert [[event.t, event.name] for event in run.events] == told["events"]
    assert (run.status.code, len(run.knots.t) if run.knots else 0) == (told["status"], told["knots"])
    assert (run.chain.pin is None) == (name != "loop-2.nc")


def test_the_mechanism_of_a_run_of_format_3():
    bars = [Link.rod(1.0, 1.0), Link.rod(3.0, 2.0), Link.rod(2.5, 1.0).on(GROUND, (2.5, 0.0)), Slider(0.5).on(1, 1.5)]
    spring = PointSpring(At(3), At(1), 20.0, 0.1)
    run = nlink.load(FOLDER / "mechanism-3.nc")
    assert run.chain == Mechanism(bars, [JointDamper(0.1), spring], Pin(At(1), At(2)))
    assert run.resume(0.6).status.code == "finished"


def test_a_chain_without_gravity_was_written_as_such():
    """Of a time when a chain had gravity only if it was given one."""
    run = nlink.load(FOLDER / "weightless-2.nc")
    assert run.chain == Chain([Link.rod(1.0, 1.0)], [Gravity(0.0), JointDamper(0.1)])
    assert not np.ptp(run.energy().potential)


def test_a_map_of_format_1():
    found, told = nlink.load_map(FOLDER / "map-1.nc"), EXPECTED["map-1.nc"]
    for key in ("x", "y", "link", "status", "forbidden"):
        assert getattr(found, key).tolist() == told[key], key
    values = np.array([[np.nan if value is None else value for value in row] for row in told["values"]])
    np.testing.assert_array_equal(found.values, values)
    assert (list(found.region), found.quantity, found.chain) == (told["region"], "flip", Chain.uniform(2))


def test_a_store_without_checksums(tmp_path):
    shutil.copytree(FOLDER / "store-1.zarr", tmp_path / "store-1.zarr")
    with xarray.open_zarr(tmp_path / "store-1.zarr", consolidated=False) as found:
        for key, values in EXPECTED["store-1.zarr"].items():
            assert found[key].values.tolist() == values, key
    theta = np.linspace(-1.5, 1.5, 20).reshape(10, 2)
    with pytest.raises(StoreError, match=r"is a store of an older nlink, which has no checksums; read it with xarray.open_zarr"):
        simulate_many(Chain.uniform(2), theta, t_end=0.5, keep=Final(), integrator="DOP853", store=tmp_path / "store-1.zarr")
