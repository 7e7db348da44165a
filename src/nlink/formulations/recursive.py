"""`recursive`: the O(N) sweep of Newton and Euler in absolute angles; the default.

From the tip inwards each link passes an effective 2x2 mass M and a bias B at its upper hinge: the force it needs there
is R = M a + B for a hinge acceleration a. With e along the link, t its left normal, p = d t - b e (so that the centre
of mass has velocity v + omega p), r = d e + b t, and M, B of what hangs on the lower end:

    q = m p + l M t             D = J + l^2 t.M t          J = I + m (d^2 + b^2)
    G = B - l omega^2 M e       tau = moment + p.F - l t.G
    alpha = (tau - q.a) / D                                   (from the pivot outwards)
    M <- M + m 1 - q q^T / D    B <- G - F - m omega^2 r + q tau / D

Gravity is the acceleration g upwards of the pivot. Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 7, in the plane.

The same sweep solves M(theta) x = p for the rates of given momenta, which gives Hamilton's form for symplectic methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.formulations.loop import LOOP_ROWS, LoopFormulation, finish, prepare, settle_loop_state, sweep_loop
from nlink.mechanics.contract import HAMILTON, SETTLERS, Hamilton, right_hand_side
from nlink.mechanics.kernels import TIP_X, TIP_Y, BareParameters, apply_loads, sincos, turn
from nlink.mechanics.parameters import COM, HINGE_INERTIA, INERTIA, LENGTH, MASS, OFFSET
from nlink.mechanics.scratch import FX, FY, LOAD_ROWS, MZ, C, S

if TYPE_CHECKING:
    from nlink.formulations.space.base import SpaceFormulation
    from nlink.formulations.tree import TreeFormulation
    from nlink.mechanics.mechanism import Mechanism
    from nlink.mechanics.space.model import SpatialChain

TAU, QX, QY, PX, PY = range(LOAD_ROWS, LOAD_ROWS + 5)
LONG = 8
"""Links from which sines and cosines are cheaper in a loop of their own, which the compiler turns into vector code."""


class RecursiveParameters(BareParameters):
    """An open chain."""


class RecursiveLoopParameters(BareParameters):
    """A closed chain."""


@dataclass(frozen=True)
class Recursive(LoopFormulation):
    """O(N) sweep of Newton and Euler."""

    name: ClassVar[str] = "recursive"
    kind: ClassVar[type] = RecursiveParameters
    loop: ClassVar[type] = RecursiveLoopParameters

    def of_mechanism(self, mechanism: Mechanism) -> TreeFormulation:
        """Return the sweep over a tree; with the rows of what closes it, if something does."""
        if mechanism.closed:
            from nlink.formulations.closure import ClosedSweep

            return ClosedSweep()
        from nlink.formulations.tree import TreeSweep

        return TreeSweep()

    def of_space(self, chain: SpatialChain) -> SpaceFormulation:
        """Return the cheapest sweep for the links of a chain in space."""
        from nlink.formulations.space.joints import sweep_of

        return sweep_of(chain)

    def side_by_side(self, parameters: BareParameters) -> Any:
        """Take every open chain without a torque function."""
        from nlink.formulations.side_by_side import SideBySide

        numbers = parameters.chain
        return None if numbers.closed or numbers.callback else SideBySide(numbers)

    def scratch(self, n: int) -> int:
        """Rows of the loads, of the sweep, and of Hamilton's form; of the loop, which are more."""
        return max(LOAD_ROWS + 5, LOOP_ROWS)


@right_hand_side(RecursiveParameters)
def recursive_rates(t, y, p, out, w):
    """Fill out = (omega, alpha, powers)."""
    chain = p.chain
    n = chain.n
    turned = chain.loaded or n >= LONG
    if turned:
        turn(y, n, w)
    if chain.loaded:
        apply_loads(t, y, y, n, chain, w, out, 2 * n, chain.tip[TIP_X], chain.tip[TIP_Y])
    sweep(y, y, n, chain, w, turned, chain.loaded, chain.g, out, n)
    for i in range(n):
        out[i] = y[n + i]


@right_hand_side(RecursiveLoopParameters)
def recursive_loop_rates(t, y, p, out, w):
    """Fill out = (omega, alpha, powers) of the closed chain: the sweep with three right-hand sides gives the force at the tip."""
    chain = p.chain
    s, c, sigma, dead = prepare(t, y, chain, out, 2 * chain.n, w)
    liftx, lifty = s * chain.g, c * chain.g
    x, y_, sxx, sxy, syy = sweep_loop(chain, w, True, liftx, lifty)
    finish(chain, out, w, liftx - x, lifty - y_, sxx, sxy, syy, s, c, sigma, dead)


