"""What an attack is: a function that tries one hostile case, numbered from 0, and raises if nlink did not hold.

    @attack("refused, or the same numbers", full=300, sample=5)
    def flipped_bits_of_run_files(k, folder):
        rng = np.random.default_rng(k)
        ...
        assert held, "what happened instead"

`full` cases are tried by `make torture`, the first `sample` of them by `make test`. A case gets a folder of its own, which is
removed afterwards. It may return a Measure of what counts (seconds from a signal to the exit, memory of a child process); else
its own duration counts. A case that needs something absent here raises Absent with the reason; one that cannot be judged raises
Undecided, and counts neither as tried nor as held.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Absent(Exception):
    """Something that a case needs is not on this machine; the message says what."""


class Undecided(Exception):
    """What is right is not known well enough to judge a case."""


class Measure(NamedTuple):
    """What a case cost: seconds, and megabytes of the largest process (0: not measured)."""

    seconds: float
    megabytes: float = 0.0


@dataclass(frozen=True)
class Attack:
    """An attack: what it tries, what must hold, and how many cases there are."""

    name: str
    claim: str
    full: int
    sample: int
    trial: Callable[[int, Path], Measure | None]
    remark: Callable[[], str]
    """What else is to be said when the cases have been tried."""


ATTACKS: dict[str, Attack] = {}


def attack(
    claim: str, *, full: int, sample: int = 1, remark: Callable[[], str] = str
) -> Callable[[Callable[[int, Path], Measure | None]], Attack]:
    """Register a function as an attack under its name."""

    def register(trial: Callable[[int, Path], Measure | None]) -> Attack:
        made = Attack(trial.__name__.replace("_", " "), claim, full, min(sample, full), trial, remark)
        assert made.name not in ATTACKS, made.name
        ATTACKS[made.name] = made
        return made

    return register


class Outcome(NamedTuple):
    """How a process ended: exit code (negative: killed by that signal), what it printed, what it cost."""

    code: int
    out: str
    err: str
    cost: Measure

    def refused(self, code: int, *words: str) -> Outcome:
        """Insist on an exit code and one sentence on stderr that holds these words."""
        lines = self.err.strip().splitlines()
        assert self.code == code, f"exit {self.code}, not {code}: {self.err[-2000:]}"
        assert len(lines) == 1, f"{len(lines)} lines: {self.err[-2000:]}"
        assert lines[0].startswith("nlink: "), lines[0]
        assert len(lines[0]) < 1000, f"a sentence of {len(lines[0])} letters"
        for word in words:
            assert word in lines[0], f"{word!r} is not in {lines[0]!r}"
        return self


def nlink(*words: str | Path, cwd: Path, timeout: float = 300.0, **environment: str) -> Outcome:
    """Run the command `nlink` to its end."""
    return ended(start(*words, cwd=cwd, **environment), timeout)


def start(*words: str | Path, cwd: Path, **environment: str) -> subprocess.Popen[bytes]:
    """Start the command `nlink` in a folder, with its output in pipes."""
    return start_python("-m", "nlink", *words, cwd=cwd, **environment)


def start_python(*words: str | Path, cwd: Path, **environment: str) -> subprocess.Popen[bytes]:
    """Start this Python with some arguments. Signals work in it also where the parent ignores them, as under nohup."""

    def listen() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=listen,
    )


def _peak(pid: int) -> float:
    """Return the most megabytes that a process has had so far. (Its rusage would count its parent's, from before it was loaded.)"""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    return 0.0


def ended(process: subprocess.Popen[bytes], timeout: float = 300.0) -> Outcome:
    """Wait for a process; fail if it does not end in time."""
    begun, texts = time.perf_counter(), {}
    readers = [
        threading.Thread(target=lambda name=name, pipe=pipe: texts.__setitem__(name, pipe.read()), daemon=True)
        for name, pipe in (("out", process.stdout), ("err", process.stderr))
    ]
    for reader in readers:
        reader.start()
    late = threading.Timer(timeout, process.kill)
    late.start()
    memory = 0.0
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        memory = max(memory, _peak(process.pid))
        time.sleep(0.002)
    _, status = os.waitpid(process.pid, 0)
    late.cancel()
    seconds = time.perf_counter() - begun
    for reader, pipe in zip(readers, (process.stdout, process.stderr), strict=True):
        reader.join(5.0)
        if pipe and not reader.is_alive():
            pipe.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    assert seconds < timeout, f"still running after {timeout:g} s: {texts.get('err', b'')[-2000:]!r}"
    out, err = (texts.get(name, b"").decode(errors="replace") for name in ("out", "err"))
    return Outcome(process.returncode, out, err, Measure(seconds, memory))
