"""`recursive` for mechanisms: the O(N) sweep of Newton and Euler over a tree of hinges and slides.

A body needs at its origin, for the acceleration a of the origin and its angular acceleration alpha,

    force = M a + h alpha + b        moment = h.a + J alpha + c
    own:  M = m 1,  h = m p,  J = I + m (d^2 + b^2),  b = -m omega^2 r - F,  c = -mu - p.F        p = S r to the centre of mass

and passes to its parent, of which it sees u = S r, g = -omega^2 r and Coriolis' 2 s' omega S d (children before parents):

    hinge   u = h/J, f = c/J         M - h u^T,  0,  0,  b - h f,  0
    slide   w = M d/D, z = h.d/D, f = (d.b - force)/D, D = d.M d     M - D w w^T,  h - D w z,  J - D z^2,  b - D w f,  c - D z f
    given   a slide: nothing is eliminated, its acceleration is part of g; a hinge: its absolute angle is given, so that the drive's
            moment comes from the ground, and M, b + h alpha pass

then outwards the accelerations: alpha = -(f + u.a) of a hinge, s'' = -(f + w.a + z alpha) of a slide. Featherstone, Rigid Body
Dynamics Algorithms (2008), ch. 7, in the plane. A prescribed joint's force, times its rate, is the power of its drive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from nlink.compiled.jit import kernel
from nlink.compiled.lowering import Operand
from nlink.compiled.simd import alike
from nlink.mechanics.contract import right_hand_side
from nlink.mechanics.kernels import ChainParameters
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.parameters import COM, HINGE_INERTIA, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, MZ, TQ, C, S
from nlink.mechanics.system import AngleFormulation
from nlink.mechanics.tree import (
    DX,
    DY,
    GATHERS,
    MOTION,
    OM,
    PARENT,
    PRESCRIBED,
    PUSH,
    PX,
    PY,
    SLIDE,
    TREE_ROWS,
    WORKS,
    TreeParameters,
    V,
    apply_tree_loads,
    pose,
    tree_numbers,
    turn_bodies,
)

MXX, MXY, MYY, HX, HY, J, BX, BY, CZ, AX, AY, AL = range(TREE_ROWS, TREE_ROWS + 12)
"""Rows: what a body needs at its origin, then u or w (HX, HY), z (J) and f (CZ); accelerations of the origin and of the angle."""
SWEEP_ROWS = TREE_ROWS + 12


@dataclass(frozen=True)
class TreeFormulation(AngleFormulation):
    """A formulation of mechanisms in the coordinates of their bodies."""

    def parameters(self, chain: Mechanism, numbers: ChainParameters) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the numbers of the bodies and of the tree."""
        works = numbers.ledger or chain.prescribed.any() or chain.closed
        return TreeParameters(numbers._replace(ledger=WORKS if works else 0), tree_numbers(chain))


