"""Faults: a worker of a Dask cluster is killed every few seconds while 1e5 trajectories are computed; 1 % of them blow up.

Each worker notes in a file when it begins a block and when it is done with it, so that what was begun in vain can be counted.

    python benchmarks/faults.py [--members 100000] [--t-end 50] [--every 4] [--memory]
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import distributed
import numpy as np

from nlink import Chain, Dask, Threads, simulate_many
from nlink.ensemble.cluster import local_cluster


class Log(distributed.WorkerPlugin):
    """Writes down each block that a worker begins and ends; one line is one write, so that lines of many workers do not mix."""

    def __init__(self, path: str) -> None:
        self.path = path

    def transition(self, key, start, finish, **_):
        """Called by Dask whenever a task changes its state."""
        if "nlink-block" in str(key) and (finish == "executing" or start == "executing"):
            with open(self.path, "ab", buffering=0) as file:
                file.write(f"{key} {'begun' if finish == 'executing' else 'ended'} {time.time()} {os.getpid()}\n".encode())


def kill_workers(client, stop, every, killed):
    """Kill one worker after another until told to stop."""
    while not stop.wait(every):
        pids = sorted(client.run(os.getpid, on_error="ignore").values())
        if pids:
            pid = pids[len(killed) % len(pids)]
            os.kill(pid, signal.SIGKILL)
            killed[pid] = time.time()


def counted(path, killed):
    """Return blocks, blocks begun again, and the seconds of computing done in all and in vain."""
    begun, times, vain = defaultdict(list), defaultdict(float), 0.0
    for line in Path(path).read_text().splitlines():
        key, what, at, pid = line.rsplit(" ", 3)
        if what == "begun":
            begun[key].append((float(at), int(pid)))
        else:
            times[key] += float(at) - begun[key][-1][0]
    for tries in begun.values():
        vain += sum(killed.get(pid, at) - at for at, pid in tries[:-1])
    return len(begun), sum(len(tries) - 1 for tries in begun.values()), sum(times.values()) + vain, vain


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--members", type=int, default=100_000)
    options.add_argument("--t-end", type=float, default=50.0)
    options.add_argument("--every", type=float, default=4.0)
    options.add_argument("--memory", action="store_true", help="send the results back instead of storing them")
    given = options.parse_args()
    random = np.random.default_rng(0)
    theta, omega = random.uniform(-3, 3, (given.members, 2)), np.zeros((given.members, 2))
    bad = np.sort(random.choice(given.members, given.members // 100, replace=False))
    omega[bad, 1] = 1e200
    ensemble = {"chain": Chain.uniform(2), "theta": theta, "omega": omega, "t_end": given.t_end}
    begun = time.perf_counter()
    expected = simulate_many(**ensemble, backend=Threads())
    print(f"threads, undisturbed: {time.perf_counter() - begun:.1f} s")
    killed: dict[int, float] = {}
    stop = threading.Event()
    with (
        tempfile.TemporaryDirectory() as folder,
        local_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(Log(f"{folder}/log"))
        killer = threading.Thread(target=kill_workers, args=(client, stop, given.every, killed))
        killer.start()
        begun = time.perf_counter()
        store = {} if given.memory else {"store": f"{folder}/x.zarr"}
        try:
            found = simulate_many(**ensemble, backend=Dask(client), **store).load()
        finally:
            stop.set()
            killer.join()
        seconds = time.perf_counter() - begun
        blocks, again, spent, vain = counted(f"{folder}/log", killed)
    right = all(np.array_equal(expected[name], found[name], equal_nan=True) for name in expected)
    flagged = np.array_equal(np.flatnonzero(found["status"] == 2), bad)
    print(f"dask, a worker killed every {given.every:g} s: {seconds:.1f} s, {len(killed)} workers killed")
    print(f"all {given.members} members there and right: {right}; exactly the {len(bad)} that blow up flagged: {flagged}")
    print(f"{blocks} blocks of {spent / max(blocks, 1):.1f} s, {again} begun again; computing in vain: {100 * vain / spent:.1f} %")


if __name__ == "__main__":
    main()
