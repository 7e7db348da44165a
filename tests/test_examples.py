"""What the README, the guide and the examples show works when pasted."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nlink import Scenario

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MADE = {"commands.md", "api.md"}
"""Pages that are made when the site is built."""
PAGES = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in MADE)]
PAGES += [*sorted((ROOT / "docs" / "howto").glob("*.md")), ROOT / "docs" / "notebooks" / "index.md"]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LONGEST = 60
SHOWN_ONLY = "<!-- not run: "
LOAD_OF_ONE_S_OWN = "extending.md"
"""Its blocks register a load, which compiles all kernels anew: `test_extending` runs them."""


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page that are run when the site is built."""
    found = re.findall(rf"(<!-- [^\n]* -->\n)?```{language}\n(.*?)```", page.read_text(), re.S)
    return [text for order, text in found if not order.startswith(SHOWN_ONLY)]


def run(program: str, folder: Path, *words: str) -> str:
    """Run a program, or fail with what it said; return what it printed."""
    places = f"{ROOT / 'docs' / '_ext'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": places, "MPLBACKEND": "Agg"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs_and_leaves_a_picture(path: Path, tmp_path: Path) -> None:
    """What `make docs` has run in this state of the sources is not run again."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        from gallery import shown
    except ImportError:  # the tools of the site are not installed
        assert run(path.read_text(), tmp_path, str(tmp_path))
        assert list(tmp_path.glob("*.png"))
    else:
        page = shown(path)
        assert page.printed
        assert any(name.endswith(".png") for name in page.files)
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_is_short_and_begins_with_prose(path: Path) -> None:
    assert re.fullmatch(r"\d\d_\w+\.py", path.name)
    assert len(path.read_text().splitlines()) <= LONGEST
    title, _, prose = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")
    assert len(title) < 80
    assert len(prose) > 200


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_in_the_pages_runs(page: Path, tmp_path: Path) -> None:
    """The blocks of a page stand on those before them."""
    if page.name == LOAD_OF_ONE_S_OWN:
        pytest.skip("see test_extending")
    for file, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", page.read_text(), re.S):
        (tmp_path / file).write_text(text)
    run("\n".join(blocks(page, "python")), tmp_path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = json.loads(path.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    run("\n".join("".join(cell["source"]) for cell in cells), tmp_path)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=lambda page: page.name)
def test_models_in_the_pages_load(page: Path) -> None:
    for text in blocks(page, "toml"):
        assert Scenario.from_dict(tomllib.loads(text)).chain.n >= 1


def test_every_preset_of_the_seeds_has_its_page() -> None:
    """The table of seed cases: each preset is run by an example of the gallery."""
    code = "\n".join(path.read_text() for path in EXAMPLES)
    cases = """
        nice-3 nice-5 nice-6 chaotic-3 chaotic-5 chaotic-6 chaotic-15 chaotic-3-springs chaotic-3-springs-friction
        chaotic-8-driven heavy-tip-5 massless-3 four-bar five-bar catenary-50 point-2 point-3 follower-5 offaxis-double
        rayleigh-4
    """
    assert [name for name in cases.split() if f'"{name}"' not in code] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_and_pictures_of_the_pages_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S))
    local = [link.partition("#") for link in links if not link.startswith("http")]
    assert not [path for path, _, _ in local if path and not (page.parent / path).exists()]
    for path, _, anchor in local:
        text = (page.parent / path).read_text() if anchor and path else page.read_text()
        heads = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.*)$", text, re.M)}
        assert not anchor or anchor in heads, anchor


@pytest.mark.parametrize("page", [*PAGES, ROOT / "benchmarks" / "RESULTS.md"], ids=lambda page: page.name)
def test_rows_of_the_tables_are_as_long_as_their_heads(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    assert text.count("```") == 0
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.M):
        widths = {len(re.sub(r"`[^`]*`|\\\|", "", line).split("|")) for line in table.splitlines()}
        assert len(widths) == 1, table[:200]


def test_results_are_tables() -> None:
    assert "```" not in (ROOT / "benchmarks" / "RESULTS.md").read_text()


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
