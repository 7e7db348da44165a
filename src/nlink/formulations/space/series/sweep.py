"""One order of the series of lines in space: the sweep over the hinges, all but two recursions done once a step or side by side.

With the masses A, B, C of a line's two ends, M' of what hangs on the lower one, and e along the line,

    X = (B 1 + M')^-1    y = X e    s = e.y    k = C y + e    M <- A 1 - C^2 X + k k^T/s
    V = X - y y^T/s      W = y k^T/s - C X                                                       (once a step)

a force p in the coordinates of the line is the couple phi = p/l at its ends, and its length keeps e.(a1 - a0) = -w. From the tip
inwards, then from the pivot outwards,

    b <- W^T (b - phi) + phi - w k/s
    a1 = W a + V (phi - b) - w y/s       tension = (y.(phi - b) + w - k.a)/s       acceleration of e = (a1 - a)/l
"""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.space.series.rows import (
    AX,
    AY,
    AZ,
    BENT,
    BX,
    BY,
    BZ,
    CX,
    CY,
    CZ,
    FREEX,
    FREEY,
    FREEZ,
    INVERSE,
    KX,
    KY,
    KZ,
    PULL,
    PX,
    PY,
    PZ,
    REACH,
    SHARE,
    V11,
    V12,
    V13,
    V22,
    V23,
    V33,
    W11,
    W12,
    W13,
    W21,
    W22,
    W23,
    W31,
    W32,
    W33,
    YX,
    YY,
    YZ,
)
from nlink.mechanics.parameters import LENGTH
from nlink.mechanics.space.numbers import COUPLED, LOWER, PER_LENGTH, UPPER


@kernel
def factorise(p, y, at, w):
    """Fill the rows that do not change with the order, from unit vectors y[at:], three numbers a link."""
    m11 = m12 = m13 = m22 = m23 = m33 = alike(0.0, y[at])
    for j in range(p.n):
        i = p.n - 1 - j
        upper, lower, both = p.links[UPPER, i], p.links[LOWER, i], p.links[COUPLED, i]
        e1, e2, e3 = y[at + 3 * i], y[at + 3 * i + 1], y[at + 3 * i + 2]
        k11, k22, k33 = m11 + lower, m22 + lower, m33 + lower
        c11, c12, c13 = k22 * k33 - m23 * m23, m13 * m23 - m12 * k33, m12 * m23 - m13 * k22
        over = 1.0 / (k11 * c11 + m12 * c12 + m13 * c13)
        x11, x12, x13 = c11 * over, c12 * over, c13 * over
        x22, x23, x33 = (k11 * k33 - m13 * m13) * over, (m12 * m13 - k11 * m23) * over, (k11 * k22 - m12 * m12) * over
        y1, y2, y3 = x11 * e1 + x12 * e2 + x13 * e3, x12 * e1 + x22 * e2 + x23 * e3, x13 * e1 + x23 * e2 + x33 * e3
        inverse = 1.0 / (e1 * y1 + e2 * y2 + e3 * y3)
        q1, q2, q3 = both * y1 + e1, both * y2 + e2, both * y3 + e3
        u1, u2, u3, r1, r2, r3 = q1 * inverse, q2 * inverse, q3 * inverse, y1 * inverse, y2 * inverse, y3 * inverse
        n11, n12, n13, n22, n23, n33 = both * x11, both * x12, both * x13, both * x22, both * x23, both * x33
        w[V11, i], w[V12, i], w[V13, i] = x11 - y1 * r1, x12 - y1 * r2, x13 - y1 * r3
        w[V22, i], w[V23, i], w[V33, i] = x22 - y2 * r2, x23 - y2 * r3, x33 - y3 * r3
        w[W11, i], w[W12, i], w[W13, i] = y1 * u1 - n11, y1 * u2 - n12, y1 * u3 - n13
        w[W21, i], w[W22, i], w[W23, i] = y2 * u1 - n12, y2 * u2 - n22, y2 * u3 - n23
        w[W31, i], w[W32, i], w[W33, i] = y3 * u1 - n13, y3 * u2 - n23, y3 * u3 - n33
        w[YX, i], w[YY, i], w[YZ, i], w[KX, i], w[KY, i], w[KZ, i], w[INVERSE, i] = r1, r2, r3, u1, u2, u3, inverse
        w[REACH, i], w[SHARE, i] = p.links[LENGTH, i], p.links[PER_LENGTH, i]
        m11, m12, m13 = (upper - both * n11) + q1 * u1, q1 * u2 - both * n12, q1 * u3 - both * n13
        m22, m23, m33 = (upper - both * n22) + q2 * u2, q2 * u3 - both * n23, (upper - both * n33) + q3 * u3


