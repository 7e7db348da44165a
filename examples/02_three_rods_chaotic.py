"""Three rods from a zig-zag: when a tolerance looks like physics.

**The seed.** The same project, figures 3 and 4: the rods start at 90, 180 and 90 degrees, at rest. The paths are tangled, and
figure 4 shows a small, growing change of the total energy. The project calls it numerical error of a chaotic motion.

**What agrees.** The first second. The motion is chaotic: a small difference grows about tenfold every second or two.

**What was wrong there.** The tolerances of 1e-8 in the root script never reach `ode45`, which works at its defaults, 1e-3 and
1e-6. At these the angles are wrong by a tenth of a radian after about one second of the twenty, so that almost all of figure 3 is
the motion of another start. The change of energy is not the price of chaos: at tight tolerances the balance closes to a
hundred-millionth of a joule in the same chaotic motion. So a small residual shows that each step was right. It does not show that
the motion belongs to this start. `nlink compare` and `--trust` say how long it does.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("chaotic-3")
methods = {
    "1e-3, 1e-6: ode45's defaults": nlink.RK45(rtol=1e-3, atol=1e-6),
    "1e-8: as the script meant": nlink.RK45(rtol=1e-8, atol=1e-8),
    "1e-10": nlink.DOP853(rtol=1e-10, atol=1e-10),
}
tight = nlink.simulate(case.chain, case.theta, t_end=20.0, rtol=1e-13, atol=1e-13)
figure = Figure(figsize=(10, 6), layout="constrained")
angle, error, energy = figure.subplots(3, 1, sharex=True)
angle.plot(tight.t, tight.theta[:, 2], "k", label="1e-13")
for name, method in methods.items():
    run = nlink.simulate(case.chain, case.theta, t_end=20.0, integrator=method, strict=False)
    apart = np.abs(run.theta - tight.theta).max(axis=1)
    residual = np.abs(run.energy().residual)
    angle.plot(run.t, run.theta[:, 2], label=name)
    error.semilogy(run.t, np.maximum(apart, 1e-16))
    energy.semilogy(run.t, np.maximum(residual, 1e-16))
    wrong = f"{run.t[apart > 0.1][0]:.2f} s" if (apart > 0.1).any() else "the end"
    print(f"tolerance {name}: within 0.1 rad until {wrong}, energy balance open by {residual.max():.0e} J")
angle.set_ylabel("last angle (rad)")
angle.legend(loc="upper left", fontsize=8)
error.set_ylabel("difference (rad)")
energy.set_ylabel("energy residual (J)")
energy.set_xlabel("time (s)")
figure.savefig(folder / "tolerances.png", dpi=130)
nlink.preset("chaotic-3").run().html(folder / "run.html")
