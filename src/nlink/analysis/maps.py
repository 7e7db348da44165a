"""chaos_map(): a quantity of the motion over a plane of starts or parameters: when links turn over, how fast starts part, ...

Pixels are computed at their centres. On a region that is symmetric about zero these are exact negatives of each other, and where
the chain has no left and right (no offsets, springs at rest in line, nothing that pushes sideways) the map is its own mirror image
to the last bit: half of it is computed. Of a flip map, starts that have not the energy to turn over (flip_barrier.py) are not run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import SHORT, ModelError, choice, listed, whole
from nlink._support.lazy import shown_by
from nlink._support.showing import short
from nlink.analysis.plane import Plane, centres, edges, half, make_plane
from nlink.ensemble import Final, simulate_many
from nlink.ensemble.backends import Backend
from nlink.ensemble.outputs import PLAIN, Keep
from nlink.integrators.accuracy import MAPS
from nlink.mechanics.chain import Multibody

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SKIPPED = -1
"""Status of a pixel that was not run: forbidden."""


class Quantity(NamedTuple):
    """What a map can show: what is kept, under which name, its unit and its meaning, and whether there is one for each link."""

    keep: type[Keep]
    source: str
    unit: str
    label: str
    of_links: bool


QUANTITIES = {
    output.quantity: Quantity(keep, name, output.units, output.label, bool(output.dims))
    for keep in PLAIN
    for name, output in keep().outputs(1).items()
    if output.quantity
} | {"steps": Quantity(Final, "steps", "", "steps", of_links=False)}
FLIPS = ("flip", "link")
MOST_SIDE, MOST_PIXELS = 1_000_000, 100_000_000
"""Pixels of a map."""


@short
@dataclass(frozen=True)
class Map:
    """A quantity over a plane: values (Y, X) at the pixel centres x (X,) and y (Y,).

    Parameters
    ----------
    quantity, unit, meaning : what the values are; a flip that does not come within t_end is NaN
    link : (Y, X) which link flips first, from 1, 0 if none does; None for other quantities
    status : (Y, X) as from `simulate_many`; -1 for pixels not run because they are forbidden
    forbidden : (Y, X) whether the start has not the energy to flip; all False where there is no rule
    plane, region : chain, axes and shared start; (x0, x1, y0, y1), the outer edges
    settings : version, tolerances and the like
    """

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    link: np.ndarray | None
    status: np.ndarray
    forbidden: np.ndarray
    plane: Plane
    region: tuple[float, float, float, float]
    quantity: str = "flip"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def chain(self) -> Multibody:
        """The chain, as it is where no parameter varies."""
        return self.plane.chain

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return QUANTITIES[_quantity(self.quantity, self.chain.n)[0]].unit

    @property
    def meaning(self) -> str:
        """What the values are, in words."""
        name, link = _quantity(self.quantity, self.chain.n)
        return QUANTITIES[name].label + (f" of link {link + 1}" if QUANTITIES[name].of_links else "")

    @shown_by("maps.map_figure")
    def plot(self, *, ax: Axes | None = None, size: tuple[float, float] | str | None = None, theme: str | None = None) -> Figure:
        """Return the picture of the map; its parameters are as in `Run.plot`."""
        ...


def chaos_map(
    chain: Multibody,
    quantity: str = "flip",
    *,
    x: str = "theta1",
    y: str | None = None,
    region: Sequence[float] | None = None,
    size: int | tuple[int, int] = (200, 200),
    at: ArrayLike = 0.0,
    omega: ArrayLike = 0.0,
    t_end: float | None = None,
    rtol: float = MAPS,
    atol: float = MAPS,
    backend: Backend | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Map:
    """Return a map of a quantity of the motion over a plane of starts or parameters.

    Parameters
    ----------
    quantity : "flip" (time of the first flip in s), "link" (which one flips), "ftle", "energy" (largest residual), or an output of
        `simulate_many` like "largest_theta[2]" (of link 2; without a number, of the last)
    x, y : axes: theta1 ... thetaN, omega1 ... omegaN, or a parameter like mass[2] or gravity; y is theta2 if not given
    region : (x0, x1, y0, y1), outer edges in rad, rad/s or the unit of the parameter; whole turns of angles if not given
    size : pixels (across, up), up to 100 million
    at, omega : angles (rad) and rates (rad/s) of the links that are not on an axis: one number, or N
    t_end : s; if not given 40 sqrt(l/g), l being the mean length of the links
    rtol, atol : tolerances; flips of long chaotic motions need tight ones
    backend, store, progress : as for `simulate_many`

    >>> from nlink import Chain
    >>> found = chaos_map(Chain.uniform(2), size=(8, 8), t_end=3.0)
    >>> found.values.shape, bool(found.forbidden[4, 4])
    ((8, 8), True)
    """
    plane = make_plane(chain, x, y, at, omega, t_end)
    name, part = _quantity(quantity, chain.n)
    region = edges(region, plane)
    across, up = _size(size)
    xs, ys = centres(region[0], region[1], across), centres(region[2], region[3], up)
    over = plane.margin(xs, ys)
    forbidden = np.zeros((up, across), bool) if over is None else over < 0
    mirror = None if QUANTITIES[name].of_links else plane.mirrored()  # angles and rates change their sign in a mirror
    down, right = (-1 if turned else 1 for turned in mirror or (False, False))
    own = half(xs, ys, mirror)
    rows, columns = np.nonzero(own & ~forbidden if name in FLIPS else own)
    options = {"rtol": rtol, "atol": atol, "backend": backend, "store": store, "progress": progress}
    outputs, settings = _run(plane, xs[columns], ys[rows], name, part, options)

    def image(each: str, fill: float, dtype: type) -> np.ndarray:
        made = np.full((up, across), fill, dtype)
        made[rows, columns] = outputs.get(each, fill)
        return np.where(own, made, made[::down, ::right])

    values = image(QUANTITIES[name].source, 0.0 if name == "link" else np.nan, float)
    link = image("flip_link", 0, np.int32) if name in FLIPS else None
    return Map(xs, ys, values, link, image("status", SKIPPED, np.int8), forbidden, plane, region, quantity, settings)


def _run(
    plane: Plane, x: np.ndarray, y: np.ndarray, name: str, part: int, options: dict[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the outputs (members,) at points, by name, and the settings of the runs."""
    settings: dict[str, Any] = {"t_end": plane.t_end, "rtol": options["rtol"], "atol": options["atol"]}
    if not len(x):
        return {}, settings
    keep, source = QUANTITIES[name].keep(), QUANTITIES[name].source
    theta, omega, vary = plane.starts(x, y)
    found = simulate_many(plane.chain, theta, omega, t_end=plane.t_end, vary=vary, keep=keep, **options)
    names = {source, "status"} | ({"flip_link"} if name in FLIPS else set())
    outputs = {each: found[each].values if found[each].ndim == 1 else found[each].values[:, part] for each in names}
    return outputs, settings | {key: found.attrs[key] for key in ("integrator", "nlink_version")}


def _quantity(text: str, n: int) -> tuple[str, int]:
    """Return the name of a quantity and the link (from 0) that it is of."""
    found = re.fullmatch(r"([a-z_]+)(?:\[([0-9]{1,8})\])?", str(text).strip()[:200])
    name = choice("the quantity of a map", found.group(1) if found else text, QUANTITIES)
    link = int(found.group(2)) if found and found.group(2) else n
    if not 1 <= link <= n:
        raise ModelError(f"{str(text)[:SHORT]}: links count from 1 to {n}")
    return name, link - 1


def _size(size: object) -> tuple[int, int]:
    across, up = tuple(size) if listed(size) and len(size) == 2 else (size, size)
    across, up = whole("size", across, most=MOST_SIDE), whole("size", up, most=MOST_SIDE)
    if across * up > MOST_PIXELS:
        raise ModelError(f"size must have at most {MOST_PIXELS:,} pixels, got {across} x {up}; map a part of the region")
    return across, up
