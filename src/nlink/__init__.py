"""nlink: dynamics of N-link pendulums and chains.

Chain + loads -> formulation -> System -> integrator -> Run -> view. The public names stand in `__init__.pyi`; the module of a name
is loaded when the name is first used.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOMES = {alias.name: node.module for node in _STUB.body if isinstance(node, ast.ImportFrom) for alias in node.names}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'nlink' has no attribute {name!r}")
    return getattr(importlib.import_module(f"nlink.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
