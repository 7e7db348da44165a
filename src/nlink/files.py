"""Files written whole or not at all, and files held by the process that writes them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where an open file cannot be replaced anyway
    fcntl = None


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that takes its place when the block ends well and vanishes otherwise.

    It is on the disk before it is renamed, so that neither a kill nor a power cut leaves half a file under the name.
    """
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex[:8]}{path.suffix}")
    try:
        temporary.open("xb").close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        yield temporary
        with temporary.open("rb+") as done:
            os.fsync(done.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def hold(path: Path) -> int:
    """Lock a file for as long as the descriptor returned stays open; a process that is killed lets go."""
    descriptor = os.open(path, os.O_RDWR)
    if fcntl:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def locked(path: Path) -> bool:
    """Whether a process holds a file."""
    if not fcntl:
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
