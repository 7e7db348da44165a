"""Backends: where the blocks of a job are computed. Threads of this process; a GPU; a cluster of Dask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nlink._check import whole
from nlink.ensemble.job import Job, compute

Block = tuple[int, int]
Results = dict[str, np.ndarray]


class Backend(Protocol):
    """Computes blocks of a job, in any order."""

    def size(self, job: Job) -> int:
        """Return how many members a block should have."""
        ...

    def run(self, job: Job, blocks: list[Block], stop: Any) -> Iterator[tuple[Block, Results]]:
        """Yield blocks as they are done; start none after `stop()` says so."""
        ...


@dataclass(frozen=True)
class Threads:
    """Threads of this process, each with its own lanes: as many as there are cores, if not said."""

    n: int | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            whole("Threads.n", self.n)

    @property
    def count(self) -> int:
        """Number of threads."""
        return self.n or len(os.sched_getaffinity(0))

    def size(self, job: Job) -> int:
        """Return blocks that take about a tenth of a second, and enough of them for all threads."""
        cost = job.chain.n**1.2 * abs(job.t_end)
        return int(np.clip(40_000 / max(cost, 1e-9), 64, 4096))

    def run(self, job: Job, blocks: list[Block], stop: Any) -> Iterator[tuple[Block, Results]]:
        """Compute on a pool of threads."""
        waiting, todo = {}, iter(blocks)
        with ThreadPoolExecutor(self.count) as pool:
            while True:
                while len(waiting) < 2 * self.count and not stop():
                    block = next(todo, None)
                    if block is None:
                        break
                    waiting[pool.submit(compute, job.part(*block))] = block
                if not waiting:
                    return
                done, _ = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
                if stop():
                    yield from _running(waiting)
                    return


def _running(waiting: dict[Future[Results], Block]) -> Iterator[tuple[Block, Results]]:
    """Give up the blocks that have not begun, and yield the others when they are done."""
    for future, block in waiting.items():
        if not future.cancel():
            yield block, future.result()
