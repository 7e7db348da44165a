"""`nlink stability`: where along a load, or in the plane of two parameters, a chain loses its stability, and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from nlink._support.checks import ModelError, number
from nlink._support.progress import Bar
from nlink.cli.common import model_table
from nlink.cli.run import changed
from nlink.cli.varying import chains, draw, stretch, varied, write_csv, wrote
from nlink.scenario import Scenario

if TYPE_CHECKING:
    from nlink.analysis.stability import Critical
    from nlink.mechanics.chain import Chain


def stability(
    model: Annotated[str, typer.Argument(help="A preset (see `nlink presets`) or a model file.")],
    vary: Annotated[
        str, typer.Option(help="What is varied: follower, damping, stiffness, gravity, or a key of the model.")
    ] = "follower",
    low: Annotated[float, typer.Option("--from", help="Where it begins.")] = 0.0,
    high: Annotated[float, typer.Option("--to", help="Where it ends.")] = 1.0,
    points: Annotated[int, typer.Option(help="Values on the way.")] = 200,
    vary2: Annotated[str | None, typer.Option(help="A second parameter: a map of both.")] = None,
    low2: Annotated[float, typer.Option("--from2", help="Where the second begins.")] = 0.0,
    high2: Annotated[float, typer.Option("--to2", help="Where the second ends.")] = 1.0,
    points2: Annotated[int, typer.Option(help="Values of the second.")] = 200,
    amplitudes: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Run the chain so long at up to 24 loads and measure its limit cycles.")
    ] = None,
    links: Annotated[int | None, typer.Option("--links", "-n", help="Number of links of a uniform chain.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the model.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The picture (.png, .svg, .pdf; a map also .html).")] = None,
    csv: Annotated[Path | None, typer.Option(help="The numbers behind the picture as CSV.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Say at which loads a chain loses its stability, by flutter or by divergence, and draw how its eigenvalues move.

    Examples: nlink stability follower-5 --vary follower --from 0 --to 0.4 -o locus.png |
    nlink stability follower-5 --from 0 --to 0.4 --vary2 damping --from2 0 --to2 0.02 -o map.html
    """
    name, table = model_table(model)
    scenario = changed(name, table, {"links": links}, settings or [])
    key, label = varied(vary)
    first = stretch("--from", "--to", low, high, points)
    if vary2 is not None:
        second = stretch("--from2", "--to2", low2, high2, points2)
        _map(scenario, name, table, (key, label, first), (*varied(vary2), second), output, csv, as_json, quiet)
        return
    chain_of = chains(name, table, key)
    if amplitudes is not None:
        _cycles(scenario, chain_of, label, first, number("--amplitudes", amplitudes, above=0), output, csv, as_json, quiet)
        return
    _line(scenario, chain_of, label, first, output, csv, as_json, quiet)


