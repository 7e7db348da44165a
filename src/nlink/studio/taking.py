"""What the page takes along of a run: the page of it, an animation, its numbers, the run itself, or one of its plots."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from nlink._support.endings import ANIMATIONS, PAGE, PICTURES, RUN, TABLE
from nlink.run.file import load
from nlink.run.run import Run
from nlink.run.table import columns, csv_text
from nlink.studio.messages import Json
from nlink.studio.worker import Outbox

COLUMNS, IN_SPACE = ("theta", "omega", "energy"), ("direction", "omega", "energy")
"""Quantities of a table."""
FRAMES = 25.0
"""Frames a second of an animation."""
DPI = 150.0


def take(request: Json, out: Outbox) -> None:
    """Write a file of a kept run; the server has named both."""
    source, path = Path(request["path"]), Path(request["file"])
    if path.suffix == RUN:
        shutil.copyfile(source, path)
    else:
        WRITERS[path.suffix](load(source), path, request, out)
    out.end("done")


def _page(run: Run, path: Path, request: Json, out: Outbox) -> None:
    run.html(path)


def _animation(run: Run, path: Path, request: Json, out: Outbox) -> None:
    from nlink.view.animate import animate

    animate(run, path, fps=FRAMES, theme=request.get("theme"), progress=out.progress)


def _table(run: Run, path: Path, request: Json, out: Outbox) -> None:
    path.write_text(csv_text(columns(run, IN_SPACE if run.chain.spatial else COLUMNS)), encoding="utf-8")


def _plot(run: Run, path: Path, request: Json, out: Outbox) -> None:
    from nlink.view.plot import figure
    from nlink.view.style import save_figure

    save_figure(figure(run, request.get("plot"), theme=request.get("theme")), path, DPI)


WRITERS: dict[str, Callable[[Run, Path, Json, Outbox], None]] = {
    PAGE: _page,
    **dict.fromkeys((each for each in ANIMATIONS if each != PAGE), _animation),
    TABLE: _table,
    **dict.fromkeys(PICTURES, _plot),
}
