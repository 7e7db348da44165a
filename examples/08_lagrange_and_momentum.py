"""Lagrange's equations against the balance of momentum.

**The seed.** The same project, figures 10 to 12, repeats its cases by Lagrange's equations, without simplifying them. For the
nice start the angles are "identical"; for the zig-zag (figure 11) they differ from those of figure 3, and with springs (figure
12) "the change in total energy only drifts a bit". The project blames the missing simplification: f and f sin x "are the same
equation", but in finite precision their solutions differ.

**What agrees.** For the nice start all agree.

**What was wrong there.** The tolerance, not the form of the equations. At the defaults of `ode45` both runs have left the exact
motion after 1.1 s. From then on figures 3 and 11 compare two wrong motions. These stay together until chaos has amplified their
rounding errors to the size of the picture. At 1e-10 all forms are right for nine seconds, and differ visibly still later.
Simplified equations make no difference.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
methods = {"1e-3, 1e-6 (RK45)": nlink.RK45(rtol=1e-3, atol=1e-6), "1e-10 (DOP853)": nlink.DOP853(rtol=1e-10, atol=1e-10)}
forms = {"momentum": "momentum", "lagrange": nlink.Lagrange(), "lagrange, unsimplified": nlink.Lagrange(simplify=False)}
figure = Figure(figsize=(10, 7), layout="constrained")
for row, name in zip(figure.subplots(3, 2, sharex=True, sharey=True), ("nice-3", "chaotic-3", "chaotic-3-springs"), strict=True):
    case = nlink.preset(name)
    exact = nlink.simulate(case.chain, case.theta, t_end=20.0, rtol=1e-13, atol=1e-13)
    first = exact.theta
    for ax, (tolerance, method) in zip(row, methods.items(), strict=True):
        for form, choice in forms.items():
            run = nlink.simulate(case.chain, case.theta, t_end=20.0, formulation=choice, integrator=method, strict=False)
            apart = np.abs(run.theta - exact.theta).max(axis=1)
            ax.semilogy(run.t, np.maximum(apart, 1e-13), label=form)
            first = first if form != "momentum" else run.theta
            parted = np.abs(run.theta - first).max(axis=1) > 0.1
            away = f"until {run.t[apart > 0.1][0]:5.2f} s" if (apart > 0.1).any() else "to the end"
            other = f"{run.t[parted][0]:5.2f} s" if parted.any() else "the end"
            print(f"{name:<17} {form:<22} {tolerance:<16} within 0.1 rad of the exact motion {away}, of momentum until {other}")
        ax.set_title(f"{name}, {tolerance}", fontsize=9)
    row[0].set_ylabel("error (rad)")
for ax in row:
    ax.set_xlabel("time (s)")
ax.legend(fontsize=8)
figure.savefig(folder / "errors.png", dpi=130)
