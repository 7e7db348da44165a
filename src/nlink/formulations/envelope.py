"""The envelope of a matrix J W J^T: its entries, where rows share bodies, from the first that is not zero to the diagonal.

What the factors L D L^T fill lies within it too. W is diagonal, one weight a body, so that an entry is a sum over the bodies that
two rows share: runs of neighbours in the lists of their paths. All of this follows from the tree and the closures alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PLAIN, SWEPT, WEIGHTED, LOWER, ROWS = range(5)
"""Places in `at`: entries of the rows in coordinates, the same with the joints eliminated, with weights, and the matrix or L."""
LEAST = 5
"""Width of the scratch at least."""
U, V, COUNT = range(3)
"""Columns of `runs`: where a run begins among the entries of the first row, of the second, and how many bodies it has."""


class Envelope(NamedTuple):
    """Where the entries of the rows and of the matrix are."""

    first: np.ndarray
    """(rows,) the first column of each row of the matrix that is not zero"""
    reach: np.ndarray
    """(rows,) the last row with an entry in a column up to this one"""
    base: np.ndarray
    """(rows,) where column 0 of each row would be in the list of entries of the matrix"""
    spans: np.ndarray
    """(entries + 1,) where the runs of each entry of the matrix begin"""
    runs: np.ndarray
    """(runs, 3): U, V, COUNT"""
    at: np.ndarray
    """(5,) where PLAIN, SWEPT, WEIGHTED and LOWER begin, in rows of the scratch behind the matrices, and how many rows they have"""


def envelope(paths: list[np.ndarray], n: int) -> Envelope:
    """Return the envelope for the bodies on the paths of each row."""
    starts = np.cumsum([0, *(len(path) for path in paths)])
    place, first = np.full((len(paths), n), -1), np.zeros(len(paths), np.int64)
    earliest = np.full(n, len(paths))
    for r, path in enumerate(paths):
        place[r, path] = starts[r] + np.arange(len(path))
        earliest[path] = np.minimum(earliest[path], r)
        first[r] = earliest[path].min()
    base = np.cumsum([0, *(r + 1 - first[r] for r in range(len(paths)))])
    runs, spans = [], [0]
    for r, path in enumerate(paths):
        for j in range(first[r], r + 1):
            runs += _runs(starts[r] + np.arange(len(path)), place[j, path])
            spans.append(len(runs))
    reach = np.array([int(np.flatnonzero(first <= r)[-1]) for r in range(len(paths))], np.int64)
    width = max(n, len(paths), LEAST)
    sizes = [starts[-1], starts[-1], starts[-1], base[-1]]
    at = np.cumsum([0, *(-(-int(size) // width) for size in sizes)])
    return Envelope(first, reach, base[:-1] - first, np.array(spans), np.array(runs, np.int64).reshape(-1, 3), at)


def _runs(u: np.ndarray, v: np.ndarray) -> list[tuple[int, int, int]]:
    """Return the runs (u, v, count) of neighbours; where v is negative the bodies are not shared."""
    u, v = u[v >= 0], v[v >= 0]
    if not len(v):
        return []
    cuts = np.flatnonzero((np.diff(v) != 1) | (np.diff(u) != 1)) + 1
    return [(int(a[0]), int(b[0]), len(a)) for a, b in zip(np.split(u, cuts), np.split(v, cuts), strict=True)]
