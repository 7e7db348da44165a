"""Cuda(): one thread of an NVIDIA GPU for each member, from the same sources as the lanes of the processor.

Threads take members from a counter; the kernels are in `gpu_kernels.py`. Blocks follow each other closely: while one is computed,
the next is sent to the card, and the one before is fetched from it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np

from nlink._support.checks import BackendError, ModelError
from nlink.compiled.announcing import Part, began, ended, waiting
from nlink.compiled.cuda import usable_cuda
from nlink.ensemble.backends import CALLER, Sink
from nlink.ensemble.engines import Halted, HostArrays, flagged, named, side_by_side, steady
from nlink.ensemble.job import Block, Job, Results
from nlink.ensemble.kernels.lanes import Limits, Members
from nlink.ensemble.kernels.tangents import Deviations
from nlink.ensemble.outputs import FTLE
from nlink.formulations.side_by_side import SideBySide
from nlink.integrators.taylor import Taylor
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.refusals import refuse_space

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
        refuse_space("Cuda", job.chain)
        if isinstance(job.chain, Mechanism):
            raise ModelError("Cuda takes chains, not mechanisms; use Threads()")
        if job.system.callback or not side_by_side(job.system, job.method, job.varied):
            what = "by DOP853, or by Taylor without tables and quadratic drag"
            raise ModelError(f"Cuda takes open chains without torque functions, {what}; use Threads()")
        cuda = usable_cuda()
        with cuda.gpus[self.device]:
            few = replace(job.part(0, 1), t_end=1e-6 * job.t_end)
            card = Card(few, cuda, lambda: False)
            if job.members and not all(kernel.overloads for kernel in card.kernels):
                part = Part("nlink.ensemble.gpu", "", kept=False)
                with waiting(f"ensembles by {job.method.name} for the GPU"):
                    began(part)
                    card.set_off(few)()
                    ended(part)
        return max(PAIRS // (2 * job.chain.n), 1) if job.keeps(FTLE) else MOST

    def run(self, job: Job, blocks: list[Block], stop: Callable[[], bool], sink: Sink = CALLER) -> Iterator[tuple[Block, Results]]:
        """Compute block after block."""
        cuda = usable_cuda()
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


class Card:
    """The card at work on a job: the chain's numbers there, memory to use again, and a flag at which all threads leave off."""

    def __init__(self, job: Job, cuda: Any, stop: Callable[[], bool]) -> None:
        from nlink.ensemble.gpu_kernels import Settings

        self.cuda, self.stop = cuda, stop
        method: Any = job.method
        chain = flagged(job.part(0, 1))
        beside, breaks = SideBySide(chain), cuda.to_device(np.array(job.system.breaks(), float))
        series = isinstance(job.method, Taylor)
        steps = (method.tol, method.tol, math.inf) if series else (method.rtol, method.atol, float(method.max_step))
        self.settings = Settings(*steps, steady(method), cuda.to_device(np.array(beside.constants, float)), float(beside.lift))
        self.kernels = kernels_for(job, chain, beside.plain)
        self.chain = chain._replace(
            **{name: cuda.to_device(getattr(chain, name)) for name in ("links", "tip", "table", "spans", "pin")}
        )
        self.limits = Limits(float(job.t_end), float(method.max_steps), breaks)
        self.flag, self.beside = cuda.to_device(np.zeros(1, np.int32)), cuda.stream()
        self.streams, self.spare = cycle([cuda.stream() for _ in range(AHEAD + 1)]), defaultdict[Any, list[Any]](list)
        self.blocks = BLOCKS * cuda.get_current_device().MULTIPROCESSOR_COUNT

    def halt(self) -> None:
        """Let all threads leave off before their next steps."""
        self.flag.copy_to_device(np.ones(1, np.int32), stream=self.beside)

    def array(self, shape: tuple[int, ...], kind: Any, order: str = "C") -> Any:
        """Return an array on the card, with anything in it: one that a job has put back, for to free memory would wait for all that
        is under way.
        """
        spare = self.spare[shape, np.dtype(kind), order]
        return spare.pop() if spare else self.cuda.device_array(shape, kind, order=order)

    def set_off(self, job: Job) -> Landing:
        """Begin to compute a job; in halves, one after the other, if the card has no memory for all of it."""
        try:
            return Flight(job, self).land
        except Exception as error:
            if not isinstance(error, MemoryError) and not (of_cuda(error) and "MEMORY" in str(error).upper()):
                raise
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
        members, varied, (motion, *tangent) = job.members, job.varied, card.kernels
        arrays = (job.position, job.velocity, varied.values, varied.places)
        position, velocity, values, places = (self.constant(each) for each in arrays)
        status, steps = self.filled((members,), -1, "i1"), self.filled((members,), 0, "i4")
        self.members = Members(position, velocity, values, places, status, steps)
        observers = tuple(keep.observe(job, self) for keep in job.keep if keep.watches)
        self.launch(motion, members, observers)
        self.results: dict[str, Any] = named(job, self.members, observers)
        for kernel in tangent:
            self.results["ftle"] = self.deviate(kernel)
        self.event = card.cuda.event(timing=False)
        self.event.record(self.stream)

    def launch(self, kernel: Any, count: int, observers: tuple[Any, ...]) -> None:
        """Let threads take so many numbers from a counter."""
        card, counter = self.card, self.filled((1,), 0, "i8")
        blocks = min(-(-count // THREADS), card.blocks)
        kernel[blocks, THREADS, self.stream](
            self.members, card.chain, card.limits, card.settings, observers, card.flag, counter, count
        )

    def deviate(self, kernel: Any) -> Any:
        """Let threads follow the deviations of the members; return what the exponents will be."""
        from nlink.ensemble.gpu_kernels import exponents

        members, m, t_end = self.job.members, 2 * self.job.chain.n, float(self.job.t_end)
        derivatives, out = self.filled((members, m, m), np.nan, "f8"), self.array((members,), "f8")
        self.launch(kernel, m * members, (Deviations(derivatives, t_end, self.array((0,), "f8")),))
        exponents[-(-members // THREADS), THREADS, self.stream](derivatives, t_end, out)
        return out

    def array(self, shape: tuple[int, ...], kind: Any, order: str = "C") -> Any:
        """Return an array on the card, with anything in it, that goes back when the job has landed."""
        self.taken.append((self.card.array(shape, kind, order), order))
        return self.taken[-1][0]

    def new(self, shape: tuple[int, ...], dtype: str, start: float | None = None) -> Any:
        """Return an array for results; those of one link lie together, so that neighbouring threads write side by side."""
        if start is not None:
            return self.constant(np.full(shape, start, dtype))
        return self.filled(shape, np.nan if dtype == "f8" else 0, dtype, "F" if len(shape) == 2 else "C")

    def constant(self, values: np.ndarray) -> Any:
        """Return an array on the card with these values."""
        if values.size and not any(values.strides) and not values.flat[0]:
            return self.filled(values.shape, 0.0, values.dtype)
        array = self.array(values.shape, values.dtype)
        if values.size:
            array.copy_to_device(np.ascontiguousarray(values), stream=self.stream)
        return array

    def filled(self, shape: tuple[int, ...], value: float, kind: Any, order: str = "C") -> Any:
        """Return an array on the card with 0, -1 or NaN everywhere: bits that are all 0 or all 1."""
        array = self.array(shape, kind, order)
        if array.size:
            self.card.cuda.cudadrv.driver.device_memset(array, 0 if value == 0 else 255, array.nbytes, stream=self.stream)
        return array

    def land(self) -> Results:
        """Wait for the card, and return the outputs."""
        while not self.event.query():
            time.sleep(LOOK)
            if self.card.stop():
                self.card.halt()  # before anything on the card is let go of, which would wait for the threads
                self.event.synchronize()
                raise Halted
        results = {name: array.copy_to_host(stream=self.stream) for name, array in self.results.items()}
        self.stream.synchronize()
        for array, order in self.taken:
            self.card.spare[array.shape, array.dtype, order].append(array)
        return results


def kernels_for(job: Job, chain: ChainParameters, plain: bool) -> list[Any]:
    """Return the kernel of the motion, and, if exponents are wanted, that of small deviations; `plain`: see `SideBySide`."""
    from nlink.ensemble.gpu_kernels import Kind, kernel_for

    varied, order, none = bool(job.vary), job.method.order if isinstance(job.method, Taylor) else 0, job.part(0, 0)
    flags = chain.loaded, chain.timed, chain.force_level, chain.ledger
    kind = Kind(chain.n, *flags, order, plain and not varied, varied, False)
    observers = tuple(type(keep.observe(none, HostArrays())) for keep in job.keep if keep.watches)
    tangent = [kernel_for(kind._replace(ledger=0, tangent=True), (Deviations,))] if job.keeps(FTLE) else []
    return [kernel_for(kind, observers), *tangent]
