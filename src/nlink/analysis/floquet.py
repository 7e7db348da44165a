"""floquet(): whether a motion that repeats is stable: its Floquet multipliers, the eigenvalues of the tangent flow over a period.

What drives the motion (prescribed joints, torques) gives the period. The motion that repeats with it is found from a start near it
by Newton's method, x(T) - x(0) being left over and the tangent flow its derivative. Where no free joint moves while the drives do
(Kapitza's rod upside down), small motions have a matrix that depends on time alone, which needs no motion to be followed.

A multiplier is what a small deviation is multiplied by in a period. The motion is stable if none is beyond the unit circle. One
that leaves it at +1 makes neighbours part (divergence), one elsewhere makes them swing out (flutter), at -1 with half the frequency
of the drive. Without damping they come in pairs whose product is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, number
from nlink._support.showing import short
from nlink.analysis.linearize import ComplexArray, companion, matrices
from nlink.analysis.motion import start_state
from nlink.analysis.variations import STAGES, nodes, propagators, tangent_engine, tangent_frame
from nlink.compiled.announcing import waiting
from nlink.formulations import formulate
from nlink.integrators.accuracy import EXPONENTS
from nlink.integrators.base import ARRIVED
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import JointTorque, torques
from nlink.mechanics.mechanism import Mechanism, a_model
from nlink.mechanics.motions import Motion, moves, numbers_of

ROUNDS = 20
CLOSED = 1e-10
"""How far a motion that repeats may end from where it began, in rad, m and their rates, against their size or 1."""
MOST_RATIO = 1000
"""Largest numerator and denominator of two frequencies that have a common period."""
ROUNDING = 1e-7
"""How far from the unit circle a multiplier counts as on it: where two meet, rounding moves them by its root."""
TURN = 0.25
"""Largest angle in rad by which a drive or a small motion turns in a step about joints that rest."""
AT_REST = 1e-9
"""Acceleration of a free joint, as a part of the fastest, at which it rests."""
LOOKS = 16
"""Times in a period at which the free joints are looked at."""


@short
@dataclass(frozen=True, eq=False)
class Floquet:
    """The Floquet multipliers (2n,) of a motion that repeats after `period` s, the largest first, n being the free joints.

    theta, omega (N,): where it begins at t = 0; monodromy: the matrix of which they are the eigenvalues; residual: how far it ends
    from its start.
    """

    multipliers: ComplexArray
    period: float
    theta: np.ndarray
    omega: np.ndarray
    monodromy: np.ndarray
    residual: float

    @property
    def exponents(self) -> ComplexArray:
        """The exponents (2n,) in 1/s: logarithms of the multipliers over the period.

        Frequencies reach half that of the drive; real negative multipliers have that one, by turns with either sign.
        """
        with np.errstate(divide="ignore"):
            found = np.log(self.multipliers) / self.period
        half = np.abs(self.multipliers.imag) <= ROUNDING * np.abs(self.multipliers)
        half &= self.multipliers.real < 0
        sides = np.where(np.cumsum(half) % 2, 1.0, -1.0) * math.pi / self.period
        return np.where(half, found.real + 1j * sides, found)

    @property
    def growth(self) -> float:
        """The rate in 1/s at which the fastest small motion grows."""
        return float(self.exponents.real.max(initial=-math.inf))

    @property
    def stable(self) -> bool:
        """Whether no small motion grows (to rounding)."""
        return bool(np.abs(self.multipliers).max(initial=0.0) <= 1 + ROUNDING)

    @property
    def kind(self) -> str:
        """How it is: stable; by divergence unstable, if the largest multiplier is real and positive, else by flutter."""
        if self.stable:
            return "stable"
        worst = self.multipliers[0]
        return "divergence" if worst.real > 0 and abs(worst.imag) <= ROUNDING * abs(worst) else "flutter"


@waiting("multipliers")
def floquet(model: Multibody, theta: ArrayLike, omega: ArrayLike | None = None, *, period: float | None = None) -> Floquet:
    """Return the Floquet multipliers of the motion that repeats near angles theta (N,) in rad and rates omega (N,) in rad/s.

    Parameters
    ----------
    theta, omega : a number for every link, or one each; those of prescribed joints are theirs
    period : s; that of the drives if not given

    >>> from nlink import Link, Mechanism, Sine, Slider
    >>> def kapitza(amplitude):
    ...     pivot = Slider(direction=1.5707963267948966, motion=Sine(amplitude, frequency=40.0))
    ...     return Mechanism([pivot, Link.rod(0.3, 0.1)])
    >>> [floquet(kapitza(amplitude), [0.0, 3.141592653589793]).stable for amplitude in (0.007, 0.009)]
    [False, True]
    """
    own = driven_period(a_model("floquet", model))
    if period is None and own is None:
        raise ModelError("nothing drives this motion in time, so that its period is not known; give period=, in s")
    span = own if period is None else number("period", period, above=0)
    assert span is not None
    state = start_state(formulate(model), theta, omega)
    n = model.n
    q, v = model.given(0.0, state[:n], state[n : 2 * n])
    if isinstance(model, Mechanism) and not model.closed and _rests(model, span, q, v):
        free = np.flatnonzero(np.tile(~model.prescribed, 2))
        return _told(_about_rest(model, span, q)[np.ix_(free, free)], span, q, v, 0.0)
    return _found(model, span, q, v, forced=own is not None and not model.closed)


def _rests(model: Mechanism, period: float, q: np.ndarray, v: np.ndarray) -> bool:
    """Whether no free joint moves while the drives do."""
    free = ~model.prescribed
    if v[free].any():
        return False
    system = formulate(model)
    found = np.array([system.accelerations(q, v, t) for t in np.linspace(0.0, period, LOOKS, endpoint=False)])
    scale = max(float(np.abs(found).max()), abs(model.g))
    return bool(np.abs(found[:, free]).max(initial=0.0) <= AT_REST * scale)


def _about_rest(model: Mechanism, period: float, q: np.ndarray) -> np.ndarray:
    """Return the tangent flow (2N, 2N) over a period about free joints at rest."""
    rest = np.zeros(model.n)

    def matrix(times: np.ndarray) -> np.ndarray:
        many = np.broadcast_to(q, (len(times), model.n))
        M, C, K = matrices(model, many, 0 * many, 0 * many, times)
        return companion(np.linalg.solve(M, np.concatenate([K, C], -1)))

    A = matrix(np.linspace(0.0, period, LOOKS, endpoint=False))
    n, rate = model.n, 2 * math.pi * max(_frequencies(model), default=0.0)
    rate = max(rate, float(np.sqrt(np.abs(A[:, n:, :n]).sum(-1)).max()), float(np.abs(A[:, n:, n:]).sum(-1).max()))
    knots = np.linspace(0.0, period, 2 + int(period * rate / TURN))
    A, flow = matrix(nodes(knots)[0]), np.eye(2 * len(rest))
    for step in propagators(A.reshape(len(knots) - 1, STAGES, 2 * n, 2 * n), np.diff(knots)):
        flow = step @ flow
    return flow


def _found(model: Multibody, period: float, q: np.ndarray, v: np.ndarray, forced: bool) -> Floquet:
    """Return the multipliers of the motion that repeats near a start; without a drive, of the one through the start."""
    engine, n = tangent_engine(model, EXPONENTS), model.n
    system = engine.system
    frame = tangent_frame(model, q, v)
    frame = np.eye(2 * n) if frame is None else frame
    state, before, residual, flow = np.concatenate([q, v]), math.inf, math.inf, np.eye(0)
    scale = 1.0 + np.abs(state)
    for _ in range(ROUNDS):
        start = np.concatenate([system.encode(state[:n], state[n:]), np.zeros(system.full_size - system.size)])
        segment = engine.advance(0.0, period, start, frame)
        if segment.code != ARRIVED or not np.isfinite(segment.deviations).all():
            raise ModelError(f"the motion from this start cannot be followed over a period of {period:g} s; simulate it to see why")
        end = np.concatenate(model.given(period, *system.decode(segment.y[: system.size])))
        gap = end - state
        turning = np.append(~model.slides, np.zeros(n, bool))
        gap = np.where(turning, gap - 2 * math.pi * np.round(gap / (2 * math.pi)), gap)
        left, flow = frame.T @ gap, frame.T @ segment.deviations
        residual = float(np.abs(left / (frame.T**2 @ scale)).max(initial=0.0))
        if residual <= CLOSED or not forced or (residual >= 0.5 * before > 0 and residual <= 1e3 * CLOSED):
            break
        before = min(before, residual)
        state = state - frame @ np.linalg.lstsq(flow - np.eye(len(flow)), left, rcond=1e-13)[0]
    if residual > 1e3 * CLOSED:
        near = "give a start nearer to one that repeats" if forced else "give a start on it and its period"
        raise ModelError(f"no motion that repeats after {period:g} s was found: it ends {residual:.2g} from its start; {near}")
    return _told(flow, period, state[:n], state[n:], residual)


def _told(flow: np.ndarray, period: float, q: np.ndarray, v: np.ndarray, residual: float) -> Floquet:
    values: ComplexArray = np.linalg.eigvals(flow).astype(complex)
    values = values[np.lexsort((values.imag < 0, -values.real, -np.round(np.abs(values), 9)))]
    return Floquet(values, period, q, v, flow, residual)


def driven_period(model: Multibody) -> float | None:
    """Return the period of all drives together; None if nothing depends on time; refuse what does not repeat."""
    frequencies = _frequencies(model)
    if not frequencies:
        return None
    ratios = [Fraction(each / frequencies[0]).limit_denominator(MOST_RATIO) for each in frequencies]
    apart = [abs(float(ratio) * frequencies[0] - each) / each for ratio, each in zip(ratios, frequencies, strict=True)]
    if max(apart) > 1e-12:
        raise ModelError(f"the drives have no common period: {', '.join(f'{each:g}' for each in frequencies)} Hz; give period=")
    lowest = Fraction(math.gcd(*(ratio.numerator for ratio in ratios)), math.lcm(*(ratio.denominator for ratio in ratios)))
    return 1 / (float(lowest) * frequencies[0])


def _frequencies(model: Multibody) -> list[float]:
    """Return the different frequencies in Hz with which drives repeat."""
    found: list[float] = []
    for body, slides in zip(model.links, model.slides, strict=True):
        if body.motion is not None and moves(body.motion):
            found += _repeated(body.motion, bool(slides))
    for part in torques(model.load(JointTorque), model.n):
        if part.table:
            raise ModelError("a torque from a table does not repeat; give it as Sines for floquet")
        found += [abs(part.sine.frequency)] * bool(part.sine.amplitude and part.sine.frequency)
    return list(dict.fromkeys(found))


def _repeated(motion: Motion, slides: bool) -> list[float]:
    """Return the frequencies of a motion: a hinge that turns at a constant rate repeats too."""
    numbers = numbers_of(motion)
    if numbers.pieces or (numbers.rate and slides):
        raise ModelError("a motion from a spline or a slider that goes on and on does not repeat; give it as Sines for floquet")
    turned = [abs(numbers.rate) / (2 * math.pi)] * bool(numbers.rate)
    return turned + [abs(float(row[1])) / (2 * math.pi) for row in numbers.sines if row[0] and row[1]]


def is_driven(model: Multibody) -> bool:
    """Whether a joint is moved in time, so that stability is that of a motion that repeats."""
    return isinstance(model, Mechanism) and any(body.motion is not None and moves(body.motion) for body in model.links)
