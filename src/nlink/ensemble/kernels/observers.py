"""Observers: what is kept of members on their way (see `outputs/`).

An observer is a NamedTuple of arrays, rows being members. It has up to three hooks, compiled functions (observer, view, k):

    start        a member has taken its seat in lane k
    after_step   all lanes have taken a step, from states OLD to states NEW; k says nothing
    end          the member in lane k has come to its end

A hook may end the member in lane k by writing 1 to its rows FLAG and STOP. It sees a step that is not accepted yet: T is its start.
Where BAD is not 0, the states NEW may not be finite, and OLD are the last good ones; `end` is called all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba.extending import overload

from nlink.compiled.dispatch import ByClass
from nlink.compiled.jit import INLINE


class Hooks(NamedTuple):
    """The hooks of an observer."""

    start: Any = None
    after_step: Any = None
    end: Any = None


HOOKS: dict[type, Hooks] = ByClass()
"""Hooks by the type of the observer."""


def _calls(name: str) -> Callable[[Any, Any, int], None]:
    """Return a function that calls a hook of every observer in a tuple: by a recursion over it when compiling."""

    def call(observers: Any, view: Any, k: int) -> None:
        for observer in observers:
            hook = getattr(HOOKS[type(observer)], name)
            if hook is not None:
                hook(observer, view, k)

    def chosen(observers, view, k):
        if not len(observers):
            return lambda observers, view, k: None
        hook = getattr(HOOKS[observers[0].instance_class], name)
        if hook is None:
            return lambda observers, view, k: call(observers[1:], view, k)

        def first_and_others(observers, view, k):
            hook(observers[0], view, k)
            call(observers[1:], view, k)

        return first_and_others

    overload(call, jit_options=INLINE)(chosen)
    return call


start, after_step, end = (_calls(name) for name in Hooks._fields)
