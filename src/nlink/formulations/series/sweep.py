"""One order of the series: `recursive`'s sweep, all but two recursions done once a step or for all links side by side."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.series.rows import (
    A11,
    A12,
    A21,
    A22,
    ACROSS,
    ALONG,
    AX,
    AY,
    BX,
    BY,
    CX,
    CY,
    FREE,
    GX,
    GY,
    INVERSE,
    LAM,
    LC,
    LS,
    MOMENT,
    NEXT_ACROSS,
    NEXT_ALONG,
    NEXT_PULL,
    P11,
    P12,
    P21,
    P22,
    PULL,
    QX,
    QY,
    RATE,
    ZX,
    ZY,
    H,
    J,
    X,
    Y,
)
from nlink.mechanics.parameters import COM, HINGE_INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.scratch import C, S


@kernel
def factorise(p, w):
    """Fill the rows that do not change with the order."""
    mxx = mxy = myy = behind = alike(0.0, w[S, 0])
    for j in range(p.n):
        i = p.n - 1 - j
        s, c = w[S, i], w[C, i]
        mass, d, b, length = p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i], p.links[LENGTH, i]
        px, py = d * c - b * s, d * s + b * c
        lc, ls = length * c, length * s
        tx, ty = mxx * lc + mxy * ls, mxy * lc + myy * ls
        nx, ny = mxx * ls - mxy * lc, mxy * ls - myy * lc
        inverse = 1.0 / (p.links[HINGE_INERTIA, i] + (lc * tx + ls * ty))
        qx, qy = mass * px + tx, mass * py + ty
        ux, uy = qx * inverse, qy * inverse
        w[LC, i], w[LS, i], w[QX, i], w[QY, i], w[INVERSE, i] = lc, ls, ux, uy, inverse
        w[GX, i], w[GY, i] = p.g * (mass * px + behind * lc), p.g * (mass * py + behind * ls)
        behind += mass
        w[A11, i], w[A12, i], w[A21, i], w[A22, i] = 1.0 - ux * lc, -ux * ls, -uy * lc, 1.0 - uy * ls
        w[ZX, i], w[ZY, i] = nx + mass * py, ny - mass * px
        w[H, i] = nx * lc + ny * ls
        w[J, i] = p.links[HINGE_INERTIA, i] + (nx * ls - ny * lc)
        mxx = (mxx + mass) - qx * ux
        mxy = mxy - qx * uy
        myy = (myy + mass) - qy * uy


@kernel
def levers(p, w):
    """Fill the rows that do not change with the order and from which the mass matrix of few links is made: where the next hinge and
    all mass behind the upper one would move by a turn, and inertia.
    """
    behind = alike(0.0, w[S, 0])
    for j in range(p.n):
        i = p.n - 1 - j
        s, c = w[S, i], w[C, i]
        length = p.links[LENGTH, i]
        level, offset = p.links[MASS, i] * p.links[COM, i] + behind * length, p.links[MASS, i] * p.links[OFFSET, i]
        w[LC, i], w[LS, i] = length * c, length * s
        w[QX, i], w[QY, i] = level * c - offset * s, level * s + offset * c
        w[GX, i], w[GY, i] = p.g * w[QX, i], p.g * w[QY, i]
        w[J, i] = p.links[HINGE_INERTIA, i] + behind * (length * length)
        behind += p.links[MASS, i]


@kernel
def products(k, loaded, wide, uv, j):
    """Return x_{k+2}, and what series of lower order add to the turning and to the pull of links j at order k, order after order.

    Every other order has most of its sums from the one before. What the order before gives comes last: all else is ready sooner.
    """
    if k % 2 == 0:
        return products_of_two(k, loaded, wide, uv, j)
    first, across = wide[Y, 1, j], uv[NEXT_ACROSS, j]
    if loaded:
        across += wide[MOMENT, k, j]
    return uv[NEXT_ALONG, j] - first * wide[Y, k + 1, j], across + first * wide[LAM, k - 1, j], uv[NEXT_PULL, j]


@kernel
def products_of_two(k, loaded, wide, uv, j):
    """Return the sums of an even order k, and keep those of the next, which needs the same coefficients: to load them takes longer
    than to multiply them.

    Of order k + 1 three terms are left out, which need what order k finds: y_1 y_{k+2}, lambda_k y_1 and moment_{k+1}. `products`
    adds them.
    """
    middle, zero = k // 2 + 1, alike(0.0, wide[X, 0, j])
    xm, ym = wide[X, middle, j], wide[Y, middle, j]
    along, next_along = -0.5 * (xm * xm + ym * ym), zero
    across = pull = next_across = next_pull = zero
    if k > 0:
        x, y = wide[X, k + 1, j], wide[Y, k + 1, j]
        for m in range(2, middle):
            xm, ym = wide[X, m, j], wide[Y, m, j]
            next_along = (next_along - xm * x) - ym * y
            x, y = wide[X, k + 2 - m, j], wide[Y, k + 2 - m, j]
            along = (along - xm * x) - ym * y
        next_along = (next_along - wide[X, middle, j] * x) - wide[Y, middle, j] * y
        x, y = wide[X, k + 1, j], wide[Y, k + 1, j]
        for m in range(k - 1):
            lam = wide[LAM, m, j]
            next_pull, next_across = next_pull - lam * x, next_across + lam * y
            x, y = wide[X, k - m, j], wide[Y, k - m, j]
            pull, across = pull - lam * x, across + lam * y
    if loaded:
        x, y = wide[X, k + 1, j], wide[Y, k + 1, j]
        for m in range(k):
            moment = wide[MOMENT, m, j]
            next_pull, next_across = next_pull + moment * y, next_across + moment * x
            x, y = wide[X, k - m, j], wide[Y, k - m, j]
            pull, across = pull + moment * y, across + moment * x
        across += wide[MOMENT, k, j]
        next_pull += wide[MOMENT, k, j] * wide[Y, 1, j]  # m = k; x_1 is zero
    if k > 0:
        lam = wide[LAM, k - 1, j]
        next_pull, next_across = next_pull - lam * wide[X, 2, j], next_across + lam * wide[Y, 2, j]  # m = k - 1
        along -= wide[Y, 1, j] * wide[Y, k + 1, j]
        across += lam * wide[Y, 1, j]  # x_1 is zero
    uv[NEXT_ALONG, j], uv[NEXT_ACROSS, j], uv[NEXT_PULL, j] = next_along, next_across, next_pull
    return along, across, pull


@kernel
def acting(k, p, v, uv, j, sums):
    """Return x_{k+2}, and what is known of the turning and of the pull of links j at order k, from the sums of products."""
    x, across, pull = sums
    if k == 0:
        across -= v[GY, j]
        pull -= v[GX, j]
    if p.force_level:
        across += uv[ACROSS, j]
        pull += uv[PULL, j]
    return x, across, pull


@kernel
def known(count, k, p, wide, v, uv):
    """Find x_{k+2}, and fill what does not depend on the neighbours."""
    for j in range(count):
        x, across, pull = acting(k, p, v, uv, j, products(k, p.loaded, wide, uv, j))
        along = x * ((k + 1.0) * (k + 2.0))
        across -= along * v[H, j]
        wide[X, k + 2, j], wide[LAM, k, j] = x, pull + v[J, j] * along
        uv[ALONG, j], uv[FREE, j] = along, across * v[INVERSE, j]
        uv[CX, j], uv[CY, j] = along * v[ZX, j] + v[QX, j] * across, along * v[ZY, j] + v[QY, j] * across


@kernel
def hinges(count, v, uv):
    """Fill what each link adds to the acceleration of the next hinge."""
    for j in range(count):
        lc, ls, along = v[LC, j], v[LS, j], uv[ALONG, j]
        free = uv[FREE, j] - (lc * uv[BX, j] + ls * uv[BY, j]) * v[INVERSE, j]
        uv[FREE, j] = free
        uv[CX, j], uv[CY, j] = lc * free + ls * along, ls * free - lc * along


@kernel
def pair(n, w):
    """Fill the products of the matrices of links 0 and 1, 2 and 3, ..."""
    for i in range(0, n - 1, 2):
        a, b, c, d = w[A11, i], w[A12, i], w[A21, i], w[A22, i]
        e, f, g, h = w[A11, i + 1], w[A12, i + 1], w[A21, i + 1], w[A22, i + 1]
        w[P11, i], w[P12, i], w[P21, i], w[P22, i] = a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


@kernel
def inward_by_two(n, w, u):
    """Pass the bias b from the tip to the pivot, two links at a time: one waits for the other half as long."""
    bx = by = 0.0
    if n % 2 == 1:
        u[BX, n - 1], u[BY, n - 1] = bx, by
        bx, by = u[CX, n - 1], u[CY, n - 1]
    for i in range(n - n % 2 - 2, -1, -2):
        j = i + 1
        cx, cy = u[CX, j], u[CY, j]
        u[BX, j], u[BY, j] = bx, by
        u[BX, i], u[BY, i] = w[A11, j] * bx + (w[A12, j] * by + cx), w[A22, j] * by + (w[A21, j] * bx + cy)
        dx, dy = w[A11, i] * cx + (w[A12, i] * cy + u[CX, i]), w[A22, i] * cy + (w[A21, i] * cx + u[CY, i])
        bx, by = w[P11, i] * bx + (w[P12, i] * by + dx), w[P22, i] * by + (w[P21, i] * bx + dy)


@kernel
def outward_by_two(n, w, u):
    """Pass the acceleration a of the hinges from the pivot to the tip, two links at a time."""
    ax = ay = 0.0
    for i in range(0, n - 1, 2):
        j = i + 1
        cx, cy = u[CX, i], u[CY, i]
        u[AX, i], u[AY, i] = ax, ay
        u[AX, j], u[AY, j] = w[A11, i] * ax + (w[A21, i] * ay + cx), w[A22, i] * ay + (w[A12, i] * ax + cy)
        dx, dy = w[A11, j] * cx + (w[A21, j] * cy + u[CX, j]), w[A22, j] * cy + (w[A12, j] * cx + u[CY, j])
        ax, ay = w[P11, i] * ax + (w[P21, i] * ay + dx), w[P22, i] * ay + (w[P12, i] * ax + dy)
    if n % 2 == 1:
        u[AX, n - 1], u[AY, n - 1] = ax, ay


@kernel
def turning(v, uv, j):
    """Return the angular acceleration of links j, and what it and the neighbours add to their pull."""
    ax, ay = uv[AX, j], uv[AY, j]
    alpha = uv[FREE, j] - (v[QX, j] * ax + v[QY, j] * ay)
    pull = (v[ZX, j] * ax + v[ZY, j] * ay) + v[H, j] * alpha
    return alpha, pull + (v[LS, j] * uv[BX, j] - v[LC, j] * uv[BY, j])


@kernel
def found(count, k, wide, v, uv):
    """Find y_{k+2} and lambda_k."""
    share = 1.0 / ((k + 1.0) * (k + 2.0))
    for j in range(count):
        alpha, pull = turning(v, uv, j)
        wide[Y, k + 2, j] = share * alpha
        wide[LAM, k, j] += pull


@kernel
def sweep_by_two(k, p, wide, w, v, u, uv):
    """Sweep one chain, two links at a time; what does not depend on neighbours is done for all links side by side."""
    count = len(uv[ALONG])
    known(count, k, p, wide, v, uv)
    inward_by_two(p.n, w, u)
    hinges(count, v, uv)
    outward_by_two(p.n, w, u)
    found(count, k, wide, v, uv)


@kernel
def sweep_lanes(k, p, wide, w, u):
    """Sweep chains side by side: to the pivot and back, each link's numbers read once a way."""
    bx = by = ax = ay = alike(0.0, w[LC, 0])
    for j in range(p.n):
        bx, by = link_inward(k, p, wide, w, u, p.n - 1 - j, bx, by)
    for i in range(p.n):
        ax, ay = link_outward(k, wide, w, u, i, ax, ay)


