"""What the commands about chaos share: their options, what they refuse, print, and how they end."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nlink._support.checks import ModelError
from nlink.cli.common import DEFAULT
from nlink.cli.run import FAILED, INTERRUPTED
from nlink.view.words import scenario_lines

if TYPE_CHECKING:
    from nlink.run.run import Status
    from nlink.scenario import Scenario

SHOWN = 20
"""Exponents and values that are printed, at most."""

Model = Annotated[str | None, typer.Argument(help=f"A preset (see `nlink presets`) or a model file; {DEFAULT} if not given.")]
Links = Annotated[int | None, typer.Option("--links", "-n", help="Number of links of a uniform chain.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the model.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The picture (.png, .svg, .pdf).")]
Csv = Annotated[Path | None, typer.Option(help="The numbers behind the picture as CSV.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
SectionText = Annotated[
    str | None,
    typer.Option(
        "--section",
        metavar="TEXT",
        help="Like link=1,angle=90deg,direction=-1 (links from 1, angle in rad or deg), or period=2.5; if not given the period "
        "of a driving sine, or link 1 passing straight down.",
    ),
]


def refuse(output: Path | None, link: int | None = None, n: int = 0) -> None:
    """Fail before the work, not after it."""
    if output is not None and output.suffix not in (".png", ".svg", ".pdf"):
        raise ModelError(f"--output must end in .png, .svg or .pdf, got {output}")
    if link is not None and not 1 <= link <= n:
        raise ModelError(f"--link must be from 1 to {n}, got {link}")
    if output is not None:
        importlib.import_module("nlink.view.chaos")  # now: the answer to Ctrl-C must not wait for it


def report(scenario: Scenario, lines: list[tuple[str, str]]) -> None:
    """Print a system and what was found."""
    every = [*scenario_lines(scenario), *lines]
    typer.echo("\n".join([scenario.title] * bool(scenario.title) + [f"  {name:<10} {text}".rstrip() for name, text in every]))


def worst(status: tuple[Status, ...]) -> Status:
    """Return the first that is not well."""
    return next((each for each in status if not each.ok), status[0])


def end(status: Status) -> None:
    """End with the exit code of what happened."""
    if not status.ok:
        print(f"nlink: {status}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED if status.code == "interrupted" else FAILED)
