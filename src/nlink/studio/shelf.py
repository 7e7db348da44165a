"""The runs folder: the only place of the file system that the page reaches, by plain names, never by paths."""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from pathlib import Path

from nlink._support.checks import choice, shown
from nlink._support.endings import FORMATS, RUN
from nlink._support.files import own, remove_scratch, scratch_folder, written_whole
from nlink.studio.messages import FieldError, Json, Missing

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,79}")
TAKEN = ("html", "gif", "mp4", "csv", "nc", *FORMATS)
"""Kinds of files that the page can take along of a run; a picture is that of a plot."""
MOST_SCRATCH = 40
"""Runs that were not saved and are still kept for it."""


def runs_folder() -> Path:
    """Return where runs are kept unless said otherwise."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "nlink" / "runs"


class Shelf:
    """Saved runs by name, and a scratch folder for runs that are not saved yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = scratch_folder("studio")

    def close(self) -> None:
        """Remove the runs that were not saved."""
        remove_scratch(self.scratch)

    def new(self, key: str) -> Path:
        """Return the name of a new scratch file for a run; remove the oldest if there are many."""
        kept = sorted(self.scratch.glob(f"*{RUN}"), key=lambda path: path.stat().st_mtime)
        for old in kept[: max(0, len(kept) - MOST_SCRATCH + 1)]:
            old.unlink(missing_ok=True)
        return self.scratch / f"{key}{RUN}"

    def kept(self, key: str) -> Path:
        """Return the scratch file of a run."""
        path = self.scratch / f"{key}{RUN}"
        if not path.is_file():
            raise FieldError("this run is no longer there; run it again", "name")
        return path

    def to_take(self, key: str, kind: object) -> Path:
        """Return the name of a file that is made to be taken along."""
        return self.scratch / f"{key}-taken.{choice('the kind of file', kind, TAKEN)}"

    def taken(self, key: str, kind: str) -> Path:
        """Return a file that was made to be taken along."""
        path = self.to_take(key, kind)
        if not path.is_file():
            raise Missing("this file is no longer there; ask for it again", "")
        return path

    def listed(self) -> list[Json]:
        """Return the saved runs, the newest first."""
        files = {path: _status(path) for path in self.folder.glob(f"*{RUN}") if NAME.fullmatch(path.stem)}
        runs = [(path.stem, status) for path, status in files.items() if status and status.st_nlink == 1 and self._inside(path)]
        runs.sort(key=lambda run: -run[1].st_mtime)
        date = "%Y-%m-%d %H:%M"
        return [{"name": n, "size": s.st_size, "date": time.strftime(date, time.localtime(s.st_mtime))} for n, s in runs]

    def file(self, name: object) -> Path:
        """Return the file of a saved run."""
        path = self._path(name)
        status = _status(path)
        if status is None or not self._inside(path):
            raise Missing(f"there is no run {shown(name)} in the runs folder", "name")
        if status.st_nlink > 1:  # the other name may be where the page must not reach
            raise Missing(
                f"the run {shown(name)} has a second name elsewhere (a hard link); put a copy into the runs folder", "name"
            )
        return path

    def save(self, key: str, name: object) -> Path:
        """Save a scratch run under a name that is not taken."""
        path, source = self._path(name), self.kept(key)
        if path.exists() or path.is_symlink():
            raise FieldError(f"there is a run {shown(name)} already; give another name", "name")
        self.folder.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as temporary:
            shutil.copyfile(source, temporary)
        return path

    def delete(self, name: object) -> None:
        """Delete a saved run, and no other file."""
        path = self.file(name)
        if not own(path):
            raise FieldError(f"{shown(name)} is not a run of nlink; delete the file yourself if you mean it", "name")
        path.unlink()

    def _path(self, name: object) -> Path:
        if not isinstance(name, str) or not NAME.fullmatch(name) or ".." in name or name != name.strip(". "):
            raise FieldError(
                "a name must have 1 to 80 letters, digits, spaces, dots, - or _, and begin with a letter or digit", "name"
            )
        return self.folder / f"{name}{RUN}"

    def _inside(self, path: Path) -> bool:
        """Whether a file truly lies in the folder: a link that leads elsewhere does not."""
        return path.resolve().parent == self.folder.resolve()


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a regular file of this user; None of anything else, like a link or a pipe."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() else None
