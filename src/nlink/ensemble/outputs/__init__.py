"""Outputs of an ensemble: one file each."""

from __future__ import annotations

from typing import Any

from nlink._support.checks import ModelError, listed, shown
from nlink.ensemble.outputs.base import Keep, Output
from nlink.ensemble.outputs.energy_drift import EnergyDrift
from nlink.ensemble.outputs.extremes import Extremes
from nlink.ensemble.outputs.final import Final
from nlink.ensemble.outputs.flip_time import FlipTime
from nlink.ensemble.outputs.ftle import FTLE
from nlink.ensemble.outputs.reducer import Reducer
from nlink.ensemble.outputs.samples import Samples

PLAIN: tuple[type[Keep], ...] = (FlipTime, FTLE, EnergyDrift, Final, Extremes)
"""Outputs without settings. Maps show those of their arrays that have a `quantity`."""
__all__ = ["FTLE", "PLAIN", "EnergyDrift", "Extremes", "Final", "FlipTime", "Keep", "Output", "Reducer", "Samples"]


def checked(given: Any) -> tuple[Keep, ...]:
    """Return what to keep as a tuple, checked."""
    several = tuple(given) if listed(given) else (given,)
    for each in several:
        if not isinstance(each, Keep):
            names = ", ".join(f"{kind.__name__}()" for kind in PLAIN)
            raise ModelError(f"keep must list what to keep ({names}, Samples(times), Reducer(...)), got {shown(each)}")
    if not several or len({each.key for each in several}) < len(several):
        raise ModelError("keep must name at least one thing, and each once")
    return several