def _line(
    scenario: Scenario, chain_of: Callable[[float], Chain], label: str, loads: np.ndarray, output: Path | None, csv: Path | None,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    from nlink.analysis.stability import critical_load
    from nlink.analysis.stability_map import locus

    try:
        found: Any = critical_load(chain_of, (float(loads[0]), float(loads[-1])), later=True)
        reason = ""
    except ModelError as error:
        if "stability does not change" not in str(error):
            raise
        found, reason = [], str(error)
    if as_json:
        rows = [{"load": c.load, "kind": c.kind, "frequency": c.frequency, "lost": c.lost} for c in found]
        typer.echo(json.dumps({"varied": label, "from": loads[0], "to": loads[-1], "critical": rows}, indent=2))
    elif not quiet:
        typer.echo("\n".join([scenario.title] * bool(scenario.title) + (_told(found, label) or [f"  {reason}"])))
    if output is None and csv is None:
        return
    with Bar("eigenvalues", not quiet) as bar:
        paths = locus(chain_of, loads, progress=bar.update)
    if csv is not None:
        values = np.column_stack([paths.loads, paths.eigenvalues.real, paths.eigenvalues.imag])
        n = paths.eigenvalues.shape[1]
        names = ["load", *(f"re_{k + 1}" for k in range(n)), *(f"im_{k + 1}" for k in range(n))]
        write_csv(csv, names, values, quiet)
    if output is not None:
        from nlink.view.stability import locus_figure

        draw(locus_figure(paths, found, label, scenario.title), output, quiet)


def _told(found: list[Critical], label: str) -> list[str]:
    out = []
    for critical in found:
        what = f"{critical.kind} {'begins' if critical.lost else 'ends'} at {label.split(' (')[0]} = {critical.load:.12g}"
        unit = label.split(" (")[1].rstrip(")") if " (" in label else ""
        swing = f", {critical.frequency:.12g} rad/s ({critical.frequency / 2 / np.pi:.6g} Hz)" if critical.frequency else ""
        out.append(f"  {what} {unit}".rstrip() + swing)
    return out


def _map(
    scenario: Scenario, name: str, table: dict[str, Any], first: tuple[str, str, np.ndarray], second: tuple[str, str, np.ndarray],
    output: Path | None, csv: Path | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    from nlink.analysis.stability_map import KINDS, stability_map

    (key, label, x), (key2, label2, y) = first, second
    with Bar("stability map", not quiet) as bar:
        found = stability_map(chains(name, table, key, key2), x, y, progress=bar.update)
    shares = {kind: float((found.kind == k).mean()) for k, kind in enumerate(KINDS)}
    if as_json:
        rows = {"x": x.tolist(), "y": y.tolist(), "kinds": KINDS, "kind": found.kind.tolist()}
        typer.echo(json.dumps({"varied": [label, label2], "shares": shares} | rows))
    elif not quiet:
        told = ", ".join(f"{kind} {100 * share:.1f} %" for kind, share in shares.items() if share)
        typer.echo("\n".join([scenario.title] * bool(scenario.title) + [f"  {len(x)} x {len(y)} chains: {told}"]))
    if csv is not None:
        grid = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
        values = np.column_stack([grid, found.kind.ravel(), found.growth.ravel()])
        write_csv(csv, ["x", "y", "kind", "growth"], values, quiet)
    if output is not None and output.suffix == ".html":
        from nlink.view.map_page import stability_page
        from nlink.view.words import scenario_lines

        stability_page(found, label, label2, scenario.title, scenario_lines(scenario), output)
        wrote(output, quiet)
    elif output is not None:
        from nlink.view.stability import map_figure

        draw(map_figure(found, label, label2, scenario.title), output, quiet)


def _cycles(
    scenario: Scenario, chain_of: Callable[[float], Chain], label: str, loads: np.ndarray, seconds: float, output: Path | None,
    csv: Path | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    from nlink.analysis.cycle import amplitudes

    loads = np.linspace(loads[0], loads[-1], min(len(loads), 24))
    with Bar("limit cycles", not quiet) as bar:
        found = amplitudes(chain_of, loads, np.full(scenario.chain.n, 0.05), t_end=seconds, progress=bar.update)
    swings = [cycle.amplitude[-1] if cycle else 0.0 for cycle in found]
    periods = [cycle.period if cycle else float("nan") for cycle in found]
    if as_json:
        rows: list[dict[str, Any]] = [{"load": load, "amplitude": None, "period": None} for load in loads.tolist()]
        for row, cycle in zip(rows, found, strict=True):
            if cycle:
                row |= {"amplitude": cycle.amplitude.tolist(), "period": cycle.period}
        typer.echo(json.dumps({"varied": label, "cycles": rows}, indent=2))
    elif not quiet:
        lines = [scenario.title] * bool(scenario.title) + [f"  {label:>24}  last link swings  period s"]
        for load, swing, period in zip(loads, swings, periods, strict=True):
            lines.append(f"  {load:>24.6g}" + (f"{np.degrees(swing):>12.2f} deg {period:>9.4f}" if swing else "    no limit cycle"))
        typer.echo("\n".join(lines))
    if csv is not None:
        write_csv(csv, ["load", "amplitude", "period"], np.column_stack([loads, swings, periods]), quiet)
    if output is not None:
        from nlink.view.stability import amplitude_figure

        draw(amplitude_figure(loads, found, label, scenario.title), output, quiet)
