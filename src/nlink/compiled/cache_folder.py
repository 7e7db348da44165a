"""The folder of compiled kernels, and what nlink may remove of it: only folders that it made and marked itself.

    ROOT/nlink/                        a folder of nlink's own, marked; ROOT is $NLINK_CACHE_DIR, $XDG_CACHE_HOME or ~/.cache
    ROOT/nlink/kernels-0123456789abcdef/   kernels of one state of the sources, marked as well
    ROOT/nlink/compile-times.json      how long each took to compile

A folder ROOT/nlink that is someone else's (a clone of the sources, say) is left alone, and ROOT/nlink-cache is taken. Where neither
can be used, the kernels go to a temporary folder (see files.scratch_folder), in which nothing is ever tidied.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from nlink._support.files import scratch_folder

MARK = ".nlink-cache"
"""The file that marks a folder as nlink's own."""
TEXT = "nlink keeps compiled kernels in this folder. Delete it whenever you like: they are compiled again when needed.\n"
KERNELS = re.compile(r"kernels-[0-9a-f]{16}")
KEEP = 4
"""Folders of kernels that stay: those of this state of the sources, and the newest others."""


def kernel_folder(digest: str) -> Path:
    """Return the folder for the kernels of sources with this digest, made and marked if need be."""
    root = os.environ.get("NLINK_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(root) if root else Path.home() / ".cache"
        for own in (base / "nlink", base / "nlink-cache"):
            folder = own / f"kernels-{digest[:16]}"
            if _claimed(own) and _claimed(folder):
                return folder
    except (OSError, RuntimeError, ValueError):  # not writable, no home, a name that cannot be one
        pass
    return scratch_folder("kernels")


def times_file(folder: Path) -> Path:
    """Return where the seconds of compilations are kept: beside the kernels, or with them in a temporary folder."""
    return (folder.parent if KERNELS.fullmatch(folder.name) and _marked(folder.parent) else folder) / "compile-times.json"


def tidy(folder: Path) -> None:
    """Remove the kernels of older sources beside `folder`, all but the newest few."""
    own = folder.parent
    if not (KERNELS.fullmatch(folder.name) and _marked(own)):
        return
    try:
        others = [path for path in own.iterdir() if path != folder and KERNELS.fullmatch(path.name) and _marked(path)]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:  # another process tidies as well
        return
    for old in others[KEEP - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


def _claimed(folder: Path) -> bool:
    """Make a folder, or take one that is empty or nlink's own. Return whether it is; raise OSError if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    if not _marked(folder) and not any(folder.iterdir()):
        (folder / MARK).write_text(TEXT)
    with tempfile.TemporaryFile(dir=folder):
        return _marked(folder)


def _marked(folder: Path) -> bool:
    """Whether a folder, not a link to one, bears the mark and belongs to this user or to the system's."""
    if folder.is_symlink() or not (folder / MARK).is_file():
        return False
    return not hasattr(os, "getuid") or folder.stat().st_uid in (os.getuid(), 0)
