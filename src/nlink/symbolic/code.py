"""Equations as code: one function (t, state, parameters) -> rates in Python, C, MATLAB (and Octave) or Julia.

The angles come first in the state, then their rates. Common subexpressions are computed once; the function solves
M a = f itself. Expressions are written by SymPy's printers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import cse, numbered_symbols

from nlink._support.checks import choice
from nlink.symbolic.languages import LANGUAGES
from nlink.symbolic.letters import Expression

if TYPE_CHECKING:
    from nlink.symbolic.equations import Equations

Assignments = list[tuple[Expression, Expression]]


def source(equations: Equations, language: str) -> str:
    """Return the function in a language."""
    how = LANGUAGES[choice("the language", language, LANGUAGES)]
    first, n = how.first, equations.n
    common, results = eliminated([*equations.velocities.items()], [*_upper(equations), *equations.short_forcing])
    lines = [*how.read(equations), *(how.local.format(name, how.printed(value)) for name, value in common)]
    lines.append(how.filled(how.room, equations))
    places = [(i + first, j + first) for i in range(n) for j in range(i, n)]
    for (i, j), value in zip(places, results, strict=False):
        lines.append((how.diagonal if i == j else how.entry).format(i, j, how.printed(value)))
    lines += [how.force.format(i + first, how.printed(value)) for i, value in enumerate(results[len(places) :])]
    body = "\n".join(f"    {line}" if line else "" for line in lines)
    return f"{how.filled(how.head, equations)}{body}\n{how.filled(how.end, equations)}"


def eliminated(definitions: Assignments, results: list[Expression], prefix: str = "x") -> tuple[Assignments, list[Expression]]:
    """Return the assignments of common subexpressions, the definitions among them in order, and what remains of the results."""
    names = [name for name, _ in definitions]
    fresh = numbered_symbols(prefix)
    early, values = cse([value for _, value in definitions], fresh, order="none", list=True) if definitions else ([], [])
    late, rest = cse(results, fresh, order="none", list=True)
    return [*early, *zip(names, values, strict=True), *late], list(rest)


def _upper(equations: Equations) -> list[Expression]:
    return [equations.mass_matrix[i, j] for i in range(equations.n) for j in range(i, equations.n)]
