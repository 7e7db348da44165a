"""Eigenvalues along a load, and where in the plane of two parameters a chain is stable, flutters or diverges."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.showing import short
from nlink.analysis.driven_stability import DrivenPath
from nlink.analysis.floquet import is_driven
from nlink.analysis.linearize import FLAT, ComplexArray, companion, linearize
from nlink.analysis.stability import STILL, Path, balanced
from nlink.mechanics.chain import Multibody

STABLE, FLUTTER, DIVERGENCE = range(3)
KINDS = ("stable", "flutter", "divergence")
Progress = Callable[[int, int], None]
ChainOf = Callable[[float, float], Multibody]
Matrices = tuple[np.ndarray, ...]


@short
class Locus(NamedTuple):
    """Eigenvalues (L, 2n) of the chains at the loads (L,), followed from load to load."""

    loads: np.ndarray
    eigenvalues: ComplexArray


@short
class StabilityMap(NamedTuple):
    """For the values x (X,) and y (Y,) of two parameters the kind (Y, X): STABLE, FLUTTER or DIVERGENCE, and the growth in 1/s."""

    x: np.ndarray
    y: np.ndarray
    kind: np.ndarray
    growth: np.ndarray


def locus(
    chain_of: Callable[[float], Multibody], loads: ArrayLike, theta: ArrayLike | None = None, progress: Progress | None = None
) -> Locus:
    """Return the eigenvalues along a path of chains, each joined to the nearest at the load before; of driven mechanisms the
    Floquet exponents.
    """
    from scipy.optimize import linear_sum_assignment

    rows, loads = [], np.asarray(loads, float)
    driven = is_driven(chain_of(float(loads[0])))
    path, motions = Path(chain_of, theta), DrivenPath(chain_of, theta)
    for k, load in enumerate(loads.tolist()):
        values = motions.at(load).exponents if driven else path.at(load).linear.eigenvalues
        if rows:
            values = values[linear_sum_assignment(np.abs(rows[-1][:, None] - values[None, :]))[1]]
        rows.append(values)
        if progress:
            progress(k + 1, len(loads))
    return Locus(loads, np.array(rows))


def stability_map(
    chain_of: ChainOf, x: ArrayLike, y: ArrayLike, theta: ArrayLike | None = None, progress: Progress | None = None
) -> StabilityMap:
    """Return where the chains `chain_of(x, y)` are stable, about one equilibrium or the one followed along each row; where driven
    mechanisms are, about the motion that repeats.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    driven = is_driven(chain_of(float(x[0]), float(y[0])))
    row_of = None if driven else _bilinear(chain_of, x, y, theta)
    row_of = row_of or (lambda x, value: _row(chain_of, x, value, theta))
    kind, growth = np.empty((len(y), len(x)), int), np.empty((len(y), len(x)))
    for row, value in enumerate(y.tolist()):
        kind[row], growth[row] = _driven_row(chain_of, x, value, theta) if driven else classified(*row_of(x, value))
        if progress:
            progress(row + 1, len(y))
    return StabilityMap(x, y, kind, growth)


def _row(chain_of: ChainOf, x: np.ndarray, value: float, theta: ArrayLike | None) -> Matrices:
    """Build the matrices of one row chain by chain, following the equilibrium."""
    path = Path(lambda load: chain_of(load, value), theta)
    linear = [path.at(load).linear for load in x.tolist()]
    return tuple(np.array([getattr(each, name) for each in linear]) for name in "MCK")


def _driven_row(chain_of: ChainOf, x: np.ndarray, value: float, theta: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return kind and growth of each mechanism of one row, by Floquet multipliers."""
    path = DrivenPath(lambda load: chain_of(load, value), theta)
    motions = [path.at(load) for load in x.tolist()]
    return np.array([KINDS.index(each.kind) for each in motions]), np.array([each.growth for each in motions])


def _bilinear(
    chain_of: ChainOf, x: np.ndarray, y: np.ndarray, theta: ArrayLike | None
) -> Callable[[np.ndarray, float], Matrices] | None:
    """Return M, C, K (X, n, n) of a row as a function of x and the value of y, made from the four corners of the map.

    None, if the matrices do not depend bilinearly on both parameters about one equilibrium, by a look at some chains between.
    """
    first = Path(lambda load: chain_of(load, float(y[0])), theta).at(float(x[0])).linear
    ends = [(a, b) for b in (y[0], y[-1]) for a in (x[0], x[-1])]
    looks = [(x[0] + s * np.ptp(x), y[0] + t * np.ptp(y)) for s, t in ((0.31, 0.73), (0.5, 0.5), (0.87, 0.19))]
    chains = [chain_of(float(a), float(b)) for a, b in ends + looks]
    if first.chain.closed or any(chain.n != first.chain.n or not balanced(chain, first.theta) for chain in chains):
        return None
    exact = [(each.M, each.C, each.K) for each in (linearize(chain, first.theta) for chain in chains)]

    def row(values: np.ndarray, value: float) -> Matrices:
        u = ((values - x[0]) / (np.ptp(x) or 1.0))[:, None, None]
        v = (value - y[0]) / (np.ptp(y) or 1.0)
        weights = ((1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v)
        return tuple(np.sum([w * corner[k] for w, corner in zip(weights, exact, strict=False)], axis=0) for k in range(3))

    for (a, b), matrices in zip(looks, exact[4:], strict=True):
        for mine, wanted in zip(row(np.array([a]), float(b)), matrices, strict=True):
            if np.abs(mine[0] - wanted).max() > 1e-12 * max(np.abs(wanted).max(), 1e-300):
                return None
    return row


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
        values[~still] = np.linalg.eigvals(companion(solved[~still]))
    scale = np.abs(values).max(-1)
    worst = values[np.arange(len(values)), values.real.argmax(-1)]
    limit = np.where(still, 1e-7, FLAT) * scale
    moving = np.abs(worst.imag) > STILL * scale
    kind = np.where(worst.real <= limit, STABLE, np.where(moving, FLUTTER, DIVERGENCE))
    return kind, worst.real
