"""The chains and starts that all peers run: unit rods under g = 9.81, free or with a spring, a damper and a sine at every joint."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import nlink

STIFFNESS, DAMPING, AMPLITUDE, FREQUENCY = 1.0, 0.1, 1.0, 0.5


def phase(i: int) -> float:
    """Return the phase of the torque at joint i: every joint has its own."""
    return float(i)


def chain(n: int, loaded: bool = False) -> nlink.Chain:
    free = nlink.Chain.uniform(n)
    if not loaded:
        return free
    sines = [nlink.Sine(AMPLITUDE, FREQUENCY, phase(i)) for i in range(n)]
    return free.with_loads(nlink.JointSpring(STIFFNESS), nlink.JointDamper(DAMPING), nlink.JointTorque(sines))


def start(n: int) -> np.ndarray:
    """Return the zig-zag start for short chains, 45 degrees for long ones."""
    return np.where(np.arange(n) % 2, math.pi, math.pi / 2) if n <= 15 else np.full(n, math.pi / 4)


@dataclass(frozen=True)
class Case:
    """A run to compare: the error is that of the angles at `horizon`, the latest time at which double precision still reaches the
    `error` asked for from this start; chaos leaves no digits of N = 5 and 15 at 10 s.
    """

    n: int
    loaded: bool
    horizon: float
    t_end: float
    error: float

    @property
    def name(self) -> str:
        """Return the name in tables and in references.json."""
        return f"{'loaded' if self.loaded else 'free'}-{self.n}"

    @property
    def start(self) -> np.ndarray:
        """Return the angles at the start; the rates are zero."""
        return start(self.n)

    def chain(self) -> nlink.Chain:
        """Return the chain."""
        return chain(self.n, self.loaded)


SHORT = [
    Case(n, loaded, horizon, 10.0, error)
    for loaded in (False, True)
    for n, horizon, error in ((2, 10.0, 1e-8), (3, 7.5, 1e-5), (5, 5.0, 1e-4), (15, 3.0, 1e-8))
]
LONG = [Case(100, False, 2.0, 2.0, 1e-7), Case(1000, False, 2.0, 2.0, 1e-6)]
