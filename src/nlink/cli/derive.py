"""`nlink derive`: the equations of motion in symbols, as text, LaTeX or code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from nlink._support.checks import ModelError, choice
from nlink._support.endings import check_ending
from nlink.cli.common import Table, chain_of, read_scenario
from nlink.cli.options import models
from nlink.cli.report import write_text
from nlink.mechanics.chain import Link
from nlink.mechanics.loads import LOADS

if TYPE_CHECKING:
    from nlink.symbolic import Equations

FORMATS = {"text": ".txt", "latex": ".tex", "python": ".py", "c": ".c", "matlab": ".m", "julia": ".jl", "javascript": ".js"}
DERIVED = (
    r'([^\n]*\n){0,7}[^\n]*(derived by nlink|"source": "nlink")|\d+ (rigid link|point mass)(es|s)? in (absolute|relative) angles'
)
"""What begins a file that this command has written."""


def derive(
    model: Annotated[
        str, typer.Argument(metavar="N|MODEL", autocompletion=models, help="Number of links, or a preset or a model file.")
    ],
    shape: Annotated[
        str | None, typer.Option(help="rigid (rigid links) or point (point masses). Without it: that of the model, else rigid.")
    ] = None,
    loads: Annotated[
        list[str] | None,
        typer.Option("--load", help=f"May be repeated: {', '.join(LOADS)}. Without it: the loads of the model, else gravity."),
    ] = None,
    relative: Annotated[bool, typer.Option("--relative", help="Angles between neighbours instead of absolute angles.")] = False,
    offset: Annotated[bool, typer.Option("--offset", help="Centres of mass of rigid links off their axes.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Do not collect sines and cosines of differences.")] = False,
    kind: Annotated[
        str | None, typer.Option("--format", help=f"{', '.join(FORMATS)}. Without it: by the ending of the file, else text.")
    ] = None,
    energies: Annotated[
        bool, typer.Option("--energies", help="Code: the energies and the powers of the loads, not the rates.")
    ] = False,
    document: Annotated[bool, typer.Option("--document", help="LaTeX: a whole document, not a fragment.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file. Without it: the standard output.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print energies, M and f as JSON.")] = False,
) -> None:
    """Derive the equations of motion of N links, M q'' = f, by Lagrange's method.

    Of a model the command takes the number of links, their shape and the loads. The equations are symbolic.

    Examples: nlink derive 2 | nlink derive my.toml | nlink derive 3 --shape point --format latex |
    nlink derive 4 --load gravity --load drag -o four.c
    """
    by_name = next((form for form, suffix in FORMATS.items() if output and output.suffix == suffix), "text")
    if output and not kind and not as_json:
        check_ending("--output", output, tuple(FORMATS.values()), "or say what to write with --format")
    form = choice("--format", kind, FORMATS) if kind else by_name
    if energies and (as_json or form in ("text", "latex")):
        raise ModelError("--energies goes with code, as --format c; text, LaTeX and JSON have the energies in any case")
    from nlink.symbolic import derive as derived

    what = Derived(int(model), "rigid", ("gravity",), False) if model.isdecimal() else _of_model(model)
    what = what._replace(shape=shape or what.shape, loads=loads or what.loads, offset=offset or what.offset)
    equations = derived(**what._asdict(), angles="relative" if relative else "absolute", simplify=not raw)
    text = json.dumps(_table(equations), indent=2) + "\n" if as_json else _text(equations, form, energies, document)
    write_text(text, output, DERIVED)


class Derived(NamedTuple):
    """What is derived."""

    n: int
    shape: str
    loads: Sequence[str]
    offset: bool


def _of_model(name: str) -> Derived:
    """Return what the chain of a model needs."""
    chain = chain_of(name, read_scenario(name, {}, None)[2], "equations are derived for", "give a number of links, or simulate it")
    if chain.pin:
        raise ModelError(f"{name} is a closed chain, and equations are derived for open ones; take [pin] out of the model")
    points = all(link == Link.point(link.length, link.mass) for link in chain.links)
    loads = [load.name for load in chain.loads if load.name != "gravity" or chain.g]
    return Derived(chain.n, "point" if points else "rigid", loads, bool(chain.offset.any()))


def _text(equations: Equations, form: str, energies: bool, document: bool) -> str:
    if form == "text":
        return equations.text()
    return equations.latex(document) if form == "latex" else equations.code(form, "energies" if energies else "rates")


def _table(equations: Equations) -> Table:
    """Return the equations as plain data: expressions in the syntax of SymPy."""
    return {
        "title": equations.title,
        "source": "nlink",
        "links": equations.n,
        "shape": equations.shape,
        "angles": equations.angles,
        "loads": list(equations.loads),
        "symbols": {name: [*map(str, s)] if isinstance(s, tuple) else str(s) for name, s in equations.symbols.items()},
        **{name: str(getattr(equations, name)) for name in ("kinetic", "potential", "rayleigh")},
        "mass_matrix": [[str(entry) for entry in row] for row in equations.mass_matrix.tolist()],
        "forcing": [str(force) for force in equations.forcing],
    }
