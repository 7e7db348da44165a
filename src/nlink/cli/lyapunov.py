"""`nlink lyapunov`: how fast neighbouring motions part, and whether that is chaos."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from nlink._support.checks import number
from nlink.cli.common import Table, read_scenario
from nlink.cli.options import Csv, Json, Links, Model, Picture, Quiet, Set
from nlink.cli.report import Report, check_picture, exit_with, shortened, system_lines
from nlink.view.packing import finite_json

if TYPE_CHECKING:
    from nlink.analysis.lyapunov import Lyapunov
    from nlink.scenario import Scenario

LONGER = 10
"""The length of the motion without --until, in lengths of the model's run."""


def lyapunov(
    model: Model = None,
    until: Annotated[
        float | None, typer.Option("--until", "-t", help=f"Length of the motion in s; {LONGER} times the model's run if not given.")
    ] = None,
    count: Annotated[int | None, typer.Option(help="Number of exponents, the largest first; all if not given.")] = None,
    transient: Annotated[float, typer.Option(help="Time in s at the beginning that is not counted.")] = 0.0,
    links: Links = None,
    settings: Set = None,
    output: Picture = None,
    csv: Csv = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the Lyapunov exponents of a motion, with error bars, and say whether it is chaotic.

    Examples: nlink lyapunov chaotic-3 --until 2000 -o exponents.png | nlink lyapunov five-bar --json
    """
    from nlink.analysis.lyapunov import lyapunov as measured

    _, _, scenario = read_scenario(model, {"links": links}, settings)
    t_end = LONGER * abs(scenario.settings.t_end) if until is None else number("--until", until, above=0)
    check_picture(output)
    result = measured(
        scenario.chain, scenario.theta, scenario.omega, t_end=t_end, count=count, transient=transient, progress=not quiet
    )
    report = Report(as_json, quiet, output, csv)
    report.show(lambda: _exponents_data(scenario, result), lambda: system_lines(scenario, _exponent_lines(result)))
    if len(result.times):
        names = ["time", *(f"exponent_{k + 1}" for k in range(len(result.exponents)))]
        report.write_csv(names, np.column_stack([result.times, result.history]))
    if len(result.times) and output is not None:
        from nlink.view.chaos import convergence_figure

        report.draw(convergence_figure(result, scenario.title))
    exit_with(result.status)


def _exponent_lines(found: Lyapunov) -> list[tuple[str, str]]:
    rows = [
        ("exponents" if k == 0 else "", f"{value + 0.0:>10.5f}  +- {error:.5f} 1/s")
        for k, (value, error) in enumerate(zip(found.exponents, found.errors, strict=True))
    ]
    lines = shortened(rows)
    if len(found.pairing):
        lines.append(("sum", f"{found.sum:.6g} 1/s; volumes change by {found.divergence:.6g} 1/s in the mean, exactly"))
        lines.append(("pairs", f"first and last, and so on, make up {found.pairing.min():.3g} to {found.pairing.max():.3g} 1/s"))
    lines.append(("energy", f"balance closed to {found.residual:.2g} J over {_span(found):g} s"))
    return [*lines, ("motion", _verdict(found))]


def _span(found: Lyapunov) -> float:
    return float(found.times[-1]) if len(found.times) else 0.0


def chaotic(found: Lyapunov) -> bool:
    """Whether the largest exponent is above zero beyond doubt: by its error, and by a growth that no regular motion has."""
    first, span = float(found.exponents[0]), _span(found)
    return bool(first > 4 * found.errors[0] and first * span > 2 * len(found.exponents) * math.log(max(span, 3.0)))


def _verdict(found: Lyapunov) -> str:
    first = float(found.exponents[0])
    if not math.isfinite(first):
        return "no exponent was computed"
    if chaotic(found):
        return f"chaotic: neighbours part tenfold every {math.log(10) / first:.3g} s"
    return (
        "settles: neighbours come together" if first < -4 * found.errors[0] else "no chaos seen: no exponent is clearly above zero"
    )


def _exponents_data(scenario: Scenario, found: Lyapunov) -> Table:
    data = {
        "title": scenario.title, "links": scenario.chain.n, "until": _span(found), "exponents": found.exponents.tolist(),
        "errors": found.errors.tolist(), "sum": found.sum, "divergence": found.divergence, "pairing": found.pairing.tolist(),
        "entropy": found.entropy, "residual": found.residual, "chaotic": chaotic(found), "status": found.status.code,
    }  # fmt: skip
    return {name: finite_json(value) for name, value in data.items()}
