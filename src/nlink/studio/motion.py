"""The task that simulates: a run in slices, sent to the page as it grows, and saved.

Each slice takes about SLICE seconds of work and is resumed from the one before: resumption is exact to the last bit, so the
numbers are those of an uninterrupted run, and it needs no file to be watched and no hook in the loop of `simulate`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from nlink._support.checks import ModelError
from nlink.mechanics.loads import JointTorque
from nlink.run.file import load
from nlink.run.readout import Trajectory
from nlink.run.run import Run, Status
from nlink.scenario import LostFunction, Scenario
from nlink.studio.messages import Json, checked, in_words, page_model, told
from nlink.studio.space import shown_rows, start_data
from nlink.studio.worker import Outbox
from nlink.view.packing import packed
from nlink.view.sampling import finite, spread_rows
from nlink.view.takes import run_content

SLICE = 0.12
"""Seconds of work after which new points go to the page."""
QUIET = 0.2
"""Seconds before a run is saved, in which the page may ask for another one: someone moves a slider."""
FIRST = 50
"""Saved points of the first slice."""
LIVE = 60_000
"""Most angles that are sent while a run is computed."""
SERIES = 1200
"""Points of a line that is sent only to be drawn."""


def motion(request: Json, out: Outbox) -> None:
    """Simulate, sending new points after each slice; save the run to the scratch file that the server names."""
    scenario = checked(request["model"])
    try:
        _follow(None, scenario, request, out)
    except ModelError as error:
        raise told(error, request["model"]) from None


def continued(request: Json, out: Outbox) -> None:
    """Go on with a run that was stopped; the server has found its file."""
    run = load(Path(request["path"]))
    _follow(run, run.scenario, request, out)


def _follow(earlier: Run | None, scenario: Scenario, request: Json, out: Outbox) -> None:
    """Simulate from the start, or go on with a run, to the end of the scenario; send the points, then the whole."""
    out.send("begin", chain=start_data(scenario), t_end=scenario.settings.t_end)
    stride, sent, run = _stride(scenario), 0, None
    for run in _slices(earlier, scenario, out):
        sent = _send_new(run, sent, stride, out)
    assert run is not None
    asked = replace(run.scenario.settings, t_end=scenario.settings.t_end)
    run.scenario = replace(run.scenario, settings=asked, title=scenario.title)
    show(run, request, out)


def _slices(run: Run | None, scenario: Scenario, out: Outbox) -> Iterator[Run]:
    """Yield the run as it grows."""
    settings = scenario.settings
    whole, save = settings.t_end, 0.0 if isinstance(settings.save, tuple) else settings.save
    pieces = max(1, math.floor(abs(whole) / save)) if save else 1
    done, size = math.floor(abs(run.t[-1]) / save) if run is not None and save else 0, min(pieces, FIRST)
    while done < pieces:
        done = min(pieces, done + size)
        target = whole if done == pieces else math.copysign(done * save, whole)
        spent = 0.0 if run is None else run.stats.wall
        if run is None:
            run = replace(scenario, settings=replace(settings, t_end=target)).run(strict=False)
        else:
            run = run.resume(target, strict=False)
        size = max(1, min(4 * size, int(size * SLICE / max(run.stats.wall - spent, 1e-4))))
        if out.stopping and run.status.code == "finished" and done < pieces:
            run.status = Status("interrupted", f"stopped by the user at t = {run.t[-1]:g} s", "resume the run to go on")
        if run.status.code == "interrupted":
            out.stop()
        yield run
        out.wanted()
        if run.status.code != "finished":
            return


def _stride(scenario: Scenario) -> int:
    """Return the stride of the saved points that are sent while a run is computed."""
    save = scenario.settings.save
    points = len(save) if isinstance(save, tuple) else abs(scenario.settings.t_end) / save
    return max(1, math.ceil(points * scenario.chain.n / LIVE))


def _send_new(run: Run, sent: int, stride: int, out: Outbox) -> int:
    rows = np.arange(sent, len(run.t), stride)
    if not len(rows):
        return sent
    values, rates = shown_rows(run.chain, Trajectory(run.t, run.position, run.velocity, run.acceleration), rows)
    energy, start = run.energy(), run.kinetic[0] + run.potential[0]
    out.send(
        "points",
        t=run.t[rows].tolist(),
        theta=np.round(values, 6).tolist(),
        omega=np.round(rates, 5).tolist(),
        kinetic=(run.kinetic[rows] - run.kinetic[0]).tolist(),
        potential=(run.potential[rows] - run.potential[0]).tolist(),
        total=(run.kinetic[rows] + run.potential[rows] - start).tolist(),
        residual=energy.residual[rows].tolist(),
        steps=run.stats.steps,
    )
    return int(rows[-1]) + stride


def show(run: Run, request: Json, out: Outbox) -> None:
    """Send the content of the player, then save the run: the page does not wait for the file."""
    content, shown = run_content(run), finite(run)
    residual = shown.energy().residual
    rows = spread_rows(len(residual), SERIES)
    content["residual"] = {"t": shown.t[rows], "values": residual[rows]}
    largest = float(np.abs(residual).max(initial=0.0))
    said = run.status.message if run.status.code == "interrupted" else str(run.status)
    method = str(run.meta.get("integrator", ""))
    told = {"status": run.status.code, "message": in_words(said), "residual": largest, "wall": run.stats.wall, "integrator": method}
    out.wanted()
    out.send("content", **packed(content), told=told)
    out.wanted(QUIET)
    kept = bool(request.get("scratch"))
    if kept:
        run.save(request["scratch"])
    out.end("done", kept=kept, status=run.status.code, resumable=run.status.code == "interrupted" and run.resumable)


def opened(request: Json, out: Outbox) -> None:
    """Read a saved run; the server has found its file."""
    run = load(Path(request["path"]))
    out.send("model", model=_model(run.scenario))
    show(run, request | {"scratch": None}, out)


def _model(scenario: Scenario) -> Json:
    """Return a model as the page edits it, without a torque function that its file does not hold: a hand, for one."""
    model, torque = page_model(scenario), scenario.chain.load(JointTorque)
    if torque and isinstance(torque.torque, LostFunction):
        model["loads"].pop(torque.name)
    return model
