"""Many open chains side by side: the sweep of `recursive` with few operations, where `recursive` has short waits for one chain.

A share of a link's mass may be moved to each of its hinges, where it pulls and resists as before: m d/l to the lower one, the rest
to the upper, if the inertia J about the upper hinge becomes I = J - m d l. Then hinges have masses mu, links have none, and with
e along the link, t its left normal, and M, P of what hangs on the lower hinge

    h <- h + omega^2 l e         the apparent gravity at the lower hinge, (0, -g) at the pivot      (from the pivot outwards)
    M <- M + mu 1                P <- P + mu h                                                      (from the tip inwards)
    v = l M t                    D = I + l t.v                free = l t.P / D
    M <- M - v v^T / D           P <- P - v free
    alpha = free - v.a / D       a <- a + alpha l t                                                 (from the pivot outwards)

Here a is what the accelerations alpha add at a hinge to -h. Lengths are measured by the first one, so that equal ones take no
multiplication. A centre of mass beside its link, or far from it, leaves m (d' t - b e) unmoved; `pull_all` takes that and loads.

Rows of a link's scratch: LC, LS (l t); HX, HY, then UX, UY (v / D); FREE.
"""

from __future__ import annotations

import threading

import numpy as np
from llvmlite import binding

from nlink._jit import entry, kernel
from nlink.chain import Chain
from nlink.kernels import FX, FY, LOAD_ROWS, MZ, C, ChainParameters, S, apply_loads, borrowed, turn
from nlink.lanes import aligned, alike, columns, numbers, sincos

LANES = 32 if binding.get_host_cpu_features().get("avx512f") else 16
"""Chains side by side: as many as keep the processor busy while one waits for the link before."""
FAR = 4.0
"""A mass further from the hinge than so many lengths stays where it is: moving it would cost digits."""

LC, LS, HX, HY, FREE = range(5)
UX, UY = HX, HY
MU, INERTIA, LENGTH, ALONG, ACROSS, LEVER, SIDE, TIP = range(8)
"""Constants of a link: mass at the lower hinge, I, l, mass times d' and b over l, d and b over l; mu / D if it is the last."""

_memory = threading.local()


