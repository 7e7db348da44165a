"""Until when to trust a run.

Every computed chaotic motion is wrong sooner or later: rounding errors alone grow to the size of the motion. `compare` runs one
system in every formulation. `trusted_until` repeats a run independently and at tighter tolerances, and returns the last time at
which all agree to 0.001 rad, with a margin. It is an estimate. It was on the safe side in all cases with a multi-precision
solution.

Beyond that time the run is still a motion of such a chain, with the right energy, but of another start. The picture has the run
at three tolerances; dashed lines mark the trusted times. The page below plays the run at 1e-9, with its trusted time on the
timeline.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink
from nlink.analysis import trusted_until

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
case = nlink.preset("chaotic-3")
exact = nlink.simulate(case.chain, case.theta, t_end=20.0, integrator=nlink.Taylor(tol=1e-16))
figure = Figure(figsize=(9, 4), layout="constrained")
ax = figure.subplots()
for tolerance in (1e-6, 1e-9, 1e-12):
    run = nlink.simulate(case.chain, case.theta, t_end=20.0, rtol=tolerance, atol=tolerance, strict=False)
    until = run.trusted_until = trusted_until(run)
    if tolerance == 1e-9:
        run.html(folder / "run.html")
    (line,) = ax.semilogy(run.t, np.maximum(np.abs(run.theta - exact.theta).max(axis=1), 1e-16), label=f"{tolerance:.0e}")
    ax.axvline(until, color=line.get_color(), ls="--")
    print(f"tolerance {tolerance:.0e}: trusted until {until:.2f} s")
ax.axhline(1e-3, color="0.6", lw=0.8)
ax.set(xlabel="time (s)", ylabel="difference to the tightest run (rad)")
ax.legend()
figure.savefig(folder / "trust.png", dpi=130)
nlink.compare(case, ["momentum", "lagrange", "projection", "natural"]).plot().savefig(folder / "forms.png", dpi=130)
