"""`nlink modes`: the small motions of a chain about an equilibrium: frequencies, damping, shapes."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from nlink._support.checks import ModelError, choice, whole
from nlink._support.progress import Bar
from nlink.cli.common import DEFAULT, model_table
from nlink.cli.run import changed
from nlink.mechanics.chain import wrapped
from nlink.view.words import scenario_lines

if TYPE_CHECKING:
    from nlink.analysis.equilibrium import Equilibrium
    from nlink.analysis.linearize import Linearization, Mode
    from nlink.scenario import Scenario

FORMATS = ("png", "svg", "pdf")
NEUTRAL = 1e-7
"""Size of an eigenvalue, as a part of the largest, below which it is zero to rounding."""
ANGLES = 8
"""Most links whose angles at rest are printed one by one."""
SHAPES = 100
"""Most links whose shapes are part of the JSON."""
MANY = 2000
"""Links beyond which only the slowest modes are looked for."""


def modes(
    model: Annotated[
        str | None, typer.Argument(help=f"A preset (see `nlink presets`) or a model file; {DEFAULT} if not given.")
    ] = None,
    links: Annotated[int | None, typer.Option("--links", "-n", help="Number of links of a uniform chain.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the model.")] = None,
    guess: Annotated[
        str, typer.Option("--from", help="Where the equilibrium is looked for: rest (down, or as a loop hangs) or start.")
    ] = "rest",
    count: Annotated[int, typer.Option(help="Most modes that are printed.")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder for pictures of shapes and eigenvalues, or a page (.html).")
    ] = None,
    kind: Annotated[str, typer.Option("--format", help="Of the pictures: png, svg or pdf.")] = "png",
    animate: Annotated[int | None, typer.Option(metavar="K", help="Write an animation of mode K too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Find an equilibrium of a chain and its modes: frequencies, damping, shapes, and whether it is stable.

    Examples: nlink modes nice-3 -o modes.html | nlink modes follower-5 -o pictures | nlink modes four-bar --from start --animate 1
    """
    from nlink.analysis.equilibrium import equilibrium
    from nlink.analysis.linearize import linearize

    name, table = model_table(model or DEFAULT)
    folder = output or (Path(f"{name}-modes") if animate is not None else None)
    _refuse(guess, count, kind, folder, animate)
    scenario = changed(name, table, {"links": links}, settings or [])
    if scenario.chain.n > MANY and guess == "rest":
        _slowest(scenario, count, folder, as_json, quiet)
        return
    rest = equilibrium(scenario.chain, scenario.theta if guess == "start" else None)
    small = linearize(scenario.chain, rest.theta)
    found = _found(small)
    _refuse_drawing(found, folder, animate)
    if as_json:
        typer.echo(json.dumps(_data(scenario, rest, small, found), indent=2))
    elif not quiet:
        typer.echo("\n".join([*_header(scenario, rest, small, found), "", *_rows(small, found, count)]))
    if folder is not None:
        _draw(scenario, small, found, folder, kind, animate, quiet)


def _slowest(scenario: Scenario, count: int, folder: Path | None, as_json: bool, quiet: bool) -> None:
    """Print the slowest modes of a very long chain, without the matrices of all."""
    from nlink.analysis.modes import modes

    if folder is not None:
        raise ModelError(f"pictures of modes are drawn up to {MANY} links, got {scenario.chain.n}; leave -o and --animate out")
    found = modes(scenario.chain, count=count)
    if as_json:
        rows = [{"frequency": mode.frequency, "hertz": mode.frequency / (2 * math.pi)} for mode in found]
        typer.echo(json.dumps({"title": scenario.title, "links": scenario.chain.n, "modes": rows}, indent=2))
    elif not quiet:
        lines = [f"  {key:<10} {text}" for key, text in [*scenario_lines(scenario), ("rest", "straight down")]]
        table = [f"  {k + 1:>4}  {mode.frequency:>12.6g}  {mode.frequency / (2 * math.pi):>12.6g}" for k, mode in enumerate(found)]
        slowest = ["", f"  {'mode':>4}  {'rad/s':>12}  {'Hz':>12}", *table, f"  the slowest {len(found)} of {scenario.chain.n:,}"]
        typer.echo("\n".join([scenario.title] * bool(scenario.title) + lines + slowest))


def _refuse(guess: str, count: int, kind: str, folder: Path | None, animate: int | None) -> None:
    """Fail before the work, not after it."""
    choice("--from", guess, ("rest", "start"))
    whole("--count", count)
    choice("--format", kind, FORMATS)
    if folder is not None and folder.suffix == ".html":
        if animate is not None:
            raise ModelError(f"a page moves every mode; leave --animate out, or give a folder with -o, got {folder}")
    elif folder is not None and folder.exists() and not folder.is_dir():
        raise OSError(f"{folder} is a file; give a folder for the pictures with -o")


def _refuse_drawing(found: list[Mode], folder: Path | None, animate: int | None) -> None:
    if folder is not None and not found:
        raise ModelError("there are no modes to draw: the links cannot move; leave -o and --animate out")
    if animate is not None and not 1 <= animate <= len(found):
        raise ModelError(f"--animate must be a mode from 1 to {len(found)}, got {animate}")


