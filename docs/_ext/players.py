"""Pages that play or simulate within a page of the site: `{player} file.html`, and equations as MathML."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.docutils import SphinxDirective


class Player(SphinxDirective):
    """A page that a code block of this page has left, in a frame: its name, what it shows, its height."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"title": directives.unchanged_required, "height": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """Return the frame and a link to the page alone."""
        page = self.env.docname
        place = f"{'../' * page.count('/')}_static/{page.replace('/', '-')}/{self.arguments[0]}"
        title, height = self.options["title"], self.options.get("height", 560)
        text = (
            f'<iframe class="player" src="{place}#play" title="{title}" height="{height}" loading="lazy"></iframe>'
            f'<p class="player-link"><a href="{place}">Open it alone: {title}</a></p>'
        )
        return [nodes.raw("", text, format="html")]


ACCENT = re.compile(r"\\(ddot|dot)\s*(\\[A-Za-z]+|[A-Za-z])_(\{[^{}]*\}|\w)")
"""A rate with an index: docutils writes the index below the letter, unless it stands within the accent."""


def mathml(text: str, block: bool) -> str:
    """Return a formula as MathML."""
    return tex2mathml(ACCENT.sub(r"\\\1{\2_\3}", text), as_block=block)


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    writer.body.append(f'<div class="math">{mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("player", Player)
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": False}
