"""Two near-copies part.

Two double pendulums start a billionth of a radian apart. Their distance grows e-fold about every second, as the largest Lyapunov
exponent says, until it is as large as the motion itself. Tolerances are 1e-13, so that the runs are right for as long as the
picture needs. The page below simulates twenty near-copies in the browser: grab one and throw it.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
chain = nlink.Chain.uniform(2)
start = np.array([np.pi / 2, np.pi])
one = nlink.simulate(chain, start, t_end=20.0, rtol=1e-13, atol=1e-13)
other = nlink.simulate(chain, start + np.array([0.0, 1e-9]), t_end=20.0, rtol=1e-13, atol=1e-13)
distance = np.abs(one.theta - other.theta).max(axis=1)
exponent = nlink.lyapunov(chain, start, t_end=500.0, count=1).exponents[0]

figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
ax.semilogy(one.t, distance, label="difference of the angles")
ax.semilogy(one.t, np.minimum(1e-9 * np.exp(exponent * one.t), 10), "--", label=f"growth by {exponent:.2f} 1/s")
ax.set(xlabel="time (s)", ylabel="rad")
ax.legend()
figure.savefig(folder / "distance.png", dpi=130)
nlink.Scenario(chain, theta=start, omega=[0.0, 0.0]).live(folder / "live.html", copies=20)
for t in (0, 5, 10, 15, 20):
    print(f"t = {t:2d} s: the angles differ by {distance[one.t == t][0]:.1e} rad")
