"""Bending springs between lines as series.

With the bend beta between neighbours, cos(beta) = e_{i-1}.e_i, a spring is the force k beta/sin(beta) e_{i-1} on e_i and the same
times e_i on e_{i-1}; above the first line the direction is straight down. With c_0 = cos(beta),

    c_{r+1} = sqrt((1 + c_r)/2) = cos(beta/2^{r+1})        sin(beta) = 16 c_1 c_2 c_3 c_4 sin(beta/16)
    beta/sin(beta) = g(x) / (c_1 c_2 c_3 c_4)              x = (1 - c_4)/2 = sin^2(beta/32) < 0.01

where g(x) = (beta/16)/sin(beta/16) is a polynomial of degree 7 to the last digit. Nothing is divided by what vanishes in a straight
chain, so that the coefficients keep their digits; beta = pi, where the direction of the moment is not defined, has no series.
"""

from __future__ import annotations

import math

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, anywhere
from nlink.formulations.space.series.rows import (
    ALL,
    COSINE,
    HALF1,
    HALF2,
    HALF3,
    HALF4,
    OVER,
    PAIR1,
    PAIR2,
    QX,
    QY,
    QZ,
    RATIO,
    ROOT1,
    ROOT2,
    ROOT3,
    ROOT4,
    SMALL,
    SUM0,
    SUM1,
    SUM2,
    SUM3,
    SUM4,
    SUM5,
    X,
    Y,
    Z,
)
from nlink.mechanics.space.kernels import STIFFNESS

B0, B1, B2, B3, B4, B5, B6, B7 = (math.prod(2 * m / (2 * m + 1) for m in range(1, n + 1)) for n in range(8))
"""Of beta/sin(beta) by powers of sin^2(beta/2)."""


@kernel
def bend(k, p, terms, w, u):
    """Add coefficient k of the forces of the springs, joint by joint."""
    for i in range(p.n):
        stiffness = p.links[STIFFNESS, i]
        if anywhere(abs(stiffness) > 0.0):
            terms[COSINE, k, i] = cosine(k, terms, i)
            ratio(k, terms, w, i)
            if i > 0:
                pull_both(k, stiffness, terms, u, i)
            else:
                u[QY, i] -= stiffness * terms[RATIO, k, i]


@kernel
def cosine(k, terms, i):
    """Return coefficient k of the cosine of the bend at joint i."""
    if i == 0:
        return -terms[Y, k, i]
    total = alike(0.0, terms[X, 0, i])
    for m in range(k + 1):
        n = k - m
        total += (terms[X, m, i] * terms[X, n, i - 1] + terms[Y, m, i] * terms[Y, n, i - 1]) + terms[Z, m, i] * terms[Z, n, i - 1]
    return total


@kernel
def pull_both(k, stiffness, terms, u, i):
    """Add coefficient k of the force of spring i on its two lines."""
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
    """Fill coefficient k of bend over sine at joint i, and of all series on the way to it."""
    halve(k, terms, w, COSINE, ROOT1, HALF1, i)
    halve(k, terms, w, ROOT1, ROOT2, HALF2, i)
    halve(k, terms, w, ROOT2, ROOT3, HALF3, i)
    halve(k, terms, w, ROOT3, ROOT4, HALF4, i)
    terms[PAIR1, k, i] = product(k, terms, ROOT1, ROOT2, i)
    terms[PAIR2, k, i] = product(k, terms, ROOT3, ROOT4, i)
    terms[ALL, k, i] = product(k, terms, PAIR1, PAIR2, i)
    terms[SMALL, k, i] = first(k, 0.5) - 0.5 * terms[ROOT4, k, i]
    terms[SUM5, k, i] = first(k, B5) + (B6 * terms[SMALL, k, i] + B7 * product(k, terms, SMALL, SMALL, i))
    terms[SUM4, k, i] = first(k, B4) + product(k, terms, SMALL, SUM5, i)
    terms[SUM3, k, i] = first(k, B3) + product(k, terms, SMALL, SUM4, i)
    terms[SUM2, k, i] = first(k, B2) + product(k, terms, SMALL, SUM3, i)
    terms[SUM1, k, i] = first(k, B1) + product(k, terms, SMALL, SUM2, i)
    terms[SUM0, k, i] = first(k, B0) + product(k, terms, SMALL, SUM1, i)
    if k == 0:
        w[OVER, i] = 1.0 / terms[ALL, 0, i]
    total = terms[SUM0, k, i]
    for m in range(1, k + 1):
        total -= terms[ALL, m, i] * terms[RATIO, k - m, i]
    terms[RATIO, k, i] = total * w[OVER, i]


@kernel
def first(k, value):
    """Return coefficient k of a constant."""
    return value if k == 0 else 0.0


@kernel
def halve(k, terms, w, of, to, half, i):
    """Fill coefficient k of the cosine of half an angle from that of the angle: the root of (1 + c)/2."""
    if k == 0:
        root = math.sqrt(0.5 + 0.5 * terms[of, 0, i])
        terms[to, 0, i], w[half, i] = root, 0.5 / root
    else:
        total = 0.5 * terms[of, k, i]
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
