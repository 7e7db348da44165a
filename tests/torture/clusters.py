"""Attacks on clusters: a scheduler of its own process that dies while an ensemble is computed, and comes back."""

from __future__ import annotations

import contextlib
import functools
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nlink import Chain, Final, FlipTime, Threads, simulate_many
from nlink._support.checks import BackendError
from torture.attack import Absent, Measure, attack
from torture.stores import told

MEMBERS = 4000
PATIENCE = 60.0
"""Seconds after which a call that has lost its scheduler must have ended."""


def arguments() -> dict[str, Any]:
    theta = np.random.default_rng(2).uniform(-3.0, 3.0, (MEMBERS, 2))
    return {"chain": Chain.uniform(2), "theta": theta, "t_end": 60.0, "keep": (Final(), FlipTime())}


@functools.cache
def expected() -> dict[str, bytes]:
    return told(simulate_many(**arguments(), backend=Threads()))


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a part of a cluster for the time of a block."""
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = subprocess.Popen([sys.executable, "-m", *words], start_new_session=True, **quiet)
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            started.kill()
        started.wait()


def scheduler(port: int) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    """Run a scheduler at a port of this machine."""
    return process("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show")


def worker(port: int, folder: Path) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    """Run a worker of the scheduler at a port."""
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
    return process("distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", *options)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def some_blocks(store: Path) -> bool:
    """Whether a store holds results by now."""
    return any(path.is_file() for path in store.glob("theta/c/*/*"))


@attack("an error that names the cause; finished blocks stay, and the same call completes it to the last bit", full=6, sample=1)
def schedulers_that_die_and_come_back(k: int, folder: Path) -> Measure:
    try:
        from nlink import Dask
        from nlink.ensemble.cluster import _distributed

        _distributed()
    except ImportError:
        raise Absent("Dask") from None
    wanted, port, store, back = expected(), free_port(), folder / "x.zarr", k % 2 == 1
    backend = Dask(f"tcp://127.0.0.1:{port}")
    lost: list[float] = []

    def kill(victim: subprocess.Popen[bytes]) -> None:
        deadline = time.perf_counter() + PATIENCE
        while not some_blocks(store) and time.perf_counter() < deadline:
            time.sleep(0.01)
        lost.append(time.perf_counter())
        victim.send_signal(signal.SIGKILL)
        if back:
            victim.wait()
            again.enter_context(scheduler(port))

    with contextlib.ExitStack() as again, worker(port, folder / "1"), scheduler(port) as first:
        killer = threading.Thread(target=kill, args=(first,))
        killer.start()
        said = "nothing"
        try:
            simulate_many(**arguments(), backend=backend, store=store)
        except BackendError as error:
            said = str(error)
        assert "the Dask scheduler went away" in said, said
        killer.join()
        seconds = time.perf_counter() - lost[0]
        assert seconds < PATIENCE, f"ended {seconds:.0f} s after the scheduler"
    with scheduler(port), worker(port, folder / "2"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert told(simulate_many(**arguments(), backend=backend, store=store)) == wanted
    return Measure(seconds)
