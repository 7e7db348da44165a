"""A hanging chain and Bessel's function.

Bessel's function J0 first appeared in the small swings of a hanging chain (Daniel Bernoulli, 1732). A heavy string of length L
has the frequencies (j_k/2) sqrt(g/L), where j_k are the zeros of J0, and the shapes J0(j_k sqrt(s/L)), where s is the height
above the free end.

The frequencies of a chain of N rods approach these as 1/N^2. `modes` takes a fraction of a second for 1000 links: in differences
of neighbouring angles the matrices of a chain are banded. The page below plays the modes of 20 links.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.special import j0, jn_zeros

import nlink
from nlink.view.modes_page import modes_page

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
exact = jn_zeros(0, 5) / 2 * np.sqrt(9.81)
figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
for n in (10, 100, 1000):
    found = nlink.modes(nlink.Chain.uniform(n, length=1 / n, mass=1 / n), count=5)
    frequencies = np.sort(np.abs([mode.frequency for mode in found]))[:5]
    left.loglog(range(1, 6), np.abs(frequencies / exact - 1), "o-", label=f"{n} links")
    print(f"{n:4d} links: {np.round(frequencies, 4)} rad/s")
print(f"Bessel:     {np.round(exact, 4)} rad/s")
left.set(xlabel="mode", ylabel="relative error of the frequency")
left.legend()
s = np.linspace(0, 1, 200)
for k, zero in enumerate(jn_zeros(0, 3)):
    right.plot(j0(zero * np.sqrt(s)), s - 1, label=f"mode {k + 1}")
right.set(xlabel="J0(j sqrt(s/L))", ylabel="y (m)")
right.legend()
figure.savefig(folder / "modes.png", dpi=130)
chain = nlink.Chain.uniform(20, length=1 / 20, mass=1 / 20)
small, title = nlink.linearize(chain), "a hanging chain of 20 links"
modes_page(nlink.Scenario(chain, [0.0] * 20, title=title), small, small.table(), folder / "modes.html")
