"""Rows that nearly vanish, in twice the digits: where bodies are, what a row is missed by, and gradients of combined rows.

Next to a dead position a row nearly depends on others. What is left of it, when the others are taken off, is a small difference of
large numbers: digits are lost with its size, and so the sums are taken in twice the digits and rounded at the end.
"""

from __future__ import annotations

from nlink.compiled.digits import added, product, sines_of, sum_of_products, times, two_product
from nlink.compiled.jit import apart, kernel
from nlink.formulations.row_numbers import (
    AXIS,
    BODY_I,
    BODY_J,
    FIRST,
    GEAR,
    GUIDE,
    I_ALONG,
    I_LEFT,
    J_ALONG,
    J_LEFT,
    KIND,
    LAST,
    NORMAL_ALONG,
    NORMAL_LEFT,
    PIN,
    REST,
    SIZE,
)
from nlink.formulations.rows import BODY_ROWS, LO, OWN, PULLX, PULLY, TWIST
from nlink.mechanics.scratch import C, S
from nlink.mechanics.tree import ALONG, DIRECTION_ALONG, DIRECTION_LEFT, DX, DY, LEFT, PARENT, PX, PY, SLIDE, Q, X, Y

SL, CL, XL, YL, PXL, PYL, DXL, DYL, PULLXL, PULLYL, TWISTL, OWNL = range(BODY_ROWS, BODY_ROWS + 12)
"""Rows: the low parts of the rows S, C, X, Y, ... without L."""
SHARP_ROWS = BODY_ROWS + 12


@apart
def pose_sharply(p, w):
    """Fill sines and cosines, levers, directions and origins of all bodies, as pairs, from the coordinates (Q, LO)."""
    for i in range(p.chain.n):
        place_sharply(i, p, w)


@apart
def place_sharply(i, p, w):
    """Fill the pairs of a body from those of its parent."""
    tree = p.tree
    k = tree.bodies[PARENT, i]
    s, sl, c, cl = turned(k, w)
    along, along_low, left, left_low = tree.joints[ALONG, i], 0.0, tree.joints[LEFT, i], 0.0
    if tree.bodies[SLIDE, i]:
        da, dl = tree.joints[DIRECTION_ALONG, i], tree.joints[DIRECTION_LEFT, i]
        xh, xl = times(w[Q, i], w[LO, i], da)
        along, along_low = added(along, 0.0, xh, xl)
        xh, xl = times(w[Q, i], w[LO, i], dl)
        left, left_low = added(left, 0.0, xh, xl)
        w[DX, i], w[DXL, i] = sum_of_products(s, sl, da, c, cl, dl)
        w[DY, i], w[DYL, i] = sum_of_products(s, sl, dl, c, cl, -da)
        w[S, i], w[SL, i], w[C, i], w[CL, i] = s, sl, c, cl
    else:
        w[S, i], w[SL, i], w[C, i], w[CL, i] = sines_of(w[Q, i], w[LO, i], p.rows.table)
    xh, xl = product(along, along_low, c, cl)
    yh, yl = product(left, left_low, s, sl)
    px, pxl = added(xh, xl, -yh, -yl)
    xh, xl = product(along, along_low, s, sl)
    yh, yl = product(left, left_low, c, cl)
    py, pyl = added(xh, xl, yh, yl)
    w[PX, i], w[PXL, i], w[PY, i], w[PYL, i] = px, pxl, py, pyl
    if k >= 0:
        w[X, i], w[XL, i] = added(w[X, k], w[XL, k], py, pyl)
        w[Y, i], w[YL, i] = added(w[Y, k], w[YL, k], -px, -pxl)
    else:
        w[X, i], w[XL, i], w[Y, i], w[YL, i] = py, pyl, -px, -pxl


@kernel
def turned(i, w):
    """Return sine and cosine of a body, or of the ground, as pairs."""
    if i < 0:
        return 0.0, 0.0, 1.0, 0.0
    return w[S, i], w[SL, i], w[C, i], w[CL, i]


