"""`nlink map`: a quantity of the motion over a plane of starts or parameters: a picture, a page, the data."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from nlink._support.checks import ModelError, shown, whole
from nlink.cli.common import free_name, model_table, pair
from nlink.cli.run import INTERRUPTED, changed

if TYPE_CHECKING:
    from nlink.analysis.maps import Map
    from nlink.scenario import Scenario

PICTURES, DATA = (".png", ".svg", ".pdf", ".html"), (".nc", ".csv")


def chart(
    quantity: Annotated[
        str,
        typer.Argument(help="flip, link, ftle, energy, steps, or like 'largest_theta[2]'; or a map (.nc) to zoom into or redraw."),
    ],
    model: Annotated[
        str | None, typer.Argument(help="A preset (see `nlink presets`) or a model file; equal rods if not given.")
    ] = None,
    links: Annotated[int | None, typer.Option("--links", "-n", help="Number of links of a uniform chain; 2 if not given.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the model.")] = None,
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
    store: Annotated[Path | None, typer.Option(help="A folder (.zarr) for what is done: the same command goes on with it.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; as many as there are cores if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Draw when links turn over, how fast neighbours part, or another quantity, over a plane of starts or parameters.

    Examples: nlink map flip --size 1000x1000 -o flip.png | nlink map flip --region 60,120,60,120 -o zoom.png |
    nlink map flip --links 3 --at 90 --x theta1 --y theta3 -o slice.html | nlink map flip.nc --region 60,90,60,90
    """
    _refuse(output, data)
    asked: dict[str, Any] = {"until": until, "region": region, "size": size and _size(size)}
    with_model = {"--links": links, "--set": settings, "--x": x, "--y": y, "--at": at, "the model": model}
    run: dict[str, Any] = {"threads": threads, "store": store, "progress": not quiet}
    began = time.perf_counter()
    if quantity.endswith(".nc"):
        found, scenario, stem = _again(Path(quantity), asked, [key for key, value in with_model.items() if value], run)
    else:
        name, table = model_table(model) if model else ("map", {"links": 2})
        scenario = changed(name, table, {"links": links}, settings or [])
        shared = {"at": scenario.theta if at is None else _angles(at), "omega": scenario.omega}
        found = _made(scenario.chain, quantity, {"x": x or "theta1", "y": y, **shared}, asked, run)
        stem = f"{found.quantity}-{name}"
    wall = time.perf_counter() - began
    pictures = output is None and data is None and not as_json
    output = free_name(stem.replace("[", "-").replace("]", ""), ".png") if pictures else output
    _report(found, scenario, wall, as_json, quiet)
    for path in (output, data):
        if path is not None:
            _write(found, scenario, path)
            if not quiet:
                print(f"nlink: wrote {path}", file=sys.stderr)


def _again(path: Path, asked: dict[str, Any], refused: list[str], run: dict[str, Any]) -> tuple[Map, Scenario, str]:
    """Return the map of a file, or its region made anew."""
    from nlink.analysis.mapfile import load_map
    from nlink.scenario import Scenario

    if refused:
        raise ModelError(f"a map from a file keeps its chain and its plane; leave {refused[0]} out, or give a quantity instead")
    found = load_map(path)
    plane = found.plane
    if any(value is not None for value in asked.values()):
        size = asked["size"] or found.values.shape[::-1]
        kept = {"until": asked["until"] or plane.t_end, "region": asked["region"], "size": size}
        start = {"x": plane.x.name, "y": plane.y.name, "at": plane.theta, "omega": plane.omega}
        found = _made(plane.chain, found.quantity, start, kept, run, found.region)
    return found, Scenario(plane.chain, tuple(plane.theta)), f"{path.stem}-zoom"


