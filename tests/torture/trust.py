"""Trusted times against a reference in extended precision, independent of nlink's kernels: none may claim too much.

The reference extrapolates Gragg's modified midpoint rule to order 2 COLUMNS (Bulirsch and Stoer; Hairer, Norsett, Wanner II.9) with
the accelerations by virtual work: M a = Q - b, and for a closed chain the multipliers of its two constraints beside them. Its
rounding, 5e-20, is 2000 times finer than that of a run, so that it is still right to 1e-5 rad when a run is wrong by 1e-3. It
vouches for itself: a step whose estimated error is too large, a chain that opens, or energy that is lost ends what it knows, and a
claim beyond that time is counted as undecided.
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from nlink import (
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Run,
    Sine,
    Table,
    TipForce,
    preset,
    simulate,
    trusted_until,
)
from torture.attack import Absent, Undecided, attack

LONG = np.longdouble
PI = 4 * np.arctan(LONG(1))
COLUMNS = 7
TOLERANCE = 3e-17
"""Of the last but one column of the extrapolation, whose rounding is near; the last is better by far."""
SMALLEST = 1e-8
"""A step in s that is not made smaller."""
DOUBTED = 1e-10
"""The largest error of a step, opening of a closed chain in m, and loss of energy in J with which the reference goes on."""
ANGLE = 1e-3
T_END, EVERY = 12.0, 0.1
"""End of the runs, and time between the points, in s, at which a run is held against the reference."""
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"rtol": 1e-6, "atol": 1e-6},
    {"integrator": "DOP853"},
    {"integrator": "RK45(rtol=1e-6, atol=1e-6)"},
    {"integrator": "Gauss(step=0.005)"},
    {"formulation": "momentum"},
)


class Reference:
    """A chain in extended precision."""

    def __init__(self, chain: Chain) -> None:
        self.chain, n = chain, chain.n
        self.length, self.com, self.offset, self.mass, self.inertia = (
            np.array(values, LONG) for values in (chain.length, chain.com, chain.offset, chain.mass, chain.inertia)
        )
        self.inner = np.tril(np.ones((n, n)), -1) * self.length  # [j, i]: link i carries the centre of link j by its whole length
        self.eye = np.eye(n, dtype=LONG)
        self.doubt = 0.0  # the largest estimated error of a step so far

    def _each(self, values: Any) -> np.ndarray:
        return np.broadcast_to(np.array(values, LONG), self.chain.n)

    def torque(self, t: Any) -> np.ndarray:
        """Return the driving torques at time t."""
        load = self.chain.load(JointTorque)
        every = load.torque if isinstance(load.torque, tuple) else (load.torque,) * self.chain.n
        return np.array([_torque(torque, t) for torque in every], LONG)

    def accelerations(self, t: Any, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        """Return the angular accelerations."""
        s, c = np.sin(theta), np.cos(theta)
        ex, ey, lx, ly = s, -c, c, s
        along, side = self.inner + self.eye * self.com, self.eye * self.offset
        jx, jy = along * lx - side * ex, along * ly - side * ey
        bx, by = -along * ex - side * lx, -along * ey - side * ly
        square = omega * omega
        fx, fy = -self.mass * (bx @ square), -self.mass * (by @ square) - self.mass * LONG(self.chain.g)
        moment = np.zeros(self.chain.n, LONG)
        drag = self.chain.load(Drag)
        if drag:
            vx, vy = jx @ omega, jy @ omega
            slow = self._each(drag.linear) + self._each(drag.quadratic) * np.sqrt(vx * vx + vy * vy)
            fx, fy = fx - slow * vx, fy - slow * vy
        hinge = self._hinge_moments(t, theta, omega)
        moment = moment + hinge - np.append(hinge[1:], LONG(0))
        rubbing = self.chain.load(LinkDamper)
        if rubbing:
            moment = moment - self._each(rubbing.damping) * omega
        tip, pushed = self.chain.load(TipForce), self.chain.load(FollowerForce)
        px = (LONG(tip.fx) if tip else LONG(0)) - (LONG(pushed.force) * ex[-1] if pushed else LONG(0))
        py = (LONG(tip.fy) if tip else LONG(0)) - (LONG(pushed.force) * ey[-1] if pushed else LONG(0))
        gx, gy = self.length * lx, self.length * ly
        Q = fx @ jx + fy @ jy + moment + px * gx + py * gy
        M = (jx * self.mass[:, None]).T @ jx + (jy * self.mass[:, None]).T @ jy + self.eye * self.inertia
        if not self.chain.pin:
            return solved(M, Q)
        G = np.array([gx, gy])
        curve = np.array([(self.length * ex * square).sum(), (self.length * ey * square).sum()])
        whole = np.block([[M, G.T], [G, np.zeros((2, 2), LONG)]])
        return solved(whole, np.append(Q, curve))[: self.chain.n]

    def _hinge_moments(self, t: Any, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
        chain, moment = self.chain, np.zeros(self.chain.n, LONG)
        spring, damper = chain.load(JointSpring), chain.load(JointDamper)
        if chain.load(JointTorque):
            moment = moment + self.torque(t)
        if spring:
            moment = moment - self._each(spring.stiffness) * (relative(theta) - self._each(spring.rest))
        return moment - self._each(damper.damping) * relative(omega) if damper else moment

    def rates(self, t: Any, y: np.ndarray) -> np.ndarray:
        """Return the rates of (theta, omega)."""
        n = self.chain.n
        return np.concatenate([y[n:], self.accelerations(t, y[:n], y[n:])])

    def midpoint(self, t: Any, y: np.ndarray, f: np.ndarray, h: Any, count: int) -> np.ndarray:
        """Return the state after h by Gragg's rule with so many parts."""
        part = h / count
        before, now = y, y + part * f
        for k in range(1, count):
            before, now = now, before + 2 * part * self.rates(t + k * part, now)
        return (before + now + part * self.rates(t + h, now)) / 2

    def step(self, t: Any, y: np.ndarray, h: Any) -> tuple[np.ndarray, float]:
        """Return the state after h, and an estimate of its error."""
        f, rows = self.rates(t, y), []
        for j in range(COLUMNS):
            row = [self.midpoint(t, y, f, h, 2 * (j + 1))]
            for k in range(1, j + 1):
                ratio = (LONG(j + 1) / (j + 1 - k)) ** 2
                row.append(row[k - 1] + (row[k - 1] - rows[k - 1]) / (ratio - 1))
            rows = row
        return rows[-1], float(np.abs(rows[-1] - rows[-2]).max())

    def follow(self, theta: np.ndarray, omega: np.ndarray, times: np.ndarray, alike: Any) -> np.ndarray:
        """Return the angles at the times, as long as `alike(k, theta)` holds."""
        y, t, out = np.array([*theta, *omega], LONG), LONG(times[0]), [np.array(theta, LONG)]
        size, kinks, begun = LONG(EVERY), self._kinks(), self.invariants(y)
        self.doubt = 0.0
        for k, target in enumerate(times[1:], 1):
            for bound in [*(kink for kink in kinks if t < kink < target), target]:
                y, t, size = self._reach(LONG(bound), y, t, size)
            changed = max(self.doubt, *np.abs(self.invariants(y) - begun))
            if not changed <= DOUBTED * (1 + float(np.abs(y[self.chain.n :]).max()) ** 2):
                break
            out.append(y[: self.chain.n])
            if not alike(k, out[-1]):
                break
        return np.array(out)

    def invariants(self, y: np.ndarray) -> np.ndarray:
        """Return what must not change: the energy if gravity alone acts, and the end of a closed chain."""
        theta, omega = np.split(y, 2)
        s, c = np.sin(theta), np.cos(theta)
        along, side = self.inner + self.eye * self.com, self.eye * self.offset
        vx, vy = (along * c - side * s) @ omega, (along * s + side * c) @ omega
        height = -(along @ c) + side @ s
        energy = (self.mass * (vx * vx + vy * vy) + self.inertia * omega * omega).sum() / 2 + LONG(self.chain.g) * (
            self.mass @ height
        )
        alone = all(isinstance(load, Gravity) for load in self.chain.loads)
        end = [self.length @ s, -(self.length @ c)] if self.chain.pin else [LONG(0)] * 2
        return np.array([energy if alone else LONG(0), *end], LONG)

    def _kinks(self) -> list[float]:
        load = self.chain.load(JointTorque)
        torques = load.torque if load and isinstance(load.torque, tuple) else ()
        return sorted({time for torque in torques if isinstance(torque, Table) for time in torque.times})

    def _reach(self, bound: Any, y: np.ndarray, t: Any, size: Any) -> tuple[np.ndarray, Any, Any]:
        """Step to a time; return the state, the time and the size of the next step."""
        before = math.inf
        while t != bound:
            whole = size < bound - t
            h = size if whole else bound - t
            new, error = self.step(t, y, h)
            allowed = TOLERANCE * (1 + float(np.abs(y).max()))
            if allowed < error < before / 2 and h > SMALLEST:  # else what is seen is rounding: a smaller step is no better
                size, before = LONG(0.6) * h, error
                continue
            self.doubt, before = max(self.doubt, error), math.inf
            y, t = new, t + h if whole else bound
            size = LONG(1.4) * h if whole and error < allowed / 50 else size
        return y, t, size


