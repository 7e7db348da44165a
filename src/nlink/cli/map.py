"""`nlink map`: a quantity of the motion over a plane of starts or parameters: a picture, a page, the data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from nlink._support.checks import ModelError, shown, whole
from nlink._support.endings import PAGE, PICTURES, RUN, TABLE, check_ending
from nlink.cli.codes import INTERRUPTED
from nlink.cli.common import Table, chain_of, changed, free_name, model_table, pair
from nlink.cli.options import MODELS, Json, Quiet, Set, Theme, Title, models
from nlink.cli.report import Report, system_lines
from nlink.scenario import Scenario

if TYPE_CHECKING:
    from nlink.analysis.maps import Map
    from nlink.analysis.plane import Axis
    from nlink.mechanics.chain import Multibody

DATA = (RUN, TABLE)


def chart(
    quantity: Annotated[
        str,
        typer.Argument(help="flip, link, ftle, energy, steps, or like 'largest_theta[2]'; or a map (.nc) to zoom into or redraw."),
    ] = "flip",
    model: Annotated[str | None, typer.Argument(autocompletion=models, help=f"{MODELS}; equal rods if not given.")] = None,
    links: Annotated[int | None, typer.Option("--links", "-n", help="Number of links of a uniform chain; 2 if not given.")] = None,
    settings: Set = None,
    x: Annotated[str | None, typer.Option("--x", help="Across: theta1, omega2, mass[2], gravity, ...")] = None,
    y: Annotated[str | None, typer.Option("--y", help="Up; theta2 if not given.")] = None,
    region: Annotated[
        str | None, typer.Option(metavar="X0,X1,Y0,Y1", help="The edges: angles in degrees, all else in SI units.")
    ] = None,
    size: Annotated[str | None, typer.Option(metavar="WIDTHxHEIGHT", help="Pixels; 400x400 if not given.")] = None,
    at: Annotated[str | None, typer.Option(metavar="DEGREES", help="Angles of the other links: one, or all N, by commas.")] = None,
    until: Annotated[
        float | None, typer.Option("--until", "-t", help="Length of the motions in s; 40 sqrt(l/g) if not given.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The picture (.png, .svg, .pdf) or page (.html).")] = None,
    data: Annotated[Path | None, typer.Option(help="The data (.nc, .csv).")] = None,
    store: Annotated[Path | None, typer.Option(help="Checkpoint folder (.zarr); rerun the same command to resume.")] = None,
    title: Title = None,
    theme: Theme = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads; one for each core if not given.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw when links turn over, how fast neighbours part, or another quantity, over a plane of starts or parameters.

    Examples: nlink map flip --size 1000x1000 -o flip.png | nlink map flip --region 60,120,60,120 -o zoom.png |
    nlink map flip --links 3 --at 90 --x theta1 --y theta3 -o slice.html | nlink map flip.nc --region 60,90,60,90
    """
    _refuse(output, data)
    own = {"t_end": until, "region": region or None, "size": _size(size) if size else None}
    own = {name: value for name, value in own.items() if value is not None}
    with_model = {"--links": links, "--set": settings, "--x": x, "--y": y, "--at": at, "the model": model}
    began = time.perf_counter()
    if quantity.endswith(RUN):
        result = _loaded(Path(quantity), [key for key, value in with_model.items() if value])
        plane, stem = result.plane, f"{Path(quantity).stem}-zoom"
        scenario = Scenario(plane.chain, tuple(plane.theta))
        request = {"x": plane.x.name, "y": plane.y.name, "at": plane.theta, "omega": plane.omega, "t_end": plane.t_end}
        request |= {"region": result.region, "size": result.values.shape[::-1]}
        result = _map(plane.chain, result.quantity, request | own, threads, store, quiet) if own else result
    else:
        name, table = model_table(model) if model else ("map", Table(links=2))
        scenario = changed(name, table, {"links": links, "title": title}, settings)
        chain_of(name, scenario, "maps are drawn of", "in Python give its starts to nlink.simulate_many")
        theta = scenario.theta if at is None else _angles(at)
        request = {"x": x or "theta1", "y": y, "at": theta, "omega": scenario.omega, "size": (400, 400)}
        result = _map(scenario.chain, quantity, request | own, threads, store, quiet)
        stem = f"{result.quantity}-{name}"
    wall = time.perf_counter() - began
    if output is None and data is None and not as_json:
        output = free_name(stem.replace("[", "-").replace("]", ""), PICTURES[0])
    report = Report(as_json, quiet)
    report.show(lambda: _table(result, wall), lambda: system_lines(scenario, _lines(result, wall)))
    for path in (output, data):
        if path is not None:
            _write(result, scenario, path, title or "", theme)
            report.wrote(path)


