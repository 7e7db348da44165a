"""The closed loop, compiled: what all formulations share to stay on it and to go through its dead positions.

Loop frame: u from the pivot to the pin (or along the longest link, if the pin is at the pivot), n = u turned by 90 degrees. With
angles measured from u, S and C are e.n and e.u, and D is the distance of the pin:

    phi_n = sum l S          phi_u = sum l C - D = d_s - sum s l S^2/(1 + |C|),   s = sign C,  d_s = sum s l - D
    a_i   = l C              r_i   = -l S              their derivatives by theta_i

Only r can vanish: where all links lie in line, at d_s = 0. There the force along u has a pole while the motion stays smooth, so
three things are done in this frame. The states at which accelerations are evaluated are closed first: a drift delta would open the
crossing of the two branches into a hyperbola of width sqrt(delta), and the motion would follow the wrong one. phi_u is summed
without cancellation. And n is eliminated first, then u, whose pivot is small but accurate. Corrections along u are left out
where they would reach as far as the dead position itself.

At the dead position itself (a start there, say) the row of u says nothing, and its derivative takes its place:
w.alpha = -1/3 sum l omega^3 S with w_i = -l omega_i C; without speed nothing is determined, and the accelerations are not numbers.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from nlink.compiled.jit import entry, kernel
from nlink.compiled.views import views
from nlink.mechanics.chain import Multibody
from nlink.mechanics.kernels import CONSTRAINED, TIP_X, TIP_Y, ChainParameters, apply_loads, energy, sincos
from nlink.mechanics.moments import POWERS
from nlink.mechanics.parameters import COM, HINGE_INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, LOAD_ROWS, MZ, TIP, C, S
from nlink.mechanics.system import AngleFormulation

TH, OM, A0, AX, AY, UX, UY, KEPT = range(LOAD_ROWS, LOAD_ROWS + 8)
"""Rows: closed angles and rates; accelerations without a force at the tip, and those of a unit force along n and along -u; two of
the sweep; two to put things aside.
"""
LOOP_ROWS = LOAD_ROWS + 9
DISTANCE, LINE, TOTAL = 2, 3, 6
"""Where ChainParameters.pin has the distance, the angle of the line to the pin (with sine and cosine) and the chain's length."""
EXACT = 1e-11
"""Lengths that differ from those of a dead position by this part of the chain's length have it."""
CLOSED = 1e-15
FINER = 30.0
"""Closer to a dead position than the chain's length divided by this, angles are closed to a part of that distance: the direction of
the rates that are allowed depends on it.
"""
ROUNDS = 4
HIT = 1e-9
"""Closer to a dead position than this angle, and moving on, the row of u is replaced by its derivative."""


@kernel
def turn_from(frame, p, w):
    """Fill S and C with the angles TH measured from the frame."""
    for i in range(p.n):
        s, c = sincos(w[TH, i] - frame)
        w[S, i] = s
        w[C, i] = c


@kernel
def frame_of(p, w):
    """Return the angle of the line to the pin, its sine and cosine; of the longest link, if the pin is at the pivot."""
    if p.pin[DISTANCE] > 0.0:
        return p.pin[LINE], p.pin[LINE + 1], p.pin[LINE + 2]
    longest = 0
    for i in range(1, p.n):
        if p.links[LENGTH, i] > p.links[LENGTH, longest]:
            longest = i
    s, c = sincos(w[TH, longest])
    return w[TH, longest], s, c


@kernel
def misses(p, w):
    """Return phi_n, phi_u, a.a, a.r, and whether the nearest position in line is a dead position."""
    across = bent = inline = aa = ar = 0.0
    for i in range(p.n):
        length, s, c = p.links[LENGTH, i], w[S, i], w[C, i]
        side = math.copysign(length, c)
        across += length * s
        inline += side
        bent += side * s * s / (1.0 + abs(c))
        aa += length * length * c * c
        ar -= length * length * c * s
    inline -= p.pin[DISTANCE]
    dead = abs(inline) <= EXACT * p.pin[TOTAL]
    return across, (0.0 if dead else inline) - bent, aa, ar, dead


@kernel
def rest_of(p, w, ratio):
    """Return r'.r' with r' = r - ratio a."""
    square = 0.0
    for i in range(p.n):
        part = -p.links[LENGTH, i] * (w[S, i] + ratio * w[C, i])
        square += part * part
    return square


@kernel
def shut(p, w, frame):
    """Close angles and rates by the smallest plain change; return the smallest singular value and whether a dead position is near.

    TH, OM, S, C are filled and changed.
    """
    aa, ratio, rr, dead = close_angles(p, w, frame)
    across, along, speed = rates_of_miss(p, w, ratio)
    down, up = across / aa, 0.0
    if abs(along) <= 0.1 * math.sqrt(rr * speed) and rr > HIT * HIT * aa:
        up = along / rr
    for i in range(p.n):
        w[OM, i] -= p.links[LENGTH, i] * (w[C, i] * down - (w[S, i] + ratio * w[C, i]) * up)
    return math.sqrt(rr / aa), dead


