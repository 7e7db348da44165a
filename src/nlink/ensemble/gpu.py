"""Cuda(): one thread of an NVIDIA GPU for each member, from the same sources as the lanes of the processor.

The number of links, the order and the kinds of loads are constants of a compiled kernel, which so knows the length of every loop.
Threads take members from a counter. The series of short chains are unrolled, so that they stay in registers as far as these go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nlink._check import ModelError
from nlink.ensemble.backends import CALLER, Block, Results, Sink
from nlink.ensemble.job import Job, side_by_side
from nlink.ensemble.keep import FTLE, EnergyDrift, Reducer
from nlink.ensemble.noting import CLOCKS
from nlink.ensemble.varied import Varied
from nlink.system import ORDER_BY_ORDER, SERIES_ROWS, SERIES_SCRATCH, UNROLLED_LANES

THREADS = 128
MOST = 1 << 20
"""Members that are sent to the card at a time."""
SHORT = 6
"""Links up to which a kernel is unrolled."""


@dataclass(frozen=True)
class Cuda:
    """An NVIDIA GPU (`device` if there are several)."""

    device: int = 0

    def size(self, job: Job) -> int:
        """Return large blocks."""
        return MOST

    def run(self, job: Job, blocks: list[Block], stop: Callable[[], bool], sink: Sink = CALLER) -> Iterator[tuple[Block, Results]]:
        """Compute block after block."""
        cuda = found_cuda()
        with cuda.gpus[self.device]:
            for block in blocks:
                if stop():
                    return
                yield block, {} if sink.has(block) else sink.take(block, halved(job.part(*block), cuda))


def halved(job: Job, cuda: Any) -> Results:
    """Return the outputs of a job, in halves if the card has no memory for all of it."""
    try:
        return compute_on_card(job, cuda)
    except MemoryError as error:
        if job.members < 2:
            raise ModelError("the GPU has no memory for a single member; use Threads()") from error
    middle = job.members // 2
    first, second = halved(job.part(0, middle), cuda), halved(job.part(middle, job.members), cuda)
    return {name: np.concatenate([values, second[name]]) for name, values in first.items()}


def found_cuda() -> Any:
    """Return numba's cuda, or say in a sentence that there is none."""
    if not hasattr(np, "row_stack"):  # numba-cuda up to 0.30 asks for it, NumPy has dropped it
        np.row_stack = np.vstack  # pyright: ignore[reportAttributeAccessIssue]
    try:
        from numba import config, cuda

        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # pyright: ignore[reportAttributeAccessIssue]
        usable = cuda.is_available()
    except ImportError:
        raise ModelError("Cuda needs numba-cuda: install nlink[gpu], or use Threads()") from None
    if not usable:
        raise ModelError("Cuda found no NVIDIA GPU with a working driver here; use Threads()")
    return cuda


