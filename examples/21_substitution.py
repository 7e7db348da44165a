"""Accelerations by substitution, forward and backward.

**The seed.** The same note, figures 2 and 3: each equation is solved for one acceleration, which is substituted into the next
ones; the last equation then has one unknown, and substituting backward gives the others. The note does that in symbols.

**What agrees.** The accelerations. The method is Gaussian elimination without pivoting. The mass matrix is symmetric and positive
definite, so that no pivoting is needed, and substitution agrees with the matrix solve to rounding.

**What it costs.** The symbolic accelerations grow with every link. nlink derives the equations once for each number of links,
writes the substitutions as code that shares common subexpressions, and compiles it: `Lagrange(solve="substitution")`, up to 20
links. The picture compares the time of one evaluation with a matrix solve and with `recursive`, whose work grows only with the
number of links.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
forms = {"matrix": nlink.Lagrange(), "substitution": nlink.Lagrange(solve="substitution"), "recursive": nlink.Recursive()}
counts, times = (2, 3, 4, 6), {name: [] for name in forms}
for n in counts:
    chain, states = nlink.Chain.uniform(n, shape="point"), np.random.default_rng(0).uniform(-2, 2, (2 * n, 100))
    rates = {name: nlink.formulate(chain, form).rates_of(states) for name, form in forms.items()}
    worst = max(np.abs(each - rates["recursive"]).max() for each in rates.values()) / np.abs(rates["recursive"]).max()
    print(f"{n} links: the three ways differ by {worst:.0e} of the largest rate")
    for name, form in forms.items():
        options = {"t_end": 1.0, "save": 1.0, "formulation": form, "integrator": nlink.RK4(step=2e-5), "strict": False}
        run = min((nlink.simulate(chain, 1.0, **options) for _ in range(3)), key=lambda run: run.stats.wall)
        times[name].append(run.stats.wall / run.stats.nfev * 1e9)
figure = Figure(figsize=(7, 4), layout="constrained")
ax = figure.subplots()
for name, each in times.items():
    ax.loglog(counts, each, "o-", label=name)
ax.set(xlabel="links", ylabel="an evaluation (ns)", xticks=counts, xticklabels=counts)
ax.minorticks_off()
ax.legend()
figure.savefig(folder / "times.png", dpi=130)
