"""Eight links with torques, springs and friction.

**The seed.** The same project, figure 7: "one of the most complicated cases this set of scripts can handle". Eight rods from the
zig-zag, with a torque of 1 N m, a spring of 1 N m/rad and friction of 1 N m s/rad at every joint, for 20 s.

**What agrees.** All of it: friction prevents chaos. After some seconds the links swing together, and the swing decays. The last
link turned over while the chain fell, and does not turn back: its spring stays wound up by most of a turn, in balance with
torques and gravity.

**What can be added.** The project's energies do not take friction or torques into account, so this case had no check. Here the
ledger says how much work the torques did and how much the friction took. The run takes some milliseconds.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("chaotic-8-driven")
run = case.run()
rest = nlink.equilibrium(case.chain, run.theta[-1])

figure = Figure(figsize=(10, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
run.plot("angles", ax=left)
run.plot("paths", ax=right)
figure.savefig(folder / "angles-and-paths.png", dpi=130)
run.html(folder / "run.html")

for load, work in run.energy().work.items():
    print(f"work of {load:<13} {work[-1]:+9.4f} J")
print(f"balance open by {abs(run.energy().residual).max():.0e} J")
print(f"it comes to rest with its last link at {np.degrees(rest.theta[-1]):.0f} degrees")
print(f"the steps took {run.stats.wall * 1e3:.0f} ms")
