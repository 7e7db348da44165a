"""What nlink writes, replaces and removes: files written whole or not at all, locks, and temporary folders.

A file takes the place of another only if nlink made that one too: it is empty, or bears a mark of nlink (see `own`). Until it is
whole it stands beside its place under a hidden name, .STEM.nlink-XXXXXXXX.SUFFIX, locked by its process; after a kill the next
process that writes there removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
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
MARKS = (
    b'<meta name="generator" content="nlink',  # pages
    b"Software\0nlink ",  # PNG
    b"<dc:title>nlink ",  # SVG: its creator
    b"/Creator (nlink ",  # PDF
    b"!\xfe\x05nlink",  # GIF: its comment
    b"data\0\0\0\x01\0\0\0\0nlink",  # MP4: its comment
)
"""What a file that nlink made holds near its start or its end. The word nlink alone says nothing: a thesis may have it."""
NEAR = 65_536
HDF5 = b"\x89HDF\r\n\x1a\n"
"""What a netCDF file begins with."""
ANYTHING = r"(?s)"
"""A pattern for what begins a file inside a folder of nlink's own: whatever stands there may be replaced."""
UNFINISHED: set[Path] = set()
"""Hidden files of this process that have not taken their place yet."""
SCRATCH: dict[Path, int] = {}
"""Temporary folders of this process, and the descriptors that hold them."""


@contextmanager
def written_whole(path: Path, begin: str = "") -> Iterator[Path]:
    """Yield a temporary file beside `path` that takes its place when the block ends well and vanishes otherwise.

    It is on the disk before it is renamed, so that neither a kill nor a power cut leaves half a file under the name. What it
    replaces must be nlink's own; a file that has none of the MARKS (a table, a text) is known by the pattern `begin` of its start.
    """
    path = real(path)
    refuse_foreign(path, begin)
    temporary, lock = hidden(path)
    try:
        yield temporary
        if not own(temporary, begin):
            raise OSError(f"cannot write {path}: the file did not come out whole")
        put_in_place(temporary, path)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        discard(temporary)
        os.close(lock)


def real(path: str | os.PathLike[str]) -> Path:
    """Return where a path leads: what is written to a link goes to its target."""
    return Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)


def refuse_foreign(path: Path, begin: str = "") -> None:
    """Refuse to replace what nlink did not make."""
    if not os.path.lexists(path):
        return
    if not path.is_file():
        raise OSError(f"cannot write {path}: it is {'a folder' if path.is_dir() else 'not a plain file'}; give another name")
    if path.stat().st_size and not own(path, begin):
        raise OSError(f"{path} is there already and nlink did not make it; give another name, or remove it first")


def own(path: Path, begin: str = "") -> bool:
    """Whether nlink made a file: by the pattern of its start, by an attribute of netCDF files, or by one of the MARKS."""
    with path.open("rb") as file:
        start = file.read(NEAR)
        file.seek(max(0, path.stat().st_size - NEAR))
        end = file.read(NEAR)
    if start.startswith(HDF5) and not begin:
        return _has_attribute(path)
    return bool(re.match(begin.encode(), start)) if begin else any(mark in start or mark in end for mark in MARKS)


def _has_attribute(path: Path) -> bool:
    """Whether a netCDF file, perhaps one that is being written, has an attribute of nlink."""
    import h5py

    for swmr in (True, False):
        with contextlib.suppress(OSError, RuntimeError, UnicodeError), h5py.File(path, "r", locking=False, swmr=swmr) as file:
            return any(name.startswith("nlink") for name in file.attrs)
    return False


def hidden(path: Path) -> tuple[Path, int]:
    """Make the hidden file that will take the place of `path`; return it and the descriptor that locks it.

    Hidden files that a killed process left there are removed.
    """
    for abandoned in path.parent.glob(f".{glob.escape(path.stem)}.nlink-????????{glob.escape(path.suffix)}"):
        with contextlib.suppress(OSError):
            if fcntl and abandoned.is_file() and not abandoned.is_symlink() and not locked(abandoned):
                abandoned.unlink()
    temporary = path.with_name(f".{path.stem}.nlink-{uuid.uuid4().hex[:8]}{path.suffix}")
    try:
        temporary.open("xb").close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    UNFINISHED.add(temporary)
    return temporary, hold(temporary)


def put_in_place(temporary: Path, path: Path) -> None:
    """Bring a file to the disk and give it its name, with the permissions of the file it replaces."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    if path.exists():
        shutil.copymode(path, temporary)
    os.replace(temporary, path)
    UNFINISHED.discard(temporary)


def discard(temporary: Path) -> None:
    """Remove a hidden file that has not taken its place."""
    if temporary in UNFINISHED:
        temporary.unlink(missing_ok=True)
        UNFINISHED.discard(temporary)


def clean_up() -> None:
    """Remove what this process has not finished, and its temporary folders: it is about to end."""
    for path in list(UNFINISHED):
        path.unlink(missing_ok=True)
    for folder in list(SCRATCH):
        remove_scratch(folder)


def hold(path: Path) -> int:
    """Lock a file or a folder for as long as the descriptor returned stays open; a process that is killed lets go."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    if fcntl:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise
    return descriptor


def locked(path: Path) -> bool:
    """Whether a process holds a file or a folder."""
    if not fcntl:
        return False
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def scratch_folder(kind: str) -> Path:
    """Make a temporary folder nlink-KIND-..., which is removed when this process ends; after a kill, by the next call."""
    _remove_abandoned(kind)
    folder, owner = Path(tempfile.mkdtemp(prefix=f"nlink-{kind}-")), os.getpid()
    unmarked = folder / "new"
    unmarked.write_text("nlink keeps this folder as long as a process holds this file.\n")
    SCRATCH[folder] = hold(unmarked)  # before it is the mark: a folder with a mark that nobody holds is abandoned
    unmarked.rename(folder / SCRATCH_MARK)
    atexit.register(lambda: remove_scratch(folder) if os.getpid() == owner else None)  # not in a child that was forked
    return folder


def remove_scratch(folder: Path) -> None:
    """Remove a temporary folder of this process."""
    if folder in SCRATCH:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(SCRATCH.pop(folder))


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
