"""A rope let go in space.

A rope of one metre, thirty point masses, hangs on one end. It starts almost level, on a curve, and falls. The direction of each
link is a unit vector, and the multiplier of that constraint is the tension. A real rope goes slack where it is pushed. Where the
tension is negative, the model of stiff links is therefore no rope. The last line says for how much of the time that is so.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
n = 30
rope = nlink.SpatialChain.uniform(n, length=1.0 / n, mass=0.3 / n, shape="point", loads=[nlink.Drag(linear=2e-3)])
azimuths = np.linspace(0.0, 2.0, n)
run = nlink.simulate(rope, [(1.4, azimuth) for azimuth in azimuths], t_end=3.0, rtol=1e-7, atol=1e-7)
tension = run.tensions()
figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
ax.plot(run.t, tension[:, 0], label="at the hand")
ax.plot(run.t, tension[:, n // 2], label="in the middle")
ax.set(xlabel="time (s)", ylabel="tension (N)")
ax.legend()
figure.savefig(folder / "tension.png", dpi=130)
run.html(folder / "run.html")
print(f"largest pull {tension.max():.1f} N, {tension.max() / (0.3 * 9.81):.1f} times its weight")
print(f"energy balance closed to {abs(run.energy().residual).max():.0e} J")
print(f"a string would be slack at {np.mean(tension.min(axis=1) < 0):.0%} of the times")
