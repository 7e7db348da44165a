"""`nlink stability`: where along a load, or in the plane of two parameters, a chain loses its stability, and how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from nlink._support.checks import ModelError, number
from nlink._support.endings import PAGE, PICTURES, check_ending
from nlink._support.progress import Bar
from nlink.cli import options
from nlink.cli.common import Table, chains, parameter, picture_size, read_scenario, values_between
from nlink.cli.common import about as near
from nlink.cli.options import AnyModel, Csv, Json, Links, Quiet, Set, Size, Theme, Title
from nlink.cli.report import Report, titled
from nlink.scenario import Scenario

if TYPE_CHECKING:
    from nlink.analysis.stability import Critical
    from nlink.mechanics.chain import Multibody

MOST_LOADS = 24
"""Most loads at which limit cycles are measured."""


def stability(
    model: AnyModel,
    vary: Annotated[str, typer.Option(help=options.VARIED)] = "follower",
    low: options.Low = 0.0,
    high: options.High = 1.0,
    points: options.Count = 200,
    vary2: Annotated[str | None, typer.Option(help="A second parameter: a map of both.")] = None,
    low2: Annotated[float, typer.Option("--from2", help="First value of the second parameter.")] = 0.0,
    high2: Annotated[float, typer.Option("--to2", help="Last value of the second parameter.")] = 1.0,
    points2: Annotated[int, typer.Option(help="Number of values of the second parameter.")] = 200,
    about: Annotated[
        str | None,
        typer.Option(help="The equilibrium, or the driven motion, near this: down, up, or an angle in degrees for each link."),
    ] = None,
    amplitudes: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help=f"Measure limit cycles: run the chain for this time at up to {MOST_LOADS} loads."),
    ] = None,
    links: Links = None,
    settings: Set = None,
    title: Title = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The picture (.png, .svg, .pdf; a map also .html).")] = None,
    size: Size = None,
    theme: Theme = None,
    csv: Csv = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say at which loads a chain loses its stability, by flutter or by divergence, and draw how its eigenvalues move.

    Examples: nlink stability follower-5 --vary follower --from 0 --to 0.4 -o locus.png |
    nlink stability follower-5 --from 0 --to 0.4 --vary2 damping --from2 0 --to2 0.02 -o map.html |
    nlink stability kapitza --about up --vary "links[0].motion.amplitude" --from 0.001 --to 0.1
    """
    if output is not None:
        check_ending("--output", output, PICTURES if vary2 is None else (*PICTURES, PAGE))
    name, table, scenario = read_scenario(model, {"links": links, "title": title}, settings)
    report, (key, label) = Report(as_json, quiet, output, csv, theme, picture_size(size)), parameter("--vary", vary)
    loads, theta = values_between("--from", "--to", low, high, points), near(about, scenario.chain)
    if about is None and scenario.chain.closed and scenario.chain.prescribed.any():
        theta = list(scenario.theta)
    if vary2 is not None:
        key2, label2 = parameter("--vary2", vary2)
        second = values_between("--from2", "--to2", low2, high2, points2)
        _map(scenario, chains(name, table, key, key2), (loads, second), (label, label2), theta, report)
    elif amplitudes is not None:
        _cycles(scenario, chains(name, table, key), loads, label, number("--amplitudes", amplitudes, above=0), report)
    else:
        _line(scenario, chains(name, table, key), loads, label, theta, report)


def _line(
    scenario: Scenario,
    chain_of: Callable[[float], Multibody],
    loads: np.ndarray,
    label: str,
    theta: list[float] | None,
    report: Report,
) -> None:
    from nlink.analysis.stability import critical_load
    from nlink.analysis.stability_map import locus

    criticals, reason = [], ""
    try:
        criticals = critical_load(chain_of, (float(loads[0]), float(loads[-1])), theta=theta, later=True)
    except ModelError as error:
        if "stability does not change" not in str(error):
            raise
        reason = str(error)
    assert isinstance(criticals, list)
    rows = [critical.to_dict() for critical in criticals]
    data: Table = {"varied": label, "from": loads[0], "to": loads[-1], "critical": rows}
    report.show(lambda: data, lambda: titled(scenario, _critical_lines(criticals, label) or [f"  {reason}"]))
    if report.output is None and report.csv is None:
        return
    with Bar("eigenvalues", not report.quiet) as bar:
        paths = locus(chain_of, loads, theta, progress=bar.update)
    n = paths.eigenvalues.shape[1]
    names = ["load", *(f"re_{k + 1}" for k in range(n)), *(f"im_{k + 1}" for k in range(n))]
    report.write_csv(names, np.column_stack([paths.loads, paths.eigenvalues.real, paths.eigenvalues.imag]))
    if report.output is not None:
        from nlink.view.stability import locus_figure

        report.draw(locus_figure, paths, criticals, label, title=scenario.title)


