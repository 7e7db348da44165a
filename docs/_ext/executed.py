"""Run every code block of a page when the site is built, and show what it prints and draws.

The blocks of a page run one after another in a process and a folder of their own (`runner.py`): Python in one namespace, `sh` by
bash with the command `nlink`, TOML as a model file. A block that fails ends the build. A comment before a fence changes that:

    <!-- not run: why -->          the block is shown only
    <!-- file: mine.toml -->       the block is first written to this file
    <!-- hidden: what it draws --> the block runs and its pictures are shown, but not its code; the comment is their description
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

DOCS = Path(__file__).parents[1]
SHOWN = DOCS / "_build" / "shown"
FENCE = re.compile(
    r"(?:^<!-- (?P<order>not run|file|hidden): (?P<what>[^\n]*?) -->\n)?^```(?P<kind>python|sh|toml)\n(?P<text>.*?)^```\n",
    re.M | re.S,
)


@functools.cache
def sources() -> str:
    """Return a digest of all that a result depends on besides the block: nlink, what runs blocks, what they call."""
    digest, package = hashlib.sha256(), DOCS.parent / "src" / "nlink"
    parts = [path for path in package.rglob("*") if path.suffix in (".py", ".toml", ".js", ".html", ".css")]
    for path in (*sorted(parts), *(Path(__file__).with_name(name) for name in ("runner.py", "signs.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def environment() -> dict[str, str]:
    """Return the environment of what runs: no announcements, no window, the width of a page."""
    return {**os.environ, "NLINK_QUIET": "1", "MPLBACKEND": "Agg", "COLUMNS": "96", "NO_COLOR": "1"}


def results(page: str, blocks: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return what each block printed and drew; what has not changed since the last build is not run again."""
    folder = SHOWN / page.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    kept, key = folder / "results.json", hashlib.sha256((json.dumps(blocks) + sources()).encode()).hexdigest()
    if kept.exists() and (found := json.loads(kept.read_text()))["key"] == key:
        return found["results"]
    for path in folder.iterdir():
        path.unlink()
    words = [sys.executable, "-W", "error", str(Path(__file__).with_name("runner.py")), str(folder)]
    done = subprocess.run(words, input=json.dumps(blocks), capture_output=True, text=True, env=environment(), check=False)
    if done.returncode:
        raise ExtensionError(f"a code block of {page} failed:\n{done.stderr[-3000:]}")
    shown = json.loads((folder / "shown.json").read_text())
    kept.write_text(json.dumps({"key": key, "results": shown}))
    return shown


def markdown(page: str, match: re.Match[str], result: dict[str, Any]) -> str:
    """Return a block with what it printed and drew behind it."""
    hidden = match["order"] == "hidden"
    text = "" if hidden else f"```{match['kind']}\n{match['text']}```\n"
    if result["text"].strip() and not hidden:
        text += f"\n:::{{container}} output\n`````text\n{result['text'].rstrip()}\n`````\n:::\n"
    for name, words in result["pictures"]:
        text += f"\n![{match['what'] if hidden else words}](/_build/shown/{page.replace('/', '-')}/{name})\n"
    return text


def run_blocks(app: Any, page: str, source: list[str]) -> None:
    """Replace the code blocks of a page by themselves and their results."""
    if page.startswith("gallery/"):
        return
    matches = [match for match in FENCE.finditer(source[0]) if match["order"] != "not run"]
    blocks = [{"kind": m["kind"], "text": m["text"], "file": m["what"] if m["order"] == "file" else ""} for m in matches]
    if not blocks:
        return
    found = iter(results(page, blocks))
    source[0] = FENCE.sub(lambda m: m[0] if m["order"] == "not run" else markdown(page, m, next(found)), source[0])


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    SHOWN.mkdir(parents=True, exist_ok=True)
    app.connect("source-read", run_blocks)
    return {"parallel_read_safe": False}
