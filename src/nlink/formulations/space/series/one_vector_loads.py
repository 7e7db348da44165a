"""Loads of one chain of few lines in one vector: see `one_vector`, and `loads` for the forces.

What is linear in rates is one matrix R of dampers and drag, which is made once a run, as all of a follower force but the direction
of the last line. With l the lengths, D = C^-1 R, and e_N the last line,

    C^-1 f_k = C^-1 (springs and rotors) - (k+1) D e_{k+1} - C^-1 l force e_N,k

A spring stands in the lanes of the line below its joint; the line above is three lanes further back.
"""

from __future__ import annotations

from numba import types

from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import intrinsic, kernel
from nlink.compiled.lowering import Operand
from nlink.compiled.tracing import Cells, fields, traced
from nlink.formulations.series.one_vector import total
from nlink.formulations.space.series.loads import ROTORS, SPRINGS
from nlink.formulations.space.series.parts import PARTS, applied, of, parted, square, turned
from nlink.formulations.space.series.rows import (
    BENDS,
    BRAKE,
    CENTRE,
    COLUMN,
    DRAGGING,
    FALL,
    FOLLOW,
    LINE,
    LONG,
    NEAR,
    PULLING,
    RATIO,
    RESIST,
    ROTOR,
    STIFF,
    TIPPING,
    WORK,
)
from nlink.formulations.space.series.springs import folding, ratio
from nlink.mechanics.kernels import DRAGGED, FOLLOWED, FOLLOWER, LINEAR_DRAG, TIP_X, TIP_Y, TIPPED
from nlink.mechanics.moments import POWERS
from nlink.mechanics.parameters import COM, LENGTH
from nlink.mechanics.series import layout_of
from nlink.mechanics.space.kernels import BLUNT, RESISTANCE, RESISTED, STIFFNESS
from nlink.mechanics.space.numbers import SPIN, TIP_Z


def loads_of_run(room):
    """Fill the rows of the loads, behind those of the masses."""
    fill_brakes(room.chain, room.terms[LINE], room.w)
    fill_loads(room.chain, room.w)


@dispatched(lambda layout: loads_of_run if layout.moments else lambda room: None, "room", of=layout_of)
def begin_loads(room):
    """Fill the rows of the loads that are the same for a run."""


@kernel
def fill_brakes(p, matrix, w):
    """Fill the columns of C^-1 R."""
    n, behind = p.n, 0.0
    for j in range(n):
        i = n - 1 - j
        drag, d, length = p.links[LINEAR_DRAG, i], p.links[COM, i], p.links[LENGTH, i]
        for k in range(i):
            matrix[i, k] = matrix[k, i] = p.links[LENGTH, k] * (drag * d + behind * length)
        matrix[i, i] = p.links[RESISTANCE, i] + drag * d * d + behind * length * length
        behind += drag
    for i in range(n):
        for j in range(n):
            total = 0.0
            for m in range(n):
                total += w[COLUMN + m, PARTS * i] * matrix[m, j]
            for part in range(PARTS):
                w[BRAKE + j, PARTS * i + part] = total


@kernel
def fill_loads(p, w):
    """Fill the other rows."""
    n, tip = p.n, (p.tip[TIP_X], p.tip[TIP_Y], p.tip[TIP_Z])
    for i in range(n):
        reach = 0.0
        for j in range(n):
            reach += w[COLUMN + j, PARTS * i] * p.links[LENGTH, j]
        for part in range(PARTS):
            at = PARTS * i + part
            w[FALL, at] += reach * tip[part]
            w[FOLLOW, at], w[PULLING, at] = -p.tip[FOLLOWER] * reach, -p.tip[FOLLOWER] if i == n - 1 else 0.0
            w[LONG, at], w[CENTRE, at], w[TIPPING, at] = p.links[LENGTH, i], p.links[COM, i], p.links[LENGTH, i] * tip[part]
            w[RESIST, at], w[DRAGGING, at] = -p.links[RESISTANCE, i], -p.links[LINEAR_DRAG, i]
            w[STIFF, at], w[BENDS, at] = p.links[STIFFNESS, i], 1.0 if p.links[STIFFNESS, i] != 0.0 else 0.0
            w[ROTOR, at] = p.links[SPIN, i]


