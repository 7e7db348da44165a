"""`lagrange`: the Euler-Lagrange equations in absolute angles, derived with SymPy and compiled; M(theta) theta'' = f.

Energies, Rayleigh's function and generalised forces as in `symbolic.derivation`, every load included. The source for N
links is written once into the cache folder and compiled once; later processes load it and never import SymPy. It is
called by its address, so that integrators are compiled once for all N and options.

Options: `simplify` collects sines and cosines of differences, or leaves the products as they come. `solve` "matrix"
eliminates M with row pivots; "substitution" isolates each acceleration and substitutes it forward, then backward, all
written out (seed: the note on the N-link pendulum with Rayleigh's function).
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import sigutils
from numba.core.ccallback import CFunc

from nlink._support.checks import ModelError, choice, shown
from nlink._support.files import written_whole
from nlink.compiled.announcing import HELD, Part, began, ended, waiting
from nlink.compiled.jit import FOLDER, OPTIONS, answered, intrinsic
from nlink.compiled.kernel_cache import KernelCache
from nlink.compiled.lowering import Builder, Context, Kind, Lowered, Signature, Value, Values
from nlink.compiled.simd import parts_of
from nlink.formulations.dense import solve
from nlink.mechanics.chain import Multibody
from nlink.mechanics.contract import right_hand_side
from nlink.mechanics.kernels import TIP_X, TIP_Y, ChainParameters, apply_loads, turn
from nlink.mechanics.scratch import LOAD_ROWS
from nlink.mechanics.system import AngleFormulation

LARGEST = 20
"""Links: beyond, deriving and compiling takes minutes, and each evaluation longer than that of any other formulation."""
FORCE, MATRIX = LOAD_ROWS, LOAD_ROWS + 1
PACKAGE = "nlink_generated"
SEAL = "# nlink "
"""How a generated module begins, before the checksum of what follows."""
DERIVED = f"{__name__}.{PACKAGE}"
"""The equations of a number of links in symbols, as a part of a wait."""
POINTER = types.CPointer(types.float64)


class LagrangeParameters(NamedTuple):
    """A chain, the address of the function compiled for its number of links, and whether M is left to be solved."""

    chain: ChainParameters
    address: int
    dense: bool


@dataclass(frozen=True)
class Lagrange(AngleFormulation):
    """Euler-Lagrange, derived in symbols; `solve` is "matrix" or "substitution"."""

    name: ClassVar[str] = "lagrange"
    simplify: bool = True
    solve: str = "matrix"

    def __post_init__(self) -> None:
        choice("Lagrange.solve", self.solve, ("matrix", "substitution"))
        if not isinstance(self.simplify, bool):
            raise ModelError(f"Lagrange.simplify must be True or False, got {shown(self.simplify)}")

    def parameters(self, chain: Multibody, numbers: ChainParameters) -> Any:
        """Take every load and up to LARGEST links; derive and compile at the first use."""
        if chain.n > LARGEST:
            raise ModelError(f"lagrange takes up to N = {LARGEST} links, got {chain.n}; use momentum or recursive")
        with waiting(f"the equations of lagrange for {chain.n} links"):
            module = generated(chain.n, self.simplify, self.solve == "substitution")
        return LagrangeParameters(numbers, module.rates.address, self.solve == "matrix")

    def scratch(self, n: int) -> int:
        """Rows of the loads, of f, and the matrix."""
        return MATRIX + n


@right_hand_side(LagrangeParameters)
def lagrange_rates(t, y, p, out, w):
    """Fill out = (omega, alpha, powers)."""
    chain = p.chain
    n = chain.n
    turn(y, n, w)
    level = 0
    if chain.loaded:
        apply_loads(t, y, y, n, chain, w, out, 2 * n, chain.tip[TIP_X], chain.tip[TIP_Y])
        level = 2 if chain.force_level else 1
    call_generated(p.address, level, chain.g, y, chain.links, chain.tip, w)
    if p.dense:
        solve(n, w, MATRIX, FORCE, 1)
    for i in range(n):
        out[i] = y[n + i]
        out[n + i] = w[FORCE, i]


def generated(n: int, simplify: bool, substitution: bool) -> ModuleType:
    """Return the module with the compiled function for n links, written and compiled if it is not in the cache yet."""
    folder = FOLDER / "generated"
    name = f"lagrange_{n}_{'simplified' if simplify else 'raw'}_{'substitution' if substitution else 'matrix'}"
    path = folder / f"{name}.py"
    if f"{PACKAGE}.{name}" in sys.modules:
        return sys.modules[f"{PACKAGE}.{name}"]
    if not _whole(path):
        from nlink.symbolic.kernel import source

        began(part := Part(DERIVED, name))
        text = source(n, simplify, substitution, FORCE, MATRIX)
        ended(part)
        folder.mkdir(exist_ok=True)
        if not _whole(path):  # another process may have been faster: a new date would make its compiled code stale
            path.unlink(missing_ok=True)
            with written_whole(path, SEAL) as temporary:
                temporary.write_text(f"{SEAL}{hashlib.sha256(text.encode()).hexdigest()}\n{text}", encoding="utf-8")
    sys.modules.setdefault(PACKAGE, ModuleType(PACKAGE))
    module = sys.modules[f"{PACKAGE}.{name}"] = ModuleType(f"{PACKAGE}.{name}")  # where Numba looks for it
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


def _whole(path: Path) -> bool:
    """Whether a generated module is there as it was written: its first line has the checksum of the rest, if it has one."""
    content = path.read_bytes() if path.is_file() else b""
    head, _, text = content.partition(b"\n")
    if head.startswith(SEAL.encode()):
        return head == SEAL.encode() + hashlib.sha256(text).hexdigest().encode()
    try:
        return bool(compile(content, str(path), "exec")) and bool(content.strip())
    except (SyntaxError, ValueError):
        return False


def _earlier() -> dict[str, Callable[[str], bool]]:
    """Return, for the modules that are written already, whether their functions are compiled."""
    folder = FOLDER / "generated"
    return {
        f"{PACKAGE}.{path.stem}.rates": lambda _, name=path.stem: any(FOLDER.rglob(f"{name}.rates-*.nbi"))
        for path in folder.glob("lagrange_*.py")
    }


HELD.update({DERIVED: lambda name: _whole(FOLDER / "generated" / f"{name}.py"), **_earlier()})


def compiled(function: Callable[..., None]) -> Any:
    """Compile a generated function to be called by its address, cached on disk."""
    signature = types.void(types.int64, types.float64, POINTER, POINTER, POINTER, POINTER)
    made: Any = CFunc(function, sigutils.normalize_signature(signature), {}, OPTIONS)
    made._cache = KernelCache(function)
    answered(made.compile, "the equations of lagrange")()
    return made


def _call(address: int, level: int, g: float, y: np.ndarray, links: np.ndarray, tip: np.ndarray, w: np.ndarray) -> None:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[ctypes.c_void_p] * 4)
    kind(address)(level, g, *(np.ascontiguousarray(array).ctypes.data for array in (y, links, tip, w)))


@intrinsic(python=_call)
def call_generated(_typing: Context, address: Kind, level: Kind, g: Kind, y: Kind, links: Kind, tip: Kind, w: Kind) -> Lowered:
    """Call the function at `address` with contiguous arrays."""

    def build(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        arrays = [parts_of(context, builder, *each)[0] for each in zip(signature.args[3:], args[3:], strict=True)]
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64), ir.DoubleType(), *(array.type for array in arrays)])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [*args[1:3], *arrays])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64, y, links, tip, w), build
