"""What takes chains in the plane alone: refused by its name for a chain in space, with what to use instead."""

from __future__ import annotations

from nlink._support.checks import ModelError
from nlink.mechanics.chain import Multibody

INSTEAD = {
    "Flip": "to pass straight up takes two coordinates at once; use Event with a function of (t, direction, omega)",
    "FlipTime": "to pass straight up takes two coordinates at once; Extremes has how far up each link comes",
    "run.flips": "give run.flips = 'off'",
    "linearize": "use modes, about hanging or steady turning",
    "equilibrium": "without other loads than gravity and springs it rests straight down; steady turning: start.shape = 'cone'",
    "equilibria": "without other loads than gravity and springs it rests straight down; steady turning: start.shape = 'cone'",
    "critical_load": "simulate a small motion at each load",
    "stability": "simulate a small motion at each load",
    "stability maps": "simulate a small motion at each pair of loads",
    "floquet": "simulate a small motion over the period",
    "poincare": "give simulate an Event where the motion crosses the section",
    "chaos_map": "give its starts to simulate_many",
    "bifurcation": "give simulate an Event where the motion crosses the section",
    "lqr": "JointTorque takes functions in the plane",
    "limit_cycle": "look at run.inclination and run.azimuth",
    "on_energy": "choose the rates by hand",
    "starts_on_energy": "draw starts by hand",
    "derive": "its equations stand in docs/space.md",
    "flow": "use simulate",
    "Cuda": "use Threads()",
    "Gauss": "use Rattle, DOP853 or Taylor",
    "IDA": "use Rattle, DOP853 or Scipy",
    "a live page": "give the run to animate",
    "the studio's plots of angles": "use inclination and azimuth",
}
"""What to use in place of what is not offered in space."""


def refuse_space(what: str, model: object, instead: str = "") -> None:
    """Refuse a chain in space by the name of what does not take it; `instead` says what to use, if the table does not.

    >>> from nlink.mechanics.chain import Chain
    >>> refuse_space("lqr", Chain.uniform(2))
    """
    if isinstance(model, Multibody) and model.spatial:
        instead = INSTEAD.get(what, instead)
        raise ModelError(f"{what} takes chains in the plane, not in space{'; ' if instead else ''}{instead}")
