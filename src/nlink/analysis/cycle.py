"""limit_cycle(): the oscillation on which a run has settled: its period and amplitudes; and amplitudes along a load."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.showing import short
from nlink.mechanics.chain import Multibody
from nlink.mechanics.space.refusals import refuse_space
from nlink.run.run import Run

STEADY = 1e-3
"""Change of the amplitude over the last part of a run, as a part of it, below which it has settled."""
LEAST = 3
"""Periods that must be seen."""
SMALLEST = 1e-6
"""Amplitude in rad below which a chain is at rest."""
SAMPLES = 20_001


@short
class LimitCycle(NamedTuple):
    """Period in s, amplitude of each link (N,) in rad (half of what it swings), its middle (N,), and the change of the amplitude
    from the first to the second half of what was looked at, as a part of it.
    """

    period: float
    amplitude: np.ndarray
    middle: np.ndarray
    change: float


def limit_cycle(run: Run, share: float = 0.4) -> LimitCycle | None:
    """Return the oscillation in the last `share` of a run; None if it has come to rest, has not settled, or does not repeat."""
    refuse_space("limit_cycle", run.chain)
    if len(run.t) < 8:
        return None
    times = np.linspace(run.t[-1] - share * (run.t[-1] - run.t[0]), run.t[-1], SAMPLES)
    track = run.at(times)
    low, high = track.theta.min(0), track.theta.max(0)
    amplitude, middle = 0.5 * (high - low), 0.5 * (high + low)
    link = int(amplitude.argmax())
    if amplitude[link] < SMALLEST:
        return None
    crossings = _upward(times, track.theta[:, link] - middle[link], track.omega[:, link])
    if len(crossings) < LEAST + 1:
        return None
    halves = [np.ptp(part[:, link]) / 2 for part in np.array_split(track.theta, 2)]
    change = abs(halves[1] - halves[0]) / amplitude[link]
    periods = np.diff(crossings)
    if change > STEADY or np.ptp(periods) > 10 * STEADY * periods.mean():
        return None
    return LimitCycle(float(periods.mean()), amplitude, middle, float(change))


def _upward(times: np.ndarray, values: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the times at which values pass zero upwards: Newton's method on the cubics through values and rates at both sides."""
    k = np.flatnonzero((values[:-1] < 0) & (values[1:] >= 0))
    h, a, b = times[k + 1] - times[k], values[k], values[k + 1]
    p, q = h * rates[k], h * rates[k + 1]
    square, cube = 3 * (b - a) - 2 * p - q, p + q - 2 * (b - a)
    u = a / (a - b)
    for _ in range(4):
        f, slope = a + u * (p + u * (square + u * cube)), p + u * (2 * square + 3 * u * cube)
        u = np.where(slope != 0, np.clip(u - f / np.where(slope != 0, slope, 1.0), 0.0, 1.0), u)
    return times[k] + u * h


def amplitudes(
    chain_of: Callable[[float], Multibody],
    loads: ArrayLike,
    theta: ArrayLike,
    *,
    t_end: float,
    progress: Callable[[int, int], None] | None = None,
) -> list[LimitCycle | None]:
    """Return the limit cycle on which the chain settles at each load, each run started where the one before ended."""
    from nlink.simulation.integrate import simulate

    start, rates, cycles = theta, None, []
    values = np.asarray(loads, float).tolist()
    for k, load in enumerate(values):
        run = simulate(chain_of(load), start, rates, t_end=t_end, save=t_end / 2000, strict=False)
        cycles.append(limit_cycle(run) if run.status.ok else None)
        if run.status.ok:
            start, rates = run.theta[-1], run.omega[-1]
            if np.abs(start).max() < 1e-4:  # at rest: pushed again, so that a growing motion has something to grow from
                start, rates = np.asarray(theta, float), None
        if progress:
            progress(k + 1, len(values))
    return cycles
