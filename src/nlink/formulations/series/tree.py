"""The motion of an open mechanism as a power series in time: one order is a sweep over its tree.

With sine and cosine of each angle as series, S' = omega C, C' = -omega S, all places r are linear in them, and an order takes what
the sweep of `recursive` takes, with M, h, J of the start: let N be the force that a body needs at its origin, and V its moments

    N = sum of m r''_G - F of the body and all behind it     V = sum of along N - left S N at its points     t.V = moment - I alpha

Here t turns: (t.V)_k = t_0.V_k + sum over m > 0 of t_m.V_{k-m}, of lower orders. With theta_{k+2} unknown and all else known,

    e_{k+2} = t_0 theta_{k+2} + known       (k + 1)(k + 2) r_{k+2} = p alpha + g       p = S r_0

so that b and c of the sweep begin with what g and the known products give. A slide on a body that turns has products of its own: of
its displacement with the direction (r), of the direction with N (its force), and of the displacement with N (V of its parent). What
is prescribed has its own series. All but the sweep is done for all bodies side by side.
"""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.series.loads import torques
from nlink.formulations.series.one_vector import polynomials_of_rates
from nlink.formulations.series.prescribed import motion_series
from nlink.formulations.series.tree_loads import forces, moments, refusal, speeds, springs, tree_ledger
from nlink.formulations.series.tree_rows import (
    AL,
    ANGLE,
    AX,
    AY,
    BENT,
    BX,
    BY,
    COMX,
    COMY,
    COORDINATE,
    COSINE,
    CZ,
    DRIVE,
    DRIVING,
    FLX,
    FLY,
    FORCEX,
    FORCEY,
    FX,
    FY,
    GX,
    GY,
    HX,
    HY,
    INVERSE,
    KC,
    KS,
    LEVERX,
    LEVERY,
    MXX,
    MXY,
    MYY,
    MZ,
    OX,
    OY,
    RATE,
    SINE,
    SPEED,
    TQ,
    TREE_SIZE,
    TURN,
    WX,
    WY,
    J,
    Z,
)
from nlink.mechanics.parameters import COM, HINGE_INERTIA, MASS, OFFSET
from nlink.mechanics.scratch import C, S
from nlink.mechanics.series import ORDER_BY_ORDER, SERIES, Series
from nlink.mechanics.tree import (
    ALONG,
    DIRECTION_ALONG,
    DIRECTION_LEFT,
    DX,
    DY,
    LEFT,
    OM,
    PARENT,
    PRESCRIBED,
    PX,
    PY,
    SLIDE,
    TURNER,
    Q,
    TreeParameters,
    V,
    pose,
)


def tree_series(t, bound, ahead, y, p, room, order):
    """Fill the room with the series from the state y; return the sizes of the last two coefficients and the largest rate."""
    chain, tree, terms, w = p.chain, p.tree, room.terms, room.w
    pose(t, y, p, w)
    begin_series(t, ahead, p, terms, w, order)
    factorise(p, w)
    if chain.loaded:
        torques(t, bound, ahead, chain, terms[DRIVE], order)
        springs(p, w)
    for k in range(order - 1):
        products(k, room.wide, room.uv)
        acting(k, p, terms, w, room.u)
        inward(k, p, terms, w, room.u)
        outward(k, p, terms, w, room.u)
        found(k, room.wide, room.uv)
    if chain.ledger > 0:
        speeds(order - 1, p, terms, w, room.u)
    fastest = last = before = alike(0.0, w[S, 0])
    for i in range(chain.n):
        if tree.bodies[SLIDE, i]:
            last, before = max(last, abs(terms[COORDINATE, order, i])), max(before, abs(terms[COORDINATE, order - 1, i]))
        else:
            last = max(last, abs(terms[SINE, order, i]) + abs(terms[COSINE, order, i]))
            before = max(before, abs(terms[SINE, order - 1, i]) + abs(terms[COSINE, order - 1, i]))
            fastest = max(fastest, abs(w[OM, i]))
    return last, before, fastest


