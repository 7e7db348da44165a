r"""Point masses by Lagrange's equations.

**The seed.** A sheet of handwritten notes: point masses m = 1 on massless links l = 1, equations by Lagrange in MATLAB, all links
at 90 degrees at rest. It finds the motion "unstable for large theta". Its wishes are rigid links, friction, drag and other
formulations.

**What agrees.** The equations of two and three links, apart from slips. The notes write L = PE - KE, take x1 + x2 + h3
sin(theta3) for x3, leave the minus sign in the cosine terms of the second kinetic energy, and give every equation its own L_i.
The Lagrangian is KE - PE of the whole chain, the same in each equation, and positions add up link by link. `nlink derive 2
--shape point` prints:

$$\begin{bmatrix} 2 & \cos(\theta_1-\theta_2) \\ \cos(\theta_1-\theta_2) & 1 \end{bmatrix}
\begin{bmatrix} \ddot\theta_1 \\ \ddot\theta_2 \end{bmatrix} =
\begin{bmatrix} -\sin(\theta_1-\theta_2)\,\dot\theta_2^2 - 2 g \sin\theta_1 \\
\sin(\theta_1-\theta_2)\,\dot\theta_1^2 - g \sin\theta_2 \end{bmatrix}$$

for m = l = 1. The script checks them at random states.

**What was off.** The motion is not unstable but chaotic: the largest Lyapunov exponent is nearly one per second, so that errors
grow e-fold each second. nlink has all that the notes wish for.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
two, three = nlink.preset("point-2"), nlink.preset("point-3")
rng, worst = np.random.default_rng(1), 0.0
system = nlink.formulate(two.chain, "lagrange")
for theta, omega in rng.uniform(-3, 3, (100, 2, 2)):
    c, s = np.cos(theta[0] - theta[1]), np.sin(theta[0] - theta[1])
    right = [-s * omega[1] ** 2 - 2 * 9.81 * np.sin(theta[0]), s * omega[0] ** 2 - 9.81 * np.sin(theta[1])]
    worst = max(worst, np.abs(system.accelerations(theta, omega) - np.linalg.solve([[2, c], [c, 1]], right)).max())
found = nlink.lyapunov(two.chain, two.theta, t_end=500.0, count=1)
print(f"accelerations differ from the equations above by at most {worst:.0e} rad/s^2")
print(f"largest Lyapunov exponent of two links: {found.exponents[0]:.2f} +- {found.errors[0]:.2f} 1/s")
figure = Figure(figsize=(10, 4.5), layout="constrained")
for ax, case in zip(figure.subplots(1, 2), (two, three), strict=True):
    case.run().plot("paths", ax=ax)
figure.savefig(folder / "paths.png", dpi=130)
three.run().html(folder / "three.html")
