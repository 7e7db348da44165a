"""Integrator (the contract): a frozen record that makes a Stepper, which advances in Chunks: see `simulation/integrate.py`.

To add a method:

1. a frozen record, a subclass of Integrator, whose `stepper(system)` returns
2. a Stepper whose `advance` takes at most `limit` steps in one compiled call, from one of `bounds` to the next, and returns
3. a Chunk: the steps it took with their rates (the knots), how it ended, and `at(times)` between the knots;
   the states at the times asked for go straight into the run's array;
4. its name in `integrators.INTEGRATORS`.

Steps end at each of the bounds: the kinks of the loads on the way, and the end. They never depend on the times asked for. If the
last bound ends the run (`final`), an adaptive method shortens its last step to end there and leaves in `mark` where it stood
before, so that a resumed run repeats the steps of an uninterrupted one; a fixed-step method steps over it instead, but not
over a kink, and leaves in `mark` the last point of its grid that is not beyond.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from nlink.compiled.jit import entry
from nlink.mechanics.system import System

CHUNK_NUMBERS = 250_000
"""Most numbers that a chunk's knots and polynomials hold, unless one step needs more: 2 MB stay in the processor's cache."""

MOST_STEPS = 10**12
"""What `max_steps` may be: a year of the fastest steps."""

RUNNING, ARRIVED, NOT_FINITE, STEP_TOO_SMALL, NOT_CONVERGED = range(5)


@dataclass
class Mark:
    """A point from which the steps can be taken again: time, next step (0: choose), state with ledger and its rates
    (None: evaluate), and the origin and count of a grid of fixed steps.
    """

    t: float
    step: float
    y: np.ndarray
    f: np.ndarray | None = None
    origin: float = 0.0
    count: int = 0


class Chunk(ABC):
    """Some steps: t (K+1,), y and rates f (K+1, m) at the knots, and how the call ended. Good until the next `advance`."""

    t: np.ndarray
    y: np.ndarray
    f: np.ndarray
    code: int

    @abstractmethod
    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the states (len(times), m) by the method's own dense output."""

    def fill(self, times: np.ndarray, saved: np.ndarray) -> None:
        """Fill the first rows of `saved` with the states at those of `times` that the steps have reached."""
        sign = 1.0 if self.t[-1] >= self.t[0] else -1.0
        count = int(np.searchsorted(sign * times, sign * self.t[-1], side="right"))
        if count:
            saved[:count] = self.at(times[:count])


class Stepper(ABC):
    """One integration under way."""

    mark: Mark
    nfev: int = 0
    steps: int = 0
    rejected: int = 0

    @abstractmethod
    def advance(self, bounds: np.ndarray, final: bool, times: np.ndarray, saved: np.ndarray, dense: bool, limit: int) -> Chunk:
        """Take up to `limit` steps towards the last of `bounds`, or fewer towards the first; fill `saved` (len(times), m) at the
        times they reach.

        The code ARRIVED says that a bound was reached; which one the time tells. The chunk can be evaluated anywhere between its
        knots only if `dense`.
        """


class Integrator(ABC):
    """A method with its settings: a frozen record."""

    name: ClassVar[str]
    max_steps: int

    @abstractmethod
    def stepper(self, system: System, mark: Mark, t_end: float) -> Stepper:
        """Return a stepper from `mark` towards t_end; a step of 0 lets the method choose its first."""

    def described(self) -> str:
        """Return the method for people: its name, and what is not as usual."""
        told = ("rtol", "atol", "step", "method", "tol")
        values = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}  # pyright: ignore[reportArgumentType]
        said = [f"{name}={value!r}" for name, (value, usual) in values.items() if name in told or value != usual]
        return f"{self.name}({', '.join(said)})"


class PolynomialChunk(Chunk):
    """Steps whose dense output is a polynomial: y + h sum_j u^(j+1) q_j."""

    def __init__(self, t: np.ndarray, y: np.ndarray, f: np.ndarray, q: np.ndarray, code: int) -> None:
        self.t, self.y, self.f, self.q, self.code = t, y, f, q, code

    def at(self, times: np.ndarray) -> np.ndarray:
        """Evaluate the polynomials."""
        out = np.empty((len(times), self.y.shape[1]))
        evaluate(self.t, self.y, self.q, np.asarray(times, float), out)
        return out


@entry
def evaluate(t, y, q, times, out):
    """Fill out with the states at times (in the order of the steps) from the polynomials of the steps."""
    k = 0
    last = len(t) - 2
    sign = 1.0 if t[-1] >= t[0] else -1.0
    for i in range(len(times)):
        while k < last and (times[i] - t[k + 1]) * sign > 0:
            k += 1
        if times[i] == t[k + 1]:
            out[i] = y[k + 1]
            continue
        h = t[k + 1] - t[k]
        u = (times[i] - t[k]) / h
        for j in range(y.shape[1]):
            total = 0.0
            for power in range(q.shape[1] - 1, -1, -1):
                total = u * (total + q[k, power, j])
            out[i, j] = y[k, j] + h * total


class Room:
    """The arrays of a chunk, used again by the next: fresh memory would cost more than the steps of a long chain."""

    def __init__(self, m: int, powers: int) -> None:
        self.m, self.powers = m, powers
        self.t, self.y, self.f, self.q = np.empty(0), np.empty((0, m)), np.empty((0, m)), np.empty((0, powers, m))

    def take(self, limit: int, dense: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return t, y, f for the knots and q for the polynomials (none unless `dense`) of at most `limit` steps."""
        most = CHUNK_NUMBERS // (self.m * (self.powers * dense + 2))
        steps = min(limit, max(1, most))
        if len(self.t) <= steps:
            self.t, self.y, self.f = np.empty(steps + 1), np.empty((steps + 1, self.m)), np.empty((steps + 1, self.m))
        if len(self.q) < steps * dense:
            self.q = np.empty((steps, self.powers, self.m))
        return self.t[: steps + 1], self.y[: steps + 1], self.f[: steps + 1], self.q[: steps * dense]


def first_step(system: System, t: float, y: np.ndarray, f: np.ndarray, scale: np.ndarray, order: int, span: float) -> float:
    """Return a first step size after Hairer, Norsett, Wanner II.4: small enough for an explicit Euler step to be good."""

    def norm(v: np.ndarray) -> float:
        return float(np.sqrt(np.mean((v[: system.size] / scale) ** 2)))

    d0, d1 = norm(y), norm(f)
    h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, abs(span))
    h0 = max(h0, 1e-300)
    direction = np.sign(span)
    f1 = system.rates(t + direction * h0, y + direction * h0 * f, strict=False)
    if system.failed and system.callback:
        system.callback.taken()  # the steps will meet it again, and keep what was before
    d2 = norm(f1 - f) / h0
    largest = max(d1, d2)
    h1 = max(1e-6, h0 * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** (1 / order)
    h = min(100 * h0, h1, abs(span))
    return float(direction * (h if np.isfinite(h) and h > 0 else 1e-6 * abs(span)))