@apart
def point_sharply(i, along, left, w):
    """Return where a point of a body, or of the ground, is."""
    if i < 0:
        return left, 0.0, -along, 0.0
    s, sl, c, cl = turned(i, w)
    xh, xl = sum_of_products(s, sl, along, c, cl, left)
    yh, yl = sum_of_products(s, sl, left, c, cl, -along)
    x, xlow = added(xh, xl, w[X, i], w[XL, i])
    y, ylow = added(yh, yl, w[Y, i], w[YL, i])
    return x, xlow, y, ylow


@apart
def between_sharply(r, p, w):
    """Return where the first point of a row is, seen from the second."""
    rows = p.rows
    ax, axl, ay, ayl = point_sharply(rows.whole[BODY_I, r], rows.places[I_ALONG, r], rows.places[I_LEFT, r], w)
    bx, bxl, by, byl = point_sharply(rows.whole[BODY_J, r], rows.places[J_ALONG, r], rows.places[J_LEFT, r], w)
    x, xl = added(ax, axl, -bx, -bxl)
    y, yl = added(ay, ayl, -by, -byl)
    return x, xl, y, yl


@apart
def direction_sharply(r, p, w):
    """Return the force of a row on its first body; not for gears."""
    rows = p.rows
    if rows.whole[KIND, r] == PIN:
        return 1.0 - rows.whole[AXIS, r], 0.0, 1.0 * rows.whole[AXIS, r], 0.0
    if rows.whole[KIND, r] == GUIDE:
        s, sl, c, cl = turned(rows.whole[BODY_J, r], w)
        along, left = rows.places[NORMAL_ALONG, r], rows.places[NORMAL_LEFT, r]
        nx, nxl = sum_of_products(s, sl, along, c, cl, left)
        ny, nyl = sum_of_products(s, sl, left, c, cl, -along)
        return nx, nxl, ny, nyl
    x, xl, y, yl = between_sharply(r, p, w)
    nx, nxl = divided(x, xl, rows.places[SIZE, r])
    ny, nyl = divided(y, yl, rows.places[SIZE, r])
    return nx, nxl, ny, nyl


@kernel
def divided(high, low, by):
    """Return a pair divided by a number."""
    quotient = high / by
    back, lost = two_product(quotient, by)
    rest, small = added(high, low, -back, -lost)
    return added(quotient, 0.0, (rest + small) / by, 0.0)


@apart
def miss_sharply(r, p, w):
    """Return by how much a row is missed."""
    rows = p.rows
    kind = rows.whole[KIND, r]
    if kind == GEAR:
        i, j = rows.whole[BODY_I, r], rows.whole[BODY_J, r]
        xh, xl = times(w[Q, j], w[LO, j], -rows.places[SIZE, r])
        xh, xl = added(xh, xl, w[Q, i], w[LO, i])
        xh, xl = added(xh, xl, -rows.places[REST, r], 0.0)
        return xh + xl
    x, xl, y, yl = between_sharply(r, p, w)
    if kind == PIN:
        return y + yl if rows.whole[AXIS, r] else x + xl
    if kind == GUIDE:
        nx, nxl, ny, nyl = direction_sharply(r, p, w)
        xh, xl = product(nx, nxl, x, xl)
        yh, yl = product(ny, nyl, y, yl)
        xh, xl = added(xh, xl, yh, yl)
        return xh + xl
    size = rows.places[SIZE, r]
    xh, xl = product(x, xl, x, xl)
    yh, yl = product(y, yl, y, yl)
    xh, xl = added(xh, xl, yh, yl)
    yh, yl = two_product(size, size)
    xh, xl = added(xh, xl, -yh, -yl)
    return (xh + xl) / (2.0 * size)


