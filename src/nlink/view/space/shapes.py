"""Shapes in space as areas on the screen: round bars, balls, sides of bodies; as `web/painter.js` and `web/solids.js` draw them."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from nlink.view.space.solids import Solid

ROUND = 8
"""Corners of each round end of a bar."""
FEW = 12
"""A cylinder of so few sides is small: it has a narrow stripe, and none on its ends."""
LIGHT = np.array([-0.42, 0.64, 0.64])
"""Where the light comes from: to the right, upwards, towards the eye."""
HALO = 1.3
"""Pixels around a bar in the colour of the ground."""
FINE, LONG = 2.0, 8.0
"""Half the width of a line below which it is not shaded, and how long it must then be, in these, to be set off."""

Area = tuple[np.ndarray, np.ndarray]
"""Corners (K, 2) in pixels, and a colour (3,)."""


def blend(first: np.ndarray, second: np.ndarray, share: np.ndarray | float) -> np.ndarray:
    """Return colours (..., 3) with a share of the second."""
    return first + (second - first) * np.asarray(share)[..., None]


def capsules(a: np.ndarray, b: np.ndarray, ra: np.ndarray, rb: np.ndarray) -> np.ndarray:
    """Return the outlines of lines from a to b, each (K, 2), with round ends of their radii: (K, 2 ROUND, 2)."""
    angle = np.arctan2(*(b - a).T[::-1])[:, None]
    turn = np.pi * (np.arange(ROUND) / (ROUND - 1) - 0.5)
    near, far = angle + np.pi + turn, angle + turn
    ends = [a[:, None] + ra[:, None, None] * np.stack([np.cos(near), np.sin(near)], -1)]
    ends.append(b[:, None] + rb[:, None, None] * np.stack([np.cos(far), np.sin(far)], -1))
    return np.concatenate(ends, 1)


def bars(
    a: np.ndarray, b: np.ndarray, radius: np.ndarray, colour: np.ndarray, edge: np.ndarray, least: float = FINE
) -> list[list[Area]]:
    """Return the areas of round bars between places (K, 4) of some radius in m (K,), lit from the upper left."""
    ra, rb = (np.maximum(0.6, radius * place[:, 3]) for place in (a, b))
    fine = ra <= least
    dark = blend(colour, np.zeros(3), np.where(fine, 0.0, 0.26))
    around = np.where(
        fine[:, None, None], _sides(a[:, :2], b[:, :2], ra + 0.6 * HALO), capsules(a[:, :2], b[:, :2], ra + HALO, rb + HALO)
    )
    layers = [
        (around, np.broadcast_to(edge, colour.shape)),
        (capsules(a[:, :2], b[:, :2], ra, rb), dark),
        (_lifted(a, b, ra, rb, 0.16, 0.74), blend(colour, np.ones(3), 0.05)),
        (_lifted(a, b, ra, rb, 0.38, 0.22), blend(colour, np.ones(3), 0.36)),
    ]
    short = np.linalg.norm((b - a)[:, :2], axis=-1) <= LONG * ra
    parts = [layers[int(short[k]) : 2] if fine[k] else layers for k in range(len(a))]
    return [[(corners[k], shade[k]) for corners, shade in each] for k, each in enumerate(parts)]


def _sides(a: np.ndarray, b: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return bands about lines that do not cover what these join at their ends, as many corners as `capsules` has."""
    along = (b - a) / np.maximum(np.linalg.norm(b - a, axis=-1), 1e-12)[:, None]
    aside = half[:, None] * np.stack([-along[:, 1], along[:, 0]], -1)
    corners = np.stack([a - aside, a + aside, b + aside, b - aside], 1)
    return np.repeat(corners, 2 * ROUND // 4, axis=1)


def _lifted(a: np.ndarray, b: np.ndarray, ra: np.ndarray, rb: np.ndarray, share: float, width: float) -> np.ndarray:
    """Return thinner bars that are moved towards the light."""
    way = share * np.array([-0.8, 1.0])
    return capsules(a[:, :2] + ra[:, None] * way, b[:, :2] + rb[:, None] * way, width * ra, width * rb)


class Face(NamedTuple):
    """One side of a body: the numbers of its corners, its normal in the body's axes, whether it is painted."""

    at: np.ndarray
    normal: np.ndarray
    stripe: bool


class Mesh(NamedTuple):
    """The corners of a body in its axes, those of its outline first, and its sides."""

    points: np.ndarray
    faces: list[Face]
    corners: int
    fine: bool


def sides_for(pixels: float) -> int:
    """Return how many sides show a body of so many pixels; 0 where it is as thin as a line."""
    return 20 if pixels > 9 else 12 if pixels > 3 else 6 if pixels > 2 else 0


@cache
def mesh_of(solid: Solid, sides: int) -> Mesh | None:
    """Return the corners and sides of a solid, with a stripe along it and on its ends; None without sides."""
    if not sides:
        return None
    axes = np.array(solid.axes)
    rim = [(math.cos(turn), math.sin(turn)) for turn in 2 * np.pi * (np.arange(sides) - 0.5) / sides]
    rim = rim if solid.round else [(1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)]
    count, local = len(rim), [(x, side, z) for side in (-1.0, 1.0) for x, z in rim]
    faces: list[tuple[list[int], tuple[float, float, float], bool]] = []
    for k in range(count):
        turn = 2 * math.pi * k / count
        corners = [k, (k + 1) % count, count + (k + 1) % count, count + k]
        faces.append(
            (corners, (math.cos(turn), 0.0, math.sin(turn)), solid.round and (k == 0 or (sides > FEW and k in (1, count - 1))))
        )
    faces += [([side * count + k for k in range(count)], (0.0, 2.0 * side - 1.0, 0.0), False) for side in (0, 1)]
    marks = [_mark(solid.round, side) for side in (-1.0, 1.0) if sides > FEW]
    if not solid.round:
        marks.append(([(1.0, -1.0, -0.3), (1.0, -1.0, 0.3), (1.0, 1.0, 0.3), (1.0, 1.0, -0.3)], (1.0, 0.0, 0.0)))
    for corners, normal in marks:
        faces.append((list(range(len(local), len(local) + len(corners))), normal, True))
        local += corners
    points = np.array(solid.centre) + (np.array(local) * solid.half) @ axes
    return Mesh(
        points, [Face(np.array(at), np.array(normal) @ axes, stripe) for at, normal, stripe in faces], 2 * count, sides <= FEW
    )


def _mark(round_: bool, side: float) -> tuple[list[tuple[float, float, float]], tuple[float, float, float]]:
    """Return the stripe on an end of a body."""
    if round_:
        corners = [(0.25, side, -0.2), (0.96, side, -0.28), (1.0, side, 0.0), (0.96, side, 0.28), (0.25, side, 0.2)]
    else:
        corners = [(0.1, side, -0.3), (1.0, side, -0.3), (1.0, side, 0.3), (0.1, side, 0.3)]
    return corners, (0.0, side, 0.0)
