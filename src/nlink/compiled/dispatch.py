"""Functions that stand for others, chosen by the type of one argument: by Python at a call, by Numba when compiling.

    @dispatched(TABLE.get)
    def rhs(t, y, p, out, w):
        '''Fill `out` with the rates of the state y.'''

A call of rhs(t, y, p, out, w) is a call of TABLE[type(p)](t, y, p, out, w). In compiled code p is a NamedTuple, and the function is
compiled into its caller. The decorated function has a docstring and no body. Another argument than p chooses if `by` names it; a
tuple chooses by its length, which is known when compiling.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import types
from numba.extending import overload

from nlink.compiled.jit import INLINE


def compiled_key(kind: Any) -> Any:
    """Return what a choice is made by in compiled code: the class of a NamedTuple, or the length of a tuple."""
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        return kind.instance_class
    return len(kind) if isinstance(kind, types.BaseTuple) else type(None)


def dispatched(choose: Callable[[Any], Any], by: str = "p") -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: the function becomes the one that `choose` returns for the type of the argument `by`."""

    def decorate(function: Callable[..., Any]) -> Any:
        signature = inspect.signature(function)
        at = list(signature.parameters).index(by)

        @wraps(function)
        def call(*arguments: Any) -> Any:
            value = arguments[at]
            return choose(len(value) if type(value) is tuple else type(value))(*arguments)

        def chosen(*kinds: Any) -> Any:
            return choose(compiled_key(kinds[at]))

        chosen.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
        overload(call, jit_options=INLINE)(chosen)
        return call

    return decorate
