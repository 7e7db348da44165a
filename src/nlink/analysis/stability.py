"""critical_load(): the first loss of stability along a path of chains, of which kind, at which load and frequency.

A chain is linearised about its equilibrium, followed along the path. With damping it loses stability where an eigenvalue crosses
the imaginary axis: a real one by divergence, a pair by flutter. Without any, the squares mu of its frequencies tell: one passes
zero (divergence), or two meet and become complex (flutter); then the square of half their difference, which is smooth and changes
sign, is what is solved for, since the difference itself has a root there.

The path is scanned adaptively: where the margin of stability bends as if it might touch zero between two points, more are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, listed, number, shown
from nlink._support.lazy import shown_by
from nlink._support.showing import short
from nlink.analysis.driven_stability import DrivenPath
from nlink.analysis.equilibrium import equilibrium
from nlink.analysis.floquet import is_driven
from nlink.analysis.linearize import BALANCE, ComplexArray, Linearization, linearize, statics
from nlink.mechanics.chain import Chain, Multibody
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.refusals import refuse_space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 48
"""Parts into which a path is divided first."""
DEPTH = 24
"""Most times a part is halved where stability is nearly lost."""
STILL = 1e-7
"""Frequency, as a part of the largest, below which a loss of stability is divergence."""
ROUNDING = 1e-11
MULTIPRECISION, DIGITS = 12, 40
"""Freedom up to which a critical load of a damped chain is sharpened in multi-precision, and its digits."""


@short
@dataclass(frozen=True)
class Critical:
    """A load at which stability is lost (or won back): its kind, and the frequency there in rad/s (0 for divergence)."""

    load: float
    kind: str
    frequency: float
    lost: bool = True
    chain_of: Callable[[float], Multibody] | None = field(default=None, repr=False, compare=False)
    """The chain at each load; `plot` follows its eigenvalues."""

    def to_dict(self) -> dict[str, float | str | bool]:
        """Return what is known of it as plain data."""
        return {"load": self.load, "kind": self.kind, "frequency": self.frequency, "lost": self.lost}

    @shown_by("stability.critical_figure")
    def plot(
        self,
        label: str = "load",
        loads: ArrayLike | None = None,
        *,
        ax: Sequence[Axes] | None = None,
        size: tuple[float, float] | str | None = None,
        theme: str | None = None,
    ) -> Figure:
        """Return how the eigenvalues move along the loads, from half of the critical one to half as much again if not given.

        `ax`: three axes to draw into, for the plane of the eigenvalues, growth and frequency; the rest as in `Run.plot`.
        """
        ...


class Point(NamedTuple):
    """A load, the linearisation there, the margin (positive: stable) and the kind of instability that is nearest."""

    load: float
    linear: Linearization
    margin: float
    kind: str


class Path:
    """Chains along a load, each about its equilibrium."""

    def __init__(self, chain_of: Callable[[float], Multibody], theta: ArrayLike | None) -> None:
        self.chain_of, self.guess = chain_of, theta
        self.points: dict[float, Point] = {}
        self.links = 0

    def at(self, load: float) -> Point:
        """Return the point at a load."""
        if load not in self.points:
            chain = self._chain(load)
            linear = linearize(chain, self._rest(chain, load))
            self.points[load] = Point(load, linear, *margin(linear))
        return self.points[load]

    def _chain(self, load: float) -> Multibody:
        chain = self.chain_of(load)
        refuse_space("critical_load", chain)
        if not isinstance(chain, Chain | Mechanism):
            raise ModelError(f"chain_of must return a Chain or a Mechanism, got {shown(chain)} at load {load:g}")
        if self.links and chain.n != self.links:
            raise ModelError(f"the path changes the number of links from {self.links} to {chain.n} at load {load:g}; keep it")
        self.links = chain.n
        return chain

    def _rest(self, chain: Multibody, load: float) -> np.ndarray:
        """Return the equilibrium, followed from the nearest load that is known."""
        if self.points:
            guess = self.points[min(self.points, key=lambda known: abs(known - load))].linear.theta
        else:
            guess = np.broadcast_to(np.asarray(0.0 if self.guess is None else self.guess, float), (chain.n,))
        if not chain.closed and balanced(chain, guess):
            return guess
        return equilibrium(chain, guess if self.points or self.guess is not None else None).theta


def balanced(chain: Multibody, theta: np.ndarray) -> bool:
    """Whether a chain can rest at these angles."""
    return statics(chain, theta).balanced(1e-3 * BALANCE)


def margin(linear: Linearization) -> tuple[float, str]:
    """Return how far a linearisation is from losing stability, in parts of the eigenvalues concerned, and how it would."""
    if not linear.undamped:
        values, worst = linear.eigenvalues, linear.worst
        scale = np.abs(values).max(initial=0.0) or 1.0
        others = np.abs(values[np.abs(values.imag) != abs(worst.imag)] if worst.imag else values)
        own = abs(worst) + (np.sort(others)[: 2 - bool(worst.imag)].max(initial=0.0) or scale)
        return -float(worst.real) / own, "flutter" if abs(worst.imag) > STILL * scale else "divergence"
    lowest, meeting = _squares(linear)
    return (lowest, "divergence") if lowest <= meeting else (meeting, "flutter")


def _squares(linear: Linearization) -> tuple[float, float]:
    """Return the lowest real square of a frequency against the next, and the smallest squared half difference of two neighbours
    against their mean: both dimensionless, and fine for slow modes among fast ones.
    """
    mu = _by_size(linear)
    real = mu.real[mu.imag == 0]
    sizes = np.sort(np.abs(mu))
    other = sizes[1] if len(sizes) > 1 else 1.0
    size = abs(real.min()) + other if len(real) else 0.0
    lowest = float(real.min() / size) if size else 0.0 if len(real) else 1.0
    if linear.conservative or len(mu) < 2:
        return lowest, 1.0
    return lowest, float(_half_differences(mu).min())


def _by_size(linear: Linearization) -> ComplexArray:
    """Return the squares of the frequencies by growing real part; slow ones to their own digits, by the inverse, if it exists."""
    if linear.conservative or not np.linalg.cond(linear.K) < 1e12:
        return linear.squares
    mu: ComplexArray = np.divide(1, np.linalg.eigvals(np.linalg.solve(linear.K, linear.M)).astype(complex))
    return mu[np.lexsort((mu.imag, mu.real))]


def _half_differences(mu: ComplexArray) -> np.ndarray:
    """Return (difference / 2)^2 / mean^2 of neighbours: of real ones, positive; of a complex pair, negative."""
    half, mean = 0.5 * np.diff(mu), 0.5 * np.abs(mu[1:] + mu[:-1])
    pair = np.abs(mu[1:] - mu[:-1].conj()) <= 1e-9 * np.abs(mu[1:])
    both_real = (mu.imag == 0)[1:] & (mu.imag == 0)[:-1]
    squares = np.where(both_real, half.real**2, np.where(pair, -(half.imag**2), np.inf))
    return squares / np.maximum(mean, 1e-150) ** 2


def critical_load(
    chain_of: Callable[[float], Multibody], bracket: Sequence[float], *, theta: ArrayLike | None = None, later: bool = False
) -> Critical | list[Critical]:
    """Return the first load in `bracket` at which the chains `chain_of(load)` lose stability; with `later` all its changes.

    The equilibrium is followed from `theta` (straight down, if not given). Of mechanisms whose joints move in time it is the motion
    that repeats near there (see `floquet`), and the first change may also be one to stability.

    >>> from nlink import Chain, FollowerForce, Gravity, JointSpring
    >>> def ziegler(load):
    ...     return Chain.uniform(2, shape="point", loads=[Gravity(0), JointSpring(1.0), FollowerForce(load)])
    >>> critical_load(ziegler, (0.0, 4.0)).kind
    'flutter'
    """
    low, high = _bracket(bracket)
    if is_driven(chain_of(low)):
        criticals = [Critical(*change, chain_of) for change in DrivenPath(chain_of, theta).changes(low, high)]
        return criticals if later else criticals[0]
    path = Path(chain_of, theta)
    if path.at(low).margin < -ROUNDING:
        raise ModelError(f"the chain is unstable at load {low:g} already; begin the bracket where it is stable")
    nodes = np.linspace(low, high, POINTS + 1).tolist()
    found: list[Critical] = []
    for left, right in pairwise(nodes):
        for a, b in _changes(path, path.at(left), path.at(right), DEPTH):
            found.append(_refined(path, a, b))
            if not later:
                return found[0]
    if not found:
        raise ModelError(f"stability does not change between {low:g} and {high:g}; widen the bracket")
    return found


def _bracket(bracket: Sequence[float]) -> tuple[float, float]:
    if not listed(bracket) or len(bracket := tuple(bracket)) != 2:
        raise ModelError(f"bracket must be two loads, got {shown(bracket)}")
    low, high = (number(f"bracket[{i}]", value) for i, value in enumerate(bracket))
    if low >= high:
        raise ModelError(f"bracket must run from a smaller to a larger load, got {low:g} to {high:g}")
    return low, high


def _changes(path: Path, left: Point, right: Point, depth: int) -> list[tuple[Point, Point]]:
    """Return the pairs of points between which stability changes, narrow windows between stable points included."""
    if (left.margin >= -ROUNDING) != (right.margin >= -ROUNDING):
        return [(left, right)]
    if depth == 0 or left.margin < -ROUNDING:
        return []
    middle = path.at(0.5 * (left.load + right.load))
    if middle.margin < -ROUNDING:
        return [(left, middle), (middle, right)]
    least = min(left.margin, middle.margin, right.margin)
    bend = abs(left.margin - 2 * middle.margin + right.margin)
    slope = max(abs(left.margin - middle.margin), abs(middle.margin - right.margin))
    if least > 2 * bend + (slope if depth > DEPTH - 3 else 0.0) or slope < 1e-13:
        return []
    return _changes(path, left, middle, depth - 1) + _changes(path, middle, right, depth - 1)


def _refined(path: Path, a: Point, b: Point) -> Critical:
    """Return the load between a stable and an unstable point at which stability changes, to rounding."""
    from scipy.optimize import brentq

    stable, unstable = (a, b) if b.margin < a.margin else (b, a)
    damped, kind, lost = not unstable.linear.undamped, unstable.kind, b is unstable

    def measured(load: float) -> float:
        linear = path.at(load).linear
        return linear.growth if damped else _squares(linear)[kind == "flutter"]

    begin = stable.load
    for _ in range(8):  # a point that is stable only to rounding lies on the border itself
        if measured(begin) * measured(unstable.load) < 0:
            break
        begin += begin - unstable.load
    else:
        return _named(path, stable.load, kind, lost)
    load = float(cast(float, brentq(measured, begin, unstable.load, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=300)))
    sharpened = damped and len(unstable.linear.M) <= MULTIPRECISION
    return _named(path, _sharpened(path, load) if sharpened else load, kind, lost)


def _named(path: Path, load: float, kind: str, lost: bool) -> Critical:
    point = path.at(load)
    linear, kind = point.linear, kind if point.linear.undamped else point.kind
    if kind == "divergence":
        return Critical(load, kind, 0.0, lost, path.chain_of)
    if not linear.undamped:
        return Critical(load, kind, float(abs(linear.worst.imag)), lost, path.chain_of)
    mu = _by_size(linear)
    k = int(_half_differences(mu).argmin())
    return Critical(load, kind, float(np.sqrt(0.5 * (mu[k] + mu[k + 1]).real)), lost, path.chain_of)


def _sharpened(path: Path, load: float) -> float:
    """Return the load at which the growth vanishes, by a secant on growths in multi-precision: weak damping hides in rounding."""
    a, b = load, load + 1e-6 * (abs(load) or 1.0)
    worst = path.at(a).linear.worst
    fa, fb = (_precise_growth(path.at(each).linear, worst) for each in (a, b))
    for _ in range(6):
        if fa == fb:
            break
        a, b, fa = b, float(b - fb * (b - a) / (fb - fa)), fb
        if not abs(b - load) <= 1e-4 * max(abs(load), 1e-300):
            return load
        if abs(b - a) <= 2 * np.spacing(abs(b)):
            return b
        fb = _precise_growth(path.at(b).linear, worst)
    return b


def _precise_growth(linear: Linearization, near: complex) -> Any:
    """Return the real part of the eigenvalue of s^2 M + s C + K next to `near`: Newton's method on the bordered system."""
    import mpmath

    with mpmath.workdps(DIGITS):
        M, C, K = (mpmath.matrix(matrix.tolist()) for matrix in (linear.M, linear.C, linear.K))
        s, n = mpmath.mpc(near), len(linear.M)
        L = s * s * M + s * C + K
        shifted = L + mpmath.mpf(10) ** -25 * mpmath.norm(L) * mpmath.eye(n)
        x = mpmath.lu_solve(shifted, mpmath.matrix([mpmath.mpf(1) + i for i in range(n)]))
        x = x / mpmath.norm(x)  # close to the kernel of L, by one step of inverse iteration
        for _ in range(8):
            L, slope = s * s * M + s * C + K, (2 * s * M + C) * x
            bordered, right = mpmath.zeros(n + 1), mpmath.zeros(n + 1, 1)
            bordered[:n, :n], bordered[:n, n], bordered[n, :n] = L, slope, x.H
            right[:n, 0] = -L * x
            change = mpmath.lu_solve(bordered, right)
            x += change[:n, 0]
            s += change[n]
            if abs(change[n]) <= mpmath.mpf(10) ** (5 - DIGITS) * abs(s):
                break
        return s.real
