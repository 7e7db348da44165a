"""Chains in space and their starts in words."""

from __future__ import annotations

import numpy as np

from nlink.mechanics.space import kinematics
from nlink.mechanics.space.model import SpatialChain
from nlink.scenario import Scenario

EACH = 8
"""Most links whose start is said one by one."""


def start_text(scenario: Scenario) -> str:
    """Return how a chain in space starts: inclinations and azimuths in degrees."""
    chain = scenario.chain
    assert isinstance(chain, SpatialChain)
    position, velocity = chain.start(scenario.theta, scenario.omega)
    e = kinematics.directions(chain, position)
    inclination, azimuth = np.degrees(kinematics.inclination(e)), np.degrees(kinematics.azimuth(e))
    moving = "moving" if np.any(velocity) else "at rest"
    if chain.n > EACH:
        return f"at inclinations from {inclination.min():.4g} to {inclination.max():.4g} degrees, {moving}"
    turned = ", ".join("-" if np.isnan(each) else f"{each:.4g}" for each in azimuth)
    return f"at inclinations {', '.join(f'{each:.4g}' for each in inclination)} degrees, azimuths {turned} degrees, {moving}"