@kernel
def close_angles(p, w, frame):
    """Close TH, S and C by the smallest plain change; return a.a, a.r/a.a, r'.r' and whether a dead position is near.

    S and C change by themselves, so that they become finer than the rounded angles: after a hundred turns those are some 1e-14,
    and 1e-4 from a dead position the rates that are allowed would have an error of 1e-10.
    """
    total = p.pin[TOTAL]
    aa = ar = rr = 1.0
    dead = False
    for _round in range(ROUNDS):
        across, along, aa, ar, dead = misses(p, w)
        ratio = ar / aa
        rr = rest_of(p, w, ratio)
        left = along - ratio * across
        down, up = across / aa, 0.0
        if abs(left) * total <= 0.1 * rr and rr > 0.0:
            up = left / rr
        fine = CLOSED * min(1.0, FINER * math.sqrt(rr) / total)
        if abs(across) <= fine * total and (up == 0.0 or abs(left) <= fine * math.sqrt(rr)):
            break
        largest = 0.0
        for i in range(p.n):
            length, s, c = p.links[LENGTH, i], w[S, i], w[C, i]
            change = -length * (c * down - (s + ratio * c) * up)
            w[TH, i] += change
            largest = max(largest, abs(change))
            square = change * change
            sine = change * (1.0 - square / 6.0)
            cosine = 1.0 - 0.5 * square * (1.0 - square / 12.0)
            w[S, i], w[C, i] = s * cosine + c * sine, c * cosine - s * sine
        if largest > 1e-3:
            turn_from(frame, p, w)
    return aa, ar / aa, rr, dead


@kernel
def rates_of_miss(p, w, ratio):
    """Return the rates of phi_n and of phi_u - ratio phi_n, and the square of the rates."""
    across = along = speed = 0.0
    for i in range(p.n):
        rate = w[OM, i]
        across += p.links[LENGTH, i] * w[C, i] * rate
        along -= p.links[LENGTH, i] * (w[S, i] + ratio * w[C, i]) * rate
        speed += rate * rate
    return across, along, speed


@kernel
def prepare(t, y, p, out, ledger, w):
    """Close the state y into TH, OM, S, C, and let the loads act; return the frame's sine and cosine, sigma and dead."""
    for i in range(p.n):
        w[TH, i] = y[i]
        w[OM, i] = y[p.n + i]
    frame, s, c = frame_of(p, w)
    turn_from(frame, p, w)
    sigma, dead = shut(p, w, frame)
    load_up(t, p, out, ledger, w, s, c)
    return s, c, sigma, dead


@kernel
def load_up(t, p, out, ledger, w, s, c):
    """Let the loads act on the closed state, in the frame of the loop, whose sine and cosine are s and c."""
    for row in range(POWERS):
        out[ledger + row] = 0.0
    if p.loaded:
        apply_loads(t, w[TH], w[OM], 0, p, w, out, ledger, c * p.tip[TIP_X] + s * p.tip[TIP_Y], c * p.tip[TIP_Y] - s * p.tip[TIP_X])
    else:
        for i in range(p.n):
            w[FX, i] = w[FY, i] = w[MZ, i] = 0.0


@kernel
def tip_force(leftx, lefty, sxx, sxy, syy):
    """Return the force (along n, along -u) that gives the tip the acceleration (leftx, lefty): n is eliminated first."""
    ratio = sxy / sxx
    fy = (lefty - ratio * leftx) / (syy - ratio * sxy)
    return leftx / sxx - ratio * fy, fy


@kernel
def moving(p, w):
    """Return the largest rate."""
    largest = 0.0
    for i in range(p.n):
        largest = max(largest, abs(w[OM, i]))
    return largest


@kernel
def on_a_dead_position(p, w, sigma, dead):
    """Whether the chain is on a dead position and moving through it."""
    return dead and sigma < HIT and moving(p, w) >= sigma


@kernel
def turn_through(t, p, out, ledger, w, s, c):
    """Fill A0 with the accelerations of a closed chain on a dead position, and the power of the loads."""
    load_up(t, p, out, ledger, w, s, c)
    x, _, sxx, _, _ = sweep_loop(p, w, True, s * p.g, c * p.g)
    fx, size = on_the_point(p, w, s * p.g - x, sxx)
    for i in range(p.n):
        w[A0, i] += fx * w[AX, i] + size * w[AY, i]
    w[TIP, 0], w[TIP, 1] = c * fx, s * fx


