"""Backends: where the blocks of a job are computed (threads of this process, a GPU, a cluster of Dask), and how large a block is.

The size of a block follows from the time that a few members take. It is the processor's time: by the clock on the wall a pause of
some ms, when others want the processor, would count a thousandfold.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Protocol

import numpy as np

from nlink._support.checks import whole
from nlink.compiled.announcing import waiting
from nlink.ensemble.engines import WIDTH, Halted, compute, side_by_side
from nlink.ensemble.job import Block, Job, Results
from nlink.ensemble.outputs import Samples

LOOK = 0.1
"""Seconds between two looks at whether the user wants to stop."""
MOST_THREADS = 1024
GRACE = 0.5
"""Seconds for what is under way to leave off."""
ENOUGH = 0.01
"""Seconds of computing that tell the speed."""
SHARE = 1024
"""The first look goes to t_end divided by this."""
FEWEST_BLOCKS, BLOCKS, ROUNDS = 4, 8, 16
"""Blocks for each worker, so that all are done at about the same time: at least, and if lanes can then take so many members each,
for at the end of a block they wait for one another."""
MOST_BYTES = 64_000_000
"""What comes in and goes out of a block."""


class Sink:
    """Where the results of a block go, from wherever they are computed: back to the caller."""

    keeps: ClassVar[bool] = False
    """Whether what it took outlives the process that computed it."""

    def has(self, block: Block) -> bool:
        """Whether a block is there already and need not be computed."""
        return False

    def take(self, block: Block, results: Results) -> Results:
        """Take the results of a block; return what the caller is to get."""
        return results


CALLER = Sink()


class Backend(Protocol):
    """Computes blocks of a job, in any order."""

    def size(self, job: Job) -> int:
        """Return how many members a block should have."""
        ...

    def run(self, job: Job, blocks: list[Block], stop: Callable[[], bool], sink: Sink = CALLER) -> Iterator[tuple[Block, Results]]:
        """Give blocks to the sink as they are done, and yield what it returns; leave off soon after `stop()` says so."""
        ...


@dataclass(frozen=True)
class Threads:
    """Threads of this process, each with its own lanes: as many as there are cores, if not said; up to 1,024."""

    n: int | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            whole("Threads.n", self.n, most=MOST_THREADS)

    @property
    def count(self) -> int:
        """Number of threads."""
        return self.n or len(os.sched_getaffinity(0))

    def size(self, job: Job) -> int:
        """Return blocks that take a fifth of a second, and enough of them for all threads."""
        return block_size(job, 0.2, self.count)

    def run(self, job: Job, blocks: list[Block], stop: Callable[[], bool], sink: Sink = CALLER) -> Iterator[tuple[Block, Results]]:
        """Compute on a pool of threads."""
        halt, pool = np.zeros(1, np.int64), ThreadPoolExecutor(self.count)

        def start(task: Task) -> Future[list[Results]]:
            return pool.submit(done_blocks, [(block, job.part(*block)) for block in task], sink, halt)

        try:
            waiting = yield from in_turn(start, [[block] for block in blocks], 2 * self.count, stop)
        finally:
            halt[0] = 1
            pool.shutdown(wait=False, cancel_futures=True)
        yield from left(waiting, GRACE)


def done_blocks(parts: list[tuple[Block, Job]], sink: Sink, halt: np.ndarray) -> list[Results]:
    """Compute block after block, each given to the sink as soon as it is done; those that the sink has are left out."""
    return [{} if sink.has(block) else sink.take(block, compute(part, halt)) for block, part in parts]


Task = list[Block]
"""Blocks that are computed by one worker, one after the other."""
Waiting = dict[Future[list[Results]], Task]


def in_turn(
    start: Callable[[Task], Future[list[Results]]], tasks: list[Task], width: int, stop: Callable[[], bool]
) -> Iterator[tuple[Block, Results]] | Any:
    """Keep `width` tasks under way, and yield their blocks as they are done; return those under way when `stop()` says so."""
    waiting: Waiting = {}
    todo = iter(tasks)
    while not stop():
        for task in islice(todo, width - len(waiting)):
            waiting[start(task)] = task
        if not waiting:
            break
        done, _ = wait(waiting, timeout=LOOK, return_when=FIRST_COMPLETED)
        for future in done:
            yield from zip(waiting.pop(future), future.result(), strict=True)
    return waiting


def left(waiting: Waiting, seconds: float) -> Iterator[tuple[Block, Results]]:
    """Yield the blocks of the tasks under way that were not cancelled and come to their end in time."""
    begun = [future for future in waiting if not future.cancelled()]
    for future in wait(begun, timeout=seconds).done:
        if not future.cancelled() and not isinstance(future.exception(), Halted):
            yield from zip(waiting[future], future.result(), strict=True)


def block_size(job: Job, seconds: float, workers: int = 1) -> int:
    """Return how many members take so many seconds, but few enough that each worker gets several blocks.

    Everything is compiled when this returns.
    """
    least = WIDTH if side_by_side(job.system, job.method, job.varied) else 1
    if not job.members:
        return least
    fair = job.members / workers
    with waiting(f"ensembles by {job.method.name}"):
        each = seconds_each(job, least)
    size = min(seconds / each, fair / FEWEST_BLOCKS, max(fair / BLOCKS, ROUNDS * least), MOST_BYTES / bytes_each(job))
    return least * max(1, math.ceil(size / least))


def seconds_each(job: Job, count: int) -> float:
    """Return about how many seconds a member takes, from `count` members spread over the ensemble."""
    keep = tuple(Samples((0.0,)) if isinstance(each, Samples) else each for each in job.keep)
    few = replace(job.rows(np.linspace(0, job.members - 1, min(count, job.members)).astype(int)), keep=keep)
    share = 1.0 / SHARE
    _timed(few, share)  # compiles
    while (taken := _timed(few, share)) < ENOUGH and share < 1.0:
        share = min(16.0 * share, 1.0)
    return taken / share / few.members


def _timed(job: Job, share: float) -> float:
    begun = time.thread_time()
    compute(replace(job, t_end=share * job.t_end))
    return time.thread_time() - begun


def bytes_each(job: Job) -> int:
    """Return how many bytes come in and go out for a member."""
    incoming = job.position.itemsize * (2 * job.chain.size + len(job.vary))
    return incoming + sum(np.dtype(output.dtype).itemsize * math.prod(output.shape) for output in job.outputs().values())