def _found(small: Linearization) -> list[Mode]:
    """Return the modes; what is zero to rounding is zero."""
    scale = np.abs(small.eigenvalues).max(initial=0.0)
    none = {"growth": 0.0, "frequency": 0.0, "undamped": 0.0, "ratio": 0.0}
    return [mode._replace(**none) if mode.undamped <= NEUTRAL * scale else mode for mode in small.table()]


def _word(small: Linearization, mode: Mode) -> str:
    """Return what becomes of a small motion in a mode."""
    from nlink.analysis.linearize import FLAT

    if not mode.undamped:
        return "neutral"
    if mode.growth > FLAT * np.abs(small.eigenvalues).max():
        return "grows" if mode.frequency else "grows (real, no oscillation)"
    return "stable" if mode.frequency else "stable (real, no oscillation)"


def _header(scenario: Scenario, rest: Equilibrium, small: Linearization, found: list[Mode]) -> list[str]:
    lines = [*scenario_lines(scenario), ("rest", _rest_text(rest.theta))]
    if rest.pin_force is not None:
        x, y = rest.pin_force
        lines.append(("pin force", f"{_plain(x)} N along x, {_plain(y)} N along y, on the last end"))
    lines.append(("stable", _stable_text(rest.stable, small, found)))
    return [scenario.title] * bool(scenario.title) + [f"  {key:<10} {text}" for key, text in lines]


def _rest_text(theta: np.ndarray) -> str:
    degrees = np.degrees(wrapped(theta))
    if np.abs(degrees).max() < 1e-9:
        return "straight down"
    if len(degrees) <= ANGLES:
        return f"at {', '.join(_plain(angle) for angle in degrees)} deg"
    return f"at angles from {_plain(degrees.min())} to {_plain(degrees.max())} deg"


def _stable_text(stable: bool, small: Linearization, found: list[Mode]) -> str:
    words = [_word(small, mode) for mode in found]
    growing, neutral = sum(word.startswith("grows") for word in words), words.count("neutral")
    some = f"{neutral} of {len(words)} modes neutral: nothing brings the chain back"
    if stable:
        return f"yes, with {some}" if neutral else "yes"
    if growing:
        return f"no: {growing} of {len(words)} modes {'grow' if growing > 1 else 'grows'}, by up to {small.growth:.4g} 1/s"
    return f"no: {some}" if neutral else "no: at the limit"


def _rows(small: Linearization, found: list[Mode], count: int) -> list[str]:
    """Return the table of modes in lines."""
    if not found:
        return ["  no modes: the links cannot move"]
    table: list[tuple[str, ...]] = [("mode", "rad/s", "Hz", "period s", "damping", "growth 1/s")]
    for k, mode in enumerate(found[:count]):
        hertz = mode.frequency / (2 * math.pi)
        values = (mode.frequency, hertz, 1 / hertz if hertz else None, mode.ratio, mode.growth)
        table.append((str(k + 1), *("-" if value is None else _plain(value, 6) for value in values)))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    words = ["", *(_word(small, mode) for mode in found[:count])]
    rows = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    lines = [f"  {row}  {word}".rstrip() for row, word in zip(rows, words, strict=True)]
    return lines + [f"  and {len(found) - count} more"] * (len(found) > count)


def _plain(value: float, digits: int = 5) -> str:
    """Return a number in few digits, rounding errors about zero as 0."""
    return f"{0.0 if abs(value) < 1e-12 else value:.{digits}g}"


def _data(scenario: Scenario, rest: Equilibrium, small: Linearization, found: list[Mode]) -> dict[str, Any]:
    """Return the result as plain data; complex numbers are pairs [re, im]."""
    return {
        "title": scenario.title,
        "links": scenario.chain.n,
        "theta": wrapped(rest.theta).tolist(),
        "residual": rest.residual,
        "pin_force": None if rest.pin_force is None else rest.pin_force.tolist(),
        "stable": bool(rest.stable),
        "eigenvalues": _pairs(small.eigenvalues),
        "modes": [_mode_data(small, mode) for mode in found],
    }


def _mode_data(small: Linearization, mode: Mode) -> dict[str, Any]:
    return {
        "frequency": mode.frequency + 0.0,
        "hertz": mode.frequency / (2 * math.pi) + 0.0,
        "period": 2 * math.pi / mode.frequency if mode.frequency else None,
        "undamped": mode.undamped,
        "damping": mode.ratio + 0.0,
        "growth": mode.growth + 0.0,
        "word": _word(small, mode),
        "shape": _pairs(mode.shape) if len(mode.shape) <= SHAPES else None,
    }


def _pairs(values: np.ndarray) -> list[list[float]]:
    return [[float(value.real) + 0.0, float(value.imag) + 0.0] for value in values.astype(complex)]


def _draw(
    scenario: Scenario, small: Linearization, found: list[Mode], folder: Path, kind: str, animate: int | None, quiet: bool
) -> None:
    from nlink.view.modes import animate_mode, save_modes
    from nlink.view.modes_page import modes_page

    page = folder.suffix == ".html"
    files = [modes_page(scenario, small, found, folder)] if page else save_modes(scenario, small, found, folder, kind)
    if animate is not None:
        with Bar("animating", not quiet) as bar:
            files.append(animate_mode(scenario, small, found, animate, folder, bar.update))
    if not quiet:
        print("\n".join(f"nlink: wrote {file}" for file in files), file=sys.stderr)