class Loads:
    """What acts besides gravity, written down order by order."""

    def __init__(self, layout: Operand, wide: Operand, w: Operand) -> None:
        self.links, self.acting, self.wide, self.w = layout.links, layout.moments, wide, w
        self.above: list[Operand] = []
        self.halves: list[Operand] = []
        self.pulls: list[Operand] = []
        self.turned: list[tuple[Operand, Operand]] = []

    def forces(self, k: int, terms: list[Operand]) -> Operand:
        """Return coefficient k of the forces of springs and rotors."""
        found: Operand = 0.0
        if self.acting & SPRINGS:
            found = found + self.springs(k, terms)
        if self.acting & ROTORS:
            found = found + self.rotors(k, terms)
        return found

    def accelerations(self, k: int, terms: list[Operand]) -> Operand:
        """Return coefficient k of the accelerations by what is linear, without pulls."""
        brakes = [self.w[BRAKE + j, 0] for j in range(self.links)]
        follow = self.w[FOLLOW, 0] * of(terms[k], self.links - 1, self.links)
        return follow - applied(brakes, terms[k + 1] * (k + 1.0), self.links)

    def springs(self, k: int, terms: list[Operand]) -> Operand:
        """Return coefficient k of the forces of springs on their two lines."""
        above, bends = terms[k].moved(PARTS), self.w[BENDS, 0]
        self.above.append(above if k else above.taking(-1.0, [1]))
        self.halves.append(0.5 * (terms[k] + self.above[k]))
        near = parted(square(k, self.halves), self.links) * bends
        self.wide[NEAR, k, 0] = near if k else near + ((1.0 - bends) + BLUNT * BLUNT)
        traced(ratio)(k, self.wide, self.w, 0)
        self.pulls.append(self.wide[RATIO, k, 0] * self.w[STIFF, 0])
        return total(self.pulls, self.above[::-1]) + total(self.pulls, terms[k::-1]).moved(-PARTS)

    def rotors(self, k: int, terms: list[Operand]) -> Operand:
        """Return coefficient k of h e x e'."""
        for term in terms[len(self.turned) :]:
            self.turned.append((term.at(turned(1, self.links, len(term))), term.at(turned(2, self.links, len(term)))))
        firsts = [(a * (k + 1.0 - 2 * m), b * (k + 1.0 - 2 * m)) for m, (a, b) in enumerate(self.turned[: k // 2 + 1])]
        seconds = [self.turned[k + 1 - m] for m in range(len(firsts))]
        one = total([a for a, _ in firsts], [b for _, b in seconds])
        return self.w[ROTOR, 0] * (one - total([b for _, b in firsts], [a for a, _ in seconds]))


def steady_with_springs(fastest, room, order):
    """See `steady`."""
    return folding(fastest, room.chain.n, PARTS, room.terms, room.w, order)


@dispatched(
    lambda layout: steady_with_springs if layout.moments & SPRINGS else lambda fastest, room, order: fastest, "room", of=layout_of
)
def steady(fastest, room, order):
    """Return the largest rate, with that at which springs fold."""


def fill_ledger(room, order, q):
    """See `ledger`."""
    works(room)
    row, terms = 2 * room.chain.size, room.terms
    for k in range(order):
        share = 1.0 / (k + 1.0)
        for r in range(POWERS):
            q[k, row + r] = 0.0
        q[k, row + RESISTED], q[k, row + DRAGGED] = share * terms[WORK, k, 0], share * terms[WORK, k, 1]
        q[k, row + FOLLOWED], q[k, row + TIPPED] = share * terms[WORK, k, 2], share * terms[WORK, k, 3]


@dispatched(lambda layout: fill_ledger if layout.moments else lambda room, order, q: None, "room", of=layout_of)
def ledger(room, order, q):
    """Fill the coefficients of the ledger."""


def works_in_python(room: Operand) -> None:
    """Do what `works` does."""
    vector_works(layout_of(room).links, len(room.order), room.wide, room.v)


@intrinsic(python=works_in_python)
def works(_typing, room):
    """Fill the coefficients of the powers of link dampers, drag, follower force and force at the tip."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        wide, v = (Cells(context, builder, *parts[name]) for name in ("wide", "v"))
        vector_works(layout_of(room).links, parts["order"][0].count, wide, v)
        return context.get_dummy_value()

    return types.void(room), build


def vector_works(links, order, wide, w):
    """Write down the powers: sums over all lanes, each in a lane of its own."""
    rates = [wide[LINE, k + 1, 0] * (k + 1.0) for k in range(order)]
    ends = [reached(rate * w[LONG, 0], links) for rate in rates]
    centres = [end.moved(PARTS) + rate * w[CENTRE, 0] for end, rate in zip(ends, rates, strict=True)]
    tips, last = [of(end, links - 1, links) for end in ends], [wide[LINE, k, 0] for k in range(order)]
    for k in range(order):
        powers = (
            w[RESIST, 0] * square(k, rates), w[DRAGGING, 0] * square(k, centres),
            w[PULLING, 0] * total(tips[: k + 1], last[k::-1]), w[TIPPING, 0] * rates[k],
        )  # fmt: skip
        found, *others = (summed(each) for each in powers)
        for lane, other in enumerate(others, 1):
            found = found.taking(other, [lane])
        wide[WORK, k, 0] = found


def reached(vector, links):
    """Write down the sums of the parts of each line and all lines above."""
    by = 1
    while by < links:
        vector = vector + vector.moved(PARTS * by)
        by *= 2
    return vector


def summed(vector):
    """Write down the sum of all lanes, in all of them."""
    half = len(vector) // 2
    while half:
        vector = vector + vector.at([(lane + half) % len(vector) for lane in range(len(vector))])
        half //= 2
    return vector
