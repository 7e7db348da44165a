"""Functions that stand for others, chosen by the class of an argument: by Python at a call, by Numba when compiling.

    @dispatched(TABLE.get)
    def rhs(t, y, p, out, w):
        '''Fill `out` with the rates of the state y.'''

A call of rhs(t, y, p, out, w) is a call of TABLE[type(p)](t, y, p, out, w). Names after the table choose by other arguments than p.
In compiled code a Numba type has the class of p as its `instance_class` (NamedTuples, vectors, duals, arrays of these), and the
function is compiled into its caller. The decorated function has a docstring and no body.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from numba.extending import overload

from nlink.compiled.jit import INLINE


def class_of(argument: Any) -> Any:
    """Return the class of a value, or of the values of a Numba type; that of the type itself if it names none."""
    return getattr(argument, "instance_class", type(argument))


class ByClass(dict[type, Any]):
    """A table by the class of a record. Each class gets a name of its own: Numba cannot tell records with equal fields apart if the
    names of their classes are equal, as after a class is defined anew.
    """

    names: ClassVar[dict[str, type]] = {}

    def __setitem__(self, kind: type, value: Any) -> None:
        if self.names.setdefault(kind.__name__, kind) is not kind:
            kind.__name__ = f"{kind.__name__}_{len(self.names)}"
            self.names[kind.__name__] = kind
        super().__setitem__(kind, value)


def dispatched(choose: Callable[..., Any], *by: str, of: Callable[[Any], Any] = class_of) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: the function becomes the one that `choose` returns for the classes of the arguments named in `by`.

    `of` may give something else than the class of an argument: it takes a value, and the Numba type of one.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        signature = inspect.signature(function)
        places = [list(signature.parameters).index(name) for name in by or ("p",)]

        @wraps(function)
        def call(*arguments: Any) -> Any:
            return choose(*(of(arguments[at]) for at in places))(*arguments)

        def chosen(*types: Any) -> Any:
            function = choose(*(of(types[at]) for at in places))
            return getattr(function, "py_func", function)

        chosen.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
        overload(call, jit_options=INLINE)(chosen)
        return call

    return decorate
