"""A hundred thousand links.

The work of `recursive` grows linearly with the number of links, and so does the memory. A run that is written to a file while it
is computed (`file=`) needs memory for one block of saved points only.

Here a chain of 100,000 links of 1 cm, a kilometre long, hangs straight down but for a smooth kink of 2 mm twenty metres below the
pivot. The kink splits into two waves, one up and one down. They travel at the speed of waves on a string: the root of g times the
length below, 98 m/s there. A kink of centimetres would not do so: links do not stretch, so that a high kink shortens the chain,
and the kilometre below is too heavy to follow. The highest frequency of the chain, 2 sqrt(g L)/l, limits the steps: neighbours
swing against each other. Every explicit method needs thousands of steps a second.
"""

import sys
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
n, length = 100_000, 0.01
depth = length * np.arange(1, n + 1)
start = np.gradient(0.002 * np.exp(-(((depth - 20.0) / 1.0) ** 2)), length)
began = time.process_time()
chain = nlink.Chain.uniform(n, length=length, mass=0.01)
run = nlink.simulate(chain, start, t_end=0.05, save=0.025, rtol=1e-7, atol=1e-7)
taken = time.process_time() - began

figure = Figure(figsize=(9, 4), layout="constrained")
ax = figure.subplots()
shown = depth < 40.0
for t, theta in zip(run.t, run.theta, strict=True):
    ax.plot(depth[shown], 1000 * np.cumsum(length * np.sin(theta))[shown], label=f"{t:.3f} s")
ax.set(xlabel="depth below the pivot (m)", ylabel="displacement (mm)")
ax.legend()
figure.savefig(folder / "waves.png", dpi=130)
down = depth[np.argmax(np.cumsum(length * np.sin(run.theta[-1])) * (depth > 21.0))]
print(f"the wave down is at {down:.2f} m after 0.05 s")
print(f"a wave on a string is at {1000 - (np.sqrt(980.0) - np.sqrt(9.81) * 0.025) ** 2:.2f} m")
print(
    f"{run.stats.steps} steps in {taken:.1f} s of processor time; energy balance open by {abs(run.energy().residual).max():.0e} J"
)
