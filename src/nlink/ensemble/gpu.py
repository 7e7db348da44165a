"""Cuda(): one thread of an NVIDIA GPU for each member, from the same sources as the lanes of the processor.

Threads take members from a counter; the kernels are in `gpu_kernels.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlink._check import ModelError
from nlink.ensemble.backends import CALLER, Block, Results, Sink
from nlink.ensemble.job import ON, Job, side_by_side
from nlink.ensemble.keep import FTLE, EnergyDrift, Reducer
from nlink.ensemble.noting import Kept
from nlink.ensemble.varied import Varied
from nlink.integrators.taylor import Taylor
from nlink.system import System

THREADS = 256
MOST = 1 << 20
"""Members that are sent to the card at a time."""
BLOCKS = 8
"""Most blocks of threads for each multiprocessor."""


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
    from nlink.ensemble.lanes_engine import compiled, exponents, memories, named, results_for
    from nlink.formulations import formulate

    system = formulate(job.chain)
    if not side_by_side(system, job.method, job.vary):
        what = "by DOP853, or by Taylor without tables and quadratic drag"
        raise ModelError(f"Cuda takes open chains without Python torques, {what}; use Threads()")
    members = job.members
    varied, reducer = Varied(job.chain, job.vary, members), job.wanted(Reducer)
    numbers = varied.flagged(system.parameters.chain)
    numbers = numbers._replace(ledger=numbers.ledger if job.wanted(EnergyDrift) else 0)
    memory = memories(reducer, members)
    try:
        given = [cuda.to_device(np.ascontiguousarray(each)) for each in (job.starts, varied.values, varied.places)]
        tables = [cuda.to_device(each) for each in (numbers.links, numbers.tip, numbers.table, numbers.spans, numbers.pin)]
        results: Any = results_for(job, job.chain.n, members, _filled)
        results = results._replace(times=cuda.to_device(results.times))
        wants = tuple(each.size > 0 for each in results)
        kernel, settings = _kernel(job, system, numbers, bool(varied.names), wants, reducer and compiled(reducer))
        counter, sums = cuda.to_device(np.zeros(1, np.int64)), cuda.to_device(memory)
        blocks = min(-(-members // THREADS), BLOCKS * cuda.get_current_device().MULTIPROCESSOR_COUNT)
        kernel[blocks, THREADS](*given, *tables, numbers.g, *settings, counter, members, *results, sums)
        kept, memory = Kept(*(each.copy_to_host() for each in results)), sums.copy_to_host()
    except cuda.cudadrv.driver.CudaAPIError as error:
        if "MEMORY" in str(error).upper():
            raise MemoryError(str(error)) from error
        raise
    found = named(job, kept, job.chain.n)
    if reducer:
        found[reducer.name] = memory
    if job.wanted(FTLE):
        found["ftle"] = exponents(job, system, varied, kept.status, ON)
    return found


def _filled(shape: Any, value: float, kind: str) -> Any:
    """Return an array on the card with the same value everywhere."""
    from nlink.ensemble.gpu_kernels import cuda, fill

    made = cuda.device_array(shape, kind)
    if made.size:
        fill.forall(made.size)(made.reshape(made.size), value)
    return made


def _kernel(
    job: Job, system: System, numbers: Any, varied: bool, wants: tuple[bool, ...], reducer: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Return a compiled kernel for a job, and the settings it takes."""
    from numba import cuda

    from nlink.ensemble import gpu_kernels
    from nlink.ensemble.lanes_engine import limits_of
    from nlink.formulations.side_by_side import SideBySide

    method: Any = job.method
    loads = numbers.loaded, numbers.timed, numbers.swept, numbers.ledger
    if isinstance(method, Taylor):
        made = gpu_kernels.by_series(numbers.n, method.order, loads, varied, wants, reducer)
        return made, (float(job.t_end), method.tol, float(method.max_steps))
    beside = SideBySide(numbers)
    made = gpu_kernels.by_stages(numbers.n, loads, varied, wants, reducer, beside.plain and not varied)
    breaks, constants = (cuda.to_device(np.array(each, float)) for each in (system.breaks(), beside.constants))
    return made, (limits_of(job), breaks, constants, beside.lift)