@kernel
def begin_series(t, ahead, p, terms, w, order):
    """Fill the first coefficients, and all of those that are prescribed."""
    tree = p.tree
    for i in range(p.chain.n):
        terms[COORDINATE, 0, i], terms[COORDINATE, 1, i], terms[RATE, 0, i] = w[Q, i], w[V, i], w[V, i]
        if tree.bodies[PRESCRIBED, i]:
            motion_series(t, ahead, i, tree, terms[COORDINATE], order)
        s, c = w[S, i], w[C, i]
        if tree.bodies[SLIDE, i]:
            s, c = alike(0.0, s), alike(0.0, c)
        terms[SINE, 0, i], terms[COSINE, 0, i] = s, c
        terms[SINE, 1, i], terms[COSINE, 1, i] = c * w[V, i], -(s * w[V, i])


@kernel
def factorise(p, w):
    """Fill the rows that do not change with the order."""
    chain, tree = p.chain, p.tree
    for i in range(chain.n):
        s, c, mass, d, b = w[S, i], w[C, i], chain.links[MASS, i], chain.links[COM, i], chain.links[OFFSET, i]
        px, py = d * c - b * s, d * s + b * c
        w[COMX, i], w[COMY, i] = px, py
        w[MXX, i], w[MXY, i], w[MYY, i] = mass + 0.0 * s, 0.0 * s, mass + 0.0 * s
        w[HX, i], w[HY, i], w[J, i] = mass * px, mass * py, chain.links[HINGE_INERTIA, i] + 0.0 * s
    for j in range(chain.n):
        i = chain.n - 1 - j
        mxx, mxy, myy, hx, hy, inertia = w[MXX, i], w[MXY, i], w[MYY, i], w[HX, i], w[HY, i], w[J, i]
        zero = alike(0.0, hx)
        if tree.bodies[SLIDE, i]:
            dx, dy = w[DX, i], w[DY, i]
            wx, wy, z = mxx * dx + mxy * dy, mxy * dx + myy * dy, hx * dx + hy * dy
            w[WX, i], w[WY, i], w[Z, i] = wx, wy, z
            if not tree.bodies[PRESCRIBED, i]:
                inverse = 1.0 / (dx * wx + dy * wy)
                w[INVERSE, i] = inverse
                mxx, mxy, myy = mxx - wx * wx * inverse, mxy - wx * wy * inverse, myy - wy * wy * inverse
                hx, hy, inertia = hx - wx * z * inverse, hy - wy * z * inverse, inertia - z * z * inverse
        else:
            if not tree.bodies[PRESCRIBED, i]:
                inverse = 1.0 / inertia
                w[INVERSE, i] = inverse
                mxx, mxy, myy = mxx - hx * hx * inverse, mxy - hx * hy * inverse, myy - hy * hy * inverse
            hx, hy, inertia = zero, zero, zero
        k = tree.bodies[PARENT, i]
        if k >= 0:
            px, py = w[PX, i], w[PY, i]
            tx, ty = mxx * px + mxy * py, mxy * px + myy * py
            w[MXX, k] += mxx
            w[MXY, k] += mxy
            w[MYY, k] += myy
            w[J, k] += inertia + 2.0 * (px * hx + py * hy) + (px * tx + py * ty)
            w[HX, k] += hx + tx
            w[HY, k] += hy + ty


@kernel
def products(k, wide, uv):
    """Fill what is known of S_{k+2}, C_{k+2} and (t.V)_k, all bodies side by side."""
    share = 1.0 / (k + 2.0)
    for j in range(len(uv[KS])):
        rate = wide[RATE, 0, j]
        s, c = wide[SINE, k + 1, j], wide[COSINE, k + 1, j]
        sine, cosine = rate * c, -(rate * s)
        across = along = alike(0.0, rate)
        for m in range(1, k + 1):
            s, c, rate = wide[SINE, k + 1 - m, j], wide[COSINE, k + 1 - m, j], wide[RATE, m, j]
            sine, cosine = sine + rate * c, cosine - rate * s
            across, along = across + c * wide[LEVERX, m - 1, j], along + s * wide[LEVERY, m - 1, j]
        uv[KS, j], uv[KC, j], uv[TURN, j] = sine * share, cosine * share, across + along


