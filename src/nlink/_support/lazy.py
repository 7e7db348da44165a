"""What is imported when it is first used: the public names of packages, and the functions of `nlink.view` that show results.

The stub `__init__.pyi` of such a package has a line `from .module import name as name` for each, which type checkers read too.
What stands below the first comment of the stub can be imported, but is not listed: another package lists it. There a line
`from .package import *` stands for all that the stub of that package lists.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class LazyPackage(ModuleType):
    """A package that finds its public names in the modules of its stub."""

    _homes: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        home = self._homes.get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home, self.__name__), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; but a public name stays that of a function when Python imports the module of the same name."""
        if not (isinstance(value, ModuleType) and name in self._homes):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return self.__all__


def lazy(name: str) -> None:
    """Let the package of this name import its public names when they are first used."""
    package: Any = sys.modules[name]
    listed, others = _homes(package.__file__)
    package._homes, package.__all__ = listed | others, sorted(listed)
    package.__class__ = LazyPackage


def _homes(file: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the module of each name that the stub of a package lists, and of the others."""
    with open(file.removesuffix(".py") + ".pyi", encoding="utf-8") as stub:
        public, _, rest = stub.read().partition("\n#")
    listed, others = ([line.split() for line in part.splitlines() if line.startswith("from .")] for part in (public, rest))
    homes = {name: module for _, module, _, name, *_ in others if name != "*"}
    for _, module, _, name, *_ in others:
        if name == "*":
            inside, _ = _homes(file.replace("__init__.py", f"{module[1:]}/__init__.py"))
            homes |= dict.fromkeys(inside, module)
    return {name: module for _, module, _, name, *_ in listed}, homes


def shown_by(place: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a method of a result do what a function of `nlink.view` does, named like "chaos.convergence_figure".

    View stands above the results, and loads Matplotlib: it is imported when the method is called. The method has parameters, their
    types and a docstring alone; the function takes the same ones, which `tests/test_lazy.py` checks.
    """
    module, name = place.split(".")

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def show(*arguments: P.args, **options: P.kwargs) -> R:
            return getattr(importlib.import_module(f"nlink.view.{module}"), name)(*arguments, **options)

        vars(show)["shown_by"] = place
        return show

    return decorate
