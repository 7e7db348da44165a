"""Jobs and the worker processes that do them: so many at a time, the rest in line; a stopped job is over within a second.

All of it happens in the server's event loop; one thread for each worker only reads its pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import resource_tracker
from pathlib import Path

from nlink.studio import worker
from nlink.studio.worker import END, MESSAGE, READY, STOPPING

WORKERS = 2
PATIENCE = 0.6
"""Seconds of processor time that a job has to stop by itself once it is asked; then its process is ended."""
STARVED = 10.0
"""Seconds after which it is ended even if the machine did not let it run for so long."""
LISTENING = 0.05
"""Seconds between the decision to kill a process and the kill, in which a message in its pipe is still read."""
KEEPING = 10.0
"""Seconds in which a job that has stopped computing must save its result."""
MOST_WAITING = 100
YIELDING = ("prepare",)
"""Kinds of jobs that wait until nothing else does, and are stopped when another job needs their worker."""
YIELD_AFTER = 0.3
"""Seconds that a job waits for another worker before one that yields is stopped: what it compiles would be lost."""
CONTEXT = multiprocessing.get_context("spawn")
Tell = Callable[[str], None]


class Job:
    """A computation: its kind and request; `tell` receives its messages as JSON text, `ended` is called after the last."""

    def __init__(self, kind: str, request: dict[str, object], tell: Tell, ended: Callable[[], object] = lambda: None) -> None:
        self.kind, self.request, self.tell, self.ended = kind, request, tell, ended
        self.yields = kind in YIELDING
        self.worker: Worker | None = None
        self.stopping = False
        self.deadline: asyncio.TimerHandle | None = None
        self.asked = 0.0, 0.0
        """when it was asked to stop, and the processor time of its process until then"""
        self.place = 0

    def say(self, kind: str, **values: object) -> None:
        """Tell a message made here."""
        self.tell(json.dumps({"type": kind, **values}))

    def finish(self, kind: str, **values: object) -> None:
        """Tell the last message."""
        self.say(kind, **values)
        self.ended()


class Worker:
    """A process, its pipe, and the job that it does."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.job, self.ready = pool, None, False
        self.connection, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=worker.main, args=(theirs,), name="nlink-worker", daemon=True)
        resource_tracker.ensure_running()  # it would unblock the signal again
        old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the server; the worker unblocks it
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
        theirs.close()
        threading.Thread(target=self._read, daemon=True).start()

    def take(self, job: Job) -> None:
        """Begin a job."""
        self.job, job.worker = job, self
        job.say("started")
        with contextlib.suppress(OSError):  # a process that is gone is noticed by its reader
            self.connection.send_bytes(json.dumps([job.kind, job.request]).encode())

    def pass_on(self, message: dict[str, object]) -> None:
        """Pass a message of the page to the job under way."""
        with contextlib.suppress(OSError):
            self.connection.send_bytes(json.dumps([worker.PASSED_ON, message]).encode())

    def ask_to_stop(self) -> None:
        """Ask the job to end; a process that is still starting is ended itself."""
        if self.ready and self.process.pid:
            os.kill(self.process.pid, signal.SIGINT)
        else:
            self.process.kill()

    def processor_time(self) -> float:
        """Return the seconds for which the process has run on a processor; infinity where the system does not tell."""
        try:
            numbers = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return math.inf

    def _read(self) -> None:
        try:
            while True:
                self.pool.hear(self, self.connection.recv_bytes())
        except (EOFError, OSError):
            self.pool.hear(self, b"")


