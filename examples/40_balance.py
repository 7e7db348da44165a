"""Swing up, and stay upright.

A double pendulum swings itself up and balances, by a feedback law that Numba compiles. Its two motors give at most 3 N m each,
less than a sixth of the 19.6 N m that would hold it out to the side. So they pump: the motor at the pivot pushes with the motion
until the energy is that of rest upright, while the motor at the elbow keeps the links in line. Near the top a linear quadratic
regulator (`nlink.lqr`) catches it. The ledger has the work of the motors.
"""

import math
import sys
from pathlib import Path

import numba
import numpy as np
from matplotlib.figure import Figure

import nlink

LIMIT, NEAR = 3.0, 0.2  # N m; the regulator takes over where its cost x.P x is below this

chain = nlink.Chain.uniform(2).with_loads(nlink.JointDamper(0.02))
regulator = nlink.lqr(chain, [math.pi, math.pi])
hold, cost, upright = regulator.torque, regulator.P, regulator.theta
g = chain.g


@numba.njit
def limited(torque):
    return min(LIMIT, max(-LIMIT, torque))


@numba.njit
def controller(t, theta, omega):
    off = np.concatenate(((theta - upright + math.pi) % (2 * math.pi) - math.pi, omega))  # to the nearest turn
    if off @ (cost @ off) < NEAR:
        first, second = hold(t, theta, omega)
        return limited(first), limited(second)
    bend, rate = theta[1] - theta[0], omega[1] - omega[0]
    kinetic = (4 * omega[0] ** 2 + omega[1] ** 2 + 3 * math.cos(bend) * omega[0] * omega[1]) / 6
    potential = -g * (3 * math.cos(theta[0]) + math.cos(theta[1])) / 2
    missing = 2 * g - kinetic - potential
    return limited(2.0 * missing * omega[0]), limited(-40.0 * bend - 6.0 * rate)


run = nlink.simulate(chain.with_loads(nlink.JointTorque(controller)), [0.1, 0.1], t_end=20.0, integrator="DOP853")
torques = np.array([controller(t, *state) for t, *state in zip(run.t, run.theta, run.omega, strict=True)])
error = np.abs(np.angle(np.exp(1j * (run.theta - upright)))).max(axis=1)
print(f"upright to 0.01 rad from t = {run.t[np.flatnonzero(error > 0.01)[-1] + 1]:.2f} s on; to {error[-1]:.0e} rad at the end")
print(f"torques of up to {np.abs(torques).max():.1f} N m, work {run.energy().work['joint_torque'][-1]:.1f} J")
print(f"balance of energy closed to {np.abs(run.energy().residual).max():.0e} J")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
run.html(folder / "balance.html")
figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
run.plot("unwrapped", ax=left)
right.plot(run.t, torques)
right.set(xlabel="time (s)", ylabel="torques of the motors (N m)")
figure.savefig(folder / "balance.png", dpi=130)
