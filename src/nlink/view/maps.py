"""Pictures of maps: flip times on a logarithmic colour scale, the forbidden region with its exact edge, and other quantities."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import matplotlib as mpl
import numpy as np
from matplotlib import cm, colors, patches, ticker
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure

from nlink._support.endings import check_ending
from nlink.view.map_page import Layer, map_page
from nlink.view.sheet import AnyAxes, letters_across, panels, whole_figure, wrapped
from nlink.view.style import (
    WIDE,
    Colour,
    Size,
    inches,
    letter,
    link_colours,
    minus,
    mixed,
    palette,
    picture,
    save_figure,
    stroke,
)

if TYPE_CHECKING:
    from nlink.analysis.maps import Map
    from nlink.analysis.plane import Axis

FORBIDDEN: Colour = (0.80, 0.83, 0.86)
NEVER: Colour = (0.075, 0.065, 0.11)
EDGE: Colour = (0.36, 0.41, 0.47)
TIMES = colors.ListedColormap(mpl.colormaps["inferno"](np.linspace(0.98, 0.12, 512)), "flip times")
"""Bright where links turn over soon, dark where late: it ends near the colour of those that never do."""
INCHES = 6.2
"""Size of the longer side of the map."""
CANNOT = "not enough energy to flip"
FAILED = 2
"""Least status of a start whose motion could not be followed to its end."""
OUTLINE = 400
"""Points a side at which the edge of the forbidden region is traced."""


@picture
def map_figure(
    found: Map,
    *,
    title: str = "",
    ax: AnyAxes = None,
    size: Size | str | None = None,
    theme: str | None = None,
) -> Figure:
    """Return the picture of a map."""
    x0, x1, y0, y1 = shown_region(found)
    figure, (axes,) = panels(inches(size, _figsize(found, (x1 - x0, y1 - y0)), (3.4, 3.4)), 1, title, ax, dress=False)
    if found.quantity == "link":
        handles = _links(axes, found)
    else:
        handles = []
        _values(figure, axes, found)
    if found.quantity in ("flip", "link"):
        handles += _forbid(axes, found)
        _name(axes, handles, ax is not None)
    axes.set(xlim=(x0, x1), ylim=(y0, y1), xlabel=label(found.plane.x), ylabel=label(found.plane.y))
    axes.set_aspect("equal" if found.plane.x.kind == found.plane.y.kind == "theta" else "auto")
    for axis, each, span in ((axes.xaxis, found.plane.x, x1 - x0), (axes.yaxis, found.plane.y, y1 - y0)):
        _ticks(axis, each, span)
    axes.tick_params(colors=palette().ink, labelsize=letter(0.9), width=0.8, length=3)
    for spine in axes.spines.values():
        spine.set(color=palette().muted, linewidth=stroke(0.8))
    what = wrapped(heading(found), letters_across(figure, 1.1))
    axes.set_title(what, loc="left", color=palette().ink, fontsize=letter(1.1), pad=8)
    return figure


def _name(axes: Axes, handles: list[patches.Patch], given: bool) -> None:
    """Say what the tones mean: below the map, in axes of a user below its labels."""
    style, figure = {"handles": handles, "frameon": False, "fontsize": letter(0.9)}, whole_figure(axes)
    if handles and given:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, **style)
    elif handles:
        figure.legend(loc="outside lower center", ncols=4 if figure.get_figwidth() > WIDE else 2, **style)


def save_map_picture(found: Map, path: str | os.PathLike[str], title: str = "", *, theme: str | None = None) -> Path:
    """Write the picture of a map (.png, .svg, .pdf), whole or not at all; a PNG has at least one dot for each pixel."""
    path = Path(path)
    check_ending("the picture of a map", path)
    dots = max(130, int(np.ceil(max(found.values.shape) / INCHES / 0.97)))
    return save_figure(map_figure(found, title=title, theme=theme), path, dots)


def chaos_page(
    found: Map,
    title: str = "",
    *,
    lines: list[tuple[str, str]] | None = None,
    path: str | os.PathLike[str] | None = None,
    theme: str | None = None,
) -> str | Path:
    """Return the page of a map, to zoom into and to read values from, or write it to `path`."""
    x, y = found.x * _scale(found.plane.x), found.y * _scale(found.plane.y)
    facts = [*(lines or []), ("map", summary(found))]
    axes = {"xlabel": plain(label(found.plane.x)), "ylabel": plain(label(found.plane.y))}
    name = plain(title or heading(found))
    return map_page(x, y, chaos_layers(found), **axes, title=name, summary=summary(found), lines=facts, path=path, theme=theme)


def chaos_layers(found: Map) -> list[Layer]:
    """Return the layers of a map's page: its values, and of flips which link flips first."""
    values = np.where(found.forbidden, -np.inf, found.values) if found.quantity == "flip" else found.values
    blank, never = (CANNOT, _never(found)) if found.quantity == "flip" else ("", "")
    layers = [Layer(found.meaning, values, found.unit, log=found.quantity in ("flip", "energy"), blank=blank, never=never)]
    if found.link is not None:
        kinds = ("not enough energy", "no flip", *(f"link {i + 1} flips first" for i in range(found.chain.n)))
        first = Layer("first flip", np.where(found.forbidden, 0, found.link + 1), kinds=kinds)
        layers = [first] if found.quantity == "link" else [*layers, first]
    return layers


