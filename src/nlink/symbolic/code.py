"""Equations as code: one function (t, state, parameters) -> rates in Python, C, MATLAB (and Octave) or Julia.

The angles come first in the state, then their rates. Common subexpressions are computed once; the function solves
M a = f itself. Expressions are written by SymPy's printers. The texts of a language are templates: $heading says what the
function is, $parameters what its parameters are, $n is the number of links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from sympy import Rational, ccode, cse, julia_code, numbered_symbols, octave_code, pycode

from nlink._support.checks import choice
from nlink.symbolic.letters import Expression

if TYPE_CHECKING:
    from nlink.symbolic.equations import Equations

Assignments = list[tuple[Expression, Expression]]


@dataclass(frozen=True)
class Language:
    """How a language writes the function."""

    head: str
    """up to the first statement of the function"""
    end: str
    """solves and returns"""
    room: str
    """makes M and f"""
    parameter: str
    """a parameter: name"""
    printed: Callable[[Expression], str]
    element: str = "{}[{}]"
    """an element of an array: array, index"""
    first: int = 1
    """index of the first element of an array"""
    local: str = "{} = {}"
    """a new variable: name, value"""
    entry: str = "M[{0}, {1}] = M[{1}, {0}] = {2}"
    """sets an entry of M off the diagonal: i, j, value"""
    diagonal: str = "M[{}, {}] = {}"
    """sets a diagonal entry of M"""
    force: str = "f[{}] = {}"
    """sets an entry of f"""
    unpacks: bool = False
    """whether a whole array is read in one assignment"""
    strict: bool = False
    """whether a variable that is never used is an error"""

    def filled(self, text: str, equations: Equations) -> str:
        """Return a text of the language for these equations."""
        n, parameters = equations.n, equations.parameters
        rows = [name for name, value in parameters.items() if isinstance(value, tuple)]
        single = [name for name in parameters if name not in rows]
        told = f"{', '.join(rows)} (each {n} number{'s' * (n > 1)})" + (f" and {', '.join(single)}" if single else "")
        fields = ", ".join(f"{name}[N]" if name in rows else name for name in parameters)
        return Template(text).substitute(heading=equations.heading, parameters=told, n=n, fields=fields, next=n + 1, size=2 * n)

    def read(self, equations: Equations) -> list[str]:
        """Return the statements that read the symbols from the state and the parameters."""
        places = [("state", (*equations.coordinates, *equations.rates))]
        places += [(self.parameter.format(name), value) for name, value in equations.parameters.items()]
        expressions = (equations.mass_matrix, equations.short_forcing, *equations.velocities.values())
        used = {str(symbol) for each in expressions for symbol in each.free_symbols}
        lines = []
        for place, value in places:
            symbols = value if isinstance(value, tuple) else ()
            if self.unpacks or not symbols:
                names = ", ".join(map(str, symbols)) + "," * (len(symbols) == 1) if symbols else str(value)
                read = [(names, place)]
            else:
                read = [(str(symbol), self.element.format(place, i)) for i, symbol in enumerate(symbols, self.first)]
            lines += [self.local.format(name, where) for name, where in read if name in used or not self.strict]
        return lines


PYTHON_HEAD = '''from math import cos, sin, sqrt

import numpy as np


def derivative(t, state, parameters):
    """Return the rates of the state (angles, then their rates) at time t: $heading.

    parameters is a dict of $parameters.
    """
'''
C_HEAD = """/* $heading */
#include <math.h>

#define N $n

struct parameters {
    double $fields;
};

/* Fill rates with those of the state (angles, then their rates) at time t. */
void derivative(double t, const double state[2 * N], const struct parameters *p, double rates[2 * N])
{
    (void)t;
"""
C_END = """    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            M[i][j] = M[j][i];
    /* M is symmetric and positive definite: elimination needs no pivots */
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++) {
            const double factor = M[i][k] / M[k][k];
            for (int j = k; j < N; j++)
                M[i][j] -= factor * M[k][j];
            f[i] -= factor * f[k];
        }
    for (int i = N - 1; i >= 0; i--) {
        for (int j = i + 1; j < N; j++)
            f[i] -= M[i][j] * rates[N + j];
        rates[i] = state[N + i];
        rates[N + i] = f[i] / M[i][i];
    }
}
"""
MATLAB_HEAD = """function rates = derivative(t, state, p)
% Rates of the state (angles, then their rates) at time t: $heading.
% p is a struct of $parameters.
"""
JULIA_HEAD = '''using LinearAlgebra

"""
Rates of the state (angles, then their rates) at time t: $heading.
p has the fields $parameters.
"""
function derivative(t, state, p)
'''


def _scalar(printer: Callable[[Expression], object]) -> Callable[[Expression], str]:
    """Write * for the printer's elementwise .* and so on: every value is a number."""
    return lambda value: str(printer(value)).replace(".*", "*").replace("./", "/").replace(".^", "^")


SQUARES: Expression = {"Pow": [(lambda base, power: power == 2 and base.is_Symbol, lambda base, _: f"({base}*{base})"),
                  (lambda base, power: power == Rational(1, 2), lambda base, _: f"sqrt({base})"),
                  (lambda base, power: True, "pow")]}  # fmt: skip
LANGUAGES = {
    "python": Language(
        head=PYTHON_HEAD,
        end="    return np.concatenate([np.asarray(state, float)[$n :], np.linalg.solve(M, f)])\n",
        room="M, f = np.empty(($n, $n)), np.empty($n)",
        parameter='parameters["{}"]',
        printed=lambda value: str(pycode(value, fully_qualified_modules=False)),
        first=0,
        unpacks=True,
    ),
    "c": Language(
        head=C_HEAD,
        end=C_END,
        room="double M[N][N], f[N];",
        parameter="p->{}",
        printed=lambda value: str(ccode(value, user_functions=SQUARES)),
        first=0,
        local="const double {} = {};",
        entry="M[{}][{}] = {};",
        diagonal="M[{}][{}] = {};",
        force="f[{}] = {};",
        strict=True,
    ),
    "matlab": Language(
        head=MATLAB_HEAD,
        end="    rates = [reshape(state($next:$size), [], 1); M \\ f];\nend\n",
        room="M = zeros($n); f = zeros($n, 1);",
        parameter="p.{}",
        printed=_scalar(octave_code),
        element="{}({})",
        local="{} = {};",
        entry="M({0}, {1}) = {2}; M({1}, {0}) = M({0}, {1});",
        diagonal="M({}, {}) = {};",
        force="f({}) = {};",
    ),
    "julia": Language(
        head=JULIA_HEAD,
        end="    return [state[$next:$size]; M \\ f]\nend\n",
        room="M, f = zeros($n, $n), zeros($n)",
        parameter="p.{}",
        printed=_scalar(julia_code),
    ),
}
"""The languages by name."""


def source(equations: Equations, language: str) -> str:
    """Return the function in a language."""
    how = LANGUAGES[choice("the language", language, LANGUAGES)]
    first, n = how.first, equations.n
    places = [(i, j) for i in range(n) for j in range(i, n)]
    entries = [equations.mass_matrix[place] for place in places]
    common, results = eliminated([*equations.velocities.items()], [*entries, *equations.short_forcing])
    lines = [*how.read(equations), *(how.local.format(name, how.printed(value)) for name, value in common)]
    lines.append(how.filled(how.room, equations))
    for (i, j), value in zip(places, results, strict=False):
        lines.append((how.diagonal if i == j else how.entry).format(i + first, j + first, how.printed(value)))
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
