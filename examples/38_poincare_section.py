"""Sections of a double pendulum.

The picture has the angle and the momentum of the second link, each time the first link passes straight down to the right, for
many motions of one energy. At low energy most motions are quasi-periodic: their points lie on curves. At a higher energy the
curves dissolve into a chaotic sea with islands. The starts are random points of the energy surface. Root finding on the dense
output gives the points, and each has the error of its energy balance.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
chain = nlink.Chain.uniform(2, shape="point")
figure = Figure(figsize=(11, 5), layout="constrained")
lowest = -3 * 9.81
for ax, above in zip(figure.subplots(1, 2), (2.0, 10.0), strict=True):
    theta, omega = nlink.starts_on_energy(chain, lowest + above, 24, seed=1)
    points = nlink.poincare(chain, theta, omega, t_end=1000.0, section=nlink.Section(link=0, angle=0.0, direction=1))
    points.plot(ax=ax)
    ax.set_title(f"{above:.0f} J above rest", loc="left")
    print(f"{above:.0f} J: {points.t.size} points")
figure.savefig(folder / "sections.png", dpi=130)
