"""The plot of coupler curves: the paths in the plane of points on the links between the first and the last of a closed chain.

Of three links (a four-bar) the one coupler shows its ends, its middle, and the points a third of its length to the left
and right of it; of more links the inner ones show their middles.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.run.run import Run
from nlink.view.sheet import LEGEND, Sheet
from nlink.view.style import DASHES, palette

NEEDS = "a closed chain of three links or more: one with a pin"
ASIDE = 1 / 3
"""Distance of the points beside the coupler from its middle, in its lengths."""
POINTS = {"end 1": "fifth", "end 2": "second", "middle": "accent", "l/3 left": "third", "l/3 right": "fourth"}
"""The points of a four-bar's coupler and their colours in the theme."""


def suits(run: Run) -> bool:
    """Whether the chain has couplers."""
    return run.chain.pin is not None and run.chain.n > 2


def draw(sheet: Sheet) -> None:
    """Draw the curves over the linkage in its first position."""
    axes, chain = sheet.plane(), sheet.run.chain
    _draw_linkage(axes, chain, sheet.run.theta[0])
    if chain.n == 3:
        _draw_coupler(sheet, axes)
        return
    middles = _middles(chain, sheet.motion.theta)
    for link in sorted({*range(1, chain.n - 1)} & {*sheet.links}):
        sheet.line(axes, middles[:, link, 0], middles[:, link, 1], link)
    sheet.name_links("link {i}")


def _draw_coupler(sheet: Sheet, axes: Axes) -> None:
    paths = _points(sheet.run.chain, sheet.motion.theta)
    start = _points(sheet.run.chain, sheet.run.theta[:1])[0]
    axes.plot(*start[3:].T, color=palette().muted, linewidth=1.0, alpha=0.5, zorder=1)
    colours, style = [getattr(palette(), name) for name in POINTS.values()], {"linewidth": 1.5 * sheet.thin, "marker": sheet.marker}
    axes.scatter(*start.T, s=22, c=colours, zorder=4)
    looks = zip(paths.swapaxes(0, 1), colours, DASHES, strict=False)
    lines = [axes.plot(*path.T, color=colour, linestyle=dashes, **style)[0] for path, colour, dashes in looks]
    sheet.legend(lines, list(POINTS))


def _draw_linkage(axes: Axes, chain: Multibody, theta: np.ndarray) -> None:
    """Draw the links faintly, with their hinges if these are few."""
    marker, width = ("o", 2.5) if chain.n <= LEGEND else ("", 1.2)
    axes.plot(
        *kinematics.hinges(chain, theta).T, color=palette().muted, linewidth=width, alpha=0.5, marker=marker, markersize=4, zorder=1
    )


def _points(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the points of a four-bar's coupler in the order of POINTS, (T, 5, 2) in m."""
    ends, middle = kinematics.hinges(chain, theta)[:, 1:3], _middles(chain, theta)[:, 1:2]
    aside = ASIDE * chain.length[1] * kinematics.directions(theta)[1][:, 1:2]
    return np.concatenate([ends, middle, middle + aside, middle - aside], axis=1)


def _middles(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the middles of the links, (T, N, 2) in m."""
    hinges = kinematics.hinges(chain, theta)
    return (hinges[:, :-1] + hinges[:, 1:]) / 2
