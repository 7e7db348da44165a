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
from typing import Any

import numpy as np
from llvmlite import binding
from numba import types

from nlink.compiled.jit import entry, intrinsic, kernel
from nlink.compiled.simd import aligned, alike, columns, numbers, sincos
from nlink.compiled.tracing import Cells, Number, traced
from nlink.compiled.views import views
from nlink.mechanics.kernels import TIP_X, TIP_Y, ChainParameters, apply_loads, turn
from nlink.mechanics.parameters import COM, HINGE_INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, LOAD_ROWS, MZ, C, S

LANES = 32 if binding.get_host_cpu_features().get("avx512f") else 16
"""Chains side by side: as many as keep the processor busy while one waits for the link before."""
HALF = LANES // 2
KEPT = 10_000
"""Links up to which scratch is kept for the next call."""
LOOSE = 1e100
"""Two or three links whose tip has so little mass, measured by what it is coupled to, are not solved in closed form."""
FAR = 4.0
"""A mass further from the hinge than so many lengths stays where it is: moving it would cost digits."""

LC, LS, HX, HY, FREE = range(5)
UX, UY = HX, HY
MU, INERTIA, REACH, ALONG, ACROSS, LEVER, SIDE, TIP, DIAGONAL, COUPLING, WEIGHT = range(11)
"""Constants of a link: mass at the lower hinge, I, l, mass times d' and b over l, d and b over l; mu / D if it is the last; terms
of the mass matrix, its own and those with the next link (the last: with the first), and the weight it carries, times l, all
measured by the last link's term with the first.
"""

_memory = threading.local()


class SideBySide:
    """The accelerations of many states of one chain."""

    def __init__(self, numbers: ChainParameters) -> None:
        self.unit = float(numbers.links[LENGTH, 0])
        self.numbers, self.lift = numbers._replace(ledger=0), numbers.g / self.unit
        self.constants = constants(numbers.links, self.unit, self.lift)
        self.even = bool((self.constants[REACH] == 1).all())
        tight = self.constants[COUPLING, -1] == 1 and np.abs(self.constants[DIAGONAL]).max() < LOOSE
        moved = not self.constants[[ALONG, ACROSS]].any()
        self.plain = not numbers.loaded and moved and (numbers.n > 3 or (numbers.n > 1 and tight))

    def __call__(self, t: float, states: np.ndarray, out: np.ndarray, to: int) -> None:
        """Fill out[to:] (N, K) with the accelerations of states (2N, K), and what is before with rates."""
        count = states.shape[1]
        if count < LANES:
            few = np.zeros((len(out), LANES))
            self(t, np.pad(states, ((0, 0), (0, LANES - count))), few, to)
            out[:] = few[:, :count]
        elif self.plain:
            plain_columns(states, self.constants, self.lift, self.even, out, to, scratch(self.numbers.n))
        else:
            w, rows = scratch(self.numbers.n), aligned(LOAD_ROWS, self.numbers.n, LANES)
            loaded_columns(t, states, self.numbers, self.constants, self.lift, self.unit, out, to, w, rows)


def scratch(n: int) -> np.ndarray:
    """Return this thread's scratch; what is large is not kept."""
    known = getattr(_memory, "rows", None)
    if known is None or len(known) != n:
        known = aligned(n, 5, LANES)
        _memory.rows = known if n <= KEPT else None
    return known


def constants(links: np.ndarray, unit: float, lift: float) -> np.ndarray:
    """Return the constants (rows, N) of the links, lengths measured by `unit`."""
    reach, mass, d, b = links[LENGTH] / unit, links[MASS], links[COM] / links[LENGTH], links[OFFSET] / links[LENGTH]
    share = np.where(np.abs(d) <= FAR, d, 0.0)
    inertia = links[HINGE_INERTIA] / unit**2 - share * mass * reach**2
    mu = share * mass
    mu[:-1] += (mass - mu)[1:]
    below = np.cumsum(mu[::-1])[::-1]
    diagonal = inertia + below * reach**2
    tip = mu / np.where(diagonal > 0, diagonal, 1.0)
    coupling = np.append(below[1:], below[-1]) * reach * np.roll(reach, -1)
    rows = np.array([mu, inertia, reach, mass * (d - share), mass * b, d, b, tip, diagonal, coupling, below * reach * lift])
    rows[DIAGONAL:] /= coupling[-1] or 1.0
    return rows


