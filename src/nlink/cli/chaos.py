"""`nlink lyapunov`, `nlink poincare` and `nlink bifurcation`: how fast neighbouring motions part, and where motions pass a section
of their phase space, over a parameter too.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from nlink._support.checks import ModelError, known_keys, number, shown, whole
from nlink.cli import options
from nlink.cli.common import Table, chain_of, chains, check_link, parameter, picture_size, read_scenario, values_between
from nlink.cli.options import AnyModel, Csv, Json, Links, Model, Picture, Quiet, Set, Size, Theme, Title
from nlink.cli.report import Report, check_picture, exit_with, shortened, system_lines
from nlink.view.packing import finite_json

if TYPE_CHECKING:
    from nlink.analysis.bifurcation import Bifurcation
    from nlink.analysis.lyapunov import Lyapunov
    from nlink.analysis.poincare import Points, Section, Strobe
    from nlink.scenario import Scenario

LONG, LONGER = 10, 20
"""The length of motions without --until, in lengths of the model's run: for exponents, and for points of a section."""
STARTS, MOST_STARTS = 12, 1_000_000
SECTIONED = ("sections are taken of", "in Python give nlink.simulate an Event where the motion crosses the section")
"""What `chain_of` says of sections."""


def lyapunov(
    model: Model = None,
    until: Annotated[
        float | None, typer.Option("--until", "-t", help=f"Length of the motion in s; {LONG} times the model's run if not given.")
    ] = None,
    count: Annotated[int | None, typer.Option(help="Number of exponents, the largest first; all if not given.")] = None,
    transient: Annotated[float, typer.Option(help="Time in s at the beginning that is not counted.")] = 0.0,
    links: Links = None,
    settings: Set = None,
    title: Title = None,
    output: Picture = None,
    size: Size = None,
    theme: Theme = None,
    csv: Csv = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the Lyapunov exponents of a motion, with error bars, and say whether it is chaotic.

    Examples: nlink lyapunov chaotic-3 --until 2000 -o exponents.png | nlink lyapunov five-bar --json
    """
    from nlink.analysis.lyapunov import lyapunov as measured

    _, _, scenario = read_scenario(model, {"links": links, "title": title}, settings)
    t_end = _length(scenario, until, LONG)
    report = Report(as_json, quiet, check_picture(output), csv, theme, picture_size(size))
    result = measured(
        scenario.chain, scenario.theta, scenario.omega, t_end=t_end, count=count, transient=transient, progress=not quiet
    )
    report.show(lambda: _exponents_data(scenario, result), lambda: system_lines(scenario, _exponent_lines(result)))
    if len(result.times):
        names = ["time", *(f"exponent_{k + 1}" for k in range(len(result.exponents)))]
        report.write_csv(names, np.column_stack([result.times, result.history]))
    if len(result.times) and output is not None:
        from nlink.view.chaos import convergence_figure

        report.draw(convergence_figure, result, title=scenario.title)
    exit_with(result.status)


def _exponent_lines(result: Lyapunov) -> list[tuple[str, str]]:
    rows = [
        ("exponents" if k == 0 else "", f"{value + 0.0:>10.5f}  +- {error:.5f} 1/s")
        for k, (value, error) in enumerate(zip(result.exponents, result.errors, strict=True))
    ]
    lines = shortened(rows)
    if len(result.pairing):
        lines.append(("sum", f"{result.sum:.6g} 1/s; volumes change by {result.divergence:.6g} 1/s in the mean, exactly"))
        lines.append(("pairs", f"first and last, and so on, make up {result.pairing.min():.3g} to {result.pairing.max():.3g} 1/s"))
    lines.append(("energy", f"balance closed to {result.residual:.2g} J over {_span(result):g} s"))
    return [*lines, ("motion", _verdict(result))]


def _span(result: Lyapunov) -> float:
    return float(result.times[-1]) if len(result.times) else 0.0


def chaotic(result: Lyapunov) -> bool:
    """Whether the largest exponent is above zero beyond doubt: by its error, and by a growth that no regular motion has."""
    first, span = float(result.exponents[0]), _span(result)
    return bool(first > 4 * result.errors[0] and first * span > 2 * len(result.exponents) * math.log(max(span, 3.0)))


def _verdict(result: Lyapunov) -> str:
    first = float(result.exponents[0])
    if not math.isfinite(first):
        return "no exponent was computed"
    if chaotic(result):
        return f"chaotic: neighbours part tenfold every {math.log(10) / first:.3g} s"
    return (
        "settles: neighbours come together" if first < -4 * result.errors[0] else "no chaos seen: no exponent is clearly above zero"
    )


def _exponents_data(scenario: Scenario, result: Lyapunov) -> Table:
    data = {
        "title": scenario.title, "links": scenario.chain.n, "until": _span(result), "exponents": result.exponents.tolist(),
        "errors": result.errors.tolist(), "sum": result.sum, "divergence": result.divergence, "pairing": result.pairing.tolist(),
        "entropy": result.entropy, "residual": result.residual, "chaotic": chaotic(result), "status": result.status.code,
    }  # fmt: skip
    return {name: finite_json(value) for name, value in data.items()}


def poincare(
    model: Model = None,
    until: Annotated[
        float | None,
        typer.Option("--until", "-t", help=f"Length of each motion in s; {LONGER} times the model's run if not given."),
    ] = None,
    section: options.Section = None,
    starts: Annotated[
        int | None,
        typer.Option(
            help=f"Number of starts of one energy, the model's first; {STARTS} if not given, 1 if energy is not conserved."
        ),
    ] = None,
    link: Annotated[int | None, typer.Option(help="The link whose plane is drawn, from 1.")] = None,
    transient: Annotated[float, typer.Option(help="Time in s at the beginning whose points are omitted.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the random starts.")] = 0,
    links: Links = None,
    settings: Set = None,
    title: Title = None,
    output: Picture = None,
    size: Size = None,
    theme: Theme = None,
    csv: Csv = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find where motions of one energy pass a section of their phase space, coloured by start.

    Examples: nlink poincare point-2 -o section.png | nlink poincare driven-1 --until 20000 -o attractor.png
    """
    from nlink.analysis.bifurcation import default_section
    from nlink.analysis.poincare import poincare as passed

    name, _, scenario = read_scenario(model, {"links": links, "title": title}, settings)
    chain_of(name, scenario, *SECTIONED)
    cut = read_section(section, scenario.chain.n) if section else default_section(scenario.chain)
    t_end = _length(scenario, until, LONGER)
    report = Report(as_json, quiet, check_picture(output), csv, theme, picture_size(size))
    check_link(link, scenario.chain.n)
    theta, omega = _starts(scenario, starts, whole("--seed", seed, least=0))
    points = passed(scenario.chain, theta, omega, t_end=t_end, section=cut, transient=transient, progress=not quiet)
    facts = _points_lines(points, len(theta))
    report.show(lambda: _points_data(scenario, points), lambda: system_lines(scenario, facts), indent=None)
    report.write_csv(*_columns(points))
    if output is not None:
        from nlink.view.chaos import poincare_figure

        report.draw(poincare_figure, points, None if link is None else link - 1, title=scenario.title)
    exit_with(next((status for status in points.status if not status.ok), points.status[0]))


def _starts(scenario: Scenario, count: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from nlink.analysis.energy_surface import starts_on_energy
    from nlink.mechanics import kinematics
    from nlink.mechanics.loads import LOADS, ledger

    chain = scenario.chain
    theta, omega = np.array([scenario.theta]), np.broadcast_to(np.asarray(scenario.omega, float), (1, chain.n))
    conserved = not any(chain.load(LOADS[name]) for name in ledger() if name in LOADS)
    count = whole("--starts", (STARTS if conserved else 1) if count is None else count, most=MOST_STARTS)
    if count == 1:
        return theta, omega
    energy = float(sum(kinematics.energies(chain, theta[0], omega[0])))
    more, rates = starts_on_energy(chain, energy, count - 1, seed)
    return np.vstack([theta, more]), np.vstack([omega, rates])


def read_section(text: str, n: int) -> Section | Strobe:
    """Read a section of n links like link=1,angle=90deg,direction=-1, or period=2.5; links count from 1."""
    from nlink.analysis.poincare import Section, Strobe

    parts = {part.partition("=")[0]: part.partition("=")[2] for part in text.replace(" ", "").split(",")}
    known_keys("--section", parts, ("link", "angle", "direction", "period", "start"))
    values = {name: _number(name, value) for name, value in parts.items()}
    if "period" in values:
        known_keys("--section with a period", values, ("period", "start"))
        return Strobe(**values)
    known_keys("--section without a period", values, ("link", "angle", "direction"))
    link, direction = values.get("link", 1.0), values.get("direction", 1.0)
    if link != int(link) or not 1 <= link <= n:
        raise ModelError(f"--section link must be a whole number from 1 to {n}, got {link:g}")
    if direction not in (-1.0, 0.0, 1.0):
        raise ModelError(f"--section direction must be -1, 0 or 1, got {direction:g}")
    return Section(int(link) - 1, values.get("angle", 0.0), int(direction))


def _number(name: str, text: str) -> float:
    degrees = name == "angle" and text.endswith("deg")
    try:
        value = float(text.removesuffix("deg") if degrees else text)
    except ValueError:
        raise ModelError(f"--section {name} must be a number, got {shown(text)}") from None
    return number(f"--section {name}", value) * (math.pi / 180 if degrees else 1.0)


def _points_lines(points: Points, starts: int) -> list[tuple[str, str]]:
    from nlink.view.chaos import section_text

    left = float(np.abs(points.residual).max(initial=0.0))
    count = f"{len(points):,} from {starts} start{'s' * (starts > 1)}"
    return [
        ("section", section_text(points.section)),
        ("points", count),
        ("energy", f"balance closed to {left:.2g} J at every point"),
    ]


def _columns(points: Points) -> tuple[list[str], np.ndarray]:
    n = points.theta.shape[1]
    names = ["start", "time", *(f"{what}_{i + 1}" for what in ("theta", "omega", "momentum") for i in range(n)), "residual"]
    return names, np.column_stack([points.start + 1, points.t, points.theta, points.omega, points.momentum, points.residual])


def _points_data(scenario: Scenario, points: Points) -> Table:
    arrays = {name: getattr(points, name).tolist() for name in ("start", "t", "theta", "omega", "momentum", "residual")}
    section = {"kind": type(points.section).__name__.lower()} | vars(points.section)
    return {"title": scenario.title, "section": section, "status": [status.code for status in points.status], **arrays}


def bifurcation(
    model: AnyModel,
    vary: Annotated[str, typer.Option(help=options.VARIED)],
    low: options.Low,
    high: options.High,
    points: options.Count = 200,
    until: Annotated[
        float | None, typer.Option("--until", "-t", help="Time in s at each value; 5 times the model's run if not given.")
    ] = None,
    transient: Annotated[float | None, typer.Option(help="Time in s omitted at each value; half of it if not given.")] = None,
    section: options.Section = None,
    link: Annotated[int | None, typer.Option(help="The link that is drawn, from 1.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin each value at the model's start, not where the last ended.")
    ] = False,
    links: Links = None,
    settings: Set = None,
    title: Title = None,
    output: Picture = None,
    size: Size = None,
    theme: Theme = None,
    csv: Csv = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Follow the points of a section over a parameter of the model: periods that double, windows, chaos.

    Example: nlink bifurcation driven-1 --vary loads.joint_torque.amplitude --from 1.06 --to 1.087 -o diagram.png
    """
    from nlink.analysis.bifurcation import bifurcation as followed

    name, table, scenario = read_scenario(model, {"links": links, "title": title}, settings)
    chain_of(name, scenario, *SECTIONED)
    key, label = parameter("--vary", vary)
    values = values_between("--from", "--to", low, high, points)
    t_end = _length(scenario, until, 5)
    report = Report(as_json, quiet, check_picture(output), csv, theme, picture_size(size))
    check_link(link, scenario.chain.n)
    cut = read_section(section, scenario.chain.n) if section else None
    diagram = followed(
        chains(name, table, key), values, scenario.theta, scenario.omega, t_end=t_end,
        transient=t_end / 2 if transient is None else transient, section=cut,
        follow=not fresh, progress=not quiet,
    )  # fmt: skip
    facts = [("varied", label), *_period_lines(diagram)]
    report.show(lambda: _diagram_data(diagram, label), lambda: system_lines(scenario, facts), indent=None)
    if diagram.points:
        pairs = zip(diagram.values, diagram.points, strict=True)
        rows = [np.column_stack([np.full(len(each), value), _columns(each)[1]]) for value, each in pairs]
        report.write_csv(["value", *_columns(diagram.points[0])[0]], np.vstack(rows))
    if diagram.points and output is not None:
        from nlink.view.chaos import bifurcation_figure

        report.draw(bifurcation_figure, diagram, label, None if link is None else link - 1, title=scenario.title)
    exit_with(diagram.status)


def _diagram_data(diagram: Bifurcation, label: str) -> Table:
    rows = [
        {
            "value": value,
            "period": int(period),
            "settling": int(settling),
            "theta": points.theta.tolist(),
            "omega": points.omega.tolist(),
        }
        for value, period, settling, points in zip(
            diagram.values.tolist(), diagram.periods, diagram.settling, diagram.points, strict=True
        )
    ]
    return {"varied": label, "status": diagram.status.code, "values": rows}


def _period_lines(diagram: Bifurcation) -> list[tuple[str, str]]:
    """Return the intervals of equal period in words."""
    values, kinds = diagram.values, list(zip(diagram.periods.tolist(), diagram.settling.tolist(), strict=True))
    rows, a = [], 0
    for (period, settling), same in itertools.groupby(kinds):
        b = a + len(list(same))
        count = f"{period or settling} point{'s' * ((period or settling) > 1)}"
        what = f"repeats after {count}" if period else "does not repeat"
        what = f"settles slowly, to repeat after {count}: a longer --transient shows it" if settling else what
        rows.append((f"{values[a]:.6g}" if b - a == 1 else f"{values[a]:.6g} to {values[b - 1]:.6g}", what))
        a = b
    return shortened([("", f"{where:<22} {what}") for where, what in rows])


def _length(scenario: Scenario, until: float | None, times: int) -> float:
    """Return the length of a motion: --until, or so many lengths of the model's run."""
    return times * abs(scenario.settings.t_end) if until is None else number("--until", until, above=0)
