"""One chain of few lines in space: the three numbers of each line side by side in one vector, all orders unrolled.

With A_ij = (C^-1)_ij e_i.e_j, inverted once a step, p the products of lower order (of order 0 the loads), and s that of e.e,

    q = C^-1 p / ((k+1)(k+2))     g = s/2 + e.q     e_{k+2} = q - C^-1 (A^-1 g e)     lambda = -(k+1)(k+2) A^-1 g

-C^-1 (A^-1 g e) is one matrix, made once a step, times g, so that the next order waits for q, one sum over the parts of a line and
this matrix alone. A sum over the parts is left in all lanes of a line. What is behind the last line is zero throughout. Of the
loads see `one_vector_loads`, of a single line `one_line`.
"""

from __future__ import annotations

from numba import types

from nlink.compiled.interpreted import padded
from nlink.compiled.jit import intrinsic, kernel
from nlink.compiled.lowering import Operand
from nlink.compiled.tracing import Cells, Number, fields, gathered, scattered
from nlink.formulations.series.one_vector import inverted, total
from nlink.formulations.space.series.loads import acting
from nlink.formulations.space.series.one_line import one_line
from nlink.formulations.space.series.one_vector_loads import Loads, begin_loads, ledger, steady
from nlink.formulations.space.series.parts import PARTS, applied, half_square, of, parted
from nlink.formulations.space.series.rows import COLUMN, FALL, LINE, MOST, RATIO, VECTOR_SIZE
from nlink.mechanics.parameters import COM, HINGE_INERTIA, LENGTH, MASS
from nlink.mechanics.series import Series, layout_of

SPRUNG = 5
"""Up to how many lines with springs, by measurement."""
TURN = 0.75


def begin(p, room):
    """Fill the rows that are the same for a run."""
    invert_masses(room.chain, room.terms[LINE], room.w)
    begin_loads(room)


@kernel
def invert_masses(p, matrix, w):
    """Fill the columns of C^-1, and C^-1 times the weights: the elimination of Gauss and Jordan, in rows that are free so far."""
    n, behind = p.n, 0.0
    for j in range(n):
        i = n - 1 - j
        length = p.links[LENGTH, i]
        level = p.links[MASS, i] * p.links[COM, i] + behind * length
        for k in range(i + 1):
            reach = p.links[LENGTH, k] * level if k < i else p.links[HINGE_INERTIA, i] + behind * length * length
            matrix[i, k] = matrix[k, i] = reach
        matrix[i, n] = -p.g * level
        behind += p.links[MASS, i]
    for k in range(n):
        eliminate(k, n, matrix)
    for i in range(n):
        for part in range(PARTS):
            at = PARTS * i + part
            w[FALL, at] = matrix[i, n] if part == 1 else 0.0
            for j in range(n):
                w[COLUMN + j, at] = matrix[i, j]


@kernel
def eliminate(k, n, matrix):
    """Turn column k of the matrix, whose column n is a right-hand side, into that of its inverse."""
    inverse = 1.0 / matrix[k, k]
    matrix[k, k] = 1.0
    for j in range(n + 1):
        matrix[k, j] *= inverse
    for i in range(n):
        if i != k:
            share = matrix[i, k]
            matrix[i, k] = 0.0
            for j in range(n + 1):
                matrix[i, j] -= share * matrix[k, j]


def series(t, bound, ahead, y, p, room, order):
    """Find all coefficients; see `nlink.mechanics.series`."""
    last, before, fastest = in_one_vector(room, y)
    return last, before, steady(fastest, room, order)


def arrival(h, y, p, room, order, new):
    """Sum the series of unit vectors and rates."""
    summed(room, h, new)


def accelerations(p, room, f):
    """Fill the second half of f with the accelerations of the unit vectors at the start."""
    half = PARTS * room.chain.n
    for i in range(half):
        f[half + i] = 2.0 * room.terms[LINE, 2, i]


def polynomials(p, room, order, q):
    """Fill q (order, m): the coefficients of unit vectors and rates from the first power on."""
    half = PARTS * room.chain.n
    for k in range(order):
        for i in range(half):
            q[k, i] = room.terms[LINE, k + 1, i]
            q[k, half + i] = (k + 2.0) * room.terms[LINE, k + 2, i] if k + 2 <= order else 0.0


def in_one_vector_in_python(room: Operand, y: Operand) -> tuple[float, float, float]:
    """Do what `in_one_vector` does."""
    n, width = room.chain.n, room.wide.numbers.shape[-1]
    e, v = (padded(y[first : first + PARTS * n], width) for first in (0, PARTS * n))
    return vector_series(layout_of(room), len(room.order), e, v, room.wide, room.v)


