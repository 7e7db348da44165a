"""Compiled functions called by their address, and the equations of motion so."""

from __future__ import annotations

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from numba import types
from numba.core.errors import TypingError

import nlink
from nlink.compiled.addresses import by_address, contiguous, keep, record_at, words
from nlink.compiled.jit import COMPILING, apart, entry
from nlink.compiled.simd import VecArray
from nlink.compiled.views import views
from nlink.formulations import FORMULATIONS
from nlink.mechanics.equations import Equations, rates, rates_many
from nlink.mechanics.kernels import UnloadedChain

pytestmark = pytest.mark.skipif(not COMPILING, reason="nothing is compiled")
ROW = VecArray(1, 1)


class Part(NamedTuple):
    table: np.ndarray
    rows: np.ndarray


class Whole(NamedTuple):
    number: int
    yes: bool
    part: Part
    none: tuple[int, ...]
    scale: float


@apart
def weighed(place, x, i):
    """Return a number that hangs on all of a record."""
    p, x = record_at(place), contiguous(x)
    total = p.scale * x[i] * p.number + len(p.none)
    for j in range(len(p.part.rows)):
        total += p.part.table[p.part.rows[j], i] * (1.0 if p.yes else -1.0)
    return total


address, call = by_address(weighed, lambda at: (at, ROW, types.int64), types.float64)


@entry("an address")
def written(p, memory):
    place = keep(views(p), memory)
    return address(place)


@entry("a call")
def called(at, memory, x, i):
    return call(at, (memory, views(x), i))


def record(yes: bool, none: tuple[int, ...] = ()) -> Whole:
    """Return a record with numbers, truth values, tuples, and arrays of numbers and indices."""
    return Whole(3, yes, Part(np.arange(12.0).reshape(4, 3), np.array([2, 0, 3])), none, 0.5)


def weight(p: Whole, x: np.ndarray, i: int) -> float:
    """Return what `weighed` does."""
    return p.scale * x[i] * p.number + len(p.none) + p.part.table[p.part.rows, i].sum() * (1.0 if p.yes else -1.0)


def test_a_caller_is_compiled_once_for_all_functions():
    x = np.array([2.0, 3.0, 5.0])
    for p in (record(True), record(False), record(True, (0, 0))):
        memory = np.zeros(words(p), np.int64)
        at = written(p, memory)
        for i in range(3):
            assert called(at, memory.ctypes.data, x, i) == weight(p, x, i)
    assert len(called.overloads) == 1
    assert len(written.overloads) == 2  # of tuples of two lengths


def test_an_array_with_gaps_is_refused_where_the_function_could_not_see_them():
    p = record(True)
    memory = np.zeros(words(p), np.int64)
    at = written(p, memory)
    with pytest.raises(TypingError, match="a function at an address takes"):
        called(at, memory.ctypes.data, np.arange(6.0)[::2], 1)


def test_a_record_holds_arrays_with_gaps():
    whole = record(True)
    p = whole._replace(part=Part(np.moveaxis(np.arange(12.0).reshape(3, 4), 0, 1), np.array([2, 9, 0, 9, 3, 9])[::2]))
    memory, x = np.zeros(words(p), np.int64), np.array([2.0, 3.0, 5.0])
    assert len(memory) == words(whole) + 3  # their strides
    at = written(p, memory)
    for i in range(3):
        assert called(at, memory.ctypes.data, x, i) == weight(p, x, i)


def model(formulation: str, loaded: bool) -> nlink.Chain:
    """Return a chain that a formulation takes."""
    loads = (nlink.JointSpring(2.0), nlink.JointDamper(0.1), nlink.TipForce(0.3, 0.1)) if loaded else ()
    return nlink.Chain.uniform(4).with_loads(*(loads[:2] if formulation == "linear" else loads))


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("formulation", list(FORMULATIONS))
def test_machine_code_is_the_formulation(formulation, loaded):
    system = nlink.formulate(model(formulation, loaded), formulation)
    rng = np.random.default_rng(3)
    state = system.encode(rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4))
    states = np.zeros((3, system.full_size))
    states[:, : system.size] = state + 1e-3 * rng.uniform(-1, 1, (3, system.size))
    w, found, known = system.scratch(), np.empty_like(states), np.empty_like(states)
    times = np.array([0.0, 0.4, 1.0])
    rates_many(times[::-1], states, system.equations, found, np.empty((0, 2)), w)
    for k in range(3):
        rates(times[2 - k], states[k], system.parameters, known[k], w)  # compiled into its caller
    assert isinstance(system.equations, Equations)
    assert found == pytest.approx(known, rel=1e-12, abs=1e-12)


def test_a_chain_without_loads_compiles_none():
    plain, loaded = (nlink.formulate(model("recursive", each)).equations for each in (False, True))
    assert plain.stages != loaded.stages
    assert UnloadedChain._fields == type(nlink.formulate(model("recursive", False)).parameters.chain)._fields


@pytest.mark.parametrize("constraints", ["none", "Projection()"])
def test_what_brings_states_back_is_compiled_only_where_it_is_called(constraints):
    system = nlink.formulate(model("maximal", False), f"maximal(constraints={constraints!r})")
    assert (system.equations.settle != 0) == system.projected == (constraints != "none")


def test_the_machine_code_follows_the_parameters_and_is_not_copied():
    system = nlink.formulate(model("recursive", False))
    before = system.equations
    assert system.equations is before
    other = copy.copy(system)
    other.parameters = system.parameters._replace(chain=system.parameters.chain._replace(g=1.0))
    state = np.full(8, 0.3)
    expected = nlink.formulate(nlink.Chain.uniform(4).with_loads(nlink.Gravity(1.0)))(0.0, state)
    assert np.array_equal(other(0.0, state), expected)
    assert not np.array_equal(system(0.0, state), expected)
    for copied in (copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
        assert copied.equations.memory[1:].tolist() != before.memory[1:].tolist()
        assert np.array_equal(copied(0.0, state), system(0.0, state))
