"""What each load costs the series: microseconds a step of Taylor, and as a ratio to gravity alone; part of `make bench`."""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

import nlink

LOADS = {
    "gravity": (),
    "springs": (nlink.JointSpring(1.0),),
    "joint dampers": (nlink.JointDamper(0.1),),
    "link dampers": (nlink.LinkDamper(0.1),),
    "torques": (nlink.JointTorque(1.0),),
    "sines": (nlink.JointTorque(nlink.Sine(1.0, 0.5)),),
    "linear drag": (nlink.Drag(0.1),),
    "quadratic drag": (nlink.Drag(0.0, 0.1),),
    "follower force": (nlink.FollowerForce(0.5),),
    "tip force": (nlink.TipForce(0.3, 0.2),),
}
SIZES = (2, 15, 100)


def main() -> None:
    print("\nWhat each load costs Taylor (order 18): microseconds a step, work ledger included (ratio to gravity alone)")
    print(f"{'load':>16} " + " ".join(f"{f'N = {n}':>16}" for n in SIZES))
    base: dict[int, float] = {}
    for name, loads in LOADS.items():
        cells = []
        for n in SIZES:
            system, theta = nlink.formulate(nlink.Chain.uniform(n).with_loads(*loads)), np.full(n, 0.8)
            end = 100.0 if n < 100 else 5.0
            stats = [
                nlink.simulate(system, theta, t_end=end, save=(end,), integrator=nlink.Taylor(order=18)).stats for _ in range(4)
            ]
            cost = 1e6 * min(each.wall for each in stats) / stats[0].steps
            base.setdefault(n, cost)
            cells.append(f"{cost:>9.2f} ({cost / base[n]:.1f})")
        print(f"{name:>16} " + " ".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
