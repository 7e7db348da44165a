"""Numba's pipeline, cut short for functions that only compiled code calls: machine code is made of entries alone.

By itself Numba makes machine code of every compiled function, with wrappers for Python and for C, though every caller links
a copy of the function's LLVM code. An inner function (`kernel`, `outlined`, an overload) ends with that code. This takes half
the time, and the machine code of the entries is the same.

No function of nlink allocates memory or keeps an array, so that none counts references: Numba would at each use of a record with
arrays, which takes time to compile and to run.
"""

from __future__ import annotations

from typing import Any, Literal

from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class InnerLibrary(JITCodeLibrary):
    """Optimised LLVM code for callers to link."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):
    """The translation to LLVM code alone; what Numba takes for the compiled function is a key by which callers find the code."""

    _name = "nlink_inner_lowering"

    def run_pass(self, state: Any) -> Literal[True]:
        """Translate a typed function."""
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = state.flags.no_compile = True
        super().run_pass(state)
        made, name = state.cr, state.func_id.func_name
        key = _dynfunc.make_function(made.fndesc.lookup_module(), name, name, 0, made.env, (state.library,))
        state.targetctx.insert_user_function(key, made.fndesc, [state.library])
        state.cr = made._replace(cfunc=key)
        return True


class EntryCompiler(CompilerBase):
    """Numba's passes, without reference counts."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any) -> None:
        flags.nrt = False
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def define_pipelines(self) -> list[Any]:
        """Return the passes from bytecode to machine code."""
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


class InnerCompiler(EntryCompiler):
    """These passes, with the lowering of an inner function."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes from bytecode to LLVM code."""
        (passes,) = super().define_pipelines()
        passes.passes = [(InnerLowering if each is NativeLowering else each, text) for each, text in passes.passes]
        passes._finalized = False
        passes.finalize()
        return [passes]
