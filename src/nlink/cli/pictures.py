"""`nlink plot` and `nlink animate`: a run as pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from nlink._support.progress import Bar
from nlink.cli.common import load_run, pair

RunFile = Annotated[Path, typer.Argument(help="A run (.nc).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def plot(
    run: RunFile,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Any of angles, unwrapped, rates, positions, velocities, paths, tip, coupler, energy, reactions; "
            "all that suit the run if not given."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder for the plots.")] = None,
    kind: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
    size: Annotated[str, typer.Option(metavar="WxH", help="Size in inches.")] = "8x5",
    font: Annotated[float, typer.Option(help="Font size in points.")] = 11.0,
    dpi: Annotated[float, typer.Option(help="Dots an inch of png.")] = 150.0,
    quiet: Quiet = False,
) -> None:
    """Draw a run: angles, rates, paths, energies, forces."""
    from nlink.view.plot import save_plots

    loaded = load_run(run)
    folder = output or run.with_name(f"{run.stem}-plots")
    with Bar("drawing", not quiet) as bar:
        files = save_plots(
            loaded, folder, names=names or None, format=kind, size=pair("--size", size), fontsize=font, dpi=dpi, progress=bar.update
        )
    if not quiet:
        typer.echo("\n".join(str(file) for file in files))


def animate(
    run: RunFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .gif, .mp4 or .html; a live window if not given."),
    ] = None,
    speed: Annotated[float, typer.Option(help="1 is real time, 2 twice as fast.")] = 1.0,
    fps: Annotated[float, typer.Option(help="Frames a second of a .gif or .mp4.")] = 50.0,
    size: Annotated[str, typer.Option(metavar="WxH", help="Size in pixels of a .gif or .mp4.")] = "640x640",
    trail: Annotated[float, typer.Option(help="Seconds shown of the path of the last end, or of a closed chain's middle.")] = 1.0,
    hinges: Annotated[bool, typer.Option("--hinges/--no-hinges", help="Show the hinges.")] = True,
    timer: Annotated[bool, typer.Option("--timer/--no-timer", help="Show the time.")] = True,
    centres: Annotated[bool, typer.Option("--centres/--no-centres", help="Show the centres of mass.")] = False,
    style: Annotated[str, typer.Option(help="bar or line.")] = "bar",
    quiet: Quiet = False,
) -> None:
    """Animate a run: a GIF or MP4, a page for the browser, or a live window."""
    from nlink.view.animate import animate as write
    from nlink.view.live import has_display, live

    loaded = load_run(run)
    width, height = pair("--size", size)
    look: dict[str, Any] = {"speed": speed, "fps": fps, "size": (round(width), round(height)), "trail": trail}
    look |= {"hinges": hinges, "timer": timer, "centres": centres, "style": style}
    if output is None and has_display():
        live(loaded, **look)
        return
    path = output or run.with_suffix(".gif")
    with Bar("animating", not quiet) as bar:
        write(loaded, path, **look, progress=bar.update)
    if not quiet:
        typer.echo(str(path))
        if output is None:
            print("nlink: there is no display for a live window, so the animation was written to a file", file=sys.stderr)
