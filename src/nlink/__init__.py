"""nlink: dynamics of N-link pendulums and chains.

Chain + loads -> formulation -> System -> integrator -> Run -> view. The public names stand in `__init__.pyi`; the module of a name
is loaded when the name is first used.
"""

from __future__ import annotations

import importlib
from typing import Any


def _homes() -> dict[str, str]:
    """Return the module of each public name, from the lines `from .module import Name as Name` of the stub."""
    with open(__file__.removesuffix(".py") + ".pyi", encoding="utf-8") as stub:
        lines = [line.split() for line in stub if line.startswith("from .")]
    return {name: module[1:] for _, module, _, name, *_ in lines}


_HOMES = _homes()

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'nlink' has no attribute {name!r}")
    return getattr(importlib.import_module(f"nlink.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
