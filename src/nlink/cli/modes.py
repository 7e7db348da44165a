"""`nlink modes`: the small motions of a chain about an equilibrium: frequencies, damping, shapes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from nlink._support.checks import ModelError, choice, whole
from nlink._support.endings import FORMATS, PAGE
from nlink._support.progress import Bar
from nlink.cli.common import Table, check_folder, picture_size, read_scenario
from nlink.cli.options import Format, Json, Links, Model, Quiet, Set, Size, Theme, Title
from nlink.cli.report import Report, aligned, plain, system_lines
from nlink.mechanics.chain import wrapped
from nlink.mechanics.space.model import SpatialChain

if TYPE_CHECKING:
    from nlink.analysis.equilibrium import Equilibrium
    from nlink.analysis.linearize import Linearization, Mode
    from nlink.analysis.space_modes import SteadyState, Swing
    from nlink.mechanics.chain import Multibody
    from nlink.scenario import Scenario

NEUTRAL = 1e-7
"""Size of an eigenvalue, as a part of the largest, below which it is zero to rounding."""
SAME = 1e-6
"""rad: equilibria that are nearer than this are one."""
ANGLES = 8
"""Most links whose angles at rest are printed one by one."""
SHAPES = 100
"""Most links whose shapes are part of the JSON."""
ROUNDED = 1e-9
"""rad: an angle that is so near to -180 degrees is called 180."""
MANY = 2000
"""Most links for which all modes are computed; of longer chains only the slowest."""


def modes(
    model: Model = None,
    links: Links = None,
    settings: Set = None,
    title: Title = None,
    guess: Annotated[
        str, typer.Option("--from", help="Guess of the equilibrium: rest (down; for a loop downhill from its start) or start.")
    ] = "rest",
    count: Annotated[int, typer.Option(help="Largest number of modes that are printed and drawn.")] = 9,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder for pictures of shapes and eigenvalues, or a page (.html).")
    ] = None,
    kind: Format = "png",
    size: Size = None,
    theme: Theme = None,
    animate: Annotated[int | None, typer.Option(metavar="K", help="Write an animation of mode K too.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find an equilibrium of a chain or a mechanism and its modes: frequencies, damping, shapes, and whether it is stable.

    Examples: nlink modes nice-3 -o modes.html | nlink modes follower-5 -o pictures | nlink modes four-bar --from start --animate 1
    """
    from nlink.analysis.equilibrium import equilibrium, settled
    from nlink.analysis.linearize import FLAT, linearize

    name, _, scenario = read_scenario(model, {"links": links, "title": title}, settings)
    folder = output or (Path(f"{name}-modes") if animate is not None else None)
    _refuse(guess, count, kind, folder, animate)
    report, inches = Report(as_json, quiet, folder), picture_size(size)
    if scenario.chain.spatial:
        state, found = in_space(scenario, guess, count, animate, report)
        if folder is not None:
            report.wrote(*_pictures_in_space(scenario, state, found, folder, kind, count, inches, theme, animate, quiet))
        return
    if scenario.chain.n > MANY and guess == "rest":
        _slowest(scenario, count, report)
        return
    downhill = guess == "rest" and scenario.chain.pin is not None
    given = scenario.theta if guess == "start" else None
    rest = settled(scenario.chain, scenario.theta) if downhill else equilibrium(scenario.chain, given)
    others = _others(scenario.chain, rest)
    small = linearize(scenario.chain, rest.theta)
    table = _table(small)
    words = _words(table, FLAT * np.abs(small.eigenvalues).max(initial=0.0))
    if folder is not None and not table:
        raise ModelError("there are no modes to draw: the links cannot move; leave -o and --animate out")
    if animate is not None and not 1 <= animate <= len(table):
        raise ModelError(f"--animate must be a mode from 1 to {len(table)}, got {animate}")
    facts = [
        ("rest", _rest_text(rest.theta) + ", downhill from the start" * downhill),
        ("stable", _stable_text(rest.stable, small.growth, words)),
    ]
    if rest.pin_force is not None:
        x, y = (plain(force, 5) for force in rest.pin_force)
        facts.insert(1, ("pin force", f"{x} N along x, {y} N along y, on the last end"))
    facts += [("others" * (k == 0), text) for k, text in enumerate(map(_other_text, others))]
    report.show(
        lambda: _data(scenario, rest, small, table, words) | {"others": [wrapped(other.theta).tolist() for other in others]},
        lambda: [*system_lines(scenario, facts), "", *_rows(table, words, count)],
    )
    if folder is None:
        return
    from nlink.view.modes import animate_mode, save_modes
    from nlink.view.modes_page import modes_page

    if folder.suffix == PAGE:
        modes_page(scenario, small, table, folder, theme=theme)
        files = [folder]
    else:
        files = save_modes(scenario, small, table, folder, format=kind, count=count, size=inches, theme=theme)
    if animate is not None:
        with Bar("animating", not quiet) as bar:
            files.append(animate_mode(scenario, small, table, animate, folder, theme=theme, progress=bar.update))
    report.wrote(*files)


