"""`nlink compare`: one system in many formulations, integrators and tolerances: do they agree, and until when."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nlink._support.checks import ModelError, choice
from nlink.cli.common import model_table
from nlink.cli.run import FAILED, INTERRUPTED, changed

if TYPE_CHECKING:
    from nlink.analysis.compare import Comparison


def compare(
    model: Annotated[str, typer.Argument(help="A preset (see `nlink presets`) or a model file.")],
    formulation: Annotated[
        list[str] | None, typer.Option(help="A formulation, like momentum or 'Maximal(...)'; may be repeated; all if not given.")
    ] = None,
    integrator: Annotated[list[str] | None, typer.Option(help="Like DOP853, RK45, 'RK4(step=0.001)'; may be repeated.")] = None,
    rtol: Annotated[list[float] | None, typer.Option(help="Relative tolerance; may be repeated.")] = None,
    atol: Annotated[
        list[float] | None, typer.Option(help="Absolute tolerance, one or one for each --rtol; as --rtol if not given.")
    ] = None,
    links: Annotated[int | None, typer.Option("--links", "-n", help="Number of links of a uniform chain.")] = None,
    until: Annotated[float | None, typer.Option("--until", "-t", help="End of the runs in s; negative runs backwards.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the model.")] = None,
    angle: Annotated[float, typer.Option(help="Difference in rad beyond which angles are not trusted.")] = 1e-3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A folder for the plots.")] = None,
    overlay: Annotated[str | None, typer.Option(help="Plot angles or positions of all runs over one another too.")] = None,
    link: Annotated[int | None, typer.Option(help="Which link --overlay shows, from 1; the last if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Run one system in every formulation and say how far they agree, what they cost, and until when to trust them.

    Examples: nlink compare chaotic-3 | nlink compare chaotic-3 --rtol 1e-3 --atol 1e-6 --integrator RK45 -o plots
    """
    from nlink.analysis import compare as analysis
    from nlink.simulation.integrate import SimulationError

    name, table = model_table(model)
    scenario = changed(name, table, {"links": links, "run.t_end": until}, settings or [])
    _refuse_overlay(overlay, link, scenario.chain.n)
    folder = output or Path(f"{name}-compare")
    if folder.exists() and not folder.is_dir():
        raise OSError(f"{folder} is a file; give a folder for the plots with -o")
    tolerances = _tolerances(rtol or [], atol or [], scenario.settings.rtol)
    try:
        found = analysis.compare(scenario, formulation or None, tolerances, integrator or None, angle=angle, progress=not quiet)
    except SimulationError as error:
        stopped = error.status.code == "interrupted"
        print(f"nlink: {'interrupted' if stopped else f'the reference run failed: {error.status}'}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED if stopped else FAILED) from None
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    elif not quiet:
        typer.echo("\n".join([scenario.title] * bool(scenario.title) + [str(found)]))
    if output is not None or overlay is not None:
        _draw(found, folder, overlay, link, quiet)


def _refuse_overlay(overlay: str | None, link: int | None, n: int) -> None:
    """Fail before the work, not after it."""
    if overlay is not None:
        from nlink.view.compare import COORDINATES

        choice("--overlay", overlay, COORDINATES)
    if link is not None and overlay is None:
        raise ModelError("--link says which link --overlay shows; give --overlay angles or positions too")
    if link is not None and not 1 <= link <= n:
        raise ModelError(f"--link must be from 1 to {n}, got {link}")


def _tolerances(rtol: list[float], atol: list[float], usual: float) -> list[tuple[float, float]] | None:
    """Return the pairs of tolerances that the options mean."""
    if not rtol and not atol:
        return None
    rtol = rtol or [usual]
    atol = atol or rtol
    if len(atol) not in (1, len(rtol)):
        raise ModelError(f"--atol must be given once, or as often as --rtol: {len(rtol)} times, got {len(atol)}")
    return list(zip(rtol, atol if len(atol) == len(rtol) else atol * len(rtol), strict=True))


def _draw(found: Comparison, folder: Path, overlay: str | None, link: int | None, quiet: bool) -> None:
    from nlink.view.compare import save_comparison

    files = save_comparison(found, folder, overlay=overlay, link=-1 if link is None else link - 1)
    if not quiet:
        print("\n".join(f"nlink: wrote {file}" for file in files), file=sys.stderr)
