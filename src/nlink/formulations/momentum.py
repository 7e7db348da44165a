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
from typing import Any, ClassVar, NamedTuple

from nlink._jit import kernel
from nlink.chain import Chain
from nlink.formulations.dense import solve
from nlink.kernels import COM, FX, FY, INERTIA, LENGTH, LOAD_ROWS, MASS, MZ, OFFSET, C, ChainParameters, S, apply_loads, turn
from nlink.system import AngleFormulation, right_hand_side

AX, AY, GX, GY, TM, TX, TY, B = range(LOAD_ROWS, LOAD_ROWS + 8)
"""Rows: hinge and centre positions; tails of mass, first moment (x, y); B the right-hand side; the matrix follows."""
MATRIX = LOAD_ROWS + 8


class MomentumParameters(NamedTuple):
    """A chain, nothing else."""

    chain: ChainParameters


@dataclass(frozen=True)
class Momentum(AngleFormulation):
    """Angular momentum of sub-chains about their hinges, dense."""

    name: ClassVar[str] = "momentum"

    def parameters(self, chain: Chain, numbers: ChainParameters) -> Any:
        """Take every chain and load."""
        return MomentumParameters(numbers)

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
        apply_loads(t, y, y, n, chain, w, out, 2 * n)
    balance(y, chain, w)
    solve(n, w, MATRIX, B)
    for i in range(n):
        out[i] = y[n + i]
        out[n + i] = w[B, i]


@kernel
def balance(y, p, w):
    """Fill the matrix and the right-hand side B."""
    place(p, w)
    n = p.n
    forcex = forcey = turned = 0.0
    for j in range(n):
        i = n - 1 - j
        fx, fy = w[FX, i], w[FY, i] - p.links[MASS, i] * p.g
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
            total += inward * y[n + k] * y[n + k]
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
