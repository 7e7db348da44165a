"""The camera of space: it looks at a model from any side, in perspective.

    x right, y up, z to the viewer                            the axes of the model
    right = (ca, 0, -sa)                                      of the camera, with the azimuth a about the vertical, from z
    up    = (-sa se, ce, -ca se)                              towards x, and the elevation e
    back  = (sa ce, se, ca ce)                                towards the eye
    pixel = centre + size (right, up).(point - middle)        size = focus / (eye - back.(point - middle))

`web/orbit.js` is the same camera. A place is (x, y, depth, size): pixels from the lower left corner, metres towards the eye,
pixels a metre there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

FAR = 3.6
"""Distance of the eye from the middle, in the size of what is seen."""
RIM = 24
"""Points of each rim of the cylinder that is fitted."""
OBLIQUE = (34.0, 15.0)
"""Azimuth and elevation from which a chain is seen if nothing else is said, in degrees."""


class About(NamedTuple):
    """The upright cylinder about the pivot that a model sweeps, in m."""

    radius: float
    low: float
    high: float

    @classmethod
    def of(cls, points: np.ndarray, length: float, air: float = 0.0) -> About:
        """Return the cylinder about points (..., 3) and the pivot, with some air; `length` of the chain bounds it from below."""
        points = points.reshape(-1, 3)
        low, high = min(0.0, float(points[:, 1].min()) - air), max(0.0, float(points[:, 1].max()) + air)
        reach = float(np.hypot(points[:, 0], points[:, 2]).max()) + air
        return cls(max(reach, 0.25 * (high - low), 0.05 * length), low, high)

    @property
    def floor(self) -> float:
        """Height of the floor below it."""
        return self.low - 0.04 * (self.high - self.low) - 0.01 * self.radius


class OrbitCamera:
    """Looks at a cylinder from an azimuth and an elevation in degrees; fits it into a frame (left, bottom, right, top) in pixels.

    Attributes: `right`, `up`, `back` (3,); `reach`, half the size of what is seen in m; `eye`, its distance in m.
    """

    def __init__(self, about: About, frame: tuple[float, float, float, float], azimuth: float, elevation: float) -> None:
        half = max(1e-9, (about.high - about.low) / 2)
        self.about, self.frame, self.elevation = about, frame, elevation
        self.middle, self.reach = np.array([0.0, about.low + half, 0.0]), math.hypot(about.radius, half)
        self.eye, self.focus, self.centre = FAR * self.reach, 1.0, np.zeros(2)
        self.turn_to(azimuth)
        self._fit()

    def turn_to(self, azimuth: float) -> None:
        """Look from another azimuth, in degrees."""
        a, e = math.radians(azimuth), math.radians(self.elevation)
        sa, ca, se, ce = math.sin(a), math.cos(a), math.sin(e), math.cos(e)
        self.right, self.up = np.array([ca, 0.0, -sa]), np.array([-sa * se, ce, -ca * se])
        self.back = np.array([sa * ce, se, ca * ce])

    def _fit(self) -> None:
        turn = 2 * math.pi * np.arange(RIM) / RIM
        rims = [
            np.stack([self.about.radius * np.cos(turn), np.full(RIM, height), self.about.radius * np.sin(turn)], -1)
            for height in (self.about.low, self.about.high)
        ]
        seen = self.places(np.concatenate(rims))[:, :2]
        low, high = np.minimum(seen.min(0), 0.0), np.maximum(seen.max(0), 0.0)
        left, bottom, right, top = self.frame
        room = np.array([right - left, top - bottom])
        self.focus = float((room / np.maximum(high - low, 1e-9)).min())
        self.centre = np.array([left + right, bottom + top]) / 2 - self.focus * (low + high) / 2

    def places(self, points: np.ndarray) -> np.ndarray:
        """Return the places (..., 4) of points (..., 3)."""
        away = np.asarray(points, float) - self.middle
        depth = away @ self.back
        size = self.focus / np.maximum(0.02 * self.eye, self.eye - depth)
        flat = self.centre + size[..., None] * np.stack([away @ self.right, away @ self.up], -1)
        return np.concatenate([flat, depth[..., None], size[..., None]], -1)

    @property
    def usual(self) -> float:
        """Pixels a metre in the middle."""
        return self.focus / self.eye

    @property
    def above(self) -> bool:
        """Whether the eye is above the floor."""
        return float(self.back[1]) * self.eye > self.about.floor - float(self.middle[1])
