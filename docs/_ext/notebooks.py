"""Make pages of the notebooks: the cells of NAME.ipynb become NAME.md, whose code is then run as that of any page."""

from __future__ import annotations

import json
from typing import Any

from executed import DOCS
from gallery import write

FOLDER = DOCS / "notebooks"


def page(name: str) -> str:
    """Return the page of a notebook, with a link to it."""
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    parts = ["".join(cell["source"]) if cell["cell_type"] == "markdown" else code("".join(cell["source"])) for cell in cells]
    head, _, rest = parts[0].partition("\n")
    parts[0] = f"{head}\n\nThis page is the notebook [{name}.ipynb]({name}.ipynb).\n{rest}"
    return "\n\n".join(parts) + "\n"


def code(text: str) -> str:
    """Return a cell of code as a block."""
    return f"```python\n{text.rstrip()}\n```"


def make(app: Any) -> None:
    """Write the pages."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        write(path.with_suffix(".md"), page(path.stem))


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", make)
    return {"parallel_read_safe": False}
