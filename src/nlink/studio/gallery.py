"""The presets as the page offers them: in groups, under short names, each with its model, of which the page draws the start."""

from __future__ import annotations

from functools import cache

from nlink.scenario import preset, presets
from nlink.studio.messages import Json, page_model
from nlink.studio.space import sketch_of

GROUPS: dict[str, dict[str, str]] = {
    "First steps": {
        "point-2": "double pendulum",
        "point-3": "triple pendulum",
        "nice-3": "three rods, a calm swing",
        "nice-5": "five rods, a calm swing",
        "nice-6": "six rods, a calm swing",
        "offaxis-double": "a mass off its axis",
        "heavy-tip-5": "a heavy tip",
        "massless-3": "massless links",
    },
    "Chaos": {
        "chaotic-3": "three rods",
        "chaotic-5": "five rods",
        "chaotic-6": "six rods",
        "chaotic-15": "fifteen rods",
        "driven-1": "a driven pendulum",
        "chaotic-8-driven": "eight driven rods",
    },
    "Springs and dampers": {
        "chaotic-3-springs": "springs",
        "chaotic-3-springs-friction": "springs and friction",
        "rayleigh-4": "dampers on the links",
    },
    "Closed loops": {
        "four-bar": "four-bar",
        "five-bar": "five-bar",
        "watt": "Watt's linkage",
        "catenary-50": "a chain of fifty links",
    },
    "Linkages": {
        "slider-crank": "slider-crank",
        "peaucellier": "Peaucellier's straight line",
        "jansen": "Jansen's leg",
        "andrews": "Andrews' squeezer",
        "a02-40": "forty loops in a row",
    },
    "Carts, trees, moving pivots": {
        "cart-pole": "a pole on a cart",
        "cart-2": "two rods on a cart",
        "kapitza": "Kapitza's pendulum",
        "floating-3": "floating rods",
        "tree-5": "a tree",
    },
    "In space": {
        "spherical-1": "a spherical pendulum",
        "cone-2": "two rods turning steadily",
        "spiral-5": "five rods from a spiral",
        "lasso-20": "a lasso of twenty rods",
        "rope-50": "a rope of fifty rods",
        "top": "a heavy top",
        "turning-over": "a body that turns over",
        "gyro-3": "three spinning rods",
    },
    "Stability": {
        "follower-5": "flutter",
    },
}
"""Presets by groups, each with the words below its picture."""


@cache
def gallery() -> list[Json]:
    """Return the groups, with those that stand in none last."""
    named = {name for group in GROUPS.values() for name in group}
    others = {name: name for name in presets() if name not in named}
    groups = GROUPS | ({"Others": others} if others else {})
    return [{"name": name, "presets": [_entry(*entry) for entry in group.items()]} for name, group in groups.items()]


def _entry(name: str, label: str) -> Json:
    scenario = preset(name)
    sketch = {"sketch": sketch_of(scenario)} if scenario.chain.spatial else {}
    return {"name": name, "label": label, "model": page_model(scenario), **sketch}