class Pool:
    """The workers and the line of jobs before them."""

    def __init__(self, workers: int = WORKERS) -> None:
        self.size, self.waiting, self.workers = workers, [], []
        self.loop: asyncio.AbstractEventLoop | None = None
        self.closed = False

    def open(self) -> None:
        """Start the workers; call it in the event loop."""
        self.loop = asyncio.get_running_loop()
        self.workers = [Worker(self) for _ in range(self.size)]

    def close(self) -> None:
        """End all workers."""
        self.closed = True
        for each in self.workers:
            each.process.kill()
        for each in self.workers:
            each.process.join(2)

    def submit(self, job: Job) -> None:
        """Put a job in line."""
        if len(self.waiting) >= MOST_WAITING:
            job.finish("failed", text=f"{MOST_WAITING} computations are waiting already; stop some of them first", path="")
            return
        self.waiting.append(job)
        self._assign()

    def stop(self, job: Job) -> None:
        """Stop a job: one in line is taken out, one under way is asked, and ended with its process if it does not."""
        if job in self.waiting:
            self.waiting.remove(job)
            job.finish("stopped")
            self._assign()
        elif job.worker is not None and not job.stopping:
            job.stopping = True
            job.worker.ask_to_stop()
            assert self.loop is not None
            job.asked = self.loop.time(), job.worker.processor_time()
            job.deadline = self.loop.call_later(PATIENCE, self._end_unless_starved, job.worker, job)

    def drop(self, job: Job) -> None:
        """Stop a job whose results nobody wants any more: it is not heard again."""
        job.tell = lambda text: None
        if job.worker is not None:
            job.worker.pass_on({"type": "drop"})
        self.stop(job)

    def hear(self, who: Worker, message: bytes) -> None:
        """Take a message of a worker, from its thread; an empty one says that it is gone."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._take, who, message)

    def _take(self, who: Worker, message: bytes) -> None:
        mark, job = message[:1], who.job
        if mark == READY:
            who.ready = True
        elif not mark:
            self._lost(who)
        elif job is not None and mark in (MESSAGE, END, STOPPING):
            job.tell(message[1:].decode())
            if mark == STOPPING and job.deadline is not None and self.loop is not None:
                job.deadline.cancel()
                job.deadline = self.loop.call_later(KEEPING, self._end, who, job)
            if mark == END:
                who.job = job.worker = None
                job.ended()
                self._assign()

    def _lost(self, who: Worker) -> None:
        """Replace a worker that is gone, and tell whose job it did."""
        if self.closed or who not in self.workers:
            return
        self.workers[self.workers.index(who)] = Worker(self)
        job, who.job = who.job, None
        who.process.join(1)
        if job is not None:
            job.worker = None
            code = who.process.exitcode
            text = f"the process that computed this ended unexpectedly (exit code {code}); a new one has been started, so try again"
            job.finish("stopped") if job.stopping else job.finish("failed", text=text, path="")
        self._assign()

    def _take_over(self) -> None:
        """Stop jobs that yield, as many as others are waiting."""
        pressing = sum(not job.yields for job in self.waiting)
        for job in [each.job for each in self.workers if each.job is not None and each.job.yields][:pressing]:
            self.stop(job)

    def _end_unless_starved(self, who: Worker, job: Job) -> None:
        assert self.loop is not None
        since, used = job.asked
        left = PATIENCE - (who.processor_time() - used)
        if left > 0.0 and self.loop.time() - since < STARVED:
            job.deadline = self.loop.call_later(max(left, LISTENING), self._end_unless_starved, who, job)
        else:
            job.deadline = self.loop.call_later(LISTENING, self._end, who, job)

    def _end(self, who: Worker, job: Job) -> None:
        if who.job is job:
            who.process.kill()

    def _assign(self) -> None:
        """Give waiting jobs to idle workers, those that yield last, and tell the others their place."""
        self.waiting.sort(key=lambda job: job.yields)
        idle = [each for each in sorted(self.workers, key=lambda one: not one.ready) if each.job is None]
        while self.waiting and idle:
            job = self.waiting.pop(0)
            idle.pop(-1 if job.yields else 0).take(job)  # the first worker has run what this page runs, and has it loaded
        if self.loop is not None and any(not job.yields for job in self.waiting):
            self.loop.call_later(YIELD_AFTER, self._take_over)
        for k, job in enumerate(self.waiting):
            if job.place != k + 1:
                job.place = k + 1
                job.say("queued", place=k + 1)
