"""Baumgarte, filtered multipliers, penalty: three ways to hold constraints.

**The seed.** The same worksheet integrates its double pendulum in three ways: (a) with Baumgarte's stabilisation, w = 10 1/s and
zeta = 0.8, and multipliers that are filtered, lambda = gamma + tau gamma' with tau = 0.1 s; (b) with the filter alone; (c) with a
penalty of 1e8 instead of multipliers, w = 10 1/s and zeta = 0.7.

**What agrees.** All three give the motion for 3 s, each with its own error. The penalty leaves a violation of about one over its
factor.

**What can be added.** The filter changes how the multipliers are computed and not the motion, which is that of Baumgarte's method
to the tolerance. Each way does some work on the system: the row `constraints` of the ledger. The script compares all three with
the motion by a formulation without constraints. The worksheet's multipliers have the opposite sign.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("offaxis-double")
ways = {
    "none": nlink.Unstabilized(),
    "Baumgarte": nlink.Baumgarte(w=10.0, zeta=0.8),
    "filter under Baumgarte": nlink.MultiplierFilter(tau=0.1, w=10.0, zeta=0.8),
    "filter alone": nlink.MultiplierFilter(tau=0.1, w=0.0, zeta=0.0),
    "penalty": nlink.Penalty(alpha=1e8, w=10.0, zeta=0.7),
    "augmented": nlink.AugmentedLagrangian(alpha=1e8, w=10.0, zeta=0.7),
    "projection": nlink.Projection(),
}
exact = nlink.simulate(case.chain, case.theta, case.omega, t_end=3.0, rtol=1e-13, atol=1e-13)
figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
for name, way in ways.items():
    method = nlink.DOP853(rtol=1e-10, atol=1e-10)
    form = nlink.Natural(constraints=way)
    run = nlink.simulate(case.chain, case.theta, case.omega, t_end=3.0, formulation=form, integrator=method, strict=False)
    error = np.abs(run.theta - exact.theta).max(axis=1)
    work = np.abs(run.energy().work["constraints"]).max()
    left.semilogy(run.t, np.maximum(run.violation(), 1e-17), label=name)
    right.semilogy(run.t, np.maximum(error, 1e-17))
    print(
        f"{name:<23} violation {run.violation().max():.0e}, work {work:.0e} J, error {error.max():.0e} rad, {run.stats.steps} steps"
    )
left.set(xlabel="time (s)", ylabel="violation")
right.set(xlabel="time (s)", ylabel="error of the angles (rad)")
left.legend(fontsize=7)
figure.savefig(folder / "ways.png", dpi=130)
