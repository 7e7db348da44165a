"""The rosette of a spherical pendulum.

A mass on a string that is pushed sideways does not swing in a plane. Seen from above it draws a rosette: the height swings
between two values, and from swing to swing the whole figure turns about the vertical. The angular momentum about the vertical is
constant.

With u the cosine of the inclination and h the angular momentum, u'^2 = 2 (E + g u)(1 - u^2) - h^2. Between two roots of the right
side u is an elliptic function. Its integral gives the period, which the script compares with that of the run.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.special import ellipk

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
g, height, rate = 9.81, 0.8, 1.1
chain = nlink.SpatialChain.uniform(1, shape="point", loads=nlink.Gravity(g))
run = nlink.simulate(chain, [(np.arccos(height), 0.0)], [(0.0, rate, 0.0)], t_end=20.0, rtol=1e-12, atol=1e-12)

h, energy = rate * (1 - height**2), 0.5 * rate**2 * (1 - height**2) - g * height
u3, u1, u2 = np.sort(np.roots([-2 * g, -2 * energy, 2 * g, 2 * energy - h**2]).real)
period = 4 * ellipk((u2 - u1) / (u2 - u3)) / np.sqrt(2 * g * (u2 - u3))

u = run.direction[:, 0, 1]
lowest = np.flatnonzero((u[1:-1] < u[:-2]) & (u[1:-1] <= u[2:])) + 1
print(f"period of the height: {period:.6f} s, seen {np.diff(run.t[lowest]).mean():.2f} s")
print(f"angular momentum about the vertical: {h:.6f}, kept to {np.ptp(run.about_vertical()):.0e} kg m^2/s")
run.plot("tip").savefig(folder / "rosette.png", dpi=130)
run.html(folder / "run.html")
