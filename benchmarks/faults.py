"""Faults: a worker of a Dask cluster is killed every few seconds while 1e5 trajectories are computed; 1 % of them blow up.

Each worker notes in a file when it begins a block and when the block is in the store (or on its way back), so that what was
computed in vain can be counted: blocks of a worker that was killed, until then, and results that were lost with it.

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
from dataclasses import dataclass
from pathlib import Path

import distributed
import numpy as np

from nlink import Chain, Dask, Threads, simulate_many
from nlink.ensemble.backends import CALLER, Sink
from nlink.ensemble.cluster import local_cluster


class Noted(Sink):
    """Writes down each block that is begun and ended; one line is one write, so that lines of many workers do not mix."""

    def __init__(self, sink: Sink, log: str) -> None:
        self.sink, self.log, self.keeps = sink, log, sink.keeps

    def has(self, block):
        """Note a block that is about to be computed."""
        there = self.sink.has(block)
        if not there:
            self.note("begun", block)
        return there

    def take(self, block, found):
        """Note a block that is done."""
        returned = self.sink.take(block, found)
        self.note("ended", block)
        return returned

    def note(self, what, block):
        """Write a line."""
        with open(self.log, "ab", buffering=0) as file:
            file.write(f"{block[0]} {block[1]} {what} {time.time()} {os.getpid()}\n".encode())


@dataclass(frozen=True)
class Watched(Dask):
    """Dask that notes its blocks."""

    log: str = ""

    def run(self, job, blocks, stop, sink=CALLER):
        """Compute, with notes."""
        return super().run(job, blocks, stop, Noted(sink, self.log))


def kill_workers(client, stop, every, killed):
    """Kill one worker after another until told to stop."""
    while not stop.wait(every):
        pids = sorted(client.run(os.getpid, on_error="ignore").values())
        if pids:
            pid = pids[len(killed) % len(pids)]
            os.kill(pid, signal.SIGKILL)
            killed[pid] = time.time()


def counted(path, killed):
    """Return blocks, blocks begun again, their members, and the seconds of computing done in all and in vain."""
    tries: dict[tuple[int, int], dict[int, list[float]]] = defaultdict(dict)  # of a block: by process, begun and ended
    for line in Path(path).read_text().splitlines():
        first, last, what, at, pid = line.split()
        if what == "begun":
            tries[int(first), int(last)][int(pid)] = [float(at), killed.get(int(pid), np.nan)]
        else:
            tries[int(first), int(last)][int(pid)][1] = float(at)
    spent = [[end - begun for begun, end in each.values()] for each in tries.values()]
    members = sum((last - first) * (len(each) - 1) for (first, last), each in tries.items())
    vain = sum(sum(each[:-1]) for each in spent)
    return len(spent), sum(len(each) - 1 for each in spent), members, sum(map(sum, spent)), vain


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
        killer = threading.Thread(target=kill_workers, args=(client, stop, given.every, killed))
        killer.start()
        begun = time.perf_counter()
        store = {} if given.memory else {"store": f"{folder}/x.zarr"}
        try:
            found = simulate_many(**ensemble, backend=Watched(client, f"{folder}/log"), **store).load()
        finally:
            stop.set()
            killer.join()
        seconds = time.perf_counter() - begun
        blocks, again, members, spent, vain = counted(f"{folder}/log", killed)
    right = all(np.array_equal(expected[name], found[name], equal_nan=True) for name in expected)
    flagged = np.array_equal(np.flatnonzero(found["status"] == 2), bad)
    print(f"dask, a worker killed every {given.every:g} s: {seconds:.1f} s, {len(killed)} workers killed")
    print(f"all {given.members} members there and right: {right}; exactly the {len(bad)} that blow up flagged: {flagged}")
    share = 100 * members / given.members
    print(f"{blocks} blocks of {(spent - vain) / blocks:.2f} s, {again} begun again ({share:.1f} % of the members)")
    print(f"computing in vain: {vain:.1f} of {spent:.1f} s, {100 * vain / spent:.1f} %")


if __name__ == "__main__":
    main()
