"""CPU times, and times at matched error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .cases import Case

PATIENCE = 0.25
"""CPU s given to the repeats of one measurement."""
SLOW = 2.0
"""CPU s: a run that takes longer ends its sweep."""


def best(work: Callable[[], Any], first: float = 0.0) -> float:
    """Return the best CPU time in s of as many repeats as patience allows, 50 at most; `first` is a time already known."""
    times = [first] if first else []
    spent = first
    while len(times) < 50 and (not times or spent < PATIENCE):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
        spent += times[-1]
    return min(times)


@dataclass
class Curve:
    """What one tool needed for one case: errors at the horizon, and CPU s to the horizon and to the end."""

    tool: str
    case: Case
    settings: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    short: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)

    def add(self, setting: float, error: float, short: float, whole: float) -> None:
        """Keep the measurement at one setting."""
        for store, value in zip((self.settings, self.errors, self.short, self.whole), (setting, error, short, whole), strict=True):
            store.append(value)

    @property
    def reached(self) -> float:
        """The least error."""
        return min(self.errors, default=math.inf)

    def overdone(self, error: float) -> bool:
        """Whether even the loosest setting is far better than the error: a looser one might take less time."""
        return error > 10 * max(self.errors, default=math.inf)

    def at(self, error: float, whole: bool = False) -> float:
        """Return the CPU s at an error: straight lines through the logarithms of the settings that are worth their time."""
        order = np.argsort(self.errors)[::-1]
        times, errors = np.array(self.whole if whole else self.short)[order], np.array(self.errors)[order]
        if not len(errors) or error < errors[-1]:
            return math.nan
        cheapest = np.minimum.accumulate(times[::-1])[::-1]  # a smaller error in less time replaces a larger one
        return float(np.exp(np.interp(-math.log(error), -np.log(errors), np.log(cheapest))))

    def setting(self, error: float) -> float:
        """Return the loosest setting that was good enough."""
        good = [s for s, e in zip(self.settings, self.errors, strict=True) if e <= error]
        return max(good, default=math.nan)


def sweep(tool: str, model: Any, case: Case, exact: np.ndarray, whole: bool) -> Curve:
    """Run a case at the tool's settings, from loose to tight; with `whole`, time the run to its end too."""
    curve = Curve(tool, case)
    for setting in model.SETTINGS if not hasattr(model, "settings") else model.settings(case):
        go = model.prepare(case, setting)
        go(0.01)
        begun = time.process_time()
        error = float(np.abs(go(case.horizon) - exact).max())
        first = time.process_time() - begun
        if not math.isfinite(error):
            continue
        short = best(lambda g=go: g(case.horizon), first)
        longer = best(lambda g=go: g(case.t_end)) if whole and case.t_end > case.horizon else short
        curve.add(setting, max(error, 1e-16), short, longer)
        if first > SLOW:
            break
    return curve
