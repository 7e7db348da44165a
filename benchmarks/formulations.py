"""What one evaluation of the accelerations costs in each formulation, N = 2 to 1000, against `recursive`; part of `make bench`."""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from main_road import best, repeat

import nlink

SIZES = (2, 10, 30, 100, 300, 1000)
LARGEST = {"lagrange": 10, "momentum": 300, "projection": 300}
WORK = 200_000


def cost(name: str, n: int) -> float:
    """Return the CPU time of one evaluation in s, in a compiled loop."""
    system = nlink.formulate(nlink.Chain.uniform(n), name)
    y, w = np.zeros(system.full_size), system.scratch()
    y[: system.size] = system.encode(np.random.default_rng(1).normal(size=n) if name != "linear" else np.full(n, 0.01), 0.1)
    linear = name in ("recursive", "maximal", "natural")
    count = max(3, WORK // (n if linear else n * n))
    return best(lambda: repeat(y, system.parameters, np.empty_like(y), w, count), 5) / count


def main() -> None:
    print("\nOne evaluation in each formulation: ns a link (times recursive)")
    print(f"{'N':>6} " + " ".join(f"{name:>18}" for name in nlink.FORMULATIONS))
    for n in SIZES:
        costs = {name: cost(name, n) for name in nlink.FORMULATIONS if n <= LARGEST.get(name, 1000)}
        cells = {name: f"{1e9 * each / n:.1f} ({each / costs['recursive']:.1f}x)" for name, each in costs.items()}
        print(f"{n:>6} " + " ".join(f"{cells.get(name, ''):>18}" for name in nlink.FORMULATIONS))
    print("(goal: maximal and natural linear in N, at most 12x recursive)")


if __name__ == "__main__":
    main()
