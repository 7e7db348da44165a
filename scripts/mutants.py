"""Change the mechanics one small thing at a time and run the tests: a change that no test notices is a survivor.

    python scripts/mutants.py                a sample, seeded
    python scripts/mutants.py --all          every mutant
    python scripts/mutants.py --only sweep   those whose name holds a word

Sources are changed in a copy in a temporary folder. The kernels run as plain Python (NUMBA_DISABLE_JIT), each mutant in a process
forked from one that has loaded the libraries already. Survivors listed in docs/mutants.md are known to change nothing.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import gc
import importlib
import itertools
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
CHAINS = ("uncompiled",)
TREES = ("uncompiled_trees", "test_mechanism")
LOOPS = ("uncompiled_loops",)
FILES = {
    "mechanics/kinematics.py": CHAINS, "mechanics/kernels.py": CHAINS, "mechanics/moments.py": CHAINS,
    "mechanics/torques.py": CHAINS, "mechanics/tree.py": TREES + LOOPS,
    "formulations/recursive.py": CHAINS, "formulations/tree.py": TREES, "formulations/tree_projection.py": TREES,
    "formulations/rows.py": LOOPS, "formulations/factors.py": LOOPS,
    "formulations/series/loads.py": CHAINS, "formulations/series/motion.py": CHAINS, "formulations/series/resistance.py": CHAINS,
    "formulations/series/one_vector.py": CHAINS, "formulations/series/unrolled.py": CHAINS, "formulations/series/sweep.py": CHAINS,
    "formulations/series/tree.py": TREES, "formulations/series/tree_loads.py": TREES, "formulations/series/prescribed.py": TREES,
}  # fmt: skip
"""What is changed, and the modules of tests that must notice."""
KNOWN = ROOT / "docs" / "mutants.md"
COMPILE_TIME = {"intrinsic"}
"""Decorators of functions that only the compiler runs."""
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {"sin": "cos", "cos": "sin", "min": "max", "max": "min", "sine": "abs"}
BARE = {"sqrt", "abs", "bool"}
"""Functions that are left out, leaving their argument."""


class Mutant(NamedTuple):
    """One change: where, what, and the changed source."""

    name: str
    line: int
    source: bytes
    path: str


def swapped(operator: ast.AST) -> ast.AST:
    """Return the operator that takes the place of another."""
    return SWAPS[type(operator)]()


def changes(node: ast.AST) -> Iterator[str]:
    """Yield what may stand in the place of a node."""
    match node:
        case ast.BinOp(left, operator, right) if type(operator) in SWAPS:
            yield ast.unparse(ast.BinOp(left, swapped(operator), right))
            if isinstance(operator, ast.Add | ast.Sub):
                yield ast.unparse(left)
                yield ast.unparse(right)
        case ast.AugAssign(target, operator, value) if type(operator) in SWAPS:
            yield ast.unparse(ast.AugAssign(target, swapped(operator), value))
            yield "pass"
        case ast.Compare(left, [operator], [right]) if type(operator) in SWAPS:
            yield ast.unparse(ast.Compare(left, [swapped(operator)], [right]))
        case ast.BoolOp(operator, values):
            yield ast.unparse(ast.BoolOp(swapped(operator), values))
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield ast.unparse(operand)
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() | float() as value):
            yield repr(value + 1)
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), [first, *_]):
            yield from changed_call(node, name, first)


def changed_call(node: ast.Call, name: str, first: ast.expr) -> Iterator[str]:
    """Yield calls of other functions, or the bare argument, or one turn less of a loop."""
    if name in NAMES:
        yield re.sub(rf"\b{name}\(", f"{NAMES[name]}(", ast.unparse(node), count=1)
    if name in BARE:
        yield ast.unparse(first)
    if name == "range" and len(node.args) == 1:
        yield f"range({ast.unparse(first)} - 1)"


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, list[str]]]:
    """Yield nodes with the function they are in and what may take their place; leave out what the tests cannot run."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str, list[str]]]:
        if left_out(node):
            return
        function = node.name if isinstance(node, ast.FunctionDef) else function
        yield node, function, [*changes(node), *changed_test(node)]
        for child in parts(node):
            yield from walk(child, function)

    yield from walk(tree, "module")


def left_out(node: ast.AST) -> bool:
    """Whether a node is an import, a text, a docstring, or a function of the compiler."""
    if isinstance(node, ast.FunctionDef):
        decorators = {getattr(each.func if isinstance(each, ast.Call) else each, "id", "") for each in node.decorator_list}
        return bool(decorators & COMPILE_TIME)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Raise | ast.Assert)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of a node without types and decorators; of `alike` without the example, which gives the type alone."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "alike":
        yield node.args[0]
        return
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "ctx", "op", "ops"):
            yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST))


def changed_test(node: ast.AST) -> list[str]:
    """Return the values that a condition, and the rows that an index, may take."""
    if isinstance(node, ast.Subscript):
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for each in index:
            if isinstance(each, ast.Name):
                each.shifted = True  # type: ignore[attr-defined]
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test.condition = True  # type: ignore[attr-defined]
    out = [f"{node.id} + 1" if node.id.isupper() else f"{node.id} - 1"] if getattr(node, "shifted", False) else []  # type: ignore[attr-defined]
    return out + (["True", "False"] if getattr(node, "condition", False) else [])