@entry("rates of many chains")
def plain_columns(states, k, lift, even, out, to, scratch):
    """Fill out[to:] for columns of states, as many at a time as there are lanes; the last block may overlap the one before.

    For two links or more with nothing but gravity on them and nothing beside their hinges.
    """
    n, count, k, w = k.shape[1], states.shape[1], numbers(k), columns(scratch, 0, LANES)
    for start in range(0, count, LANES):
        first = min(start, count - LANES)
        y, x = columns(states, first, LANES), columns(out, first, LANES)
        if n == 2:
            two(y, k, x, to)
        elif n == 3:
            three(y, k, x, to)
        else:
            fan(y, n, k, lift, even, x, to, w, w, False)
            pull(n, k, lift, columns(scratch, 0, HALF), columns(scratch, HALF, HALF))
            ax, ay = spread(n - 1, w, x, to)
            x[to + n - 1] = swing(n - 1, k, w, ax, ay)


@entry("rates of many chains with loads")
def loaded_columns(t, states, p, k, lift, unit, out, to, scratch, loads):
    """Fill out[to:] for columns of states of any chain and loads, `unit` being that of lengths; see `plain_columns`."""
    p, n, count, k = views(p), p.n, states.shape[1], numbers(k)
    w, rows = columns(scratch, 0, LANES), columns(loads, 0, LANES)
    for start in range(0, count, LANES):
        first = min(start, count - LANES)
        y, x = columns(states, first, LANES), columns(out, first, LANES)
        if p.loaded:
            turn(y, n, rows)
            apply_loads(t, y, y, n, p, rows, x, 0, p.tip[TIP_X], p.tip[TIP_Y])
        fan(y, n, k, lift, False, x, to, w, rows, p.loaded)
        pull_all(y, n, k, w, rows, p.loaded, 1.0 / unit)
        spread(n, w, x, to)


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
        rate = y[n + i]
        if to > 0:
            out[i] = rate
        square = rate * rate
        if not even:
            s, c = k[REACH, i] * s, k[REACH, i] * c
        hx += square * s
        hy -= square * c
        w[i, LC], w[i, LS], w[i, HX], w[i, HY] = c, s, hx, hy


@kernel
def pull(n, k, lift, w, v):
    """Fill UX, UY, FREE from the tip inwards, without the last link, whose D is a constant; of the first link, FREE is all.

    Two halves, w and v, take turns: one computes while the other waits, and both stay in the registers.
    """
    here, there = pull_tip(n - 1, k, w), pull_tip(n - 1, k, v)
    for j in range(1, n - 1):
        here, there = pull_link(n - 1 - j, k, w, here), pull_link(n - 1 - j, k, v, there)
    w[0, FREE], v[0, FREE] = pull_first(k, lift, w, here), pull_first(k, lift, v, there)


@kernel
def pull_tip(i, k, w):
    """Return M and P of the last link."""
    c, s, hx, hy = w[i, LC], w[i, LS], w[i, HX], w[i, HY]
    mu, force = k[MU, i], k[MU, i] * k[TIP, i]
    vx, vy = force * c, force * s
    free = c * hx + s * hy
    return mu - vx * c, -(vx * s), mu - vy * s, mu * hx - vx * free, mu * hy - vy * free


@kernel
def pull_link(i, k, w, below):
    """Fill in UX, UY, FREE of a link; return its M and P from those of the link below."""
    mxx, mxy, myy, px, py = below
    c, s, mu = w[i, LC], w[i, LS], k[MU, i]
    mxx += mu
    myy += mu
    px += mu * w[i, HX]
    py += mu * w[i, HY]
    vx, vy = c * mxx + s * mxy, c * mxy + s * myy
    inverse = 1.0 / ((k[INERTIA, i] + c * vx) + s * vy)
    ux, uy, free = vx * inverse, vy * inverse, (c * px + s * py) * inverse
    w[i, UX], w[i, UY], w[i, FREE] = ux, uy, free
    return mxx - vx * ux, mxy - vx * uy, myy - vy * uy, px - vx * free, py - vy * free


@kernel
def pull_first(k, lift, w, below):
    """Return alpha of the first link."""
    mxx, mxy, myy, px, py = below
    c, s, mu = w[0, LC], w[0, LS], k[MU, 0]
    vx, vy = c * (mxx + mu) + s * mxy, c * mxy + s * (myy + mu)
    return (c * px + s * (py - mu * lift)) / ((k[INERTIA, 0] + c * vx) + s * vy)


@kernel
def pull_all(y, n, k, w, rows, forced, scale):
    """Fill UX, UY, FREE from the tip inwards for all links, with what is beside the hinges, and with loads if forced.

    Lengths are `scale` times those of the loads.
    """
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
        tau = (c * px + s * py) + (ox * hx + oy * hy) + k[ACROSS, i] * (k[REACH, i] * k[REACH, i]) * square
        px += square * oy
        py -= square * ox
        if forced:
            fx, fy = scale * rows[FX, i], scale * rows[FY, i]
            tau += (k[LEVER, i] * c - k[SIDE, i] * s) * fx + (k[LEVER, i] * s + k[SIDE, i] * c) * fy
            tau += scale * scale * rows[MZ, i]
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
def spread(end, w, out, to):
    """Fill out[to:] with the accelerations of the links before `end`; return a at the end."""
    alpha = w[0, FREE]
    ax, ay = alpha * w[0, LC], alpha * w[0, LS]
    out[to] = alpha
    for i in range(1, end):
        alpha = (w[i, FREE] - w[i, UX] * ax) - w[i, UY] * ay
        ax += alpha * w[i, LC]
        ay += alpha * w[i, LS]
        out[to + i] = alpha
    return ax, ay