def relative(values: np.ndarray) -> np.ndarray:
    """Return the differences between neighbours, the ground being 0."""
    return values - np.concatenate([[LONG(0)], values[:-1]])


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve a small system in extended precision, by Gauss with pivots."""
    A, b, n = A.copy(), b.copy(), len(b)
    for k in range(n):
        p = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, p]], b[[k, p]] = A[[p, k]], b[[p, k]]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k]
    return b


def _torque(torque: Any, t: Any) -> Any:
    if isinstance(torque, Sine):
        return LONG(torque.amplitude) * np.sin(2 * PI * LONG(torque.frequency) * t + LONG(torque.phase))
    if isinstance(torque, Table):
        times, values = (np.array(v, LONG) for v in (torque.times, torque.values))
        k = int(np.clip(np.searchsorted(times, t) - 1, 0, len(times) - 2))
        u = min(max((t - times[k]) / (times[k + 1] - times[k]), LONG(0)), LONG(1))
        return values[k] + u * (values[k + 1] - values[k])
    return LONG(torque)


class Parallelogram(Reference):
    """Three equal rods pinned a length apart, which stay parallel: one pendulum, for which a change point is nothing special."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(Chain([Link(1.0, 4.0, 0.5, 2 / 3)], [Gravity(chain.g)]))  # moment of inertia 5/3, moment of mass 2

    def follow(self, theta: np.ndarray, omega: np.ndarray, times: np.ndarray, alike: Any) -> np.ndarray:
        """Return the angles of all three."""

        def spread(a: np.ndarray) -> np.ndarray:
            return np.stack([a[..., 0], np.full(a.shape[:-1], PI / 2), a[..., 0] + PI], -1)

        return spread(super().follow(theta[:1], omega[:1], times, lambda k, a: alike(k, spread(a))))


