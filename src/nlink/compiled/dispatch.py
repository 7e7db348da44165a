"""Functions that stand for others, chosen by the type of their argument `p`: by Python at a call, by Numba when compiling.

    @dispatched(TABLE.get)
    def rhs(t, y, p, out, w):
        '''Fill `out` with the rates of the state y.'''

A call of rhs(t, y, p, out, w) is a call of TABLE[type(p)](t, y, p, out, w). In compiled code p is a NamedTuple, and the function is
compiled into its caller. The decorated function has a docstring and no body.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from numba.extending import overload

from nlink.compiled.jit import INLINE


def dispatched(choose: Callable[[type[Any]], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: the function becomes the one that `choose` returns for the type of p."""

    def decorate(function: Callable[..., Any]) -> Any:
        signature = inspect.signature(function)
        at = list(signature.parameters).index("p")

        @wraps(function)
        def call(*arguments: Any) -> Any:
            return choose(type(arguments[at]))(*arguments)

        def chosen(*types: Any) -> Any:
            return choose(getattr(types[at], "instance_class", type(None)))

        chosen.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
        overload(call, jit_options=INLINE)(chosen)
        return call

    return decorate
