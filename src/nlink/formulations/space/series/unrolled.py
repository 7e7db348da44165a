"""Chains of few lines in lanes, a chain in each, with gravity alone: all orders and links unrolled.

As in one vector (`one_vector`), with numbers of links in place of lanes:

    q = C^-1 p     lambda = A^-1 g     g = -(k+1)(k+2) s/2 - e.q     (k+1)(k+2) e_{k+2} = q + C^-1 (lambda e)
"""

from __future__ import annotations

from numba import types

from nlink.compiled.jit import intrinsic
from nlink.compiled.lowering import Operand
from nlink.compiled.tracing import Cells, CellsByLink, Number, fields
from nlink.formulations.series.unrolled import added, inverted
from nlink.formulations.space.series.rows import LAM, X, Y, Z
from nlink.mechanics.parameters import COM, HINGE_INERTIA, LENGTH, MASS
from nlink.mechanics.series import layout_of

PARTS = (X, Y, Z)


def unrolled_lines_in_python(room: Operand) -> None:
    """Do what `unrolled_lines` does."""
    lanes_orders(len(room.order), layout_of(room).links, room.chain.links, room.chain.g, room.terms)


@intrinsic(python=unrolled_lines_in_python)
def unrolled_lines(_typing, room):
    """Find the coefficients of chains of few lines with gravity alone, a chain in each lane, unrolled."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        chain = fields(builder, *parts["chain"])
        n, order = layout_of(room).links, parts["order"][0].count
        links, g = Cells(context, builder, *chain["links"]), Number(builder, chain["g"][1])
        terms = CellsByLink(Cells(context, builder, *parts["terms"]), n, order + 2)
        lanes_orders(order, n, links, g, terms, terms.forget)
        return context.get_dummy_value()

    return types.void(room), build


def lanes_orders(order, n, links, g, terms, forget=lambda: None):
    """Write the orders down; call `forget` after each."""
    masses, levels = couplings(n, links)
    inverse = inverted(masses)
    start = [[terms[part, 0, i] for part in PARTS] for i in range(n)]
    pulls = inverted([[inverse[i][j] * added(start[i], start[j]) for j in range(n)] for i in range(n)])
    falls = [added(row, [level * -g for level in levels]) for row in inverse]
    for k in range(order - 1):
        scale = (k + 1.0) * (k + 2.0)
        if k:
            forces = [[total(k, terms, part, i) for part in PARTS] for i in range(n)]
            known = [[added(row, [force[c] for force in forces]) for c in range(len(PARTS))] for row in inverse]
        else:
            known = [[0.0, fall, 0.0] for fall in falls]
        rest = [-added(known[i], start[i], half_square(k + 2, terms, i) * scale) for i in range(n)]
        lam = [added(row, rest) for row in pulls]
        along = [[pull * each for each in unit] for pull, unit in zip(lam, start, strict=True)]
        for i in range(n):
            terms[LAM, k, i] = lam[i]
            for c, part in enumerate(PARTS):
                pulled = added(inverse[i], [each[c] for each in along], known[i][c])
                terms[part, k + 2, i] = pulled * (1.0 / scale)
        forget()


def couplings(n, links):
    """Write down the matrix C of the kinetic energy, and the mass behind each upper hinge times its level."""
    masses, levels, behind = [[0.0] * n for _ in range(n)], [0.0] * n, 0.0
    for i in reversed(range(n)):
        length, mass = links[LENGTH, i], links[MASS, i]
        levels[i] = mass * links[COM, i] + length * behind
        masses[i][i] = links[HINGE_INERTIA, i] + length * length * behind
        for j in range(i):
            masses[i][j] = masses[j][i] = links[LENGTH, j] * levels[i]
        behind = mass + behind
    return masses, levels


def total(k, terms, part, i):
    """Write down coefficient k of a component of lambda e without lambda_k."""
    return added([terms[LAM, m, i] for m in range(k)], [terms[part, k - m, i] for m in range(k)])


def half_square(k, terms, i):
    """Write down half of what coefficient k of e.e has without its first coefficient."""
    found: Operand = 0.0
    for part in PARTS:
        upper = [terms[part, k - m, i] for m in range(1, (k + 1) // 2)]
        found = added([terms[part, m, i] for m in range(1, (k + 1) // 2)], upper, found)
        if k % 2 == 0:
            middle = terms[part, k // 2, i]
            found = found + 0.5 * (middle * middle)
    return found
