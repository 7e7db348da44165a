"""Types of what builds instructions, and of what is compiled.

Type checkers misread the classes of llvmlite, whose methods are made by decorators, and a kernel takes numbers, vectors and duals
alike: these names say what is meant.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from numba.core.base import BaseContext as Context
from numba.core.typing.templates import Signature

Builder: TypeAlias = Any
"""llvmlite.ir.IRBuilder"""
Value: TypeAlias = Any
"""llvmlite.ir.Value"""
Values: TypeAlias = Any
"""a list of these"""
Lowered: TypeAlias = Any
"""the signature of an intrinsic, and the function that builds its instructions"""
Kind: TypeAlias = Any
"""a type of Numba"""
Kinds: TypeAlias = tuple[Any, ...]
Operand: TypeAlias = Any
"""a number, a vector, or a dual number; in plain Python, while tracing, or in compiled code"""

__all__ = ["Builder", "Context", "Kind", "Kinds", "Lowered", "Operand", "Signature", "Value", "Values"]
