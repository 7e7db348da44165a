"""Beck's column from links.

A cantilever under a force that turns with its tip does not buckle: it flutters, at P = 20.0509 EI/L^2 (Beck, 1952). A chain of N
rods with a spring at each joint is such a column. Each spring stands for the bending of the length around it: EI N/L between two
rods, twice that at the wall, where only half a rod bends.

The critical load of the chain tends to Beck's as 1/N^2, so that two chains extrapolate to it. Without damping flutter begins
where two frequencies meet, and `critical_load` solves for that point. Damping at the joints, however small, lowers the load to
about half: Ziegler's paradox. The page below plays a damped column 5 % above Beck's load: flutter grows from a tilt of 0.001 rad.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
BECK = 20.05095


def column(n: int, force: float, damping: float = 0.0) -> nlink.Chain:
    """Return a column of length, mass and EI one under a force."""
    springs = nlink.JointSpring([2.0 * n] + [float(n)] * (n - 1))
    dampers = nlink.JointDamper([2.0 * n * damping] + [n * damping] * (n - 1))
    return nlink.Chain.uniform(n, length=1 / n, mass=1 / n).with_loads(
        nlink.Gravity(0), springs, dampers, nlink.FollowerForce(force)
    )


counts = np.array([2, 4, 8, 16, 32])
loads = np.array([nlink.critical_load(lambda force, n=n: column(n, force), (0.0, 30.0)).load for n in counts])
for n, load in zip(counts, loads, strict=True):
    print(f"{n:2d} links: {load:.5f} EI/L^2, {load / BECK - 1:+.1e} of Beck's load")
print(f"extrapolated from 16 and 32: {(4 * loads[-1] - loads[-2]) / 3:.5f}")
damped = nlink.critical_load(lambda force: column(16, force, 1e-3), (0.0, 30.0))
print(f"16 links with a little damping: {damped.load:.3f}, {damped.kind}")
nlink.simulate(column(16, 1.05 * BECK, 0.01), 1e-3, t_end=10.0).html(folder / "flutter.html")
figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
left.loglog(counts, np.abs(loads / BECK - 1), "o-")
left.set(xlabel="links", ylabel="relative error of the load", xticks=counts, xticklabels=counts)
left.minorticks_off()
forces = np.linspace(0, 25, 101)
values = np.array([np.sort(np.abs(nlink.linearize(column(16, force)).eigenvalues.imag))[:4:2] for force in forces])
right.plot(forces, values)
right.axvline(BECK, color="0.5", ls="--")
right.set(xlabel="force (EI/L^2); dashed: Beck's load", ylabel="two lowest frequencies (rad/s)")
figure.savefig(folder / "beck.png", dpi=130)
