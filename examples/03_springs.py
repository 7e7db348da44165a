"""Three rods with springs at their joints.

**The seed.** The same project, figure 5: a torsion spring of 1 N m/rad at each joint, the zig-zag start. The angles are not
wrapped, because a link that turns over winds up its spring.

**What agrees.** The picture: an irregular bounce, with angles that wander over several turns.

**What was off.** Again the change of energy, which "only drifts a tad", comes from the defaults of `ode45`. With tolerances of
1e-10 the balance closes to a billionth of a joule; the motion at the defaults is lost after less than one and a half seconds. The
script has the right equations. Equation (2) in the text lacks g, and has the factor one half on both terms of the potential
energy.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("chaotic-3-springs")
loose = nlink.simulate(case.chain, case.theta, t_end=20.0, integrator=nlink.RK45(rtol=1e-3, atol=1e-6), strict=False)
tight = nlink.simulate(case.chain, case.theta, t_end=20.0, rtol=1e-10, atol=1e-10)

figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
tight.plot("unwrapped", ax=left)
for name, run in {"1e-3, 1e-6: ode45's defaults": loose, "1e-10": tight}.items():
    right.semilogy(run.t, np.maximum(np.abs(run.energy().residual), 1e-14), label=name)
right.set(xlabel="time (s)", ylabel="energy residual (J)")
right.legend(fontsize=8)
figure.savefig(folder / "angles-and-energy.png", dpi=130)
tight.html(folder / "run.html")

apart = np.abs(loose.theta - tight.theta).max(axis=1) > 0.1
print(f"at ode45's defaults: within 0.1 rad until {loose.t[apart][0]:.2f} s")
print(f"at ode45's defaults: balance open by {abs(loose.energy().residual).max():.0e} J")
print(f"at 1e-10: balance open by {abs(tight.energy().residual).max():.0e} J")
