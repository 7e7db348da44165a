"""What takes chains in the plane alone: refused by its name for a chain in space, with what to use instead."""

from __future__ import annotations

from typing import Any

from nlink._support.checks import ModelError
from nlink.mechanics.chain import Multibody

INSTEAD = {
    "Flip": "to pass straight up takes two coordinates at once; use Event with a function of (t, direction, omega)",
    "FlipTime": "to pass straight up takes two coordinates at once; use Reducer or Samples",
    "Extremes": "use Samples, or Reducer with a function of your own",
    "FTLE": "use lyapunov",
    "run.flips": "give run.flips = 'off'",
    "linearize": "use modes, about hanging or steady turning",
    "equilibrium": "it hangs straight down at rest; for steady turning use start.shape = 'cone'",
    "equilibria": "it hangs straight down at rest; for steady turning use start.shape = 'cone'",
    "derive": "the equations of a chain in space stand in docs/space.md",
    "flow": "use simulate",
}
"""What to use in place of what is not offered in space, where something does."""


def refuse_space(what: str, model: Any) -> None:
    """Refuse a chain in space by the name of what does not take it."""
    if isinstance(model, Multibody) and model.spatial:
        instead = INSTEAD.get(what, "")
        raise ModelError(f"{what} takes chains in the plane, not in space{'; ' if instead else ''}{instead}")
