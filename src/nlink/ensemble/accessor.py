"""`dataset.nlink`: what an ensemble's Dataset can do besides being one of xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xarray

from nlink._support.lazy import shown_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@xarray.register_dataset_accessor("nlink")
class EnsembleAccessor:
    """Pictures of an ensemble."""

    def __init__(self, dataset: xarray.Dataset) -> None:
        self.dataset = dataset

    @shown_by("ensemble.ensemble_figure")
    def plot(
        self,
        name: str | None = None,
        *,
        over: str | None = None,
        link: int = -1,
        ax: Axes | None = None,
        size: tuple[float, float] | str | None = None,
        theme: str | None = None,
    ) -> Figure:
        """Return an output over the members, or over another output of one number a member; with a time, over the time.

        Parameters
        ----------
        name : the output; the first if not given
        over : an output or coordinate of the members that is drawn across; sorted members if not given
        link : which link, from 0, if the output has one number for each; -1 is the last
        ax : Matplotlib axes to draw into
        size : inches, (8, 5) if not given; or "column", for the column of a journal
        theme : light or dark; as Matplotlib's style if not given

        >>> from nlink import Chain, simulate_many
        >>> many = simulate_many(Chain.uniform(2), [[0.5, 0.5], [1.0, 1.0]], t_end=1.0)
        >>> many.nlink.plot("omega", over="theta").axes[0].get_xlabel()
        'angles at the end, link 2 (rad)'
        """
        ...
