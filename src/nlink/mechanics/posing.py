"""Linkages posed without masses: all coordinates while some are driven, by continuation along the branch of a given state.

Nodes are a small step apart. Each is predicted by the polynomial through those before it (Hermite), corrected by Newton's method
with the driven coordinates held, and accepted if the correction is small beside the smallest singular value of the rows: that is
the distance to where another branch crosses. A step that is not accepted is halved, so that no pose is ever on another branch.
Where steps shrink to nothing the linkage has come to a limit.

The poses between two nodes start from the polynomial through both, and are corrected all at once. At a dead position, where the
rows say nothing of one direction, they keep the polynomial's value in it: an error of about 1e-9 rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, listed, shown
from nlink.mechanics import tree_kinematics
from nlink.mechanics.assembly import assemble, given_coordinates, scales
from nlink.mechanics.closures import curvatures, gaps, jacobians, poses
from nlink.mechanics.mobility import mobility
from nlink.mechanics.points import At

if TYPE_CHECKING:
    from nlink.mechanics.mechanism import Mechanism

STEP, FINER, LEAST_STEP = 0.05, 0.3, 1e-8
"""Steps between nodes in rad, or in parts of the size: usual ones, by what factor they are finer near dead positions, and those at
a limit.
"""
TRUSTED = 0.1
"""Correction of a node, as a part of the smallest singular value, that is surely on the same branch."""
SHARP = 1e-6
"""Smallest singular value of a state from which poses can be followed."""
NEAR = 1e-14
"""Distance in the driven coordinates that is none."""
ROUNDS, CORRECTIONS, ONCE_MORE = 8, 4, 1e-8
"""Rounds of Newton's method for nodes and for poses between them, and the step after which another one is needed."""
BLOCK = 16_384
"""Poses that are corrected at once: what the cache of a processor holds."""


class Node(NamedTuple):
    """A pose on the way: driven coordinates u (d,), all (N,), derivatives by u (N, d) and their size, smallest singular value."""

    u: np.ndarray
    q: np.ndarray
    slope: np.ndarray
    sigma: float
    steep: float

    def shy(self, step: float) -> bool:
        """Whether a dead position may be nearer than this step: singular values change by about the turns of the links."""
        return self.sigma < step * (1.0 + self.steep)


