"""Numba's pipeline, cut short: LLVM optimises once, in the entry, and machine code is made of entries alone.

By itself Numba makes machine code of every compiled function, with wrappers for Python and for C, though every caller links
a copy of the function's LLVM code; and it has LLVM optimise each function three times, of which two serve to remove reference
counts. An inner function (`kernel`, `outlined`, an overload) ends with LLVM code that is only tidied, and the machine code of the
entries is as fast.

No function of nlink allocates memory or keeps an array, so that none counts references: Numba would at each use of a record with
arrays, which takes time to compile and to run.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from llvmlite.binding import create_new_module_pass_manager
from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites

STACK = 64
"""Bytes to which functions align their stack: the widest vector. Else vectors may lie across lines of the cache, by where the stack
begins, and the steps of 15 links take up to a fifth longer.
"""


class EntryLibrary(JITCodeLibrary):
    """LLVM code of an entry with all that it calls, optimised as a whole, and its machine code."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Have each function align its stack; llvmlite knows the attribute, but does not write it."""
        for each in ir_module.functions:
            if not each.is_declaration:
                set.add(each.attributes, f"alignstack({STACK})")
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave it to the passes over the whole."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimise once; Numba does twice, for reference counts."""
        builder = self._codegen._pass_builder()
        builder.getModulePassManager().run(self._final_module, builder)


class InnerLibrary(EntryLibrary):
    """LLVM code for callers to link."""

    def _optimize_final_module(self) -> None:
        """Inline, put variables into registers and simplify: what follows begins with less."""
        passes = create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_reassociate_pass()  # operands in one order: else the copies of what is inlined twice round differently
        passes.add_loop_rotate_pass()  # else the loops of the dense output of long chains are a quarter slower
        passes.add_jump_threading_pass()
        passes.add_simplify_cfg_pass()
        passes.run(self._final_module, self._codegen._pass_builder())

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(NativeLowering):
    """The translation of an entry to LLVM code."""

    _name = "nlink_entry_lowering"
    library: ClassVar[type[EntryLibrary]] = EntryLibrary

    def run_pass(self, state: Any) -> Literal[True]:
        """Translate a typed function."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(EntryLowering):
    """That of an inner function; what Numba takes for the compiled function is a key by which callers find the code."""

    _name = "nlink_inner_lowering"
    library = InnerLibrary

    def run_pass(self, state: Any) -> Literal[True]:
        """Translate a typed function."""
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = state.flags.no_compile = True
        super().run_pass(state)
        made, name = state.cr, state.func_id.func_name
        key = _dynfunc.make_function(made.fndesc.lookup_module(), name, name, 0, made.env, (state.library,))
        state.targetctx.insert_user_function(key, made.fndesc, [state.library])
        state.cr = made._replace(cfunc=key)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class ApartLowering(InnerLowering):
    """That of a large inner function, of which LLVM keeps one copy: copies of all that it calls in all its callers take minutes."""

    _name = "nlink_apart_lowering"

    def run_pass(self, state: Any) -> Literal[True]:
        """Translate a typed function."""
        super().run_pass(state)
        state.library.get_function(state.cr.fndesc.llvm_func_name).add_function_attribute("noinline")
        return True


class EntryCompiler(CompilerBase):
    """Numba's passes, without reference counts."""

    lowering: ClassVar[type[EntryLowering]] = EntryLowering

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any) -> None:
        flags.nrt = False
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def define_pipelines(self) -> list[Any]:
        """Return the passes from bytecode to LLVM code, or to machine code."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        kept = [each for each in passes.passes if each[0] is not NopythonRewrites]  # of expressions of whole arrays: there are none
        passes.passes = [(self.lowering if kind is NativeLowering else kind, text) for kind, text in kept]
        passes._finalized = False
        passes.finalize()
        return [passes]


class InnerCompiler(EntryCompiler):
    """These passes, with the lowering of an inner function."""

    lowering = InnerLowering


class ApartCompiler(EntryCompiler):
    """These passes, with the lowering of a function that is never inlined."""

    lowering = ApartLowering
