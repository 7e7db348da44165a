"""What a kind of plot is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nlink.run.run import Run
from nlink.view.sheet import Sheet


@dataclass(frozen=True)
class PlotKind:
    """One plot: what it shows, how it is drawn, which runs it suits, what it needs if others have no such plot at all, and what it
    shows where there are sliders.
    """

    meaning: str
    draw: Callable[[Sheet], None]
    suits: Callable[[Run], bool] = lambda run: True
    needs: str = ""
    sliders: str = ""
