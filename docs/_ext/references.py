"""Make the reference pages: commands.md from the command, api.md from the public names of the packages."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import typer
from executed import DOCS
from gallery import write

PACKAGES = {
    "nlink": "The main names",
    "nlink.analysis": "Stability, chaos, maps",
    "nlink.formulations": "Formulations and handlings of constraints",
    "nlink.integrators": "Integrators",
    "nlink.ensemble": "Ensembles",
}
NOTE = "The build of these pages generated this page from the program."


def command_of(name: str) -> Any:
    """Return a command with its options."""
    from nlink.cli import COMMANDS

    module, function = COMMANDS[name].split(".")
    alone = typer.Typer(add_completion=False)
    alone.command(name)(getattr(importlib.import_module(f"nlink.cli.{module}"), function))
    return typer.main.get_command(alone)


def cell(text: str) -> str:
    """Return a text that may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")


def option_row(parameter: Any) -> str:
    """Return the row of an option or an argument."""
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
    usual = parameter.default
    told = "" if usual in (None, False, True) or callable(usual) else f" Default: {usual}."
    return f"| {names} | {cell((parameter.help or '') + told)} |"


def section(name: str) -> str:
    """Return the section of a command: what it does, its examples, its options."""
    command = command_of(name)
    first, *rest = re.split(r"\n\s*\n", inspect.cleandoc(command.help or "").replace("\f", ""))
    examples = [line for part in rest for line in re.findall(r"nlink [^|\n]+", part)]
    parts = [f"## nlink {name}", " ".join(first.split())]
    parts += [" ".join(part.split()) for part in rest if not part.lstrip().startswith("Example")]
    if examples:
        parts.append("```text\n" + "\n".join(line.strip() for line in examples) + "\n```")
    rows = [option_row(parameter) for parameter in command.params if parameter.name != "help"]
    parts.append("\n".join(["| | |", "|-|-|", *rows]))
    return "\n\n".join(parts)


def commands() -> str:
    """Return the reference of the command."""
    from nlink.cli import COMMANDS

    codes = "[Exit codes](files.md#exit-codes-of-the-command)"
    head = f"# Command reference\n\n{NOTE} `nlink COMMAND --help` prints the same. {codes}.\n\n"
    return head + "\n\n".join(section(name) for name in COMMANDS) + "\n"


def entry(package: str, name: str) -> str:
    """Return the directive of a public name."""
    value = getattr(importlib.import_module(package), name)
    if inspect.isclass(value):
        return f".. autoclass:: {package}.{name}\n   :members:\n"
    return f".. autofunction:: {package}.{name}\n" if callable(value) else f".. autodata:: {package}.{name}\n   :no-value:\n"


def names_of(package: str, seen: set[int]) -> list[str]:
    """Return the public names of a package that no earlier one has."""
    module = importlib.import_module(package)
    found = []
    for name in sorted(getattr(module, "__all__", dir(module)), key=str.lower):
        value = getattr(module, name)
        if name.startswith("_") or inspect.ismodule(value) or id(value) in seen:
            continue
        seen.add(id(value))
        found.append(name)
    return found


def api() -> str:
    """Return the reference of the packages."""
    parts, seen = [f"# API reference\n\n{NOTE}"], set[int]()
    for package, title in PACKAGES.items():
        entries = [entry(package, name) for name in names_of(package, seen)]
        parts.append(f"## {title}: `{package}`\n\n```{{eval-rst}}\n" + "\n".join(entries) + "```")
    return "\n\n".join(parts) + "\n"


def make(app: Any) -> None:
    """Write both pages."""
    write(DOCS / "commands.md", commands())
    write(DOCS / "api.md", api())


def listed(paragraph: list[str]) -> list[str]:
    """Return a paragraph whose long entries go on indented as a list."""
    if paragraph[0].startswith(">>>"):
        return paragraph
    if paragraph[1:2] == ["----------"]:
        return [f"{paragraph[0]}:", "", *listed([*paragraph[2:], " "])]
    safe = [re.sub(r"([|*])", r"\\\1", re.sub(r"(?<!`)`(?!`)", "``", line)) for line in paragraph]
    if not any(line.startswith(" ") for line in safe):
        return safe
    return [f"  {line.strip()}" if line.startswith(" ") else f"- {line}" for line in safe]


def plain(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Make the plain text of a docstring what autodoc expects."""
    if what == "data":  # a table of records: its type says nothing
        lines[:] = ["The records by their names."]
    paragraphs = [part.split("\n") for part in "\n".join(lines).strip().split("\n\n") if part]
    lines[:] = [line for part in paragraphs for line in (*listed(part), "")]


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", make)
    app.connect("autodoc-process-docstring", plain)
    return {"parallel_read_safe": False}
