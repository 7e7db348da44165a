"""`projection` for mechanisms: the momenta of all bodies projected on the directions in which the coordinates move them; dense.

Body i has the place (x_G, y_G, angle), masses m, m, I and the Jacobian J_i: on its way to the ground

    a slide j on it        moves it along the slide's direction
    a lever on body k      moves it by S r, if the link turns whose angle body k has; so does its own lever to the centre of mass

    sum J_i^T M_i (J_i q'' + accelerations at q'' = 0) = sum J_i^T (forces and moments on it), and the forces along slides

In the rows of prescribed joints, whose accelerations are known, what is left over is the force of the drive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.dense import solve
from nlink.formulations.tree import TreeFormulation, act
from nlink.mechanics.contract import right_hand_side
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.parameters import COM, INERTIA, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, MZ, TQ, C, S
from nlink.mechanics.tree import (
    DX,
    DY,
    MOTION,
    OM,
    PARENT,
    PRESCRIBED,
    PUSH,
    PX,
    PY,
    SLIDE,
    TREE_ROWS,
    TURNER,
    TreeParameters,
    V,
    pose,
)  # fmt: skip

CHANGE, AX, AY, AL, JX, JY, JR, LEFT = range(TREE_ROWS, TREE_ROWS + 8)
"""Rows: accelerations of coordinates, origins and angles, the Jacobian of a body, what is left over; the matrix follows."""
MATRIX = TREE_ROWS + 8


class ProjectedTreeParameters(TreeParameters):
    """An open mechanism."""


@dataclass(frozen=True)
class TreeProjection(TreeFormulation):
    """Momenta of the bodies of a tree projected on the directions of its coordinates."""

    name: ClassVar[str] = "projection"

    def parameters(self, chain: Mechanism, numbers: ChainParameters) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the numbers of the bodies and of the tree."""
        return ProjectedTreeParameters(*super().parameters(chain, numbers))

    def scratch(self, n: int) -> int:
        """Rows of the loads, of poses, of the projection, and the matrix."""
        return MATRIX + n


@right_hand_side(ProjectedTreeParameters)
def projected_tree_rates(t, y, p, out, w):
    """Fill out = (q', q'', powers)."""
    chain, tree = p.chain, p.tree
    n = chain.n
    pose(t, y, p, w)
    act(t, p, w, out, 2 * n)
    for i in range(n):
        w[CHANGE, i] = w[PUSH, i] if tree.bodies[PRESCRIBED, i] else 0.0
    accelerate(p, w)
    balance(p, w, True)
    for k in range(n):
        if tree.bodies[PRESCRIBED, k]:
            for j in range(n):
                w[MATRIX + k, j] = w[MATRIX + j, k] = 0.0
            w[MATRIX + k, k], w[LEFT, k] = 1.0, 0.0
    solve(n, w, MATRIX, LEFT, 1)
    for i in range(n):
        w[CHANGE, i] -= w[LEFT, i]
        out[i], out[n + i] = w[V, i], w[CHANGE, i]
    if chain.ledger > 0:
        accelerate(p, w)
        balance(p, w, False)
        power = 0.0
        for k in range(n):
            if tree.bodies[PRESCRIBED, k]:
                power += w[LEFT, k] * w[V, k]
        out[2 * n + MOTION] = power


@kernel
def accelerate(p, w):
    """Fill the accelerations of origins and angles from those of the coordinates; gravity is one of the ground, upwards."""
    tree = p.tree
    for i in range(p.chain.n):
        k = tree.bodies[PARENT, i]
        zero = alike(0.0, w[V, i])
        ax, ay, alpha = zero, zero + p.chain.g, zero
        if k >= 0:
            square, alpha = w[OM, k] * w[OM, k], w[AL, k]
            ax = w[AX, k] + alpha * w[PX, i] - square * w[PY, i]
            ay = w[AY, k] + alpha * w[PY, i] + square * w[PX, i]
        if tree.bodies[SLIDE, i]:
            coriolis = 2.0 * w[V, i] * w[OM, i]
            ax += w[CHANGE, i] * w[DX, i] - coriolis * w[DY, i]
            ay += w[CHANGE, i] * w[DY, i] + coriolis * w[DX, i]
        else:
            alpha = w[CHANGE, i]
        w[AX, i], w[AY, i], w[AL, i] = ax, ay, alpha


@kernel
def balance(p, w, matrix):
    """Fill LEFT = sum J^T (M accelerations - forces), and the matrix sum J^T M J if asked."""
    n = p.chain.n
    for i in range(n):
        w[LEFT, i] = 0.0
        if p.tree.bodies[SLIDE, i]:
            w[LEFT, i] = -w[TQ, i]
        if matrix:
            for k in range(n):
                w[MATRIX + i, k] = 0.0
    for i in range(n):
        s, c, mass, inertia = w[S, i], w[C, i], p.chain.links[MASS, i], p.chain.links[INERTIA, i]
        d, b, square = p.chain.links[COM, i], p.chain.links[OFFSET, i], w[OM, i] * w[OM, i]
        px, py = d * c - b * s, d * s + b * c
        jacobian(i, px, py, p.tree, n, w)
        fx = mass * (w[AX, i] + w[AL, i] * px - square * py) - w[FX, i]
        fy = mass * (w[AY, i] + w[AL, i] * py + square * px) - w[FY, i]
        moment = inertia * w[AL, i] - w[MZ, i]
        for j in range(n):
            w[LEFT, j] += w[JX, j] * fx + w[JY, j] * fy + w[JR, j] * moment
            if matrix:
                for k in range(n):
                    both = mass * (w[JX, j] * w[JX, k] + w[JY, j] * w[JY, k]) + inertia * w[JR, j] * w[JR, k]
                    w[MATRIX + j, k] += both


@kernel
def jacobian(i, px, py, tree, n, w):
    """Fill the Jacobian of body i, whose centre of mass moves by (px, py) if it turns."""
    for k in range(n):
        w[JX, k] = w[JY, k] = w[JR, k] = 0.0
    turner = tree.bodies[TURNER, i]
    if turner >= 0:
        w[JX, turner], w[JY, turner], w[JR, turner] = px, py, 1.0
    while i >= 0:
        if tree.bodies[SLIDE, i]:
            w[JX, i] += w[DX, i]
            w[JY, i] += w[DY, i]
        k = tree.bodies[PARENT, i]
        if k >= 0 and tree.bodies[TURNER, k] >= 0:
            w[JX, tree.bodies[TURNER, k]] += w[PX, i]
            w[JY, tree.bodies[TURNER, k]] += w[PY, i]
        i = k
