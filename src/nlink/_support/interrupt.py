"""Ctrl-C: how a computation is asked to stop, and how the command answers it from its first instant to its last.

A computation that can keep what it has done runs inside an `Interrupt`: the first signal sets a flag that its loop looks at, the
second aborts. While something compiles, the first aborts too. A signal that came after the last look at the flag is handed on to
whoever answered signals before: a sweep over short runs ends at the first Ctrl-C. In Python and notebooks that is all; elsewhere
Ctrl-C is Python's KeyboardInterrupt.

The command calls `answer_signals` before anything heavy is imported. Outside of an `Interrupt` there is nothing to keep, so that a
signal ends the process at once, with exit code 130. An exception would be lost: one that is raised in a callback of LLVM, or while
an object is freed, vanishes, and the run goes on. Compiled code and LLVM do not let the main thread answer for seconds, so a
thread waits for signals at Python's wakeup descriptor.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from _signal import signal as set_handler  # pyright: ignore[reportMissingImports] - `signal.signal` looks it up in enums, 20 us
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

INTERRUPTED = 130
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_threads = threading.local()
_active: list[Interrupt] = []


class Interrupt:
    """Turns the first Ctrl-C into a question that the loop answers between chunks; the second aborts."""

    def __init__(self) -> None:
        self._pressed, self._seen, self._elsewhere = False, False, getattr(_threads, "asked", None)
        self._main = threading.current_thread() is threading.main_thread()

    @property
    def asked(self) -> bool:
        """Whether to stop."""
        self._seen = self._pressed
        return self._pressed or (self._elsewhere is not None and self._elsewhere())

    def __enter__(self) -> Interrupt:
        if self._main:
            _active.append(self)
            self._old = set_handler(signal.SIGINT, self.press)
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._main:
            set_handler(signal.SIGINT, signal.SIG_DFL if self._old is None else self._old)
            _active.remove(self)
            if self._pressed and not self._seen and error is None:
                self._hand_on()

    def _hand_on(self) -> None:
        """Give a signal that the loop did not see to whoever answers next; the command goes on with what is complete."""
        if _active:
            _active[-1].press()
        elif not _answer and callable(self._old):
            self._old(signal.SIGINT, None)

    def press(self, number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
        """Ask to stop; the second time, raise KeyboardInterrupt."""
        for answer in _answer:
            if self not in _active:
                answer.leave()
            answer.answered += 1
        if self._pressed or self not in _active:
            raise KeyboardInterrupt
        self._pressed = True


@contextmanager
def ended_by_first() -> Iterator[None]:
    """Let the first signal end what is inside, as if there were no Interrupt around it: its loop cannot look at the flag."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    around = _active[:]
    if any(interrupt._pressed for interrupt in around):
        raise KeyboardInterrupt
    _active.clear()
    try:
        yield
    finally:
        _active[:] = around


@contextmanager
def halted_by(asked: Callable[[], bool]) -> Iterator[None]:
    """Let `asked()` stop the computations of this thread, as Ctrl-C stops those of the main thread."""
    _threads.asked = asked
    try:
        yield
    finally:
        del _threads.asked


class Answer:
    """Answers signals for the command."""

    def __init__(self) -> None:
        self.count, self.answered, self.over = 0, 0, False
        self._leaving = threading.RLock()
        self._numbers = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # nohup, or in the background
        read, write = os.pipe()
        os.set_blocking(write, False)
        for number in self._numbers:
            signal.signal(number, self._in_main_thread)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(read,), daemon=True).start()

    def end(self, on_interrupt: Any = signal.SIG_IGN, on_others: Any = signal.SIG_IGN) -> None:
        """Answer no more, and install other handlers; without them signals are ignored, so that the process ends undisturbed."""
        self.over = True
        signal.set_wakeup_fd(-1)
        for number in self._numbers:
            signal.signal(number, on_interrupt if number == signal.SIGINT else on_others)

    def _in_main_thread(self, number: int, frame: FrameType | None) -> None:
        if self.over:
            return
        if _active:
            _active[-1].press()  # SIGTERM, SIGHUP: SIGINT goes there by itself
        else:
            self.leave()

    def _watch(self, read: int) -> None:
        """Leave as soon as a signal comes that nothing in the main thread will answer."""
        while True:
            numbers = os.read(read, 64)
            self.count += sum(number in self._numbers for number in numbers)
            waiting = self.count > self.answered and not _active  # else a loop has answered, or will
            if not self.over and (waiting or self.count > 1):
                self.leave()

    def leave(self) -> None:
        """End the process now; remove what it has not finished. Of two threads that call this, one does it."""
        self._leaving.acquire()  # and the other waits for the end
        self.over = True
        files = sys.modules.get("nlink._support.files")
        if files is not None and hasattr(files, "clean_up"):
            files.clean_up()
        shown = "\x1b[?25h\r\x1b[K" if os.isatty(2) else ""  # a progress bar hides the cursor
        with contextlib.suppress(OSError):
            os.write(2, f"{shown}nlink: interrupted\n".encode())
        os._exit(INTERRUPTED)


_answer: list[Answer] = []


def answer_signals() -> Answer:
    """Let the command answer signals from now on."""
    _answer[:] = [Answer()]
    return _answer[0]


def leave_signals() -> None:
    """Leave signals to someone else from now on: a server that has its own way to end."""
    for answer in _answer:
        answer.end(signal.default_int_handler, signal.SIG_DFL)


def asked_to_leave() -> bool:
    """Whether a signal has come: what fails then failed because of it."""
    return any(answer.count for answer in _answer)
