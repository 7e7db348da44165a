"""The tasks of a worker. A task takes the request of the page and an Outbox, and ends with one message, its result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nlink._support.checks import ModelError, choice
from nlink.analysis.compare import Row, compare
from nlink.analysis.equilibrium import equilibrium
from nlink.analysis.linearize import FLAT, Mode, linearize
from nlink.analysis.space_modes import steady_state, swings
from nlink.analysis.stability import Critical, critical_load
from nlink.analysis.stability_map import locus, stability_map
from nlink.analysis.trust import parted
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.model import SpatialChain
from nlink.run.run import Run
from nlink.scenario import Scenario
from nlink.studio import flips
from nlink.studio.endless import endless
from nlink.studio.mathml import mathml
from nlink.studio.messages import Json, checked, counted, ranged, with_value
from nlink.studio.motion import SERIES, continued, motion, opened
from nlink.studio.offers import refuse
from nlink.studio.prepare import prepare
from nlink.studio.ranges import ends
from nlink.studio.space import shown_rows, tilted
from nlink.studio.taking import take
from nlink.studio.worker import Outbox
from nlink.view.map_page import map_content, stability_layers
from nlink.view.modes_page import modes_content
from nlink.view.packing import packed
from nlink.view.sampling import finite, spread_rows
from nlink.view.space.modes_page import space_modes_content
from nlink.view.takes import ROOM, motion_data, run_content
from nlink.view.words import scenario_lines

SMALLEST = 1e-16
"""Differences are drawn by their logarithms, from here on."""


def copies(request: Json, out: Outbox) -> None:
    """Run a model several times, its first free angle each time a little further, and show how the copies part.

    Of a chain in space the first link is turned further from straight down.
    """
    scenario = checked(request["model"])
    count, apart = counted(request, "copies", 2, 12), ranged({"from": 0.0, "apart": request.get("apart")}, "from", "apart")[1]
    runs, settings = [], replace(scenario.settings, flips="off")
    for k in range(count):
        out.progress(k, count)
        runs.append(finite(replace(_moved(scenario, k * apart), settings=settings).run()))
    t = min((run.t for run in runs), key=len)
    content = run_content(runs[0], ROOM // count)
    spread = np.max([parted(scenario.chain, run.position[: len(t)], runs[0].position) for run in runs[1:]], axis=0)
    content["others"] = [_ghost(f"copy {k + 2}", run, count) for k, run in enumerate(runs[1:])]
    content["apart"] = [_series("largest difference of an angle", t, spread)]
    out.end("done", **packed(content))


def _moved(scenario: Scenario, angle: float) -> Scenario:
    """Return a scenario whose first free angle is so much further."""
    if scenario.chain.spatial:
        return tilted(scenario, angle)
    moved = _first_angle(scenario.chain)
    return replace(scenario, theta=tuple(value + angle * (i == moved) for i, value in enumerate(scenario.theta)))


def _first_angle(model: Multibody) -> int:
    """Return the first body whose angle is free; the first free one if none turns."""
    if not isinstance(model, Mechanism):
        return 0
    if not model.freedom:
        raise ModelError("the drives prescribe the whole motion, so copies cannot part; take one away")
    free = np.flatnonzero(~model.prescribed)
    return int(free[np.argmin(model.slides[free])])


def compared(request: Json, out: Outbox) -> None:
    """Run a chain in several formulations, and show how far they agree."""
    scenario = checked(request["model"])
    comparison = compare(scenario, request.get("formulations") or None)
    rows = [row for row in comparison.rows if row.run is not None]
    if not rows:
        raise ModelError(comparison.rows[0].status.message)
    content = run_content(rows[0].run, ROOM // len(rows))  # pyright: ignore[reportArgumentType]
    names = _names(rows)
    content["others"] = [_ghost(name, row.run, len(rows)) for name, row in zip(names[1:], rows[1:], strict=True) if row.run]
    content["apart"] = [_series(name, comparison.t, row.difference) for name, row in zip(names, rows, strict=True)]
    out.end("done", **packed(content), table=comparison.to_dict())


def _names(rows: list[Row]) -> list[str]:
    """Return what each row is called: its formulation, with its integrator where another row has the same one."""
    forms = [row.formulation for row in rows]
    methods = [row.integrator.partition("(")[0] for row in rows]
    return [form if forms.count(form) == 1 else f"{form}, {method}" for form, method in zip(forms, methods, strict=True)]


def _ghost(name: str, run: Run, count: int) -> Json:
    """Return a motion that is shown over another one."""
    rows = spread_rows(len(run.t), max(2, ROOM // count // run.chain.n))
    return {"name": name, **motion_data(run.t[rows], *shown_rows(run.chain, run, rows), run.chain)}


def _series(name: str, t: np.ndarray, values: np.ndarray) -> Json:
    """Return the logarithm of a difference over time."""
    good = np.flatnonzero(np.isfinite(values[: len(t)]))
    rows = good[spread_rows(len(good), SERIES)]
    return {"name": name, "t": t[rows], "values": np.log10(np.maximum(values[rows], SMALLEST))}


def modes(request: Json, out: Outbox) -> None:
    """Find an equilibrium, from rest or from the start, and its modes."""
    scenario = checked(request["model"])
    start = choice("from", request.get("from", "rest"), ("rest", "start")) == "start"
    if isinstance(scenario.chain, SpatialChain):
        state = steady_state(scenario.chain, *((scenario.theta, scenario.omega) if start else ()))
        moves = swings(state)
        content, found = space_modes_content(scenario, state, moves), [move.mode for move in moves]
        grows = any(mode.growth > FLAT * max(each.undamped for each in found) for mode in found)
        out.end("done", **packed(content), table=_table(found), rate=state.rate, stable=not grows)
        return
    rest = equilibrium(scenario.chain, scenario.theta if start else None)
    small = linearize(scenario.chain, rest.theta)
    content = modes_content(scenario, small, small.table())
    out.end("done", **packed(content), table=_table(small.table()), stable=bool(rest.stable))


def _table(modes: list[Mode]) -> list[list[float]]:
    """Return frequency in rad/s and Hz, damping ratio and growth of each mode."""
    return [[mode.frequency, mode.frequency / (2 * math.pi), mode.ratio, mode.growth] for mode in modes]


def stability(request: Json, out: Outbox) -> None:
    """Follow the eigenvalues along one value of the model, or map stability over two."""
    model, key = request["model"], request.get("vary", "")
    refuse("stability", checked(model).chain)
    chain_of = _chains(model, key)
    with_value(model, key, 0.0)
    low, high = ends(request, key, chain_of, "low", "high")
    if request.get("vary2"):
        _map(request, key, (low, high), out)
        return
    loads = np.linspace(low, high, 161)
    paths = locus(chain_of, loads, progress=_every(out))
    values = paths.eigenvalues
    out.end(
        "done",
        loads=loads.tolist(),
        growth=values.real.T.tolist(),
        frequency=values.imag.T.tolist(),
        **_critical(chain_of, low, high),
    )


def _chains(model: Json, *keys: str) -> Callable[..., Multibody]:
    def chain_of(*values: float) -> Multibody:
        changed = model
        for key, value in zip(keys, values, strict=True):
            changed = with_value(changed, key, value)
        return Scenario.from_dict(changed, where="model").chain

    return chain_of


def _critical(chain_of: Callable[..., Multibody], low: float, high: float) -> Json:
    try:
        found = critical_load(chain_of, (low, high), later=True)
    except ModelError as error:
        return {"critical": [], "reason": str(error)}
    criticals = [found] if isinstance(found, Critical) else found
    return {"critical": [critical.to_dict() for critical in criticals], "reason": ""}


def _map(request: Json, key: str, across: tuple[float, float], out: Outbox) -> None:
    second = request["vary2"]
    with_value(request["model"], second, 0.0)
    low, high = ends(request, second, _chains(request["model"], second), "low2", "high2")
    x, y = np.linspace(*across, 100), np.linspace(low, high, 80)
    chart = stability_map(_chains(request["model"], key, second), x, y, progress=_every(out))
    out.end("done", **packed(map_content(x, y, stability_layers(chart), _label(key), _label(second), "Stability")))


def _label(key: str) -> str:
    return key.removeprefix("loads.").replace("_", " ")


def _every(out: Outbox) -> Callable[[int, int], None]:
    """Return a progress function that speaks a few times a second."""
    last = [0.0]

    def progress(done: int, total: int) -> None:
        out.look()
        if time.perf_counter() - last[0] > 0.15:
            last[0] = time.perf_counter()
            out.progress(done, total)

    return progress


def flip_map(request: Json, out: Outbox) -> None:
    """Map the time to the first flip over a plane of starts, coarse first."""
    scenario = checked(request["model"])
    grid = flips.Grid.of(request, scenario.chain)
    for content in flips.passes(scenario, grid):
        out.send("plane", **packed(content), t_end=grid.t_end)
        out.look()
    out.end("done")


def equations(request: Json, out: Outbox) -> None:
    """Derive and typeset the equations of motion."""
    scenario = checked(request["model"])
    title, parts, latex = mathml(scenario.chain)
    out.end("done", title=title, parts=parts, latex=latex, words=scenario_lines(scenario))


TASKS: dict[str, Callable[[Json, Outbox], None]] = {
    "run": motion,
    "continue": continued,
    "endless": endless,
    "prepare": prepare,
    "open": opened,
    "take": take,
    "copies": copies,
    "compare": compared,
    "modes": modes,
    "stability": stability,
    "flips": flip_map,
    "equations": equations,
}
