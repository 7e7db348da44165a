"""Kapitza's pendulum stands on its head.

A pivot that vibrates up and down by 2 cm, forty times a second, holds a rod upside down. A slider with a prescribed motion
carries the rod. Bisection finds the smallest amplitude that holds the rod. (`nlink stability kapitza --about up --vary
"links[0].motion.amplitude" --from 0.001 --to 0.1` finds it by Floquet multipliers.) For fast vibration the averaged rule is a w =
sqrt(2 g L), with L = 2 l/3 for a rod.
"""

import sys
from pathlib import Path

import numpy as np

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")


def driven(amplitude: float) -> nlink.Mechanism:
    """Return a rod of 0.3 m on a pivot that vibrates 40 times a second."""
    pivot = nlink.Slider(direction=np.pi / 2, motion=nlink.Sine(amplitude, 40.0))
    return nlink.Mechanism([pivot, nlink.Link.rod(0.3, 0.1)])


run = nlink.simulate(driven(0.02), [0.0, 2.84], t_end=5.0, save=0.002)
low, high = 0.001, 0.02
while high - low > 1e-7:
    middle = (low + high) / 2
    falls = np.abs(nlink.simulate(driven(middle), [0.0, np.pi - 1e-3], t_end=10.0).theta[:, 1] - np.pi).max() > 0.1
    low, high = (middle, high) if falls else (low, middle)
rule = np.sqrt(2 * 9.81 * 0.2) / (2 * np.pi * 40.0)
print(f"the rod stands from an amplitude of {high * 1e3:.3f} mm on; the averaged rule says {rule * 1e3:.3f} mm")
run.plot("angles").savefig(folder / "angle.png", dpi=130)
run.html(folder / "run.html")
