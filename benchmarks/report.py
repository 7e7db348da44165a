"""Rows of Markdown tables, as benchmarks print them and RESULTS.md shows them."""

from __future__ import annotations


def row(*cells: object) -> str:
    """Return a row of a table; a cell that is not a number is empty."""
    return "| " + " | ".join("" if (text := str(cell).strip()) == "nan" else text for cell in cells) + " |"


def head(*names: str) -> str:
    """Return the head of a table and the rule below it."""
    return f"{row(*names)}\n|{'-|' * len(names)}"
