"""The series of lines in space as plain Python: every layout gives the same coefficients and powers, with every load.

It needs NUMBA_DISABLE_JIT=1; `test_uncompiled.py` runs it so.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from space import random_lines, random_state

from nlink import Drag, FollowerForce, Gravity, JointSpring, LinkDamper, SpatialChain, Taylor, TipForce, formulate
from nlink.compiled.interpreted import Vectors
from nlink.ensemble.kernels.by_series import by_series
from nlink.formulations.space.lines import LineParameters
from nlink.formulations.space.series.one_vector import PARTS
from nlink.formulations.space.series.rows import LINE, X, Z
from nlink.integrators.base import Restart
from nlink.integrators.taylor import series_room
from nlink.mechanics.series import ONE_VECTOR, ORDER_BY_ORDER, SERIES, UNROLLED, SeriesRoom, begin, powers, series, series_layout

LEFT = -7.0
"""What memory holds from a use before: it must not matter."""
LOADS = {
    "nothing": (),
    "link damper": (LinkDamper((0.2, 0.0, 0.3, 0.1, 0.2)),),
    "drag": (Drag((0.3, 0.0, 0.2, 0.1, 0.4)),),
    "tip": (TipForce(1.0, 2.0, fz=-0.5),),
    "follower": (FollowerForce(2.0),),
    "spring": (JointSpring((2.0, 0.0, 3.0, 1.0, 0.5)),),
    "rotor": (),
}
LOADS["all"] = tuple(load for loads in LOADS.values() for load in loads)


def case(name: str, n: int) -> tuple[SpatialChain, np.ndarray]:
    """Return a random chain with a load, and a state."""
    rng = np.random.default_rng(n)
    first = {load: next(iter(vars(load).values())) for load in LOADS[name]}
    loads = [type(load)(values[:n]) if isinstance(values, tuple) else load for load, values in first.items()]
    spin = tuple(rng.normal(size=n)) if name in ("rotor", "all") else 0.0
    chain = SpatialChain(random_lines(n, rng), (Gravity(7.0), *loads), spin)
    return chain, np.concatenate([*random_state(chain, rng), np.zeros(formulate(chain).full_size - 2 * chain.size)])


def alone(chain: SpatialChain, y: np.ndarray, order: int, lines: int) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """Return coefficients (order + 1, N, 3), those of the ledger, and what the step follows from, of one chain: in one vector if it
    has at most so many lines.
    """
    few = SERIES[LineParameters][ONE_VECTOR]._replace(most=lines)
    with mock.patch.dict(SERIES[LineParameters], {ONE_VECTOR: few}):
        system = formulate(chain)
        method = Taylor(order=order).stepper(system, Restart.at(0.0, y.copy()), 1.0).method
    method.q[:] = LEFT
    room, p = series_room(method, system.parameters), system.parameters
    begin(p, room)
    ends = series(0.0, 1.0, True, y, p, room, order)
    if p.chain.ledger:
        powers(p, room, order, method.q)
    if len(method.layout.kind) == ONE_VECTOR:
        terms = room.terms[LINE, : order + 1, : PARTS * chain.n].reshape(order + 1, chain.n, PARTS)
    else:
        terms = np.moveaxis(room.terms[X : Z + 1, : order + 1, : chain.n], 0, 2)
    return terms, method.q[:, 2 * chain.size :], ends


def in_lanes(chain: SpatialChain, y: np.ndarray, order: int, kind: int) -> tuple[np.ndarray, np.ndarray]:
    """Return likewise coefficients and those of the ledger of a chain in the second of three lanes."""
    system, width = formulate(chain), 3
    brought, numbers = SERIES[LineParameters], system.parameters.chain
    layout = series_layout(kind, chain.n, brought[kind].acting(numbers))
    method = by_series(numbers, brought[ORDER_BY_ORDER], 1e-13, layout, order, width)
    for each in (method.terms, method.w, method.u, method.q):
        each[:] = LEFT
    terms, w, u, q = (Vectors(each) for each in (method.terms, method.w, method.u, method.q))
    room = SeriesRoom(numbers, terms, terms, w, w, u, u, layout, method.orders)
    states = Vectors(np.stack([1.1 * y + 0.2, y, 0.5 * y + 0.1], 1))
    series(0.0, 1.0, True, states, system.parameters, room, order)
    if numbers.ledger:
        powers(system.parameters, room, order, q)
    found = np.moveaxis(method.terms[X : Z + 1, : order + 1, :, 1], 0, 2)
    return found, method.q[:, 2 * chain.size :, 1]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(("n", "order"), [(1, 9), (2, 8), (3, 9), (5, 6)])
def test_every_layout_of_the_series_is_the_same(load, n, order):
    """One chain in loops and in one vector, and chains in lanes in loops and unrolled."""
    chain, y = case(load, n)
    terms, works, ends = alone(chain, y, order, 0)
    scale = np.abs(terms).max((1, 2))
    others = [alone(chain, y, order, 10)[:2], *(in_lanes(chain, y, order, kind) for kind in (ORDER_BY_ORDER, UNROLLED))]
    for other, work in others:
        np.testing.assert_allclose((other - terms).max((1, 2)) / scale, 0.0, atol=1e-11)
        most = np.abs(works).max(initial=1.0)
        np.testing.assert_allclose(work[: order - 1] / most, works[: order - 1] / most, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(alone(chain, y, order, 10)[2], ends, rtol=1e-6)
