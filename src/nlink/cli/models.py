"""`nlink presets` and `nlink show`: what there is, and what it is."""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from nlink import scenario as scenarios
from nlink._support.endings import RUN
from nlink.cli.common import Table, changed, load_run, model_table
from nlink.cli.options import Json, models
from nlink.cli.report import aligned, system_lines
from nlink.cli.run import run_state
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import Mechanism
from nlink.scenario import Scenario
from nlink.view.outline import ground_marks, outline
from nlink.view.words import saved_text


def presets(as_json: Json = False) -> None:
    """List the presets with a line each."""
    titles = {name: scenarios.preset_table(name)["title"] for name in scenarios.presets()}
    if as_json:
        typer.echo(json.dumps(titles, indent=2))
    else:
        width = max(map(len, titles))
        typer.echo("\n".join(f"{name:<{width}}  {title}" for name, title in titles.items()))


def show(
    model: Annotated[str, typer.Argument(autocompletion=models, help="A preset, a model file (.toml) or a run (.nc).")],
    as_json: Json = False,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print it as a model file, every value explicit.")] = False,
) -> None:
    """Print a system, its parameters and a sketch of its start.

    Examples: nlink show nice-3 | nlink show chaotic-5 --toml > my.toml
    """
    if model.endswith((RUN, f"{RUN}.part")):
        run = load_run(Path(model), newest=True)
        scenario, state = run.scenario, run_state(run)
        method = _method(scenario, run.meta)
    else:
        name, table = model_table(model)
        scenario, state = changed(name, table, {}, None), {}
        method = _method(scenario, {})
    if as_toml:
        typer.echo(scenario.to_toml(), nl=False)
        return
    typer.echo(json.dumps(scenario.to_dict() | state, indent=2) if as_json else _text(scenario, model, state, method))


def _method(scenario: Scenario, meta: Table) -> str:
    """Return formulation and integrator: those that a run took by its meta, else those that the model asks for."""
    settings = scenario.settings
    integrator = meta.get("integrator", settings.integrator) or "chosen by nlink"
    return f"{meta.get('formulation', settings.formulation)}, {integrator}"


def _text(scenario: Scenario, name: str, state: Table, method: str) -> str:
    settings = scenario.settings
    facts = [("run", f"to t = {settings.t_end:g} s, saved {saved_text(settings)}"), ("method", method)]
    facts += [("tolerance", f"rtol {settings.rtol:g}, atol {settings.atol:g}")]
    facts += [("state", f"{state['message']}; {state['points']:,} points saved")] if state else []
    lines = [*([] if scenario.title else [name]), *system_lines(scenario, facts), "", *_links(scenario), ""]
    last = "X pin" if scenario.chain.closed else "# slider" if scenario.chain.slides.any() else "O last end"
    lines += [f"  at the start (+ pivot, o hinge, {last}):", sketch(scenario.chain, np.array(scenario.theta))]
    return "\n".join(lines)


def _links(scenario: Scenario) -> list[str]:
    """Return the table of links in lines; neighbours that are equal in all values share a row."""
    head = ("link", "length m", "mass kg", "com m", "offset m", "inertia kg m2", "theta deg", "omega rad/s")
    rows: list[tuple[str, ...]] = [head]
    chain, last = scenario.chain, 0
    columns = chain.length, chain.mass, chain.com, chain.offset, chain.inertia, np.degrees(scenario.theta), np.array(scenario.omega)
    for row, equal in groupby(tuple(f"{value:.6g}" for value in values) for values in zip(*columns, strict=True)):
        first, last = last + 1, last + len(list(equal))
        rows.append((f"{first}" if first == last else f"{first}-{last}", *row))
    return aligned(rows)


def sketch(chain: Multibody, theta: np.ndarray, width: int = 56, height: int = 18) -> str:
    """Draw a model in characters: pivots +, pins X, link ends o, the last of an open chain O, sliders #, links dotted."""
    drawn, (pivots, pins) = outline(chain, theta), ground_marks(chain)
    points = drawn.places(theta)
    seen = np.concatenate([points, pivots, pins])
    low, high = seen.min(0), seen.max(0)
    cell = max((high[0] - low[0]) / (width - 1), 2 * (high[1] - low[1]) / (2 * height - 2), 1e-9)
    columns, rows = round((high[0] - low[0]) / cell) + 1, round((high[1] - low[1]) / (2 * cell)) + 1
    grid = [[" "] * columns for _ in range(rows)]

    def dot(point: np.ndarray, mark: str) -> None:
        column, row = round((point[0] - low[0]) / cell), round((high[1] - point[1]) / (2 * cell))
        grid[min(row, rows - 1)][min(column, columns - 1)] = mark

    lines, last = drawn.lines(points), -1 if chain.closed or isinstance(chain, Mechanism) else chain.n
    for a, b in [pair for pair in pairwise(lines) if np.isfinite(pair).all()]:
        for share in np.linspace(0, 1, 2 + int(4 * np.hypot(*(b - a)) / cell)):
            dot(a + share * (b - a), ".")
    for point in dict.fromkeys(p for shape in drawn.shapes for p in shape):
        dot(points[point], "O" if point == last else "o")
    for block in drawn.blocks:
        dot(points[block.point], "#")
    for mark, grounds in zip("X+", (pins, pivots), strict=True):
        for point in grounds:
            dot(point, mark)
    return "\n".join("    " + "".join(row).rstrip() for row in grid)
