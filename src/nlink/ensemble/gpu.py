"""Cuda(): one thread of an NVIDIA GPU for each member, from the same sources as the lanes of the processor.

Threads take members from a counter; the kernels are in `gpu_kernels.py`. Blocks follow each other closely: while one is computed,
the next is sent to the card, and the one before is fetched from it.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np

from nlink._support.checks import BackendError, ModelError
from nlink.ensemble.backends import CALLER, Block, Results, Sink
from nlink.ensemble.job import Halted, Job, side_by_side
from nlink.ensemble.keep import FTLE, EnergyDrift, Extremes, Final, FlipTime, Reducer, Samples
from nlink.ensemble.noting import Kept
from nlink.ensemble.varied import Varied
from nlink.integrators.taylor import Taylor
from nlink.mechanics.system import System

THREADS = 256
MOST = 1 << 18
"""Members that are sent to the card at a time."""
PAIRS = 1 << 20
"""Members with a deviation, likewise."""
BLOCKS = 8
"""Most blocks of threads for each multiprocessor."""
AHEAD = 2
"""Blocks of members that are under way while the results of one are fetched."""
LOOK = 2e-4
"""Seconds between two looks at whether the card is done, and whether the user wants to stop."""

Landing = Callable[[], Results]
"""Waits for the results of a job that is under way; raises Halted if it was stopped."""


@dataclass(frozen=True)
class Cuda:
    """An NVIDIA GPU (`device` if there are several)."""

    device: int = 0

    def size(self, job: Job) -> int:
        """Return blocks that keep the threads busy for a while. Everything is compiled when this returns."""
        cuda = found_cuda()
        with cuda.gpus[self.device]:
            few = replace(job.part(0, 1), t_end=1e-6 * job.t_end)
            if job.members and not all(kernel.overloads for kernel in _kernels(few, _numbers(few))):
                Card(few, cuda, lambda: False).set_off(few)()
        return max(PAIRS // (2 * job.chain.n), 1) if job.wanted(FTLE) else MOST

    def run(self, job: Job, blocks: list[Block], stop: Callable[[], bool], sink: Sink = CALLER) -> Iterator[tuple[Block, Results]]:
        """Compute block after block."""
        cuda = found_cuda()
        with cuda.gpus[self.device]:
            card, under_way = Card(job, cuda, stop), deque[tuple[Block, Landing]]()
            try:
                for block in blocks:
                    if stop():
                        break
                    done = sink.has(block)
                    under_way.append((block, dict if done else card.set_off(job.part(*block))))
                    if len(under_way) > AHEAD:
                        yield landed(*under_way.popleft(), sink)
                while under_way:
                    yield landed(*under_way.popleft(), sink)
            except Halted:
                return
            except Exception as error:
                if not of_cuda(error):
                    raise
                leave_if_lost(cuda)
                said = " ".join(str(error).split())[:150]
                rest = "with a store the same call goes on, on another GPU or by Threads()"
                raise BackendError(f"the GPU failed ({said}); {rest}") from error
            finally:
                with contextlib.suppress(Exception):  # a GPU that is lost cannot be halted
                    card.halt()


def of_cuda(error: Exception) -> bool:
    """Whether an error comes from the GPU's driver, by whichever of its Python interfaces."""
    return "cuda" in type(error).__name__.lower()


def leave_if_lost(cuda: Any) -> None:
    """Leave what is on a GPU that answers no more: each attempt to free it would fail with a traceback, up to the exit."""
    try:
        cuda.synchronize()
    except Exception:
        with contextlib.suppress(AttributeError):  # of numba-cuda, not documented
            cuda.current_context().memory_manager.deallocations.clear = lambda: None


def landed(block: Block, landing: Landing, sink: Sink) -> tuple[Block, Results]:
    """Wait for a block, and give its results to the sink; a block that the sink has already has none."""
    found = landing()
    return block, sink.take(block, found) if found else found


@cache
def found_cuda() -> Any:
    """Return numba's cuda, or say in a sentence that there is none."""
    if not hasattr(np, "row_stack"):  # numba-cuda up to 0.30 asks for it, NumPy has dropped it
        np.row_stack = np.vstack  # pyright: ignore[reportAttributeAccessIssue]
    try:
        from numba import config, cuda

        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # pyright: ignore[reportAttributeAccessIssue]
        logging.getLogger("numba.cuda.cudadrv.driver").setLevel(logging.CRITICAL)  # "not ready" is an answer, no error
        usable = cuda.is_available()
    except ImportError:
        raise ModelError("Cuda needs numba-cuda: install nlink[gpu], or use Threads()") from None
    if not usable:
        raise ModelError("Cuda found no NVIDIA GPU with a working driver here; use Threads()")
    return cuda


