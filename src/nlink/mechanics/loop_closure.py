"""Closed loops in plain NumPy: how far the last tip is from its pin, in which directions the links may turn, and how a start is
brought to close.

    gap(theta)      = sum l_i e_i - pin                    (2,)
    jacobian(theta) = l_i t_i                              (2, N), its rate of change with the angles

The jacobian loses rank only where all links lie in line with the pin, in the sense that sum of +-l_i is its distance: a dead
position. `tangent` is the one place where the directions in which a closed chain can move are computed.

These are the formulas of chains with one pin; mechanisms register theirs for the functions of the same names: `assembly`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import WIDEST_ANGLE, ModelError, choice, number, shown
from nlink.mechanics.chain import Multibody, wrapped
from nlink.mechanics.kinematics import directions

NEARLY = 0.05
"""How far from the pin, as a part of the chain's length, a start may leave the tip and still be closed."""
SINGULAR = 1e-9
"""Smallest singular value of the jacobian, as a part of the chain's length, that counts as full rank."""
EXACT = 1e-11
"""Lengths that differ from those of a dead position by this part of the chain's length have it."""
AT_REST = 1e-10
"""Angle to a dead position, and rate, below which a chain is at rest there."""
CLOSINGS, ROUNDING = 50, 1e-15
"""Most steps to close a chain; gap, as a part of its length, that is rounding."""
BRANCHES = ("open", "crossed")


class Assembly(NamedTuple):
    """A start that closes: angles and rates, and by how much they were changed (largest, in rad and rad/s)."""

    theta: np.ndarray
    omega: np.ndarray
    moved: float
    sped: float


