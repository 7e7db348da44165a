"""Equations as plain text and as LaTeX: entries of M and f one by one, long sums broken between terms."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sympy import sstr
from sympy.printing.latex import LatexPrinter

from nlink.symbolic.letters import COORDINATES, Expression

if TYPE_CHECKING:
    from nlink.symbolic.equations import Equations

WIDTH = 92
"""Characters, more or less, in a printed line of a sum."""
RATE = {"absolute": r"\omega", "relative": r"\dot{\phi}"}
SPECIAL = {"c1": "c'_{%s}", "c2": "c''_{%s}", "vx": r"\dot{x}_{%s}", "vy": r"\dot{y}_{%s}"}
PREAMBLE = r"""\documentclass{article}
\usepackage{amsmath}
\usepackage[margin=2cm]{geometry}
\begin{document}
"""
Pairs = list[tuple[str | Expression, Expression]]


def text(equations: Equations) -> str:
    """Return everything as `name = expression` lines."""
    angle = COORDINATES[equations.angles][0]
    groups = [energies(equations), list(equations.velocities.items()), entries(equations, "M_{}_{}"), forces(equations, "f_{}")]
    blocks = ["\n".join(f"{name} = {sstr(expression)}" for name, expression in group) for group in groups if group]
    return "\n\n".join([f"{equations.title}\nM({angle}) {angle}'' = f", *blocks]) + "\n"


def latex(equations: Equations, document: bool) -> str:
    """Return the equations as a fragment of LaTeX, or as a whole document."""
    angle, rate = "\\" + COORDINATES[equations.angles][0], RATE[equations.angles]
    rows = [symbol for value in equations.symbols.values() if isinstance(value, tuple) for symbol in value]
    split = {symbol: str(symbol).split("_") for symbol in (*rows, *equations.velocities)}
    names = {symbol: SPECIAL[letter] % index for symbol, (letter, index) in split.items() if letter in SPECIAL}
    printed = LatexPrinter({"symbol_names": names}).doprint
    parts = [f"% {equations.heading}", "The energies are", _block(energies(equations), printed)]
    if equations.velocities:
        parts += ["with the velocities of the centres of mass", _block(list(equations.velocities.items()), printed)]
    parts.append(rf"The equations of motion are $M({angle})\,\ddot{{{angle}}} = f({angle}, {rate}, t)$ with a symmetric $M$,")
    parts += [_block(entries(equations, "M_{{{},{}}}"), printed), "and", _block(forces(equations, "f_{{{}}}"), printed)]
    body = "\n".join(parts) + "\n"
    return PREAMBLE + body + "\\end{document}\n" if document else body


def notebook(equations: Equations) -> str:
    """Return the equations as Markdown with LaTeX, as notebooks read it."""
    _, _, body = latex(equations, document=False).partition("\n")
    return body.replace("{\\allowdisplaybreaks\n", "").replace("\\end{align*}}", "\\end{align*}")


def energies(equations: Equations) -> Pairs:
    """Return T, V and Rayleigh's function, those that are not zero."""
    pairs = [("T", equations.kinetic), ("V", equations.potential), ("R", equations.short_rayleigh)]
    return [(name, energy) for name, energy in pairs if energy != 0]


def entries(equations: Equations, name: str) -> Pairs:
    """Return the upper triangle of M."""
    n = equations.n
    return [(name.format(i + 1, j + 1), equations.mass_matrix[i, j]) for i in range(n) for j in range(i, n)]


def forces(equations: Equations, name: str) -> Pairs:
    """Return the entries of f."""
    return [(name.format(i + 1), force) for i, force in enumerate(equations.short_forcing)]


def _block(pairs: Pairs, printed: Callable[[Expression], str]) -> str:
    """Return pairs (name, expression) as aligned equations."""
    lines = [line for name, expression in pairs for line in _lines(name, expression, printed)]
    return "{\\allowdisplaybreaks\n\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}}"


def _lines(name: str | Expression, expression: Expression, printed: Callable[[Expression], str]) -> list[str]:
    lines, width = [f"{name if isinstance(name, str) else printed(name)} ={{}}&"], 0
    for k, term in enumerate(expression.as_ordered_terms()):
        shown = printed(term)
        signed = shown if not k or shown.startswith("-") else f"+ {shown}"
        if width and width + _width(signed) > WIDTH:
            lines.append("& {}")
            width = 0
        lines[-1] += f" {signed}"
        width += _width(signed) + 1
    return lines


def _width(shown: str) -> int:
    """Return about how many characters a piece of LaTeX takes on paper."""
    plain = re.sub(r"\\(left|right|frac|dot|cdot)\b|[{}^_ ]", "", shown)
    return len(re.sub(r"\\(sin|cos)\b", "sin", re.sub(r"\\(?!sin|cos)[a-z]+", "x", plain))) + shown.count("+") + shown.count("-")
