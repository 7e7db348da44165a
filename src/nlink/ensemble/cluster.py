"""Dask: blocks computed by the workers of a cluster, which may come and go.

Dask has all of it: it sends the tasks, gives those of a worker that died to another, and tries one that failed again. With a
store a task is several blocks, each written as soon as it is done by the worker that computed it: who takes over the task of one
that died finds them there. Without a store a task is one block, whose results come back.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nlink._support.checks import BackendError, ModelError, shown
from nlink._support.progress import QUIET
from nlink._support.version import __version__
from nlink.ensemble.backends import CALLER, Sink, Task, block_size, done_blocks, in_turn, left
from nlink.ensemble.job import Block, Job, Results
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.loads.torque_function import is_c_function

SECONDS = 0.2
"""Computing time of a block: what is lost with a worker."""
TOGETHER = 6
"""Blocks of a task whose blocks are kept one by one: a task takes more than a second, much more than Dask needs to send it."""
RETRIES = 3
DEATHS = 100
"""So many workers may die over a task before it is given up, in a cluster of our own."""
NEVER = "10000 days"
"""When a cluster of our own gives up a worker that does not come back. Dask looks only once, this long after a death: a worker that
happens to be starting again just then would be given up for good, and without workers the rest would wait for ever."""
PATIENCE = "10s"
UNDER_WAY = 64
"""Least number of tasks given to the scheduler at a time."""


@dataclass(frozen=True)
class Dask:
    """The workers of a Dask cluster: of the scheduler at an address ("tcp://host:8786"), of a distributed.Client, or, if nothing is
    given, processes of this machine, one for each core. Needs the extra nlink[cluster].

    Processes of this machine are started anew, so that a script must call it under `if __name__ == "__main__":`.
    """

    address_or_client: Any = None

    def __post_init__(self) -> None:
        given = self.address_or_client
        if given is not None and not isinstance(given, str) and not hasattr(given, "get_executor"):
            raise ModelError(f'Dask needs an address like "tcp://host:8786" or a distributed.Client, got {shown(given)}')
        _distributed()

    def size(self, job: Job) -> int:
        """Return blocks that take a fifth of a second."""
        return block_size(job, SECONDS)

    def run(self, job: Job, blocks: list[Block], stop: Callable[[], bool], sink: Sink = CALLER) -> Iterator[tuple[Block, Results]]:
        """Compute on the workers of the cluster."""
        torque = job.chain.load(JointTorque)
        if torque and is_c_function(torque.function):
            raise ModelError("Dask cannot send a numba.cfunc to its workers; give the torque as a numba.njit function")
        with self._client() as client:
            threads = _checked(client)
            pool = client.get_executor(pure=False, retries=RETRIES)
            shell = client.submit(_same, job.part(0, 0), pure=False, retries=RETRIES)
            group = f"nlink-task-{uuid.uuid4().hex}"  # tasks of one group wait at the scheduler, not at workers that may die

            def start(task: Task) -> Future[list[Results]]:
                parts = [(block, part.position, part.velocity, part.vary) for block in task for part in [job.part(*block)]]
                return pool.submit(_done_task, shell, parts, sink, __version__, key=(group, task[0][0]))

            together = min(TOGETHER, max(1, len(blocks) // (4 * threads))) if sink.keeps else 1  # every thread gets some tasks
            tasks = [blocks[k : k + together] for k in range(0, len(blocks), together)]
            try:
                waiting = yield from in_turn(start, tasks, max(UNDER_WAY, 4 * threads), stop)
                pool.shutdown(wait=False)
                yield from left(waiting, 0.0)
            except CancelledError:
                raise BackendError("the Dask scheduler went away before the end; start it again, and repeat the call") from None
            except _distributed().KilledWorker as error:
                raise BackendError(
                    f"Dask gave up a task over which {error.allowed_failures + 1} workers died; "
                    "look at their memory, or raise distributed.scheduler.allowed-failures"
                ) from None

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Yield a client of the cluster; close what was opened here."""
        given = self.address_or_client
        if given is not None and not isinstance(given, str):
            yield given
            return
        with ExitStack() as opened:
            address = opened.enter_context(local_cluster()) if given is None else given
            opened.enter_context(_silenced("distributed.client"))
            try:
                client = _distributed().Client(address, set_as_default=False, timeout=PATIENCE)
            except (OSError, ValueError) as error:
                raise BackendError(f"no Dask scheduler answers at {address} ({error}); look at the address, or start one") from None
            yield opened.enter_context(client)


@contextmanager
def local_cluster() -> Iterator[Any]:
    """Yield a cluster of processes of this machine, one for each core, each with one thread."""
    from dask import config

    cores = len(os.sched_getaffinity(0))
    with config.set({"distributed.scheduler.allowed-failures": DEATHS, "distributed.deploy.lost-worker-timeout": NEVER}):
        try:
            cluster = _distributed().LocalCluster(
                n_workers=cores, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR", preload=[__name__]
            )
        except RuntimeError as error:
            raise BackendError(
                f'the processes of Dask() did not start ({error}); in a script, call it under if __name__ == "__main__":'
            ) from None
        try:
            yield cluster
        finally:
            threading.Thread(target=cluster.close).start()  # takes a second, for which nobody need wait


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    """Let a logger say nothing for a while: tracebacks of a connection that broke, of which a BackendError tells in a sentence."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


_closing = np.zeros(1, np.int64)


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C and the line about compiling to the process that started this worker; Dask calls this in each worker of
    `local_cluster`.
    """
    os.environ[QUIET] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def dask_teardown(worker: Any) -> None:
    """Halt what this worker computes, so that it closes at once; Dask calls this too."""
    _closing[0] = 1


def _checked(client: Any) -> int:
    """Return the number of the cluster's threads; refuse a cluster without workers, and one with another nlink."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise BackendError("the Dask cluster has no workers; start some, like: dask worker ADDRESS --nthreads 1") from None
    for version in client.run(_own_version, on_error="return").values():
        if version != __version__ and not isinstance(version, OSError):  # a worker that just died; its tasks look again
            raise BackendError(_other_version(version if isinstance(version, str) else f"not at all ({version})", __version__))
    return max(1, sum(client.nthreads().values()))


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise BackendError("Dask needs packages that are not installed: pip install 'dask[distributed]' zarr") from None
    return distributed


def _same(job: Job) -> Job:
    """Return the job without its members: a worker gets it once, and what is compiled for it stays."""
    return job


def _done_task(shell: Job, parts: list[tuple[Block, np.ndarray, np.ndarray, Results]], sink: Sink, version: str) -> list[Results]:
    """Compute the blocks of a task on a worker."""
    if version != __version__:
        raise BackendError(_other_version(__version__, version))
    jobs = [(block, replace(shell, position=position, velocity=velocity, vary=vary)) for block, position, velocity, vary in parts]
    return done_blocks(jobs, sink, _closing)


def _own_version() -> str:
    return __version__


def _other_version(theirs: Any, ours: str) -> str:
    return f"a Dask worker has nlink {theirs}, this process {ours}; install the same version on both"
