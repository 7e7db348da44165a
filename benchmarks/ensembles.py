"""Ensembles: members a second on one core and two, against heyoka's batches at their best; part of `make bench`."""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import time
from typing import Any

import numpy as np

import nlink

CASES = ((2, 10.0, 32768, 1e-11, 2.5), (5, 2.0, 16384, 1e-11, 4.0), (15, 1.0, 8192, 1e-11, 8.0))
LOOKED_AT = 1024
"""Members of which the errors are found."""
"""Links, time, members, tolerance of the series, and the ratio to reach."""


def starts(members: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-np.pi, np.pi, (members, n))


def rate(work: Any, members: int, repeats: int = 3) -> float:
    work()
    spent = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return members / min(spent)


def heyoka_batch(n: int, t_end: float, theta: np.ndarray, tolerance: float) -> tuple[float, np.ndarray]:
    """Return members a second of heyoka in batches of 8, Hamiltonian form, fast_math, and the angles reached."""
    import heyoka as hy
    from peers.heyoka_model import best_form

    batch, count = 8, len(theta) // 8 * 8
    run = hy.taylor_adaptive_batch(
        best_form(n)(n, False), np.zeros((2 * n, batch)), tol=tolerance, fast_math=True, compact_mode=n >= 32
    )
    out = np.empty((count, n))

    def work() -> None:
        for first in range(0, count, batch):
            run.set_time(0.0)
            run.state[:n] = theta[first : first + batch].T
            run.state[n:] = 0.0
            run.propagate_until(t_end)
            out[first : first + batch] = run.state[:n].T

    return rate(work, count, 2), out


def diffrax_vmap(n: int, t_end: float, theta: np.ndarray, exact: np.ndarray, error: float) -> tuple[float, float, float]:
    """Return members a second of diffrax's Dopri8 under vmap, at the loosest tolerance as accurate, which is returned too."""
    from peers.diffrax_model import many

    apart, tolerance = np.inf, 1e-8
    for tolerance in (1e-8, 1e-9, 1e-10, 1e-11, 1e-12):
        work = many(n, theta, t_end, tolerance)
        apart = float(np.median(np.abs(work() - exact).max(1)))
        if apart <= error:
            break
    return rate(work, len(theta), 2), tolerance, apart


def main() -> None:
    print("\nEnsembles, random starts at rest: members a second (median error of the angles at the end)")
    for n, t_end, members, tol, goal in CASES:
        chain, theta = nlink.Chain.uniform(n), starts(members, n)
        method = nlink.Taylor(tol, order=16)

        def many(threads: int, c: Any = chain, a: np.ndarray = theta, t: float = t_end, m: Any = method) -> Any:
            return nlink.simulate_many(c, a, t_end=t, integrator=m, backend=nlink.Threads(threads))

        exact = nlink.simulate_many(chain, theta[:LOOKED_AT], t_end=t_end, integrator=nlink.Taylor(1e-18, order=22)).theta.values
        error = np.median(np.abs(many(1).theta.values[:LOOKED_AT] - exact).max(1))
        one, two = (rate(lambda k=k: many(k), members) for k in (1, 2))
        line = f"N = {n}, {t_end:g} s: nlink {one:,.0f} ({error:.0e}), two threads {two / one:.2f}x"
        try:
            theirs, reached = heyoka_batch(n, t_end, theta[: min(members // 4, LOOKED_AT)], 1e-9)
            apart = np.median(np.abs(reached - exact[: len(reached)]).max(1))
            line += f"; heyoka batch of 8 {theirs:,.0f} ({apart:.0e}): {one / theirs:.1f}x, goal {goal:g}x"
        except ImportError:
            line += "; heyoka is not installed"
        try:
            theirs, tolerance, apart = diffrax_vmap(n, t_end, theta[:256], exact[:256], 1.5 * error)
            line += f"; diffrax vmap {theirs:,.0f} ({apart:.0e} at {tolerance:g}): {one / theirs:.0f}x, goal 30x"
        except ImportError:
            line += "; diffrax is not installed"
        print(line, flush=True)


if __name__ == "__main__":
    main()