def replaced(source: bytes, node: ast.AST, text: str) -> bytes:
    """Return the source with other text in the place of a node."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    first, last = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
    text = text if isinstance(node, ast.stmt) else f"({text})"
    return source[:first] + text.encode() + source[last:]


def mutants(path: str) -> Iterator[Mutant]:
    """Yield the mutants of a file; a change that occurs again in a function is numbered."""
    source = (ROOT / "src" / "nlink" / path).read_bytes()
    seen: Counter[str] = Counter()
    for node, function, texts in places(ast.parse(source)):
        for text in dict.fromkeys(texts):
            name = f"{path} {function}: {ast.unparse(node)} -> {text}"
            seen[name] += 1
            numbered = name if seen[name] == 1 else f"{name} #{seen[name]}"
            yield Mutant(numbered, node.lineno, replaced(source, node, text), path)  # type: ignore[attr-defined]


def known() -> set[str]:
    """Return the names of survivors that docs/mutants.md gives a reason for."""
    text = KNOWN.read_text(encoding="utf-8") if KNOWN.exists() else ""
    return set(re.findall(r"^    (\S+\.py .*)$", text, re.MULTILINE))


class Bench:
    """Runs tests on the copy of the sources; of each group, the test that has noticed the last mutant comes first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.limits: dict[tuple[str, ...], float] = {}
        self.first: Counter[tuple[str, ...]] = Counter()

    def measured(self, modules: tuple[str, ...]) -> None:
        """Run the tests of some modules on the unchanged sources; a mutant may take five times as long."""
        start = time.monotonic()
        if not self.passed(modules):
            sys.exit(f"the unchanged sources do not pass {' and '.join(modules)}")
        self.limits[modules] = 10 + 5 * (time.monotonic() - start)

    def passed(self, modules: tuple[str, ...]) -> bool:
        """Run the tests in a process of its own; return whether all pass."""
        child = os.fork()
        if child == 0:
            os._exit(self._status(modules))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.first[modules] = status - 1 if status > 0 else self.first[modules]
        return status == 0

    def _status(self, modules: tuple[str, ...]) -> int:
        """Return 0, or 1 + the number of the test that fails, as far as a status can tell."""
        signal.setitimer(signal.ITIMER_REAL, self.limits.get(modules, 600.0))
        gc.disable()
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(self.folder))
        warnings.simplefilter("error")
        number = first = self.first[modules]
        try:
            tests = [test for module in modules for test in calls(importlib.import_module(module))]
            for number in sorted(range(len(tests)), key=lambda k: k != first):
                tests[number]()
        except BaseException:
            return min(number + 1, 255)
        return 0


def calls(module: ModuleType) -> Iterator[Callable[[], object]]:
    """Yield the tests of a module, for each of their parameters."""
    for function in [value for name, value in vars(module).items() if name.startswith("test_")]:
        marks = [mark.args for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
        for values in itertools.product(*(given for _, given in marks)):
            options: dict[str, object] = {}
            for (names, _), given in zip(marks, values, strict=True):
                options |= {names: given} if isinstance(names, str) else dict(zip(names, given, strict=True))
            yield partial(function, **options)


def prepared(folder: Path) -> None:
    """Copy the sources, compile those that do not change, and load the libraries that every mutant needs."""
    shutil.copytree(ROOT / "src" / "nlink", folder / "nlink", ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(folder / "nlink", quiet=1)
    for path in FILES:
        for compiled in (folder / "nlink" / path).parent.glob(f"__pycache__/{Path(path).stem}.*"):
            compiled.unlink()
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "NLINK_CACHE_DIR": str(folder / "cache"), "CI": "1"}
    sys.path.insert(0, str(TESTS))
    import conftest  # noqa: F401, the settings of the random tests
    from hypothesis import Phase, settings

    settings.register_profile("mutants", settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")  # a failure is enough, however large its case
    import numba  # noqa: F401
    import scipy.integrate  # noqa: F401
    import sympy  # noqa: F401


def survivors(chosen: list[Mutant], bench: Bench) -> Iterator[Mutant]:
    """Yield the mutants that pass all tests."""
    for each in chosen:
        place = bench.folder / "nlink" / each.path
        original = place.read_bytes()
        place.write_bytes(each.source)
        passed = bench.passed(FILES[each.path])
        place.write_bytes(original)
        if passed:
            yield each


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Change the mechanics one small thing at a time and run the tests.")
    parser.add_argument("--all", action="store_true", help="every mutant, not a sample")
    parser.add_argument("--sample", type=int, default=400, help="number of mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: %(default)s)")
    parser.add_argument("--only", default="", help="those whose name holds these characters")
    parser.add_argument("--list", action="store_true", help="list them, run nothing")
    return parser.parse_args()


def main() -> int:
    """Return 0 if every mutant is noticed or known to change nothing."""
    given = arguments()
    found = [each for path in FILES for each in mutants(path) if given.only in each.name]
    chosen = found if given.all or len(found) <= given.sample else random.Random(given.seed).sample(found, given.sample)
    order = list(FILES)
    chosen.sort(key=lambda each: (order.index(each.path), each.line))
    if given.list:
        print(*(f"{each.line}: {each.name}" for each in chosen), sep="\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="nlink-mutants-") as name:
        bench, start = Bench(Path(name)), time.monotonic()
        prepared(bench.folder)
        for modules in sorted({FILES[each.path] for each in chosen}):
            bench.measured(modules)
        left, expected = [], known()
        for each in survivors(chosen, bench):
            left.append(each)
            if each.name not in expected:
                print(f"survived: line {each.line} of {each.name}", flush=True)
    new = [each for each in left if each.name not in expected]
    print(
        f"{len(chosen)} of {len(found)} mutants: {len(chosen) - len(left)} noticed, {len(left) - len(new)} known, "
        f"{len(new)} survived ({time.monotonic() - start:.0f} s)"
    )
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
