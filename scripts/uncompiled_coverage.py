"""Run the tests that `tests/test_uncompiled.py` runs without the compiler; print which lines of the compiled code they reach.

    python scripts/uncompiled_coverage.py            a table
    python scripts/uncompiled_coverage.py --lines    with the lines that were not reached

Compiled code is every function without annotations in the files that `jit.COMPILED` lists, nested ones included. Left out are
functions that build instructions (`@intrinsic`), those that `@dispatched` replaces, and files for a GPU alone (GPU_ONLY).
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"
ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
REPLACED = {"intrinsic", "dispatched", "_piece", "jit"}
GPU_ONLY = {"ensemble/gpu.py", "ensemble/gpu_kernels.py"}

reached: defaultdict[str, set[int]] = defaultdict(set)


def tracer(package: str) -> Any:
    """Return a trace function that notes the lines of a package."""

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            reached[frame.f_code.co_filename].add(frame.f_lineno)
        return line

    return lambda frame, event, argument: line if frame.f_code.co_filename.startswith(package) else None


def decorators(node: ast.FunctionDef) -> set[str]:
    """Return the names of a function's decorators."""
    called = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return {getattr(each, "id", getattr(each, "attr", "")) for each in called}


def annotated(node: ast.FunctionDef) -> bool:
    """Whether a function has annotations, as all do that are not compiled; one without parameters counts by its result."""
    arguments = [*node.args.args, *node.args.kwonlyargs]
    return bool(node.returns) or any(each.annotation for each in arguments) or not arguments


def compiled_functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yield the outermost compiled functions within a node."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef):
            yield from compiled_functions(child)
        elif not decorators(child) & REPLACED:
            yield from compiled_functions(child) if annotated(child) else [child]


def lines_of(code: CodeType) -> Iterator[int]:
    """Yield the lines of a code object and of those within it, without the lines that define them."""
    yield from (line for _, _, line in code.co_lines() if line and line != code.co_firstlineno)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from lines_of(constant)


def executable(path: Path) -> set[int]:
    """Return the lines of a file's compiled functions that hold instructions."""
    text = path.read_text()
    lines = set(lines_of(compile(text, str(path), "exec")))
    inside: set[int] = set()
    for function in compiled_functions(ast.parse(text)):
        inside.update(range(function.body[0].lineno, (function.end_lineno or 0) + 1))
        if isinstance(function.body[0], ast.Expr):  # the docstring
            inside.difference_update(range(function.body[0].lineno, (function.body[0].end_lineno or 0) + 1))
    return lines & inside


def main() -> None:
    """Run the tests and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", action="store_true", help="print the lines that were not reached")
    show = parser.parse_args().lines
    sys.path.insert(0, str(TESTS))
    import pytest
    from test_uncompiled import WHOLE

    from nlink.compiled import jit

    trace = tracer(str(jit.PACKAGE))
    threading.settrace(trace)
    sys.settrace(trace)
    failed = pytest.main(["-q", "-p", "no:cacheprovider", *(str(TESTS / test) for test in ("uncompiled.py", *WHOLE))])
    sys.settrace(None)
    paths = [path for path in sorted(jit.PACKAGE.rglob("*.py")) if jit.compiled(path)]
    total = met = 0
    for path in (path for path in paths if path.relative_to(jit.PACKAGE).as_posix() not in GPU_ONLY):
        wanted = executable(path)
        missing = wanted - reached[str(path)]
        total, met = total + len(wanted), met + len(wanted) - len(missing)
        if wanted:
            rest = f"  {sorted(missing)}" if show and missing else ""
            print(f"{path.relative_to(jit.PACKAGE).as_posix():45} {len(wanted):5} {1 - len(missing) / len(wanted):6.1%}{rest}")
    print(f"{'all':45} {total:5} {met / total:6.1%}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