@dataclass(frozen=True)
class Posed:
    """Poses of a mechanism while some coordinates are driven.

    `given` (K, d) are the driven coordinates of the bodies `driven`, `theta` (K, N) all of them: NaN where a limit is in the way.
    `limits` says in words where that is.
    """

    mechanism: Mechanism
    driven: tuple[int, ...]
    given: np.ndarray
    theta: np.ndarray
    limits: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line: how many poses, what is driven, and which limits were met."""
        bodies = ", ".join(map(str, self.driven))
        limits = "".join(f"; {words}" for words in self.limits)
        return f"<{len(self.theta)} poses of {self.mechanism!r}, body {bodies} driven{limits}>"

    def reached(self) -> np.ndarray:
        """Return `theta`; raise ModelError if a limit was in the way of any pose."""
        if np.isnan(self.theta).any():
            raise ModelError("; ".join(self.limits))
        return self.theta

    def point(self, point: At) -> np.ndarray:
        """Return the path (K, 2) in m of a point."""
        return tree_kinematics.spot(self.mechanism, tree_kinematics.frames(self.mechanism, self.theta), point)[0]

    def rates(self, rate: ArrayLike = 1.0) -> np.ndarray:
        """Return the rates (K, N) when the driven coordinates move at `rate`, in rad/s or m/s: one, or one for each."""
        pace = np.broadcast_to(np.asarray(rate, float), self.given.shape).T
        return self._solved(np.zeros((self.mechanism.rows, len(self.theta))), pace)

    def accelerations(self, rate: ArrayLike = 1.0) -> np.ndarray:
        """Return the accelerations (K, N) when the driven coordinates move at constant `rate`."""
        q, v = self.theta.T, self.rates(rate).T
        return self._solved(curvatures(self.mechanism, q, v), np.zeros(self.given.shape).T)

    def _solved(self, bias: np.ndarray, pace: np.ndarray) -> np.ndarray:
        """Return (K, N) with the driven ones given by `pace` (d, K), and J times it = -bias (rows, K)."""
        model, out = self.mechanism, np.full(self.theta.shape[::-1], np.nan)
        there = ~np.isnan(self.theta).any(1)
        free, (rows, columns) = _free(model, self.driven), scales(model)
        J = jacobians(model, self.theta[there].T) * (columns[:, None] / rows[:, None, None])
        values = np.zeros((model.n, int(there.sum())))
        values[list(self.driven)] = pace[:, there] / columns[list(self.driven), None]
        right = -(bias[:, there] / rows[:, None]) - np.einsum("rnk,nk->rk", J, values)
        values[free] = _solve(np.moveaxis(J[:, free], -1, 0), right.T).T
        out[:, there] = values * columns[:, None]
        return out.T


def posed(model: Mechanism, given: Any, near: ArrayLike) -> Posed:
    """Return the poses of a mechanism with some coordinates driven, on the branch of the state `near`, at any number of poses.

    Parameters
    ----------
    given : a table of bodies and their coordinates (K,), like {0: numpy.linspace(0, 6.3, 1000)}, in rad, of sliders in m
    near : coordinates that nearly close the mechanism; the way leads from there, with two driven bodies or more from pose to pose

    >>> from nlink import GROUND, At, Link, Mechanism, Pin
    >>> bars = [Link.rod(1.0, 1.0), Link.rod(3.0, 1.0), Link.rod(2.5, 1.0).on(GROUND, (2.5, 0.0))]
    >>> turn = posed(Mechanism(bars, pins=Pin(At(1), At(2))), {0: [0.0, 1.0, 2.0]}, near=[1.0, 0.9, 0.3])
    >>> turn.point(At(1, 1.5)).round(3).tolist()
    [[1.3, -1.749], [2.018, -1.471], [1.395, -1.003]]
    """
    driven, values = _driven(model, given)
    start = assemble(model, near).theta
    free = _free(model, driven)
    free[list(driven)] = True
    freedom = mobility(model, start, free).freedom
    if freedom != len(driven):
        remedy = f"drive {freedom} in all" if freedom else "it cannot move"
        raise ModelError(f"body {_names(driven)} is driven, and the mechanism has a freedom of {freedom}; {remedy}")
    first = _tangent(model, driven, start)
    if first.sigma < SHARP:
        raise ModelError(
            f"the state near is at a dead position or a limit for body {_names(driven)}, where branches meet; "
            "give one that is off it, or drive another body"
        )
    theta, limits = np.full((len(values), model.n), np.nan), []
    for which in _tracks(values, first.u):
        reached, limit = _followed(model, driven, first, values[which])
        theta[which[: len(reached)]] = reached
        limits += [limit] if limit else []
    return Posed(model, driven, values, theta, tuple(limits))


def _names(driven: tuple[int, ...]) -> str:
    return " and ".join(map(str, driven))


def _driven(model: Mechanism, given: Any) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the driven bodies, and their coordinates (K, d)."""
    if not isinstance(given, dict):
        raise ModelError(f"the driven coordinates must be a table of bodies and their coordinates, got {shown(given)}")
    columns = []
    for i, values in given.items():
        if not listed(values) and not isinstance(values, np.ndarray):
            raise ModelError(f"the coordinates of body {i} must be a list of numbers, got {shown(values)}")
        columns.append(np.asarray(values, float))
    given_coordinates(model, {i: float(column[0]) if column.size else 0.0 for i, column in zip(given, columns, strict=True)})
    if any(column.ndim != 1 or len(column) != len(columns[0]) or not np.isfinite(column).all() for column in columns):
        raise ModelError("the driven bodies need lists of finite coordinates, all of the same length")
    return tuple(given), np.stack(columns, 1)


def _free(model: Mechanism, driven: tuple[int, ...]) -> np.ndarray:
    free = ~model.prescribed
    free[list(driven)] = False
    return free


def _tracks(values: np.ndarray, start: np.ndarray) -> list[np.ndarray]:
    """Return in which order poses are visited, as lists of their numbers: of one driven coordinate upwards and downwards from the
    start, of several in their own order.
    """
    if values.shape[1] > 1:
        return [np.arange(len(values))]
    order = np.argsort(values[:, 0], kind="stable")
    above = values[order, 0] >= start[0]
    return [track for track in (order[above], order[~above][::-1]) if len(track)]


