"""Attacks on the cache of compiled kernels: damaged files, folders that cannot be used, neighbours that must stay."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from torture.attack import Measure, attack, ended, start_python

CODE = """
import nlink
print(nlink.formulate(nlink.Chain.uniform(2)).accelerations([0.5, 0.4], [1.0, 2.0]).tolist())
"""


@functools.cache
def warm() -> tuple[Path, str]:
    """Return a cache with the kernels of one call, and what the call prints."""
    folder = Path(tempfile.mkdtemp(prefix="nlink-torture-"))
    return folder, answer(folder)[0]


def answer(cache: Path, **environment: str) -> tuple[str, Measure]:
    """Return what the call prints with this cache; it must end well and say nothing else."""
    done = ended(start_python("-c", CODE, cwd=cache, NLINK_CACHE_DIR=str(cache), **environment))
    assert (done.code, done.err) == (0, ""), done.err[-2000:]
    return done.out, done.cost


def damaged(path: Path, rng: np.random.Generator) -> None:
    """Damage a file in one of six ways."""
    content = bytearray(path.read_bytes())
    way = int(rng.integers(6))
    if way == 0:
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    elif way == 1:
        del content[int(rng.integers(len(content))) :]
    elif way == 2:
        content.clear()
    elif way == 3:
        content[:] = rng.bytes(len(content))
    elif way == 4:
        content += rng.bytes(100)
    path.unlink()
    if way < 5:
        path.write_bytes(content)


@attack("compiled anew, the same numbers, no message", full=80, sample=2)
def damaged_files_in_the_cache(k: int, folder: Path) -> Measure:
    rng = np.random.default_rng(k)
    cache, wanted = warm()
    own = folder / "cache"
    shutil.copytree(cache, own)
    files = sorted(path for path in own.rglob("*") if path.is_file() and path.suffix in (".nbi", ".nbc"))
    damaged(files[int(rng.integers(len(files)))], rng)
    found, cost = answer(own)
    assert found == wanted
    assert answer(own)[0] == wanted
    return cost


@attack("nothing that nlink did not make is removed or changed", full=8, sample=2)
def cache_folders_that_are_someone_elses(k: int, folder: Path) -> Measure:
    cache = folder / "cache"
    for name in ("1", "2", "3", "4", "5", "6", "nlink/src", "nlink/.git", "nlink/kernels-0123456789abcdef", "nlink-thesis"):
        (cache / name).mkdir(parents=True)
        (cache / name / "mine.txt").write_text("mine")
    home = {"HOME": str(cache), "XDG_CACHE_HOME": "", "TMPDIR": str(cache)}
    places: list[dict[str, str]] = [
        {"NLINK_CACHE_DIR": str(cache)},
        {"NLINK_CACHE_DIR": "/proc/none", **home},
        {"NLINK_CACHE_DIR": "", **home},
        {"NLINK_CACHE_DIR": "/dev/null", **home},
        {"NLINK_CACHE_DIR": str(cache / "1" / "mine.txt"), **home},
        {"NLINK_CACHE_DIR": "", **home, "HOME": "/proc/none"},
        {"NLINK_CACHE_DIR": "\n", **home},
        {"NLINK_CACHE_DIR": "x" * 5000, **home},
    ]
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    done = ended(start_python("-c", "import nlink.compiled.jit", cwd=cache, **{**os.environ, **places[k]}))
    assert (done.code, done.err) == (0, ""), done.err[-2000:]
    after = {path: path.stat().st_mtime_ns for path in before if path.exists()}
    assert after == before
    assert not list(cache.glob("nlink-kernels-*")), "a fallback is left"
    return done.cost