def _made(chain: Any, quantity: str, start: dict[str, Any], asked: dict[str, Any], run: dict[str, Any], region: Any = None) -> Map:
    from nlink.analysis.maps import chaos_map
    from nlink.analysis.plane import axis
    from nlink.ensemble import Threads

    axes = [axis("--x", start["x"], chain), axis("--y", start["y"] or ("theta2" if chain.n > 1 else "omega1"), chain)]
    region = _region(asked["region"], axes) if asked["region"] else region
    backend = Threads(whole("--threads", run["threads"])) if run["threads"] is not None else None
    options = {"backend": backend, "store": run["store"], "progress": run["progress"]}
    try:
        return chaos_map(chain, quantity, **start, t_end=asked["until"], region=region, size=asked["size"] or (400, 400), **options)
    except KeyboardInterrupt as error:
        rest = "the same command goes on" if run["store"] else "nothing is kept; with --store map.zarr the same command could go on"
        print(f"nlink: {str(error).partition(';')[0] or 'interrupted'}; {rest}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _refuse(output: Path | None, data: Path | None) -> None:
    """Fail before the work, not after it."""
    for option, path, endings in (("--output", output, PICTURES + DATA), ("--data", data, DATA)):
        if path is not None and path.suffix not in endings:
            raise ModelError(f"{option} must end in {', '.join(endings)}, got {path}")
        if path is not None and not path.parent.is_dir():
            raise OSError(f"there is no folder {path.parent} for {path.name}; make it, or give another place")


def _size(text: str) -> tuple[int, int]:
    width, height = pair("--size", text)
    if width != int(width) or height != int(height):
        raise ModelError(f"--size must be whole numbers of pixels, like 400x400, got {shown(text)}")
    return whole("--size", int(width)), whole("--size", int(height))


def _numbers(option: str, text: str, like: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ModelError(f"{option} must be numbers with commas between them, like {like}, got {shown(text)}") from None


def _angles(text: str) -> Any:
    angles = np.radians(_numbers("--at", text, "90 or 0,90,0")).tolist()
    return angles[0] if len(angles) == 1 else angles


def _region(text: str, axes: list[Any]) -> Any:
    """Read the edges of a region; the whole turn comes out as exactly that."""
    edges = _numbers("--region", text, "-180,180,-90,90")
    if len(edges) != 4:
        raise ModelError(f"--region must be four numbers x0,x1,y0,y1, got {shown(text)}")
    kinds = [axis.kind for axis in axes for _ in range(2)]
    return [float(np.radians(edge)) if kind == "theta" else edge for edge, kind in zip(edges, kinds, strict=True)]


def _report(found: Map, scenario: Scenario, wall: float, as_json: bool, quiet: bool) -> None:
    from nlink.view.maps import summary
    from nlink.view.words import scenario_lines

    if as_json:
        typer.echo(json.dumps(_table(found, wall), indent=2))
    elif not quiet:
        x0, x1, y0, y1 = _shown(found)
        plane = f"{found.plane.x.name} from {x0:.6g} to {x1:.6g}, {found.plane.y.name} from {y0:.6g} to {y1:.6g}"
        lines = [*scenario_lines(scenario), ("plane", plane), ("map", summary(found)), ("time", f"{wall:.3g} s")]
        typer.echo("\n".join([scenario.title] * bool(scenario.title) + [f"  {key:<10} {text}" for key, text in lines]))


def _shown(found: Map) -> tuple[float, ...]:
    from nlink.view.maps import shown_region

    return shown_region(found)


def _table(found: Map, wall: float) -> dict[str, Any]:
    known = found.values[np.isfinite(found.values)]
    return {
        "quantity": found.quantity,
        "unit": found.unit,
        "x": found.plane.x.name,
        "y": found.plane.y.name,
        "region": list(found.region),
        "size": [len(found.x), len(found.y)],
        "t_end": found.plane.t_end,
        "least": float(known.min()) if len(known) else None,
        "largest": float(known.max()) if len(known) else None,
        "finite": float(np.isfinite(found.values).mean()),
        "forbidden": float(found.forbidden.mean()),
        "settings": found.settings,
        "wall": wall,
    }


def _write(found: Map, scenario: Scenario, path: Path) -> None:
    if path.suffix in DATA:
        from nlink.analysis.mapfile import save_map

        save_map(found, path)
    elif path.suffix == ".html":
        from nlink.view.maps import chaos_page
        from nlink.view.words import scenario_lines

        chaos_page(found, "", scenario_lines(scenario), path)
    else:
        from nlink.view.maps import save_map_picture

        save_map_picture(found, path)
