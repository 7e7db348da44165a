"""Run files: everything comes back to the last bit; what is damaged, foreign or newer says so."""

from __future__ import annotations

import dataclasses
import math
import os
import re

import h5py
import numpy as np
import pytest
import xarray
from helpers import python

import nlink
from nlink import Chain, Flip, JointDamper, JointTorque, ModelError, Sine
from nlink._support.files import hold, written_whole
from nlink.run import file as run_file
from nlink.run.file import RunFileError


@pytest.fixture(scope="module")
def run() -> nlink.Run:
    chain = Chain.uniform(2).with_loads(JointDamper(0.1), JointTorque([Sine(1.0, 0.5), 0.0]))
    return nlink.simulate(chain, [math.pi / 2, 3.0], [0.0, 4.0], t_end=4.0, save=0.25, events=[Flip()])


@pytest.fixture
def path(run, tmp_path):
    run.save(tmp_path / "run.nc")
    return tmp_path / "run.nc"


def test_everything_comes_back(run, path):
    back = nlink.load(path)
    assert run.knots is not None
    assert run.events
    for name in ("t", "theta", "omega", "alpha", "kinetic", "potential", "drift"):
        assert np.array_equal(getattr(back, name), getattr(run, name)), name
    assert list(back.work) == list(run.work) == ["joint_torque", "joint_damper"]
    assert all(np.array_equal(back.work[name], run.work[name]) for name in run.work)
    assert all(np.array_equal(a, b) for a, b in zip(back.knots, run.knots, strict=True))
    for one, other in zip(back.events, run.events, strict=True):
        assert (one.t, one.name, one.info) == (other.t, other.name, other.info)
        assert np.array_equal(one.theta, other.theta)
        assert np.array_equal(one.omega, other.omega)
    for field in dataclasses.fields(back.checkpoint):
        assert np.array_equal(getattr(back.checkpoint, field.name), getattr(run.checkpoint, field.name))
    assert (back.status, back.stats, back.meta, back.trusted_until) == (run.status, run.stats, run.meta, run.trusted_until)
    assert back.scenario.to_dict() == run.scenario.to_dict()
    assert back.chain == run.chain


def test_it_says_where_it_came_from(run, path):
    meta = nlink.load(path).meta
    assert meta["version"] == nlink.__version__
    assert meta["formulation"] == "recursive"
    assert meta["integrator"] == "Taylor(tol=1e-12, order=18)"
    assert meta["command"]
    assert meta["date"].endswith("+00:00")


def test_plain_xarray_opens_it(run, path):
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data.theta.dims == ("time", "link")
        assert data.theta.units == "rad"
        assert data.omega.units == "rad/s"
        assert data.kinetic.dims == ("time",)
        assert data.time.units == "s"
        assert np.array_equal(data.theta, run.theta)
        assert np.array_equal(data.link, [1, 2])
        assert data.work_joint_damper.units == "J"
    dataset = run.to_xarray()
    assert dataset.theta.sel(link=2, time=0.5).item() == run.theta[2, 1]
    assert dataset.attrs["nlink_version"] == nlink.__version__


def test_loading_and_looking_needs_no_solver(path):
    code = f"""
import sys, nlink
run = nlink.load({str(path)!r})
run.positions(), run.velocities(), run.centres(), run.energy(), run.reactions(), run.violation(), run.at([0.1, 0.2])
print([m for m in ("numba", "scipy", "sympy", "matplotlib", "xarray") if m in sys.modules])
"""
    assert python(code).stdout.strip() == "[]"


