"""Linkages posed without masses over a turn of their cranks: poses a second of processor time; part of `make bench`. The goals are
1 million of a four-bar and half a million of Jansen's leg.
"""

from __future__ import annotations

import math
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from time import process_time

import numpy as np

from nlink import GROUND, At, Link, Mechanism, Pin, branches, posed


def bar(length: float) -> Link:
    return Link.rod(length, 0.0)


def corner(base: float, near: float, far: float) -> tuple[float, float]:
    """The third corner of a triangle over its base: along and left."""
    along = (base**2 + near**2 - far**2) / (2 * base)
    return along, math.sqrt(near**2 - along**2)


def four_bar() -> Mechanism:
    return Mechanism([bar(1.0), bar(3.0), bar(2.5).on(GROUND, (2.5, 0.0))], pins=Pin(At(1), At(2)))


def jansen() -> Mechanism:
    """Theo Jansen's leg with the lengths as published."""
    pivot = (-38.0, -7.8)
    bars = [bar(15.0), bar(41.5).on(GROUND, pivot), bar(39.3).on(GROUND, pivot), bar(50.0).on(0), bar(61.9).on(0)]
    bars += [bar(39.4).on(1, corner(41.5, 40.1, 55.8)), bar(36.7).on(2)]
    return Mechanism(bars, pins=[Pin(At(3), At(1)), Pin(At(4), At(2)), Pin(At(5), At(6))])


def main() -> None:
    print("\nPoses of linkages over a turn, without masses: poses a second of processor time")
    print(f"{'':>14}" + "".join(f"{count:>12,}" for count in COUNTS))
    start = branches(four_bar(), {0: 1.0})["open"]
    for name, model, near in (("four-bar", four_bar(), start), ("Jansen's leg", jansen(), WALKING)):
        print(f"{name:>14}" + "".join(f"{best(model, count, near):>12,.0f}" for count in COUNTS))


WALKING = np.array([1.0, 2.7, 0.06, -2.43, -0.89, 0.17, -2.15])
"""rad: Jansen's leg stands nearly so."""
COUNTS = (360, 100_000, 1_000_000)


def best(model: Mechanism, count: int, near: np.ndarray) -> float:
    """Poses a second, the best of three."""
    crank, took = {0: np.linspace(1.0, 1.0 + 2 * math.pi, count)}, math.inf
    for _ in range(3):
        start = process_time()
        posed(model, crank, near).reached()
        took = min(took, process_time() - start)
    return count / took


if __name__ == "__main__":
    main()
