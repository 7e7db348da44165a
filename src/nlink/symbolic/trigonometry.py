"""Collecting sines and cosines: cheap, term by term, where a general simplifier would take minutes.

Products of two sines or cosines become sines and cosines of differences and sums; the sums cancel in what comes from a
scalar product of two links' directions. Terms with the same wave and the same cofactor are joined, so that masses come
out as sums:  l_1 l_2 m_2 cos cos + l_1 l_2 m_3 cos cos + ...  ->  l_1 l_2 (m_2 + m_3) cos(theta_1 - theta_2).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from sympy import Add, Mul, Rational, S, cos, expand, factor_terms, sin

from nlink.symbolic.letters import Expression

HALF = Rational(1, 2)


def collected(expression: Expression, masses: Iterable[Expression]) -> Expression:
    """Return a polynomial in sines and cosines, of degree at most two in them, with its waves and masses collected."""
    masses = set(masses)
    table: dict[Expression, dict[Expression, list[Expression]]] = defaultdict(lambda: defaultdict(list))
    for term in Add.make_args(expand(expression, trig=False)):
        factors = [factor.as_base_exp() for factor in Mul.make_args(term)]
        waves = [base for base, power in factors if isinstance(base, sin | cos) for _ in range(int(power))]
        mass = Mul(*(base**power for base, power in factors if base in masses))
        rest = Mul(*(base**power for base, power in factors if base not in masses and not isinstance(base, sin | cos)))
        for sign, wave in _sum_of_waves(waves):
            table[wave][rest].append(sign * mass)
    return Add(*(wave * _joined(cofactors) for wave, cofactors in table.items()))


def _joined(cofactors: dict[Expression, list[Expression]]) -> Expression:
    return factor_terms(Add(*(rest * Add(*masses) for rest, masses in cofactors.items())))


def _sum_of_waves(waves: list[Expression]) -> list[tuple[Expression, Expression]]:
    """Return a product of at most two waves as a sum of waves, each with its factor."""
    if len(waves) < 2:
        return [(1, waves[0] if waves else S.One)]
    first, second = sorted(waves, key=lambda wave: isinstance(wave, sin))
    a, b = first.args[0], second.args[0]
    if isinstance(first, sin):
        parts = [(HALF, cos(a - b)), (-HALF, cos(a + b))]
    elif isinstance(second, sin):
        parts = [(HALF, sin(b + a)), (HALF, sin(b - a))]
    else:
        parts = [(HALF, cos(a - b)), (HALF, cos(a + b))]
    return [(factor * sign, wave) for factor, part in parts for sign, wave in [part.as_coeff_Mul()]]
