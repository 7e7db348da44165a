r"""Springs and friction at the joints: coming to rest.

**The seed.** The same project, figure 6: springs of 1 N m/rad and friction of 1 N m s/rad at each joint, 40 s. Friction prevents
chaos, and the chain comes to rest. The project says: "Friction in the hinges cannot be implemented" with Lagrange's equations,
"because they dissipate energy and therefore energy is not conserved and Lagrange equations may not be used" (the text says method
3 and means method 2: it exchanges them).

**What agrees.** The motion, even at the defaults of `ode45`: damping makes errors decay.

**What was wrong there.** Lagrange's equations can have friction. Rayleigh's function F, half the power lost to friction, enters
them beside the Lagrangian:

$$\frac{d}{dt}\frac{\partial L}{\partial \dot\theta_i} -
\frac{\partial L}{\partial \theta_i} = -\frac{\partial F}{\partial \dot\theta_i},
\qquad F = \frac{1}{2} \sum_i c_i (\dot\theta_i - \dot\theta_{i-1})^2$$

Here `lagrange`, derived in symbols, and `recursive`, Newton and Euler link by link, follow the same motion to rounding. Energy is
a check although it is not conserved: the ledger of a run has the work W of each load, and E - E(0) - W is zero for any exact
motion.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("chaotic-3-springs-friction")
options = {"t_end": 40.0, "integrator": nlink.DOP853(rtol=1e-12, atol=1e-12)}
newton = nlink.simulate(case.chain, case.theta, formulation="recursive", **options)
lagrange = nlink.simulate(case.chain, case.theta, formulation="lagrange", **options)

figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
lagrange.plot("angles", ax=left)
energy = lagrange.energy()
right.plot(lagrange.t, energy.kinetic + energy.potential - energy.potential[0], label="energy stored")
right.plot(lagrange.t, energy.work["joint_damper"], "--", label="work of friction")
right.set(xlabel="time (s)", ylabel="change since the start (J)")
right.legend()
figure.savefig(folder / "angles-and-energy.png", dpi=130)
newton.html(folder / "run.html")

print(f"lagrange and recursive differ by at most {np.abs(newton.theta - lagrange.theta).max():.0e} rad in 40 s")
print(f"friction takes {-energy.work['joint_damper'][-1]:.3f} J; the balance closes to {abs(energy.residual).max():.0e} J")
