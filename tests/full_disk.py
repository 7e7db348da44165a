"""A small disk to fill: a tmpfs of some kilobytes."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path


class NoDisk(Exception):
    """A small disk cannot be mounted here; the message says why."""


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a disk of this size on a folder, and take it away afterwards."""
    folder.mkdir(exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "nlink-test", str(folder)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoDisk(f"mount cannot be run: {error}") from None
    if done.returncode:
        raise NoDisk(f"mount needs root: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
