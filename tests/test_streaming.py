"""Runs written to their file as they go: watched by another process, killed and resumed to the last bit, in little memory."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import xarray
from helpers import COMMAND, call, python

import nlink
from nlink import Chain, Event, Flip, JointDamper, ModelError, SimulationError, simulate
from nlink.run import file
from nlink.run.file import RunFileError, Stored
from nlink.run.writer import Claim
from nlink.simulation import knots, loop, streaming
from nlink.simulation.knots import thinned

SERIES = ("t", "theta", "omega", "alpha", "kinetic", "potential", "drift")
LONG = ["run", "chaotic-3", "--until", "400", "--integrator", "RK4(step=0.00005)", "--set", "run.save=0.05", "-q", "-o", "long.nc"]


def same(a: nlink.Run, b: nlink.Run) -> None:
    """Assert that two runs hold the same numbers to the last bit."""
    for name in SERIES:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in a.work | b.work:
        np.testing.assert_array_equal(a.work[name], b.work[name], err_msg=name)
    assert [(e.t, e.name, e.info) for e in a.events] == [(e.t, e.name, e.info) for e in b.events]
    np.testing.assert_array_equal(a.checkpoint.state, b.checkpoint.state)
    assert a.status == b.status


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a run in a process of its own and wait until its file can be seen."""
    process = subprocess.Popen([COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not (folder / "long.nc.part").exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.05)
    return process


def reached(path: Path, t: float) -> nlink.Run:
    """Wait until a run under way has committed a time."""
    while not len((run := nlink.load(path)).t) or run.t[-1] < t:
        assert run.status.code == "running"
        time.sleep(0.1)
    return run


@pytest.fixture
def each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit after each step, so that short runs commit often."""
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(loop, "FIRST_WORK", 0)
    monkeypatch.setattr(streaming, "SECONDS", 0.0)
    monkeypatch.setattr(streaming, "SHARE", 0)


@pytest.mark.usefixtures("each_step")
@pytest.mark.parametrize("integrator", ["DOP853", "Taylor", "RK4(step=0.01)"])
@pytest.mark.parametrize("save", [0.05, (0.3, 1.0, 2.0)])
def test_a_streamed_run_is_the_run_in_memory(tmp_path, integrator, save):
    chain, options = Chain.uniform(3).with_loads(JointDamper(0.1)), {"t_end": 2.0, "integrator": integrator, "save": save}
    kept = simulate(chain, [1.5, 3.0, 1.5], [0.0, 8.0, 0.0], events=[Flip()], **options)
    run = simulate(chain, [1.5, 3.0, 1.5], [0.0, 8.0, 0.0], events=[Flip()], file=tmp_path / "run.nc", **options)
    assert kept.events
    same(run, kept)
    same(nlink.load(tmp_path / "run.nc"), kept)
    assert run.scenario == kept.scenario
    times = np.linspace(0.0, 2.0, 77)
    np.testing.assert_allclose(run.at(times).theta, kept.at(times).theta, atol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]


def test_plain_xarray_opens_it(tmp_path):
    run = simulate(Chain.uniform(3), 0.5, t_end=2.0, save=0.5, file=tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as data:
        assert data.theta.dims == ("time", "link")
        assert np.array_equal(data.theta, run.theta)
        assert data.sizes["knot"] == len(run.knots.t) > 5
        assert data.time.units == "s"
        assert np.array_equal(data.link, [1, 2, 3])


def test_another_process_watches_a_run_that_is_killed_and_resumed_to_the_last_bit(tmp_path):
    process = started(tmp_path, *LONG)
    run = reached(tmp_path / "long.nc", 0.5)
    assert run.status.code == "running"
    assert run.status.message.endswith(" of 400 s")
    assert "state      under way: at t = " in call("show", "long.nc", cwd=tmp_path).stdout
    with pytest.raises(RunFileError, match=r"long.nc is being written by another process; wait for it to end, or give another"):
        simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "long.nc")
    with pytest.raises(ModelError, match="this run is still under way in another process; wait for it to end, or stop it"):
        run.resume(file=tmp_path / "long.nc")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "long.nc").exists()
    cut = nlink.load(tmp_path / "long.nc")
    assert (cut.status.code, cut.status.remedy) == ("interrupted", "resume the run to go on")
    assert cut.t[-1] >= run.t[-1]
    with pytest.raises(RunFileError, match=r"long.nc.part holds a run that was cut off; resume it, or delete that file to begin"):
        simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "long.nc")
    until = round(cut.t[-1] + 0.5, 1)
    assert call("run", "--resume", "long.nc", "--until", str(until), "-q", cwd=tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["long.nc"]
    whole = call(*LONG, "--until", str(until), "-o", "whole.nc", cwd=tmp_path)
    assert whole.returncode == 0
    one, other = nlink.load(tmp_path / "long.nc"), nlink.load(tmp_path / "whole.nc")
    same(one, other)
    for mine, its in zip(one.knots, other.knots, strict=True):
        np.testing.assert_array_equal(mine, its)


@pytest.mark.usefixtures("each_step")
@pytest.mark.parametrize("integrator", ["DOP853", "Taylor"])
def test_a_run_cut_off_at_any_commit_goes_on_to_the_same_numbers(tmp_path, monkeypatch, integrator):
    monkeypatch.setattr(knots, "MOST_KNOT_NUMBERS", 100)
    path, options = tmp_path / "run.nc", {"t_end": 1.5, "save": 0.3, "integrator": integrator, "rtol": 1e-12, "atol": 1e-12}
    theta, omega = [1.5, 3.0, 1.5], [0.0, 8.0, 0.0]
    whole = simulate(Chain.uniform(3), theta, omega, events=[Flip()], file=tmp_path / "whole.nc", **options)
    real, calls = streaming.StreamedRecord.keep_up, []

    def killed(*arguments):
        real(*arguments)
        calls.append(None)
        if len(calls) == 12:
            raise RuntimeError("cut")

    with monkeypatch.context() as patch:
        patch.setattr(streaming.StreamedRecord, "keep_up", killed)
        with pytest.raises(RuntimeError, match="cut"):
            simulate(Chain.uniform(3), theta, omega, events=[Flip()], file=path, **options)
    part = nlink.load(path)
    assert part.status.code == "interrupted"
    assert 0 < part.checkpoint.t < 1.5
    same(part.resume(file=path, events=[Flip()]), whole)
    for mine, its in zip(nlink.load(path).knots, whole.knots, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_an_earlier_file_stays_until_the_new_one_is_complete(tmp_path):
    first = simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "run.nc")
    old = (tmp_path / "run.nc").read_bytes()

    def failing(t, theta, omega):
        assert t < 1.5
        return 1.0

    with pytest.raises(AssertionError):
        first.resume(3.0, file=tmp_path / "run.nc", events=[Event(failing)])
    assert (tmp_path / "run.nc").read_bytes() == old
    assert nlink.load(tmp_path / "run.nc").t[-1] == 1.0
    assert file.newest(tmp_path / "run.nc").name == "run.nc.part"
    longer = nlink.load(file.newest(tmp_path / "run.nc")).resume(3.0, file=tmp_path / "run.nc")
    same(longer, simulate(Chain.uniform(2), 0.5, t_end=3.0))
    assert nlink.load(tmp_path / "run.nc").t[-1] == 3.0
    known = first.t <= first.checkpoint.t
    assert np.array_equal(first.theta[known], longer.theta[:101][known])
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]


def test_a_run_stopped_by_an_event_and_one_that_fails_are_complete_files(tmp_path):
    stop = Event(lambda t, theta, omega: theta[0], terminal=True)
    run = simulate(Chain.uniform(2), 0.5, t_end=5.0, events=[stop], file=tmp_path / "run.nc")
    assert run.status.code == "event"
    assert run.t[-1] == run.events[-1].t
    same(run, simulate(Chain.uniform(2), 0.5, t_end=5.0, events=[stop]))
    same(run.resume(5.0, file=tmp_path / "run.nc"), simulate(Chain.uniform(2), 0.5, t_end=5.0, events=[stop]).resume(5.0))
    with pytest.raises(SimulationError, match="5 steps were not enough") as caught:
        simulate(Chain.uniform(2), 0.5, t_end=5.0, integrator="DOP853(max_steps=5)", file=tmp_path / "few.nc")
    assert nlink.load(tmp_path / "few.nc").status == caught.value.status


def test_an_interrupted_run_is_a_complete_file_too(tmp_path):
    process = started(tmp_path, *LONG)
    reached(tmp_path / "long.nc", 0.2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert nlink.load(tmp_path / "long.nc").status.message.startswith("stopped by the user")
    assert [path.name for path in tmp_path.iterdir()] == ["long.nc"]


def test_places_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(RunFileError, match=r"cannot write .*no/run.nc: No such file or directory"):
        simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "no" / "run.nc")
    with pytest.raises(RunFileError, match=r"cannot write .*: it is a folder"):
        simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path)
    with pytest.raises(ModelError, match="events must be"):
        simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "run.nc", events=[3])
    assert list(tmp_path.iterdir()) == []


def test_long_arrays_stay_in_the_file(tmp_path, monkeypatch):
    run = simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "run.nc")
    monkeypatch.setattr(file, "MOST_READ", 1000)
    back = nlink.load(tmp_path / "run.nc")
    assert isinstance(back.theta, Stored)
    assert isinstance(back.t, np.ndarray)
    assert (back.theta.shape, len(back.theta), back.theta.ndim) == ((101, 2), 101, 2)
    keys = (3, -1, slice(2, 9, 3), (slice(None), 1), [5, 2, 7], np.arange(101) > 90, (..., 0), slice(0, 0), (4, 1))
    for key in keys:
        np.testing.assert_array_equal(back.theta[key], run.theta[key])
    np.testing.assert_array_equal(2 * back.theta - 1, 2 * run.theta - 1)
    np.testing.assert_array_equal(np.sin(back.theta).max(0), np.sin(run.theta).max(0))
    np.testing.assert_array_equal(back.positions(), run.positions())
    np.testing.assert_array_equal(back.at([0.123]).theta, run.at([0.123]).theta)
    back.save(tmp_path / "run.nc")  # over its own source
    same(nlink.load(tmp_path / "run.nc"), run)
    same(back.resume(1.5), run.resume(1.5))


def test_memory_does_not_grow_with_the_points_saved(tmp_path):
    """2,000 links at 3,000 points are 144 MB; the run needs a part of that, and grows by little from 300 points."""
    code = f"""
import resource, nlink
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
system = nlink.formulate(nlink.Chain.uniform(2000))
options = dict(t_end=0.3, integrator="RK4(step=0.001)", file={str(tmp_path / "run.nc")!r})
nlink.simulate(system, 0.1, save=0.001, **options)
before = peak()
run = nlink.simulate(system, 0.1, save=0.0001, **options)
assert run.theta.shape == (3001, 2000)
print(peak() - before)
"""
    assert float(python(code).stdout) < 60
    assert (tmp_path / "run.nc").stat().st_size > 140e6


def test_thinned_steps_grow_with_the_logarithm():
    thinning, kept = (1, 0, 0), []
    for begin in range(0, 1000, 10):
        rows, thinning = thinned(10, 8, thinning)
        kept += [begin + i for i in rows]
    assert kept[:12] == [0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15]
    assert len(kept) < 8 + 4 * 8
    assert max(np.diff(kept)) <= 128
    (first, middle), whole = thinned(200, 8, thinning), thinned(500, 8, thinning)
    second, end = thinned(300, 8, middle)
    assert (first + [200 + i for i in second], end) == whole


def test_a_wrong_model_leaves_nothing_but_never_takes_away_what_was_there(tmp_path):
    with pytest.raises(ModelError, match=r"too many links turn over about t = .* s to keep the state at each; set run.flips"):
        simulate(Chain.uniform(5000), np.pi - 1e-6, 1.0, t_end=0.1, events=[Flip()], file=tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []
    run = simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "run.nc")
    wrong = Event(lambda t, theta, omega: theta if t > 1.2 else 1.0)
    with pytest.raises(ModelError, match=r"Event.function must return one number"):
        run.resume(2.0, events=[wrong], file=tmp_path / "run.nc")
    assert nlink.load(tmp_path / "run.nc.part").status.code == "interrupted"
    assert nlink.load(tmp_path / "run.nc").status.code == "finished"


def test_events_of_the_repeated_step_are_kept_once(tmp_path):
    late = Event(lambda t, theta, omega: t - 0.9999, name="late")
    run = simulate(Chain.uniform(2), 0.5, t_end=1.0, events=[late], file=tmp_path / "run.nc")
    assert run.checkpoint.t < run.events[0].t
    longer = run.resume(1.5, events=[late], file=tmp_path / "run.nc")
    assert [event.name for event in longer.events] == ["late"]


def test_a_run_killed_just_before_it_had_its_name_is_given_it(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("nlink.run.writer.os.fsync", lambda _: (_ for _ in ()).throw(RuntimeError("killed")))
        with pytest.raises(RunFileError, match="killed"):
            simulate(Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "run.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc.part"]
    assert file.newest(tmp_path / "run.nc") == tmp_path / "run.nc"
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]
    same(nlink.load(tmp_path / "run.nc"), simulate(Chain.uniform(2), 0.5, t_end=1.0))


def test_the_second_of_two_runs_at_one_place_is_refused_before_it_compiles(tmp_path):
    with (
        Claim(tmp_path / "x.nc", going_on=False),
        pytest.raises(RunFileError, match="is being written by another process"),
    ):
        nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "x.nc")
    assert not list(tmp_path.iterdir())
    nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "x.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["x.nc"]


def test_a_run_that_cannot_be_put_in_place_is_kept_beside_and_said(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("nlink.run.writer.put_in_place", refused)
    with pytest.raises(RunFileError, match=r"Permission denied; the run is whole all the same, in .*x.nc.part"):
        nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=1.0, file=tmp_path / "x.nc")
    monkeypatch.undo()
    kept = nlink.load(tmp_path / "x.nc")
    assert (kept.status.code, kept.t[-1]) == ("finished", 1.0)
