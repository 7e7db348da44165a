"""A slice of the flips of three links.

Three equal rods have three start angles, so that a map is a slice. In the first map the first rod starts straight down, in the
second at 120 degrees; the other two start anywhere. In each slice an exact curve bounds the region without the energy to flip.
The region may vanish: with the first rod at 120 degrees nearly every start has enough energy.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
chain = nlink.Chain.uniform(3)
figure = Figure(figsize=(11, 5), layout="constrained")
for ax, first in zip(figure.subplots(1, 2), (0.0, np.radians(120.0)), strict=True):
    found = nlink.chaos_map(chain, "flip", x="theta2", y="theta3", at=[first, 0.0, 0.0], size=(240, 240))
    found.plot(ax=ax)
    ax.set_title(f"first rod at {np.degrees(first):.0f} degrees", loc="left")
    flips = np.isfinite(found.values).mean()
    print(f"first rod at {np.degrees(first):3.0f} degrees: {flips:.1%} flip, {found.forbidden.mean():.1%} cannot")
figure.savefig(folder / "slices.png", dpi=130)