@kernel
def finish(p, out, w, leftx, lefty, sxx, sxy, syy, s, c, sigma, dead):
    """Find the force at the tip that gives it the acceleration (leftx, lefty), and fill out = (omega, alpha); keep the force."""
    if p.n == 2 and p.pin[DISTANCE] == 0.0:  # two links on each other: the row of u never says anything
        fx, fy = leftx / sxx, 0.0
    elif on_a_dead_position(p, w, sigma, dead):
        fx, fy = on_the_point(p, w, leftx, sxx)
    else:
        fx, fy = tip_force(leftx, lefty, sxx, sxy, syy)
    for i in range(p.n):
        out[i] = w[OM, i]
        out[p.n + i] = w[A0, i] + fx * w[AX, i] + fy * w[AY, i]
    w[TIP, 0], w[TIP, 1] = c * fx - s * fy, s * fx + c * fy


@kernel
def settle_rows(p, w):
    """Close the angles TH and rates OM by the smallest change in the metric of the masses; return the miss of the pin and its rate
    that were there before, and the energy it took.
    """
    frame, s, c = frame_of(p, w)
    turn_from(frame, p, w)
    total = p.pin[TOTAL]
    before = energy(w[TH], w[OM], 0, p, w, s, c)
    miss = rate = 0.0
    for step in range(ROUNDS):
        across, along, aa, ar, _ = misses(p, w)
        sxx, sxy, syy = columns(p, w)
        if step == 0:
            miss, rate = math.sqrt(across * across + along * along), drift(p, w)
        elif abs(across) + abs(along) <= CLOSED * total:
            break
        fx, fy = -across / sxx, 0.0
        rr = rest_of(p, w, ar / aa)
        if abs(along - ar / aa * across) * total <= 0.1 * rr:  # else the correction would reach as far as the dead position
            fx, fy = tip_force(-across, along, sxx, sxy, syy)
        for i in range(p.n):
            w[TH, i] += fx * w[AX, i] + fy * w[AY, i]
        turn_from(frame, p, w)
    aa, ratio, rr, _ = close_angles(p, w, frame)
    sxx, sxy, syy = columns(p, w)
    across, along, speed = rates_of_miss(p, w, ratio)
    fx, fy = -across / sxx, 0.0
    if abs(along) <= 0.1 * math.sqrt(rr * speed) and rr > HIT * HIT * aa:
        fx, fy = tip_force(-across, along + ratio * across, sxx, sxy, syy)
    for i in range(p.n):
        w[OM, i] += fx * w[AX, i] + fy * w[AY, i]
    return miss, rate, energy(w[TH], w[OM], 0, p, w, s, c) - before


@kernel
def settle_loop(y, p, w):
    """Settle a state (theta, omega, ledger); the energy it takes goes to its row of constraints. Return the miss and its rate."""
    for i in range(p.n):
        w[TH, i] = y[i]
        w[OM, i] = y[p.n + i]
    miss, rate, taken = settle_rows(p, w)
    for i in range(p.n):
        y[i] = w[TH, i]
        y[p.n + i] = w[OM, i]
    y[2 * p.n + CONSTRAINED] += taken
    return miss, rate


@kernel
def drift(p, w):
    """Return the speed of the tip."""
    x = y = 0.0
    for i in range(p.n):
        x += p.links[LENGTH, i] * w[C, i] * w[OM, i]
        y += p.links[LENGTH, i] * w[S, i] * w[OM, i]
    return math.sqrt(x * x + y * y)


@kernel
def columns(p, w):
    """Fill AX, AY with the accelerations at rest of a unit force at the tip, along n and along -u; return those of the tip."""
    _, _, sxx, sxy, syy = sweep_loop(p, w, False, 0.0, 0.0)
    return sxx, sxy, syy


