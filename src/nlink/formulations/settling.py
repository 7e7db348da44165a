"""Bringing states of `maximal` and `natural` back onto their constraints: of the hinges, and of a pin."""

from __future__ import annotations

from nlink.compiled.jit import entry, kernel
from nlink.compiled.views import views
from nlink.formulations.loop import KEPT, OM, TH, settle_rows
from nlink.formulations.pieces import ACC, PHI, RATE, RIGHT, elastic, equations, height, kinetic, pose, shift, solve
from nlink.mechanics.kernels import CONSTRAINED
from nlink.mechanics.parameters import MASS

STEPS = 8
"""Most Newton steps of a projection."""


@kernel
def energy(y, p, w):
    """Return the energy of a posed state."""
    total = kinetic(y, p, w) + elastic(p, w)
    for i in range(p.chain.n):
        total += p.chain.links[MASS, i] * p.chain.g * height(y, p, i, 0)
    return total


@kernel
def settle(y, p, w, plain):
    """Bring position and velocity back onto the constraints by the smallest change, in the metric of the masses or plain.

    The energy it takes goes into the ledger's row of constraints. Return the largest |Phi| and |Phi'| that were there before.
    """
    n, size = p.chain.n, p.nq * p.chain.n
    first = speed = taken = 0.0
    for step in range(STEPS):
        pose(y, p, w)
        equations(y, p, w)
        worst = 0.0
        for i in range(n):
            for k in range(p.nl):
                worst = max(worst, abs(w[PHI + k, i]))
                if step == 0:
                    speed = max(speed, abs(w[RATE + k, i]))
        if step == 0:
            first, taken = worst, energy(y, p, w)
        if step > 0 and worst < 1e-15:
            break
        correct(y, p, w, PHI, 0, plain)
    pose(y, p, w)
    equations(y, p, w)
    correct(y, p, w, RATE, size, plain)
    pose(y, p, w)
    y[p.size + CONSTRAINED] += energy(y, p, w) - taken
    return first, speed


@kernel
def correct(y, p, w, row, at, plain):
    """Change the coordinates (at = 0) or velocities (at = size) so that the violation in `row` vanishes to first order."""
    for i in range(p.chain.n):
        for k in range(p.nl):
            w[RIGHT + k, i] = -w[row + k, i]
    solve(p, w, 0.0, False, plain)
    for i in range(p.chain.n):
        for k in range(p.nq):
            y[at + p.nq * i + k] += w[ACC + k, i]


def settle_if_projected(y, p, w):
    """Settle a state after a step if the constraints are handled so; return whether it was changed."""
    if p.handling.projected:
        settle(y, p, w, False)
    return p.handling.projected


def settle_closed(y, p, w):
    """Settle the state of a closed chain after a step."""
    if p.handling.projected:
        settle(y, p, w, False)
    close(y, p, w)
    return True


@kernel
def rebuilt(handling):
    """Whether nothing keeps the hinges of a closed chain: near dead positions they would drift apart fast."""
    return handling.epsilon == 0.0 and handling.w == 0.0 and not handling.projected


@kernel
def close(y, p, w):
    """Move a state onto the closure; the energy it takes goes to its row of constraints. Return the miss and its rate before."""
    pose(y, p, w)
    for i in range(p.chain.n):
        w[KEPT, i], w[KEPT + 1, i] = w[TH, i], w[OM, i]
    before = energy(y, p, w)
    miss, rate, _ = settle_rows(p.chain, w)
    shift(y, p, w)
    pose(y, p, w)
    y[p.size + CONSTRAINED] += energy(y, p, w) - before
    return miss, rate


@entry("the constraints")
def settle_many(y, p, w, plain):
    """Bring each row of y onto the constraints; return the largest |Phi| and |Phi'| that were there before."""
    y, p, w = views(y), views(p), views(w)
    first = speed = 0.0
    for k in range(len(y)):
        if p.handling.projected or plain:
            a, b = settle(y[k], p, w, plain)
            first, speed = max(first, a), max(speed, b)
        if p.chain.closed:
            a, b = close(y[k], p, w)
            first, speed = max(first, a), max(speed, b)
    return first, speed


@entry("the constraints")
def settle_open_many(y, p, w, plain):
    """Do as `settle_many` does, for open chains alone."""
    y, p, w = views(y), views(p), views(w)
    first = speed = 0.0
    for k in range(len(y)):
        if p.handling.projected or plain:
            a, b = settle(y[k], p, w, plain)
            first, speed = max(first, a), max(speed, b)
    return first, speed
