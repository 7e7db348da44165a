"""`nlink plot` and `nlink animate`: a run as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nlink._support.checks import choice
from nlink._support.endings import ANIMATIONS, FORMATS, check_ending
from nlink._support.progress import Bar
from nlink.cli.common import check_folder, numbers_of_links, pair, picture_size, point_of, titled_run
from nlink.cli.options import Format, Quiet, RunFile, Size, Theme, Title

POINT = "A point: its link (from 1), its distance in m along the link (without it the tip) and to the left."


def plot(
    run: RunFile,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Any of angles, unwrapped, rates, phase, positions, velocities, paths, tip, coupler, energy, reactions; in space "
            "any of inclination, azimuth, rates, positions, velocities, paths, tip, energy, momentum, reactions, tensions; "
            "without names all that suit the run."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder for the plots.")] = None,
    links: Annotated[str | None, typer.Option(metavar="LIST", help="The links that are shown, from 1, like 1,3-5.")] = None,
    trace: Annotated[
        list[str] | None, typer.Option(metavar="LINK,ALONG,LEFT", help=f"{POINT} It replaces the link ends; may be repeated.")
    ] = None,
    first: Annotated[float | None, typer.Option("--from", help="First time of the plot, in s.")] = None,
    last: Annotated[float | None, typer.Option("--to", help="Last time of the plot, in s.")] = None,
    kind: Format = "png",
    size: Size = None,
    font: Annotated[float | None, typer.Option(help="Font size in points. Without it: one that suits the size.")] = None,
    title: Title = None,
    theme: Theme = None,
    dpi: Annotated[float, typer.Option(help="Resolution of a png in dots per inch.")] = 150.0,
    quiet: Quiet = False,
) -> None:
    """Draw a run: angles, rates, phase portraits, paths, energies, forces.

    Examples: nlink plot run.nc | nlink plot run.nc phase angles --links 1,3-5 --from 2 --to 8 --size column --theme dark
    """
    from nlink.view.plot import save_plots

    folder = output or run.with_name(f"{run.stem}-plots")
    check_folder(folder, "plots")
    choice("--format", kind, FORMATS)
    loaded = titled_run(run, title)
    points = None if trace is None else [point_of(text, loaded.chain.n) for text in trace]
    with Bar("drawing", not quiet) as bar:
        files = save_plots(
            loaded, folder, names=names or None, links=None if links is None else numbers_of_links(links, loaded.chain.n),
            trace=points, t=(first, last), format=kind, size=picture_size(size),
            fontsize=font, theme=theme, dpi=dpi, progress=bar.update,
        )  # fmt: skip
    if not quiet:
        typer.echo("\n".join(str(file) for file in files))


def animate(
    run: RunFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A .gif, .mp4 or .html. Without it: a live window.")] = None,
    speed: Annotated[
        float | None,
        typer.Option(help="1 is real time, 2 twice as fast. Without it: 1, or slow motion for a run shorter than half a second."),
    ] = None,
    fps: Annotated[float, typer.Option(help="Frames per second of a .gif or .mp4.")] = 50.0,
    size: Annotated[str, typer.Option(metavar="WxH", help="Size in pixels of a .gif or .mp4.")] = "640x640",
    trail: Annotated[
        float, typer.Option(help="Length in s of the trail of the last end, or of the middle of a closed chain.")
    ] = 1.0,
    trace: Annotated[
        str | None, typer.Option(metavar="LINK,ALONG,LEFT", help=f"{POINT} It draws the trail in place of the last end.")
    ] = None,
    hinges: Annotated[bool, typer.Option("--hinges/--no-hinges", help="Show the hinges.")] = True,
    timer: Annotated[bool, typer.Option("--timer/--no-timer", help="Show the time.")] = True,
    centres: Annotated[bool, typer.Option("--centres/--no-centres", help="Show the centres of mass.")] = False,
    style: Annotated[str, typer.Option(help="bar or line.")] = "bar",
    azimuth: Annotated[
        float | None, typer.Option(help="In space: degrees from the front to the right from which the chain is seen.")
    ] = None,
    elevation: Annotated[float | None, typer.Option(help="In space: degrees upwards from which the chain is seen.")] = None,
    turn: Annotated[float, typer.Option(help="In space: degrees a second by which the view turns.")] = 0.0,
    title: Title = None,
    theme: Theme = None,
    quiet: Quiet = False,
) -> None:
    """Animate a run: a GIF or MP4, a page for the browser, or a live window."""
    from nlink.view.animate import animate as write
    from nlink.view.live import has_display, live
    from nlink.view.looks import Look

    if output is not None:
        check_ending("--output", output, ANIMATIONS)
    loaded = titled_run(run, title)
    width, height = pair("--size", size, "640x480")
    point = None if trace is None else point_of(trace, loaded.chain.n)
    look = Look((round(width), round(height)), trail, hinges, timer, centres, style, theme, point, azimuth, elevation, turn)
    if output is None and has_display():
        live(loaded, speed=speed, fps=fps, **vars(look))
        return
    path = output or run.with_suffix(".gif")
    with Bar("animating", not quiet) as bar:
        write(loaded, path, speed=speed, fps=fps, **vars(look), progress=bar.update)
    if not quiet:
        typer.echo(str(path))
        if output is None:
            typer.echo("nlink: there is no display for a live window, so the animation was written to a file", err=True)
