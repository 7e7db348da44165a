"""Stability: what a critical load, a map and modes of long chains take; part of `make bench`."""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from main_road import best

import nlink


def main() -> None:
    chain, weight = nlink.preset("follower-5").chain, 0.01 * 9.8

    def pushed(load: float) -> nlink.Chain:
        return chain.with_loads(nlink.FollowerForce(load * weight))

    def both(load: float, damping: float) -> nlink.Chain:
        return chain.with_loads(nlink.FollowerForce(load * weight), nlink.JointDamper(damping))

    exact = 1.869398764455984526  # 40 digits, Newton on the characteristic determinant
    wrong = abs(nlink.critical_load(pushed, (0.0, 4.0)).load / exact - 1)
    print("\nStability, CPU s")
    rows = [
        (f"critical load of follower-5 (wrong by {wrong:.0e}; goal 1e-12)", lambda: nlink.critical_load(pushed, (0.0, 4.0)), None),
        (
            "map of load and damping, 200 x 200, five links",
            lambda: nlink.stability_map(both, np.linspace(0, 4, 200), np.linspace(0, 0.02, 200)),
            10,
        ),
        ("all modes of 1000 links", lambda: nlink.linearize(nlink.Chain.uniform(1000)).table(), 5),
        ("slowest 20 modes of 10,000 links", lambda: nlink.modes(nlink.Chain.uniform(10_000), count=20), 10),
    ]
    for label, work, goal in rows:
        print(f"{label:<62} {best(work, 2):>6.2f}   {f'goal {goal}' if goal else ''}".rstrip())


if __name__ == "__main__":
    main()
