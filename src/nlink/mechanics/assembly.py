"""How closed mechanisms are assembled: the closed state nearest to a guess, and its rates.

Angles and displacements of slides are compared by a size of the mechanism, so that units of length make no difference: a slide by
the size counts as a turn by 1 rad, a gap by the size as 1. Newton's method takes the smallest step that closes, damped where the
rows are nearly dependent, and never one that opens the mechanism further.

A guess is brought onto the closed states, then along them until no closed state nearby is nearer to it. Prescribed joints stand
where their motions have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import WIDEST_ANGLE, ModelError, angle_or_each, number, number_or_each, spread, whole
from nlink.mechanics.chain import wrapped
from nlink.mechanics.closures import STEP, bends, curvatures, gaps, jacobians, located, poses, slopes, widest_gap
from nlink.mechanics.loop_closure import Assembly
from nlink.mechanics.motions import motion_at
from nlink.mechanics.points import GROUND, Distance, Gear, ends

if TYPE_CHECKING:
    from nlink.mechanics.mechanism import Mechanism

CLOSED = 1e-12
"""Gap, as a part of the size, below which a state is closed: rounding of a few dozen bodies."""
DEPENDENT = 1e-6
"""Singular value, as a part of the largest, below which rows depend on each other. Off special positions others are above 1e-4.
Those of spare rows are rounding, or up to the root of CLOSED where states close only to second order.
"""
AS_NEAR = 1e-10
"""rad: a step towards the guess that is none."""
ROUNDS, HALVINGS, LONGEST = 200, 12, 0.5
"""Steps of Newton's method at most, how often one is halved, and the longest of them in rad."""
DAMPING, SOFT = 0.1, 1e-6
"""Damping of a step as a part of the gap, and at least: singular values of the rows below it are left alone."""
NEAR, SLOW = 1e-8, 10
"""Steps by which a gap below the first of these does not halve, after which a state is left: beside dead positions gaps creep."""
GUESSES = 48
"""Random guesses from which a mechanism is closed when none is given."""
FITS = 1e-4
"""Part of the size: rows that miss each other by less were meant to fit."""


class Scales(NamedTuple):
    """What makes gaps and coordinates comparable: gaps are divided by `rows`, coordinates by `columns`."""

    rows: np.ndarray
    columns: np.ndarray


def scales(model: Mechanism) -> Scales:
    """Return the size of each row and of each coordinate: 1 for angles, the size of the mechanism for lengths."""
    size = size_of(model)
    lengths = (isinstance(each, Gear) and not model.slides[each.i] for each in model.pins for _ in range(each.rows))
    return Scales(np.where(list(lengths), 1.0, size), np.where(model.slides, size, 1.0))


def size_of(model: Mechanism) -> float:
    """Return the size of a mechanism in m: the longest distance on a link, or between points of the ground if links have none."""
    places = [model.located(point) for closure in model.pins for point in ends(closure)]
    places += zip(model.parents.tolist(), *model.levers.tolist(), strict=True)
    on_links = max((float(np.hypot(a, b)) for body, a, b in places if body != GROUND), default=0.0)
    ground = np.array([(left, -along) for body, along, left in places if body == GROUND] or [(0.0, 0.0)])
    return max(on_links, float(model.length.max())) or float(np.hypot(*np.ptp(ground, axis=0))) or 1.0


