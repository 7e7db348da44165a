"""The Lyapunov spectrum of a five-bar.

A closed chain has two exponents for each freedom. nlink follows small deviations by exact derivatives along the motion, and keeps
them on the tangent space of the closure. The five-bar of the seeds has two freedoms and so four exponents: a pair of opposite
sign, and a pair of zeros, since energy is conserved. The error bars are standard errors of ten blocks of the motion. The page
below plays the first 20 s.
"""

import sys
from pathlib import Path

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("five-bar")
found = nlink.lyapunov(case.chain, case.theta, t_end=300.0)
case.run().html(folder / "run.html")
found.plot().savefig(folder / "exponents.png", dpi=130)
for exponent, error in zip(found.exponents, found.errors, strict=True):
    print(f"{exponent:+.4f} +- {error:.4f} 1/s")
print(f"sum less the known rate at which volumes change: {found.sum - found.divergence:.0e} 1/s")