@kernel
def known(count, v, uv):
    """Fill what is known of the bias from couples and bends."""
    for j in range(count):
        x, y, z, bent = uv[PX, j], uv[PY, j], uv[PZ, j], uv[BENT, j]
        uv[CX, j] = x - (v[W11, j] * x + v[W21, j] * y + (v[W31, j] * z + v[KX, j] * bent))
        uv[CY, j] = y - (v[W12, j] * x + v[W22, j] * y + (v[W32, j] * z + v[KY, j] * bent))
        uv[CZ, j] = z - (v[W13, j] * x + v[W23, j] * y + (v[W33, j] * z + v[KZ, j] * bent))


@kernel
def inward(n, w, u):
    """Pass the bias b from the tip to the pivot."""
    b1 = b2 = b3 = alike(0.0, u[CX, 0])
    for j in range(n):
        i = n - 1 - j
        u[BX, i], u[BY, i], u[BZ, i] = b1, b2, b3
        c1 = u[CX, i] + w[W11, i] * b1 + (w[W21, i] * b2 + w[W31, i] * b3)
        c2 = u[CY, i] + w[W12, i] * b1 + (w[W22, i] * b2 + w[W32, i] * b3)
        c3 = u[CZ, i] + w[W13, i] * b1 + (w[W23, i] * b2 + w[W33, i] * b3)
        b1, b2, b3 = c1, c2, c3


@kernel
def free(count, v, uv):
    """Fill acceleration and pull that each line would have with a hinge at rest."""
    for j in range(count):
        bent = uv[BENT, j]
        x, y, z = uv[PX, j] - uv[BX, j], uv[PY, j] - uv[BY, j], uv[PZ, j] - uv[BZ, j]
        uv[FREEX, j] = (v[V11, j] * x + v[V12, j] * y) + (v[V13, j] * z - v[YX, j] * bent)
        uv[FREEY, j] = (v[V12, j] * x + v[V22, j] * y) + (v[V23, j] * z - v[YY, j] * bent)
        uv[FREEZ, j] = (v[V13, j] * x + v[V23, j] * y) + (v[V33, j] * z - v[YZ, j] * bent)
        uv[PULL, j] = (v[YX, j] * x + v[YY, j] * y) + (v[YZ, j] * z + v[INVERSE, j] * bent)


@kernel
def outward(n, lift, w, u):
    """Pass the acceleration a of the hinges from the pivot, which rises with `lift`, to the tip."""
    a1 = a3 = alike(0.0, u[FREEX, 0])
    a2 = a1 + lift
    for i in range(n):
        u[AX, i], u[AY, i], u[AZ, i] = a1, a2, a3
        h1 = u[FREEX, i] + (w[W11, i] * a1 + w[W12, i] * a2) + w[W13, i] * a3
        h2 = u[FREEY, i] + (w[W21, i] * a1 + w[W22, i] * a2) + w[W23, i] * a3
        h3 = u[FREEZ, i] + (w[W31, i] * a1 + w[W32, i] * a2) + w[W33, i] * a3
        a1, a2, a3 = h1, h2, h3


@kernel
def swung(v, uv, j):
    """Return length times the acceleration of the unit vectors of links j, and their tension."""
    a1, a2, a3 = uv[AX, j], uv[AY, j], uv[AZ, j]
    x = uv[FREEX, j] + (v[W11, j] * a1 + v[W12, j] * a2) + v[W13, j] * a3
    y = uv[FREEY, j] + (v[W21, j] * a1 + v[W22, j] * a2) + v[W23, j] * a3
    z = uv[FREEZ, j] + (v[W31, j] * a1 + v[W32, j] * a2) + v[W33, j] * a3
    return x - a1, y - a2, z - a3, uv[PULL, j] - (v[KX, j] * a1 + v[KY, j] * a2 + v[KZ, j] * a3)


@kernel
def solve(n, count, lift, w, v, u, uv):
    """Fill what `swung` needs, from couples and bends: `count` vectors of n links side by side, or of as many chains."""
    known(count, v, uv)
    inward(n, w, u)
    free(count, v, uv)
    outward(n, lift, w, u)
