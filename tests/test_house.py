"""How the sources are built: one idea stands in one place."""

import ast
import re
from pathlib import Path

import nlink

PACKAGE = Path(nlink.__file__).parent
SOURCES = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyi", ".js", ".toml")]


def files_with(pattern: str) -> list[str]:
    return sorted(path.name for path in SOURCES if re.search(pattern, path.read_text(encoding="utf-8"), re.IGNORECASE))


def test_a_load_stands_in_its_file_the_tables_of_names_and_presets():
    assert files_with(r"link_?damp") == [
        "__init__.py",
        "__init__.pyi",
        "catenary-50.toml",
        "driven-1.toml",
        "link_damper.py",
        "rayleigh-4.toml",
    ]


def test_rows_of_numbers_have_names():
    """No number stands for a row of the links, of single values or of the ledger."""
    rows = r"\blinks\[\d+,|\btip\[\d+\]|\bpower\[row \+ \d+\]"
    found = {path.name: re.findall(rows, path.read_text(encoding="utf-8")) for path in SOURCES if path.suffix == ".py"}
    assert not {name: matches for name, matches in found.items() if matches}


def test_an_output_stands_in_its_file_and_the_tables_of_names():
    assert files_with("extremes") == ["__init__.py", "__init__.py", "__init__.pyi", "extremes.py", "refusals.py"]


def test_no_function_outside_the_command_line_takes_a_dozen_positional_arguments():
    most = 12
    long = {}
    for path in (path for path in SOURCES if path.suffix == ".py" and path.parent.name != "cli"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and len(node.args.posonlyargs) + len(node.args.args) > most:
                long[f"{path.name}: {node.name}"] = len(node.args.args)
    assert not long


def test_types_are_named():
    """Annotations say what is meant; Any stays where a library has no types, or a value may be anything."""
    assert sum(len(re.findall(r"\bAny\b", path.read_text(encoding="utf-8"))) for path in SOURCES if path.suffix == ".py") < 700


def test_own_types_are_not_asked_for_their_attributes():
    """`hasattr` is left for what is not of nlink: modules and systems that differ, and values of users."""
    asked = {
        path.relative_to(Path(nlink.__file__).parent).as_posix()
        for path in SOURCES
        if path.suffix == ".py" and "hasattr(" in path.read_text(encoding="utf-8")
    }
    assert asked <= {
        "_support/checks.py", "_support/interrupt.py", "cli/__init__.py", "compiled/cache_folder.py", "compiled/cuda.py",
        "ensemble/cluster.py", "ensemble/fingerprint.py",
    }  # fmt: skip


def test_slow_tests_are_there():
    """`make test` leaves out tests by name: a name that no test has any more leaves out nothing."""
    tests = Path(__file__).parent
    names = (tests / "data" / "slow.txt").read_text(encoding="utf-8").split()
    sources = {file: (tests / file).read_text(encoding="utf-8") for file in {name.split("::")[0] for name in names}}
    assert [name for name in names if f"def {name.split('::')[1]}(" not in sources[name.split("::")[0]]] == []