def _critical_lines(criticals: list[Critical], label: str) -> list[str]:
    out = []
    for critical in criticals:
        what = f"{critical.kind} {'begins' if critical.lost else 'ends'} at {label.split(' (')[0]} = {critical.load:.12g}"
        unit = label.split(" (")[1].rstrip(")") if " (" in label else ""
        swing = f", {critical.frequency:.12g} rad/s ({critical.frequency / 2 / np.pi:.6g} Hz)" if critical.frequency else ""
        out.append(f"  {what} {unit}".rstrip() + swing)
    return out


def _map(
    scenario: Scenario,
    chain_of: Callable[[float, float], Multibody],
    values: tuple[np.ndarray, np.ndarray],
    labels: tuple[str, str],
    theta: list[float] | None,
    report: Report,
) -> None:
    from nlink.analysis.stability_map import KINDS, stability_map
    from nlink.view.map_page import shares, shares_text, stability_page
    from nlink.view.words import scenario_lines

    x, y = values
    with Bar("stability map", not report.quiet) as bar:
        chart = stability_map(chain_of, x, y, theta, progress=bar.update)
    rows = {"x": x.tolist(), "y": y.tolist(), "kinds": KINDS, "kind": chart.kind.tolist()}
    line = f"  {len(x)} x {len(y)} chains: {shares_text(chart)}"
    report.show(lambda: {"varied": labels, "shares": shares(chart)} | rows, lambda: titled(scenario, [line]), indent=None)
    grid = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    report.write_csv(["x", "y", "kind", "growth"], np.column_stack([grid, chart.kind.ravel(), chart.growth.ravel()]))
    if report.output is not None and report.output.suffix == PAGE:
        told = {"title": scenario.title, "lines": scenario_lines(scenario), "theme": report.theme}
        stability_page(chart, *labels, **told, path=report.output)
        report.wrote(report.output)
    elif report.output is not None:
        from nlink.view.stability import map_figure

        report.draw(map_figure, chart, *labels, title=scenario.title)


def _cycles(
    scenario: Scenario, chain_of: Callable[[float], Multibody], loads: np.ndarray, label: str, seconds: float, report: Report
) -> None:
    from nlink.analysis.cycle import amplitudes

    loads = np.linspace(loads[0], loads[-1], min(len(loads), MOST_LOADS))
    with Bar("limit cycles", not report.quiet) as bar:
        cycles = amplitudes(chain_of, loads, np.full(scenario.chain.n, 0.05), t_end=seconds, progress=bar.update)
    lines, data, columns = [f"  {label:>24}  last link swings  period s"], [], []
    for load, cycle in zip(loads.tolist(), cycles, strict=True):
        swing = f"{np.degrees(cycle.amplitude[-1]):>12.2f} deg {cycle.period:>9.4f}" if cycle else "    no limit cycle"
        lines.append(f"  {load:>24.6g}{swing}")
        amplitude, period = (cycle.amplitude.tolist(), cycle.period) if cycle else (None, None)
        data.append({"load": load, "amplitude": amplitude, "period": period})
        columns.append((load, cycle.amplitude[-1], cycle.period) if cycle else (load, 0.0, np.nan))
    report.show(lambda: {"varied": label, "cycles": data}, lambda: titled(scenario, lines))
    report.write_csv(["load", "amplitude", "period"], np.array(columns))
    if report.output is not None:
        from nlink.view.stability import amplitude_figure

        report.draw(amplitude_figure, loads, cycles, label, title=scenario.title)
