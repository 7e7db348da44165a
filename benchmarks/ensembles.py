"""Ensembles: members a second on one core and two, against heyoka's batches at their best; part of `make bench`."""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import time
from typing import Any

import numpy as np

import nlink

CASES = ((2, 10.0, 32768, 1e-11, 2.5), (5, 2.0, 16384, 1e-11, 4.0), (15, 1.0, 8192, 1e-11, 8.0))
"""Links, time, members, tolerance of the series, and the ratio to reach."""
LOOKED_AT = 1024
"""Members of which the errors are found."""
ROUNDS = 9
"""How often each work is timed, after a first time that does not count."""


def starts(members: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-np.pi, np.pi, (members, n))


def rates(*works: tuple[Any, int]) -> list[float]:
    """Return members a second of each work, (call, members): in turn, so that all meet the machine in the same moods; the best."""
    spent = [[] for _ in works]
    for _ in range(ROUNDS + 1):
        for times, (work, _) in zip(spent, works, strict=True):
            begun = time.perf_counter()
            work()
            times.append(time.perf_counter() - begun)
    return [members / min(times[1:]) for times, (_, members) in zip(spent, works, strict=True)]


def heyoka_batch(n: int, t_end: float, theta: np.ndarray, tolerance: float) -> tuple[Any, np.ndarray]:
    """Return the work of heyoka in batches of 8, Hamiltonian form, fast_math, and where it writes the angles reached."""
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

    return work, out


def diffrax_vmap(n: int, t_end: float, theta: np.ndarray, exact: np.ndarray, error: float) -> tuple[Any, float, float]:
    """Return the work of diffrax's Dopri8 under vmap, at the loosest tolerance as accurate, which is returned too."""
    from peers.diffrax_model import many

    apart, tolerance = np.inf, 1e-8
    for tolerance in (1e-8, 1e-9, 1e-10, 1e-11, 1e-12):
        work = many(n, theta, t_end, tolerance)
        apart = float(np.median(np.abs(work() - exact).max(1)))
        if apart <= error:
            break
    return work, tolerance, apart


def median(reached: np.ndarray, exact: np.ndarray) -> float:
    """Return the median over the members of the error of the angles."""
    return float(np.median(np.abs(reached - exact).max(1)))


def line_of(n: int, t_end: float, members: int, tol: float, goal: float) -> str:
    """Measure a case; return what to say of it."""
    chain, theta = nlink.Chain.uniform(n), starts(members, n)

    def many(threads: int) -> Any:
        method = nlink.Taylor(tol, order=16)
        return nlink.simulate_many(chain, theta, t_end=t_end, integrator=method, backend=nlink.Threads(threads))

    exact = nlink.simulate_many(chain, theta[:LOOKED_AT], t_end=t_end, integrator=nlink.Taylor(1e-18, order=22)).theta.values
    error = median(many(1).theta.values[:LOOKED_AT], exact)
    alone, two = rates((lambda: many(1), members), (lambda: many(2), members))  # not beside peers: their threads linger
    works: list[tuple[Any, int]] = [(lambda: many(1), members)]
    said = []
    try:
        batch, reached = heyoka_batch(n, t_end, theta[:LOOKED_AT], 1e-9)
        batch()
        works.append((batch, len(reached)))
        said.append((f"heyoka batch of 8 ({median(reached, exact):.0e})", goal))
    except ImportError:
        print("heyoka is not installed")
    try:
        vmap, tolerance, apart = diffrax_vmap(n, t_end, theta[:256], exact[:256], 1.5 * error)
        works.append((vmap, 256))
        said.append((f"diffrax vmap ({apart:.0e} at {tolerance:g})", 30.0))
    except ImportError:
        print("diffrax is not installed")
    one, *theirs = rates(*works)
    peers = [f"{who} {each:,.0f}: {one / each:.1f}x, goal {most:g}x" for (who, most), each in zip(said, theirs, strict=True)]
    return "; ".join([f"N = {n}, {t_end:g} s: nlink {one:,.0f} ({error:.0e}), two threads {two / alone:.2f}x", *peers])


def main() -> None:
    print("\nEnsembles, random starts at rest: members a second (median error of the angles at the end)")
    for case in CASES:
        print(line_of(*case), flush=True)


if __name__ == "__main__":
    main()
