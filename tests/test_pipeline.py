"""Inner functions have no machine code of their own: callers link them, and Python may call them still."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from nlink.compiled.jit import COMPILING, entry, kernel, outlined

pytestmark = pytest.mark.skipif(not COMPILING, reason="nothing is compiled")


@pytest.mark.parametrize("inner", [kernel, outlined])
def test_an_inner_function_is_called_from_entries_from_plain_numba_and_from_python(inner):
    @inner
    def square(x):
        return x * x

    @inner
    def fourth(x):
        return square(square(x))

    def total(values):
        found = 0.0
        for value in values:
            found += fourth(value)
        return found

    values = np.arange(5.0)
    expected = (values**4).sum()
    assert entry(total)(values) == expected
    assert njit(total)(values) == expected
    assert fourth(3.0) == 81.0
    assert fourth(3) == 81
    assert [str(signature[0]) for signature in fourth.overloads] == ["float64"]
    assert fourth(2.0) == 16.0
