"""Numerical limits: sizes, tolerances and times far beyond the usual. A run is right, or its status says what is wrong, soon."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from nlink import Chain, Drag, Gravity, JointDamper, JointSpring, JointTorque, Link, ModelError, Run, Sine, simulate
from nlink.formulations import FORMULATIONS
from nlink.integrators import DOP853, IDA, INTEGRATORS, RK4, RK45, Gauss, Scipy, Taylor
from torture.attack import attack

STEPS, SLOW_STEPS = 3000, 200
"""The most steps of a case, by compiled methods and by those that step in Python."""
WALL = 30.0
"""Seconds that a case may take at most, compiled."""
NUDGE = 1e-9
TOLERANCES = (1e-15, 1e-12, 1e-9, 1e-9, 1e-6, 1e-3, 1.0)
SIZES = ("usual", "masses", "lengths", "stiff", "turns", "long", "fast", "weightless", "thin", "heavy gravity", "damped", "driven")
WAYS = list(product(FORMULATIONS, INTEGRATORS))


def _link(rng: np.random.Generator, size: str) -> Link:
    mass = 10.0 ** rng.uniform(-12, 12) if size == "masses" else rng.uniform(0.1, 3)
    length = 10.0 ** rng.uniform(-9, 6) if size == "lengths" else rng.uniform(0.2, 2)
    if size == "thin":
        return Link(length, mass, length, 10.0 ** rng.uniform(-30, -10))
    return [Link.rod, Link.point][rng.integers(2)](length, mass)


def _loads(rng: np.random.Generator, size: str, n: int) -> list:
    g = {"weightless": 0.0, "heavy gravity": 10.0 ** rng.uniform(3, 12)}.get(size, 9.81)
    stiff = 10.0 ** rng.uniform(3, 12, n)
    torque, drag = Sine(10.0 ** rng.uniform(-3, 6), 10.0 ** rng.uniform(-3, 6), 0.3), 10.0 ** rng.uniform(-3, 3, 2)
    others = {
        "stiff": [JointSpring(stiff)],
        "damped": [JointDamper(10.0 ** rng.uniform(-6, 9, n)), Drag(*drag.tolist())],
        "driven": [JointTorque(torque)],
    }
    return [Gravity(g), *others.get(size, [])]


def _method(rng: np.random.Generator, name: str):
    tol, step = float(rng.choice(TOLERANCES)), 10.0 ** rng.uniform(-6, 2)
    return {
        "DOP853": DOP853(tol, tol, max_steps=STEPS),
        "RK45": RK45(tol, tol, max_steps=STEPS),
        "Taylor": Taylor(tol, max_steps=STEPS),
        "RK4": RK4(step, max_steps=STEPS),
        "Gauss": Gauss(step, max_steps=STEPS),
        "Scipy": Scipy(str(rng.choice(["Radau", "BDF", "LSODA"])), tol, tol, max_steps=SLOW_STEPS),
        "IDA": IDA(tol, tol, max_steps=SLOW_STEPS),
    }[name]


def _tight(run: Run, theta: np.ndarray, omega: np.ndarray) -> Run:
    method = DOP853(1e-14, 1e-14, max_steps=20 * STEPS)
    return simulate(run.chain, theta, omega, t_end=run.scenario.settings.t_end, integrator=method, save=tuple(run.t), strict=False)


def _assert_right(run: Run, theta: np.ndarray, omega: np.ndarray, tol: float) -> None:
    """Hold a run against a tighter one in angles, with room for how much the motion multiplies an error of its start."""
    exact = _tight(run, theta, omega)
    other = _tight(run, theta + NUDGE, omega * (1 + NUDGE) + NUDGE)
    count = min(len(run.t), len(exact.t), len(other.t))
    growth = 1 + np.maximum.accumulate(np.abs(other.theta[:count] - exact.theta[:count]).max(1)) / NUDGE
    apart = np.abs(run.theta[:count] - exact.theta[:count]).max(1)
    rate = 1 + np.maximum.accumulate(np.abs(exact.omega[:count]).max(1))
    limit = 100 * growth * (tol * rate + 1e-15 * np.abs(theta).max()) * max(run.stats.steps, 10)
    bad = np.flatnonzero((apart > limit + 1e-9) & (growth < 1e-3 / NUDGE))
    assert not len(bad), f"{run.meta}: off by {apart[bad[0]]:.1e} at t = {run.t[bad[0]]:g} s, {limit[bad[0]]:.1e} allowed"


def _assert_sound(run: Run) -> None:
    held = [run.theta, run.omega, run.alpha, run.kinetic, run.potential, run.drift, *run.work.values()]
    held += [] if run.knots is None else list(run.knots)
    assert all(np.isfinite(values).all() for values in held), f"not finite, but {run.status}"


@attack("right against a tighter run, or a status that says what is wrong; no traceback, no hang", full=1008, sample=8)
def numerical_limits(k: int, folder: Path) -> None:
    rng = np.random.default_rng(k)
    size, (form, name) = SIZES[k % len(SIZES)], WAYS[(k // len(SIZES)) % len(WAYS)]
    n, method = int(rng.integers(1, 4)), _method(rng, name)
    theta, omega = rng.uniform(-3, 3, n), rng.uniform(-3, 3, n)
    theta += 2 * np.pi * 1e5 * (size == "turns")
    omega *= 10.0 ** rng.uniform(3, 12) if size == "fast" else 1.0
    t_end = {"long": 1e6, "fast": 1e-3}.get(size, float(rng.choice([-2.0, 0.5, 5.0])))
    begun = time.perf_counter()
    try:
        chain = Chain([_link(rng, size) for _ in range(n)], _loads(rng, size, n))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            simulate(chain, theta, omega, t_end=1e-9, formulation=form, integrator=replace(method, max_steps=1), strict=False)
            begun = time.perf_counter()  # what was to be compiled is compiled
            save = abs(t_end) / 50
            run = simulate(chain, theta, omega, t_end=t_end, formulation=form, integrator=method, save=save, strict=False)
    except ModelError:
        return
    assert time.perf_counter() - begun < WALL, f"took {time.perf_counter() - begun:.0f} s"
    assert run.status.ok or run.status.remedy, run.status
    if run.status.ok:
        _assert_sound(run)
        tol = getattr(method, "rtol", getattr(method, "tol", None))
        if tol is not None and tol <= 1e-3 and form != "linear":
            _assert_right(run, theta, omega, tol)