@dataclass(frozen=True)
class TreeSweep(TreeFormulation):
    """O(N) sweep of Newton and Euler over a tree."""

    name: ClassVar[str] = "recursive"

    def parameters(self, chain: Mechanism, numbers: ChainParameters) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the numbers of the bodies and of the tree; load what registers their series."""
        import nlink.formulations.series.tree  # noqa: F401

        return super().parameters(chain, numbers)

    def side_by_side(self, parameters: TreeParameters) -> Any:
        """Take every open mechanism without a torque function."""
        from nlink.formulations.tree_side_by_side import TreeSideBySide

        return None if parameters.chain.callback or type(parameters) is not TreeParameters else TreeSideBySide(parameters)

    def scratch(self, n: int) -> int:
        """Rows of the loads, of poses and of the sweep."""
        return SWEEP_ROWS


@right_hand_side(TreeParameters)
def tree_rates(t, y, p, out, w):
    """Fill out = (q', q'', powers)."""
    chain = p.chain
    n = chain.n
    if chain.loaded:
        pose(t, y, p, w)
    else:
        turn_bodies(t, y, p, w)
    act(t, p, w, out, 2 * n)
    inward(p, w)
    outward(p, w, out, n, p.chain.g)
    for i in range(n):
        out[i] = w[V, i]
    if chain.ledger > 0:
        out[2 * n + MOTION] = drives(p, w, out, n)


@kernel
def act(t, p, w, power, row):
    """Let the loads act."""
    if p.chain.loaded:
        apply_tree_loads(t, p, w, power, row)
        return
    for i in range(p.chain.n):
        w[FX, i] = w[FY, i] = w[MZ, i] = w[TQ, i] = 0.0
    for r in range(WORKS if p.chain.ledger > 0 else 0):
        power[row + r] = 0.0


class Needs(NamedTuple):
    """What a body, or all that hangs on it, needs at a point: M, h, J, b, c."""

    mxx: Operand
    mxy: Operand
    myy: Operand
    hx: Operand
    hy: Operand
    j: Operand
    bx: Operand
    by: Operand
    cz: Operand


@kernel
def inward(p, w):
    """Eliminate the free joints from the tips to the ground; gravity is an acceleration g upwards of the ground.

    What passes to the body before in the list stays in registers: a chain would wait for the memory.
    """
    tree = p.tree
    zero = alike(0.0, w[V, 0])
    nothing = Needs(zero, zero, zero, zero, zero, zero, zero, zero, zero)
    for i in range(p.chain.n):
        if tree.bodies[GATHERS, i]:
            keep(i, w, nothing)
    passed = nothing
    for m in range(p.chain.n):
        i = p.chain.n - 1 - m
        k = tree.bodies[PARENT, i]
        if tree.bodies[GATHERS, i]:
            passed = with_gathered(i, w, passed)
        if tree.bodies[SLIDE, i]:
            passed = through_slide(i, k, tree, w, with_own(i, p.chain, w, passed))
        else:
            passed = through_hinge(i, k, tree, w, with_own(i, p.chain, w, passed))
        if k != i - 1:
            if k >= 0:
                gather(k, w, passed)
            passed = nothing


@kernel
def with_own(i, chain, w, passed):
    """Return what a body needs at its origin, with what passes to it."""
    s, c, square = w[S, i], w[C, i], w[OM, i] * w[OM, i]
    mass, d, b = chain.links[MASS, i], chain.links[COM, i], chain.links[OFFSET, i]
    px, py, fx, fy = d * c - b * s, d * s + b * c, w[FX, i], w[FY, i]
    mxx, mxy, myy = passed.mxx + mass, passed.mxy, passed.myy + mass
    hx, hy, j = passed.hx + mass * px, passed.hy + mass * py, passed.j + chain.links[HINGE_INERTIA, i]
    bx, by = passed.bx - mass * square * py - fx, passed.by + mass * square * px - fy
    return Needs(mxx, mxy, myy, hx, hy, j, bx, by, passed.cz - w[MZ, i] - px * fx - py * fy)


@kernel
def with_gathered(i, w, passed):
    """Return what passes to a body, with what its children in other places of the list have added up."""
    mxx, mxy, myy = passed.mxx + w[MXX, i], passed.mxy + w[MXY, i], passed.myy + w[MYY, i]
    hx, hy, j = passed.hx + w[HX, i], passed.hy + w[HY, i], passed.j + w[J, i]
    return Needs(mxx, mxy, myy, hx, hy, j, passed.bx + w[BX, i], passed.by + w[BY, i], passed.cz + w[CZ, i])


@kernel
def through_hinge(i, k, tree, w, needs):
    """Return what passes a hinge, at the origin of the parent: forces alone."""
    mxx, mxy, myy, hx, hy, j, bx, by, cz = needs
    w[J, i] = j
    if tree.bodies[PRESCRIBED, i]:
        w[HX, i], w[HY, i], w[CZ, i] = hx, hy, cz
        bx, by = bx + hx * w[PUSH, i], by + hy * w[PUSH, i]
    else:
        inverse = 1.0 / j
        ux, uy, f = hx * inverse, hy * inverse, cz * inverse
        w[HX, i], w[HY, i], w[CZ, i] = ux, uy, f
        mxx, mxy, myy, bx, by = mxx - hx * ux, mxy - hx * uy, myy - hy * uy, bx - hx * f, by - hy * f
    px, py, rate = w[PX, i], w[PY, i], rate_of_parent(k, w)
    square = rate * rate
    tx, ty = mxx * px + mxy * py, mxy * px + myy * py
    bx, by = bx + square * (mxy * px - mxx * py), by + square * (myy * px - mxy * py)
    return Needs(mxx, mxy, myy, tx, ty, px * tx + py * ty, bx, by, px * bx + py * by)


@kernel
def through_slide(i, k, tree, w, needs):
    """Return what passes a slide, at the origin of the parent."""
    mxx, mxy, myy, hx, hy, j, bx, by, cz = needs
    dx, dy, rate = w[DX, i], w[DY, i], w[OM, i]
    gx, gy = -2.0 * w[V, i] * rate * dy, 2.0 * w[V, i] * rate * dx
    if tree.bodies[PRESCRIBED, i]:
        gx, gy = gx + w[PUSH, i] * dx, gy + w[PUSH, i] * dy
    keep(i, w, needs)
    bx, by, cz = bx + mxx * gx + mxy * gy, by + mxy * gx + myy * gy, cz + hx * gx + hy * gy
    if not tree.bodies[PRESCRIBED, i]:
        wx, wy, z = mxx * dx + mxy * dy, mxy * dx + myy * dy, hx * dx + hy * dy
        inverse = 1.0 / (dx * wx + dy * wy)
        f = (dx * bx + dy * by - w[TQ, i]) * inverse
        mxx, mxy, myy = mxx - wx * wx * inverse, mxy - wx * wy * inverse, myy - wy * wy * inverse
        hx, hy, j = hx - wx * z * inverse, hy - wy * z * inverse, j - z * z * inverse
        bx, by, cz = bx - wx * f, by - wy * f, cz - z * f
        w[HX, i], w[HY, i], w[J, i], w[CZ, i] = wx * inverse, wy * inverse, z * inverse, f
    px, py, turned = w[PX, i], w[PY, i], rate_of_parent(k, w)
    square = turned * turned
    gx, gy = -square * py, square * px
    bx, by, cz = bx + mxx * gx + mxy * gy, by + mxy * gx + myy * gy, cz + hx * gx + hy * gy
    tx, ty = mxx * px + mxy * py, mxy * px + myy * py
    j += 2.0 * (px * hx + py * hy) + (px * tx + py * ty)
    return Needs(mxx, mxy, myy, hx + tx, hy + ty, j, bx, by, cz + px * bx + py * by)


@kernel
def rate_of_parent(k, w):
    """Return the rate at which the parent turns."""
    return w[OM, k] if k >= 0 else alike(0.0, w[OM, 0])


@kernel
def gather(k, w, passed):
    """Add to parent k what passes the joint of one of its children."""
    keep(k, w, with_gathered(k, w, passed))


@kernel
def keep(i, w, needs):
    """Write down what a body needs."""
    w[MXX, i], w[MXY, i], w[MYY, i], w[HX, i], w[HY, i], w[J, i], w[BX, i], w[BY, i], w[CZ, i] = needs


@kernel
def outward(p, w, out, to, lift):
    """Fill out[to:] with the accelerations of the coordinates; the ground accelerates upwards by `lift`."""
    tree = p.tree
    ax = ay = alpha = alike(0.0, w[V, 0])
    for i in range(p.chain.n):
        k = tree.bodies[PARENT, i]
        if k < 0:
            ax, ay, alpha = alike(0.0, ax), alike(lift, ax), alike(0.0, ax)
        else:
            if k != i - 1:
                ax, ay, alpha = w[AX, k], w[AY, k], w[AL, k]
            px, py, square = w[PX, i], w[PY, i], w[OM, k] * w[OM, k]
            ax, ay = ax + alpha * px - square * py, ay + alpha * py + square * px
        if tree.bodies[SLIDE, i]:
            dx, dy, turned = w[DX, i], w[DY, i], 2.0 * w[V, i] * w[OM, i]
            change = w[PUSH, i]
            if not tree.bodies[PRESCRIBED, i]:
                change = -(w[CZ, i] + w[HX, i] * ax + w[HY, i] * ay + w[J, i] * alpha)
            ax, ay = ax + change * dx - turned * dy, ay + change * dy + turned * dx
        else:
            change = w[PUSH, i]
            if not tree.bodies[PRESCRIBED, i]:
                change = -(w[CZ, i] + w[HX, i] * ax + w[HY, i] * ay)
            alpha = change
        w[AX, i], w[AY, i], w[AL, i] = ax, ay, alpha
        out[to + i] = change


@kernel
def drives(p, w, out, at):
    """Return the power of the drives of all prescribed joints."""
    tree = p.tree
    power = alike(0.0, w[V, 0])
    for i in range(p.chain.n):
        if tree.bodies[PRESCRIBED, i]:
            power += drive_force(i, tree, w) * w[V, i]
    return power


@kernel
def drive_force(i, tree, w):
    """Return the moment, or the force along a slide, that a prescribed joint's motion takes besides the loads."""
    ax, ay, alpha = w[AX, i], w[AY, i], w[AL, i]
    if not tree.bodies[SLIDE, i]:
        return w[HX, i] * ax + w[HY, i] * ay + w[J, i] * alpha + w[CZ, i]
    fx = w[MXX, i] * ax + w[MXY, i] * ay + w[HX, i] * alpha + w[BX, i]
    fy = w[MXY, i] * ax + w[MYY, i] * ay + w[HY, i] * alpha + w[BY, i]
    return w[DX, i] * fx + w[DY, i] * fy - w[TQ, i]
