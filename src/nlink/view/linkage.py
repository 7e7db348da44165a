"""A mechanism behind the curves of a plot: where it is at the start, in pale colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from nlink.mechanics.mechanism import Mechanism
from nlink.run.run import Run
from nlink.view.outline import outline
from nlink.view.strokes import Disc, Paint, Pencil, joints, moving, still
from nlink.view.style import Colour, mixed, palette, stroke

BAR, THICK = 4.0, 0.09
"""Width of a bar in points; how thick it is for the size of the symbols, in lengths of a link."""
PALE = 0.45
"""Share of the colours over the ground."""


def draw_linkage(axes: Axes, run: Run, colours: Sequence[Colour]) -> None:
    """Draw a mechanism in its first position; a chain is not drawn."""
    if not isinstance(run.chain, Mechanism):
        return
    drawn, theme = outline(run.chain, run.theta), palette()
    at, thickness = drawn.places(run.theta[0]), THICK * drawn.unit
    pencil = Pencil(thickness, thickness, thickness / BAR)

    def colour(paint: Paint) -> Colour:
        if paint == "stage":
            return theme.ground
        return mixed(colours[paint] if isinstance(paint, int) else getattr(theme, paint), theme.ground, PALE)

    for part in [*still(drawn, at, pencil), *moving(drawn, at, pencil), *joints(drawn, at, pencil)]:
        if isinstance(part, Disc):
            axes.plot(*part.at, "o", color=colour(part.paint), markersize=2 * stroke(BAR) * part.radius / thickness, zorder=1)
            continue
        if part.fill:
            axes.fill(*part.points.T, color=mixed(colour(part.paint), theme.ground, part.fill), zorder=1, linewidth=0)
        axes.plot(
            *np.asarray(part.points).T, color=colour(part.paint), linewidth=stroke(BAR) * part.width / thickness,
            solid_capstyle="round", solid_joinstyle="round", zorder=1,
        )  # fmt: skip
