"""Equations as code in Python, C, MATLAB (and Octave), Julia or JavaScript: two functions, each complete in itself.

    derivative(t, state, parameters) -> rates      the rates of the state; it solves M a = f itself
    energies(state, parameters) -> values          kinetic and potential energy, and the power of each load that does work

The angles come first in the state, then their rates. Common subexpressions are computed once. `languages` has the texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import cse, numbered_symbols

from nlink._support.checks import choice
from nlink.symbolic.languages import LANGUAGES, Frame, Language
from nlink.symbolic.letters import Expression

if TYPE_CHECKING:
    from nlink.symbolic.equations import Equations

Assignments = list[tuple[Expression, Expression]]


def source(equations: Equations, language: str, of: str) -> str:
    """Return a function in a language: of the "rates", or of the "energies"."""
    how = LANGUAGES[choice("the language", language, LANGUAGES)]
    if choice("of", of, ("rates", "energies")) == "rates":
        return _function(how, how.rates, equations, _matrix(how, equations))
    named = enumerate([equations.kinetic, equations.potential, *equations.short_powers.values()], how.first)
    return _function(how, how.energies, equations, [(how.value.format(i, "{}"), value) for i, value in named])


def _matrix(how: Language, equations: Equations) -> list[tuple[str, Expression]]:
    """Return the statements that set M and f."""
    first, n = how.first, equations.n
    places = [(i, j) for i in range(n) for j in range(i, n)]
    entries = [((how.diagonal if i == j else how.entry).format(i + first, j + first, "{}"), (i, j)) for i, j in places]
    forces = [(how.force.format(i + first, "{}"), force) for i, force in enumerate(equations.short_forcing)]
    return [(statement, equations.mass_matrix[place]) for statement, place in entries] + forces


def _function(how: Language, frame: Frame, equations: Equations, sets: list[tuple[str, Expression]]) -> str:
    """Return a function from the statements that set its results, each with a place {} for its value."""
    values = [value for _, value in sets]
    common, results = eliminated([*equations.velocities.items()], values)
    lines = how.read(equations, [*values, *equations.velocities.values()])
    lines += [how.local.format(name, how.printed(value)) for name, value in common]
    lines.append(how.filled(frame.room, equations))
    lines += [statement.format(how.printed(value)) for (statement, _), value in zip(sets, results, strict=True)]
    body = "\n".join(f"    {line}" for line in lines if line)
    return f"{how.filled(frame.head, equations)}{body}\n{how.filled(frame.end, equations)}"


def eliminated(definitions: Assignments, results: list[Expression], prefix: str = "x") -> tuple[Assignments, list[Expression]]:
    """Return the assignments of common subexpressions, the definitions among them in order, and what remains of the results."""
    names = [name for name, _ in definitions]
    fresh = numbered_symbols(prefix)
    early, values = cse([value for _, value in definitions], fresh, order="none", list=True) if definitions else ([], [])
    late, rest = cse(results, fresh, order="none", list=True)
    return [*early, *zip(names, values, strict=True), *late], list(rest)
