"""The page of a chain's modes: the player with one take for each mode, over one period, and the eigenvalues to choose from."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from nlink._support.checks import ModelError
from nlink.analysis.linearize import FLAT, Linearization, Mode, foremost
from nlink.mechanics.chain import wrapped
from nlink.run.run import Trajectory
from nlink.scenario import Scenario
from nlink.view.modes import FALL, SECONDS, TURN, bent, mode_text
from nlink.view.packing import Content
from nlink.view.page import write_page
from nlink.view.style import cut, title_of
from nlink.view.takes import ROOM, about, chain_data, motion_data, words
from nlink.view.words import scenario_lines

MOST = 24
"""Most modes on a page; of more, those that oscillate or grow come first."""
MOMENTS = 96
"""Moments of one period."""


def modes_page(
    scenario: Scenario,
    small: Linearization,
    modes: list[Mode],
    path: str | os.PathLike[str] | None = None,
    *,
    theme: str | None = None,
) -> str | Path:
    """Return a page on which the chain moves in a chosen mode, or write it to `path` and return that.

    `theme`: light or dark; as the reader's system if not given.

    >>> import nlink
    >>> scenario = nlink.preset("nice-3")
    >>> small = nlink.linearize(scenario.chain)
    >>> modes_page(scenario, small, small.table()).startswith("<!doctype html>")
    True
    """
    return write_page("modes", modes_content(scenario, small, modes), path, theme)


def modes_content(scenario: Scenario, small: Linearization, modes: list[Mode]) -> Content:
    """Return what the page of modes shows."""
    if not modes:
        raise ModelError("there are no modes to show: the links cannot move")
    shown = foremost(modes, max(1, min(MOST, ROOM // (MOMENTS * small.chain.n))))
    plane = plane_of(modes, shown, float(np.abs(small.eigenvalues).max(initial=0.0)))
    return {
        "title": cut(title_of("Modes", scenario.title), 200),
        "about": about(),
        "words": words(scenario_lines(scenario)),
        "takes": [_take(small, modes[k], k, len(modes), plane) for k in shown],
    }


def plane_of(modes: list[Mode], shown: list[int], scale: float) -> list[Content]:
    """Return the eigenvalues of the modes on the page, with the take that each belongs to; `scale`: the size of the largest."""
    return [
        {"x": modes[k].growth, "y": sign * modes[k].frequency, "take": take, "grows": modes[k].growth > FLAT * scale}
        for take, k in enumerate(shown)
        for sign in ((1, -1) if modes[k].frequency else (1,))
    ]


def _take(small: Linearization, mode: Mode, k: int, count: int, plane: list[Content]) -> Content:
    motion = _motion(small, mode)
    moved = {"chain": chain_data(small.chain), **motion_data(motion.t, motion.theta, motion.omega)}
    return take_of(mode, k, count, plane, moved, float(motion.t[-1]))


def take_of(mode: Mode, k: int, count: int, plane: list[Content], moved: Content, span: float) -> Content:
    """Return the take of mode k of so many: the chain and its motion, and how long that is in s."""
    return {
        "name": f"mode {k + 1}: {mode_text(mode)}",
        "summary": f"Mode {k + 1} of {count}: {_summary(mode)}; links turned by up to {math.degrees(TURN):.0f} degrees",
        "status": "",
        "words": words(_lines(mode, k)),
        **moved,
        "energy": None,
        "events": [],
        "trusted": None,
        "step": span / MOMENTS or 1.0,
        "rate": span / (SECONDS * (1.0 if mode.frequency else 2.0)) or 1.0,
        "plane": plane,
    }


def _motion(small: Linearization, mode: Mode) -> Trajectory:
    """Return one period without growth or decay; without a frequency a fall to rest, or a growth away from it, or a still shape.

    The angles at rest are taken without whole turns.
    """
    small = replace(small, theta=wrapped(small.theta))
    share = np.arange(MOMENTS + 1) / MOMENTS
    if mode.frequency:
        span = 2 * math.pi / mode.frequency
        theta = bent(small, TURN * np.real(mode.shape * np.exp(2j * math.pi * share)[:, None]))
        theta[-1] = theta[0]
        return Trajectory(span * share, theta, _rates(theta, span / MOMENTS), np.zeros_like(theta))
    if not mode.growth:
        theta = bent(small, TURN * np.real(mode.shape)[None])
        return Trajectory(np.zeros(1), theta, np.zeros_like(theta), np.zeros_like(theta))
    span = FALL / abs(mode.growth)
    theta = bent(small, TURN * np.real(mode.shape) * np.exp(-FALL * (share if mode.growth < 0 else 1 - share))[:, None])
    return Trajectory(span * share, theta, np.gradient(theta, span / MOMENTS, axis=0, edge_order=2), np.zeros_like(theta))


def _rates(theta: np.ndarray, h: float) -> np.ndarray:
    """Return the rates of a periodic motion whose last moment is its first, by differences of fourth order."""
    once = theta[:-1]
    near, far = (np.roll(once, -k, axis=0) - np.roll(once, k, axis=0) for k in (1, 2))
    rates = (8 * near - far) / (12 * h)
    return np.concatenate([rates, rates[:1]])


def _summary(mode: Mode) -> str:
    if mode.frequency:
        return f"{mode_text(mode)}, a period of {2 * math.pi / mode.frequency:.4g} s"
    return f"{'grows' if mode.growth > 0 else 'decays'} without oscillating" if mode.growth else "neutral"


def _lines(mode: Mode, k: int) -> list[tuple[str, str]]:
    plain = [f"{0.0 if abs(value) < 1e-12 else value:.6g}" for value in (mode.frequency, mode.growth, mode.ratio)]
    hertz = f" ({mode.frequency / (2 * math.pi):.6g} Hz)" if mode.frequency else ""
    growth = f"{plain[1]} 1/s; the picture shows neither growth nor decay" if mode.frequency else f"{plain[1]} 1/s"
    return [("mode", str(k + 1)), ("frequency", f"{plain[0]} rad/s{hertz}"), ("growth", growth), ("damping", f"ratio {plain[2]}")]
