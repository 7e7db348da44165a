"""Many states of one open mechanism side by side: the sweep over its tree in vectors, a state in each lane."""

from __future__ import annotations

import threading

import numpy as np

from nlink.compiled.jit import entry
from nlink.compiled.simd import aligned, columns
from nlink.compiled.views import views
from nlink.formulations.tree import SWEEP_ROWS, act, inward, outward
from nlink.mechanics.tree import TreeParameters, V, pose, turn_bodies

LANES = 16
"""States side by side."""


class TreeSideBySide:
    """The accelerations of many states of one mechanism."""

    def __init__(self, parameters: TreeParameters) -> None:
        self.parameters = parameters._replace(chain=parameters.chain._replace(ledger=0))
        self.lanes = (0,) * LANES
        self._memory = threading.local()

    def _scratch(self) -> np.ndarray:
        """Return this thread's scratch."""
        if getattr(self._memory, "rows", None) is None:
            self._memory.rows = aligned(SWEEP_ROWS, self.parameters.chain.n, len(self.lanes))
        return self._memory.rows

    def __call__(self, t: float, states: np.ndarray, out: np.ndarray, to: int) -> None:
        """Fill out[to:] (N, K) with the accelerations of states (2N, K), and what is before with rates."""
        count, width = states.shape[1], len(self.lanes)
        if count < width:
            few = np.zeros((len(out), width))
            self(t, np.pad(states, ((0, 0), (0, width - count))), few, to)
            out[:] = few[:, :count]
        else:
            tree_columns(t, states, self.parameters, out, to, self._scratch(), self.lanes)


@entry("rates of many mechanisms")
def tree_columns(t, states, p, out, to, scratch, lanes):
    """Fill out[to:] for columns of states, as many at a time as there are lanes; the last block may overlap the one before."""
    p, count, width = views(p), states.shape[1], len(lanes)
    w = columns(scratch, 0, lanes)
    for start in range(0, count, width):
        first = min(start, count - width)
        y, x = columns(states, first, lanes), columns(out, first, lanes)
        if p.chain.loaded:
            pose(t, y, p, w)
        else:
            turn_bodies(t, y, p, w)
        act(t, p, w, x, 0)
        inward(p, w)
        outward(p, w, x, to, p.chain.g)
        for i in range(to):
            x[i] = w[V, i]
