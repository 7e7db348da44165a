"""Small motions: linear and nonlinear equations.

**The seed.** The same note on planar chains has both: the nonlinear equations, and their linearisation about the chain at rest.
Its program runs one or the other for a second from relative angles of 1e-4 rad.

**What agrees.** In that second the two agree to 1e-11 rad, as they must: the neglected terms are of third order in the angles. So
small a start does not show where flutter leads.

**What can be added.** Above the threshold the linear motion grows for ever. The nonlinear motion ends in a limit cycle, here of
more than a radian, whatever the small start. The picture starts both at 3 m g.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("follower-5")
short = {
    form: nlink.simulate(case.chain, case.theta, t_end=1.0, formulation=form, rtol=1e-10, atol=1e-13)
    for form in ("projection", "linear")
}
print(f"after 1 s at 1.9 m g they differ by {np.abs(short['projection'].theta - short['linear'].theta).max():.0e} rad")

pressed = case.chain.with_loads(nlink.FollowerForce(3.0 * 0.01 * 9.8))
figure = Figure(figsize=(10, 4), layout="constrained")
ax = figure.subplots()
nonlinear = nlink.simulate(pressed, case.theta, t_end=25.0, formulation="projection")
linear = nlink.simulate(pressed, case.theta, t_end=25.0, formulation="linear", strict=False)
ax.semilogy(nonlinear.t, np.abs(nonlinear.theta[:, -1]) + 1e-7, label="nonlinear")
ax.semilogy(linear.t, np.abs(linear.theta[:, -1]) + 1e-7, "--", label="linear")
ax.set(xlabel="time (s)", ylabel="angle of the last link (rad)")
ax.legend()
figure.savefig(folder / "growth.png", dpi=130)
nonlinear.html(folder / "run.html")
cycle = np.ptp(nonlinear.theta[nonlinear.t > 20.0], axis=0) / 2
print(f"the nonlinear motion ends with amplitudes of {np.round(cycle, 3)} rad")
print(f"the linear one has {np.abs(linear.theta[-1]).max():.1e} rad by then")