# Cases ----------------------------------------------------------------------------------------------------------------


def _loads(rng: np.random.Generator, n: int) -> list[Any]:
    """Return gravity and up to two other loads."""
    loads = [
        JointSpring(rng.uniform(0, 5), rng.uniform(-1, 1)),
        JointDamper(rng.uniform(0, 0.1)),
        LinkDamper(rng.uniform(0, 0.1)),
        JointTorque(Sine(rng.uniform(0, 10), rng.uniform(0.1, 2), 0.3)),
        JointTorque(rng.uniform(-3, 3)),
        Drag(rng.uniform(0, 0.1), rng.uniform(0, 0.1)),
        FollowerForce(rng.uniform(-5, 5)),
        TipForce(*rng.uniform(-5, 5, 2).tolist()),
    ]
    chosen = [loads[k] for k in rng.choice(len(loads), rng.integers(0, 3), replace=False) if k != 4 or n > 1]
    unlike = list({type(load): load for load in chosen}.values())
    return [Gravity(9.81), *unlike]


def _random(rng: np.random.Generator, n: int) -> tuple[Chain, np.ndarray, np.ndarray]:
    """Return a chain of unequal links with some of the loads, and a wild start."""

    def body(length: float, mass: float) -> Link:
        return Link(length, mass, 0.4 * length, 0.05, rng.uniform(-0.2, 0.2))

    kinds = (Link.rod, Link.point, body)
    links = [kinds[rng.integers(3)](rng.uniform(0.3, 1.5), rng.uniform(0.2, 2.0)) for _ in range(n)]
    return Chain(links, _loads(rng, n)), rng.uniform(-3.1, 3.1, n), rng.uniform(-3, 3, n)


def _separatrix(rng: np.random.Generator, n: int) -> tuple[Chain, np.ndarray, np.ndarray]:
    """Return a chain that stands on its head, but for a little."""
    return Chain.uniform(n), np.full(n, np.pi) + rng.choice([0.0, 1e-15, 1e-12, 1e-6]) * rng.normal(size=n), np.zeros(n)


def _barely_over(rng: np.random.Generator, n: int) -> tuple[Chain, np.ndarray, np.ndarray]:
    """Return a pendulum thrown so that it barely comes over, or does not."""
    rate = math.sqrt(2 * 9.81 * 0.5 * 2 * 3) * (1 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-15, -4))
    return Chain.uniform(1), np.zeros(1), np.array([rate])


