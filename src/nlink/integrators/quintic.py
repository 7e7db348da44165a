"""The quintic of a step through coordinates, rates and accelerations at both ends: dense output of methods that have none.

A step of such a method has an array `q` (5, m) for its polynomial.
"""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.integrators.polynomials import copy_row, horner


@kernel
def quintic(n, h, y, f, new, rates, q):
    """Fill the polynomial of a step: n coordinates by the quintic, velocities by its derivative, what follows by the cubic."""
    for i in range(n):
        v0, a0, a1 = y[n + i], h * f[n + i], h * rates[n + i]
        gap = (new[i] - y[i]) / h - v0 - a0 / 2
        slope, bend = new[n + i] - v0 - a0, a1 - a0
        c3, c4, c5 = 10 * gap - 4 * slope + bend / 2, -15 * gap + 7 * slope - bend, 6 * gap - 3 * slope + bend / 2
        q[0, i], q[1, i], q[2, i], q[3, i], q[4, i] = v0, a0 / 2, c3, c4, c5
        j = n + i
        q[0, j], q[1, j], q[2, j], q[3, j], q[4, j] = a0 / h, 3 * c3 / h, 4 * c4 / h, 5 * c5 / h, 0.0
    for i in range(2 * n, len(y)):
        mean = (new[i] - y[i]) / h
        q[0, i], q[1, i], q[2, i] = f[i], 3 * mean - 2 * f[i] - rates[i], f[i] + rates[i] - 2 * mean
        q[3, i] = q[4, i] = 0.0


def interpolate(method, p, clock, knots, k):
    """Make the quintic of the step."""
    half = (len(knots.y[k]) - p.chain.ledger) // 2
    quintic(half, clock.h, knots.y[k], knots.f[k], knots.y[k + 1], knots.f[k + 1], method.q)


def polynomial(method, p, clock, q):
    """Copy the quintic."""
    for power in range(len(q)):
        copy_row(method.q[power], q[power])


def point(method, p, clock, knots, k, time, out):
    """Evaluate the quintic."""
    h = clock.target - clock.t
    horner((time - clock.t) / h, h, knots.y[k], method.q, out)


QUINTIC = {"polynomial": polynomial, "point": point, "interpolate": interpolate}
"""The dense output, as `StepKernels` takes it."""
