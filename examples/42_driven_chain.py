"""Where the energy of a driven chain goes.

A sine torque at the pivot drives four links, which lose energy to friction at the joints and to the air. The ledger has the work
of every load, integrated along with the motion. For an exact motion the change of the stored energy equals the sum of all work.
So driven and damped runs have the same check as conservative ones.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
chain = nlink.Chain.uniform(4, mass=0.5).with_loads(
    nlink.JointTorque([nlink.Sine(2.0, 0.5), 0.0, 0.0, 0.0]),
    nlink.JointDamper(0.2),
    nlink.Drag(linear=0.1),
)
run = nlink.simulate(chain, 0.0, t_end=30.0)
energy = run.energy()
stored = energy.kinetic + energy.potential - energy.kinetic[0] - energy.potential[0]
figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
for load, work in energy.work.items():
    ax.plot(run.t, work, label=f"work of {load.replace('_', ' ')}")
    print(f"{load:<13} {work[-1]:+8.3f} J")
ax.plot(run.t, stored, "k", label="stored")
ax.set(xlabel="time (s)", ylabel="J")
ax.legend()
figure.savefig(folder / "ledger.png", dpi=130)
run.html(folder / "run.html")
print(f"{'stored':<13} {stored[-1]:+8.3f} J, balance closed to {abs(energy.residual).max():.0e} J")
