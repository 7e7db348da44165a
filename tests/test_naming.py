"""Public text keeps to the terms of docs/naming.md."""

import re
from pathlib import Path

import nlink

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "naming.md"


def avoided() -> list[str]:
    """Return the phrases of the last table of the page that are not used."""
    table = PAGE.read_text(encoding="utf-8").split("| not | but |")[1]
    return [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]


def test_phrases_that_cost_the_reader_time_are_not_used():
    sources = [path for path in Path(nlink.__file__).parent.rglob("*") if path.suffix in (".py", ".js", ".html")]
    pages = [path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")) if path != PAGE]
    phrases = {phrase: re.compile(phrase.removeprefix("a ").removeprefix("Gauss "), re.IGNORECASE) for phrase in avoided()}
    assert len(phrases) >= 5
    found = {
        (path.name, phrase)
        for path in (*sources, *pages)
        for phrase, pattern in phrases.items()
        if pattern.search(" ".join(path.read_text(encoding="utf-8").split()))
    }
    assert not found
