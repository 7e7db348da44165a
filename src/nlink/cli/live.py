"""`nlink live`: a page that simulates a chain in any browser, without Python, a server or a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nlink._support.endings import PAGE, check_ending
from nlink.cli.common import free_name, read_scenario
from nlink.cli.options import Links, Model, Quiet, Set, Theme, Title
from nlink.cli.report import Report


def live(
    model: Model = None,
    links: Links = None,
    settings: Set = None,
    title: Title = None,
    copies: Annotated[int, typer.Option(help="Number of near-copies, up to 30; more or fewer can be chosen in the page.")] = 0,
    difference: Annotated[float, typer.Option(help="Difference of the first angle from one near-copy to the next, in rad.")] = 1e-3,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page (.html). Without it: a new name after the model.")
    ] = None,
    theme: Theme = None,
    quiet: Quiet = False,
) -> None:
    """Write a page that simulates a chain of up to 8 links in any browser: grab it, throw it, change its numbers while it moves.

    Examples: nlink live chaotic-3 | nlink live point-2 --copies 20 -o pendulum.html |
    nlink live my.toml --set loads.joint_damper=0.1
    """
    if output is not None:
        check_ending("--output", output, (PAGE,), "pictures: nlink plot")
    name, _, scenario = read_scenario(model, {"links": links, "title": title}, settings)
    path = output or free_name(f"{name}-live", PAGE)
    scenario.live(path, copies=copies, difference=difference, theme=theme)
    Report(False, quiet).wrote(path)
