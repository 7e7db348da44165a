"""A top stands while it spins fast enough.

A symmetric top on a fixed point stands upright as long as I3^2 w^2 > 4 I1 m g d. Here w is its spin, I3 its inertia about its
axis, I1 that across the axis at the point, and d the distance of its centre of mass. Just above that spin a tilt of a millionth
of a radian stays small. Just below, the tilt grows, and the top bows deep, rises, and bows again.

The top is a Body on a ball joint. Its state is a unit quaternion, so upright is a position like any other.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
mass, distance, axial, across = 1.5, 0.1, 0.006, 0.004
top = nlink.Body(2 * distance, mass, (0.0, -distance, 0.0), (across, axial, across))
chain = nlink.SpatialChain([top])
threshold = np.sqrt(4 * (across + mass * distance**2) * mass * 9.81 * distance) / axial
print(f"it stands above {threshold:.3f} rad/s")

figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
for share in (0.97, 1.03):
    run = nlink.simulate(chain, [np.pi - 1e-6], [(0.0, share * threshold, 0.0)], t_end=20.0)
    lean = np.degrees(np.pi - run.inclination[:, 0])
    print(f"at {share * threshold:.3f} rad/s it leans by up to {lean.max():.2g} degrees")
    ax.plot(run.t, lean, label=f"{share * threshold:.1f} rad/s")
    if share < 1:
        run.html(folder / "run.html")
ax.set(xlabel="time (s)", ylabel="lean from upright (degrees)")
ax.legend()
figure.savefig(folder / "lean.png", dpi=130)
