"""Pictures of ensembles: an output of each member, or its course over the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from nlink._support.checks import ModelError, choice, shown
from nlink.view.sheet import AnyAxes, panels, subtitle
from nlink.view.style import Size, inches, palette, picture, stroke

if TYPE_CHECKING:
    import xarray

    from nlink.ensemble.accessor import EnsembleAccessor

LINES, DOTS = 300, 5000
"""Most members whose courses are drawn, and members from which on dots become smaller."""


@picture
def ensemble_figure(
    many: EnsembleAccessor,
    name: str | None = None,
    *,
    over: str | None = None,
    link: int = -1,
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return an output of the members, as dots over the member or over another output, or as lines over the time."""
    dataset = many.dataset
    names = [str(key) for key in dataset.data_vars if key != "status"] or ["status"]
    values = _of_link(dataset[names[0] if name is None else choice("name", name, [*names, "status"])], link)
    figure, (axes,) = panels(inches(size, (8.0, 5.0)), 1, "Ensemble", ax)
    dims = [str(dim) for dim in values.dims if dim != "member"]
    if len(dims) > 1:
        raise ModelError(f"{shown(str(values.name))} has the dimensions {', '.join(map(str, values.dims))}; choose one with fewer")
    members = values.sizes.get("member", 1)
    if dims:
        rows = np.unique(np.linspace(0, members - 1, min(members, LINES)).round().astype(int))
        courses = values.transpose(dims[0], "member").values[:, rows]
        axes.plot(dataset[dims[0]].values, courses, linewidth=stroke(0.7), alpha=0.5, color=palette().second)
        axes.set_xlabel(_label(dataset[dims[0]]))
    else:
        variables = [str(key) for key in dataset.variables]
        across = None if over is None else _of_link(dataset[choice("over", over, variables)], link)
        area = stroke(1.0) ** 2 * (9.0 if members < DOTS else 2.0)
        x = np.arange(members) if across is None else across.values
        axes.scatter(x, values.values, s=area, linewidths=0, rasterized=members > DOTS, color=[palette().second])
        axes.set_xlabel("member" if across is None else _label(across))
    axes.set_ylabel(_label(values))
    subtitle(axes, f"{members:,} members")
    return figure


def _of_link(values: xarray.DataArray, link: int) -> xarray.DataArray:
    if "link" not in values.dims:
        return values
    n = values.sizes["link"]
    if not -n <= link < n:
        raise ModelError(f"link must be from 0 to {n - 1}, or from -{n} to -1, got {shown(link)}")
    one, attributes = values.isel(link=link, drop=True), values.attrs
    return one.assign_attrs(attributes | {"long_name": f"{attributes.get('long_name', values.name)}, link {link % n + 1}"})


def _label(values: xarray.DataArray) -> str:
    unit = values.attrs.get("units")
    return str(values.attrs.get("long_name", values.name)) + (f" ({unit})" if unit and unit != "1" else "")
