"""`nlink run`: simulate a preset or a model file, keep the run, say what happened."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nlink._support.checks import ModelError
from nlink.cli.common import DEFAULT, free_name, load_run, model_table, put, put_text
from nlink.cli.texts import run_table
from nlink.scenario import Scenario
from nlink.view.words import run_lines, scenario_lines

if TYPE_CHECKING:
    from nlink.run.run import Run, Status

FAILED, INTERRUPTED = 4, 130


def run(
    model: Annotated[
        str | None, typer.Argument(help=f"A preset (see `nlink presets`) or a model file; {DEFAULT} if not given.")
    ] = None,
    links: Annotated[int | None, typer.Option("--links", "-n", help="Number of links of a uniform chain.")] = None,
    until: Annotated[float | None, typer.Option("--until", "-t", help="End of the run in s; negative runs backwards.")] = None,
    formulation: Annotated[str | None, typer.Option(help="Like recursive, momentum, maximal, 'Natural(...)'.")] = None,
    integrator: Annotated[str | None, typer.Option(help="Like DOP853, RK45, 'RK4(step=0.001)', Gauss, Taylor, Radau.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the model.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to save the run (.nc).")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Go on with a saved run, to --until.")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Say until when the run can be trusted, by independent runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the model and say what would be run.")] = False,
) -> None:
    """Simulate a chain, save the run, and print what happened.

    Examples: nlink run | nlink run chaotic-3 --until 5 | nlink run my.toml --set loads.joint_damper=0.1 -o my.nc
    """
    from nlink.simulation.integrate import SimulationError

    changes = {"links": links, "run.t_end": until, "run.formulation": formulation, "run.integrator": integrator}
    changes |= {"run.rtol": rtol, "run.atol": atol}
    if resume is not None:
        given = [name for name, value in changes.items() if value is not None and name != "run.t_end"]
        if model or settings or given:
            raise ModelError(
                "--resume goes on with the run as it is; of the other options only --until, -o, -q and --json go with it"
            )
        path, scenario = output or resume, None
        earlier = load_run(resume, newest=True)
    else:
        name, table = model_table(model or DEFAULT)
        scenario, earlier = changed(name, table, changes, settings or []), None
        path = output or free_name(name, ".nc")
    if dry_run:
        return _dry_run(scenario or earlier.scenario, path)  # pyright: ignore[reportOptionalMemberAccess]
    try:
        result = _result(scenario, earlier, until, path, quiet)
    except SimulationError as error:
        _report(error.run, path, as_json, quiet)
        _complain(error.status, path)
        raise typer.Exit(INTERRUPTED if error.status.code == "interrupted" else FAILED) from None
    if trust:
        _trust(result, path, quiet)
    _report(result, path, as_json, quiet)
    return None


def changed(name: str, table: dict[str, Any], changes: dict[str, Any], settings: list[str]) -> Scenario:
    """Return the scenario of a model's tables with the values of the options put in, then those of --set."""
    for key, value in changes.items():
        if value is not None:
            if key == "links" and isinstance(table.get("links"), list):
                raise ModelError(f"--links goes with uniform chains; {name} lists its links one by one")
            put(table, key, value)
    for setting in settings:
        put_text(table, setting)
    return Scenario.from_dict(table, where=name)


def _result(scenario: Scenario | None, earlier: Run | None, until: float | None, path: Path, quiet: bool) -> Run:
    if earlier is not None:
        return earlier.resume(until, file=path, progress=not quiet)
    assert scenario is not None
    return scenario.run(file=path, progress=not quiet)


def _dry_run(scenario: Scenario, path: Path) -> None:
    from nlink.formulations import formulate
    from nlink.integrators import method_for
    from nlink.simulation.recording import saved_times

    settings = scenario.settings
    system = formulate(scenario.chain, settings.formulation)
    method = method_for(system, settings.integrator, settings.rtol, settings.atol)
    points = len(saved_times(settings.save, settings.t_end))
    lines = [*scenario_lines(scenario), ("method", f"{system.formulation.described()}, {method.described()}")]
    lines += [("would run", f"to t = {settings.t_end:g} s, {points} points"), ("would save", str(path))]
    _print(lines, scenario.title)


def _trust(result: Run, path: Path, quiet: bool) -> None:
    """Put the trusted time into the run and its file."""
    from nlink.analysis.trust import ANGLE, trusted_until

    try:
        result.trusted_until = trusted_until(result, progress=not quiet)
    except KeyboardInterrupt:
        print(f"nlink: interrupted; the run is in {path}, without the time until which it is trusted", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    result.meta["trusted_angle"] = ANGLE
    result.save(path)


def _report(result: Run, path: Path, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(json.dumps(run_table(result, path), indent=2))
    elif not quiet:
        _print([*scenario_lines(result.scenario), *run_lines(result), ("saved", str(path))], result.scenario.title)


def _print(lines: list[tuple[str, str]], title: str) -> None:
    typer.echo("\n".join([title] * bool(title) + [f"  {name:<10} {text}" for name, text in lines]))


def _complain(status: Status, path: Path) -> None:
    rest = {"interrupted": f"go on with: nlink run --resume {path}", "inaccurate": f"the run is in {path}"}
    remedy = f"; {status.remedy}" if status.remedy and status.code != "interrupted" else ""
    print(f"nlink: {status.message}{remedy}; {rest.get(status.code, f'the part before is in {path}')}", file=sys.stderr)