def _never(found: Map) -> str:
    return f"no flip within {abs(found.plane.t_end):.4g} s"


def summary(found: Map) -> str:
    """Return the size of a map and the shares of its pixels, in words."""
    text = f"{len(found.x)} \N{MULTIPLICATION SIGN} {len(found.y)} starts to t = {found.plane.t_end:.6g} s"
    failed = int((found.status >= FAILED).sum())
    text += f", {failed} of them failed" if failed else ""
    if found.link is None:
        known = found.values[np.isfinite(found.values)]
        return text + (f": {found.meaning} {known.min():.4g} to {known.max():.4g} {found.unit}".rstrip() if len(known) else "")
    shares = {"flip": found.link > 0, "do not": (found.link == 0) & ~found.forbidden, "cannot": found.forbidden}
    return f"{text}: " + ", ".join(f"{100 * share.mean():.1f} % {name}" for name, share in shares.items())


def plain(text: str) -> str:
    """Return a label without the signs of its typesetting."""
    return re.sub(r"\$\\(theta|omega)_\{(\d+)\}\$", r"\1\2", text)


def heading(found: Map) -> str:
    """Return what a map shows, in words."""
    links = found.chain.n
    what = found.meaning[:1].upper() + found.meaning[1:]
    return f"{what}: {links} link{'s' * (links > 1)}{_slice(found)}"


def label(axis: Axis) -> str:
    """Return the name of an axis with its unit."""
    if axis.kind == "vary":
        return axis.name.replace("_", " ") + (f" ({axis.unit})" if axis.unit else "")
    return rf"$\{axis.kind}_{{{axis.link + 1}}}$ ({'degrees' if axis.kind == 'theta' else 'rad/s'})"


def shown_region(found: Map) -> tuple[float, float, float, float]:
    """Return the outer edges as they are shown: angles in degrees."""
    x0, x1, y0, y1 = found.region
    xs, ys = (_scale(axis) for axis in (found.plane.x, found.plane.y))
    return x0 * xs, x1 * xs, y0 * ys, y1 * ys


def _scale(axis: Axis) -> float:
    return 180.0 / np.pi if axis.kind == "theta" else 1.0


def _slice(found: Map) -> str:
    """Return where the plane lies: the angles and rates that are not on its axes, if any is not zero."""
    parts = []
    for kind, values, scale, unit in (
        ("theta", found.plane.theta, 180.0 / np.pi, "\N{DEGREE SIGN}"),
        ("omega", found.plane.omega, 1.0, " rad/s"),
    ):
        taken = [axis.link for axis in (found.plane.x, found.plane.y) if axis.kind == kind]
        rest = [(i, value * scale) for i, value in enumerate(values) if i not in taken]
        if (found.chain.n > 2 and kind == "theta" and rest) or any(value for _, value in rest):
            parts += [rf"$\{kind}_{{{i + 1}}}$ = {value:.4g}{unit}" for i, value in rest[:4]] + ["..."] * (len(rest) > 4)
    return f", {', '.join(parts)}" if parts else ""


def _values(figure: Figure, axes: Axes, found: Map) -> None:
    flips = found.quantity == "flip"
    colours = TIMES if flips else palette().viridis if found.quantity == "steps" else mpl.colormaps["magma"]
    norm = _norm(found, flips)
    _image(axes, found, colours(norm(np.ma.masked_invalid(found.values))))
    bar = figure.colorbar(cm.ScalarMappable(norm, colours), ax=axes, shrink=0.82, aspect=32, pad=0.02, extend=_beyond(found, norm))
    bar.set_label(found.meaning + (f" ({found.unit})" if found.unit else ""), color=palette().ink, fontsize=letter(0.9))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
    bar.ax.tick_params(labelsize=letter(0.8), colors=palette().ink, width=0.6, length=3)
    if flips:
        ticks = _round_times(norm)
        bar.set_ticks(ticks, labels=[f"{t:g}" for t in ticks])
        bar.ax.yaxis.set_minor_formatter(ticker.NullFormatter())
        bar.ax.minorticks_off()


