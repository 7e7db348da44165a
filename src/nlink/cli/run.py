"""`nlink run`: simulate a preset or a model file, keep the run, say what happened."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from nlink._support.checks import ModelError
from nlink._support.endings import NUMBERS, RUN, check_ending
from nlink.cli.codes import INTERRUPTED
from nlink.cli.common import Table, free_name, load_run, read_scenario
from nlink.cli.options import Json, Links, Model, Quiet, Set, Title
from nlink.cli.report import Report, exit_code, system_lines
from nlink.scenario import Scenario
from nlink.view.words import run_lines

if TYPE_CHECKING:
    from nlink.run.run import Run


def run(
    model: Model = None,
    links: Links = None,
    until: Annotated[float | None, typer.Option("--until", "-t", help="End of the run in s; negative runs backwards.")] = None,
    formulation: Annotated[str | None, typer.Option(help="Like recursive, momentum, maximal, 'Natural(...)'.")] = None,
    integrator: Annotated[str | None, typer.Option(help="Like DOP853, RK45, 'RK4(step=0.001)', Gauss, Taylor, Radau.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.")] = None,
    settings: Set = None,
    title: Title = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to save the run (.nc).")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Continue a saved run to --until.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Compute the time until which the run can be trusted, by independent runs.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the model and say what would be run.")] = False,
) -> None:
    """Simulate a chain or a mechanism, save the run, and print what happened.

    Examples: nlink run | nlink run chaotic-3 --until 5 | nlink run my.toml --set loads.joint_damper=0.1 -o my.nc
    """
    from nlink.simulation.integrate import SimulationError

    if output is not None:
        check_ending("--output", output, (RUN,), NUMBERS)
    changes = {"links": links, "title": title, "run.t_end": until, "run.formulation": formulation, "run.integrator": integrator}
    changes |= {"run.rtol": rtol, "run.atol": atol}
    taken = ""
    if resume is not None:
        if model or settings or any(value is not None for name, value in changes.items() if name != "run.t_end"):
            raise ModelError(
                "--resume goes on with the run as it is; of the other options only --until, -o, -q and --json go with it"
            )
        path, earlier = output or resume, load_run(resume, newest=True)
        if until is None and earlier.status.code == "finished":
            raise ModelError(f"{resume} has reached its end, t = {earlier.t[-1]:g} s; give a later one with --until")
        scenario, simulate = earlier.scenario, partial(earlier.resume, until)
    else:
        name, _, scenario = read_scenario(model, changes, settings)
        path, simulate = output or free_name(name, RUN), scenario.run
        taken = f" ({name}{RUN} is there already)" if not output and path.name != f"{name}{RUN}" else ""
    if dry_run:
        return _dry_run(scenario, path)
    try:
        result = simulate(file=path, progress=not quiet)
    except SimulationError as error:
        status = error.status
        _report(error.run, path, as_json, quiet, taken)
        rest = {"interrupted": f"go on with: nlink run --resume {path}", "inaccurate": f"the run is in {path}"}
        remedy = f"; {status.remedy}" if status.remedy and status.code != "interrupted" else ""
        typer.echo(f"nlink: {status.message}{remedy}; {rest.get(status.code, f'the part before is in {path}')}", err=True)
        raise typer.Exit(exit_code(status)) from None
    if trust:
        _trust(result, path, quiet)
    _report(result, path, as_json, quiet, taken)
    return None


def _dry_run(scenario: Scenario, path: Path) -> None:
    from nlink.formulations import formulate
    from nlink.integrators import method_for
    from nlink.integrators.save_times import save_times
    from nlink.mechanics.loop_closure import started

    settings = scenario.settings
    system = formulate(scenario.chain, settings.formulation)
    if system.chain.closed:
        started(system.chain, scenario.theta, scenario.omega)
    method = method_for(system, settings.integrator, settings.rtol, settings.atol)
    points = save_times(settings.save, settings.t_end).total
    lines = [("method", f"{system.asked.described()}, {method.described()}")]
    lines += [("would run", f"to t = {settings.t_end:g} s, {points} points"), ("would save", str(path))]
    typer.echo("\n".join(system_lines(scenario, lines)))


def _trust(result: Run, path: Path, quiet: bool) -> None:
    """Put the trusted time into the run and its file."""
    from nlink.analysis.trust import ANGLE, trusted_until

    try:
        result.trusted_until = trusted_until(result, progress=not quiet)
    except KeyboardInterrupt:
        typer.echo(f"nlink: interrupted; the run is in {path}, without the time until which it is trusted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    result.meta["trusted_angle"] = ANGLE
    result.save(path)


def _report(result: Run, path: Path, as_json: bool, quiet: bool, taken: str) -> None:
    Report(as_json, quiet).show(
        lambda: run_table(result, path), lambda: system_lines(result.scenario, [*run_lines(result), ("saved", f"{path}{taken}")])
    )


def run_table(run: Run, path: Path) -> Table:
    """Return what happened in a run as plain data."""
    residual = np.abs(run.energy().residual)
    return {
        "title": run.scenario.title,
        "links": run.chain.n,
        **run_state(run),
        "formulation": run.meta.get("formulation"),
        "integrator": run.meta.get("integrator"),
        "steps": run.stats.steps,
        "rejected": run.stats.rejected,
        "evaluations": run.stats.nfev,
        "wall": run.stats.wall,
        "energy_residual": float(residual.max()) if len(residual) else None,
        "start": run.meta.get("start", {}),
        "work": {name: float(values[-1]) for name, values in run.work.items() if len(values)},
        "trusted_until": run.trusted_until,
        "events": [{"t": event.t, "name": event.name, **event.info} for event in run.events],
        "file": str(path),
    }


def run_state(run: Run) -> Table:
    """Return how far a run has come as plain data."""
    last = float(run.t[-1]) if len(run.t) else None
    return {"status": run.status.code, "message": str(run.status), "t": last, "points": len(run.t)}
