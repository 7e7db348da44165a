"""How the sources are built: one idea stands in one place."""

import re
from pathlib import Path

import nlink

SOURCES = [path for path in Path(nlink.__file__).parent.rglob("*") if path.suffix in (".py", ".pyi", ".js", ".toml")]


def files_with(pattern: str) -> list[str]:
    return sorted(path.name for path in SOURCES if re.search(pattern, path.read_text(encoding="utf-8"), re.IGNORECASE))


def test_a_load_stands_in_its_file_the_tables_of_names_and_presets():
    assert files_with(r"link_?damp") == ["__init__.py", "__init__.pyi", "driven-1.toml", "link_damper.py", "rayleigh-4.toml"]


def test_rows_of_numbers_have_names():
    """No number stands for a row of the links, of single values or of the ledger."""
    rows = r"\blinks\[\d+,|\btip\[\d+\]|\bpower\[row \+ \d+\]"
    found = {path.name: re.findall(rows, path.read_text(encoding="utf-8")) for path in SOURCES if path.suffix == ".py"}
    assert not {name: matches for name, matches in found.items() if matches}
