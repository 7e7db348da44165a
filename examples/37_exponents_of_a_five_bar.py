"""The Lyapunov spectrum of a five-bar.

A closed chain has exponents too: two for each freedom. Small deviations are kept on the tangent space of the closure, and
followed by exact derivatives along the motion. For the five-bar of the seeds, with its two freedoms, there are four: one pair of
opposite sign, and a pair of zeros, since the energy is kept. The error bars are standard errors of ten blocks of the motion.
"""

import sys
from pathlib import Path

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("five-bar")
found = nlink.lyapunov(case.chain, case.theta, t_end=300.0)
found.plot().savefig(folder / "exponents.png", dpi=130)
for exponent, error in zip(found.exponents, found.errors, strict=True):
    print(f"{exponent:+.4f} +- {error:.4f} 1/s")
print(f"sum less the known rate at which volumes change: {found.sum - found.divergence:.0e} 1/s")
