"""The options that several commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from nlink._support.checks import choice, line
from nlink._support.endings import FORMATS, PICTURES, TABLE, any_of, check_ending
from nlink._support.progress import QUIET
from nlink.cli.common import DEFAULT
from nlink.scenario import presets
from nlink.view import THEMES


def _silenced(quiet: bool) -> bool:
    """Silence the line about compiling too, also in processes that the command starts."""
    if quiet:
        os.environ[QUIET] = "1"
    return quiet


def _table(path: Path | None) -> Path | None:
    """Refuse numbers under a name of another format."""
    if path is not None:
        check_ending("--csv", path, (TABLE,))
    return path


def _theme(name: str | None) -> str | None:
    return None if name is None else choice("--theme", name, THEMES)


def _title(text: str | None) -> str | None:
    return None if text is None else line("--title", " ".join(text.splitlines()))


VARIED = "The parameter: follower, damping, stiffness, gravity, torque, or a key of the model."


def models(beginning: str) -> list[str]:
    """Return what completes the name of a model: presets; the shell adds files."""
    return [name for name in presets() if name.startswith(beginning)]


MODELS = "A preset (see `nlink presets`) or a model file"
AnyModel = Annotated[str, typer.Argument(autocompletion=models, help=f"{MODELS}.")]
Model = Annotated[str | None, typer.Argument(autocompletion=models, help=f"{MODELS}. Without it: {DEFAULT}.")]
RunFile = Annotated[Path, typer.Argument(help="A run (.nc).")]
Links = Annotated[int | None, typer.Option("--links", "-n", help="Number of links of a uniform chain.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the model; may be repeated.")]
Picture = Annotated[Path | None, typer.Option("--output", "-o", help=f"The picture ({', '.join(PICTURES)}).")]
Format = Annotated[str, typer.Option("--format", help=f"Format of the pictures: {any_of(FORMATS)}.")]
Title = Annotated[str | None, typer.Option("--title", callback=_title, help="The title of the result.")]
Theme = Annotated[
    str | None,
    typer.Option("--theme", callback=_theme, help="light or dark. Without it: light; a page follows the system of its reader."),
]
Size = Annotated[
    str | None,
    typer.Option("--size", metavar="WxH", help="Size of the picture in inches, or column: the width of a journal column."),
]
Csv = Annotated[Path | None, typer.Option(callback=_table, help="The numbers behind the picture as CSV.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=_silenced, help="Print nothing but errors.")]
Low = Annotated[float, typer.Option("--from", help="First value of the parameter.")]
High = Annotated[float, typer.Option("--to", help="Last value of the parameter.")]
Count = Annotated[int, typer.Option("--points", help="Number of values.")]
Section = Annotated[
    str | None,
    typer.Option(
        "--section",
        metavar="TEXT",
        help="link=1,angle=90deg,direction=-1 (links from 1, angle in rad or deg) or period=2.5 (s); without it the period "
        "of a driving sine, or link 1 passing straight down.",
    ),
]
