"""Attacks on nlink: hostile inputs, faults and signals. `make torture` runs all of them, tests/test_torture.py a sample of each."""

from __future__ import annotations

import importlib
import pkgutil

from torture.attack import ATTACKS, Attack


def load() -> dict[str, Attack]:
    """Import every module of this package that holds attacks; return the attacks by name."""
    for module in pkgutil.iter_modules(__path__):
        if module.name not in ("attack", "__main__"):
            importlib.import_module(f"{__name__}.{module.name}")
    return ATTACKS
