"""Ensembles in stores: killed, interrupted, continued, refused; and threads that stop at once."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import worked
from made_ensemble import arguments

from nlink import Chain, EnergyDrift, Extremes, Final, FlipTime, Samples, Threads, simulate_many
from nlink._support.files import hold
from nlink.ensemble import backends, make_job
from nlink.ensemble.backends import CALLER, block_size
from nlink.ensemble.fingerprint import digest
from nlink.ensemble.store import StoreError

pytest.importorskip("zarr")
MADE = Path(__file__).with_name("made_ensemble.py")


class Counted(Threads):
    """Threads that count the blocks they are asked for, in blocks of 64 members."""

    asked = []

    def size(self, job):
        return 64

    def run(self, job, blocks, stop, sink=CALLER):
        type(self).asked = list(blocks)
        return super().run(job, blocks, stop, sink)


def started(*words):
    return subprocess.Popen([sys.executable, MADE, *map(str, words)], stdout=subprocess.PIPE, text=True)


def done(store):
    return len(list(store.glob("done/c/*"))) - len(list(store.glob("done/c/*.partial")))


def wait_for(condition, seconds=60.0):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end, "nothing came"
        time.sleep(0.01)


def same(a, b):
    assert list(a) == list(b)
    for name in a:
        np.testing.assert_array_equal(a[name].values, b[name].values, err_msg=name)


@pytest.fixture(scope="module")
def plain():
    return simulate_many(**arguments(1000, 2.0))


def test_store_holds_the_same_bits_and_is_read_only_where_looked_at(tmp_path, plain):
    keep = (Final(), Samples([0.5, 1.0]), FlipTime(), EnergyDrift(), Extremes())
    found = simulate_many(**arguments(1000, 2.0), keep=keep, store=tmp_path / "x.zarr", backend=Counted())
    assert found["sample_theta"].dims == ("member", "time", "link")
    assert found["time"].values.tolist() == [0.5, 1.0]
    assert found["theta"].chunks[0] == (64,) * 15 + (40,)
    assert not any(variable._in_memory for variable in found.variables.values() if variable.ndim > 1)
    same(simulate_many(**arguments(1000, 2.0), keep=keep), found)
    assert found.attrs["block_size"] == 64
    assert len(found.attrs["fingerprint"]) == 64
    same(plain, found[["theta", "omega", "status", "steps"]])


def test_complete_store_is_opened_without_computing(tmp_path, plain):
    simulate_many(**arguments(1000, 2.0), store=tmp_path / "x.zarr", backend=Counted())
    Counted.asked = None
    same(plain, simulate_many(**arguments(1000, 2.0), store=tmp_path / "x.zarr", backend=Counted()))
    assert Counted.asked is None


def test_block_without_its_mark_is_computed_again_and_only_that(tmp_path, plain):
    store = tmp_path / "x.zarr"
    simulate_many(**arguments(1000, 2.0), store=store, backend=Counted())
    (store / "done/c/3").unlink()
    (store / "theta/c/3/0").write_bytes(b"half a chunk")
    (store / "omega/c/3/0.a1.partial").write_bytes(b"half")
    same(plain, simulate_many(**arguments(1000, 2.0), store=store, backend=Counted(2)))
    assert Counted.asked == [(192, 256)]
    assert not list(store.glob("**/*.partial"))


def test_blocks_that_changed_are_computed_again_and_only_those(tmp_path, plain, capsys):
    store = tmp_path / "x.zarr"
    simulate_many(**arguments(1000, 2.0), store=store, backend=Counted())
    chunk = bytearray((store / "theta/c/3/0").read_bytes())
    chunk[17] ^= 1
    (store / "theta/c/3/0").write_bytes(chunk)
    (store / "omega/c/5/0").unlink()
    with pytest.warns(UserWarning, match=r"x.zarr was damaged: 2 of 16 blocks did not match their digests and are computed again"):
        same(plain, simulate_many(**arguments(1000, 2.0), store=store, backend=Counted(2)))
    assert Counted.asked == [(192, 256), (320, 384)]
    (store / "status/c/0").write_bytes(b"")
    (store / "theta/zarr.json").unlink()
    same(plain, simulate_many(**arguments(1000, 2.0), store=store, backend=Counted(2), progress=True))
    assert Counted.asked == [(0, 64)]
    assert "nlink: " in (said := capsys.readouterr().err)
    assert "1 of 16 blocks did not match their digests and are computed again; theta/zarr.json had changed and is as it was" in said


def test_only_own_leftovers_are_removed(tmp_path, plain):
    from nlink.ensemble.store import MARK, MARKER

    own, foreign, used, link = (tmp_path / f".x.zarr.{digit * 8}" for digit in "1234")
    for folder in (own, foreign, used):
        (folder / "store").mkdir(parents=True)
    (own / MARKER).write_bytes(MARK)
    (used / MARKER).write_bytes(MARK)
    link.symlink_to(own)
    lock = os.open(used, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        simulate_many(**arguments(1000, 2.0), store=tmp_path / "x.zarr")
    finally:
        os.close(lock)
    assert {path.name for path in tmp_path.iterdir()} == {"x.zarr", foreign.name, used.name, link.name}


def test_killed_and_continued(tmp_path):
    store, words = tmp_path / "x.zarr", (60_000, 10.0)
    with started("threads", *words, 2, store) as process:
        wait_for(lambda: done(store) >= 3)
        process.send_signal(signal.SIGKILL)
    files = {path: path.stat().st_mtime_ns for path in store.glob("done/c/*") if path.suffix != ".partial"}
    found = simulate_many(**arguments(*words), store=store)
    assert 3 <= len(files) < len(found["theta"].chunks[0])
    assert all(path.stat().st_mtime_ns == at for path, at in files.items())
    same(simulate_many(**arguments(*words)), found)


@pytest.mark.parametrize(("members", "t_end", "n", "kept"), [(400_000, 10.0, 2, True), (64, 1e4, 40, False)])
def test_ctrl_c_within_a_second(tmp_path, members, t_end, n, kept):
    store = tmp_path / "x.zarr"
    with started("threads", members, t_end, n, store) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["begun\n", "running\n"]
        wait_for(lambda: done(store) >= (2 if kept else 0))
        worked(0.5, process.pid)
        at = time.time()
        process.send_signal(signal.SIGINT)
        word, stopped, told = process.stdout.read().split(maxsplit=2)
    assert word == "interrupted"
    assert float(stopped) - at < 1.0
    assert f"of {members} members; the same call goes on from {store}" in told
    blocks_done = json.loads((store / "zarr.json").read_text())["attributes"]["block_size"] * done(store)
    assert f"after {blocks_done} of" in told
    assert (blocks_done > 0) == kept


OTHER = {
    "t_end is 2.0 there, 3.0 here": {"t_end": 3.0},
    "theta differs": {"theta": np.zeros((1000, 2))},
    "omega differs": {"omega": np.ones((1000, 2))},
    "chain differs": {"chain": Chain.uniform(2, mass=2.0)},
    "keep is Final there, FlipTime here": {"keep": FlipTime()},
    r"integrator is .* there, DOP853\(.*\) here": {"integrator": "DOP853"},
    "vary is nothing there, gravity here": {"vary": {"gravity": np.linspace(1, 2, 1000)}},
    "number of members is 1000 there, 7 here": {"theta": np.zeros((7, 2))},
}


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    store = tmp_path_factory.mktemp("other") / "x.zarr"
    simulate_many(**arguments(1000, 2.0), store=store)
    return store


@pytest.mark.parametrize("words", OTHER)
def test_store_of_another_ensemble_is_refused(other, words):
    with pytest.raises(StoreError, match=f"holds another ensemble: the {words}; give another store"):
        simulate_many(**(arguments(1000, 2.0) | OTHER[words]), store=other)


def test_foreign_folder_and_place_without_a_folder_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="is there already and is no store of an ensemble"):
        simulate_many(**arguments(10, 1.0), store=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(StoreError, match=r"cannot write .*; give another store"):
        simulate_many(**arguments(10, 1.0), store=tmp_path / "notes.txt" / "x.zarr")


def test_second_process_on_a_store_is_refused(other):
    lock = hold(other / "zarr.json")
    try:
        with pytest.raises(StoreError, match="another process is computing into"):
            simulate_many(**arguments(1000, 2.0), store=other)
    finally:
        os.close(lock)


def test_digest_knows_functions_and_bits():
    assert digest(lambda t: t + 1) == digest(lambda t: t + 1)
    assert digest(lambda t: t + 1) != digest(lambda t: t + 2)
    assert digest(np.array([0.0])) != digest(np.array([-0.0]))
    assert digest({"a": 1.0, "b": (2.0,)}) != digest({"a": 1.0, "b": (2.5,)})


@pytest.mark.parametrize("n", [2, 30])
def test_blocks_take_about_the_time_asked_for(n):
    given = arguments(200_000, 10.0, n)
    job = make_job(given["chain"], given["theta"], None, 10.0, None, Final())
    size = block_size(job, 0.2)
    begun = time.process_time()
    list(Threads(1).run(job, [(0, size)], lambda: False))
    assert 0.05 < time.process_time() - begun < 0.5
    assert block_size(job.part(0, 100), 0.2, 2) == 16


def test_blocks_are_as_large_when_others_want_the_processor(monkeypatch):
    given = arguments(200_000, 10.0)
    job = make_job(given["chain"], given["theta"], None, 10.0, None, Final())
    alone, compute = block_size(job, 0.2), backends.compute
    monkeypatch.setattr(backends, "compute", lambda part: (time.sleep(0.02), compute(part)))
    assert block_size(job, 0.2) > 0.25 * alone


def test_one_in_a_hundred_blows_up_and_exactly_those_are_flagged(tmp_path):
    given = arguments(2000, 2.0)
    omega = np.zeros((2000, 2))
    bad = np.random.default_rng(3).choice(2000, 20, replace=False)
    omega[bad, 1] = 1e200
    found = simulate_many(**given, omega=omega, store=tmp_path / "x.zarr", backend=Counted(2))
    np.testing.assert_array_equal(np.flatnonzero(found["status"].values == 2), np.sort(bad))
    good = np.setdiff1d(np.arange(2000), bad)
    np.testing.assert_array_equal(found["theta"].values[good], simulate_many(**given)["theta"].values[good])