class Card:
    """The card at work on a job: the chain's numbers there, memory to use again, and a flag at which all threads leave off."""

    def __init__(self, job: Job, cuda: Any, stop: Callable[[], bool]) -> None:
        from nlink.formulations import formulate
        from nlink.formulations.side_by_side import SideBySide

        self.cuda, self.stop, self.system = cuda, stop, formulate(job.chain)
        if not side_by_side(self.system, job.method, job.vary):
            what = "by DOP853, or by Taylor without tables and quadratic drag"
            raise ModelError(f"Cuda takes open chains without Python torques, {what}; use Threads()")
        numbers = _numbers(job)
        self.motion, *self.deviations = _kernels(job, numbers)
        tables = (numbers.links, numbers.tip, numbers.table, numbers.spans, numbers.pin)
        self.chain = [*(cuda.to_device(each) for each in tables), numbers.g]
        self.settings = _settings(job, self.system, SideBySide(numbers), cuda.to_device)
        self.flag, self.beside = cuda.to_device(np.zeros(1, np.int32)), cuda.stream()
        self.streams, self.spare = cycle([cuda.stream() for _ in range(AHEAD + 1)]), defaultdict[Any, list[Any]](list)
        self.blocks = BLOCKS * cuda.get_current_device().MULTIPROCESSOR_COUNT

    def halt(self) -> None:
        """Let all threads leave off before their next steps."""
        self.flag.copy_to_device(np.ones(1, np.int32), stream=self.beside)

    def array(self, shape: Any, kind: Any) -> Any:
        """Return an array on the card, with anything in it."""
        spare = self.spare[tuple(np.atleast_1d(shape).tolist()), np.dtype(kind)]
        return spare.pop() if spare else self.cuda.device_array(shape, kind)

    def put_back(self, arrays: list[Any]) -> None:
        """Keep arrays for the next blocks: to free memory would wait for all that is under way."""
        for each in arrays:
            self.spare[each.shape, each.dtype].append(each)

    def set_off(self, job: Job) -> Landing:
        """Begin to compute a job; in halves, one after the other, if the card has no memory for all of it."""
        try:
            return Flight(job, self).land
        except MemoryError as error:
            if job.members < 2:
                raise ModelError("the GPU has no memory for a single member; use Threads()") from error
        self.spare.clear()
        middle = job.members // 2
        first, second = (self.set_off(job.part(*half))() for half in ((0, middle), (middle, job.members)))
        return lambda: {name: np.concatenate([values, second[name]]) for name, values in first.items()}


