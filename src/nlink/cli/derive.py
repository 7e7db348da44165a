"""`nlink derive`: the equations of motion in symbols, as text, LaTeX or code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nlink._support.checks import choice
from nlink.cli.common import Table
from nlink.cli.report import write_text
from nlink.mechanics.loads import LOADS

if TYPE_CHECKING:
    from nlink.symbolic import Equations

FORMATS = {"text": ".txt", "latex": ".tex", "python": ".py", "c": ".c", "matlab": ".m", "julia": ".jl"}
DERIVED = (
    r'([^\n]*\n){0,7}[^\n]*(derived by nlink|"source": "nlink")|\d+ (rigid link|point mass)(es|s)? in (absolute|relative) angles'
)
"""What begins a file that this command has written."""


def derive(
    n: Annotated[int, typer.Argument(metavar="N", help="Number of links.")],
    shape: Annotated[str, typer.Option(help="rigid (rigid links) or point (point masses).")] = "rigid",
    loads: Annotated[
        list[str] | None, typer.Option("--load", help=f"May be repeated: {', '.join(LOADS)}; gravity alone if not given.")
    ] = None,
    relative: Annotated[bool, typer.Option("--relative", help="Angles between neighbours instead of absolute angles.")] = False,
    offset: Annotated[bool, typer.Option("--offset", help="Centres of mass of rigid links off their axes.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Do not collect sines and cosines of differences.")] = False,
    kind: Annotated[
        str | None, typer.Option("--format", help=f"{', '.join(FORMATS)}; if not given, by the name of the file, else text.")
    ] = None,
    document: Annotated[bool, typer.Option("--document", help="LaTeX: a whole document, not a fragment.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; the standard output if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print energies, M and f as JSON.")] = False,
) -> None:
    """Derive the equations of motion of N links, M q'' = f, by Lagrange's method.

    Examples: nlink derive 2 | nlink derive 3 --shape point --format latex | nlink derive 4 --load gravity --load drag -o four.c
    """
    by_name = next((form for form, suffix in FORMATS.items() if output and output.suffix == suffix), "text")
    form = choice("--format", kind, FORMATS) if kind else by_name
    from nlink.symbolic import derive as derived

    angles = "relative" if relative else "absolute"
    equations = derived(n, shape=shape, loads=loads or ("gravity",), angles=angles, offset=offset, simplify=not raw)
    text = json.dumps(_table(equations), indent=2) + "\n" if as_json else _text(equations, form, document)
    write_text(text, output, DERIVED)


def _text(equations: Equations, form: str, document: bool) -> str:
    if form == "text":
        return equations.text()
    return equations.latex(document) if form == "latex" else equations.code(form)


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
