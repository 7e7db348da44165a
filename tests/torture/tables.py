"""Attacks on tables of torques: any number of knots, any spacing, in both directions of time.

A single link without gravity has I theta'' = T(t): between two knots theta is a cubic, so the motion is known exactly.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from nlink import DOP853, RK4, RK45, Chain, Gauss, Gravity, JointTorque, Link, Table, Taylor, simulate, simulate_many
from torture.attack import Measure, attack

METHODS = (DOP853(1e-10, 1e-10), Taylor(1e-14), RK45(1e-10, 1e-10), RK4(step=0.01), Gauss(step=0.02))
LINK = Link(1.2, 0.8, 0.5, 0.3, 0.1)


def spaced(rng: np.random.Generator, count: int, t_end: float) -> np.ndarray:
    """Return so many increasing times, spaced in one of several ways."""
    kind = rng.integers(6)
    low, high = sorted((0.0, t_end))
    if kind == 0:
        times = rng.uniform(low - 0.3, high + 0.3, count)
    elif kind == 1:
        times = np.linspace(low, high, count)
    elif kind == 2:
        times = 0.3 * t_end + 1e-12 * np.arange(count)
    elif kind == 3:
        times = np.append(rng.uniform(low, high, count - 2), rng.choice([1e99, -1e99, 1e17, 5e-324], 2, replace=False))
    elif kind == 4:
        times = -rng.uniform(0, 2, count)
    else:
        times = np.geomspace(1e-15, abs(t_end), count) * np.sign(t_end)
    return np.unique(times)


def random_table(rng: np.random.Generator, t_end: float, most: int) -> Table:
    """Return a table of 2 to `most` knots, few or many as often."""
    times = spaced(rng, int(2 * (most / 2) ** rng.uniform(0, 1)), t_end)
    return Table(times, rng.uniform(-5, 5, len(times)))


def exact(table: Table, t_end: float, theta: float, omega: float) -> tuple[float, float]:
    """Return angle and rate at t_end of the single link, from cubics between knots in extended precision."""
    sign, kinks = np.sign(t_end), np.array(table.times)
    inside = kinks[(kinks > min(0.0, t_end)) & (kinks < max(0.0, t_end))]
    at = np.concatenate([[0.0], inside if sign > 0 else inside[::-1], [t_end]]).astype(np.longdouble)
    torque = np.interp(at.astype(float), table.times, table.values).astype(np.longdouble) / np.longdouble(LINK.hinge_inertia)
    h = np.diff(at)
    rate = omega + np.concatenate([[0.0], np.cumsum(h * (torque[:-1] + torque[1:]) / 2)])
    angle = theta + np.sum(h * rate[:-1] + h**2 * (2 * torque[:-1] + torque[1:]) / 6)
    return float(angle), float(rate[-1])


@attack("the exact motion of a single link; the time is that of one step", full=200, sample=6)
def tables_of_2_to_100001_knots(k: int, folder: Path) -> Measure:
    rng = np.random.default_rng(k)
    t_end = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0))
    table = random_table(rng, t_end, 100_001)
    chain, (theta, omega) = Chain([LINK], [Gravity(0.0), JointTorque(table)]), rng.uniform(-2, 2, 2)
    wanted = exact(table, t_end, theta, omega)
    method: Any = METHODS[k % len(METHODS)]
    run = simulate(chain, theta, omega, t_end=t_end, save=(t_end,), integrator=method)
    close(run.theta[-1, 0], run.omega[-1, 0], wanted, f"{method}, {len(table.times)} knots")
    if k % 4 == 0:
        many = simulate_many(chain, [[theta]] * 3, [[omega]] * 3, t_end=t_end, integrator=DOP853(1e-10, 1e-10))
        close(many.theta.values[1, 0], many.omega.values[1, 0], wanted, f"lanes, {len(table.times)} knots")
    return Measure(run.stats.wall / run.stats.steps)


def close(theta: float, omega: float, wanted: tuple[float, float], what: str) -> None:
    """Insist that rounding is all that differs."""
    assert abs(theta - wanted[0]) < 1e-10 * max(1.0, abs(wanted[0])), f"theta {theta!r}, not {wanted[0]!r}: {what}"
    assert abs(omega - wanted[1]) < 1e-10 * max(1.0, abs(wanted[1])), f"omega {omega!r}, not {wanted[1]!r}: {what}"


@attack("the motion that SciPy finds from knot to knot, also if resumed on the way", full=60, sample=3)
def a_heavy_link_driven_by_a_table(k: int, folder: Path) -> None:
    rng = np.random.default_rng(k)
    t_end = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0))
    table = random_table(rng, t_end, 60)
    chain, start = Chain([LINK], [Gravity(9.81), JointTorque(table)]), rng.uniform(-2, 2, 2)
    method: Any = METHODS[k % len(METHODS)]
    run = simulate(chain, *start, t_end=t_end, save=0.1, integrator=method)
    first = simulate(chain, *start, t_end=0.6 * t_end, save=0.1, integrator=method)
    assert first.resume(t_end).theta[-1, 0] == run.theta[-1, 0], "resumed, it differs"
    error = 1e-5 if isinstance(method, RK4) else 1e-8
    np.testing.assert_allclose([run.theta[-1, 0], run.omega[-1, 0]], from_knot_to_knot(table, t_end, start), atol=error)


def from_knot_to_knot(table: Table, t_end: float, start: np.ndarray) -> np.ndarray:
    """Return angle and rate at t_end by SciPy, begun anew at each knot."""
    weight = LINK.mass * 9.81
    kinks = [t for t in table.times if min(0.0, t_end) < t < max(0.0, t_end)]
    at, y = [0.0, *sorted(kinks, key=abs), t_end], start

    def rates(t: float, y: np.ndarray) -> list[float]:
        moment = weight * (LINK.com * np.sin(y[0]) + LINK.offset * np.cos(y[0]))
        return [y[1], (np.interp(t, table.times, table.values) - moment) / LINK.hinge_inertia]

    for a, b in pairwise(at):
        with np.errstate(all="ignore"):  # SciPy divides by the length of a step of 1e-324 s
            y = solve_ivp(rates, (a, b), y, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    return y