def _loaded(path: Path, refused: list[str]) -> Map:
    """Return the map of a file; refuse options that would change its chain or its plane."""
    from nlink.analysis.mapfile import load_map

    if refused:
        raise ModelError(f"a map from a file keeps its chain and its plane; leave {refused[0]} out, or give a quantity instead")
    return load_map(path)


def _map(chain: Multibody, quantity: str, request: dict[str, Any], threads: int | None, store: Path | None, quiet: bool) -> Map:
    """Compute a map by the arguments of `chaos_map`; a region that is a text has its angles in degrees."""
    from nlink.analysis.maps import chaos_map
    from nlink.analysis.plane import axis
    from nlink.ensemble import Threads

    axes = [axis("--x", request["x"], chain), axis("--y", request["y"] or ("theta2" if chain.n > 1 else "omega1"), chain)]
    if isinstance(request.get("region"), str):
        request = request | {"region": _region(request["region"], axes)}
    backend = Threads(whole("--threads", threads)) if threads is not None else None
    try:
        return chaos_map(chain, quantity, **request, backend=backend, store=store, progress=not quiet)
    except KeyboardInterrupt as error:
        rest = "the same command goes on" if store else "nothing is kept; with --store map.zarr the same command could go on"
        typer.echo(f"nlink: {str(error).partition(';')[0] or 'interrupted'}; {rest}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _refuse(output: Path | None, data: Path | None) -> None:
    """Refuse files that cannot be written, before the work."""
    for option, path, endings in (("--output", output, (*PICTURES, PAGE, *DATA)), ("--data", data, DATA)):
        if path is None:
            continue
        check_ending(option, path, endings)
        if not path.parent.is_dir():
            raise OSError(f"there is no folder {path.parent} for {path.name}; make it, or give another place")


def _size(text: str) -> tuple[int, int]:
    width, height = pair("--size", text, "400x400")
    if width != int(width) or height != int(height):
        raise ModelError(f"--size must be whole numbers of pixels, like 400x400, got {shown(text)}")
    return whole("--size", int(width)), whole("--size", int(height))


def _numbers(option: str, text: str, like: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ModelError(f"{option} must be numbers with commas between them, like {like}, got {shown(text)}") from None


def _angles(text: str) -> float | list[float]:
    angles = np.radians(_numbers("--at", text, "90 or 0,90,0")).tolist()
    return angles[0] if len(angles) == 1 else angles


def _region(text: str, axes: list[Axis]) -> list[float]:
    """Read the edges of a region, angles in degrees."""
    edges = _numbers("--region", text, "-180,180,-90,90")
    if len(edges) != 4:
        raise ModelError(f"--region must be four numbers x0,x1,y0,y1, got {shown(text)}")
    kinds = [axis.kind for axis in axes for _ in range(2)]
    return [float(np.radians(edge)) if kind == "theta" else edge for edge, kind in zip(edges, kinds, strict=True)]


def _lines(result: Map, wall: float) -> list[tuple[str, str]]:
    from nlink.view.maps import shown_region, summary

    x0, x1, y0, y1 = shown_region(result)
    plane = f"{result.plane.x.name} from {x0:.6g} to {x1:.6g}, {result.plane.y.name} from {y0:.6g} to {y1:.6g}"
    return [("plane", plane), ("map", summary(result)), ("time", f"{wall:.3g} s")]


def _table(result: Map, wall: float) -> Table:
    known = result.values[np.isfinite(result.values)]
    return {
        "quantity": result.quantity,
        "unit": result.unit,
        "x": result.plane.x.name,
        "y": result.plane.y.name,
        "region": list(result.region),
        "size": [len(result.x), len(result.y)],
        "t_end": result.plane.t_end,
        "least": float(known.min()) if len(known) else None,
        "largest": float(known.max()) if len(known) else None,
        "finite": float(np.isfinite(result.values).mean()),
        "forbidden": float(result.forbidden.mean()),
        "settings": result.settings,
        "wall": wall,
    }


def _write(result: Map, scenario: Scenario, path: Path, title: str, theme: str | None) -> None:
    if path.suffix in DATA:
        from nlink.analysis.mapfile import save_map

        save_map(result, path)
    elif path.suffix == PAGE:
        from nlink.view.maps import chaos_page
        from nlink.view.words import scenario_lines

        chaos_page(result, title=title, lines=scenario_lines(scenario), path=path, theme=theme)
    else:
        from nlink.view.maps import save_map_picture

        save_map_picture(result, path, title=title, theme=theme)
