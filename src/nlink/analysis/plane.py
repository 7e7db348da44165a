"""The plane of a map: two axes, the start and the chain that its points share, and its mirror image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, angle_or_each, listed, number, number_or_each, shown, spread
from nlink.analysis.flip_barrier import margin
from nlink.ensemble.varied import Varied
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import Parameter
from nlink.mechanics.mechanism import plain_chain
from nlink.mechanics.parameters import PARAMETERS

PERIODS = 40.0
"""Length of a map in units of sqrt(l/g), l being the mean length of the links."""
BAND = 200_000
"""Points whose energies are computed at once."""
STARTS = {"theta": "rad", "omega": "rad/s"}
"""Units of what a start has."""


@dataclass(frozen=True)
class Axis:
    """An axis of a map: the angle or the rate of a link (from 0), or a parameter that `vary` knows."""

    name: str
    kind: str
    link: int = -1

    @property
    def unit(self) -> str:
        """Unit of its values."""
        return STARTS.get(self.kind) or self.parameter.unit

    @property
    def parameter(self) -> Parameter:
        """What varies, if it is not the start."""
        return PARAMETERS[re.sub(r"^loads\.|\[\d+\]$", "", self.name)].parameter


@dataclass(frozen=True)
class Plane:
    """The plane of a map: its axes and what all its starts share."""

    chain: Multibody
    x: Axis
    y: Axis
    theta: np.ndarray
    omega: np.ndarray
    t_end: float

    def starts(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return angles and rates (members, N) and parameters of the points x, y (members,)."""
        theta, omega = (np.tile(values, (len(x), 1)) for values in (self.theta, self.omega))
        vary = {}
        for axis, values in ((self.x, x), (self.y, y)):
            if axis.kind == "vary":
                vary[axis.name] = values
            else:
                (theta if axis.kind == "theta" else omega)[:, axis.link] = values
        return theta, omega, vary

    def margin(self, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Return by how much the energy exceeds that of the cheapest flip, (len(y), len(x)) in J; None if there is no rule."""
        rows, bands = max(1, BAND // len(x)), []
        for first in range(0, len(y), rows):
            grids = np.meshgrid(x, y[first : first + rows])
            band = margin(self.chain, *self.starts(*(grid.ravel() for grid in grids)), self.t_end)
            if band is None:
                return None
            bands.append(band.reshape(-1, len(x)))
        return np.concatenate(bands)

    def mirrored(self) -> tuple[bool, bool] | None:
        """Return which of y and x the mirror turns around; None if the plane is not its own mirror image."""
        turned = self.y.kind != "vary", self.x.kind != "vary"
        theta, omega, _ = self.starts(np.zeros(1), np.zeros(1))
        sided = any(axis.parameter.odd for axis in (self.x, self.y) if axis.kind == "vary")
        resting = not (theta.any() or omega.any())
        return turned if any(turned) and not sided and resting and symmetric(self.chain) else None


def make_plane(
    chain: Multibody, x: str, y: str | None, at: ArrayLike = 0.0, omega: ArrayLike = 0.0, t_end: float | None = None
) -> Plane:
    """Return the plane of a map, checked."""
    chain = plain_chain("chaos_map", chain, "simulate it from each start")
    first, second = axis("x", x, chain), axis("y", y or ("theta2" if chain.n > 1 else "omega1"), chain)
    if (first.kind, first.link) == (second.kind, second.link) and (first.kind != "vary" or first.name == second.name):
        raise ModelError(f"x and y must differ, got {first.name} for both")
    theta, rates = (
        np.array(spread(name, check(name, v), chain.n, "links"), float)
        for name, check, v in (("at", angle_or_each, at), ("omega", number_or_each, omega))
    )
    if t_end is None and not chain.g:
        raise ModelError("t_end must be given for a chain without gravity: it has no time scale of its own")
    scale = PERIODS * np.sqrt(chain.length.sum() / chain.n / abs(chain.g)) if chain.g else 0.0
    end = float(scale) if t_end is None else number("t_end", t_end)
    return Plane(chain, first, second, theta, rates, end)


def axis(where: str, name: str, chain: Multibody) -> Axis:
    """Return the axis of this name."""
    text = str(name).strip()[:200]
    found = re.fullmatch(r"(theta|omega)\[?([0-9]{1,8})\]?", text)
    if found:
        if chain.pin:
            raise ModelError(f"{where} = {text}: the links of a closed chain cannot start one by one; vary parameters of it")
        if not 1 <= int(found.group(2)) <= chain.n:
            raise ModelError(f"{where} = {text}: links count from 1 to {chain.n}")
        return Axis(f"{found.group(1)}{int(found.group(2))}", found.group(1), int(found.group(2)) - 1)
    try:
        Varied(chain, {text: np.ones(1)}, 1)
    except ModelError as error:
        told = str(error).removeprefix("vary ").removeprefix("does not know ")
        raise ModelError(
            f"{where} must be theta1 ... theta{chain.n}, omega1 ... omega{chain.n} or a parameter; got {told}"
        ) from None
    return Axis(text, "vary")


def symmetric(chain: Multibody) -> bool:
    """Whether the mirror image of every motion of the chain (theta -> -theta) is a motion of it."""
    return not (chain.offset.any() or chain.pin) and all(load.symmetric for load in chain.loads)


def centres(low: float, high: float, count: int) -> np.ndarray:
    """Return the centres of `count` pixels between two edges: exact negatives of each other if the edges are."""
    return 0.5 * (low + high) + (np.arange(count) - 0.5 * (count - 1)) * ((high - low) / count)


def edges(region: Sequence[float] | None, plane: Plane) -> tuple[float, float, float, float]:
    """Return the edges of a region (x0, x1, y0, y1), checked; whole turns of two angles if none is given."""
    if region is None:
        for where, each in (("x", plane.x), ("y", plane.y)):
            if each.kind != "theta":
                raise ModelError(f"region must be given for {where} = {each.name}: (x0, x1, y0, y1)")
        region = (-np.pi, np.pi, -np.pi, np.pi)
    if not listed(region) or len(region) != 4:
        raise ModelError(f"region must be (x0, x1, y0, y1), got {shown(region)}")
    x0, x1, y0, y1 = (number(f"region[{k}]", value) for k, value in enumerate(region))
    if not (x0 < x1 and y0 < y1):
        raise ModelError(f"region must be (x0, x1, y0, y1) with x0 < x1 and y0 < y1, got ({x0:g}, {x1:g}, {y0:g}, {y1:g})")
    return x0, x1, y0, y1


def half(x: np.ndarray, y: np.ndarray, mirror: tuple[bool, bool] | None) -> np.ndarray:
    """Return which pixels (Y, X) have to be computed: half of them where the rest is their mirror image."""
    computed = np.ones((len(y), len(x)), bool)
    if mirror is None:
        return computed
    if any(turned and not np.array_equal(values, -values[::-1]) for turned, values in zip(mirror, (y, x), strict=True)):
        return computed
    if mirror[0]:
        computed[(len(y) + 1) // 2 :] = False
    else:
        computed[:, (len(x) + 1) // 2 :] = False
    return computed