def _tiny_mass(rng: np.random.Generator, n: int) -> tuple[Chain, np.ndarray, np.ndarray]:
    """Return a chain with a tip that weighs next to nothing."""
    links = [Link.rod(1.0, 1.0) for _ in range(n - 1)] + [Link.point(0.5, 10.0 ** rng.uniform(-9, -2))]
    return Chain(links), rng.uniform(-2, 2, n), np.zeros(n)


def _late(rng: np.random.Generator, n: int) -> tuple[Chain, np.ndarray, np.ndarray]:
    """Return a chain that swings gently until a torque throws it over."""
    start, strength = rng.uniform(2, 6), rng.uniform(20, 60)
    torque = Table([0.0, start, start + 0.3, start + 0.6], [0.0, 0.0, strength, 0.0])
    return Chain.uniform(n).with_loads(JointTorque([torque] + [0.0] * (n - 1))), rng.uniform(-0.3, 0.3, n), np.zeros(n)


def _loop(rng: np.random.Generator, n: int) -> tuple[Chain, np.ndarray, np.ndarray]:
    """Return a closed chain: a five-bar linkage, or a four-bar near its change point."""
    if rng.integers(2):
        scenario = preset("five-bar")
        theta = np.array(scenario.theta) + rng.uniform(-0.05, 0.05, scenario.chain.n)
        return scenario.chain.with_loads(*_loads(rng, scenario.chain.n)), theta, np.array(scenario.omega)
    chain = Chain.uniform(3, pin=(float(rng.choice([1.0, 1.0 + 1e-9, 1.0 - 1e-6, 1.1])), 0.0))
    angle, rate = rng.uniform(-2, -0.5), rng.uniform(-8, 8)
    return chain, np.array([angle, np.pi / 2, angle + np.pi]), np.array([rate, 0.0, rate])


PARALLELOGRAM = Chain.uniform(3, pin=(1.0, 0.0))
KINDS = (_barely_over, _separatrix, _tiny_mass, _random, _late, _random, _loop, _random)
CASES = [(kind, setting) for setting, kind in product(range(len(SETTINGS)), range(len(KINDS)))]


def made(k: int) -> Run:
    """Return the run of a case."""
    rng = np.random.default_rng(k)
    kind, setting = CASES[k % len(CASES)]
    chain, theta, omega = KINDS[kind](rng, int(rng.integers(1, 4)))
    options = dict(SETTINGS[setting])
    if chain.pin and "Gauss" in options.get("integrator", ""):
        options = {}
    return simulate(chain, theta, omega, t_end=T_END, save=EVERY, strict=False, **options)


def measured(k: int) -> tuple[float, float, float]:
    """Return the claimed time of a case, the true time until which its angles are within ANGLE, and the last time looked at."""
    run = made(k)
    claimed = trusted_until(run)
    error = [0.0]

    def alike(k: int, theta: np.ndarray) -> bool:
        error.append(float(np.abs(theta - run.theta[k]).max()))
        return error[-1] <= ANGLE or run.t[k] < claimed

    reference = (Parallelogram if run.chain == PARALLELOGRAM else Reference)(run.chain)
    reference.follow(run.theta[0], run.omega[0], run.t, alike)
    bad = np.flatnonzero(np.array(error) > ANGLE)
    true = run.t[bad[0] - 1] if len(bad) else run.t[len(error) - 1]
    if not len(bad) and run.t[len(error) - 1] < min(claimed, run.t[-1]):
        raise Undecided(f"the reference ends at {true:g} s, before the claim of {claimed:g} s")
    if len(bad) and claimed:
        RATIOS.append(true / claimed)
    return claimed, float(true), float(run.t[-1])


RATIOS: list[float] = []
"""True time over claimed time of the cases whose true time came before the end of the run."""


def given_away() -> str:
    """Return how much longer the runs were right than was claimed."""
    if not RATIOS:
        return ""
    least, middle, most = np.quantile(RATIOS, [0.0, 0.5, 0.95])
    return f"true over claimed time in {len(RATIOS)} cases: least {least:.2f}, median {middle:.2f}, 95 % below {most:.2f}"


@attack("no claim beyond the true time, against extended precision", full=1080, sample=3, remark=given_away)
def trusted_times(k: int, folder: Path) -> None:
    if np.finfo(LONG).nmant < 63:
        raise Absent("no floating-point numbers of 80 bits")
    try:
        claimed, true, _ = measured(k)
    except ModelError:
        return  # a closed chain that cannot be assembled
    assert claimed < true + EVERY, f"claimed {claimed:g} s, true {true:g} s"
