"""How languages write the functions that `code` makes of equations: texts as templates, and SymPy's printers.

$heading says what the equations are of, $parameters what the parameters are, $values what the energies are; $n is the number of
links, $count that of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from sympy import Rational, ccode, jscode, julia_code, octave_code, pycode

from nlink.symbolic.letters import Expression

if TYPE_CHECKING:
    from nlink.symbolic.equations import Equations


class Frame(NamedTuple):
    """The texts of a function around its statements."""

    head: str
    """up to the first statement"""
    room: str
    """makes what the statements fill: M and f, or values"""
    end: str
    """returns; of the rates, solves too"""


@dataclass(frozen=True)
class Language:
    """How a language writes the functions."""

    rates: Frame
    energies: Frame
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
    value: str = "values[{}] = {}"
    """sets one of the energies and powers"""
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
        loads = ", ".join(load.replace("_", " ") for load in equations.short_powers)
        values = "the kinetic and the potential energy in J" + f", and the powers in W of {loads}" * bool(loads)
        numbers = {"n": n, "next": n + 1, "size": 2 * n, "count": 2 + len(equations.short_powers)}
        return Template(text).substitute(heading=equations.heading, parameters=told, fields=fields, values=values, **numbers)

    def read(self, equations: Equations, expressions: Iterable[Expression]) -> list[str]:
        """Return the statements that read the symbols of expressions from the state and the parameters."""
        places = [("state", (*equations.coordinates, *equations.rates))]
        places += [(self.parameter.format(name), value) for name, value in equations.parameters.items()]
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
PYTHON_ENERGIES = '''from math import cos, sin, sqrt

import numpy as np


def energies(state, parameters):
    """Return $values: $heading.

    parameters is a dict of $parameters.
    """
'''
C_TOP = """/* $heading */
#include <math.h>

#ifndef N
#define N $n

struct parameters {
    double $fields;
};
#endif

"""
C_HEAD = (
    C_TOP
    + """/* Fill rates with those of the state (angles, then their rates) at time t. */
void derivative(double t, const double state[2 * N], const struct parameters *p, double rates[2 * N])
{
    (void)t;
"""
)
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
C_ENERGIES = (
    C_TOP
    + """/* Fill values with $values. */
void energies(const double state[2 * N], const struct parameters *p, double values[$count])
{
"""
)
MATLAB_HEAD = """function rates = derivative(t, state, p)
% Rates of the state (angles, then their rates) at time t: $heading.
% p is a struct of $parameters.
"""
MATLAB_ENERGIES = """function values = energies(state, p)
% Return $values: $heading.
% p is a struct of $parameters.
"""
JULIA_HEAD = '''using LinearAlgebra

"""
Rates of the state (angles, then their rates) at time t: $heading.
p has the fields $parameters.
"""
function derivative(t, state, p)
'''
JULIA_ENERGIES = '''"""
Return $values: $heading.
p has the fields $parameters.
"""
function energies(state, p)
'''
JAVASCRIPT_HEAD = """// $heading

const N = $n;
const M = Array.from({ length: N }, () => new Float64Array(N)), f = new Float64Array(N);

// Fill rates with those of the state (angles, then their rates) at time t. p has the fields $parameters.
export function derivative(t, state, p, rates = new Float64Array(2 * N)) {
"""
JAVASCRIPT_END = """    // M is symmetric and positive definite: elimination needs no pivots, and the upper triangle alone.
    for (let k = 0; k < N; k++) {
        for (let i = k + 1; i < N; i++) {
            const factor = M[k][i] / M[k][k];
            for (let j = i; j < N; j++) M[i][j] -= factor * M[k][j];
            f[i] -= factor * f[k];
        }
    }
    for (let i = N - 1; i >= 0; i--) {
        let sum = f[i];
        for (let j = i + 1; j < N; j++) sum -= M[i][j] * rates[N + j];
        rates[i] = state[N + i];
        rates[N + i] = sum / M[i][i];
    }
    return rates;
}
"""
JAVASCRIPT_ENERGIES = """// $heading

// Fill values with $values. p has the fields $parameters.
export function energies(state, p, values = new Float64Array($count)) {
"""


def _scalar(printer: Callable[[Expression], object]) -> Callable[[Expression], str]:
    """Write * for the printer's elementwise .* and so on: every value is a number."""
    return lambda value: str(printer(value)).replace(".*", "*").replace("./", "/").replace(".^", "^")


SQUARES: Expression = {"Pow": [(lambda base, power: power == 2 and base.is_Symbol, lambda base, _: f"({base}*{base})"),
                  (lambda base, power: power == Rational(1, 2), lambda base, _: f"sqrt({base})"),
                  (lambda base, power: True, "pow")]}  # fmt: skip
LANGUAGES = {
    "python": Language(
        rates=Frame(
            PYTHON_HEAD,
            "M, f = np.empty(($n, $n)), np.empty($n)",
            "    return np.concatenate([np.asarray(state, float)[$n :], np.linalg.solve(M, f)])\n",
        ),
        energies=Frame(PYTHON_ENERGIES, "values = np.empty($count)", "    return values\n"),
        parameter='parameters["{}"]',
        printed=lambda value: str(pycode(value, fully_qualified_modules=False)),
        first=0,
        unpacks=True,
    ),
    "c": Language(
        rates=Frame(C_HEAD, "double M[N][N], f[N];", C_END),
        energies=Frame(C_ENERGIES, "", "}\n"),
        parameter="p->{}",
        printed=lambda value: str(ccode(value, user_functions=SQUARES)),
        first=0,
        local="const double {} = {};",
        entry="M[{}][{}] = {};",
        diagonal="M[{}][{}] = {};",
        force="f[{}] = {};",
        value="values[{}] = {};",
        strict=True,
    ),
    "matlab": Language(
        rates=Frame(
            MATLAB_HEAD, "M = zeros($n); f = zeros($n, 1);", "    rates = [reshape(state($next:$size), [], 1); M \\ f];\nend\n"
        ),
        energies=Frame(MATLAB_ENERGIES, "values = zeros($count, 1);", "end\n"),
        parameter="p.{}",
        printed=_scalar(octave_code),
        element="{}({})",
        local="{} = {};",
        entry="M({0}, {1}) = {2}; M({1}, {0}) = M({0}, {1});",
        diagonal="M({}, {}) = {};",
        force="f({}) = {};",
        value="values({}) = {};",
    ),
    "julia": Language(
        rates=Frame(JULIA_HEAD, "M, f = zeros($n, $n), zeros($n)", "    return [state[$next:$size]; M \\ f]\nend\n"),
        energies=Frame(JULIA_ENERGIES, "values = zeros($count)", "    return values\nend\n"),
        parameter="p.{}",
        printed=_scalar(julia_code),
    ),
    "javascript": Language(
        rates=Frame(JAVASCRIPT_HEAD, "", JAVASCRIPT_END),
        energies=Frame(JAVASCRIPT_ENERGIES, "", "    return values;\n}\n"),
        parameter="p.{}",
        printed=lambda value: str(jscode(value)),
        first=0,
        local="const {} = {};",
        entry="M[{}][{}] = {};",
        diagonal="M[{}][{}] = {};",
        force="f[{}] = {};",
        value="values[{}] = {};",
    ),
}
"""The languages by name."""
