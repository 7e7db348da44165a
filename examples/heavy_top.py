"""An upright top: it stands while it spins fast enough, I3^2 w^2 > 4 I1 m g d, and falls below that."""

import numpy as np

import nlink

mass, distance, axial, across = 1.5, 0.1, 0.006, 0.004
top = nlink.Body(2 * distance, mass, (0.0, -distance, 0.0), (across, axial, across))
chain = nlink.SpatialChain([top])
threshold = np.sqrt(4 * (across + mass * distance**2) * mass * 9.81 * distance) / axial
print(f"it stands above {threshold:.3f} rad/s")
for share in (0.97, 1.03):
    run = nlink.simulate(chain, [np.pi - 1e-6], [(0.0, share * threshold, 0.0)], t_end=5.0)
    print(f"at {share * threshold:.3f} rad/s it leans by up to {np.degrees(np.pi - run.inclination.min()):.2g} degrees")
    if share < 1:
        run.animate("top.gif", fps=20, size=(240, 240), azimuth=30.0, trail=0.5)
