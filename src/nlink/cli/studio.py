"""`nlink studio`: the page on this machine to build, pose, run and understand chains."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Annotated

import typer

from nlink._support.checks import ModelError
from nlink._support.endings import RUN
from nlink.cli.codes import USAGE
from nlink.cli.common import DEFAULT, check_folder, load_run, read_scenario
from nlink.scenario import Scenario

NEEDED = ("fastapi", "uvicorn", "websockets")


def studio(
    model: Annotated[
        str | None, typer.Argument(help=f"A preset, a model file (.toml) or a run (.nc); {DEFAULT} if not given.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of this machine; 0 takes a free one.")] = 8765,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the browser, only print the address.")] = False,
    runs: Annotated[Path | None, typer.Option(help="The folder of saved runs.")] = None,
) -> None:
    """Open the studio in the browser: build a chain, pose it with the mouse, run it and watch, compare, find its modes.

    Examples: nlink studio | nlink studio four-bar | nlink studio mine.toml --port 0 --no-browser
    """
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        typer.echo("nlink: the studio needs packages that are not installed: pip install fastapi uvicorn websockets", err=True)
        raise typer.Exit(USAGE)
    from nlink.studio.messages import checked, page_model
    from nlink.studio.server import serve
    from nlink.studio.shelf import runs_folder

    folder, opens = (runs or runs_folder()).expanduser().absolute(), ""
    check_folder(folder, "runs", "--runs")
    if model is not None and model.endswith(RUN):
        start, opens = _shelved(Path(model), folder)
    else:
        _, _, start = read_scenario(model, {}, None)
    checked(page_model(start))
    serve(start, opens, port, not no_browser, folder, typer.echo)


def _shelved(path: Path, folder: Path) -> tuple[Scenario, str]:
    """Return the scenario and the name of a run, copied to the runs folder if it is not there."""
    from nlink.studio.shelf import NAME

    scenario = load_run(path).scenario
    if not NAME.fullmatch(path.stem):
        raise ModelError(f"the studio opens runs whose names have letters, digits, spaces, dots, - or _; rename {path.name}")
    target = folder / path.name
    if target.resolve() != path.resolve():
        if target.exists():
            raise OSError(f"{target} is there already and is another run; rename one of them")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return scenario, path.stem
