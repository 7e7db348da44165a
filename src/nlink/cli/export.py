"""`nlink export`: chosen quantities of a run as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nlink._support.checks import choice
from nlink._support.endings import TABLE, check_ending
from nlink.cli.common import load_run
from nlink.cli.options import RunFile
from nlink.cli.report import write_text
from nlink.run.table import QUANTITIES, columns, csv_text


def export(
    run: RunFile,
    quantities: Annotated[
        list[str] | None,
        typer.Argument(help=f"Any of {', '.join(QUANTITIES)}; theta (in space direction) and omega if not given."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file (.csv); the standard output if not given.")] = None,
) -> None:
    """Write chosen quantities of a run as CSV, with full precision, one row for each saved time."""
    names = [choice("the quantity", name, QUANTITIES) for name in quantities or ()]
    if output is not None:
        check_ending("--output", output, (TABLE,), "spreadsheets open it")
    loaded = load_run(run)
    table = columns(loaded, names or ("direction" if loaded.chain.spatial else "theta", "omega"))
    write_text(csv_text(table), output, r"t \[s\]", f"{len(loaded.t)} rows of {len(table)} columns")
