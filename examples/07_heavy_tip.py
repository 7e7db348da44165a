"""Five links and a heavy tip: nearly a simple pendulum.

**The seed.** The same project, figure 9: five links, the last a hundred times heavier than the others, all at 45 degrees. "The
resulting motion is extremely uniform and matches that of a single pendulum."

**What agrees.** It does match: the chain stays within a tenth of a radian of a point mass on a massless rod of 5 m for 20 s.

**What can be added.** The difference is not numerical: it comes from the inertia of the four light rods, and tighter tolerances
do not remove it. The light links also vibrate against each other, fast and with a small amplitude. Therefore `ode45` needs more
steps here than for all other cases of three to six links. [Links without mass](11_massless.md) shows when the match is exact.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
run = nlink.preset("heavy-tip-5").run()
one = nlink.simulate(nlink.Chain.uniform(1, length=5.0, shape="point", mass=100.0), np.pi / 4, t_end=20.0)

figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
run.plot("angles", ax=left)
right.plot(run.t, run.theta - one.theta)
right.set(xlabel="time (s)", ylabel="angles less that of a simple pendulum (rad)")
right.legend([f"link {i + 1}" for i in range(5)])
figure.savefig(folder / "angles.png", dpi=130)
run.html(folder / "run.html")
print(f"within {np.abs(run.theta - one.theta).max():.3f} rad of one simple pendulum for 20 s")
