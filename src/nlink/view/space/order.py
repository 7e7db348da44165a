"""Painter's order: what lies in front where two things cross on the screen is drawn later; else the one whose middle is nearer.

`web/painter.js` orders in the same way.
"""

from __future__ import annotations

import numpy as np

MEET = 0.25
"""Two things whose depths differ by less than this share of their widths touch there: their middles decide."""


def painted(a: np.ndarray, b: np.ndarray, half: np.ndarray, link: np.ndarray) -> list[int]:
    """Return the order in which things are painted that lie between places a and b, each (K, 4), `half` pixels to each side.

    `link` is where each stands along the chain, NaN for pieces of a line. Of neighbours, which meet in a hinge, and of two pieces
    of a line the middles decide.
    """
    first, second = _overlapping(a[:, :2], b[:, :2], half)
    apart = np.abs(link[first] - link[second])
    own = (apart > 1) | (np.isnan(link[first]) != np.isnan(link[second]))
    first, second = first[own], second[own]
    ahead = _ahead(a, b, half, first, second)
    before: list[list[int]] = [[] for _ in a]
    for i, j, front in zip(first.tolist(), second.tolist(), ahead.tolist(), strict=True):
        if front:
            before[i if front > 0 else j].append(j if front > 0 else i)
    return _sorted(np.argsort(a[:, 2] + b[:, 2], kind="stable").tolist(), before)


def _sorted(order: list[int], before: list[list[int]]) -> list[int]:
    """Return the order with those that must come before another one before it; a ring of such is cut where it begins."""
    out: list[int] = []
    seen = [False] * len(order)
    for start in order:
        stack = [(start, iter(before[start]))] if not seen[start] else []
        seen[start] = True
        while stack:
            item, rest = stack[-1]
            following = next((k for k in rest if not seen[k]), None)
            if following is None:
                out.append(item)
                stack.pop()
            else:
                seen[following] = True
                stack.append((following, iter(before[following])))
    return out


def _overlapping(a: np.ndarray, b: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs whose boxes overlap."""
    low, high = np.minimum(a, b) - half[:, None], np.maximum(a, b) + half[:, None]
    apart = (low[:, None] > high[None]).any(-1)
    first, second = np.nonzero(np.triu(~(apart | apart.T), 1))
    return first, second


def _ahead(a: np.ndarray, b: np.ndarray, half: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return by how much i is nearer than j where they lie over one another, (P,); 0 where they do not, or touch."""
    u, v, w = (b - a)[i, :2], (b - a)[j, :2], (a[j] - a[i])[:, :2]
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = _cross(u, v)
        s, r = _cross(w, v) / cross, _cross(w, u) / cross
    crossing = (s > 0) & (s < 1) & (r > 0) & (r < 1)
    least, at, on = half[i] + half[j], np.full(len(i), np.nan), np.full(len(i), np.nan)
    for own, other, end, swap in ((i, j, a, False), (i, j, b, False), (j, i, a, True), (j, i, b, True)):
        share, far = _foot(end[own, :2], a[other, :2], b[other, :2])
        near, fixed = far < least, np.full(len(i), 1.0 if end is b else 0.0)
        least = np.where(near, far, least)
        at, on = np.where(near, share if swap else fixed, at), np.where(near, fixed if swap else share, on)
    at, on = np.where(crossing, s, at), np.where(crossing, r, on)
    gap = a[i, 2] + at * (b - a)[i, 2] - a[j, 2] - on * (b - a)[j, 2]
    return np.where(np.isnan(gap) | (np.abs(gap) * a[i, 3] < MEET * (half[i] + half[j])), 0.0, gap)


def _cross(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]


def _foot(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where on a to b the nearest point lies, as a share, and its distance."""
    along = b - a
    size = np.maximum((along**2).sum(-1), 1e-300)
    share = np.clip(((point - a) * along).sum(-1) / size, 0.0, 1.0)
    return share, np.hypot(*(point - a - share[:, None] * along).T)