@apart
def lean_sharply(r, p, w):
    """Add the forces of a row to those of the bodies."""
    rows = p.rows
    kind, i, j = rows.whole[KIND, r], rows.whole[BODY_I, r], rows.whole[BODY_J, r]
    if kind == GEAR:
        w[OWN, i], w[OWNL, i] = added(w[OWN, i], w[OWNL, i], 1.0, 0.0)
        w[OWN, j], w[OWNL, j] = added(w[OWN, j], w[OWNL, j], -rows.places[SIZE, r], 0.0)
        return
    fx, fxl, fy, fyl = direction_sharply(r, p, w)
    put_sharply(i, rows.places[I_ALONG, r], rows.places[I_LEFT, r], fx, fxl, fy, fyl, w)
    put_sharply(j, rows.places[J_ALONG, r], rows.places[J_LEFT, r], -fx, -fxl, -fy, -fyl, w)
    if kind == GUIDE and j >= 0:
        x, xl, y, yl = between_sharply(r, p, w)
        twist(j, y, yl, fx, fxl, w)
        twist(j, -x, -xl, fy, fyl, w)


@apart
def put_sharply(i, along, left, fx, fxl, fy, fyl, w):
    """Add a force at a point of a body."""
    if i >= 0:
        s, sl, c, cl = turned(i, w)
        px, pxl = sum_of_products(c, cl, along, s, sl, -left)
        py, pyl = sum_of_products(s, sl, along, c, cl, left)
        push_sharply(i, px, pxl, py, pyl, fx, fxl, fy, fyl, w)


@apart
def push_sharply(i, px, pxl, py, pyl, fx, fxl, fy, fyl, w):
    """Add a force to those of a body, at the end of the lever (px, py) turned by 90 degrees."""
    w[PULLX, i], w[PULLXL, i] = added(w[PULLX, i], w[PULLXL, i], fx, fxl)
    w[PULLY, i], w[PULLYL, i] = added(w[PULLY, i], w[PULLYL, i], fy, fyl)
    twist(i, px, pxl, fx, fxl, w)
    twist(i, py, pyl, fy, fyl, w)


@kernel
def twist(i, lever, lever_low, force, force_low, w):
    """Add a force times its lever to the moment of a body."""
    xh, xl = product(lever, lever_low, force, force_low)
    w[TWIST, i], w[TWISTL, i] = added(w[TWIST, i], w[TWISTL, i], xh, xl)


@apart
def gradient_sharply(r, row, low, p, w):
    """Fill rows `row` and `low` of w with the gradient of a row: of the bodies on its paths, the others stay."""
    lean_sharply(r, p, w)
    for k in range(p.rows.whole[FIRST, r], p.rows.whole[LAST, r]):
        i = p.rows.paths[k]
        w[row, i], w[low, i] = taken_sharply(i, p, w)


@apart
def add_gradient(r, row, low, part, to, to_low, p, w):
    """Add a part of the gradient of a row, from `row` and `low`, to the rows `to` and `to_low`."""
    for k in range(p.rows.whole[FIRST, r], p.rows.whole[LAST, r]):
        i = p.rows.paths[k]
        xh, xl = times(w[row, i], w[low, i], part)
        w[to, i], w[to_low, i] = added(w[to, i], w[to_low, i], xh, xl)


@apart
def taken_sharply(i, p, w):
    """Take the forces off body i, hand to its parent what passes the joint, and return what they do along its coordinate."""
    k, slides = p.tree.bodies[PARENT, i], p.tree.bodies[SLIDE, i]
    fx, fxl, fy, fyl = w[PULLX, i], w[PULLXL, i], w[PULLY, i], w[PULLYL, i]
    moment, moment_low, own, own_low = w[TWIST, i], w[TWISTL, i], w[OWN, i], w[OWNL, i]
    w[PULLX, i] = w[PULLXL, i] = w[PULLY, i] = w[PULLYL, i] = 0.0
    w[TWIST, i] = w[TWISTL, i] = w[OWN, i] = w[OWNL, i] = 0.0
    if k >= 0:
        push_sharply(k, w[PX, i], w[PXL, i], w[PY, i], w[PYL, i], fx, fxl, fy, fyl, w)
    if slides:
        if k >= 0:
            w[TWIST, k], w[TWISTL, k] = added(w[TWIST, k], w[TWISTL, k], moment, moment_low)
        xh, xl = product(w[DX, i], w[DXL, i], fx, fxl)
        yh, yl = product(w[DY, i], w[DYL, i], fy, fyl)
        moment, moment_low = added(xh, xl, yh, yl)
    return added(moment, moment_low, own, own_low)
