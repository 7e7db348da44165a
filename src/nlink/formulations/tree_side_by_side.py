"""Many states of one open mechanism side by side: the sweep over its tree in vectors, a state in each lane.

Where nothing but gravity acts and all joints are free hinges, the accelerations a are counted from those that all bodies would have
without angular accelerations, H = (0, g) on the ground and H - omega^2 r further out. A hinge then passes five numbers, M and P:

    H <- H - omega^2 r                                                               (from the ground outwards)
    M + m 1,  h = m p,  J,  P + m H - omega^2 m r,  C = h.H                           own, p = S r to the centre of mass
    h + M' p,  J + p.M' p,  P + P',  C + p.P'                                         of each child, p = S r to its hinge
    u = h/J,  f = C/J,  M - h u^T,  P - h f                                           (from the tips inwards)
    alpha = -(f + u.a),  a <- a + alpha p                                             (from the ground outwards)

Rows of a body's scratch: SINE, COSINE, HX, HY, then u; M and P, then a in the first two; FREE is f.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from nlink.compiled.jit import entry, kernel
from nlink.compiled.simd import aligned, alike, columns, sincos
from nlink.compiled.views import views
from nlink.formulations.tree import SWEEP_ROWS, act, inward, outward
from nlink.mechanics.parameters import COM, HINGE_INERTIA, MASS, OFFSET
from nlink.mechanics.tree import ALONG, LEFT, PARENT, PRESCRIBED, SLIDE, TreeParameters, V, pose, turn_bodies

LANES = 16
"""States side by side."""
SINE, COSINE, HX, HY, MXX, MXY, MYY, PX, PY, FREE = range(10)
UX, UY, AX, AY = HX, HY, MXX, MXY
PLAIN_ROWS = 10
OWN_MASS, FIRST_MOMENT, SIDE_MOMENT, HINGED, ALONG_PARENT, LEFT_PARENT = range(6)
"""Rows of `numbers`: mass, mass times the place of the centre of mass along and beside, inertia about the hinge, where it is."""


class PlainTree(NamedTuple):
    """A tree of free hinges under gravity alone, as numbers."""

    numbers: np.ndarray
    """(6, N): OWN_MASS, ..."""
    parents: np.ndarray
    """(N,)"""
    begins: np.ndarray
    """(N + 1,) where the children of each body begin in `children`"""
    children: np.ndarray
    g: float


class TreeSideBySide:
    """The accelerations of many states of one mechanism."""

    def __init__(self, parameters: TreeParameters) -> None:
        self.parameters = parameters._replace(chain=parameters.chain._replace(ledger=0))
        self.lanes = (0,) * LANES
        self.plain = plain_tree(parameters)
        self._memory = threading.local()

    def _scratch(self) -> np.ndarray:
        """Return this thread's scratch."""
        if getattr(self._memory, "rows", None) is None:
            n = self.parameters.chain.n
            shape = (n, PLAIN_ROWS) if self.plain else (SWEEP_ROWS, n)
            self._memory.rows = aligned(*shape, len(self.lanes))
        return self._memory.rows

    def __call__(self, t: float, states: np.ndarray, out: np.ndarray, to: int) -> None:
        """Fill out[to:] (N, K) with the accelerations of states (2N, K), and what is before with rates."""
        count, width = states.shape[1], len(self.lanes)
        if count < width:
            few = np.zeros((len(out), width))
            self(t, np.pad(states, ((0, 0), (0, width - count))), few, to)
            out[:] = few[:, :count]
        elif self.plain:
            plain_tree_columns(states, self.plain, out, to, self._scratch(), self.lanes)
        else:
            tree_columns(t, states, self.parameters, out, to, self._scratch(), self.lanes)


def plain_tree(parameters: TreeParameters) -> PlainTree | None:
    """Return the numbers of a tree of free hinges under gravity alone; None for other mechanisms."""
    chain, tree = parameters
    if chain.loaded or tree.bodies[[SLIDE, PRESCRIBED]].any():
        return None
    links, parents = chain.links, tree.bodies[PARENT]
    mass = links[MASS]
    numbers = np.array([mass, mass * links[COM], mass * links[OFFSET], links[HINGE_INERTIA], tree.joints[ALONG], tree.joints[LEFT]])
    children = np.argsort(parents, kind="stable")[np.count_nonzero(parents < 0) :]
    begins = np.searchsorted(parents[children], np.arange(chain.n + 1))
    return PlainTree(numbers, parents.copy(), begins, children, chain.g)


