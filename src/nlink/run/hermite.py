"""Motions between their nodes: quintic Hermite interpolation."""

from __future__ import annotations

import numpy as np

from nlink.run.readout import Trajectory


def hermite(nodes: Trajectory, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Interpolate coordinates, rates and accelerations by the quintic through all three at both ends."""
    if len(nodes.t) == 1:
        return tuple(np.repeat(v, len(times), axis=0) for v in nodes[1:])  # type: ignore[return-value]
    sign = 1.0 if nodes.t[-1] > nodes.t[0] else -1.0
    k = np.clip(np.searchsorted(sign * nodes.t, sign * times, side="right") - 1, 0, len(nodes.t) - 2)
    h = (nodes.t[k + 1] - nodes.t[k])[:, None]
    x = (times - nodes.t[k])[:, None] / h
    p0, p1 = nodes.position[k], nodes.position[k + 1]
    v0, v1 = h * nodes.velocity[k], h * nodes.velocity[k + 1]
    a0, a1 = h**2 * nodes.acceleration[k], h**2 * nodes.acceleration[k + 1]
    gap, slope, bend = p1 - p0 - v0 - a0 / 2, v1 - v0 - a0, a1 - a0
    c3 = 10 * gap - 4 * slope + bend / 2
    c4 = -15 * gap + 7 * slope - bend
    c5 = 6 * gap - 3 * slope + bend / 2
    position = p0 + x * (v0 + x * (a0 / 2 + x * (c3 + x * (c4 + x * c5))))
    velocity = (v0 + x * (a0 + x * (3 * c3 + x * (4 * c4 + x * 5 * c5)))) / h
    acceleration = (a0 + x * (6 * c3 + x * (12 * c4 + x * 20 * c5))) / h**2
    return position, velocity, acceleration
