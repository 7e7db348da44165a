"""The site: `make docs` builds it into docs/_build/html, warnings being errors."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

from nlink._support.version import __version__  # noqa: E402

project, author, release, version = "nlink", "The nlink developers", __version__, __version__
copyright = "2026, The nlink developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "executed", "players", "accessible", "gallery", "notebooks", "references"]
exclude_patterns = ["_build", "_ext"]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["toc.empty_glob"]
smartquotes = False  # options begin with two hyphens, and a derivative ends with two primes

html_theme = "furo"
html_title = f"nlink {release}"
html_math_renderer = "mathml"
html_static_path = ["_static", "_build/shown"]
html_css_files = ["nlink.css"]
html_show_search_summary = False  # it is fetched, which browsers refuse to pages opened as files
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "light_css_variables": {"color-brand-content": "#0b5cad"}}
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autoclass_content = "class"
autodoc_default_options = {"inherited-members": False}

ELSEWHERE = {"](../benchmarks/RESULTS.md": "](benchmarks.md", "](../CHANGELOG.md": "](changelog.md"}


def rewrite(app, page, source):
    """Lead links to files that are pages of the site to these pages; leave out pages that are not there yet."""
    for file, here in ELSEWHERE.items():
        source[0] = source[0].replace(file, here)
    source[0] = re.sub(r"\]\((?:\.\./)+examples/(\d\d_\w+)\.py\)", r"](/gallery/\1.md)", source[0])
    source[0] = re.sub(r"\]\((?:\.\./)+examples\)", "](/gallery/index.md)", source[0])
    if page == "index":
        source[0] = "\n".join(line for line in source[0].split("\n") if line != "space" or (HERE / "space.md").exists())


def include(app, path, page, source):
    """Lead links of files from above this folder to pages of the site."""
    source[0] = source[0].replace("](docs/", "](")


def setup(app):
    """Connect to Sphinx."""
    app.connect("source-read", rewrite)
    app.connect("include-read", include)
