"""A leg that walks.

Theo Jansen's leg: seven links, three loops, one freedom. Its crank turns at a prescribed, constant rate. The foot comes down,
moves along the ground, and lifts off. All three loops stay closed to rounding. The ledger has the work of the crank. Over whole
turns it is zero, since nothing dissipates energy here.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
run = nlink.preset("jansen").run()
work = run.energy().work["motion"]
foot = nlink.At(6)
figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
run.plot("paths", trace=[foot], t=(0.0, 2.0), ax=left)
right.plot(run.t, work)
right.set(xlabel="time (s)", ylabel="work of the crank (J)")
figure.savefig(folder / "foot-and-work.png", dpi=130)
run.html(folder / "run.html")
print(f"loops closed to {run.violation().max():.0e} m; work of the crank over a turn {work[np.searchsorted(run.t, 2.0)]:.1e} J")
print(f"energy balance open by {abs(run.energy().residual).max():.0e} J")