def _round_times(norm: colors.Normalize) -> list[float]:
    """Return round numbers within the scale: 1, 2, 5, ..., or every digit where these are few."""
    for digits in ((1, 2, 5), range(1, 10)):
        times = [digit * 10.0**power for power in range(-6, 7) for digit in digits if 0.0 <= norm(digit * 10.0**power) <= 1.0]
        if len(times) > 3:
            break
    return times


def _norm(found: Map, flips: bool) -> colors.Normalize:
    """Return the scale: logarithmic for times and residuals, between the values that all but a few lie within."""
    known = found.values[np.isfinite(found.values)]
    if flips:
        least = float(np.percentile(known, 2)) if len(known) else 0.1 * abs(found.plane.t_end)
        return colors.LogNorm(max(least, 1e-3 * abs(found.plane.t_end)), abs(found.plane.t_end))
    if found.quantity == "energy" and (known > 0).any():
        low, high = np.percentile(known[known > 0], (0.5, 99.5))
        return colors.LogNorm(low, max(high, 1.0001 * low))
    low, high = np.percentile(known, (0.2, 99.8)) if len(known) else (0.0, 1.0)
    return colors.Normalize(low, high if high > low else low + 1.0)


def _beyond(found: Map, norm: colors.Normalize) -> Literal["neither", "min", "max", "both"]:
    places = norm(found.values[np.isfinite(found.values)])
    below, above = (places < 0.0).any(), (places > 1.0).any()
    return "both" if below and above else "min" if below else "max" if above else "neither"


def _links(axes: Axes, found: Map) -> list[patches.Patch]:
    colours = [mixed(colour, (1.0, 1.0, 1.0), 0.8) for colour in link_colours(found.chain.n)]
    _image(axes, found, np.array([(*colour, 1.0) for colour in (NEVER, *colours)])[found.values.astype(int)])
    return [
        patches.Patch(facecolor=colours[i], label=f"link {i + 1}") for i in range(found.chain.n) if (found.values == i + 1).any()
    ]


def _image(axes: Axes, found: Map, colours: np.ndarray) -> None:
    """Draw an image of colours (Y, X, 4), pixels without a value in their own."""
    image = np.array(colours, float)
    image[~np.isfinite(found.values)] = (*NEVER, 1.0)
    if found.quantity in ("flip", "link"):
        image[found.forbidden] = (*FORBIDDEN, 1.0)
    axes.imshow(image, origin="lower", extent=shown_region(found), interpolation="auto", interpolation_stage="rgba")


def _forbid(axes: Axes, found: Map) -> list[patches.Patch]:
    """Draw the edge of the forbidden region, where the energy is just that of the cheapest flip; return what the tones mean."""
    handles = []
    if found.forbidden.any():
        x0, x1, y0, y1 = found.region
        x, y = np.linspace(x0, x1, OUTLINE), np.linspace(y0, y1, OUTLINE)
        over = found.plane.margin(x, y)
        if over is not None:
            across, up = _scale(found.plane.x), _scale(found.plane.y)
            axes.contour(x * across, y * up, over, levels=[0.0], colors=[EDGE], linewidths=0.9)
        handles.append(patches.Patch(facecolor=FORBIDDEN, edgecolor=EDGE, linewidth=0.8, label=CANNOT))
    if found.link is not None and ((found.link == 0) & ~found.forbidden).any():
        handles.append(patches.Patch(facecolor=NEVER, edgecolor=EDGE, linewidth=0.8, label=_never(found)))
    return handles


def _ticks(axis: XAxis | YAxis, each: Axis, span: float) -> None:
    """Put ticks of angles at parts of a turn."""
    if each.kind != "theta":
        return
    for step in (180, 90, 45, 30, 15, 10, 5):
        if 4 <= span / step <= 9:
            axis.set_major_locator(ticker.MultipleLocator(step))
            break
    digits = max(0, math.ceil(1.0 - math.log10(span)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _degrees(value, digits)))


def _degrees(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if digits else text
    return minus(f"{text}\N{DEGREE SIGN}")


def _figsize(found: Map, spans: tuple[float, float]) -> tuple[float, float]:
    same = found.plane.x.kind == found.plane.y.kind == "theta"
    ratio = min(max(spans[1] / spans[0], 0.3), 2.0) if same else 1.0
    wide, high = (INCHES, INCHES * ratio) if ratio <= 1 else (INCHES / ratio, INCHES)
    return wide + 1.6, high + 1.1
