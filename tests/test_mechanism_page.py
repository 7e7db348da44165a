"""The page about mechanisms: its code runs, its model files are read, its numbers are right, and it names what there is."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import check_commands

import nlink
from nlink import Scenario, integrators
from nlink.mechanics import loop_closure
from nlink.mechanics.points import CLOSURES
from nlink.models.systems import JOINT_KEYS
from nlink.view.plot import PLOTS

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
CLAIMED = re.compile(r"^(.+?)  # (\(.*\)|\[.*\])$", re.MULTILINE)
"""A line that says what its value is."""


def blocks(language: str) -> list[str]:
    """The code blocks of the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def claims(block: str) -> list[tuple[str, Any]]:
    """The expressions of a block that stand for themselves, and the values that their comments say."""
    found = []
    for expression, said in CLAIMED.findall(block):
        try:
            found.append((expression, ast.literal_eval(said)))
        except (SyntaxError, ValueError):
            assert "=" in expression  # an assignment, explained
    return found


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the code blocks define, run one after another."""
    defined: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "docs/mechanisms.md", "exec"), defined)
        for expression, said in claims(block):
            assert eval(expression, defined) == said, expression
    return defined


def test_the_code_runs_and_its_values_are_right(names):
    assert len(blocks("python")) >= 5
    assert sum(len(claims(block)) for block in blocks("python")) >= 4
    assert names["kapitza"].prescribed.tolist() == [True, False]
    assert names["turn"].theta.shape == (360, 3)
    assert names["turn"].point(nlink.At(1, 1.5)).shape == (360, 2)


def test_the_model_file_starts_as_it_says():
    for block in blocks("toml"):
        scenario = Scenario.from_dict(tomllib.loads(block))
        assert scenario.theta[0] == pytest.approx(np.radians(60.0))
        assert np.abs(loop_closure.gap(scenario.chain, np.array(scenario.theta))).max() < 1e-12
        assert Scenario.from_dict(tomllib.loads(scenario.to_toml())) == scenario


def test_commands_in_the_text_are_those_of_nlink():
    check_commands(PAGE, 5)


def test_the_page_names_all_there_is():
    for name in (*JOINT_KEYS, *CLOSURES, "floating", "start.drive", "branch"):
        assert f"`{name}`" in PAGE or f'"{name}"' in PAGE, name
    for name in (*nlink.FORMULATIONS, *integrators.INTEGRATORS):
        assert re.search(rf"\b{name}\b", PAGE), name
    assert "coupler" in PLOTS
    mechanisms = [name for name in nlink.presets() if isinstance(nlink.preset(name).chain, nlink.Mechanism)]
    assert [name for name in mechanisms if f"`{name}`" not in PAGE] == []


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE):
        assert (DOCS / target).is_file(), target
    guide = (DOCS / "guide.md").read_text(encoding="utf-8")
    assert "(mechanisms.md)" in guide
    assert "(docs/mechanisms.md)" in (DOCS.parent / "README.md").read_text(encoding="utf-8")
