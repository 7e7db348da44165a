"""Ensembles on clusters of Dask: the same bits, workers that die, stores, Ctrl-C, and clusters that are not there."""

import os
import signal
import sys
import threading
import time
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from made_ensemble import Noted, Unpacked, arguments, unpacked_count
from test_ensemble_store import done, same, started, wait_for

from nlink import (
    Chain,
    Dask,
    EnergyDrift,
    Extremes,
    Final,
    FlipTime,
    JointTorque,
    ModelError,
    Reducer,
    Samples,
    Threads,
    simulate_many,
)
from nlink._support.checks import BackendError
from nlink.ensemble import cluster
from nlink.ensemble.backends import CALLER

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


class Blocks(Dask):
    """Dask with blocks of 200 members."""

    def size(self, job):
        return 200


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(**options) as local, distributed.Client(local, set_as_default=False) as opened:
        yield opened


def test_same_bits_as_threads_whatever_the_blocks(client):
    keep = (Final(), Samples([0.5, 2.0]), FlipTime(), EnergyDrift(), Extremes())
    vary = {"mass[2]": np.linspace(0.5, 2.0, 1000), "joint_damper.damping": np.linspace(0.0, 0.1, 1000)}
    given = arguments(1000, 2.0) | {"keep": keep, "vary": vary}
    expected = simulate_many(**given, backend=Threads(1))
    same(expected, simulate_many(**given, backend=Blocks(client)))
    same(expected, simulate_many(**given, backend=Dask(client.scheduler.address)))


def test_store_is_written_by_the_workers_and_goes_on_with_threads(client, tmp_path, monkeypatch):
    store, given = tmp_path / "x.zarr", arguments(1000, 2.0)
    found = simulate_many(**given, backend=Blocks(client), store=store)
    same(simulate_many(**given), found)
    (store / "done/c/2").unlink()
    same(simulate_many(**given), simulate_many(**given, store=store, backend=Threads(1)))
    monkeypatch.setattr(CALLER.__class__, "take", None)
    (store / "done/c/2").unlink()
    same(found, simulate_many(**given, store=store, backend=Blocks(client)))


def test_worker_unpacks_the_job_once_not_with_each_block(client):
    simulate_many(**arguments(8000, 1.0), keep=Unpacked(), backend=Blocks(client))
    assert all(count <= 2 for count in client.run(unpacked_count).values())


@pytest.mark.slow
def test_function_of_the_user_gives_the_same_bits_as_threads(client, tmp_path):
    def swings(memory, t, theta, omega):
        memory[0] += abs(omega[1])
        memory[1] = max(memory[1], np.cos(theta[0]) * np.sin(t))

    given = arguments(1000, 2.0) | {"keep": (Reducer("swings", 2, swings, start=-1.0), Final())}
    expected = simulate_many(**given, backend=Threads(1))
    same(expected, simulate_many(**given, backend=Blocks(client), store=tmp_path / "x.zarr"))
    assert len(np.unique(expected["swings"])) > 1900


class Watched(Dask):
    """Dask with blocks of 500 members that are noted."""

    log = None

    def size(self, job):
        return 500

    def run(self, job, blocks, stop, sink=CALLER):
        return super().run(job, blocks, stop, Noted(sink, self.log))


def noted(log, what):
    """Return members and process of each block that was begun or ended; a line that is being written has no end yet."""
    lines = [line.split() for line in log.read_text().split("\n")[:-1]]
    return [(int(members), int(pid)) for word, members, pid in lines if word == what]


def kill_computing(log, stop, killed):
    """Kill the worker that began a block last, whenever 40 more blocks have ended."""
    while not stop.wait(0.005):
        pids = [pid for _, pid in noted(log, "begun") if pid not in killed]
        if pids and len(noted(log, "ended")) >= 40 * (len(killed) + 1):
            killed.append(pids[-1])
            os.kill(pids[-1], signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["store", "memory"])
