"""Make the gallery: run each script of examples/ and write a page with its prose, its code, what it printed and drew.

A script NN_name.py begins with a docstring: the first line is the title, the rest the prose. It leaves its pictures (.png, .webp)
and pages (.html) in the folder that is its first argument.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from executed import DOCS, SHOWN, environment, sources
from sphinx.errors import ExtensionError

EXAMPLES, PAGES = DOCS.parent / "examples", DOCS / "gallery"
GROUPS = {
    range(30): (
        "The seeds",
        "nlink grew from five documents on chains of links: two student projects, two notes and a worksheet. These pages run "
        "each of their cases again, and say what agrees, what was wrong there and why.",
    ),
    range(30, 100): ("What none of the seeds has", "Maps, columns, long chains, loops, exponents, control, mechanisms, space."),
}


class Shown(NamedTuple):
    """A script as a page: its name, title, prose, what it printed, its files, the seconds it took."""

    name: str
    title: str
    prose: str
    printed: str
    files: list[str]
    seconds: float


def run(script: Path, folder: Path) -> tuple[str, float]:
    """Run a script; return what it printed and the seconds it took. What has not changed is not run again."""
    folder.mkdir(parents=True, exist_ok=True)
    kept, key = folder / "results.json", hashlib.sha256(script.read_bytes() + sources().encode()).hexdigest()
    if kept.exists() and (found := json.loads(kept.read_text()))["key"] == key:
        return found["printed"], found["seconds"]
    for path in folder.iterdir():
        path.unlink()
    start = time.perf_counter()
    words = [sys.executable, "-W", "error", str(script), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), cwd=folder, check=False)
    if done.returncode:
        raise ExtensionError(f"{script.name} failed:\n{done.stderr[-3000:]}")
    seconds = time.perf_counter() - start
    kept.write_text(json.dumps({"key": key, "printed": done.stdout, "seconds": seconds}))
    return done.stdout, seconds


def shown(script: Path) -> Shown:
    """Run a script and gather its page."""
    folder = SHOWN / f"gallery-{script.stem}"
    printed, seconds = run(script, folder)
    words = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    title, _, prose = words.partition("\n")
    files = sorted(path.name for path in folder.iterdir() if path.suffix in (".png", ".webp", ".html"))
    return Shown(script.stem, title.rstrip("."), prose.strip(), printed, files, seconds)


def described(name: str, title: str) -> str:
    """Return a description of a picture: its file's name in words, and the title of the page."""
    return f"{Path(name).stem.replace('-', ' ').replace('_', ' ').capitalize()}: {title}"


def page(each: Shown) -> str:
    """Return the page of a script."""
    code = (EXAMPLES / f"{each.name}.py").read_text(encoding="utf-8")
    code = re.sub(r'^r?""".*?"""\n+', "", code, count=1, flags=re.S)
    parts = [f"# {each.title}", each.prose]
    for name in each.files:
        if name.endswith(".html"):
            parts.append(f":::{{player}} {name}\n:title: {each.title}\n:::")
        else:
            parts.append(f"![{described(name, each.title)}](/_build/shown/gallery-{each.name}/{name})")
    parts.append(f":::{{container}} output\n`````text\n{each.printed.rstrip()}\n`````\n:::")
    parts.append(f"The whole script, [{each.name}.py](/../examples/{each.name}.py), which took {each.seconds:.0f} s here:")
    parts.append(f"`````python\n{code.rstrip()}\n`````")
    return "\n\n".join(parts) + "\n"


def card(each: Shown) -> str:
    """Return the entry of a page in the list: its first picture and its title."""
    pictures = [name for name in each.files if not name.endswith(".html")]
    place = f"../_build/shown/gallery-{each.name}/{pictures[0]}"
    return (
        f":::{{figure}} {place}\n:target: {each.name}.html\n:alt: {each.title}\n:class: card\n\n[{each.title}]({each.name}.md)\n:::"
    )


def index(pages: list[Shown]) -> str:
    """Return the list of all pages in their groups."""
    parts = ["# Gallery", "The build of these pages ran every script and made every picture. Each page has its script."]
    for numbers, (title, words) in GROUPS.items():
        inside = [each for each in pages if int(each.name[:2]) in numbers]
        parts += [f"## {title}", words, "::::{container} cards", *map(card, inside), "::::"]
        parts.append("```{toctree}\n:hidden:\n\n" + "\n".join(each.name for each in inside) + "\n```")
    return "\n\n".join(parts) + "\n"


def write(path: Path, text: str) -> None:
    """Write a page if it has changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def make(app: Any) -> None:
    """Run all scripts and write their pages."""
    PAGES.mkdir(exist_ok=True)
    pages = [shown(script) for script in sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))]
    wanted = {f"{each.name}.md": page(each) for each in pages} | {"index.md": index(pages)}
    for path in PAGES.glob("[0-9][0-9]_*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        write(PAGES / name, text)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", make)
    return {"parallel_read_safe": False}
