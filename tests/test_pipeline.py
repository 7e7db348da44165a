"""Functions that only compiled code calls, and those that are chosen by the class of a record."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from nlink.compiled.dispatch import ByClass, dispatched
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
    assert entry("a sum")(total)(values) == expected
    assert njit(total)(values) == expected
    assert fourth(3.0) == 81.0
    assert fourth(3) == 81
    assert [str(signature[0]) for signature in fourth.overloads] == ["float64"]
    assert fourth(2.0) == 16.0


def test_a_class_that_is_defined_anew_is_another_class():
    table = ByClass()

    @dispatched(table.get)
    def multiple(x, p):
        """Multiply."""

    def multiply(x, p):
        return multiple(x, p)

    def by(factor):
        return lambda x, p: factor * x

    whole, found = entry("products")(multiply), []
    for factor in (2.0, 3.0):

        class Record(NamedTuple):
            values: np.ndarray

        table[Record] = by(factor)
        found.append(whole(5.0, Record(np.zeros(2))))
    assert found == [10.0, 15.0]
