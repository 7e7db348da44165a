"""How each language writes the function that `code` makes of the equations: reads its arguments, assigns, solves, returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sympy import Rational, ccode, julia_code, octave_code, pycode

if TYPE_CHECKING:
    from nlink.symbolic.equations import Equations


@dataclass(frozen=True)
class Language:
    """How a language writes the function."""

    head: Callable[[Equations], str]
    """up to the first statement of the function"""
    read: Callable[[Equations], list[str]]
    """statements that read the symbols from the state and the parameters"""
    local: str
    """a new variable: name, value"""
    room: str
    """makes M and f"""
    entry: str
    """sets an entry of M off the diagonal: i, j, value"""
    diagonal: str
    """sets a diagonal entry of M"""
    force: str
    """sets an entry of f"""
    first: int
    """number of the first entry of an array"""
    end: Callable[[Equations], str]
    """solves and returns"""
    printed: Callable[[Any], str]


def _described(equations: Equations) -> str:
    rows = [name for name, value in _parameters(equations) if isinstance(value, tuple)]
    single = [name for name, value in _parameters(equations) if not isinstance(value, tuple)]
    text = f"{', '.join(rows)} (each {equations.n} number{'s' * (equations.n > 1)})"
    return text + (f" and {', '.join(single)}" if single else "")


def _parameters(equations: Equations) -> list[tuple[str, Any]]:
    return list(equations.symbols.items())[2:]


def _state(equations: Equations) -> list[str]:
    return [str(symbol) for symbol in (*equations.coordinates, *equations.rates)]


# Python


def _python_head(equations: Equations) -> str:
    return f'''from math import cos, sin, sqrt

import numpy as np


def derivative(t, state, parameters):
    """Return the rates of the state (angles, then their rates) at time t: {equations.heading}.

    parameters is a dict of {_described(equations)}.
    """
'''


def _python_read(equations: Equations) -> list[str]:
    lines = [f"{', '.join(_state(equations))} = state"]
    for name, value in _parameters(equations):
        left = ", ".join(map(str, value)) + "," * (len(value) == 1) if isinstance(value, tuple) else name
        lines.append(f'{left} = parameters["{name}"]')
    return lines


def _python_end(equations: Equations) -> str:
    return f"    return np.concatenate([np.asarray(state, float)[{equations.n} :], np.linalg.solve(M, f)])\n"


# C


def _c_head(equations: Equations) -> str:
    rows = ", ".join(f"{name}[N]" if isinstance(value, tuple) else name for name, value in _parameters(equations))
    return f"""/* {equations.heading} */
#include <math.h>

#define N {equations.n}

struct parameters {{
    double {rows};
}};

/* Fill rates with those of the state (angles, then their rates) at time t. */
void derivative(double t, const double state[2 * N], const struct parameters *p, double rates[2 * N])
{{
    (void)t;
"""


def _c_read(equations: Equations) -> list[str]:
    lines = [f"const double {name} = state[{i}];" for i, name in enumerate(_state(equations))]
    for name, value in _parameters(equations):
        symbols = value if isinstance(value, tuple) else ()
        lines += [f"const double {symbol} = p->{name}[{i}];" for i, symbol in enumerate(symbols)]
        lines += [f"const double {name} = p->{name};"] * (not symbols)
    used = equations.mass_matrix.free_symbols | equations.short_forcing.free_symbols
    used = used.union(*(value.free_symbols for value in equations.velocities.values()))
    names = {str(symbol) for symbol in used}
    return [line for line in lines if line.split()[2] in names]


def _c_end(_: Equations) -> str:
    return """    for (int i = 0; i < N; i++)
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


# MATLAB


def _matlab_head(equations: Equations) -> str:
    return f"""function rates = derivative(t, state, p)
% Rates of the state (angles, then their rates) at time t: {equations.heading}.
% p is a struct of {_described(equations)}.
"""


def _read_from_one(equations: Equations, element: str, end: str) -> list[str]:
    """Read state and parameters where arrays count from 1."""
    lines = [f"{name} = {element.format('state', i + 1)}{end}" for i, name in enumerate(_state(equations))]
    for name, value in _parameters(equations):
        symbols = value if isinstance(value, tuple) else ()
        lines += [f"{symbol} = {element.format(f'p.{name}', i + 1)}{end}" for i, symbol in enumerate(symbols)]
        lines += [f"{name} = p.{name}{end}"] * (not symbols)
    return lines


def _matlab_end(equations: Equations) -> str:
    n = equations.n
    return f"    rates = [reshape(state({n + 1}:{2 * n}), [], 1); M \\ f];\nend\n"


# Julia


def _julia_head(equations: Equations) -> str:
    return f'''using LinearAlgebra

"""
Rates of the state (angles, then their rates) at time t: {equations.heading}.
p has the fields {_described(equations)}.
"""
function derivative(t, state, p)
'''


def _julia_end(equations: Equations) -> str:
    return f"    return [state[{equations.n + 1}:{2 * equations.n}]; M \\ f]\nend\n"


def _scalar(printer: Callable[[Any], Any]) -> Callable[[Any], str]:
    """Write * for the printer's elementwise .* and so on: every value is a number."""
    return lambda value: str(printer(value)).replace(".*", "*").replace("./", "/").replace(".^", "^")


SQUARES: Any = {"Pow": [(lambda base, power: power == 2 and base.is_Symbol, lambda base, _: f"({base}*{base})"),
                  (lambda base, power: power == Rational(1, 2), lambda base, _: f"sqrt({base})"),
                  (lambda base, power: True, "pow")]}  # fmt: skip


LANGUAGES = {
    "python": Language(
        head=_python_head,
        read=_python_read,
        local="{} = {}",
        room="M, f = np.empty(({n}, {n})), np.empty({n})",
        entry="M[{0}, {1}] = M[{1}, {0}] = {2}",
        diagonal="M[{0}, {1}] = {2}",
        force="f[{}] = {}",
        first=0,
        end=_python_end,
        printed=lambda value: str(pycode(value, fully_qualified_modules=False)),
    ),
    "c": Language(
        head=_c_head,
        read=_c_read,
        local="const double {} = {};",
        room="double M[N][N], f[N];",
        entry="M[{}][{}] = {};",
        diagonal="M[{}][{}] = {};",
        force="f[{}] = {};",
        first=0,
        end=_c_end,
        printed=lambda value: str(ccode(value, user_functions=SQUARES)),
    ),
    "matlab": Language(
        head=_matlab_head,
        read=lambda equations: _read_from_one(equations, "{}({})", ";"),
        local="{} = {};",
        room="M = zeros({n}); f = zeros({n}, 1);",
        entry="M({0}, {1}) = {2}; M({1}, {0}) = M({0}, {1});",
        diagonal="M({}, {}) = {};",
        force="f({}) = {};",
        first=1,
        end=_matlab_end,
        printed=_scalar(octave_code),
    ),
    "julia": Language(
        head=_julia_head,
        read=lambda equations: _read_from_one(equations, "{}[{}]", ""),
        local="{} = {}",
        room="M, f = zeros({n}, {n}), zeros({n})",
        entry="M[{0}, {1}] = M[{1}, {0}] = {2}",
        diagonal="M[{}, {}] = {}",
        force="f[{}] = {}",
        first=1,
        end=_julia_end,
        printed=_scalar(julia_code),
    ),
}
"""The languages by name."""
