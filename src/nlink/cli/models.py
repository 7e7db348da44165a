"""`nlink presets` and `nlink show`: what there is, and what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from nlink import scenario as scenarios
from nlink.cli.common import Table, load_run, model_table
from nlink.cli.options import Json
from nlink.cli.report import aligned
from nlink.cli.texts import run_state, sketch
from nlink.scenario import Scenario
from nlink.view.endings import RUN
from nlink.view.words import saved_text, scenario_lines


def presets(as_json: Json = False) -> None:
    """List the presets with a line each."""
    titles = {name: scenarios.preset_table(name)["title"] for name in scenarios.presets()}
    if as_json:
        typer.echo(json.dumps(titles, indent=2))
    else:
        width = max(map(len, titles))
        typer.echo("\n".join(f"{name:<{width}}  {title}" for name, title in titles.items()))


def show(
    model: Annotated[str, typer.Argument(help="A preset, a model file (.toml) or a run (.nc).")],
    as_json: Json = False,
) -> None:
    """Print a system, its parameters and a sketch of its start."""
    if model.endswith((RUN, f"{RUN}.part")):
        run = load_run(Path(model), newest=True)
        scenario, state = run.scenario, run_state(run)
    else:
        name, table = model_table(model)
        scenario, state = Scenario.from_dict(table, where=name), {}
    typer.echo(json.dumps(scenario.to_dict() | state, indent=2) if as_json else _text(scenario, model, state))


def _text(scenario: Scenario, name: str, state: Table) -> str:
    settings = scenario.settings
    method = "chosen by nlink" if settings.integrator is None else settings.integrator
    facts = [("run", f"to t = {settings.t_end:g} s, saved {saved_text(settings)}"), ("method", f"{settings.formulation}, {method}")]
    facts += [("tolerance", f"rtol {settings.rtol:g}, atol {settings.atol:g}")]
    facts += [("state", f"{state['message']}; {state['points']:,} points saved")] if state else []
    lines = [scenario.title or name, *(f"  {key:<10} {text}" for key, text in [*scenario_lines(scenario), *facts])]
    lines += ["", *_links(scenario), ""]
    last = "X pin" if scenario.chain.pin else "O last end"
    lines += [f"  at the start (+ pivot, o hinge, {last}):", sketch(scenario.chain, np.array(scenario.theta))]
    return "\n".join(lines)


def _links(scenario: Scenario) -> list[str]:
    """Return the table of links in lines; neighbours that are equal in all values share a row."""
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
    return aligned([head, *((f"{a}" if a == b else f"{a}-{b}", *row) for (a, b), row in zip(spans, rows, strict=True))])
