"""Bending springs between lines as series.

With the bend beta between neighbours p and e, a spring is the force k beta/sin(beta) p on e and the same times e on p; above the
first line the direction is straight down. With c_0 = cos(beta), and the half sum s = (p + e)/2, which has the length c_1,

    c_1 = sqrt(s.s + BLUNT^2)       c_{r+1} = sqrt((1 + c_r)/2) = cos(beta/2^{r+1})
    sin(beta) = 8 c_1 c_2 c_3 sin(beta/8)      beta/sin(beta) = g(x) / (c_1 c_2 c_3)      x = (1 - c_3)/2 = sin^2(beta/16) < 0.04

where g(x) = (beta/8)/sin(beta/8) is a polynomial of degree 11 to the last digit. Nothing is divided by what vanishes in a straight
chain, so that the coefficients keep their digits. At beta = pi the moment turns round at once: the series of beta/sin(beta) runs
away on the way there, and `folding` makes the steps so short that none passes over this, which the unit vectors alone do not tell
where lines move in a plane.
"""

from __future__ import annotations

import math

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, anywhere, power, value_of, where
from nlink.formulations.space.series.rows import (
    ALL,
    BENDS,
    CUBE,
    FOURTH,
    HALF1,
    HALF2,
    HALF3,
    INNER,
    NEAR,
    OUTER,
    OVER,
    PAIR,
    QX,
    QY,
    QZ,
    RATIO,
    ROOT1,
    ROOT2,
    ROOT3,
    SMALL,
    SQUARE,
    SUMX,
    SUMY,
    SUMZ,
    X,
    Y,
    Z,
)
from nlink.mechanics.space.kernels import (
    B0,
    B1,
    B2,
    B3,
    B4,
    B5,
    B6,
    B7,
    B8,
    B9,
    B10,
    B11,
    BLUNT,
    STIFFNESS,
)

LAST_TERM = 1e-5
"""How large the last terms of beta/sin(beta) may be: the step then takes about half the way to a fold."""
QUARTER = 1.5
"""A step is at most so long that what turns at the largest rate turns by this angle, in rad: `reach` in integrators/taylor.py."""


@kernel
def find_springs(p, w):
    """Fill the row that says at which joints there are springs."""
    for i in range(p.n):
        stiffness = p.links[STIFFNESS, i]
        one = alike(1.0, w[BENDS, i])
        w[BENDS, i] = where(alike(0.0, one) + abs(stiffness) > 0.0, one, 0.0 * one)


@kernel
def bend(k, p, terms, w, u):
    """Add coefficient k of the forces of the springs, joint by joint."""
    for i in range(p.n):
        if anywhere(w[BENDS, i] > 0.0):
            spring(k, i, p, terms, w, u)


@kernel
def spring(k, i, p, terms, w, u):
    """Add coefficient k of the force of spring i on its two lines."""
    half_sum(k, terms, i)
    near = square(k, terms, SUMX, i) + square(k, terms, SUMY, i) + square(k, terms, SUMZ, i)
    terms[NEAR, k, i] = near * w[BENDS, i] + first(k, 1.0 - w[BENDS, i] + BLUNT * BLUNT)
    ratio(k, terms, w, i)
    pull_both(k, p.links[STIFFNESS, i], terms, u, i)


@kernel
def half_sum(k, terms, i):
    """Fill coefficient k of half the sum of the directions at joint i."""
    if i == 0:
        terms[SUMX, k, i], terms[SUMY, k, i] = 0.5 * terms[X, k, i], 0.5 * terms[Y, k, i] - first(k, 0.5)
        terms[SUMZ, k, i] = 0.5 * terms[Z, k, i]
    else:
        terms[SUMX, k, i] = 0.5 * (terms[X, k, i] + terms[X, k, i - 1])
        terms[SUMY, k, i] = 0.5 * (terms[Y, k, i] + terms[Y, k, i - 1])
        terms[SUMZ, k, i] = 0.5 * (terms[Z, k, i] + terms[Z, k, i - 1])


