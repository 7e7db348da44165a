"""Files written whole or not at all, files held by the process that writes them, and temporary folders that end with it."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where an open file cannot be replaced anyway
    fcntl = None


SCRATCH_MARK = ".nlink-scratch"
"""The file that marks a temporary folder as nlink's own, locked by the process that uses it."""


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


def scratch_folder(kind: str) -> Path:
    """Make a temporary folder nlink-KIND-..., which is removed when this process ends; after a kill, by the next call."""
    _remove_abandoned(kind)
    folder, owner = Path(tempfile.mkdtemp(prefix=f"nlink-{kind}-")), os.getpid()
    unmarked = folder / "new"
    unmarked.touch()
    hold(unmarked)  # its descriptor stays open: the lock ends with the process
    unmarked.rename(folder / SCRATCH_MARK)

    def remove() -> None:
        if os.getpid() == owner:  # not in a child that was forked
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _remove_abandoned(kind: str) -> None:
    """Remove temporary folders that bear the mark, belong to this user, and that no process holds any more."""
    name = re.compile(rf"nlink-{kind}-[A-Za-z0-9_]{{8}}")
    for folder in Path(tempfile.gettempdir()).glob(f"nlink-{kind}-*"):
        mark = folder / SCRATCH_MARK
        try:
            own = name.fullmatch(folder.name) and not folder.is_symlink() and folder.stat().st_uid == os.getuid()
            if fcntl and own and mark.is_file() and not mark.is_symlink() and not locked(mark):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another process is removing it
            continue
