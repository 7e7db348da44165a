"""The source of a compiled function from the equations in symbols: what the formulation `lagrange` runs.

The function reads angles, rates, torques, sines and cosines from the state y and the scratch w, the parameters from the
rows of `links`, all as flat arrays, and leaves in w either M and f, or, eliminated on the spot, the accelerations in
the place of f. Terms by load stand in blocks: `level` 0 has gravity alone, 1 the moments too, 2 also drag and the tip.
"""

from __future__ import annotations

from collections.abc import Iterable

from sympy import Add, Symbol, cos, sin

from nlink.mechanics.loads import LOADS, Gravity, JointTorque
from nlink.mechanics.parameters import GRAVITY, PARAMETERS, SINGLE
from nlink.mechanics.scratch import TQ, C, S
from nlink.symbolic.code import Assignments, eliminated
from nlink.symbolic.derivation import Derivation, derivation
from nlink.symbolic.languages import LANGUAGES
from nlink.symbolic.letters import Expression

LEVELS = (
    ("inertia", "gravity"),
    tuple(load for load, kind in LOADS.items() if not kind.moves and kind is not Gravity),
    tuple(load for load, kind in LOADS.items() if kind.moves),
)
HEAD = '''"""Lagrange's equations of {n} links, written by nlink."""

from math import sqrt

from nlink.formulations.lagrange import compiled


@compiled
def rates(level, g, y, links, tip, w):
'''


def source(n: int, simplify: bool, substitution: bool, force: int, matrix: int) -> str:
    """Return the module for n links; row `force` of w takes f or the accelerations, the rows from `matrix` M."""
    found = derivation(n, "rigid", tuple(LOADS), True, simplify)
    waves = _Waves(found)
    entries = [(f"M_{i + 1}_{j + 1}", waves.named(entry)) for (i, j), entry in found.mass.items()]
    blocks = [[], [], [(name, waves.named(value)) for name, value in found.velocities.items()]]
    lines = []
    for level, (loads, definitions) in enumerate(zip(LEVELS, blocks, strict=True)):
        forces = [waves.named(Add(*(found.forces[load][i] for load in loads))) for i in range(n)]
        lines += [f"if level >= {level}:"] * bool(level)
        body = _block(entries * (not level), definitions, forces, level)
        lines += [f"    {line}" for line in body] if level else body
    lines += _eliminated(n, force) if substitution else _stored(n, force, matrix)
    read = [*_reads(found), *waves.lines()]
    return HEAD.format(n=n) + "".join(f"    {line}\n" for line in (*read, *lines))


def _block(entries: Assignments, definitions: Assignments, forces: list[Expression], level: int) -> list[str]:
    """Return the statements that set the entries of M and set or add to the forces."""
    common, results = eliminated(definitions, [value for _, value in entries] + forces, "xyz"[level])
    names = [name for name, _ in entries] + [f"f_{i + 1}" for i in range(len(forces))]
    sets = ["="] * len(entries) + ["+=" if level else "="] * len(forces)
    python = LANGUAGES["python"].printed
    lines = [f"{name} = {python(value)}" for name, value in common]
    return lines + [f"{name} {how} {python(value)}" for name, how, value in zip(names, sets, results, strict=True)]


class _Waves:
    """Names for sines and cosines: s_i, c_i come from w, those of differences are made from them."""

    def __init__(self, found: Derivation) -> None:
        self._index = {angle: i + 1 for i, angle in enumerate(found.letters.angle)}
        self._names: dict[Expression, Expression] = {}
        self._lines: dict[str, str] = {}

    def named(self, expression: Expression) -> Expression:
        """Return the expression with symbols for its waves."""
        for wave in expression.atoms(sin, cos) - self._names.keys():
            self._names[wave] = self._name(wave)
        return expression.xreplace(self._names)

    def _name(self, wave: Expression) -> Expression:
        signed = [term.as_coeff_Mul() for term in Add.make_args(wave.args[0])]
        i, *others = [self._index[angle] for _, angle in sorted(signed, key=lambda part: -part[0])]
        name = "_".join(map(str, (wave.func.__name__, i, *others)))
        if not others:
            return Symbol(name)
        (j,) = others
        sine, cosine = f"sin_{i}*cos_{j} - cos_{i}*sin_{j}", f"cos_{i}*cos_{j} + sin_{i}*sin_{j}"
        self._lines[name] = sine if wave.func is sin else cosine
        return Symbol(name)

    def lines(self) -> list[str]:
        """Return the statements that make the differences."""
        return [f"{name} = {value}" for name, value in sorted(self._lines.items())]


def _reads(found: Derivation) -> list[str]:
    """Return the statements that read the state, the scratch and the parameters."""
    n = found.letters.n
    rows = {"sin": ("w", S * n), "cos": ("w", C * n), "T": ("w", TQ * n), "theta": ("y", 0), "omega": ("y", n)}
    lines = []
    for each in PARAMETERS.values():
        if each.row == SINGLE:
            lines.append(f"{each.parameter.symbol} = tip[{each.component}]")
        elif each.row != GRAVITY and each.record is not JointTorque:
            rows[each.parameter.symbol] = ("links", each.row * n)
    return lines + [f"{letter}_{i + 1} = {array}[{start + i}]" for letter, (array, start) in rows.items() for i in range(n)]


def _stored(n: int, force: int, matrix: int) -> list[str]:
    """Return the statements that store M, both halves, and f."""
    lines = [f"w[{force * n + i}] = f_{i + 1}" for i in range(n)]
    for i in range(n):
        for j in range(i, n):
            places = dict.fromkeys((f"w[{(matrix + i) * n + j}]", f"w[{(matrix + j) * n + i}]"))
            lines.append(f"{' = '.join(places)} = M_{i + 1}_{j + 1}")
    return lines


def _eliminated(n: int, force: int) -> list[str]:
    """Return the statements of forward and backward substitution.

    Forward, equation i takes the accelerations 1, 2, ... i-1, each isolated from its own equation as
    a_k = r_k - sum_{j > k} u_k_j a_j, and is solved for a_i. Backward, from the last, each a_i becomes a number. What is
    left of M stays symmetric, so the coefficient of a_k in equation i is e_k_i, that of a_i in equation k.
    """
    lines = []
    for i in range(1, n + 1):
        lines += [f"e_{i}_{j} = M_{i}_{j}" + _less(f"e_{k}_{i}*u_{k}_{j}" for k in range(1, i)) for j in range(i, n + 1)]
        lines.append(f"h_{i} = 1.0/e_{i}_{i}")
        lines += [f"u_{i}_{j} = h_{i}*e_{i}_{j}" for j in range(i + 1, n + 1)]
        lines.append(f"r_{i}_ = h_{i}*(f_{i}{_less(f'e_{k}_{i}*r_{k}_' for k in range(1, i))})")
    for i in range(n, 0, -1):
        lines.append(f"a_{i} = r_{i}_" + _less(f"u_{i}_{j}*a_{j}" for j in range(n, i, -1)))
        lines.append(f"w[{force * n + i - 1}] = a_{i}")
    return lines


def _less(terms: Iterable[str]) -> str:
    return "".join(f" - {term}" for term in terms)