def compute_on_card(job: Job, cuda: Any) -> dict[str, np.ndarray]:
    """Return the outputs of a job."""
    from nlink.ensemble.lanes_engine import named, results_for
    from nlink.formulations import formulate

    system = formulate(job.chain)
    if not side_by_side(system, job.method, job.vary) or job.wanted(Reducer) or job.wanted(FTLE):
        what = "open chains without tables, Python torques or quadratic drag, and neither FTLE nor Reducer"
        raise ModelError(f"Cuda takes {what}; use Threads()")
    method: Any = job.method
    n, members = job.chain.n, job.members
    varied = Varied(job.chain, job.vary, members)
    numbers = varied.flagged(system.parameters.chain)
    numbers = numbers._replace(ledger=numbers.ledger if job.wanted(EnergyDrift) else 0)
    kept = results_for(job, n, members)
    loads = numbers.loaded, numbers.timed, numbers.swept, numbers.ledger
    kernel = kernel_for(n, method.order, loads, bool(varied.names), tuple(len(each) > 0 for each in kept))
    blocks = min(-(-members // THREADS), 32 * cuda.get_current_device().MULTIPROCESSOR_COUNT)
    try:
        given = [cuda.to_device(np.ascontiguousarray(each)) for each in (job.starts, varied.values, varied.places)]
        tables = [cuda.to_device(each) for each in (numbers.links, numbers.tip, numbers.table, numbers.spans, numbers.pin)]
        results = [cuda.to_device(each) for each in kept]
        counter = cuda.to_device(np.zeros(1, np.int64))
        kernel[blocks, THREADS](
            *given, *tables, numbers.g, float(job.t_end), method.tol, float(method.max_steps), counter, members, *results
        )
        for own, card in zip(kept, results, strict=True):
            card.copy_to_host(own)
    except cuda.cudadrv.driver.CudaAPIError as error:
        if "MEMORY" in str(error).upper():
            raise MemoryError(str(error)) from error
        raise
    return named(job, kept, n)


@lru_cache(maxsize=32)
def kernel_for(n: int, order: int, loads: tuple[Any, ...], varied: bool, wants: tuple[bool, ...]) -> Any:
    """Return a compiled kernel."""
    from numba import cuda as numba_cuda
    from numba import float64, int64

    from nlink.ensemble.march import Kept, Lanes
    from nlink.ensemble.single import follow
    from nlink.formulations.recursive import RecursiveParameters
    from nlink.kernels import ChainParameters

    cuda: Any = numba_cuda
    loaded, timed, swept, ledger = loads
    m, rows, scratch = 2 * n + ledger, SERIES_ROWS if loaded else 3, SERIES_SCRATCH
    powers, own_rows, own_n = (order, m) if ledger else (1, 1), (16 if varied else 1), (n if varied else 1)
    orders = (0,) * order
    ending, sampling, _, flipping, _, drifting, ranging, *_ = wants
    way = (0,) * (UNROLLED_LANES + 2 * n + loaded if n <= SHORT and not swept else ORDER_BY_ORDER)
    terms_shape, w_shape, u_shape, y_shape, q_shape = (rows, order + 2, n, 1), (scratch, n, 1), (10, n, 1), (3, m, 1), (*powers, 1)
    clocks_shape, levels_shape, links_shape = (CLOCKS, 1), (n, 1), (own_rows, own_n, 1)

    @cuda.jit(fastmath={"contract"})
    def kernel(starts, values, places, links, tip, table, spans, pin, g, t_end, tol, most, counter, count,
               final, times, samples, flip_time, flip_link, drift, extremes, status, steps):  # fmt: skip
        terms = cuda.local.array(terms_shape, float64)
        w, u = cuda.local.array(w_shape, float64), cuda.local.array(u_shape, float64)
        y, q = cuda.local.array(y_shape, float64), cuda.local.array(q_shape, float64)
        clocks, levels = cuda.local.array(clocks_shape, float64), cuda.local.array(levels_shape, float64)
        own_links, own_tip = cuda.local.array(links_shape, float64), cuda.local.array((3, 1), float64)
        own_g = cuda.local.array((1, 1), float64)
        members, due = cuda.local.array(1, int64), cuda.local.array(1, int64)
        for i in range(n):
            terms[0, 0, i, 0], terms[1, 0, i, 0], terms[0, 1, i, 0] = 1.0, 0.0, 0.0
        if varied:
            for row in range(own_rows):
                for i in range(own_n):
                    own_links[row, i, 0] = links[row, i]
            for i in range(3):
                own_tip[i, 0] = tip[i]
            own_g[0, 0] = g
        if not ending:  # what is not wanted has no length, and the compiler drops what is done for it
            final = final[:0]
        if not flipping:
            flip_time = flip_time[:0]
        if not sampling:
            times = times[:0]
        if not drifting:
            drift = drift[:0]
        if not ranging:
            extremes = extremes[:0]
        own = Lanes(terms, w, u, y, q, clocks, levels, own_links, own_tip, own_g)
        kept = Kept(final, times, samples, flip_time, flip_link, drift, extremes, status, steps)
        arrays = (terms[:, :, :, 0], w[:, :, 0], u[:, :, 0], y[:, :, 0], q[:, :, 0], clocks[:, 0])
        while True:
            member = cuda.atomic.add(counter, 0, 1)
            if member >= count:
                return
            if varied:
                chain = ChainParameters(
                    n, own_g[0, 0], own_links[:, :, 0], own_tip[:, 0], table, spans, 0, loaded, timed, swept, ledger, False, pin
                )
                follow(member, RecursiveParameters(chain), chain, starts, values, places, t_end, tol, most, kept, own, arrays,
                       members, due, way, orders, order)  # fmt: skip
            else:
                chain = ChainParameters(n, g, links, tip, table, spans, 0, loaded, timed, swept, ledger, False, pin)
                follow(member, RecursiveParameters(chain), chain, starts, values, places, t_end, tol, most, kept, own, arrays,
                       members, due, way, orders, order)  # fmt: skip

    return kernel