def in_space(scenario: Scenario, guess: str, count: int, animate: int | None, report: Report) -> tuple[SteadyState, list[Swing]]:
    """Print the modes of a chain in space about hanging, or about its start, at rest or turning steadily; return them."""
    from nlink.analysis.linearize import FLAT
    from nlink.analysis.space_modes import steady_state, swings

    start = (scenario.theta, scenario.omega) if guess == "start" else (None, None)
    assert isinstance(scenario.chain, SpatialChain)
    state = steady_state(scenario.chain, *start)
    moves = swings(state)
    if animate is not None and not 1 <= animate <= len(moves):
        raise ModelError(f"--animate must be a mode from 1 to {len(moves)}, got {animate}")
    found = [swing.mode for swing in moves]
    limit = FLAT * max(mode.undamped for mode in found)
    words = _words(found, limit)
    growth = max(mode.growth for mode in found)
    about = "straight down" if guess == "rest" else "the start, in the frame that turns with it"
    facts = [("about", about), ("stable", _stable_text(growth <= limit, growth, words))]
    flat = [mode._replace(shape=mode.shape.ravel()) for mode in found]
    data = [_mode_data(mode, word) for mode, word in zip(flat, words, strict=True)]
    told: Table = {"title": scenario.title, "links": scenario.chain.n, "about": about, "stable": bool(growth <= limit)}
    report.show(
        lambda: told | {"modes": data},
        lambda: [*system_lines(scenario, facts), "", *_rows(found, words, count)],
    )
    return state, moves


def _pictures_in_space(
    scenario: Scenario,
    state: SteadyState,
    found: list[Swing],
    folder: Path,
    kind: str,
    count: int,
    size: tuple[float, float] | str | None,
    theme: str | None,
    animate: int | None,
    quiet: bool,
) -> list[Path]:
    """Write the pictures of modes in space, or their page; return the files."""
    from nlink.view.space.modes import animate_space_mode, save_space_modes
    from nlink.view.space.modes_page import space_modes_page

    if folder.suffix == PAGE:
        space_modes_page(scenario, state, found, folder, theme=theme)
        return [folder]
    files = save_space_modes(scenario, state, found, folder, format=kind, count=count, size=size, theme=theme)
    if animate is not None:
        with Bar("animating", not quiet) as bar:
            files.append(animate_space_mode(scenario, state, found, animate, folder, theme=theme, progress=bar.update))
    return files


def _others(chain: Multibody, rest: Equilibrium) -> list[Equilibrium]:
    """Return the other equilibria of a closed chain of few links."""
    from nlink.analysis.equilibrium import MOST_LINKS, equilibria

    found = equilibria(chain) if chain.pin and chain.n <= MOST_LINKS else []
    return [other for other in found if np.abs(wrapped(other.theta - rest.theta)).max() > SAME]


def _other_text(other: Equilibrium) -> str:
    return f"{_rest_text(other.theta)}: {'stable' if other.stable else 'not stable'}"


def _slowest(scenario: Scenario, count: int, report: Report) -> None:
    """Print the slowest modes of a very long chain, without the matrices of all."""
    from nlink.analysis.modes import modes

    if report.output is not None:
        raise ModelError(f"pictures of modes are drawn up to {MANY} links, got {scenario.chain.n}; leave -o and --animate out")
    rows = [(mode.frequency, mode.frequency / (2 * math.pi)) for mode in modes(scenario.chain, count=count)]
    data = [{"frequency": frequency, "hertz": hertz} for frequency, hertz in rows]
    lines = [*system_lines(scenario, [("rest", "straight down")]), "", f"  {'mode':>4}  {'rad/s':>12}  {'Hz':>12}"]
    lines += [f"  {k:>4}  {frequency:>12.6g}  {hertz:>12.6g}" for k, (frequency, hertz) in enumerate(rows, start=1)]
    lines += [f"  the slowest {len(rows)} of {scenario.chain.n:,}"]
    report.show(lambda: {"title": scenario.title, "links": scenario.chain.n, "modes": data}, lambda: lines)