@singledispatch
def gap(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return where the last tip is, seen from the pin, (..., 2) in m; zeros without a pin."""
    if chain.pin is None:
        return np.zeros((*theta.shape[:-1], 2))
    return (chain.length[:, None] * directions(theta)[0]).sum(-2) - chain.pin


@singledispatch
def jacobian(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the derivative (..., 2, N) of the gap by the angles."""
    return np.swapaxes(chain.length[:, None] * directions(theta)[1], -1, -2)


@singledispatch
def tangent(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (N, freedom) of the directions in which the angles can change; all, for an open chain."""
    if chain.pin is None:
        return np.eye(chain.n)
    _, sizes, rows = np.linalg.svd(jacobian(chain, theta))
    return rows[np.count_nonzero(sizes > SINGULAR * chain.length.sum()) :].T


@singledispatch
def inverse(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse (..., N, rows) of the jacobian: the smallest changes of the coordinates for those of the gap."""
    return np.linalg.pinv(jacobian(chain, theta), rcond=SINGULAR)


@singledispatch
def jacobian_rate(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the derivative in time (..., rows, N) of the jacobian at rates (..., N)."""
    return np.swapaxes(-(chain.length * omega)[..., None] * directions(theta)[0], -1, -2)


@singledispatch
def pull_slopes(chain: Multibody, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the derivative (..., rows, N) of the gap's second derivative in time, by the coordinates."""
    e, t = directions(theta)
    return np.swapaxes(-chain.length[:, None] * (e * alpha[..., None] + t * omega[..., None] ** 2), -1, -2)


@singledispatch
def geometric(chain: Multibody, theta: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Return the stiffness (..., N, N) that the forces (..., rows) of the closures give by turning the links: diag(l e.f)."""
    return (chain.length * (directions(theta)[0] @ forces[..., None])[..., 0])[..., None] * np.eye(chain.n)


@singledispatch
def units(chain: Multibody) -> np.ndarray:
    """Return the sizes (N,) by which changes of coordinates are compared: 1 for angles, a length for slides."""
    return np.ones(chain.n)


@singledispatch
def size_of(chain: Multibody) -> float:
    """Return the length in m by which gaps are compared."""
    return float(chain.length.sum())


@singledispatch
def closed_near(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return angles (S, N) that Newton's method closes, or comes to."""
    total = chain.length.sum()
    for _ in range(CLOSINGS):
        miss = gap(chain, theta)
        if np.abs(miss).max(initial=0.0) <= ROUNDING * total:
            break
        theta = theta - (inverse(chain, theta) @ miss[..., None])[..., 0]
    return theta


@singledispatch
def smallest_singular_value(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the smaller singular value (...) of the jacobian, as a part of the larger: zero at a dead position."""
    sizes = np.linalg.svd(jacobian(chain, theta), compute_uv=False)
    return sizes[..., 1] / sizes[..., 0]


@singledispatch
def assemble(chain: Multibody, theta: ArrayLike, omega: ArrayLike | None = None) -> Assembly:
    """Return the start nearest to `theta` and `omega` that closes a chain or a mechanism, by the smallest change of both.

    A chain must be closed nearly before, to a twentieth of its length. A mechanism is closed from any start from which Newton's
    method finds a closed state; slides count by its size, and joints with prescribed motions stand where these begin.

    >>> from nlink.mechanics.chain import Chain, Multibody, wrapped
    >>> four_bar = Chain.uniform(3, pin=(1.0, 0.0))
    >>> assemble(four_bar, [3.14, 1.57, 0.0]).moved < 0.002
    True
    """
    start = np.asarray(theta, float)
    rates = np.zeros(chain.n) if omega is None else np.asarray(omega, float)
    if chain.pin is None:
        return Assembly(start.copy(), rates.copy(), 0.0, 0.0)
    far, total = float(np.hypot(*gap(chain, start))), float(chain.length.sum())
    if far > NEARLY * total:
        raise ModelError(
            f"the start leaves the last tip {far:g} m from its pin; give angles that nearly close the loop, "
            f"to {NEARLY * total:g} m, or a driving angle and a branch"
        )
    angles = nearest(chain, start, total)
    J = jacobian(chain, angles)
    speeds = rates - np.linalg.pinv(J, rcond=SINGULAR) @ (J @ rates)
    return Assembly(angles, speeds, float(np.abs(angles - start).max()), float(np.abs(speeds - rates).max()))


def nearest(chain: Multibody, start: np.ndarray, total: float) -> np.ndarray:
    """Return the angles nearest to `start` that close a chain of this total length, however far away they are."""
    theta, before = start.copy(), math.inf
    rounding = max(1e-12, 4 * float(np.spacing(np.abs(start).max())))  # of angles: after many turns a tip cannot be nearer
    for _ in range(200):
        J, miss = jacobian(chain, theta), gap(chain, theta)
        inverse = np.linalg.pinv(J, rcond=SINGULAR)
        away = theta - start
        step = -inverse @ miss - (away - inverse @ (J @ away))
        change = float(np.abs(step).max())
        if change >= before and change < rounding:
            break
        theta, before = theta + step, change
        if change == 0.0:
            break
    left = float(np.hypot(*gap(chain, theta)))
    if left > rounding * total:
        raise ModelError(f"the start cannot be closed: its last tip stays {left:g} m from the pin; give another start")
    return theta


@singledispatch
def started(chain: Multibody, theta: ArrayLike, omega: ArrayLike | None = None) -> Assembly:
    """Return the start of a motion from angles and rates that nearly close the model; refuse one that cannot move."""
    if chain.pin and chain.n == 2 and any(chain.pin):
        raise ModelError(
            "the chain is over-constrained: its pin holds both links, so that the links cannot move; "
            "give it more links, or leave out the pin"
        )
    return assemble(chain, theta, omega)


@singledispatch
def driven(
    chain: Multibody, angle: float | Mapping[int, float], branch: str | None = None, near: ArrayLike | None = None
) -> np.ndarray:
    """Return the angles of a closed chain whose first link stands at `angle` (rad), or of a mechanism with some coordinates given.

    The other links of a chain bend evenly. Seen from the line between the end of the first link and the pin, they bulge away from
    the pivot ("open", if not said otherwise) or towards it ("crossed"). For a four-bar these are its two assemblies.

    Parameters
    ----------
    angle : in rad; of a mechanism a table like {0: 1.5, 2: 0.3} of bodies and their coordinates
    branch : "open" or "crossed"; of a mechanism one of the names that `branches` returns, by default the first
    near : coordinates of a mechanism; the state is then the one that is reached from there on its branch

    >>> from nlink.mechanics.chain import Chain, Multibody, wrapped
    >>> driven(Chain.uniform(3, pin=(1.0, 0.0)), 3.141592653589793).round(6).tolist()
    [3.141593, 1.570796, 0.0]
    """
    branch = BRANCHES[0] if branch is None else branch
    if isinstance(angle, Mapping):
        if list(angle) != [0]:
            raise ModelError(f"a chain is driven at its first link, got a table of {shown(list(angle))}; use Mechanism for others")
        angle = angle[0]
    if near is not None:
        raise ModelError("driven takes the angles of a state near for mechanisms; choose the branch of a chain by its name")
    if chain.pin is None:
        raise ModelError("a driving angle needs a pin: give the chain one, or give all angles")
    angle = number("the driving angle", angle, most=WIDEST_ANGLE)
    choice("branch", branch, BRANCHES)
    first = chain.length[0] * np.array([math.sin(angle), -math.cos(angle)])
    line = np.array(chain.pin) - first
    distance, rest = float(np.hypot(*line)), chain.length[1:]
    near, far = max(0.0, 2 * rest.max() - rest.sum()), float(rest.sum())
    if not near - 1e-12 * far <= distance <= far * (1 + 1e-12):
        raise ModelError(
            f"the driving angle {angle:g} rad cannot be reached: the end of the first link is {distance:g} m from the pin, "
            f"and the other links span {near:g} to {far:g} m"
        )
    side = 1.0 if line[0] * -first[1] - line[1] * -first[0] < 0 else -1.0
    side = side if branch == "open" else -side
    halves = _arc(rest, min(max(distance, near), far))
    total = halves.sum()
    turned = total - 2 * np.cumsum(halves) + halves
    theta = math.atan2(line[0], -line[1]) + side * turned
    return np.concatenate([[angle], wrapped(theta)])


def _arc(lengths: np.ndarray, distance: float) -> np.ndarray:
    """Return half the angle that each chord of a circle spans when together they span `distance`."""
    longest = int(np.argmax(lengths))

    def halves(k: float, beyond: bool) -> np.ndarray:
        out = np.arcsin(np.minimum(lengths * k, 1.0))
        if beyond:
            out[longest] = math.pi - out[longest]
        return out

    def span(k: float, beyond: bool) -> float:
        return math.sin(min(float(halves(k, beyond).sum()), math.pi)) / k

    most = 1 / lengths[longest]
    beyond = span(most, False) > distance
    low, high = (most, 1e-12 * most) if beyond else (1e-12 * most, most)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if span(middle, beyond) > distance else (low, middle)
    return halves(0.5 * (low + high), beyond)


def zigzag(chain: Multibody) -> np.ndarray:
    """Return the angles of a pinned chain folded evenly to and fro along the line to its pin."""
    assert chain.pin is not None
    x, y = chain.pin
    distance, line = math.hypot(x, y), math.atan2(x, -y)
    sign = np.where(np.arange(chain.n) % 2, -1.0, 1.0)
    fold = math.acos(min(1.0, distance / chain.length.sum()))
    return nearest(chain, line + sign * fold, float(chain.length.sum()))


def passing(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for motions (..., N) how the distance to the nearest dead position changes (negative: approaching), and the angle
    that is left to it: the size of that part of the row along the pin which the row across it cannot make up.
    """
    u = _frame(chain, theta)
    s, c = np.sin(theta - u), np.cos(theta - u)
    a, r, rate = chain.length * c, -chain.length * s, -chain.length * c * omega
    square = (a * a).sum(-1, keepdims=True)
    r = r - a * (a * r).sum(-1, keepdims=True) / square
    rate = rate - a * (a * rate).sum(-1, keepdims=True) / square
    return (r * rate).sum(-1), np.sqrt((r * r).sum(-1) / square[..., 0])


def stuck(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> tuple[str, str] | None:
    """Return why the motion of a closed chain is not determined at a state, and what to try; None if it is."""
    if chain.pin is None:
        return None
    total, distance = float(chain.length.sum()), math.hypot(*chain.pin)
    if distance >= total * (1 - EXACT):
        return "the pin is a full length away, so that the chain is straight and cannot move", "bring the pin nearer"
    if float(passing(chain, theta, omega)[1]) > AT_REST or (chain.n == 2 and distance == 0):
        return None
    signs = np.where(np.cos(theta - _frame(chain, theta)) > 0, 1.0, -1.0)
    if abs(signs @ chain.length - distance) > EXACT * total:
        return None
    speed = float(np.abs(omega).max())
    if speed <= AT_REST:
        ways = " or ".join(_told(v) for v in branches(chain, signs))
        where = "all links lie in line, and without speed nothing says on which branch to go on"
        return where + (f": rates like {ways}" if ways else ""), "start with a speed along one of them, or elsewhere"
    pull = float(signs @ (chain.length * omega**2))
    if abs(pull) > 1e-9 * float(chain.length @ omega**2):
        return "all links lie in line, and no smooth motion has these rates", "start with the rates of one of the branches"
    return None


def branches(chain: Multibody, signs: np.ndarray) -> list[np.ndarray]:
    """Return the rates with which three links can leave a dead position with these signs, the largest being 1.

    They keep the tip where it is to second order: sum s l w = 0 and sum s l w^2 = 0.
    """
    if chain.n != 3:
        return []
    weights = signs * chain.length
    basis = np.linalg.svd(weights[None])[2][1:].T
    (low, high), axes = np.linalg.eigh(basis.T @ np.diag(weights) @ basis)
    if low >= 0 or high <= 0:
        return []
    found = [basis @ axes @ np.array([math.sqrt(high), sign * math.sqrt(-low)]) for sign in (1, -1)]
    return [w / w[np.argmax(np.abs(w))] for w in found]


def _told(rates: np.ndarray) -> str:
    return "(" + ", ".join(f"{rate + 0.0:.3g}" for rate in np.round(rates, 12)) + ")"


def _frame(chain: Multibody, theta: np.ndarray) -> Any:
    """Return the angle of the line to the pin; of the longest link, if the pin is at the pivot."""
    assert chain.pin is not None
    x, y = chain.pin
    return math.atan2(x, -y) if math.hypot(x, y) > 0 else theta[..., [int(np.argmax(chain.length))]]
