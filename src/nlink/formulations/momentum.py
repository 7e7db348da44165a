"""`momentum`: balance of angular momentum of the sub-chain i..N about hinge i, in absolute angles; dense, for any N that fits.

Row i, with r_j the centre of link j seen from hinge i and x the cross product:

    sum_{j >= i} (r_j x m_j a_j + I_j alpha_j) = T_i + sum_{j >= i} (r_j x F_j + M_j)

T_i is the moment that link i-1 passes at the hinge; M_j what else acts on link j. Every a_j is linear in alpha and in
omega^2: a_j = sum_{k < j} l_k (alpha_k t_k - omega_k^2 e_k) + alpha_j p_j - omega_j^2 r_j. The sums over j collapse to
tails (total mass and first moment of links >= j), so the matrix costs O(N^2). It is not symmetric; it is solved by
elimination with row pivots. Seed: the course project's first method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.compiled.jit import kernel
from nlink.formulations.dense import solve
from nlink.formulations.loop import A0 as FREE
from nlink.formulations.loop import AX as ONE
from nlink.formulations.loop import AY as TWO
from nlink.formulations.loop import LOOP_ROWS, OM, LoopFormulation, finish, prepare, settle_loop_state
from nlink.mechanics.contract import SETTLERS, right_hand_side
from nlink.mechanics.kernels import TIP_X, TIP_Y, BareParameters, apply_loads, turn
from nlink.mechanics.parameters import COM, INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, MZ, C, S

AX, AY, GX, GY, TM, TX, TY, B = range(LOOP_ROWS, LOOP_ROWS + 8)
"""Rows: hinge and centre positions; tails of mass, first moment (x, y); B the right-hand side, and two more for a closed chain;
the matrix follows.
"""
MATRIX = LOOP_ROWS + 10


class MomentumParameters(BareParameters):
    """An open chain."""


class MomentumLoopParameters(BareParameters):
    """A closed chain."""


@dataclass(frozen=True)
class Momentum(LoopFormulation):
    """Angular momentum of sub-chains about their hinges, dense."""

    name: ClassVar[str] = "momentum"
    kind: ClassVar[type] = MomentumParameters
    loop: ClassVar[type] = MomentumLoopParameters

    def scratch(self, n: int) -> int:
        """Rows of the loads, of the tails, and the matrix."""
        return MATRIX + n


@right_hand_side(MomentumParameters)
def momentum_rates(t, y, p, out, w):
    """Fill out = (omega, alpha, powers)."""
    chain = p.chain
    n = chain.n
    turn(y, n, w)
    for i in range(n):
        w[FX, i] = 0.0
        w[FY, i] = 0.0
        w[MZ, i] = 0.0
    if chain.loaded:
        apply_loads(t, y, y, n, chain, w, out, 2 * n, chain.tip[TIP_X], chain.tip[TIP_Y])
    balance(y, n, chain, w, 0.0, chain.g)
    solve(n, w, MATRIX, B, 1)
    for i in range(n):
        out[i] = y[n + i]
        out[n + i] = w[B, i]


@right_hand_side(MomentumLoopParameters)
def momentum_loop_rates(t, y, p, out, w):
    """Fill out = (omega, alpha, powers) of the closed chain: solved for the chain as it is and for unit forces at the tip."""
    chain = p.chain
    n = chain.n
    s, c, sigma, dead = prepare(t, y, chain, out, 2 * n, w)
    balance(w[OM], 0, chain, w, s * chain.g, c * chain.g)
    tipx, tipy = w[AX, n - 1] + chain.links[LENGTH, n - 1] * w[S, n - 1], w[AY, n - 1] - chain.links[LENGTH, n - 1] * w[C, n - 1]
    for i in range(n):
        w[B + 1, i], w[B + 2, i] = w[AY, i] - tipy, tipx - w[AX, i]
    solve(n, w, MATRIX, B, 3)
    x = y_ = sxx = sxy = syx = syy = 0.0
    for i in range(n):
        lc, ls, square = chain.links[LENGTH, i] * w[C, i], chain.links[LENGTH, i] * w[S, i], w[OM, i] * w[OM, i]
        w[FREE, i], w[ONE, i], w[TWO, i] = w[B, i], w[B + 1, i], w[B + 2, i]
        x += lc * w[B, i] - ls * square
        y_ += ls * w[B, i] + lc * square
        sxx += lc * w[B + 1, i]
        syx += ls * w[B + 1, i]
        sxy += lc * w[B + 2, i]
        syy += ls * w[B + 2, i]
    finish(chain, out, w, -x, -y_, sxx, 0.5 * (sxy + syx), syy, s, c, sigma, dead)


@kernel
def balance(omega, at, p, w, liftx, lifty):
    """Fill the matrix and the right-hand side B; the weight of a mass m is m (-liftx, -lifty)."""
    place(p, w)
    n = p.n
    forcex = forcey = turned = 0.0
    for j in range(n):
        i = n - 1 - j
        fx, fy = w[FX, i] - p.links[MASS, i] * liftx, w[FY, i] - p.links[MASS, i] * lifty
        forcex += fx
        forcey += fy
        turned += w[GX, i] * fy - w[GY, i] * fx + w[MZ, i]
        total = turned - (w[AX, i] * forcey - w[AY, i] * forcex)
        for k in range(n):
            s, c, length = w[S, k], w[C, k], p.links[LENGTH, k]
            first = max(i, k + 1)
            rx = ry = 0.0
            if first < n:
                rx = length * (w[TX, first] - w[TM, first] * w[AX, i])
                ry = length * (w[TY, first] - w[TM, first] * w[AY, i])
            turning = rx * s - ry * c
            inward = -rx * c - ry * s
            if k >= i:
                d, b = p.links[COM, k], p.links[OFFSET, k]
                gx, gy = p.links[MASS, k] * (w[GX, k] - w[AX, i]), p.links[MASS, k] * (w[GY, k] - w[AY, i])
                px, py = d * c - b * s, d * s + b * c
                turning += gx * py - gy * px + p.links[INERTIA, k]
                inward += -gx * px - gy * py
            w[MATRIX + i, k] = turning
            total += inward * omega[at + k] * omega[at + k]
        w[B, i] = total


@kernel
def place(p, w):
    """Fill positions of hinges and centres, and the tails of mass and first moment."""
    x = y = 0.0
    for i in range(p.n):
        s, c, d, b = w[S, i], w[C, i], p.links[COM, i], p.links[OFFSET, i]
        w[AX, i] = x
        w[AY, i] = y
        w[GX, i] = x + d * s + b * c
        w[GY, i] = y - d * c + b * s
        x += p.links[LENGTH, i] * s
        y -= p.links[LENGTH, i] * c
    mass = mx = my = 0.0
    for j in range(p.n):
        i = p.n - 1 - j
        mass += p.links[MASS, i]
        mx += p.links[MASS, i] * w[GX, i]
        my += p.links[MASS, i] * w[GY, i]
        w[TM, i] = mass
        w[TX, i] = mx
        w[TY, i] = my


SETTLERS[MomentumLoopParameters] = settle_loop_state
