"""A start that violates its constraints.

**The seed.** A worksheet of 2004 on the planar double pendulum, in the symbolic language of Maple: a body whose centre of mass
lies beside its axis, natural coordinates (the point B, and a unit vector u along the second body), two quadratic constraints,
Lagrange with multipliers. It checks its start: "check that initial conditions are compatible with constraints", and gets [0, 0].

**What agrees.** The positions. And natural coordinates give a constant mass matrix, as the worksheet shows.

**What was wrong there.** Only positions were checked. The rates of the start violate the differentiated constraints: 2 yB yB' =
0.006 m^2/s and 2 u2x u2x' = 0.02 1/s. This is part of what the worksheet calls drift. nlink measures the violation, projects the
rates onto the constraints, and says so. With `project=False` it keeps the start as given.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("offaxis-double")
system = nlink.formulate(case.chain, "natural")
state = system.encode(np.array(case.theta), np.array(case.omega))
state[:8] = [0.0, 0.3, 1.0, 0.0, -0.1, 0.01, 0.01, 0.1]  # xB, yB, u2x, u2y and their rates, as in the worksheet
moved = nlink.simulate(system, state=state, t_end=3.0)
kept = nlink.simulate(system, state=state, t_end=3.0, project=False, strict=False)
print(moved.meta["start"])
print(f"rates after the projection: {moved.omega[0]} rad/s; those of the preset: {np.array(case.omega)}")

figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
moved.plot("angles", ax=left)
for name, run in {"start projected": moved, "start kept": kept}.items():
    right.semilogy(run.t, np.maximum(run.violation(), 1e-17), label=name)
    print(f"{name}: constraints violated by up to {run.violation().max():.0e}")
right.set(xlabel="time (s)", ylabel="violation")
right.legend()
figure.savefig(folder / "violation.png", dpi=130)
moved.html(folder / "run.html")
