"""Equations as plain text and as LaTeX: entries of M and f one by one, long sums broken between terms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sympy import sstr
from sympy.printing.latex import LatexPrinter

from nlink.symbolic.letters import Expression

if TYPE_CHECKING:
    from nlink.symbolic.equations import Equations

WIDTH = 92
"""Characters, more or less, in a printed line of a sum."""
ANGLE = {"absolute": "theta", "relative": "phi"}
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
    angle = ANGLE[equations.angles]
    groups = [energies(equations), list(equations.velocities.items()), entries(equations, "M_{}_{}"), forces(equations, "f_{}")]
    blocks = ["\n".join(f"{name} = {sstr(expression)}" for name, expression in group) for group in groups if group]
    return "\n\n".join([f"{equations.title}\nM({angle}) {angle}'' = f", *blocks]) + "\n"


def latex(equations: Equations, document: bool) -> str:
    """Return the equations as a fragment of LaTeX, or as a whole document."""
    write, angle, rate = _Writer(equations), "\\" + ANGLE[equations.angles], RATE[equations.angles]
    parts = [f"% {equations.heading}", "The energies are", write.block(energies(equations))]
    if equations.velocities:
        parts += ["with the velocities of the centres of mass", write.block(list(equations.velocities.items()))]
    parts.append(rf"The equations of motion are $M({angle})\,\ddot{{{angle}}} = f({angle}, {rate}, t)$ with a symmetric $M$,")
    parts += [write.block(entries(equations, "M_{{{},{}}}")), "and", write.block(forces(equations, "f_{{{}}}"))]
    body = "\n".join(parts) + "\n"
    return PREAMBLE + body + "\\end{document}\n" if document else body


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


class _Writer:
    """Writes pairs (name, expression) as aligned equations."""

    def __init__(self, equations: Equations) -> None:
        rows = [s for value in equations.symbols.values() if isinstance(value, tuple) for s in value]
        split = {symbol: str(symbol).split("_") for symbol in (*rows, *equations.velocities)}
        names = {symbol: SPECIAL[letter] % index for symbol, (letter, index) in split.items() if letter in SPECIAL}
        self._print = LatexPrinter({"symbol_names": names}).doprint

    def block(self, pairs: Pairs) -> str:
        """Return one align* of all pairs."""
        lines = [line for name, expression in pairs for line in self._lines(name, expression)]
        return "{\\allowdisplaybreaks\n\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}}"

    def _lines(self, name: str | Expression, expression: Expression) -> list[str]:
        left = name if isinstance(name, str) else self._print(name)
        lines, width = [f"{left} ={{}}&"], 0
        for k, term in enumerate(expression.as_ordered_terms()):
            shown = self._print(term)
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