@kernel
def acting(k, p, terms, w, u):
    """Fill b and c with what is known of each body alone: its inertia, and what acts on it."""
    chain, tree, scale = p.chain, p.tree, (k + 1.0) * (k + 2.0)
    if chain.loaded:
        moments(k, p, terms, w, u)
        forces(k, p, terms, w, u)
    for i in range(chain.n):
        mass, d, b = chain.links[MASS, i], chain.links[COM, i], chain.links[OFFSET, i]
        ks, kc = known_of(tree.bodies[TURNER, i], u)
        ox, oy = (scale * mass) * (d * ks + b * kc), (scale * mass) * (b * ks - d * kc)
        u[OX, i], u[OY, i] = ox, oy
        bx, by, cz = ox, oy, (w[COMX, i] * ox + w[COMY, i] * oy) + u[TURN, i]
        if chain.loaded:
            bx, by = bx - u[FX, i], by - u[FY, i]
            cz = cz - u[MZ, i] - (w[C, i] * u[FLX, i] + w[S, i] * u[FLY, i])
        u[BX, i], u[BY, i], u[CZ, i] = bx, by, cz


@kernel
def known_of(i, u):
    """Return what is known of sine and cosine of a link, or of the ground."""
    if i < 0:
        return alike(0.0, u[KS, 0]), alike(0.0, u[KS, 0])
    return u[KS, i], u[KC, i]


@kernel
def inward(k, p, terms, w, u):
    """Pass b and c from the tips to the ground."""
    tree, scale = p.tree, (k + 1.0) * (k + 2.0)
    for j in range(p.chain.n):
        i = p.chain.n - 1 - j
        above, slide, given = tree.bodies[PARENT, i], tree.bodies[SLIDE, i], tree.bodies[PRESCRIBED, i]
        bx, by, cz, hx, hy = u[BX, i], u[BY, i], u[CZ, i], w[HX, i], w[HY, i]
        turner = tree.bodies[TURNER, above] if above >= 0 else above
        gx = gy = alike(0.0, bx)
        if turner >= 0:
            along, left = tree.joints[ALONG, i] + 0.0 * bx, tree.joints[LEFT, i] + 0.0 * bx
            if slide:
                da, dl = tree.joints[DIRECTION_ALONG, i], tree.joints[DIRECTION_LEFT, i]
                along, left = along + da * w[Q, i], left + dl * w[Q, i]
                s, c = slid(k, i, turner, terms)
                gx, gy = gx + scale * (da * s + dl * c), gy + scale * (dl * s - da * c)
            ks, kc = u[KS, turner], u[KC, turner]
            gx, gy = gx + scale * (along * ks + left * kc), gy + scale * (left * ks - along * kc)
        if slide and given:
            push = scale * terms[COORDINATE, k + 2, i]
            gx, gy = gx + push * w[DX, i], gy + push * w[DY, i]
        if above >= 0 or given:
            bx, by = bx + (w[MXX, i] * gx + w[MXY, i] * gy), by + (w[MXY, i] * gx + w[MYY, i] * gy)
            cz = cz + (hx * gx + hy * gy)
            u[BX, i], u[BY, i], u[CZ, i] = bx, by, cz
        u[GX, i], u[GY, i] = gx, gy
        if slide:
            bx, by, cz = slide_inward(k, i, turner, bx, by, cz, p, terms, w, u)
        elif given:
            push = scale * terms[COORDINATE, k + 2, i]
            bx, by, cz = bx + hx * push, by + hy * push, alike(0.0, cz)
        else:
            free = cz * w[INVERSE, i]
            bx, by, cz = bx - hx * free, by - hy * free, alike(0.0, cz)
        if above >= 0:
            u[BX, above] += bx
            u[BY, above] += by
            u[CZ, above] += cz + (w[PX, i] * bx + w[PY, i] * by)


@kernel
def slid(k, i, turner, terms):
    """Return what is known of the products of a displacement with sine and cosine, of order k + 2; not those of the start."""
    q = terms[COORDINATE]
    s, c = q[k + 1, i] * terms[SINE, 1, turner], q[k + 1, i] * terms[COSINE, 1, turner]
    for m in range(1, k + 1):
        s, c = s + q[m, i] * terms[SINE, k + 2 - m, turner], c + q[m, i] * terms[COSINE, k + 2 - m, turner]
    return s, c


