"""The stage of RATTLE for lines in space: the variational integrator on spheres with constant masses.

With C a = f + lambda e the accelerations under a pull lambda along each line,

    e1 = e + u            u = h e' + h^2/2 a       e.a = -w        such that |e1| = 1
    e1' = u/h + h/2 a1    a1 with the forces at e1                 such that e1.e1' = 0

|e + u|^2 = 1 gives h^2 w = |u|^2 + 2 h e.e' + |e|^2 - 1, which is iterated to rounding from w = |e'|^2: each iteration is one
sweep over the lines. Where forces depend on rates, the second half is iterated too, which keeps the stage symmetric in time. Start
and end of a stage have the same share in the work of the loads. Reference: Lee, Leok, McClamroch, Int. J. Numer. Meth. Engng 79
(2009) 1147.
"""

from __future__ import annotations

import math

from nlink.compiled.jit import kernel
from nlink.formulations.space.lines import LineParameters, pushes
from nlink.formulations.space.series.rows import BENT, PX, PY, PZ, SCRATCH, SHARE
from nlink.formulations.space.series.sweep import factorise, solve, swung
from nlink.mechanics.contract import RATTLES, Rattled
from nlink.mechanics.parameters import LENGTH
from nlink.mechanics.space.kernels import apply_space_loads, pose_lines
from nlink.mechanics.space.scratch import FX, FY, FZ

SQUARE = SCRATCH
"""The row of `u` with w as it is tried."""
ROWS = SCRATCH + 1
BEFORE, AFTER = range(2)
"""Rows of the powers."""
SWEEPS = 100
CLOSE = 1e-13
"""A change of the unit vectors below this is rounding once it does not fall any more."""


def rattle_begin(t, y, p, room):
    """Fill couples, powers and the factors of the sweep at y."""
    factorise(p.chain, y, 0, room.factors)
    act(t, y, p.chain, room, BEFORE)


@kernel
def act(t, y, p, room, at):
    """Fill the couples that stand for the loads, and their powers: a force on a hinge acts on the lower end of each line before."""
    w, u = room.w, room.u
    for i in range(p.n):
        u[PX, i] = u[PY, i] = u[PZ, i] = 0.0
    if p.loaded:
        pose_lines(y, p, w)
        apply_space_loads(p, w, room.power[at], 0)
        tx = ty = tz = 0.0
        for j in range(p.n):
            i = p.n - 1 - j
            lowx, lowy, lowz = pushes(i, y[3 * i], y[3 * i + 1], y[3 * i + 2], p, w)
            u[PX, i], u[PY, i], u[PZ, i] = lowx + tx, lowy + ty, lowz + tz
            tx, ty, tz = tx + w[FX, i], ty + w[FY, i], tz + w[FZ, i]


def rattle_stage(t, h, y, p, room):
    """Solve for the unit vectors at the end, then for their rates."""
    chain, begun = p.chain, room.begun
    for i in range(len(y)):
        begun[i] = y[i]
    moved, good = move(h, begun, y, chain, room)
    factorise(chain, y, 0, room.factors)
    swung_on, settled = speed_up(t + h, h, begun, y, chain, room)
    end = 2 * chain.size
    for i in range(end, len(y)):
        y[i] = begun[i] + 0.5 * h * (room.power[BEFORE, i - end] + room.power[AFTER, i - end])
        room.power[BEFORE, i - end] = room.power[AFTER, i - end]
    return moved + swung_on, good and settled


@kernel
def move(h, begun, y, p, room):
    """Fill y with the unit vectors at the end of the stage; return the number of sweeps, and whether they converged."""
    n, u, before = p.n, room.u, math.inf
    for i in range(n):
        at = p.size + 3 * i
        u[SQUARE, i] = begun[at] * begun[at] + begun[at + 1] * begun[at + 1] + begun[at + 2] * begun[at + 2]
    for count in range(1, SWEEPS + 1):
        accelerate(p, room)
        change = 0.0
        for i in range(n):
            change = max(change, try_line(i, h, begun, y, p, room))
        if not math.isfinite(change):
            return count, count == 1  # what is not finite from the first is no matter of the trials
        if change == 0.0 or (change >= before and change < CLOSE):
            return count, True
        before = change
    return SWEEPS, False


@kernel
def accelerate(p, room):
    """Solve for the accelerations with e.a = -w."""
    u, v = room.u, room.factors
    for i in range(p.n):
        u[BENT, i] = p.links[LENGTH, i] * u[SQUARE, i]
    solve(p.n, p.n, p.g, v, v, u, u)


@kernel
def try_line(i, h, begun, y, p, room):
    """Fill y with the end of line i as it is tried; return by how much twice |e1| - 1 would change with the next trial."""
    at, rate = 3 * i, p.size + 3 * i
    x, z, r, _ = swung(room.factors, room.u, i)
    by = 0.5 * h * h * room.factors[SHARE, i]
    ex, ey, ez, vx, vy, vz = begun[at], begun[at + 1], begun[at + 2], begun[rate], begun[rate + 1], begun[rate + 2]
    ux, uy, uz = h * vx + by * x, h * vy + by * z, h * vz + by * r
    y[at], y[at + 1], y[at + 2] = ex + ux, ey + uy, ez + uz
    wanted = (ux * ux + uy * uy + uz * uz) + 2.0 * h * (ex * vx + ey * vy + ez * vz) + ((ex * ex + ey * ey + ez * ez) - 1.0)
    change = wanted - h * h * room.u[SQUARE, i]
    room.u[SQUARE, i] = wanted / (h * h)
    return abs(change) if math.isfinite(change) else math.inf


@kernel
def speed_up(t, h, begun, y, p, room):
    """Fill y with the rates at its unit vectors; return the number of sweeps, and whether they converged."""
    before = math.inf
    for i in range(p.n):
        at, rate = 3 * i, p.size + 3 * i
        wx, wy, wz = (y[at] - begun[at]) / h, (y[at + 1] - begun[at + 1]) / h, (y[at + 2] - begun[at + 2]) / h
        room.trial[rate], room.trial[rate + 1], room.trial[rate + 2] = wx, wy, wz
        y[rate], y[rate + 1], y[rate + 2] = wx, wy, wz
        room.u[SQUARE, i] = 2.0 * (y[at] * wx + y[at + 1] * wy + y[at + 2] * wz) / h
    for count in range(1, SWEEPS + 1):
        act(t, y, p, room, AFTER)
        accelerate(p, room)
        change = 0.0
        for i in range(p.n):
            change = max(change, try_rate(i, h, y, p, room))
        if not p.loaded or not math.isfinite(change):
            return count, count == 1
        if abs(h) * change == 0.0 or (change >= before and abs(h) * change < CLOSE):
            return count, True
        before = change
    return SWEEPS, False


@kernel
def try_rate(i, h, y, p, room):
    """Fill y with the rate of line i under the forces as they are tried; return the largest change of a component."""
    rate, trial, by = p.size + 3 * i, room.trial, 0.5 * h * room.factors[SHARE, i]
    x, z, r, _ = swung(room.factors, room.u, i)
    x, z, r = trial[rate] + by * x, trial[rate + 1] + by * z, trial[rate + 2] + by * r
    change = max(abs(x - y[rate]), abs(z - y[rate + 1]), abs(r - y[rate + 2]))
    y[rate], y[rate + 1], y[rate + 2] = x, z, r
    return change if math.isfinite(x + z + r) else math.inf


RATTLES[LineParameters] = Rattled(rattle_begin, rattle_stage, ROWS)
