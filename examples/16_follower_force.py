r"""Flutter under a follower force.

**The seed.** A note on planar chains, of unknown date: n point masses, springs and dampers at the joints, and a force at the tip
that turns with the last link. It uses relative angles, and projects the balance of momentum of one "super-particle" on its
tangent space. For five masses of 10 g on links of 0.1 m with dampers of 0.005 N m s/rad, a comment in the code says: "stability
threshold for these values seems to be about 1.9" m g.

**What agrees.** The threshold, nearly: nlink finds flutter at 1.8694 m g, to rounding.

**What was wrong there.** There are several slips, most of them not in the note's nonlinear code. G in the printed code is in
effect transposed, lower triangular: it must be upper triangular with rows n, n-1, ..., 1. Equations (16), (18), (19) and the
linear code lack a factor 1/l on stiffness and damping. Equation (18) has the sign of the follower force wrong, (20) swaps sine
and cosine in B, (21) has the wrong sign in A^T M B. The stiffness of two links must read

$$\begin{bmatrix} -k/l - 3 m g & -m g - \alpha \\ -m g & -k/l - m g \end{bmatrix}$$

It is unsymmetric, since a follower force has no potential. So two frequencies can meet and their motion can grow. The corrected
matrices of the note give the same threshold as nlink.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
chain, weight = nlink.preset("follower-5").chain, 0.01 * 9.8


def pressed(force: float) -> nlink.Chain:
    """Return the chain under a follower force in N."""
    return chain.with_loads(nlink.FollowerForce(force))


critical = nlink.critical_load(pressed, (0.0, 0.3))
print(f"{critical.kind} at {critical.load / weight:.6f} m g, {critical.frequency:.6f} rad/s")
figure = Figure(figsize=(10, 4.5), layout="constrained")
growth, path = figure.subplots(1, 2)
loads = np.linspace(0.0, 3.0, 121)
values = np.array([np.sort_complex(nlink.linearize(pressed(load * weight)).eigenvalues) for load in loads])
growth.plot(loads, values.real, ".", ms=2, color="C0")
growth.axvline(critical.load / weight, color="0.5", ls="--")
growth.set(xlabel="follower force (m g)", ylabel="growth (1/s)", ylim=(-40, 10))
run = nlink.simulate(pressed(3.0 * weight), [1e-4, 2e-4, 3e-4, 4e-4, 5e-4], t_end=30.0)
run.plot("tip", ax=path, t=(27.0, 30.0))
figure.savefig(folder / "flutter.png", dpi=130)
run.html(folder / "run.html")