class SideBySide:
    """The accelerations of many states of one chain."""

    def __init__(self, chain: Chain, numbers: ChainParameters) -> None:
        unit = chain.length[0]
        self.numbers, self.unit, self.lift = numbers._replace(ledger=0), float(unit), numbers.g / unit
        self.constants = constants(chain, unit)
        self.even = bool((chain.length == unit).all())
        self.plain = chain.n > 1 and not numbers.loaded and not self.constants[[ALONG, ACROSS]].any()

    def __call__(self, t: float, states: np.ndarray, out: np.ndarray, to: int) -> None:
        """Fill out[to:] (N, K) with the accelerations of states (2N, K), and what is before with rates."""
        count = states.shape[1]
        if count < LANES:
            few = np.zeros((len(out), LANES))
            self(t, np.pad(states, ((0, 0), (0, LANES - count))), few, to)
            out[:] = few[:, :count]
        elif self.plain:
            plain_columns(states, self.constants, self.lift, self.even, out, to, scratch(len(states) // 2))
        else:
            w, rows = scratch(len(states) // 2), np.zeros((LOAD_ROWS, len(states) // 2, LANES))
            loaded_columns(t, states, self.numbers, self.constants, self.lift, self.unit, out, to, w, rows)


def scratch(n: int) -> np.ndarray:
    """Return this thread's scratch."""
    known = getattr(_memory, "rows", None)
    if known is None or len(known) != n:
        known = _memory.rows = aligned(n, 5, LANES)
    return known


def constants(chain: Chain, unit: float) -> np.ndarray:
    """Return the constants (8, N) of the links, lengths measured by `unit`."""
    length, mass, d, b = chain.length, chain.mass, chain.com, chain.offset
    share = np.where(np.abs(d) <= FAR * length, d / length, 0.0)
    inertia = np.array([link.hinge_inertia for link in chain.links]) - share * mass * length**2
    mu = share * mass
    mu[:-1] += (mass - mu)[1:]
    inertia, reach = inertia / unit**2, length / unit
    whole = inertia + mu * reach**2
    tip = mu / np.where(whole > 0, whole, 1.0)
    return np.array([mu, inertia, reach, mass * (d / length - share), mass * b / length, d / length, b / length, tip])


@entry
def plain_columns(states, k, lift, even, out, to, scratch):
    """Fill out[to:] for columns of states, as many at a time as there are lanes; the last block may overlap the one before.

    For two links or more with nothing but gravity on them and nothing beside their hinges.
    """
    n, count, k, w = k.shape[1], states.shape[1], numbers(k), columns(scratch, 0, LANES)
    ties = tied(k, lift, n)
    for start in range(0, count, LANES):
        first = min(start, count - LANES)
        y, x = columns(states, first, LANES), columns(out, first, LANES)
        if n == 2:
            pair(y, ties, x, to)
        else:
            fan(y, n, k, lift, even, x, to, w, w, False)
            spread(n, n - 1, w, pull(n, k, lift, w), x, to)
            swing_tip(n, k, w, x, to)


@entry
def loaded_columns(t, states, p, k, lift, unit, out, to, scratch, loads):
    """Fill out[to:] for columns of states of any chain and loads; see `plain_columns`."""
    p, n, count, k = borrowed(p), p.n, states.shape[1], numbers(k)
    w, rows = columns(scratch, 0, LANES), columns(loads, 0, LANES)
    for start in range(0, count, LANES):
        first = min(start, count - LANES)
        y, x = columns(states, first, LANES), columns(out, first, LANES)
        if p.loaded:
            turn(y, n, rows)
            apply_loads(t, y, y, n, p, rows, x, 0, p.tip[0], p.tip[1])
        fan(y, n, k, lift, False, x, to, w, rows, p.loaded)
        pull_all(y, n, k, w, rows, p.loaded, unit)
        spread(n, n, w, w[0, FREE], x, to)


@kernel
def fan(y, n, k, lift, even, out, to, w, rows, turned):
    """Fill LC, LS, HX, HY from the pivot outwards; if turned, sines and cosines are in the rows. Copy the rates if to > 0."""
    hx = alike(0.0, y[0])
    hy = alike(-lift, y[0])
    for i in range(n):
        if turned:
            s, c = rows[S, i], rows[C, i]
        else:
            s, c = sincos(y[i])
        if not even:
            s, c = k[LENGTH, i] * s, k[LENGTH, i] * c
        rate = y[n + i]
        if to > 0:
            out[i] = rate
        square = rate * rate
        hx += square * s
        hy -= square * c
        w[i, LC], w[i, LS], w[i, HX], w[i, HY] = c, s, hx, hy


@kernel
def pull(n, k, lift, w):
    """Fill UX, UY, FREE from the tip inwards, without the last link, whose D is a constant; return alpha of the first."""
    i = n - 1
    c, s, hx, hy = w[i, LC], w[i, LS], w[i, HX], w[i, HY]
    mu, force = k[MU, i], k[MU, i] * k[TIP, i]
    vx, vy = force * c, force * s
    free = c * hx + s * hy
    px, py = mu * hx - vx * free, mu * hy - vy * free
    mxx, mxy, myy = mu - vx * c, -(vx * s), mu - vy * s
    for j in range(1, n - 1):
        i = n - 1 - j
        c, s, mu = w[i, LC], w[i, LS], k[MU, i]
        mxx += mu
        myy += mu
        px += mu * w[i, HX]
        py += mu * w[i, HY]
        vx, vy = c * mxx + s * mxy, c * mxy + s * myy
        inverse = 1.0 / ((k[INERTIA, i] + c * vx) + s * vy)
        ux, uy, free = vx * inverse, vy * inverse, (c * px + s * py) * inverse
        w[i, UX], w[i, UY], w[i, FREE] = ux, uy, free
        px -= vx * free
        py -= vy * free
        mxx -= vx * ux
        mxy -= vx * uy
        myy -= vy * uy
    c, s, mu = w[0, LC], w[0, LS], k[MU, 0]
    vx, vy = c * (mxx + mu) + s * mxy, c * mxy + s * (myy + mu)
    return (c * px + s * (py - mu * lift)) / ((k[INERTIA, 0] + c * vx) + s * vy)


@kernel
def pull_all(y, n, k, w, rows, forced, unit):
    """Fill UX, UY, FREE from the tip inwards for all links, with what is beside the hinges, and the loads if forced."""
    mxx = mxy = myy = px = py = alike(0.0, y[0])
    for j in range(n):
        i = n - 1 - j
        c, s, hx, hy, mu = w[i, LC], w[i, LS], w[i, HX], w[i, HY], k[MU, i]
        square = y[n + i] * y[n + i]
        mxx += mu
        myy += mu
        px += mu * hx
        py += mu * hy
        vx, vy = c * mxx + s * mxy, c * mxy + s * myy
        ox, oy = k[ALONG, i] * c - k[ACROSS, i] * s, k[ALONG, i] * s + k[ACROSS, i] * c
        tau = (c * px + s * py) + (ox * hx + oy * hy) + k[ACROSS, i] * (k[LENGTH, i] * k[LENGTH, i]) * square
        px += square * oy
        py -= square * ox
        if forced:
            fx, fy = rows[FX, i] / unit, rows[FY, i] / unit
            tau += (k[LEVER, i] * c - k[SIDE, i] * s) * fx + (k[LEVER, i] * s + k[SIDE, i] * c) * fy
            tau += rows[MZ, i] / (unit * unit)
            px += fx
            py += fy
        inverse = 1.0 / ((k[INERTIA, i] + c * vx) + s * vy)
        qx, qy = vx + ox, vy + oy
        ux, uy, free = qx * inverse, qy * inverse, tau * inverse
        w[i, UX], w[i, UY], w[i, FREE] = ux, uy, free
        px -= qx * free
        py -= qy * free
        mxx -= qx * ux
        mxy -= qx * uy
        myy -= qy * uy


@kernel
def spread(n, end, w, first, out, to):
    """Fill out[to:] with the accelerations of the links before `end`, that of the first being given; leave a at the end in w."""
    out[to] = first
    ax, ay = first * w[0, LC], first * w[0, LS]
    for i in range(1, end):
        alpha = (w[i, FREE] - w[i, UX] * ax) - w[i, UY] * ay
        ax += alpha * w[i, LC]
        ay += alpha * w[i, LS]
        out[to + i] = alpha
    if end < n:
        w[end, HX] -= ax
        w[end, HY] -= ay


@kernel
def swing_tip(n, k, w, out, to):
    """Fill in the acceleration of the last link: mu / D l t.(h - a)."""
    i = n - 1
    out[to + i] = k[TIP, i] * (w[i, LC] * w[i, HX] + w[i, LS] * w[i, HY])


@kernel
def tied(k, lift, n):
    """Return the constants of two links: coupling, weights, and the diagonal of the mass matrix."""
    i = n - 1
    both = k[MU, 0] + k[MU, i]
    a, b = k[LENGTH, 0], k[LENGTH, i]
    return k[MU, i] * a * b, both * lift * a, k[MU, i] * lift * b, k[INERTIA, 0] + both * a * a, k[INERTIA, i] + k[MU, i] * b * b


@kernel
def pair(y, ties, out, to):
    """Fill out[to:] for two links, whose equations are solved in closed form."""
    coupling, weight, tip_weight, a, b = ties
    s, c = sincos(y[0])
    tip_s, tip_c = sincos(y[1])
    rate, tip_rate = y[2], y[3]
    cosine, sine = coupling * (c * tip_c + s * tip_s), coupling * (c * tip_s - s * tip_c)
    moment = sine * (tip_rate * tip_rate) - weight * s
    tip_moment = sine * (rate * rate) + tip_weight * tip_s
    inverse = 1.0 / (a * b - cosine * cosine)
    if to > 0:
        out[0], out[1] = rate, tip_rate
    out[to] = (b * moment + cosine * tip_moment) * inverse
    out[to + 1] = -(a * tip_moment + cosine * moment) * inverse
