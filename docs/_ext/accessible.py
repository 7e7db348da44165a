"""Mend in the written pages what the theme leaves open to readers who use a keyboard or listen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MENDED = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    '<th class="head"><p></p></th>': "<td></td>",
    '<div id="search-results">': '<h1>Search</h1>\n<div id="search-results">',
}
"""Headings have a level, landmarks of one kind have names, the page of the search has a title."""


def mend(app: Any, error: Exception | None) -> None:
    """Mend all pages that are written."""
    if error is None:
        for path in Path(app.outdir).rglob("*.html"):
            if "_static" in path.relative_to(app.outdir).parts:
                continue
            text = before = path.read_text(encoding="utf-8")
            for found, better in MENDED.items():
                text = text.replace(found, better)
            if text != before:
                path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_js_file("nlink.js")
    app.connect("build-finished", mend)
    return {"parallel_read_safe": False}
