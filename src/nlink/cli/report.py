"""How a command reports: lines or JSON on the standard output, files, and the exit code."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import typer

from nlink._support.endings import check_ending
from nlink._support.files import written_whole
from nlink.cli.codes import FAILED, INTERRUPTED
from nlink.cli.common import Table
from nlink.view.words import scenario_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nlink.run.run import Status
    from nlink.scenario import Scenario

MOST_ROWS = 20
"""Most exponents or periods that are printed."""


class Report(NamedTuple):
    """Where the result of a command goes: JSON or lines on the standard output, the picture and its look, its numbers as CSV."""

    as_json: bool
    quiet: bool
    output: Path | None = None
    csv: Path | None = None
    theme: str | None = None
    size: tuple[float, float] | str | None = None

    def show(self, data: Callable[[], Table], lines: Callable[[], list[str]], indent: int | None = 2) -> None:
        """Print the result, as JSON or in lines."""
        if self.as_json:
            typer.echo(json.dumps(data(), indent=indent))
        elif not self.quiet:
            typer.echo("\n".join(lines()))

    def write_csv(self, names: list[str], values: np.ndarray) -> None:
        """Write columns of numbers under their names, if --csv names a file."""
        if self.csv is not None:
            header = ",".join(names)
            with written_whole(self.csv, re.escape(header)) as temporary:
                np.savetxt(temporary, values, delimiter=",", header=header, comments="", fmt="%.17g")
            self.wrote(self.csv)

    def draw(self, figure: Callable[..., Figure], *results: object, title: str) -> None:
        """Write the picture that a function of `nlink.view` draws of results."""
        from nlink.view.style import save_figure

        assert self.output is not None
        self.wrote(save_figure(figure(*results, title=title, theme=self.theme, size=self.size), self.output))

    def wrote(self, *paths: Path) -> None:
        """Say which files were written."""
        if not self.quiet:
            print("\n".join(f"nlink: wrote {path}" for path in paths), file=sys.stderr)


def check_picture(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be written, before the work; load Matplotlib now, since Ctrl-C is not answered meanwhile."""
    if path is not None:
        check_ending("--output", path)
        importlib.import_module("nlink.view.sheet")
    return path


def titled(scenario: Scenario, lines: list[str]) -> list[str]:
    """Return lines below the title of the scenario, if it has one."""
    return [scenario.title] * bool(scenario.title) + lines


def system_lines(scenario: Scenario, lines: Iterable[tuple[str, str]]) -> list[str]:
    """Return the title, the system in words, and further lines, each with its name in front."""
    return titled(scenario, [f"  {name:<10} {text}".rstrip() for name, text in [*scenario_lines(scenario), *lines]])


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Return the rows of a table as lines, their cells aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def by_link(cells: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return a row for each link, its number in front; neighbours that are equal share a row."""
    rows, last = [], 0
    for row, equal in groupby(cells):
        first, last = last + 1, last + len(list(equal))
        rows.append((f"{first}" if first == last else f"{first}-{last}", *row))
    return rows


def plain(value: float, digits: int = 6) -> str:
    """Return a number in few digits, rounding errors about zero as 0, and - for one that is not known."""
    return "-" if value != value else f"{0.0 if abs(value) < 1e-12 else value:.{digits}g}"


def shortened(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the first MOST_ROWS lines and how many more there are."""
    return rows[:MOST_ROWS] + [("", f"and {len(rows) - MOST_ROWS} more")] * (len(rows) > MOST_ROWS)


def write_text(text: str, path: Path | None, begin: str, content: str = "") -> None:
    """Write a text to a file, or to the standard output.

    `begin`: pattern of a file that may be replaced (see `written_whole`); `content`: words about the text for the message.
    """
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with written_whole(path, begin) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"nlink: wrote {f'{content} to ' if content else ''}{path}", file=sys.stderr)


def exit_with(status: Status) -> None:
    """Print a status that is not well, and exit with its code."""
    if not status.ok:
        print(f"nlink: {status}", file=sys.stderr)
        raise typer.Exit(exit_code(status))


def exit_code(status: Status) -> int:
    """Return the exit code of a run that did not reach its end."""
    return INTERRUPTED if status.code == "interrupted" else FAILED
