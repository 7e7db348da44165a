"""The runs folder: the only place of the file system that the page reaches, by plain names, never by paths."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from nlink.files import written_whole
from nlink.studio.messages import FieldError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,79}")
MOST_SCRATCH = 40
"""Runs that were not saved and are still kept for it."""


def runs_folder() -> Path:
    """Return where runs are kept unless said otherwise."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "nlink" / "runs"


class Shelf:
    """Saved runs by name, and a scratch folder for those that may be saved yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = Path(tempfile.mkdtemp(prefix="nlink-studio-"))

    def close(self) -> None:
        """Throw away what was not saved."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def new(self, key: str) -> Path:
        """Return a scratch file for a run, throwing away the oldest if there are many."""
        kept = sorted(self.scratch.glob("*.nc"), key=lambda path: path.stat().st_mtime)
        for old in kept[: max(0, len(kept) - MOST_SCRATCH + 1)]:
            old.unlink(missing_ok=True)
        return self.scratch / f"{key}.nc"

    def listed(self) -> list[dict[str, Any]]:
        """Return the saved runs, the newest first."""
        files = [path for path in self.folder.glob("*.nc") if NAME.fullmatch(path.stem) and self._inside(path)]
        times = {path: path.stat() for path in files}
        rows = sorted(files, key=lambda path: -times[path].st_mtime)
        return [{"name": path.stem, "size": times[path].st_size, "date": _date(times[path].st_mtime)} for path in rows]

    def file(self, name: Any) -> Path:
        """Return the file of a saved run."""
        path = self._path(name)
        if not path.is_file() or not self._inside(path):
            raise FieldError(f"there is no run {name!r} in the runs folder", "name")
        return path

    def save(self, key: str, name: Any) -> Path:
        """Save a scratch run under a name that is not taken."""
        path, source = self._path(name), self.scratch / f"{key}.nc"
        if not source.is_file():
            raise FieldError("this run is no longer there; run it again, then save it", "name")
        if path.exists() or path.is_symlink():
            raise FieldError(f"there is a run {name!r} already; give another name", "name")
        self.folder.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as temporary:
            shutil.copyfile(source, temporary)
        return path

    def delete(self, name: Any) -> None:
        """Delete a saved run."""
        self.file(name).unlink()

    def _path(self, name: Any) -> Path:
        if not isinstance(name, str) or not NAME.fullmatch(name) or ".." in name or name != name.strip(". "):
            raise FieldError(
                "a name must have 1 to 80 letters, digits, spaces, dots, - or _, and begin with a letter or digit", "name"
            )
        return self.folder / f"{name}.nc"

    def _inside(self, path: Path) -> bool:
        """Whether a file truly lies in the folder: a link that leads elsewhere does not."""
        return path.resolve().parent == self.folder.resolve()


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
