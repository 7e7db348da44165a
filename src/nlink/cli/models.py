"""`nlink presets` and `nlink show`: what there is, and what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from nlink import scenario as scenarios
from nlink._support.endings import RUN
from nlink.cli.common import Table, changed, load_run, model_table
from nlink.cli.options import Json, models
from nlink.cli.report import aligned, by_link, system_lines
from nlink.cli.run import run_state
from nlink.cli.space import in_space
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.points import GROUND, Point, ends
from nlink.mechanics.space.model import SpatialChain
from nlink.scenario import Scenario
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
    last = "X pin" if scenario.chain.closed else "O last end"
    marks = f"+ pivot, o hinge, {last}"
    if isinstance(scenario.chain, Mechanism):
        marks = ", ".join(["+ ground", *["# slider"] * bool(scenario.chain.slides.any()), "o hinge", last.replace("last", "free")])
    if scenario.chain.spatial:
        start, marks = scenario.chain.start(scenario.theta, scenario.omega)[0], f"{marks}; seen from the front"
    else:
        start = np.array(scenario.theta)
    lines += [f"  at the start ({marks}):", sketch(scenario.chain, start)]
    return "\n".join(lines)


def _links(scenario: Scenario) -> list[str]:
    """Return the table of links in lines; neighbours that are equal in all values share a row."""
    if isinstance(scenario.chain, Mechanism):
        return _bodies(scenario.chain, scenario)
    if isinstance(scenario.chain, SpatialChain):
        return in_space(scenario.chain, scenario)
    head = ("link", "length m", "mass kg", "com m", "offset m", "inertia kg m2", "theta deg", "omega rad/s")
    chain = scenario.chain
    columns = chain.length, chain.mass, chain.com, chain.offset, chain.inertia, np.degrees(scenario.theta), np.array(scenario.omega)
    return aligned([head, *by_link(tuple(f"{value:.6g}" for value in values) for values in zip(*columns, strict=True))])


def _bodies(model: Mechanism, scenario: Scenario) -> list[str]:
    """Return the table of bodies in lines: what each is, on which it hangs, and where."""
    head = ("body", "kind", "on", "at m", "length m", "mass kg", "com m", "offset m", "inertia kg m2", "start", "rate")
    rows: list[tuple[str, ...]] = [head]
    starts = zip(scenario.theta, np.broadcast_to(scenario.omega, model.n).tolist(), strict=True)
    for i, (body, on, (q, v)) in enumerate(zip(model.links, model.parents.tolist(), starts, strict=True)):
        slide = isinstance(body, Slider)
        place = "tip" if body.at is None and on >= 0 else ", ".join(f"{x:.6g}" for x in np.atleast_1d(body.at or (0.0, 0.0)))
        numbers = (f"{value:.6g}" for value in (body.length, body.mass, body.com, body.offset, body.inertia))
        start = (f"{q:.6g} m", f"{v:.6g} m/s") if slide else (f"{np.degrees(q):.6g} deg", f"{v:.6g} rad/s")
        rows.append((f"{i + 1}", "slider" if slide else "link", f"{on + 1}" if on >= 0 else "ground", place, *numbers, *start))
    return aligned(rows)


def sketch(chain: Multibody, theta: np.ndarray, width: int = 56, height: int = 18) -> str:
    """Draw a system in characters: grounds as +, pins as X, link ends as o, free ones as O, sliders as #, the rest dotted."""
    lines = kinematics.segments(chain, theta)[..., :2]
    pins = kinematics.points(chain, theta, _pinned(chain))
    seen = np.concatenate([lines.reshape(-1, 2), pins[..., :2]])
    low, high = seen.min(0), seen.max(0)
    cell = max((high[0] - low[0]) / (width - 1), 2 * (high[1] - low[1]) / (2 * height - 2), 1e-9)
    columns, rows = round((high[0] - low[0]) / cell) + 1, round((high[1] - low[1]) / (2 * cell)) + 1
    grid = [[" "] * columns for _ in range(rows)]

    def dot(point: np.ndarray, mark: str) -> None:
        column, row = round((point[0] - low[0]) / cell), round((high[1] - point[1]) / (2 * cell))
        grid[min(row, rows - 1)][min(column, columns - 1)] = mark

    for a, b in lines:
        for share in np.linspace(0, 1, 2 + int(4 * np.hypot(*(b - a)) / cell)):
            dot(a + share * (b - a), ".")
    parents = chain.parents.tolist()
    free = {*range(chain.n)} - {*parents} if not chain.closed else set()
    for i, (_, end) in enumerate(lines):
        dot(end, "#" if chain.slides[i] else "O" if i in free else "o")
    for pin in pins:
        dot(pin, "X")
    for (begin, _), parent in zip(lines, parents, strict=True):
        if parent == GROUND:
            dot(begin, "+")
    return "\n".join("    " + "".join(row).rstrip() for row in grid)


def _pinned(chain: Multibody) -> list[Point]:
    """Return the points that are held: of a mechanism one of each pin, guide and bar."""
    if isinstance(chain, Mechanism):
        return [point for closure in chain.pins for point in ends(closure)[:1]]
    return [chain.pin] if chain.pin else []
