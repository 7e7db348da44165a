"""When a double pendulum flips.

Two equal rods start at rest from every pair of angles. The colour says when a link first turns over. In the grey region no link
can: the energy does not suffice. For two equal rods that is where 3 cos(theta1) + cos(theta2) > 2; nlink finds the rule for any
open chain. Near its edge flips come late. Between the smooth bays neighbouring starts flip at unrelated times; the second picture
enlarges a part.

The map is symmetric under a change of both signs, so nlink computes half of it, and no start without the energy. `nlink map flip
--size 1000x1000 -o flip.html` makes a page to zoom into.
"""

import sys
from pathlib import Path

import numpy as np

import nlink
from nlink.view.map_page import Layer, map_page

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
found = nlink.chaos_map(nlink.Chain.uniform(2), "flip", size=(500, 500))
found.plot().savefig(folder / "flips.png", dpi=130)
small = nlink.chaos_map(nlink.Chain.uniform(2), "flip", size=(300, 300), region=(1.5, 2.1, 1.5, 2.1))
small.plot().savefig(folder / "zoom.png", dpi=130)
layers = [Layer("first flip", found.values, "s"), Layer("link", found.link.astype(float), "")]
map_page(found.x, found.y, layers, xlabel="theta1 (rad)", ylabel="theta2 (rad)", path=folder / "map.html")
flips, cannot = np.isfinite(found.values).mean(), found.forbidden.mean()
print(f"{flips:.1%} of the starts flip within {40 / np.sqrt(9.81):.1f} s, {cannot:.1%} lack the energy")
