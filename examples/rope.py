"""A rope of thirty links, held at one end and let go: how hard it is pulled, and its path in space."""

import numpy as np

import nlink

n = 30
rope = nlink.SpatialChain.uniform(n, length=1.0 / n, mass=0.3 / n, shape="point", loads=[nlink.Drag(linear=2e-3)])
azimuths = np.linspace(0.0, 2.0, n)
run = nlink.simulate(rope, [(1.4, azimuth) for azimuth in azimuths], t_end=3.0, rtol=1e-7, atol=1e-7)
tension = run.tensions()
print(f"largest pull {tension.max():.1f} N, {tension.max() / (0.3 * 9.81):.1f} times its weight")
print(f"a string would be slack at {np.mean(tension.min(axis=1) < 0):.0%} of the times")
print(f"energy balance closed to {abs(run.energy().residual).max():.0e} J")
run.plot("paths", links=[n // 2, n - 1]).savefig("rope.png")
