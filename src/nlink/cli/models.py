"""`nlink presets` and `nlink show`: what there is, and what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from nlink import scenario as scenarios
from nlink.cli.common import load_run, model_table
from nlink.cli.texts import run_state, sketch
from nlink.scenario import Scenario
from nlink.view.words import scenario_lines


def presets(as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """List the presets with a line each."""
    titles = {name: scenarios.preset_table(name)["title"] for name in scenarios.presets()}
    if as_json:
        typer.echo(json.dumps(titles, indent=2))
    else:
        width = max(map(len, titles))
        typer.echo("\n".join(f"{name:<{width}}  {title}" for name, title in titles.items()))


def show(
    model: Annotated[str, typer.Argument(help="A preset, a model file (.toml) or a run (.nc).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Print a system, its parameters and a sketch of its start."""
    if model.endswith((".nc", ".nc.part")):
        run = load_run(Path(model), newest=True)
        scenario, said = run.scenario, run_state(run)
    else:
        name, table = model_table(model)
        scenario, said = Scenario.from_dict(table, where=name), {}
    typer.echo(json.dumps(scenario.to_dict() | said, indent=2) if as_json else _text(scenario, model, said))


def _text(scenario: Scenario, name: str, said: dict[str, Any]) -> str:
    settings = scenario.settings
    save = f"at {len(settings.save)} times" if isinstance(settings.save, tuple) else f"every {settings.save:g} s"
    method = "chosen by nlink" if settings.integrator is None else settings.integrator
    lines = [scenario.title or name, *(f"  {key:<10} {value}" for key, value in scenario_lines(scenario))]
    lines += [f"  {'run':<10} to t = {settings.t_end:g} s, saved {save}", f"  {'method':<10} {settings.formulation}, {method}"]
    lines += [f"  {'tolerance':<10} rtol {settings.rtol:g}, atol {settings.atol:g}"]
    lines += [f"  {'state':<10} {said['message']}; {said['points']:,} points saved"] if said else []
    lines += ["", _links(scenario), ""]
    last = "X pin" if scenario.chain.pin else "O last end"
    lines += [f"  at the start (+ pivot, o hinge, {last}):", sketch(scenario.chain, np.array(scenario.theta))]
    return "\n".join(lines)


def _links(scenario: Scenario) -> str:
    """Return the table of links; a run of links that are equal in all is one row."""
    head = ("link", "length m", "mass kg", "com m", "offset m", "inertia kg m2", "theta deg", "omega rad/s")
    rows: list[tuple[str, ...]] = []
    spans: list[list[int]] = []
    for i, link in enumerate(scenario.chain.links):
        values = (link.length, link.mass, link.com, link.offset, link.inertia, np.degrees(scenario.theta[i]), scenario.omega[i])  # pyright: ignore[reportIndexIssue]
        row = tuple(f"{v:.6g}" for v in values)
        if rows and rows[-1] == row:
            spans[-1][1] = i + 1
        else:
            rows.append(row)
            spans.append([i + 1, i + 1])
    table = [head, *((f"{a}" if a == b else f"{a}-{b}", *row) for (a, b), row in zip(spans, rows, strict=True))]
    widths = [max(len(row[k]) for row in table) for k in range(len(head))]
    return "\n".join("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