class Flight:
    """A job on its way through the card, in a stream of its own."""

    def __init__(self, job: Job, card: Card) -> None:
        self.job, self.card, self.stream, self.taken = job, card, next(card.streams), []
        try:
            self._set_off()
        except Exception as error:
            if of_cuda(error) and "MEMORY" in str(error).upper():
                raise MemoryError(str(error)) from error
            raise

    def _set_off(self) -> None:
        from nlink.ensemble.lanes_engine import memories, results_for, steady

        job, card, members = self.job, self.card, self.job.members
        varied, reducer = Varied(job.chain, job.vary, members), job.wanted(Reducer)
        starts = [self.sent(job.theta), self.sent(job.omega), self.array((members, 2 * job.chain.n), "f8")]
        given = [self.sent(varied.values), self.sent(varied.places), *card.chain, *card.settings]
        results: Any = results_for(job, job.chain.n, members, self.place)
        self.results = results._replace(times=self.sent(results.times))
        self.memories, self.exponents = self.sent(memories(reducer, members)), None
        self.launch(card.motion, members, [*starts, *given], [*self.results, self.memories])
        for kernel in card.deviations:
            self.exponents = self.deviate(kernel, [starts[-1], *given, steady(job.method)])
        self.event = card.cuda.event(timing=False)
        self.event.record(self.stream)

    def launch(self, kernel: Any, count: int, given: list[Any], results: list[Any]) -> None:
        """Let threads take so many numbers from a counter."""
        blocks, counter = min(-(-count // THREADS), self.card.blocks), self.filled(1, 0, np.int64)
        kernel[blocks, THREADS, self.stream](*given, self.card.flag, counter, count, *results)

    def deviate(self, kernel: Any, given: list[Any]) -> Any:
        """Let threads follow the deviations of the members; return what the exponents will be."""
        from nlink.ensemble.gpu_kernels import exponents

        members, m = self.job.members, 2 * self.job.chain.n
        derivatives, found = self.filled((members, m, m), np.nan, "f8"), self.array(members, "f8")
        self.launch(kernel, m * members, given, [self.results.status, derivatives])
        exponents[-(-members // THREADS), THREADS, self.stream](derivatives, float(self.job.t_end), found)
        return found

    def array(self, shape: Any, kind: Any) -> Any:
        """Return an array on the card, with anything in it, that goes back when the job has landed."""
        self.taken.append(self.card.array(shape, kind))
        return self.taken[-1]

    def sent(self, given: np.ndarray) -> Any:
        """Return an array on the card with what is in this one."""
        if given.size and not any(given.strides) and not given.flat[0]:
            return self.filled(given.shape, 0.0, given.dtype)
        array = self.array(given.shape, given.dtype)
        if given.size:
            array.copy_to_device(np.ascontiguousarray(given), stream=self.stream)
        return array

    def filled(self, shape: Any, value: float, kind: Any) -> Any:
        """Return an array on the card with 0, -1 or NaN everywhere: bits that are all 0 or all 1."""
        array = self.array(shape, kind)
        if array.size:
            self.card.cuda.cudadrv.driver.device_memset(array, 0 if value == 0 else 255, array.nbytes, stream=self.stream)
        return array

    def place(self, shape: Any, value: float, kind: str) -> Any:
        """Return an array for results: of states the columns, not the rows, so that angles need not be picked from among rates."""
        return self.filled(shape[::-1] if np.size(shape) == 2 else shape, value, kind)

    def land(self) -> Results:
        """Wait for the card, and return the outputs."""
        from nlink.ensemble.lanes_engine import named

        while not self.event.query():
            time.sleep(LOOK)
            if self.card.stop():
                self.card.halt()  # before anything on the card is let go of, which would wait for the threads
                self.event.synchronize()
                raise Halted
        job, reducer = self.job, self.job.wanted(Reducer)
        kept = Kept(*(each.copy_to_host(stream=self.stream) for each in self.results))
        kept, memory = kept._replace(final=kept.final.T), self.memories.copy_to_host(stream=self.stream)
        found = named(job, kept, job.chain.n)
        if reducer:
            found[reducer.name] = memory
        if self.exponents is not None:
            found["ftle"] = self.exponents.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        self.card.put_back(self.taken)
        return found


def _settings(job: Job, system: System, beside: Any, sent: Callable[[np.ndarray], Any]) -> tuple[Any, ...]:
    """Return what a kernel takes of a job's method."""
    from nlink.ensemble.lanes_engine import limits_of

    method: Any = job.method
    if isinstance(method, Taylor):
        return float(job.t_end), method.tol, float(method.max_steps)
    return limits_of(job), sent(np.array(system.breaks(), float)), sent(np.array(beside.constants, float)), beside.lift


def _numbers(job: Job) -> Any:
    """Return the numbers of a job's chain, with the flags that what varies needs."""
    from nlink.formulations import formulate

    first = job.part(0, 1)
    numbers = Varied(job.chain, first.vary, first.members).flagged(formulate(job.chain).parameters.chain)
    return numbers._replace(ledger=numbers.ledger if job.wanted(EnergyDrift) else 0)


def _kernels(job: Job, numbers: Any) -> list[Any]:
    """Return the kernels for a job: of the motion, and, if exponents are wanted, of small deviations."""
    from nlink.ensemble import gpu_kernels
    from nlink.ensemble.lanes_engine import compiled
    from nlink.formulations.side_by_side import SideBySide

    n, method, varied = numbers.n, job.method, bool(job.vary)
    user = job.wanted(Reducer) and compiled(job.wanted(Reducer))
    kinds = (Final, Samples, Samples, FlipTime, FlipTime, EnergyDrift, Extremes)  # in the order of `Kept`
    wants = tuple(job.wanted(kind) is not None for kind in kinds)
    loads = numbers.loaded, numbers.timed, numbers.swept, numbers.ledger
    if isinstance(method, Taylor):
        made = [gpu_kernels.by_series(n, method.order, loads, varied, wants, user)]
        return made + [gpu_kernels.deviations_by_series(n, method.order, loads[:3], varied)] * (job.wanted(FTLE) is not None)
    made = [gpu_kernels.by_stages(n, loads, varied, wants, user, SideBySide(numbers).plain and not varied)]
    return made + [gpu_kernels.deviations_by_stages(n, loads[:3], varied)] * (job.wanted(FTLE) is not None)