@kernel
def link_inward(k, p, wide, w, u, i, bx, by):
    """Find x_{k+2} of link i and what is known of its turning and pull from the bias b behind it; return the bias with it."""
    x, across, pull = acting(k, p, w, u, i, products(k, p.loaded, wide, u, i))
    along = x * ((k + 1.0) * (k + 2.0))
    wide[X, k + 2, i], u[ALONG, i] = x, along
    u[FREE, i], wide[LAM, k, i], bx, by = gather(w, i, along, across, pull, bx, by)
    return bx, by


@kernel
def link_outward(k, wide, w, u, i, ax, ay):
    """Find y_{k+2} and lambda_k of link i from the acceleration a of its hinge; return that of the next."""
    alpha, wide[LAM, k, i], ax, ay = spread(w, i, u[ALONG, i], u[FREE, i], wide[LAM, k, i], ax, ay)
    wide[Y, k + 2, i] = alpha * (1.0 / ((k + 1.0) * (k + 2.0)))
    return ax, ay


@kernel
def gather(w, i, along, across, pull, bx, by):
    """Return what is known of the turning and pull of link i, with the bias b behind it, and the bias with it."""
    lc, ls = w[LC, i], w[LS, i]
    turned = ((across - along * w[H, i]) - lc * bx) - ls * by
    lam = ((pull + w[J, i] * along) + ls * bx) - lc * by
    return turned * w[INVERSE, i], lam, (bx + along * w[ZX, i]) + w[QX, i] * turned, (by + along * w[ZY, i]) + w[QY, i] * turned


@kernel
def spread(w, i, along, free, lam, ax, ay):
    """Return turning and pull of link i with the acceleration a of its hinge, and that of the next."""
    lc, ls = w[LC, i], w[LS, i]
    alpha = (free - w[QX, i] * ax) - w[QY, i] * ay
    lam = ((lam + w[ZX, i] * ax) + w[ZY, i] * ay) + w[H, i] * alpha
    return alpha, lam, (ax + ls * along) + lc * alpha, (ay - lc * along) + ls * alpha


@kernel
def rates(count, k, wide):
    """Fill coefficient k of the rates: omega = x y' - y x'."""
    for j in range(count):
        total = (k + 1.0) * wide[Y, k + 1, j]
        for m in range(1, k // 2 + 1):
            cross = wide[X, m, j] * wide[Y, k + 1 - m, j] - wide[Y, m, j] * wide[X, k + 1 - m, j]
            total += (k + 1.0 - 2.0 * m) * cross
        wide[RATE, k, j] = total
