"""Fifteen links from a zig-zag.

**The seed.** The same project, figure 8: fifteen rods, 20 s, "even for this very large amount of links" the total energy drifts
only a small amount.

**What agrees.** The look of it: the upper links swing slowly, the last ones whip around.

**What was off.** At the defaults of `ode45` the energy balance is off by a thousand joules here: the steps are far too long for
the fast links at the end. The energies in the plots of the project change by hundreds of joules, so that the error looks small.
At 1e-12 the balance is off by a billionth of a joule. Even so the motion can be trusted for about six seconds only: double
precision does not suffice for 20 s of this chaotic motion.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink
from nlink.analysis import trusted_until

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("chaotic-15")
loose = nlink.simulate(case.chain, case.theta, t_end=20.0, integrator=nlink.RK45(rtol=1e-3, atol=1e-6), strict=False)
tight = nlink.simulate(case.chain, case.theta, t_end=20.0, rtol=1e-12, atol=1e-12)

figure = Figure(figsize=(10, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
tight.plot("paths", links=[2, 5, 8, 11, 14], ax=left)
for name, run in {"1e-3, 1e-6: ode45's defaults": loose, "1e-12": tight}.items():
    right.semilogy(run.t, np.maximum(np.abs(run.energy().residual), 1e-13), label=name)
right.set(xlabel="time (s)", ylabel="energy residual (J)")
right.legend()
figure.savefig(folder / "paths-and-energy.png", dpi=130)
tight.html(folder / "run.html")

print(f"balance open by {abs(loose.energy().residual).max():.0f} J at ode45's defaults")
print(f"balance open by {abs(tight.energy().residual).max():.0e} J at 1e-12")
print(f"within 0.001 rad of the exact motion until {trusted_until(tight):.1f} s")
