"""Run the code blocks of one page: `python runner.py FOLDER < blocks.json` writes FOLDER/shown.json, pictures and pages."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

DOTS = 144


def words_of(figure: Any) -> str:
    """Return a description of a figure from the labels of its axes."""
    told = [f"{ax.get_ylabel()} over {ax.get_xlabel()}" for ax in figure.axes if ax.get_xlabel() and ax.get_ylabel()]
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    return ("; ".join(dict.fromkeys(told or titles)) or "Picture drawn by the code above").replace("\n", " ").replace("]", ")")


def shown_value(value: Any, folder: Path, result: dict[str, Any]) -> None:
    """Show the value of the last line of a block: figures as pictures, all else as text."""
    for figure in value if isinstance(value, (list, tuple)) and value and hasattr(value[0], "savefig") else [value]:
        if hasattr(figure, "savefig"):
            name = f"{len(list(folder.glob('*.png')))}.png"
            figure.savefig(folder / name, dpi=DOTS)
            result["pictures"].append((name, words_of(figure)))
        elif figure is not None:
            print(repr(figure))


def run_python(text: str, names: dict[str, Any], folder: Path, result: dict[str, Any]) -> None:
    """Run a block as a notebook would: a last line that is an expression is shown."""
    tree = ast.parse(text)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as told:
        exec(compile(tree, "<page>", "exec"), names)
        if last is not None:
            shown_value(eval(compile(last, "<page>", "eval"), names), folder, result)
    result["text"] += told.getvalue()


def run_shell(text: str, folder: Path, result: dict[str, Any]) -> None:
    """Run the lines of a block by bash, and show the pictures that they leave; a failure ends the page."""
    before = set(Path.cwd().rglob("*.png"))
    done = subprocess.run(["bash", "-e", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{text}\n{done.stdout}")
    result["text"] += done.stdout
    for path in sorted(set(Path.cwd().rglob("*.png")) - before):
        shutil.copy(path, folder)
        result["pictures"].append((path.name, f"The picture {path.name} that the command has drawn"))


def run(block: dict[str, str], names: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run one block and return what it shows."""
    result: dict[str, Any] = {"text": "", "pictures": []}
    if block["file"]:
        Path(block["file"]).write_text(block["text"])
    if block["kind"] == "python":
        run_python(block["text"], names, folder, result)
    elif block["kind"] == "sh":
        run_shell(block["text"], folder, result)
    else:
        from nlink import Scenario

        Scenario.from_dict(tomllib.loads(block["text"]))
    return result


def main(folder: Path) -> None:
    """Run all blocks in a folder that is removed afterwards; pictures and pages that they leave are kept."""
    blocks = json.load(sys.stdin)
    page, own = ModuleType("__main__"), sys.modules["__main__"]
    sys.modules["__main__"] = page
    with tempfile.TemporaryDirectory() as here:
        command = Path(here) / ".bin" / "nlink"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nlink "$@"\n')
        command.chmod(0o755)
        os.environ["PATH"] = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        os.chdir(here)
        shown = [run(block, page.__dict__, folder) for block in blocks]
        for path in Path(here).iterdir():
            if path.suffix in (".html", ".png", ".gif", ".webp", ".svg"):
                shutil.copy(path, folder)
        os.chdir(folder)
    sys.modules["__main__"] = own
    (folder / "shown.json").write_text(json.dumps(shown))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
