"""Functions that only compiled code calls, and those that are chosen by the class of a record."""

from __future__ import annotations

import gc
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from nlink.compiled.answering import uncollected
from nlink.compiled.dispatch import ByClass, dispatched
from nlink.compiled.jit import COMPILING, entry, kernel, outlined, uncached
from nlink.compiled.views import views

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


def test_a_kernel_is_compiled_once_whatever_constants_it_is_given():
    @kernel
    def shifted(x, by):
        return x + by

    def total(x, by):
        return shifted(x, 1) + shifted(x, 2) + shifted(x, by)

    assert entry("a sum")(total)(1.0, 3) == 9.0
    assert [str(signature) for signature in shifted.overloads] == ["(float64, int64)"]


class Inner(NamedTuple):
    values: np.ndarray
    n: int


class Outer(NamedTuple):
    only: Inner


def test_records_in_records_are_seen_through():
    @kernel
    def first(p):
        return p.only.values[0] + p.only.n

    def entered(p):
        p = views(p)
        return first(p)

    assert entry("a number")(entered)(Outer(Inner(np.array([1.5]), 2))) == 3.5
    assert ["VecArray(1, 1, number)" in str(signature) for signature in first.overloads] == [True]


def test_what_exists_is_kept_from_the_garbage_collector_while_something_compiles():
    before = gc.get_freeze_count()
    with uncollected():
        with uncollected():
            assert gc.get_freeze_count() > 1000
        assert gc.get_freeze_count() > 1000
    assert gc.get_freeze_count() == before


def test_a_function_aligns_its_stack_to_the_widest_vector():
    def doubled(x):
        return 2.0 * x

    compiled = uncached(doubled)
    assert compiled(3.0) == 6.0
    (code,) = compiled.overloads.values()
    assert "alignstack" in code.library.get_llvm_str()
