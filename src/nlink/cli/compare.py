"""`nlink compare`: one system in many formulations, integrators and tolerances: do they agree, and until when."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nlink._support.checks import ModelError, choice
from nlink._support.endings import FORMATS
from nlink.cli.common import check_folder, check_link, picture_size, read_scenario
from nlink.cli.options import AnyModel, Format, Json, Links, Quiet, Set, Size, Theme, Title
from nlink.cli.report import Report, exit_code, titled


def compare(
    model: AnyModel,
    formulation: Annotated[
        list[str] | None, typer.Option(help="A formulation, like momentum or 'Maximal(...)'; may be repeated; all if not given.")
    ] = None,
    integrator: Annotated[list[str] | None, typer.Option(help="Like DOP853, RK45, 'RK4(step=0.001)'; may be repeated.")] = None,
    rtol: Annotated[list[float] | None, typer.Option(help="Relative tolerance; may be repeated.")] = None,
    atol: Annotated[
        list[float] | None, typer.Option(help="Absolute tolerance, one or one for each --rtol; as --rtol if not given.")
    ] = None,
    links: Links = None,
    until: Annotated[float | None, typer.Option("--until", "-t", help="End of the runs in s; negative runs backwards.")] = None,
    settings: Set = None,
    title: Title = None,
    angle: Annotated[float, typer.Option(help="Difference in rad beyond which angles are not trusted.")] = 1e-3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A folder for the plots.")] = None,
    overlay: Annotated[str | None, typer.Option(help="Also plot the angles or positions of all runs in one picture.")] = None,
    link: Annotated[int | None, typer.Option(help="The link that --overlay shows, from 1; the last if not given.")] = None,
    kind: Format = "png",
    size: Size = None,
    theme: Theme = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run one system in every formulation and say how far they agree, what they cost, and until when to trust them.

    Examples: nlink compare chaotic-3 | nlink compare chaotic-3 --rtol 1e-3 --atol 1e-6 --integrator RK45 -o plots
    """
    from nlink.analysis.compare import compare as compared
    from nlink.simulation.integrate import SimulationError

    name, _, scenario = read_scenario(model, {"links": links, "title": title, "run.t_end": until}, settings)
    if overlay is not None:
        from nlink.view.compare import COORDINATES

        choice("--overlay", overlay, COORDINATES)
    if link is not None and overlay is None:
        raise ModelError("--link says which link --overlay shows; give --overlay angles or positions too")
    check_link(link, scenario.chain.n)
    folder = output or Path(f"{name}-compare")
    check_folder(folder, "plots")
    choice("--format", kind, FORMATS)
    inches = picture_size(size)
    tolerances = _tolerances(rtol or [], atol or [], scenario.settings.rtol)
    try:
        comparison = compared(scenario, formulation or None, tolerances, integrator or None, angle=angle, progress=not quiet)
    except SimulationError as error:
        stopped = error.status.code == "interrupted"
        typer.echo(f"nlink: {'interrupted' if stopped else f'the reference run failed: {error.status}'}", err=True)
        raise typer.Exit(exit_code(error.status)) from None
    report = Report(as_json, quiet)
    report.show(comparison.to_dict, lambda: titled(scenario, [str(comparison)]))
    if output is not None or overlay is not None:
        from nlink.view.compare import save_comparison

        look = {"link": -1 if link is None else link - 1, "size": inches, "theme": theme}
        report.wrote(*save_comparison(comparison, folder, format=kind, overlay=overlay, **look))


def _tolerances(rtol: list[float], atol: list[float], usual: float) -> list[tuple[float, float]] | None:
    """Return the pairs of tolerances that the options mean."""
    if not rtol and not atol:
        return None
    rtol = rtol or [usual]
    atol = atol or rtol
    if len(atol) not in (1, len(rtol)):
        raise ModelError(f"--atol must be given once, or as often as --rtol: {len(rtol)} times, got {len(atol)}")
    return list(zip(rtol, atol if len(atol) == len(rtol) else atol * len(rtol), strict=True))