@kernel
def pull_both(k, stiffness, terms, u, i):
    """Add coefficient k of the force of spring i on its two lines."""
    if i == 0:
        u[QY, i] -= stiffness * terms[RATIO, k, i]
        return
    x = y = z = ax = ay = az = alike(0.0, terms[X, 0, i])
    for m in range(k + 1):
        force, n = terms[RATIO, m, i], k - m
        x, y, z = x + force * terms[X, n, i - 1], y + force * terms[Y, n, i - 1], z + force * terms[Z, n, i - 1]
        ax, ay, az = ax + force * terms[X, n, i], ay + force * terms[Y, n, i], az + force * terms[Z, n, i]
    u[QX, i] += stiffness * x
    u[QY, i] += stiffness * y
    u[QZ, i] += stiffness * z
    u[QX, i - 1] += stiffness * ax
    u[QY, i - 1] += stiffness * ay
    u[QZ, i - 1] += stiffness * az


@kernel
def ratio(k, terms, w, i):
    """Fill coefficient k of bend over sine at joint i, and of all series on the way to it, from NEAR, the square of c_1."""
    root(k, terms[NEAR, k, i], terms, w, ROOT1, HALF1, i)
    root(k, first(k, 0.5) + 0.5 * terms[ROOT1, k, i], terms, w, ROOT2, HALF2, i)
    root(k, first(k, 0.5) + 0.5 * terms[ROOT2, k, i], terms, w, ROOT3, HALF3, i)
    terms[PAIR, k, i] = product(k, terms, ROOT1, ROOT2, i)
    terms[ALL, k, i] = product(k, terms, PAIR, ROOT3, i)
    terms[SMALL, k, i] = first(k, 0.5) - 0.5 * terms[ROOT3, k, i]
    terms[SQUARE, k, i] = square(k, terms, SMALL, i)
    terms[CUBE, k, i] = product(k, terms, SQUARE, SMALL, i)
    terms[FOURTH, k, i] = square(k, terms, SQUARE, i)
    x, xx, xxx = terms[SMALL, k, i], terms[SQUARE, k, i], terms[CUBE, k, i]
    terms[OUTER, k, i] = first(k, B8) + (B9 * x + (B10 * xx + B11 * xxx))
    terms[INNER, k, i] = first(k, B4) + (B5 * x + (B6 * xx + (B7 * xxx + product(k, terms, FOURTH, OUTER, i))))
    total = first(k, B0) + (B1 * x + (B2 * xx + (B3 * xxx + product(k, terms, FOURTH, INNER, i))))
    if k == 0:
        w[OVER, i] = 1.0 / terms[ALL, 0, i]
    for m in range(1, k + 1):
        total -= terms[ALL, m, i] * terms[RATIO, k - m, i]
    terms[RATIO, k, i] = total * w[OVER, i]


@kernel
def first(k, value):
    """Return coefficient k of a constant."""
    return value if k == 0 else 0.0 * value


@kernel
def root(k, of, terms, w, to, half, i):
    """Fill coefficient k of a square root from that of the square."""
    if k == 0:
        start = math.sqrt(of)
        terms[to, 0, i], w[half, i] = start, 0.5 / start
    else:
        total = of
        for m in range(1, (k + 1) // 2):
            total -= 2.0 * (terms[to, m, i] * terms[to, k - m, i])
        if k % 2 == 0:
            total -= terms[to, k // 2, i] * terms[to, k // 2, i]
        terms[to, k, i] = total * w[half, i]


@kernel
def product(k, terms, a, b, i):
    """Return coefficient k of the product of the series in two rows."""
    total = alike(0.0, terms[X, 0, i])
    for m in range(k + 1):
        total += terms[a, m, i] * terms[b, k - m, i]
    return total


@kernel
def square(k, terms, a, i):
    """Return coefficient k of the square of the series in a row."""
    total = alike(0.0, terms[X, 0, i])
    for m in range((k + 1) // 2):
        total += terms[a, m, i] * terms[a, k - m, i]
    total += total
    if k % 2 == 0:
        total += terms[a, k // 2, i] * terms[a, k // 2, i]
    return total


@kernel
def folding(fastest, n, apart, terms, w, order):
    """Return the largest rate, or one that keeps a step from passing over the fold of a spring; joints stand so far apart."""
    for i in range(0, n * apart, apart):
        if anywhere(value_of(w[BENDS, i]) > 0.0):
            for k in range(order - 3, order - 1):
                size = abs(value_of(terms[RATIO, k, i])) * (1.0 / LAST_TERM) + 1e-250
                fastest = max(fastest, QUARTER * power(size, 1.0 / k))
    return fastest