def test_workers_killed_during_1e5_trajectories_of_which_one_in_a_hundred_blows_up(tmp_path, monkeypatch, kept):
    given, bad = arguments(100_000, 8.0), np.arange(7, 100_000, 100)
    given["omega"] = np.zeros((100_000, 2))
    given["omega"][bad, 1] = 1e200
    expected = simulate_many(**given)
    store = {"store": tmp_path / "x.zarr"} if kept == "store" else {}
    monkeypatch.setattr(Watched, "log", tmp_path / "log")
    monkeypatch.setattr(cluster, "TOGETHER", 20)
    Watched.log.touch()
    stop, killed = threading.Event(), []
    killer = threading.Thread(target=kill_computing, args=(Watched.log, stop, killed))
    killer.start()
    try:
        found = simulate_many(**given, backend=Watched(), **store)
    finally:
        stop.set()
        killer.join()
    same(expected, found)
    np.testing.assert_array_equal(np.flatnonzero(found["status"].values == 2), bad)
    assert len(killed) >= 4
    begun = sum(members for members, _ in noted(Watched.log, "begun"))
    assert 100_000 <= begun <= 110_000


def test_worker_of_our_own_comes_back_however_long_it_takes_to_start():
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}),
        cluster.local_cluster() as own,
        distributed.Client(own, set_as_default=False) as client,
    ):
        before = set(client.nthreads())
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: len(set(client.nthreads()) - before) == len(before))
        assert len(own.workers) == len(before)


def test_worker_that_dies_while_versions_are_compared_is_not_another_version():
    answers = {"a": cluster.__version__, "b": OSError("gone")}
    found = SimpleNamespace(wait_for_workers=lambda *_, **__: None, run=lambda *_, **__: answers, nthreads=lambda: {"a": 3})
    assert cluster._checked(found) == 3


def test_ctrl_c_keeps_finished_blocks(tmp_path):
    store = tmp_path / "x.zarr"
    with started("dask", 1_000_000, 10.0, 2, store) as process:
        wait_for(lambda: done(store) >= 1)
        at = time.time()
        process.send_signal(signal.SIGINT)
        words = process.stdout.read().split(maxsplit=3)
    assert words[:2] == ["begun", "interrupted"]
    assert float(words[2]) - at < 1.0
    assert "the same call goes on" in words[3]
    assert done(store) >= 1


def test_no_scheduler_no_workers_other_version_wrong_thing(monkeypatch, client):
    monkeypatch.setattr(cluster, "PATIENCE", "1s")
    with pytest.raises(BackendError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 .*; look at the address"):
        simulate_many(**arguments(10, 1.0), backend=Dask("tcp://127.0.0.1:9"))
    with pytest.raises(ModelError, match=r"Dask needs an address like .* or a distributed\.Client, got 3"):
        Dask(3)
    monkeypatch.setattr(cluster, "__version__", "9.9")
    with pytest.raises(BackendError, match=r"a Dask worker has nlink .*, this process 9\.9; install the same version"):
        simulate_many(**arguments(10, 1.0), backend=Dask(client))


def test_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", "1s")
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        backend = Dask(empty.scheduler_address)
        with pytest.raises(BackendError, match="has no workers; start some"):
            simulate_many(**arguments(10, 1.0), backend=backend)


def test_dask_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BackendError, match=r"Dask needs packages that are not installed: pip install 'dask\[distributed\]' zarr"):
        Dask()


def test_workers_compile_a_law_of_torques(client):
    gain = 0.3
    law = numba.njit(lambda t, theta, omega: -gain * omega[0])
    given = {"theta": np.random.default_rng(0).normal(size=(400, 2)), "t_end": 1.0, "integrator": "DOP853"}
    chain = Chain.uniform(2).with_loads(JointTorque(law))
    same(simulate_many(chain, **given, backend=Threads(1)), simulate_many(chain, **given, backend=Blocks(client)))