@kernel
def slide_inward(k, i, turner, bx, by, cz, p, terms, w, u):
    """Return b and c that pass a slide, and what the force on a place that has moved does."""
    dx, dy, bent, moved = w[DX, i], w[DY, i], alike(0.0, bx), alike(0.0, bx)
    if turner >= 0:
        da, dl, q = p.tree.joints[DIRECTION_ALONG, i], p.tree.joints[DIRECTION_LEFT, i], terms[COORDINATE]
        for m in range(1, k + 1):
            s, c, fx, fy = terms[SINE, m, turner], terms[COSINE, m, turner], terms[FORCEX, k - m, i], terms[FORCEY, k - m, i]
            bent = bent + ((da * s + dl * c) * fx + (dl * s - da * c) * fy)
            moved = moved + q[m, i] * (dx * fy - dy * fx)
    if p.chain.loaded:
        bent = bent - u[TQ, i]
    u[BENT, i] = bent
    if not p.tree.bodies[PRESCRIBED, i]:
        free = (dx * bx + dy * by + bent) * w[INVERSE, i]
        bx, by, cz = bx - w[WX, i] * free, by - w[WY, i] * free, cz - w[Z, i] * free
    return bx, by, cz + moved


@kernel
def outward(k, p, terms, w, u):
    """Find the coefficients of the coordinates, and fill N and V, from the ground to the tips."""
    chain, tree, share = p.chain, p.tree, 1.0 / ((k + 1.0) * (k + 2.0))
    for i in range(chain.n):
        above, slide, given = tree.bodies[PARENT, i], tree.bodies[SLIDE, i], tree.bodies[PRESCRIBED, i]
        ax = alpha = alike(0.0, u[BX, i])
        ay = ax + chain.g if k == 0 else ax
        if above >= 0:
            alpha = u[AL, above]
            ax, ay = u[AX, above] + alpha * w[PX, i], u[AY, above] + alpha * w[PY, i]
        x, y = ax + u[GX, i], ay + u[GY, i]
        fx, fy = w[MXX, i] * ax + w[MXY, i] * ay + u[BX, i], w[MXY, i] * ax + w[MYY, i] * ay + u[BY, i]
        if slide:
            if not given:
                change = -(
                    (w[DX, i] * u[BX, i] + w[DY, i] * u[BY, i] + u[BENT, i]) + w[WX, i] * ax + w[WY, i] * ay + w[Z, i] * alpha
                )
                change = change * w[INVERSE, i]
                x, y, fx, fy = x + change * w[DX, i], y + change * w[DY, i], fx + change * w[WX, i], fy + change * w[WY, i]
                terms[COORDINATE, k + 2, i] = change * share
        else:
            if given:
                alpha = terms[COORDINATE, k + 2, i] * ((k + 1.0) * (k + 2.0))
            else:
                alpha = -(u[CZ, i] + (w[HX, i] * ax + w[HY, i] * ay)) * w[INVERSE, i]
                terms[COORDINATE, k + 2, i] = alpha * share
        fx, fy = fx + w[HX, i] * alpha, fy + w[HY, i] * alpha
        if given and slide:
            terms[DRIVING, k, i] = (w[DX, i] * fx + w[DY, i] * fy) + u[BENT, i]
        elif given:
            terms[DRIVING, k, i] = u[CZ, i] + (w[HX, i] * ax + w[HY, i] * ay) + w[J, i] * alpha
        u[AX, i], u[AY, i], u[AL, i] = x, y, alpha
        own_moments(k, i, x, y, alpha, p, terms, w, u)
        if slide:
            terms[FORCEX, k, i], terms[FORCEY, k, i] = fx, fy
        if above >= 0:
            along, left = tree.joints[ALONG, i], tree.joints[LEFT, i]
            terms[LEVERX, k, above] += along * fx + left * fy
            terms[LEVERY, k, above] += along * fy - left * fx
    for j in range(chain.n):
        i = chain.n - 1 - j
        if tree.bodies[SLIDE, i] and tree.bodies[TURNER, i] >= 0:
            slide_moments(k, i, tree, terms)


