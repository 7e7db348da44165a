"""Work and precision of DOP853 and Taylor: CPU ms and error of the last angles at several tolerances; part of `make bench`."""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import math

import numpy as np
from main_road import best

import nlink

METHODS = [*(nlink.DOP853(tol, tol) for tol in (1e-7, 1e-9, 1e-11, 1e-13)), *map(nlink.Taylor, (1e-9, 1e-11, 1e-13, 1e-15))]
SIZES = (2, 5, 15, 100, 1000)


def main() -> None:
    print("\nWork and precision, all links at 45 degrees, 10 s (2 s for N >= 100): CPU ms (error of the last angles in rad)")
    print(f"{'method':>34} " + " ".join(f"{f'N = {n}':>17}" for n in SIZES))
    columns = [column(n) for n in SIZES]
    for k, method in enumerate(METHODS):
        print(f"{method.described():>34} " + " ".join(f"{cells[k]:>17}" for cells in columns))


def column(n: int) -> list[str]:
    system, theta, t_end = nlink.formulate(nlink.Chain.uniform(n)), np.full(n, math.pi / 4), 10.0 if n < 100 else 2.0

    def last(method: nlink.DOP853 | nlink.Taylor) -> np.ndarray:
        return nlink.simulate(system, theta, t_end=t_end, save=(t_end,), integrator=method).theta[-1]

    exact = last(nlink.Taylor(1e-18, order=24))
    return [f"{1e3 * best(lambda m=m: last(m), 3):.2f} ({np.abs(last(m) - exact).max():.0e})" for m in METHODS]


if __name__ == "__main__":
    main()
