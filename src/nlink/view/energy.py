"""The plot of the energies of a run, of the work of its loads, and of the residual of their balance."""

from __future__ import annotations

import itertools

from nlink.view.sheet import FEW, Sheet
from nlink.view.style import CURVES, DASHES, palette


def draw(sheet: Sheet) -> None:
    """Draw changes since the start, and the residual below."""
    t, energy = sheet.run.t, sheet.run.energy()
    upper, lower = sheet.over_time("change of energy (J)", "residual (J)", heights=(3, 1))
    rows = {"total": energy.kinetic + energy.potential, "kinetic": energy.kinetic, "potential": energy.potential}
    rows |= {f"work of\n{name.replace('_', ' ')}": work for name, work in energy.work.items() if work.any()}
    marker, looks = "." if len(t) <= FEW else "", itertools.cycle(zip(CURVES, DASHES, strict=True))
    for (name, values), (colour, dashes) in zip(rows.items(), looks, strict=False):
        style = {
            "color": getattr(palette(), colour),
            "linestyle": dashes,
            "linewidth": sheet.thin * (1.5 if name == "total" else 1.3),
        }
        upper.plot(t, values - values[0], label=name, marker=marker, **style)
    lower.plot(t, energy.residual, color=palette().ink, linewidth=1.0 * sheet.thin, marker=marker)
    lower.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
    sheet.legend(*upper.get_legend_handles_labels())
