"""Attacks with signals: Ctrl-C, SIGTERM and SIGHUP at every moment of every command, from its first line to its last.

Before Python has run the first line of nlink a signal is Python's own: the cases begin when the process catches signals.
"""

from __future__ import annotations

import functools
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import nlink as package
from torture.attack import Measure, Outcome, attack, ended, start
from torture.attack import nlink as run_to_its_end

COMMANDS: dict[str, list[str]] = {
    "run": ["run", "chaotic-5", "--until", "100000", "-o", "x.nc"],
    "run, quick": ["run", "nice-3", "-o", "x.nc"],
    "run, trusted": ["run", "nice-3", "--trust", "-o", "x.nc"],
    "resume": ["run", "--resume", "given.nc", "--until", "100000", "-o", "x.nc"],
    "presets": ["presets"],
    "show": ["show", "chaotic-5"],
    "plot": ["plot", "given.nc", "-o", "plots"],
    "animate gif": ["animate", "given.nc", "-o", "x.gif"],
    "animate mp4": ["animate", "given.nc", "-o", "x.mp4"],
    "animate html": ["animate", "given.nc", "-o", "x.html"],
    "export": ["export", "given.nc", "-o", "x.csv"],
    "derive": ["derive", "6"],
    "compare": ["compare", "chaotic-3"],
    "modes": ["modes", "nice-6"],
    "stability": ["stability", "follower-5", "--to", "0.4", "-o", "x.png"],
    "lyapunov": ["lyapunov", "chaotic-3", "--until", "100000", "-o", "x.png"],
    "poincare": ["poincare", "point-2", "--until", "100000", "-o", "x.png"],
    "bifurcation": [
        "bifurcation",
        "driven-1",
        "--vary",
        "loads.joint_torque.amplitude",
        "--from",
        "1.06",
        "--to",
        "1.087",
        "-o",
        "x.png",
    ],
    "map": ["map", "flip", "--size", "2000x2000", "-o", "x.png"],
    "map, stored": ["map", "flip", "--size", "600x600", "--store", "x.zarr", "-o", "x.png"],
}
MOMENTS = 30
LONGEST = 6.0
"""Seconds after which a command is interrupted at the latest."""


@functools.cache
def prepared() -> Path:
    """Return a folder with a run, made with every kernel that the commands need."""
    folder = Path(tempfile.mkdtemp(prefix="nlink-torture-"))
    done = run_to_its_end("run", "nice-3", "-o", "given.nc", "-q", cwd=folder)
    assert done.code == 0, done.err
    return folder


def catches(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has handlers for SIGTERM by now."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    mask = next(line for line in lines if line.startswith("SigCgt"))
    return bool(int(mask.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def interrupted(words: list[str], folder: Path, number: signal.Signals, delay: float, **environment: str) -> tuple[Outcome, float]:
    """Start a command, send a signal some time after it catches signals; return how it ended, and how long that took."""
    process = start(*words, cwd=folder, **environment)
    while process.poll() is None and not catches(process):
        time.sleep(0.001)
    deadline = time.perf_counter() + delay
    while time.perf_counter() < deadline and process.poll() is None:
        time.sleep(0.001)
    sent = time.perf_counter()
    if process.poll() is None:
        process.send_signal(number)
        done = ended(process, 60.0)
        return done, time.perf_counter() - sent
    out, err = process.communicate()
    return Outcome(process.returncode, out.decode(), err.decode(), Measure(0.0)), 0.0


def held(done: Outcome, folder: Path) -> None:
    """Insist on a clean end: its exit code, no traceback, no hidden file, runs and pictures whole or absent."""
    assert done.code in (0, 130), f"exit {done.code}: {done.err[-2000:]}"
    assert "Traceback" not in done.err, done.err[-2000:]
    assert "Exception ignored" not in done.err, done.err[-2000:]
    assert not list(folder.glob(".*nlink-*")), [path.name for path in folder.iterdir()]
    if done.code == 130:
        assert "nlink: " in done.err
    for path in (folder / "x.nc", folder / "x.nc.part"):
        if path.exists():
            package.load(path)


@attack("exit 130 at once, no traceback; the run up to then is saved; no half-written file", full=len(COMMANDS) * MOMENTS, sample=8)
def signals_at_every_moment(k: int, folder: Path) -> Measure:
    rng = np.random.default_rng(k)
    words = list(COMMANDS.values())[k % len(COMMANDS)]
    if "given.nc" in words:
        shutil.copy(prepared() / "given.nc", folder)
    number = [signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP][k // len(COMMANDS) % 4]
    delay = LONGEST * float(rng.uniform()) ** 2
    done, seconds = interrupted(words, folder, number, delay)
    held(done, folder)
    return Measure(seconds, done.cost.megabytes)


@attack("exit 130 at once, the cache is whole", full=30, sample=1)
def ctrl_c_while_compiling(k: int, folder: Path) -> Measure:
    rng, cache = np.random.default_rng(k), folder / "cache"
    words, delay = ["run", "chaotic-5", "-o", "x.nc"], float(rng.uniform(0.5, 15.0))
    done, seconds = interrupted(words, folder, signal.SIGINT, delay, NLINK_CACHE_DIR=str(cache))
    held(done, folder)
    assert not [path for path in cache.rglob("*") if ".tmp." in path.name]
    return Measure(seconds, done.cost.megabytes)