@kernel
def swing(i, k, w, ax, ay):
    """Return the acceleration of the last link: mu / D l t.(h - a)."""
    return k[TIP, i] * (w[i, LC] * (w[i, HX] - ax) + w[i, LS] * (w[i, HY] - ay))


@kernel
def two(y, k, out, to):
    """Fill out[to:] for two links: sines and cosines of the difference of their angles, and a mass matrix of two rows."""
    s0, c0 = sincos(y[0])
    s1, c1 = sincos(y[1])
    x, z = c0 * c1 + s0 * s1, c0 * s1 - s0 * c1
    rate0, rate1 = y[2], y[3]
    if to > 0:
        out[0], out[1] = rate0, rate1
    moment0 = z * (rate1 * rate1) - k[WEIGHT, 0] * s0
    moment1 = z * (rate0 * rate0) + k[WEIGHT, 1] * s1
    inverse = 1.0 / (k[DIAGONAL, 0] * k[DIAGONAL, 1] - x * x)
    out[to] = (k[DIAGONAL, 1] * moment0 + x * moment1) * inverse
    out[to + 1] = -(k[DIAGONAL, 0] * moment1 + x * moment0) * inverse


@kernel
def three(y, k, out, to):
    """Fill out[to:] for three links as for two, the last row of the mass matrix being eliminated first."""
    s0, c0 = sincos(y[0])
    s1, c1 = sincos(y[1])
    s2, c2 = sincos(y[2])
    rate0, rate1, rate2 = y[3], y[4], y[5]
    if to > 0:
        out[0], out[1], out[2] = rate0, rate1, rate2
    square0, square1, square2 = rate0 * rate0, rate1 * rate1, rate2 * rate2
    x01, z01 = k[COUPLING, 0] * (c0 * c1 + s0 * s1), k[COUPLING, 0] * (c0 * s1 - s0 * c1)
    x12, z12 = k[COUPLING, 1] * (c1 * c2 + s1 * s2), k[COUPLING, 1] * (c1 * s2 - s1 * c2)
    x02, z02 = c0 * c2 + s0 * s2, c0 * s2 - s0 * c2
    moment2 = (z02 * square0 + z12 * square1) + k[WEIGHT, 2] * s2
    share = 1.0 / k[DIAGONAL, 2]
    f0, f1 = share * x02, share * x12
    moment0 = (z01 * square1 + z02 * square2) - (k[WEIGHT, 0] * s0 - f0 * moment2)
    moment1 = (z01 * square0 - z12 * square2) + (k[WEIGHT, 1] * s1 - f1 * moment2)
    x, a, b = x01 - f0 * x12, k[DIAGONAL, 0] - f0 * x02, k[DIAGONAL, 1] - f1 * x12
    inverse = 1.0 / (a * b - x * x)
    alpha0, alpha1 = (b * moment0 + x * moment1) * inverse, (a * moment1 + x * moment0) * inverse
    out[to], out[to + 1], out[to + 2] = alpha0, -alpha1, f1 * alpha1 - f0 * alpha0 - share * moment2


@intrinsic
def unrolled_accelerations(_typing, y, k, lift, x, links):
    """Fill x[:n] with the accelerations of one chain as `plain_columns` does for many, unrolled.

    n, the length of `links`, is known when compiling.
    """

    def build(context, builder, sig, args):
        n = sig.args[-1].count
        state, constants, out = (Cells(context, builder, sig.args[i], args[i]) for i in (0, 1, 3))
        written = {2: two, 3: three}.get(n)
        if written:
            traced(written)(state, constants, out, 0)
        else:
            unrolled_sweeps(n, state, constants, Number(builder, args[2]), out)
        return context.get_dummy_value()

    return types.void(y, k, lift, x, links), build


def unrolled_sweeps(n, y, k, lift, out):
    """Write down the sweeps over the links."""
    w: dict[Any, Any] = {}
    traced(fan)(y, n, k, lift, False, out, 0, w, w, False)
    below = traced(pull_tip)(n - 1, k, w)
    for i in range(n - 2, 0, -1):
        below = traced(pull_link)(i, k, w, below)
    w[0, FREE] = traced(pull_first)(k, lift, w, below)
    ax, ay = traced(spread)(n - 1, w, out, 0)
    out[n - 1] = traced(swing)(n - 1, k, w, ax, ay)
