r"""Friction by Rayleigh's function, at links or at joints.

**The seed.** A note of 2024: four point masses on massless links, Euler and Lagrange, and Rayleigh's dissipation function for
friction "at the joints". It ends with wishes: rigid links, Newton and Euler, three dimensions.

**What agrees.** The equations and the motion: from 120 degrees at rest the chain swings ever less.

**What was wrong there.** Equation (9) damps the rate of each link against the ground,

$$F = \frac{1}{2} \sum_i k_i \dot\theta_i^2$$

which does not follow from (2) and (8), where the friction depends on the speeds of the particles; and it is not friction at a
joint, which depends on the rate of one link against the one before. nlink has each under its own name. `LinkDamper` is equation
(9), `JointDamper` is friction at joints, `Drag` the one of (2). The motions differ, as the picture shows: dampers at joints
hardly brake a swing of all links together, in which only the first joint turns.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("rayleigh-4")
bare = nlink.Chain(case.chain.links)
kinds = {
    "link damper: equation (9)": nlink.LinkDamper(0.2),
    "joint damper": nlink.JointDamper(0.2),
    "drag: equation (2)": nlink.Drag(linear=0.2),
}
figure = Figure(figsize=(10, 6), layout="constrained")
for ax, (name, load) in zip(figure.subplots(3, 1, sharex=True, sharey=True), kinds.items(), strict=True):
    run = nlink.simulate(bare.with_loads(load), case.theta, t_end=40.0)
    run.plot("unwrapped", ax=ax)
    ax.set_title(name, loc="left")
    ax.set_xlabel("")
    energy = run.energy()
    print(f"{name:<26} takes {-energy.work[load.name][-1]:.1f} J in 40 s; balance open by {abs(energy.residual).max():.0e} J")
ax.set_xlabel("time (s)")
figure.savefig(folder / "dampers.png", dpi=130)
case.run().html(folder / "run.html")
