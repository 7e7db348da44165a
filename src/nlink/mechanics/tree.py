"""A mechanism as numbers, and the compiled pieces that every formulation of it shares: poses, prescribed motions, loads.

The rows of the chain (`ChainParameters`) hold what bodies and joints have in common with links: masses, springs, torques. Here is
how they hang on each other, and what acts at points. The scratch rows behind those of the loads:

    Q, V           coordinates and rates, those of prescribed joints as given in time; PUSH their accelerations
    TH, OM         angle and rate of each body, those of a slider its parent's
    PX, PY         S r: how the origin of a body moves by a turn of its parent
    X, Y, VX, VY   origin and its velocity
    DX, DY         direction of a slide
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlink.compiled.dispatch import dispatched
from nlink.compiled.interpreted import Vector
from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike, lane, sincos, with_lane
from nlink.mechanics.kernels import (
    DRAGGED,
    DRIVEN,
    FOLLOWED,
    FOLLOWER,
    LINEAR_DRAG,
    QUADRATIC_DRAG,
    TIP_X,
    TIP_Y,
    TIPPED,
    ChainParameters,
    joint_energy,
    joint_moment,
    joint_start,
    joint_store,
    joint_works,
    link_moment,
    link_start,
    link_store,
    link_works,
    turn,
)
from nlink.mechanics.loads import POINT_LOADS, FollowerForce, PointForce, PointSpring, TipForce, mechanism_ledger
from nlink.mechanics.loads.base import Load
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.motions import numbers_of
from nlink.mechanics.parameters import COM, INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.points import GROUND
from nlink.mechanics.scratch import FX, FY, LOAD_ROWS, MZ, TQ, C, S
from nlink.mechanics.torques import drive

ROWS = mechanism_ledger()
MOTION, SPRUNG, PUSHED = (ROWS.index(name) for name in ("motion", *POINT_LOADS))
WORKS = len(ROWS)
"""Rows of the ledger of a mechanism."""
Q, V, PUSH, TH, OM, PX, PY, X, Y, VX, VY, DX, DY = range(LOAD_ROWS, LOAD_ROWS + 13)
TREE_ROWS = LOAD_ROWS + 13
PARENT, SLIDE, PRESCRIBED, TURNER, FIRST_SINE, LAST_SINE, FIRST_SPLINE, LAST_SPLINE, GATHERS = range(9)
"""Rows of `bodies`: of each body its parent, whether it slides, whether its motion is prescribed, the link whose angle it has, the
parts of its motion, and whether bodies hang on it besides the one after it in the list."""
ALONG, LEFT, DIRECTION_ALONG, DIRECTION_LEFT, CONSTANT, RATE = range(6)
"""Rows of `joints`."""
BODY_A, BODY_B, TIP_BODY, FOLLOWER_BODY = 0, 1, 0, 1
"""Rows of `ends` and places in `tips`."""
A_ALONG, A_LEFT, B_ALONG, B_LEFT, STIFFNESS, REST, DAMPING, FORCE_X, FORCE_Y = range(9)
"""Rows of `points`."""
COUNTS, BEGINS, CUBIC = range(3)
"""Columns of `pieces`: from when a cubic counts, when it begins, and the first of its coefficients."""


class TreeNumbers(NamedTuple):
    """How bodies hang on each other, as numbers: what the compiled code sees besides the rows of a chain."""

    bodies: np.ndarray
    """(9, N) whole numbers: PARENT, SLIDE, ..."""
    joints: np.ndarray
    """(6, N): ALONG, LEFT, ..."""
    sines: np.ndarray
    """(sines, 3): amplitude, angular frequency, phase"""
    splines: np.ndarray
    """(splines + 1,) whole numbers: where the pieces of each spline begin"""
    pieces: np.ndarray
    """(pieces, 6): see `Spline.pieces`"""
    ends: np.ndarray
    """(2, K) whole numbers: the bodies between which a spring or a force at points acts"""
    points: np.ndarray
    """(9, K): A_ALONG, A_LEFT, ..."""
    tips: np.ndarray
    """(2,) whole numbers: the bodies with the force at a tip and with the follower force"""


class TreeParameters(NamedTuple):
    """An open mechanism."""

    chain: ChainParameters
    tree: TreeNumbers


def tree_numbers(model: Mechanism) -> TreeNumbers:
    """Return how the bodies of a mechanism hang on each other, as numbers."""
    bodies, joints = np.zeros((9, model.n), np.int64), np.zeros((6, model.n))
    bodies[PARENT], bodies[SLIDE], bodies[PRESCRIBED] = model.parents, model.slides, model.prescribed
    bodies[TURNER] = model.turners
    apart = model.parents[(model.parents != np.arange(model.n) - 1) & (model.parents >= 0)]
    bodies[GATHERS, apart] = True
    joints[ALONG : LEFT + 1], joints[DIRECTION_ALONG : DIRECTION_LEFT + 1] = model.levers, model.directions
    sines, pieces = [np.empty((0, 3))], [np.empty((0, 6))]
    for i, body in enumerate(model.links):
        if body.motion is not None:
            motion = numbers_of(body.motion)
            joints[CONSTANT, i], joints[RATE, i] = motion.constant, motion.rate
            bodies[FIRST_SINE : LAST_SINE + 1, i] = len(sines) - 1, len(sines) - 1 + len(motion.sines)
            sines += list(motion.sines[:, None])
            bodies[FIRST_SPLINE : LAST_SPLINE + 1, i] = len(pieces) - 1, len(pieces) - 1 + len(motion.pieces)
            pieces += motion.pieces
    loads = [load for load in model.loads if load.several]
    ends, points = np.full((2, len(loads)), GROUND, np.int64), np.zeros((9, len(loads)))
    for k, load in enumerate(loads):
        ends[:, k], points[:, k] = _at_points(model, load)
    tips = np.array([_body_of(model, model.load(kind)) for kind in (TipForce, FollowerForce)], np.int64)
    splines = np.cumsum([len(each) for each in pieces])
    return TreeNumbers(bodies, joints, np.concatenate(sines), splines, np.concatenate(pieces), ends, points, tips)


def _at_points(model: Mechanism, load: Load) -> tuple[tuple[int, int], np.ndarray]:
    """Return the bodies and the numbers of a spring or a force at points."""
    if isinstance(load, PointForce):
        body, along, left = model.located(load.point)
        return (body, GROUND), np.array([along, left, 0, 0, 0, 0, 0, load.fx, load.fy])
    assert isinstance(load, PointSpring)
    (a, *at), (b, *bt) = model.located(load.a), model.located(load.b)
    return (a, b), np.array([*at, *bt, load.stiffness, load.length, load.damping, 0, 0])


def _body_of(model: Mechanism, load: TipForce | FollowerForce | None) -> int:
    return model.n - 1 if load is None or load.link is None else load.link


@kernel
def prescribed(t, i, tree):
    """Return the coordinate of a joint with a prescribed motion at time t, its rate and its acceleration."""
    q, v = tree.joints[CONSTANT, i] + tree.joints[RATE, i] * t, tree.joints[RATE, i] + 0.0 * t
    a = 0.0 * t
    for k in range(tree.bodies[FIRST_SINE, i], tree.bodies[LAST_SINE, i]):
        amplitude, frequency = tree.sines[k, 0], tree.sines[k, 1]
        s, c = sincos(frequency * t + tree.sines[k, 2])
        q += amplitude * s
        v += amplitude * frequency * c
        a -= amplitude * frequency * frequency * s
    for k in range(tree.bodies[FIRST_SPLINE, i], tree.bodies[LAST_SPLINE, i]):
        u, c0, c1, c2, c3 = cubic(t, True, tree.splines[k], tree.splines[k + 1], tree.pieces)
        q += c0 + u * (c1 + u * (c2 + u * c3))
        v += c1 + u * (2.0 * c2 + u * (3.0 * c3))
        a += 2.0 * c2 + 6.0 * c3 * u
    return q, v, a


@kernel
def cubic_at(t, ahead, first, end, pieces):
    """Return the cubic of one time; see `cubic`."""
    low, high = first, end
    while high - low > 1:
        middle = (low + high) // 2
        if pieces[middle, COUNTS] <= t if ahead else pieces[middle, COUNTS] < t:
            low = middle
        else:
            high = middle
    c0, c1, c2, c3 = pieces[low, CUBIC], pieces[low, CUBIC + 1], pieces[low, CUBIC + 2], pieces[low, CUBIC + 3]
    return t - pieces[low, BEGINS], c0, c1, c2, c3


@kernel
def cubic_in_lanes(t, ahead, first, end, pieces):
    """Return the cubics at the time of each lane; see `cubic`."""
    u = c0 = c1 = c2 = c3 = alike(0.0, t)
    for k in range(len(t)):
        since, d0, d1, d2, d3 = cubic_at(lane(t, k), ahead, first, end, pieces)
        u, c0, c1 = with_lane(u, k, since), with_lane(c0, k, d0), with_lane(c1, k, d1)
        c2, c3 = with_lane(c2, k, d2), with_lane(c3, k, d3)
    return u, c0, c1, c2, c3


@dispatched(lambda kind: cubic_in_lanes if kind is Vector else cubic_at, "t")
def cubic(t, ahead, first, end, pieces):
    """Return the time since the piece of a spline began on which t lies, and its coefficients; first, end: its pieces. At a knot it
    is the later piece if `ahead`, else the earlier.
    """


@kernel
def frame(i, tree, w):
    """Return sine and cosine of the angle of a body or of the ground, and its rate."""
    if i < 0:
        zero = alike(0.0, w[Q, 0])
        return zero, alike(1.0, w[Q, 0]), zero
    return w[S, i], w[C, i], w[OM, i]


@kernel
def pose(t, y, p, w):
    """Fill the rows of the scratch from the state y: coordinates, angles, where the bodies are and how they move."""
    turn_bodies(t, y, p, w)
    for i in range(p.chain.n):
        locate(i, p.tree, w)


@kernel
def turn_bodies(t, y, p, w):
    """Fill the rows of the scratch from the state y but for where the bodies are: all that a motion without loads needs."""
    n, tree = p.chain.n, p.tree
    for i in range(n):
        if tree.bodies[PRESCRIBED, i]:
            w[Q, i], w[V, i], w[PUSH, i] = prescribed(t, i, tree)
        else:
            w[Q, i], w[V, i] = y[i], y[n + i]
    turn(w[Q], n, w)
    for i in range(n):
        aim_body(i, tree, w)


@kernel
def aim_body(i, tree, w):
    """Fill the rows of a body from its coordinate, sine and cosine and the rows of its parent, but for where it is."""
    k = tree.bodies[PARENT, i]
    s, c, rate = frame(k, tree, w)
    along, left = tree.joints[ALONG, i], tree.joints[LEFT, i]
    px, py = along * c - left * s, along * s + left * c
    if tree.bodies[SLIDE, i]:
        da, dl = tree.joints[DIRECTION_ALONG, i], tree.joints[DIRECTION_LEFT, i]
        dx, dy = da * s + dl * c, dl * s - da * c
        px, py = px - w[Q, i] * dy, py + w[Q, i] * dx
        w[DX, i], w[DY, i], w[S, i], w[C, i] = dx, dy, s, c
        if k >= 0:
            w[TH, i], w[OM, i] = w[TH, k], rate
        else:
            w[TH, i], w[OM, i] = alike(0.0, w[Q, i]), rate
    else:
        w[TH, i], w[OM, i] = w[Q, i], w[V, i]
    w[PX, i], w[PY, i] = px, py


@kernel
def locate(i, tree, w):
    """Fill the rows of where a body is and how it moves; the other rows of the bodies are filled."""
    k, px, py = tree.bodies[PARENT, i], w[PX, i], w[PY, i]
    x, yy, vx, vy = py, -px, alike(0.0, px), alike(0.0, px)
    if tree.bodies[SLIDE, i]:
        vx, vy = w[V, i] * w[DX, i], w[V, i] * w[DY, i]
    if k >= 0:
        x += w[X, k]
        yy += w[Y, k]
        vx += w[VX, k] + w[OM, k] * px
        vy += w[VY, k] + w[OM, k] * py
    w[X, i], w[Y, i], w[VX, i], w[VY, i] = x, yy, vx, vy


@kernel
def place(i, tree, w):
    """Fill the rows of a body from its coordinate and the rows of its parent."""
    w[S, i], w[C, i] = sincos(w[Q, i])
    aim_body(i, tree, w)
    locate(i, tree, w)


@kernel
def point_of(i, along, left, w):
    """Return where a point of a body, or of the ground, is, and its velocity."""
    if i < 0:
        zero = alike(0.0, w[Q, 0])
        return zero + left, zero - along, zero, zero
    s, c, rate = w[S, i], w[C, i], w[OM, i]
    px, py = along * c - left * s, along * s + left * c
    return w[X, i] + py, w[Y, i] - px, w[VX, i] + rate * px, w[VY, i] + rate * py


@kernel
def push(i, along, left, fx, fy, p, w):
    """Add a force at a point of a body to its force and moment about the centre of mass."""
    if i >= 0:
        a, b = along - p.links[COM, i], left - p.links[OFFSET, i]
        w[FX, i] += fx
        w[FY, i] += fy
        w[MZ, i] += (a * w[C, i] - b * w[S, i]) * fx + (a * w[S, i] + b * w[C, i]) * fy


@kernel
def apply_tree_loads(t, p, w, power, row):
    """Fill FX, FY, MZ of the bodies, TQ, the force along each slide, and power[row:], the power of each row of the ledger.

    `pose` has filled its rows.
    """
    chain, tree = p.chain, p.tree
    drive(t, w[Q], w[V], 0, chain, w)
    driven = alike(0.0, w[Q, 0])
    joints, links = joint_start(driven), link_start(driven)
    for i in range(chain.n):
        w[FX, i], w[FY, i], w[MZ, i] = alike(0.0, driven), alike(0.0, driven), alike(0.0, driven)
    for i in range(chain.n):
        k = tree.bodies[PARENT, i]
        bent, pace, torque = w[Q, i], w[V, i], w[TQ, i]
        if k >= 0 and not tree.bodies[SLIDE, i]:
            bent, pace = bent - w[TH, k], pace - w[OM, k]
        moment = torque + joint_moment(i, bent, pace, chain)
        own = link_moment(i, w[Q, i], w[V, i], chain)
        if tree.bodies[SLIDE, i]:
            w[TQ, i] = moment + own
        else:
            w[MZ, i] += moment + own
            if k >= 0:
                w[MZ, k] -= moment
        driven += torque * pace
        joints = joint_works(i, pace, pace * pace, chain, joints)
        links = link_works(i, w[V, i], w[V, i] * w[V, i], chain, links)
    if chain.ledger > 0:
        for r in range(WORKS):
            power[row + r] = alike(0.0, driven)
        power[row + DRIVEN] = driven
        joint_store(joints, power, row)
        link_store(links, power, row)
    if chain.force_level:
        apply_tree_forces(p, w, power, row)
    apply_point_loads(p, w, power, row)


@kernel
def apply_tree_forces(p, w, power, row):
    """Add drag and the forces at tips."""
    chain, tree = p.chain, p.tree
    lost = alike(0.0, w[Q, 0])
    for i in range(chain.n):
        d, b = chain.links[COM, i], chain.links[OFFSET, i]
        _, _, gx, gy = point_of(i, d, b, w)
        factor = chain.links[LINEAR_DRAG, i] + chain.links[QUADRATIC_DRAG, i] * math.sqrt(gx * gx + gy * gy)
        push(i, d, b, -factor * gx, -factor * gy, chain, w)
        lost -= factor * (gx * gx + gy * gy)
    i, k = tree.tips[FOLLOWER_BODY], tree.tips[TIP_BODY]
    followx, followy = -chain.tip[FOLLOWER] * w[S, i], chain.tip[FOLLOWER] * w[C, i]
    push(i, chain.links[LENGTH, i], 0.0, followx, followy, chain, w)
    push(k, chain.links[LENGTH, k], 0.0, chain.tip[TIP_X], chain.tip[TIP_Y], chain, w)
    if chain.ledger > 0:
        _, _, ux, uy = point_of(i, chain.links[LENGTH, i], 0.0, w)
        vx, vy = point_of(k, chain.links[LENGTH, k], 0.0, w)[2:]
        power[row + DRAGGED] = lost
        power[row + FOLLOWED] = followx * ux + followy * uy
        power[row + TIPPED] = chain.tip[TIP_X] * vx + chain.tip[TIP_Y] * vy


@kernel
def apply_point_loads(p, w, power, row):
    """Add the springs, dampers and forces at points."""
    chain, tree = p.chain, p.tree
    lost = done = alike(0.0, w[Q, 0])
    for k in range(len(tree.points[0])):
        i, j, at = tree.ends[BODY_A, k], tree.ends[BODY_B, k], tree.points
        x, y, vx, vy = point_of(i, at[A_ALONG, k], at[A_LEFT, k], w)
        fx, fy = at[FORCE_X, k] + 0.0 * x, at[FORCE_Y, k] + 0.0 * x
        done += fx * vx + fy * vy
        if at[STIFFNESS, k] != 0.0 or at[DAMPING, k] != 0.0:
            ox, oy, ux, uy = point_of(j, at[B_ALONG, k], at[B_LEFT, k], w)
            dx, dy = x - ox, y - oy
            size = math.sqrt(dx * dx + dy * dy + 1e-300)
            ex, ey = dx / size, dy / size
            pace = (vx - ux) * ex + (vy - uy) * ey
            force = at[STIFFNESS, k] * (size - at[REST, k]) + at[DAMPING, k] * pace
            lost -= at[DAMPING, k] * pace * pace
            fx -= force * ex
            fy -= force * ey
            push(j, at[B_ALONG, k], at[B_LEFT, k], force * ex, force * ey, chain, w)
        push(i, at[A_ALONG, k], at[A_LEFT, k], fx, fy, chain, w)
    if chain.ledger > 0:
        power[row + SPRUNG], power[row + PUSHED] = lost, done


@kernel
def tree_energies(y, p, w):
    """Return kinetic and potential energy of a state, prescribed coordinates being those of the state."""
    chain, tree = p.chain, p.tree
    for i in range(chain.n):
        w[Q, i], w[V, i] = y[i], y[chain.n + i]
    moving = resting = alike(0.0, y[0])
    for i in range(chain.n):
        place(i, tree, w)
        k = tree.bodies[PARENT, i]
        _, yy, vx, vy = point_of(i, chain.links[COM, i], chain.links[OFFSET, i], w)
        bent = w[Q, i]
        if k >= 0 and not tree.bodies[SLIDE, i]:
            bent = bent - w[TH, k]
        moving += 0.5 * (chain.links[MASS, i] * (vx * vx + vy * vy) + chain.links[INERTIA, i] * w[OM, i] * w[OM, i])
        resting += chain.links[MASS, i] * chain.g * yy + joint_energy(i, bent, chain)
    for k in range(len(tree.points[0])):
        at = tree.points
        x, yy, _, _ = point_of(tree.ends[BODY_A, k], at[A_ALONG, k], at[A_LEFT, k], w)
        ox, oy, _, _ = point_of(tree.ends[BODY_B, k], at[B_ALONG, k], at[B_LEFT, k], w)
        stretch = math.sqrt((x - ox) * (x - ox) + (yy - oy) * (yy - oy)) - at[REST, k]
        resting += 0.5 * at[STIFFNESS, k] * stretch * stretch
    return moving, resting
