"""Attacks on what nlink writes: full disks, two runs at one place, kills, users without rights, files that are someone else's."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from full_disk import NoDisk, small_disk

import nlink as package
from torture.attack import Absent, Measure, Outcome, attack, ended, nlink, start, start_python

SAVE = """
import sys, nlink
run = nlink.load(sys.argv[1])
try:
    run.save(sys.argv[2])
except OSError as error:
    print(f"nlink: {error}", file=sys.stderr)
    sys.exit(5)
"""
FILES: dict[str, list[str]] = {
    "run.nc": ["run", "chaotic-5", "--until", "150", "-q", "-o"],
    "saved.nc": [],
    "map.nc": ["map", "flip", "--size", "60x60", "--until", "2", "-q", "--data"],
    "map.png": ["map", "flip", "--size", "60x60", "--until", "2", "-q", "-o"],
    "map.html": ["map", "flip", "--size", "60x60", "--until", "2", "-q", "-o"],
    "map.csv": ["map", "flip", "--size", "60x60", "--until", "2", "-q", "--data"],
    "x.gif": ["animate", "GIVEN", "-q", "-o"],
    "x.mp4": ["animate", "GIVEN", "-q", "-o"],
    "x.html": ["animate", "GIVEN", "-q", "-o"],
    "x.csv": ["export", "GIVEN", "theta", "energy", "-o"],
    "x.svg": ["lyapunov", "point-2", "--until", "3", "-q", "-o"],
    "x.pdf": ["lyapunov", "point-2", "--until", "3", "-q", "-o"],
    "plots": ["plot", "GIVEN", "-q", "-o"],
    "x.zarr": ["map", "flip", "--size", "100x100", "--until", "2", "-q", "-o", "/dev/shm/none.png", "--store"],
}


@functools.cache
def prepared(name: str = "") -> Path:
    """Return a folder with a run, and a file of this kind as nlink makes it."""
    folder = Path(tempfile.mkdtemp(prefix="nlink-torture-"))
    assert nlink("run", "nice-3", "--until", "40", "-q", "-o", "given.nc", cwd=folder).code == 0
    if name and name != "x.zarr":
        done = made(name, folder / name, folder)
        assert done.code == 0, done.err
    return folder


def made(name: str, path: Path, folder: Path) -> Outcome:
    """Make a file of this kind at a path, from the run in `folder`."""
    given = folder / "given.nc"
    if name == "saved.nc":
        return ended(start_python("-c", SAVE, given, path, cwd=folder))
    return nlink(*(str(given) if word == "GIVEN" else word for word in FILES[name]), path, cwd=folder)


def content(path: Path) -> dict[str, str]:
    """Return the checksums of a file, or of the files of a folder."""
    paths = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return {str(each): hashlib.sha256(each.read_bytes()).hexdigest() for each in paths}


@attack("exit 5, one sentence; the old file stays; no half-written file, no crash", full=8 * len(FILES), sample=1)
def full_disks(k: int, folder: Path) -> Measure:
    rng, name = np.random.default_rng(k), list(FILES)[(5 * k) % len(FILES)]
    source = prepared(name)
    size = sum(path.stat().st_size for path in [source / name, *(source / name).rglob("*")] if path.is_file()) or 300_000
    try:
        with small_disk(folder / "small", int(4 + size / 1024 * (1 + 1.1 * rng.uniform()))) as disk:
            if name != "x.zarr":
                (shutil.copytree if (source / name).is_dir() else shutil.copy)(source / name, disk / name)
            before = content(disk / name)
            done = made(name, disk / name, source)
            if done.code != 0:
                done.refused(5)
                single = name not in ("plots", "x.zarr")
                assert not single or content(disk / name) == before, "what was there is not what it was"
            left = [path.name for path in disk.rglob(".*nlink-*")]
            assert not left, left
            return done.cost
    except NoDisk as reason:
        raise Absent(str(reason)) from None


@attack("one goes through, the other is refused at once", full=30, sample=1)
def two_runs_at_one_place(k: int, folder: Path) -> Measure:
    pair = [start("run", "chaotic-5", "--until", "30", "-q", "-o", "x.nc", cwd=folder) for _ in range(2)]
    both = [ended(process) for process in pair]
    codes = sorted(done.code for done in both)
    if codes != [0, 0]:  # the first may have been over before the second began
        assert codes == [0, 5], [done.err[-500:] for done in both]
        next(done for done in both if done.code).refused(5, "is being written by another process")
    assert package.load(folder / "x.nc").status.code == "finished"
    assert [path.name for path in folder.iterdir()] == ["x.nc"]
    return min((done.cost for done in both), key=lambda cost: cost.seconds)


@attack("the next call goes through and leaves nothing else behind", full=60, sample=2)
def killed_while_writing(k: int, folder: Path) -> Measure:
    rng = np.random.default_rng(k)
    shutil.copy(prepared() / "given.nc", folder)
    name = ["x.gif", "x.mp4", "x.html", "x.csv", "run.nc"][k % 5]
    words = [*(str(folder / "given.nc") if word == "GIVEN" else word for word in FILES[name]), name]
    process = start(*words, cwd=folder)
    deadline = time.perf_counter() + float(rng.uniform(0.2, 3.0))
    while process.poll() is None and time.perf_counter() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL) if process.poll() is None else None
    process.communicate()
    if name == "run.nc" and (folder / "run.nc.part").exists():
        words = ["run", "--resume", name, "-q"]
    done = nlink(*words, cwd=folder)
    assert done.code == 0, done.err
    assert sorted(path.name for path in folder.iterdir()) == sorted(["given.nc", name])
    return done.cost


BECOME = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_read_search"]
BECOME += ["--ambient-caps=+dac_read_search", "--"]
"""How root becomes a user who may read everything and write nothing."""


@attack("one sentence, exit 5, nothing else", full=6, sample=1)
def users_without_rights(k: int, folder: Path) -> Measure:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Absent("only root can become another user, by setpriv")
    name = ["run.nc", "map.nc", "map.png", "map.csv", "x.svg", "x.pdf"][k % 6]
    words = [*BECOME, sys.executable, "-m", "nlink", *FILES[name], name]
    home = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "", "NLINK_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(words, cwd=folder, env={**os.environ, **home}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done = ended(process)
    done.refused(5)
    assert not list(folder.iterdir())
    return done.cost


@attack("refused, and left as it is", full=33, sample=2)
def files_that_are_someone_elses(k: int, folder: Path) -> Measure:
    shutil.copy(prepared() / "given.nc", folder)
    name = [each for each in FILES if each not in ("plots", "x.zarr", "saved.nc")][k % 11]
    target = folder / name
    kind = k // 11 % 3
    if kind == 0:
        target.write_bytes(b"a thesis of three years, made with nlink; its equations were derived by nlink\n" * 100)
    elif kind == 1:
        target.mkdir()
        (target / "mine.txt").write_text("mine")
    else:
        os.mkfifo(target)
    before = content(target) if kind < 2 else {}
    done = made(name, target, folder)
    done.refused(5)
    assert kind == 2 or content(target) == before
    assert sorted(path.name for path in folder.iterdir()) == sorted(["given.nc", name])
    return done.cost
