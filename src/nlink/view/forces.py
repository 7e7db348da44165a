"""The plot of the forces at the hinges and at the pins.

Near a dead position of a closed chain they may be huge, at it infinite: the axis then ends above all but the highest
peaks, the lines run out of it, and the title says so.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from nlink.mechanics import kinematics
from nlink.view.outline import floating
from nlink.view.sheet import FEW, Sheet
from nlink.view.style import palette

PEAK = 50
"""Forces that peak this many times above their median are shown on a logarithmic scale."""
HIGH = 99
"""The percentile of the forces that the axis is sure to show,"""
ROOM = 100
"""and how many times above it the axis may end."""


def draw(sheet: Sheet) -> None:
    """Draw the magnitudes over time."""
    chain = sheet.run.chain
    joint = "joint" if chain.slides.any() else "hinge"
    (axes,) = sheet.over_time("force (N)" if chain.closed else f"{joint} force (N)", dead=True)
    t, force = _forces(sheet)
    unheld = set() if sheet.chosen else floating(chain)
    sheet.links = [i for i in sheet.links if i not in unheld]
    shown = [*sheet.links, *range(chain.n, force.shape[1])]
    force[:, shown] = _limited(sheet, axes, force[:, shown])
    sheet.lines(axes, t, force)
    style = {"color": palette().accent, "linewidth": 1.2 * sheet.thin, "marker": sheet.marker, "zorder": 3.5}
    pins = axes.plot(t, force[:, chain.n :], "--", **style)
    sheet.name_links(r"$|R_{{{i}}}|$", more=dict(zip(["pins" if len(pins) > 1 else "pin"], pins, strict=False)))


def _forces(sheet: Sheet) -> tuple[np.ndarray, np.ndarray]:
    """Return times and magnitudes (T, N), with C pins (T, N+C): at the saved points, as their forces are known nowhere else."""
    run, motion = sheet.run, sheet.motion
    if not run.chain.closed:
        return motion.t, np.linalg.norm(kinematics.reactions(run.chain, *motion[1:]), axis=-1)
    sheet.marker = sheet.marker or ("." if len(run.t) <= FEW else "")
    return run.t, np.linalg.norm(run.reactions(), axis=-1)


def _limited(sheet: Sheet, axes: Axes, force: np.ndarray) -> np.ndarray:
    """Set the scale and the ends of the axis; return the forces, those not finite put above its end."""
    known = force[np.isfinite(force)]
    middle, high, most = np.percentile(known, (50, HIGH, 100)) if known.any() else (0.0, 0.0, 1.0)
    top = min(most, ROOM * high) if high > 0 else most
    lost = int(np.count_nonzero(~np.isfinite(force).all(1)))
    if most > PEAK * middle > 0:
        axes.set_yscale("log")
        axes.set_ylim(1e-3 * middle, 1.5 * top)
    else:
        axes.set_ylim(0.0, 1.05 * top)
    reasons = [f"peaks reach {most:.2g} N"] * bool(most > top) + [f"not finite at {lost} of {len(force)} times"] * bool(lost)
    sheet.note = f"axis cut: {', '.join(reasons)}" if reasons else ""
    return np.nan_to_num(force, nan=100 * top, posinf=100 * top)
