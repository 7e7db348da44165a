"""Three rods, all at 45 degrees.

**The seed.** A student project of 2017 (a final project in an intermediate dynamics course, figures 1 and 2) writes the balance
of angular momentum of the chain about each hinge and gives the equations to MATLAB's `ode45`. Its first case, called nice, is
three rods of 1 m and 1 kg, all at 45 degrees, at rest. The project plots the paths of the ends, the angles and the change of the
energies.

**What agrees.** The motion. All three angles swing together for 20 s, and no link turns over. A run at the defaults of `ode45`
(relative tolerance 1e-3, absolute 1e-6) stays within a hundredth of a radian of the run of nlink.

**What was off.** The project says that there is "effectively no change in the total energy". That depends on the tolerances. At
the defaults of `ode45` the energy is off by some hundredths of a joule of 44 J, at tight tolerances by a billionth of that. The
project sets tolerances of 1e-8 in its root script, but never passes them on to `ode45`. The [next page](02_three_rods_chaotic.md)
shows where that changes the motion. In the text the sums of equation (1) begin at i = 1. They must begin at i = j, since only
links j to N hang on hinge j; the script is right.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
nice = nlink.preset("nice-3")
run = nice.run()
ode45 = nlink.RK45(rtol=1e-3, atol=1e-6)
loose = nlink.simulate(nice.chain, nice.theta, t_end=20.0, integrator=ode45, strict=False)

figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
run.plot("paths", ax=left)
run.plot("angles", ax=right)
figure.savefig(folder / "paths-and-angles.png", dpi=130)
figure = Figure(figsize=(10, 4), layout="constrained")
run.plot("energy", ax=figure.subplots(1, 2))
figure.savefig(folder / "energies.png", dpi=130)
run.html(folder / "run.html")

for name, each in {"ode45's defaults": loose, "nlink's defaults": run}.items():
    print(f"energy balance open by {np.abs(each.energy().residual).max():.1e} J at {name}")
print(f"the two motions differ by at most {np.abs(run.theta - loose.theta).max():.3f} rad in 20 s")