def prescribed_at(model: Mechanism, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates and rates (N,) of the joints with prescribed motions at a time; NaN for free ones."""
    q, v = np.full(model.n, np.nan), np.full(model.n, np.nan)
    for i, body in enumerate(model.links):
        if body.motion is not None:
            q[i], v[i], _ = (float(each) for each in motion_at(body.motion, np.array(t)))
    return q, v


def close_all(model: Mechanism, q: np.ndarray, free: np.ndarray, rounds: int = ROUNDS) -> tuple[np.ndarray, np.ndarray]:
    """Return states (K, N) closed by Newton's method in their free coordinates, and their largest gaps (K,), divided by the size.

    A step is the smallest that closes to first order, damped by the gap (Levenberg, Marquardt), and halved until the gap shrinks.
    """
    (rows, columns), at = scales(model), q.T.copy()
    widths, gap = columns[free, None], gaps(model, at) / rows[:, None]
    far, going, slow = np.sqrt((gap**2).sum(0)), np.arange(len(q)), np.zeros(len(q), int)
    for _ in range(rounds):
        going = going[far[going] > 0]
        if not len(going):
            break
        here, before = at[:, going], far.copy()
        J = np.moveaxis(jacobians(model, here)[:, free] * (widths / rows[:, None, None]), -1, 0)
        step = _step(J, gap[:, going].T, far[going]).T
        step *= np.minimum(1.0, LONGEST / np.maximum(np.abs(step).max(0), LONGEST))
        left = np.arange(len(going))
        for halving in range(HALVINGS):
            trial = here[:, left]
            trial[free] += 0.5**halving * step[:, left] * widths
            new = gaps(model, trial) / rows[:, None]
            size = np.sqrt((new**2).sum(0))
            shrunk = size < far[going[left]]
            which = going[left[shrunk]]
            at[:, which], gap[:, which], far[which] = trial[:, shrunk], new[:, shrunk], size[shrunk]
            left = left[~shrunk]
            if not (far[going[left]] > CLOSED).any():
                break
        slow += (far < NEAR) & (far > 0.5 * before)
        going = np.setdiff1d(going[slow[going] < SLOW], going[left])
    return at.T.copy(), np.abs(gap).max(0)


def _step(J: np.ndarray, gap: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Return the damped steps (K, free) that close gaps (K, rows) of sizes `far` (K,), by the smaller of both normal equations."""
    turned = np.swapaxes(J, -1, -2)
    damping = np.maximum(DAMPING * np.minimum(far, 1.0), SOFT) ** 2
    wide = J.shape[-2] <= J.shape[-1]
    square = J @ turned if wide else turned @ J
    square[:, *np.diag_indices(square.shape[-1])] += damping[:, None]
    right = gap if wide else (turned @ gap[..., None])[..., 0]
    solved = np.linalg.solve(square, right[..., None])
    return -((turned @ solved) if wide else solved)[..., 0]


def directions(model: Mechanism, q: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return at a state (N,) an orthonormal basis (free, freedom) of the scaled directions in which it stays closed, the inverse
    (free, rows) of the scaled rows, and their rank.
    """
    rows, columns = scales(model)
    J = jacobians(model, q)[:, free] / rows[:, None] * columns[free]
    u, sizes, v = np.linalg.svd(J)
    rank = int(np.count_nonzero(sizes > DEPENDENT * max(1e-300, sizes.max(initial=0.0))))
    return v[rank:].T, v[:rank].T / sizes[:rank] @ u[:, :rank].T, rank


def inverse(model: Mechanism, theta: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse (..., N, rows) of the jacobian, without what is prescribed: slides count by the size, and rows that
    depend on each other as one.
    """
    (rows, columns), J = scales(model), jacobian(model, theta) * ~model.prescribed
    turned = np.linalg.pinv(J * columns / rows[:, None], rcond=DEPENDENT)
    return columns[:, None] * turned / rows


def jacobian_rate(model: Mechanism, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the derivative in time (..., rows, N) of the jacobian at rates (..., N)."""
    moved = np.moveaxis(theta + 1j * STEP * omega, -1, 0)
    return np.moveaxis(np.imag(jacobians(model, moved)) / STEP, (0, 1), (-2, -1))


def pull_slopes(model: Mechanism, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the derivative (..., rows, N) of the gap's second derivative in time, by the coordinates."""
    q, v, a = (np.moveaxis(values, -1, 0) for values in (theta, omega, alpha))
    turned = slopes(lambda q: curvatures(model, q, np.broadcast_to(v[..., None], q.shape)), q)
    turned += np.einsum("ri...k,i...->r...k", bends(model, q), a)
    return np.moveaxis(turned, 0, -2)


def geometric(model: Mechanism, theta: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Return the stiffness (..., N, N) that the forces (..., rows) of the closures give by turning the bodies."""
    bent = bends(model, np.moveaxis(theta, -1, 0))
    return np.moveaxis(-np.einsum("ri...k,...r->i...k", bent, forces), 0, -2)


def units(model: Mechanism) -> np.ndarray:
    """Return the sizes (N,) by which changes of coordinates are compared."""
    return scales(model).columns


def smallest_singular_value(model: Mechanism, theta: np.ndarray) -> np.ndarray:
    """Return the smallest singular value (...) of rows that do not depend on others, as a part of the largest."""
    (rows, columns), J = scales(model), jacobian(model, theta)[..., ~model.prescribed]
    sizes = np.linalg.svd(J * columns[~model.prescribed] / rows[:, None], compute_uv=False)
    rank = model.rows - model.spare
    return sizes[..., rank - 1] / sizes[..., 0] if rank else np.ones(theta.shape[:-1])


def closed_near(model: Mechanism, theta: np.ndarray) -> np.ndarray:
    """Return coordinates (S, N) that Newton's method closes, or comes to."""
    return close_all(model, theta, ~model.prescribed)[0]


def gap(model: Mechanism, theta: np.ndarray) -> np.ndarray:
    """Return how far each row of the pins is from being closed, (..., rows), at coordinates (..., N)."""
    return np.moveaxis(gaps(model, np.moveaxis(theta, -1, 0)), 0, -1)


def jacobian(model: Mechanism, theta: np.ndarray) -> np.ndarray:
    """Return the derivative (..., rows, N) of the gap by the coordinates."""
    return np.moveaxis(jacobians(model, np.moveaxis(theta, -1, 0)), (0, 1), (-2, -1))


def tangent(model: Mechanism, theta: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (N, freedom) of the directions in which the coordinates can change."""
    free, columns = ~model.prescribed, scales(model).columns
    basis = np.zeros((model.n, int(free.sum())))
    basis[free] = np.eye(basis.shape[1])
    if not model.closed:
        return basis
    basis = basis @ directions(model, theta, free)[0]
    return np.linalg.qr(columns[:, None] * basis)[0]


def nearest(model: Mechanism, guess: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the closed state (N,) nearest to a guess, among those that can be reached from it downhill."""
    found, gap = close_all(model, guess[None], free)
    if gap[0] > CLOSED:
        raise ModelError(_unclosed(model, guess, found[0], free))
    at, widths = found[0], scales(model).columns[free]
    away, pace = (at - guess)[free] / widths, 1.0
    for _ in range(ROUNDS):
        basis = directions(model, at, free)[0]
        step = -pace * basis @ (basis.T @ away)
        if np.abs(step).max(initial=0.0) < AS_NEAR:
            break
        trial = at.copy()
        trial[free] += step * widths
        (trial,), gap = close_all(model, trial[None], free, 20)
        new = (trial - guess)[free] / widths
        if gap[0] <= CLOSED and new @ new < away @ away:
            at, away = trial, new
        else:
            pace /= 2
    return at


def _unclosed(model: Mechanism, guess: np.ndarray, end: np.ndarray, free: np.ndarray) -> str:
    """Return the sentence for a guess that cannot be closed: how near it came, and whether another guess can be."""
    where = "the mechanism does not close from this start"
    miss = float(np.abs(gaps(model, end) / scales(model).rows).max())
    if miss < FITS:
        return (
            f"{where}: {widest_gap(model, gaps(model, end))}; spare rows nearly fit there, but not quite, and the linkage cannot "
            "move: give lengths that fit to the last digit, or leave out the pin"
        )
    closed, gap = close_all(model, guesses(model, guess, free), free)
    if (gap <= CLOSED).any():
        near = _listed(wrapped(closed[np.argmin(gap)]))
        return f"{where}: {widest_gap(model, gaps(model, end))} at best; it closes from other guesses, as near {near}"
    least = closed[np.argmin(gap)] if gap.min() < miss else end
    told_of = f"{widest_gap(model, gaps(model, least))} at best, from {len(gap)} random guesses too"
    others = "lengths, points or motions" if model.prescribed.any() else "lengths or points"
    return f"{where}: {told_of}; its pins are out of reach: give other {others}"


def _listed(q: np.ndarray) -> str:
    return "[" + ", ".join(f"{value + 0.0:.3g}" for value in q) + "]"


def guesses(model: Mechanism, guess: np.ndarray, free: np.ndarray, count: int = GUESSES) -> np.ndarray:
    """Return random guesses (count, N), the same at each call: angles anywhere, slides within the size of the given one."""
    rng, out = np.random.default_rng(0), np.tile(guess, (count, 1))
    anywhere = rng.uniform(-np.pi, np.pi, (count, model.n))
    out[:, free] = np.where(model.slides, guess + anywhere * scales(model).columns / np.pi * 2, anywhere)[:, free]
    return out


def assemble(model: Mechanism, theta: ArrayLike, omega: ArrayLike | None = None, t: float = 0.0) -> Assembly:
    """Return the closed state nearest to `theta`, with the rates nearest to `omega` that keep it closed, at time t."""
    start, rates = coordinates(model, "theta", theta), coordinates(model, "omega", 0.0 if omega is None else omega)
    (q, v), free = prescribed_at(model, t), ~model.prescribed
    given, pace = np.where(free, start, q), np.where(free, rates, v)
    angles = nearest(model, given, free) if model.closed else given
    if model.closed:
        (rows, columns), inverse = scales(model), directions(model, angles, free)[1]
        pace[free] -= columns[free] * (inverse @ (jacobians(model, angles) @ pace / rows))
    return Assembly(angles, pace, float(np.abs(angles - start).max()), float(np.abs(pace - rates).max()))


def coordinates(model: Mechanism, name: str, value: ArrayLike) -> np.ndarray:
    """Return coordinates or rates (N,), checked."""
    check = angle_or_each if name == "theta" else number_or_each
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    return np.array(spread(name, check(name, plain), model.n, "links"), float)


def undecided(closure: Any) -> bool:
    """Whether the length of a bar, or the offset of a gear, is not given."""
    return (isinstance(closure, Distance) and closure.length is None) or (isinstance(closure, Gear) and closure.offset is None)


def as_assembled(model: Mechanism, theta: ArrayLike) -> Mechanism:
    """Return the mechanism with the bars and gears whose length or offset is not given as they fit at these coordinates."""
    if not any(map(undecided, model.pins)):
        return model
    pins, theta = list(model.pins), coordinates(model, "theta", theta)
    for k, closure in enumerate(pins):
        if isinstance(closure, Gear) and closure.offset is None:
            pins[k] = replace(closure, offset=float(theta[closure.i] - closure.ratio * theta[closure.j]))
        elif isinstance(closure, Distance) and closure.length is None:
            at = poses(model, theta)
            (x, y), (u, v) = (at.place(*place) for place in located(model, closure))
            length = float(np.hypot(x - u, y - v))
            if length <= CLOSED * size_of(model):
                raise ModelError(f"Mechanism.pins[{k}] is a bar without length at this state; use Pin, or give its length")
            pins[k] = replace(closure, length=length)
    return replace(model, pins=tuple(pins))


def given_coordinates(model: Mechanism, given: Any) -> dict[int, float]:
    """Return driven coordinates by body, checked; a number is that of the first body."""
    given = given if isinstance(given, Mapping) else {0: given}
    if not given:
        raise ModelError("driven needs at least one coordinate: a table like {0: 1.5} of bodies and angles")
    return {
        whole("a driven body", i, least=0, most=model.n - 1): number(f"the coordinate of body {i}", value, most=WIDEST_ANGLE)
        for i, value in given.items()
    }