@kernel
def sweep(theta, omega, at, p, w, turned, forced, lift, x, to):
    """Fill x[to:] with the angular accelerations at angles theta and rates omega[at:], the pivot accelerating upwards by `lift`.

    If turned, S and C are filled already; if forced, the forces of w act. One link waits for the next only through M
    (and outwards through a), so these are written as sums of products that are ready, with the division in the middle.
    """
    zero = alike(0.0, omega[at])
    mxx = mxy = myy = bx = by = zero
    for j in range(p.n):
        i = p.n - 1 - j
        if turned:
            s, c = w[S, i], w[C, i]
        else:
            s, c = sincos(theta[i])
            w[S, i], w[C, i] = s, c
        mass, d, b = p.links[MASS, i], p.links[COM, i], p.links[OFFSET, i]
        square = omega[at + i] * omega[at + i]
        px, py = d * c - b * s, d * s + b * c
        lc, ls = p.links[LENGTH, i] * c, p.links[LENGTH, i] * s
        cross = lc * ls
        inverse = 1.0 / ((p.links[HINGE_INERTIA, i] + lc * lc * mxx) + ((cross + cross) * mxy + ls * ls * myy))
        qx, qy = mass * px + (lc * mxx + ls * mxy), mass * py + (lc * mxy + ls * myy)
        gx = bx - square * (ls * mxx - lc * mxy)
        gy = by - square * (ls * mxy - lc * myy)
        tau = -(lc * gx + ls * gy)
        if forced:
            fx, fy = w[FX, i], w[FY, i]
            tau += w[MZ, i] + px * fx + py * fy
            gx -= fx
            gy -= fy
        free = tau * inverse
        w[TAU, i], w[QX, i], w[QY, i] = free, qx * inverse, qy * inverse
        bx = (gx - mass * square * py) + qx * free
        by = (gy + mass * square * px) + qy * free
        mxx = (mxx + mass) - qx * qx * inverse
        mxy = mxy - qx * qy * inverse
        myy = (myy + mass) - qy * qy * inverse
    ax, ay = zero, zero + lift
    for i in range(p.n):
        free, ux, uy = w[TAU, i], w[QX, i], w[QY, i]
        lc, ls = p.links[LENGTH, i] * w[C, i], p.links[LENGTH, i] * w[S, i]
        square = omega[at + i] * omega[at + i]
        x[to + i] = free - ux * ax - uy * ay
        kx, ky = lc * free - ls * square, ls * free + lc * square
        ax, ay = ((1.0 - lc * ux) * ax + kx) - lc * uy * ay, ((1.0 - ls * uy) * ay + ky) - ls * ux * ax


@kernel
def momenta(omega, at, p, w):
    """Fill PX, PY with the momentum of each link (S and C are filled)."""
    vx = vy = 0.0
    for i in range(p.n):
        s, c, rate = w[S, i], w[C, i], omega[at + i]
        w[PX, i] = p.links[MASS, i] * (vx + rate * (p.links[COM, i] * c - p.links[OFFSET, i] * s))
        w[PY, i] = p.links[MASS, i] * (vy + rate * (p.links[COM, i] * s + p.links[OFFSET, i] * c))
        vx += p.links[LENGTH, i] * rate * c
        vy += p.links[LENGTH, i] * rate * s


def to_momenta(y, p, z, w):
    """Fill z = (theta, M omega, ledger) from y = (theta, omega, ledger)."""
    chain = p.chain
    n = chain.n
    turn(y, n, w)
    momenta(y, n, chain, w)
    tailx = taily = 0.0
    for j in range(n):
        i = n - 1 - j
        s, c, d, b = w[S, i], w[C, i], chain.links[COM, i], chain.links[OFFSET, i]
        z[i] = y[i]
        own = (d * c - b * s) * w[PX, i] + (d * s + b * c) * w[PY, i]
        z[n + i] = chain.links[LENGTH, i] * (c * tailx + s * taily) + own + chain.links[INERTIA, i] * y[n + i]
        tailx += w[PX, i]
        taily += w[PY, i]
    for i in range(2 * n, len(y)):
        z[i] = y[i]


def from_momenta(z, p, y, w):
    """Fill y = (theta, omega, ledger) from z = (theta, M omega, ledger)."""
    chain = p.chain
    n = chain.n
    turn(z, n, w)
    rates_of_momenta(z, chain, w, y, n)
    for i in range(n):
        y[i] = z[i]
    for i in range(2 * n, len(z)):
        y[i] = z[i]


@kernel
def rates_of_momenta(z, p, w, omega, to):
    """Fill omega[to:] from M(theta) omega = momentum, the second n of z, by the sweep at rest (S and C are filled)."""
    for i in range(p.n):
        w[FX, i] = 0.0
        w[FY, i] = 0.0
        w[MZ, i] = z[p.n + i]
        w[PX, i] = 0.0
    sweep(w[MZ], w[PX], 0, p, w, True, True, 0.0, omega, to)


def hamilton_rates(t, z, p, out, w):
    """Fill out = (theta', momentum', powers): momentum' = dT/dtheta at fixed omega + generalised force.

    dT/dtheta_i = omega_i (-l e.P - m v_G.r) with P the momentum of what hangs on the lower end.
    """
    chain = p.chain
    n = chain.n
    turn(z, n, w)
    rates_of_momenta(z, chain, w, out, 0)
    for i in range(n):
        w[MZ, i] = 0.0
    if chain.loaded:
        apply_loads(t, z, out, 0, chain, w, out, 2 * n, chain.tip[TIP_X], chain.tip[TIP_Y])
    momenta(out, 0, chain, w)
    tailx = taily = pullx = pully = 0.0
    for j in range(n):
        i = n - 1 - j
        s, c, d, b, length = w[S, i], w[C, i], chain.links[COM, i], chain.links[OFFSET, i], chain.links[LENGTH, i]
        fx, fy = w[FX, i], w[FY, i] - chain.links[MASS, i] * chain.g
        px, py = d * c - b * s, d * s + b * c
        force = length * (c * pullx + s * pully) + px * fx + py * fy + w[MZ, i]
        swing = length * (s * tailx - c * taily) + py * w[PX, i] - px * w[PY, i]
        out[n + i] = force - out[i] * swing
        tailx += w[PX, i]
        taily += w[PY, i]
        pullx += fx
        pully += fy


SETTLERS[RecursiveLoopParameters] = settle_loop_state
HAMILTON[RecursiveParameters] = Hamilton(to_momenta, from_momenta, hamilton_rates)
