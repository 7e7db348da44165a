"""One self-contained HTML page for a run, for the modes of a chain, or for a map: all code, style and data in one file.

The code is the ES modules in `web/`, put one after another with their import and export words taken off, so their outermost names
must differ. A content policy allows this very code and style, by their hashes, and nothing else: no request can leave the page.
"""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.resources
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nlink._support.checks import choice
from nlink._support.endings import PAGE, check_ending
from nlink._support.files import written_whole
from nlink.mechanics.loads import JointTorque
from nlink.scenario import Scenario
from nlink.view import THEMES
from nlink.view.packing import Content, packed
from nlink.view.takes import LITTLE, run_content

if TYPE_CHECKING:
    from nlink.mechanics.points import Point
    from nlink.run.run import Run

ENTRY, SPACE = "app.js", "spaceapp.js"
"""The module that a page begins with, and that of a run in space."""
IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
COMMENT = re.compile(r"^ *//(?: .*)?\n", re.MULTILINE)
OUTERMOST = re.compile(r"^(?:export )?(?:async )?(?:const|let|function|class) (\w+)", re.MULTILINE)
MOST_LINKS = 200
"""Most links of a chain that the studio takes."""
HEIGHT = 640
"""Pixels that a run takes in a notebook."""

TEMPLATE = """<!doctype html>
<html lang="en"{theme}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="nlink">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="nlink"><noscript>This page shows a moving chain; it needs JavaScript.</noscript></div>
<script type="application/json" id="nlink-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def run_page(
    run: Run, path: str | os.PathLike[str] | None = None, *, theme: str | None = None, trace: Point | None = None, **look: object
) -> str | Path:
    """Return the page of a run as text, or write it to `path` and return that.

    `theme`: light or dark; as the reader's system if not given. `trace`: the point that draws the trail. `look`: how it begins:
    speed (1 is real time), trail in s, hinges, centres, style ("bar" or "line"); in space azimuth and elevation in rad.

    >>> import nlink
    >>> run = nlink.simulate(nlink.Chain.uniform(2), [0.5, 0.5], t_end=1.0)
    >>> run_page(run, "double.html")  # doctest: +SKIP
    PosixPath('double.html')
    """
    content = run_content(run, look=look, trace=trace) | {"model": _model(run.scenario)}
    return write_page("run", content, path, theme, entry_of(run))


def entry_of(run: Run) -> str:
    """Return the module that a page of a run begins with."""
    return SPACE if run.chain.spatial else ENTRY


def _model(scenario: Scenario) -> Content | None:
    """Return the model that the studio can open, if it can: it takes chains of some links, without functions as torques."""
    torque = scenario.chain.load(JointTorque)
    fits = scenario.chain.n <= MOST_LINKS and not (torque and callable(torque.torque))
    return scenario.to_dict() if fits else None


def notebook_frame(run: Run) -> str | None:
    """Return a run for a notebook: its page in a frame of its own, with fewer moments; nothing for a run without a saved point."""
    return framed(_page("run", run_content(run, LITTLE), entry=entry_of(run)), "A run") if len(run.t) else None


def framed(text: str, title: str) -> str:
    """Return a page for a notebook: in a frame of its own."""
    style = f"width:100%;height:{HEIGHT}px;border:0"
    srcdoc = html.escape(text)
    return f'<iframe title="{title}" sandbox="allow-scripts allow-downloads" style="{style}" srcdoc="{srcdoc}"></iframe>'


def write_page(
    kind: str, content: Content, path: str | os.PathLike[str] | None, theme: str | None = None, entry: str = ENTRY
) -> str | Path:
    """Return the page of a kind (run, modes, map) as text, or write it to `path`, whole or not at all, and return that.

    `theme`: light or dark; as the reader's system if not given.
    """
    if path is not None:
        check_page(path)
    text = _page(kind, content, theme, entry)
    return text if path is None else write_text(text, path)


def check_page(path: str | os.PathLike[str]) -> None:
    """Refuse a name that is not that of a page."""
    check_ending("a page", Path(path), (PAGE,), "pictures: nlink plot")


def write_text(text: str, path: str | os.PathLike[str]) -> Path:
    """Write a page, whole or not at all, and return its path."""
    path = Path(path)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return path


def _page(kind: str, content: Content, theme: str | None = None, entry: str = ENTRY) -> str:
    return page_text(str(content["title"]), {"kind": kind, **packed(content)}, bundle(entry), asset("theme.css"), theme)


def page_text(title: str, data: Content, script: str, style: str, theme: str | None = None) -> str:
    """Return a page with its data (plain), code and style, in a theme, light or dark; as the reader's system if not given."""
    return TEMPLATE.format(
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'",
        theme=f' data-theme="{choice("theme", theme, THEMES)}"' if theme else "",
        title=html.escape(title),
        style=style,
        data=_inert(json.dumps(data, separators=(",", ":"))),
        script=script,
    )


@cache
def bundle(entry: str) -> str:
    """Return the code of a page: every module that the entry needs, those it builds on first, without comments and indentation."""
    parts = [asset(name) for name in _modules(entry)]
    names = [name for part in parts for name in OUTERMOST.findall(part)]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"names that more than one module of the page has: {', '.join(sorted(twice))}")
    return "\n".join(re.sub(r"^(?:export |\s+)", "", COMMENT.sub("", IMPORT.sub("", part)), flags=re.MULTILINE) for part in parts)


def _modules(name: str) -> list[str]:
    """Return a module and those that it imports, each behind those that it builds on."""
    needed = [module for imported in IMPORT.findall(asset(name)) for module in _modules(imported)]
    return list(dict.fromkeys([*needed, name]))


@cache
def asset(name: str) -> str:
    """Return the text of a file in `web/`."""
    return (importlib.resources.files("nlink.view") / "web" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inert(data: str) -> str:
    """Return JSON in which nothing can end its element or begin another."""
    for sign in "<>&\u2028\u2029":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return data
