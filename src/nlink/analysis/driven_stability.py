"""Where motions that are driven in time gain or lose stability along a path of mechanisms, by their Floquet multipliers.

Between a stable and an unstable point a multiplier leaves the unit circle: at +1, where det(flow - 1) changes sign (divergence), at
-1, where det(flow + 1) does (flutter with half the frequency of the drive), or as a pair elsewhere, which is found by halving.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError
from nlink.analysis.floquet import Floquet, floquet
from nlink.mechanics.chain import Multibody

POINTS = 96
"""Parts into which a path is divided."""
HALVINGS = 50


class DrivenPath:
    """Mechanisms along a load, each with the motion that repeats, followed from load to load."""

    def __init__(self, chain_of: Callable[[float], Multibody], theta: ArrayLike | None) -> None:
        self.chain_of, self.guess = chain_of, 0.0 if theta is None else theta
        self.points: dict[float, Floquet] = {}

    def at(self, load: float) -> Floquet:
        """Return the multipliers at a load."""
        if load not in self.points:
            model = self.chain_of(load)
            near = self.points.get(min(self.points, key=lambda known: abs(known - load), default=load))
            start = (self.guess, None) if near is None else (near.theta, near.omega)
            self.points[load] = floquet(model, *start)
        return self.points[load]

    def changes(self, low: float, high: float) -> list[tuple[float, str, float, bool]]:
        """Return the loads at which stability changes: with kind, frequency in rad/s, and whether it is lost."""
        nodes = np.linspace(low, high, POINTS + 1).tolist()
        pairs = [(a, b) for a, b in pairwise(nodes) if self.at(a).stable != self.at(b).stable]
        if not pairs:
            raise ModelError(f"stability does not change between {low:g} and {high:g}; widen the bracket")
        return [self._refined(a, b) for a, b in pairs]

    def _refined(self, low: float, high: float) -> tuple[float, str, float, bool]:
        lost = self.at(low).stable
        kind = self.at(high if lost else low).kind
        sign = 1.0 if kind == "divergence" else -1.0
        load = self._crossed(sign, low, high)
        if load is None:
            a, b = low, high
            for _ in range(HALVINGS):
                middle = 0.5 * (a + b)
                a, b = (middle, b) if self.at(middle).stable == lost else (a, middle)
            load, found = b, self.at(b if lost else a)
            return load, kind, float(np.abs(found.exponents[0].imag)), lost
        return load, kind, 0.0 if sign > 0 else float(np.pi / self.at(low).period), lost

    def _crossed(self, sign: float, low: float, high: float) -> float | None:
        """Return the load at which a multiplier is +1 or -1, if det(flow - sign) changes its own sign."""
        from scipy.optimize import brentq

        def measured(load: float) -> float:
            flow = self.at(load).monodromy
            return float(np.linalg.det(flow - sign * np.eye(len(flow))))

        if measured(low) * measured(high) >= 0:
            return None
        return cast(float, brentq(measured, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=200))
