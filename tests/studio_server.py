"""A studio in a process of its own, as the command starts it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path


def started(runs: Path, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    """Start `nlink studio`; return the process and its address, which answers as soon as it is printed."""
    command = [sys.executable, "-c", "from nlink.cli import main; main()", "studio", *arguments]
    command += ["--port", "0", "--no-browser", "--runs", str(runs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    urllib.request.urlopen(address, timeout=30).close()
    return process, address


def stopped(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Press Ctrl-C: the signal goes to the whole group, as from a terminal; return the exit code and what it said."""
    os.killpg(process.pid, signal.SIGINT)
    told = process.communicate(timeout=20)[1]
    return process.returncode, told


@contextlib.contextmanager
def studio(runs: Path, *arguments: str) -> Iterator[str]:
    """Yield the address of a studio that is ended afterwards."""
    process, address = started(runs, *arguments)
    try:
        yield address
    finally:
        with contextlib.suppress(ProcessLookupError):
            stopped(process)


def children(pid: int) -> set[int]:
    """Return the processes that a process has started, and theirs."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found |= {int(entry.name)} | children(int(entry.name))
    return found


def gone(pids: set[int], seconds: float = 10.0) -> bool:
    """Whether processes end within some seconds; one that waits for its parent counts as ended."""
    end = time.monotonic() + seconds
    while any(_lives(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
