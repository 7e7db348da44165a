"""The equations of motion as machine code that is called by its address.

What evaluates a right-hand side outside the innermost loops takes `Equations` for its parameters: it is compiled once for all
formulations, and each formulation once for all that evaluates it. All stages of a step are one call: a call for each would cost
two links a sixth of their time. Lanes of ensembles, series and Hamilton's form take the parameters themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from nlink.compiled.addresses import by_address, contiguous, keep, record_at, start_of, words
from nlink.compiled.dispatch import dispatched
from nlink.compiled.jit import COMPILING, Direct, apart, entry
from nlink.compiled.simd import VecArray
from nlink.compiled.views import views
from nlink.mechanics.contract import SETTLERS, settled
from nlink.mechanics.kernels import ChainParameters, UnloadedChain
from nlink.mechanics.scratch import TIP
from nlink.mechanics.stages import Sums, run_stages

ROW, ROWS, WHOLE = VecArray(1, 1), VecArray(1, 2), types.int64
SUMS = types.NamedTuple((ROW, types.Array(WHOLE, 2, "C"), ROWS, types.Array(WHOLE, 1, "C")), Sums)
NUMBER = types.float64


class Equations(NamedTuple):
    """The machine code of a formulation for the numbers of one chain, which must outlive it."""

    stages: int
    """the address of what evaluates stages"""
    settle: int
    """that of what brings a state back onto its constraints; 0 if there is nothing to do"""
    memory: np.ndarray
    """the parameters, a word each"""


@apart
def stages_at(sums, place, t, h, y, first, last, stages, point, w):
    """Evaluate stages; see `run_stages`."""
    known = Sums(contiguous(sums.c), sums.pick, contiguous(sums.weight), sums.blocks)
    state, rates, moved, scratch = contiguous(y), contiguous(stages), contiguous(point), contiguous(w)
    run_stages(known, record_at(place), t, h, state, first, last, rates, moved, scratch)


@apart
def settled_at(y, place, w):
    """Bring a state back onto its constraints; return whether it was changed."""
    return settled(contiguous(y), record_at(place), contiguous(w))


stages_address, call_stages = by_address(stages_at, lambda at: (SUMS, at, NUMBER, NUMBER, ROW, WHOLE, WHOLE, ROWS, ROW, ROWS))
settled_address, call_settled = by_address(settled_at, lambda at: (ROW, at, ROWS), types.boolean)


@dispatched(lambda count: settled_address_of if count else no_address, "settles", of=len)
def settle_address(settles, place):
    """Return the address of what brings a state back onto its constraints, or 0: then it is not compiled."""


def settled_address_of(settles, place):
    """Return the address."""
    return settled_address(place)


def no_address(settles, place):
    """Return 0."""
    return 0


@entry("the equations of motion")
def compile_equations(p, memory, settles):
    """Write parameters into memory; return the addresses of the functions that take them. `settles` is empty if states are not
    brought back onto constraints.
    """
    p = views(p)
    place = keep(p, memory)
    return stages_address(place), settle_address(settles, place)


def equations_of(parameters: Any, settles: bool) -> Any:
    """Return the machine code for parameters, without loads if there are none, and with what brings states back onto constraints if
    it `settles` them; if nothing is compiled, the parameters.
    """
    if not COMPILING:
        return parameters
    chain = parameters.chain
    if type(chain) is ChainParameters and not chain.loaded:
        parameters = parameters._replace(chain=UnloadedChain(*chain))
    memory = np.empty(words(parameters), np.int64)
    stages, settle = compile_equations(parameters, memory, (0,) * settles)  # pyright: ignore[reportGeneralTypeIssues]
    return Equations(stages, settle, memory)


@dispatched(lambda kind: stages_by_address if kind is Equations else run_stages)
def evaluate(sums, p, t, h, y, first, last, stages, point, w):
    """Evaluate stages; see `run_stages`. p are parameters or their Equations."""


def stages_by_address(sums, p, t, h, y, first, last, stages, point, w):
    """Call `run_stages`."""
    call_stages(p.stages, (sums, start_of(p.memory), t, h, y, first, last, stages, point, w))


def settled_by_address(y, p, w):
    """Call what brings a state back onto its constraints, if there is anything to do."""
    return p.settle != 0 and call_settled(p.settle, (y, start_of(p.memory), w))


SETTLERS[Equations] = settled_by_address


@entry("the equations of motion")
def evaluate_rows(sums, y, p, out, tip, w):
    """Fill each row of `out` with the rates of a row of y at the time of this stage; see `rates_many`."""
    sums, y, p, out, tip, w = views(sums), views(y), views(p), views(out), views(tip), views(w)
    for k in range(len(y)):
        evaluate(sums, p, 0.0, 1.0, y[k], k, k + 1, out, y[k], w)
        if len(tip) > 0:
            tip[k, 0], tip[k, 1] = w[TIP, 0], w[TIP, 1]


rows_at_address = Direct(evaluate_rows)
NONE = np.zeros((1, 8), np.int64), np.zeros((1, 8))
"""Stages and weights of no sum."""


def rates_many(t: np.ndarray, y: np.ndarray, p: Any, out: np.ndarray, tip: np.ndarray, w: np.ndarray) -> None:
    """Evaluate the right-hand side for each row of y; the force of the pin goes into `tip` (rows, 2), unless that has no rows."""
    assert out.flags.c_contiguous
    evaluated = rows_at_address if isinstance(p, Equations) else evaluate_rows
    sums = Sums(np.ascontiguousarray(t, float), *NONE, np.zeros(len(t), np.int64))
    evaluated(sums, np.ascontiguousarray(y, float), p, out, tip, w)


def rates(t: float, y: np.ndarray, p: Any, out: np.ndarray, w: np.ndarray) -> None:
    """Evaluate the right-hand side once; `w` is left as it leaves it."""
    rates_many(np.array([t]), y[None], p, out[None], np.empty((0, 2)), w)