@entry("rates of many trees")
def plain_tree_columns(states, p, out, to, scratch, lanes):
    """Fill out[to:] for columns of states, as many at a time as there are lanes; the last block may overlap the one before."""
    p, count, width = views(p), states.shape[1], len(lanes)
    w = columns(scratch, 0, lanes)
    for start in range(0, count, width):
        first = min(start, count - width)
        y, x = columns(states, first, lanes), columns(out, first, lanes)
        fan(y, p, x, to, w)
        pull(y, p, w)
        spread(p, w, x, to)


@kernel
def lever(i, s, c, p):
    """Return p from the origin of a body's parent, whose sine and cosine are given, to its hinge."""
    along, left = p.numbers[ALONG_PARENT, i], p.numbers[LEFT_PARENT, i]
    if left == 0.0:
        return along * c, along * s
    return along * c - left * s, along * s + left * c


@kernel
def fan(y, p, out, to, w):
    """Fill sines, cosines and H from the ground outwards. Copy the rates if to > 0."""
    n = len(p.parents)
    for i in range(n):
        k = p.parents[i]
        s, c = sincos(y[i])
        hx, hy = alike(0.0, s), alike(p.g, s)
        if k >= 0:
            px, py = lever(i, w[k, SINE], w[k, COSINE], p)
            rate = y[n + k]
            square = rate * rate
            hx, hy = w[k, HX] - square * py, w[k, HY] + square * px
        w[i, SINE], w[i, COSINE], w[i, HX], w[i, HY] = s, c, hx, hy
        if to > 0:
            out[i] = y[n + i]


@kernel
def pull(y, p, w):
    """Fill UX, UY, FREE from the tips inwards."""
    n = len(p.parents)
    for m in range(n):
        i = n - 1 - m
        s, c, hx, hy, rate = w[i, SINE], w[i, COSINE], w[i, HX], w[i, HY], y[n + i]
        mass, d, b, square = p.numbers[OWN_MASS, i], p.numbers[FIRST_MOMENT, i], p.numbers[SIDE_MOMENT, i], rate * rate
        tx, ty = d * c, d * s
        if b != 0.0:
            tx, ty = tx - b * s, ty + b * c
        px, py, free = mass * hx - square * ty, mass * hy + square * tx, tx * hx + ty * hy
        mxx, mxy, myy, j = alike(mass, s), alike(0.0, s), alike(mass, s), alike(p.numbers[HINGED, i], s)
        for at in range(p.begins[i], p.begins[i + 1]):
            k = p.children[at]
            axx, axy, ayy, fx, fy = w[k, MXX], w[k, MXY], w[k, MYY], w[k, PX], w[k, PY]
            x, z = lever(k, s, c, p)
            ux, uy = axx * x + axy * z, axy * x + ayy * z
            mxx, mxy, myy, px, py = mxx + axx, mxy + axy, myy + ayy, px + fx, py + fy
            tx, ty, j, free = tx + ux, ty + uy, j + (x * ux + z * uy), free + (x * fx + z * fy)
        inverse = 1.0 / j
        ux, uy, free = tx * inverse, ty * inverse, free * inverse
        w[i, UX], w[i, UY], w[i, FREE] = ux, uy, free
        w[i, MXX], w[i, MXY], w[i, MYY] = mxx - tx * ux, mxy - tx * uy, myy - ty * uy
        w[i, PX], w[i, PY] = px - tx * free, py - ty * free


@kernel
def spread(p, w, out, to):
    """Fill out[to:] with the accelerations from the ground outwards."""
    for i in range(len(p.parents)):
        k = p.parents[i]
        ax = ay = alike(0.0, w[i, FREE])
        change = -w[i, FREE]
        if k >= 0:
            px, py = lever(i, w[k, SINE], w[k, COSINE], p)
            turn = out[to + k]
            ax, ay = w[k, AX] + turn * px, w[k, AY] + turn * py
            change = change - w[i, UX] * ax - w[i, UY] * ay
        w[i, AX], w[i, AY] = ax, ay
        out[to + i] = change


@entry("rates of many mechanisms")
def tree_columns(t, states, p, out, to, scratch, lanes):
    """Fill out[to:] for columns of states, as many at a time as there are lanes; the last block may overlap the one before."""
    p, count, width = views(p), states.shape[1], len(lanes)
    w = columns(scratch, 0, lanes)
    for start in range(0, count, width):
        first = min(start, count - width)
        y, x = columns(states, first, lanes), columns(out, first, lanes)
        if p.chain.loaded:
            pose(t, y, p, w)
        else:
            turn_bodies(t, y, p, w)
        act(t, p, w, x, 0)
        inward(p, w)
        outward(p, w, x, to, p.chain.g)
        for i in range(to):
            x[i] = w[V, i]