def _tangent(model: Mechanism, driven: tuple[int, ...], q: np.ndarray) -> Node:
    """Return the node at a closed state."""
    (rows, columns), free, which = scales(model), _free(model, driven), list(driven)
    J = jacobians(model, q) / rows[:, None] * columns
    u, sizes, v = np.linalg.svd(J[:, free], full_matrices=False)
    slope = np.zeros((model.n, len(driven)))
    slope[which, range(len(which))] = 1.0
    slope[free] = -(v.T / np.maximum(sizes, 1e-300) @ u.T) @ J[:, which]
    steep = float(np.abs(slope).max())
    return Node(q[which].copy(), q, columns[:, None] * slope / columns[which], float(sizes[-1]) if len(sizes) else 1.0, steep)


def _followed(model: Mechanism, driven: tuple[int, ...], first: Node, track: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Return the poses (N columns) along a track (L, d) as far as it can be followed, and in words the limit in its way, if any."""
    nodes, out = [first], []
    if track.shape[1] == 1:
        limit = _approach(model, driven, nodes, track[-1])
        sign = 1.0 if track[-1] >= first.u else -1.0
        reach = np.count_nonzero(sign * track[:, 0] <= sign * nodes[-1].u[0]) if limit else len(track)
        return _between(model, driven, nodes, track[:reach]), limit
    for goal in track:
        limit = _approach(model, driven, nodes, goal)
        if limit:
            return np.reshape(out, (-1, model.n)), limit
        out.append(_between(model, driven, nodes[-2:], goal[None])[0])
    return np.reshape(out, (-1, model.n)), None


def _approach(model: Mechanism, driven: tuple[int, ...], nodes: list[Node], goal: np.ndarray) -> str | None:
    """Append nodes until driven coordinates (d,) are reached, or passed a little; return in words the limit in the way, if any."""
    unit, step = scales(model).columns[list(driven)], 1.0
    while (reach := float(np.abs((goal - nodes[-1].u) / unit).max())) > NEAR:
        here = nodes[-1]
        part = min(1.0, step * STEP * (FINER if here.shy(STEP) else 1.0) / reach)
        new = _next(model, driven, nodes, here.u + part * (goal - here.u))
        if new is None and part == 1.0:  # at the goal may be a dead position
            new = _next(model, driven, nodes, here.u + (1.0 + 0.3 * STEP / reach) * (goal - here.u))
            if new:
                nodes.append(new)
                return None
        if new:
            nodes.append(new)
            step = min(1.0, 2 * step)
        else:
            step /= 2
            if step * STEP < LEAST_STEP:
                return _limit(driven, here, goal - here.u)
    return None


def _limit(driven: tuple[int, ...], here: Node, way: np.ndarray) -> str:
    """Return where a linkage comes to its limit."""
    at = ", ".join(f"{value:.6g}" for value in here.u)
    if len(driven) > 1:
        return f"bodies {_names(driven)} cannot go on beyond ({at}): the linkage is at a limit there"
    return f"body {_names(driven)} cannot go {'above' if way.sum() > 0 else 'below'} {at}: the linkage is at a limit there"


def _next(model: Mechanism, driven: tuple[int, ...], nodes: list[Node], u: np.ndarray) -> Node | None:
    """Return the node at driven coordinates u on the branch of the nodes before, or None if that is not sure."""
    (rows, columns), free = scales(model), _free(model, driven)
    q = nodes[-1].q + nodes[-1].slope @ (u - nodes[-1].u)
    if len(nodes) > 1:
        q = _hermite(nodes[-2], nodes[-1], u)
    q[list(driven)] = u
    moved, size = np.zeros(np.count_nonzero(free)), 0.0
    for _ in range(ROUNDS):
        J = jacobians(model, q)[:, free] / rows[:, None] * columns[free]
        step = np.linalg.lstsq(J, -gaps(model, q) / rows, rcond=None)[0]
        q[free] += step * columns[free]
        moved += step
        size = float(np.abs(step).max(initial=0.0))
        if size < ONCE_MORE or not size < 1.0:
            break
    found = _tangent(model, driven, q)
    return found if size < ONCE_MORE and np.abs(moved).max(initial=0.0) <= TRUSTED * found.sigma else None


def _hermite(a: Node, b: Node, u: np.ndarray) -> np.ndarray:
    """Return the coordinates (..., N) at driven coordinates u (..., d) on the line through two nodes, by the cubic through both."""
    chord = b.u - a.u
    s = ((u - a.u) @ chord / (chord @ chord))[..., None]
    left, right, jump = a.slope @ chord, b.slope @ chord, b.q - a.q
    return a.q + s * (left + s * (3 * jump - 2 * left - right + s * (left + right - 2 * jump)))


def _between(model: Mechanism, driven: tuple[int, ...], nodes: list[Node], track: np.ndarray) -> np.ndarray:
    """Return the poses (L, N) of a track (L, d) along nodes: each starts from the cubic through the nodes around it."""
    out, which = np.empty((len(track), model.n)), list(driven)
    ends = np.array([node.u[0] for node in nodes]) if track.shape[1] == 1 else np.arange(len(nodes), dtype=float)
    sign = 1.0 if ends[-1] >= ends[0] else -1.0
    unit = scales(model).columns[which]
    shy = np.array([a.shy(step) or b.shy(step) for a, b in pairwise(nodes) for step in [np.abs((b.u - a.u) / unit).max()]])
    for first in range(0, len(track), BLOCK):
        u = track[first : first + BLOCK]
        if len(nodes) == 1:
            q, near = nodes[0].q + (u - nodes[0].u) @ nodes[0].slope.T, np.zeros(len(u), bool)
        else:
            at = sign * u[:, 0] if track.shape[1] == 1 else np.full(len(u), ends[-1])
            k = np.clip(np.searchsorted(sign * ends, at) - 1, 0, len(nodes) - 2)
            q, near = _interpolated(nodes, k, u), shy[k]
        q = q.T.copy()
        q[which] = u.T
        _correct(model, driven, q, near)
        out[first : first + BLOCK] = q.T
    return out


def _interpolated(nodes: list[Node], k: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the coordinates (L, N) at u (L, d), each by the cubic through the nodes k and k + 1."""
    out = np.empty((len(u), len(nodes[0].q)))
    edges = np.flatnonzero(np.diff(k, prepend=-1))
    for a, b in zip(edges, [*edges[1:], len(k)], strict=True):
        out[a:b] = _hermite(nodes[k[a]], nodes[k[a] + 1], u[a:b])
    return out


def _correct(model: Mechanism, driven: tuple[int, ...], q: np.ndarray, near: np.ndarray) -> None:
    """Close predicted poses q (N, K) by Newton's method, in place; those near a dead position with what can be told of it."""
    (rows, columns), free, going = scales(model), np.flatnonzero(_free(model, driven)), np.arange(q.shape[1])
    if not len(free):
        return
    for _ in range(CORRECTIONS):
        here = q[:, going] if len(going) < q.shape[1] else q
        at = poses(model, here)
        gap = (gaps(model, here, at) / rows[:, None]).T
        J = np.moveaxis(jacobians(model, here, at)[:, free] * (columns[free, None] / rows[:, None, None]), -1, 0)
        step, special = np.empty((len(going), len(free))), near[going]
        step[~special] = _solve(J[~special], -gap[~special])
        step[special] = _careful(J[special], -gap[special])
        q[np.ix_(free, going)] += (step * columns[free]).T
        going = going[np.abs(step).max(1) > ONCE_MORE]
        if not len(going):
            break


def _solve(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return x (K, free) with J x = right (K, rows), by least squares where there are spare rows."""
    if J.shape[1] != J.shape[2]:
        right = np.einsum("kmf,km->kf", J, right)
        J = np.swapaxes(J, 1, 2) @ J
    if J.shape[1] == 2:
        (a, b), (c, d) = np.moveaxis(J, 0, -1)
        x, y = right.T
        return np.stack([d * x - b * y, a * y - c * x], -1) / (a * d - b * c)[:, None]
    return np.linalg.solve(J, right[..., None])[..., 0]


def _careful(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return x (K, free) with J x = right, without the parts that are large beside their singular value."""
    u, sizes, v = np.linalg.svd(J, full_matrices=False)
    inside = np.einsum("kmr,km->kr", u, right)
    parts = np.where(np.abs(inside) <= TRUSTED * sizes**2, inside / np.maximum(sizes, 1e-300), 0.0)
    return np.einsum("krf,kr->kf", v, parts)
