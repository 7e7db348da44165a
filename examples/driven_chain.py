"""A driven, damped chain: the ledger says where the energy came from and where it went."""

import nlink

chain = nlink.Chain.uniform(4, mass=0.5).with_loads(
    nlink.JointTorque([nlink.Sine(2.0, 0.5), 0.0, 0.0, 0.0]),
    nlink.JointDamper(0.2),
    nlink.Drag(linear=0.1),
)
run = nlink.simulate(chain, 0.0, t_end=30.0)
energy = run.energy()
for load, work in energy.work.items():
    print(f"{load:<13} {work[-1]:+8.3f} J")
change = energy.kinetic[-1] + energy.potential[-1] - energy.kinetic[0] - energy.potential[0]
print(f"{'stored':<13} {change:+8.3f} J, balance closed to {abs(energy.residual).max():.0e} J")
