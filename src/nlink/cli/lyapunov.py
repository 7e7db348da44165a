"""`nlink lyapunov`: how fast neighbouring motions part, and whether that is chaos."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from nlink._support.checks import number
from nlink.cli.chaos import SHOWN, Csv, Json, Links, Model, Output, Quiet, Set, end, refuse, report
from nlink.cli.common import DEFAULT, model_table
from nlink.cli.run import changed
from nlink.cli.varying import draw, write_csv

if TYPE_CHECKING:
    from nlink.analysis.lyapunov import Lyapunov
    from nlink.scenario import Scenario

LONGER = 10
"""How many times longer than the run of a model exponents are followed, unless said."""


def lyapunov(
    model: Model = None,
    until: Annotated[float | None, typer.Option("--until", "-t", help=f"s; {LONGER} times the model's run if not given.")] = None,
    count: Annotated[int | None, typer.Option(help="How many exponents, the largest first; all if not given.")] = None,
    transient: Annotated[float, typer.Option(help="s at the beginning that are not counted.")] = 0.0,
    links: Links = None,
    settings: Set = None,
    output: Output = None,
    csv: Csv = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the Lyapunov exponents of a motion, with error bars, and say whether it is chaotic.

    Examples: nlink lyapunov chaotic-3 --until 2000 -o exponents.png | nlink lyapunov five-bar --json
    """
    from nlink.analysis.lyapunov import lyapunov as measured

    name, table = model_table(model or DEFAULT)
    scenario = changed(name, table, {"links": links}, settings or [])
    t_end = LONGER * abs(scenario.settings.t_end) if until is None else number("--until", until, above=0)
    refuse(output)
    options: dict[str, Any] = {"t_end": t_end, "count": count, "transient": transient, "progress": not quiet}
    found = measured(scenario.chain, scenario.theta, scenario.omega, **options)
    if as_json:
        typer.echo(json.dumps(_exponents_data(scenario, found), indent=2))
    elif not quiet:
        report(scenario, _exponent_lines(found))
    if csv is not None and len(found.times):
        names = ["time", *(f"exponent_{k + 1}" for k in range(len(found.exponents)))]
        write_csv(csv, names, np.column_stack([found.times, found.history]), quiet)
    if output is not None and len(found.times):
        from nlink.view.chaos import convergence_figure

        draw(convergence_figure(found, scenario.title), output, quiet)
    end(found.status)


def _exponent_lines(found: Lyapunov) -> list[tuple[str, str]]:
    rows = [
        ("exponents" if k == 0 else "", f"{value + 0.0:>10.5f}  +- {error:.5f} 1/s")
        for k, (value, error) in enumerate(zip(found.exponents, found.errors, strict=True))
    ]
    more = [("", f"and {len(rows) - SHOWN} more")] * (len(rows) > SHOWN)
    lines = [*rows[:SHOWN], *more]
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
        return "nothing was found"
    if chaotic(found):
        return f"chaotic: neighbours part tenfold every {math.log(10) / first:.3g} s"
    return (
        "settles: neighbours come together" if first < -4 * found.errors[0] else "no chaos seen: no exponent is clearly above zero"
    )


def _exponents_data(scenario: Scenario, found: Lyapunov) -> dict[str, Any]:
    data = {
        "title": scenario.title, "links": scenario.chain.n, "until": _span(found), "exponents": found.exponents.tolist(),
        "errors": found.errors.tolist(), "sum": found.sum, "divergence": found.divergence, "pairing": found.pairing.tolist(),
        "entropy": found.entropy, "residual": found.residual, "chaotic": chaotic(found), "status": found.status.code,
    }  # fmt: skip
    return {name: _finite(value) for name, value in data.items()}


def _finite(value: Any) -> Any:
    """Return a value with None for numbers that JSON does not have."""
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
