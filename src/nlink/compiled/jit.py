"""The only place that configures Numba: compile options, and a cache folder named by a hash of the kernels' sources.

Numba's own cache watches only the file of the cached function, so after an edit elsewhere it would run old physics; a
folder per state of the sources cannot. Import this before any other use of Numba.

    kernel      a small compiled function, inlined into its callers
    summing     one that may take its sums in any order
    outlined    a large one that is not
    apart       one of which there is one copy, however many places call it: what compiles long and runs long
    precise     a small one whose products and sums are each rounded once: what errors of rounding are computed by
    exact       a large one whose products and sums are each rounded once
    entry       an outermost compiled function: cached on disk, releases the GIL
    intrinsic   a function that builds its own instructions, and what Python runs in its place

With NUMBA_DISABLE_JIT=1 all of them are plain Python, with the vectors and dual numbers of `interpreted`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import extending, njit, types
from numba.core import config
from numba.core.compiler import Compiler

from nlink.compiled import sources
from nlink.compiled.announcing import keep_times, waiting
from nlink.compiled.answering import answering
from nlink.compiled.cache_folder import kernel_folder, tidy, times_file
from nlink.compiled.interpreted import BUILTINS
from nlink.compiled.kernel_cache import KernelCache, NoCache
from nlink.compiled.pipeline import ApartCompiler, EntryCompiler, InnerCompiler

PACKAGE = Path(__file__).parents[1]
COMPILED = (
    "compiled", "mechanics", "symbolic", "formulations", "integrators", "ensemble/kernels", "ensemble/outputs",
    "ensemble/gpu_kernels.py",
)  # fmt: skip
"""Where compiled code lives, and nowhere else: a change outside does not compile anything again."""
COMPILING: bool = not config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]
"""False with NUMBA_DISABLE_JIT=1."""
OPTIONS: Any = {"fastmath": {"contract"}, "error_model": "numpy"}
OUTERMOST: Any = OPTIONS | {"nogil": True, "no_cfunc_wrapper": True, "pipeline_class": EntryCompiler}
APART: Any = OPTIONS | {"forceinline": False, "pipeline_class": ApartCompiler}
EXACT: Any = APART | {"fastmath": False}
"""What is not said here is taken over from the caller."""
INLINE: Any = OPTIONS | {"forceinline": True, "pipeline_class": InnerCompiler}


def compiled_files() -> list[Path]:
    """Return the files of the package that may hold compiled code."""
    places = [PACKAGE / place for place in COMPILED]
    return sorted(path for place in places for path in ([place] if place.suffix else place.rglob("*.py")))


def cache_folder() -> Path:
    """Return the folder of compiled kernels for these very sources."""
    digest = hashlib.sha256(f"{numba.__version__}{sources.NOTES or ''}".encode())
    for path in compiled_files():
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return kernel_folder(digest.hexdigest())


def cold() -> bool:
    """Whether no kernel has been compiled yet for these sources."""
    return not any(FOLDER.rglob("*.nbi"))


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a small function to be inlined into its callers."""
    return _inner(function, **INLINE)


def summing(function: Callable[..., Any]) -> Any:
    """Compile a kernel that may take its sums in any order, so that they are vectors of the processor."""
    return _inner(function, **INLINE | {"fastmath": {"contract", "reassoc"}})


def outlined(function: Callable[..., Any]) -> Any:
    """Compile a large function that several places of a kernel call, once for all of them."""
    return _inner(function, **OPTIONS, pipeline_class=InnerCompiler)


def apart(function: Callable[..., Any]) -> Any:
    """Compile a large function of which the machine code has one copy, whatever calls it."""
    return _inner(function, **APART)


def precise(function: Callable[..., Any]) -> Any:
    """Compile a kernel none of whose products and sums become one operation, so that errors of rounding can be computed by it."""
    return _inner(function, **(INLINE | {"fastmath": False}))


def exact(function: Callable[..., Any]) -> Any:
    """Compile the same as a large function of which there is one copy."""
    return _inner(function, **EXACT)


def entry(words: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile an outermost function, cached on disk; the words tell a user what it is for, who waits for nothing else."""

    def decorated(function: Callable[..., Any]) -> Any:
        compiled = uncached(function, words)
        if COMPILING:
            compiled._cache = KernelCache(function)
        return compiled

    return decorated


class Direct:
    """An entry that is called with arguments of the same types each time: from the third call on its code is called at once. Numba
    looks at the types at each call, which takes 5 us for nested records. Arrays must be contiguous.
    """

    def __init__(self, entry: Any) -> None:
        self.entry, self._code, self._calls = entry, None, 0

    def __call__(self, *arguments: Any) -> Any:
        """Call the entry."""
        if self._code is not None:
            return self._code(*arguments)
        found, self._calls = self.entry(*arguments), self._calls + 1
        if COMPILING and self._calls == 2:  # a single call does not pay for what comes here
            self._code = self.entry.overloads[tuple(numba.typeof(argument) for argument in arguments)].entry_point
        return found


def uncached(function: Callable[..., Any], words: str = "a function", **options: Any) -> Any:
    """Compile an outermost function that is not kept on disk."""
    if COMPILING:
        compiled: Any = njit(**OUTERMOST | options)(function)
        compiled._cache = NoCache(function)
        compiled.compile = answered(compiled.compile, words)
        return compiled
    outermost: Any = np.errstate(all="ignore")(_interpreted(function))
    outermost.py_func = function
    return outermost


def of_user(function: Callable[..., Any], words: str) -> Any:
    """Compile a function of the user, which may allocate memory."""
    return uncached(function, words, pipeline_class=Compiler)


def answered(compile: Callable[..., Any], words: str) -> Callable[..., Any]:
    """Return a function that compiles like the one given, tells the user what it does, and lets Ctrl-C be answered."""
    return waiting(words)(answering(compile))


def _inner(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function for compiled callers. A call from Python compiles it once more, as an outermost function."""
    if not COMPILING:
        return _interpreted(function)
    compiled: Any = njit(**options)(function)
    outermost = cache(partial(uncached, function, f"the kernel {function.__name__}"))
    template = compiled.get_call_template
    compiled.get_call_template = lambda args, kws: template(*_without_values(args, kws))
    compiled._insert = lambda *_: None  # what Python would call has no machine code
    compiled._compile_for_args = lambda *arguments: outermost()._compile_for_args(*arguments)
    return compiled


def _without_values(args: Any, kws: Any) -> tuple[Any, Any]:
    """Return types of arguments without the values of constants: else Numba compiles a function for each constant."""
    return tuple(types.unliteral(each) for each in args), {name: types.unliteral(each) for name, each in kws.items()}


def _interpreted(function: Callable[..., Any]) -> Any:
    """Let Python run a function, with the names that Numba knows."""
    function.__globals__.update(BUILTINS)
    return function


def intrinsic(build: Any = None, *, python: Any = None, **options: Any) -> Any:
    """Let Numba build the instructions of a function; without the compiler, the function `python` stands for it."""
    if build is None:
        return partial(intrinsic, python=python, **options)
    if python and not COMPILING:
        return python
    return extending.intrinsic(**options)(build) if options else extending.intrinsic(build)


FOLDER = cache_folder()
config.CACHE_DIR = str(FOLDER)  # pyright: ignore[reportAttributeAccessIssue]
keep_times(times_file(FOLDER))
if cold():
    tidy(FOLDER)
