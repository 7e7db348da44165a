"""Equations of motion in symbols: derived with SymPy, written as text, LaTeX and code."""

from __future__ import annotations

from nlink.symbolic.equations import Equations, derive

__all__ = ["Equations", "derive"]