@kernel
def own_moments(k, i, x, y, alpha, p, terms, w, u):
    """Begin V of a body with its own inertia and the forces on it."""
    chain = p.chain
    mass, d, b = chain.links[MASS, i], chain.links[COM, i], chain.links[OFFSET, i]
    ox, oy = mass * (x + w[COMX, i] * alpha) + u[OX, i], mass * (y + w[COMY, i] * alpha) + u[OY, i]
    vx, vy = d * ox + b * oy, d * oy - b * ox
    if chain.loaded:
        vx, vy = vx - u[FLX, i], vy - u[FLY, i]
    terms[LEVERX, k, i], terms[LEVERY, k, i] = vx, vy


@kernel
def slide_moments(k, i, tree, terms):
    """Add to V of the parent of a slide V of its body, and the force on it at the place to which it has moved."""
    above, q = tree.bodies[PARENT, i], terms[COORDINATE]
    da, dl = tree.joints[DIRECTION_ALONG, i], tree.joints[DIRECTION_LEFT, i]
    fx = fy = alike(0.0, q[0, i])
    for m in range(k + 1):
        fx, fy = fx + q[m, i] * terms[FORCEX, k - m, i], fy + q[m, i] * terms[FORCEY, k - m, i]
    terms[LEVERX, k, above] += terms[LEVERX, k, i] + (da * fx + dl * fy)
    terms[LEVERY, k, above] += terms[LEVERY, k, i] + (da * fy - dl * fx)


@kernel
def found(k, wide, uv):
    """Fill rates, sines and cosines with the coefficients that were found, all bodies side by side."""
    for j in range(len(uv[KS])):
        q = wide[COORDINATE, k + 2, j]
        wide[RATE, k + 1, j] = (k + 2.0) * q
        wide[SINE, k + 2, j], wide[COSINE, k + 2, j] = uv[KS, j] + wide[COSINE, 0, j] * q, uv[KC, j] - wide[SINE, 0, j] * q


def tree_arrival(h, y, p, room, order, new):
    """Fill `new` with coordinates and rates at the time h after the start of the series."""
    n, wide, u, uv, terms = p.chain.n, room.wide, room.u, room.uv, room.terms
    for j in range(len(uv[ANGLE])):
        uv[ANGLE, j], uv[SPEED, j] = moved_by(h, wide[COORDINATE], order, j)
    for i in range(n):
        new[i] = terms[COORDINATE, 0, i] + u[ANGLE, i]
        new[n + i] = u[SPEED, i]


@kernel
def moved_by(h, q, order, j):
    """Return by how much coordinates have changed at the time h, and their rates: even and odd powers apart, for speed."""
    hh = h * h
    even, odd = order - order % 2, order - 1 + order % 2
    x, dx, y, dy = q[even, j], even * q[even, j], q[odd, j], odd * q[odd, j]
    for m in range(even - 2, 0, -2):
        x, dx = x * hh + q[m, j], dx * hh + m * q[m, j]
    for m in range(odd - 2, 0, -2):
        y, dy = y * hh + q[m, j], dy * hh + m * q[m, j]
    return x * hh + y * h, dx * h + dy


def tree_accelerations(p, room, f):
    """Fill f[N:2N] with the accelerations at the start."""
    n = p.chain.n
    for i in range(n):
        f[n + i] = 2.0 * room.terms[COORDINATE, 2, i]


def tree_polynomials(p, room, order, q):
    """Fill q (order, m): the coefficients of coordinates and rates from the first power on."""
    polynomials_of_rates(p.chain.n, room.terms[RATE], order, q)


SERIES[TreeParameters] = {
    ORDER_BY_ORDER: Series(
        begin=lambda p, room: None,
        series=tree_series,
        horizon=lambda h, p, room, order: h,
        arrival=tree_arrival,
        accelerations=tree_accelerations,
        polynomials=tree_polynomials,
        powers=tree_ledger,
        size=TREE_SIZE,
        refusal=refusal,
    )
}
