"""Ctrl-C while something compiles: it is answered at once, in Python too, and nothing is lost.

LLVM takes seconds for a large function. An exception that a signal handler raises meanwhile comes late; and one that is raised in a
callback from LLVM vanishes, or another error takes its place. So a thread of its own compiles, and the main thread waits for it,
which a signal can end at any time. The thread then leaves off before the next pass of the compiler; the interpreter waits for it
before it ends, since LLVM must not run on in a process that is being taken down.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from nlink._support.interrupt import ended_by_first

STACK = 64 << 20
"""Bytes of the thread's stack: some systems give a thread much less than the main one, and types of kernels are nested deeply."""


class Abandoned(BaseException):
    """What is being compiled is not wanted any more."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep what exists out of the garbage collector's sight: the many new objects of a compilation let it look at all others again
    and again, a tenth of the time.
    """
    frozen = gc.get_freeze_count()
    if not frozen:
        gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()


class Compilation(threading.Thread):
    """Compiles beside the main thread."""

    def __init__(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        super().__init__(name="nlink-compiling")
        self._work, self._arguments = work, arguments
        self.abandoned, self.made, self.error = False, None, None
        self._over = threading.Event()  # a join that an exception ends takes the thread for ended, in Python 3.11

    def run(self) -> None:
        """Compile; keep what was made, or the error."""
        try:
            with uncollected():
                self.made = self._work(*self._arguments)
        except BaseException as error:
            self.error = error
        finally:
            self._over.set()

    def result(self) -> Any:
        """Start, and wait for the end, unless a signal handler raises an exception."""
        try:
            with ended_by_first():
                if self._started_beside():
                    self._over.wait()
        except BaseException:
            self.abandoned = True
            raise
        if self.error is not None:
            raise self.error
        return self.made

    def _started_beside(self) -> bool:
        """Whether the thread could be started; if there can be no more threads, compile here."""
        before = threading.stack_size(STACK)
        try:
            self.start()
            return True
        except RuntimeError:
            self.run()
            return False
        finally:
            threading.stack_size(before)


class BetweenPasses(event.Listener):
    """Ends a compilation that was abandoned."""

    def on_start(self, event: Any) -> None:
        """Look before each pass over each function."""
        if getattr(threading.current_thread(), "abandoned", False):
            raise Abandoned

    def on_end(self, event: Any) -> None:
        """Let a pass come to its end."""


event.register("numba:run_pass", BetweenPasses())


def answering(compile: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that compiles as the one given, while the main thread answers signals."""

    def compiled(*arguments: Any) -> Any:
        main = threading.current_thread() is threading.main_thread()
        if not main or global_compiler_lock.is_locked():  # by this thread: a function of the user that calls this one compiles
            return compile(*arguments)
        return Compilation(compile, arguments).result()

    return compiled
