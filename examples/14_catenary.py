"""A chain hung from two points: the catenary.

**Beside the seeds.** None of them closes a long chain. Fifty rods of 5 cm hang here from two points 1.5 m apart. They start
folded to a zig-zag along the line between the points, fall, and come to rest. The slowest swing hardly bends the joints, so
that joint dampers alone take 700 s to reduce it to a third (1/e). Link dampers stop it within a minute.

**How it can be checked.** At rest the forces on each hinge balance. For a chain of short rods the hinges then lie nearly on the
catenary y = a cosh(x/a). The left picture has the hinges at rest and the catenary of the same length through the same points.
Their distance shrinks with the square of the length of the rods. `nlink.equilibrium` finds the rest position by Newton's method
on the statics; the right picture has the difference of the run from it.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("catenary-50")
run = nlink.simulate(case.chain, case.theta, t_end=60.0, save=0.05)
rest = nlink.equilibrium(case.chain, run.theta[-1])
hinges = np.vstack([[0.0, 0.0], np.cumsum(0.05 * np.column_stack([np.sin(rest.theta), -np.cos(rest.theta)]), axis=0)])
a = brentq(lambda a: 2 * a * np.sinh(0.75 / a) - 2.5, 0.05, 5.0)  # the length of the curve is that of the chain
curve = a * (np.cosh((hinges[:, 0] - 0.75) / a) - np.cosh(0.75 / a))

figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
for t in (0.0, 0.3, 0.6, 1.0):
    x, y = run.positions()[np.searchsorted(run.t, t)].T
    left.plot([0, *x], [0, *y], color="0.75", lw=1)
left.plot(*hinges.T, "o", ms=3, label="hinges at rest")
left.plot(hinges[:, 0], curve, "k", lw=1, label="a cosh(x/a)")
left.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
left.legend()
right.semilogy(run.t, np.maximum(np.abs(run.theta - rest.theta).max(axis=1), 1e-16))
right.set(xlabel="time (s)", ylabel="angles less those at rest (rad)")
figure.savefig(folder / "catenary.png", dpi=130)
run.html(folder / "run.html")
print(f"after 60 s {np.abs(run.theta[-1] - rest.theta).max():.0e} rad from rest")
print(f"at rest up to {np.abs(hinges[:, 1] - curve).max() * 1e3:.2f} mm from the curve")
