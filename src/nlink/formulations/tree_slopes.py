"""The equations of motion of a mechanism as a balance, and its exact derivatives: for what is made linear about a state.

    F(t, q, q', q'') = sum J^T (M accelerations - forces) = 0         M = dF/dq''    C = dF/dq'    K = dF/dq

computed by `projection` in dual numbers, a direction in each lane. In the rows of prescribed joints F is the force of the drive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink.compiled.duals import duals, rate_of
from nlink.compiled.jit import entry
from nlink.compiled.simd import lane, value_of
from nlink.compiled.views import views
from nlink.formulations.tree import act
from nlink.formulations.tree_projection import CHANGE, LEFT, TreeProjection, accelerate, balance
from nlink.mechanics.kernels import chain_parameters
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.tree import pose

LANES = (0,) * 8
"""As long as the number of directions that are followed side by side."""


class Balance(NamedTuple):
    """What is left over (..., N), and its derivatives M, C, K (..., N, N) by accelerations, rates and coordinates."""

    left: np.ndarray
    M: np.ndarray
    C: np.ndarray
    K: np.ndarray


@entry("derivatives of the equations of motion")
def balances_many(t, motions, p, numbers, scratch, lanes, left, slopes):
    """Fill left (R, N), and slopes (R, 3 N, N) by coordinates, rates and accelerations, at the motions (R, 3 N)."""
    t, motions, p, left, slopes = views(t), views(motions), views(p), views(left), views(slopes)
    numbers, scratch = views(numbers), views(scratch)
    y, w, n = duals(numbers, lanes), duals(scratch, lanes), p.chain.n
    for r in range(len(t)):
        for first in range(0, 3 * n, len(lanes)):
            for i in range(3 * n):
                for k in range(len(lanes)):
                    numbers[i, k], numbers[i, len(lanes) + k] = motions[r, i], 1.0 if i == first + k else 0.0
            pose(t[r], y, p, w)
            act(t[r], p, w, y, 0)
            for i in range(n):
                w[CHANGE, i] = y[2 * n + i]
            accelerate(p, w)
            balance(p, w, False)
            for i in range(n):
                left[r, i] = lane(value_of(w[LEFT, i]), 0)
                for k in range(min(len(lanes), 3 * n - first)):
                    slopes[r, first + k, i] = lane(rate_of(w[LEFT, i]), k)


def balances(model: Mechanism, t: ArrayLike, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Balance:
    """Return the balance of a mechanism at motions (..., N) and times t (...), without a torque function.

    What is prescribed is as prescribed, so that derivatives by its coordinates and rates are zero.
    """
    n, many = model.n, np.shape(q)[:-1]
    motions = np.ascontiguousarray(np.concatenate(np.broadcast_arrays(q, v, a), -1).reshape(-1, 3 * n), float)
    times = np.ascontiguousarray(np.broadcast_to(np.asarray(t, float), many).reshape(-1))
    form = TreeProjection()
    p = form.parameters(model, chain_parameters(model))
    p = p._replace(chain=p.chain._replace(ledger=0))
    left, slopes = np.empty((len(times), n)), np.empty((len(times), 3 * n, n))
    numbers, scratch = np.zeros((3 * n, 2 * len(LANES))), np.zeros((form.scratch(n), n, 2 * len(LANES)))
    balances_many(times, motions, p, numbers, scratch, LANES, left, slopes)
    K, C, M = (np.swapaxes(slopes[:, first : first + n], 1, 2).reshape(*many, n, n) for first in (0, n, 2 * n))
    return Balance(left.reshape(*many, n), M, C, K)
