"""Five and six links, nice and chaotic.

**The seed.** The root script of the same project lists saved runs of five and six links from both starts.

**What agrees.** From 45 degrees the links swing nearly as one, whatever their number. From the zig-zag they whip around.

**What was off.** At the defaults of `ode45` the energy balance is off by a tenth of a joule in the nice cases, by a hundred
joules in the chaotic ones.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure = Figure(figsize=(10, 8), layout="constrained")
for ax, name in zip(figure.subplots(2, 2).flat, ("nice-5", "nice-6", "chaotic-5", "chaotic-6"), strict=True):
    case = nlink.preset(name)
    run = case.run()
    loose = nlink.simulate(case.chain, case.theta, t_end=20.0, integrator=nlink.RK45(rtol=1e-3, atol=1e-6), strict=False)
    run.plot("paths", ax=ax, t=(0.0, 10.0))
    ax.set_title(name, loc="left")
    apart = np.abs(run.theta - loose.theta).max(axis=1) > 0.1
    until = f"until {run.t[apart][0]:.2f} s" if apart.any() else "to the end"
    residual = abs(loose.energy().residual).max()
    print(f"{name:<9} ode45's defaults: within 0.1 rad {until}, energy balance open by {residual:.2g} J")
figure.savefig(folder / "paths.png", dpi=130)
nlink.preset("chaotic-6").run().html(folder / "six.html")
