"""Maps: what a flip map of a million starts and other maps take; part of `make bench`."""

from __future__ import annotations

import os
import time

import numpy as np

import nlink


def main() -> None:
    chain = nlink.Chain.uniform(2)
    for quantity in ("flip", "energy", "ftle"):
        nlink.chaos_map(chain, quantity, size=8)  # compiles
    print(f"\nMaps of two rods to 40 sqrt(l/g), wall s, {len(os.sched_getaffinity(0))} threads, load {os.getloadavg()[0]:.1f}")
    for quantity, side, goal in (("flip", 1000, 25), ("energy", 300, None), ("ftle", 100, None)):
        began = time.perf_counter()
        found = nlink.chaos_map(chain, quantity, size=side)
        wall = time.perf_counter() - began
        print(f"{quantity:<8} {side:>5} x {side:<5} {wall:>8.2f}   {f'goal {goal}' if goal else ''}".rstrip())
        if quantity == "flip":
            flips = np.isfinite(found.values)
            print(f"         {100 * flips.mean():.1f} % flip, {100 * found.forbidden.mean():.1f} % have not the energy to")
    _whole(chain)


def _whole(chain: nlink.Chain) -> None:
    """Time the same without what maps save: every start, forbidden and mirrored ones too."""
    x = np.pi * (2 * np.arange(1000) + 1 - 1000) / 1000
    starts = np.stack(np.meshgrid(x, x), -1).reshape(-1, 2)
    began = time.perf_counter()
    nlink.simulate_many(chain, starts, t_end=40 / np.sqrt(9.81), keep=nlink.FlipTime(), rtol=1e-11, atol=1e-11)
    print(f"flip      1000 x 1000  {time.perf_counter() - began:>8.2f}   every start run, none mirrored or left out")


if __name__ == "__main__":
    main()