@kernel
def sweep_loop(p, w, free, liftx, lifty):
    """The sweep of `recursive` with three right-hand sides: the chain as it is (if free), and unit forces at the tip.

    Fill A0, AX, AY; return the acceleration of the tip without a force there, and of the unit forces xx, xy, yy.
    """
    mxx = mxy = myy = bx = by = 0.0
    b1x, b1y, b2x, b2y = -1.0, 0.0, 0.0, -1.0
    for j in range(p.n):
        i = p.n - 1 - j
        s, c = w[S, i], w[C, i]
        mass, d, b = p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i]
        px, py = d * c - b * s, d * s + b * c
        lc, ls = p.links[LENGTH, i] * c, p.links[LENGTH, i] * s
        cross = lc * ls
        inverse = 1.0 / ((p.links[HINGE_INERTIA, i] + lc * lc * mxx) + ((cross + cross) * mxy + ls * ls * myy))
        qx, qy = mass * px + (lc * mxx + ls * mxy), mass * py + (lc * mxy + ls * myy)
        if free:
            square = w[OM, i] * w[OM, i]
            fx, fy = w[FX, i], w[FY, i]
            gx = bx - square * (ls * mxx - lc * mxy)
            gy = by - square * (ls * mxy - lc * myy)
            first = (w[MZ, i] + px * fx + py * fy - (lc * gx + ls * gy)) * inverse
            bx = (gx - fx - mass * square * py) + qx * first
            by = (gy - fy + mass * square * px) + qy * first
            w[A0, i] = first
        one, two = -(lc * b1x + ls * b1y) * inverse, -(lc * b2x + ls * b2y) * inverse
        b1x, b1y = b1x + qx * one, b1y + qy * one
        b2x, b2y = b2x + qx * two, b2y + qy * two
        w[AX, i], w[AY, i] = one, two
        w[UX, i], w[UY, i] = qx * inverse, qy * inverse
        mxx = (mxx + mass) - qx * qx * inverse
        mxy = mxy - qx * qy * inverse
        myy = (myy + mass) - qy * qy * inverse
    x0, y0 = liftx, lifty
    x1 = y1 = x2 = y2 = 0.0
    for i in range(p.n):
        ux, uy = w[UX, i], w[UY, i]
        lc, ls = p.links[LENGTH, i] * w[C, i], p.links[LENGTH, i] * w[S, i]
        if free:
            square = w[OM, i] * w[OM, i]
            alpha = w[A0, i] - ux * x0 - uy * y0
            w[A0, i] = alpha
            x0 += lc * alpha - ls * square
            y0 += ls * alpha + lc * square
        one, two = w[AX, i] - ux * x1 - uy * y1, w[AY, i] - ux * x2 - uy * y2
        w[AX, i], w[AY, i] = one, two
        x1, y1 = x1 + lc * one, y1 + ls * one
        x2, y2 = x2 + lc * two, y2 + ls * two
    return x0, y0, x1, 0.5 * (x2 + y1), y2


@kernel
def on_the_point(p, w, left, sxx):
    """Fill AY with the accelerations of the force that holds the derivative of the row of u; return (along n, its size).

    Where all links lie in line the row of u vanishes; its derivative w_i = -l omega_i C_i must follow the third derivative of the
    closure. AY becomes M^-1 w. Without speed nothing is determined: not a number.
    """
    needed = 0.0
    for i in range(p.n):
        rate, length = w[OM, i], p.links[LENGTH, i]
        w[FX, i] = w[FY, i] = 0.0
        w[MZ, i] = -length * rate * w[C, i]
        needed -= length * rate * rate * rate * w[S, i] / 3.0 + w[MZ, i] * w[A0, i]
        w[KEPT, i], w[KEPT + 1, i], w[OM, i] = w[A0, i], rate, 0.0
    sweep_loop(p, w, True, 0.0, 0.0)
    both = own = 0.0
    for i in range(p.n):
        w[AY, i], w[A0, i], w[OM, i] = w[A0, i], w[KEPT, i], w[KEPT + 1, i]
        both += p.links[LENGTH, i] * w[C, i] * w[AY, i]
        own -= p.links[LENGTH, i] * w[OM, i] * w[C, i] * w[AY, i]
    ratio = both / sxx
    size = (needed - ratio * left) / (own - ratio * both)
    return left / sxx - ratio * size, size


def settle_loop_state(y, p, w):
    """Settle the state of a closed chain in angles."""
    settle_loop(y, p.chain, w)
    return True


@entry("closed chains")
def settle_loops(y, p, w):
    """Settle each row of y; return the largest miss and rate of it that were there before."""
    y, chain, w = views(y), views(p.chain), views(w)
    miss = rate = 0.0
    for k in range(len(y)):
        a, b = settle_loop(y[k], chain, w)
        miss, rate = max(miss, a), max(rate, b)
    return miss, rate


class LoopFormulation(AngleFormulation):
    """A formulation in angles that takes a pin; `kind` and `loop` are the types of its parameters for open and closed chains."""

    closes: ClassVar[bool] = True
    kind: ClassVar[type]
    loop: ClassVar[type]

    def parameters(self, chain: Multibody, numbers: ChainParameters) -> Any:
        """Take every chain and load."""
        return (self.loop if chain.pin else self.kind)(numbers)

    def settled(self, parameters: Any, states: np.ndarray, scratch: np.ndarray, plain: bool) -> tuple[float, float]:
        """Close states (K, size + ledger), in place; return the largest miss of the pin and rate of it before."""
        return settle_loops(states, parameters, scratch) if parameters.chain.closed else (0.0, 0.0)
