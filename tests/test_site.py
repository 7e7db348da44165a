"""The site: what `make docs` does with pages, blocks and examples; its pages are accessible, and search works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from browsing import DESK, wait
from test_accessible import SCREENS, violations

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "docs" / "_build" / "html"
"""The whole site, if `make docs` has built it."""
INDEX = """# A page

<!-- hidden: a line -->
```python
import nlink
from matplotlib.figure import Figure

figure = Figure()
figure.subplots().plot([1, 2])
figure
```

Energy $E = \\frac{1}{2} m v^2$.

```python
run = nlink.simulate(nlink.Chain.uniform(1), 0.5, t_end=1.0)
run.html("swing.html")
print("two times three is", 2 * 3)
run.t.shape
```

```{player} swing.html
:title: One rod swings
```

<!-- file: mine.toml -->
```toml
links = 2
```

```sh
nlink show mine.toml | head -2
```

<!-- not run: it would fail -->
```python
1 / 0
```

```{toctree}
gallery/index
commands
api
files
```
"""


def made(folder: Path, index: str) -> subprocess.CompletedProcess[str]:
    """Build a small site with one example."""
    docs = folder / "docs"
    docs.mkdir()
    for part in ("_ext", "_static"):
        shutil.copytree(ROOT / "docs" / part, docs / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "docs" / "conf.py", docs)
    (docs / "index.md").write_text(index)
    (docs / "files.md").write_text("# Files\n\n## Exit codes of the command\n\nNone.\n")
    (folder / "src").symlink_to(ROOT / "src")
    (folder / "examples").mkdir()
    for example in ("01_three_rods_nice.py", "02_three_rods_chaotic.py", "30_flips_of_two.py"):
        shutil.copy(ROOT / "examples" / example, folder / "examples")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "html"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    done = made(folder, INDEX)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_blocks_are_run_and_shown(site):
    text = (site / "index.html").read_text()
    assert "two times three is 6\n(101,)" in text
    assert '<img alt="a line"' in text
    assert "import nlink" not in text.replace("&#39;", "'").split("swing")[0]
    assert "ZeroDivisionError" not in text
    assert "<math" in text
    assert 'src="_static/index/swing.html#play"' in text
    assert "2 equal links" in text


def test_an_example_is_a_page_with_its_pictures_and_its_player(site):
    text = (site / "gallery" / "01_three_rods_nice.html").read_text()
    assert "<h1>Three rods, all at 45 degrees" in text
    assert text.count("<img") >= 2
    assert "run.html#play" in text
    assert "energy balance open by" in text
    assert "30_flips_of_two.html" in (site / "gallery" / "index.html").read_text()


def test_the_references_are_whole(site):
    from nlink.cli import COMMANDS

    text = (site / "commands.html").read_text()
    assert all(f"nlink {name}" in text for name in COMMANDS)
    assert "--until" in text
    assert all(
        name in (site / "api.html").read_text() for name in ("nlink.simulate", "nlink.Chain", "Baumgarte", "Gauss", "Reducer")
    )


def test_a_block_that_fails_ends_the_build(tmp_path):
    pytest.importorskip("furo")
    done = made(tmp_path, "# A page\n\n```python\nraise OSError('no such luck')\n```\n")
    assert done.returncode != 0
    assert "a code block of index failed" in done.stderr
    assert "no such luck" in done.stderr


def test_search_works_without_a_server(site, browser):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((site / "search.html").as_uri() + "?q=tolerance")
        wait(page, "document.querySelectorAll('#search-results li').length > 0")


@pytest.mark.parametrize("calm", [False, True])
def test_players_in_a_page_play_unless_motion_is_to_be_reduced(site, browser, calm):
    with browser.new_context(viewport=DESK, reduced_motion="reduce" if calm else "no-preference") as context:
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        page.locator("iframe").scroll_into_view_if_needed()
        frame = page.frame_locator("iframe")
        button = frame.get_by_role("button", name="Play (space)" if calm else "Pause (space)")
        button.wait_for()


@pytest.mark.parametrize("screen", SCREENS)
def test_pages_are_accessible(site, browser, screen):
    """All pages of the whole site where it has been built; on other screens every eighth, for they have the same parts."""
    folder = BUILT if BUILT.exists() else site
    pages = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.relative_to(folder).parts]
    found = {}
    with browser.new_context(**SCREENS[screen], reduced_motion="reduce") as context:
        page = context.new_page()
        for path in pages if screen == "desk" else pages[::8]:
            page.goto(path.as_uri())
            if each := violations(page):
                found[path.relative_to(folder).as_posix()] = each
    assert found == {}