def test_damage_is_found(path):
    whole = path.read_bytes()
    rng = np.random.default_rng(3)
    changed = 0
    for at in rng.integers(0, len(whole), 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            back = nlink.load(path)
        except RunFileError as error:
            assert "damaged" in str(error) or "not a run" in str(error) or "update nlink" in str(error)  # noqa: PT017
            changed += 1
        else:
            path.write_bytes(whole)
            assert np.array_equal(back.theta, nlink.load(path).theta)
    assert changed > 20
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(RunFileError, match=r"damaged|not a run file of nlink \(not netCDF4\)"):
            nlink.load(path)


def test_changed_values_do_not_match_the_checksum(path):
    with h5py.File(path, "r+") as file:
        file["theta"][3, 1] += 1e-15
    with pytest.raises(RunFileError, match=r"run.nc is damaged: its data do not match their checksum"):
        nlink.load(path)


def test_what_the_disk_changes_while_a_run_is_written_is_found_before_it_takes_its_place(run, path, monkeypatch):
    before, opened = path.read_bytes(), run_file.opened_hdf5

    def changed(source, kind, made_here=False):
        written = bytearray(source.read_bytes())
        written[written.index(run.theta[3].tobytes())] ^= 1
        source.write_bytes(written)
        return opened(source, kind, made_here)

    monkeypatch.setattr(run_file, "opened_hdf5", changed)
    with pytest.raises(RunFileError, match=r"run.nc is damaged: its data do not match their checksum"):
        run.save(path)
    assert path.read_bytes() == before


def test_foreign_files_say_so(tmp_path):
    text = tmp_path / "text.nc"
    text.write_text("theta, omega\n1, 2\n")
    with pytest.raises(RunFileError, match=r"text.nc is not a run file of nlink \(not netCDF4\)"):
        nlink.load(text)
    other = tmp_path / "other.nc"
    xarray.Dataset({"x": ("n", np.arange(3))}).to_netcdf(other, engine="h5netcdf")
    with pytest.raises(RunFileError, match="is not a run of nlink: it is a netCDF or HDF5 file from elsewhere"):
        nlink.load(other)
    with pytest.raises(RunFileError, match="there is no file"):
        nlink.load(tmp_path / "none.nc")
    with pytest.raises(RunFileError, match="is a folder"):
        nlink.load(tmp_path)


def test_a_newer_format_asks_for_an_update(path):
    with h5py.File(path, "r+") as file:
        file.attrs["nlink_format"] = 99
        file.attrs["nlink_version"] = "7.0"
    with pytest.raises(RunFileError, match=r"was written by nlink 7.0 in format 99; this is .*, update nlink to read it"):
        nlink.load(path)


def test_nothing_outside_the_file_is_read(path, tmp_path):
    secret = tmp_path / "secret.bin"
    np.arange(18.0).tofile(secret)
    with h5py.File(path, "r+") as file:
        shape = file["theta"].shape
        del file["theta"]
        file.create_dataset("theta", shape, "f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
    with pytest.raises(RunFileError, match="'theta' points outside the file"):
        nlink.load(path)
    with h5py.File(path, "r+") as file:
        del file["theta"]
        file["theta"] = h5py.ExternalLink(str(tmp_path / "other.nc"), "/theta")
    with pytest.raises(RunFileError, match="'theta' points outside the file"):
        nlink.load(path)


def test_a_failed_save_leaves_the_old_file_alone(run, path, monkeypatch):
    old = path.read_bytes()
    full = lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))  # noqa: E731
    monkeypatch.setattr("nlink.run.writer.RunWriter._log", full)
    with pytest.raises(RunFileError, match=r"cannot write .*run.nc: No space left on device"):
        run.save(path)
    assert path.read_bytes() == old
    assert [file.name for file in path.parent.iterdir()] == ["run.nc"]


def test_a_place_that_cannot_be_written_says_so(run, tmp_path):
    with pytest.raises(RunFileError, match=r"cannot write .*: No such file or directory"):
        run.save(tmp_path / "no" / "run.nc")
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(RunFileError, match="cannot write"):
        run.save(tmp_path / "folder.nc")
    assert [file.name for file in tmp_path.iterdir()] == ["folder.nc"]


