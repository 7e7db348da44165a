"""The page of the modes of a chain in space: the player in space with a take for each mode, and the eigenvalues to choose from."""

from __future__ import annotations

import os
from pathlib import Path

from nlink._support.checks import ModelError
from nlink.analysis.linearize import foremost
from nlink.analysis.space_modes import SteadyState, Swing
from nlink.mechanics.space.model import SpatialChain
from nlink.scenario import Scenario
from nlink.view.modes_page import MOMENTS, MOST, plane_of, take_of
from nlink.view.packing import Content
from nlink.view.page import SPACE, write_page
from nlink.view.space.content import space_chain, space_motion
from nlink.view.space.modes import motion_in
from nlink.view.space.reading import rows_of
from nlink.view.style import cut, title_of
from nlink.view.takes import ROOM, about, words
from nlink.view.words import scenario_lines

FRAME = "in the frame that turns with the chain about the vertical"


def space_modes_page(
    scenario: Scenario,
    state: SteadyState,
    found: list[Swing],
    path: str | os.PathLike[str] | None = None,
    *,
    theme: str | None = None,
) -> str | Path:
    """Return a page on which a chain in space moves in a chosen mode, or write it to `path` and return that.

    `theme`: light or dark; as the reader's system if not given.

    >>> from nlink.analysis.space_modes import steady_state, swings
    >>> from nlink.mechanics.space.model import SpatialChain
    >>> state = steady_state(SpatialChain.uniform(2))
    >>> space_modes_page(Scenario(state.system.chain, (0.0, 0.0)), state, swings(state)).startswith("<!doctype html>")
    True
    """
    return write_page("modes", space_modes_content(scenario, state, found), path, theme, SPACE)


def space_modes_content(scenario: Scenario, state: SteadyState, found: list[Swing]) -> Content:
    """Return what the page of modes shows."""
    if not found:
        raise ModelError("there are no modes to show: the links cannot move")
    modes, chain = [swing.mode for swing in found], state.system.chain
    shown = foremost(modes, max(1, min(MOST, ROOM // (MOMENTS * 3 * chain.n))))
    plane = plane_of(modes, shown, max(mode.undamped for mode in modes))
    frame = [("shown", FRAME)] if state.rate else []
    return {
        "title": cut(title_of("Modes", scenario.title), 200),
        "about": about(),
        "words": words([*scenario_lines(scenario), *frame]),
        "takes": [_take(state, found[k], k, len(modes), plane) for k in shown],
    }


def _take(state: SteadyState, swing: Swing, k: int, count: int, plane: list[Content]) -> Content:
    chain = state.system.chain
    assert isinstance(chain, SpatialChain)
    t, c, v = motion_in(state, swing, MOMENTS)
    moved = {"chain": space_chain(chain), **space_motion(t, *rows_of(chain, c, v))}
    return take_of(swing.mode, k, count, plane, moved, float(t[-1]))
