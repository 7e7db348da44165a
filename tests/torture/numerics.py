"""Numerical limits: sizes, tolerances and times far beyond the usual. A run is right, or its status says what is wrong, soon."""

from __future__ import annotations

import contextlib
import functools
import time
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from nlink import (
    Chain,
    Drag,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    ModelError,
    Run,
    Sine,
    System,
    formulate,
    simulate,
)
from nlink.formulations import FORMULATIONS
from nlink.integrators import DOP853, IDA, INTEGRATORS, RK4, RK45, Gauss, Integrator, Rattle, Scipy, Taylor, method_for
from nlink.integrators.base import Restart
from torture.attack import attack

STEPS, SLOW_STEPS = 3000, 200
"""The most steps of a case, by compiled methods and by those that step in Python."""
WALL = 30.0
"""Seconds that a case may take at most, compiled."""
NUDGE = 1e-9
TOLERANCES = (1e-15, 1e-12, 1e-9, 1e-9, 1e-6, 1e-3, 1.0)
SIZES = ("usual", "masses", "lengths", "stiff", "turns", "long", "fast", "weightless", "thin", "heavy gravity", "damped", "driven")


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
        "Rattle": Rattle(step, max_steps=STEPS),
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
    closed = 1e-15 * run.chain.length.sum() / run.chain.length.min() if run.chain.pin else 0.0  # rounding of long links
    bad = np.flatnonzero((apart > limit + closed + 1e-9) & (growth < 1e-3 / NUDGE))
    assert not len(bad), f"{run.meta}: off by {apart[bad[0]]:.1e} at t = {run.t[bad[0]]:g} s, {limit[bad[0]] + closed:.1e} allowed"


def _assert_sound(run: Run) -> None:
    held = [run.theta, run.omega, run.alpha, run.kinetic, run.potential, run.drift, *run.work.values()]
    held += [] if run.knots is None else list(run.knots)
    assert all(np.isfinite(values).all() for values in held), f"not finite, but {run.status}"


COMPARED: list[int] = []
"""Cases whose run came to its end and was held against a tighter one."""


@functools.cache
def _ways(closed: bool) -> list[tuple[str, str]]:
    """Return the formulations and the integrators that go together, for a closed chain if asked."""
    rng, found = np.random.default_rng(0), []
    chain = Chain.uniform(3, pin=(1.0, 0.0) if closed else None)
    for form, name in product(FORMULATIONS, INTEGRATORS):
        with contextlib.suppress(ModelError):
            system = formulate(chain, form)
            y = np.zeros(system.full_size)
            y[: system.size] = system.encode(np.array([np.pi, np.pi / 2, 0.0]), np.zeros(3))
            method_for(system, _method(rng, name), 1e-9, 1e-9).stepper(system, Restart(0.0, 0.0, y), 1e-6)
            found.append((form, name))
    return found


def _chain(rng: np.random.Generator, size: str, theta: np.ndarray, closed: bool) -> Chain:
    """Return a chain of a size, pinned where its last tip is if it is to be closed."""
    links, loads = [_link(rng, size) for _ in theta], _loads(rng, size, len(theta))
    tip = np.sum([[link.length * np.sin(a), -link.length * np.cos(a)] for link, a in zip(links, theta, strict=True)], 0)
    return Chain(links, loads, tuple(tip.tolist()) if closed else None)


@attack(
    "right against a tighter run, or a status with the reason; no traceback, no hang",
    full=1008,
    sample=8,
    remark=lambda: f"{len(COMPARED)} compared",
)
def numerical_limits(k: int, folder: Path) -> None:
    rng = np.random.default_rng(k)
    size, n = SIZES[k % len(SIZES)], int(rng.integers(1, 5))
    ways = _ways(n > 2)
    form, name = ways[k // len(SIZES) % len(ways)]
    method = _method(rng, name)
    theta = rng.uniform(-3, 3, n) + 2 * np.pi * 1e5 * (size == "turns")
    omega = rng.uniform(-3, 3, n) * (10.0 ** rng.uniform(3, 12) if size == "fast" else 1.0)
    t_end = {"long": 1e6, "fast": 1e-3}.get(size, float(rng.choice([-2.0, 0.5, 5.0])))
    try:
        system = formulate(_chain(rng, size, theta, n > 2), form)
        _ended(system, theta, omega, 1e-9, replace(method, max_steps=1))  # what is to be compiled is compiled
        run = _ended(system, theta, omega, t_end, method)
        if run.status.code == "too_many_steps" and run.checkpoint and run.checkpoint.t:
            run = _ended(system, theta, omega, run.checkpoint.t / 2, method)  # so far it must come
    except ModelError:
        return
    tol = getattr(method, "rtol", getattr(method, "tol", None))
    if run.status.ok and tol is not None and tol <= 1e-3 and form != "linear":
        COMPARED.append(k)
        _assert_right(run, theta, omega, tol)


def _ended(system: System, theta: np.ndarray, omega: np.ndarray, t_end: float, method: Integrator) -> Run:
    """Return a run that took no more time than it may, is finite if it is finished, and else says what to do."""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = simulate(system, theta, omega, t_end=t_end, integrator=method, save=abs(t_end) / 50, strict=False)
    assert t_end == 1e-9 or time.perf_counter() - begun < WALL, f"took {time.perf_counter() - begun:.0f} s"
    assert run.status.ok or run.status.remedy, run.status
    if run.status.ok:
        _assert_sound(run)
    return run
