"""The page about chains in space: it names all there is, its signs are those of nlink, its pictures are drawn by a script."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from helpers import check_commands

import nlink
from nlink.mechanics.loads import LOADS, SPACE_LOADS
from nlink.mechanics.space import kinematics
from nlink.models.space import SHAPES
from nlink.models.space_starts import POSES
from nlink.models.space_starts import SHAPES as STARTS
from nlink.studio.offers import IN_SPACE
from nlink.view.space.plots import SPACE_PLOTS

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "space.md").read_text(encoding="utf-8")


def test_the_page_names_all_there_is():
    presets = [name for name in nlink.presets() if nlink.preset(name).chain.spatial]
    kinds = [kind.__name__ for kind in (LOADS | SPACE_LOADS).values()]
    for name in (
        *presets,
        *kinds,
        *STARTS,
        *POSES,
        "Ball",
        "Hinge",
        "Universal",
        "Rattle",
        "Taylor",
        "azimuth",
        "elevation",
        "turn",
    ):
        assert re.search(rf"`[^`]*\b{name}\b[^`]*`", PAGE), name
    for name in (*SHAPES, *SPACE_PLOTS):
        assert re.search(rf"\b{name}\b", PAGE), name
    assert {kind.title() for kind in IN_SPACE} - {"Flips"} <= set(re.findall(r"\b[A-Z]\w+\b", PAGE))


def test_the_signs_are_as_it_says():
    chain = nlink.SpatialChain.uniform(1)
    position, velocity = chain.start([(0.5, 0.3)], [(0.0, 1.0, 0.0)])
    e = kinematics.directions(chain, position)[0]
    assert e == pytest.approx([np.sin(0.5) * np.cos(0.3), -np.cos(0.5), np.sin(0.5) * np.sin(0.3)])
    later = kinematics.directions(chain, position + 1e-6 * velocity)[0]
    assert kinematics.azimuth(later) < kinematics.azimuth(e)  # a positive rate about y: the azimuth falls
    assert kinematics.HANGING == 1e-6


def test_commands_in_the_text_are_those_of_nlink():
    check_commands(PAGE, 3)


def test_its_pictures_are_those_that_the_script_draws():
    script = (DOCS.parent / "scripts" / "space_pictures.py").read_text(encoding="utf-8")
    shown = set(re.findall(r"\(space/(\w+)\.webp\)", PAGE))
    assert shown == {path.stem for path in (DOCS / "space").iterdir()}
    assert all(f"{name}.webp" in script for name in shown)
    for page in (DOCS / "guide.md", DOCS.parent / "README.md"):
        assert "space.md)" in page.read_text(encoding="utf-8")
