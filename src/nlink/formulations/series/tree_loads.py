"""The loads of a mechanism as series: moments at joints, drag, forces at tips and points; and what they do, for the ledger."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.series.loads import product, square
from nlink.formulations.series.tree_rows import (
    AX,
    AY,
    BEND,
    BRAKE,
    COORDINATE,
    COSINE,
    DAMP,
    DRIVE,
    DRIVING,
    FLX,
    FLY,
    FORCEX,
    FORCEY,
    FX,
    FY,
    LEVERX,
    MZ,
    PUSHING,
    RATE,
    SINE,
    SPEEDX,
    SPEEDY,
    STIFF,
    TQ,
)
from nlink.mechanics.kernels import DRAGGED, DRIVEN, FOLLOWED, FOLLOWER, LINEAR_DRAG, TIP_X, TIP_Y, TIPPED
from nlink.mechanics.moments import JOINTS, LINKS
from nlink.mechanics.parameters import COM, LENGTH, OFFSET
from nlink.mechanics.scratch import S
from nlink.mechanics.tree import (
    A_ALONG,
    A_LEFT,
    BODY_A,
    DAMPING,
    FOLLOWER_BODY,
    FORCE_X,
    FORCE_Y,
    MOTION,
    PARENT,
    PRESCRIBED,
    PUSHED,
    SLIDE,
    STIFFNESS,
    TH,
    TIP_BODY,
    TURNER,
    VX,
    VY,
    WORKS,
    Q,
    TreeParameters,
)

_, joint_affine, _, _, joint_start, joint_works, _, joint_store = JOINTS
_, link_affine, _, _, link_start, link_works, _, link_store = LINKS


@kernel
def springs(p, w):
    """Fill the rows of the moments that are linear in coordinates and rates."""
    for i in range(p.chain.n):
        k, bent = p.tree.bodies[PARENT, i], w[Q, i]
        if k >= 0 and not p.tree.bodies[SLIDE, i]:
            bent = bent - w[TH, k]
        w[BEND, i], w[STIFF, i], w[DAMP, i] = joint_affine(i, bent, p.chain)
        w[PUSHING, i], _, w[BRAKE, i] = link_affine(i, w[Q, i], p.chain)


@kernel
def moments(k, p, terms, w, u):
    """Fill coefficient k of the moments on the bodies and of the forces along slides."""
    tree, rate = p.tree, terms[RATE]
    for i in range(p.chain.n):
        u[MZ, i] = alike(0.0, w[S, 0])
    for i in range(p.chain.n):
        above, pace, bent = tree.bodies[PARENT, i], rate[k, i], terms[COORDINATE, k, i]
        if above >= 0 and not tree.bodies[SLIDE, i] and tree.bodies[TURNER, above] >= 0:
            pace, bent = pace - rate[k, tree.bodies[TURNER, above]], bent - terms[COORDINATE, k, tree.bodies[TURNER, above]]
        joint, own = terms[DRIVE, k, i] - w[DAMP, i] * pace, -(w[BRAKE, i] * rate[k, i])
        if k == 0:
            joint, own = joint + w[BEND, i], own + w[PUSHING, i]
        else:
            joint = joint - w[STIFF, i] * bent
        if tree.bodies[SLIDE, i]:
            u[TQ, i] = joint + own
        else:
            u[MZ, i] += joint + own
            if above >= 0:
                u[MZ, above] -= joint


@kernel
def forces(k, p, terms, w, u):
    """Fill coefficient k of the forces on the bodies, and their levers."""
    chain, tree = p.chain, p.tree
    for i in range(chain.n):
        zero = alike(0.0, w[S, 0])
        u[FX, i], u[FY, i], u[FLX, i], u[FLY, i] = zero, zero, zero, zero
    if chain.force_level or chain.ledger > 0:
        speeds(k, p, terms, w, u)
    if chain.force_level:
        for i in range(chain.n):
            d, b = chain.links[COM, i], chain.links[OFFSET, i]
            x, y = speed_of(k, i, d, b, p, terms)
            press(i, d, b, -chain.links[LINEAR_DRAG, i] * x, -chain.links[LINEAR_DRAG, i] * y, u)
        i, tip = tree.tips[FOLLOWER_BODY], tree.tips[TIP_BODY]
        ex, ey = axis_of(k, i, p, terms)
        press(i, chain.links[LENGTH, i], 0.0, -chain.tip[FOLLOWER] * ex, -chain.tip[FOLLOWER] * ey, u)
        if k == 0:
            press(tip, chain.links[LENGTH, tip], 0.0, chain.tip[TIP_X] + alike(0.0, ex), chain.tip[TIP_Y] + alike(0.0, ex), u)
    if k == 0:
        for j in range(len(tree.points[0])):
            i, at, zero = tree.ends[BODY_A, j], tree.points, alike(0.0, w[S, 0])
            if i >= 0:
                press(i, at[A_ALONG, j], at[A_LEFT, j], at[FORCE_X, j] + zero, at[FORCE_Y, j] + zero, u)


@kernel
def press(i, along, left, fx, fy, u):
    """Add a force at a point of a body."""
    u[FX, i] += fx
    u[FY, i] += fy
    u[FLX, i] += along * fx + left * fy
    u[FLY, i] += along * fy - left * fx


@kernel
def axis_of(k, i, p, terms):
    """Return coefficient k of the unit vector along a body."""
    turner = p.tree.bodies[TURNER, i]
    zero = alike(0.0, terms[COORDINATE, 0, 0])
    if turner < 0:
        return zero, zero - 1.0 if k == 0 else zero
    return terms[SINE, k, turner], -terms[COSINE, k, turner]


@kernel
def speeds(k, p, terms, w, u):
    """Fill coefficient k of the velocities of the origins: the accelerations of the order before are known."""
    for i in range(p.chain.n):
        if k == 0:
            terms[SPEEDX, 0, i], terms[SPEEDY, 0, i] = w[VX, i], w[VY, i]
        else:
            lift = p.chain.g if k == 1 else 0.0 * p.chain.g
            terms[SPEEDX, k, i], terms[SPEEDY, k, i] = u[AX, i] * (1.0 / k), (u[AY, i] - lift) * (1.0 / k)


@kernel
def speed_of(k, i, along, left, p, terms):
    """Return coefficient k of the velocity of a point of a body."""
    x, y, turner = terms[SPEEDX, k, i], terms[SPEEDY, k, i], p.tree.bodies[TURNER, i]
    if turner >= 0:
        s, c = (k + 1.0) * terms[SINE, k + 1, turner], (k + 1.0) * terms[COSINE, k + 1, turner]
        x, y = x + (along * s + left * c), y + (left * s - along * c)
    return x, y


def tree_ledger(p, room, order, q):
    """Fill the coefficients of the ledger in q (order, m): products of the series of forces and velocities, integrated."""
    chain, tree, terms, row = p.chain, p.tree, room.terms, 2 * p.chain.n
    zero, relative = alike(0.0, terms[COORDINATE, 0, 0]), terms[LEVERX]
    for i in range(chain.n):
        terms[DRIVING, order - 1, i] = zero
        above = tree.bodies[PARENT, i]
        for k in range(order):
            relative[k, i] = terms[RATE, k, i]
            if above >= 0 and not tree.bodies[SLIDE, i] and tree.bodies[TURNER, above] >= 0:
                relative[k, i] -= terms[RATE, k, tree.bodies[TURNER, above]]
    for k in range(order):
        driven = given = zero
        joints, links, share = joint_start(zero), link_start(zero), 1.0 / (k + 1.0)
        for r in range(WORKS):
            q[k, row + r] = zero
        for i in range(chain.n):
            if chain.loaded:
                driven += product(k, chain.timed, terms[DRIVE], relative, i)
                joints = joint_works(i, relative[k, i], square(k, relative, i), chain, joints)
                links = link_works(i, terms[RATE, k, i], square(k, terms[RATE], i), chain, links)
            if tree.bodies[PRESCRIBED, i]:
                given += product(k, True, terms[DRIVING], terms[RATE], i)
        q[k, row + DRIVEN], q[k, row + MOTION] = driven * share, given * share
        if chain.loaded:
            joint_store(joints, q, k, row, share)
            link_store(links, q, k, row, share)
    if chain.loaded:
        force_ledger(p, terms, order, q, row)


@kernel
def force_ledger(p, terms, order, q, row):
    """Fill the powers of drag and of forces at tips and points; FORCEX and FORCEY, done with, keep velocities."""
    chain, tree, x, y = p.chain, p.tree, terms[FORCEX], terms[FORCEY]
    if chain.force_level:
        for i in range(chain.n):
            for k in range(order):
                x[k, i], y[k, i] = speed_of(k, i, chain.links[COM, i], chain.links[OFFSET, i], p, terms)
            for k in range(order):
                q[k, row + DRAGGED] -= chain.links[LINEAR_DRAG, i] * (square(k, x, i) + square(k, y, i)) * (1.0 / (k + 1.0))
        i, tip = tree.tips[FOLLOWER_BODY], tree.tips[TIP_BODY]
        for k in range(order):
            x[k, i], y[k, i] = speed_of(k, i, chain.links[LENGTH, i], 0.0, p, terms)
        for k in range(order):
            total = alike(0.0, x[0, i])
            for m in range(k + 1):
                ex, ey = axis_of(k - m, i, p, terms)
                total -= ex * x[m, i] + ey * y[m, i]
            q[k, row + FOLLOWED] += chain.tip[FOLLOWER] * total * (1.0 / (k + 1.0))
            ux, uy = speed_of(k, tip, chain.links[LENGTH, tip], 0.0, p, terms)
            q[k, row + TIPPED] += (chain.tip[TIP_X] * ux + chain.tip[TIP_Y] * uy) * (1.0 / (k + 1.0))
    for j in range(len(tree.points[0])):
        i, at = tree.ends[BODY_A, j], tree.points
        for k in range(order if i >= 0 else 0):
            ux, uy = speed_of(k, i, at[A_ALONG, j], at[A_LEFT, j], p, terms)
            q[k, row + PUSHED] += (at[FORCE_X, j] * ux + at[FORCE_Y, j] * uy) * (1.0 / (k + 1.0))


def refusal(p: TreeParameters) -> str:
    """Return why the forces on a mechanism have no series here, or nothing if they have."""
    if p.tree.points[[STIFFNESS, DAMPING]].any():
        return "Taylor does not take springs between points (PointSpring); use DOP853"
    if p.chain.force_level > 1:
        return "Taylor does not take quadratic drag of mechanisms; use DOP853"
    return ""
