"""`recursive` for any joints in space: the O(N) sweep in 6x6 blocks, with hinges and universal joints.

Such a joint passes a moment on too: what hangs on it needs, for the acceleration a of the hinge and the angular acceleration alpha
of the parent,

    force = M a + Q^T alpha + B         moment = Q a + D alpha + b

A body takes these of what hangs on its lower hinge to its upper one (M', ...; M_a, ... of `bodies` without Q', D', b'):

    Q_a += Q'         D_a += [r] Q'^T + Q' [r]^T + D'         b_a += Q' gamma + b'

An axis s with the angle phi, torque T and drift sigma = (omega before it) x s phi' turns: alpha = alpha_before + s phi'' + sigma,

    U = D_a s     V = Q_a^T s     H = s.U     h = s.(D_a sigma + b_a) - T         phi'' = -(V.a + U.alpha_before + h)/H
    M = M_a - V V^T/H    Q = Q_a - U V^T/H    D = D_a - U U^T/H    B = B_a + Q_a^T sigma - V h/H    b = b_a + D_a sigma - U h/H

A universal joint is two of these, the second axis first. A ball leaves Q = D = b = 0, and so does a line, on which only balls hang.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.space.base import SpaceFormulation
from nlink.formulations.space.bodies import (
    BODY_ROWS,
    GAMMA,
    BallSweep,
    added,
    arm,
    own_needs,
    release,
    times,
    turn_quaternion,
    turned_by,
)
from nlink.formulations.space.lines import LineSweep, pull_line, swing_line
from nlink.formulations.space.settling import settle_links
from nlink.mechanics.contract import SETTLERS, right_hand_side
from nlink.mechanics.scratch import TQ
from nlink.mechanics.space.attitudes import cross, dot, pose_joints, put, taken
from nlink.mechanics.space.joint_loads import drive_hinges, twist_joints
from nlink.mechanics.space.joints import Ball
from nlink.mechanics.space.kernels import apply_space_loads
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import BALL, HINGE, KIND, LINE, PLACE, UNIVERSAL, SpaceParameters
from nlink.mechanics.space.resistance import locked
from nlink.mechanics.space.scratch import AXIS, DRIFT, PER_AXIS, SPACE_ROWS
from nlink.mechanics.system import System

PUSH, TILT, REST = BODY_ROWS, BODY_ROWS + 3, BODY_ROWS + 6
"""Of an axis V/H (3), U/H (3) and h/H; those of the second axis follow by SECOND."""
SECOND = 7


class JointParameters(SpaceParameters):
    """A chain of links on any joints."""


@dataclass(frozen=True)
class JointSweep(SpaceFormulation):
    """O(N) sweep over lines and bodies on balls, hinges and universal joints."""

    name: ClassVar[str] = "recursive"
    kind: ClassVar[type[SpaceParameters]] = JointParameters

    def scratch(self, n: int) -> int:
        """Rows of the loads and of the sweep."""
        return SPACE_ROWS

    def stuck(self, system: System, t: float, y: np.ndarray) -> tuple[str, str] | None:
        """Return why the motion is not determined where a universal joint is locked; None elsewhere."""
        c, _ = system.decode(y[: system.size])
        if not np.isfinite(c).all() or not isinstance(system.chain, SpatialChain):
            return None
        i = locked(system.chain, c)
        reason = f"no mass resists a turn of link {(i or 0) + 1} about an axis of its universal joint, which is locked here"
        return None if i is None else (reason, "give it an inertia about its own axis, or another start")


def sweep_of(chain: SpatialChain) -> SpaceFormulation:
    """Return the cheapest sweep for the links of a chain."""
    if chain.lines:
        return LineSweep()
    return BallSweep() if all(isinstance(joint, Ball) for joint in chain.joints) else JointSweep()


@right_hand_side(JointParameters)
def joint_rates(t, y, p, out, w):
    """Fill out = (c', c'', powers)."""
    chain = p.chain
    pose_joints(y, chain, w)
    if chain.loaded:
        apply_space_loads(chain, w, out, 2 * chain.size)
        if chain.twisted:
            twist_joints(chain, w)
        drive_hinges(t, y, chain, w, out, 2 * chain.size)
    inward(y, chain, w)
    outward(y, chain, w, out)


@kernel
def inward(y, p, w):
    """Eliminate the joints from the tip to the pivot."""
    zero = alike(0.0, y[0])
    none, nothing = (zero, zero, zero), (zero, zero, zero, zero, zero, zero)
    m, q, d, b, c = nothing, (none, none, none), nothing, none, none
    for j in range(p.n):
        i = p.n - 1 - j
        kind = p.whole[KIND, i]
        below = m[0], m[1], m[2], m[3], m[4], m[5], b[0], b[1], b[2]
        if kind in (HINGE, UNIVERSAL):
            needs = with_moments(i, p, w, own_needs(i, p, w, below), q, d, c)
            if kind == UNIVERSAL:
                needs = hinged(i, 1, zero, needs, w)
            m, q, d, b, c = hinged(i, 0, w[TQ, i] if p.loaded and kind == HINGE else zero, needs, w)
        else:
            if kind == LINE:
                above = pull_line(i, p.whole[PLACE, i], y, p, w, below)
            else:
                above = release(i, with_moments(i, p, w, own_needs(i, p, w, below), q, d, c), w)
            m, b = (above[0], above[1], above[2], above[3], above[4], above[5]), (above[6], above[7], above[8])
            q, d, c = (none, none, none), nothing, none


@kernel
def with_moments(i, p, w, needs, below, turning, rest):
    """Add the moments of what hangs on the lower hinge: Q' by its columns, D' and b'."""
    m, (qx, qy, qz), d, g, b = needs
    x, y, z = below
    r, gamma = arm(i, p, w), taken(w, GAMMA, i)
    lx = cross(r, (x[0], y[0], z[0]))  # rows of Q' [r]^T
    ly = cross(r, (x[1], y[1], z[1]))
    lz = cross(r, (x[2], y[2], z[2]))
    d = (
        d[0] + (2.0 * lx[0] + turning[0]), d[1] + (lx[1] + ly[0] + turning[1]), d[2] + (lx[2] + lz[0] + turning[2]),
        d[3] + (2.0 * ly[1] + turning[3]), d[4] + (ly[2] + lz[1] + turning[4]), d[5] + (2.0 * lz[2] + turning[5]),
    )  # fmt: skip
    b = added(b, added(rest, of_columns(below, gamma)))
    return m, (added(qx, x), added(qy, y), added(qz, z)), d, g, b


@kernel
def of_columns(columns, v):
    """Return the matrix with these columns times a vector."""
    x, y, z = columns
    return x[0] * v[0] + y[0] * v[1] + z[0] * v[2], x[1] * v[0] + y[1] * v[1] + z[1] * v[2], x[2] * v[0] + y[2] * v[1] + z[2] * v[2]


@kernel
def hinged(i, k, torque, needs, w):
    """Return M, Q, D, B and b before axis k of link i from those behind it; fill PUSH, TILT and REST."""
    m, (qx, qy, qz), d, g, b = needs
    s, drift, row = taken(w, AXIS + PER_AXIS * k, i), taken(w, DRIFT + PER_AXIS * k, i), SECOND * k
    u, v, bent = times(d, s), (dot(qx, s), dot(qy, s), dot(qz, s)), added(b, times(d, drift))
    inverse = 1.0 / dot(s, u)
    rest = (dot(s, bent) - torque) * inverse
    push, tilt = (v[0] * inverse, v[1] * inverse, v[2] * inverse), (u[0] * inverse, u[1] * inverse, u[2] * inverse)
    put(w, PUSH + row, i, push)
    put(w, TILT + row, i, tilt)
    w[REST + row, i] = rest
    m = (
        m[0] - v[0] * push[0], m[1] - v[0] * push[1], m[2] - v[0] * push[2], m[3] - v[1] * push[1], m[4] - v[1] * push[2],
        m[5] - v[2] * push[2],
    )  # fmt: skip
    d = (
        d[0] - u[0] * tilt[0], d[1] - u[0] * tilt[1], d[2] - u[0] * tilt[2], d[3] - u[1] * tilt[1], d[4] - u[1] * tilt[2],
        d[5] - u[2] * tilt[2],
    )  # fmt: skip
    g = g[0] + dot(qx, drift) - v[0] * rest, g[1] + dot(qy, drift) - v[1] * rest, g[2] + dot(qz, drift) - v[2] * rest
    return m, (less(qx, u, push[0]), less(qy, u, push[1]), less(qz, u, push[2])), d, g, less(bent, u, rest)


@kernel
def less(a, b, by):
    """Return a - by b."""
    return a[0] - by * b[0], a[1] - by * b[1], a[2] - by * b[2]


@kernel
def outward(y, p, w, out):
    """Fill out with the rates of all coordinates."""
    zero = alike(0.0, y[0])
    a, alpha = (zero, zero + p.g, zero), (zero, zero, zero)
    for i in range(p.n):
        kind, at = p.whole[KIND, i], p.whole[PLACE, i]
        if kind == LINE:
            a = swing_line(i, at, y, p, w, out, a[0], a[1], a[2])
        else:
            if kind == BALL:
                alpha = turned_by(i, w, a)
                turn_quaternion(at, y, p.size, alpha, out)
            else:
                alpha = turn_axis(i, 0, at, y, p, w, out, a, alpha)
                if kind == UNIVERSAL:
                    alpha = turn_axis(i, 1, at + 1, y, p, w, out, a, alpha)
            a = added(a, added(cross(alpha, arm(i, p, w)), taken(w, GAMMA, i)))


@kernel
def turn_axis(i, k, at, y, p, w, out, a, alpha):
    """Fill out with the rates of an angle, y[at]; return the angular acceleration behind its axis."""
    row = SECOND * k
    curve = -(dot(taken(w, PUSH + row, i), a) + dot(taken(w, TILT + row, i), alpha) + w[REST + row, i])
    out[at], out[p.size + at] = y[p.size + at], curve
    return added(added(alpha, taken(w, DRIFT + PER_AXIS * k, i)), less((0.0, 0.0, 0.0), taken(w, AXIS + PER_AXIS * k, i), -curve))


SETTLERS[JointParameters] = settle_links