def _refuse(guess: str, count: int, kind: str, folder: Path | None, animate: int | None) -> None:
    """Fail before the work, not after it."""
    choice("--from", guess, ("rest", "start"))
    whole("--count", count)
    choice("--format", kind, FORMATS)
    if folder is not None and folder.suffix != PAGE:
        check_folder(folder, "pictures")
    elif animate is not None:
        raise ModelError(
            f"--animate goes with a folder: a page moves every mode; leave it out, or give a folder with -o, got {folder}"
        )


def _table(small: Linearization) -> list[Mode]:
    """Return the modes; a value that is zero to rounding is zero."""
    scale = np.abs(small.eigenvalues).max(initial=0.0)
    zero = {"growth": 0.0, "frequency": 0.0, "undamped": 0.0, "ratio": 0.0}
    return [mode._replace(**zero) if mode.undamped <= NEUTRAL * scale else mode for mode in small.table()]


def _words(table: list[Mode], limit: float) -> list[str]:
    """Return what becomes of a small motion in each mode; it grows above a limit in 1/s."""
    real = " (real, no oscillation)"
    words = [f"{'grows' if mode.growth > limit else 'stable'}{'' if mode.frequency else real}" for mode in table]
    return [word if mode.undamped else "neutral" for mode, word in zip(table, words, strict=True)]


def _rest_text(theta: np.ndarray) -> str:
    degrees = np.degrees(wrapped(theta, ROUNDED))
    if np.abs(degrees).max() < 1e-9:
        return "straight down"
    if len(degrees) <= ANGLES:
        return f"at {', '.join(plain(angle, 5) for angle in degrees)} deg"
    return f"at angles from {plain(degrees.min(), 5)} to {plain(degrees.max(), 5)} deg"


def _stable_text(stable: bool, growth: float, words: list[str]) -> str:
    growing, neutral = sum(word.startswith("grows") for word in words), words.count("neutral")
    some = f"{neutral} of {len(words)} modes neutral: nothing brings the chain back"
    if stable:
        return f"yes, with {some}" if neutral else "yes"
    if growing:
        return f"no: {growing} of {len(words)} modes {'grow' if growing > 1 else 'grows'}, by up to {growth:.4g} 1/s"
    return f"no: {some}" if neutral else "no: at the limit"


def _rows(table: list[Mode], words: list[str], count: int) -> list[str]:
    """Return the table of modes in lines."""
    from nlink.analysis.linearize import foremost

    if not table:
        return ["  no modes: the links cannot move"]
    cells: list[tuple[str, ...]] = [("mode", "rad/s", "Hz", "period s", "damping", "growth 1/s")]
    shown = foremost(table, count)
    for k, mode in ((k, table[k]) for k in shown):
        hertz = mode.frequency / (2 * math.pi)
        values = (mode.frequency, hertz, 1 / hertz if hertz else None, mode.ratio, mode.growth)
        cells.append((str(k + 1), *("-" if value is None else plain(value) for value in values)))
    lines = [f"{row}  {word}".rstrip() for row, word in zip(aligned(cells), ["", *(words[k] for k in shown)], strict=True)]
    return lines + [f"  and {len(table) - count} more"] * (len(table) > count)


def _data(scenario: Scenario, rest: Equilibrium, small: Linearization, table: list[Mode], words: list[str]) -> Table:
    """Return the result as plain data; complex numbers are pairs [re, im]."""
    return {
        "title": scenario.title,
        "links": scenario.chain.n,
        "theta": wrapped(rest.theta).tolist(),
        "residual": rest.residual,
        "pin_force": None if rest.pin_force is None else rest.pin_force.tolist(),
        "stable": bool(rest.stable),
        "eigenvalues": _pairs(small.eigenvalues),
        "modes": [_mode_data(mode, word) for mode, word in zip(table, words, strict=True)],
    }


def _mode_data(mode: Mode, word: str) -> Table:
    return {
        "frequency": mode.frequency + 0.0,
        "hertz": mode.frequency / (2 * math.pi) + 0.0,
        "period": 2 * math.pi / mode.frequency if mode.frequency else None,
        "undamped": mode.undamped,
        "damping": mode.ratio + 0.0,
        "growth": mode.growth + 0.0,
        "word": word,
        "shape": _pairs(mode.shape) if len(mode.shape) <= SHAPES else None,
    }


def _pairs(values: np.ndarray) -> list[list[float]]:
    return [[float(value.real) + 0.0, float(value.imag) + 0.0] for value in values.astype(complex)]
