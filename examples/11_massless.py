"""Links without mass that stay in line.

**The seed.** The same project, appendix A.10: an exam problem and its generalisation. N links have moments of inertia but no
mass, a mass sits at the last tip, and all start at one angle. If I/l is the same for all links, they stay in line for ever, and
move as one pendulum. Released from the horizontal, each has the acceleration m g l/(I + 3 m l^2) for three equal links.

**What agrees.** All of it, to rounding: the links stay in line to 1e-14 rad, and the first accelerations are those of the
formula.

**What can be added.** The motion in line is a solution; a small difference shows whether it lasts. With one link 1e-6 rad off the
line, the angles stay within some millionths of a radian of each other: the line is stable. The project points to its figure 9 as
an example; there the links have masses, so that they stay [only nearly in line](07_heavy_tip.md).
"""

import sys
from pathlib import Path

import numpy as np

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("massless-3")
run = case.run()
mass, length, inertia, g = 1.0, 1.0, 0.1, 9.81
print(f"the angles of the links differ by at most {np.ptp(run.theta, axis=1).max():.0e} rad in 10 s")
print(f"first accelerations {run.alpha[0]}, by the formula {-mass * g * length / (inertia + 3 * mass * length**2):.8f} rad/s^2")
near = nlink.simulate(case.chain, np.add(case.theta, [1e-6, 0.0, 0.0]), t_end=10.0, rtol=1e-12, atol=1e-12)
print(f"with one link 1e-6 rad off the line they differ by at most {np.ptp(near.theta, axis=1).max():.1e} rad")
run.plot("angles", links=[0]).savefig(folder / "angle.png")
run.html(folder / "run.html")
