"""Prescribed motions of joints: its coordinate as sines, ramps, splines, or their sum.

A motion is a constraint, not a load: the joint has the coordinate q(t), and its drive supplies whatever force that takes. The work
of the drives is a row of the ledger. A motion has two continuous derivatives: a corner of q' would be an impact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nlink._support.checks import ModelError, listed, number, set_checked, shown
from nlink.mechanics.loads.joint_torque import Interpolation, Sine, Table


@dataclass(frozen=True)
class Ramp:
    """The function start + rate * t: rad and rad/s of a hinge, m and m/s of a slider."""

    start: float
    rate: float

    def __post_init__(self) -> None:
        set_checked(self, number, "start", "rate")


@dataclass(frozen=True)
class Spline(Interpolation):
    """The natural cubic spline through (times, values), continued by straight lines; its knots are step boundaries."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.times) < 2:
            raise ModelError("Spline.times needs at least two times; use Ramp or a Sine for less")

    @cached_property
    def pieces(self) -> np.ndarray:
        """Time from which each cubic counts, time at which it begins, its coefficients for powers of the time since: (pieces, 6).

        The first piece is the straight line before the first knot, which counts from -infinity; the last is the line behind the
        last knot.
        """
        t, v = np.asarray(self.times), np.asarray(self.values)
        h, slope = np.diff(t), np.diff(v) / np.diff(t)
        bend = np.zeros(len(t))  # second derivatives at the knots
        if len(t) > 2:
            from scipy.linalg import solve_banded

            bands = np.array([np.append(0.0, h[1:-1]), 2 * (h[:-1] + h[1:]), np.append(h[1:-1], 0.0)])
            bend[1:-1] = solve_banded((1, 1), bands, 6 * np.diff(slope))
        first = slope - h * (2 * bend[:-1] + bend[1:]) / 6
        cubics = np.column_stack([t[:-1], t[:-1], v[:-1], first, bend[:-1] / 2, np.diff(bend) / (6 * h)])
        end = slope[-1] + h[-1] * (bend[-2] + 2 * bend[-1]) / 6
        return np.vstack([(-np.inf, t[0], v[0], first[0], 0.0, 0.0), cubics, (t[-1], t[-1], v[-1], end, 0.0, 0.0)])


Term = Sine | Ramp | Spline
Motion = Term | tuple[Term, ...]


class MotionNumbers(NamedTuple):
    """A motion as numbers: constant and rate, sines (K, 3): amplitude, angular frequency, phase; pieces of each spline (P, 6)."""

    constant: float
    rate: float
    sines: np.ndarray
    pieces: list[np.ndarray]


def motion_of(where: str, value: Any) -> tuple[Term, ...]:
    """Return the terms of a motion, checked."""
    terms = tuple(value) if listed(value) else (value,)
    if not terms:
        raise ModelError(f"{where} must not be an empty list; give a Sine, Ramp or Spline, or None for a free joint")
    for term in terms:
        if isinstance(term, Table):
            raise ModelError(f"{where} must not be a Table: its corners would be impacts; use Spline(times, values)")
        if not isinstance(term, Term):
            raise ModelError(f"{where} must be a Sine, a Ramp, a Spline, or a list of these, got {shown(term)}")
    return terms


def numbers_of(motion: Motion) -> MotionNumbers:
    """Return a motion as numbers."""
    terms = motion if isinstance(motion, tuple) else (motion,)
    ramps = [term for term in terms if isinstance(term, Ramp)]
    sines = [term for term in terms if isinstance(term, Sine)]
    rows = [(each.amplitude, 2 * np.pi * each.frequency, each.phase) for each in sines]
    constant = sum(each.start for each in ramps) + sum(each.offset for each in sines)
    pieces = [term.pieces for term in terms if isinstance(term, Spline)]
    return MotionNumbers(constant, sum(each.rate for each in ramps), np.array(rows).reshape(-1, 3), pieces)


def moves(motion: Motion) -> bool:
    """Whether a motion is more than a constant."""
    numbers = numbers_of(motion)
    return bool(numbers.rate or numbers.sines[:, 0].any() or any(pieces[:, 3:].any() for pieces in numbers.pieces))


def fastest(motion: Motion) -> float:
    """Return the largest rate of a motion but for its sines."""
    numbers = numbers_of(motion)
    return abs(numbers.rate) + sum(_fastest(pieces) for pieces in numbers.pieces)


def _fastest(pieces: np.ndarray) -> float:
    """Return the largest rate of a spline, at its knots or where it bends the other way."""
    _, begin, _, first, second, third = pieces.T
    long = np.append(np.diff(begin), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.clip(np.nan_to_num(-second / (3 * third)), 0.0, long)
    return float(np.abs(first + turn * (2 * second + 3 * turn * third)).max(initial=float(np.abs(first).max())))


def knots_of(motion: Motion | None) -> list[float]:
    """Return the times at which the third derivative of a motion jumps: step boundaries."""
    terms = motion if isinstance(motion, tuple) else (motion,)
    return [time for term in terms if isinstance(term, Spline) for time in term.times]


def motion_at(motion: Motion, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the coordinate and its first two derivatives at times t, each of the shape of t."""
    numbers, t = numbers_of(motion), np.asarray(t, float)
    q, v, a = numbers.constant + numbers.rate * t, np.full(t.shape, numbers.rate), np.zeros(t.shape)
    for amplitude, frequency, phase in numbers.sines:
        s, c = np.sin(frequency * t + phase), np.cos(frequency * t + phase)
        q, v, a = q + amplitude * s, v + amplitude * frequency * c, a - amplitude * frequency**2 * s
    for pieces in numbers.pieces:
        begin, c0, c1, c2, c3 = np.moveaxis(pieces[np.searchsorted(pieces[1:, 0], t, "right"), 1:], -1, 0)
        u = t - begin
        q, v, a = q + c0 + u * (c1 + u * (c2 + u * c3)), v + c1 + u * (2 * c2 + u * 3 * c3), a + 2 * c2 + 6 * c3 * u
    return q, v, a
