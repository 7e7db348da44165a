"""A five-bar: chaos in a loop.

**The seed.** The same project: "Similar failure was observed for five bar mechanisms."

**What nlink does.** Four rods of 1, 2, 2 and 1 m between pivots 1.5 m apart, the first straight up, at rest. The loop has two
freedoms, and its motion is chaotic: two starts a billionth of a radian apart are a radian apart after some seconds. The loop
stays closed to rounding, and the balance of energy closes. Links turn over. All four links never lie in line in this motion: with
two freedoms that happens only by coincidence.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("five-bar")
run = case.run()
near = nlink.simulate(case.chain, nlink.driven(case.chain, np.pi + 1e-9, "open"), t_end=20.0, rtol=1e-11, atol=1e-11)

figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
run.plot("coupler", ax=left)
right.semilogy(run.t, np.maximum(np.abs(run.theta - near.theta).max(axis=1), 1e-12))
right.set(xlabel="time (s)", ylabel="difference of two starts (rad)")
figure.savefig(folder / "paths-and-difference.png", dpi=130)
run.html(folder / "run.html")
names = [event.name for event in run.events]
print(f"{names.count('flip')} times a link turns over, {names.count('dead position')} dead positions")
print(f"the tip stays within {run.violation().max():.0e} m of its pin")
print(f"energy balance open by {abs(run.energy().residual).max():.0e} J")
