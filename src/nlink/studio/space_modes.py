"""What the studio shows of small motions of a chain in space: about hanging, or about steady turning, in the frame that turns.

    c(t) = c0 + TURN Re(x exp(i w t)), of directions and quaternions scaled to length 1

x are the changes of the coordinates in the mode, w its frequency.
"""

from __future__ import annotations

import math

import numpy as np

from nlink.analysis.linearize import FLAT, Mode, foremost
from nlink.analysis.space_modes import SteadyState, steady_modes, steady_state
from nlink.mechanics.space.model import SpatialChain
from nlink.run.readout import settled
from nlink.scenario import Scenario
from nlink.studio.space import Json
from nlink.view.modes import FALL, TURN
from nlink.view.modes_page import MOMENTS, MOST, ROOM, plane_of, take_of
from nlink.view.packing import Content
from nlink.view.space.reading import rows_of
from nlink.view.style import cut, title_of
from nlink.view.takes import about, chain_data, motion_data, words
from nlink.view.words import scenario_lines


def space_modes_content(scenario: Scenario, chain: SpatialChain, start: bool) -> tuple[Content, list[Mode], Json]:
    """Return what the player shows of the modes about hanging, or about the start; the modes; the rate of the turning in rad/s and
    whether a motion stays near.
    """
    state = steady_state(chain, *((scenario.theta, scenario.omega) if start else ()))
    found = steady_modes(state)
    modes = [mode for mode, _ in found]
    scale = max((math.hypot(mode.growth, mode.frequency) for mode in modes), default=0.0)
    shown = foremost(modes, max(1, min(MOST, ROOM // (MOMENTS * 4 * chain.n))))
    drawn: Content = {"chain": chain_data(chain), "plane": plane_of(modes, shown, scale)}
    content: Content = {
        "title": cut(title_of("Modes", scenario.title), 200),
        "about": about(),
        "words": words(scenario_lines(scenario)),
        "takes": [_take(state, drawn, k, found) for k in shown],
    }
    return content, modes, {"rate": state.rate, "stable": all(mode.growth <= FLAT * scale for mode in modes)}


def _take(state: SteadyState, drawn: Content, k: int, found: list[tuple[Mode, np.ndarray]]) -> Content:
    t, position, velocity = _motion(state, *found[k])
    chain = state.system.chain
    assert isinstance(chain, SpatialChain)
    motion = motion_data(t, *rows_of(chain, position, velocity), chain)
    return take_of(found[k][0], k, len(found), float(t[-1]), drawn | motion)


def _motion(state: SteadyState, mode: Mode, change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, coordinates and rates of one period without growth or decay.

    Without a frequency it falls to the steady state, or grows away from it, or is one still shape.
    """
    share = np.arange(MOMENTS + 1) / MOMENTS
    if mode.frequency:
        t, rate = 2 * math.pi / mode.frequency * share, 1j * mode.frequency
        size = np.exp(2j * math.pi * share)
    elif mode.growth:
        span, rate = FALL / abs(mode.growth), mode.growth
        t, size = span * share, np.exp(-FALL * (share if mode.growth < 0 else 1 - share)).astype(complex)
    else:
        t, rate, size = np.zeros(1), 0.0, np.ones(1, complex)
    moved = TURN * size[:, None] * change
    position, velocity = state.position + moved.real, (rate * moved).real
    position, velocity, _ = settled(state.system.chain, position, velocity, np.zeros_like(position))
    return t, position, velocity
