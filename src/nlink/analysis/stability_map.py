"""Eigenvalues along a load, and where in the plane of two parameters a chain is stable, flutters or diverges."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink.analysis.linearize import FLAT, ComplexArray, linearize
from nlink.analysis.stability import STILL, Path, balanced
from nlink.mechanics.chain import Chain

STABLE, FLUTTER, DIVERGENCE = range(3)
KINDS = ("stable", "flutter", "divergence")
BATCH = 4000
Progress = Callable[[int, int], None]
ChainOf = Callable[[float, float], Chain]


class Locus(NamedTuple):
    """Eigenvalues (L, 2n) of the chains at the loads (L,), followed from load to load."""

    loads: np.ndarray
    eigenvalues: ComplexArray


class StabilityMap(NamedTuple):
    """For the values x (X,) and y (Y,) of two parameters the kind (Y, X): STABLE, FLUTTER or DIVERGENCE, and the growth in 1/s."""

    x: np.ndarray
    y: np.ndarray
    kind: np.ndarray
    growth: np.ndarray


def locus(
    chain_of: Callable[[float], Chain], loads: ArrayLike, theta: ArrayLike | None = None, progress: Progress | None = None
) -> Locus:
    """Return the eigenvalues along a path of chains, each joined to the nearest at the load before."""
    path, rows, loads = Path(chain_of, theta), [], np.asarray(loads, float)
    for k, load in enumerate(loads.tolist()):
        values = path.at(load).linear.eigenvalues
        rows.append(values if not rows else _followed(rows[-1], values))
        if progress:
            progress(k + 1, len(loads))
    return Locus(loads, np.array(rows))


def _followed(before: ComplexArray, values: ComplexArray) -> ComplexArray:
    from scipy.optimize import linear_sum_assignment

    return values[linear_sum_assignment(np.abs(before[:, None] - values[None, :]))[1]]


def stability_map(
    chain_of: ChainOf, x: ArrayLike, y: ArrayLike, theta: ArrayLike | None = None, progress: Progress | None = None
) -> StabilityMap:
    """Return where the chains `chain_of(x, y)` are stable, about one equilibrium or the one followed along each row."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    made = _Bilinear.found(chain_of, x, y, theta)
    kind, growth = np.empty((len(y), len(x)), int), np.empty((len(y), len(x)))
    for row, value in enumerate(y.tolist()):
        matrices = made.row(x, value) if made else _row(chain_of, x, value, theta)
        kind[row], growth[row] = classified(*matrices)
        if progress:
            progress(row + 1, len(y))
    return StabilityMap(x, y, kind, growth)


def _row(chain_of: ChainOf, x: np.ndarray, value: float, theta: ArrayLike | None) -> tuple[np.ndarray, ...]:
    """Build the matrices of one row chain by chain, following the equilibrium."""
    path = Path(lambda load: chain_of(load, value), theta)
    linear = [path.at(load).linear for load in x.tolist()]
    return tuple(np.array([getattr(each, name) for each in linear]) for name in "MCK")


class _Bilinear:
    """Matrices that depend bilinearly on both parameters about one equilibrium: put together from four corners."""

    def __init__(self, corners: list[tuple[np.ndarray, ...]], x: np.ndarray, y: np.ndarray) -> None:
        self.corners, self.x, self.y = corners, x, y

    @classmethod
    def found(cls, chain_of: ChainOf, x: np.ndarray, y: np.ndarray, theta: ArrayLike | None) -> _Bilinear | None:
        """Return it if the chains are so, by a look at some between."""
        first = Path(lambda load: chain_of(load, float(y[0])), theta).at(float(x[0])).linear
        ends = [(a, b) for b in (y[0], y[-1]) for a in (x[0], x[-1])]
        looks = [(x[0] + s * np.ptp(x), y[0] + t * np.ptp(y)) for s, t in ((0.31, 0.73), (0.5, 0.5), (0.87, 0.19))]
        chains = [chain_of(float(a), float(b)) for a, b in ends + looks]
        if first.chain.pin or any(chain.n != first.chain.n or not balanced(chain, first.theta) for chain in chains):
            return None
        exact = [linearize(chain, first.theta) for chain in chains]
        made = cls([(each.M, each.C, each.K) for each in exact[:4]], x, y)
        for (a, b), true in zip(looks, exact[4:], strict=True):
            for mine, name in zip(made.row(np.array([a]), float(b)), "MCK", strict=True):
                wanted = getattr(true, name)
                if np.abs(mine[0] - wanted).max() > 1e-12 * max(np.abs(wanted).max(), 1e-300):
                    return None
        return made

    def row(self, x: np.ndarray, value: float) -> tuple[np.ndarray, ...]:
        """Return M, C, K (X, n, n) for a row."""
        u = ((x - self.x[0]) / (np.ptp(self.x) or 1.0))[:, None, None]
        v = (value - self.y[0]) / (np.ptp(self.y) or 1.0)
        weights = ((1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v)
        return tuple(np.sum([w * corner[k] for w, corner in zip(weights, self.corners, strict=True)], axis=0) for k in range(3))


def classified(M: np.ndarray, C: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the kind and the growth of each of many linearisations (B, n, n)."""
    n = M.shape[-1]
    solved = np.linalg.solve(M, np.concatenate([K, C], axis=-1))
    still = ~C.any(axis=(-1, -2))
    values: ComplexArray = np.empty((len(M), 2 * n), complex)
    if still.any():
        roots = np.sqrt(-np.linalg.eigvals(solved[still][..., :n]).astype(complex))
        values[still] = np.concatenate([roots, -roots], axis=-1)
    if (~still).any():
        A = np.zeros((int((~still).sum()), 2 * n, 2 * n))
        A[:, :n, n:] = np.eye(n)
        A[:, n:] = -solved[~still]
        values[~still] = np.linalg.eigvals(A)
    scale = np.abs(values).max(-1)
    worst = values[np.arange(len(values)), values.real.argmax(-1)]
    limit = np.where(still, 1e-7, FLAT) * scale
    moving = np.abs(worst.imag) > STILL * scale
    kind = np.where(worst.real <= limit, STABLE, np.where(moving, FLUTTER, DIVERGENCE))
    return kind, worst.real