def test_a_run_is_not_written_under_the_name_of_another_format(run, tmp_path):
    refused = r"^the file of a run must end in \.nc, got .*x\.csv; its numbers as a table: nlink export RUN\.nc -o out\.csv$"
    for write in (run.save, lambda path: nlink.simulate(Chain.uniform(1), 0.5, t_end=1.0, file=path)):
        with pytest.raises(ModelError, match=refused):
            write(tmp_path / "x.csv")
    with pytest.raises(ModelError, match=r"^a page must end in \.html, got .*x\.pdf; pictures: nlink plot$"):
        run.html(tmp_path / "x.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_save_leaves_no_file_under_the_name(tmp_path):
    path = tmp_path / "big.nc"
    code = f"""
import os, nlink, nlink.run.writer
run = nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=1.0)
real = nlink.run.writer.RunWriter.commit
def killed(*arguments, **options):
    real(*arguments, **options)
    os._exit(9)
nlink.run.writer.RunWriter.commit = killed
try:
    run.save({str(path)!r})
finally:
    pass
"""
    with pytest.raises(AssertionError):
        python(code)
    assert not path.exists()


def test_a_torque_that_was_a_function_loads_but_cannot_go_on(tmp_path):
    def push(t: float) -> float:
        return 0.3 * t

    run = nlink.simulate(Chain.uniform(2).with_loads(JointTorque(push)), 0.2, t_end=1.0)
    assert run.resume(1.5).t[-1] == 1.5
    run.save(tmp_path / "run.nc")
    back = nlink.load(tmp_path / "run.nc")
    assert np.array_equal(back.positions(), run.positions())
    assert not back.resumable
    with pytest.raises(ModelError, match="cannot be resumed: its torque was a function"):
        back.resume(2.0)
    back.save(tmp_path / "again.nc")
    assert nlink.load(tmp_path / "again.nc").chain == back.chain
    with pytest.raises(ModelError, match=r"the torque was the function '.*push', which a file cannot hold"):
        nlink.simulate(back.chain, 0.2, t_end=1.0)


def test_files_are_readable_by_others(path):
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_an_empty_run_is_kept_too(tmp_path):
    run = nlink.simulate(Chain.uniform(2), 0.2, t_end=1.0, save=(1.0,), integrator="DOP853(max_steps=5)", strict=False)
    assert run.status.code == "too_many_steps"
    assert len(run.t) == 0
    run.save(tmp_path / "run.nc")
    back = nlink.load(tmp_path / "run.nc")
    assert back.theta.shape == (0, 2)
    while not back.status.ok:
        back = back.resume(strict=False)
    assert back.t.tolist() == [1.0]


@pytest.mark.parametrize("name", ["thesis.nc", "data.nc", "x.png", "x.html", "x.csv", "rates.py"])
def test_what_nlink_did_not_make_is_never_replaced(run, tmp_path, name):
    path = tmp_path / name
    if name == "data.nc":
        with h5py.File(path, "w") as file:
            file["mine"] = [1.0, 2.0]
    else:
        path.write_text("a page of mine")
    before = path.read_bytes()
    with pytest.raises(OSError, match="is there already and nlink did not make it; give another name, or remove it first"):
        run.save(path) if name.endswith(".nc") else written_whole(path, r"t \[s\]" if name == "x.csv" else "").__enter__()
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_what_is_written_to_a_link_goes_to_its_target_with_its_permissions(run, tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "x.nc", tmp_path / "link.nc"
    run.save(target)
    target.chmod(0o600)
    link.symlink_to(target)
    run.save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600


def test_hidden_files_of_killed_processes_are_removed_and_no_others(run, tmp_path):
    mine = [tmp_path / name for name in (".x.nlink-0123abc.nc", ".y.nlink-0123abcd.nc", ".x.0123abcd.nc")]
    left = tmp_path / ".x.nlink-0123abcd.nc"
    used = tmp_path / ".x.nlink-abcdef01.nc"
    for path in (*mine, left, used):
        path.touch()
    descriptor = hold(used)
    run.save(tmp_path / "x.nc")
    os.close(descriptor)
    assert not left.exists()
    assert used.exists()
    assert all(path.exists() for path in mine)


def test_a_run_whose_checksum_has_lost_its_name_is_refused(path):
    path.write_bytes(path.read_bytes().replace(b'"checksum"', b'"cxecksum"'))
    with pytest.raises(RunFileError, match="its log says what nlink does not write"):
        nlink.load(path)


@pytest.mark.parametrize("name", ["notes.html", "notes.svg", "notes.pdf", "notes.toml", "notes.gif", "notes.nc"])
def test_a_file_that_only_mentions_nlink_is_not_replaced(tmp_path, name):
    (tmp_path / name).write_text("what I did with nlink 0.1.0, derived by nlink")
    with pytest.raises(OSError, match="nlink did not make it"), written_whole(tmp_path / name) as temporary:
        temporary.write_text("# A model of nlink")
    assert (tmp_path / name).read_text().startswith("what I did")


def test_models_and_scenarios_say_what_to_do_with_them():
    with pytest.raises(RunFileError, match=r"^m\.toml is a model, not a run; read it with Scenario\.load\('m\.toml'\), and"):
        nlink.load("m.toml")
    with pytest.raises(
        ModelError, match=r"^simulate needs a Chain, a Mechanism, a SpatialChain or a System, got Scenario; .*scenario\.run\(\)$"
    ):
        nlink.simulate(nlink.preset("nice-3"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match=r"^simulate needs t_end, the time in s at which the run ends$"):
        nlink.simulate(nlink.Chain.uniform(2), [1.0, 2.0])
    with pytest.raises(FileNotFoundError, match=r"^there is no model file nice-3; it is a preset: preset\('nice-3'\)$"):
        nlink.Scenario.load("nice-3")
    with pytest.raises(FileNotFoundError, match=r"^there is no model file nobody\.toml$"):
        nlink.Scenario.load("nobody.toml")


@pytest.mark.parametrize(
    "analysis",
    [
        nlink.linearize,
        nlink.equilibrium,
        nlink.equilibria,
        nlink.modes,
        nlink.lqr,
        nlink.floquet,
        nlink.simulate_many,
        nlink.lyapunov,
    ],
)
def test_an_analysis_says_where_a_scenario_has_its_chain(analysis):
    needs = ([1.0],) if analysis in (nlink.simulate_many, nlink.lyapunov, nlink.floquet) else ()
    options = {"t_end": 1.0} if analysis in (nlink.simulate_many, nlink.lyapunov) else {}
    name, what = analysis.__name__, "a Chain" if analysis is nlink.lqr else "a Chain or a Mechanism"
    for given, remedy in ((nlink.preset("nice-3"), "scenario.chain"), ("nice-3", "preset(name).chain")):
        kind = type(given).__name__
        with pytest.raises(ModelError, match=f"^{name} needs {what}, got {kind}; give {re.escape(remedy)}$"):
            analysis(given, *needs, **options)


def test_derive_takes_a_number_of_links():
    with pytest.raises(
        ModelError, match=r"^derive takes a number of links: derive\(chain\.n, loads=.*\); nlink derive takes models$"
    ):
        nlink.derive(nlink.Chain.uniform(2))  # pyright: ignore[reportArgumentType]
