"""Straight code, which a GPU runs, on the processor: the unrolled sweep and the unrolled stages against the loops."""

from __future__ import annotations

import numpy as np
import pytest

from nlink import Chain, formulate
from nlink.compiled.jit import uncached
from nlink.ensemble.kernels.stages import STAGES, TABLEAU, StagesRoom, begin, step
from nlink.formulations.side_by_side import SideBySide, unrolled_accelerations


@uncached
def accelerations(y, constants, lift, out, links):
    unrolled_accelerations(y, constants, lift, out, links)


@uncached
def stepped(y, p, h, weights, k, point, w, sums, links, constants, lift, new):
    room = StagesRoom(k, point, w, links, sums, constants, lift)
    begin(0.0, y, p, weights, room, new)
    step(0.0, h, y, p, weights, room, new, False)


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_unrolled_sweep(n):
    random = np.random.default_rng(n)
    system, y, out = formulate(Chain.uniform(n)), random.normal(0, 2, 2 * n), np.zeros(n)
    beside = SideBySide(system.parameters.chain)
    assert beside.plain
    accelerations(y, beside.constants, beside.lift, out, (0,) * n)
    np.testing.assert_allclose(out, system(0.0, y)[n:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [2, 4])
def test_unrolled_stages(n):
    system, y = formulate(Chain.uniform(n)), np.random.default_rng(n).normal(0, 2, 2 * n)
    beside, reached = SideBySide(system.parameters.chain), []
    for links in ((0,) * n, ()):
        k, point, w, new = np.zeros((STAGES, n)), np.zeros((2, 2 * n)), system.scratch(), np.zeros(2 * n)
        given = (TABLEAU, k, point, w, np.zeros(2 * n), links, beside.constants, beside.lift, new)
        stepped(y, system.parameters, 0.01, *given)
        reached.append(new)
    np.testing.assert_allclose(*reached, rtol=1e-13, atol=1e-13)
    assert np.abs(reached[0] - y).max() > 1e-3
