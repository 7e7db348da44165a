"""A chain that falls faster than a stone.

A chain hangs from two points close to each other. One end is released, and falls faster than a stone: the bend pulls the falling
side down. In an ideal chain, with two straight sides and constant energy, the speed grows without bound as the falling side
becomes short. In the run the end whips round at the bottom.

The start is the equilibrium of the chain with a pin, by Newton's method. The run has no pin.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
n, length = 80, 2.0
held = nlink.Chain.uniform(n, length=length / n, mass=1.0 / n, pin=(0.06, 0.0))
down = np.where(np.arange(n) < n // 2, 0.03, np.pi - 0.03)
rest = nlink.equilibrium(held, nlink.assemble(held, down)[0])
free = nlink.Chain(held.links, held.loads)
run = nlink.simulate(free, rest.theta, t_end=0.75, save=0.0025)
tip = run.positions()[:, -1]
stone = tip[0, 1] - 9.81 * run.t**2 / 2
half = run.t[np.argmax(tip[:, 1] < -length / 2)]

figure = Figure(figsize=(10, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
for t in (0.0, 0.2, 0.3, 0.4, 0.5, 0.55):
    x, y = run.positions()[np.searchsorted(run.t, t)].T
    left.plot([0, *x], [0, *y], label=f"{t} s")
left.set(xlabel="x (m)", ylabel="y (m)")
left.legend(fontsize=8)
right.plot(run.t, tip[:, 1], label="end of the chain")
right.plot(run.t, stone, "--", label="stone")
right.set(xlabel="time (s)", ylabel="height (m)", ylim=(-2.2, 0.1))
right.legend()
figure.savefig(folder / "fall.png", dpi=130)
run.html(folder / "run.html")
print(f"the end has fallen half the chain's length after {half:.4f} s, a stone after {np.sqrt(length / 9.81):.4f} s")
print(f"fastest: {np.linalg.norm(run.velocities()[:, -1], axis=1).max():.1f} m/s")
print(f"energy balance open by {abs(run.energy().residual).max():.0e} J")