@intrinsic(python=in_one_vector_in_python)
def in_one_vector(_typing, room, y):
    """Find the coefficients of a chain of few lines; see `series` for what is returned."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        layout, order = layout_of(room), parts["order"][0].count
        links = layout.links
        wide, v = (Cells(context, builder, *parts[name], stored=(LINE, RATIO)) for name in ("wide", "v"))
        size = context.get_constant(types.int64, PARTS * links)
        e, rate = (gathered(context, builder, y, args[1], first, size, PARTS * links, wide.width) for first in (0, 1))
        found = vector_series(layout, order, e, rate, wide, v)
        return context.make_tuple(builder, sig.return_type, [each.value for each in found])

    return types.UniTuple(types.float64, 3)(room, y), build


def vector_series(layout, order, e, rate, wide, w):
    """Write down all orders from unit vectors and rates; return the sizes of the last two coefficients and the largest rate."""
    links = layout.links
    alone = links == 1 and not layout.moments
    terms = one_line(order, e, rate, w[FALL, 0]) if alone else lines(layout, order, e, rate, wide, w)
    for k, term in enumerate(terms):
        wide[LINE, k, 0] = term
    last, before = (parted(abs(terms[k]), links).largest() for k in (order, order - 1))
    return last, before, (parted(rate * rate, links).root() * TURN).largest()


def lines(layout, order, e, rate, wide, w):
    """Write down the coefficients of the unit vectors."""
    links = layout.links
    inverse_masses = [w[COLUMN + j, 0] for j in range(links)]
    couplings = [column * parted(e * of(e, j, links), links) for j, column in enumerate(inverse_masses)]
    pulls = [-row for row in inverted(couplings, PARTS)]
    swings = [applied(inverse_masses, pull * e, links) for pull in pulls]
    terms, lam, loads = [e, rate], [], Loads(layout, wide, w) if layout.moments else None
    for k in range(order - 1):
        scale = (k + 1.0) * (k + 2.0)
        drawn, start = total(lam, terms[k:0:-1]), 0.0 if k else w[FALL, 0]
        if loads:
            drawn, start = drawn + loads.forces(k, terms), start + loads.accelerations(k, terms)
        q = (start if isinstance(drawn, float) else applied(inverse_masses, drawn, links, start)) * (1.0 / scale)
        g = parted(e * q + half_square(k + 2, terms), links)
        lam.append(applied(pulls, g, links) * scale)
        terms.append(applied(swings, g, links, q))
    return terms


def summed_in_python(room: Operand, h: float, new: Operand) -> None:
    """Do what `summed` does."""
    links, half = layout_of(room).links, PARTS * layout_of(room).links
    found = vector_arrival(links, len(room.order), h, room.wide)
    new[:half], new[half : 2 * half] = (each[:half] for each in found)


@intrinsic(python=summed_in_python)
def summed(_typing, room, h, new):
    """Fill the state at the time h."""

    def build(context, builder, sig, args):
        parts = fields(builder, sig.args[0], args[0])
        links, order = layout_of(room).links, parts["order"][0].count
        found = vector_arrival(links, order, Number(builder, args[1]), Cells(context, builder, *parts["wide"]))
        for first, each in zip((0, PARTS * links), found, strict=True):
            scattered(context, builder, new, args[2], first, each, PARTS * links)
        return context.get_dummy_value()

    return types.void(room, h, new), build


def vector_arrival(links, order, h, wide):
    """Write down unit vectors and rates at the time h: four sums side by side, of every fourth coefficient, on the spheres."""
    hh = h * h
    sums = [every_fourth(hh * hh, wide, order, first) for first in range(4)]
    (e0, d0), (e1, d1), (e2, d2), (e3, d3) = sums
    e, rate = (e0 + h * e1) + hh * (e2 + h * e3), (d0 + h * d1) + hh * (d2 + h * d3)
    e = e * (1.0 / parted(e * e, links).root())
    return e, rate - e * parted(e * rate, links)


def every_fourth(hhhh, wide, order, first):
    """Write down the sum of every fourth coefficient as a polynomial of h^4, and that of the coefficients of the rates."""
    value, top = None, order - (order - first) % 4
    for m in range(top, -1, -4):
        value = wide[LINE, m, 0] if value is None else value * hhhh + wide[LINE, m, 0]
    slope, top = None, order - 1 - (order - 1 - first) % 4
    for m in range(top, -1, -4):
        term = (m + 1.0) * wide[LINE, m + 1, 0]
        slope = term if slope is None else slope * hhhh + term
    return value, slope


IN_ONE_VECTOR = Series(
    begin=begin,
    series=series,
    horizon=lambda h, p, room, order: h,
    arrival=arrival,
    accelerations=accelerations,
    polynomials=polynomials,
    powers=lambda p, room, order, q: ledger(room, order, q),
    size=VECTOR_SIZE,
    acting=acting,
    takes=lambda chain: chain.force_level < 2 and not (chain.sprung and chain.n > SPRUNG),
    parts=PARTS,
    most=MOST,
)
