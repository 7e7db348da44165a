"""What the README, the guide and the examples show works when pasted."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nlink import Scenario

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    pages = [page for page in PAGES if page.name != "mechanisms.md"]  # its blocks stand on each other: see test_mechanism_page
    found = [(page.name, text) for page in pages for text in re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)]
    assert found
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(("page", "text"), blocks("python"))
def test_python_in_the_pages_runs(page: str, text: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "text"), blocks("toml"))
def test_models_in_the_pages_load(page: str, text: str) -> None:
    table = tomllib.loads(text)
    assert Scenario.from_dict(table).chain.n >= 1


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_and_pictures_of_the_pages_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S))
    local = [link.partition("#") for link in links if not link.startswith("http")]
    assert not [path for path, _, _ in local if path and not (page.parent / path).exists()]
    for path, _, anchor in local:
        text = (page.parent / path).read_text() if anchor and path else page.read_text()
        heads = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.*)$", text, re.M)}
        assert not anchor or anchor in heads, anchor


def test_the_views_are_shown_before_and_after() -> None:
    """docs/views.md shows each picture that scripts/views.py takes; the page that simulates is new."""
    shown = set(re.findall(r"\(views/([\w-]+)\.webp\)", (ROOT / "docs" / "views.md").read_text()))
    after = {name for name in shown if not name.endswith("-before")}
    assert len(after) == 10
    assert shown - after == {f"{name}-before" for name in after - {"live"}}
    assert shown == {path.stem for path in (ROOT / "docs" / "views").iterdir()}


def test_commands_in_the_readme_exist() -> None:
    text = (ROOT / "README.md").read_text()
    used = {name for block in re.findall(r"```sh\n(.*?)```", text, re.S) for name in re.findall(r"^nlink (\w+)", block, re.M)}
    assert used >= {"run", "presets", "show", "plot", "animate", "export"}
    help_text = subprocess.run(
        [Path(sys.executable).with_name("nlink"), "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(name in help_text for name in used)
