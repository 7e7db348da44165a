"""The flip map of the page: when a link first turns over, over a plane of starts, in passes that grow finer.

The plane has the angles of two links; of a chain with one freedom the angle and the rate of the first link. In a closed chain all
links but the last two are free, and these close it as they do in the start of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlink._support.checks import ModelError, number
from nlink.analysis.maps import chaos_map
from nlink.analysis.plane import PERIODS, centres
from nlink.ensemble import FlipTime, simulate_many
from nlink.integrators.accuracy import FLIP_PICTURE
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import Multibody
from nlink.scenario import Scenario
from nlink.studio.messages import FieldError, Json, counted
from nlink.studio.offers import refuse
from nlink.view.map_page import Layer, map_content
from nlink.view.packing import Content

PASSES = (24, 64, 160)
"""Cells a side of the passes before the last."""
MOST_CELLS, MOST_CLOSED, MOST_SECONDS = 400, 96, 200.0
RATE, RATE_WITHOUT = 4.0, 10.0
"""Largest rate that is shown, in units of sqrt(g/l); in rad/s where there is no gravity."""
LOOSE = "the loop does not close, or nothing says how it moves on"


@dataclass(frozen=True)
class Grid:
    """What is mapped: the links whose angles run across and up (the same: angle and rate of it), edges in rad and rad/s
    (x0, x1, y0, y1), cells a side, and until when flips count.
    """

    across: int
    up: int
    region: tuple[float, float, float, float]
    size: int
    t_end: float

    @classmethod
    def of(cls, request: Json, chain: Multibody) -> Grid:
        """Read a request."""
        refuse("flips", chain)
        free = chain.n - 2 if chain.pin else chain.n
        if free < 1:
            raise FieldError("this chain cannot move", "up")
        across = counted(request, "across", 0, free - 1) if free > 1 else 0
        up = counted(request, "up", 0, free - 1) if free > 1 else 0
        if across == up and free > 1:
            raise FieldError("up must be another link than across; choose two links", "up")
        mean = chain.length.sum() / chain.n
        rate = RATE * math.sqrt(abs(chain.g) / mean) if chain.g else RATE_WITHOUT
        high = math.pi if free > 1 else rate
        return cls(
            across, up, _region(request, (-math.pi, math.pi, -high, high)),
            counted(request, "size", 4, MOST_CLOSED if chain.pin else MOST_CELLS), _until(request, chain, mean),
        )  # fmt: skip

    @property
    def with_rate(self) -> bool:
        """Whether the plane has an angle and its rate."""
        return self.across == self.up


def _region(request: Json, whole: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    given = request.get("region")
    if given is None:
        return whole
    if not isinstance(given, list) or len(given) != 4:
        raise FieldError("region must be four numbers", "")
    x0, x1, y0, y1 = (math.radians(number("region", value)) for value in given)
    if not (x0 < x1 and y0 < y1):
        raise FieldError("region must have edges that increase", "")
    return x0, x1, y0, y1


def _until(request: Json, chain: Multibody, mean: float) -> float:
    given = request.get("t_end")
    if given in (None, ""):
        if not chain.g:
            raise FieldError("Until must be given for a chain without gravity: it has no time scale of its own", "t_end")
        return min(PERIODS * math.sqrt(mean / abs(chain.g)), MOST_SECONDS)
    try:
        return number("Until", given, above=0, most=MOST_SECONDS)
    except ModelError as error:
        raise FieldError(str(error), "t_end") from None


def passes(scenario: Scenario, grid: Grid) -> Iterator[Content]:
    """Yield what the map shows, coarse first."""
    draw = _closed if scenario.chain.pin else _open
    for size in (*(size for size in PASSES if size < grid.size), grid.size):
        yield draw(scenario, grid, size)


def start_at(scenario: Scenario, grid: Grid, x: float, y: float) -> Json:
    """Return the start, angles and rates, at a point of the plane in rad and rad/s."""
    theta, omega, closes = _starts(scenario, grid, np.array([x]), np.array([y]))
    if not closes[0]:
        raise FieldError("the loop does not close there", "")
    return {"theta": theta[0].tolist(), "omega": omega[0].tolist()}


def _open(scenario: Scenario, grid: Grid, size: int) -> Content:
    from nlink.view.maps import chaos_layers

    x, y = f"theta{grid.across + 1}", f"{'omega' if grid.with_rate else 'theta'}{grid.up + 1}"
    chain, theta, omega = scenario.chain, np.array(scenario.theta), np.array(scenario.omega)
    found = chaos_map(chain, x=x, y=y, region=grid.region, size=size, at=theta, omega=omega, t_end=grid.t_end)
    return _content(grid, found.x, found.y, chaos_layers(found))


def _closed(scenario: Scenario, grid: Grid, size: int) -> Content:
    from nlink.view.maps import FAILED

    x, y = centres(*grid.region[:2], size), centres(*grid.region[2:], size)
    theta, omega, closes = _starts(scenario, grid, *(points.ravel() for points in np.meshgrid(x, y)))
    time, link = np.full(len(theta), -np.inf), np.zeros(len(theta))
    if closes.any():
        options = {"keep": FlipTime(), "rtol": FLIP_PICTURE, "atol": FLIP_PICTURE}
        found = simulate_many(scenario.chain, theta[closes], omega[closes], t_end=grid.t_end, **options)
        followed = found["status"].values < FAILED
        time[closes] = np.where(followed, found["flip_time"].values, -np.inf)
        link[closes] = np.where(followed, 1 + found["flip_link"].values, 0)
    kinds = (LOOSE, "no flip", *(f"link {i + 1} flips first" for i in range(scenario.chain.n)))
    words: dict[str, Any] = {"blank": LOOSE, "never": f"no flip within {grid.t_end:.4g} s"}
    times = Layer("time of the first flip", time.reshape(size, size), "s", log=True, **words)
    return _content(grid, x, y, [times, Layer("first flip", link.reshape(size, size), kinds=kinds)])


def _content(grid: Grid, x: np.ndarray, y: np.ndarray, layers: list[Layer]) -> Content:
    up = f"rate of link {grid.up + 1} (\N{DEGREE SIGN}/s)" if grid.with_rate else f"angle of link {grid.up + 1} (\N{DEGREE SIGN})"
    xlabel = f"angle of link {grid.across + 1} (\N{DEGREE SIGN})"
    content = map_content(np.degrees(x), np.degrees(y), layers, xlabel, up, "Flips")
    return content | {"square": not grid.with_rate}


def _starts(scenario: Scenario, grid: Grid, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return angles and rates (members, N) at points (members,), and whether each closes the loop."""
    chain = scenario.chain
    theta, omega = np.tile(scenario.theta, (len(x), 1)), np.tile(scenario.omega, (len(x), 1))
    theta[:, grid.across] = x
    if grid.with_rate:
        omega[:, grid.across] = y
    else:
        theta[:, grid.up] = y
    if chain.pin is None:
        return theta, omega, np.ones(len(x), bool)
    closes = _close(chain, np.array(scenario.theta), theta)
    for k in np.flatnonzero(closes):
        motions = loop_closure.tangent(chain, theta[k])
        omega[k] = motions[:, 0] * (y[k] / motions[0, 0]) if grid.with_rate else motions @ (motions.T @ omega[k])
    return theta, omega, closes


def _close(chain: Multibody, start: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Turn the last two links of each row (members, N) to the pin, to their side in the start; return which reach it."""
    first, second = chain.length[-2:]

    def rest(angles: np.ndarray) -> np.ndarray:
        """From where the last two links begin to the pin, as x + i y turned to the angle's zero: straight down."""
        before = (chain.length[:-2] * np.exp(1j * angles[..., :-2])).sum(-1)
        return 1j * complex(*chain.pin) - before  # pyright: ignore[reportGeneralTypeIssues, reportArgumentType]

    side = 1.0 if np.sin(start[-2] - np.angle(rest(start))) >= 0 else -1.0
    left = rest(theta)
    distance = np.abs(left)
    closes = (distance < first + second) & (distance > abs(first - second))
    cosine = (first**2 + distance[closes] ** 2 - second**2) / (2 * first * distance[closes])
    theta[closes, -2] = np.angle(left[closes]) + side * np.arccos(cosine)
    theta[closes, -1] = np.angle(left[closes] - first * np.exp(1j * theta[closes, -2]))
    return closes
