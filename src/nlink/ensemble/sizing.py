"""How many members a block should have: a few of them are followed for a short time, and the clock is watched.

It is the processor's clock: on the one on the wall a pause of some ms, when others want the processor, would count a thousandfold.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from nlink.ensemble.job import Job, compute, known_system, side_by_side
from nlink.ensemble.outputs import Final, Samples

LANES = 16
"""Members that are computed side by side: fewer in a block cost as much."""
ENOUGH = 0.01
"""Seconds of computing that tell the speed."""
SHARE = 1024
"""The first look goes to t_end divided by this."""
FEWEST_BLOCKS, BLOCKS, ROUNDS = 4, 8, 16
"""Blocks for each worker, so that all are done at about the same time: at least, and if lanes can then take so many members each,
for at the end of a block they wait for one another."""
MOST_BYTES = 64_000_000
"""What comes in and goes out of a block."""


def block_size(job: Job, seconds: float, workers: int = 1) -> int:
    """Return how many members take so many seconds, but few enough that each worker gets several blocks.

    Everything is compiled when this returns.
    """
    least = LANES if side_by_side(known_system(job.chain), job.method, job.vary) else 1
    if not job.members:
        return least
    fair = job.members / workers
    size = min(
        seconds / seconds_each(job, least), fair / FEWEST_BLOCKS, max(fair / BLOCKS, ROUNDS * least), MOST_BYTES / bytes_each(job)
    )
    return least * max(1, math.ceil(size / least))


def seconds_each(job: Job, count: int) -> float:
    """Return about how many seconds a member takes, from `count` members spread over the ensemble."""
    keep = tuple(each for each in job.keep if not isinstance(each, Samples)) or (Final(),)
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
    incoming = job.theta.itemsize * (2 * job.chain.n + len(job.vary))
    return incoming + sum(np.dtype(output.dtype).itemsize * math.prod(output.shape) for output in job.outputs().values())
