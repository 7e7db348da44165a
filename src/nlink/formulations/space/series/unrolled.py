"""Chains of few lines in lanes, a chain in each: all orders and links unrolled.

As in one vector (`one_vector`), with numbers of links in place of lanes:

    q = C^-1 (p + f)     lambda = A^-1 g     g = -(k+1)(k+2) s/2 - e.q     (k+1)(k+2) e_{k+2} = q + C^-1 (lambda e)
"""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from nlink.compiled.jit import intrinsic
from nlink.compiled.lowering import Operand
from nlink.compiled.tracing import Cells, CellsByLink, Number, fields, traced
from nlink.formulations.series.unrolled import added, inverted
from nlink.formulations.space.series.loads import ROTORS, SPRINGS, spin
from nlink.formulations.space.series.rows import LAM, QX, QY, QZ, X, Y, Z
from nlink.formulations.space.series.springs import spring
from nlink.mechanics.kernels import FOLLOWER, LINEAR_DRAG, TIP_X, TIP_Y
from nlink.mechanics.parameters import COM, HINGE_INERTIA, LENGTH, MASS
from nlink.mechanics.series import layout_of
from nlink.mechanics.space.kernels import RESISTANCE
from nlink.mechanics.space.numbers import TIP_Z

PARTS = (X, Y, Z)


class Numbers(NamedTuple):
    """What the sources look at of a chain of n lines."""

    n: int
    g: Operand
    links: Operand
    tip: Operand


def unrolled_lines_in_python(room: Operand) -> None:
    """Do what `unrolled_lines` does."""
    lanes_orders(len(room.order), layout_of(room).moments, room.chain, room.terms, room.w)


@intrinsic(python=unrolled_lines_in_python)
def unrolled_lines(_typing, room):
    """Find the coefficients of chains of few lines, a chain in each lane, unrolled."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        chain, layout, order = fields(builder, *parts["chain"]), layout_of(room), parts["order"][0].count
        links, tip = (Cells(context, builder, *chain[name]) for name in ("links", "tip"))
        terms = CellsByLink(Cells(context, builder, *parts["terms"]), layout.links, order + 2)
        p, w = Numbers(layout.links, Number(builder, chain["g"][1]), links, tip), Cells(context, builder, *parts["w"])
        lanes_orders(order, layout.moments, p, terms, w, terms.forget)
        return context.get_dummy_value()

    return types.void(room), build


def lanes_orders(order, acting, p, terms, w, forget=lambda: None):
    """Write the orders down; call `forget` after each."""
    n, links = p.n, p.links
    masses, levels = couplings(n, links, MASS, [links[HINGE_INERTIA, i] for i in range(n)])
    inverse = inverted(masses)
    start = [[terms[part, 0, i] for part in PARTS] for i in range(n)]
    pulls = inverted([[inverse[i][j] * added(start[i], start[j]) for j in range(n)] for i in range(n)])
    falls = [added(row, [level * -p.g for level in levels]) for row in inverse]
    brakes = resistance(n, links) if acting else []
    for k in range(order - 1):
        scale = (k + 1.0) * (k + 2.0)
        forces = [[total(k, terms, part, i) for part in PARTS] for i in range(n)] if k else [[0.0] * len(PARTS)] * n
        if acting:
            loads = pushes(k, acting, p, terms, w, brakes)
            forces = [[a + b for a, b in zip(*both, strict=True)] for both in zip(forces, loads, strict=True)]
        known = [[0.0] * len(PARTS)] * n
        if k or acting:
            known = [[added(row, [force[c] for force in forces]) for c in range(len(PARTS))] for row in inverse]
        if k == 0:
            known = [[x, y + fall, z] for (x, y, z), fall in zip(known, falls, strict=True)]
        rest = [-added(known[i], start[i], half_square(k + 2, terms, i) * scale) for i in range(n)]
        lam = [added(row, rest) for row in pulls]
        along = [[pull * each for each in unit] for pull, unit in zip(lam, start, strict=True)]
        for i in range(n):
            terms[LAM, k, i] = lam[i]
            for c, part in enumerate(PARTS):
                pulled = added(inverse[i], [each[c] for each in along], known[i][c])
                terms[part, k + 2, i] = pulled * (1.0 / scale)
        forget()


def couplings(n, links, weight, own):
    """Write down a matrix of numbers that weigh the velocities of the centres of mass, with those that weigh the rate of a line
    itself: the matrix C of the kinetic energy of masses and inertia; and what weighs behind each upper hinge, times its level.
    """
    matrix, levels, behind = [[0.0] * n for _ in range(n)], [0.0] * n, 0.0
    for i in reversed(range(n)):
        length, each = links[LENGTH, i], links[weight, i]
        levels[i] = each * links[COM, i] + length * behind
        matrix[i][i] = own[i] + length * length * behind
        for j in range(i):
            matrix[i][j] = matrix[j][i] = links[LENGTH, j] * levels[i]
        behind = each + behind
    return matrix, levels


def resistance(n, links):
    """Write down the matrix by which link dampers and drag resist the rates of unit vectors."""
    own = [links[RESISTANCE, i] + links[LINEAR_DRAG, i] * (links[COM, i] * links[COM, i]) for i in range(n)]
    return couplings(n, links, LINEAR_DRAG, own)[0]


def pushes(k, acting, p, terms, w, brakes):
    """Write down coefficient k of the forces of the loads on each line."""
    u: dict[tuple[int, int], Operand] = {(row, i): 0.0 for row in (QX, QY, QZ) for i in range(p.n)}
    for i in range(p.n):
        if acting & ROTORS:
            traced(spin)(k, i, p, terms, u)
        if acting & SPRINGS:
            traced(spring)(k, i, p, terms, w, u)
    for part, row, force in zip(PARTS, (QX, QY, QZ), (TIP_X, TIP_Y, TIP_Z), strict=True):
        tip = -(p.tip[FOLLOWER] * terms[part, k, p.n - 1]) + (p.tip[force] if k == 0 else 0.0)
        rates = [terms[part, k + 1, i] * (k + 1.0) for i in range(p.n)]
        for i in range(p.n):
            u[row, i] = u[row, i] + (p.links[LENGTH, i] * tip - added(brakes[i], rates))
    return [[u[row, i] for row in (QX, QY, QZ)] for i in range(p.n)]


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
